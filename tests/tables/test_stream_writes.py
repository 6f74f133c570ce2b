"""Streams into tables without Spark: every batch once, whatever stops the writer, and the position of the source."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.faults.faulty_store import FaultyFileIO, When, fault_points, is_killed, kill
from support.long_runs import LONG, draws, tries
from support.oracles.checker import check_table

import paimon_spark.store.open as opening
from paimon_spark import create_table, open_table
from paimon_spark.errors import DataError, OptionError, StaleBatch, StreamPositionLost
from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.tables.open import WritableTable
from paimon_spark.tables.stream_write import StreamProgress

COLUMNS = {"id": "BIGINT", "v": "STRING"}
ONE_FILE = {"read.stream.maxFilesPerTrigger": "1", "scan.mode": "from-snapshot", "scan.snapshot-id": "1"}


def keyed(path: Path) -> WritableTable:
    return create_table(str(path), COLUMNS, "id", options={"bucket": "1", "changelog-producer": "input"})


def plain(path: Path) -> WritableTable:
    return create_table(str(path), COLUMNS)


def rows_of(table: WritableTable) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


@pytest.mark.parametrize("seed", range(tries("PAIMON_STREAM_WRITES", 3, 100)))
def test_a_table_that_follows_another_has_its_rows(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    source, target = keyed(tmp_path / "source"), keyed(tmp_path / "target")
    for _ in range(4):
        for _ in range(draw.randint(0, 3)):
            ids = draw.sample(range(8), draw.randint(1, 4))
            change = draw.randrange(3)
            if change == 0:
                source.append({"id": ids, "v": [draw.choice("abc") for _ in ids]})
            elif change == 1:
                source.delete(f"id = {ids[0]}")
            else:
                source.update(f"id < {ids[0]}", {"v": "'u'"})
        stream = open_table(str(tmp_path / "source")).stream(
            row_kinds=True, options={"read.stream.maxFilesPerTrigger": "1"}
        )
        target.write_stream(stream, "copy")
        assert rows_of(target) == rows_of(source)
    assert target.write_stream(source.stream(row_kinds=True), "copy").batches == 0
    check_table(target)


def numbered(count: int, first: int = 0) -> Iterator[tuple[int, pa.Table]]:
    """Batches of one row each, whose positions are the numbers behind them."""
    for number in range(first, count):
        yield number + 1, pa.table({"id": [number], "v": ["x"]})


def test_pairs_of_positions_and_rows(tmp_path: Path) -> None:
    table = plain(tmp_path / "t")
    assert table.stream_progress("load") == StreamProgress(0)
    done = table.write_stream(numbered(3), "load")
    assert (done.batches, done.rows, done.position, done.snapshot_id) == (3, 3, 3, 3)
    progress = open_table(str(tmp_path / "t")).stream_progress("load")
    assert progress == StreamProgress(3, 3)
    table.write_stream(numbered(5, first=progress.position), "load")
    assert rows_of(table) == [(number, "x") for number in range(5)]
    assert table.write_stream([], "load").position == 5
    with pytest.raises(StaleBatch, match=r"from 5 to 5, but the table stands at 5"):
        table.write_stream([(5, {"id": [9], "v": ["x"]})], "load")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("within", [False, True])
def test_a_stream_that_is_stopped_goes_on(stop: type[BaseException], within: bool, tmp_path: Path) -> None:
    table = plain(tmp_path / "t")

    def stopped() -> Iterator[Any]:
        yield from numbered(2)
        if not within:
            raise stop
        yield 3, rows_then_stop()

    def rows_then_stop() -> Iterator[pa.RecordBatch]:
        yield from pa.table({"id": [2], "v": ["x"]}).to_batches()
        raise stop

    with pytest.raises(stop):
        table.write_stream(stopped(), "load")
    assert rows_of(table) == [(0, "x"), (1, "x")]
    progress = table.stream_progress("load")
    assert progress == StreamProgress(2, 2)
    table.write_stream(numbered(4, first=progress.position), "load")
    assert rows_of(table) == [(number, "x") for number in range(4)]
    check_table(table)


def test_rows_that_do_not_fit_leave_the_batches_before(tmp_path: Path) -> None:
    table = plain(tmp_path / "t")
    with pytest.raises(DataError, match="column 'w' is not in the table"):
        table.write_stream([*numbered(1), (2, {"id": [1], "v": ["x"], "w": [1]})], "load")
    assert table.stream_progress("load") == StreamProgress(1, 1)


def killed_at(path: Path, number: int, when: When, write: Any) -> bool:
    """Whether a process that writes is killed at an operation on its store."""

    def action() -> None:
        def faulty(location: str, options: Any) -> FileIO:
            return store

        store: Any = FaultyFileIO(LocalFileIO(), number, when, kill)
        opening.file_io_for = faulty  # of the forked process alone
        write()

    return is_killed(action)


def test_a_writer_that_is_killed_at_any_operation_writes_each_batch_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process goes on with the stream of the source, also if that has more rows by then."""
    source = plain(tmp_path / "source")
    for number in range(3):
        source.append({"id": [number], "v": ["x"]})

    def copy(path: Path) -> None:
        open_table(str(path)).write_stream(source.stream(options=ONE_FILE), "copy")

    log: Any = FaultyFileIO(LocalFileIO())
    with monkeypatch.context() as patched:
        patched.setattr(opening, "file_io_for", lambda location, options: log)
        plain(tmp_path / "logged")
        copy(tmp_path / "logged")
    points = fault_points(log.log)
    chosen = points if LONG else draws().sample(points, 12)
    killed = 0
    for number, when in chosen:
        path = tmp_path / f"t{number}-{when}"
        table = plain(path)
        killed += killed_at(path, number, when, lambda path=path: copy(path))
        source.append({"id": [99], "v": ["x"]})
        table.write_stream(source.stream(options=ONE_FILE), "copy")
        assert rows_of(table) == rows_of(source), (number, when)
        check_table(table)
        assert table.stream_progress("copy").pending is None
    assert 2 * killed > len(chosen)  # the source grows, so that no run is like the first one


def test_a_batch_that_was_cut_off_has_to_come_again(tmp_path: Path) -> None:
    """Between its note and its snapshot: another process may still be about to commit it."""
    for number in itertools.count():
        path = tmp_path / f"t{number}"
        table = plain(path)
        assert killed_at(
            path, number, When.BEFORE, lambda path=path: open_table(str(path)).write_stream(numbered(1), "load")
        )
        progress = table.stream_progress("load")
        if progress.pending is not None:
            break
    assert progress == StreamProgress(0, None, 1)
    with pytest.raises(StaleBatch, match="the batch up to 1 was cut off and comes first"):
        table.write_stream([(2, {"id": [0, 1], "v": ["x", "x"]})], "load")
    assert table.write_stream(numbered(2), "load").batches == 2
    assert rows_of(table) == [(0, "x"), (1, "x")]


def test_two_processes_of_one_name(tmp_path: Path) -> None:
    """The one that comes second finds another batch under the number, and writes nothing."""
    table = plain(tmp_path / "t")

    def rows_of_the_slower() -> Iterator[pa.RecordBatch]:
        yield from pa.table({"id": [7], "v": ["slow"]}).to_batches()
        table.write_stream(numbered(1), "load")

    with pytest.raises(StaleBatch, match="another process writes this stream"):
        table.write_stream([(8, rows_of_the_slower())], "load")
    assert rows_of(table) == [(0, "x")]
    assert table.stream_progress("load") == StreamProgress(1, 1)
    check_table(table)


def test_batches_of_a_stream_that_follow_something_else(tmp_path: Path) -> None:
    source, target = plain(tmp_path / "source"), plain(tmp_path / "target")
    for number in range(3):
        source.append({"id": [number], "v": ["x"]})
    batches = list(source.stream(options=ONE_FILE))
    target.write_stream(itertools.islice(source.stream(options=ONE_FILE).follow(), 1), "copy")
    with pytest.raises(StaleBatch, match="but the table stands at"):
        target.write_stream(batches[2:], "copy")
    assert target.write_stream(batches[1:], "copy").batches == 2
    assert rows_of(target) == rows_of(source)


def test_what_the_source_has_lost_is_an_error(tmp_path: Path) -> None:
    source, target = plain(tmp_path / "source"), plain(tmp_path / "target")
    source.append({"id": [0], "v": ["x"]})
    target.write_stream(source.stream(), "copy")
    for number in range(1, 4):
        source.append({"id": [number], "v": ["x"]})
    source.expire_snapshots(retain_max=1, retain_min=1)
    with pytest.raises(StreamPositionLost):
        target.write_stream(source.stream(), "copy")


@pytest.mark.parametrize(
    ("batches", "follow", "message"),
    [
        ([pa.table({"id": [1], "v": ["x"]})], False, "give batches of open_table"),
        ([(None, {"id": [1], "v": ["x"]})], False, "give batches of open_table"),
        ([({1}, {"id": [1], "v": ["x"]})], False, "no value of JSON"),
        ([], True, "needs a stream"),
    ],
)
def test_what_is_no_stream(batches: Any, follow: bool, message: str, tmp_path: Path) -> None:
    table = plain(tmp_path / "t")
    with pytest.raises(OptionError, match=message):
        table.write_stream(batches, "load", follow=follow)
    assert rows_of(table) == []


def test_a_name_of_writes_with_once(tmp_path: Path) -> None:
    table = plain(tmp_path / "t")
    table.append({"id": [1], "v": ["x"]}, once=("load", 1))
    with pytest.raises(OptionError, match="they keep no positions"):
        table.write_stream(numbered(1), "load")
    assert table.write_stream(numbered(1), "other").batches == 1
