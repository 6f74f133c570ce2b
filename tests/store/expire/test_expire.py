"""Expiry of snapshots: which go, which files go with them, what tags, consumers and branches keep."""

from __future__ import annotations

import datetime as dt
import logging
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.faults.faulty_store import FaultyFileIO
from support.oracles.checker import check_table
from support.tables.compacting import live_files
from support.tables.expiring import (
    FOREVER,
    branch,
    consumer,
    copied,
    data_files,
    live_on,
    new_table,
    rules,
    state,
    states,
    stored,
    tag,
)

from paimon_spark.errors import CorruptFile, OptionError
from paimon_spark.file_io import FileStatus, LocalFileIO
from paimon_spark.format.manifest import FileKind, ManifestEntry
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState
from paimon_spark.store.commit.commit_loop import commit_request
from paimon_spark.store.expire.changelogs import expire_changelogs
from paimon_spark.store.expire.snapshots import expire_snapshots, expire_snapshots_by
from paimon_spark.store.expire.used import tags_before
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.holds.marks import expiring_below, hold_file, write_mark
from paimon_spark.store.holds.retention import Limits, retention, retention_rules
from paimon_spark.store.metadata.manifest_files import read_data_manifests, read_manifest_list
from paimon_spark.store.metadata.messages import CommitChanges
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.maintenance import maintain
from paimon_spark.tables.open import open_table

HOUR = 3_600_000


def life(path: Path, steps: str, options: Mapping[str, str] | None = None) -> Table:
    table = new_table(path / "t", options or {})
    live_on(table, steps)
    return table


def set_times(table: Table, minutes_ago: list[int]) -> None:
    """Gives the snapshots their ages, in order."""
    now = int(dt.datetime.now().timestamp() * 1000)
    for number, minutes in zip(table.snapshots.ids(), minutes_ago, strict=True):
        path = Path(table.location, "snapshot", f"snapshot-{number}")
        text = re.sub(r'("timeMillis"\s*:\s*)\d+', rf"\g<1>{now - minutes * 60_000}", path.read_text())
        path.write_text(text)


# ------------------------------------------------------------------------------------------------------ which snapshots


CASES: list[tuple[str, list[int], dict[str, Any], list[int]]] = [
    # what, minutes ago of snapshots 1.., arguments, ids that stay
    ("young ones stay", [9, 8, 7, 6], {"retain_min": 1}, [1, 2, 3, 4]),
    ("old ones go but for the least", [99, 98, 97, 96], {"retain_min": 2}, [3, 4]),
    ("the state of an hour ago stays", [300, 200, 100, 30], {"retain_min": 1}, [3, 4]),
    ("more than the most go, however young", [9, 8, 7, 6], {"retain_max": 2, "retain_min": 1}, [3, 4]),
    ("at most so many a time", [99, 98, 97, 96], {"retain_min": 1, "max_deletes": 2}, [3, 4]),
    ("none a time", [99, 98, 97, 96], {"retain_min": 1, "max_deletes": 0}, [1, 2, 3, 4]),
    ("all but the last", [99, 98, 97, 96], {"retain_max": 1, "retain_min": 1}, [4]),
    ("defaults keep ten", [99, 98, 97, 96], {}, [1, 2, 3, 4]),
]


@pytest.mark.parametrize(("what", "ages", "arguments", "left"), CASES, ids=[case[0] for case in CASES])
def test_which_snapshots_go(
    tmp_path: Path, what: str, ages: list[int], arguments: dict[str, Any], left: list[int]
) -> None:
    table = life(tmp_path, "wwww")
    set_times(table, ages)
    result = expire_snapshots(table, **arguments)
    assert table.snapshots.ids() == left
    assert list(result.ids) == [n for n in [1, 2, 3, 4] if n not in left]
    assert table.snapshots.earliest_id() == left[0]


def test_a_time_of_its_own(tmp_path: Path) -> None:
    table = life(tmp_path, "wwww")
    set_times(table, [40, 30, 20, 10])
    moment = dt.datetime.now() - dt.timedelta(minutes=15)
    assert expire_snapshots(table, retain_min=1, older_than=moment).ids == (1, 2)
    assert table.snapshots.ids() == [3, 4]


@pytest.mark.parametrize("form", [lambda m: m, str, lambda m: int(m.timestamp() * 1000)])
def test_times_in_every_form(form: Callable[[dt.datetime], Any]) -> None:
    moment = dt.datetime.now().replace(microsecond=0) - dt.timedelta(hours=3)
    kept = retention(TableSettings({}), Limits(older_than=form(moment)))
    assert kept.keep_since == int(moment.timestamp() * 1000)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"retain_max": 5}, "retain_max (5) is less than retain_min (10)"),
        ({"retain_min": 0}, "at least the newest"),
        ({"retain_max": 0}, "retain_max is 0: at least the newest"),
        ({"max_deletes": -1}, "give 0 or more"),
        ({"retain_max": 2, "retain_min": 5}, "give retain_max 5 or more, or retain_min 2 or less"),
        ({"older_than": "yesterday"}, "older_than is 'yesterday': expected a time such as 2026-11-01 12:30:00"),
        ({"older_than": "7 d"}, "expected a time such as 2026-11-01 12:30:00; 7 d before now was 2"),
    ],
)
def test_arguments_that_contradict(tmp_path: Path, arguments: dict[str, Any], words: str) -> None:
    table = life(tmp_path, "w")
    with pytest.raises(OptionError, match=re.escape(words)):
        expire_snapshots(table, **arguments)


def test_the_option_that_contradicts_is_named(tmp_path: Path) -> None:
    table = life(tmp_path, "w", {"changelog.num-retained.min": "20"})
    with pytest.raises(OptionError, match=r"retain_min \(20\): .* 'changelog\.num-retained\.min' of the table"):
        expire_changelogs(table, retain_max=5)


def test_the_options_of_the_table_decide(tmp_path: Path) -> None:
    options = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "3", "snapshot.expire.limit": "1"}
    table = life(tmp_path, "wwwww", options)
    assert expire_snapshots(table).ids == (1,), "the limit"
    assert expire_snapshots(table, max_deletes=9).ids == (2,), "three stay"


def test_a_table_without_snapshots(tmp_path: Path) -> None:
    assert expire_snapshots(new_table(tmp_path / "t")).ids == ()


def test_the_hint_is_written_when_nothing_expires(tmp_path: Path) -> None:
    table = life(tmp_path, "ww")
    expire_snapshots(table)
    assert Path(table.location, "snapshot", "EARLIEST").read_text() == "1"


# ----------------------------------------------------------------------------------------------- which files go with it


def test_files_of_compactions_go_and_others_stay(tmp_path: Path) -> None:
    table = life(tmp_path, "wwcw")
    before, rows = data_files(table), states(table)
    result = expire_snapshots_by(table, rules(1))
    assert data_files(table) == {f"bucket-0/{file.file_name}" for file in live_files(table)}
    assert result.data_files == len(before - data_files(table)) == 2
    assert result.bytes > 0
    assert states(table) == {"snapshot 4": rows["snapshot 4"]}
    check_table(table.location)


def test_all_that_went_is_reported(tmp_path: Path) -> None:
    table = life(tmp_path, "wwcwc", {"changelog-producer": "input", "deletion-vectors.enabled": "true"})
    before = stored(table)
    told = expire_snapshots_by(table, rules(1), dry_run=True)
    assert stored(table) == before, "a dry run changes nothing"
    result = expire_snapshots_by(table, rules(1))
    gone = {f"{table.location}/{path}" for path in before - stored(table)}
    assert gone == set(result.paths) == set(told.paths)
    assert (told.ids, told.data_files, told.manifest_files) == (result.ids, result.data_files, result.manifest_files)
    assert result.changelog_files == 3
    assert not list(Path(table.location, "snapshot").glob(".*"))


def test_a_file_that_moved_to_another_level_stays(tmp_path: Path) -> None:
    table = life(tmp_path, "wc")  # one file: the compaction only moves it
    assert len(data_files(table)) == 1
    expire_snapshots_by(table, rules(1))
    assert len(data_files(table)) == 1
    check_table(table.location)


def test_a_tag_keeps_its_files_and_its_metadata(tmp_path: Path) -> None:
    table = life(tmp_path, "wwwcwc")
    tag(table, "t", 2)
    rows = states(table)
    expire_snapshots_by(table, rules(1))
    assert states(table) == {"snapshot 6": rows["snapshot 6"], "tag t": rows["tag t"]}
    check_table(table.location)
    Path(table.location, "tag", "tag-t").unlink()
    assert check_table(table.location).live_files == 1


def test_an_unreadable_tag_stops_everything(tmp_path: Path) -> None:
    table = life(tmp_path, "wwcw")
    tag(table, "t", 1)
    Path(table.location, "tag", "tag-t").write_text("{")
    before = stored(table)
    with pytest.raises(CorruptFile, match="tag-t"):
        expire_snapshots_by(table, rules(1))
    assert stored(table) == before


def test_a_consumer_keeps_what_it_has_not_read(tmp_path: Path) -> None:
    table = life(tmp_path, "wwww")
    consumer(table, "c", 3)
    consumer(table, "d", 9)
    assert expire_snapshots_by(table, rules(1)).ids == (1, 2)
    assert expire_snapshots_by(table, replace(rules(1), consumers_hold_snapshots=False)).ids == (3,)


def test_consumers_may_hold_changelogs_only() -> None:
    values = {"consumer.changelog-only": "true"}
    assert retention_rules(TableSettings(values)).consumers_hold_snapshots, "no changelog outlives its snapshot"
    values["changelog.time-retained"] = "2 h"
    assert not retention_rules(TableSettings(values)).consumers_hold_snapshots


def test_a_branch_keeps_its_files_without_a_tag(tmp_path: Path) -> None:
    table = life(tmp_path, "wwwcwc")
    other = branch(table, "b", 2)
    rows = state(other, {})
    expire_snapshots_by(table, rules(1))
    assert state(open_table(table.location, {"branch": "b"}), {}) == rows
    check_table(table.location)


def test_expiry_of_a_branch_keeps_what_the_table_needs(tmp_path: Path) -> None:
    table = life(tmp_path, "www")
    other = branch(table, "b", 3)
    live_on(table, "w")
    rows = states(table)
    compact_branch(other)
    assert expire_snapshots_by(open_table(table.location, {"branch": "b"}), rules(1)).ids == (3,)
    assert states(table) == rows
    check_table(table.location)


def compact_branch(table: Table) -> None:
    """A change of the branch that deletes all files it shares with the table."""
    deletes_all(table, FileKind.DELETE, CommitKind.OVERWRITE)


def deletes_all(table: Table, kind: FileKind, commit: CommitKind) -> None:
    def propose(found: TableState) -> Proposal[None]:
        entries = (entry._replace(kind=kind) for entry in found.live_entries(None))
        return Proposal(CommitChanges(tuple(entries)), None)

    commit_request(table, CommitRequest("user", 1, commit, None, propose, True), None)


def test_files_that_a_rollback_took_up_stay(tmp_path: Path) -> None:
    table = life(tmp_path, "w")
    first: list[ManifestEntry] = []

    def remember(found: TableState) -> Proposal[None]:
        first.extend(found.live_entries(None))
        return Proposal(CommitChanges(tuple(entry._replace(kind=FileKind.DELETE) for entry in first)), None)

    def revive(found: TableState) -> Proposal[None]:
        return Proposal(CommitChanges(tuple(first)), None)

    for number, change in enumerate((remember, revive)):
        commit_request(table, CommitRequest("user", number, CommitKind.OVERWRITE, None, change, True), None)
    live_on(table, "w")
    rows = states(table)
    for keep in (3, 2, 1):
        expire_snapshots_by(table, rules(keep))
        assert states(table) == {name: rows[name] for name in list(rows)[-keep:]}
        check_table(table.location)


# ------------------------------------------------------------------------------------------- crashes and other expiries


def test_an_expiry_that_broke_off_is_finished(tmp_path: Path) -> None:
    """Below the mark nothing is whole: a later expiry goes up to it, even if its own rules keep more."""
    table = life(tmp_path, "wwcwcw")
    write_mark(table.snapshots, 5, None)
    assert expiring_below(table.snapshots) == 5
    expire_snapshots_by(table, rules(4))
    assert table.snapshots.ids() == [5, 6]
    assert expiring_below(table.snapshots) is None
    check_table(table.location)


def test_a_mark_above_all_snapshots_tells_nothing(tmp_path: Path) -> None:
    """A rollback took them away between the plan of an expiry and its mark, and then it was killed."""
    table = new_table(tmp_path / "t")
    live_on(table, "wwww")
    write_mark(table.snapshots, 6, None)
    assert expiring_below(table.snapshots) is None
    create_tag(table, "x", 1)
    assert expire_snapshots_by(table, rules(3), finishes=True).ids == (1,)
    assert not any(".expiring-" in path for path in stored(table))


def test_a_call_finishes_what_broke_off_though_nothing_is_due(tmp_path: Path) -> None:
    """Nobody could keep a snapshot below the mark, for as long as the options keep them."""
    table = life(tmp_path, "wwcwcw")
    write_mark(table.snapshots, 5, None)
    assert expire_snapshots(table, dry_run=True).ids == (1, 2, 3, 4)
    assert expire_snapshots(table).ids == (1, 2, 3, 4)
    assert expiring_below(table.snapshots) is None
    assert expire_snapshots(table).ids == ()
    check_table(table.location)


@pytest.mark.parametrize(("days", "clock_of_store", "goes"), [(2, 0, True), (0.5, 0, False), (2, -2, False)])
def test_who_was_killed_holds_a_quiet_table_for_a_day(
    tmp_path: Path, days: float, clock_of_store: int, goes: bool
) -> None:
    """Nothing has come since, so that his mark is the newest file; and the clock here may be wrong."""
    table = life(tmp_path, "www")
    with hold_file(table.file_io, table.snapshots.directory, 1):
        then = time.time() - days * 86_400
        for path in Path(table.location, "snapshot").iterdir():
            os.utime(path, (then, then))

        class Clock(LocalFileIO):
            def list(self, path: str) -> list[FileStatus]:
                listed = super().list(path)
                young = time.time() * 1000 - 3_600_000
                late = clock_of_store * 86_400_000
                return [
                    s._replace(modified_millis=s.modified_millis + (late if s.modified_millis > young else 0))
                    for s in listed
                ]

        expire_snapshots_by(replace(table, file_io=Clock()), rules(1))
        assert table.snapshots.ids() == ([3] if goes else [1, 2, 3])


def test_a_file_that_is_gone_is_no_error(tmp_path: Path) -> None:
    table = life(tmp_path, "wwcw")
    first = table.snapshots.load(1)
    for name in (first.base_manifest_list, first.delta_manifest_list):
        Path(table.location, "manifest", name).unlink()
    expire_snapshots_by(table, rules(1))
    assert table.snapshots.ids() == [4]
    check_table(table.location)


def test_damaged_metadata_stop_everything(tmp_path: Path) -> None:
    table = life(tmp_path, "wwcw")
    Path(table.location, "manifest", table.snapshots.load(3).delta_manifest_list).write_text("damaged")
    before = stored(table)
    with pytest.raises(CorruptFile):
        expire_snapshots_by(table, rules(1))
    assert stored(table) == before


def lost_manifest(table: Table, number: int) -> str:
    """Deletes the manifest that only this snapshot and those after it name; returns its name."""
    (meta,) = read_manifest_list(table.file_io, table.location, table.snapshots.load(number).delta_manifest_list)
    Path(table.location, "manifest", meta.file_name).unlink()
    return meta.file_name


@pytest.mark.parametrize("keep", [1, 2])
def test_the_last_states_that_can_be_read_do_not_expire(tmp_path: Path, keep: int) -> None:
    table = life(tmp_path, "wwww")
    name = lost_manifest(table, 4)
    before = stored(table)
    for dry_run in (True, False):
        with pytest.raises(CorruptFile, match=rf"snapshot 4, which stays.*{name} does not exist.*snapshot 3, the new"):
            expire_snapshots_by(table, rules(keep), dry_run)
    assert stored(table) == before
    rollback(table, 3)
    expire_snapshots_by(table, rules(1))
    assert states(table) == {"snapshot 3": [(0, 3), (1, 3)]}


def test_a_manifest_list_of_the_latest_snapshot_that_is_not_the_oldest_to_stay(tmp_path: Path) -> None:
    table = life(tmp_path, "wwww")
    path = Path(table.location, "manifest", table.snapshots.load(4).base_manifest_list)
    path.write_bytes(b"x" * path.stat().st_size)
    before = stored(table)
    with pytest.raises(CorruptFile, match=rf"snapshot 4, which stays.*{path.name}.*roll the table back to snapshot 3"):
        expire_snapshots_by(table, rules(2))
    assert stored(table) == before


def test_the_oldest_snapshot_that_stays_must_be_readable_too(tmp_path: Path) -> None:
    """The commits after it joined the lost manifest of snapshot 3 with others."""
    table = life(tmp_path, "www", {"manifest.merge-min-count": "2"})
    live_on(table, "ww")
    names = [
        {meta.file_name for meta in read_data_manifests(table.file_io, table.location, table.snapshots.load(number))}
        for number in (3, 5)
    ]
    (only, *_) = sorted(names[0] - names[1])
    Path(table.location, "manifest", only).unlink()
    before = stored(table)
    with pytest.raises(CorruptFile, match=rf"snapshot 3, which stays.*{only} does not exist.*keep fewer or more"):
        expire_snapshots_by(table, rules(3))
    assert stored(table) == before
    assert expire_snapshots_by(table, rules(1)).ids == (1, 2, 3, 4)
    check_table(table.location)


def test_a_commit_on_a_snapshot_that_cannot_be_read_deletes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = life(tmp_path, "www")
    name = lost_manifest(table, 3)
    table = open_table(table.location, {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"})
    with caplog.at_level(logging.WARNING):
        maintain(table, dedicated=True)
    assert table.snapshots.ids() == [1, 2, 3]
    assert f"expiring snapshots of {table.location} failed" in caplog.text
    assert name in caplog.text


def test_a_damaged_manifest_list_says_what_can_be_read(tmp_path: Path) -> None:
    table = life(tmp_path, "ww")
    path = Path(table.location, "manifest", table.snapshots.load(2).delta_manifest_list)
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(CorruptFile, match=rf"{path.name}.*; restore it from a backup, or read an older snapshot or a"):
        state(table, {})
    assert state(table, {"scan.snapshot-id": "1"}) == [(0, 1), (1, 1)]


def test_cost_grows_with_what_goes_not_with_the_table(tmp_path: Path) -> None:
    """Of the snapshots that stay only the first one's lists are read, and no data file."""
    counts = []
    for steps in ("wwc" + "w" * 2, "wwc" + "w" * 20):
        table = life(tmp_path / steps, steps)
        io = FaultyFileIO(LocalFileIO())
        keep = len(steps) - 3
        expire_snapshots_by(replace(table, file_io=io), rules(keep))
        counts.append(len(io.log) - (keep - 1))  # whether a later snapshot took up old files is one read each
    assert counts[0] == counts[1]


def test_the_directories_of_empty_buckets_go(tmp_path: Path) -> None:
    table = life(tmp_path, "w", {"snapshot.clean-empty-directories": "true"})
    deletes_all(table, FileKind.DELETE, CommitKind.OVERWRITE)
    expire_snapshots_by(table, rules(1))
    assert not Path(table.location, "bucket-0").exists()
    live_on(table, "w")
    check_table(table.location)


def test_options_are_read_from_the_schema(tmp_path: Path) -> None:
    kept = retention(open_table(life(tmp_path, "w").location).settings)
    assert (kept.retain_max, kept.retain_min, kept.millis_retained, kept.max_deletes) == (FOREVER, 10, HOUR, 50)


def tagged(number: int, identifier: int = 1) -> Snapshot:
    return Snapshot(number, 0, "base", "delta", "user", identifier, CommitKind.APPEND, 1000, 0, 0)


def test_the_nearest_tags_below_snapshots() -> None:
    tags = [tagged(number) for number in (2, 4, 4, 7)]
    assert tags_before(tags, [2], False) == []
    assert tags_before(tags, [4], False) == [tags[0]]
    assert tags_before(tags, [8, 4, 3], False) == [tags[0], tags[3]]
    assert tags_before(tags, [7, 3], True) == tags[:3]
    assert tags_before([tagged(4, 1), tagged(4, 2)], [5], False) == [tagged(4, 1), tagged(4, 2)]


def test_a_hint_that_names_a_later_snapshot_than_the_earliest(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "wcwcwcwcw")
    table.snapshots.write_earliest_hint(5)
    assert expire_snapshots_by(table, rules(2)).ids == (1, 2, 3, 4, 5, 6, 7)
    assert table.snapshots.ids() == [8, 9]
    check_table(table.location)


def test_a_hint_that_names_the_earliest_snapshot_saves_a_listing(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "wcwcwcw")
    listings = []
    for number in (1, 2):
        hinted = copied(table, tmp_path / f"{number}")
        hinted.snapshots.write_earliest_hint(number)
        io = FaultyFileIO(LocalFileIO())
        assert expire_snapshots_by(replace(hinted, file_io=io), rules(2)).ids == (1, 2, 3, 4, 5)
        listings.append(io.log.count("list"))
    assert listings[0] < listings[1]


@pytest.mark.parametrize("options", [{}, {"changelog-producer": "input"}], ids=str)
def test_what_an_expiry_says_that_it_deleted_is_gone(tmp_path: Path, options: Mapping[str, str]) -> None:
    table = life(tmp_path, "wcwcwcw", options)

    def files() -> dict[str, int]:
        return {str(p): p.stat().st_size for p in Path(table.location).rglob("*") if p.is_file()}

    before = files()
    planned = expire_snapshots_by(table, rules(1), dry_run=True)
    assert files() == before
    done = expire_snapshots_by(table, rules(1))
    gone = {path: size for path, size in before.items() if path not in files()}
    assert set(done.paths) == set(planned.paths) == set(gone)
    kinds = [sum(f"/{kind}" in path for path in gone) for kind in ("manifest/", "snapshot/snapshot-")]
    assert kinds == [done.manifest_files, len(done.ids)]
    data = {path: size for path, size in gone.items() if "/bucket-0/" in path}
    assert sum("/changelog-" in path for path in data) == done.changelog_files
    assert len(data) == done.data_files + done.changelog_files
    assert sum(data.values()) == done.bytes
    counts = ("data_files", "changelog_files", "index_files", "statistics_files", "manifest_files", "bytes", "ids")
    assert [getattr(done, name) for name in counts] == [getattr(planned, name) for name in counts]
