"""Memory that runs out tells nothing of a file: no file is called damaged for it, and none is passed over."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pytest
from support.faults.faulty_store import FaultyFileIO, When, fault_points
from support.oracles.checker import check_table
from support.programs import little_memory
from support.programs.command_line import ENVIRONMENT
from support.tables.compacted_tables import append, new_table, rows_of

from paimon_spark.arrow.formats.file_access import reading
from paimon_spark.errors import CommitStateUnknown, CorruptFile, PaimonError, ResourcesExhausted, RowsNotVisible
from paimon_spark.file_io import LocalFileIO
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.finish_write import finish_write
from paimon_spark.tables.open import create_table, open_table

ROWS = 80_000


def table_of(location: Path, rows: int) -> str:
    """A table of two files of texts of 400 characters."""
    create_table(str(location), pa.schema([pa.field("k", pa.int64(), False), pa.field("v", pa.string())]))
    for part in range(2):
        numbers = range(part * rows, (part + 1) * rows)
        texts = pa.array([f"{number:08x}" * 50 for number in numbers])
        open_table(str(location)).append(pa.table({"k": np.array(numbers, np.int64), "v": texts}))
    return str(location)


def test_the_sentence(tmp_path: Path) -> None:
    """Of each file, 32 MB come into memory, of which 16 are free."""
    large, small = table_of(tmp_path / "large", ROWS), table_of(tmp_path / "small", 10)
    files = {path: path.read_bytes() for path in Path(large).rglob("*") if path.is_file()}
    program = [sys.executable, little_memory.__file__, large, "16", small]
    environment = {**ENVIRONMENT, **little_memory.ENVIRONMENT}
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    for name, (kind, message) in outcomes.items():
        assert kind == ("CompactionFailed" if name == "compact" else "ResourcesExhausted"), (name, kind, message)
        assert "give it more, or let it do less at once" in message or "raise its limits of threads" in message, message
    assert outcomes["check"][1].startswith(f"check of {large}: this process ")
    assert outcomes["read"][1].startswith(f"to_arrow of {large}: this process has no memory left (")
    assert outcomes["update"][1].endswith("Nothing was committed")
    assert {path: path.read_bytes() for path in Path(large).rglob("*") if path.is_file()} == files
    check_table(large)
    assert open_table(large).scan().count() == 2 * ROWS


@pytest.mark.parametrize("size", [64, 2**31, 2**36])
def test_what_a_good_file_may_ask_for(size: int) -> None:
    with pytest.raises(pa.ArrowMemoryError), reading("x"):
        raise pa.ArrowMemoryError(f"malloc of size {size} failed")


@pytest.mark.parametrize("size", [-8, 2**36 + 1, 2**62])
def test_what_only_a_damaged_file_asks_for(size: int) -> None:
    with pytest.raises(CorruptFile, match="damaged"), reading("x"):
        raise pa.ArrowMemoryError(f"malloc of size {size} failed")


def no_memory() -> NoReturn:
    raise MemoryError


def write(table: Table) -> None:
    """A commit with what follows it: the fifth, so that the bucket is compacted, and snapshots expire."""
    messages = append(table, [(1, 5, "x"), (9, 5, "y")])
    finish_write(table, messages, LocalRunner(max_processes=1))


def test_memory_that_runs_out_at_any_point_of_a_commit(tmp_path: Path) -> None:
    """An error means that the rows are not in the table; without one they are, once."""
    options = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}

    def prepared(name: str) -> Table:
        table = new_table(tmp_path / name, options)
        for number in range(4):
            append(table, [(1, number, "x"), (number + 10, number, "y")])
        return table

    whole = prepared("whole")
    before = rows_of(whole)
    log = FaultyFileIO(LocalFileIO())
    write(replace(whole, file_io=log))
    after = rows_of(whole)
    points = [(n, when) for n, when in fault_points(log.log, one_in=4) if when != When.HALF]
    assert points
    for at, when in points:
        table = prepared(f"{at}-{when}")
        faulty = FaultyFileIO(LocalFileIO(), at, when, act=no_memory)
        try:
            write(replace(table, file_io=faulty))
            expected = [after]
        except RowsNotVisible:
            expected = [after]
        except CommitStateUnknown:
            expected = [before, after]
        except (MemoryError, PaimonError):
            expected = [before]
        assert rows_of(table) in expected, f"{log.log[at]} {when}"
        check_table(table.location)


def test_a_lost_answer_for_lack_of_memory_is_looked_after(tmp_path: Path) -> None:
    """The snapshot was there when memory ran out: the commit is not made again, nor its files deleted."""
    table = new_table(tmp_path / "t")
    for when in (When.BEFORE, When.AFTER):
        faulty = FaultyFileIO(LocalFileIO(), 0, when, act=no_memory, named="!create")
        append(replace(table, file_io=faulty), [(1, 1, when)])
    assert rows_of(table) == [(1, 1, When.AFTER)]
    assert check_table(table.location).snapshots == (1, 2)


def test_the_class() -> None:
    error = ResourcesExhausted.of("reading", MemoryError())
    assert isinstance(error, MemoryError)
    assert ResourcesExhausted.of("again", error) is error
