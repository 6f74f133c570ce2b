"""One batch of the changes of many tables, each written to a table of its own (Java: SyncDatabaseActionBase)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from paimon_spark.cdc.batches.decoding import Decoding
from paimon_spark.cdc.batches.inferred_columns import fields_of, inferred_columns
from paimon_spark.cdc.batches.routing import COLUMNS, DATABASE, KEYS, PROBLEM, TABLE, TableNames
from paimon_spark.cdc.formats.mysql_types import type_mappings
from paimon_spark.errors import DataError, SchemaError
from paimon_spark.format.rules.new_tables import assign_field_ids
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField
from paimon_spark.spark.cdc.decode import decoded_frame, message_columns, routed_frame
from paimon_spark.spark.cdc.table_sync import Once, Target, followed, write_changes
from paimon_spark.writes.options import CREATES_TABLE
from paimon_spark.writes.write_job import WriteResult

_UNKNOWN = "the message does not say of which database and table it is"


@dataclass(frozen=True)
class NewTables:
    """What tables are like that are made for the messages.

    Attributes:
        primary_keys: the columns of the key by the name of the table, or under ``*`` for all others; else those that
            the messages tell.
        partition_keys: columns by which each table is partitioned that has all of them.
        options: stored with each table.
    """

    primary_keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    partition_keys: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DatabaseTarget:
    """Where the tables are.

    Attributes:
        find: the table of a name; None: there is none.
        create: makes a table.
        letters: where dead letters go; None: there must be none.
    """

    find: Callable[[str], Target | None]
    create: Callable[[str, TableSchema], Target]
    letters: Target | None = None


@dataclass(frozen=True)
class DatabasePlan:
    """What becomes of the batches of a stream.

    Attributes:
        decoding: how messages are decoded.
        names: which tables are taken, and what they are called.
        new: what new tables are like.
        options: of the writes.
    """

    decoding: Decoding
    names: TableNames
    new: NewTables
    options: Mapping[str, str]


@dataclass(frozen=True)
class _Group:
    """The messages of the source tables that go into one table.

    Attributes:
        sources: database and name of each.
        columns: the columns inferred from the messages, as texts, in the order in which they came first.
        keys: of the first message that tells any.
    """

    sources: list[tuple[str, str]]
    columns: list[str]
    keys: tuple[str, ...]


def sync_database_batch(
    batch: DataFrame, plan: DatabasePlan, target: DatabaseTarget, once: Once | None
) -> dict[str, WriteResult]:
    """Writes the changes of a batch, table by table; a table that is not there is made.

    Returns:
        What was written, by the name of the table.

    Raises:
        DataError: a message is malformed, or does not say of which table it is, and dead letters are not kept.
        SchemaError: no key is known for a new table, or a column cannot become what the messages tell.
    """
    keeps = target.letters is not None
    routed = routed_frame(message_columns(batch), replace(plan.decoding, dead_letters=keeps)).persist()
    try:
        groups = _groups(routed, plan.names, keeps)
        if target.letters is not None:
            target.letters.append(_dead_letters(routed), {CREATES_TABLE: "true"}, once)
        return {name: _write(name, group, routed, plan, target, once) for name, group in groups.items()}
    finally:
        routed.unpersist()


def _groups(routed: DataFrame, names: TableNames, keeps: bool) -> dict[str, _Group]:
    first = sf.min("offset") if "offset" in routed.columns else sf.min(COLUMNS)
    distinct = (
        routed.where(sf.col(PROBLEM).isNull())
        .groupBy(DATABASE, TABLE, COLUMNS)
        .agg(first.alias("first"), sf.first(KEYS).alias(KEYS))
        .orderBy("first")
        .collect()
    )
    groups: dict[str, _Group] = {}
    for row in distinct:
        database, table = row[DATABASE], row[TABLE]
        if database is None or table is None:
            if keeps:
                continue
            raise DataError(f"a message cannot be synchronised: {_UNKNOWN}; use PaimonTable.sync for one table")
        if not names.takes(database, table):
            continue
        name = names.target(database, table)
        known = groups.get(name, _Group([], [], tuple(row[KEYS] or ())))
        sources = known.sources if (database, table) in known.sources else [*known.sources, (database, table)]
        groups[name] = _Group(sources, [*known.columns, row[COLUMNS]], known.keys or tuple(row[KEYS] or ()))
    return groups


def _dead_letters(routed: DataFrame) -> DataFrame:
    """Messages that are malformed, or of no known table, with what Spark's Kafka source says of them."""
    unknown = sf.col(DATABASE).isNull() | sf.col(TABLE).isNull()
    names = {"topic": "string", "partition": "int", "offset": "bigint", "key": "string", "value": "string"}
    origin = [
        (sf.col(name) if name in routed.columns else sf.lit(None)).cast(to).alias(name) for name, to in names.items()
    ]
    problem = sf.coalesce(sf.col(PROBLEM), sf.lit(_UNKNOWN)).alias("error")
    return routed.where(sf.col(PROBLEM).isNotNull() | unknown).select(problem, *origin)


def _write(
    name: str, group: _Group, routed: DataFrame, plan: DatabasePlan, target: DatabaseTarget, once: Once | None
) -> WriteResult:
    table = target.find(name)
    if table is None:
        table = target.create(name, _new_schema(name, group, plan))
    mine = sf.lit(False)
    for database, source in group.sources:
        mine = mine | ((sf.col(DATABASE) == database) & (sf.col(TABLE) == source))
    messages = routed.where(mine & sf.col(PROBLEM).isNull())
    decoding = followed(table.open(), messages, plan.decoding, once)
    keeps = target.letters is not None
    rows = decoded_frame(message_columns(messages), replace(decoding, dead_letters=keeps))
    return write_changes(rows, plan.options, table, target.letters, once)


def _new_schema(name: str, group: _Group, plan: DatabasePlan) -> TableSchema:
    """The schema of a table for the messages of a group (Java: CdcActionCommonUtils.buildPaimonSchema)."""
    given = plan.new.primary_keys
    keys = tuple(given.get(name) or given.get("*") or group.keys)
    if not keys:
        raise SchemaError(
            f"making the table {name}: its messages tell no primary key; give it with "
            f"primary_keys={{'{name}': [...]}}, or make the table before"
        )
    inferred = fields_of(map(inferred_columns, group.columns), keys, type_mappings(plan.decoding.type_mapping))
    made = replace(plan.decoding, fields=inferred).row_fields
    fields = [_column(each, keys) for each in made]
    partition = tuple(plan.new.partition_keys)
    has_all = all(key in {each.name for each in fields} for key in partition)
    numbered, highest = assign_field_ids(fields)
    return TableSchema(0, tuple(numbered), highest, partition if has_all else (), keys, dict(plan.new.options), None)


def _column(given: DataField, keys: Sequence[str]) -> DataField:
    return replace(given, type=given.type.with_nullable(given.name not in keys))
