"""VERSION AS OF and TIMESTAMP AS OF behind the name of a table."""

from __future__ import annotations

from paimon_spark.sql.queries.query import Travel
from paimon_spark.sql.text.cursor import Cursor
from paimon_spark.sql.text.lexer import Kind, Token

TRAVEL_WORDS = {
    "VERSION": "version",
    "SYSTEM_VERSION": "version",
    "TIMESTAMP": "timestamp",
    "SYSTEM_TIME": "timestamp",
}
_TYPED = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ")
_UNITS = tuple(f"{unit}{s}" for unit in ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND") for s in ("", "S"))
_OPERATORS = frozenset({"+", "-", "*", "/", "%", "||"})


def read_travel(cursor: Cursor, is_table: bool) -> Travel | None:
    """The time travel that comes next; None: there is none, or what looks like it is an alias.

    A time may be an expression that Spark can compute beforehand, a version is a literal (Spark: SqlBaseParser,
    temporalClause).

    Args:
        is_table: the name before it is surely that of a table.

    Raises:
        SqlError: the state is written in another way.
    """
    first = cursor.at
    cursor.accept("FOR")
    word = cursor.accept_any(*TRAVEL_WORDS)
    if word is None or not cursor.accept("AS", "OF"):
        cursor.at = first
        return None
    token, begin, kind = cursor.peek(), cursor.at, TRAVEL_WORDS[word]
    following = cursor.peek(1)
    is_typed = token is not None and token.upper in _TYPED and following is not None and following.kind is Kind.STRING
    if token is not None and (token.kind in (Kind.STRING, Kind.NUMBER) or is_typed):
        value = cursor.literal("the state to read")
        if isinstance(value, str | int) and not _goes_on(cursor.peek()):
            return Travel(kind, value)
    cursor.at = first if not is_table else begin
    if not is_table:
        return None
    if kind == "version":
        raise cursor.error(f"{word} AS OF takes a literal, such as 3 or 'tag'; an expression is not possible")
    return Travel(kind, _expression(cursor, word), is_expression=True)


def _goes_on(token: Token | None) -> bool:
    return token is not None and (token.upper in _OPERATORS or token.upper in ("::", ".", "[", "("))


def _expression(cursor: Cursor, word: str) -> str:
    """The text of the expression that comes next.

    Raises:
        SqlError: it is none, reads a table, or has a parameter without a name.
    """
    begin, at = cursor.at, cursor.offset()
    while True:
        while cursor.accept("-") or cursor.accept("+"):
            pass
        _skip_operand(cursor)
        if cursor.accept_any(*_OPERATORS) is None:
            break
    tokens = cursor.tokens[begin : cursor.at]
    if any(token.upper in ("FROM", "?") for token in tokens):
        raise cursor.error(f"{word} AS OF takes an expression without tables, and parameters by :name alone", at)
    return cursor.text[tokens[0].start : tokens[-1].end]


def _skip_operand(cursor: Cursor) -> None:
    """Goes behind a literal, a call, an interval, a parameter or an expression in parentheses."""
    token = cursor.peek()
    if cursor.sees("("):
        cursor.skip_group()
    elif token is not None and token.kind in (Kind.STRING, Kind.NUMBER):
        cursor.at += 1
    elif cursor.accept("INTERVAL"):
        cursor.at += 1  # the text may hold the units
        if cursor.accept_any(*_UNITS) is not None and cursor.accept("TO"):
            cursor.name("the unit of the interval")
    elif cursor.accept(":"):
        cursor.name("the name of a parameter")
    else:
        cursor.parts("a time")
        following = cursor.peek()
        if cursor.sees("("):
            cursor.skip_group()
        elif following is not None and following.kind is Kind.STRING:  # TIMESTAMP '...'
            cursor.at += 1
