"""A MERGE without Spark whose source has columns that the table lacks, or lacks some of the table."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support.oracles.checker import check_table

from paimon_spark import create_table, open_table
from paimon_spark.errors import DataError, PaimonError, SchemaError, SqlError
from paimon_spark.tables.open import WritableTable

KINDS = {
    "key": (["id"], {"bucket": "1"}),
    "append": ((), {}),
    "vectors": ((), {"deletion-vectors.enabled": "true"}),
    "row ids": ((), {"row-tracking.enabled": "true"}),
    "columns in files": ((), {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}),
}


@pytest.fixture(params=KINDS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> WritableTable:
    """The rows (1, 'a', 10) and (2, 'b', 20)."""
    key, options = KINDS[request.param]
    made = create_table(tmp_path / "t", {"id": "INT", "name": "STRING", "n": "INT"}, key, options=options)
    made.append({"id": [1, 2], "name": ["a", "b"], "n": [10, 20]})
    return made


def rows(table: WritableTable) -> list[dict[str, object]]:
    check_table(table.location)
    return open_table(table.location).scan().to_arrow().sort_by("id").to_pylist()  # type: ignore[no-any-return]  # pyarrow has no types


def test_new_columns_come_and_missing_ones_stay(table: WritableTable) -> None:
    news = {"id": [2, 3], "name": ["B", "c"], "size": [0.5, 1.5]}
    merge = table.merge(news, ["id"]).when_matched_update_all().when_not_matched_insert_all()
    result = merge.with_schema_evolution().execute()
    assert (result.rows_updated, result.rows_inserted) == (1, 1)
    assert rows(table) == [
        {"id": 1, "name": "a", "n": 10, "size": None},
        {"id": 2, "name": "B", "n": 20, "size": 0.5},
        {"id": 3, "name": "c", "n": None, "size": 1.5},
    ]


def test_without_it_the_columns_must_fit(table: WritableTable) -> None:
    with pytest.raises(SqlError, match=r"the source has no column 'n'.*with_schema_evolution\(\)"):
        table.merge({"id": [2], "name": ["B"], "size": [0.5]}, ["id"]).when_matched_update_all().execute()
    assert len(open_table(table.location).schema.fields) == 3


def test_clauses_that_name_columns_bring_these_alone(table: WritableTable) -> None:
    news = {"id": [2], "size": [7], "other": ["x"]}
    merge = table.merge(news, ["id"]).when_matched_update({"target.size": "source.size", "name": "'B'"})
    merge.with_schema_evolution().execute()
    assert rows(table) == [
        {"id": 1, "name": "a", "n": 10, "size": None},
        {"id": 2, "name": "B", "n": 20, "size": 7},
    ]


def test_no_schema_is_left_by_a_merge_that_fails(table: WritableTable) -> None:
    news = {"id": [2, 2], "size": [1, 2]}
    with pytest.raises(DataError):
        table.merge(news, ["id"]).when_matched_update_all().with_schema_evolution().execute()
    assert open_table(table.location).schema.id == 0
    assert len(rows(table)) == 2


def test_a_merge_that_matches_nothing_changes_no_row(table: WritableTable) -> None:
    result = table.merge({"id": [9], "size": [1]}, ["id"]).when_matched_update_all().with_schema_evolution().execute()
    assert result.rows_updated == 0
    assert [row["n"] for row in rows(table)] == [10, 20]


def test_wider_types_only_where_options_say_so(tmp_path: Path) -> None:
    create_table(tmp_path / "t", {"id": "INT", "n": "INT"}, "id", options={"bucket": "1"}).append({"id": [1], "n": [1]})
    news = pa.table({"id": pa.array([1], pa.int32()), "n": [2**40]})
    with pytest.raises(PaimonError):
        open_table(tmp_path / "t").merge(news, ["id"]).when_matched_update_all().with_schema_evolution().execute()
    options = {"write.merge-schema": "true", "write.merge-schema.type-widening": "true"}
    open_table(tmp_path / "t", options).merge(news, ["id"]).when_matched_update_all().execute()
    found = open_table(tmp_path / "t").scan().to_arrow()
    assert found.to_pylist() == [{"id": 1, "n": 2**40}]


def test_a_type_that_cannot_become_the_one_of_the_source(table: WritableTable) -> None:
    with pytest.raises((SchemaError, DataError)):
        table.merge({"id": [1], "n": ["x"]}, ["id"]).when_matched_update_all().with_schema_evolution().execute()
    assert open_table(table.location).schema.id == 0
