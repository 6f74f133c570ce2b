"""What ``spark.readStream`` can read: a table, or a system table that shows rows, and the columns that it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql.types import StructType

from paimon_spark.errors import DataError, OptionError, UnsupportedFeature
from paimon_spark.spark.adapters.options import ReadOptions, read_options
from paimon_spark.spark.adapters.readable_columns import Readable, asked_columns, readable_schema
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import find_system_table, open_data_table
from paimon_spark.store.stream_source.settings import STREAM, split_stream_options
from paimon_spark.store.stream_source.stream_read import SYSTEM_TABLES, StreamRead, stream_read, streamed_table
from paimon_spark.store.system_tables.table import SystemTable


@dataclass(frozen=True)
class OpenedStream:
    """What the options of ``spark.readStream`` name.

    Attributes:
        table: the table.
        system: the name of its system table that is read; None: its own rows.
        read: the options of the connector.
        stream: the options of the stream, under their official keys.
    """

    table: Table
    system: str | None
    read: ReadOptions
    stream: Mapping[str, str]

    @property
    def readable(self) -> Readable:
        """What has the columns."""
        streamed = streamed_table(self.table)
        if self.system is not None:
            return SystemTable(streamed, self.system)
        return streamed  # type: ignore[return-value]  # a ReadableTable, as it was opened

    def schema(self) -> StructType:
        """The Spark schema of the stream: see readable_schema."""
        return readable_schema(self.readable, self.read)

    def start(self, schema: StructType) -> StreamRead:
        """The stream of the columns that Spark asks for.

        Raises:
            DataError: a column has another type than Spark expects.
            OptionError: a column is not there, or an option does not fit.
        """
        try:
            columns = [field.name for field in asked_columns(self.readable, schema).values()]
        except (DataError, OptionError) as error:
            if STREAM.key in self.stream or self.stream.keys().isdisjoint(_STATES):
                raise
            raise type(error)(
                f"{error}. Spark was told the columns of the snapshot that the stream begins with, as a read of that "
                f"snapshot shows them; with the option '{STREAM.key}' = 'true' it is told those of now"
            ) from None
        return stream_read(self.table, self.stream, columns, self.read.where, system=self.system)


_STATES = frozenset({"scan.snapshot-id", "scan.tag-name", "scan.version", "scan.timestamp", "scan.timestamp-millis"})


def open_stream(options: Mapping[str, str]) -> OpenedStream:
    """What the options of a streaming read name, opened.

    Raises:
        OptionError: an option does not fit the path, or a stream.
        UnsupportedFeature: a system table cannot be streamed.
        PaimonError: nothing there can be read, as in open_table.
    """
    stream, others = split_stream_options(options)
    read = read_options(others)
    if read.push_filters or read.native:
        raise OptionError(
            f"streaming from {read.path}: 'push-filters' and 'read.native' are options of reads that "
            "end; leave them out, the options 'columns' and 'filter' make the stream smaller"
        )
    system = find_system_table(read.path, read.table, time_zone=read.time_zone)
    if system is None:
        return OpenedStream(open_data_table(read.path, read.table, time_zone=read.time_zone), None, read, stream)
    if system.name not in SYSTEM_TABLES:
        raise UnsupportedFeature(
            f"streaming from {read.path}: ${system.name} shows what is there now, and has no changes; of the system "
            f"tables, {' and '.join('$' + name for name in SYSTEM_TABLES)} can be streamed. Read it with spark.read"
        )
    if read.row_kinds:
        raise OptionError(f"streaming from {read.path}: a system table has no row kinds but those that it shows")
    return OpenedStream(system.table, system.name, read, stream)
