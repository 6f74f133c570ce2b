"""Partitions that are named by their values choose what a comparison of each value chooses."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_spark.arrow.predicates.evaluate import filter_batch
from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import OptionError
from paimon_spark.store.compact.partition_choice import chosen_partitions, partition_specs
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("id", pa.int64()), ("hour", pa.int32()), ("name", pa.string()), ("day", pa.date32())])
NAMES = ["a", "b=c", "x/y", "'", "null", "0", "'a'"]
HOURS = [-1, 0, 7]
DAYS = [dt.date(1969, 12, 31), dt.date(2026, 11, 1)]
ROWS: list[dict[str, Any]] = [
    {"hour": hour, "name": name, "day": day}
    for hour in [None, *HOURS]
    for name in [None, *NAMES]
    for day in [None, *DAYS]
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    location = str(tmp_path_factory.mktemp("choice") / "t")
    create_table(location, new_schema(COLUMNS, (), ("hour", "name", "day"), {"partition.default-name": "nothing"}))
    return open_table(location)


def chosen(table: Table, partitions: Any) -> list[dict[str, Any]]:
    condition = chosen_partitions(table, None, partitions)
    assert isinstance(condition, Predicate)
    batch = pa.RecordBatch.from_pylist(ROWS, schema=pa.schema([COLUMNS.field(n) for n in ("hour", "name", "day")]))
    return list(filter_batch(condition, batch).to_pylist())


def naive(specs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in ROWS if any(all(row[key] == value for key, value in spec.items()) for spec in specs)]


SPEC = st.fixed_dictionaries(
    {},
    optional={
        "hour": st.sampled_from([None, *HOURS]),
        "name": st.sampled_from([None, *NAMES]),
        "day": st.sampled_from([None, *DAYS]),
    },
).filter(bool)


@settings(max_examples=80, deadline=None)
@given(specs=st.lists(SPEC, min_size=1, max_size=4))
def test_mappings_and_texts_choose_what_a_comparison_does(table: Table, specs: list[dict[str, Any]]) -> None:
    wanted = naive(specs)
    assert chosen(table, specs) == wanted
    shown = ({k: "nothing" if v is None else f'"{v}"' for k, v in spec.items()} for spec in specs)
    assert chosen(table, ";".join(",".join(f"{k}={v}" for k, v in spec.items()) for spec in shown)) == wanted


@pytest.mark.parametrize("text", ["name='a'", 'name="a"', " name = a ", "name=a,", "name='a',hour=7;name=a"])
def test_quotes_and_blanks(table: Table, text: str) -> None:
    assert chosen(table, text) == naive([{"name": "a"}])


def test_a_condition_is_taken_as_it_is(table: Table) -> None:
    assert chosen_partitions(table, "hour = 7", None) == "hour = 7"
    assert chosen_partitions(table, None, None) is None


@pytest.mark.parametrize(
    ("partitions", "said"),
    [
        ("id=7", r"id is no partition column; those are: hour, name, day"),
        ("hour=7;ID=7", r"ID is no partition column"),
        ([{}], r"nothing is no partition column"),
        ("hour=seven", r"the partition hour=seven of .*: cannot read 'seven' as INT"),
        ([{"day": "yesterday"}], r"the partition day=yesterday of "),
        ([{"hour": object()}], r"the partition hour=<object .*: a filter cannot compare with"),
        ("", r"'' names no partition: expected column=value, such as dt=2026-11-01,hour=10"),
        ("hour=7;", r"'' names no partition"),
        ("hour", r"'hour' names no partition"),
    ],
)
def test_what_names_no_partition(table: Table, partitions: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        chosen_partitions(table, None, partitions)


def test_two_choices_are_one_too_many(table: Table) -> None:
    with pytest.raises(OptionError, match=r"both 'partitions' and 'where' choose partitions of .*: give one of them"):
        chosen_partitions(table, "hour = 7", "hour=7")


def test_a_table_without_partitions(tmp_path: Path) -> None:
    create_table(str(tmp_path / "t"), new_schema(COLUMNS))
    with pytest.raises(OptionError, match="hour is no partition column; those are: none"):
        chosen_partitions(open_table(str(tmp_path / "t")), None, "hour=7")


def test_the_parts_of_a_text() -> None:
    assert partition_specs("dt=2026-11-01, hour=10;dt=a=b") == [{"dt": "2026-11-01", "hour": "10"}, {"dt": "a=b"}]
    assert partition_specs([{"dt": None}]) == [{"dt": None}]
