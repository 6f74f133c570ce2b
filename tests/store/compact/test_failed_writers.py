"""A data file that is given up, whatever has failed: the process lives, the named error comes, and no file is left.

Arrow's ORC writer ends the process if it is let to write into a closed or failing sink, so each case has a process of
its own. The limit on the size of a file (RLIMIT_FSIZE) makes the real disk refuse real writes.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from support.faults.faulty_store import exit_code_of
from support.oracles.checker import check_table
from support.programs.command_line import ENVIRONMENT, PROGRAM

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CompactionFailed, DataError
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rescale.rescale import rescale
from paimon_spark.store.upkeep.compact_call import compact_on_call
from paimon_spark.store.upkeep.copy_files import copy_table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([pa.field("k", pa.int64(), False), pa.field("v", pa.string(), False)])
FORMATS = ["parquet", "orc", "avro"]
ROWS = 5_000
TEXTS = [random.Random(n).randbytes(40).hex() for n in range(4 * ROWS)]  # no codec makes them small
ENOUGH_FOR_METADATA = 16 << 10
TOO_LARGE = "File too large"


def make(path: Path, file_format: str, keys: tuple[str, ...] = (), **options: str) -> Table:
    stored = {name.replace("_", "-"): value for name, value in options.items()}
    create_table(str(path), new_schema(COLUMNS, keys, (), {"file.format": file_format, **stored}))
    return open_table(str(path))


def batch(table: Table, first: int, rows: int, last_is_null: bool = False) -> pa.RecordBatch:
    texts: list[str | None] = [TEXTS[n % len(TEXTS)] for n in range(first, first + rows)]
    if last_is_null:
        texts[-1] = None
    arrays = [pa.array(range(first, first + rows), pa.int64()), pa.array(texts, pa.string())]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(table.schema.fields))


def put(write: TableWrite, *batches: pa.RecordBatch) -> list[CommitMessage]:
    for rows in batches:
        write.write(rows)
    return write.finish()


def commit(table: Table, first: int = 0) -> None:
    messages = put(TableWrite(table, f"user-{first}"), batch(table, first, ROWS))
    TableCommit(table, f"user-{first}").append(messages)


def files_of(table: Table) -> set[Path]:
    return {path for path in Path(table.location).rglob("*") if path.is_file()}


def limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_row_that_is_refused(tmp_path: Path, file_format: str) -> None:
    """60,000 rows as Spark brings them, the last with a null where none may be."""
    table = make(tmp_path / "t", file_format)
    before = files_of(table)

    def task() -> None:
        write = TableWrite(table, "user")
        with pytest.raises(DataError, match="column 'v'"):
            put(write, *(batch(table, part * 10_000, 10_000, last_is_null=part == 5) for part in range(6)))
        write.abort()

    assert exit_code_of(task) == 0
    assert files_of(table) == before


def writing(table: Table) -> None:
    write = TableWrite(table, "user")
    with pytest.raises(OSError, match=TOO_LARGE):
        put(write, *(batch(table, part * ROWS, ROWS) for part in range(4)))
    write.abort()


def compacting(table: Table) -> None:
    with pytest.raises(CompactionFailed, match=TOO_LARGE):
        compact_on_call(table, LocalRunner(), full=True)


def rescaling(table: Table) -> None:
    with pytest.raises(OSError, match=TOO_LARGE):
        rescale(table, 1)


def copying(table: Table) -> None:
    target = f"{table.location}-copy"
    with suppress(FileNotFoundError), pytest.raises(OSError, match=TOO_LARGE):
        copy_table(table, target)
    assert not list(Path(target).rglob("data-*"))


@pytest.mark.parametrize(("block_size", "limit"), [("64 kb", 200_000), ("64 mb", ENOUGH_FOR_METADATA)])
@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize(
    ("road", "options"),
    [
        (writing, {}),
        (writing, {"bucket": "1", "changelog-producer": "input", "write-only": "true", "write-buffer-size": "512 kb"}),
        (compacting, {"bucket": "1", "write-only": "true", "num-levels": "3"}),
        (rescaling, {"bucket": "2", "write-only": "true"}),
        (copying, {}),
    ],
    ids=["append", "changelog", "compaction", "rescale", "copy"],
)
def test_a_disk_that_refuses_bytes(
    tmp_path: Path,
    road: Callable[[Table], None],
    options: dict[str, str],
    file_format: str,
    block_size: str,
    limit: int,
) -> None:
    table = make(tmp_path / "t", file_format, ("k",) if options else (), **options, **{"file.block-size": block_size})
    commit(table)
    commit(table, ROWS // 2)
    before = files_of(table)

    def task() -> None:
        limit_files(limit)
        road(table)

    assert exit_code_of(task) == 0
    assert files_of(table) == before
    check_table(table.location)


def test_the_command_line(tmp_path: Path) -> None:
    """The sentence, not a signal."""
    table = make(tmp_path / "t", "orc", ("k",), bucket="1", write_only="true")
    commit(table)
    commit(table, ROWS // 2)
    before = files_of(table)
    done = subprocess.run(
        [*PROGRAM, "compact", table.location],
        preexec_fn=lambda: limit_files(200_000),
        capture_output=True,
        text=True,
        check=False,
        env={**ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert (done.returncode, TOO_LARGE in done.stderr, len(done.stderr.splitlines())) == (2, True, 1), done.stderr
    assert files_of(table) == before


def test_a_format_that_cannot_be_begun_leaves_no_open_file(tmp_path: Path) -> None:
    table = make(tmp_path / "t", "orc", **{"file.compression": "brotli"})
    open_before = len(os.listdir("/proc/self/fd"))
    write = TableWrite(table, "user")
    with pytest.raises(ValueError, match=r"file\.compression"):
        put(write, batch(table, 0, 10))
    assert len(os.listdir("/proc/self/fd")) == open_before
    assert not list(Path(table.location).rglob("data-*"))
