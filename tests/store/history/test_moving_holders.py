"""What keeps files may move while others look for it: a tag or branch gets another name, a branch is made or merged."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from support.faults.faulty_store import FaultyFileIO
from support.oracles.checker import check_table
from support.tables.commit_states import with_rivals
from support.tables.expiring import branch, live_on, new_table, rules, state, states, tag

from paimon_spark.file_io import FileIO, FileStatus, LocalFileIO
from paimon_spark.format.manifest import FileKind
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState
from paimon_spark.store.commit.commit_loop import commit_request
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.branches import create_branch, rename_branch
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.rollback_as_latest import rollback_to_as_latest
from paimon_spark.store.history.tag_deletion import delete_tags
from paimon_spark.store.history.tags import rename_tag
from paimon_spark.store.metadata.messages import CommitChanges
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table


class MovingFileIO(FaultyFileIO):
    """Does something just after a directory was listed for the n-th time, from 0."""

    def __init__(self, inner: FileIO, directory: str, rival: Callable[[], object], number: int) -> None:
        super().__init__(inner)
        self.directory, self.rival, self.left = directory, rival, number

    def list(self, path: str) -> list[FileStatus]:
        listed = super().list(path)
        if path.endswith(self.directory):
            self.left -= 1
            if self.left == -1:
                self.rival()
        return listed


def moving(table: Table, directory: str, rival: Callable[[], object], number: int = 0) -> Table:
    return replace(table, file_io=MovingFileIO(LocalFileIO(), directory, rival, number))


def lived(path: Path, steps: str = "wwwcwc") -> Table:
    table = new_table(path / "t")
    live_on(table, steps)
    return table


def empties(table: Table) -> None:
    """A change that deletes all files of the latest state."""

    def propose(found: TableState) -> Proposal[None]:
        gone = (entry._replace(kind=FileKind.DELETE) for entry in found.live_entries(None))
        return Proposal(CommitChanges(tuple(gone)), None)

    commit_request(table, CommitRequest("user", 1, CommitKind.OVERWRITE, None, propose, True), None)


def test_a_tag_that_gets_another_name_during_an_expiry(tmp_path: Path) -> None:
    table = lived(tmp_path)
    tag(table, "a", 2)
    expire_snapshots_by(table, rules(4))
    rows = states(table)["tag a"]
    expire_snapshots_by(moving(table, "/tag", lambda: rename_tag(table, "a", "b")), rules(1))
    assert states(table)["tag b"] == rows
    check_table(table.location)


def test_a_tag_that_gets_another_name_while_one_beside_it_is_deleted(tmp_path: Path) -> None:
    table = lived(tmp_path)
    tag(table, "a", 2)
    tag(table, "z", 3)
    expire_snapshots_by(table, rules(1))
    rows = states(table)["tag a"]
    delete_tags(moving(table, "/tag", lambda: rename_tag(table, "a", "b"), 1), "z")
    assert states(table)["tag b"] == rows
    check_table(table.location)


def test_a_branch_that_gets_another_name_during_an_expiry(tmp_path: Path) -> None:
    table = lived(tmp_path)
    rows = state(branch(table, "b", 2), {})
    expire_snapshots_by(moving(table, "/branch", lambda: rename_branch(table, "b", "c")), rules(1))
    assert state(open_table(table.location, {"branch": "c"}), {}) == rows
    check_table(f"{table.location}$branch_c")


def test_a_branch_that_is_made_during_an_expiry_of_another(tmp_path: Path) -> None:
    """The branch it comes from has lost that state when it is looked at."""
    table = lived(tmp_path)
    other = branch(table, "b", 2)
    rows = state(other, {})

    def rival() -> None:
        create_branch(other, "c", snapshot=2)
        empties(other)
        expire_snapshots_by(other, rules(1))

    expire_snapshots_by(moving(table, "/branch", rival), rules(1))
    assert state(open_table(table.location, {"branch": "c"}), {}) == rows
    check_table(f"{table.location}$branch_c")


def test_a_branch_whose_snapshots_have_a_gap(tmp_path: Path) -> None:
    """A rollback to an old tag that broke off: the later snapshots name files that no delta there is adds."""
    table = lived(tmp_path, "www")
    tag(table, "old", 1)
    other = branch(table, "b", 3)
    expire_snapshots_by(table, rules(1))
    os.link(f"{table.location}/tag/tag-old", f"{table.location}/snapshot/snapshot-1")
    rows = state(table, {"scan.snapshot-id": "3"})
    empties(other)
    expire_snapshots_by(other, rules(1))
    assert state(table, {"scan.snapshot-id": "3"}) == rows


def test_a_tag_that_is_deleted_while_the_table_goes_back_to_it(tmp_path: Path) -> None:
    table = lived(tmp_path)
    tag(table, "a", 2)
    rows = states(table)["tag a"]
    expire_snapshots_by(table, rules(1))
    rollback_to_as_latest(with_rivals(table, lambda: delete_tags(table, "a")), tag="a")
    assert state(table, {}) == rows
    check_table(table.location)


def test_a_way_back_while_the_slower_of_two_expiries_moves_changelogs(tmp_path: Path) -> None:
    """It looks at its mark again before it deletes the snapshots."""
    table = lived(tmp_path, "wwwcwcw")
    tag(table, "old", 2)
    rows = states(table)["tag old"]

    class Slow(FaultyFileIO):
        def overwrite(self, path: str, data: bytes) -> None:
            if path.endswith("/changelog/LATEST") and table.snapshots.exists(6):
                expire_snapshots_by(table, rules(1, changelogs=9))
                rollback(table, tag="old")
            super().overwrite(path, data)

    expire_snapshots_by(replace(table, file_io=Slow(LocalFileIO())), rules(3, changelogs=9))
    assert table.snapshots.ids() == [2]
    assert state(table, {}) == rows


def test_ids_that_were_given_again_while_an_expiry_deleted_files(tmp_path: Path) -> None:
    """The first snapshot that it was to keep tells: another state may have the ids of those that it was to delete."""
    table = lived(tmp_path, "wwwcwcw")
    tag(table, "old", 2)
    rows = states(table)["tag old"]

    class Slow(FaultyFileIO):
        def exists(self, path: str) -> bool:
            found = super().exists(path)
            if "/.expiring-" in path and table.snapshots.exists(6):
                expire_snapshots_by(table, rules(1))
                rollback(table, tag="old")
            return found

    expire_snapshots_by(replace(table, file_io=Slow(LocalFileIO())), rules(3))
    assert table.snapshots.ids() == [2]
    assert state(table, {}) == rows


def test_a_way_back_while_the_slower_of_two_expiries_still_deletes(tmp_path: Path) -> None:
    """The faster one goes further, and takes the marks of both away; then the table may go back to an old tag."""
    table = lived(tmp_path, "wwwcwcw")
    tag(table, "old", 2)
    rows = states(table)["tag old"]

    class Slow(FaultyFileIO):
        def delete_many(self, paths: Sequence[str]) -> None:
            if "/bucket-0/" in paths[0] and table.snapshots.exists(6):
                expire_snapshots_by(table, rules(1))
                rollback(table, tag="old")
            super().delete_many(paths)

    assert expire_snapshots_by(replace(table, file_io=Slow(LocalFileIO())), rules(3)).ids == (1, 2, 3, 4)
    assert table.snapshots.ids() == [2]
    assert table.snapshots.earliest() == (2, True)
    assert state(table, {}) == rows
    check_table(table.location)
