"""Reads the rows of a file of lines, in the format csv, json or text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from paimon_spark.arrow.text_files.csv_lines import check_csv, csv_rows
from paimon_spark.arrow.text_files.json_lines import json_rows
from paimon_spark.arrow.text_files.lines import lines_of
from paimon_spark.arrow.text_files.text_values import PLAIN
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.options.option import Settings
from paimon_spark.format.options.text_file_settings import CsvSettings, JsonSettings, TextSettings
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root

_SETTINGS: Mapping[str, type[Settings]] = {"csv": CsvSettings, "json": JsonSettings, "text": TextSettings}
TEXT_FORMATS = tuple(_SETTINGS)
_TEXT = DataType(Root.VARCHAR, length=MAX_LENGTH)


def check_text_files(doing: str, file_format: str, options: Mapping[str, str], fields: Sequence[DataField]) -> None:
    """Checks that files of a format can hold columns, and that the options of the format are valid.

    Args:
        doing: what is done, for messages.
        file_format: one of TEXT_FORMATS.
        fields: the columns of the files.

    Raises:
        OptionError: an option has a value that Java refuses, or that it understands in another way.
        UnsupportedFeature: a type that such files do not have here.
    """
    settings = _SETTINGS[file_format](options)
    for option in settings.declared():
        option.read(settings)
    if isinstance(settings, CsvSettings):
        check_csv(settings)
    if isinstance(settings, TextSettings) and (len(fields) != 1 or fields[0].type.with_nullable(True) != _TEXT):
        names = ", ".join(f"{field.name} {type_sql(field.type)}" for field in fields)
        raise UnsupportedFeature(
            f"{doing}: files of the format 'text' have one column of the type STRING and no others, and not {names}"
        )
    for field in fields:
        wrong = _refused(field.type, file_format)
        if wrong is not None:
            raise UnsupportedFeature(
                f"{doing}: the column '{field.name}' has the type {type_sql(wrong)}, which this release does not read "
                f"in files of the format '{file_format}'; use the format parquet for it"
            )


def read_text_file(
    source: Any,
    path: str,
    file_format: str,
    options: Mapping[str, str],
    fields: Sequence[DataField],
    names: Sequence[str],
) -> Iterator[pa.RecordBatch]:
    """The rows of a file, in blocks, in some of its columns.

    The rows do not depend on the columns that are asked for. In Java they do where a text is no value of its column:
    it does not look at other columns than those that are asked for.

    Args:
        source: the file; the caller closes it.
        path: of the file, which tells how it is compressed.
        file_format: one of TEXT_FORMATS.
        options: of the table.
        fields: the columns of the file, in their order.
        names: those that are wanted.

    Raises:
        CorruptFile: the file is damaged, or it has a value that is none of its column and the options make it an error.
        UnsupportedFeature: a text or a compression that Java reads and this release does not.
    """
    if file_format == "csv":
        csv, is_first = CsvSettings(options), True
        last = max((place + 1 for place, field in enumerate(fields) if field.name in names), default=1)
        for lines in lines_of(source, path, csv.line_delimiter):
            rows = lines[1:] if csv.header and is_first else lines
            is_first = False
            yield csv_rows(rows, fields, last, csv, path).select(list(names))
    elif file_format == "json":
        json = JsonSettings(options)
        by_name = {field.name: field for field in fields}
        wanted = [by_name[name] for name in names]
        for lines in lines_of(source, path, json.line_delimiter):
            yield json_rows(lines, wanted, json, path)
    else:
        for lines in lines_of(source, path, TextSettings(options).line_delimiter):
            yield pa.RecordBatch.from_arrays([lines], [fields[0].name]).select(list(names))


def _refused(data_type: DataType, file_format: str) -> DataType | None:
    """The type, or one within it, that files of the format do not have here; None: it has all."""
    if data_type.root in PLAIN:
        return None
    if file_format != "json" or data_type.root not in (Root.ARRAY, Root.MAP, Root.ROW):
        return data_type
    if data_type.root is Root.MAP and data_type.key_type.root not in PLAIN:
        return data_type
    parts = [field.type for field in data_type.fields] if data_type.root is Root.ROW else [data_type.inner]
    return next((found for part in parts if (found := _refused(part, file_format)) is not None), None)
