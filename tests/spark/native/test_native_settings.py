"""What decides whether Spark reads files itself, and what is told of it: calls, options, settings, kinds of reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import types as st
from support.oracles.comparing import comparable
from support.tables.compacting import compact, make, write

from paimon_spark import PaimonTable, open_table
from paimon_spark.errors import MissingFile, OptionError, SnapshotNotFound, UnsupportedFeature
from paimon_spark.format.paths import data_file_path
from paimon_spark.spark.native.read_table import ReadExplanation, ReadRequest, read_table
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import Split

KEYED = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64()), ("s", pa.string())])
ROWS = [(1, 10, "a"), (2, None, "b"), (3, 30, None)]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A file of three rows that is compacted, in one of two buckets each, and one that must be merged with it."""
    made = make(tmp_path / "t", KEYED, ["k"], {"bucket": "2"})
    write(made, [(number, number, "x") for number in range(20)])
    compact(made)
    bucket = open_table(made.location).scan(where="k = 1").plan().splits[0].bucket
    here = [k for k in range(20) if open_table(made.location).scan(where=f"k = {k}").plan().splits[0].bucket == bucket]
    write(made, [(k, -k, "y") for k in here[:3]])
    return open_table(made.location)


@pytest.fixture
def settings(spark: SparkSession) -> Iterator[dict[str, str]]:
    """Settings of the session that are gone after the test; put them in by ``use``."""
    used: dict[str, str] = {}
    yield used
    for key in used:
        spark.conf.unset(key)


def use(spark: SparkSession, settings: dict[str, str], **more: str) -> None:
    for name, value in more.items():
        key = name.replace("__", ".")
        settings[key] = value
        spark.conf.set(key, value)


def told(spark: SparkSession, path: str, native: bool | None = None, **options: str) -> ReadExplanation:
    given = {key.replace("_", "-").replace("--", "."): value for key, value in options.items()}
    return read_table(spark, ReadRequest(path, given, native=native)).explanation


def data_files(table: Table) -> list[str]:
    splits = [split for split in open_table(table.location).scan().plan().splits if isinstance(split, Split)]
    return [data_file_path(split.bucket_path, file) for split in splits for file in split.files]


def test_a_table_in_two_parts_and_what_is_reported(spark: SparkSession, table: Table) -> None:
    made = read_table(spark, ReadRequest(table.location, columns=("s", "k"), where="v < 15"))
    assert made.explanation == ReadExplanation(
        table.location,
        table.snapshots.latest(),
        1,
        1,
        2,
        ("s", "k"),
        "v < 15",
        False,
        ("rows of several files must be merged (2 files)",),
    )
    assert comparable(made.frame.toArrow()) == comparable(table.scan(["s", "k"], "v < 15").to_arrow())
    assert made.frame.columns == ["s", "k"]
    none = read_table(spark, ReadRequest(table.location, columns=()))
    assert (none.frame.columns, none.explanation.columns, none.frame.count()) == ([], (), 20)
    negative = read_table(spark, ReadRequest(table.location, columns=(), where="v < 0")).frame
    assert negative.count() == table.scan(where="v < 0").count()
    assert read_table(spark, ReadRequest(table.location, columns=(), native=False)).frame.count() == 20


def test_the_frame_is_pinned_to_its_snapshot(spark: SparkSession, table: Table) -> None:
    frame = PaimonTable.forPath(spark, table.location).toDF()
    write(table, [(100, 1, "new")])
    assert frame.count() == 20
    assert PaimonTable.forPath(spark, table.location).toDF().count() == 21


def test_who_decides(spark: SparkSession, table: Table, settings: dict[str, str]) -> None:
    path = table.location
    off = ("native reads are off",)
    with pytest.raises(UnsupportedFeature, match=r"data file .*parquet must be read by the Python source: rows of"):
        told(spark, path, native=True)
    assert told(spark, path, native=False).reasons == off
    assert told(spark, path, read__native="false").reasons == off
    use(spark, settings, spark__paimon__read__native="false")
    assert told(spark, path).reasons == off
    assert told(spark, path, READ__NATIVE="Auto").native_files == 1
    with pytest.raises(UnsupportedFeature, match="must be read by the Python source"):
        told(spark, path, read__native="true")
    assert told(spark, path, native=False, read__native="true").reasons == off
    use(spark, settings, spark__paimon__read__native="maybe")
    with pytest.raises(OptionError, match=r"'spark\.paimon\.read\.native' has the value 'maybe': expected one of"):
        told(spark, path)
    use(spark, settings, spark__paimon__read__native="auto")
    opened = PaimonTable.forPath(spark, path, {"read.native": "true"})
    with pytest.raises(UnsupportedFeature, match="must be read by the Python source"):
        opened.toDF()
    assert opened.toDF(native=False).count() == 20
    with pytest.raises(AnalysisException, match=r"'read\.native' = 'true' cannot hold here"):
        spark.read.format("paimon").option("read.native", "true").load(path)


@pytest.mark.parametrize("key", ["ignoreMissingFiles", "ignoreCorruptFiles"])
def test_nothing_is_native_where_spark_passes_over_files(
    spark: SparkSession, table: Table, settings: dict[str, str], key: str
) -> None:
    use(spark, settings, **{f"spark__sql__files__{key}": "true"})
    found = told(spark, table.location)
    assert (found.native_files, found.merged_files) == (0, 3)
    assert found.reasons[-1] == f"the session has spark.sql.files.{key} = true (1 file)"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"scan--ignore_lost_files": "true"}, "it passes over lost or damaged files"),
        ({"incremental_between": "1,3"}, "it is a read of a change"),
        ({"row_kinds": "true"}, "row kinds were asked for"),
        ({"push_filters": "true"}, "'push-filters' lets Spark push filters into the Python source"),
    ],
)
def test_reads_that_are_not_divided(spark: SparkSession, table: Table, options: dict[str, str], reason: str) -> None:
    assert told(spark, table.location, **options).reasons == (reason,)
    with pytest.raises(UnsupportedFeature, match=f"natively was asked for .native=True., but {reason}"):
        told(spark, table.location, native=True, **options)


def test_system_tables_are_read_whole(spark: SparkSession, table: Table) -> None:
    assert told(spark, f"{table.location}$files").reasons == ("it is a system table",)
    assert told(spark, f"{table.location}$ro").reasons == ("it is a system table",)


def test_a_lost_file_is_an_error(spark: SparkSession, table: Table) -> None:
    frame = read_table(spark, ReadRequest(table.location)).frame
    native = [file for file in data_files(table) if file in {p.removeprefix("file://") for p in frame.inputFiles()}]
    Path(native[0]).unlink()
    with pytest.raises(Exception, match=Path(native[0]).name):
        frame.collect()
    with pytest.raises(MissingFile, match=Path(native[0]).name):
        read_table(spark, ReadRequest(table.location))


def test_an_expired_snapshot_is_reported(spark: SparkSession, table: Table) -> None:
    old = read_table(spark, ReadRequest(table.location, {"scan.snapshot-id": "1"}))
    assert old.frame.count() == 20
    write(table, [(k, k, "z") for k in range(20)])
    compact(table)
    expire_snapshots(open_table(table.location), retain_max=1, retain_min=1, older_than=4_102_444_800_000)
    with pytest.raises(SnapshotNotFound, match=r"reading snapshot 1 of the table at .* has expired"):
        read_table(spark, ReadRequest(table.location, {"scan.snapshot-id": "1"}))
    with pytest.raises(Exception, match=r"(?i)does not exist|expired"):
        old.frame.select("s").collect()


def test_settings_of_parquet_change_nothing(spark: SparkSession, tmp_path: Path, settings: dict[str, str]) -> None:
    columns = pa.schema(
        [("x", pa.binary()), ("t", pa.timestamp("us")), ("l", pa.timestamp("us", "UTC")), ("s", pa.string())]
    )
    table = make(tmp_path / "t", columns, (), {"bucket": "-1"})
    write(table, [(b"\xff", 0, 0, "ü"), (None, -62135596800 * 10**6, -(10**15), None)])
    mine = comparable(table.scan().to_arrow())
    names = ["binaryAsString", "int96AsTimestamp", "fieldId__read__enabled", "mergeSchema", "aggregatePushdown"]
    use(spark, settings, **{f"spark__sql__parquet__{name}": "true" for name in (*names, "recordLevelFilter__enabled")})
    use(spark, settings, spark__sql__parquet__inferTimestampNTZ__enabled="false")
    use(spark, settings, spark__sql__parquet__datetimeRebaseModeInRead="LEGACY")
    use(spark, settings, spark__sql__session__timeZone="America/St_Johns")
    for vectorized in ("true", "false"):
        use(spark, settings, spark__sql__parquet__enableVectorizedReader=vectorized)
        made = read_table(spark, ReadRequest(table.location, native=True))
        assert comparable(made.frame.toArrow()) == mine
    use(spark, settings, spark__sql__sources__useV1SourceList="csv")
    assert told(spark, table.location).reasons == (
        "the session leaves parquet out of spark.sql.sources.useV1SourceList (1 file)",
    )
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    settings.pop("spark.sql.session.timeZone")


def test_the_schema_does_not_depend_on_the_road(spark: SparkSession, tmp_path: Path) -> None:
    """Names, types and comments as the data source shows them; NULL is allowed everywhere, also where no file is."""
    builder = PaimonTable.create(spark).location(str(tmp_path / "t"))
    builder.addColumn("k", "BIGINT NOT NULL", comment="the key").addColumn("v", "VARCHAR(7)", comment="it's")
    builder.addColumn("r", "ROW<a INT NOT NULL COMMENT 'inner', m MAP<STRING, INT NOT NULL>>").primaryKey("k")
    table = builder.property("bucket", "1").execute()
    shown = spark.read.format("paimon").load(str(tmp_path / "t")).schema
    roads = [table.toDF().schema]
    rows = spark.createDataFrame([(1, "a", None)], "k bigint, v string, r struct<a int, m map<string, int>>")
    table.append(rows)
    roads += [table.toDF(native=True).schema, table.toDF(native=False).schema]
    table.append(rows)
    roads += [table.toDF().schema, table.toDF(where="k = 1").schema]
    assert all(road == roads[0] for road in roads)
    assert all(f.nullable for f in roads[0].fields)
    assert [f.metadata for f in roads[0].fields] == [f.metadata for f in shown.fields]
    assert roads[0].simpleString() == shown.simpleString()
    inner = roads[0]["r"].dataType
    assert isinstance(inner, st.StructType)
    assert inner["a"].metadata == {"comment": "inner"}


def test_a_key_is_looked_up_in_this_process(spark: SparkSession, table: Table) -> None:
    made = read_table(spark, ReadRequest(table.location, columns=("v", "s"), where="k in (0, 1, 2, 3, 4, 99)"))
    assert made.explanation.local_rows
    assert made.explanation.merged_files == 0
    mine = table.scan(["v", "s"], "k in (0, 1, 2, 3, 4, 99)").to_arrow()
    assert comparable(made.frame.toArrow()) == comparable(mine)
    assert "LocalTableScan" in made.frame._jdf.queryExecution().toString()
    assert read_table(spark, ReadRequest(table.location, columns=(), where="k in (0, 1, 2, 3)")).frame.count() == 4
    assert not read_table(spark, ReadRequest(table.location, where="k > 0 and k < 3")).explanation.local_rows
    many = f"k in ({', '.join(map(str, range(40)))})"
    assert not read_table(spark, ReadRequest(table.location, where=many)).explanation.local_rows
