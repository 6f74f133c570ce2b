"""Changes of the schema that are published: none is lost when two are made at once."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from support.tables.commit_states import with_rivals

from paimon_spark import open_table
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CommitConflict
from paimon_spark.store.metadata.alter import next_schema, replace_schema, set_option
from paimon_spark.store.metadata.table import Table


def make(path: Path) -> Table:
    create_table(str(path), new_schema(pa.schema([("k", pa.int32())]), options={"bucket": "-1", "comment": "a"}))
    return open_table(str(path))


def test_an_option_that_is_set_already_makes_no_schema(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    set_option(table, "comment", "b")
    set_option(table, "comment", "b")
    assert table.schemas.ids() == [0, 1]
    assert open_table(table.location).schema.options["comment"] == "b"


def test_two_changes_at_once_are_both_made(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    rivals = (lambda: set_option(table, "owner", "me"), lambda: set_option(table, "owner", "you"))
    set_option(with_rivals(table, *rivals, folder="schema"), "comment", "b")
    assert table.schemas.ids() == [0, 1, 2, 3]
    stored = open_table(table.location).schema
    assert (stored.options["comment"], stored.options["owner"]) == ("b", "you")


def test_an_option_is_one_new_schema_and_the_time_is_of_now(tmp_path: Path) -> None:
    table, before = make(tmp_path / "t"), time.time_ns() // 1_000_000
    set_option(table, "comment", "b")
    latest = open_table(table.location).schema
    assert (latest.id, latest.fields) == (1, table.schema.fields)
    assert before <= latest.time_millis <= time.time_ns() // 1_000_000


def test_columns_are_replaced_once(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    other = next_schema(table.schema, replace(table.schema, comment="new"))
    replace_schema(table, other)
    assert open_table(table.location).schema == other
    with pytest.raises(CommitConflict, match="another job has changed the schema"):
        replace_schema(table, replace(other, comment="newer"))
    assert open_table(table.location).schema == other
    assert table.schemas.ids() == [0, 1]
