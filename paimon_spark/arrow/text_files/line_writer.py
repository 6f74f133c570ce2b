"""Writes rows as lines that Java reads as the same rows (Java: CsvFormatWriter, JsonFormatWriter, TextFormatWriter).

Java's own writers lose what its readers take for marks: in csv escape characters, ends of lines, and texts that are the
literal for NULL; in text ends of lines, NULL, and a mark of UTF-8 at the begin. Here escape characters and that mark
are doubled, and the others are refused.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.arrow.text_casts import cast_texts
from paimon_spark.arrow.text_files.compression import CompressedSink
from paimon_spark.arrow.text_files.lines import USUAL_ENDS
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.options.text_file_settings import CsvSettings, JsonSettings, TextSettings
from paimon_spark.format.types import BINARIES, INTEGERS, DataField, DataType, Root

_BARE = r"^[\t-\r\x1c-\x20\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{205f}\x{3000}]*$|^\x{feff}"
"""Texts that need quotes at the begin of a line, or as a whole line."""
_MARK = "\ufeff"
"""Of UTF-8: at the begin of a file readers leave one out."""


class LineWriter:
    """One file of lines being written; see FileWriter."""

    def __init__(
        self,
        sink: Any,
        file_format: str,
        fields: Sequence[DataField],
        options: Mapping[str, str],
        compression: str = "none",
    ) -> None:
        """file_format: csv, json or text; compression: as of CompressedSink.

        Raises:
            UnsupportedFeature: there is no such compression, or a text of the options is of no use.
        """
        self._sink, self._fields, self._packed = sink, fields, CompressedSink(sink, compression)
        self._csv = CsvSettings(options) if file_format == "csv" else None
        self._is_json = file_format == "json"
        settings = self._csv or (JsonSettings(options) if self._is_json else TextSettings(options))
        self._end, self._is_empty = settings.line_delimiter, True
        if self._csv is not None and any(mark in self._csv.null_literal for mark in _marks(self._csv)):
            raise UnsupportedFeature(
                f"writing csv with '{CsvSettings.null_literal.key}' = {self._csv.null_literal!r}: a reader would take "
                "marks in it for marks; choose another text for NULL"
            )
        if self._csv is not None and self._csv.header:
            names = [pa.array([field.name], pa.string()) for field in fields]
            self._put([_csv_line(names, fields, self._csv)[0].as_py()])

    @property
    def bytes_estimate(self) -> int:
        return int(self._sink.tell())

    def write(self, batch: pa.RecordBatch) -> None:
        """Adds rows.

        Raises:
            DataError: a text would be read as another value.
        """
        if self._csv is not None:
            texts = [_texts(column, field.type) for column, field in zip(batch.columns, self._fields, strict=True)]
            self._put(_csv_line(texts, self._fields, self._csv).to_pylist())
        elif self._is_json:
            nodes = [_nodes(column, field.type) for column, field in zip(batch.columns, self._fields, strict=True)]
            names = [field.name for field in self._fields]
            rows = (dict(zip(names, row, strict=True)) for row in zip(*nodes, strict=True))
            self._put([json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows])
        else:
            self._put_texts(batch.column(0))

    def close(self) -> None:
        """Writes the end of the compression; the file stays open."""
        self._packed.finish()

    def stats(self) -> Mapping[str, ColumnStats]:
        """None: nobody reads statistics of lines."""
        return {}

    def _put_texts(self, column: pa.Array) -> None:
        if column.null_count:
            raise DataError(
                f"the column '{self._fields[0].name}' has a NULL, and a line of the format text is never NULL: readers "
                "would find an empty text; leave such rows out, or use the format csv or json"
            )
        lines = column.to_pylist()
        if self._is_empty and self._end in USUAL_ENDS and lines and lines[0].startswith(_MARK):
            self._packed.write(_MARK.encode())
        self._put(lines)

    def _put(self, lines: Sequence[str]) -> None:
        ends = ("\n", "\r") if self._end in USUAL_ENDS else (self._end,)
        begins = [] if self._end in USUAL_ENDS else [self._end[:size] for size in range(1, len(self._end))]
        wrong = next((line for line in lines if _is_broken(line, ends, begins)), None)
        if wrong is not None:
            raise DataError(
                f"the row {wrong!r:.100} has the end of a line in a value, or the begin of one at its end, which "
                "readers take for the end of the row; replace it, set another line delimiter, or use the format json"
            )
        if lines:
            self._packed.write((self._end.join(lines) + self._end).encode())
            self._is_empty = False


def _is_broken(line: str, ends: Sequence[str], begins: Sequence[str]) -> bool:
    """True if readers find the end of the line elsewhere. begins: of a delimiter of several characters."""
    return any(end in line for end in ends) or any(line.endswith(begin) for begin in begins)


def _marks(settings: CsvSettings) -> tuple[str, ...]:
    return (settings.field_delimiter, settings.quote, settings.escape, "\n", "\r")


def _csv_line(texts: Sequence[pa.Array], fields: Sequence[DataField], settings: CsvSettings) -> pa.Array:
    """The lines of columns of texts."""
    delimiter, quote, escape, null = settings.field_delimiter, settings.quote, settings.escape, settings.null_literal
    columns = []
    for column, field in zip(texts, fields, strict=True):
        if pc.any(pc.equal(column, null)).as_py():
            raise DataError(
                f"the column '{field.name}' has the text '{null}', which readers take for NULL: write NULL, or set "
                f"'{CsvSettings.null_literal.key}' to a text that no value is"
            )
        marked = pc.match_substring_regex(column, _BARE)
        for mark in (delimiter, quote, escape):
            marked = pc.or_(marked, pc.match_substring(column, mark))
        if "\0" in (quote, escape) and pc.any(marked).as_py():
            raise DataError(
                f"the column '{field.name}' has a text that needs quotes, and '{CsvSettings.quote.key}' or "
                f"'{CsvSettings.escape.key}' says that there are none"
            )
        safe = pc.replace_substring(column, escape, escape * 2)
        safe = pc.replace_substring(safe, quote, escape + quote)
        quoted = pc.binary_join_element_wise(quote, safe, quote, "")
        columns.append(pc.fill_null(pc.if_else(marked, quoted, column), null))
    return columns[0] if len(columns) == 1 else pc.binary_join_element_wise(*columns, delimiter)


def _texts(column: pa.Array, data_type: DataType) -> pa.Array:
    """The values of a plain type as Java's readers take them."""
    if data_type.root in BINARIES:
        return pa.array([None if v is None else b64encode(v).decode() for v in column.to_pylist()], pa.string())
    if data_type.root in INTEGERS or data_type.root is Root.BOOLEAN:
        return column.cast(pa.string())
    return cast_texts(column, data_type)


def _nodes(column: pa.Array, data_type: DataType) -> list[Any]:
    """The values as JSON has them: texts, lists and objects."""
    if data_type.root is Root.ROW:
        parts = [_nodes(child, field.type) for child, field in zip(column.flatten(), data_type.fields, strict=True)]
        names = [field.name for field in data_type.fields]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*parts, strict=True)]
        return [row if valid else None for row, valid in zip(rows, column.is_valid().to_pylist(), strict=True)]
    if data_type.root not in (Root.ARRAY, Root.MAP):
        found: list[Any] = _texts(column, data_type).to_pylist()
        return found
    if data_type.root is Root.MAP:
        keys, items = _nodes(column.keys, data_type.key_type), _nodes(column.items, data_type.inner)
    else:
        keys, items = [], _nodes(column.values, data_type.inner)
    made = list[Any]()
    for valid, start, end in zip(
        column.is_valid().to_pylist(), column.offsets[:-1].to_pylist(), column.offsets[1:].to_pylist(), strict=True
    ):
        part = items[start:end]
        value = dict(zip(keys[start:end], part, strict=True)) if data_type.root is Root.MAP else part
        made.append(value if valid else None)
    return made
