"""`table-read.sequence-number.enabled`: the number of each row in $audit_log and $binlog."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support.tables.compacting import compact, make, write

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.string())])
NUMBERS = {"table-read.sequence-number.enabled": "true"}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Key 1 was written as number 0 and 2, key 2 as 1, key 3 as 3 and deleted as 4."""
    table = make(tmp_path / "t", COLUMNS, ["k"], {"changelog-producer": "input", **NUMBERS})
    write(table, [(1, "a"), (2, "b")])
    write(table, [(1, "c"), (3, "d")])
    write(table, [(3, "d")], ["-D"])
    return table


def shown(table: Table, name: str, where: str | None = None, **options: str) -> list[tuple[object, ...]]:
    given = {key.replace("_", "-"): value for key, value in options.items()}
    found = open_table(table.location, given).system_table(name, where=where).to_arrow()
    return sorted(tuple(row.values()) for row in found.to_pylist())


def test_each_row_has_its_number(table: Table) -> None:
    rows = [("+I", 1, 2, "b"), ("+I", 2, 1, "c"), ("-D", 4, 3, "d")]
    assert shown(table, "audit_log") == rows
    compact(table)
    assert shown(table, "audit_log") == rows[:2]
    assert shown(table, "binlog") == [("+I", 1, [2], ["b"]), ("+I", 2, [1], ["c"])]


def test_conditions_and_columns(table: Table) -> None:
    assert shown(table, "audit_log", "_SEQUENCE_NUMBER = 2") == [("+I", 2, 1, "c")]
    assert shown(table, "audit_log", "k = 2 and _SEQUENCE_NUMBER < 2") == [("+I", 1, 2, "b")]
    only = open_table(table.location).system_table("audit_log", ["v", "_SEQUENCE_NUMBER"], "k = 1").to_arrow()
    assert only.to_pylist() == [{"v": "c", "_SEQUENCE_NUMBER": 2}]
    assert len(open_table(table.location).system_table("audit_log", ["v"]).to_arrow()) == 3


def test_of_a_change(table: Table) -> None:
    change = {"incremental_between": "1,3"}
    rows = [("+I", 2, 1, "c"), ("+I", 3, 3, "d"), ("-D", 4, 3, "d")]
    assert shown(table, "audit_log", **change) == rows
    options = {"incremental-between": "1,3", "incremental-between-scan-mode": "diff"}
    with pytest.raises(UnsupportedFeature, match="such rows have no sequence numbers"):
        open_table(table.location, options).system_table("audit_log").to_arrow()


def test_tables_that_number_nothing(tmp_path: Path, table: Table) -> None:
    """As in Java, which refuses to make such a table."""
    append = make(tmp_path / "append", COLUMNS, [], {"bucket": "-1", **NUMBERS})
    with pytest.raises(OptionError, match=r"\$audit_log: its option 'table-read\.sequence-number\.enabled' is true"):
        shown(append, "audit_log")
    assert [row[0] for row in shown(append, "ro")] == []
    assert open_table(table.location).scan().arrow_schema.names == ["k", "v"]
