"""DELETE, UPDATE and MERGE without Spark whose storage fails, whose process is killed, or that another job disturbs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.faults.faulty_store import FaultyFileIO, When, fault_points, is_killed, kill
from support.long_runs import draws, tries
from support.tables.commit_states import Between

from paimon_spark import RowChangeResult, create_table, open_table
from paimon_spark.errors import PaimonError
from paimon_spark.file_io import FileIO
from paimon_spark.file_io.local import LocalFileIO
from paimon_spark.row_changes import clauses as c
from paimon_spark.row_changes.attempts import RowChange
from paimon_spark.row_changes.merge_here import Merge, merge_here
from paimon_spark.row_changes.statements_here import RowStatement, delete_here, update_here
from paimon_spark.store.checks.table import check
from paimon_spark.store.open import open_data_table
from paimon_spark.store.rows.change_strategies import Statement

TRIES = tries("PAIMON_ROW_FAULTS", ci=6, long=200)
TABLES: dict[str, tuple[str, dict[str, str]]] = {
    "keyed": ("id", {"bucket": "1"}),
    "append": ("", {}),
    "vectors": ("", {"deletion-vectors.enabled": "true"}),
    "first-row": ("id", {"bucket": "1", "merge-engine": "first-row", "changelog-producer": "lookup"}),
}
CASES = [(k, s) for k in TABLES for s in Statement if k != "first-row" or s is Statement.DELETE]


def run(path: Path, statement: Statement, store: FileIO) -> RowChangeResult:
    change = RowChange(lambda: replace(open_data_table(str(path)), file_io=store), statement, name="t")
    match statement:
        case Statement.DELETE:
            return delete_here(RowStatement(change, "id in (1, 2)"))
        case Statement.UPDATE:
            return update_here(RowStatement(change, "id in (1, 2)", {"v": pc.field("v") + 1}))
        case Statement.MERGE:
            source = pa.table({"id": pa.array([2, 3, 4], pa.int32()), "v": [2, 3, 4]})
            given: list[c.Clause[Any]] = [
                c.Clause(c.When.MATCHED, c.Action.UPDATE, None, {"v": pc.field("t", "v") + pc.field("s", "v")}),
                c.Clause(c.When.NOT_MATCHED, c.Action.INSERT),
            ]
            return merge_here(Merge(change, "t", source, "s", ["id"], given))


def rows(path: Path) -> list[tuple[int, int]]:
    return sorted((row["id"], row["v"]) for row in open_table(str(path)).scan().to_arrow().to_pylist())


def made(path: Path, kind: str) -> Path:
    keys, options = TABLES[kind]
    table = create_table(str(path), {"id": "INT", "v": "BIGINT"}, keys, options=options)
    table.append({"id": [0, 1, 2, 3], "v": [0, 10, 20, 30]})
    return path


def points(path: Path, start: Path, statement: Statement) -> tuple[object, list[tuple[int, When]]]:
    """The rows after the statement, and where it may fail."""
    done, store = shutil.copytree(start, path), FaultyFileIO(LocalFileIO())
    run(done, statement, store)
    found = fault_points(store.log)
    return rows(done), draws().sample(found, min(TRIES, len(found)))


@pytest.mark.parametrize(("kind", "statement"), CASES)
def test_a_storage_that_fails(tmp_path: Path, kind: str, statement: Statement) -> None:
    start = made(tmp_path / "start", kind)
    before = rows(start)
    after, chosen = points(tmp_path / "done", start, statement)
    assert after != before
    for number, (at, when) in enumerate(chosen):
        path, finished = shutil.copytree(start, tmp_path / f"try{number}"), False
        with suppress(PaimonError, OSError):
            run(path, statement, FaultyFileIO(LocalFileIO(), at, when))
            finished = True
        assert rows(path) == after if finished else rows(path) in (before, after)
        assert not check(open_table(str(path))).problems


@pytest.mark.parametrize(("kind", "statement"), draws().sample(CASES, 3))
def test_a_process_that_is_killed(tmp_path: Path, kind: str, statement: Statement) -> None:
    start = made(tmp_path / "start", kind)
    before = rows(start)
    after, chosen = points(tmp_path / "done", start, statement)
    for number, (at, when) in enumerate(chosen[: TRIES // 2]):
        path = shutil.copytree(start, tmp_path / f"try{number}")
        dying = FaultyFileIO(LocalFileIO(), at, when, act=kill)
        killed = is_killed(lambda path=path, dying=dying: run(path, statement, dying))
        assert rows(path) in (before, after) if killed else rows(path) == after
        assert not check(open_table(str(path))).problems


@pytest.mark.parametrize("kind", ["keyed", "append", "vectors"])
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (Statement.DELETE, [(0, 0), (3, 30)]),
        (Statement.UPDATE, [(0, 0), (1, 11), (2, 121), (3, 30)]),
        (Statement.MERGE, [(0, 0), (1, 10), (2, 122), (3, 33), (4, 4)]),
    ],
)
def test_a_row_that_another_job_has_changed_is_read_again(
    tmp_path: Path, kind: str, statement: Statement, expected: list[tuple[int, int]]
) -> None:
    path = made(tmp_path / "t", kind)
    rival: Callable[[], object] = lambda: open_table(str(path)).update("id = 2", {"v": pc.field("v") + 100})  # noqa: E731
    done = run(path, statement, Between(LocalFileIO(), [rival]))
    assert (done.attempts, rows(path)) == (2, expected)
    assert not check(open_table(str(path))).problems
