"""One batch of changes into one table: its columns follow, dead letters are kept apart, the changes are written.

The table stands behind a small interface, so that this room needs no PaimonTable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from paimon_spark.cdc.batches.decoding import (
    ERROR,
    KEY,
    OFFSET,
    ORDER_COLUMNS,
    PARTITION,
    ROW_KIND,
    TOPIC,
    VALUE,
    Decoding,
)
from paimon_spark.cdc.batches.inferred_columns import column_changes
from paimon_spark.cdc.formats.mysql_types import type_mappings
from paimon_spark.errors import DataError, OptionError
from paimon_spark.format.options.engines import ChangelogProducer, MergeEngine
from paimon_spark.format.types import Root
from paimon_spark.spark.adapters.errors import raised
from paimon_spark.spark.adapters.live_session import check_frame
from paimon_spark.spark.adapters.types import CHAR_VARCHAR, declared_type
from paimon_spark.spark.cdc.decode import columns_of_messages, decoded_frame, message_columns, routed_frame
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.stream_notes.notes import find_note
from paimon_spark.store.stream_sink.batch import stream_user
from paimon_spark.writes.options import CREATES_TABLE, MERGE_SCHEMA, ROW_KIND_COLUMN, TYPE_WIDENING
from paimon_spark.writes.write_job import WriteResult

Once = tuple[str, int]
"""The name of a stream and the number of its batch: what is written under them is written once."""
_LETTERS = (ERROR, VALUE, KEY, TOPIC)


class Target(Protocol):
    """A table that rows are written to."""

    def open(self) -> Table:
        """The table as it is now."""

    def append(self, rows: DataFrame, options: Mapping[str, str], once: Once | None) -> WriteResult:
        """Adds rows, unless they were added under the same name before."""


@dataclass(frozen=True)
class SyncPlan:
    """What becomes of the batches of a stream.

    Attributes:
        decoding: how messages are decoded; None: the batches hold rows.
        options: of the writes.
    """

    decoding: Decoding | None
    options: Mapping[str, str]


def sync_batch(
    batch: DataFrame, plan: SyncPlan, target: Target, letters: Target | None, once: Once | None
) -> WriteResult:
    """Writes the changes of a batch.

    Args:
        batch: messages, or rows with their kinds as ``decode`` makes them.
        letters: where dead letters go; None: there must be none.
        once: the name under which the batch is written once.

    Raises:
        PaimonError: the changes do not fit the table; nothing was written, but columns may have been added.
    """
    if plan.decoding is None:
        return write_changes(batch, {TYPE_WIDENING: "true", **plan.options}, target, letters, once)
    messages = message_columns(batch)
    routed = routed_frame(messages, replace(plan.decoding, dead_letters=True)).persist()
    try:
        decoding = followed(target.open(), routed, plan.decoding, once)
        rows = decoded_frame(messages, replace(decoding, dead_letters=letters is not None))
        return write_changes(rows, plan.options, target, letters, once)
    finally:
        routed.unpersist()


def followed(table: Table, routed: DataFrame, decoding: Decoding, once: Once | None) -> Decoding:
    """Gives the table the columns and types that messages tell; the result decodes them for it.

    A batch that comes again does not change the columns again: they may have been dropped on purpose since.

    Raises:
        SchemaError: a column would need a type that it cannot become.
    """
    mappings = type_mappings(decoding.type_mapping)
    schema = table.schema
    for columns in () if once is not None and _came_before(table, once) else columns_of_messages(routed):
        changes = column_changes(schema.fields, columns, mappings, decoding.case_sensitive)
        if changes:
            schema = alter_table(table, changes, decoding.case_sensitive)
    return replace(decoding.for_columns(schema.fields, schema.primary_keys), whole=True)


def _came_before(table: Table, once: Once) -> bool:
    """True if the commit of a batch was begun before: its note is written after the columns have followed."""
    note = find_note(table, stream_user(table, once[0]))
    return note is not None and note.batch >= once[1]


def write_changes(
    rows: DataFrame, options: Mapping[str, str], target: Target, letters: Target | None, once: Once | None
) -> WriteResult:
    """Writes rows with their kinds, the changes of a key in the order of their messages.

    Args:
        options: of the writes, which may add columns. Rows of ``followed`` need no wider types, and must make none:
            Spark shows some types as wider ones, such as TIMESTAMP(3) as TIMESTAMP(6), of which Flink takes no
            watermark.

    Raises:
        OptionError: the rows have no kinds, or nothing says their order.
        PaimonError: they do not fit the table.
    """
    if ROW_KIND not in rows.columns:
        raise OptionError(
            f"the rows have no column '{ROW_KIND}': make them with paimon_spark.cdc.decode, or give format="
        )
    table = target.open()
    if ERROR in rows.columns:
        if letters is None:
            raise OptionError("the rows hold dead letters: say with dead_letters= which table they go to")
        rows = rows.persist()
        try:
            letters.append(_dead_letters(rows), {CREATES_TABLE: "true"}, _once_for_letters(once, table))
            return _write(rows.where(sf.col(ERROR).isNull()).drop(*_LETTERS), options, table, target, once)
        finally:
            rows.unpersist()
    return _write(rows, options, table, target, once)


def _write(rows: DataFrame, options: Mapping[str, str], table: Table, target: Target, once: Once | None) -> WriteResult:
    changes = _ordered(rows, table) if table.schema.primary_keys else _inserts(rows, table)
    changes = _with_own_texts(changes, table)
    given = {MERGE_SCHEMA: "true", **options}
    if table.schema.primary_keys:
        given[ROW_KIND_COLUMN] = ROW_KIND
    return target.append(changes.drop(*ORDER_COLUMNS), given, once)


def _with_own_texts(rows: DataFrame, table: Table) -> DataFrame:
    """Rows whose STRING columns are declared as the CHAR columns of the table, and as texts by which rows are found.

    These keep their type, as in other writes: a STRING would widen a CHAR, and cannot widen a key.
    """
    kept = {*table.schema.primary_keys, *table.schema.partition_keys}
    own = {
        field.name.lower(): declared_type(field.type)
        for field in table.schema.fields
        if field.type.root is Root.CHAR or (field.type.root is Root.VARCHAR and field.name in kept)
    }
    for field in rows.schema.fields:
        if isinstance(field.dataType, st.StringType) and field.name.lower() in own:
            rows = rows.withMetadata(field.name, {CHAR_VARCHAR: own[field.name.lower()], **field.metadata})
    return rows


def _once_for_letters(once: Once | None, table: Table) -> Once | None:
    """A name of its own for each table: several may have the same table for their dead letters."""
    return None if once is None else (f"{once[0]}-{sha256(table.location.encode()).hexdigest()[:8]}", once[1])


def _dead_letters(rows: DataFrame) -> DataFrame:
    names = {ERROR: "error", TOPIC: "topic", PARTITION: "partition", OFFSET: "offset", KEY: "key", VALUE: "value"}
    failed = rows.where(sf.col(ERROR).isNotNull())
    return failed.select(*(sf.col(name).alias(plain) for name, plain in names.items()))


def _ordered(rows: DataFrame, table: Table) -> DataFrame:
    """The changes of each key in one partition, in the order of their messages; -U only where it says something."""
    if not takes_updates_before(table):
        rows = rows.where(sf.col(ROW_KIND) != "-U")
    known = {name.lower(): name for name in rows.columns}
    keys = [known[key.lower()] for key in table.schema.primary_keys if key.lower() in known]
    order = [name for name in ORDER_COLUMNS if name in rows.columns]
    if not keys or not order:
        missing = (
            f"the key {', '.join(table.schema.primary_keys)}" if not keys else f"any of {', '.join(ORDER_COLUMNS)}"
        )
        raise OptionError(f"the rows for the table at {table.location} lack {missing}, so their order is not known")
    return rows.repartition(*keys).sortWithinPartitions(*order)


def takes_updates_before(table: Table) -> bool:
    """True if rows as they were before an update change anything (Java: the changelog mode of Flink's sink).

    Where a key is unique only within its partition, they take back the row that an update moves to another one.
    """
    moves = tuple(table.unique_names) != table.schema.primary_keys
    if moves and table.settings.merge_engine is MergeEngine.DEDUPLICATE:
        return True
    if table.settings.changelog_producer is ChangelogProducer.INPUT:
        return True
    engine = table.settings.merge_engine
    aggregates = any(key.endswith("aggregate-function") for key in table.settings)
    return engine is MergeEngine.AGGREGATION or (engine is MergeEngine.PARTIAL_UPDATE and aggregates)


def _inserts(rows: DataFrame, table: Table) -> DataFrame:
    """The rows of a table without a key, which can only grow."""
    text = f"the table at {table.location} has no primary key, so it cannot take the change of a row: "
    failed = raised(DataError, sf.concat(sf.lit(text), sf.col(ROW_KIND)))
    inserted: Column = sf.when(sf.col(ROW_KIND) == "+I", True).otherwise(failed)
    return rows.where(inserted).drop(ROW_KIND)


def check_stream(rows: DataFrame, checkpoint: str | None) -> None:
    """Checks what a stream needs.

    Raises:
        OptionError: its checkpoint is not named, which names it.
        SessionStopped: its session was stopped.
    """
    if check_frame(rows).isStreaming and checkpoint is None:
        raise OptionError(
            "a stream needs checkpoint=, the directory in which Spark keeps where it stands: the identity of the "
            "stream in it makes sure that each batch is written once"
        )
