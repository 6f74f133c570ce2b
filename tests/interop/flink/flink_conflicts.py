"""A job of Flink that writes one table, and what we do to the table meanwhile: each cell of the table of conflicts of
the page on Flink.

Row n of the source becomes the key n * 7 % 200 with the value n, so the first 200 rows have all keys, and whatever
removes rows of the job is followed by newer ones. Keys from 500 on are ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.thread import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from flink_session import FlinkSession

from paimon_spark import open_table

Rows = dict[int, int]

KEYS = 200
ROWS = 2_000
RATE = 400  # rows a second
OURS = 500  # keys from here on are ours
LONGEST_SECONDS = 90.0
CONFLICT = "File deletion conflicts detected"
RESTARTS = {"type": "fixed-delay", "fixed-delay.delay": "300 ms", "fixed-delay.attempts": "100"}


def model(rows: int = ROWS) -> Rows:
    """What the job alone makes of the first rows of its source."""
    return {n * 7 % KEYS: n for n in range(rows)}


def until(condition: Callable[[], bool], what: str) -> None:
    """Waits until something is so.

    Raises:
        AssertionError: it is not, for very long.
    """
    end = time.monotonic() + LONGEST_SECONDS
    while not condition():
        assert time.monotonic() < end, f"it never came that {what}"
        time.sleep(0.1)


class Job:
    """A table, and a job of Flink that writes it."""

    def __init__(self, flink: FlinkSession, warehouse: Path, name: str, options: dict[str, str]) -> None:
        self.flink, self.name = flink, name
        self.path = str(warehouse / "d.db" / name)
        self.number = 0
        with_options = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        flink.sql(f"CREATE TABLE d.{name} (k BIGINT, v BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ({with_options})")

    def stop(self, folder: Path) -> str:
        """Stops it with a savepoint; where that is."""
        return self.flink.stop(self.name, str(folder))

    def start(self, rows: int = ROWS, restarts: bool = False, key: str = f"MOD(n * 7, {KEYS})") -> None:
        """Starts the job, and waits for two commits, or its end.

        Args:
            rows: how many it writes before it ends.
            restarts: whether it begins again when it fails.
            key: the SQL of the key.
        """
        restart = RESTARTS if restarts else {"type": "none"}
        for setting, value in restart.items():
            self.flink.set(f"restart-strategy.{setting}", value)
        self.flink.define(
            f"CREATE TEMPORARY TABLE IF NOT EXISTS source_{self.name} (n BIGINT) WITH ('connector' = 'datagen', "
            f"'fields.n.kind' = 'sequence', 'fields.n.start' = '0', 'fields.n.end' = '{rows - 1}', "
            f"'rows-per-second' = '{RATE}')"
        )
        self.flink.start(self.name, f"INSERT INTO d.{self.name} SELECT {key}, n FROM source_{self.name}")
        self.flink.set("restart-strategy.type", "none")
        self.wait_for_commits(2)

    @property
    def end(self) -> str:
        """How it ended: "done", or why it failed; empty while it runs."""
        return self.flink.end_of(self.name)

    def open(self, **options: str) -> Any:
        return open_table(self.path, {key.replace("_", "-"): value for key, value in options.items()})

    def latest(self) -> int:
        snapshot = self.open().snapshots.latest()
        return 0 if snapshot is None else int(snapshot.id)

    def compactions_after(self, snapshot: int) -> int:
        rows = self.open().system_table("snapshots", "commit_kind", f"snapshot_id > {snapshot}").to_arrow()
        return int(rows["commit_kind"].to_pylist().count("COMPACT"))

    def wait_for_commits(self, count: int) -> None:
        """Waits for so many more snapshots, or the end of the job."""
        last = self.latest() + count
        until(lambda: self.latest() >= last or self.end != "", "the job commits")

    def finish(self) -> str:
        until(lambda: self.end != "", "the job ends")
        return self.end

    def while_it_runs(self, act: Callable[[Job], None]) -> str:
        """Acts twice for each commit of the job until it ends, and once in any case; how it ended."""
        end = time.monotonic() + LONGEST_SECONDS
        act(self)
        while not self.end:
            assert time.monotonic() < end, f"{self.name} does not end"
            time.sleep(0.4)
            act(self)
        return self.end

    def pairs(self, options: dict[str, str] | None = None) -> list[tuple[int, int]]:
        """Keys and values that we read."""
        rows = open_table(self.path, options).scan().to_arrow()
        return list(zip(*(rows.column(i).to_pylist() for i in (0, 1)), strict=True))

    def rows(self, snapshot: int | None = None) -> Rows:
        """What we read; no key may come twice."""
        found = self.pairs(None if snapshot is None else {"scan.snapshot-id": str(snapshot)})
        assert len(dict(found)) == len(found), f"{self.name}: keys twice"
        return dict(found)

    def added_after(self, snapshot: int) -> Rows:
        """The rows that were written after a snapshot, where no key is written twice."""
        between = {"incremental-between": f"{snapshot},{self.latest()}", "incremental-between-scan-mode": "delta"}
        return dict(self.pairs(between))

    def rows_of_flink(self) -> Rows:
        found = [(int(str(row[0])), int(str(row[1]))) for _, row in self.flink.sql(f"SELECT * FROM d.{self.name}")]
        assert len(dict(found)) == len(found), f"{self.name}: Flink reads keys twice"
        return dict(found)

    def reads(self) -> None:
        """All that changes no row."""
        self.number += 1
        table = self.open()
        table.scan().to_arrow()
        table.stream(options={"scan.mode": "latest-full"}).poll()
        table.create_tag(f"tag{self.number}")
        table.create_branch(f"branch{self.number}", tag=f"tag{self.number}")
        table.expire_snapshots(retain_max=3, retain_min=1, older_than="2999-01-01 00:00:00")
        table.compact_manifest()

    def writes(self, write_only: str) -> list[Any]:
        """Rows of ours: one appended, one changed, one deleted; what each call returned."""
        self.number += 1
        done = []
        for deed in (
            lambda t: t.append({"k": [OURS, OURS + 1, OURS + 2], "v": [self.number] * 3}),
            lambda t: t.update(f"k = {OURS + 1}", {"v": f"{-self.number}"}),
            lambda t: t.delete(f"k = {OURS + 2}"),
        ):
            done.append(deed(self.open(write_only=write_only)))
        return done

    def our_rows(self) -> Rows:
        return {OURS: self.number, OURS + 1: -self.number} if self.number else {}


class Waiting(ThreadPoolExecutor):
    """Runs tasks of a compaction, and keeps back what they made until the job has compacted too."""

    def __init__(self, job: Job) -> None:
        super().__init__(1)
        self._job = job

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        def work() -> Any:
            made, last = fn(*args, **kwargs), self._job.latest()
            until(lambda: self._job.compactions_after(last) > 0 or self._job.end != "", "the job compacts")
            return made

        return super().submit(work)
