"""Disks that are full, read-only or not what a path says: one sentence of ours at every door, and never a wrong one.

The faults are the real ones of the kernel: a small disk in memory, links that lead to themselves, files in place of
directories, and the other way round.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.types import StructType
from support.faults.faulty_store import FaultyFileIO, fault_points
from support.long_runs import LONG
from support.oracles.checker import check_table
from support.programs.command_line import command

from paimon_spark import check, expire_snapshots, open_table
from paimon_spark.catalogs.create import new_schema
from paimon_spark.errors import CommitStateUnknown, PaimonError, StorageError, TableNotFound
from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.spark.adapters.batches import FrameColumns
from paimon_spark.spark.adapters.options import write_options
from paimon_spark.spark.adapters.types import spark_schema
from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.clean.purge import purge_files
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.rescale.rescale import rescale
from paimon_spark.store.upkeep.compact_call import compact_on_call
from paimon_spark.store.upkeep.copy_files import copy_table
from paimon_spark.writes.commit_write import commit_job
from paimon_spark.writes.open_write import open_job
from paimon_spark.writes.task_rows import write_rows
from paimon_spark.writes.write_job import WriteJob

COLUMNS = pa.schema([pa.field("id", pa.int64(), False), pa.field("v", pa.binary())])
KEYED = {"primary-key": "id", "bucket": "1"}
ROOM = 600 << 10
BLOCK = os.sysconf("SC_PAGE_SIZE")


def frame() -> StructType:
    return spark_schema(new_schema(COLUMNS).fields)


def batch(rows: int, first: int = 0) -> pa.RecordBatch:
    noise = np.random.default_rng(first).bytes(100 * rows)
    values = [noise[n * 100 : (n + 1) * 100] for n in range(rows)]
    return pa.RecordBatch.from_pydict({"id": list(range(first, first + rows)), "v": values}, schema=COLUMNS)


def job_at(path: Path | str, io: FileIO | None = None, **options: str) -> WriteJob:
    job = open_job(write_options({"path": str(path), **KEYED, **options}), FrameColumns(frame()), overwrite=False)
    return job if io is None else replace(job, table=replace(job.table, file_io=io))


def put(job: WriteJob, rows: pa.RecordBatch) -> None:
    """What df.write does, without a session."""
    commit_job(job, write_rows(job, 0, [rows]))


def outcome(call: Callable[[], object]) -> PaimonError | None:
    """What it fails with; an error that is none of ours goes on."""
    try:
        call()
    except PaimonError as error:
        return error
    return None


def table_files(path: Path) -> set[Path]:
    return {found for found in path.rglob("*") if found.is_file()}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("no right to mount a small disk")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def free_blocks(disk: Path) -> int:
    return os.statvfs(disk).f_bfree


def test_a_full_disk(small_disk: Path) -> None:
    path = small_disk / "t"
    put(job_at(path), batch(100))
    before, free = table_files(path), free_blocks(small_disk)
    told = rf"writing {path}/bucket-0/data-.*: the disk is full .*Nothing was committed: .*run the job again"
    for file_format in ("parquet", "orc", "avro"):
        with pytest.raises(StorageError, match=told):
            put(job_at(path, **{"file.format": file_format}), batch(10_000, 100))
        assert (table_files(path), free_blocks(small_disk)) == (before, free)
    check_table(str(path))
    put(job_at(path), batch(100, 100))  # when there is room
    assert open_table(str(path)).scan().to_arrow().num_rows == 200


def test_a_disk_with_room_for_some_files_of_a_job_only(small_disk: Path) -> None:
    """The last blocks of the disk: data file, manifests, lists, snapshot and hint come to it in turn."""
    path, failed, rows = small_disk / "t", 0, 100
    put(job_at(path), batch(rows))
    for room in range(14):
        filler = small_disk / "filler"
        filler.write_bytes(b"\1" * (free_blocks(small_disk) - room) * BLOCK)
        before, snapshots = table_files(path), open_table(str(path)).snapshots.ids()
        error = outcome(lambda: put(job_at(path), batch(20, rows)))  # noqa: B023 - it is called at once
        if error is None:
            rows += 20
        else:
            failed += 1
            assert re.search(r"the disk is full.*Nothing was committed", str(error))
            assert isinstance(error, StorageError)
            assert open_table(str(path)).snapshots.ids() == snapshots
            assert table_files(path) == before
        filler.unlink()
        check_table(str(path))
        assert open_table(str(path)).scan().to_arrow().num_rows == rows
    assert 3 < failed < 14


def test_a_disk_that_became_read_only(small_disk: Path) -> None:
    path = small_disk / "t"
    put(job_at(path), batch(100))
    job = job_at(path)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(StorageError, match=r"writing .*data-.*read-only.*Nothing was committed"):
        put(job, batch(1))
    with pytest.raises(StorageError, match=rf"writing {small_disk}/new/schema/schema-0: the disk is read-only"):
        job_at(small_disk / "new")
    assert open_table(str(path)).scan().to_arrow().num_rows == 100
    printed = command("create-tag", path, "month")
    assert (printed.code, printed.err.count("\n")) == (2, 1)
    assert "the disk is read-only" in printed.err


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
def test_nothing_was_committed_is_said_only_where_it_is_true(tmp_path: Path, lasting: bool) -> None:
    def write(path: Path, io: FaultyFileIO) -> None:
        put(job_at(path, io), batch(10, 10))

    def refuse() -> None:
        raise StorageError("injected fault")

    whole = tmp_path / "whole"
    put(job_at(whole), batch(10))
    calm = FaultyFileIO(LocalFileIO())
    shutil.copytree(whole, tmp_path / "calm")
    write(tmp_path / "calm", calm)
    told = {"committed": 0, "nothing": 0, "unknown": 0}
    for n, (at, when) in enumerate(fault_points(calm.log)):
        path = tmp_path / str(n)
        shutil.copytree(whole, path)
        error = outcome(lambda: write(path, FaultyFileIO(LocalFileIO(), at, when, refuse, lasting)))  # noqa: B023
        if error is None:
            told["committed"] += 1
            assert open_table(str(path)).snapshots.ids() == [1, 2]
        elif isinstance(error, CommitStateUnknown):
            told["unknown"] += 1
        else:
            told["nothing"] += 1
            assert str(error) == "injected fault. Nothing was committed: remove the cause and run the job again"
            assert open_table(str(path)).snapshots.ids() == [1]
            assert lasting or len(list(path.rglob("data-*"))) == 1
        check_table(str(path))
    assert told["nothing"] > 10
    assert told["committed"] > 0
    assert (told["unknown"] > 0) == lasting


# --- every door ------------------------------------------------------------------------------------------------------

Door = Callable[[str], object]
DOORS: dict[str, Door] = {
    "read": lambda path: open_table(path).scan().to_arrow(),
    "read a tag": lambda path: open_table(path, {"scan.tag-name": "tagged"}).scan().to_arrow(),
    "read a branch": lambda path: open_table(f"{path}$branch_trial").scan().to_arrow(),
    "read a change": lambda path: open_table(path, {"incremental-between": "1,3"}).scan().to_arrow(),
    "files": lambda path: list(open_table(path).system_table("files").to_batches()),
    "snapshots": lambda path: list(open_table(path).system_table("snapshots").to_batches()),
    "write": lambda path: put(job_at(path), batch(5, 1)),
    "compact": lambda path: compact_on_call(open_table(path), LocalRunner(), full=True),
    "rescale": lambda path: rescale(open_table(path), 2),
    "expire": lambda path: expire_snapshots(open_table(path), retain_max=1, retain_min=1),
    "copy": lambda path: copy_table(open_table(path), f"{path}-copy"),
    "check": check,
    "orphans": lambda path: remove_orphan_files(open_table(path)),
    "tag": lambda path: create_tag(open_table(path), "another"),
    "branch": lambda path: create_branch(open_table(path), "another"),
    "roll back": lambda path: rollback(open_table(path), 2),
    "purge": lambda path: purge_files(open_table(path)),
}


def loop(path: Path) -> None:
    """Whoever follows it is told so by the kernel; root is too."""
    path.symlink_to(path.name)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a link to itself": loop,
    "a directory": Path.mkdir,
    "a file": Path.touch,
    "nothing": lambda path: None,
}


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lived") / "t"
    for first in (0, 5, 20):
        put(job_at(path, **{"deletion-vectors.enabled": "true"}), batch(10, first))
    create_tag(open_table(str(path)), "tagged", snapshot=2)
    create_branch(open_table(str(path)), "trial", "tagged")
    return path


@pytest.mark.parametrize("door", DOORS)
def test_every_error_is_a_paimon_error(lived_in: Path, tmp_path: Path, door: str) -> None:
    """Whatever place of a table is taken by something else, each call does its work or says what it met."""
    places = sorted(path.relative_to(lived_in) for path in lived_in.rglob("*"))
    cases = [(place, damage) for place in places for damage in DAMAGES]
    failed = 0
    for n, (place, damage) in enumerate(cases if LONG else cases[sorted(DOORS).index(door) % 5 :: 5]):
        table = tmp_path / str(n)
        shutil.copytree(lived_in, table)
        there = table / place
        (shutil.rmtree if there.is_dir() else os.unlink)(there)
        DAMAGES[damage](there)
        error = outcome(lambda: DOORS[door](str(table)))  # noqa: B023 - it is called at once
        failed += error is not None
        assert error is None or str(table) in str(error), (place, damage)
        shutil.rmtree(table)
    assert failed


# --- the command line ------------------------------------------------------------------------------------------------


def test_a_picture_in_a_directory_that_is_not_there(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    put(job_at(tmp_path / "t"), batch(10))
    printed = command("info", tmp_path / "t", "--plot", "/nope/x.png")
    assert printed.code == 2
    assert printed.err == (
        "paimon-spark info: --plot /nope/x.png: the picture cannot be written: No such file or directory\n"
    )


def test_a_table_at_the_path_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "afile").write_text("x")
    words = f"{tmp_path}/afile.*it is a file, or lies below one; a table is a directory"
    for call in (lambda: job_at(tmp_path / "afile"), lambda: open_table(f"{tmp_path}/afile")):
        with pytest.raises(TableNotFound, match=words):
            call()
    assert command("info", tmp_path / "afile").code == 2
