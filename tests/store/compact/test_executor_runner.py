"""Compactions whose tasks run in an executor of the caller."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from support.oracles.checker import check_table

from paimon_spark import create_table
from paimon_spark.errors import CompactionFailed
from paimon_spark.tables.open import WritableTable


@pytest.fixture
def table(tmp_path: Path) -> WritableTable:
    """Of 2 buckets with 6 files each."""
    made = create_table(tmp_path / "t", {"id": "INT", "n": "INT"}, "id", options={"bucket": "2", "write-only": "true"})
    for step in range(6):
        made.append({"id": list(range(10)), "n": [step] * 10})
    return made


def rows(table: WritableTable) -> list[tuple[int, int]]:
    found = table.scan().to_arrow().sort_by("id")
    return list(zip(*found.to_pydict().values(), strict=True))


@pytest.mark.parametrize("kind", ["processes", "threads"])
def test_the_tasks_run_there(table: WritableTable, kind: str) -> None:
    made: Executor = ThreadPoolExecutor(2)
    if kind == "processes":
        made = ProcessPoolExecutor(2, mp_context=get_context("spawn"))
    with made as executor:
        result = table.compact_in(executor)
    assert (result.buckets, result.files_before, result.files_after) == (2, 12, 2)
    assert rows(table) == [(id_, 5) for id_ in range(10)]
    check_table(table.location)


class Killed(ProcessPoolExecutor):
    """A pool whose worker dies at the first task."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(os._exit, 1)


def test_a_worker_that_dies_fails_its_bucket(table: WritableTable) -> None:
    with (
        Killed(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(CompactionFailed, match="the executor failed: BrokenProcessPool"),
    ):
        table.compact_in(pool)
    assert rows(table) == [(id_, 5) for id_ in range(10)]
    check_table(table.location)


class Interrupted(Executor):
    """Runs each task at once; Ctrl-C comes while the caller waits for the second one."""

    def __init__(self) -> None:
        self.tasks = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.tasks += 1
        future: Future[Any] = Future()
        if self.tasks == 1:
            future.set_result(fn(*args, **kwargs))
        else:
            future.set_exception(KeyboardInterrupt())
        return future


def test_an_interrupt_leaves_no_files(table: WritableTable) -> None:
    before = sorted(Path(table.location).glob("bucket-*/*"))
    with pytest.raises(KeyboardInterrupt):
        table.compact_in(Interrupted())
    assert sorted(Path(table.location).glob("bucket-*/*")) == before
    assert table.system_table("snapshots").count() == 6
