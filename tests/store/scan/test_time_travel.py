"""Which snapshot the scan options choose, and what contradictory or unfulfillable options answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_spark.errors import OptionError, SnapshotNotFound
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.snapshot import Snapshot, Tag, encode_snapshot, encode_tag
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.scan.increments import reads_increment
from paimon_spark.store.scan.time_travel import Travel, resolve_snapshot
from paimon_spark.store.storage.local_time import local_wall_millis, parse_local_timestamp


def snapshot(snapshot_id: int, kind: str = "APPEND", identifier: int = 2**63 - 1) -> Snapshot:
    return Snapshot(
        id=snapshot_id,
        schema_id=0,
        base_manifest_list="base",
        delta_manifest_list="delta",
        commit_user="u",
        commit_identifier=identifier,
        commit_kind=kind,
        time_millis=snapshot_id * 1000,
        total_record_count=0,
        delta_record_count=0,
        watermark=snapshot_id * 10 if snapshot_id != 4 else None,
    )


def store(path: Path, *snapshots: Snapshot, tags: dict[str, Snapshot] | None = None) -> SnapshotStore:
    (path / "snapshot").mkdir(parents=True)
    (path / "tag").mkdir()
    for one in snapshots:
        (path / "snapshot" / f"snapshot-{one.id}").write_bytes(encode_snapshot(one))
    for name, one in (tags or {}).items():
        (path / "tag" / f"tag-{name}").write_bytes(encode_tag(Tag(one)))
    return SnapshotStore(LocalFileIO(), str(path))


@pytest.fixture
def three(tmp_path: Path) -> SnapshotStore:
    """Snapshots 3, 4, 5; the tags `old` of the expired snapshot 2, `v4`, `5` of snapshot 3, `watermark-1` of 5."""
    tags = {"old": snapshot(2), "v4": snapshot(4), "5": snapshot(3), "watermark-1": snapshot(5)}
    return store(tmp_path / "t", snapshot(3), snapshot(4, "COMPACT"), snapshot(5), tags=tags)


def chosen(options: dict[str, str], snapshots: SnapshotStore) -> int | None:
    travel = resolve_snapshot(TableSettings(options), snapshots)
    return None if travel.snapshot is None else travel.snapshot.id


@pytest.mark.parametrize(
    ("options", "snapshot_id"),
    [
        ({}, 5),
        ({"scan.mode": "latest-full"}, 5),
        ({"scan.mode": "FULL"}, 5),
        ({"scan.mode": "latest"}, 5),
        ({"scan.mode": "compacted-full"}, 4),
        ({"scan.snapshot-id": "3"}, 3),
        ({"scan.snapshot-id": "2"}, 2),  # expired, but a tag keeps it
        ({"scan.mode": "from-snapshot", "scan.snapshot-id": "4"}, 4),
        ({"scan.mode": "from-snapshot-full", "scan.snapshot-id": "4"}, 4),
        ({"scan.mode": "from-snapshot-full", "scan.version": "4"}, 4),
        ({"scan.tag-name": "old"}, 2),
        ({"scan.mode": "from-snapshot", "scan.tag-name": "v4"}, 4),
        ({"scan.version": "v4"}, 4),
        ({"scan.version": "4"}, 4),
        ({"scan.version": "5"}, 3),  # a tag of that name comes before the id
        ({"scan.version": "watermark-1"}, 5),  # and before a watermark
        ({"scan.version": "watermark-30"}, 3),
        ({"scan.version": "watermark-31"}, 5),
        ({"scan.version": "watermark--7"}, 3),
        ({"scan.watermark": "0"}, 3),
        ({"scan.watermark": "50"}, 5),
        ({"scan.timestamp-millis": "3000"}, 3),
        ({"scan.timestamp-millis": "4999"}, 4),
        ({"scan.timestamp-millis": "999999999999"}, 5),
        ({"scan.mode": "from-timestamp", "scan.timestamp-millis": "4000"}, 4),
        ({"scan.timestamp": "2026-01-01"}, 5),
        ({"scan.timestamp": "2026-01-01 00:00:00.123"}, 5),
        ({"scan.timestamp": "2026-1-1 3:4:5"}, 5),
        ({"scan.creation-time-millis": "4000"}, 4),
        ({"scan.creation-time-millis": "3001"}, 4),
    ],
)
def test_chooses(options: dict[str, str], snapshot_id: int, three: SnapshotStore) -> None:
    assert chosen(options, three) == snapshot_id


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scan.snapshot-id": "1"}, "snapshots 3 to 5 are available"),
        ({"scan.snapshot-id": "6"}, "snapshots 3 to 5 are available"),
        ({"scan.tag-name": "none"}, "no tag of that name.*its tags are 5, old, v4, watermark-1"),
        ({"scan.version": "none"}, "neither a snapshot id nor watermark"),
        ({"scan.version": "6"}, "snapshots 3 to 5"),
        ({"scan.watermark": "51"}, "watermark that high"),
        ({"scan.timestamp-millis": "2999"}, r"no snapshot is that old.*\(3000\)"),
        ({"scan.timestamp": "1970-01-01"}, "no snapshot is that old"),
    ],
)
def test_not_there(options: dict[str, str], message: str, three: SnapshotStore) -> None:
    with pytest.raises(SnapshotNotFound, match=message):
        resolve_snapshot(TableSettings(options), three)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scan.snapshot-id": "3", "scan.tag-name": "v4"}, "'scan.snapshot-id' and 'scan.tag-name' are both set"),
        ({"scan.snapshot-id": "3", "scan.timestamp-millis": "1"}, "both set"),
        ({"scan.watermark": "3", "scan.timestamp": "2026-01-01"}, "both set"),
        ({"scan.version": "3", "scan.snapshot-id": "3"}, "both set"),
        ({"scan.snapshot-id": "3", "incremental-between": "1,2"}, "both set"),
        ({"scan.mode": "latest-full", "scan.snapshot-id": "3"}, "contradicts"),
        ({"scan.mode": "from-timestamp", "scan.snapshot-id": "3"}, "contradicts"),
        ({"scan.mode": "from-snapshot-full", "scan.tag-name": "v4"}, "contradicts"),
        ({"scan.mode": "from-snapshot-full", "scan.version": "5"}, "needs a snapshot id, and 'scan.version' = '5' is"),
        ({"scan.mode": "from-snapshot-full", "scan.version": "v4"}, "needs a snapshot id"),
        ({"scan.mode": "from-snapshot-full", "scan.version": "watermark-30"}, "needs a snapshot id"),
        ({"scan.mode": "compacted-full", "scan.tag-name": "v4"}, "contradicts"),
        ({"scan.mode": "from-snapshot"}, "needs the option 'scan.snapshot-id' or"),
        ({"scan.mode": "from-timestamp"}, "needs"),
        ({"scan.mode": "from-file-creation-time"}, "needs"),
        ({"scan.mode": "nonsense"}, "'scan.mode' has the value 'nonsense'"),
        ({"scan.snapshot-id": "three"}, "'scan.snapshot-id' has the value 'three'"),
        ({"scan.timestamp": "yesterday"}, "'yesterday'.*2026-11-01"),
        ({"scan.timestamp": ""}, "expected a time"),
        ({"scan.timestamp": "2026-13-1"}, "expected a time"),
    ],
)
def test_contradictions(options: dict[str, str], message: str, three: SnapshotStore) -> None:
    with pytest.raises(OptionError, match=message):
        resolve_snapshot(TableSettings(options), three)


@pytest.mark.parametrize(
    "options",
    [
        {"incremental-between": "1,2"},
        {"incremental-between-timestamp": "1,2"},
        {"incremental-to-auto-tag": "x"},
        {"scan.mode": "incremental", "incremental-between": "1,2"},
        {"scan.mode": "latest-delta"},
    ],
)
def test_a_change_is_no_state(options: dict[str, str], three: SnapshotStore) -> None:
    assert reads_increment(TableSettings(options))
    assert resolve_snapshot(TableSettings(options), three) == Travel(None)


def test_a_state_is_no_change() -> None:
    assert not reads_increment(TableSettings({}))
    assert not reads_increment(TableSettings({"scan.mode": "compacted-full"}))
    assert not reads_increment(TableSettings({"scan.snapshot-id": "3", "incremental-between-scan-mode": "diff"}))


def test_only_options_that_choose_a_snapshot_pin_its_schema(three: SnapshotStore) -> None:
    assert resolve_snapshot(TableSettings({"scan.tag-name": "v4"}), three).is_pinned
    assert not resolve_snapshot(TableSettings({}), three).is_pinned
    assert not resolve_snapshot(TableSettings({"scan.mode": "compacted-full"}), three).is_pinned


def test_file_creation_time(three: SnapshotStore) -> None:
    assert resolve_snapshot(TableSettings({"scan.file-creation-time-millis": "77"}), three) == Travel(
        three.latest(), created_since=77
    )


def test_creation_time_before_the_first_snapshot_filters_files(three: SnapshotStore) -> None:
    """An older snapshot could have expired: the first one there proves nothing."""
    assert resolve_snapshot(TableSettings({"scan.creation-time-millis": "3000"}), three) == Travel(
        three.latest(), created_since=3000
    )
    assert resolve_snapshot(TableSettings({"scan.creation-time-millis": "5001"}), three) == Travel(
        three.latest(), created_since=5001
    )


def test_creation_time_and_changelogs_that_outlive_snapshots(tmp_path: Path) -> None:
    """They prove which commit is the first since then; but if only its changelog is left it cannot be read."""
    snapshots = store(tmp_path / "t", snapshot(4), snapshot(5))
    (tmp_path / "t" / "changelog").mkdir()
    for number in (2, 3):
        (tmp_path / "t" / "changelog" / f"changelog-{number}").write_bytes(encode_snapshot(snapshot(number)))
    decoupled = {"changelog.num-retained.max": "100", "snapshot.num-retained.max": "50"}
    assert resolve_snapshot(TableSettings({"scan.creation-time-millis": "4000"}), snapshots) == Travel(
        snapshots.latest(), created_since=4000
    )
    assert resolve_snapshot(TableSettings({"scan.creation-time-millis": "4000", **decoupled}), snapshots) == Travel(
        snapshots.find(4)
    )
    with pytest.raises(SnapshotNotFound, match=r"reading snapshot 3 .* it has expired"):
        resolve_snapshot(TableSettings({"scan.creation-time-millis": "3000", **decoupled}), snapshots)


@pytest.mark.parametrize(
    ("times", "asked", "found"),
    [
        ((10, 10, 10), 10, 2),
        ((10, 10, 10, 20), 10, 2),
        ((5, 10, 10, 10, 20), 10, 3),
        ((5, 5, 10, 10), 10, 3),
        ((5, 5, 10, 10), 7, 2),
        ((5, 10, 10), 11, 3),
    ],
)
def test_commits_of_one_millisecond(times: tuple[int, ...], asked: int, found: int, tmp_path: Path) -> None:
    """The binary search of Java ends at the first one that it meets."""
    many = [replace(snapshot(1 + i), time_millis=time) for i, time in enumerate(times)]
    assert chosen({"scan.timestamp-millis": str(asked)}, store(tmp_path / "t", *many)) == found


@pytest.mark.parametrize(
    ("marks", "asked", "found"),
    [
        ((7, 7, 7), 7, 1),  # the oldest of all, without a search
        ((1, 7, 7, 7, 9), 7, 3),
        ((1, 7, 7, 9), 8, 4),
        ((None, 7, 7, 7), 7, 2),
        ((None, 1, 7, 7, 7), 7, 3),
    ],
)
def test_snapshots_of_one_watermark(marks: tuple[int | None, ...], asked: int, found: int, tmp_path: Path) -> None:
    many = [replace(snapshot(1 + i), watermark=mark) for i, mark in enumerate(marks)]
    assert chosen({"scan.watermark": str(asked)}, store(tmp_path / "t", *many)) == found


def test_compacted_full_by_the_rhythm_of_full_compactions(tmp_path: Path) -> None:
    kinds = [(1, "COMPACT", 3), (2, "COMPACT", 4), (3, "APPEND", 6), (4, "COMPACT", 7)]
    snapshots = store(tmp_path / "t", *(snapshot(*each) for each in kinds))
    assert chosen({"scan.mode": "compacted-full"}, snapshots) == 4
    assert chosen({"scan.mode": "compacted-full", "full-compaction.delta-commits": "3"}, snapshots) == 1
    assert chosen({"scan.mode": "compacted-full", "full-compaction.delta-commits": "5"}, snapshots) == 4
    assert chosen({"scan.mode": "compacted-full", "changelog-producer": "full-compaction"}, snapshots) == 4


@pytest.mark.parametrize("mode", ["default", "latest", "compacted-full"])
def test_a_table_nobody_wrote_to(mode: str, tmp_path: Path) -> None:
    assert resolve_snapshot(TableSettings({"scan.mode": mode}), store(tmp_path / "t")) == Travel(None)


def test_an_hour_that_summer_time_leaves_out(local_zone: Callable[[str], None]) -> None:
    """It is counted on from the hour before, as Java's LocalDateTime.atZone does; one that comes twice is the first."""
    local_zone("Europe/Berlin")
    assert parse_local_timestamp("2026-03-29 02:30:00.5") == parse_local_timestamp("2026-03-29 01:30:00.5Z")
    assert parse_local_timestamp("2026-10-25 02:30:00") == parse_local_timestamp("2026-10-25 00:30:00Z")


def test_local_zone(shanghai: None) -> None:
    assert parse_local_timestamp("1970-01-01 08:00:01.5") == 1500
    assert parse_local_timestamp("1970-01-01") == -8 * 3_600_000
    assert parse_local_timestamp("1970-01-01T00:00:00Z") == 0
    assert parse_local_timestamp("1969-12-31 23:59:59.999999999Z") == -1
    assert parse_local_timestamp("1970-1-2 8:0:1") == 24 * 3_600_000 + 1000
    assert parse_local_timestamp("1970-1-2") == 16 * 3_600_000
    assert local_wall_millis(5) == 8 * 3_600_000 + 5
