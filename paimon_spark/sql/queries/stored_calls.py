"""Calls of functions that a catalog stores (features 8.3), found in the tokens of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_spark.errors import SqlError
from paimon_spark.sql.queries.functions import Call
from paimon_spark.sql.queries.references import dotted_names, is_called
from paimon_spark.sql.text.lexer import Token, tokenize
from paimon_spark.sql.text.names import Names

_SYSTEM = "sys"
_NO_FUNCTIONS = frozenset(
    {"ALL", "CUBE", "DISTINCT", "EXCEPT", "FROM", "INSERT", "ROLLUP", "SELECT", "TABLE", "VALUES", "WITH"}
)
"""Words that parentheses may follow and that are no calls; a function of such a name is called in backquotes."""
_QUERY = frozenset({"SELECT", "FROM", "TABLE", "VALUES", "WITH", "("})


@dataclass(frozen=True)
class StoredCall(Call):
    """The name of a function that is called, which may be one of a catalog of ours.

    Attributes:
        start, end: the offsets of the first character of the name and behind its last.
        database: where the function would be.
        function: its name.
        is_bare: the name has one part, so that a function of Spark comes first.
        is_certain: the name begins with the catalog, so that it means nothing else.
    """

    database: str
    function: str
    is_bare: bool
    is_certain: bool


def stored_calls(text: str, names: Names) -> tuple[StoredCall, ...]:
    """The calls of a text that may mean functions of the catalog, from left to right.

    A definition keeps the names in it: the query of a permanent view, and the columns of a table.
    """
    if "(" not in text:
        return ()
    try:
        tokens = tokenize(text)
    except SqlError:
        return ()  # whoever reads the text tells what is wrong
    first = _first_value(tokens)
    found = []
    for begin, last, parts in dotted_names(tokens):
        if begin < first or not is_called(tokens, begin, last) or _SYSTEM in [part.lower() for part in parts[:-1]]:
            continue
        if len(parts) == 1 and (tokens[begin].upper in _NO_FUNCTIONS or _is_common_table(tokens, last)):
            continue
        database = _database(parts, names)
        if database is not None:
            is_certain = names.is_certain(parts)
            start, end = tokens[begin].start, tokens[last].end
            found.append(StoredCall(start, end, database, parts[-1], len(parts) == 1, is_certain))
    return tuple(found)


def _is_common_table(tokens: Sequence[Token], last: int) -> bool:
    """True if a name is that of a common table expression with names of columns, as in ``WITH a AS (...), f(x) AS (``
    before a query.
    """
    depth = 0
    for at in range(last + 1, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[at].upper, 0)
        if depth == 0:
            words = [token.upper for token in tokens[at + 1 : at + 4]]
            return words[:2] == ["AS", "("] and words[2:] != [] and words[2] in _QUERY
    return False


def _first_value(tokens: Sequence[Token]) -> int:
    """The index of the first token that is no part of a definition."""
    words = [token.upper for token in tokens]
    if words[:1] not in (["CREATE"], ["REPLACE"], ["ALTER"]):
        return 0
    is_permanent = not {"TEMP", "TEMPORARY"}.intersection(words[1:5])
    if "SELECT" not in words or (is_permanent and {"VIEW", "FUNCTION"}.intersection(words[1:4])):
        return len(words)
    return words.index("SELECT")


def _database(parts: Sequence[str], names: Names) -> str | None:
    """The database of the function that a name means; None: it means none of the catalog."""
    if names.is_certain(parts):
        return parts[1] if len(parts) == 3 else None
    if names.database is None or len(parts) > 2:
        return None
    if len(parts) == 1:
        return names.database
    return None if parts[0].lower() in names.foreign else parts[0]
