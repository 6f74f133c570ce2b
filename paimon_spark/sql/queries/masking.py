"""The text of a query as sqlglot can read it: of the same length, with blanks or other words where it would stumble.

The syntax tree of this *masked* text tells which names are tables. Nothing of it ever goes to Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from paimon_spark.sql.queries.references import Reference
from paimon_spark.sql.queries.time_travel import TRAVEL_WORDS
from paimon_spark.sql.text.cursor import identifier_parts
from paimon_spark.sql.text.lexer import Kind, Token

_BEFORE_QUERIES = frozenset({"", "(", ")", "AS", "ALL", "DISTINCT", "UNION", "EXCEPT", "INTERSECT", "MINUS"})
_SET_OPERATORS = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS"})
_BEHIND_TABLES = (
    frozenset({"", ")", "|>", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "WINDOW", "LIMIT", "OFFSET", "FOR", "WITH"})
    | TRAVEL_WORDS.keys()
    | _SET_OPERATORS
)
_KEYWORDS = frozenset(
    {
        "ALTER", "AND", "ANY", "AS", "BETWEEN", "CREATE", "CROSS", "DISTINCT", "DROP", "ELSE", "EXCEPT", "FETCH", "FOR",
        "FROM", "GRANT", "HAVING", "INNER", "INSERT", "INTERSECT", "JOIN", "LATERAL", "LIKE", "ILIKE", "ON", "OR",
        "OUTER", "REVOKE", "RLIKE", "ROLLBACK", "MINUS", "TABLESAMPLE", "THEN", "UNCACHE", "UNION", "USING", "VALUES",
        "WHEN", "WHERE", "WITH",
    }
)  # fmt: skip
"""Words that Spark takes for names before a point, and sqlglot does not."""
_IN_SET_OPERATORS = frozenset({"ALL", "DISTINCT", "BY", "NAME", "TABLE"})
Put: TypeAlias = Callable[[int, str], None]


def mask(text: str, tokens: Sequence[Token], references: Sequence[Reference]) -> str:
    """The text for sqlglot: of the same length, with blanks in the place of all that it would not understand."""
    characters = list(text)

    def put(start: int, new: str) -> None:
        characters[start : start + len(new)] = new

    for token in tokens:
        if token.kind is Kind.STRING:
            put(token.start, _plain_string(token.text))
        elif token.kind is Kind.WORD and "$" in token.text:
            put(token.start, token.text.replace("$", "_"))
    _mask_words(tokens, put)
    for reference in references:
        end = tokens[reference.last].end
        put(end, " " * (reference.end - end))
        _mask_table_word(tokens, reference, put)
    for start, end in _pipe_steps(tokens, references):
        put(start, " " * (end - start))
    for token, following in pairwise(tokens):
        if token.upper == "FOR" and following.upper in TRAVEL_WORDS:
            put(token.start, "   ")
    return "".join(characters)


def _pipe_steps(tokens: Sequence[Token], references: Sequence[Reference]) -> Iterator[tuple[int, int]]:
    """(start, end) of each step ``|> ...`` that names no table, which sqlglot then need not know."""
    certain = {reference.first for reference in references if reference.is_certain}
    for first, token in enumerate(tokens):
        if token.upper != "|>":
            continue
        depth, last, is_table = 0, first, False
        for at in range(first + 1, len(tokens)):
            depth += tokens[at].nesting
            if depth < 0 or (depth == 0 and tokens[at].upper == "|>"):
                break
            last, is_table = at, is_table or at in certain or tokens[at].upper in ("FROM", "JOIN", "TABLE")
        if not is_table:
            yield token.start, tokens[last].end


def _mask_table_word(tokens: Sequence[Token], reference: Reference, put: Put) -> None:
    """``TABLE(t)`` as ``(FROM t)``: what it means, in words that sqlglot knows."""
    before = [tokens[i].upper if i >= 0 else "" for i in range(reference.first - 2, reference.first)]
    if before == ["TABLE", "("]:
        word, mark = tokens[reference.first - 2], tokens[reference.first - 1]
        put(word.start, " " * (mark.end - word.start - 6) + "(FROM ")


def _mask_words(tokens: Sequence[Token], put: Put) -> None:
    """Words of Spark 4 that sqlglot does not know, as others that name the same tables."""
    words = [token.upper for token in tokens]
    for at, token in enumerate(tokens):
        if words[at : at + 3] == ["MAX", "RECURSION", "LEVEL"] and words[at + 4 : at + 5] == ["AS"]:
            put(token.start, " " * (tokens[at + 3].end - token.start))
        elif _is_name_too(words, at):
            put(token.start, "_")
        elif token.upper == "TABLE" and _is_query(tokens, at):
            put(token.start, "FROM ")
        elif token.upper == "|>":
            _mask_pipe_word(tokens, at + 1, put)
        elif words[at : at + 2] == ["PIVOT", "("]:
            _mask_aggregates(tokens, at + 2, put)
        elif token.upper in ("GEOMETRY", "GEOGRAPHY") and words[at + 1 : at + 4] == ["(", "ANY", ")"]:
            put(tokens[at + 1].start, " " * (tokens[at + 3].end - tokens[at + 1].start))
        elif identifier_parts(tokens, at):
            put(token.start, tokens[at + 2].text[1:-1].ljust(tokens[at + 3].end - token.start))
        elif is_variant_path(tokens, at):
            end = tokens[at + 1].end if tokens[at + 1].is_name else token.end
            put(token.start, " " * (end - token.start))


def _is_name_too(words: Sequence[str], at: int) -> bool:
    """True if a keyword is a name, as Spark takes it: a struct before a point, or OUTER that belongs to no join."""
    before, behind = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    if words[at] in _KEYWORDS and behind == "." and before != ".":
        return True
    return words[at] == "OUTER" and behind != "JOIN" and before not in ("LEFT", "RIGHT", "FULL", "VIEW", ".")


def is_variant_path(tokens: Sequence[Token], at: int) -> bool:
    """True if a colon begins a path in a variant, ``v:price``; before that of a parameter stands a blank or a mark."""
    if tokens[at].upper != ":" or not 0 < at < len(tokens) - 1:
        return False
    before, following = tokens[at - 1], tokens[at + 1]
    is_value = before.is_name or before.upper in (")", "]")
    return is_value and before.end == tokens[at].start and (following.is_name or following.upper == "[")


def _is_query(tokens: Sequence[Token], at: int) -> bool:
    """True if the word TABLE begins a query, ``TABLE s``, whose table may be Spark's; it may be a column too."""
    before = tokens[at - 1].upper if at else ""
    last = at + 4 if identifier_parts(tokens, at + 1) else at + 1
    while last + 2 < len(tokens) and tokens[last + 1].upper == ".":
        last += 2
    if last >= len(tokens) or not tokens[at + 1].is_name:
        return False
    behind = tokens[last + 1].upper if last + 1 < len(tokens) else ""
    return at == 0 or (before in _BEFORE_QUERIES and behind in _BEHIND_TABLES)


def _mask_pipe_word(tokens: Sequence[Token], at: int, put: Put) -> None:
    """``|> UNION ALL t`` as ``|> JOIN t``, ``|> SET a =`` as ``|> SELECT``: they name the same tables."""
    if at >= len(tokens):
        return
    if tokens[at].upper in _SET_OPERATORS:
        put(tokens[at].start, "JOIN ")
        following = at + 1
        while following < len(tokens) and tokens[following].upper in _IN_SET_OPERATORS:
            put(tokens[following].start, " " * len(tokens[following].text))
            following += 1
    elif tokens[at].upper == "SET" and at + 2 < len(tokens) and tokens[at + 2].upper == "=":
        put(tokens[at].start, "SELECT".ljust(tokens[at + 2].end - tokens[at].start))


def _mask_aggregates(tokens: Sequence[Token], at: int, put: Put) -> None:
    """``PIVOT (sum(a) + 1 AS b FOR ...)`` as ``PIVOT (a() FOR ...)``: columns alone stand there."""
    depth, first = 0, at
    while at < len(tokens) and depth >= 0 and (depth or tokens[at].upper != "FOR"):
        depth += tokens[at].nesting
        at += 1
    if at < len(tokens) and depth == 0 and at - first >= 3:
        put(tokens[first].start, "a()".ljust(tokens[at - 1].end - tokens[first].start))


def _plain_string(text: str) -> str:
    """A string of the same length without escapes and doubled quotes, which sqlglot reads as Spark 3 did."""
    at = 1 if text[0] in "rRxX" else 0
    quote, inner = text[at], text[at + 1 : -1]
    out, i = [], 0
    while i < len(inner):
        is_pair = inner[i] == "\\" or inner[i] == quote
        out.append("xx" if is_pair and i + 1 < len(inner) else "x" if is_pair else inner[i])
        i += 2 if is_pair else 1
    return f"{text[: at + 1]}{''.join(out)[: len(inner)]}{quote}"
