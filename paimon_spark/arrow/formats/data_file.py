"""Data files of every format behind two calls: ``open_reader`` and ``open_writer`` (format section 7).

A format is imported with the first file of that format, because a table rarely has two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paimon_spark.arrow.formats.file_access import FileReader, FileWriter, RowGroup, WriteSettings
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.types import DataField

__all__ = ["FileReader", "FileWriter", "RowGroup", "WriteSettings", "open_reader", "open_writer"]


def open_reader(
    source: Any,
    file_format: str,
    where: str,
    *,
    orc_legacy_ltz: bool = True,
    fields: Callable[[], Sequence[DataField]] | None = None,
) -> FileReader:
    """Open a data file for reading.

    Args:
        source: a pyarrow NativeFile or a binary file object with random access; the reader closes it.
        file_format: "parquet", "orc", "avro" or "row".
        where: the path, for messages.
        orc_legacy_ltz: the table option ``orc.timestamp-ltz.legacy.type``.
        fields: gives the columns of the file, for a format whose files do not tell them; None: they are not known.

    Raises:
        UnsupportedFeature: another format.
        CorruptFile: the bytes are not a file of this format.
    """
    if file_format == "parquet":
        from paimon_spark.arrow.formats.parquet_file import ParquetReader

        return ParquetReader(source, where)
    if file_format == "orc":
        from paimon_spark.arrow.formats.orc_file import OrcReader

        return OrcReader(source, where, orc_legacy_ltz)
    if file_format == "avro":
        from paimon_spark.arrow.formats.avro_data import AvroReader

        return AvroReader(source, where)
    if file_format == "row" and fields is not None:
        from paimon_spark.arrow.formats.row_file import RowReader

        return RowReader(source, where, fields())
    raise _unsupported(file_format, where)


def open_writer(sink: Any, file_format: str, fields: Sequence[DataField], settings: WriteSettings) -> FileWriter:
    """Begin a data file.

    Args:
        sink: a pyarrow NativeFile or a binary file object with write and tell, at its start; the caller closes it.
        file_format: "parquet", "orc", "avro" or "row".
        fields: the columns, with their ids; batches come in exactly ``arrow_schema(fields)``.
        settings: compression and sizes.

    Raises:
        UnsupportedFeature: another format, or a type that the format cannot hold.
        OptionError: a compression that the format cannot have.
    """
    arrow_schema(fields)  # refuses types that no format can hold, with the name of the column
    if file_format == "parquet":
        from paimon_spark.arrow.formats.parquet_writer import ParquetWriter

        return ParquetWriter(sink, fields, settings)
    if file_format == "orc":
        from paimon_spark.arrow.formats.orc_writer import OrcWriter

        return OrcWriter(sink, fields, settings)
    if file_format == "avro":
        from paimon_spark.arrow.formats.avro_data import AvroWriter

        return AvroWriter(sink, fields, settings)
    if file_format == "row":
        from paimon_spark.arrow.formats.row_file import RowWriter

        return RowWriter(sink, fields, settings)
    raise _unsupported(file_format, "to write")


def _unsupported(file_format: str, where: str) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"data file {where} has the format '{file_format}', which this release does not support: it supports parquet, "
        "orc, avro and row"
    )
