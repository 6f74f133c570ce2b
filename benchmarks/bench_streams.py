"""Streams beside the JVM connector: the same queries over copies of the same tables.

Micro-batches of 1,000 rows into key tables of two buckets, over what Spark takes for the same batches without a table;
10 million rows read from behind; a stream that waits. ``PAIMON_JVM_PYTHON`` and ``PAIMON_JVM_JAR`` name the peer, as
for the part `cold`; without them its lines are left out.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import bench_plan
import numpy as np
import pyarrow as pa
from bench_plan import BIGINT, STRING
from measure import Results, has_peer
from streams_session import DATABASE, SINKS
from tables import write

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import EMPTY_ROW, DataFileMeta, SimpleStats
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.stream_source.stream_read import stream_read
from paimon_spark.tables.open import open_table

BATCHES, BEHIND, COMMITS, FILES = 150, 10_000_000, 10, 10_000
COLUMNS = pa.schema([("id", pa.int64()), ("v", pa.int64()), ("s", pa.string())])
READERS = ("", " by name")  # a stream of a table by its path, and by its name in the catalog of Spark
BARS = {"write-only": 250, "inline compaction": 450}
FIRST_LOOK = 1_000  # files
HIGHEST = 5  # level


def make_tables(root: Path, scale: float) -> Path:
    folder = root / f"streams-{scale:g}"
    if (folder / "done").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    database, keyed = folder / f"{DATABASE}.db", {"bucket": "2"}
    for name, options in (("fresh", {"write-only": "true"}), ("inline", {}), ("many", {"write-only": "true"})):
        create_table(str(database / name), new_schema(COLUMNS, ("id",), (), keyed | options))
    add_files(database / "many", int(FILES * scale))
    behind = str(database / "behind")
    create_table(behind, new_schema(COLUMNS, (), (), {"write-only": "true"}))
    one = int(BEHIND * scale) // COMMITS
    for number in range(COMMITS):
        ids = np.arange(number * one, (number + 1) * one)
        rows = [ids, ids * 7 % 1000003, np.char.add("text-", (ids % 5000).astype(str))]
        batch = pa.RecordBatch.from_arrays([pa.array(column) for column in rows], schema=COLUMNS)
        write(open_table(behind), [batch], f"load-{number}")
    (folder / "done").touch()
    return folder


def add_files(table: Path, files: int) -> None:
    """Files of the highest level that do not exist, half of them in each bucket: a write-only sink opens none."""
    made = [CommitMessage(EMPTY_ROW, bucket, 2, tuple(map(data_file, range(bucket, files, 2)))) for bucket in (0, 1)]
    TableCommit(open_table(str(table)), "bench").append(made)


def data_file(number: int) -> DataFileMeta:
    keys = [encode_arity_row((key,), (BIGINT,)) for key in (number * 10, number * 10 + 9)]
    rows = [encode_arity_row((key, 7, "text-1"), (BIGINT, BIGINT, STRING)) for key in (number * 10, number * 10 + 9)]
    return bench_plan.data_file(number)._replace(
        min_key=keys[0],
        max_key=keys[1],
        key_stats=SimpleStats(*keys, (0,)),
        value_stats=SimpleStats(*rows, (0, 0, 0)),
        value_stats_cols=("id", "v", "s"),
        level=HIGHEST,
    )


def run_session(kind: str, made: Path, batches: int) -> dict[str, dict[str, Any]]:
    """What the session measured, by what it did."""
    copy = made.with_name(f"{made.name}-{kind}")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(made, copy)
    jvm = kind == "jvm"
    command = [os.environ["PAIMON_JVM_PYTHON"] if jvm else sys.executable]
    command += [str(Path(__file__).with_name("streams_session.py")), kind, str(copy), str(batches)]
    command += [os.environ["PAIMON_JVM_JAR"]] if jvm else []
    env = {key: value for key, value in os.environ.items() if not jvm or key != "PYTHONPATH"}
    found = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True) as session:
        for line in session.stdout or ():
            if line.startswith("{"):
                measured = json.loads(line)
                found[measured.pop("what")] = measured
                print(f"{kind}: {line.strip()}", flush=True)
    if session.returncode:
        raise SystemExit(f"streams: the session {kind} ended with {session.returncode}")
    shutil.rmtree(copy)
    return found


def run(results: Results, root: Path, scale: float) -> None:
    made, batches = make_tables(root, scale), max(int(BATCHES * scale), 30)
    first_look(results, root)
    ours = run_session("paimon", made, batches)
    floor = ours["floor"]["millis"]
    for what, bar in BARS.items():
        note = f"{ours[what]['millis']:.0f} ms, Spark alone {floor:.0f} ms, {batches} batches of 1,000 rows"
        results.lower(f"micro-batch, {what}: over Spark", ours[what]["millis"] - floor, "ms", bar, note)
        note = f"{ours[what]['begin']:.0f} ms, {ours[what]['end']:.0f} ms"
        results.lower(f"micro-batch, {what}: last / first", ours[what]["end"] / ours[what]["begin"], "x", 1.1, note)
    more = ours["write-only, 10,000 files"]["millis"] - ours["write-only"]["millis"]
    results.lower(f"micro-batch, {int(FILES * scale):,} files in the table: more", more, "ms", 50)
    results.lower("micro-batch: processes started", sum(ours[what]["spawned"] for what in SINKS), "processes", 0)
    grown = max(ours[what]["grown"] for what in SINKS)
    results.lower(f"{batches} micro-batches: memory of the Python processes", grown, "MB", 50, "growth of the worst")
    for by in READERS:
        behind = ours[f"behind{by}"]
        note = f"stream {behind['rows'] / behind['stream'] / 1e6:.2f} M rows/s, batch {behind['batch']:.2f} s"
        ratio = behind["batch"] / behind["stream"]
        results.higher(f"{int(behind['rows']):,} rows behind{by}: speed / batch", ratio, "x", 0.7, note)
    if not has_peer("streams"):
        return
    theirs = run_session("jvm", made, batches)
    for what in SINKS:
        mine, other = ours[what], theirs[what]
        note = f"{mine['cpu'] * 1000:.0f} s for 1,000 batches, JVM {other['cpu'] * 1000:.0f} s"
        bar = 0.5 if "files" in what else 1
        results.lower(f"micro-batch, {what}: processor / JVM", mine["cpu"] / other["cpu"], "x", bar, note)
        over, theirs_over = mine["millis"] - floor, other["millis"] - theirs["floor"]["millis"]
        note = f"{over:.0f} ms over Spark {floor:.0f} ms, JVM {theirs_over:.0f} over {theirs['floor']['millis']:.0f} ms"
        results.lower(f"micro-batch, {what}: time over Spark / JVM", over / theirs_over, "x", 1, note)
    for by in READERS:
        mine, other = ours[f"idle{by}"], theirs["idle"]
        note = f"{mine['cpu'] * 1000:.0f} ms a second, JVM {other['cpu'] * 1000:.0f} ms"
        results.lower(f"a stream that waits{by}: processor / JVM", mine["cpu"] / other["cpu"], "x", 1, note)
        what = f"a stream that waits{by} and looks each second: processor a second"
        note = f"JVM {other['each second'] * 1000:.0f} ms"
        results.lower(what, mine["each second"] * 1000, "ms", 10, note)
        mine, other = ours[f"behind{by}"], theirs["behind"]
        note = f"{mine['stream']:.2f} s, JVM {other['stream']:.2f} s"
        results.lower(f"rows behind{by}: time / JVM", mine["stream"] / other["stream"], "x", 0.8, note)


def first_look(results: Results, root: Path) -> None:
    """What the first latestOffset takes for a state of 1,000 files, in processor time."""
    path = root / f"look-{FIRST_LOOK}"
    if not path.exists():
        create_table(str(path), new_schema(COLUMNS, ("id",), (), {"bucket": "2"}))
        add_files(path, FIRST_LOOK)
    spent = []
    for _ in range(7):
        stream = stream_read(open_table(str(path)), {"read.stream.maxFilesPerTrigger": "10"}).start()
        first, began = stream.first(), time.process_time()
        stream.next(first)
        spent.append((time.process_time() - began) * 1000)
    results.lower(f"first latestOffset of {FIRST_LOOK:,} files: processor", min(spent), "ms", 20)
