"""Queries that list their rows, as ``VALUES (1, 'a'), (2, 'b')`` does."""

from __future__ import annotations

from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.text.lexer import tokenize

_QUERIES = frozenset({"SELECT", "FROM", "TABLE", "WITH", "UNION"})


def lists_rows(query: Query) -> bool:
    """True if a query is a list of rows and nothing else: it has as many of them as its text."""
    words = [token.upper for token in tokenize(query.text)]
    return words[:1] == ["VALUES"] and not _QUERIES.intersection(words)
