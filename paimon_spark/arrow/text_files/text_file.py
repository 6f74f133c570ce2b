"""Reads the rows of a file of lines, in the format csv, json or text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from paimon_spark.arrow.text_files.csv_lines import csv_rows
from paimon_spark.arrow.text_files.json_lines import json_rows
from paimon_spark.arrow.text_files.lines import lines_of
from paimon_spark.format.options.text_file_settings import CsvSettings, JsonSettings, TextSettings
from paimon_spark.format.types import DataField

TEXT_FORMATS = ("csv", "json", "text")


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
