"""Statements that change a database or a table as a whole: CREATE, DROP, ALTER, RENAME, USE, REFRESH, partitions."""

from __future__ import annotations

from pyspark.sql import DataFrame

from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import DatabaseNotFound, SqlError, TableNotFound, UnsupportedFeature
from paimon_spark.spark.adapters.options import path_in_session
from paimon_spark.spark.queries.asking import ask_spark
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.statements.partition_specs import (
    find_partitions,
    leading_values,
    required_values,
    shown_values,
    whole_values,
)
from paimon_spark.sql import listings as q
from paimon_spark.sql import statements as s
from paimon_spark.sql.text.literals import partition_condition
from paimon_spark.store.file_tables.format_table import FormatPartition, FormatTable
from paimon_spark.store.open import with_snapshots
from paimon_spark.store.storage.files import delete_tree
from paimon_spark.store.storage.served import TableServer


def run_drop(session: SqlSession, drop: s.DropTable) -> DataFrame:
    """Drops a table with all its files; PURGE says the same, since no table goes to a trash."""
    session.catalog.drop_table(session.identifier(drop.table), ignore_if_not_exists=drop.if_exists)
    return session.no_rows


def run_rename(session: SqlSession, rename: s.RenameTable) -> DataFrame:
    """Gives a table another name."""
    session.catalog.rename_table(session.identifier(rename.table), session.identifier(rename.to))
    return session.no_rows


def run_truncate_partitions(session: SqlSession, truncate: s.TruncatePartitions) -> DataFrame:
    """Takes the rows of some partitions out of a table; see DropPartitions."""
    name = truncate.table
    fields = session.open(name).schema.partition_fields
    values = required_values(session.spark, str(name), fields, truncate.partition)
    session.table(name).drop_partitions(partition_condition(values))
    return session.no_rows


def run_drop_partition(session: SqlSession, drop: s.DropPartition) -> DataFrame:
    """Takes the rows of partitions out of a table.

    Partitions are named by their first columns or all of them. One that is named by all and is not there is an error
    without IF EXISTS, and none is dropped then; a part of the columns may stand for no partition (Java: the same).

    Raises:
        SqlError: the columns are not the first ones, a value does not fit, or a partition is not there.
        UnsupportedFeature: it is a format table whose partitions no server keeps, or with PURGE.
    """
    opened, name = session.open_any(drop.table), str(drop.table)
    if isinstance(opened, FormatTable):
        return _drop_from_server(session, opened, drop)
    table = with_snapshots(opened)
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
    """Adds partitions to a format table whose server keeps them. They need no directories.

    Nothing is done to a table whose partitions are those of its rows, as by the JVM connector; the names are checked.

    Raises:
        SqlError: a partition column has no value, or one that does not fit; or a partition is there already.
    """
    opened, name = session.open_any(add.table), str(add.table)
    if isinstance(opened, FormatTable) and opened.table.server is not None:
        return _add_to_server(session, opened, opened.table.server, add)
    table = with_snapshots(opened)
    for spec in add.partitions:
        values = whole_values(session.spark, name, table.schema, spec)
        if not add.if_not_exists and find_partitions(table, values):
            raise SqlError(
                f"ADD PARTITION of {name}: there is {shown_values(values)} already; write ADD IF NOT EXISTS PARTITION"
            )
    return session.no_rows


def _add_to_server(session: SqlSession, table: FormatTable, server: TableServer, add: s.AddPartition) -> DataFrame:
    name, there = str(add.table), [dict(one.texts) for one in table.partitions()]
    texts = []
    for spec in add.partitions:
        values = whole_values(session.spark, name, table.schema, spec)
        texts.append(table.texts_of(values))
        if not add.if_not_exists and texts[-1] in there:
            raise SqlError(
                f"ADD PARTITION of {name}: there is {shown_values(values)} already; write ADD IF NOT EXISTS PARTITION"
            )
    server.add_partitions([one for one in texts if one not in there])
    return session.no_rows


def _drop_from_server(session: SqlSession, table: FormatTable, drop: s.DropPartition) -> DataFrame:
    """Takes partitions of a format table from its server, then their directories with all files.

    Java: PaimonFormatTable.dropFormatTablePartitions. What the server does not know is not deleted.
    """
    name, server = str(drop.table), table.table.server
    if server is None:
        raise UnsupportedFeature(
            f"DROP PARTITION of {name}: the partitions of this format table are its directories, and no server of a "
            "catalog keeps them ('metastore.partitioned-table'); delete the directories"
        )
    if drop.purge:
        raise UnsupportedFeature(
            f"DROP PARTITION of {name} with PURGE: the files of a format table are deleted without it; leave PURGE out"
        )
    there = table.partitions()
    gone: dict[str, FormatPartition] = {}
    for spec in drop.partitions:
        values = leading_values(session.spark, name, table.schema, spec)
        texts = table.texts_of(values)
        found = [one for one in there if texts.items() <= one.texts.items()]
        if not found and len(values) == len(table.schema.partition_keys) and not drop.if_exists:
            raise SqlError(
                f"DROP PARTITION of {name}: there is no {shown_values(values)}, and no partition was dropped; DROP IF "
                "EXISTS passes over those that are not there"
            )
        gone |= {one.path: one for one in found}
    if gone:
        server.drop_partitions([dict(one.texts) for one in gone.values()])
        for path in gone:
            delete_tree(table.table.file_io, path)
    return session.no_rows


def run_repair(session: SqlSession, repair: s.RepairTable) -> DataFrame:
    """Tells the server that keeps the partitions of a format table of those whose directories are there, or are not.

    No file is touched (Java: FormatTablePartitionRepair).

    Raises:
        UnsupportedFeature: it is another table, which has no such list.
    """
    table = session.open_any(repair.table)
    if not isinstance(table, FormatTable) or table.table.server is None:
        raise UnsupportedFeature(
            f"REPAIR TABLE {repair.table}: a table of the catalog {session.catalog.name} has no list of partitions "
            "beside its manifests, or its directories, so there is nothing to repair; paimon-spark check verifies a "
            "table"
        )
    known, there = ({one.name: dict(one.texts) for one in found} for found in (table.partitions(), table.directories()))
    if repair.adds:
        table.table.server.add_partitions([texts for name, texts in there.items() if name not in known])
    if repair.drops:
        table.table.server.drop_partitions([texts for name, texts in known.items() if name not in there])
    return session.no_rows


def run_refresh(session: SqlSession, refresh: s.Refresh) -> DataFrame:
    """Forgets what the catalog remembers of a table. Every statement sees the latest snapshot in any case."""
    identifier = session.identifier(refresh.table)
    try:
        session.catalog.load_any_table(identifier)
    except (DatabaseNotFound, TableNotFound):
        if not refresh.if_exists:
            raise
    else:
        session.catalog.refresh(identifier)
    return session.no_rows


_COMMENT = "comment"
_LOCATION = "location"


def run_create_database(session: SqlSession, create: q.CreateDatabase) -> DataFrame:
    """Creates a database."""
    properties = dict(create.properties)
    properties |= {} if create.comment is None else {_COMMENT: create.comment}
    properties |= {} if create.location is None else {_LOCATION: path_in_session(session.spark, create.location)}
    session.catalog.create_database(create.database, properties, ignore_if_exists=create.if_not_exists)
    return session.no_rows


def run_drop_database(session: SqlSession, drop: q.DropDatabase) -> DataFrame:
    """Drops a database, with CASCADE also one that has tables. A current database that goes is current no more."""
    session.catalog.drop_database(drop.database, ignore_if_not_exists=drop.if_exists, cascade=drop.cascade)
    return session.no_rows


def run_alter_database(session: SqlSession, alter: q.AlterDatabase) -> DataFrame:
    """Changes properties of a database, where the catalog keeps any."""
    properties = dict(alter.properties)
    properties |= {} if alter.location is None else {_LOCATION: path_in_session(session.spark, alter.location)}
    session.catalog.alter_database(alter.database, properties, alter.unset)
    return session.no_rows


def run_drop_function(session: SqlSession, drop: q.DropFunction) -> DataFrame:
    """Drops a function that a REST catalog stores; other catalogs have none, which IF EXISTS passes over."""
    session.catalog.drop_function(Identifier(drop.database, drop.function), ignore_if_not_exists=drop.if_exists)
    return session.no_rows


def run_use(session: SqlSession, use: q.UseDatabase) -> DataFrame:
    """Chooses the database in which names without a catalog are looked up, or gives such names to Spark."""
    done = ask_spark(session, use.text) if use.database is None else None
    session.use(use.database)
    return session.no_rows if done is None else done
