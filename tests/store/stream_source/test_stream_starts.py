"""Where streams begin, what they take back, and what they refuse: rules that do not depend on a checkpoint's life."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from support.tables.compacted_tables import COLUMNS, append, batch, new_table
from support.tables.compacting import compact, make, write
from support.tables.golden_tables import GoldenTable
from support.tables.micro_batches import FROM_FIRST, Checkpoint, Died, Query, Rows, drained, opened

from paimon_spark.errors import StreamPositionLost, UnsupportedFeature
from paimon_spark.format.snapshot import encode_snapshot
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.stream_source.settings import stream_settings
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

ONE_FILE = {"read.stream.maxFilesPerTrigger": "1"}
KEEP_TWO = {"snapshot.num-retained.min": "2", "snapshot.num-retained.max": "2", "snapshot.time-retained": "1 ms"}


def filled(path: Path, snapshots: int, options: Mapping[str, str] | None = None) -> Table:
    table = new_table(path, options or {})
    for number in range(snapshots):
        append(table, [(number, number, "a")])
    return table


def keys(batches: list[Rows]) -> list[list[int]]:
    return [sorted(row["k"] for row in rows) for rows in batches]


def expire(table: Table) -> None:
    expire_snapshots(open_table(table.location, KEEP_TWO))


def _overwrite(table: Table, rows: list[tuple[int, int | None, str | None]]) -> None:
    user = str(uuid.uuid4())
    write = TableWrite(table, user)
    write.write(batch(rows))
    TableCommit(table, user).overwrite(write.finish(), None)


def _made_at(table: Table, times: Mapping[int, int]) -> None:
    """Gives snapshots the times at which they were made."""
    for number, millis in times.items():
        path = Path(table.location) / "snapshot" / f"snapshot-{number}"
        path.write_bytes(encode_snapshot(replace(table.snapshots.load(number), time_millis=millis)))


@pytest.mark.parametrize(
    ("millis", "start"),
    [
        (2500, (5, True)),
        (3000, (5, True)),
        (3001, (4, False)),
        (4000, (4, False)),
        (4001, (5, False)),
        (5001, (5, True)),
    ],
)
def test_a_stream_begins_behind_a_snapshot_that_proves_what_is_older(
    millis: int, start: tuple[int, bool], tmp_path: Path
) -> None:
    """The first two of five snapshots, made at 1000, 2000, ..., have expired."""
    table = filled(tmp_path / "t", 5)
    expire_snapshots(open_table(table.location, KEEP_TWO), retain_min=3, retain_max=3)
    assert table.snapshots.ids() == [3, 4, 5]
    _made_at(table, {number: number * 1000 for number in (3, 4, 5)})
    found = opened(table, {"scan.creation-time-millis": str(millis)}).start().first()
    assert (found.snapshot, found.full) == start


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"snapshot.num-retained.min": "3"}, True),
        ({"snapshot.num-retained.min": "4"}, False),
        ({"snapshot.num-retained.min": "1", "consumer-id": "me"}, False),
        ({"snapshot.num-retained.min": "1", "snapshot.time-retained": "100000 d"}, False),
    ],
    ids=str,
)
def test_a_stream_that_is_about_to_lose_its_place_says_so_once(
    options: dict[str, str], says: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = filled(tmp_path / "t", 4)
    _made_at(table, dict.fromkeys(range(1, 5), 1000))
    with caplog.at_level(logging.WARNING):
        assert keys(drained(table, {**FROM_FIRST, **ONE_FILE, **options})) == [[0], [1], [2], [3]]
    assert caplog.text.count("reads snapshot 1") == caplog.text.count("which expires soon") == says


def test_files_that_are_divided_otherwise_are_noticed(tmp_path: Path) -> None:
    table, checkpoint = filled(tmp_path / "t", 0, {"bucket": "4"}), Checkpoint()
    append(table, [(number, 0, "a") for number in range(20)])
    with pytest.raises(Died):
        list(Query(table, {**FROM_FIRST, **ONE_FILE}, checkpoint).run(dies_after=1))
    checkpoint.commits = 1
    with pytest.raises(StreamPositionLost, match="stopped inside snapshot 1, at unit 1 of the plan"):
        drained(table, {**FROM_FIRST, "scan.bucket": "1"}, checkpoint)
    left = drained(table, {**FROM_FIRST, **ONE_FILE}, checkpoint)
    assert len(left) == 3


def test_rows_that_vectors_delete_are_not_taken_back(tmp_path: Path) -> None:
    """What an overwrite removes is what was there: not the rows that a vector of the state before had deleted."""
    table = make(tmp_path / "t", COLUMNS, ("k",), {"bucket": "1", "deletion-vectors.enabled": "true"})
    write(table, [(number, number, "a") for number in range(3)])
    compact(table)
    write(table, [(0, 9, "b")])
    compact(table, full=False)
    assert any(Path(table.location, "index").iterdir())
    latest = table.snapshots.latest_id()
    _overwrite(table, [(7, 7, "o")])
    options = {"scan.snapshot-id": f"{(latest or 0) + 1}", "streaming-read-overwrite": "true"}
    (shown,) = drained(table, options, row_kinds=True)
    assert sorted((row["_row_kind"], row["k"], row["a"]) for row in shown) == [
        ("+I", 7, 7), ("-D", 0, 9), ("-D", 1, 1), ("-D", 2, 2),
    ]  # fmt: skip


def test_new_rows_of_a_table_with_data_evolution(tmp_path: Path) -> None:
    path = str(GoldenTable("java-2.1", "data_evolution").unpack(tmp_path))
    (Path(path) / "snapshot" / "snapshot-2").unlink()
    (Path(path) / "snapshot" / "LATEST").write_text("1")
    (shown,) = drained(open_table(path), FROM_FIRST)
    assert [(row["id"], row["name"]) for row in shown] == [(1, "a"), (2, "b"), (3, "c")]


def test_a_commit_that_deletes_files_is_no_append(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 2)
    _overwrite(table, [(7, 7, "o")])
    made = table.snapshots.load(3)
    path = Path(table.location) / "snapshot" / "snapshot-3"
    path.write_bytes(encode_snapshot(replace(made, commit_kind="APPEND")))
    with pytest.raises(UnsupportedFeature, match="snapshot 3 is of kind APPEND and deletes files"):
        drained(table, FROM_FIRST)


def test_whether_a_stream_has_a_limit(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 1)
    assert not stream_settings(table, {}).limits.any_set
    assert stream_settings(table, ONE_FILE).limits.any_set


def test_a_batch_that_is_read_again_after_its_snapshots_have_expired(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 2)
    stream = opened(table, FROM_FIRST).start()
    begin = stream.first()
    end = stream.next(begin)
    for number in range(2, 5):
        append(table, [(number, number, "a")])
    expire(table)
    with pytest.raises(StreamPositionLost, match="next, which has expired"):
        opened(table, FROM_FIRST).start().units(begin, end)


def test_a_stream_of_files_that_were_made_since(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 2)
    for millis, found in (("0", [[0, 1]]), (str(2**42), [])):
        assert keys(drained(table, {"scan.file-creation-time-millis": millis})) == found


def test_a_stream_begins_with_the_last_state_that_was_compacted(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 2)
    compact(table)
    append(table, [(9, 9, "a")])
    first = opened(table, {"scan.mode": "compacted-full"}).start().first()
    assert (first.snapshot, first.full) == (3, True)
    assert keys(drained(table, {"scan.mode": "compacted-full", **ONE_FILE})) == [[0, 1], [9]]


@pytest.mark.parametrize(
    ("producer", "changes"),
    [
        ("lookup", [("+I", 1, 1), ("-D", 1, 1), ("+I", 1, 2)]),
        ("full-compaction", [("+I", 1, 1), ("-D", 1, 1), ("+I", 1, 2)]),
    ],
)
def test_what_a_compaction_finds_of_an_overwrite_is_not_left_out(
    producer: str, changes: list[tuple[str, int, int]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = filled(tmp_path / "t", 0, {"changelog-producer": producer, "overwrite-upgrade": "false"})
    append(table, [(1, 1, "a")])
    compact(table)
    _overwrite(table, [(1, 2, "b")])
    compact(table)
    with caplog.at_level(logging.WARNING):
        batches = drained(table, FROM_FIRST, row_kinds=True)
    found = [(row["_row_kind"], row["k"], row["a"]) for rows in batches for row in rows]
    assert found[0] == changes[0]
    assert found[-1][1:] == changes[-1][1:]
    assert "leaves out" not in caplog.text
