"""Lines with a JSON object each (Java: JsonFileReader of release 2.0.0, and Jackson's JsonNode)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from json import JSONDecoder
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.text_files.text_values import parse_column
from paimon_spark.arrow.types import arrow_type
from paimon_spark.errors import CorruptFile
from paimon_spark.format.java.text import double_text
from paimon_spark.format.options.text_file_settings import JsonSettings
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import STRINGS, DataField, DataType, Root

_SPACE = " \t\r\n"


def json_rows(lines: pa.StringArray, fields: Sequence[DataField], settings: JsonSettings, path: str) -> pa.RecordBatch:
    """The rows of lines; a line that is ``null`` has none.

    Args:
        lines: of a file.
        fields: the wanted columns; one that an object lacks is NULL.
        path: for messages.

    Raises:
        CorruptFile: a line is no object, or a value is none of its column, and errors are not ignored.
    """
    nodes = list[Any]()
    for line in lines.to_pylist():  # each line is a text of its own; the reader is one of C
        node = _object(line)
        if isinstance(node, dict):
            nodes.append(node)
        elif node is not None and not settings.ignore_errors:
            raise CorruptFile(
                f"reading {path}: the line '{line:.100}' is no JSON object: correct the file, or set "
                f"'{JsonSettings.ignore_errors.key}' to pass over such lines"
            )
    columns = []
    for field in fields:

        def wrong(node: Any, data_type: DataType, name: str = field.name) -> None:
            if not settings.ignore_errors:
                raise CorruptFile(
                    f"reading {path}: {str(node)[:100]!r} in the column '{name}' is no {type_sql(data_type)}: correct "
                    f"the file, or set '{JsonSettings.ignore_errors.key}' to read NULL"
                )

        columns.append(_column([node.get(field.name) for node in nodes], field.type, wrong))
    kinds = [pa.field(field.name, column.type) for field, column in zip(fields, columns, strict=True)]
    if not kinds:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * len(nodes), pa.struct([])))
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(kinds))


_NOTHING = object()


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


_DECODER = JSONDecoder(parse_constant=_no_number)


def _object(line: str) -> Any:
    """The first JSON value of a line, as Jackson's readTree; _NOTHING: there is none."""
    start = len(line) - len(line.lstrip(_SPACE))
    try:
        node, end = _DECODER.raw_decode(line, start)
    except (ValueError, RecursionError):
        return _NOTHING
    return _NOTHING if node is None and line[end : end + 1] not in ("", *_SPACE) else node


_Wrong = Callable[[Any, DataType], None]


def _column(nodes: list[Any], data_type: DataType, wrong: _Wrong) -> pa.Array:
    """Nodes as values of a type. wrong: called with a node that is none; if it returns, the value is null."""
    if data_type.root is Root.ARRAY:
        lists = _of_kind(nodes, list, data_type, wrong)
        items = _column(list(chain.from_iterable(one for one in lists if one)), data_type.inner, wrong)
        return pa.ListArray.from_arrays(_offsets(lists), items, arrow_type(data_type), mask=_missing(lists))
    if data_type.root is Root.MAP:
        return _maps(_of_kind(nodes, dict, data_type, wrong), data_type, wrong)
    if data_type.root is Root.ROW:
        rows = _of_kind(nodes, dict, data_type, wrong)
        children = [
            _column([None if row is None else row.get(field.name) for row in rows], field.type, wrong)
            for field in data_type.fields
        ]
        kind = arrow_type(data_type)
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=_missing(rows))
    texts = pa.array(map(_text, nodes), pa.string())
    values, bad = parse_column(texts, data_type)
    if bad is not None and pc.any(bad).as_py():
        wrong(nodes[pc.index(bad, True).as_py()], data_type)
    return values


def _of_kind(nodes: list[Any], kind: type, data_type: DataType, wrong: _Wrong) -> list[Any]:
    for node in nodes:
        if node is not None and not isinstance(node, kind):
            wrong(node, data_type)
    return [node if isinstance(node, kind) else None for node in nodes]


def _maps(dicts: list[Any], data_type: DataType, wrong: _Wrong) -> pa.Array:
    """The keys are texts, which may be one key in two forms: the last one counts, in the place of the first."""
    keys = _column(list(chain.from_iterable(one for one in dicts if one)), data_type.key_type, wrong)
    if data_type.key_type.root not in STRINGS:
        left = iter(keys.to_pylist())
        dicts = [None if one is None else {next(left): node for node in one.values()} for one in dicts]
        for one in dicts:
            if one:
                one.pop(None, None)
        keys = pa.array(list(chain.from_iterable(one for one in dicts if one)), arrow_type(data_type.key_type))
    items = _column(list(chain.from_iterable(one.values() for one in dicts if one)), data_type.inner, wrong)
    kind = arrow_type(data_type)
    offsets, missing = _offsets(dicts), _missing(dicts)
    return pa.MapArray.from_arrays(offsets, keys, items, kind, mask=missing)


def _offsets(containers: Sequence[Any]) -> pa.Array:
    return pa.array(accumulate((len(one or ()) for one in containers), initial=0), pa.int32())


def _missing(containers: Sequence[Any]) -> pa.Array:
    return pa.array((one is None for one in containers), pa.bool_())


def _text(node: Any) -> str | None:
    """Jackson's asText: numbers as Java prints them, and nothing for what has parts."""
    if node is None or isinstance(node, str):
        return node
    if isinstance(node, bool):
        return "true" if node else "false"
    if isinstance(node, int):
        return str(node)
    return double_text(node) if isinstance(node, float) else ""
