"""What a stream does at the edges: a first batch that is run again (R3), positions that are gone (R4), expiry and
consumers (R5), snapshots without rows (R6), limits and ends (R7)."""

from __future__ import annotations

import itertools
import json
import logging
import shutil
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.long_runs import tries
from support.tables.compacted_tables import append, batch, new_table
from support.tables.micro_batches import FROM_FIRST, Checkpoint, Died, Query, Rows, drained, opened

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import OptionError, SnapshotNotFound, StreamPositionLost, TableChanged, UnsupportedFeature
from paimon_spark.format.schema import FILE_PATH
from paimon_spark.format.snapshot import encode_snapshot
from paimon_spark.format.type_text import parse_type
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.changes import AddColumn, DropColumn, RenameColumn, SchemaChange, UpdateType
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.stream_source.position import Position, parse_position
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

ONE_FILE = {"read.stream.maxFilesPerTrigger": "1"}
EMPTY = tries("PAIMON_EMPTY_SNAPSHOTS", ci=300, long=5000)
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


@pytest.mark.parametrize("dies_in", [0, 1, 2])
@pytest.mark.parametrize("mode", ["latest-full", "latest"])
def test_a_batch_that_is_run_again_has_the_same_rows(mode: str, dies_in: int, tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 4, {"bucket": "3"})
    checkpoint, options = Checkpoint(), {"scan.mode": mode, **ONE_FILE}
    if mode == "latest":
        first = opened(table, options).start().first()
        checkpoint.offsets.append(json.dumps(first.to_json()))  # an empty first batch, so that rows come
        checkpoint.commits = 1
        for number in range(4, 8):
            append(table, [(number, number, "a")])
    seen: dict[int, list[int]] = {}
    with suppress(Died):
        for number, rows in Query(table, options, checkpoint).run(dies_after=dies_in + 1):
            seen[number] = sorted(row["k"] for row in rows)
    assert len(checkpoint.offsets) == checkpoint.commits + 1  # it died before the last batch was recorded
    for number in range(10, 14):
        append(table, [(number, number, "b")])
    again = {number: sorted(row["k"] for row in rows) for number, rows in Query(table, options, checkpoint).run()}
    assert again[max(seen)] == seen[max(seen)]
    assert sorted(key for found in {**seen, **again}.values() for key in found) == [
        *range(0 if mode == "latest-full" else 4, 4 if mode == "latest-full" else 8),
        *range(10, 14),
    ]


def test_an_offset_is_small_and_survives_json() -> None:
    position = Position(42, 17, True, "40-173f343e", "557eb7ccfd7e").begun()
    text = json.dumps(position.to_json())
    assert len(text) < 250
    assert parse_position(json.loads(text)) == position
    with pytest.raises(OptionError, match=r"official connector.*'scan.snapshot-id' = '8'"):
        parse_position({"snapshotId": 7, "index": 3, "scanSnapshot": False})
    with pytest.raises(OptionError, match="cannot read"):
        parse_position({"v": 9, "snapshotId": 7, "index": 3, "scanSnapshot": False})


def test_an_expired_position_names_the_ways_out(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 6)
    checkpoint = Checkpoint()
    with pytest.raises(Died):
        list(Query(table, {**FROM_FIRST, **ONE_FILE}, checkpoint).run(dies_after=1))
    checkpoint.commits = 1
    expire(table)
    with pytest.raises(StreamPositionLost) as lost:
        list(Query(table, FROM_FIRST, checkpoint).run())
    for word in ("snapshot 2 of", "snapshots 5 to 6 are available", "new checkpoint", "scan.on-expired", "consumer-id"):
        assert word in str(lost.value)
    again = Query(table, {"scan.on-expired": "restart"}, checkpoint)
    assert keys([rows for _, rows in again.run()]) == [[0, 1, 2, 3, 4, 5]]
    append(table, [(9, 9, "z")])
    assert keys([rows for _, rows in again.run()]) == [[9]]


def test_a_consumer_holds_what_the_stream_has_not_passed(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 4)
    checkpoint, options = Checkpoint(), {**ONE_FILE, **FROM_FIRST, "consumer-id": "me"}
    query = Query(table, options, checkpoint)
    query.stream.first()
    expire(table)
    assert table.snapshots.ids() == [1, 2, 3, 4]  # held before anything was planned
    with pytest.raises(Died):
        list(query.run(dies_after=3))
    expire(table)
    assert table.snapshots.ids()[0] == 3  # the third batch is not through: its start is held
    assert keys([rows for _, rows in Query(table, options, checkpoint).run()]) == [[2], [3]]
    expire(table)
    assert table.snapshots.ids() == [3, 4]
    fresh = drained(table, {"consumer-id": "me"})
    assert fresh == []  # the consumer stands behind everything
    ignoring = drained(table, {"consumer-id": "me", "consumer.ignore-progress": "true"})
    assert keys(ignoring) == [[0, 1, 2, 3]]


def test_a_rollback_behind_the_stream_is_noticed(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 4)
    checkpoint = Checkpoint()
    assert len(drained(table, FROM_FIRST, checkpoint)) == 1
    rollback(table, 2)
    with pytest.raises(StreamPositionLost, match="its latest snapshot is 2 now"):
        drained(table, FROM_FIRST, checkpoint)
    for number in range(4):
        append(table, [(number, 7, "other")])
    with pytest.raises(StreamPositionLost, match="snapshot 4 is another one"):
        drained(table, FROM_FIRST, checkpoint)


def test_a_rollback_that_is_made_up_for_is_noticed_by_a_query_that_ends(tmp_path: Path) -> None:
    table, checkpoint = filled(tmp_path / "t", 4), Checkpoint()
    assert len(drained(table, FROM_FIRST, checkpoint)) == 1
    rollback(table, 2)
    for number in range(2):
        append(table, [(number, 7, "other")])
    with pytest.raises(StreamPositionLost, match="snapshot 4 is another one"):
        drained(table, FROM_FIRST, checkpoint)


@pytest.mark.parametrize("done", [0, 1])
def test_a_planned_batch_reads_no_other_table(done: int, tmp_path: Path) -> None:
    """The batch was recorded before its query died; what has the numbers of its snapshots now was never planned."""
    table, checkpoint = filled(tmp_path / "t", 2 + done), Checkpoint()
    options = {**FROM_FIRST, **ONE_FILE} if done else {"scan.mode": "latest-full"}
    with pytest.raises(Died):
        list(Query(table, options, checkpoint).run(dies_after=1 + done))
    shutil.rmtree(tmp_path / "t")
    batches = Query(filled(tmp_path / "t", 5), options, checkpoint).run()
    with pytest.raises(StreamPositionLost, match="is another one than"):
        next(batches)


def test_a_rollback_under_an_idle_stream_is_noticed(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 3)
    now = [0.0]
    read = opened(table, FROM_FIRST)
    stream = read.start(lambda: now[0])
    end = stream.next(stream.first())
    assert stream.next(end) == end
    rollback(table, 1)
    now[0] += 60
    with pytest.raises(StreamPositionLost, match="latest snapshot is 1"):
        stream.next(end)


@pytest.mark.parametrize(
    ("changes", "stops"),
    [
        ([AddColumn(("n",), parse_type("INT"))], False),
        ([RenameColumn(("a",), "amount")], False),
        ([UpdateType(("a",), parse_type("DOUBLE"))], True),
        ([DropColumn(("b",))], True),
    ],
    ids=["added", "renamed", "retyped", "dropped"],
)
def test_a_schema_that_changes_under_the_stream(
    changes: list[SchemaChange], stops: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = filled(tmp_path / "t", 1)
    checkpoint = Checkpoint()
    query = Query(table, FROM_FIRST, checkpoint)
    assert [sorted(rows[0]) for _, rows in query.run()] == [["a", "b", "k"]]
    alter_table(table, changes)
    changed = open_table(table.location)
    _write_one(changed)
    if not stops:
        with caplog.at_level(logging.WARNING):
            assert keys([rows for _, rows in query.run()]) == [[5]]
        told = "goes on without the columns n, which schema 1 has added"
        assert (told in caplog.text) == ("goes on without" in caplog.text) == isinstance(changes[0], AddColumn)
        return
    with pytest.raises(TableChanged, match=r"Restart the query.*checkpoint stays valid"):
        list(query.run())
    assert keys(drained(changed, FROM_FIRST, checkpoint)) == [[5]]


def _write_one(table: Table) -> None:
    user = str(uuid.uuid4())
    write = TableWrite(table, user)
    values = {field.name: 5 if field.name == "k" else None for field in table.schema.fields}
    write.write(pa.RecordBatch.from_pylist([values], schema=arrow_schema(table.schema.fields)))
    TableCommit(table, user).append(write.finish())


def test_snapshots_without_rows_move_the_position_now_and_then(tmp_path: Path) -> None:
    """R6: compactions alone. The position must not stay behind snapshots that expire, nor move with each of them."""
    table = filled(tmp_path / "t", 1)
    checkpoint = Checkpoint()
    options = {**FROM_FIRST}
    drained(table, options, checkpoint)
    query = Query(table, options, checkpoint)
    empties = 0
    for number in range(2, 2 + EMPTY):
        _empty_compact(table, number)
        found = [rows for _, rows in query.run()]
        assert all(rows == [] for rows in found)
        empties += len(found)
        if number % 7 == 0:
            expire_snapshots(open_table(table.location, {**KEEP_TWO, "snapshot.num-retained.min": "8",
                                                         "snapshot.num-retained.max": "8"}))  # fmt: skip
    assert EMPTY / 5 - 1 <= empties <= EMPTY / 5
    append(table, [(7, 7, "x")])
    assert keys([rows for _, rows in query.run()]) == [[7]]


def _empty_compact(table: Table, number: int) -> None:
    """A COMPACT snapshot that changes nothing, as the engines make them."""
    latest = table.snapshots.load(number - 1)
    path = f"{table.location}/snapshot/snapshot-{number}"
    made = replace(latest, id=number, commit_kind="COMPACT", base_manifest_list=f"{latest.base_manifest_list}")
    Path(path).write_bytes(encode_snapshot(made))
    table.snapshots.write_latest_hint(number)


def test_available_now_ends_while_others_write(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 5)
    query = Query(table, {**FROM_FIRST, **ONE_FILE}, Checkpoint(), available_now=True)
    batches = 0
    for _ in query.run():
        append(table, [(50 + batches, 0, "later")])
        batches += 1
    assert batches == 5


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, [6]),
        ({"maxFilesPerTrigger": "2"}, [2, 2, 2]),
        ({"maxRowsPerTrigger": "5"}, [1, 1, 1, 1, 1, 1]),
        ({"maxRowsPerTrigger": "6"}, [2, 2, 2]),
        ({"maxRowsPerTrigger": "12", "maxFilesPerTrigger": "3"}, [3, 3]),
        ({"maxBytesPerTrigger": "1"}, [1, 1, 1, 1, 1, 1]),
        ({"maxRowsPerTrigger": "1", "maxFilesPerTrigger": "5"}, [1, 1, 1, 1, 1, 1]),
    ],
    ids=str,
)
def test_limits_together(limits: dict[str, str], expected: list[int], tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    for number in range(6):
        append(table, [(number * 3 + i, 0, "a") for i in range(3)])
    given = {f"read.stream.{key}": value for key, value in limits.items()}
    batches = drained(table, {**FROM_FIRST, **given})
    assert [len(rows) // 3 for rows in batches] == expected


def test_few_rows_wait_for_more_but_not_for_ever(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 1)
    given = {**FROM_FIRST, "read.stream.minRowsPerTrigger": "3", "read.stream.maxTriggerDelayMs": "1000"}
    now = [100.0]
    stream = opened(table, given).start(lambda: now[0])
    first = stream.first()
    end = stream.next(first)  # the first batch waits for nothing, as the delay has passed since ever
    assert end.snapshot == 2
    append(table, [(8, 8, "x")])
    assert stream.next(end) == end
    assert stream.next(end, limited=False).snapshot == 3
    now[0] += 0.5
    append(table, [(9, 8, "x")])
    append(table, [(10, 8, "x")])
    assert stream.next(end).snapshot == 5
    stream.stop_at_latest()
    assert stream.next(end).snapshot == 5  # a query that ends does not wait
    with pytest.raises(OptionError, match="together or not at all"):
        opened(table, {"read.stream.minRowsPerTrigger": "3"})


def test_modes(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 4)
    create_tag(table, "two", 2)
    times = {number: table.snapshots.load(number).time_millis for number in range(1, 5)}
    expected: dict[tuple[tuple[str, str], ...], tuple[int, bool]] = {
        (): (4, True),
        (("scan.mode", "latest"),): (5, False),
        (("scan.mode", "full"),): (4, True),
        (("scan.mode", "compacted-full"),): (4, True),
        (("scan.snapshot-id", "3"),): (3, False),
        (("scan.mode", "from-snapshot-full"), ("scan.snapshot-id", "3")): (3, True),
        (("scan.tag-name", "two"),): (2, True),
        (("scan.version", "two"),): (2, True),
        (("scan.version", "3"),): (3, False),
        (("scan.snapshot-id", "0"),): (1, False),
        (("scan.mode", "from-snapshot-full"), ("scan.version", "3")): (3, True),
        (("scan.mode", "from-snapshot-full"), ("scan.version", "0")): (1, True),
        (("scan.timestamp-millis", str(times[4] + 1)),): (5, False),
        (("scan.timestamp-millis", "5"),): (1, False),
        (("scan.creation-time-millis", str(times[4] + 1)),): (4, True),
    }
    for options, wanted in expected.items():
        found = opened(table, dict(options)).start().first()
        assert ((found.snapshot, found.full), options) == (wanted, options)
    assert keys(drained(table, {"scan.tag-name": "two", **ONE_FILE}))[-2:] == [[2], [3]]
    with pytest.raises(SnapshotNotFound, match="never was"):
        opened(table, {"scan.snapshot-id": "9"}).start().first()
    for refused in ({"scan.mode": "latest-delta"}, {"scan.watermark": "3"}, {"incremental-between": "1,2"}):
        with pytest.raises(OptionError, match="stream"):
            opened(table, refused)


def test_expired_ids_begin_with_the_oldest(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = filled(tmp_path / "t", 5)
    create_tag(table, "two", 2)
    expire(table)
    with caplog.at_level(logging.WARNING):
        assert keys(drained(table, FROM_FIRST)) == [[3, 4]]
    assert "begins with 4" in caplog.text
    with pytest.raises(StreamPositionLost, match="snapshot 3 of"):
        opened(table, {"scan.tag-name": "two"}).start().first()  # its state is there, what follows it is not


def test_long_lived_changelogs_are_read(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"changelog-producer": "input", "changelog.num-retained.min": "100",
                                       "changelog.num-retained.max": "100"})  # fmt: skip
    for number in range(6):
        append(table, [(number, number, "a")])
    checkpoint = Checkpoint()
    with pytest.raises(Died):
        list(Query(table, {**FROM_FIRST, **ONE_FILE}, checkpoint).run(dies_after=1))
    expire(table)
    assert table.snapshots.ids() == [5, 6]
    assert keys([rows for _, rows in Query(table, {**FROM_FIRST, **ONE_FILE}, checkpoint).run()]) == [
        [n] for n in range(6)
    ]
    assert keys(drained(table, FROM_FIRST)) == [[0, 1, 2, 3, 4, 5]]


def test_snapshots_that_are_too_young_wait(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 2)
    assert drained(table, {**FROM_FIRST, "streaming.read.snapshot.delay": "1 h"}) == []
    assert keys(drained(table, {**FROM_FIRST, "streaming.read.snapshot.delay": "1 ms"})) == [[0, 1]]


def test_one_bucket(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 8, {"bucket": "2"})
    halves = [keys(drained(table, {**FROM_FIRST, "scan.bucket": str(bucket)}))[0] for bucket in (0, 1)]
    assert sorted(halves[0] + halves[1]) == list(range(8))
    assert halves[0]
    assert halves[1]


def test_options_that_a_stream_cannot_have(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"changelog-producer": "lookup"})
    with pytest.raises(OptionError, match=r"streaming-read-overwrite.*twice"):
        opened(table, {"streaming-read-overwrite": "true"})
    with pytest.raises(UnsupportedFeature, match="two branches"):
        opened(open_table(table.location), {"scan.fallback-branch": "x"})
    with pytest.raises(OptionError, match="1 or more"):
        opened(table, {"read.stream.maxFilesPerTrigger": "0"})
    with pytest.raises(OptionError, match="would never see a change"):
        opened(new_table(tmp_path / "bare"), {"changelog-producer": "input"})
    assert opened(table, {"changelog-producer": "none"}), "the rows as they were written"
    with pytest.raises(OptionError, match="'consumer-id' is empty"):
        opened(table, {"consumer-id": ""})


def test_idle_looks_are_one_request(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 3)
    store = _Counting(table.file_io)
    read = opened(table, FROM_FIRST)
    ticks = itertools.count()
    stream = replace(read, table=replace(read.table, file_io=store)).start(lambda: next(ticks) / 10)
    end = stream.next(stream.first())
    assert stream.next(end) == end
    store.calls = 0
    for _ in range(1000):
        assert stream.next(end) == end
    assert store.calls <= 1000


class _Counting:
    """Passes calls on to a store and counts them."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.calls = inner, 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def call(*args: Any, **more: Any) -> Any:
            self.calls += 1
            return found(*args, **more)

        return call


def test_overwrites_are_left_out_or_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = filled(tmp_path / "t", 2)
    _overwrite(table, [(7, 7, "o")])
    with caplog.at_level(logging.WARNING):
        assert keys(drained(table, FROM_FIRST)) == [[0, 1]]
    assert "leaves out what snapshot 3, an overwrite, has changed" in caplog.text
    assert "option 'streaming-read-overwrite' = 'true'" in caplog.text
    shown = drained(table, {**FROM_FIRST, "streaming-read-overwrite": "true"}, row_kinds=True)
    assert [(row["_row_kind"], row["k"]) for row in shown[0]] == [
        ("+I", 0), ("+I", 1), ("-D", 0), ("-D", 1), ("+I", 7),
    ]  # fmt: skip
    assert keys(drained(table, {**FROM_FIRST, "streaming-read-overwrite": "true"})) == [[0, 1, 7]]
    bare = new_table(tmp_path / "bare", {"bucket": "-1"}, keys=())
    append(bare, [(1, 1, "a")])
    _overwrite(bare, [(7, 7, "o")])
    _overwrite(bare, [(7, 7, "o")])
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert keys(drained(bare, FROM_FIRST)) == [[1]]
    assert caplog.text.count("option 'streaming-read-append-overwrite' = 'true'") == 1, "it is said once"
    assert keys(drained(bare, {**FROM_FIRST, "streaming-read-append-overwrite": "true"})) == [[1, 7, 7]]


def test_an_overwrite_without_a_changelog_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The producer input writes what it is given, and an overwrite is not given what it removes."""
    table = filled(tmp_path / "t", 1, {"changelog-producer": "input"})
    _overwrite(table, [(7, 7, "o")])
    with caplog.at_level(logging.WARNING):
        assert keys(drained(table, FROM_FIRST)) == [[0]]
    assert "leaves out what snapshot 2, an overwrite, has changed" in caplog.text


def _overwrite(table: Table, rows: list[tuple[int, int | None, str | None]]) -> None:
    user = str(uuid.uuid4())
    write = TableWrite(table, user)
    write.write(batch(rows))
    TableCommit(table, user).overwrite(write.finish(), None)


def test_what_a_stream_reports_is_how_far_it_could_be(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 3)
    stream = opened(table, {**FROM_FIRST, **ONE_FILE}).start()
    at = stream.next(stream.first())
    assert (at.snapshot, stream.reported().snapshot) == (2, 4), "a limit has cut the batch"
    while (end := stream.next(at)) != at:
        at = end
    assert (at.snapshot, stream.reported().snapshot) == (4, 4)
    append(table, [(9, 9, "a")])
    assert stream.next(at).snapshot == stream.reported().snapshot == 5


def test_the_position_after_all_that_is_there(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 0)
    stream = opened(table, {}).start()
    assert (stream.newest(), stream.reported()) == (Position(1), Position(1))
    append(table, [(1, 1, "a")])
    append(table, [(2, 2, "a")])
    assert stream.newest() == Position(3, after=stream.next(stream.first()).after)
    assert stream.reported() == Position(3)


def test_a_snapshot_that_is_to_be_read_again_and_was_rolled_back(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 3)
    stream = opened(table, FROM_FIRST).start()
    begin = stream.first()
    end = stream.next(begin)
    rollback(table, 1)
    anew = opened(table, FROM_FIRST).start()
    with pytest.raises(StreamPositionLost, match=r"is to read snapshot 2 again, .* rolled back"):
        anew.units(begin, end)


def test_a_consumer_is_one_name(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="'a/b' is no id for a consumer"):
        opened(filled(tmp_path / "t", 1), {"consumer-id": "a/b"}).start()


def test_rows_above_the_watermark_of_the_end_are_not_read(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 0)
    for number in range(1, 4):
        task = TableWrite(table, f"{number}")
        task.write(batch([(number, number, "a")]))
        TableCommit(table, f"{number}").append(task.finish(), watermark=number * 10)
    assert keys(drained(table, {**FROM_FIRST, "scan.bounded.watermark": "20"})) == [[1, 2]]


def test_starts_that_are_not_there(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 0)
    assert opened(table, {}).start().first().snapshot == 1
    append(table, [(1, 1, "a")])
    for version in ({}, {"scan.version": "x1"}, {"scan.version": "1x"}):
        with pytest.raises(OptionError, match=r"'from-snapshot-full' needs the option 'scan\.snapshot-id'"):
            opened(table, {"scan.mode": "from-snapshot-full", **version}).start().first()
    with pytest.raises(SnapshotNotFound, match="it has no tag 'none', or the time of the tag is up"):
        opened(table, {"scan.tag-name": "none"}).start().first()


def test_a_stream_of_a_system_table_has_its_shape(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 1, {"changelog-producer": "input"})
    append(table, [(0, 5, "b")])
    shown = [row for rows in drained(table, FROM_FIRST, system="audit_log") for row in rows]
    assert [(row["rowkind"], row["k"], row["a"]) for row in shown] == [("+I", 0, 0), ("+I", 0, 5)]
    packed = [row for rows in drained(table, FROM_FIRST, system="binlog") for row in rows]
    assert [(row["rowkind"], row["k"]) for row in packed] == [("+I", [0]), ("+I", [0])]
    with pytest.raises(OptionError, match="has no row kinds but those that it shows"):
        opened(table, FROM_FIRST, system="audit_log", row_kinds=True)
    with pytest.raises(UnsupportedFeature, match="can be read from a state only"):
        opened(table, FROM_FIRST, columns=["k", FILE_PATH])
