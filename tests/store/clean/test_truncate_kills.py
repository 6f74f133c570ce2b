"""Dropping partitions, killed at any operation: the rows are there or gone, and a second run completes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
from support.faults.faulty_store import FaultyFileIO, fault_points, is_killed, kill
from support.oracles.checker import check_table
from support.tables.compacting import Row, make, rows_of, write
from support.tables.expiring import copied

from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.store.clean.truncate import drop_partitions
from paimon_spark.store.metadata.table import Table

COLUMNS = pa.schema([pa.field("p", pa.int32(), False), pa.field("k", pa.int32(), False), ("v", pa.int64())])
ROWS: list[Row] = [(p, k, p + k) for p in range(3) for k in range(2)]
LEFT = [row for row in ROWS if row[0] != 1]


def drop(table: Table, io: FileIO) -> None:
    drop_partitions(replace(table, file_io=io), "p = 1")


def test_killed_at_every_point(tmp_path: Path) -> None:
    whole = make(tmp_path / "whole", COLUMNS, ["p", "k"], {}, ["p"])
    write(whole, ROWS)
    write(whole, ROWS)
    quiet = FaultyFileIO(LocalFileIO())
    drop(copied(whole, tmp_path / "quiet"), quiet)
    for number, (at, when) in enumerate(fault_points(quiet.log, 7)):
        table = copied(whole, tmp_path / str(number))
        assert is_killed(partial(drop, table, FaultyFileIO(LocalFileIO(), at, when, kill)))
        assert rows_of(table) in (ROWS, LEFT), f"killed at {quiet.log[at]} #{at} {when}"
        check_table(table.location)
        drop(table, LocalFileIO())
        assert rows_of(table) == LEFT
        check_table(table.location)
