"""Streams without Spark: every change once, in order, from any position, beside what the table has."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paimon_spark import create_table, open_table
from paimon_spark.errors import OptionError, StreamPositionLost, UnsupportedFeature
from paimon_spark.tables.open import WritableTable
from paimon_spark.tables.stream import ChangeStream

COLUMNS = {"id": "BIGINT", "v": "STRING"}


def made(path: Path, producer: str = "input") -> WritableTable:
    return create_table(str(path), COLUMNS, "id", options={"bucket": "1", "changelog-producer": producer})


def changes(stream: ChangeStream) -> list[tuple[Any, ...]]:
    rows = itertools.chain.from_iterable(batch.to_arrow().to_pylist() for batch in stream)
    return [tuple(row.values()) for row in rows]


def test_a_stream_reads_the_state_and_then_each_change_once(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.append({"id": [1, 2], "v": ["a", "b"]})
    stream = table.stream(row_kinds=True)
    assert changes(stream) == [(1, "a", "+I"), (2, "b", "+I")]
    assert changes(stream) == []
    table.update("id = 1", {"v": "'c'"})
    table.delete("id = 2")
    assert changes(stream) == [(1, "a", "-U"), (1, "c", "+U"), (2, "b", "-D")]


def test_a_stream_goes_on_from_a_position_that_was_kept(tmp_path: Path) -> None:
    """Through JSON, in another process, and again from the same position."""
    table = made(tmp_path / "t")
    for number in range(4):
        table.append({"id": [number], "v": ["x"]})
    stream = table.stream(options={"scan.mode": "from-snapshot", "scan.snapshot-id": "1"})
    first = next(iter(stream))
    kept = json.dumps(first.position)
    rest = [row["id"] for batch in stream for row in batch.to_arrow().to_pylist()]
    told = [row["id"] for row in first.to_arrow().to_pylist()]
    assert told + rest == [0, 1, 2, 3]
    for _ in range(2):
        again = open_table(str(tmp_path / "t")).stream(position=json.loads(kept))
        assert [row[0] for row in changes(again)] == rest


def test_a_batch_keeps_to_the_limits_of_the_options(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "none")
    for number in range(5):
        table.append({"id": [number], "v": ["x"]})
    given = {"scan.mode": "from-snapshot", "scan.snapshot-id": "1", "read.stream.maxFilesPerTrigger": "1"}
    batches = list(table.stream("id", options=given))
    assert [batch.to_arrow().column("id").to_pylist() for batch in batches] == [[0], [1], [2], [3], [4]]
    assert [a.position for a in batches[:-1]] == [b.start for b in batches[1:]]


def test_columns_and_conditions(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.append({"id": [1, 2, 3], "v": ["a", "b", None]})
    assert changes(table.stream("v", where="id > 1")) == [("b",), (None,)]


def test_a_loop_reads_what_is_there_when_it_begins(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.append({"id": [1], "v": ["a"]})
    stream, found = table.stream("id"), list[int]()
    for batch in stream:
        found += batch.to_arrow().column("id").to_pylist()
        table.append({"id": [found[-1] + 1], "v": ["a"]})
    assert found == [1]
    assert changes(stream) == [(2,)]


def test_following_goes_on(tmp_path: Path) -> None:
    """A loop that is left early holds nothing back from the next one."""
    table = made(tmp_path / "t")
    table.append({"id": [1], "v": ["a"]})
    stream = table.stream("id")
    for _ in stream:
        break

    def fed() -> Iterator[int]:
        follow = stream.follow(0)
        for number in (2, 3):
            table.append({"id": [number], "v": ["a"]})
            yield from next(follow).to_arrow().column("id").to_pylist()

    assert list(fed()) == [2, 3]
    with pytest.raises(OptionError, match="seconds, 0 or more"):
        next(stream.follow(-1.0))


def test_a_consumer_keeps_snapshots_until_the_stream_is_behind_them(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    for number in range(6):
        table.append({"id": [number], "v": ["x"]})
    options = {"consumer-id": "c", "scan.mode": "from-snapshot", "scan.snapshot-id": "2"}
    stream = table.stream(options={**options, "read.stream.maxFilesPerTrigger": "1"})
    taken = [stream.poll() for _ in range(3)]
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert table.snapshots.earliest_id() == 4
    assert [batch.to_arrow().num_rows for batch in taken[-1:] if batch is not None] == [1]
    assert [row[0] for row in changes(stream)] == [4, 5]


def test_a_position_that_is_lost_is_told(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    for number in range(4):
        table.append({"id": [number], "v": ["x"]})
    stream = table.stream(options={"scan.mode": "from-snapshot", "scan.snapshot-id": "1"})
    stream.poll()
    table.rollback(snapshot=1)
    table.append({"id": [9], "v": ["y"]})
    with pytest.raises(StreamPositionLost):
        changes(stream)


def test_what_is_no_stream_is_refused(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    with pytest.raises(OptionError, match="this release cannot read"):
        table.stream(position={"v": "other"})
    with pytest.raises(OptionError, match="nope"):
        table.stream("nope")
    with pytest.raises(UnsupportedFeature, match="can be read from a state only"):
        table.stream("__paimon_file_path")
    with pytest.raises(OptionError, match="a change that ends"):
        table.stream(options={"incremental-between": "1,2"})
