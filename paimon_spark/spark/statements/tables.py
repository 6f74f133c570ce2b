"""Statements that change a table as a whole: DROP, RENAME, TRUNCATE, partitions, ANALYZE, REFRESH, and tags."""

from __future__ import annotations

from pyspark.sql import DataFrame

from paimon_spark.errors import SnapshotNotFound, SqlError, UnsupportedFeature
from paimon_spark.spark.queries.results import no_rows
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.statements.inserted_columns import fixed_values
from paimon_spark.sql import statements as s
from paimon_spark.sql.text.names import TableName
from paimon_spark.sql.text.partitions import PartitionSpec
from paimon_spark.sql.text.writing import partition_condition

_UNITS = {"DAYS": "d", "HOURS": "h", "MINUTES": "min"}


def run_drop(session: SqlSession, drop: s.DropTable) -> DataFrame:
    """Drops a table with all its files; PURGE says the same, since no table goes to a trash."""
    session.catalog.drop_table(session.identifier(drop.table), ignore_if_not_exists=drop.if_exists)
    return no_rows(session.spark)


def run_rename(session: SqlSession, rename: s.RenameTable) -> DataFrame:
    """Gives a table another name."""
    session.catalog.rename_table(session.identifier(rename.table), session.identifier(rename.to))
    return no_rows(session.spark)


def run_truncate(session: SqlSession, truncate: s.TruncateTable) -> DataFrame:
    """Takes all rows out of a table, or those of some partitions."""
    table = session.table(truncate.table)
    if truncate.partition:
        table.drop_partitions(_condition(session, truncate.table, truncate.partition))
    else:
        table.truncate()
    return no_rows(session.spark)


def run_drop_partition(session: SqlSession, drop: s.DropPartition) -> DataFrame:
    """Takes the rows of partitions out of a table; a partition that is not there is no error (Java: the same)."""
    conditions = [f"({_condition(session, drop.table, spec)})" for spec in drop.partitions]
    session.table(drop.table).drop_partitions(" OR ".join(conditions))
    return no_rows(session.spark)


def run_add_partition(session: SqlSession, add: s.AddPartition) -> DataFrame:
    """Does nothing to a table whose partitions are those of its rows, as the JVM connector; the names are checked."""
    keys = session.open(add.table).schema.partition_keys
    for spec in add.partitions:
        fixed_values(str(add.table), keys, spec)
    return no_rows(session.spark)


def run_repair(session: SqlSession, repair: s.RepairTable) -> DataFrame:
    """Refused: there is no list of partitions beside the table that could differ from it."""
    raise UnsupportedFeature(
        f"REPAIR TABLE {repair.table}: a table of the catalog {session.catalog.name} has no list of partitions beside "
        "its manifests, so there is nothing to repair; paimon-spark check verifies a table"
    )


def run_analyze(session: SqlSession, analyze: s.Analyze) -> DataFrame:
    """Counts rows, and values of columns, and stores the result as statistics of the table."""
    if analyze.partition:
        raise UnsupportedFeature(
            f"ANALYZE TABLE {analyze.table} PARTITION: statistics are those of whole tables; leave PARTITION out"
        )
    if analyze.no_scan:
        raise UnsupportedFeature(
            f"ANALYZE TABLE {analyze.table} NOSCAN: the sizes of a table are known from its manifests, and nothing is "
            "stored; leave NOSCAN out to count rows"
        )
    columns = "all" if analyze.columns is None else list(analyze.columns) or None
    session.table(analyze.table).analyze(columns)
    return no_rows(session.spark)


def run_refresh(session: SqlSession, refresh: s.Refresh) -> DataFrame:
    """Forgets what the catalog remembers of a table. Every statement sees the latest snapshot in any case."""
    identifier = session.identifier(refresh.table)
    session.catalog.load_table(identifier)
    session.catalog.refresh(identifier)
    return no_rows(session.spark)


def _condition(session: SqlSession, name: TableName, spec: PartitionSpec) -> str:
    """PARTITION (...) as condition; a column without a value stands for all its values."""
    keys = session.open(name).schema.partition_keys
    values = fixed_values(str(name), keys, spec)
    if not values:
        raise SqlError(f"PARTITION of {name}: give at least one partition column a value")
    return partition_condition(values)


# ----------------------------------------------------------------------------------------------------------------- tags


def run_create_tag(session: SqlSession, create: s.CreateTag) -> DataFrame:
    """Keeps a snapshot under a name, or lets a name keep another one."""
    table = session.table(create.table)
    retained = None if create.retain is None else f"{create.retain[0]} {_UNITS[create.retain[1]]}"
    is_there = create.tag in session.open(create.table).snapshots.tag_names()
    if not create.create and not is_there:
        raise SnapshotNotFound(f"REPLACE TAG {create.tag} of {create.table}: there is no such tag; write CREATE TAG")
    if is_there and create.if_not_exists:
        return no_rows(session.spark)
    if is_there and create.replace:
        table.replace_tag(create.tag, create.snapshot, retained)
    else:
        table.create_tag(create.tag, create.snapshot, time_retained=retained)
    return no_rows(session.spark)


def run_delete_tag(session: SqlSession, delete: s.DeleteTag) -> DataFrame:
    """Deletes a tag; one that is not there is an error, unless IF EXISTS is said."""
    if delete.if_exists and delete.tag not in session.open(delete.table).snapshots.tag_names():
        return no_rows(session.spark)
    session.table(delete.table).delete_tag([delete.tag])
    return no_rows(session.spark)


def run_rename_tag(session: SqlSession, rename: s.RenameTag) -> DataFrame:
    """Gives a tag another name."""
    session.table(rename.table).rename_tag(rename.tag, rename.to)
    return no_rows(session.spark)
