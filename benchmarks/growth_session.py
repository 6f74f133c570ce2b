"""One piece of work on one table of the part `growth`, or its making, in a process of its own."""

from __future__ import annotations

import json
import resource
import shutil
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import bench_plan
import data
import numpy as np
import pyarrow as pa
import tables
from java_session import start_java
from measure import resident_peak

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.store.commit.attempt import CommitRequest, Proposal
from paimon_spark.store.commit.table_commit import TableCommit, commit_request
from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.metadata.messages import CommitChanges, CommitMessage
from paimon_spark.store.metadata.remembered import forget_all
from paimon_spark.tables.open import open_table

MOST = 2**31 - 1
ROUNDS = 3
ENOUGH = 4.0
"""Seconds after which no further round begins."""
ONCE = frozenset({"compact", "expire"})
"""Works that leave nothing to be done again."""
FILES = 1000
"""Files of the table whose snapshots grow in number."""
BUCKET_ROWS, COLUMN_ROWS = 200_000, 1000

# ------------------------------------------------------------------------------------------------------------- tables


def make_rows(path: Path, count: int) -> None:
    """A key table of two buckets: all rows, and 8 upserts of a 25th of them, none compacted."""
    _named(Path(tables.primary_key_table(path.parent, "int64 dense", count, count // 25, 8).location), path)


def make_files(path: Path, count: int) -> None:
    """An append table whose manifests name files that do not exist, at most 250 a partition."""
    _named(Path(bench_plan.table_of_files(path.parent, count).location), path)


def _named(made: Path, path: Path) -> None:
    made.with_suffix(".done").unlink()
    made.rename(path)


def make_partitions(path: Path, count: int) -> None:
    """An append table with one file a partition, which does not exist."""
    schema = data.batch("int64 dense", np.arange(1), 0).schema
    create_table(str(path), new_schema(schema, (), ("s2",), {"bucket": "-1"}))
    messages = []
    for number in range(count):
        part = encode_arity_row((f"category-{number:06d}",), (bench_plan.STRING,))
        messages.append(CommitMessage(part, 0, -1, (bench_plan.data_file(number),)))
    TableCommit(open_table(str(path)), "bench").append(messages)


def make_snapshots(path: Path, count: int) -> None:
    """A table of 1,000 files; each snapshot behind the second is as that one, with lists of its own, and adds none."""
    make_files(path, FILES)
    table, nothing = open_table(str(path)), Proposal(CommitChanges(()), None)
    commit_request(table, CommitRequest("bench", 2, CommitKind.APPEND, None, lambda state: nothing, False), None)
    snapshots, manifests = path / "snapshot", path / "manifest"
    second = json.loads((snapshots / "snapshot-2").read_text())
    for number in range(3, count + 1):
        names = {key: f"{second[key][:-12]}{number:010d}-{key[0]}" for key in ("baseManifestList", "deltaManifestList")}
        for key, name in names.items():
            shutil.copyfile(manifests / second[key], manifests / name)
        made = {**second, **names, "id": number, "commitIdentifier": number}
        made["timeMillis"] = second["timeMillis"] - (count - number)
        (snapshots / f"snapshot-{number}").write_text(json.dumps(made))
    (snapshots / "LATEST").write_text(str(max(count, 2)))


def make_buckets(path: Path, count: int) -> None:
    """A key table of 200,000 rows in so many buckets."""
    schema = data.batch("int64 dense", np.arange(1), 0).schema
    options = {"bucket": str(count), "write-only": "true"}
    create_table(str(path), new_schema(schema, data.KEYS["int64 dense"], (), options))
    tables.write(open_table(str(path)), data.rows("int64 dense", np.arange(BUCKET_ROWS), 0), "load")


def make_columns(path: Path, count: int) -> None:
    """A key table of 1,000 rows with so many columns."""
    create_table(str(path), new_schema(wide(count, 1).schema, ("id",), (), {"bucket": "1", "write-only": "true"}))
    tables.write(open_table(str(path)), [wide(count, COLUMN_ROWS)], "load")


def wide(columns: int, rows: int) -> pa.RecordBatch:
    """Rows of a key and other columns, all of them BIGINT."""
    names = ["id", *(f"c{number}" for number in range(1, columns))]
    fields = [pa.field(name, pa.int64(), nullable=name != "id") for name in names]
    arrays = [pa.array(np.arange(rows) * (number + 1)) for number in range(columns)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


MAKERS: dict[str, Callable[[Path, int], None]] = {
    "rows": make_rows,
    "files": make_files,
    "snapshots": make_snapshots,
    "partitions": make_partitions,
    "buckets": make_buckets,
    "columns": make_columns,
}

# --------------------------------------------------------------------------------------------------------------- ours


def condition(where: str) -> str:
    column, _, value = where.partition("=")
    return f"{column} = {value}" if value.isdigit() else f"{column} = '{value}'"


def plan(path: str, where: str) -> None:
    open_table(path).scan().plan()


def plan_partition(path: str, where: str) -> None:
    open_table(path).scan(where=condition(where)).plan()


def point(path: str, where: str) -> None:
    tables.drain(open_table(path).scan(where=condition(where)).to_batches())


def read(path: str, where: str) -> None:
    tables.drain(open_table(path).scan().to_batches())


def commit(path: str, where: str) -> None:
    """A write of one row, without what may follow a commit."""
    table = open_table(path)
    names = table.schema.names
    row = data.batch("int64 dense", np.arange(1), 0) if "ts" in names else wide(len(names), 1)
    table.append(pa.Table.from_batches([row]), {"write-only": "true"})


def travel(path: str, where: str) -> None:
    """A plan of the state of a time in the middle."""
    first, last = (open_table(path).snapshots.load(number) for number in (1, open_table(path).snapshots.latest_id()))
    middle = (first.time_millis + last.time_millis) // 2
    open_table(path, {"scan.timestamp-millis": str(max(middle, first.time_millis))}).scan().plan()


def expire(path: str, where: str) -> None:
    expire_snapshots(open_table(path), retain_max=1, retain_min=1, max_deletes=MOST)


def compact(path: str, where: str) -> None:
    compact_table(open_table(path), LocalRunner(max_processes=1))


OURS: dict[str, Callable[[str, str], None]] = {
    "plan": plan,
    "plan of a partition": plan_partition,
    "row by its key": point,
    "all rows": read,
    "commit of a row": commit,
    "plan of a time": travel,
    "expire": expire,
    "compact": compact,
}

# --------------------------------------------------------------------------------------------------------------- Java


def by_java(work: str, path: str, where: str) -> Callable[[], object]:
    """The same work by the core of Java, without an engine."""
    paimon = start_java()
    import java_expiry  # these start nothing, and need the packages of Java
    from bench_expiry import KEEP_ONE
    from java_table import table_at

    def planned(condition: tuple[str, Any] | None = None, options: dict[str, str] | None = None) -> Any:
        table = table_at(paimon, path, options or {})
        builder = table.newReadBuilder()
        if condition is not None:
            builder = builder.withFilter(_equal(paimon, table, *condition))
        return builder, builder.newScan().plan()

    def drained(condition: tuple[str, Any] | None = None) -> int:
        builder, found = planned(condition)
        size = paimon.shade.guava30.com.google.common.collect.Iterators.size  # a loop in Java
        with builder.newRead().executeFilter().createReader(found).toCloseableIterator() as cursor:
            return int(size(cursor))

    column, _, value = where.partition("=")
    wanted = (column, int(value) if value.isdigit() else value)
    works: dict[str, Callable[[], object]] = {
        "plan": planned,
        "plan of a partition": lambda: planned(wanted),
        "row by its key": lambda: drained(wanted),
        "all rows": drained,
        "commit of a row": lambda: _commit_by_java(path),
        "expire": lambda: java_expiry.expire_snapshots(paimon, path, "main", KEEP_ONE),
    }
    return works[work]


def _equal(paimon: Any, table: Any, column: str, value: Any) -> Any:
    from genuine_values import codec

    row_type = table.rowType()
    place = row_type.getFieldIndex(column)
    literal = codec(row_type.getTypeAt(place)).encode(value)
    return paimon.predicate.PredicateBuilder(row_type).equal(place, literal)


def _commit_by_java(path: str) -> None:
    from genuine import Genuine

    names = open_table(path).schema.names
    row = (0, "text-0", "category-0000", 0.5, 0.5, 0.5, 1, 1, 0) if "ts" in names else tuple(range(len(names)))
    Genuine("2.0.0").write(path, [row], options={"write-only": "true"})


JAVA = frozenset({"plan", "plan of a partition", "row by its key", "all rows", "commit of a row", "expire"})

# ------------------------------------------------------------------------------------------------------------ measured


def measured(run: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Seconds and processor seconds, each of its best round; each begins with nothing remembered."""
    wall = processor = float("inf")
    began = time.perf_counter()
    for _ in range(rounds):
        forget_all()
        start, used = time.perf_counter(), time.process_time()
        run()
        wall, processor = min(wall, time.perf_counter() - start), min(processor, time.process_time() - used)
        if time.perf_counter() - began > ENOUGH:
            break
    return wall, processor


def answer(to: Connection, limit: int, who: str, what: str, path: str, more: str) -> None:
    """Does a work in this process and sends seconds, processor seconds and the peak of memory in bytes, or an error.

    Args:
        limit: processor seconds after which the process is ended.
        who: "ours", "java", or "make": ``what`` is the name of a table then, and ``more`` its size.
        more: ``column=value``, for the works that look a row or a partition up.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    try:
        if who == "make":
            MAKERS[what](Path(path), int(more))
            to.send({})
            return
        run = by_java(what, path, more) if who == "java" else lambda: OURS[what](path, more)
        wall, processor = measured(run, 1 if what in ONCE else ROUNDS)
        to.send({"seconds": wall, "processor": processor, "peak": resident_peak()})
    except Exception as error:  # it is told as the reason why a curve ends
        to.send(f"{type(error).__name__}: {str(error).splitlines()[:1]}")
