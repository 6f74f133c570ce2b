"""Files are left out by statistics only where these prove that no row can match, across schema changes too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from paimon_spark.arrow.predicates.predicate import And, Compare, IsNotNull, IsNull, Op, Or, Predicate
from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import EMPTY_STATS, DataFileMeta, SimpleStats
from paimon_spark.format.schema import TableSchema, encode_schema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.metadata.schemas import SchemaStore
from paimon_spark.store.pruning.file_filter import FileFilter, manifest_filter

INT, BIGINT = DataType(Root.INT), DataType(Root.BIGINT)
TEXT, CHAR = DataType(Root.VARCHAR, length=100), DataType(Root.CHAR, length=5)
OLD = TableSchema(
    0,
    (
        DataField(0, "k", INT.with_nullable(False)),
        DataField(1, "v", INT),
        DataField(2, "t", TEXT),
        DataField(3, "x", INT),
    ),
    3,
    primary_keys=("k",),
)
# v was renamed to w, x became BIGINT, n came new, and a new column took the old name of v.
NEW = TableSchema(
    1,
    (
        DataField(4, "n", INT),
        DataField(0, "k", INT.with_nullable(False)),
        DataField(1, "w", INT),
        DataField(2, "t", TEXT),
        DataField(3, "x", BIGINT),
        DataField(5, "v", INT),
    ),
    5,
    primary_keys=("k",),
)


@pytest.fixture
def schemas(tmp_path: Path) -> SchemaStore:
    (tmp_path / "schema").mkdir()
    for schema in (OLD, NEW):
        (tmp_path / "schema" / f"schema-{schema.id}").write_bytes(encode_schema(schema))
    return SchemaStore(LocalFileIO(), str(tmp_path))


def stats(
    types: Sequence[DataType], low: Sequence[Any], high: Sequence[Any], nulls: Sequence[int | None]
) -> SimpleStats:
    return SimpleStats(encode_arity_row(low, types), encode_arity_row(high, types), tuple(nulls))


FILE = DataFileMeta(
    file_name="data-1.parquet",
    file_size=1,
    row_count=10,
    min_key=encode_arity_row((5,), (INT,)),
    max_key=encode_arity_row((9,), (INT,)),
    key_stats=stats((INT,), (5,), (9,), (0,)),
    value_stats=stats((INT, INT, TEXT, INT), (5, 100, "ba", 1), (9, 200, "bz", 2), (0, 3, 0, 0)),
    min_sequence_number=0,
    max_sequence_number=9,
    schema_id=0,
    level=0,
)


def compare(column: str, op: Op, value: Any) -> Compare:
    return Compare((column,), op, value)


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        (compare("k", Op.EQ, 5), True),
        (compare("k", Op.EQ, 4), False),
        (compare("w", Op.GE, 200), True),  # renamed: found by its id
        (compare("w", Op.GT, 200), False),
        (compare("v", Op.EQ, 150), False),  # the new v is all null in an old file, whatever the old v held
        (IsNull(("v",)), True),
        (IsNotNull(("v",)), False),
        (IsNull(("n",)), True),
        (compare("n", Op.LT, 10**6), False),
        (compare("x", Op.EQ, 10**6), True),  # retyped: unknown
        (IsNull(("w",)), True),
        (IsNull(("t",)), False),
        (compare("t", Op.LT, "ba"), False),
        (And((compare("k", Op.EQ, 5), compare("w", Op.EQ, 1))), False),
        (Or((compare("k", Op.EQ, 1), compare("w", Op.EQ, 100))), True),
        (Or((compare("k", Op.EQ, 1), compare("w", Op.EQ, 1))), False),
    ],
)
def test_old_file_under_the_new_schema(where: Predicate, kept: bool, schemas: SchemaStore) -> None:
    assert bool(FileFilter(where, NEW, schemas).matching_values([FILE])) is kept


def test_keys_are_judged_by_the_condition_on_keys_alone(schemas: SchemaStore) -> None:
    where = And((compare("k", Op.GE, 9), compare("w", Op.EQ, 1)))
    assert FileFilter(where, NEW, schemas).matching_keys([FILE])
    assert not FileFilter(where, NEW, schemas).matching_values([FILE])
    assert not FileFilter(And((compare("k", Op.GT, 9), compare("w", Op.EQ, 150))), NEW, schemas).matching_keys([FILE])
    assert FileFilter(Or((compare("k", Op.GT, 9), compare("w", Op.EQ, 1))), NEW, schemas).matching_keys([FILE])


def test_dense_statistics(schemas: SchemaStore) -> None:
    dense = FILE._replace(value_stats=stats((TEXT, INT), ("ba", 5), ("bz", 9), (0, 0)), value_stats_cols=("t", "k"))
    assert not FileFilter(compare("t", Op.EQ, "c"), NEW, schemas).matching_values([dense])
    assert not FileFilter(compare("k", Op.EQ, 4), NEW, schemas).matching_values([dense])
    assert FileFilter(compare("w", Op.EQ, -1), NEW, schemas).matching_values([dense])  # not collected
    assert not FileFilter(compare("n", Op.EQ, 1), NEW, schemas).matching_values([dense])  # not there at all


@pytest.mark.parametrize(
    "value_stats",
    [
        EMPTY_STATS,  # mode none, or a writer without statistics
        FILE.value_stats._replace(min_values=encode_arity_row((5, 100), (INT, INT))),  # another shape
        stats((INT, INT, TEXT, INT), (None,) * 4, (None,) * 4, (None,) * 4),
    ],
)
def test_unknown_statistics_keep_the_file(value_stats: SimpleStats, schemas: SchemaStore) -> None:
    file = FILE._replace(value_stats=value_stats)
    assert FileFilter(compare("w", Op.EQ, -1), NEW, schemas).matching_values([file])
    assert FileFilter(IsNull(("t",)), NEW, schemas).matching_values([file])


@pytest.mark.parametrize("null_counts", [None, (), (0, 0)])
def test_unknown_null_counts(null_counts: tuple[int, ...] | None, schemas: SchemaStore) -> None:
    file = FILE._replace(value_stats=FILE.value_stats._replace(null_counts=null_counts))
    assert FileFilter(IsNull(("t",)), NEW, schemas).matching_values([file])
    assert not FileFilter(compare("w", Op.GT, 200), NEW, schemas).matching_values([file])


def test_a_null_count_below_zero_is_unknown_as_are_the_bounds_beside_it(schemas: SchemaStore) -> None:
    """Releases before 2.0 store the -1 of a parquet footer that has no statistics of long texts."""
    counts = FILE.value_stats.null_counts
    assert counts is not None
    unknown = FILE.value_stats._replace(null_counts=(-1,) * len(counts))
    file = FILE._replace(value_stats=unknown)
    assert FileFilter(IsNull(("t",)), NEW, schemas).matching_values([file])
    assert FileFilter(compare("w", Op.GT, 200), NEW, schemas).matching_values([file])


def test_columns_no_schema_explains_keep_the_file(schemas: SchemaStore) -> None:
    file = FILE._replace(write_cols=("k", "_ROW_ID"))
    assert FileFilter(compare("w", Op.EQ, -1), NEW, schemas).matching_values([file])


def test_damaged_statistics_are_named(schemas: SchemaStore) -> None:
    low = FILE.value_stats.min_values
    file = FILE._replace(value_stats=FILE.value_stats._replace(min_values=low[:20]))
    with pytest.raises(CorruptFile, match=r"data-1\.parquet"):
        FileFilter(compare("w", Op.EQ, -1), NEW, schemas).matching_values([file])


DAY = 86_400 * 10**9


@pytest.mark.parametrize(
    ("data_type", "name", "low", "high", "value", "kept"),
    [
        (CHAR, "orc", "ab   ", "ab   ", "ab", True),  # stored with blanks that reading cuts
        (CHAR, "orc", "ab   ", "ab   ", "aa", False),
        (DataType(Root.TIMESTAMP_LTZ, precision=6), "orc", 100 * DAY, 101 * DAY, 99 * DAY, True),  # shifted by zones
        (DataType(Root.TIMESTAMP_LTZ, precision=6), "orc", 100 * DAY, 101 * DAY, 97 * DAY, False),
        (DataType(Root.TIMESTAMP_LTZ, precision=6), "parquet", 100 * DAY, 101 * DAY, 99 * DAY, False),
        (DataType(Root.TIMESTAMP, precision=6), "orc", -(10**6) * DAY, 101 * DAY, 10**6 * DAY, True),
        (DataType(Root.DATE), "orc", 5, 9, 4, False),
        (DataType(Root.DATE), "orc", -200_000, 9, 10, True),  # another calendar
        (DataType(Root.DATE), "parquet", -200_000, 9, 10, False),
        (DataType(Root.DOUBLE), "parquet", 1.0, 2.0, float("nan"), True),  # NaNs are not in statistics
        (DataType(Root.DOUBLE), "parquet", 1.0, 2.0, 0.5, False),
        (DataType(Root.DOUBLE), "orc", float("nan"), float("nan"), 0.5, True),
    ],
)
def test_what_formats_do_to_bounds(
    data_type: DataType, name: str, low: Any, high: Any, value: Any, kept: bool, schemas: SchemaStore
) -> None:
    schema = TableSchema(0, (DataField(0, "c", data_type),), 0)
    file = FILE._replace(file_name=f"data-1.{name}", value_stats=stats((data_type,), (low,), (high,), (0,)))
    assert bool(FileFilter(compare("c", Op.EQ, value), schema, schemas).matching_values([file])) is kept


def test_manifests_by_partition() -> None:
    fields = (DataField(0, "p", INT), DataField(1, "q", TEXT))
    types = (INT, TEXT)
    found = stats(types, (3, "a"), (7, "c"), (0, 0))
    assert manifest_filter(compare("v", Op.EQ, 1), fields) is None
    for where, kept in [
        (compare("p", Op.EQ, 3), True),
        (compare("p", Op.EQ, 8), False),
        (And((compare("p", Op.EQ, 5), compare("q", Op.GT, "c"))), False),
        (Or((compare("p", Op.EQ, 8), compare("q", Op.EQ, "b"))), True),
        (IsNull(("p",)), True),  # counts of entries are not counts of rows: never used to leave a manifest out
    ]:
        may_hold = manifest_filter(where, fields)
        assert may_hold is not None
        assert may_hold(found) is kept
        assert may_hold(EMPTY_STATS)
