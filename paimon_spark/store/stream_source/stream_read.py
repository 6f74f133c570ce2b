"""What is streamed: a table or one of its system tables, columns of it, a condition, and the options of the stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from paimon_spark.arrow.predicates.expressions import Expr, as_predicate
from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.options.read_settings import TIME_TRAVEL_OPTIONS
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.write_settings import PostponeSettings
from paimon_spark.format.schema import ROW_KIND_FIELD, TableSchema, is_metadata, metadata_fields
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import chain_branches
from paimon_spark.store.read.split_reader import SplitReader
from paimon_spark.store.scan.chain_scan import ChainBranches
from paimon_spark.store.scan.read_spec import find_fields, row_kind_field
from paimon_spark.store.stream_source.chain_units import ChainUnitPlanner, check_chain_condition, streamed_chain
from paimon_spark.store.stream_source.reading import UnitReader, unit_reader
from paimon_spark.store.stream_source.settings import StreamSettings, stream_settings
from paimon_spark.store.stream_source.starts import created_since
from paimon_spark.store.stream_source.stream import SchemaWatch, TableStream
from paimon_spark.store.stream_source.units import StreamUnit, Task, UnitPlanner, share_units
from paimon_spark.store.system_tables.rows import view_fields

SYSTEM_TABLES = ("audit_log", "binlog")
"""The system tables that show rows as they come."""


@dataclass(frozen=True)
class StreamRead:
    """A stream that may be started, and read by tasks on other machines.

    Attributes:
        table: without options that choose a snapshot, in its latest schema.
        settings: what its options say of the stream.
        reader: of its units; picklable.
        chain: the branches of a chain table, of which `table` is that of changes; None: it is none.
    """

    table: Table
    settings: StreamSettings
    reader: UnitReader
    chain: ChainBranches | None = None

    def start(self, clock: Callable[[], float] = time.monotonic) -> TableStream:
        """A run of the stream.

        Args:
            clock: seconds of a clock that never goes back.
        """
        rows, overwrites = self.reader.reader, self.settings.overwrites
        if self.chain is not None:
            planner: UnitPlanner = ChainUnitPlanner(self.chain, rows.predicate, overwrites, rows.row_kinds)
        else:
            since = created_since(self.settings)
            planner = UnitPlanner(self.table, rows.predicate, overwrites, rows.row_kinds, since)
        watch = SchemaWatch(self.table, rows.fields, rows.predicate)
        return TableStream(self.table, self.settings, planner, watch, clock)

    def tasks(self, units: Sequence[StreamUnit]) -> list[Task]:
        """The units in groups, one for each task."""
        return share_units(self.table, units)


def streamed_table(table: Table) -> Table:
    """The table as a stream sees it: in its latest schema, whatever snapshot its options name.

    Postponed rows are never merged into a state, because a stream shows them when they are written or when they come
    into buckets, as the changelog producer says.
    """
    chosen = {key for option in TIME_TRAVEL_OPTIONS for key in (option.key, *option.older)}
    options = {key: value for key, value in table.settings.items() if key not in chosen}
    options[PostponeSettings.merge_on_read.key] = "false"
    stored = any(key in chosen for key in table.settings)
    latest = table.schemas.latest() if stored else None
    return replace(table, settings=TableSettings(options), schema=latest or table.schema)


def stream_read(
    table: Table,
    options: Mapping[str, str],
    columns: str | Sequence[str] | None = None,
    where: str | Expr | Predicate | None = None,
    row_kinds: bool = False,
    system: str | None = None,
) -> StreamRead:
    """A stream of a table.

    Args:
        table: opened without the options of the stream.
        options: of the stream, as split_stream_options gives them.
        columns: names in the order wanted, any letter case, or one text of names; None means all.
        where: a condition over the columns.
        row_kinds: True adds a last column ``_row_kind``, unless it is among the columns, and keeps rows that take
            others back.
        system: one of SYSTEM_TABLES, whose rows are wanted; None: those of the table.

    Raises:
        OptionError: an option does not fit, or a column does not exist.
        PredicateError: the condition does not fit the columns.
        UnsupportedFeature: this release cannot stream from the table.
    """
    settings = stream_settings(table, options)
    chain = _chain(table, settings, system)
    if chain is not None:
        table = chain.table
        settings = stream_settings(table, options)
    streamed = streamed_table(table)
    schema = stream_schema(streamed, system)
    hidden = metadata_fields(schema)
    fields: tuple[DataField, ...] = schema.fields if columns is None else find_fields(schema, columns, hidden)
    if any(map(is_metadata, fields)):
        named = ", ".join(field.name for field in fields if is_metadata(field))
        raise UnsupportedFeature(
            f"streaming from {table.location}: {named} can be read from a state only, not streamed"
        )
    if system is not None and (row_kinds or ROW_KIND_FIELD in fields):
        raise OptionError(f"streaming from {table.location}${system}: it has no row kinds but those that it shows")
    if row_kinds and ROW_KIND_FIELD not in fields:
        fields = (*fields, row_kind_field(schema))
    predicate = as_predicate(where, schema.fields, table.time_zone)
    reader = unit_reader(streamed, fields, predicate, system)
    if chain is None:
        return StreamRead(streamed, settings, reader)
    check_chain_condition(table, predicate)
    if not isinstance(reader.reader, SplitReader):
        raise UnsupportedFeature(
            f"streaming from the chain table {table.location}: its server lets the user read a part of the rows or "
            "values, and answers for one branch at a time; stream the branch of changes, with the option 'branch'"
        )
    rows = replace(reader.reader, branches={chain.whole.branch: chain.whole})
    return StreamRead(streamed, settings, replace(reader, reader=rows), replace(chain, table=streamed))


def _chain(table: Table, settings: StreamSettings, system: str | None) -> ChainBranches | None:
    """The branches of a chain table; None: it is none, or is opened on one of them.

    Raises:
        UnsupportedFeature: a system table of it is to be streamed; or as of ``streamed_chain``.
        OptionError: as of ``streamed_chain``.
    """
    if chain_branches(table.settings, table.branch) is None:
        return None
    if system is not None:
        raise UnsupportedFeature(
            f"streaming from the chain table {table.location}${system}: its state is made of two branches; stream that "
            "of one of them, with the option 'branch'"
        )
    return streamed_chain(table, settings)


def stream_schema(table: Table, system: str | None) -> TableSchema:
    """The columns of what is streamed."""
    if system is None:
        return table.schema
    fields = view_fields(system, table)
    return TableSchema(0, fields, len(fields))
