"""Runs the 22 texts of TPC-H and the 99 of TPC-DS by cat.sql and by plain Spark, over equal rows, and compares.

    python tests/release/tpc_texts.py [folder of the downloads [tpc-h | tpc-ds]]

The rows are those of sqlglot's tests. Sums of floating point numbers depend on the order of their rows, so numbers are
compared to ten digits.
"""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from pyspark.sql import SparkSession
from support.oracles.equal_results import compare
from support.programs.tpc_texts import fetch, texts

import paimon_spark


def main(folder: Path, names: Sequence[str]) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[2])
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.ansi.enabled", "false")  # texts of TPC-DS compare numbers with texts
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    fixtures = fetch(folder)
    failures = 0
    with tempfile.TemporaryDirectory() as warehouse:
        cat = paimon_spark.catalog(spark, warehouse)
        for name in names:
            plain = spark.newSession()
            database = name.replace("-", "_")
            cat.create_database(database)
            cat.use(database)
            for path in sorted((fixtures / name).glob("*.csv.gz")):
                table = path.name.removesuffix(".csv.gz")
                separator = "|" if name == "tpc-ds" or "|" in first_line(path) else ","
                rows = plain.read.csv(str(path), header=True, inferSchema=True, sep=separator)
                rows.write.parquet(f"{warehouse}/{name}/{table}.parquet")
                plain.read.parquet(f"{warehouse}/{name}/{table}.parquet").createOrReplaceTempView(table)
                cat.sql(f"CREATE TABLE {table} AS SELECT * FROM parquet.`{warehouse}/{name}/{table}.parquet`")
            for number, text in enumerate(texts(fixtures, name), 1):
                began = time.monotonic()
                is_same, said = compare(plain.sql, cat.sql, text)
                failures += not is_same
                print(f"{name} {number}: {said} ({time.monotonic() - began:.1f} s)", flush=True)
    print("not the same:", failures)
    spark.stop()


def first_line(path: Path) -> str:
    with gzip.open(path, "rt") as file:
        return file.readline()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("build/tpc"), sys.argv[2:] or ("tpc-h", "tpc-ds"))
