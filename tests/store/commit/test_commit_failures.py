"""Commits whose storage fails: what is undone, what is found again, what is left alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO, InjectedFault, When
from support.tables.commit_states import latest, live, metadata_files, named_metadata
from support.tables.files_by_hand import added, file, keyed_table, partition, plain_table

from paimon_spark.errors import CommitStateUnknown, StorageError, TableNotFound
from paimon_spark.file_io import LocalFileIO, NotCreated
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.table import Table

X, Y = partition("x"), partition("y")


def failing(table: Table, name: str, when: When, lasting: bool = False, nth: int = 0) -> tuple[Table, FaultyFileIO]:
    """The table, now with one snapshot, on a store where the nth operation of that name goes wrong."""
    TableCommit(table, "trial").append([added(file("trial"))])
    store = FaultyFileIO(LocalFileIO(), nth, when, lasting=lasting, named=name)
    return replace(table, file_io=store), store


@pytest.mark.parametrize("when", list(When))
def test_no_answer_to_the_publication(tmp_path: Path, when: When) -> None:
    """Once: it is looked up, or sent again."""
    table, _ = failing(plain_table(tmp_path), "!create", when)
    result = TableCommit(table, "me", since=1).append([added(file("a"))])
    assert result is not None
    assert (result.snapshot_id, result.attempts) == (2, 1)
    assert live(table) == {"a", "trial"}


@pytest.mark.parametrize("when", list(When))
def test_no_answer_ever(tmp_path: Path, when: When) -> None:
    """Nothing may be deleted: the snapshot may be there, or still appear."""
    whole = plain_table(tmp_path)
    table, store = failing(whole, "!create", when, lasting=True)
    with pytest.raises(CommitStateUnknown, match=r"user me .* may or may not be published.*snapshot-2"):
        TableCommit(table, "me", since=1).append([added(file("a"))])
    assert "!delete" not in store.log
    published = when == When.AFTER
    assert live(whole) == ({"a", "trial"} if published else {"trial"})
    again = TableCommit(whole, "me", since=1).append([added(file("a"))])
    assert again is not None
    assert (again.snapshot_id, again.attempts) == (2, 0 if published else 1)
    assert live(whole) == {"a", "trial"}


def test_no_answer_and_then_a_no_without_a_file(tmp_path: Path) -> None:
    """The "no" may be about our own first request, which is still at work (409 of S3)."""
    table = plain_table(tmp_path)
    asked = []

    class Conflict(LocalFileIO):
        def create_if_absent(self, path: str, data: bytes) -> bool:
            asked.append(path)
            if len(asked) == 1:
                raise StorageError("no answer")
            return False

    with pytest.raises(CommitStateUnknown, match="Nothing was deleted"):
        TableCommit(replace(table, file_io=Conflict()), "me").append([added(file("a"))])
    assert len(asked) == 3
    assert metadata_files(table)


def test_no_answer_and_then_no_table(tmp_path: Path) -> None:
    """Whatever goes wrong in the look after a lost answer, the answer stays unknown."""
    table = plain_table(tmp_path)

    class Gone(LocalFileIO):
        def create_if_absent(self, path: str, data: bytes) -> bool:
            super().create_if_absent(path, data)
            raise StorageError("no answer")

        def read_bytes(self, path: str) -> bytes:
            if "/snapshot-1" in path:
                raise TableNotFound("the server lends no credentials")
            return super().read_bytes(path)

    with pytest.raises(CommitStateUnknown, match="Nothing was deleted"):
        TableCommit(replace(table, file_io=Gone()), "me").append([added(file("a"))])
    assert live(table) == {"a"}


def test_a_certain_refusal_undoes_the_attempt(tmp_path: Path) -> None:
    table = plain_table(tmp_path)

    class Full(LocalFileIO):
        def create_if_absent(self, path: str, data: bytes) -> bool:
            raise NotCreated("disk full")

    with pytest.raises(NotCreated, match="disk full"):
        TableCommit(replace(table, file_io=Full()), "me").append([added(file("a"))])
    assert metadata_files(table) == set()


def test_a_failure_before_the_publication_undoes_the_attempt(tmp_path: Path) -> None:
    whole = plain_table(tmp_path)
    table, _ = failing(whole, "!write", When.HALF, nth=2)
    with pytest.raises(InjectedFault):
        TableCommit(table, "me", since=1).append([added(file("a"))])
    assert metadata_files(whole) == named_metadata(whole)
    assert live(whole) == {"trial"}


def test_a_hint_that_cannot_be_written_is_said_and_harmless(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole = plain_table(tmp_path)
    table, _ = failing(whole, "!overwrite", When.BEFORE)
    result = TableCommit(table, "me", since=1).append([added(file("a"))])
    assert result is not None
    assert "snapshot 2" in caplog.text
    assert (tmp_path / "snapshot" / "LATEST").read_text() == "1"
    assert latest(whole).id == 2


# --- aborts ---------------------------------------------------------------------------------------------------------


def test_abort_deletes_the_files_of_the_messages(tmp_path: Path) -> None:
    table = keyed_table(tmp_path)
    bucket = tmp_path / "part=x" / "bucket-1"
    bucket.mkdir(parents=True)
    for name in ("mine", "mine.index", "other"):
        (bucket / name).write_text("")
    message = added(file("mine", keys=(1, 1), extra_files=("mine.index",)), part=X, bucket=1, total=2)
    TableCommit(table, "me").abort([message])
    assert [p.name for p in bucket.iterdir()] == ["other"]


def test_abort_after_success_deletes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The caller may not know that its commit was made."""
    table = keyed_table(tmp_path)
    bucket = tmp_path / "part=x" / "bucket-1"
    bucket.mkdir(parents=True)
    (bucket / "mine").write_text("")
    message = added(file("mine", keys=(1, 1)), part=X, bucket=1, total=2)
    TableCommit(table, "me").append([message])
    TableCommit(table, "me").abort([message])
    assert (bucket / "mine").exists()
    assert "not deleted" in caplog.text
    assert latest(table).commit_identifier == BATCH_COMMIT_IDENTIFIER
    assert latest(table).commit_kind == CommitKind.APPEND
