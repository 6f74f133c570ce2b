"""Changelogs that outlive their snapshots: how they move, how they are read, when they go."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from support.faults.faulty_store import FaultyFileIO
from support.oracles.checker import check_table
from support.simulation.interleaved_store import InterleavedStore
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
from support.tables.golden_tables import GoldenTable

from paimon_spark.errors import CorruptFile, SnapshotNotFound
from paimon_spark.file_io import FileIO
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.store.expire.changelogs import expire_all_changelogs, expire_changelogs, expire_changelogs_by
from paimon_spark.store.expire.snapshots import expire_snapshots, expire_snapshots_by
from paimon_spark.store.history.branches import create_branch, delete_branch
from paimon_spark.store.history.fast_forward import fast_forward
from paimon_spark.store.history.tag_deletion import delete_tags
from paimon_spark.store.holds.retention import Retention, retention_rules
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.manifest_compaction import compact_manifests
from paimon_spark.tables.open import open_table

INPUT = {"changelog-producer": "input"}
PRODUCERS: list[Mapping[str, str]] = [{}, INPUT]


def kept(number: int, max_deletes: int = FOREVER) -> Retention:
    return Retention(number, number, 0, 2**63 - 1, max_deletes)


def changelog_ids(table: Table) -> list[int]:
    return sorted(int(p.name.split("-")[1]) for p in Path(table.location, "changelog").glob("changelog-*"))


def hint(table: Table, name: str) -> int:
    return int(Path(table.location, "changelog", name).read_text())


def events(table: Table, number: int) -> list[tuple[object, ...]]:
    """The changelog of one snapshot, whether it is there still or lives on as a changelog."""
    options = {"incremental-between": f"{number - 1},{number}", "incremental-between-scan-mode": "changelog"}
    if "changelog-producer" not in table.schema.options:
        options["incremental-between-scan-mode"] = "delta"
    rows = open_table(table.location, options).scan(row_kinds=True).to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in rows)


@pytest.mark.parametrize("options", PRODUCERS, ids=str)
def test_changelogs_live_on(tmp_path: Path, options: Mapping[str, str]) -> None:
    table = new_table(tmp_path / "t", options)
    live_on(table, "wwcwc")
    writes = (2, 4)
    rows, before = states(table), {n: events(table, n) for n in writes}
    result = expire_snapshots_by(table, rules(1, changelogs=9))
    assert (result.ids, result.moved_changelogs, result.changelog_files) == ((1, 2, 3, 4), 4, 0)
    assert changelog_ids(table) == [1, 2, 3, 4]
    assert hint(table, "LATEST") == 4
    assert states(table) == {"snapshot 5": rows["snapshot 5"]}
    check_table(table.location)
    if options:
        assert {n: events(table, n) for n in writes} == before


def test_without_a_producer_the_files_of_writers_stay(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "wwcwc")
    written = 3
    expire_snapshots_by(table, rules(1, changelogs=9))
    assert len(data_files(table)) == written + 1
    expire_changelogs_by(table, kept(1))
    assert changelog_ids(table) == [4], "the newest stays"
    assert len(data_files(table)) == 2, "that of the last write is the changelog that stays"
    check_table(table.location)


@pytest.mark.parametrize("options", PRODUCERS, ids=str)
def test_they_go_on_their_own(tmp_path: Path, options: Mapping[str, str]) -> None:
    table = new_table(tmp_path / "t", options)
    live_on(table, "wwcwcw")
    expire_snapshots_by(table, rules(1, changelogs=9))
    assert expire_changelogs_by(table, kept(4, max_deletes=1)).ids == (1,)
    assert expire_changelogs_by(table, kept(4)).ids == (2,)
    assert hint(table, "EARLIEST") == 3
    assert expire_changelogs_by(table, kept(4)).ids == ()
    before = stored(table)
    told = expire_changelogs_by(table, kept(1), dry_run=True)
    assert stored(table) == before
    result = expire_changelogs_by(table, kept(1))
    assert result.ids == told.ids == (3, 4)
    assert {f"{table.location}/{path}" for path in before - stored(table)} <= set(result.paths)
    assert set(result.paths) == set(told.paths)
    assert changelog_ids(table) == [5]
    check_table(table.location)


def test_consumers_tags_and_branches_keep_theirs(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", INPUT)
    live_on(table, "wwcwcw")
    tag(table, "t", 2)
    other = branch(table, "b", 1)
    expire_snapshots_by(table, rules(1, changelogs=9))
    consumer(table, "c", 3)
    rows, branched = states(table), states(other)
    assert expire_changelogs_by(table, kept(1)).ids == (1, 2)
    assert states(table) == rows
    assert states(other) == branched
    check_table(table.location)
    check_table(f"{table.location}$branch_b")


def test_a_later_tag_keeps_what_the_next_changelog_does_not_name_any_more(tmp_path: Path) -> None:
    """The base list of changelog 3 went with the tag that needed it; tag 5 is built on the manifests of 1 and 2."""
    table = new_table(tmp_path / "t")
    live_on(table, "wwwww")
    tag(table, "three", 3)
    tag(table, "five", 5)
    compact_manifests(table)
    live_on(table, "w")
    expire_snapshots_by(table, rules(1, changelogs=100))
    delete_tags(table, "three")
    rows = states(table)
    assert expire_changelogs_by(table, kept(5)).ids == (1, 2)
    assert states(table) == rows
    check_table(table.location)


@pytest.mark.parametrize("options", PRODUCERS, ids=str)
def test_a_slow_expiry_brings_none_back(tmp_path: Path, options: Mapping[str, str]) -> None:
    """Another one has moved the same changelogs, and they have expired, but for the hint, when it moves them."""
    table = new_table(tmp_path / "t", options)
    live_on(table, "wwwwww")

    @functools.cache
    def others() -> None:
        expire_snapshots_by(table, rules(1, changelogs=9))
        expire_changelogs_by(table, kept(3))
        Path(table.location, "changelog", "EARLIEST").unlink()

    lock = threading.Lock()

    class Slow(FaultyFileIO):
        def overwrite(self, path: str, data: bytes) -> None:
            if "/changelog/" in path:
                with lock:
                    others()
            super().overwrite(path, data)

    expire_snapshots_by(replace(table, file_io=Slow(table.file_io)), rules(1, changelogs=9))
    assert changelog_ids(table) == [4, 5]
    check_table(table.location)


def test_a_table_that_goes_back_concurrently_keeps_its_files(tmp_path: Path) -> None:
    """The files that compactions took away, and changelogs let go, are live again in an older state."""
    whole = new_table(tmp_path / "whole")
    live_on(whole, "w")
    create_branch(whole, "b", snapshot=1)
    live_on(whole, "wcwcw")
    expire_snapshots_by(whole, rules(1, changelogs=9))
    for number in itertools.count():
        table = copied(whole, tmp_path / str(number))

        def others(table: Table = table) -> None:
            with suppress(SnapshotNotFound):  # too late: it expires
                fast_forward(table, "b")
                delete_branch(table, "b")

        io = InterleavedStore(table.file_io, number, others)
        done = expire_changelogs_by(replace(table, file_io=cast(FileIO, io)), kept(1))
        assert (done.dry_run, len(done.ids) > 0) in ((False, True), (False, False))
        check_table(table.location)
        assert state(table, {}) in ([(0, 1), (1, 1)], [(0, 6), (1, 6)])
        if io.count < number:
            return


def test_all_of_them_at_once(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", INPUT)
    live_on(table, "wwcw")
    expire_snapshots_by(table, rules(2, changelogs=9))
    assert expire_all_changelogs(table).ids == (1, 2)
    assert not [path for path in stored(table) if path.startswith("changelog/")]
    assert len([path for path in data_files(table) if "changelog-" in path]) == 1
    check_table(table.location)


def test_all_at_once_needs_their_snapshots_gone(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", INPUT)
    live_on(table, "ww")
    Path(table.location, "changelog").mkdir()
    Path(table.location, "changelog", "changelog-1").write_bytes(
        Path(table.location, "snapshot", "snapshot-1").read_bytes()
    )
    with pytest.raises(CorruptFile, match="not older than snapshot 1"):
        expire_all_changelogs(table)


def test_nothing_to_do(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", INPUT)
    assert expire_changelogs(table).ids == expire_all_changelogs(table).ids == ()
    live_on(table, "w")
    assert expire_changelogs(table).ids == expire_all_changelogs(table).ids == ()


@pytest.mark.parametrize(
    ("options", "decoupled"),
    [
        ({}, False),
        ({"changelog.num-retained.min": "11"}, True),
        ({"changelog.num-retained.min": "10"}, False),
        ({"snapshot.num-retained.max": "20", "changelog.num-retained.max": "21"}, True),
        ({"changelog.time-retained": "2 h"}, True),
        ({"changelog.time-retained": "30 min"}, False),
    ],
    ids=str,
)
def test_when_changelogs_outlive_snapshots(options: Mapping[str, str], decoupled: bool) -> None:
    assert retention_rules(TableSettings(options)).is_decoupled is decoupled


def test_a_call_keeps_what_the_options_promise(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {**INPUT, "changelog.time-retained": "2 h"})
    live_on(table, "www")
    assert expire_snapshots(table, retain_max=1, retain_min=1).moved_changelogs == 2
    assert expire_changelogs(table, retain_max=2, retain_min=1).ids == (1,)


def test_a_genuine_table_goes_on(tmp_path: Path) -> None:
    """expire of Java: snapshots and changelogs of their own retention."""
    location = GoldenTable("java-2.1", "expire").unpack(tmp_path)
    table = open_table(str(location))
    before = changelog_ids(table)
    result = expire_changelogs_by(table, kept(1))
    assert list(result.ids) == before[:-1]
    check_table(table.location)


def test_young_changelogs_stay_and_the_hint_is_written(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", INPUT)
    live_on(table, "wwwww")
    expire_snapshots_by(table, rules(1, changelogs=9))
    assert changelog_ids(table) == [1, 2, 3, 4]
    third, earliest = table.snapshots.find_changelog(3), Path(table.location, "changelog", "EARLIEST")
    assert third is not None
    earliest.unlink(missing_ok=True)
    assert expire_changelogs_by(table, Retention(9, 1, 0, 0, FOREVER), dry_run=True).ids == ()
    assert not earliest.exists()
    assert expire_changelogs_by(table, Retention(9, 1, 0, 0, FOREVER)).ids == ()
    assert (changelog_ids(table), hint(table, "EARLIEST")) == ([1, 2, 3, 4], 1)
    assert expire_changelogs_by(table, Retention(9, 1, 0, third.time_millis, FOREVER)).ids == (1, 2)
    assert (changelog_ids(table), hint(table, "EARLIEST")) == ([3, 4], 3)
