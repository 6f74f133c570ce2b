"""Sets of partitions, by value: rows, and what the statistics of manifests prove."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import examples

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import OptionError
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import EMPTY_ROW, EMPTY_STATS, ManifestFileMeta, SimpleStats
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.metadata.partition_stats import partition_stats, same_partition
from paimon_spark.store.metadata.partitions import PartitionFilter
from paimon_spark.tables.open import open_table

TEXT = DataType(Root.VARCHAR, length=2**31 - 1)
FIELDS = (DataField(0, "day", DataType(Root.INT)), DataField(1, "town", TEXT))
TYPES = [f.type for f in FIELDS]
DAYS = st.none() | st.integers(-3, 3)
TOWNS = st.sampled_from([None, "", " ", "a", "ab", "é", "z\U0001f600"])
PARTITIONS = st.lists(st.tuples(DAYS, TOWNS), min_size=1, max_size=6)


def row(*values: Any) -> bytes:
    return encode_arity_row(values, TYPES)


def manifest(stats: SimpleStats) -> ManifestFileMeta:
    return ManifestFileMeta("m", 1, 1, 0, stats, 0)


@given(PARTITIONS, PARTITIONS, st.sampled_from([("day",), ("town",), ("day", "town")]))
@settings(max_examples=examples(300))
def test_like_a_list_of_tuples(
    held: list[tuple[Any, Any]], wanted: list[tuple[Any, Any]], columns: tuple[str, ...]
) -> None:
    patterns = [
        {name: value for name, value in zip(("day", "town"), w, strict=True) if name in columns} for w in wanted
    ]
    chosen = PartitionFilter(FIELDS, patterns)

    def expected(partition: tuple[Any, Any]) -> bool:
        values = dict(zip(("day", "town"), partition, strict=True))
        return any(all(values[name] == value for name, value in pattern.items()) for pattern in patterns)

    assert [chosen.matches(row(*p)) for p in held] == [expected(p) for p in held]
    if any(expected(p) for p in held):
        assert chosen.may_hold(manifest(partition_stats([row(*p) for p in held], FIELDS)))


def test_statistics_prove_absence() -> None:
    stats = manifest(partition_stats([row(1, "b"), row(3, "d"), row(3, "d")], FIELDS))
    assert stats.partition_stats.null_counts == (0, 0)
    assert not PartitionFilter(FIELDS, [{"day": 4}]).may_hold(stats)
    assert not PartitionFilter(FIELDS, [{"day": 2, "town": "a"}]).may_hold(stats)
    assert not PartitionFilter(FIELDS, [{"day": None}]).may_hold(stats)
    assert PartitionFilter(FIELDS, [{"day": 2}]).may_hold(stats)
    assert not PartitionFilter(FIELDS, []).may_hold(stats)
    unknown = manifest(SimpleStats(row(1, None), row(3, None), (0, None)))
    assert PartitionFilter(FIELDS, [{"town": "q"}]).may_hold(unknown)


def test_only_nulls() -> None:
    stats = partition_stats([row(None, None), row(None, "a")], FIELDS)
    assert (stats.min_values, stats.max_values, stats.null_counts) == (row(None, "a"), row(None, "a"), (2, 1))
    assert not PartitionFilter(FIELDS, [{"day": 1}]).may_hold(manifest(stats))
    assert PartitionFilter(FIELDS, [{"day": None}]).may_hold(manifest(stats))


def test_no_partition_columns() -> None:
    assert partition_stats([EMPTY_ROW], ()) == EMPTY_STATS
    everything = PartitionFilter.of_rows((), [EMPTY_ROW])
    assert everything.matches(EMPTY_ROW)
    assert everything.may_hold(manifest(EMPTY_STATS))


def test_rows_of_one_partition_in_two_forms() -> None:
    """A null of a long decimal reserves its bytes or not, as the writer likes (format 5.1): one partition."""
    long_decimal = DataType(Root.DECIMAL, precision=30, scale=2)
    field = DataField(0, "d", long_decimal)
    ours = encode_arity_row([None], [long_decimal])
    plain = bytes([0, 0, 0, 1]) + bytes([0, 1, 0, 0, 0, 0, 0, 0]) + bytes(8)
    assert ours != plain
    assert PartitionFilter.of_rows([field], [plain]).matches(ours)
    canonical = same_partition((long_decimal,))
    assert canonical(ours) == canonical(plain)
    assert not PartitionFilter([field], [{"d": Decimal("0.00")}]).matches(plain)


def test_an_unknown_column() -> None:
    with pytest.raises(OptionError, match=r"hour: no partition column .* day, town"):
        PartitionFilter(FIELDS, [{"hour": 1}])


@pytest.mark.parametrize(
    ("keys", "options", "unique"),
    [
        ((), {"bucket": "-1"}, []),
        (("p", "k"), {"bucket": "1"}, ["p", "k"]),
        (("p", "k"), {"bucket": "-1"}, ["p", "k"]),
        (("k",), {"bucket": "-1"}, ["k"]),  # the only ones that keep a key unique in the whole table
        (("k",), {"bucket": "-2"}, ["k", "p"]),
    ],
)
def test_the_columns_whose_values_only_one_row_has(
    tmp_path: Path, keys: tuple[str, ...], options: dict[str, str], unique: list[str]
) -> None:
    columns = pa.schema([("k", pa.int32()), ("p", pa.string())])
    create_table(str(tmp_path / "t"), new_schema(columns, keys, ("p",), options))
    assert open_table(str(tmp_path / "t")).unique_names == unique
