"""Streams by name: the rows, offsets and errors of those by path, and who reads the files."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from support.collected import is_collected
from support.long_runs import tries

from conftest import Lake
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.spark
Batches = list[tuple[int, list[tuple[Any, ...]]]]
COUNT = tries("PAIMON_NAMED_STREAM_HISTORIES", ci=1, long=20)
TABLES = {
    "append": "",
    "buckets without keys": "'bucket' = '2', 'bucket-key' = 'k'",
    "keys": "'primary-key' = 'k,p', 'bucket' = '2'",
    "input": "'primary-key' = 'k,p', 'bucket' = '2', 'changelog-producer' = 'input'",
    "lookup": "'primary-key' = 'k,p', 'bucket' = '1', 'changelog-producer' = 'lookup'",
    "full-compaction": "'primary-key' = 'k,p', 'bucket' = '1', 'changelog-producer' = 'full-compaction'",
    "vectors": "'bucket' = '-1', 'deletion-vectors.enabled' = 'true'",
}
LIMITS: list[dict[str, str]] = [
    {},
    {"read.stream.maxFilesPerTrigger": "1"},
    {"read.stream.maxRowsPerTrigger": "7"},
    {"read.stream.maxFilesPerTrigger": "3", "read.stream.maxBytesPerTrigger": "4000"},
]
FROM_FIRST = {"scan.mode": "from-snapshot", "scan.snapshot-id": "1"}


class Dies(Exception):
    """Raised by a sink."""


def run(frame: DataFrame, checkpoint: Path, dies_in: int | None = None, **trigger: Any) -> Batches:
    """The batches that there are, with their numbers and their rows in the order in which they come.

    Args:
        dies_in: the sink fails in the batch of this place, after it has read the rows.
    """
    batches: Batches = []

    def take(rows: DataFrame, number: int) -> None:
        batches.append((number, [tuple(row) for row in rows.collect()]))
        if dies_in is not None and len(batches) > dies_in:
            raise Dies("the sink dies here")

    writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(**(trigger or {"availableNow": True})).start()
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        if "the sink dies here" not in str(error):
            raise
    return batches


def by_name(lake: Lake, options: Mapping[str, str], table: str = "t") -> DataFrame:
    return lake.spark.readStream.options(**options).table(f"lake.d.{table}")


def by_path(lake: Lake, options: Mapping[str, str], table: str = "t") -> DataFrame:
    reader = lake.spark.readStream.format("paimon").options(**options)
    return reader.load(str(lake.path / f"d.db/{table}"))


Road = Callable[[Lake, Mapping[str, str]], DataFrame]


def values(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


def read_by_spark(rows: list[tuple[Any, ...]]) -> bool:
    """True if Spark's own reader has read rows whose last value is input_file_name()."""
    found = {row[-1] != "" for row in rows}
    assert len(found) == 1
    return found.pop()


class History:
    """A table that is written at random; rows repeat, and partitions are two."""

    def __init__(self, lake: Lake, kind: str, seed: int) -> None:
        self.lake, self.random, self.columns = lake, random.Random(f"{kind} {seed}"), 3
        options = f"TBLPROPERTIES ({TABLES[kind]})" if TABLES[kind] else ""
        lake.sql(f"CREATE TABLE t (k INT NOT NULL, p STRING NOT NULL, v INT) PARTITIONED BY (p) {options}")
        self.has_keys, self.has_vectors = "primary-key" in TABLES[kind], kind == "vectors"
        self.number = count()

    def write(self) -> None:
        keys = self.random.sample(range(20), self.random.randrange(1, 8))
        rows = [f"({k}, '{'ab'[k % 2]}', {next(self.number)})" for k in keys]
        more = "" if self.columns == 3 else ", 'more'"
        self.lake.sql("INSERT INTO t VALUES " + ", ".join(row[:-1] + more + ")" for row in rows))

    def delete(self) -> None:
        if self.has_keys or self.has_vectors:
            self.lake.sql(f"DELETE FROM t WHERE k = {self.random.randrange(20)}")

    def compact(self) -> None:
        self.lake.sql("CALL lake.sys.compact(table => 'd.t')")

    def add_column(self) -> None:
        if self.columns == 3:
            self.lake.sql("ALTER TABLE t ADD COLUMN more STRING")
            self.columns = 4

    def step(self) -> None:
        self.random.choices([self.write, self.delete, self.compact, self.add_column], [8, 2, 2, 1])[0]()


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("seed", range(COUNT))
def test_batches_are_those_of_a_stream_by_path_whoever_goes_on(
    lake: Lake, kind: str, seed: int, tmp_path: Path
) -> None:
    """Three queries of one table with restarts and faults: by path, by name, and by both in turn with one checkpoint.
    Each batch is the same in all, and one that is run again is the same again."""
    history = History(lake, kind, seed)
    r = history.random
    history.write()
    options = {**r.choice([FROM_FIRST, {}, {"scan.mode": "latest-full"}, {"scan.mode": "latest"}]), **r.choice(LIMITS)}
    found: dict[str, dict[int, list[tuple[Any, ...]]]] = {"path": {}, "name": {}, "both": {}}
    for turn in range(4):
        dies_in = r.choice([None, 0, 1])
        for query, batches in found.items():
            road = by_name if query == "name" or (query == "both" and turn % 2) else by_path
            given = {**options, "consumer-id": query}
            for number, rows in run(road(lake, given).select("k", "p", "v"), tmp_path / query, dies_in):
                assert values(batches.setdefault(number, rows)) == values(rows)
        for _ in range(r.randrange(1, 4)):
            history.step()
    for query, batches in found.items():
        road = by_path if query == "path" else by_name
        given = {**options, "consumer-id": query}
        for number, rows in run(road(lake, given).select("k", "p", "v"), tmp_path / query):
            assert values(batches.setdefault(number, rows)) == values(rows)
    path, name, both = ({n: values(rows) for n, rows in batches.items()} for batches in found.values())
    assert path
    assert name == path
    assert both == path
    consumers = {file.read_text() for file in (lake.path / "d.db/t/consumer").iterdir()}
    assert len(consumers) == 1


def test_offsets_are_written_alike(lake: Lake, tmp_path: Path) -> None:
    lake.sql("CREATE TABLE t AS SELECT id FROM range(5)")
    for _ in range(2):
        for query, road in (("name", by_name), ("path", by_path)):
            run(road(lake, {"read.stream.maxFilesPerTrigger": "1"}), tmp_path / query)
        lake.sql("INSERT INTO t SELECT id FROM range(3)")
    for number in ("0", "1"):
        name, path = ((tmp_path / query / "offsets" / number).read_text().splitlines() for query in ("name", "path"))
        assert name[2:] == path[2:]
        assert '"snapshotId"' in name[2]


def test_spark_reads_the_files_of_an_append_table(lake: Lake, tmp_path: Path) -> None:
    lake.sql("CREATE TABLE t (id INT, p STRING, d DECIMAL(9, 2), at TIMESTAMP) PARTITIONED BY (p)")
    lake.sql("INSERT INTO t VALUES (1, 'a', 1.5, TIMESTAMP'2026-01-01 00:00:00'), (2, 'b', NULL, NULL)")
    frame = by_name(lake, FROM_FIRST).withColumn("file", F.input_file_name())
    ((_, rows),) = run(frame, tmp_path / "ck")
    assert read_by_spark(rows)
    assert values([row[:-1] for row in rows]) == lake.rows("SELECT * FROM t")
    assert not read_by_spark(
        run(by_path(lake, FROM_FIRST).withColumn("file", F.input_file_name()), tmp_path / "p")[0][1]
    )
    off = by_name(lake, {**FROM_FIRST, "read.native": "false"}).withColumn("file", F.input_file_name())
    assert not read_by_spark(run(off, tmp_path / "off")[0][1])


def test_who_reads_is_decided_for_each_batch(lake: Lake, tmp_path: Path) -> None:
    """Files in another format, and files of an older schema, come between files that Spark reads."""
    lake.sql("CREATE TABLE t AS SELECT id, 'a' s FROM range(0, 3, 1, 1)")
    lake.sql("ALTER TABLE t SET TBLPROPERTIES ('file.format' = 'avro')")
    lake.sql("INSERT INTO t VALUES (10, 'b')")
    lake.sql("ALTER TABLE t SET TBLPROPERTIES ('file.format' = 'parquet')")
    lake.sql("INSERT INTO t VALUES (20, 'c')")
    lake.sql("ALTER TABLE t ADD COLUMN n INT")
    lake.sql("INSERT INTO t VALUES (30, 'd', 7)")
    frame = by_name(lake, {**FROM_FIRST, "read.stream.maxFilesPerTrigger": "1"}).withColumn("file", F.input_file_name())
    batches = run(frame, tmp_path / "ck")
    assert [rows[0][:3] for _, rows in batches] == [(0, "a", None), (10, "b", None), (20, "c", None), (30, "d", 7)]
    assert [read_by_spark(rows) for _, rows in batches] == [False, False, False, True]
    old = by_name(lake, {**FROM_FIRST, "read.stream.maxFilesPerTrigger": "2"}).withColumn("file", F.input_file_name())
    assert [(len(rows), read_by_spark(rows)) for _, rows in run(old, tmp_path / "two")] == [(4, False), (2, False)]


def test_formats_change_while_a_stream_runs(lake: Lake, tmp_path: Path) -> None:
    lake.sql("CREATE TABLE t (id INT)")
    lake.sql("INSERT INTO t VALUES (1)")
    lake.sql("INSERT INTO t VALUES (2)")
    lake.cat.sql("INSERT INTO d.t VALUES (3)")
    for number, kind in ((4, "orc"), (5, "parquet")):
        writer = lake.spark.range(number, number + 1).selectExpr("cast(id AS INT) id").write.format("paimon")
        writer.mode("append").option("file.format", kind).save(str(lake.path / "d.db/t"))
    frame = by_name(lake, {**FROM_FIRST, "read.stream.maxFilesPerTrigger": "1"}).withColumn("file", F.input_file_name())
    batches = run(frame, tmp_path / "ck")
    assert [rows[0][0] for _, rows in batches] == [1, 2, 3, 4, 5]
    assert [read_by_spark(rows) for _, rows in batches] == [True, True, True, False, True]


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ("id INT, c CHAR(3)", ""),
        ("id INT", "'deletion-vectors.enabled' = 'true', 'file.format' = 'avro'"),
        ("id INT, at TIMESTAMP_NTZ", "'file.format' = 'orc'"),
    ],
)
def test_what_spark_cannot_read_as_it_is_our_reader_reads(
    lake: Lake, columns: str, options: str, tmp_path: Path
) -> None:
    lake.sql(f"CREATE TABLE t ({columns})" + (f" TBLPROPERTIES ({options})" if options else ""))
    lake.sql("INSERT INTO t SELECT id" + (", NULL" if "," in columns else "") + " FROM range(3)")
    for name, road in (("name", by_name), ("path", by_path)):
        ((_, rows),) = run(road(lake, {}).withColumn("file", F.input_file_name()), tmp_path / name)
        assert not read_by_spark(rows)
        assert [row[0] for row in rows] == [0, 1, 2]


def test_deleted_rows_are_left_out_and_conditions_refused(lake: Lake, tmp_path: Path) -> None:
    lake.sql("CREATE TABLE t (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    lake.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    frame = by_name(lake, FROM_FIRST).withColumn("file", F.input_file_name())
    ((_, rows),) = run(frame, tmp_path / "ck")
    assert [row[:2] for row in rows] == [(1, "a"), (2, "b")]
    assert read_by_spark(rows)
    lake.sql("DELETE FROM t WHERE k = 1")
    assert run(frame, tmp_path / "ck") == [(1, [])]
    with pytest.raises(StreamingQueryException, match=r"the option 'filter' .* would do nothing here"):
        run(by_name(lake, {"filter": "k > 1"}), tmp_path / "some")


def test_rows_of_a_bucket_come_in_the_order_of_their_commits(lake: Lake, tmp_path: Path) -> None:
    """Spark would begin with the largest file."""
    lake.sql("CREATE TABLE t (k INT, n INT) TBLPROPERTIES ('bucket' = '1', 'bucket-key' = 'k')")
    lake.sql("CREATE TABLE u (k INT, n INT)")
    for table in "tu":
        for number, size in enumerate((1, 1000, 10, 500, 2)):
            lake.sql(f"INSERT INTO {table} SELECT id, {number} FROM range({size})")
        frame = by_name(lake, FROM_FIRST, table).withColumn("file", F.input_file_name())
        ((_, rows),) = run(frame, tmp_path / table)
        assert read_by_spark(rows)
        assert [row[1] for row in rows] == sorted(row[1] for row in rows)
        assert len(rows) == 1513


def test_a_large_file_is_divided_among_tasks(lake: Lake, tmp_path: Path) -> None:
    lake.sql("CREATE TABLE t (id BIGINT, s STRING) TBLPROPERTIES ('file.block-size' = '64 kb')")
    lake.sql("INSERT INTO t SELECT id, sha2(cast(id AS STRING), 256) FROM range(0, 20000, 1, 1)")
    (path,) = (lake.path / "d.db/t/bucket-0").glob("*.parquet")
    lake.spark.conf.set("spark.sql.files.maxPartitionBytes", "200000")
    lake.spark.conf.set("spark.sql.files.openCostInBytes", "1000")
    try:
        frame = by_name(lake, {}).select("id", F.spark_partition_id().alias("task"))
        ((_, rows),) = run(frame, tmp_path / "ck")
    finally:
        lake.spark.conf.unset("spark.sql.files.maxPartitionBytes")
        lake.spark.conf.unset("spark.sql.files.openCostInBytes")
    assert sorted(row[0] for row in rows) == list(range(20000))
    assert path.stat().st_size > 400_000
    assert len({row[1] for row in rows}) > 1


def test_limits_hold_but_for_one_batch_of_all(lake: Lake, tmp_path: Path) -> None:
    lake.sql("CREATE TABLE t (id INT)")
    for number in range(3):
        lake.sql(f"INSERT INTO t VALUES ({number})")
    options = {**FROM_FIRST, "read.stream.maxFilesPerTrigger": "1"}
    assert run(by_name(lake, options), tmp_path / "each") == [(0, [(0,)]), (1, [(1,)]), (2, [(2,)])]
    ((_, rows),) = run(by_name(lake, options), tmp_path / "once", once=True)
    assert values(rows) == [(0,), (1,), (2,)]


def test_a_stream_goes_on_while_it_runs(lake: Lake, tmp_path: Path) -> None:
    lake.sql("CREATE TABLE t (id INT)")
    writer = by_name(lake, {}).writeStream.format("memory").queryName("named_rows")
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    try:
        for number in range(3):
            lake.sql(f"INSERT INTO t VALUES ({number})")
            query.processAllAvailable()
            assert lake.rows("SELECT id FROM named_rows") == [(n,) for n in range(number + 1)]
        (source,) = query.lastProgress["sources"]
        assert '"snapshotId": 4' in str(source["latestOffset"]).replace("'", '"')
    finally:
        query.stop()


def test_a_stream_is_joined_with_a_table_and_with_itself(lake: Lake, tmp_path: Path) -> None:
    """The thread of the stream plans a read of a state too, and two streams of one table are two."""
    lake.sql("CREATE TABLE t AS SELECT id, id * 2 v FROM range(4)")
    lake.sql("CREATE TABLE u AS SELECT id, 'x' s FROM range(2)")
    joined = by_name(lake, {}).join(lake.spark.table("lake.d.u"), "id").select("id", "v", "s")
    assert [values(rows) for _, rows in run(joined, tmp_path / "joined")] == [[(0, 0, "x"), (1, 2, "x")]]
    both = by_name(lake, {}).select("id").union(by_name(lake, {}).select("id"))
    assert [values(rows) for _, rows in run(both, tmp_path / "both")] == [[(n,) for n in (0, 0, 1, 1, 2, 2, 3, 3)]]


def test_errors_are_sentences(lake: Lake, tmp_path: Path) -> None:
    lake.sql("CREATE TABLE t (id INT)")
    for number in range(4):
        lake.sql(f"INSERT INTO t VALUES ({number})")
    run(by_name(lake, {**FROM_FIRST, "read.stream.maxFilesPerTrigger": "1"}), tmp_path / "ck", dies_in=0)
    lake.sql("CALL lake.sys.expire_snapshots(table => 'd.t', retain_max => 1, retain_min => 1)")
    assert open_table(str(lake.path / "d.db/t")).snapshots.earliest_id() == 4
    with pytest.raises(StreamingQueryException, match="expired") as caught:
        run(by_name(lake, FROM_FIRST), tmp_path / "ck")
    assert "Traceback" not in str(caught.value)
    with pytest.raises(Exception, match="snapshot 99 never was"):
        run(by_name(lake, {"scan.mode": "from-snapshot", "scan.snapshot-id": "99"}), tmp_path / "none")


def test_a_spark_without_the_classes_streams_by_the_python_source(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The user is told once."""
    module = "paimon_spark.spark.spark_catalog.micro_batches"
    lake.sql("CREATE TABLE t AS SELECT id FROM range(3)")
    monkeypatch.setattr(f"{module}._NAME", "PaimonLacking")
    monkeypatch.setattr(f"{module}._SOURCE", "public class PaimonLacking { org.apache.spark.sql.NoOffset offset; }")
    frame = by_name(lake, {}).withColumn("file", F.input_file_name())
    with caplog.at_level("WARNING", module):
        ((_, rows),) = run(frame, tmp_path / "ck")
        run(frame, tmp_path / "again")
    assert not read_by_spark(rows)
    assert [row[0] for row in rows] == [0, 1, 2]
    (told,) = [record.getMessage() for record in caplog.records if record.name == module]
    assert "lacks a class" in told
    assert "CompileException" in told


def test_a_session_with_a_stream_is_collected(lake: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("paimon_spark.spark.spark_catalog.sessions._MOST_SESSIONS", 1)
    lake.sql("CREATE TABLE t AS SELECT id FROM range(5)")
    jvm, other = lake.spark.sparkContext._jvm, lake.spark.newSession()
    assert jvm is not None
    writer = other.readStream.table("lake.d.t").writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    query.awaitTermination()
    weak = jvm.java.lang.ref.WeakReference(other._jsparkSession)
    del other, writer, query
    lake.spark.newSession().sql("SELECT * FROM lake.d.t")  # PySpark, too, remembers the session that was made last
    assert is_collected(jvm, weak)
