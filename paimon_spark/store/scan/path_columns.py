"""Columns that are parts of VARIANT values: ``v:user.id::BIGINT`` in a list of columns, and in the text of a condition.

A condition may also have ``variant_get(v, '$.user.id', 'bigint')`` and ``try_variant_get``. Each part gets a field of
its own, which the text of the condition then names, so that all of SQL goes for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from paimon_spark.arrow.shredding.casts import is_supported
from paimon_spark.arrow.shredding.paths import Path, PathColumn
from paimon_spark.errors import OptionError, PredicateError, SchemaError, UnsupportedFeature
from paimon_spark.format.quoting import quoted
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_type, type_sql
from paimon_spark.format.types import DataField, DataType, Root

_FIRST_ID = -1000
_INDEX = r"\[\d+\]|\['[^'\]]+'\]|\[\"[^\"\]]+\"\]"
_STEP = rf"(?:\.\w+|{_INDEX})"
_TYPE = r"[A-Za-z]+(?:\s*\(\s*\d+\s*(?:,\s*\d+\s*)?\))?"
_COLON = rf"(?P<column>\w+):(?P<first>\w+|{_INDEX})(?P<more>{_STEP}*)::(?P<type>{_TYPE})"
_CALL = (
    r"(?P<try>try_)?variant_get\s*\(\s*(?P<of>\w+)\s*,\s*(?P<quote>['\"])\$(?P<path>(?:(?!(?P=quote)).|\[['\"])*?)"
    r"(?P=quote)\s*,\s*(?P<mark>['\"])(?P<as>[^'\"]+)(?P=mark)\s*\)"
)
_PART = re.compile(_CALL + "|" + _COLON, re.IGNORECASE)
_TEXT = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`[^`]*`")
_UNTYPED = re.compile(rf"\w+:(?:\w+|`[^`]*`|{_INDEX}){_STEP}*")
_STEPS = re.compile(r"\.(\w+)|\[(\d+)\]|\['([^'\]]+)'\]|\[\"([^\"\]]+)\"\]")
_NAMED = re.compile(r"(.*\S)\s+as\s+(\w+)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Parts:
    """What a read wants, with parts of VARIANT values as columns.

    Attributes:
        columns: the names of its columns; None: all.
        where: its condition as text; None: another, or none.
        paths: the columns that are parts.
    """

    columns: Sequence[str] | str | None
    where: str | None
    paths: tuple[PathColumn, ...] = ()


def parts_in(schema: TableSchema, columns: Sequence[str] | str | None, where: str | None) -> Parts:
    """Finds the parts of VARIANT values in what a read wants.

    Raises:
        OptionError: a part is not one of a VARIANT column, or its type is none.
        UnsupportedFeature: values are not cast to its type without Spark.
    """
    if Root.VARIANT not in {field.type.root for field in schema.fields}:
        return Parts(columns, where)
    found: dict[str, PathColumn] = {}
    names = None if columns is None else columns
    if columns is not None and not isinstance(columns, str):
        names = [_column(schema, name, found) for name in columns]
    elif isinstance(columns, str) and "::" in columns and "(" not in columns:
        names = [_column(schema, name.strip(), found) for name in columns.split(",")]
    text = where if where is None else _condition(schema, where, found)
    return Parts(names, text, tuple(found.values()))


def _column(schema: TableSchema, text: str, found: dict[str, PathColumn]) -> str:
    """The name of a column, which may be a part with another name behind AS."""
    if text in schema.by_name:
        return text
    named = _NAMED.fullmatch(text)
    match = _PART.fullmatch(named[1] if named else text)
    if match is None:
        return text
    return _noted(schema, match, found, named[2] if named else text)


def _condition(schema: TableSchema, text: str, found: dict[str, PathColumn]) -> str:
    """The text with the names of fields in the places of parts; what stands in quotes stays."""
    made, at = [], 0
    while at < len(text):
        match, literal, untyped = _PART.search(text, at), _TEXT.search(text, at), _UNTYPED.search(text, at)
        found_at = [each.start() for each in (match, untyped) if each is not None]
        if not found_at:
            break
        if literal is not None and literal.start() < min(found_at):
            made.append(text[at : literal.end()])
            at = literal.end()
            continue
        if match is None or (untyped is not None and untyped.start() < match.start()):
            part = untyped[0] if untyped is not None else ""
            raise PredicateError(
                f"'{part}' is a part of a VARIANT value, and a condition needs its type: write {part}::STRING"
            )
        made += [text[at : match.start()], quoted(_noted(schema, match, found, _name(match)))]
        at = match.end()
    return "".join((*made, text[at:]))


def _name(match: re.Match[str]) -> str:
    return re.sub(r"\s+", "", match[0])


def _noted(schema: TableSchema, match: re.Match[str], found: dict[str, PathColumn], name: str) -> str:
    """The name of the field of a part, which is made once."""
    column = match["of"] or match["column"]
    dot = "" if match["of"] or match["first"].startswith("[") else "."
    steps = match["path"] if match["of"] else f"{dot}{match['first']}{match['more']}"
    field = schema.by_name.get(column) or next((f for f in schema.fields if f.name.lower() == column.lower()), None)
    if field is None or field.type.root is not Root.VARIANT:
        kind = "there is none" if field is None else f"it is {type_sql(field.type)}"
        raise OptionError(f"'{match[0]}' is a part of the VARIANT column '{column}', but {kind}: name a VARIANT column")
    part = PathColumn(
        DataField(_FIRST_ID - len(found), name, _type(match)), field.name, _path(steps, match[0]), not match["try"]
    )
    if name in schema.by_name:
        raise OptionError(f"'{match[0]}' is to have the name '{name}', which a column of the table has: take another")
    return found.setdefault(name, part).field.name


def _type(match: re.Match[str]) -> DataType:
    text = (match["as"] or match["type"]).strip().upper()
    try:
        found = parse_type(text)
    except SchemaError as error:
        raise OptionError(f"'{match[0]}': {error}") from None
    if not is_supported(found):
        raise UnsupportedFeature(
            f"'{match[0]}': parts of VARIANT values become BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, DOUBLE, DECIMAL, "
            f"STRING or DATE without Spark, not {text}; read the VARIANT as a whole, or use cat.sql"
        )
    return found


def _path(text: str, whole: str) -> Path:
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        match = _STEPS.match(text, at)
        if match is None:
            raise OptionError(
                f"'{whole}' has a path that cannot be read at '{text[at:]}': write it as $.user['name'][0]"
            )
        steps.append(int(match[2]) if match[2] is not None else match[1] or match[3] or match[4])
        at = match.end()
    return tuple(steps)
