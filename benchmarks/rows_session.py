"""Rows changed in place in one Spark session: seconds of each statement. Prints lines of JSON.

``python rows_session.py paimon|jvm WAREHOUSE SCALE [JAR]``. `paimon` is this package, `jvm` the connector in JAR; both
run the same SQL over equal tables of the database `rows`. `paimon` also prints what plain Parquet takes for the same
files, and the peaks of memory. It imports this package for `paimon` only, so that a Python with another PySpark can run
it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from connector import with_connector
from pyspark.sql import DataFrame, SparkSession

KEYED, APPENDED, FILES = 5_000_000, 10_000_000, 40
COLUMNS = "id bigint not null, a bigint, b string, v double"
MERGE = (
    "merge into {table} t using {source} s on t.id = s.id when matched then update set v = s.v + t.v "
    "when not matched then insert *"
)


def rows(spark: SparkSession, first: int, count: int, step: int = 1) -> DataFrame:
    return spark.range(first, first + count * step, step).selectExpr(
        "id", "id * 7 % 1000003 a", "concat('text-', id % 5000) b", "id / 3.0 v"
    )


def session(jar: str | None, warehouse: str, storage: Mapping[str, str] = MappingProxyType({})) -> SparkSession:
    """A session of this process.

    Args:
        jar: the connector and what it needs, with commas between; None: plain Spark.
        warehouse: of the catalog `paimon` of the connector; a local path or a URI.
        storage: options of that catalog.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.sql.session.timeZone", "UTC")
    if jar is not None:
        builder = with_connector(builder, jar, warehouse, storage)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def sources(spark: SparkSession, scale: float) -> dict[str, str]:
    """Views with the rows to merge, and how a statement names them; they are computed and cached before."""
    few, many = max(int(10_000 * scale), 1), max(int(1_000_000 * scale), 4)
    file = int(APPENDED * scale) // FILES
    made = {
        "few_keys": rows(spark, 7, few, 491),  # all over the keys, some behind the last one
        "many_keys": rows(spark, 3, many, 5),
        "few_in_2_files": rows(spark, 5 * file + file // 2, few, max(file // few, 1)),
        "many_in_4_files": rows(spark, 9 * file, many),
    }
    for name, frame in made.items():
        frame.cache().count()
        frame.createOrReplaceTempView(name)
    return {name: name for name in made}


def statements(keyed: str, appended: str, parts: str) -> dict[str, str]:
    """The statements by what they do, with semicolons between; each runs once, for each changes the table."""
    more = (f"delete from {keyed} where id % 100 = {number}" for number in range(11, 15))
    return {
        "one row written into the key table": f"insert into {keyed} values (-1, 1, 'x', 1.0)",
        "one row written again": f"insert into {keyed} values (-2, 1, 'x', 1.0)",
        "one key deleted": f"delete from {keyed} where id = 123456",
        "one key deleted again": f"delete from {keyed} where id = 1234567",
        "merge of few rows into the key table": MERGE.format(table=keyed, source="few_keys"),
        "merge of many rows into the key table": MERGE.format(table=keyed, source="many_keys"),
        "1 % of the key table deleted": f"delete from {keyed} where id % 100 = 7",
        "1 % of the key table deleted four times again, with a compaction": ";".join(more),
        "merge of few rows into 2 of 40 files": MERGE.format(table=appended, source="few_in_2_files"),
        "merge of many rows into 4 of 40 files": MERGE.format(table=appended, source="many_in_4_files"),
        "one row of the append table deleted": f"delete from {appended} where id = 123456",
        "1 % of the append table deleted": f"delete from {appended} where id % 100 = 7",
        "a partition deleted": f"delete from {parts} where p = 3",
    }


def floor(spark: SparkSession, files: str, out: str) -> None:
    """Two of the files read and written, and the column `id` of the others read."""
    names = sorted(str(path) for path in Path(files).glob("*.parquet"))
    spark.read.parquet(*names[2:]).select("id").write.format("noop").mode("overwrite").save()
    spark.read.parquet(*names[:2]).write.mode("overwrite").parquet(out)


def peaks() -> dict[str, int]:
    """The highest resident memory so far in MB: of this process, of its JVM, and of the largest Python worker."""
    found = {"driver": 0, "jvm": 0, "worker": 0}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            command = status.with_name("cmdline").read_bytes().replace(b"\0", b" ").decode()
            kilobytes = next(int(line.split()[1]) for line in status.read_text().splitlines() if "VmHWM" in line)
        except (OSError, StopIteration):
            continue
        kind = "worker" if "pyspark.daemon" in command else "jvm" if "SparkSubmit" in command else None
        if status.parent.name == str(os.getpid()):
            kind = "driver"
        if kind:
            found[kind] = max(found[kind], kilobytes // 1024)
    return found


def main(kind: str, warehouse: str, scale: str, jar: str | None = None) -> None:
    spark = session(jar, warehouse)
    sources(spark, float(scale))
    run: Callable[[str], DataFrame] = spark.sql
    if kind == "paimon":
        import paimon_spark

        run = paimon_spark.catalog(spark, warehouse).sql
    for what, text in statements("paimon.rows.keyed", "paimon.rows.appended", "paimon.rows.parts").items():
        began = time.perf_counter()
        for each in text.split(";"):
            run(each).collect()
        print(json.dumps({"what": what, "seconds": time.perf_counter() - began}), flush=True)
    for table in ("keyed", "appended", "parts"):
        # A sum of doubles would depend on the order of the rows.
        checked = "count(*), sum(xxhash64(id, a, b, v) % 1000000007)"
        (found,) = run(f"select {checked} from paimon.rows.{table}").collect()
        print(json.dumps({"table": table, "rows": repr(tuple(found))}), flush=True)
    if kind == "paimon":
        began = time.perf_counter()
        floor(spark, f"{warehouse}/untouched", f"{warehouse}/copied")
        print(json.dumps({"what": "floor", "seconds": time.perf_counter() - began}), flush=True)
    print(json.dumps({"peaks": peaks()}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
