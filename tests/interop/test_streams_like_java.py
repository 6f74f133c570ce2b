"""Streams with row kinds (R1): ours and those of genuine Java over the same tables, snapshot by snapshot, for every changelog
producer, merge engine and way to bucket, from every place where a stream can begin; and consumers of both (R5).

``PAIMON_JAVA_STREAMS`` sets how many histories are tried of each case.
"""  # noqa: E501

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import our_engine
import pytest
from compared_streams import compare_streams
from genuine import Genuine, table_path
from java_streams import java_consumer, java_consumes, java_stream
from readers import telling
from support.long_runs import tries
from support.tables.micro_batches import FROM_FIRST, Checkpoint, Query

from paimon_spark import expire_snapshots, open_table
from paimon_spark.store.holds.consumer_files import consumer_positions

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_JAVA_STREAMS", ci=1, long=12)
COLUMNS = {"p": "STRING NOT NULL", "k": "INT NOT NULL", "a": "BIGINT", "b": "STRING"}
SUM = {
    "merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "last_value",
    "fields.a.ignore-retract": "true", "fields.b.ignore-retract": "true",
}  # fmt: skip
VECTORS = {"deletion-vectors.enabled": "true"}
FULL = {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "2"}


@dataclass(frozen=True)
class Case:
    """A kind of table.

    Attributes:
        options: of the table.
        keys, partitions: its columns.
        kinds: what its rows do.
        overwrites: options of a stream that shows overwrites; none: it never does.
        branch: which is streamed.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    keys: Sequence[str] = ("p", "k")
    partitions: Sequence[str] = ()
    kinds: Sequence[str] = ("+I", "+I", "+U", "-D")
    overwrites: Mapping[str, str] = field(default_factory=dict)


def producer(name: str, **more: str) -> dict[str, str]:
    return {"changelog-producer": name, **{key.replace("_", "-"): value for key, value in more.items()}}


SHOWN = {"streaming-read-overwrite": "true"}
CASES = {
    "none": Case(overwrites=SHOWN),
    "input": Case(producer("input"), overwrites=SHOWN),
    "lookup": Case(producer("lookup")),
    "full-compaction": Case(FULL),
    "aggregation, none": Case(SUM, kinds=("+I",)),
    "aggregation, lookup": Case({**SUM, **producer("lookup")}, kinds=("+I",)),
    "aggregation, full-compaction": Case({**SUM, **FULL}, kinds=("+I",)),
    "partial-update, lookup": Case(producer("lookup", merge_engine="partial-update"), kinds=("+I",)),
    "partial-update, none": Case({"merge-engine": "partial-update"}, kinds=("+I",)),
    "first-row, none": Case({"merge-engine": "first-row"}, kinds=("+I",)),
    "first-row, lookup": Case(producer("lookup", merge_engine="first-row"), kinds=("+I",)),
    "vectors, none": Case(VECTORS),
    "vectors, lookup": Case({**VECTORS, **producer("lookup")}),
    "partitioned, lookup": Case(producer("lookup"), partitions=("p",)),
    "partitioned, none": Case(partitions=("p",), overwrites=SHOWN),
    "partitioned, full-compaction": Case(FULL, partitions=("p",)),
    "dynamic, lookup": Case(producer("lookup", bucket="-1")),
    "dynamic, none": Case({"bucket": "-1"}),
    "append": Case({"bucket": "-1"}, (), (), ("+I",), {"streaming-read-append-overwrite": "true"}),
    "append, buckets": Case(
        {"bucket": "2", "bucket-key": "k", "write-only": "true"},
        (),
        ("p",),
        ("+I",),
        {"streaming-read-append-overwrite": "true"},
    ),
}


class StreamHistory:
    """A table that both systems write; log is shown when the readers differ."""

    def __init__(self, case: Case, seed: int, path: str, java: Genuine) -> None:
        self.case, self.path, self.java, self.random = case, path, java, random.Random(seed)
        self.log: list[str] = []
        options = {"bucket": "2", **case.options}
        self.fixed = options["bucket"] != "-1" or not case.keys
        java.create(path, COLUMNS, case.keys, case.partitions, options)

    def write(self) -> None:
        r = self.random
        rows = [(r.choice("xy"), r.randrange(8), r.randrange(100), r.choice("abc")) for _ in range(r.randint(1, 6))]
        kinds = [r.choice(self.case.kinds) for _ in rows]
        options = r.choice([{}, {"write-only": "true"}])
        ours = self.fixed and r.random() < 0.4
        self.log.append(f"{'we write' if ours else 'Java writes'} {options} {list(zip(kinds, rows, strict=True))}")
        if ours:
            our_engine.write(self.path, [(rows, kinds if self.case.keys else None)], {"write-only": "true"})
        else:
            self.java.write(self.path, rows, kinds, options)

    def overwrite(self) -> None:
        self.log.append("Java overwrites")
        self.java.write(self.path, [("x", 1, 7, "o"), ("x", 9, 7, "o")], None, {"write-only": "true"}, overwrite={})

    def compact(self) -> None:
        full = self.random.random() < 0.7
        self.log.append(f"Java compacts, full: {full}")
        if (
            self.java.files(self.path) and "bucket-key" not in self.case.options
        ):  # Java's own compaction conflicts there
            self.java.compact(self.path, full)

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.random.choices([self.write, self.compact, self.overwrite], [6, 3, 1])[0]()

    def compare(self, options: Mapping[str, str]) -> None:
        """Both streams from their beginning, then both on from there after more has happened."""
        self.log.append(f"stream {dict(options)}")
        compare_streams(self.path, self.java, options, lambda: self.live(3))


@pytest.mark.parametrize("seed", range(COUNT))
@pytest.mark.parametrize("name", CASES)
def test_streams_have_the_same_rows(name: str, seed: int, java: Genuine, tmp_path: Path) -> None:
    case = CASES[name]
    history = StreamHistory(case, seed, table_path(tmp_path), java)
    with telling(history.log):
        history.write()
        history.live(8)
        history.write()
        snapshots = open_table(history.path).snapshots
        middle = snapshots.load((snapshots.latest_id() or 1) // 2 + 1)
        for options in (
            FROM_FIRST,
            {"scan.mode": "latest-full"},
            {"scan.mode": "from-snapshot-full", "scan.snapshot-id": str(middle.id)},
            {"scan.mode": "from-timestamp", "scan.timestamp-millis": str(middle.time_millis)},
            {"scan.mode": "from-creation-timestamp", "scan.creation-time-millis": str(middle.time_millis)},
            {"scan.mode": "compacted-full"},
            {"scan.mode": "latest"},
            {"scan.snapshot-id": str(middle.id)},
        ):
            history.compare(options)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.overwrites])
def test_overwrites_have_the_same_rows(name: str, java: Genuine, tmp_path: Path) -> None:
    history = StreamHistory(CASES[name], 1, table_path(tmp_path), java)
    with telling(history.log):
        for _ in range(2):
            history.write()
            history.compact()
            history.write()
            history.overwrite()
        history.compare({**FROM_FIRST, **CASES[name].overwrites})


def test_a_java_reader_goes_on_from_our_consumer(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    java.create(path, COLUMNS, ("p", "k"), (), {"bucket": "1"})
    for number in range(4):
        java.write(path, [("x", number, number, "a")])
    query = Query(open_table(path), {**FROM_FIRST, "consumer-id": "mart"}, Checkpoint(), row_kinds=True)
    assert query.stream.first().snapshot == 1
    assert java.run(java_consumer, path, "mart") == 1
    assert len([rows for _, rows in query.run()]) == 1
    assert java.run(java_consumer, path, "mart") == 5
    java.write(path, [("x", 9, 9, "b")])
    plans, position = java.run(java_stream, path, {"consumer-id": "mart"})
    assert [plan for plan in plans if plan] == [[("+I", ("x", 9, 9, "b"))]]
    assert position == (open_table(path).snapshots.latest_id() or 0) + 1


def test_our_stream_goes_on_from_a_consumer_of_java(java: Genuine, tmp_path: Path) -> None:
    """R5: ours waits for it with its expiry, goes on from it, and Java's expiry waits for ours."""
    path, keep_one = table_path(tmp_path), {"snapshot.num-retained.min": "1", "snapshot.time-retained": "1 ms"}
    java.create(path, COLUMNS, ("p", "k"), (), {"bucket": "1"})
    for number in range(4):
        java.write(path, [("x", number, number, "a")], options={"write-only": "true"})
    next_one = java.run(java_consumes, path, "mart")
    assert consumer_positions(open_table(path).file_io, path) == {"mart": next_one}
    for number in range(4, 7):
        java.write(path, [("x", number, number, "a")], options={"write-only": "true"})
    expire_snapshots(open_table(path, {**keep_one, "snapshot.num-retained.max": "1"}))
    assert open_table(path).snapshots.earliest_id() == next_one
    query = Query(open_table(path), {"consumer-id": "mart"}, Checkpoint(), row_kinds=True)
    java.expire_snapshots(path, 1)
    assert open_table(path).snapshots.earliest_id() == next_one
    assert sorted(row["k"] for _, rows in query.run() for row in rows) == [4, 5, 6]
    java.expire_snapshots(path, 1)
    assert open_table(path).snapshots.ids() == [next_one + 2]
