"""Lines of values between delimiters (Java: CsvParser of release 2.0.0)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest

import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.text_files.text_values import parse_column
from paimon_spark.errors import CorruptFile
from paimon_spark.format.options.text_file_settings import CsvSettings
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import DataField

_BLANK = r"^[\t-\r\x1c-\x20\x{1680}\x{2000}-\x{2006}\x{2008}-\x{200a}\x{2028}\x{2029}\x{205f}\x{3000}]*$"
_BLANKS = re.compile(r"[\t-\r\x1c-\x20\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000]+")
_LONGEST = 100_000
"""Characters of a line that Python's reader of csv takes."""


def csv_rows(
    lines: pa.StringArray, fields: Sequence[DataField], last: int, settings: CsvSettings, path: str
) -> pa.RecordBatch:
    """The rows of lines, in the columns up to one.

    Args:
        lines: without a header.
        fields: the columns of the files.
        last: how many of them are wanted. The others are read if they decide what becomes of a row.
        path: for messages.

    Raises:
        CorruptFile: a text is no value of its column, and the mode is `failfast`.
    """
    count = last if settings.mode == "permissive" else len(fields)
    texts = _texts(lines, count, settings)
    arrays, lost, none = list[pa.Array](), None, settings.null_literal
    for field, column in zip(fields, texts, strict=False):
        given = pc.if_else(pc.equal(column, none), pa.scalar(None, pa.string()), column)
        values, bad = parse_column(given, field.type)
        if bad is not None and settings.mode == "failfast" and pc.any(bad).as_py():
            wrong = given.filter(bad)[0].as_py()
            raise CorruptFile(
                f"reading {path}: the text '{wrong:.100}' of the column '{field.name}' is no {type_sql(field.type)}, "
                f"and '{CsvSettings.mode.key}' is 'failfast': correct the file, or set the mode to 'permissive'"
            )
        if bad is not None:
            lost = bad if lost is None else pc.or_(lost, bad)
        if lost is not None and settings.mode == "permissive":
            values = pc.if_else(lost, pa.scalar(None, values.type), values)
        arrays.append(values)
    rows = pa.RecordBatch.from_arrays(arrays, [field.name for field in fields[:count]])
    return rows.filter(pc.invert(lost)) if lost is not None and settings.mode == "dropmalformed" else rows


def _texts(lines: pa.StringArray, count: int, settings: CsvSettings) -> list[pa.Array]:
    """The texts of the first columns; null where a line has none."""
    marks = [pc.match_substring(lines, mark) for mark in (settings.quote, settings.escape)]
    if not any(pc.any(found).as_py() for found in marks):
        parts = pc.list_slice(pc.split_pattern(lines, settings.field_delimiter), 0, count, return_fixed_size_list=True)
        flat = parts.flatten() if len(parts) else pa.array([], pa.string())
        columns = [flat.take(pa.array(range(place, len(flat), count), pa.int64())) for place in range(count)]
    else:
        rows = _records(lines, settings, count)
        made = list(islice(zip_longest(*rows), count))
        none = (None,) * len(lines)
        columns = [pa.array(column, pa.string()) for column in (*made, *[none] * (count - len(made)))]
    blank = pc.match_substring_regex(lines, _BLANK)
    if pc.any(blank).as_py():
        columns = [pc.if_else(blank, pa.scalar(None, pa.string()), column) for column in columns]
    return columns


def _records(lines: pa.StringArray, settings: CsvSettings, count: int) -> Iterator[Sequence[str | None]]:
    """The texts of each line: by Python's reader of csv, and one by one where Java's finds others."""
    delimiter, quote, escape = settings.field_delimiter, settings.quote, settings.escape
    texts = lines.to_pylist()
    if any(mark in "\0\r\n" for mark in (delimiter, quote, escape)):
        yield from (_fields(text, settings, count) for text in texts)
        return
    never = rf"\r\n\x00{_code(quote)}{_code(escape)}"
    plain, inner = f"[^{never}{_code(delimiter)}]", f"[^{never}]"
    q, e = _code(quote), _code(escape)
    value = rf"(?:{plain}*|{q}(?:{inner}|{q}{q}|{e}[^\r\n\x00])*{q})"
    usual = pc.and_(
        pc.match_substring_regex(lines, f"^{value}(?:{_code(delimiter)}{value})*$"),
        pc.less(pc.binary_length(lines), _LONGEST),
    )
    found = csv.reader(
        lines.filter(usual).to_pylist(), delimiter=delimiter, quotechar=quote, escapechar=escape, doublequote=True
    )
    if pc.all(usual).as_py():
        yield from found
        return
    for text, is_usual in zip(texts, usual.to_pylist(), strict=True):
        yield next(found) if is_usual else _fields(text, settings, count)


def _code(mark: str) -> str:
    return rf"\x{{{ord(mark):x}}}"


def _fields(line: str, settings: CsvSettings, count: int) -> list[str | None]:
    """The texts of one line, as Java's reader finds them character by character."""
    if line and max(line) > "\uffff":  # Java counts pairs of surrogates
        units = "".join(map(chr, memoryview(line.encode("utf-16-le")).cast("H")))
        found = _fields(units, settings, count)
        return [None if text is None else text.encode("utf-16", "surrogatepass").decode("utf-16") for text in found]
    delimiter, quote, escape = settings.field_delimiter, settings.quote, settings.escape
    texts, buffer, in_quotes, in_field, place = list[str | None](), "", False, False, 0
    while place < len(line) and len(texts) < count:
        mark, following = line[place], line[place + 1 : place + 2]
        if mark == escape:
            if (in_quotes or in_field) and following in (quote, escape) and following:
                buffer += following
                place += 1
        elif mark == quote:
            if (in_quotes or in_field) and following == quote:
                buffer += following
                place += 1
            else:
                if place > 2 and line[place - 1] != delimiter and following not in ("", delimiter):
                    buffer = "" if _BLANKS.fullmatch(buffer) else buffer + mark
                in_quotes = not in_quotes
            in_field = not in_field
        elif mark == delimiter and not in_quotes:
            texts.append(buffer)
            buffer, in_field = "", False
        else:
            buffer += mark
            in_field = True
        place += 1
    if len(texts) < count and not in_quotes:
        texts.append(buffer)
    return texts
