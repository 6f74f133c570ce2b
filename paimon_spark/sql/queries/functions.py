"""Functions whose values we know and Spark does not: which a text calls, and what it is with values in their places.

``sys.max_pt('db.t')`` is a literal for a query: it is exchanged before the query is read, so that it also limits what
is read of a table. ``sys.path_to_descriptor``, ``sys.descriptor_to_string`` and ``sys.blob_view`` become expressions of
Spark's functions.
All other functions of ``sys`` are refused by name. ``current_catalog()`` and ``current_schema()``
are exchanged while our catalog is the current one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.sql.queries.blob_functions import BLOB_VIEW, EXPRESSIONS, PATH_TO_DESCRIPTOR
from paimon_spark.sql.queries.references import dotted_names
from paimon_spark.sql.text.cursor import Cursor
from paimon_spark.sql.text.lexer import Kind, Token, error_at, tokenize
from paimon_spark.sql.text.names import Names

MAX_PT = "max_pt"
_SCHEMA = "sys"
_OTHERS = frozenset(
    {
        "bucket",
        "mod_bucket",
        "hive_bucket",
        "descriptor_to_presigned_url",
        "try_descriptor_to_presigned_url",
    }
)
CATALOG_FUNCTIONS = (MAX_PT, *EXPRESSIONS, BLOB_VIEW)
"""The functions of ``sys`` that this release has."""
_KNOWN = _OTHERS.union(CATALOG_FUNCTIONS)
_CATALOG, _DATABASE = "current_catalog()", "current_schema()"  # as Spark names a column of them
_CURRENT = {"current_catalog": _CATALOG, "current_database": _DATABASE, "current_schema": _DATABASE}
_BEHIND_ITEMS = frozenset({"", ",", ")", ";", "FROM", "WHERE", "UNION", "EXCEPT", "INTERSECT", "LIMIT", "ORDER"})
_BEHIND_SELECT = frozenset({"FROM", "WHERE", "GROUP", "HAVING", "ORDER", "VALUES", "ON"})
_NOT_CALLED_BEHIND = frozenset({"CALL", "FUNCTION", "TABLE", "INTO", "EXISTS"})  # other names with parentheses


@dataclass(frozen=True)
class Call:
    """A call of a function.

    Attributes:
        start, end: the offsets of its first character and behind its last.
    """

    start: int
    end: int


@dataclass(frozen=True)
class MaxPartition(Call):
    """A call of max_pt. table: the name in it."""

    table: str


@dataclass(frozen=True)
class BlobCall(Call):
    """A call of a function of references to blobs.

    Attributes:
        name: of the function, a key of blob_functions.EXPRESSIONS.
        argument: its text.
        path: the value of the argument, where that is one string; None: it is not.
    """

    name: str
    argument: str
    path: str | None


@dataclass(frozen=True)
class ViewCall(Call):
    """A call of blob_view.

    Attributes:
        table, column: the names in it.
        argument: the text of the row id.
    """

    table: str
    column: str
    argument: str


@dataclass(frozen=True)
class CurrentName(Call):
    """A call of a function that tells a name of the session.

    Attributes:
        is_catalog: the name of the current catalog; False: that of the current database.
        alias: how Spark names the column, where the call is all of an item of a SELECT; "": elsewhere.
    """

    is_catalog: bool
    alias: str


def catalog_calls(text: str, names: Names) -> tuple[MaxPartition | BlobCall | ViewCall, ...]:
    """The calls of functions of ``sys`` in a text, from left to right.

    Raises:
        SqlError: the argument of max_pt is not one string, or the first two of blob_view are not two (Java:
            ReplacePaimonFunctions), or parentheses are missing.
        UnsupportedFeature: a function of ``sys`` that this release does not have is called.
    """
    if not any(name in text.lower() for name in _KNOWN):
        return ()
    try:
        tokens = tokenize(text)
    except SqlError:
        return ()  # whoever reads the text tells what is wrong
    found = []
    for first, last, parts in dotted_names(tokens):
        if _is_function(tokens, first, last, [part.lower() for part in parts], names):
            cursor = Cursor(text, tokens, names)
            cursor.at = first
            found.append(_call(cursor, last, parts[-1].lower()))
    return tuple(found)


def current_names(text: str) -> tuple[CurrentName, ...]:
    """The calls of current_catalog, current_database and current_schema in a query, from left to right.

    The query of a permanent view and the default of a column keep theirs: they are asked for each time.
    """
    if "current_" not in text.lower():
        return ()
    try:
        tokens = tokenize(text)
    except SqlError:
        return ()
    found = []
    words = [token.upper for token in tokens]
    is_definition = words[:1] in (["CREATE"], ["REPLACE"], ["ALTER"])
    if is_definition and "VIEW" in words[1:4] and not {"TEMP", "TEMPORARY"}.intersection(words[1:5]):
        return ()
    for at, token in enumerate(tokens):
        name = words[at].lower()
        if name not in _CURRENT or words[at + 1 : at + 3] != ["(", ")"] or words[at - 1 : at] == ["."]:
            continue
        if is_definition and "SELECT" not in words[:at]:
            continue
        alias = _CURRENT[name] if _is_item(words, at, at + 2) else ""
        found.append(CurrentName(token.start, tokens[at + 2].end, _CURRENT[name] == _CATALOG, alias))
    return tuple(found)


def _is_item(words: Sequence[str], first: int, last: int) -> bool:
    """True if some tokens are all of an item of a SELECT, which has no alias."""
    behind = words[last + 1] if last + 1 < len(words) else ""
    if words[first - 1] not in ("SELECT", "DISTINCT", "ALL", ",") or behind not in _BEHIND_ITEMS:
        return False
    depth = 0
    for word in reversed(words[:first]):
        depth += {")": 1, "]": 1, "(": -1, "[": -1}.get(word, 0)
        if depth < 0 or (depth == 0 and word in _BEHIND_SELECT):
            return False
        if depth == 0 and word == "SELECT":
            return True
    return False


def with_values(text: str, literals: Mapping[Call, str]) -> str:
    """The text with literals in the places of calls.

    Blanks fill up the place of a call, so that errors name the places of the user's own text where possible.
    """
    out, at = [], 0
    for call in sorted(literals, key=lambda call: call.start):
        old, new = text[call.start : call.end], literals[call]
        lines = old.count("\n")
        width = len(old) - len(new) if lines == 0 else len(old.rpartition("\n")[2])
        out += [text[at : call.start], new, "\n" * lines, " " * width]
        at = call.end
    return "".join((*out, text[at:]))


def _is_function(tokens: Sequence[Token], first: int, last: int, parts: list[str], names: Names) -> bool:
    if last + 1 == len(tokens) or tokens[last + 1].upper != "(":
        return False
    if first and tokens[first - 1].upper in _NOT_CALLED_BEHIND:
        return False
    schema = parts[:-1]
    return schema in ([_SCHEMA], [names.catalog.lower(), _SCHEMA]) and parts[-1] in _KNOWN


def _call(cursor: Cursor, last: int, name: str) -> MaxPartition | BlobCall | ViewCall:
    start = cursor.offset()
    if name == BLOB_VIEW:
        return _view_call(cursor, last, start)
    if name in EXPRESSIONS:
        end = _closing(cursor, last + 1, name)
        argument = cursor.text[cursor.tokens[last + 1].end : cursor.tokens[end].start]
        cursor.at = last + 2
        is_string = end == last + 3 and cursor.tokens[last + 2].kind is Kind.STRING
        path = cursor.string("a path") if is_string and name == PATH_TO_DESCRIPTOR else None
        return BlobCall(start, cursor.tokens[end].end, name, argument, path)
    if name != MAX_PT:
        message = f"the function {_SCHEMA}.{name} is not supported by this release of paimon_spark"
        raise UnsupportedFeature(str(error_at(cursor.text, start, message)))
    cursor.at = last + 1
    cursor.expect("(")
    table = cursor.string(f"the name of a table for {_SCHEMA}.{MAX_PT}")
    if not cursor.sees(")"):
        raise cursor.error(f"{_SCHEMA}.{MAX_PT} takes the name of one table, as a string")
    cursor.expect(")")
    return MaxPartition(start, cursor.tokens[cursor.at - 1].end, table)


def _view_call(cursor: Cursor, last: int, start: int) -> ViewCall:
    cursor.at = last + 1
    cursor.expect("(")
    table = cursor.string(f"the name of a table for {_SCHEMA}.{BLOB_VIEW}")
    cursor.expect(",")
    column = cursor.string(f"the name of a BLOB column for {_SCHEMA}.{BLOB_VIEW}")
    cursor.expect(",")
    comma = cursor.at - 1
    end = _closing(cursor, comma, BLOB_VIEW, depth=1)
    argument = cursor.text[cursor.tokens[comma].end : cursor.tokens[end].start]
    return ViewCall(start, cursor.tokens[end].end, table, column, argument)


def _closing(cursor: Cursor, opening: int, name: str, depth: int = 0) -> int:
    """The token that closes the parenthesis of a call, whose last argument begins behind a token.

    Args:
        opening: the token, a parenthesis or a comma.
        depth: how many parentheses are open before it.
    """
    for at in range(opening, len(cursor.tokens)):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(cursor.tokens[at].upper, 0)
        if depth == 0 and at > opening + 1:
            return at
        if depth == 0 or (depth == 1 and cursor.tokens[at].upper == "," and at > opening):
            break
    if name == BLOB_VIEW:
        raise cursor.error(
            f"{_SCHEMA}.{name} takes the name of a table, that of a BLOB column, and the id of a row, such as _ROW_ID"
        )
    raise cursor.error(f"{_SCHEMA}.{name} takes one argument, in parentheses")
