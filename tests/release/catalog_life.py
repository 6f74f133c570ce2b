"""How a catalog of Spark lives long: threads that use it at once, sessions that come and go, queries without end.

    python tests/release/catalog_life.py threads [queries of each of 8 threads]
    python tests/release/catalog_life.py sessions [sessions]
    python tests/release/catalog_life.py queries [queries]
    python tests/release/catalog_life.py contexts [starts and stops of Spark]

Each prints, from time to time, what both processes hold after their collections: the memory of Python, the heap of the
JVM, the sessions there, the objects of Python that the JVM holds, and those of the JVM that Python holds. It fails if
an answer is wrong, if a thread does not end, or if the last lines have more of anything than the first ones.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import paimon_spark

SESSION = "org.apache.spark.sql.classic.SparkSession"
SECONDS_OF_THREADS = 65
"""A thread of Spark's pools holds the session in which it was made, and ends after 60 idle seconds (ThreadUtils)."""
SLACK = {"python_mib": 40, "heap_mib": 15, "sessions": 5, "of_python": 60, "of_jvm": 300}
"""By how much the last line may be above the one in the middle."""


@dataclass(frozen=True)
class Held:
    """What the processes hold.

    Attributes:
        python_mib: the memory of this process that is no file's.
        heap_mib: the heap of the JVM that is in use.
        sessions: sessions of Spark in the JVM.
        of_python: objects of this process that the JVM holds.
        of_jvm: objects of the JVM that this process holds.
    """

    python_mib: int
    heap_mib: int
    sessions: int
    of_python: int
    of_jvm: int


def started() -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for key, value in {
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.codegen.wholeStage": "false",  # compiled classes would fill the heap up to a limit of Spark's
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.ui.retainedExecutions": "1",
        "spark.ui.retainedJobs": "1",
        "spark.ui.retainedStages": "1",
        "spark.ui.retainedTasks": "1",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def filled(spark: SparkSession, warehouse: str) -> None:
    """Registers the catalog, with a table that needs merging, one that does not, and one whose rows tasks read."""
    paimon_spark.register_catalog(spark, "paimon", warehouse)
    spark.sql("CREATE DATABASE IF NOT EXISTS paimon.d")
    spark.sql("CREATE TABLE paimon.d.k (id INT, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    spark.sql("CREATE TABLE paimon.d.a (id INT, v STRING)")
    for table in "ka":
        spark.sql(f"INSERT INTO paimon.d.{table} SELECT CAST(id AS INT), CAST(id AS STRING) FROM range(100)")
    spark.sql("INSERT INTO paimon.d.k SELECT CAST(id AS INT), 'n' FROM range(10)")


QUERIES = (
    ("SELECT v FROM paimon.d.k WHERE id = 7", "n"),
    ("SELECT count(*) FROM paimon.d.a", 100),
    ("SELECT count(v) FROM paimon.d.k WHERE v = 'n'", 10),
    ("SELECT max(a.v) FROM paimon.d.a a JOIN paimon.d.k k ON a.id = k.id WHERE k.id < 10", "9"),
    ("SELECT max(level) FROM paimon.d.`a$files`", 0),
)
BY_TASKS = ("SELECT sum(id) FROM paimon.d.k WITH (`read.local` = 'false', `read.native` = 'false')", 4950)


def ask(spark: SparkSession, number: int) -> None:
    """The query of a number; each 50th is read by tasks."""
    text, expected = BY_TASKS if number % 50 == 49 else QUERIES[number % len(QUERIES)]
    found = spark.sql(text).collect()[0][0]
    assert found == expected, f"{text}: {found}"


def held(spark: SparkSession) -> Held:
    """What is held after some collections of both: what one side lets go, the other may collect next."""
    context: Any = spark.sparkContext
    gateway, jvm = context._gateway, context._jvm
    for _ in range(4):
        gc.collect()
        jvm.java.lang.System.gc()
        jvm.java.lang.System.runFinalization()
        time.sleep(0.2)  # Py4J tells Python in a thread of its own
    management = jvm.java.lang.management.ManagementFactory
    return Held(
        python_mib=_memory_of_python(),
        heap_mib=management.getMemoryMXBean().getHeapMemoryUsage().getUsed() >> 20,
        sessions=_instances(jvm, SESSION),
        of_python=len(gateway.gateway_property.pool.dict),
        of_jvm=gateway.java_gateway_server.getGateway().getBindings().size(),
    )


def _memory_of_python() -> int:
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    (kib,) = (int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))
    return kib >> 10


def _instances(jvm: Any, name: str) -> int:
    """How many objects of a class the JVM has."""
    process = str(jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getPid())
    told = subprocess.run(["jcmd", process, "GC.class_histogram"], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in told.splitlines()]
    return sum(int(row[1]) for row in rows if len(row) > 3 and row[3] == name)


class Watch:
    """Prints what is held, and says at the end if it grew."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._lines: list[Held] = []
        print("done  seconds  python_mib  heap_mib  sessions  of_python  of_jvm", flush=True)

    def note(self, spark: SparkSession, done: int) -> None:
        found = held(spark)
        self._lines.append(found)
        cells = zip(astuple(found), ("python_mib", "heap_mib", "sessions", "of_python", "of_jvm"), strict=True)
        shown = "  ".join(f"{value:>{len(name)}}" for value, name in cells)
        print(f"{done:>4}  {time.monotonic() - self._start:>7.0f}  {shown}", flush=True)

    def check(self) -> None:
        middle, last = self._lines[len(self._lines) // 2], self._lines[-1]
        grown = {
            name: (getattr(middle, name), getattr(last, name))
            for name, most in SLACK.items()
            if getattr(last, name) > getattr(middle, name) + most
        }
        assert not grown, f"what is held has grown: {grown}"


def threads(count: int) -> None:
    """8 threads, half of them in sessions of their own, each with so many queries and a write now and then."""
    spark, watch = started(), Watch()
    with tempfile.TemporaryDirectory() as warehouse:
        filled(spark, warehouse)
        watch.note(spark, 0)
        wrong: list[BaseException] = []

        def work(thread: int) -> None:
            session = spark if thread % 2 else spark.newSession()
            try:
                session.sql(f"CREATE TABLE paimon.d.t{thread} (id INT)")
                for number in range(count):
                    if number % 20 == 10:
                        session.sql(f"INSERT INTO paimon.d.t{thread} VALUES ({number})")
                    ask(session, number + thread)
                rows = session.sql(f"SELECT count(*) FROM paimon.d.t{thread}").collect()[0][0]
                assert rows == len(range(10, count, 20)), rows
            except BaseException as error:
                wrong.append(error)

        for part in range(2):
            workers = [threading.Thread(target=work, args=(8 * part + n,), daemon=True) for n in range(8)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join(1200)
                assert not worker.is_alive(), "a thread does not end"
            assert not wrong, wrong
            watch.note(spark, 8 * count * (part + 1))
            watch.note(spark, 8 * count * (part + 1))
    watch.check()
    spark.stop()


def sessions(count: int) -> None:
    """Sessions that are made, used and dropped; each also has a view of a table and a current database of its own."""

    def use(spark: SparkSession, number: int) -> None:
        session = spark.newSession()
        session.sql("USE paimon.d")
        session.table("k").createOrReplaceTempView("view")
        assert session.sql("SELECT count(*) FROM view").collect()[0][0] == 100
        ask(session, number)

    repeated(count, use, notes=4, idle=SECONDS_OF_THREADS)


def queries(count: int) -> None:
    """Queries in one session."""
    repeated(count, ask)


def repeated(count: int, use: Callable[[SparkSession, int], None], notes: int = 10, idle: float = 0) -> None:
    """Does the same many times, and notes what is held, each time after so many seconds in which nothing is done."""
    spark, watch = started(), Watch()
    with tempfile.TemporaryDirectory() as warehouse:
        filled(spark, warehouse)
        for number in range(count):
            use(spark, number)
            if (number + 1) % max(count // notes, 1) == 0:
                time.sleep(idle)
                watch.note(spark, number + 1)
    watch.check()
    spark.stop()


def contexts(count: int) -> None:
    """Spark is started and stopped, and the catalog registered each time."""
    watch = Watch()
    for number in range(count):
        with tempfile.TemporaryDirectory() as warehouse:
            spark = started()
            filled(spark, warehouse)
            for query in range(5):
                ask(spark, query)
            watch.note(spark, number + 1)
            spark.stop()
            del spark
    watch.check()


LIVES = {
    "threads": (threads, 200),
    "sessions": (sessions, 1_000),
    "queries": (queries, 10_000),
    "contexts": (contexts, 8),
}


if __name__ == "__main__":
    life, usual = LIVES[sys.argv[1]]
    life(int(sys.argv[2]) if len(sys.argv) > 2 else usual)
    print("all is well", flush=True)
