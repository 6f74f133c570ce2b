"""What Spark asks of a table: its columns and properties, a scan, a write.

Java: org.apache.spark.sql.connector.catalog.{Table, SupportsRead, SupportsWrite, SupportsMetadataColumns,
TruncatableTable, SupportsRowLevelOperations}.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import types as st

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.types import DataField, DataType
from paimon_spark.spark.adapters.types import (
    CHAR_VARCHAR,
    CURRENT_DEFAULT,
    nullable_type,
    shown_schema,
    spark_schema,
    with_lengths,
)
from paimon_spark.spark.spark_catalog.jvm_objects import Java, JvmObjects, dict_of
from paimon_spark.spark.spark_catalog.scan_builder import ScanBuilder, scan_builder
from paimon_spark.spark.spark_catalog.scans import plans_stream
from paimon_spark.spark.spark_catalog.sessions import NamedTable
from paimon_spark.spark.spark_catalog.spark_internals import struct_of
from paimon_spark.spark.statements.table_words import shown_properties
from paimon_spark.store.file_tables.format_table import FormatTable
from paimon_spark.store.file_tables.object_table import ObjectTable
from paimon_spark.store.open import OpenTable, ReadableTable
from paimon_spark.store.system_tables.names import METADATA_NAMES

_CONNECTOR = "org.apache.spark.sql.connector."
_CATALOG = _CONNECTOR + "catalog."
_TRANSFORM = _CONNECTOR + "expressions.Transform"
_STATES_OF_SPARK = ("versionasof", "timestampasof")
_EXISTS_DEFAULT = "EXISTS_DEFAULT"
_OF_EVERY_TABLE = {"provider": "paimon", "is_managed_location": "true"}
_INTERFACES = (
    "SupportsRead",
    "SupportsWrite",
    "SupportsMetadataColumns",
    "TruncatableTable",
    "SupportsRowLevelOperations",
)
_READS = ("BATCH_READ", "MICRO_BATCH_READ")
_WRITES = ("V1_BATCH_WRITE", "BATCH_WRITE", "STREAMING_WRITE", "TRUNCATE", "OVERWRITE_BY_FILTER", "OVERWRITE_DYNAMIC")
_WRITES_OF_FILES = tuple(kind for kind in _WRITES if kind != "STREAMING_WRITE")


def table_of_spark(of: NamedTable, options: Mapping[str, str]) -> Java:
    """A table as Spark has it: two of one state are equal, so that a cached one is found again. An object table has no
    states.

    Args:
        options: of its reads, among them the state that a query names.

    Raises:
        TableNotFound: there is none.
        PaimonError: it cannot be read with the options.
    """
    table, objects = of.open_any(options), of.objects
    if not isinstance(table, ReadableTable):
        return listed_table(of, options)
    constants = {
        **_named(of, table.schema.fields, table.schema.partition_keys),
        "properties": objects.map(_properties(table)),
        "capabilities": _capabilities(objects, (*_READS, *_WRITES)),
        "metadataColumns": objects.kept(table.hidden_fields, lambda: _metadata_columns(objects, table.hidden_fields)),
        "canRenameConflictingMetadataColumns": True,
    }
    latest = table.snapshots.latest_id()
    state = f"{of.session.catalog!r}, schema {table.schema.id}, snapshot {latest}, {sorted(options.items())}"
    return objects.make(
        [_CATALOG + kind for kind in _INTERFACES],
        TableCalls(of, table, dict(options)),
        constants,
        f"{of.full_name} ({state})",
    )


@dataclass(frozen=True)
class TableCalls:
    """Answers for a table.

    Attributes:
        of: its name.
        table: as it is opened.
        options: of its reads.
    """

    of: NamedTable
    table: ReadableTable
    options: Mapping[str, str]

    def newScanBuilder(self, options: Java) -> Java:
        """Spark hands over the options of the reader, or of ``WITH (...)``; a state that they name it has asked for.

        A stream has the columns of now, wherever it begins.
        """
        more = {key: value for key, value in dict_of(options).items() if key.lower() not in _STATES_OF_SPARK}
        given = {**self.options, **more}
        if more and plans_stream(self.of.objects):
            from paimon_spark.store.stream_source.settings import split_stream_options

            self.of.open(split_stream_options(given)[1])  # which refuses what is no option
            return scan_builder(ScanBuilder(self.of, self.table, given))
        table = self.of.open(given) if more else self.table
        self._check_columns(table, more)
        return scan_builder(ScanBuilder(self.of, table, given))

    def _check_columns(self, table: ReadableTable, options: Mapping[str, str]) -> None:
        """Refuses a state with other columns than Spark has been told of, whose values it would read by their type.

        Raises:
            OptionError: the columns of the state differ.
        """
        if table is self.table or _plain_columns(table) == _plain_columns(self.table):
            return
        raise OptionError(
            f"reading {self.of.full_name} with the option {', '.join(options)}: the columns of that state are "
            f"{', '.join(table.schema.names)} with their types of then, and Spark has those that the table has now; "
            "choose the state by option('versionAsOf', '<snapshot or tag>') or option('timestampAsOf', '<time>'), in "
            "SQL by VERSION AS OF or TIMESTAMP AS OF"
        )

    def newWriteBuilder(self, info: Java) -> Java:
        return _write_builder(self.of, info)

    def truncateTable(self, *options: Java) -> bool:
        self.of.session.table(self.of.name).truncate()
        return True

    def newRowLevelOperationBuilder(self, info: Java) -> Java:
        """Spark asks for ``df.mergeInto``; the statements of ``spark.sql`` are read before (see statement_parser).

        Raises:
            UnsupportedFeature: always. Spark plans the rows that change by classes of Java, of which there are none.
        """
        name = self.of.full_name
        raise UnsupportedFeature(
            f"{info.command().toString()} of {name}: df.mergeInto that updates or deletes, scripts (BEGIN ... END), "
            "EXPLAIN and a name in IDENTIFIER(<expression>) do not work with tables of Paimon, whose rows Spark does "
            "not change itself; write spark.sql('MERGE INTO "
            f"{name} t USING <view> s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * ...'), or "
            f"PaimonTable.forName(spark, '{name}').merge(df, '<condition>')"
        )


def _plain_columns(table: ReadableTable) -> list[tuple[str, DataType]]:
    return [(field.name, field.type.with_nullable(True)) for field in table.schema.fields]


def listed_table(of: NamedTable, options: Mapping[str, str]) -> Java:
    """A system table, or an object table, whose rows can be read.

    Raises:
        TableNotFound: there is no such table, or no such system table.
    """
    table = of.listed(options)
    shows_rows = of.name.system is not None and of.name.system not in METADATA_NAMES
    keys = of.open({}).schema.partition_keys if shows_rows else table.schema.partition_keys
    constants = {
        **_named(of, table.schema.fields, keys),
        "properties": of.objects.map(_properties(table) if isinstance(table, ObjectTable | FormatTable) else {}),
        "capabilities": _capabilities(of.objects, _READS if shows_rows else _READS[:1]),
    }
    if isinstance(table, FormatTable):
        constants["capabilities"] = _capabilities(of.objects, (*_READS[:1], *_WRITES_OF_FILES))
        kinds = [_CATALOG + "SupportsRead", _CATALOG + "SupportsWrite"]
        return of.objects.make(kinds, FormatTableCalls(of, options, is_pruned=True), constants)
    return of.objects.make([_CATALOG + "SupportsRead"], SystemTableCalls(of, options, is_pruned=False), constants)


@dataclass(frozen=True)
class SystemTableCalls:
    """Answers for a system table or a table of files; attributes as of TableCalls.

    Attributes:
        is_pruned: whether conditions leave out files, so that Spark is to tell them.
    """

    of: NamedTable
    options: Mapping[str, str]
    is_pruned: bool

    def newScanBuilder(self, options: Java) -> Java:
        from paimon_spark.spark.spark_catalog.system_scan import SystemScanBuilder

        pushed = ("RequiredColumns", "V2Filters") if self.is_pruned else ("RequiredColumns",)
        return self.of.objects.make(
            [f"{_CONNECTOR}read.SupportsPushDown{what}" for what in pushed],
            SystemScanBuilder(self.of, {**self.options, **dict_of(options)}),
        )


class FormatTableCalls(SystemTableCalls):
    """Answers for a format table, which rows can be written to."""

    def newWriteBuilder(self, info: Java) -> Java:
        return _write_builder(self.of, info)


def _write_builder(of: NamedTable, info: Java) -> Java:
    from paimon_spark.spark.spark_catalog.write_builder import write_builder

    return write_builder(of, info)


def _named(of: NamedTable, fields: Sequence[DataField], keys: Iterable[str]) -> dict[str, Any]:
    """What every table has: a name, columns, partition columns."""
    identity = of.objects.static(_CONNECTOR + "expressions.Expressions.identity")
    return {
        "name": of.full_name,
        "schema": struct_of(of.objects, _columns(of.objects, fields)),
        "partitioning": of.objects.array(_TRANSFORM, [identity(key) for key in keys]),
    }


def _columns(objects: JvmObjects, fields: Sequence[DataField]) -> st.StructType:
    """The columns as Spark declares them: with CHAR and VARCHAR, and default values for INSERT in the metadata.

    All may hold NULL, as those of every scan of ours do: from a scan whose columns may, the optimizer does not let rows
    be written to columns that may not. The write refuses NULL itself. In the plan of a stream Spark takes no CHAR and
    VARCHAR for STRING, as it does in that of a query, and then refuses the plan: a stream sees STRING.
    """
    shown = shown_schema(spark_schema(fields))
    has_lengths = any(CHAR_VARCHAR in own.metadata for own in shown.fields)
    if has_lengths and objects.is_called_by("DataStreamReader.table"):
        return shown
    return st.StructType([_column(field, own) for field, own in zip(fields, shown.fields, strict=True)])


def _column(field: DataField, own: st.StructField) -> st.StructField:
    metadata = dict(own.metadata)
    declared = metadata.pop(CHAR_VARCHAR, None)
    if field.default_value is not None:
        metadata |= {CURRENT_DEFAULT: field.default_value, _EXISTS_DEFAULT: "NULL"}
    data_type = own.dataType if declared is None else with_lengths(own.dataType, declared)
    return st.StructField(own.name, nullable_type(data_type), True, metadata)


def _properties(table: OpenTable) -> dict[str, str]:
    """The options of the table, and what Spark shows under names of its own."""
    properties = {**shown_properties(table), **_OF_EVERY_TABLE, "location": table.location}
    properties |= {} if table.schema.comment is None else {"comment": table.schema.comment}
    return properties


def _capabilities(objects: JvmObjects, names: tuple[str, ...]) -> Java:
    known = _CATALOG + "TableCapability."
    return objects.kept(names, lambda: objects.set(objects.static(known + name) for name in names))


def _metadata_columns(objects: JvmObjects, fields: Sequence[DataField]) -> Java:
    return objects.array(_CATALOG + "MetadataColumn", [_metadata_column(objects, field) for field in fields])


def _metadata_column(objects: JvmObjects, field: DataField) -> Java:
    shown = struct_of(objects, shown_schema(spark_schema([field])))
    return objects.make(
        [_CATALOG + "MetadataColumn"],
        None,
        {"name": field.name, "dataType": shown.apply(0).dataType(), "isNullable": True},
        f"metadata column {field.name}",
    )
