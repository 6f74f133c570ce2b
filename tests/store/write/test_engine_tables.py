"""Tables of the merge engines through the store: several commits, read whole, in part, and with conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import DataError, OptionError, UnsupportedFeature
from paimon_spark.format.row_kind import KIND_TEXTS
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([pa.field("k", pa.int32(), False), ("a", pa.int32()), ("b", pa.string()), ("g", pa.int32())])
Rows = Sequence[tuple[Any, ...]]


def make(path: Path, options: Mapping[str, str], *commits: Rows, kinds: Sequence[Sequence[int]] = ()) -> Table:
    create_table(str(path), new_schema(COLUMNS, ("k",), (), {"bucket": "1", **options}))
    for number, rows in enumerate(commits):
        table = open_table(str(path))
        write = TableWrite(table, f"user-{number}")
        columns = [pa.array(column, f.type) for column, f in zip(zip(*rows, strict=True), COLUMNS, strict=True)]
        batch = pa.RecordBatch.from_arrays(columns, schema=COLUMNS)
        write.write(batch, np.array(kinds[number], np.int8) if kinds else None)
        TableCommit(table, f"user-{number}").append(write.finish())
    return open_table(str(path))


def rows_of(table: Table, columns: Sequence[str] | None = None, where: str | None = None) -> list[tuple[Any, ...]]:
    found = table.scan(columns=columns, where=where).to_arrow()
    return sorted(tuple(row.values()) for row in found.to_pylist())


PARTIAL = {"merge-engine": "partial-update"}


def test_a_condition_is_met_by_a_row_that_no_file_holds(tmp_path: Path) -> None:
    table = make(tmp_path / "t", PARTIAL, [(1, 1, None, None), (2, 5, "y", None)], [(1, None, "x", None)])
    assert rows_of(table, where="a = 1 and b = 'x'") == [(1, 1, "x", None)]
    assert rows_of(table, ["b"], where="a = 1") == [("x",)]
    assert table.scan().count() == 2


def test_a_sum_meets_a_condition_that_no_file_does(tmp_path: Path) -> None:
    options = {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"}
    table = make(tmp_path / "t", options, [(1, 3, None, None)], [(1, 4, None, None)])
    assert rows_of(table, where="a = 7") == [(1, 7, None, None)]
    assert rows_of(table, where="a = 4") == []


def test_sequence_columns_are_read_for_the_columns_of_their_group(tmp_path: Path) -> None:
    options = {**PARTIAL, "fields.g.sequence-group": "a,b"}
    table = make(tmp_path / "t", options, [(1, 1, "new", 9)], [(1, 2, "old", 5)])
    assert rows_of(table) == [(1, 1, "new", 9)]
    assert rows_of(table, ["b"]) == [("new",)]
    assert rows_of(table, ["k"], where="b = 'new'") == [(1,)]


def test_a_row_deleted_by_its_group_is_gone_whatever_is_read(tmp_path: Path) -> None:
    options = {**PARTIAL, "fields.g.sequence-group": "a", "partial-update.remove-record-on-sequence-group": "g"}
    table = make(tmp_path / "t", options, [(1, 1, "x", 1)], [(1, None, None, 2)], kinds=[[0], [3]])
    assert rows_of(table) == []
    assert rows_of(table, ["k"]) == []
    assert table.scan().count() == 0


def test_rows_of_one_commit_are_merged_before_they_are_stored(tmp_path: Path) -> None:
    options = {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"}
    table = make(tmp_path / "t", options, [(1, 1, "x", None), (1, 2, None, None), (2, 5, None, 1)])
    (split,) = table.scan().plan().splits
    assert split.row_count == 2
    assert rows_of(table) == [(1, 3, "x", None), (2, 5, None, 1)]


def test_rows_of_first_row_tables_show_up_when_they_are_compacted(tmp_path: Path) -> None:
    table = make(tmp_path / "t", {"merge-engine": "first-row"}, [(1, 1, "x", None)])
    assert rows_of(table) == []


CONFLICTS = [
    ({**PARTIAL, "partial-update.remove-record-on-delete": "true", "ignore-delete": "true"}, "contradict"),
    ({**PARTIAL, "partial-update.remove-record-on-delete": "true", "fields.g.sequence-group": "a"}, "contradict"),
    (
        {
            **PARTIAL,
            "fields.g.sequence-group": "a",
            "ignore-delete": "true",
            "partial-update.remove-record-on-sequence-group": "g",
        },
        "contradict",
    ),
    ({**PARTIAL, "partial-update.remove-record-on-sequence-group": "g"}, "no sequence column"),
    ({**PARTIAL, "fields.g.sequence-group": "a,k"}, "primary key column"),
    ({**PARTIAL, "fields.k.sequence-group": "a"}, "primary key column"),
    ({**PARTIAL, "fields.g.sequence-group": "a,zz"}, "'zz'"),
    ({**PARTIAL, "fields.g.sequence-group": "a", "fields.b.sequence-group": "a"}, "two sequence groups"),
    ({**PARTIAL, "fields.a.aggregate-function": "max"}, "needs a sequence group"),
    ({**PARTIAL, "fields.default-aggregate-function": "max"}, "needs a sequence group"),
    (
        {
            "merge-engine": "aggregation",
            "aggregation.remove-record-on-delete": "true",
            "fields.a.ignore-retract": "true",
        },
        "contradict",
    ),
    ({"merge-engine": "aggregation", "fields.b.aggregate-function": "sum"}, "column 'b' of type"),
]


@pytest.mark.parametrize(("options", "words"), CONFLICTS)
def test_options_that_contradict_each_other_make_no_table(options: dict[str, str], words: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=words):
        make(tmp_path / "t", options)


def test_an_unknown_function_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeature, match=r"no aggregate function 'count'.*sum"):
        make(tmp_path / "t", {"merge-engine": "aggregation", "fields.a.aggregate-function": "count"})


MAX = {"merge-engine": "aggregation", "fields.a.aggregate-function": "max"}
GROUP = {**PARTIAL, "fields.g.sequence-group": "a", "fields.a.aggregate-function": "max"}
REMOVING_GROUP = {**GROUP, "partial-update.remove-record-on-sequence-group": "g"}
FIRST = {"merge-engine": "first-row"}


@pytest.mark.parametrize(
    ("options", "kinds", "told"),
    [
        (PARTIAL, "-U -D", "'ignore-delete' = 'true' .*'partial-update.remove-record-on-delete'.*sequence groups"),
        ({**PARTIAL, "ignore-update-before": "true"}, "-D", "'ignore-delete' = 'true'"),
        (FIRST, "-U -D", "merge-engine=first-row, set 'ignore-delete' = 'true'"),
        (MAX, "-U -D", "'a' .*'max'.*'fields.a.ignore-retract'.*'aggregation.remove-record-on-delete'"),
        ({**MAX, "aggregation.remove-record-on-delete": "true"}, "-U", "'a' .*'max'.* set 'ignore-update-before'"),
        (GROUP, "-U -D", "'a' .*'max'.*'fields.a.ignore-retract'"),
        (REMOVING_GROUP, "-U", "'a' .*'max'.*'fields.a.ignore-retract'"),
    ],
)
def test_rows_that_no_merge_takes_are_refused_before_the_commit(
    options: Mapping[str, str], kinds: str, told: str, tmp_path: Path
) -> None:
    table = make(tmp_path / "t", options, [(1, 1, "x", 1)])
    for kind in kinds.split():
        write = TableWrite(table, "user")
        batch = pa.RecordBatch.from_pylist([{"k": 1, "a": 1, "b": "x", "g": 1}, {"k": 2, "a": 1, "g": 1}], COLUMNS)
        with pytest.raises(DataError, match=rf"writing to .*/t: found 1 rows of kind {kind}, .*{told}"):
            write.write(batch, np.array([0, KIND_TEXTS.index(kind)], np.int8))
        write.abort()


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ({**PARTIAL, "ignore-delete": "true"}, "-U -D"),
        ({**PARTIAL, "partial-update.remove-record-on-delete": "true"}, "-U -D"),
        ({**PARTIAL, "ignore-update-before": "true"}, "-U"),
        ({**PARTIAL, "fields.g.sequence-group": "a"}, "-U -D"),
        ({**GROUP, "fields.a.ignore-retract": "true"}, "-U -D"),
        (REMOVING_GROUP, "-D"),
        ({**FIRST, "ignore-delete": "true"}, "-U -D"),
        ({**MAX, "ignore-delete": "true"}, "-U -D"),
        ({**MAX, "fields.a.ignore-retract": "true"}, "-U -D"),
        ({**MAX, "aggregation.remove-record-on-delete": "true"}, "-D"),
        ({**MAX, "fields.a.aggregate-function": "sum"}, "-U -D"),
    ],
)
def test_rows_that_an_option_allows_are_written_and_merged(
    options: Mapping[str, str], kinds: str, tmp_path: Path
) -> None:
    for number, kind in enumerate(kinds.split()):
        rows = [[(1, 1, "x", 1)], [(1, 1, "x", 1), (2, 1, "x", 1)]]
        table = make(tmp_path / f"t{number}", options, *rows, kinds=[[0], [KIND_TEXTS.index(kind), 0]])
        assert {row[0] for row in rows_of(table)} >= ({2} if options["merge-engine"] != "first-row" else set())


def test_a_group_that_a_row_does_not_touch_refuses_nothing(tmp_path: Path) -> None:
    table = make(tmp_path / "t", GROUP, [(1, 1, "x", 1)], [(1, None, None, None)], kinds=[[0], [3]])
    assert rows_of(table) == [(1, 1, "x", 1)]
