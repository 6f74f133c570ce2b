"""What we do beside Flink in processes that are killed: ``flink_kill_work.py KIND FOLDER``.

Each kind goes on until the file `stop` is in the folder, copies until it is `copies-stop`, and begins where the one
before it was killed:

- `keep`: compacts tables that are left to us, expires snapshots, merges manifests, makes and removes tags;
- `stream`: `write_stream` of our own keys into each table, a batch at a time;
- `change`: rows of our own keys, one statement at a time, each named in a journal before it begins;
- `copy`: `write_stream` of the changes of one table into another;
- `spark`: the same with Structured Streaming, on a cluster of Spark with one executor.

The tables' names come from the file `tables.json`.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from paimon_spark import open_table
from paimon_spark.errors import CommitConflict, RowsNotVisible

BATCH = 3  # rows of a batch of `stream`
STREAMED = 100_000  # its keys begin here
CHANGED = 200_000  # those of `change` begin here
CHANGED_KEYS = 40
Row = tuple[int | str | None, ...]


def row_of(engine: str, n: int) -> Row:
    """What row n of a source writes, without the key; as the SQL of flink_tables."""
    text = f"x{n}"
    if engine == "aggregation":
        return n, 1, n, n, text if n % 2 else None
    if engine == "partial-update":
        return n if n % 3 == 0 else None, n if n % 3 == 1 else None, *((n, text) if n % 3 == 2 else (None, None))
    return n, text


def change_of(number: int) -> tuple[str, int, int]:
    """A statement of `change`, its key and its value."""
    return ("put", "put", "update", "delete")[number % 4], CHANGED + number * 7 // 3 % CHANGED_KEYS, number


def changed_rows(count: int) -> dict[int, Row]:
    """What so many statements leave."""
    rows: dict[int, Row] = {}
    for number in range(count):
        kind, key, value = change_of(number)
        if kind == "put":
            rows[key] = value, f"c{value}"
        elif kind == "delete":
            rows.pop(key, None)
        elif key in rows:
            rows[key] = rows[key][0], f"u{value}"
    return rows


class Work:
    """The tables of a folder, and what is done with them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tables: dict[str, dict[str, Any]] = json.loads((folder / "tables.json").read_text())

    def path(self, name: str) -> str:
        return str(self.folder / "d.db" / name)

    def stopped(self, name: str = "stop") -> bool:
        return (self.folder / name).exists()

    def keep(self) -> None:
        draw = random.Random()
        while not self.stopped():
            name = draw.choice([*self.tables])
            table = open_table(self.path(name))
            if self.tables[name]["compact"]:
                table.compact(full=draw.random() < 0.3)
            deed = draw.randrange(6)
            if deed == 0:
                table.expire_snapshots(
                    retain_max=3000, retain_min=20, older_than=datetime.now(UTC) - timedelta(minutes=5)
                )
            elif deed == 1:
                table.compact_manifest()
            elif deed == 2:
                self._tag(table, f"tag{draw.randrange(3)}")
            time.sleep(0.3)

    def _tag(self, table: Any, name: str) -> None:
        if name in table.system_table("tags", "tag_name").to_arrow()["tag_name"].to_pylist():
            table.delete_tag(name)
        elif table.snapshots.latest_id() is not None:  # the first job may not have committed yet
            table.create_tag(name)

    def stream(self) -> None:
        while not self.stopped():
            for name, made in self.tables.items():
                if made["streamed"]:
                    self._stream_one(name, made)
            time.sleep(0.4)

    def _stream_one(self, name: str, made: dict[str, Any]) -> None:
        table = open_table(self.path(name))
        done = table.stream_progress("ours").position or 0
        rows = []
        for n in range(done * BATCH, (done + 1) * BATCH):
            values = row_of(made["engine"], n)
            rows.append(
                dict(zip(made["columns"], (STREAMED + made["keys"][n % len(made["keys"])], *values), strict=True))
            )
        table.write_stream([(done + 1, rows)], "ours", {"write-only": "true"})

    def change(self) -> None:
        name = next(name for name, made in self.tables.items() if made["changed"])
        journal = self.folder / "journal"
        number = int(journal.read_text()) if journal.exists() else 0
        while not self.stopped():
            try:
                self._change_one(self.path(name), number)
            except RowsNotVisible:
                pass  # they are written
            except CommitConflict:
                continue
            number += 1
            _replace(journal, str(number))
            time.sleep(0.3)

    def _change_one(self, path: str, number: int) -> None:
        table = open_table(path, {"write-only": "false"})
        kind, key, value = change_of(number)
        if kind == "put":
            table.append({"k": [key], "v": [value], "s": [f"c{value}"]}, {"write-only": "true"})
        elif kind == "update":
            table.update(f"k = {key}", {"s": f"'u{value}'"})
        else:
            table.delete(f"k = {key}")

    def copy(self) -> None:
        (name,) = (name for name, made in self.tables.items() if made["copy"] == "copy")
        while not self.stopped("copies-stop"):
            source = open_table(self.path(name)).stream(row_kinds=True)
            open_table(self.path(f"{name}_copy")).write_stream(source, "copy")
            time.sleep(0.5)
        open_table(self.path(f"{name}_copy")).write_stream(open_table(self.path(name)).stream(row_kinds=True), "copy")

    def spark(self) -> None:
        from pyspark.sql import SparkSession

        from paimon_spark.spark.source.source import PaimonDataSource

        (name,) = (name for name, made in self.tables.items() if made["copy"] == "spark")
        builder = SparkSession.builder.master("local-cluster[1,1,1024]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.ui.showConsoleProgress", "false")
        builder = builder.config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"])
        builder = builder.config("spark.task.maxFailures", "20").config("spark.sql.shuffle.partitions", "1")
        spark = builder.config("spark.driver.memory", "700m").getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        spark.dataSource.register(PaimonDataSource)
        changes = spark.readStream.format("paimon").option("row-kinds", "true").load(self.path(name))
        writer = changes.writeStream.format("paimon").option("row-kind-column", "_row_kind")
        writer = writer.option("checkpointLocation", str(self.folder / "spark-checkpoint")).option("write-only", "true")
        query = writer.trigger(processingTime="1 second").start(self.path(f"{name}_copy"))
        while not self.stopped("copies-stop"):
            if query.awaitTermination(1):
                return
        query.processAllAvailable()
        query.stop()
        spark.stop()


def _replace(path: Path, text: str) -> None:
    """Writes a file as a whole."""
    made = path.with_suffix(".new")
    made.write_text(text)
    made.replace(path)


def main(kind: str, folder: str) -> None:
    work: Callable[[], None] = getattr(Work(Path(folder)), kind)
    work()


if __name__ == "__main__":
    main(*sys.argv[1:])
