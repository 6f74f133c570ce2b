"""Storage that fails at any operation of a batch, and the replay: every batch is in the table once (K1 to K5)."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO, InjectedFault, When, fault_points
from support.long_runs import draws, tries
from support.oracles.checker import check_table
from support.tables.stream_batches import QUERY, TABLES, Row, commits, rows_of, run_batch

from paimon_spark.errors import PaimonError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.store.stream_notes.notes import find_note
from paimon_spark.tables.open import open_table

TRIES = tries("PAIMON_STREAM_FAULTS", ci=2, long=1000)
BATCHES: list[list[list[Row]]] = [
    [[(1, "x", 1), (2, "x", 1)], [(3, "y", 1)]],
    [[(1, "x", 5), (4, "y", 5)], [(3, "y", 7), (1, "x", 6)]],
    [[(2, "x", 9)], [(5, "x", 9)]],
]


@pytest.mark.parametrize("overwrite", [False, True], ids=["append", "complete"])
@pytest.mark.parametrize("kind", TABLES)
def test_a_replay_after_any_fault_leaves_each_batch_once(tmp_path: Path, kind: str, overwrite: bool) -> None:
    start = tmp_path / "start"
    run_batch(start, kind, 0, *BATCHES[0], overwrite=overwrite)
    whole, log = tmp_path / "whole", FaultyFileIO(LocalFileIO())
    shutil.copytree(start, whole)
    run_batch(whole, kind, 1, *BATCHES[1], overwrite=overwrite, store=log)
    after_one = rows_of(whole)
    run_batch(whole, kind, 2, *BATCHES[2], overwrite=overwrite)
    assert commits(whole) == [(n, "OVERWRITE" if overwrite else "APPEND") for n in range(3)]
    points = fault_points(log.log)
    for number, (at, when) in enumerate(draws().sample(points, min(TRIES, len(points)))):
        path = tmp_path / f"try{number}"
        shutil.copytree(start, path)
        store = FaultyFileIO(LocalFileIO(), at, when, lasting=bool(number % 2))
        with suppress(PaimonError, InjectedFault):
            run_batch(path, kind, 1, *BATCHES[1], overwrite=overwrite, store=store)
        run_batch(path, kind, 1, *BATCHES[1], overwrite=overwrite)
        assert rows_of(path) == after_one, f"{store.log[at]} {when}: right after the replay"
        run_batch(path, kind, 2, *BATCHES[2], overwrite=overwrite)
        assert rows_of(path) == rows_of(whole)
        assert commits(path) == commits(whole)
        check_table(str(path))


@pytest.mark.parametrize("kind", TABLES)
def test_a_replay_of_what_is_done_leaves_no_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    run_batch(path, kind, 0, *BATCHES[0])
    before = sorted(p for p in path.rglob("*") if p.is_file())
    run_batch(path, kind, 0, *BATCHES[0])
    assert sorted(p for p in path.rglob("*") if p.is_file()) == before
    note = find_note(open_table(str(path)), f"spark-{QUERY}")
    assert note is not None
    assert (note.batch, note.is_done, note.snapshot, note.rows) == (0, True, 1, 3)


@pytest.mark.parametrize("when", list(When))
def test_a_note_that_cannot_be_written_stops_the_batch_before_it_is_published(tmp_path: Path, when: When) -> None:
    path = tmp_path / "t"
    run_batch(path, "append", 0, *BATCHES[0])
    store = FaultyFileIO(LocalFileIO(), 0, when, named="!overwrite")
    with pytest.raises(InjectedFault):
        run_batch(path, "append", 1, *BATCHES[1], store=store)
    assert commits(path) == [(0, "APPEND")]
    assert len(list(path.glob("bucket-0/data-*"))) == 2, "the files of the try are deleted"
