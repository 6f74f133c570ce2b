"""Tables on a cluster whose executors and drivers are killed: after every deed their rows are those of a model.

    python tests/release/cluster_faults.py executors [deeds] [seed]
    python tests/release/cluster_faults.py drivers [kills] [seed]

``executors`` does deeds of all kinds to tables of several kinds. During each an executor is killed with SIGKILL, or
stopped for longer than Spark waits for it, so that it goes on with tasks that others have done again. Speculation is
on. ``drivers`` kills the driver at any moment; the next one repeats its last deed under the same token. At the end the
checker finds each table good, and rows stay when the orphans of lost tasks are deleted.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

sys.path[:0] = [str(Path(__file__).parents[1])]

from support.cluster.standalone import Cluster, Killer, started  # noqa: E402
from support.oracles.checker import check_table  # noqa: E402

from paimon_spark import PaimonTable, create_table, open_table  # noqa: E402

KEYS = 199_999
"""A prime number, so that the keys of a batch differ."""
ROWS = 40_000
COLUMNS = {"k": "BIGINT", "p": "INT", "v": "BIGINT"}
VECTORS = {"deletion-vectors.enabled": "true"}
TABLES: Mapping[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "fixed": (("k", "p"), {"bucket": "2"}),
    "lookup": (("k", "p"), {"bucket": "2", "changelog-producer": "lookup"}),
    "vectors": (("k", "p"), {"bucket": "2", **VECTORS}),
    "dynamic": (("k", "p"), {"bucket": "-1"}),
    "crossing": (("k",), {"bucket": "-1"}),
    "append": ((), {}),
    "append with vectors": ((), VECTORS),
}
DEEDS = ("write", "write", "delete", "update", "merge", "overwrite", "compact", "stream")


@dataclass(frozen=True)
class Deed:
    """What is done, as number and seed decide."""

    number: int
    what: str
    table: str

    @classmethod
    def drawn(cls, seed: int, number: int) -> Deed:
        draw = random.Random(seed * 1_000_003 + number)
        table = draw.choice(list(TABLES))
        return cls(number, "write" if number < len(TABLES) else draw.choice(DEEDS), table)

    @property
    def keys(self) -> np.ndarray:
        return (np.arange(ROWS, dtype=np.int64) * 7 + self.number * 13) % KEYS

    @property
    def replaced(self) -> str | None:
        """The partition that an overwrite replaces; None: all, as keys over all partitions want it."""
        return None if self.table == "crossing" else f"p = {self.number % 3}"

    @property
    def rows(self) -> pd.DataFrame:
        part = self.keys % 3 if self.what != "overwrite" else np.full(ROWS, self.number % 3)
        value = self.number * 1_000_000 + np.arange(ROWS, dtype=np.int64)
        return pd.DataFrame({"k": self.keys, "p": part.astype(np.int32), "v": value})


def after(deed: Deed, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table after a deed, by pandas alone."""
    is_keyed = bool(TABLES[deed.table][0])
    match deed.what:
        case "write" | "stream":
            together = pd.concat([rows, deed.rows])
            return together.drop_duplicates(_found_by(deed.table), keep="last") if is_keyed else together
        case "delete":
            return rows[rows.k % 17 != deed.number % 17]
        case "update":
            return rows.assign(v=np.where(rows.k % 13 == deed.number % 13, rows.v + 1, rows.v))
        case "merge":
            source = deed.rows.set_index("k")
            known = rows.k.isin(source.index)
            values = np.where(known, rows.k.map(source.v).fillna(0), rows.v).astype(np.int64)
            new = deed.rows[~deed.rows.k.isin(rows.k)]
            return pd.concat([rows.assign(v=values), new])
        case "overwrite":
            return deed.rows if deed.replaced is None else pd.concat([rows[rows.p != deed.number % 3], deed.rows])
        case _:
            return rows


def _found_by(table: str) -> list[str]:
    return list(TABLES[table][0])


def do(spark: SparkSession, folder: Path, deed: Deed) -> None:
    """Does the deed by tasks of the cluster, under a token of its own."""
    table = PaimonTable.forPath(spark, str(folder / deed.table))
    once = ("life", deed.number)
    match deed.what:
        case "write":
            table.append(frame(spark, deed), once=once)
        case "delete":
            table.delete(f"k % 17 = {deed.number % 17}", once=once)
        case "update":
            table.update(f"k % 13 = {deed.number % 13}", {"v": "v + 1"}, once=once)
        case "merge":
            merge = table.merge(frame(spark, deed), "target.k = source.k", once=once)
            merge.whenMatchedUpdate(set={"v": "source.v"}).whenNotMatchedInsertAll().execute()
        case "overwrite":
            table.overwrite(frame(spark, deed), deed.replaced, once=once)
        case "compact":
            table.compact(full=True)
        case "stream":
            stream(spark, folder, deed, table)


def stream(spark: SparkSession, folder: Path, deed: Deed, table: PaimonTable) -> None:
    """The rows come by a stream from a table of their own, in several batches."""
    place, ready = folder / f"source {deed.number}", folder / f"source {deed.number} is ready"
    if not ready.exists():
        source = create_table(str(place), COLUMNS, ignore_if_exists=True)
        rows = pa.Table.from_pandas(deed.rows, preserve_index=False)
        for start in range(4):
            source.append(rows.slice(start * ROWS // 4, ROWS // 4), once=("source", start + 1))
        ready.touch()
    changes = PaimonTable.forPath(spark, str(place)).stream(options={"read.stream.maxFilesPerTrigger": "1"})
    each = table.write_stream(changes, checkpoint=str(folder / f"checkpoint {deed.number}"))
    each.trigger(availableNow=True).start().awaitTermination()


def frame(spark: SparkSession, deed: Deed) -> DataFrame:
    """The rows of a deed, as tasks of the cluster make them."""
    of = spark.range(0, ROWS, 1, 4)
    key = f"(id * 7 + {deed.number * 13}) % {KEYS}"
    part = f"{deed.number % 3}" if deed.what == "overwrite" else f"({key}) % 3"
    return of.selectExpr(f"{key} k", f"CAST({part} AS INT) p", f"{deed.number * 1_000_000} + id v")


def prepare(folder: Path) -> None:
    for name, (keys, options) in TABLES.items():
        create_table(str(folder / name), COLUMNS, keys, "p", options)


def compare(folder: Path, model: Mapping[str, pd.DataFrame], name: str) -> None:
    found = open_table(str(folder / name)).scan().to_pandas()
    for rows in (found, model[name]):
        rows.sort_values(list(COLUMNS), inplace=True)
        rows.reset_index(drop=True, inplace=True)
    pd.testing.assert_frame_equal(found, model[name], check_dtype=False, obj=f"the table {name}")


def finish(folder: Path, model: Mapping[str, pd.DataFrame]) -> int:
    """Checks all tables, deletes the orphans of lost tasks, and returns their number."""
    orphans = 0
    for name in TABLES:
        compare(folder, model, name)
        check_table(str(folder / name))
        table = open_table(str(folder / name))
        time.sleep(0.01)
        orphans += len(table.remove_orphan_files(older_than=int(time.time() * 1000) - 1, dry_run=False).paths)
        compare(folder, model, name)
        check_table(str(folder / name))
    return orphans


def kill_executors(cluster: Cluster, folder: Path, deeds: int, seed: int) -> None:
    prepare(folder)
    spark = cluster.session("executors")
    killer = Killer(spark.sparkContext.applicationId, random.Random(seed))
    model = {name: pd.DataFrame(columns=list(COLUMNS), dtype=np.int64) for name in TABLES}
    usual: dict[str, float] = {}
    counts: Counter[str] = Counter()
    for number in range(deeds):
        deed = Deed.drawn(seed, number)
        began = time.monotonic()
        pauses = number % 10 == 9
        struck = killer.during(usual.get(deed.what, 3.0), pauses) if number >= 3 else nullcontext()
        with struck:
            do(spark, folder, deed)
        seconds = time.monotonic() - began
        usual[deed.what] = min(seconds, usual.get(deed.what, seconds))
        model[deed.table] = after(deed, model[deed.table])
        compare(folder, model, deed.table)
        counts[deed.what] += 1
        print(
            f"{number} {deed.what} of {deed.table}: {seconds:.1f} s, {killer.killed} killed, {killer.paused} paused",
            flush=True,
        )
    killer.wait_for_paused()
    spark.stop()
    print(f"{dict(counts)}; {killer.killed} executors killed, {killer.paused} paused; {finish(folder, model)} orphans")


def kill_drivers(cluster: Cluster, folder: Path, kills: int, seed: int) -> None:
    prepare(folder)
    draw, done, killed = random.Random(seed), 0, 0
    progress = folder / "done"
    progress.write_text("0")
    while killed < kills:
        command = [sys.executable, __file__, "driver", cluster.master, str(folder), str(seed)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as driver:
            assert driver.stdout is not None
            driver.stdout.readline()  # the session is there
            time.sleep(draw.uniform(1, 25))  # the first deed takes some seconds
            if driver.poll() is not None:
                raise SystemExit(f"the driver ended by itself with {driver.returncode}")
            for pid in _group(driver.pid):
                _kill(pid)
        killed += 1
        done = int(progress.read_text())
        print(f"{killed} drivers killed, {done} deeds done", flush=True)
    deeds = done + 2
    subprocess.run([sys.executable, __file__, "driver", cluster.master, str(folder), str(seed), str(deeds)], check=True)
    model = {name: pd.DataFrame(columns=list(COLUMNS), dtype=np.int64) for name in TABLES}
    for number in range(deeds):
        deed = Deed.drawn(seed, number)
        model[deed.table] = after(deed, model[deed.table])
    print(f"{deeds} deeds, {killed} drivers killed; {finish(folder, model)} orphans")


def _group(leader: int) -> list[int]:
    """The processes of a driver: Python, its JVM, and the Python processes of that."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                session = int((entry / "stat").read_text().rpartition(")")[2].split()[3])
            except (OSError, ValueError, IndexError):
                continue
            if session == leader:
                found.append(int(entry.name))
    return sorted(found, reverse=True)


def _kill(pid: int) -> None:
    import os

    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def drive(master: str, folder: Path, seed: int, until: int) -> None:
    """A driver that goes on where the one before was killed."""
    spark = Cluster(master).session("driver")
    print("here", flush=True)
    progress = folder / "done"
    for number in range(int(progress.read_text()), until):
        do(spark, folder, Deed.drawn(seed, number))
        new = folder / "done.new"
        new.write_text(str(number + 1))
        new.rename(progress)
    spark.stop()


def main(what: str, *arguments: str) -> None:
    if what == "driver":
        master, place, seed, *until = arguments
        drive(master, Path(place), int(seed), int(until[0]) if until else 1_000_000)
        return
    count, seed = (*map(int, arguments), 200, 1)[:2] if len(arguments) < 2 else tuple(map(int, arguments))
    with tempfile.TemporaryDirectory() as name, started(Path(name)) as cluster:
        {"executors": kill_executors, "drivers": kill_drivers}[what](cluster, Path(name) / "tables", count, seed)


if __name__ == "__main__":
    main(*sys.argv[1:])
