"""Reads through ``PaimonTable.toDF``, where Spark reads itself what needs no merge, against its own Parquet source.

``PAIMON_JVM_PYTHON`` and ``PAIMON_JVM_JAR`` name a peer for the reads that must merge, as for the part `cold`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import tables
from bench_spark import noop, session
from measure import Results, fastest, has_peer
from pyspark.sql import DataFrame, SparkSession

from paimon_spark import PaimonTable, register_catalog
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import Split
from paimon_spark.tables.open import open_table

FILES = 1000
COLUMNS = ["id", "d1"]
KEY = 123_456


def live_files(table: Table) -> list[str]:
    splits = [split for split in open_table(table.location).scan().plan().splits if isinstance(split, Split)]
    return [f"{split.bucket_path}/{file.file_name}" for split in splits for file in split.files]


def compacted(spark: SparkSession, table: Table) -> Table:
    """A copy of the table, compacted; reused when it is there."""
    path = Path(f"{table.location}-compacted")
    done = path.with_suffix(".done")
    if not done.exists():
        shutil.copytree(table.location, path)
        PaimonTable.forPath(spark, str(path)).optimize().compact()
        done.touch()
    return open_table(str(path))


def table_of_files(root: Path, files: int) -> Table:
    """An append table of so many files of a few rows in one directory; reused when it is there."""
    base = tables.append_table(root, 100)
    path = root / f"append-of-{files}-files"
    done = path.with_suffix(".done")
    if not done.exists():
        shutil.copytree(base.location, path)
        table = open_table(str(path))
        (split,) = table.scan().plan().splits
        assert isinstance(split, Split)
        (file,) = split.raw_files
        more = tuple(file._replace(file_name=f"data-{number:036}-0.parquet") for number in range(1, files))
        for copy in more:
            shutil.copyfile(f"{split.bucket_path}/{file.file_name}", f"{split.bucket_path}/{copy.file_name}")
        TableCommit(table, "files").append([CommitMessage(split.partition, 0, -1, new_files=more)])
        done.touch()
    return open_table(str(path))


def full_reads(results: Results, spark: SparkSession, table: Table, what: str) -> None:
    """All columns and two, against Spark's own read of the same files."""
    ways = {"toDF": PaimonTable.forPath(spark, table.location).toDF(), "spark.table": named(spark, table)}
    plain = spark.read.parquet(*live_files(table)).select(*ways["toDF"].columns)
    calls = {}
    for way, frame in {"parquet": plain, **ways}.items():
        calls |= {way: partial(noop, frame), f"{way} 2": partial(noop, frame.select(*COLUMNS))}
    best = fastest(calls, 7)
    note = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in best.items())
    for way in ways:
        whole, two = best[way] / best["parquet"], best[f"{way} 2"] / best["parquet 2"]
        results.lower(f"{way}, {what}, all columns: time / spark.read.parquet", whole, "x", 1.1, note)
        results.lower(f"{way}, {what}, 2 columns: time / spark.read.parquet", two, "x", 1.1)


def named(spark: SparkSession, table: Table) -> DataFrame:
    """A table of the warehouse by its name in the catalog that Spark knows."""
    path = Path(table.location)
    register_catalog(spark, "lake", str(path.parents[1]))
    return spark.table(f"lake.{path.parent.stem}.`{path.name}`")


def narrow_reads(results: Results, spark: SparkSession, merged: Table, plain: Table) -> None:
    """One key, two columns and a count of a table that must be merged, against the data source; a count of files."""
    table, append = PaimonTable.forPath(spark, merged.location), PaimonTable.forPath(spark, plain.location)

    def loaded() -> DataFrame:
        return spark.read.format("paimon").load(merged.location)

    best = fastest(
        {
            "key": lambda: table.toDF(where=f"id = {KEY}").collect(),
            "key, load": lambda: loaded().where(f"id = {KEY}").collect(),
            "columns": lambda: noop(table.toDF(columns=COLUMNS)),
            "columns, load": lambda: noop(loaded().select(*COLUMNS)),
            "count": lambda: append.toDF(columns=()).count(),
            "count, load": lambda: spark.read.format("paimon").load(plain.location).count(),
        },
        3,
    )
    for name, goal in {"key": 10, "columns": 1.5, "count": 5}.items():
        ours, theirs = best[name], best[f"{name}, load"]
        what = {"key": "row by its key", "columns": "2 of 12 columns, merged", "count": "count(*) of an append table"}
        note = f"{ours:.3f} s, load {theirs:.3f} s"
        results.higher(f"toDF, {what[name]}: speed / load", theirs / ours, "x", goal, note)


def planning(results: Results, spark: SparkSession, table: Table) -> None:
    """What a DataFrame of a thousand files costs to make, over that of Spark for their directory."""
    directory = Path(live_files(table)[0]).parent
    schema = PaimonTable.forPath(spark, table.location).toDF().schema
    paimon = PaimonTable.forPath(spark, table.location)
    best = fastest(
        {"ours": paimon.toDF, "parquet": lambda: spark.read.schema(schema).parquet(str(directory))},
        9,
    )
    note = f"toDF {best['ours'] * 1000:.0f} ms, spark.read.parquet of the directory {best['parquet'] * 1000:.0f} ms"
    over = (best["ours"] - best["parquet"]) * 1000
    results.lower(f"planning of {FILES:,} files: toDF over spark.read.parquet", over, "ms", 100, note)


def beside_jvm(results: Results, root: Path, merged: Table) -> None:
    """The same SQL over the table that must be merged, here and by the JVM connector, each in a session of its own."""
    best: dict[str, dict[str, float]] = {}
    for kind in ("cat.sql", "spark.sql", "jvm"):
        jvm = kind == "jvm"
        command = [os.environ["PAIMON_JVM_PYTHON"] if jvm else sys.executable]
        command += [str(Path(__file__).with_name("merged_session.py")), kind, str(root), Path(merged.location).name]
        command += [os.environ["PAIMON_JVM_JAR"]] if jvm else []
        env = {key: value for key, value in os.environ.items() if not jvm or key != "PYTHONPATH"}
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True, check=True
        )
        best[kind] = json.loads(done.stdout.splitlines()[-1])
    goals = {"2 columns": 0.8, "all columns": 0.7, "sum by groups": 0.6}
    for way in ("cat.sql", "spark.sql"):
        for what, theirs in best["jvm"].items():
            ours = best[way][what]
            note, goal = f"{ours:.2f} s, JVM {theirs:.2f} s", goals.get(what, 1.0)
            results.lower(f"{way}, {what} of a table that is not compacted: time / JVM", ours / theirs, "x", goal, note)


def run(results: Results, root: Path, scale: float) -> None:
    spark, database = session(), root / "bench.db"
    count, upserts = int(5e6 * scale), int(2e5 * scale)
    merged = tables.primary_key_table(database, "int64 dense", count, upserts, 8)
    plain = tables.append_table(database, count)
    planning(results, spark, table_of_files(database, FILES))
    full_reads(results, spark, plain, "append table")
    full_reads(results, spark, compacted(spark, merged), "compacted key table")
    narrow_reads(results, spark, merged, plain)
    spark.stop()
    if has_peer("native"):
        beside_jvm(results, root, merged)
