"""Columns that are qualified by the whole name of their table, which a query with another table in its place lacks."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_spark.sql.queries.query import Use, fold
from paimon_spark.sql.queries.references import dotted_names
from paimon_spark.sql.text.lexer import Token


def qualifiers(
    tokens: Sequence[Token], uses: Sequence[Use], aliases: frozenset[str]
) -> dict[int, tuple[tuple[int, int], ...]]:
    """The characters that go where the whole name of a table qualifies a column: ``paimon.db.t.c`` becomes ``t.c``.

    Args:
        uses: the tables of ours in the text.
        aliases: all aliases of the text, folded. What begins with one of them is a column of that.

    Returns:
        (start, end) of the characters, by the start of the use.
    """
    tables = {use.start for use in uses}
    found: dict[int, list[tuple[int, int]]] = {}
    for first, last, parts in dotted_names(tokens):
        if len(parts) == 1 or tokens[first].start in tables:
            continue
        is_star = [token.upper for token in tokens[last + 1 : last + 3]] == [".", "*"]
        for use in uses:
            length = _length(parts, use, aliases)
            if length and (len(parts) > length or is_star):
                table = tokens[first + 2 * (length - 1)]
                found.setdefault(use.start, []).append((tokens[first].start, table.start))
                break
    return {start: tuple(spans) for start, spans in found.items()}


def _length(parts: Sequence[str], use: Use, aliases: frozenset[str]) -> int:
    """How many parts at the head of a name are the name of a table, with its database; 0: they are not."""
    if use.alias_at is None or fold(parts[0]) in aliases:
        return 0
    name = [fold(part) for part in use.name.parts]
    for suffix in (name, name[1:]):
        if len(suffix) > 1 and [fold(part) for part in parts[: len(suffix)]] == suffix:
            return len(suffix)
    return 0
