"""Compaction tasks in processes of this machine: rows come out the same, a killed or stopped process leaves nothing."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import pytest
from support.oracles.checker import check_table
from support.tables.compacted_tables import NotedFileIO, append, live_names, new_table, rows_of, stored_files

from paimon_spark.file_io import LocalFileIO
from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.local_pool import LocalRunner, Stopped
from paimon_spark.store.compact.outcomes import TaskFailure
from paimon_spark.store.compact.plan import plan_compaction
from paimon_spark.store.metadata.table import Table


def two_runs(path: Path, buckets: int) -> Table:
    table = new_table(path, {"bucket": str(buckets)})
    for number in range(2):
        append(table, [(k, number, "x") for k in range(40)])
    return table


ROWS = [(k, 1, "x") for k in range(40)]


def test_tasks_run_in_other_processes(tmp_path: Path) -> None:
    table = two_runs(tmp_path / "t", 3)
    noted = NotedFileIO(notes=str(tmp_path / "notes"))
    runner = LocalRunner(max_processes=2, small_bytes=0)
    try:
        metrics = compact_table(replace(table, file_io=noted), runner)
    finally:
        runner.stop()
    assert metrics.buckets == 3
    assert os.getpid() not in noted.processes("read") | noted.processes("write")
    assert 1 <= len(noted.processes("write")) <= 2
    assert rows_of(table) == ROWS
    check_table(table.location)


def test_little_work_stays_in_this_process(tmp_path: Path) -> None:
    table = two_runs(tmp_path / "t", 3)
    noted = NotedFileIO(notes=str(tmp_path / "notes"))
    compact_table(replace(table, file_io=noted), LocalRunner())
    assert noted.processes("read") == noted.processes("write") == {os.getpid()}


def test_a_single_task_stays_in_this_process(tmp_path: Path) -> None:
    table = two_runs(tmp_path / "t", 1)
    noted = NotedFileIO(notes=str(tmp_path / "notes"))
    compact_table(replace(table, file_io=noted), LocalRunner(small_bytes=0))
    assert noted.processes("write") == {os.getpid()}


@dataclass(frozen=True)
class Deadly(LocalFileIO):
    """Kills the process that opens a data file for reading, but not the one with this number."""

    spared: int = 0

    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        if "/bucket-" in path and os.getpid() != self.spared:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().open_input(path, size)


def test_a_process_that_is_killed(tmp_path: Path) -> None:
    """For lack of memory, say: its tasks fail, with words, and the next ones get other processes."""
    table = two_runs(tmp_path / "t", 2)
    tasks = plan_compaction(table).tasks
    runner = LocalRunner(max_processes=2, small_bytes=0)
    outcomes = runner.run(replace(table, file_io=Deadly(spared=os.getpid())), tasks)
    assert [isinstance(o, TaskFailure) and "its process was killed" in o.error for o in outcomes] == [True, True]
    metrics = compact_table(table, runner)
    runner.stop()
    assert (metrics.buckets, rows_of(table)) == (2, ROWS)
    check_table(table.location)


@dataclass(frozen=True)
class Slow(LocalFileIO):
    """Waits at the first data file until a file appears, so that a test knows that tasks are under way."""

    started: str = ""
    go: str = ""

    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        if "/bucket-" in path and not os.path.exists(self.go):
            Path(self.started, str(os.getpid())).touch()
            while not os.path.exists(self.go):
                threading.Event().wait(0.01)
        return super().open_input(path, size)


@pytest.mark.parametrize("processes", [1, 2])
def test_stopping_tasks_under_way(tmp_path: Path, processes: int) -> None:
    table = two_runs(tmp_path / "t", 2)
    (tmp_path / "started").mkdir()
    slow = replace(table, file_io=Slow(str(tmp_path / "started"), str(tmp_path / "go")))
    runner = LocalRunner(max_processes=processes, small_bytes=0)
    raised: list[BaseException] = []

    def run() -> None:
        try:
            runner.run(slow, plan_compaction(table).tasks)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while len(os.listdir(tmp_path / "started")) < processes:
        threading.Event().wait(0.01)
    release = threading.Timer(0.2, (tmp_path / "go").touch)  # after stop() has been called
    release.start()
    runner.stop()
    thread.join()
    release.join()
    assert [type(error) for error in raised] in ([Stopped], []), raised
    if raised:
        assert stored_files(table) == live_names(table), "tasks that are stopped delete their files"


def test_processes_end_with_their_parent(tmp_path: Path) -> None:
    """kill -9 of the parent: no process is left that waits for work."""
    table = two_runs(tmp_path / "t", 2)
    (tmp_path / "started").mkdir()
    slow = replace(table, file_io=Slow(str(tmp_path / "started"), str(tmp_path / "go")))
    child = os.fork()
    if child == 0:
        try:
            LocalRunner(max_processes=2, small_bytes=0).run(slow, plan_compaction(table).tasks)
        finally:
            os._exit(0)
    while len(workers := os.listdir(tmp_path / "started")) < 2:
        threading.Event().wait(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    for pid in map(int, workers):
        while is_alive(pid):
            threading.Event().wait(0.01)


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and nobody waits for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
