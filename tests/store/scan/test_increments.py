"""Which change the incremental options name, and what ends that nobody can read answer."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from paimon_spark.errors import OptionError, SnapshotNotFound
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.snapshot import Snapshot, Tag, encode_snapshot, encode_tag
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.scan.auto_tag_names import auto_tag_time
from paimon_spark.store.scan.increments import Difference, Increment, find_increment
from paimon_spark.store.storage.local_time import parse_local_timestamp

KINDS = {1: "APPEND", 2: "APPEND", 3: "COMPACT", 4: "OVERWRITE", 5: "APPEND", 6: "APPEND", 7: "COMPACT"}


def snapshot(snapshot_id: int) -> Snapshot:
    """Committed at snapshot_id * 1000; the even ones have a changelog."""
    return Snapshot(
        id=snapshot_id,
        schema_id=0,
        base_manifest_list=f"base-{snapshot_id}",
        delta_manifest_list=f"delta-{snapshot_id}",
        changelog_manifest_list=None if snapshot_id % 2 else f"changelog-{snapshot_id}",
        commit_user="u",
        commit_identifier=1,
        commit_kind=KINDS[snapshot_id],
        time_millis=snapshot_id * 1000,
        total_record_count=0,
        delta_record_count=0,
    )


def store(path: Path, ids: range, changelogs: range = range(0), tags: dict[str, int] | None = None) -> SnapshotStore:
    files = [(f"snapshot/snapshot-{i}", encode_snapshot(snapshot(i))) for i in ids]
    files += [(f"changelog/changelog-{i}", encode_snapshot(snapshot(i))) for i in changelogs]
    files += [(f"tag/tag-{name}", encode_tag(Tag(snapshot(i)))) for name, i in (tags or {}).items()]
    for name, data in files:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return SnapshotStore(LocalFileIO(), str(path))


def shown(change: Increment | Difference | None) -> str:
    """A change in short: "delta 1 2", "changelog 2", "diff 1 5", "nothing"."""
    if change is None:
        return "nothing"
    if isinstance(change, Difference):
        return f"diff {0 if change.before is None else change.before.id} {change.after.id}"
    return " ".join(["changelog" if change.changelog else "delta", *(str(s.id) for s in change.snapshots)])


def found(options: dict[str, str], snapshots: SnapshotStore) -> str:
    return shown(find_increment(TableSettings(options), snapshots))


@pytest.fixture
def seven(tmp_path: Path) -> SnapshotStore:
    tags = {"a": 2, "b": 6, "5": 3, "2026-11-01": 1, "2026-11-03": 4, "2026-11-02": 2, "2026-02-30": 5}
    return store(tmp_path, range(1, 8), tags=tags)


@pytest.mark.parametrize(
    ("between", "more", "change"),
    [
        ("0,7", {}, "delta 1 2 5 6"),
        ("1,5", {}, "delta 2 5"),
        ("2,4", {}, "delta"),
        ("3,3", {}, "nothing"),
        (" 1 , 2 ", {}, "delta 2"),
        ("0,7", {"changelog-producer": "input"}, "changelog 2 6"),
        ("0,7", {"changelog-producer": "lookup", "incremental-between-scan-mode": "delta"}, "delta 1 2 5 6"),
        ("0,7", {"incremental-between-scan-mode": "CHANGELOG"}, "changelog 2 6"),
        ("0,7", {"incremental-between-scan-mode": "diff"}, "diff 0 7"),
        ("3,5", {"incremental-between-scan-mode": "diff"}, "diff 3 5"),
        ("3,3", {"incremental-between-scan-mode": "diff"}, "nothing"),
        ("a,b", {}, "diff 2 6"),
        ("a,b", {"incremental-between-scan-mode": "delta"}, "diff 2 6"),
        ("a,a", {}, "nothing"),
        ("a,b", {"incremental-between-tag-to-snapshot": "true"}, "delta 5 6"),
        (
            "a,b",
            {"incremental-between-tag-to-snapshot": "true", "incremental-between-scan-mode": "changelog"},
            "changelog 6",
        ),
        ("a,b", {"incremental-between-tag-to-snapshot": "true", "incremental-between-scan-mode": "diff"}, "diff 2 6"),
        ("a,5", {}, "diff 2 3"),
        ("5,6", {}, "delta 6"),
    ],
)
def test_between(between: str, more: dict[str, str], change: str, seven: SnapshotStore) -> None:
    """Two tags are compared whatever the scan mode, also when they look like ids; a tag and an id are two ids."""
    assert found({"incremental-between": between, **more}, seven) == change


@pytest.mark.parametrize(
    ("between", "error", "message"),
    [
        ("3", OptionError, "expected two snapshot ids or two tags such as 3,7"),
        ("1,2,3", OptionError, "expected two snapshot ids"),
        ("1,", OptionError, "expected two snapshot ids"),
        ("5,1", OptionError, "snapshot 1, the end, is older than snapshot 5, the start"),
        ("b,a", OptionError, "snapshot 2, the end, is older than snapshot 6"),
        ("a,7", SnapshotNotFound, "no tag '7', and these are not two snapshot ids; snapshots 1 to 7 are available"),
        ("x,y", SnapshotNotFound, "no tag 'x' and 'y'"),
        ("-1,2", SnapshotNotFound, "no tag '-1' and '2'"),
        ("0,999999999999", SnapshotNotFound, "there are commits 1 to 7"),
        ("6,9", SnapshotNotFound, "commits 7 to 9 .*there are commits 1 to 7; give '6,7'$"),
    ],
)
def test_bad_ends(between: str, error: type[Exception], message: str, seven: SnapshotStore) -> None:
    with pytest.raises(error, match=message):
        found({"incremental-between": between}, seven)


@pytest.mark.parametrize(
    ("between", "mode", "change"),
    [
        ("1000,2000", "auto", "delta 2"),
        ("999,2500", "auto", "delta 1 2"),
        ("0,99999", "auto", "delta 1 2 5 6"),
        ("0,99999", "changelog", "changelog 2 6"),
        ("4000,5999", "auto", "delta 5"),
        ("1500,1500", "auto", "nothing"),
        ("7000,9000", "auto", "nothing"),
        ("0,999", "auto", "nothing"),
        ("-5,999", "diff", "nothing"),
        ("1000,6000", "diff", "diff 1 6"),
        ("0,6000", "diff", "diff 0 6"),
        ("2100,2900", "diff", "nothing"),
    ],
)
def test_between_times(between: str, mode: str, change: str, seven: SnapshotStore) -> None:
    options = {"incremental-between-timestamp": between, "incremental-between-scan-mode": mode}
    assert found(options, seven) == change


def test_between_times_of_the_local_zone(tmp_path: Path) -> None:
    late = replace(snapshot(1), time_millis=parse_local_timestamp("2026-11-01 12:00:00"))
    snapshots = store(tmp_path, range(1, 2))
    (tmp_path / "snapshot" / "snapshot-1").write_bytes(encode_snapshot(late))
    assert found({"incremental-between-timestamp": "2026-11-01 11:59:59, 2026-11-02"}, snapshots) == "delta 1"
    assert found({"incremental-between-timestamp": "2026-11-01 12:00:00,2026-11-02"}, snapshots) == "nothing"


@pytest.mark.parametrize("between", ["2000", "tomorrow,2026-11-02", "2000,1000", "1000,2026-11-02"])
def test_bad_times(between: str, seven: SnapshotStore) -> None:
    with pytest.raises(OptionError, match="incremental-between-timestamp"):
        found({"incremental-between-timestamp": between}, seven)


@pytest.mark.parametrize("mode", ["auto", "delta", "changelog", "diff"])
def test_a_table_without_snapshots_has_no_changes(mode: str, tmp_path: Path) -> None:
    snapshots = SnapshotStore(LocalFileIO(), str(tmp_path))
    for options in ({"incremental-between": "1,2"}, {"incremental-between-timestamp": "1,2"}):
        assert found({**options, "incremental-between-scan-mode": mode}, snapshots) == "nothing"
    assert found({"scan.mode": "latest-delta"}, snapshots) == "nothing"


def test_the_latest_commit_alone(tmp_path: Path) -> None:
    producer = {"scan.mode": "latest-delta", "changelog-producer": "input"}
    assert found(producer, store(tmp_path / "compact", range(1, 8))) == "delta"
    assert found(producer, store(tmp_path / "append", range(1, 7))) == "delta 6"
    assert found(producer, store(tmp_path / "overwrite", range(1, 5))) == "delta"


@pytest.mark.parametrize(
    ("tag", "change"),
    [("2026-11-01", "nothing"), ("2026-11-02", "diff 1 2"), ("2026-11-03", "diff 2 4"), ("2026-11-04", "nothing")],
)
def test_to_an_automatic_tag(tag: str, change: str, seven: SnapshotStore) -> None:
    assert found({"incremental-to-auto-tag": tag}, seven) == change


def test_only_names_of_automatic_tags_are_taken(seven: SnapshotStore) -> None:
    with pytest.raises(OptionError, match=r"'incremental-to-auto-tag' = 'a'.*'tag.creation-period' = 'daily'"):
        found({"incremental-to-auto-tag": "a"}, seven)


@pytest.mark.parametrize(
    ("name", "options", "time"),
    [
        ("2026-11-05", {}, datetime(2026, 11, 5)),
        ("2026-11-05 anything", {}, datetime(2026, 11, 5)),
        ("20261105", {}, None),
        ("2026-02-29", {}, None),
        ("\uff12026-11-05", {}, None),
        ("20261105", {"tag.period-formatter": "without_dashes"}, datetime(2026, 11, 5)),
        ("20261105", {"tag.period-formatter": "without_dashes_and_spaces"}, datetime(2026, 11, 5)),
        ("2026-11-05 07", {"tag.creation-period": "hourly"}, datetime(2026, 11, 5, 7)),
        ("2026-11-05 24", {"tag.creation-period": "hourly"}, None),
        ("2026-11-05", {"tag.creation-period": "hourly"}, None),
        (
            "20261105 07",
            {"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes"},
            datetime(2026, 11, 5, 7),
        ),
        (
            "2026110507",
            {"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes_and_spaces"},
            datetime(2026, 11, 5, 7),
        ),
        (
            "2026-11-05 06",
            {"tag.creation-period": "two-hours", "tag.period-formatter": "without_dashes"},
            datetime(2026, 11, 5, 6),
        ),
        ("202611050630", {"tag.creation-period-duration": "30 min"}, datetime(2026, 11, 5, 6, 30)),
        ("2026-11-05", {"tag.creation-period-duration": "1 d"}, None),
    ],
)
def test_names_of_automatic_tags(name: str, options: dict[str, str], time: datetime | None) -> None:
    assert auto_tag_time(name, TableSettings(options)) == time


# --- expired snapshots ------------------------------------------------------------------------------------------------


def test_expired_commits_are_found_in_long_lived_changelogs(tmp_path: Path) -> None:
    snapshots = store(tmp_path, range(5, 8), range(2, 5))
    assert snapshots.earliest_change_id() == 2
    assert found({"incremental-between": "1,6", "changelog-producer": "input"}, snapshots) == "changelog 2 6"
    assert (
        found({"incremental-between-timestamp": "1500,2500", "changelog-producer": "input"}, snapshots) == "changelog 2"
    )
    with pytest.raises(SnapshotNotFound, match=r"there are commits 2 to 7.*give '1' as the start"):
        found({"incremental-between": "0,6"}, snapshots)
    with pytest.raises(SnapshotNotFound, match="snapshot 3"):
        found({"incremental-between": "3,6", "incremental-between-scan-mode": "diff"}, snapshots)


def test_expired_commits_keep_their_new_files_only_where_they_have_no_changelog(tmp_path: Path) -> None:
    snapshots = store(tmp_path, range(5, 8), range(2, 5))
    assert found({"incremental-between": "2,3"}, snapshots) == "delta"
    with pytest.raises(SnapshotNotFound, match="commit 2, 4 has expired, and its new files with it"):
        found({"incremental-between": "1,6"}, snapshots)


def test_new_files_since_a_time_begin_where_they_are_still_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As in Java; long-lived changelogs of a producer tell nothing of them."""
    snapshots = store(tmp_path, range(5, 8), range(2, 5))
    options = {"incremental-between-timestamp": "1500,6500", "incremental-between-scan-mode": "delta"}
    with caplog.at_level(logging.WARNING):
        assert found({**options, "changelog-producer": "input"}, snapshots) == "delta 5 6"
    assert "snapshots before 5 have expired" in caplog.text


def test_the_hint_at_the_oldest_changelog_is_believed_when_it_is_there(tmp_path: Path) -> None:
    snapshots = store(tmp_path, range(5, 8), range(2, 5))
    (tmp_path / "changelog" / "EARLIEST").write_text("3")
    assert snapshots.earliest_change_id() == 3
    (tmp_path / "changelog" / "EARLIEST").write_text("1")
    assert snapshots.earliest_change_id() == 2


def test_without_changelogs_the_oldest_snapshot_is_the_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As in the official system; but what is missing is said."""
    snapshots = store(tmp_path, range(5, 8))
    assert found({"incremental-between": "4,6"}, snapshots) == "delta 5 6"
    with caplog.at_level(logging.WARNING):
        assert found({"incremental-between-timestamp": "0,6000"}, snapshots) == "delta 5 6"
    assert "snapshots before 5 have expired" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        options = {"incremental-between-timestamp": "0,6000", "incremental-between-scan-mode": "diff"}
        assert found(options, snapshots) == "diff 5 6"
    assert "snapshots before 5 have expired" in caplog.text


def test_a_state_that_only_a_tag_keeps_can_be_an_end(tmp_path: Path) -> None:
    snapshots = store(tmp_path, range(5, 8), tags={"old": 2})
    assert found({"incremental-between": "2,6", "incremental-between-scan-mode": "diff"}, snapshots) == "diff 2 6"
    with pytest.raises(SnapshotNotFound, match="there are commits 5 to 7"):
        found({"incremental-between": "2,6"}, snapshots)
