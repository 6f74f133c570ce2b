"""Tables that a job of Flink upserts, on a cluster, while five processes of ours work on them, and all of these
processes are killed at random: what is in the tables in the end is what a model says."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from flink_cluster import FlinkCluster
from flink_kill_work import BATCH, STREAMED, changed_rows
from flink_session import FlinkError, FlinkSession, flink_session
from flink_tables import ENGINES, KEYS, FlinkTable, State, key_of
from support.oracles.checker import check_table

from paimon_spark import create_table, open_table

RATE = 150  # rows a second, of each table
LONGEST_SECONDS = 600.0
COPIES = ("copy", "spark")
WORKERS = ("keep", "stream", "change", *COPIES)
TASK_MANAGERS = 3
COMPACTED = {"num-sorted-run.compaction-trigger": "3", "snapshot.time-retained": "10 min"}
# name -> merge engine, options, who copies its changes. The writer of Flink compacts what is not write-only.
TABLES = {
    "kept": ("deduplicate", {"bucket": "2", "changelog-producer": "lookup", "write-only": "true"}, "copy"),
    "own": ("aggregation", {"bucket": "2", "changelog-producer": "lookup"}, "spark"),
    "vectors": ("partial-update", {"bucket": "2", "deletion-vectors.enabled": "true", "write-only": "true"}, ""),
    "late": ("deduplicate", {"bucket": "-2"}, ""),
}
SESSION = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.delay": "300 ms",
    "restart-strategy.fixed-delay.attempts": "1000000",
}


class Worker:
    """One process of ours; a program of Spark has others below it."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self.log = folder / f"{kind}.log"
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("flink_kill_work.py")), self.kind, str(self.folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kills it with what it has started, and starts it again."""
        below = _below(self.process.pid)
        for pid in (self.process.pid, *below):
            _kill(pid)
        self.process.wait()
        self.start()

    def kill_executor(self) -> bool:
        """Kills an executor of Spark; False: it has none now."""
        found = [pid for pid in _below(self.process.pid) if "CoarseGrainedExecutorBackend" in _command(pid)]
        for pid in found:
            _kill(pid)
        return bool(found)

    def failure(self) -> str:
        """How it ended by itself; empty: it did not."""
        if self.process.poll() is None:
            return ""
        return f"{self.kind} ended with {self.process.returncode}: {self.log.read_text()[-6000:]}"


class Kills:
    """The tables, the cluster with the job, our processes, and who is killed."""

    def __init__(self, seed: int, folder: Path, minutes: float) -> None:
        self.draw, self.folder, self.minutes = random.Random(seed), folder, minutes
        self.rows = int(RATE * 60 * minutes * 0.7)
        self.counts: Counter[str] = Counter()
        engines = {engine.name: engine for engine in ENGINES}
        self.tables = {
            name: FlinkTable(name, engines[engine], {**engines[engine].options, **options, **COMPACTED})
            for name, (engine, options, _) in TABLES.items()
        }

    def run(self) -> Counter[str]:
        """Returns: how many rows, commits, and kills of which process."""
        cluster = FlinkCluster(self.folder / "cluster", TASK_MANAGERS)
        workers: list[Worker] = []
        try:
            log, settings = self.folder / "flink.log", {**cluster.settings, **SESSION}
            with flink_session(f"linked:{self.folder}", log, settings, cluster.classes) as flink:
                self._create(flink)
                self._start_job(flink)
                workers = [Worker(kind, self.folder) for kind in WORKERS]
                self._kill_at_random(flink, cluster, {worker.kind: worker for worker in workers})
                self._wait_for_the_end(flink, cluster, workers)
                self._compare(flink)
        finally:
            for worker in workers:
                for pid in (worker.process.pid, *_below(worker.process.pid)):
                    _kill(pid)
                worker.process.wait()
            cluster.close()
        return self.counts

    def _create(self, flink: FlinkSession) -> None:
        flink.sql("CREATE DATABASE d")
        told = {}
        for name, table in self.tables.items():
            flink.sql(table.ddl())
            copy = TABLES[name][2]
            told[name] = {
                "engine": table.engine.name,
                "columns": ["k", *table.engine.columns],
                "keys": [key_of(n) for n in range(KEYS)],
                "compact": not table.compacts,
                "streamed": True,
                "changed": name == "kept",
                "copy": copy,
            }
            if copy:
                columns = {"k": "INT", **table.engine.columns}
                path = str(self.folder / "d.db" / f"{name}_copy")
                create_table(path, columns, primary_keys="k", options={"bucket": "1"})
        (self.folder / "tables.json").write_text(json.dumps(told))
        flink.define(
            f"CREATE TEMPORARY TABLE source (n BIGINT) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', "
            f"'fields.n.start' = '0', 'fields.n.end' = '{self.rows - 1}', 'rows-per-second' = '{RATE}')"
        )

    def _start_job(self, flink: FlinkSession) -> None:
        """Starts the job; a cluster that has just begun may refuse it for a while."""
        inserts = "; ".join(table.insert("source") for table in self.tables.values())
        end = time.monotonic() + 60
        while True:
            try:
                flink.start("writer", f"EXECUTE STATEMENT SET BEGIN {inserts}; END")
                return
            except FlinkError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)

    def _kill_at_random(self, flink: FlinkSession, cluster: FlinkCluster, workers: dict[str, Worker]) -> None:
        end = time.monotonic() + 60 * self.minutes
        while time.monotonic() < end and flink.end_of("writer") != "done":
            pause = time.monotonic() + self.draw.uniform(1, 15)
            while time.monotonic() < pause:
                self._no_failure(cluster, [*workers.values()])
                time.sleep(0.2)
            whom = self.draw.choices(["task manager", "job manager", "executor", *WORKERS], [6, 1, 2, 3, 3, 3, 3, 1])[0]
            if whom == "task manager":
                cluster.kill_task_manager(self.draw.randrange(TASK_MANAGERS))
            elif whom == "job manager":
                self._kill_job_manager(flink, cluster)
            elif whom == "executor":
                whom = whom if workers["spark"].kill_executor() else "no executor"
            else:
                workers[whom].kill()
            self.counts[f"killed: {whom}"] += 1

    def _kill_job_manager(self, flink: FlinkSession, cluster: FlinkCluster) -> None:
        """The job goes on from its newest checkpoint, as after `flink run --fromSavepoint`."""
        if flink.end_of("writer"):
            return
        cluster.kill_job_manager()
        with flink.resuming(cluster.newest_checkpoint()):
            self._start_job(flink)

    def _wait_for_the_end(self, flink: FlinkSession, cluster: FlinkCluster, workers: list[Worker]) -> None:
        end = time.monotonic() + LONGEST_SECONDS
        while not (state := flink.end_of("writer")):
            assert time.monotonic() < end, "the job does not end"
            self._no_failure(cluster, workers)
            time.sleep(0.5)
        assert state == "done", state
        copies = [worker for worker in workers if worker.kind in COPIES]
        self._stop("stop", [worker for worker in workers if worker not in copies])
        for name in self.tables:  # what was written last has no changelog before
            open_table(str(self.folder / "d.db" / name)).compact()
        self._stop("copies-stop", copies)

    def _stop(self, how: str, workers: list[Worker]) -> None:
        (self.folder / how).touch()
        for worker in workers:
            worker.process.wait(LONGEST_SECONDS)
            assert worker.process.returncode == 0, worker.failure()

    def _no_failure(self, cluster: FlinkCluster, workers: list[Worker]) -> None:
        told = [cluster.failure(), *(worker.failure() for worker in workers)]
        assert not any(told), "; ".join(text for text in told if text)

    def _compare(self, flink: FlinkSession) -> None:
        changed = changed_rows(int((self.folder / "journal").read_text()))
        self.counts["statements that change rows"] = int((self.folder / "journal").read_text())
        for name, table in self.tables.items():
            path = str(self.folder / "d.db" / name)
            opened = open_table(path)
            batches = opened.stream_progress("ours").batches
            expected = {**table.state(self.rows)}
            expected |= {STREAMED + key: row for key, row in table.state(batches * BATCH).items()}
            expected |= changed if name == "kept" else {}
            _equal(name, _state(path), expected)
            _equal(f"{name}, read by Flink", _state_of_flink(flink, table), expected)
            check_table(path)
            self.counts["commits"] += opened.snapshots.latest().id
            self.counts["rows"] += self.rows + batches * BATCH
            self.counts["batches of write_stream"] += batches
            if TABLES[name][2]:
                copy = f"{path}_copy"
                _equal(f"{name}_copy", _state(copy), expected)
                check_table(copy)
                self.counts["commits"] += open_table(copy).snapshots.latest().id


def _state(path: str) -> State:
    rows = open_table(path).scan().to_arrow()
    values = list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    assert len({row[0] for row in values}) == len(values), f"{path}: keys twice"
    return {row[0]: row[1:] for row in values}


def _state_of_flink(flink: FlinkSession, table: FlinkTable) -> State:
    types = ["INT", *table.engine.columns.values()]
    state: dict[int, Any] = {}
    for _, row in flink.sql(f"SELECT * FROM d.{table.name}"):
        key, *values = [v if v is None or t == "STRING" else int(v) for v, t in zip(row, types, strict=True)]
        assert isinstance(key, int)
        assert key not in state, f"{table.name}: key {key} twice"
        state[key] = tuple(values)
    return state


def _equal(what: str, read: State, expected: State) -> None:
    wrong = {k: (read.get(k), expected.get(k)) for k in {*read, *expected} if read.get(k) != expected.get(k)}
    assert not wrong, f"{what}: {len(wrong)} keys (read, expected): {dict(sorted(wrong.items())[:20])}"


def _below(pid: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue  # it has ended
        children.setdefault(parent, []).append(int(folder.name))
    found, open_ = [], [pid]
    while open_:
        more = children.get(open_.pop(), [])
        found += more
        open_ += more
    return found


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
