"""Statements that change a table as a whole: DROP, RENAME, TRUNCATE, partitions, ANALYZE, REFRESH, and tags."""

from __future__ import annotations

from pyspark.sql import DataFrame

from paimon_spark.errors import DatabaseNotFound, SnapshotNotFound, SqlError, TableNotFound, UnsupportedFeature
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.statements.partition_specs import (
    find_partitions,
    leading_values,
    required_values,
    shown_values,
    whole_values,
)
from paimon_spark.sql import statements as s
from paimon_spark.sql.text.cursor import PartitionSpec
from paimon_spark.sql.text.literals import partition_condition
from paimon_spark.sql.text.names import TableName

_UNITS = {"DAYS": "d", "HOURS": "h", "MINUTES": "min"}


def run_drop(session: SqlSession, drop: s.DropTable) -> DataFrame:
    """Drops a table with all its files; PURGE says the same, since no table goes to a trash."""
    session.catalog.drop_table(session.identifier(drop.table), ignore_if_not_exists=drop.if_exists)
    return session.no_rows


def run_rename(session: SqlSession, rename: s.RenameTable) -> DataFrame:
    """Gives a table another name."""
    session.catalog.rename_table(session.identifier(rename.table), session.identifier(rename.to))
    return session.no_rows


def run_truncate(session: SqlSession, truncate: s.TruncateTable) -> DataFrame:
    """Takes all rows out of a table, or those of some partitions."""
    table = session.table(truncate.table)
    if truncate.partition:
        table.drop_partitions(_condition(session, truncate.table, truncate.partition))
    else:
        table.truncate()
    return session.no_rows


def run_drop_partition(session: SqlSession, drop: s.DropPartition) -> DataFrame:
    """Takes the rows of partitions out of a table.

    Partitions are named by their first columns or all of them. One that is named by all and is not there is an error
    without IF EXISTS, and none is dropped then; a part of the columns may stand for no partition (Java: the same).

    Raises:
        SqlError: the columns are not the first ones, a value does not fit, or a partition is not there.
    """
    table, name = session.open(drop.table), str(drop.table)
    specs = [leading_values(session.spark, name, table.schema, spec) for spec in drop.partitions]
    for values in specs:
        is_whole = len(values) == len(table.schema.partition_keys)
        if is_whole and not drop.if_exists and not find_partitions(table, values):
            raise SqlError(
                f"DROP PARTITION of {name}: there is no {shown_values(values)}, and no partition was dropped; SHOW "
                "PARTITIONS lists them, and DROP IF EXISTS passes over those that are not there"
            )
    session.table(drop.table).drop_partitions(" OR ".join(f"({partition_condition(values)})" for values in specs))
    return session.no_rows


def run_add_partition(session: SqlSession, add: s.AddPartition) -> DataFrame:
    """Does nothing to a table whose partitions are those of its rows, as the JVM connector; the names are checked.

    Raises:
        SqlError: a partition column has no value, or one that does not fit; or a partition is there already.
    """
    table, name = session.open(add.table), str(add.table)
    for spec in add.partitions:
        values = whole_values(session.spark, name, table.schema, spec)
        if not add.if_not_exists and find_partitions(table, values):
            raise SqlError(
                f"ADD PARTITION of {name}: there is {shown_values(values)} already; write ADD IF NOT EXISTS PARTITION"
            )
    return session.no_rows


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
    return session.no_rows


def run_refresh(session: SqlSession, refresh: s.Refresh) -> DataFrame:
    """Forgets what the catalog remembers of a table. Every statement sees the latest snapshot in any case."""
    identifier = session.identifier(refresh.table)
    try:
        session.catalog.load_table(identifier)
    except (DatabaseNotFound, TableNotFound):
        if not refresh.if_exists:
            raise
    else:
        session.catalog.refresh(identifier)
    return session.no_rows


def _condition(session: SqlSession, name: TableName, spec: PartitionSpec) -> str:
    """PARTITION (...) as condition."""
    values = required_values(session.spark, str(name), session.open(name).schema.partition_fields, spec)
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
        return session.no_rows
    if is_there and create.replace:
        table.replace_tag(create.tag, create.snapshot, retained)
    else:
        table.create_tag(create.tag, create.snapshot, time_retained=retained)
    return session.no_rows


def run_delete_tag(session: SqlSession, delete: s.DeleteTag) -> DataFrame:
    """Deletes a tag, or several with commas between them; one that is not there is no error (Java: the same).

    A tag whose name has a comma is deleted by its name where none of the tags between the commas is there.
    """
    there = session.open(delete.table).snapshots.tag_names()
    several = [name.strip() for name in delete.tag.split(",")]
    names = several if any(name in there for name in several) else [delete.tag]
    session.table(delete.table).delete_tag(names)
    return session.no_rows


def run_rename_tag(session: SqlSession, rename: s.RenameTag) -> DataFrame:
    """Gives a tag another name."""
    session.table(rename.table).rename_tag(rename.tag, rename.to)
    return session.no_rows
