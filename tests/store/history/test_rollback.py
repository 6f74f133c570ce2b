"""Rollback: what goes, what stays, and that a table reads at any point of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO, When
from support.oracles.checker import check_table
from support.tables.compacting import write
from support.tables.expiring import copied, live_on, new_table, rules, state, stored

from paimon_spark import check
from paimon_spark.errors import CorruptFile, OptionError, SnapshotNotFound
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.snapshot import decode_snapshot, encode_snapshot
from paimon_spark.store.clean.orphans import remove_orphans_before
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.rollback import rollback, rollback_to_timestamp, rollback_to_watermark
from paimon_spark.store.history.rollback_as_latest import rollback_to_as_latest
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.holds.marks import write_mark
from paimon_spark.store.metadata.publish import write_hint
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.stream_source.stream_read import stream_read
from paimon_spark.tables.open import open_table


def life(path: Path, steps: str) -> Table:
    table = new_table(path / "t")
    live_on(table, steps)
    return table


@pytest.mark.parametrize("version", [2, "2", "two"])
def test_later_snapshots_and_tags_go(tmp_path: Path, version: int | str) -> None:
    table = life(tmp_path, "wwww")
    create_tag(table, "two", 2)
    create_tag(table, "three", 3)
    told = rollback(table, version, dry_run=True)
    assert table.snapshots.ids() == [1, 2, 3, 4]
    done = rollback(table, version)
    assert (done.previous_snapshot_id, done.current_snapshot_id) == (4, 2)
    assert (done.snapshots, done.tags) == ((4, 3), ("three",))
    assert done.paths == told.paths
    assert (table.snapshots.ids(), table.snapshots.tag_names()) == ([1, 2], ["two"])
    assert table.snapshots.latest_id() == 2
    assert state(table, {}) == [(0, 2), (1, 2)]
    check_table(table)
    write(table, [(0, 7)])
    assert state(table, {}) == [(0, 7), (1, 2)]


def test_a_state_that_only_a_tag_keeps(tmp_path: Path) -> None:
    for target in ({"tag": "old"}, {"snapshot": 1}, {"version": "1"}):
        table = life(tmp_path / str(target), "wwcw")
        create_tag(table, "old", 1)
        expire_snapshots_by(table, rules(2))
        assert table.snapshots.ids() == [3, 4]
        rollback(table, **target)  # type: ignore[arg-type]  # one of several parameters
        assert (table.snapshots.ids(), table.snapshots.earliest_id(), table.snapshots.latest_id()) == ([1], 1, 1)
        assert state(table, {}) == [(0, 1), (1, 1)]
        check_table(table)


def test_a_newest_snapshot_that_is_lost_is_reported_and_the_rollback_accepts_it(tmp_path: Path) -> None:
    table = life(tmp_path, "www")
    create_tag(table, "one", 1)
    lost = Path(table.location, "snapshot/snapshot-3")
    data = lost.read_bytes()
    lost.unlink()
    before = stored(table)
    refused: tuple[Callable[[], object], ...] = (
        lambda: open_table(table.location).scan().to_arrow(),
        lambda: write(table, [(0, 9)]),
        lambda: create_tag(table, "new"),
        lambda: expire_snapshots_by(table, rules(1)),
        lambda: remove_orphans_before(table, 2**62, dry_run=False),
        lambda: rollback_to_timestamp(table, 2**50),
        lambda: stream_read(table, {}).start().newest(),
    )
    for call in refused:
        with pytest.raises(CorruptFile, match="names snapshot 3, and the newest one there is 2: snapshot 3 was lost"):
            call()
    assert stored(table) == before
    assert state(table, {"scan.snapshot-id": "2"}) == [(0, 2), (1, 2)]
    assert state(table, {"scan.tag-name": "one"}) == [(0, 1), (1, 1)]
    lost.write_bytes(data)
    assert state(table, {}) == [(0, 3), (1, 3)]
    lost.unlink()
    assert rollback(table, 2).current_snapshot_id == 2
    assert state(table, {}) == [(0, 2), (1, 2)]
    check_table(table.location)
    write(table, [(0, 7)])
    assert state(table, {}) == [(0, 7), (1, 2)]


def test_all_snapshots_are_lost_and_a_tag_is_left(tmp_path: Path) -> None:
    table = life(tmp_path, "www")
    create_tag(table, "one", 1)
    whole = copied(table, tmp_path / "whole")
    for path in Path(table.location, "snapshot").glob("snapshot-*"):
        path.unlink()
    shutil.rmtree(Path(whole.location, "snapshot"))
    with pytest.raises(CorruptFile, match="its snapshots were lost"):
        write(whole, [(0, 7)])
    with pytest.raises(CorruptFile, match="its snapshots were lost"):
        remove_orphans_before(whole, 2**62, dry_run=False)
    for lost in (table, whole):
        assert rollback(lost, "one").current_snapshot_id == 1
        assert state(lost, {}) == [(0, 1), (1, 1)]
        check_table(lost.location)


def test_a_commit_that_writes_its_hint_after_the_rollback(tmp_path: Path) -> None:
    table = life(tmp_path, "www")
    rollback(table, 1)
    write_hint(table.snapshots, 3)
    assert Path(table.location, "snapshot/LATEST").read_text() == "1"
    assert state(table, {}) == [(0, 1), (1, 1)]


def test_a_commit_that_writes_its_hint_during_the_rollback(tmp_path: Path) -> None:
    table = life(tmp_path, "www")

    class Late(FaultyFileIO):
        """A writer of the official system writes the hint of snapshot 3 just before that goes."""

        def delete(self, path: str) -> None:
            if path.endswith("snapshot-3"):
                table.snapshots.write_latest_hint(3)
            super().delete(path)

    rollback(replace(table, file_io=Late(LocalFileIO())), 1)
    assert table.snapshots.latest_hint() == 1


def test_the_latest_is_a_target_too(tmp_path: Path) -> None:
    table = life(tmp_path, "ww")
    assert rollback(table, 2).paths == ()
    assert table.snapshots.ids() == [1, 2]


def test_long_lived_changelogs_go_too(tmp_path: Path) -> None:
    for target, stay, hint in ((2, {"changelog-1", "changelog-2"}, "2"), (1, {"changelog-1"}, "1")):
        table = life(tmp_path / str(target), "wwww")
        create_tag(table, "one", 1)
        create_tag(table, "two", 2)
        expire_snapshots_by(table, rules(1, 5))
        done = rollback(table, target)
        assert done.changelogs == tuple(range(3, target, -1))
        left = {path.name for path in Path(table.location, "changelog").glob("changelog-*")}
        assert left == stay
        assert Path(table.location, "changelog/LATEST").read_text() == hint


def test_to_a_time(tmp_path: Path) -> None:
    table = life(tmp_path, "www")
    times = [table.snapshots.load(n).time_millis for n in (1, 2, 3)]
    with pytest.raises(SnapshotNotFound, match="or before"):
        rollback_to_timestamp(table, times[0] - 1)
    assert rollback_to_timestamp(table, times[1]).current_snapshot_id == 2


@pytest.mark.parametrize(("watermark", "found"), [(30, 5), (29, 4), (20, 4), (19, 2), (10, 2), (9, None)])
def test_to_a_watermark(tmp_path: Path, watermark: int, found: int | None) -> None:
    table = life(tmp_path, "wwwwww")
    for number, value in enumerate([None, 10, None, 20, 30, None], start=1):
        path = Path(table.location, "snapshot", f"snapshot-{number}")
        snapshot = decode_snapshot(path.read_bytes(), str(path))
        path.write_bytes(encode_snapshot(type(snapshot)(**{**vars(snapshot), "watermark": value})))
    if found is None:
        with pytest.raises(SnapshotNotFound, match="watermark of 9"):
            rollback_to_watermark(table, watermark)
    else:
        assert rollback_to_watermark(table, watermark).current_snapshot_id == found


def test_targets_that_are_none(tmp_path: Path) -> None:
    table = life(tmp_path, "www")
    for arguments in ({}, {"version": 1, "tag": "x"}, {"snapshot": 1, "tag": "x"}):
        with pytest.raises(OptionError, match="just one"):
            rollback(table, **arguments)  # type: ignore[arg-type]  # one of several parameters
    for target in ("x", "9", 9):
        with pytest.raises(SnapshotNotFound):
            rollback(table, target)
    write_mark(table.snapshots, 3, None)
    with pytest.raises(SnapshotNotFound, match="expires just now"):
        rollback(table, 2)
    assert table.snapshots.ids() == [1, 2, 3]


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_tag_of_a_snapshot_whose_id_another_one_has(tmp_path: Path, dry_run: bool) -> None:
    """A rollback broke off before it took the tag away, and the table lived on."""
    table = life(tmp_path, "www")
    create_tag(table, "three", 3)
    tag = Path(table.location, "tag/tag-three").read_bytes()
    rollback(table, 2)
    Path(table.location, "tag/tag-three").write_bytes(tag)
    write(table, [(0, 7)])
    write(table, [(0, 8)])
    before = stored(table)
    with pytest.raises(SnapshotNotFound, match="snapshot 3 was taken back"):
        rollback(table, tag="three", dry_run=dry_run)
    assert stored(table) == before
    rollback_to_as_latest(table, tag="three")
    assert state(table, {}) == [(0, 3), (1, 3)]


def test_a_branch_goes_back_alone(tmp_path: Path) -> None:
    table = life(tmp_path, "ww")
    root = Path(table.location, "branch/branch-b")
    shutil.copytree(Path(table.location, "schema"), root / "schema")
    shutil.copytree(Path(table.location, "snapshot"), root / "snapshot")
    b = open_table(table.location, {"branch": "b"})
    rollback(b, 1)
    assert (b.snapshots.ids(), table.snapshots.ids()) == ([1], [1, 2])


def test_what_is_written_on_top_concurrently_goes_too(tmp_path: Path) -> None:
    """A writer that began before puts its snapshot on top of one that is gone."""
    table = life(tmp_path, "wwww")

    class Racing(FaultyFileIO):
        def delete(self, path: str) -> None:
            super().delete(path)
            if path.endswith("snapshot-3"):
                directory = Path(path).parent
                late = json.loads((directory / "snapshot-2").read_text()) | {"id": 5}
                self.inner.write_bytes(f"{directory}/snapshot-5", json.dumps(late).encode())

    rollback(replace(table, file_io=Racing(table.file_io)), 2)
    assert table.snapshots.ids() == [1, 2]


def test_a_tag_that_is_made_concurrently_goes_too_but_not_of_a_new_snapshot(tmp_path: Path) -> None:
    table = life(tmp_path, "wwww")

    class Racing(FaultyFileIO):
        def delete(self, path: str) -> None:
            if path.endswith("snapshot-3"):
                create_tag(table, "late", 3)
            super().delete(path)
            if path.endswith("changelog-4"):
                live_on(table, "w")
                create_tag(table, "new", 3)

    for number in (3, 4):  # what goes after the snapshots
        path = Path(table.location, "changelog", f"changelog-{number}")
        path.parent.mkdir(exist_ok=True)
        shutil.copy(Path(table.location, "snapshot", f"snapshot-{number}"), path)
    rollback(replace(table, file_io=Racing(table.file_io)), 2)
    assert (table.snapshots.ids(), table.snapshots.tag_names()) == ([1, 2, 3], ["new"])
    assert state(table, {"scan.tag-name": "new"}) == [(0, 3), (1, 3)]


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
@pytest.mark.parametrize("tagged", [False, True])
def test_a_crash_at_any_point(tmp_path: Path, when: When, tagged: bool) -> None:
    whole = life(tmp_path / "whole", "wwwwww")
    create_tag(whole, "two", 2)
    create_tag(whole, "five", 5)
    if tagged:
        expire_snapshots_by(whole, rules(3))
    done = copied(whole, tmp_path / "done")
    log = FaultyFileIO(done.file_io)
    rollback(replace(done, file_io=log), 2)
    changes = [at for at, name in enumerate(log.log) if name.startswith("!")]
    for at in changes:
        table = copied(whole, tmp_path / f"{at}")
        fails = nullcontext() if at == changes[-1] else pytest.raises(OSError, match="injected")  # the last: its mark
        with fails:
            rollback(replace(table, file_io=FaultyFileIO(table.file_io, at, when, lasting=True)), 2)
        assert state(table, {})[0] in [(0, n) for n in range(2, 7)]
        assert table.snapshots.find_tag("five") is None or table.snapshots.exists(5), "another may get its id"
        rollback(table, 2)
        assert {path for path in stored(table) if "/.holding-" not in path} == stored(done)  # a mark lasts a day
        assert state(table, {}) == [(0, 2), (1, 2)]
    assert len(changes) >= 6


def test_a_table_whose_changelog_expired_before_the_rollback_is_good(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"changelog-producer": "input"})
    live_on(table, "wwww")
    create_tag(table, "two", 2)
    expire_snapshots_by(table, rules(1))
    rollback(table, "two")
    report = check_table(table.location)
    assert any("the changes of snapshot 2, the earliest one, cannot be read" in note for note in report.notes)
    live_on(table, "ww")
    check_table(table.location)
    [lost] = Path(table.location, "manifest").glob(str(table.snapshots.load(3).changelog_manifest_list))
    lost.unlink()
    assert [problem.snapshot for problem in check(table.location).problems] == ["snapshot 3"]
    rollback(table, 2)
    remove_orphans_before(table, 2**62, dry_run=False)
    assert state(table, {}) == [(0, 2), (1, 2)]
    live_on(table, "w")
    assert expire_snapshots_by(table, rules(1)).ids == (2,)
    check_table(table.location)
