"""By which way rows change, by the table (features 2.3)."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.rows.change_strategies import ChangeStrategy, Statement, change_strategy, ids_to_keep
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("id", pa.int64()), ("v", pa.int64()), ("k", pa.string())])
DELETE, UPDATE, MERGE = Statement.DELETE, Statement.UPDATE, Statement.MERGE


def table(path: Path, options: dict[str, str], keys: tuple[str, ...] = ("id",)) -> ReadableTable:
    location = str(path / "t")
    create_table(location, new_schema(COLUMNS, keys, (), {"bucket": "1", **options} if keys else options))
    return open_table(location)


@pytest.mark.parametrize(
    ("options", "way"),
    [
        ({}, ChangeStrategy.ROWS_WITH_KINDS),
        ({"ignore-delete": "true"}, ChangeStrategy.MERGED_BUCKETS),
        ({"rowkind.field": "k"}, ChangeStrategy.MERGED_BUCKETS),
        ({"merge-engine": "first-row"}, ChangeStrategy.MERGED_BUCKETS),
        ({"merge-engine": "partial-update"}, ChangeStrategy.MERGED_BUCKETS),
        (
            {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
            ChangeStrategy.ROWS_WITH_KINDS,
        ),
        ({"merge-engine": "aggregation"}, ChangeStrategy.MERGED_BUCKETS),
        (
            {"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"},
            ChangeStrategy.ROWS_WITH_KINDS,
        ),
    ],
)
def test_deletes_of_tables_with_keys(tmp_path: Path, options: dict[str, str], way: ChangeStrategy) -> None:
    assert change_strategy(table(tmp_path, options), DELETE) is way


@pytest.mark.parametrize("statement", Statement)
def test_append_tables(tmp_path: Path, statement: Statement) -> None:
    assert change_strategy(table(tmp_path / "a", {}, ()), statement) is ChangeStrategy.COPIED_FILES
    assert (
        change_strategy(table(tmp_path / "b", {"deletion-vectors.enabled": "true"}, ()), statement)
        is ChangeStrategy.DELETION_VECTORS
    )


@pytest.mark.parametrize("statement", [UPDATE, MERGE])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"merge-engine": "aggregation"}, "merge engine 'aggregation' cannot be updated"),
        ({"merge-engine": "first-row"}, "merge engine 'first-row' cannot be updated"),
        (
            {
                "merge-engine": "partial-update",
                "fields.k.sequence-group": "v",
                "fields.v.aggregate-function": "sum",
            },
            "'fields.v.aggregate-function' = 'sum' combines",
        ),
    ],
)
def test_updates_that_an_engine_would_not_apply_are_refused(
    tmp_path: Path, statement: Statement, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UnsupportedFeature, match=message):
        change_strategy(table(tmp_path, options), statement)
    inserted = change_strategy(table(tmp_path / "inserted", options), MERGE, inserts_only=True)
    assert inserted is ChangeStrategy.ROWS_WITH_KINDS


@pytest.mark.parametrize("statement", Statement)
def test_rows_without_buckets_cannot_be_changed(tmp_path: Path, statement: Statement) -> None:
    postponed = table(tmp_path, {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"})
    with pytest.raises(UnsupportedFeature, match="postponed buckets"):
        change_strategy(postponed, statement)


@pytest.mark.parametrize("tracks", [True, False])
@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("strategy", ChangeStrategy)
def test_ids_of_rows_are_kept_where_updated_rows_go_to_new_files(
    strategy: ChangeStrategy, moves: bool, tracks: bool, tmp_path: Path
) -> None:
    made = table(tmp_path, {"row-tracking.enabled": "true"} if tracks else {}, ())
    kept = tracks and (moves or strategy is ChangeStrategy.DELETION_VECTORS)
    assert [field.name for field in ids_to_keep(made, strategy, moves)] == (["_ROW_ID"] if kept else [])
