"""S1 for ``write_stream`` and ``once=``: the driver dies at each point of a batch, and the batch comes again."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from support.faults.faulty_store import InjectedFault
from support.long_runs import draws, tries
from support.oracles.checker import check_table
from support.tables.stream_batches import SCHEMA, TABLES, Row, rows_of, run_batch, writer

from paimon_spark import PaimonTable
from paimon_spark.errors import PaimonError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.spark.source.source import PaimonDataSource
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.spark
BATCHES: list[list[Row]] = [
    [(1, "x", 1), (2, "x", 1), (3, "y", 1)],
    [(1, "x", 5), (4, "y", 5), (3, "y", 7)],
    [(2, "x", 9), (5, "x", 9)],
]
POINTS = ("before-note", "before-snapshot", "after-snapshot", "before-done")
ROADS = ("write_stream", "write_stream complete", "once", "once overwrite")
CASES = list(itertools.product(TABLES, ROADS, POINTS))
TRIED = draws().sample(CASES, min(tries("PAIMON_STREAM_ROADS", ci=1, long=len(CASES)), len(CASES)))
Run = Callable[[], None]


@contextmanager
def dying(point: str) -> Iterator[None]:
    """A driver that fails at a point of the second batch, and cannot reach the table after it."""
    overwrite, create, dead = LocalFileIO.overwrite, LocalFileIO.create_if_absent, []

    def die() -> None:
        dead.append(point)
        raise InjectedFault(point)

    def noted(self: LocalFileIO, path: str, data: bytes) -> None:
        is_note, is_done = "/stream-sink/" in path, b'"committed"' in data
        second = b'"batch" : 1,' in data or b'"batch":1,' in data or b'"batch": 1,' in data
        at = "before-done" if is_done else "before-note"
        if dead or (is_note and second and point == at):
            die()
        overwrite(self, path, data)

    def published(self: LocalFileIO, path: str, data: bytes) -> bool:
        mine = "/snapshot/snapshot-" in path and b'"APPEND"' in data + data.replace(b"OVERWRITE", b"APPEND")
        second = b'"commitIdentifier" : 1,' in data or b'"commitIdentifier":1,' in data
        if dead or (mine and second and point == "before-snapshot"):
            die()
        made = create(self, path, data)
        if mine and second and point == "after-snapshot":
            die()
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalFileIO, "overwrite", noted)
        patch.setattr(LocalFileIO, "create_if_absent", published)
        yield
    assert dead, f"nothing died at {point}"


@pytest.mark.parametrize(("kind", "road", "point"), TRIED)
def test_a_replay_leaves_each_batch_once(spark: SparkSession, kind: str, road: str, point: str, tmp_path: Path) -> None:
    path = tmp_path / "t"
    writer(path, kind)
    overwrites = road.endswith(("complete", "overwrite"))
    target = PaimonTable.forPath(spark, str(path))
    run = _streamed(spark, target, tmp_path, overwrites) if "stream" in road else _named(spark, target, overwrites)
    with dying(point), suppress(InjectedFault, PaimonError, StreamingQueryException):
        run()
    run()
    expected = tmp_path / "expected"
    for number, rows in enumerate(BATCHES):
        run_batch(expected, kind, number, _result(number) if "complete" in road else rows, overwrite=overwrites)
    assert rows_of(path) == rows_of(expected)
    store = open_table(str(path)).snapshots
    commits = [s for s in map(store.load, store.ids()) if s.commit_kind != "COMPACT"]
    assert [(s.commit_identifier, str(s.commit_kind)) for s in commits] == [
        (number, "OVERWRITE" if overwrites else "APPEND") for number in range(len(BATCHES))
    ]
    check_table(str(path))


def _result(last: int) -> list[Row]:
    """What a query in the mode complete gives after a batch: the greatest value of each key."""
    found: dict[tuple[int, str], int] = {}
    for k, p, v in itertools.chain(*BATCHES[: last + 1]):
        found[k, p] = max(v, found.get((k, p), v))
    return [(k, p, v) for (k, p), v in found.items()]


def _streamed(spark: SparkSession, target: PaimonTable, folder: Path, complete: bool) -> Run:
    """A stream of three files, each a batch; it goes on where it stood."""
    spark.dataSource.register(PaimonDataSource)
    events = folder / "events"
    events.mkdir()
    for number, rows in enumerate(BATCHES):
        lines = (json.dumps(dict(zip(SCHEMA.names, row, strict=True))) for row in rows)
        (events / f"{number}.json").write_text("\n".join(lines))
        os.utime(events / f"{number}.json", (number, number))  # Spark reads the older file first

    def run() -> None:
        stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1").json(str(events))
        if complete:
            stream = stream.groupBy("k", "p").agg(sf.max("v").alias("v"))
        made = target.write_stream(stream, checkpoint=str(folder / "ck"))
        made.outputMode("complete" if complete else "append").trigger(availableNow=True).start().awaitTermination()

    return run


def _named(spark: SparkSession, target: PaimonTable, overwrites: bool) -> Run:
    """Three writes that the application names, each by its number; it begins with the first that is not done."""
    frames: list[DataFrame] = [spark.createDataFrame(rows, SCHEMA).coalesce(1) for rows in BATCHES]
    done: list[int] = []

    def run() -> None:
        for number, rows in enumerate(frames):
            if number in done:
                continue
            write = target.overwrite if overwrites else target.append
            write(rows, once=("load", number))
            done.append(number)

    return run
