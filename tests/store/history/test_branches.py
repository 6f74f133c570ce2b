"""Branches: made, written to, renamed, deleted, taken over by the main branch."""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from support.faults.faulty_store import FaultyFileIO, When
from support.long_runs import LONG
from support.oracles.checker import check_table
from support.simulation.interleaved_store import InterleavedStore
from support.simulation.turns import in_turns, operations
from support.tables.expiring import copied, live_on, new_table, rules, state, stored

from paimon_spark.errors import CorruptFile, NameTaken, OptionError, SnapshotNotFound
from paimon_spark.file_io import FileIO
from paimon_spark.format.paths import schema_path
from paimon_spark.format.schema import encode_schema
from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.clean.truncate import truncate_table
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.branch_merge import merge_branch
from paimon_spark.store.history.branches import branch_names, create_branch, delete_branch, rename_branch
from paimon_spark.store.history.fast_forward import fast_forward
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.holds.marks import write_mark
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

_MARKS = re.compile(r"/\.(holding-|created-from)")
"""Of marks that a crash leaves."""


def life(path: Path, steps: str) -> Table:
    table = new_table(path / "t")
    live_on(table, steps)
    return table


def on(table: Table, branch: str) -> Table:
    return open_table(table.location, {"branch": branch})


def names(table: Table) -> list[str]:
    return branch_names(table.file_io, table.location)


def test_where_a_branch_begins(tmp_path: Path) -> None:
    table = life(tmp_path, "www")
    create_tag(table, "two", 2)
    assert create_branch(table, "empty").snapshot_id is None
    assert create_branch(table, "tagged", tag="two").snapshot_id == 2
    assert create_branch(table, "first", snapshot=1).snapshot_id == 1
    assert names(table) == ["empty", "first", "tagged"]
    assert state(on(table, "empty"), {}) == []
    assert state(on(table, "tagged"), {}) == [(0, 2), (1, 2)]
    assert on(table, "tagged").snapshots.tag_names() == ["two"]
    assert state(on(table, "first"), {}) == [(0, 1), (1, 1)]
    assert on(table, "first").snapshots.tag_names() == []


def test_a_branch_keeps_its_files(tmp_path: Path) -> None:
    table = life(tmp_path, "wwcw")
    create_branch(table, "b", snapshot=1)
    expire_snapshots_by(table, rules(1))
    assert state(on(table, "b"), {}) == [(0, 1), (1, 1)]


def test_names_and_beginnings_that_are_none(tmp_path: Path) -> None:
    table = life(tmp_path, "www")
    create_branch(table, "b")
    for name in ("main", "", " ", "12", "a/b"):
        with pytest.raises(OptionError, match="no name"):
            create_branch(table, name)
    with pytest.raises(NameTaken):
        create_branch(table, "b")
    assert not create_branch(table, "b", ignore_if_exists=True).created
    with pytest.raises(OptionError, match="leave one"):
        create_branch(table, "c", tag="x", snapshot=1)
    with pytest.raises(SnapshotNotFound, match="no tag 'x'"):
        create_branch(table, "c", tag="x")
    with pytest.raises(SnapshotNotFound, match="snapshot 9"):
        create_branch(table, "c", snapshot=9)
    write_mark(table.snapshots, 3, None)
    with pytest.raises(SnapshotNotFound, match="expires just now"):
        create_branch(table, "c", snapshot=2)
    assert names(table) == ["b"]


@pytest.mark.parametrize("beginning", [{}, {"tag": "one"}, {"snapshot": 2}])
def test_a_table_that_lost_its_snapshots_gets_no_branch(tmp_path: Path, beginning: dict[str, Any]) -> None:
    """With a branch its rows would count as none: nobody could tell any more that they are lost."""
    table = life(tmp_path, "www")
    create_tag(table, "one", 1)
    shutil.rmtree(Path(table.location, "snapshot"))
    with pytest.raises(CorruptFile, match=r"its snapshots were lost\. Restore the directory snapshot"):
        create_branch(open_table(table.location), "b", **beginning)
    assert names(table) == []
    with pytest.raises(CorruptFile, match="its snapshots were lost"):
        state(table, {})
    new = new_table(tmp_path / "new")
    assert create_branch(new, "b").snapshot_id is None


def test_deleted_and_renamed(tmp_path: Path) -> None:
    table = life(tmp_path, "ww")
    before = stored(table)
    for name in ("a", "b", "c"):
        create_branch(table, name, snapshot=1)
    rename_branch(table, "a", "d")
    assert names(table) == ["b", "c", "d"]
    assert state(on(table, "d"), {}) == [(0, 1), (1, 1)]
    with pytest.raises(NameTaken):
        rename_branch(table, "b", "d")
    for attempt in (lambda: rename_branch(table, "x", "y"), lambda: delete_branch(table, "b,x")):
        with pytest.raises(SnapshotNotFound, match="no branch 'x'"):
            attempt()
    told = delete_branch(table, "b, c", dry_run=True)
    assert names(table) == ["b", "c", "d"]
    assert delete_branch(table, ["b", "c"]).paths == told.paths
    delete_branch(table, "d")
    assert stored(table) == before
    assert list(Path(table.location, "branch").iterdir()) == []


@pytest.mark.parametrize("left", ["snapshot/snapshot-2", "tag/tag-t", "schema/.renamed-from-a"])
def test_no_branch_upon_the_rest_of_another(tmp_path: Path, left: str) -> None:
    """The making broke off, or one gets this name: the new branch would have snapshots or tags of both."""
    table = life(tmp_path, "www")
    path = tmp_path / "t/branch/branch-b" / left
    path.parent.mkdir(parents=True)
    path.write_bytes((tmp_path / "t/snapshot/snapshot-2").read_bytes())
    before = stored(table)
    for beginning in ({}, {"snapshot": 3}):
        with pytest.raises(NameTaken, match=f"there is .*{left}"):
            create_branch(table, "b", **beginning)  # type: ignore[arg-type]  # one of several parameters
    assert stored(table) == before
    if left.startswith("snapshot"):
        assert create_branch(table, "b", snapshot=2).created
        assert on(table, "b").snapshots.ids() == [2]


@pytest.mark.parametrize("beginning", [{}, {"snapshot": 2}, {"tag": "t"}])
def test_a_crash_among_several_schemas(tmp_path: Path, beginning: dict[str, Any]) -> None:
    table = life(tmp_path, "w")
    for number in (1, 2):
        schema = replace(table.schema, id=number, comment=f"the schema {number}")
        table.file_io.write_bytes(schema_path(table.location, number), encode_schema(schema))
        table = open_table(table.location)
        live_on(table, "w")
    create_tag(table, "t", 2)
    rows = state(table, {"scan.snapshot-id": "2"}) if beginning else []
    done = copied(table, tmp_path / "done")
    log = FaultyFileIO(done.file_io)
    create_branch(replace(done, file_io=log), "b", **beginning)
    newest = 1 if beginning else 2
    for at in (at for at, name in enumerate(log.log) if name.startswith("!")):
        broken = copied(table, tmp_path / str(at))
        with suppress(OSError):  # a mark that cannot be taken away is no error
            create_branch(replace(broken, file_io=FaultyFileIO(broken.file_io, at, lasting=True)), "b", **beginning)
        if names(broken):
            assert on(broken, "b").schema.id == newest
        if beginning or not names(broken):
            create_branch(broken, "b", **beginning, ignore_if_exists=True)
            assert {path for path in stored(broken) if not _MARKS.search(path)} == stored(done)
            with pytest.raises(NameTaken):
                create_branch(broken, "b", **beginning)
        assert state(on(broken, "b"), {}) == rows


def test_the_rest_of_a_branch_can_be_deleted(tmp_path: Path) -> None:
    table = life(tmp_path, "www")
    clean = stored(table)
    rest = tmp_path / "t/branch/branch-b/snapshot/snapshot-2"
    rest.parent.mkdir(parents=True)
    rest.write_bytes((tmp_path / "t/snapshot/snapshot-2").read_bytes())
    assert delete_branch(table, "b").paths == (str(rest),)
    assert stored(table) == clean
    assert create_branch(table, "b", snapshot=3).created


@pytest.mark.parametrize("name", ["main", "b/../..", ""])
def test_no_name_reaches_the_files_of_the_table(tmp_path: Path, name: str) -> None:
    table = life(tmp_path, "w")
    create_branch(table, "b", snapshot=1)
    before = stored(table)
    refusal = "it is the table itself" if name == "main" else "no name for a branch"
    with pytest.raises(OptionError, match=refusal):
        delete_branch(table, [name])
    with pytest.raises(OptionError, match=refusal):
        rename_branch(table, name, "c")
    assert stored(table) == before


def test_no_way_out_of_the_directory_of_branches(tmp_path: Path) -> None:
    table = life(tmp_path, "w")
    create_branch(table, "b", snapshot=1)
    before = stored(table)
    for attempt in (lambda: fast_forward(table, "b/../.."), lambda: merge_branch(table, "b/../..", "b")):
        with pytest.raises(SnapshotNotFound, match="no branch"):
            attempt()
    assert stored(table) == before


def test_a_branch_that_is_read_keeps_its_name(tmp_path: Path) -> None:
    """A read through it would lack its partitions from then on."""
    table = life(tmp_path, "w")
    create_branch(table, "b", snapshot=1)
    read = replace(table, schema=replace(table.schema, options={"scan.fallback-branch": "b"}))
    for opened in (read, on(table, "b")):
        for attempt in (lambda t: rename_branch(t, "b", "c"), lambda t: delete_branch(t, "b")):
            with pytest.raises(OptionError, match="change that first"):
                attempt(opened)
    assert names(table) == ["b"]


class WhileDeleting(FaultyFileIO):
    """Somebody commits to a branch whose first file is just being deleted."""

    def __init__(self, branch: Table) -> None:
        super().__init__(branch.file_io)
        self.branch, self.is_done = branch, False

    def delete(self, path: str) -> None:
        if not self.is_done and "/snapshot/" in path:
            self.is_done = True
            truncate_table(self.branch)
        super().delete(path)


def test_a_commit_to_a_branch_that_is_renamed_comes_along(tmp_path: Path) -> None:
    table = life(tmp_path, "ww")
    create_branch(table, "b", snapshot=2)
    rename_branch(replace(table, file_io=WhileDeleting(on(table, "b"))), "b", "c")
    assert (names(table), on(table, "c").snapshots.ids()) == (["c"], [2, 3])
    assert not (tmp_path / "t/branch/branch-b").exists()
    remove_orphan_files(table)


def test_a_commit_to_a_branch_that_is_deleted_goes_too(tmp_path: Path) -> None:
    """Snapshots without a schema would stop every removal of orphan files."""
    table = life(tmp_path, "ww")
    create_branch(table, "b", snapshot=2)
    gone = delete_branch(replace(table, file_io=WhileDeleting(on(table, "b"))), "b").paths
    assert any(path.endswith("/snapshot-3") for path in gone)
    assert not (tmp_path / "t/branch/branch-b").exists()
    remove_orphan_files(table)


def test_a_branch_in_use_stays(tmp_path: Path) -> None:
    table = life(tmp_path, "w")
    create_branch(table, "b", snapshot=1)
    with pytest.raises(OptionError, match="opened on it"):
        delete_branch(on(table, "b"), "b")
    assert names(table) == ["b"]


def forked(path: Path) -> Table:
    """Snapshots 1 to 4; the branch b has 2, and a 3 and a 4 that are the 1."""
    table = life(path, "wwww")
    create_tag(table, "two", 2)
    create_tag(table, "three", 3)
    create_branch(table, "b", tag="two")
    first = Path(table.location, "snapshot/snapshot-1").read_text()
    for number in (3, 4, 5):
        text = first.replace('"id" : 1', f'"id" : {number}')
        Path(table.location, f"branch/branch-b/snapshot/snapshot-{number}").write_text(text)
    return table


def test_the_branch_becomes_the_table(tmp_path: Path) -> None:
    table = forked(tmp_path)
    planned = fast_forward(table, "b", dry_run=True)
    assert table.snapshots.ids() == [1, 2, 3, 4]
    done = fast_forward(table, "b")
    assert done == planned
    assert (done.removed_snapshots, done.added_snapshots) == ((4, 3, 2), (2, 3, 4, 5))
    assert (done.removed_tags, done.added_tags) == (("three",), ("two",))
    assert table.snapshots.ids() == [1, 2, 3, 4, 5]
    assert state(table, {}) == [(0, 1), (1, 1)]
    assert table.snapshots.tag_names() == ["two"]


def test_a_branch_whose_beginning_has_expired(tmp_path: Path) -> None:
    """What the table has done meanwhile is not what led to the branch: its compaction took a file that lives there."""
    table = life(tmp_path, "w")
    create_branch(table, "b", snapshot=1)
    create_tag(table, "old", 1)
    live_on(table, "wc")
    branch = on(table, "b")
    live_on(branch, "www")
    expire_snapshots_by(branch, rules(1))
    expected = state(branch, {})
    planned = fast_forward(table, "b", dry_run=True)
    assert fast_forward(table, "b") == planned
    assert (planned.removed_snapshots, planned.added_snapshots) == ((3, 2, 1), (4,))
    delete_branch(table, "b")
    assert (table.snapshots.ids(), state(table, {})) == ([4], expected)
    live_on(table, "c")
    expire_snapshots_by(table, rules(1))
    assert (table.snapshots.ids(), state(table, {})) == ([5], expected)
    check_table(table.location)


@pytest.mark.parametrize(("start", "changelogs"), [(3, [1, 2]), (2, [])], ids=["first", "before the first"])
def test_the_changelogs_before_a_branch_that_becomes_the_table(
    tmp_path: Path, start: int, changelogs: list[int]
) -> None:
    """They stay if the branch begins with the first snapshot of the table, which they led to."""
    table = new_table(tmp_path / "t", {"changelog-producer": "input"})
    live_on(table, "www")
    create_branch(table, "b", snapshot=start)
    live_on(on(table, "b"), "w")
    expire_snapshots_by(table, rules(1, changelogs=9))
    assert (table.snapshots.ids(), table.snapshots.changelog_ids()) == ([3], [1, 2])
    fast_forward(table, "b")
    assert (table.snapshots.ids(), table.snapshots.changelog_ids()) == ([start, start + 1], changelogs)


def test_a_branch_that_lost_its_schemas_is_named_as_such(tmp_path: Path) -> None:
    table = life(tmp_path, "w")
    for name in ("b", "c"):
        create_branch(table, name, snapshot=1)
    shutil.rmtree(tmp_path / "t/branch/branch-b/schema")
    with pytest.raises(SnapshotNotFound, match=r"no whole branch 'b': its directory branch/branch-b holds no schema"):
        fast_forward(table, "b")
    with pytest.raises(SnapshotNotFound, match=r"no branch 'x'; its branches: c$"):
        fast_forward(table, "x")


def test_no_fast_forward(tmp_path: Path) -> None:
    table = life(tmp_path, "w")
    create_branch(table, "empty")
    with pytest.raises(SnapshotNotFound, match="has no snapshot"):
        fast_forward(table, "empty")
    with pytest.raises(SnapshotNotFound, match="no branch 'x'"):
        fast_forward(table, "x")
    for branch in ("main", "empty"):
        with pytest.raises(OptionError, match="another branch"):
            fast_forward(on(table, "empty"), branch)


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_crash_at_any_point_of_a_fast_forward(tmp_path: Path, when: When) -> None:
    whole = forked(tmp_path)
    done = copied(whole, tmp_path / "done")
    log = FaultyFileIO(done.file_io)
    fast_forward(Table(done.location, log, done.schema, done.settings), "b")
    changes = [at for at, name in enumerate(log.log) if name.startswith("!")]
    for at in changes:
        table = copied(whole, tmp_path / f"{at}")
        broken = FaultyFileIO(table.file_io, at, when, lasting=True)
        fails = nullcontext() if at in changes[-2:] else pytest.raises(OSError, match="injected")  # at last its marks
        with fails:
            fast_forward(Table(table.location, broken, table.schema, table.settings), "b")
        assert state(table, {})[0] in [(0, n) for n in (1, 2, 3, 4)]
        fast_forward(table, "b")
        assert {path for path in stored(table) if "/.holding-" not in path} == stored(done)  # a mark lasts a day
        assert state(table, {}) == [(0, 1), (1, 1)]
    assert len(changes) > 5


@pytest.mark.parametrize("second", [{}, {"snapshot": 1}, {"tag": "two"}])
def test_two_calls_make_no_branch_of_two_states(tmp_path: Path, second: dict[str, Any]) -> None:
    """In all turns of two calls, each up to some operation of its storage: what a call reports is the branch."""
    table = life(tmp_path, "www")
    create_tag(table, "two", 2)
    states: Sequence[dict[str, Any]] = ({"tag": "two"}, second)

    def make(name: str, number: int, made: dict[int, Any]) -> Callable[[FileIO], object]:
        def call(store: FileIO) -> None:
            made[number] = create_branch(replace(table, file_io=store), name, **states[number]).snapshot_id

        return call

    steps = len(operations(table.file_io, make("b", 0, {})))
    for at, turns in enumerate([*itertools.product(range(steps), repeat=2)][:: 1 if LONG else 7]):
        name, made = f"b{at}", dict[int, Any]()
        errors = in_turns(table.file_io, *((make(name, number, made), turns[number]) for number in (0, 1)))
        assert all(isinstance(error, NameTaken) for error in errors if error is not None), errors
        assert not [path for path in stored(table) if _MARKS.search(path)]
        found = on(table, name).snapshots.latest_id() if made else None
        assert set(made.values()) <= {found}, (turns, made)
        assert made or not names(table).count(name), turns


def test_a_branch_that_is_deleted_while_the_table_becomes_it(tmp_path: Path) -> None:
    grown = forked(tmp_path)
    for number in itertools.count():
        table = copied(grown, tmp_path / str(number))
        io = InterleavedStore(table.file_io, number, partial(delete_branch, table, "b"))
        with suppress(SnapshotNotFound):
            fast_forward(replace(table, file_io=cast(FileIO, io)), "b", dry_run=True)
        assert table.snapshots.ids() == [1, 2, 3, 4]
        if io.count < number:
            return
