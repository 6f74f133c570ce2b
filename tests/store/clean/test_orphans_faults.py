"""Removal of orphan files that breaks off, sees stale listings, or meets others: what is used stays."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults.faulty_store import FaultyFileIO, InjectedFault, fault_points, is_killed, kill
from support.faults.refusing import Refusing
from support.long_runs import LONG, examples
from support.oracles.checker import check_table
from support.oracles.orphaned import age, all_states, orphans_by_hand, put
from support.simulation.interleaved_store import InterleavedStore
from support.tables.expiring import branch, copied, live_on, new_table, rules, stored, tag

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import PaimonError
from paimon_spark.file_io import FileIO, FileStatus, ListedNames, LocalFileIO
from paimon_spark.store.clean import orphans_used
from paimon_spark.store.clean.orphans import RemoveOrphanFilesResult, remove_orphan_files
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.expire.changelogs import expire_changelogs_by
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.branches import rename_branch
from paimon_spark.store.history.fast_forward import fast_forward
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tag_deletion import delete_tags
from paimon_spark.store.history.tags import create_tag, rename_tag, replace_tag
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

ORPHANS = (
    "bucket-0/x",
    "bucket-3/x",
    "manifest/x",
    "manifest/manifest-list-x",
    "index/x",
    "snapshot/.x",
    "changelog/x",
)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans_used, "_WAITS", (0.01, 0.01))


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Snapshots 2 to 8 with changelogs, the changelog 1, tags, a branch, orphans in every directory."""
    table = new_table(tmp_path_factory.mktemp("lived") / "t", {"changelog-producer": "input"})
    live_on(table, "wwcwcwww")
    tag(table, "a", 2)
    tag(table, "b", 4)
    branch(table, "b", 3)
    expire_snapshots_by(table, rules(7, changelogs=8))
    for name in ORPHANS:
        put(Path(table.location, name))
    return table


def copy(table: Table, target: Path) -> Table:
    """An old table like it."""
    found = copied(table, target)
    age(found.location)
    return found


def clean(table: Table) -> RemoveOrphanFilesResult:
    return remove_orphan_files(table, dry_run=False)


def quiet_run(lived: Table, tmp_path: Path) -> tuple[dict[str, Any], set[str], list[str]]:
    """The states, the files after, and the operations of a removal that nothing disturbs."""
    table, io = copy(lived, tmp_path / "quiet"), FaultyFileIO(LocalFileIO())
    before = all_states(table)
    done = clean(replace(table, file_io=io))
    assert {os.path.relpath(path, table.location) for path in done.paths} == set(ORPHANS)
    assert orphans_by_hand(table) == set()
    return before, stored(table), io.log


def verify(table: Table, before: dict[str, Any], end: set[str], where: str) -> None:
    """Every state reads, and another removal leaves what a quiet one leaves."""
    assert all_states(table) == before, where
    clean(table)
    assert stored(table) == end, where
    check_table(table.location)


# ------------------------------------------------------------------------------------------------ it breaks off


@pytest.mark.parametrize("lasting", [False, True], ids=["one fault", "store goes away"])
def test_every_fault_point(lived: Table, tmp_path: Path, lasting: bool) -> None:
    before, end, log = quiet_run(lived, tmp_path)
    first = log.index("!delete")
    for number, (at, when) in enumerate(fault_points(log, 17)):
        table = copy(lived, tmp_path / str(number))
        files = stored(table)
        io = FaultyFileIO(LocalFileIO(), at, when, lasting=lasting)
        is_certain = at < first or lasting  # a delete is tried again
        with pytest.raises(InjectedFault) if is_certain else contextlib.suppress(InjectedFault):
            clean(replace(table, file_io=io))
        if at < first:
            assert stored(table) == files, f"{log[at]} #{at}"
        verify(table, before, end, f"{log[at]} #{at} {when}")


def test_killed_among_its_deletions(lived: Table, tmp_path: Path) -> None:
    before, end, log = quiet_run(lived, tmp_path)
    first = log.index("!delete")
    assert not any(name.startswith("!") for name in log[:first]), "before them it only reads"
    points = [(at, when) for at, when in fault_points(log) if at >= first]
    for number, (at, when) in enumerate(points if LONG else points[::5]):
        table = copy(lived, tmp_path / str(number))
        assert is_killed(partial(clean, replace(table, file_io=FaultyFileIO(LocalFileIO(), at, when, kill))))
        verify(table, before, end, f"killed at {log[at]} #{at} {when}")


def test_every_failing_listing_aborts(lived: Table, tmp_path: Path) -> None:
    _, _, log = quiet_run(lived, tmp_path)
    table = copy(lived, tmp_path / "t")
    files = stored(table)
    for at in range(log.count("list") - 1):  # the last one is that of marks
        with pytest.raises(InjectedFault):
            clean(replace(table, file_io=FaultyFileIO(LocalFileIO(), at, named="list")))
        assert stored(table) == files, at


def test_only_files_that_nothing_names_are_looked_at(lived: Table, tmp_path: Path) -> None:
    _, _, log = quiet_run(lived, tmp_path)
    assert log.count("status") == len(ORPHANS)


# ------------------------------------------------------------------------------------------------ listings that lie


@dataclass
class LyingFileIO:
    """A store whose listings lack some files and tell of others that are not there."""

    inner: FileIO
    hidden: frozenset[str]
    invented: frozenset[str]
    names_first: bool = False
    """Whether it tells names alone, and then what a file is that really is there."""

    @property
    def list_names(self) -> Callable[[str], ListedNames] | None:
        return self._names if self.names_first else None

    def _names(self, path: str) -> ListedNames:
        directories = [s for s in self.inner.list(path) if s.is_directory and s.path not in self.hidden]
        return ListedNames(directories, [s.name for s in self.list(path) if not s.is_directory])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def list(self, path: str) -> list[FileStatus]:
        found = [s for s in self.inner.list(path) if s.path not in self.hidden]
        directory = path.rstrip("/")
        names = [p for p in self.invented if p.rpartition("/")[0] == directory]
        return [*found, *(FileStatus(p, p.rpartition("/")[2], 5, False, 1) for p in names)]


@pytest.mark.parametrize("lacking", [(2, 3), (1, 2), (2,)], ids=["newest", "oldest", "middle"])
def test_a_listing_that_lacks_snapshots(tmp_path: Path, lacking: tuple[int, ...]) -> None:
    """They are looked up by their ids, from those that are listed on; no hint names them."""
    table = new_table(tmp_path / "t")
    live_on(table, "www")
    age(table.location)
    for hint in ("LATEST", "EARLIEST"):
        Path(table.location, "snapshot", hint).unlink(missing_ok=True)
    hidden = frozenset(f"{table.location}/snapshot/snapshot-{number}" for number in lacking)
    io = LyingFileIO(LocalFileIO(), hidden, frozenset())
    assert clean(replace(table, file_io=io)).paths == ()  # type: ignore[arg-type]  # the rest by __getattr__
    check_table(table.location)


@settings(max_examples=examples(300) if LONG else 12)
@given(data=st.data())
def test_stale_listings(lived: Table, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Listings may lack any file but tags and branches, of which no other file tells, and invent any."""
    table = copy(lived, tmp_path_factory.mktemp("stale") / "t")
    before = all_states(table)
    ours = [name for name in sorted(stored(table)) if not name.startswith(("tag/", "branch/", "schema/"))]
    hidden = data.draw(st.frozensets(st.sampled_from(ours), max_size=len(ours)))
    snapshots = {f"snapshot/snapshot-{n}" for n in range(2, 9)}
    if not hidden.isdisjoint({"snapshot/LATEST", "snapshot/EARLIEST"}) or snapshots <= hidden:
        hidden -= {data.draw(st.sampled_from(sorted(snapshots)))}
    hidden -= {"changelog/changelog-1"}
    invented = data.draw(st.frozensets(st.sampled_from(["bucket-0/y", "manifest/y", "snapshot/y", "index/y"])))
    root, names_first = table.location, data.draw(st.booleans())
    lacking, more = (frozenset(f"{root}/{name}" for name in names) for names in (hidden, invented))
    io = LyingFileIO(LocalFileIO(), lacking, more, names_first)
    done = clean(replace(table, file_io=io))  # type: ignore[arg-type]  # the rest of FileIO by __getattr__
    assert {os.path.relpath(path, root) for path in done.paths} == (set(ORPHANS) - hidden) | (
        frozenset() if names_first else invented  # what is not there is seen when it is looked at
    )
    assert all_states(table) == before
    check_table(table.location)


# ------------------------------------------------------------------------------------------------ others at work


def expire(table: Table) -> None:
    expire_snapshots_by(table, rules(2, changelogs=4))
    expire_changelogs_by(table, rules(2, changelogs=4).changelogs)


def tag_and_expire(table: Table) -> None:
    create_tag(table, "new", snapshot=5)
    expire_snapshots_by(table, rules(1))


def back_to_tag(table: Table) -> None:
    """A tag becomes a snapshot, and goes."""
    expire_snapshots_by(table, rules(1))
    rollback(table, tag="b")
    delete_tags(table, "b")


def move_tag(table: Table) -> None:
    replace_tag(table, "a", snapshot=6)
    expire_snapshots_by(table, rules(1))


def keep(table: Table) -> None:
    rename_tag(table, "a", "c")
    rename_branch(table, "b", "z")


OTHERS = [expire, tag_and_expire, back_to_tag, move_tag, keep, partial(fast_forward, branch="b")]


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: getattr(other, "__name__", "fast_forward"))
def test_others_at_any_moment(lived: Table, tmp_path: Path, other: Callable[[Table], object]) -> None:
    """Whatever holds a state, and however it comes to hold it, keeps it; or nothing is deleted."""
    _, _, log = quiet_run(lived, tmp_path)
    last = log.index("!delete")
    for at in range(0, last, 1 if LONG else last // 4):
        table = copy(lived, tmp_path / f"{at}")
        expected = copy(lived, tmp_path / f"{at}-alone")
        other(expected)
        io: Any = InterleavedStore(LocalFileIO(), at, partial(other, table))
        with contextlib.suppress(PaimonError):
            clean(replace(table, file_io=io))
        assert io.count >= at
        assert all_states(table) == all_states(expected), at
        if other is not back_to_tag:  # the changelog of which is gone, and the check says so
            check_table(table.location)


def test_a_commit_between_listing_and_reading(lived: Table, tmp_path: Path) -> None:
    """A job that has written for longer than the threshold is saved if it commits while the users are read."""
    table = copy(lived, tmp_path / "t")
    writer = TableWrite(table, "slow")
    writer.write(pa.RecordBatch.from_pylist([{"k": 5, "v": 5}], arrow_schema(table.schema.fields)))
    messages = writer.finish()
    age(table.location)
    reading: list[int] = []

    def commit_once(what: str, done: int, total: int) -> None:
        if what == "manifests" and not reading:
            reading.append(total)
            TableCommit(table, "slow").append(messages)

    assert len(remove_orphan_files(table).paths) == len(ORPHANS) + 2  # and a changelog file
    done = remove_orphan_files(table, dry_run=False, progress=commit_once)
    assert reading
    assert {os.path.relpath(path, table.location) for path in done.paths} == set(ORPHANS)
    assert {"k": 5, "v": 5} in open_table(table.location).scan().to_arrow().to_pylist()
    check_table(table.location)


def test_an_expiry_without_marks(lived: Table, tmp_path: Path) -> None:
    """Java tells nobody of its expiry: metadata of a snapshot may be missing for a while before it goes."""
    table = copy(lived, tmp_path / "t")
    alone = copy(lived, tmp_path / "alone")
    lists = {table.snapshots.load(2).base_manifest_list, table.snapshots.load(2).delta_manifest_list}
    before = {name: rows for name, rows in all_states(alone).items() if name != "main snapshot 2"}
    (tmp_path / "t/tag/tag-a").unlink()
    for name in lists:
        (tmp_path / "t/manifest" / name).unlink()
    reads = FaultyFileIO(LocalFileIO())
    with pytest.raises(PaimonError, match="snapshot 2 needs manifest"):
        clean(replace(table, file_io=reads))
    half = len(reads.log) // 2
    io: Any = InterleavedStore(LocalFileIO(), half, (tmp_path / "t/snapshot/snapshot-2").unlink)
    assert len(clean(replace(table, file_io=io)).paths) >= len(ORPHANS)
    del before["main tag a"]
    assert all_states(table) == before


def test_two_at_once(lived: Table, tmp_path: Path) -> None:
    before, end, log = quiet_run(lived, tmp_path)
    for at in range(0, len(log), 1 if LONG else 23):
        table = copy(lived, tmp_path / str(at))
        io: Any = InterleavedStore(LocalFileIO(), at, partial(clean, table))
        clean(replace(table, file_io=io))
        verify(table, before, end, str(at))


def test_a_writer_in_an_old_empty_bucket(lived: Table, tmp_path: Path) -> None:
    """Its directory goes only while it is empty, and comes back with the next file."""
    table = copy(lived, tmp_path / "t")
    file = tmp_path / "t/bucket-3/data-new"
    io: Any = BeforeRemoval(LocalFileIO(), lambda: file.write_bytes(b"x"))
    assert clean(replace(table, file_io=io)).directories == ()
    assert file.exists()
    file.unlink()
    age(table.location)
    assert clean(table).directories == (f"{table.location}/bucket-3",)
    table.file_io.write_bytes(str(file), b"x")
    assert clean(table).paths == ()
    assert file.exists()


@dataclass
class BeforeRemoval:
    """A store where something happens just before a directory is removed."""

    inner: FileIO
    happens: Callable[[], object]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def remove_empty_directory(self, path: str) -> bool:
        self.happens()
        return self.inner.remove_empty_directory(path)


def test_files_that_must_not_be_deleted(lived: Table, tmp_path: Path) -> None:
    table = copy(lived, tmp_path / "t")
    io: Any = Refusing(LocalFileIO(), lambda path: path.endswith(("/x", "/manifest-list-x")))
    done = clean(replace(table, file_io=io))
    assert done.paths == (f"{table.location}/snapshot/.x",)
    assert {os.path.relpath(path, table.location) for path in done.refused} == {*ORPHANS} - {"snapshot/.x"}
    assert done.bytes == 1
    assert done.directories == ()
    assert set(clean(table).paths) == set(done.refused)
