"""COPY INTO: files into a table, or the rows of a table or query into files."""

from __future__ import annotations

import re

from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.queries.read_query import QUERY_VERBS, read_query
from paimon_spark.sql.statements import CopyInto
from paimon_spark.sql.text.cursor import Cursor
from paimon_spark.sql.text.lexer import Kind
from paimon_spark.sql.text.literals import Value

_FORMATS = ("CSV", "JSON", "PARQUET")
_IMPORT_OPTIONS = ("PATTERN", "FORCE", "ON_ERROR")
_EXPORT_OPTIONS = ("OVERWRITE",)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_ON_ERROR = ("ABORT_STATEMENT", "CONTINUE", "SKIP_FILE")


def read_copy(cursor: Cursor) -> CopyInto | None:
    """COPY INTO with a table of ours; None: with none.

    Raises:
        SqlError: it is put together wrongly.
    """
    cursor.expect("COPY")
    token = cursor.peek(1)
    if not cursor.accept("INTO") or token is None:
        return None
    return _export(cursor) if token.kind is Kind.STRING else _import(cursor)


def _import(cursor: Cursor) -> CopyInto | None:
    token = cursor.peek()
    table = cursor.table() if token is not None and token.is_name else None
    if table is None:
        return None
    columns = cursor.name_list("the name of a column") if cursor.sees("(") else ()
    cursor.expect("FROM")
    path = _string(cursor, "the path of the files")
    file_format, format_options = _file_format(cursor)
    options = _options(cursor, _IMPORT_OPTIONS)
    return CopyInto(table, path, False, file_format, columns, format_options, options)


def _export(cursor: Cursor) -> CopyInto | None:
    path = _string(cursor, "the path of the files")
    cursor.expect("FROM")
    table = query = None
    if cursor.sees("("):
        query = _query(cursor)  # Spark has no COPY INTO, so it is ours also without a table of ours
    else:
        table = cursor.table()
    if table is None and query is None:
        return None
    file_format, format_options = _file_format(cursor)
    options = _options(cursor, _EXPORT_OPTIONS)
    return CopyInto(table, path, True, file_format, (), format_options, options, query)


def _query(cursor: Cursor) -> Query:
    first = cursor.at + 1
    cursor.skip_group()
    tokens = cursor.tokens[first : cursor.at - 1]
    if not tokens or tokens[0].upper not in QUERY_VERBS:
        cursor.at = first
        raise cursor.error("COPY INTO a path takes the rows of a query, such as (SELECT ...), and of nothing else")
    return read_query(cursor.text, tokens, cursor.names)


def _file_format(cursor: Cursor) -> tuple[str, dict[str, Value]]:
    """``FILE_FORMAT = (TYPE = CSV, SKIP_HEADER = 1)``: the type, and the other options."""
    cursor.expect("FILE_FORMAT", "=")
    start, found = cursor.offset(), dict[str, Value]()

    def read() -> None:
        at, key = cursor.offset(), cursor.name("an option of the format").upper()
        if key in found:
            raise cursor.error(f"the option {key} is given twice", at)
        cursor.expect("=")
        found[key] = _value(cursor, f"the value of {key}")

    cursor.listed(read)
    kind = str(found.pop("TYPE", "")).upper()
    if kind not in _FORMATS:
        raise cursor.error("FILE_FORMAT needs TYPE = CSV, JSON or PARQUET", start)
    return kind, found


def _options(cursor: Cursor, known: tuple[str, ...]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    while not cursor.is_done:
        at, key = cursor.offset(), cursor.accept_any(*known)
        if key is None:
            raise cursor.error(f"{', '.join(known)} or the end is needed here")
        if key in found:
            raise cursor.error(f"the option {key} is given twice", at)
        cursor.expect("=")
        value = found[key] = _value(cursor, f"the value of {key}")
        if key == "PATTERN" and not isinstance(value, str):
            raise cursor.error("PATTERN is a regular expression, as a string", at)
        if key == "ON_ERROR" and str(value).upper() not in _ON_ERROR:
            raise cursor.error(f"ON_ERROR is one of {', '.join(_ON_ERROR)}", at)
        if key in ("FORCE", "OVERWRITE") and not isinstance(value, bool):
            raise cursor.error(f"{key} is TRUE or FALSE", at)
    return found


def _value(cursor: Cursor, what: str) -> Value:
    """A string, a number, TRUE or FALSE, a word such as CSV or NONE, or a list of strings in parentheses."""
    if cursor.sees("("):
        return cursor.listed(lambda: _string(cursor, what))
    token = cursor.peek()
    if token is not None and token.kind is Kind.STRING:
        return _string(cursor, what)
    if token is not None and token.kind is Kind.WORD and token.upper not in ("TRUE", "FALSE"):
        return cursor.name(what)
    return cursor.literal(what)


def _string(cursor: Cursor, what: str) -> str:
    """A string by the rules of COPY INTO (Java: PaimonSqlExtensionsAstBuilder.unquoteString).

    Unlike in other strings, a backslash stays before a character that it does not escape: ``'.*\\.csv'`` is a pattern.
    """
    token = cursor.peek()
    if token is None or token.kind is not Kind.STRING or token.text[0] not in "'\"":
        raise cursor.error(f"{what} is needed here, as a string in quotes")
    cursor.at += 1
    quote = token.text[0]
    escaped = re.compile(rf"\\([ntr\\{quote}])|{quote}({quote})")
    return escaped.sub(lambda found: _ESCAPES.get(found[1], found[1]) if found[1] else quote, token.text[1:-1])
