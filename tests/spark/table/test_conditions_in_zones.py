"""A condition in text means the same rows through every door as Spark's own ``where`` in the session's time zone.

``PAIMON_CONDITIONS=5000`` tries as many triples of a condition, rows and a zone; a number in brackets is a seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from support.draws.conditions import KINDS, ZONES, Text, condition, rows, text
from support.long_runs import tries
from support.programs.command_line import command
from support.tables.compacting import make

from paimon_spark.arrow.predicates.sql_text import parse_predicate
from paimon_spark.arrow.zones import find_zone, to_local
from paimon_spark.errors import OptionError, PredicateError
from paimon_spark.spark.adapters.batches import FrameColumns
from paimon_spark.spark.adapters.options import write_options
from paimon_spark.spark.adapters.types import spark_schema
from paimon_spark.spark.source.source import PaimonDataSource
from paimon_spark.spark.table.table_api import PaimonTable
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table
from paimon_spark.writes.commit_write import commit_job
from paimon_spark.writes.open_write import open_job

pytestmark = pytest.mark.spark

COUNT = tries("PAIMON_CONDITIONS", ci=60, long=120)
ROUND = 200 if COUNT > 1000 else 60
"""Conditions with the same rows and zone: they are one Spark job."""
ROWS = 40
PARTITIONS = 12
"""Rows of the table that is overwritten, each in a partition of its own."""
TRIPS = 1
"""Conditions of a round that go through Spark's own processes too, each of which takes seconds."""
CONF = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.codegen.wholeStage": "false",  # to compile a hundred conditions takes longer than to interpret them
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture
def interpreting(spark: SparkSession) -> Iterator[SparkSession]:
    """The session; its conditions are interpreted, and its time zone is what it was afterwards."""
    before = {key: spark.conf.get(key) for key in CONF}
    for key, value in CONF.items():
        spark.conf.set(key, value)
    yield spark
    for key, value in before.items():
        spark.conf.set(key, value or "")


def stored(path: Path, batch: pa.RecordBatch, parts: tuple[str, ...] = ()) -> Table:
    """The rows in a table of two files, or one for each partition."""
    table = make(path, batch.schema, (), {"bucket": "-1"}, parts)
    ordered, messages = batch.sort_by("local"), []
    for start in (0, batch.num_rows // 2):
        task = TableWrite(table, "user")
        task.write(ordered.slice(start, batch.num_rows // 2), None)
        messages += task.finish()
    TableCommit(table, "user").append(messages)
    return open_table(str(path))


def classified(spark: SparkSession, texts: list[str]) -> list[Text]:
    """The texts with the types that Spark can cast them to."""
    casts = [sf.expr(f"try_cast(t as {kind}) is not null").alias(kind) for kind in sorted(set(KINDS.values()))]
    found = spark.createDataFrame([(t,) for t in texts], "t string").select("t", *casts).collect()
    return [Text(row.t, frozenset(kind for kind in row.asDict() if kind != "t" and row[kind])) for row in found]


def where_says(spark: SparkSession, path: str, conditions: list[str]) -> list[list[int]]:
    """The ids of the rows that Spark's own ``where`` keeps: it keeps those for which the condition is true."""
    truths = [sf.expr(c).alias(f"c{i}") for i, c in enumerate(conditions)]
    found = spark.read.format("paimon").load(path).select("id", *truths).toArrow()
    return [sorted(found.filter(found[f"c{i}"])["id"].to_pylist()) for i in range(len(conditions))]


def filter_says(table: Table, sql: str, zone: str) -> list[int]:
    """The ids that the data source reads with the options `filter` and `time-zone`, in this process."""
    source = PaimonDataSource({"path": table.location, "filter": sql, "time-zone": zone, "columns": "id"})
    reader = source.reader(source.schema())
    return sorted(i for part in reader.partitions() for batch in reader.read(part) for i in batch["id"].to_pylist())


def command_line_says(table: Table, sql: str, zone: str) -> list[int]:
    printed = command(
        "read", table.location, "--where", sql, "--time-zone", zone, "--columns", "id", "--output", "json"
    )
    assert printed.code == 0, printed.err
    return sorted(document["id"] for document in printed.documents)


def overwrite_replaces(table: Table, sql: str, zone: str) -> list[int] | None:
    """The ids of the rows that an overwrite by no rows takes away; None: it wants a list of values. Undone after."""
    given = {"path": table.location, "overwrite-where": sql, "time-zone": zone}
    try:
        job = open_job(write_options(given), FrameColumns(spark_schema(table.schema.fields)), overwrite=True)
    except OptionError as error:
        assert "expected the values" in str(error) or "no partition column" in str(error)  # noqa: PT017
        return None
    commit_job(job, [])
    left = open_table(table.location).scan(["id"]).to_arrow()["id"].to_pylist()
    rollback(open_table(table.location), snapshot=1)
    return sorted(set(range(PARTITIONS)) - set(left))


@pytest.mark.parametrize("seed", range(-(-COUNT // ROUND)))
def test_every_door_finds_the_rows_of_where(interpreting: SparkSession, tmp_path: Path, seed: int) -> None:
    spark = interpreting
    random = Random(seed)
    zone = ZONES[seed % len(ZONES)]
    offsets = {str(year): to_local(year * 31_556_952 * 10**9, find_zone(zone)) // 1000 for year in (-1900, -70, 41, 56)}
    offsets = {year: wall - int(year) * 31_556_952 * 10**6 for year, wall in offsets.items()}
    batch = rows(random, ROWS, offsets)
    table = stored(tmp_path / "plain", batch)
    parted = stored(tmp_path / "parted", batch.slice(0, PARTITIONS), ("day", "instant", "local"))
    spark.conf.set("spark.sql.session.timeZone", zone)
    texts = classified(spark, [text(random) for _ in range(60)])
    conditions = [condition(random, texts) for _ in range(min(ROUND, COUNT))]

    expected = where_says(spark, table.location, conditions)

    for one, column in product(texts, ("day", "instant", "local")):
        assert is_readable(f"{column} = '{one.text}'", table, zone) == (KINDS[column] in one.casts), (zone, one, column)
    wrong = []
    overwrites = 0
    for sql, ids in zip(conditions, expected, strict=True):
        answers = {"filter": filter_says(table, sql, zone), "command line": command_line_says(table, sql, zone)}
        replaced = overwrite_replaces(parted, sql, zone)
        if replaced is not None:
            answers["overwrite-where"] = replaced + [i for i in ids if i >= PARTITIONS]
            overwrites += 1
        wrong += [(zone, sql, door, found, ids) for door, found in answers.items() if found != ids]
        bound = parse_predicate(sql, table.schema.fields, zone)
        try:
            assert parse_predicate(sql, table.schema.fields, None) == bound, sql
        except PredicateError as error:
            assert "'time-zone'" in str(error)  # noqa: PT017
    assert wrong == []
    assert overwrites >= ROUND // 20
    decided = sum(0 < len(ids) < ROWS for ids in expected)
    assert decided > len(conditions) // 4
    print(f"seed {seed}, {zone}: {len(conditions)} conditions, {decided} true for some rows, {overwrites} overwrites")

    trips = random.sample(range(len(conditions)), min(TRIPS, len(conditions)))
    handle = PaimonTable.forPath(spark, table.location)
    for number in trips:
        sql = conditions[number]
        assert ids_of(handle.toDF(["id"], where=sql)) == expected[number], sql
        given = spark.read.format("paimon").option("filter", sql).option("time-zone", zone)
        assert ids_of(given.load(table.location)) == expected[number], sql
        assert ids_of(spark.read.format("paimon").load(table.location).where(sql)) == expected[number], sql


def is_readable(sql: str, table: Table, zone: str) -> bool:
    try:
        parse_predicate(sql, table.schema.fields, zone)
    except PredicateError:
        return False
    return True


def ids_of(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())
