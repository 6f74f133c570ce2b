"""A stream into a table that genuine Java writes too: replays after its commits and expiry, and what Java reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from genuine import Genuine, table_path
from readers import assert_same
from support.faults.faulty_store import FaultyFileIO, InjectedFault, When
from support.long_runs import tries
from support.oracles.checker import check_table
from support.tables.stream_batches import QUERY, TABLES, commits, run_batch

from paimon_spark.errors import CommitStateUnknown
from paimon_spark.file_io import LocalFileIO
from paimon_spark.store.stream_notes.notes import find_note
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.interop
OTHERS = tries("PAIMON_STREAM_OTHERS", ci=5, long=100)
KEPT = {"snapshot.num-retained.min": "1000", "snapshot.num-retained.max": "1000"}


@dataclass
class CutOff(FaultyFileIO):
    """A store that fails for good once the snapshot of the batch is published, or just before it is."""

    def create_if_absent(self, path: str, data: bytes) -> bool:
        if "/snapshot/snapshot-" not in path:
            return super().create_if_absent(path, data)
        made = self.when is When.AFTER and self.inner.create_if_absent(path, data)
        self.lasting = self._failed = True
        if not made:
            raise InjectedFault("injected fault")
        return made


def cut_off(path: Path, number: int, when: When) -> None:
    with pytest.raises((OSError, CommitStateUnknown)):
        run_batch(path, "keyed", number, [(number, "x", number)], store=CutOff(LocalFileIO(), when=when), **KEPT)
    note = find_note(open_table(str(path)), f"spark-{QUERY}")
    assert note is not None
    assert (note.batch, note.is_done) == (number, False)


def java_commits(java: Genuine, path: str) -> None:
    for turn in range(OTHERS):
        java.write(path, [(1000 + turn, "java", turn)], options={"write-only": "true"})


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_replay_after_many_commits_of_java(java: Genuine, tmp_path: Path, when: When) -> None:
    path = table_path(tmp_path)
    run_batch(Path(path), "keyed", 0, [(0, "x", 0)], **KEPT)
    cut_off(Path(path), 1, when)
    java_commits(java, path)
    run_batch(Path(path), "keyed", 1, [(1, "x", 1)], **KEPT)
    run_batch(Path(path), "keyed", 2, [(2, "x", 2)], **KEPT)
    assert commits(Path(path)) == [(0, "APPEND"), (1, "APPEND"), (2, "APPEND")]
    assert assert_same(path, [java]).total() == 3 + OTHERS
    check_table(path)


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_replay_after_the_snapshots_have_expired(java: Genuine, tmp_path: Path, when: When) -> None:
    path = table_path(tmp_path)
    run_batch(Path(path), "keyed", 0, [(0, "x", 0)], **KEPT)
    cut_off(Path(path), 1, when)
    java_commits(java, path)
    java.expire_snapshots(path, 1)
    for _ in range(2):
        with pytest.raises(CommitStateUnknown, match=r"'write.stream.unknown-batch' = 'skip' if they are, or 'write'"):
            run_batch(Path(path), "keyed", 1, [(1, "x", 1)], **KEPT)
    answer = "skip" if when is When.AFTER else "write"
    run_batch(Path(path), "keyed", 1, [(1, "x", 1)], **KEPT, **{"write.stream.unknown-batch": answer})
    run_batch(Path(path), "keyed", 2, [(2, "x", 2)], **KEPT)
    assert assert_same(path, [java]).total() == 3 + OTHERS
    check_table(path)


@pytest.mark.parametrize("kind", TABLES)
def test_java_reads_and_goes_on(kind: str, java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    for number in range(6):
        run_batch(Path(path), kind, number, [(number, "x", number), (0, "x", number)], [(number, "y", 1)])
    if kind != "postpone":  # Java 2.0.0 stages what it writes
        java.write(path, [(77, "java", 7)])
        run_batch(Path(path), kind, 6, [(6, "x", 6)])
        assert any(row[0] == 77 for row in assert_same(path, [java]))
    assert_same(path, [java])
    check_table(path)
