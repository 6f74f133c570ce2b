"""Queries: from the characters of a statement to a ``Query``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.sql.queries.conjuncts import conjuncts, where_parts
from paimon_spark.sql.queries.masking import is_variant_path, mask
from paimon_spark.sql.queries.metadata_use import with_metadata
from paimon_spark.sql.queries.query import Query, Use, fold
from paimon_spark.sql.queries.references import Reference, dotted_names, find_references
from paimon_spark.sql.queries.top_n import top_n
from paimon_spark.sql.queries.totals import totals
from paimon_spark.sql.queries.tree import (
    Node,
    NotUnderstood,
    alias_of,
    aliases,
    conditions,
    count_stars,
    parse_tree,
    stars,
    tables,
    why_all_columns,
    why_unnamed,
)
from paimon_spark.sql.text.lexer import Token, error_at
from paimon_spark.sql.text.names import Names, TableName

_ALL_COLUMNS = frozenset({"PIVOT", "UNPIVOT", "IDENTIFIER", "MATCH_RECOGNIZE", "STREAM", "|>"})
QUERY_VERBS = frozenset({"SELECT", "WITH", "FROM", "TABLE", "VALUES", "("})
_QUERY_WORDS = frozenset({"SELECT", "WITH", "FROM"})
_SORTING_WORDS = frozenset({"ORDER", "SORT", "CLUSTER", "DISTRIBUTE"})
_FOLDED_WORD = re.compile(r"\w+")


def read_query(text: str, tokens: Sequence[Token], names: Names, whole: str | None = None) -> Query:
    """The query that some tokens of a text are, with the tables of ours in it.

    Args:
        text: the whole text.
        tokens: of the query; what stands around it stays out of the tree.
        whole: the text that Spark shall run, of the same places; None: the query alone.

    Raises:
        SqlError: the query names a table of ours and is not understood, or a name of ours is no table's.
    """
    query_text = keep_tokens(text, tokens) if whole is None else whole
    references = find_references(text, tokens, names)
    if not references:
        return Query(query_text)
    masked = mask(keep_tokens(text, tokens), tokens, references)
    try:
        tree = parse_tree(masked)
    except NotUnderstood as error:
        blamed = next((reference for reference in references if _is_blamed(tokens, reference)), None)
        if blamed is None:
            return Query(query_text)
        raise _not_understood(text, tokens, blamed, error) from None
    return _Reading(text, masked, tokens, names, tree).query(query_text, references)


def keep_tokens(text: str, tokens: Sequence[Token]) -> str:
    """The text with blanks in the place of all that is not between tokens that follow each other."""
    if not tokens:
        return ""
    start, end = tokens[0].start, tokens[-1].end
    return "".join(c if c == "\n" else " " for c in text[:start]) + text[start:end]


def _is_blamed(tokens: Sequence[Token], reference: Reference) -> bool:
    """True if a name is so surely a table of ours that a text which is not understood must not go to Spark."""
    before = tokens[reference.first - 1].upper if reference.first else ""
    return reference.is_certain or before in ("FROM", "JOIN", "INTO", "UPDATE", "USING")


def _not_understood(text: str, tokens: Sequence[Token], blamed: Reference, error: NotUnderstood) -> SqlError:
    name = ".".join(blamed.parts)
    if error.line is None:
        reason = error.near or f"a statement that begins with {tokens[0].text} can not hold it"
        return error_at(text, blamed.start, f"{name} stands in a text that is not understood: {reason}")
    lines = text.split("\n")
    stop = sum(len(line) + 1 for line in lines[: error.line - 1]) + (error.column or 1)
    near = f"at {error.near[:40]!r}" if error.near and stop < tokens[-1].end else "at its end, where more is needed"
    return error_at(
        text,
        min(stop - len(error.near), tokens[-1].end),
        f"the query cannot be understood {near}; check its words there, that all parentheses are closed, and that a "
        f"name which is a word of SQL stands in backquotes. It names {name}, so it cannot be left to Spark",
    )


def enclosing_query(tokens: Sequence[Token], at: int) -> tuple[int, int] | None:
    """(start, end) of the innermost query in parentheses around a token; None: there is none.

    What sorts a query from outside of its parentheses may name columns that the query does not return.
    """
    depth = 0
    for opening in range(at - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(tokens[opening].upper, 0)
        if depth < 0:
            depth = 0
            closing = closing_of(tokens, opening)
            behind = tokens[closing + 1].upper if closing + 1 < len(tokens) else ""
            if tokens[opening + 1].upper in _QUERY_WORDS and behind not in _SORTING_WORDS:
                return tokens[opening].start, tokens[closing].end
    return None


def closing_of(tokens: Sequence[Token], opening: int) -> int:
    """The index of the parenthesis that closes another one; the last token if none does."""
    depth = 0
    for at in range(opening, len(tokens)):
        depth += tokens[at].nesting
        if depth == 0:
            return at
    return len(tokens) - 1


def _qualifiers_of(use: Use, alias: str | None) -> list[tuple[str, ...]]:
    """What may stand before a column of a table: its alias, or else its name or the end of it."""
    if alias is not None:
        return [(alias,)]
    return [use.name.parts[i:] for i in range(len(use.name.parts))]


class _Reading:
    """One query being read."""

    def __init__(self, text: str, masked: str, tokens: Sequence[Token], names: Names, tree: Node) -> None:
        self.text = text
        self.masked = masked
        self.tokens = tokens
        self.names = names
        self.tree = tree
        self.stars = stars(tree)
        self.why_all = self._why_all()

    def _why_all(self) -> str:
        """Why every table needs all columns; "" if the places of the tables tell."""
        for token in self.tokens:
            if token.upper in _ALL_COLUMNS:
                return f"the query has {token.upper}"
        if "${" in self.text:
            return "the query has a variable ${...}, in whose place Spark puts the value of a setting"
        if self.tokens[0].upper not in QUERY_VERBS:
            return f"the statement is {self.tokens[0].upper}"
        if any(is_variant_path(self.tokens, at) for at in range(len(self.tokens))):
            return "the query has a path in a variant"
        if sum(token.upper == "*" for token in self.tokens) != count_stars(self.tree):
            return "it cannot be told which tables the stars of the query mean"
        return ""

    def query(self, query_text: str, references: Sequence[Reference]) -> Query:
        at = {reference.start: reference for reference in references}
        nodes = {start: node for start, node in tables(self.tree) if start in at}
        found = [(at[start], nodes[start]) for start in sorted(nodes)]
        uses = [use for reference, node in found if (use := self._use(reference, node)) is not None]
        self._check_rest(references, uses)
        cuts = qualifiers(self.tokens, uses, aliases(self.tree))
        return Query(query_text, tuple(replace(use, qualifiers=cuts.get(use.start, ())) for use in uses))

    def _use(self, reference: Reference, node: Node) -> Use | None:
        if len(node.parts) != len(reference.parts):
            raise error_at(self.text, reference.start, f"{'.'.join(reference.parts)} is not understood here")
        table = reference.table or self._table(reference)
        if table is None:
            return None
        alias = alias_of(node)
        why_all = self.why_all or why_all_columns(node, alias or table.alias, self.stars)
        use = Use(
            name=table,
            start=reference.start,
            end=reference.end,
            travel=reference.travel,
            increment=reference.increment,
            search=reference.search,
            options=reference.options,
            words=None if why_all else self._words(reference.first),
            why_all=why_all,
            alias_at=None if alias or self._has_no_alias(reference) else self._behind_sample(reference),
            table_word=self._table_word(reference),
        )
        named_by = None if self._has_no_alias(reference) else alias or table.alias
        if use.search is not None:
            named_by = alias
        refusal = self.why_all or why_unnamed(node)
        use = with_metadata(use, self._words(reference.first), refusal, self.masked, self.tokens, named_by)
        if self.why_all and use.search is not None:
            raise UnsupportedFeature(f"SQL: {reference.parts[0]} cannot stand in this query, because {self.why_all}")
        if self.why_all or reference.increment:
            return use
        own = _qualifiers_of(use, alias)
        found = conditions(node)
        texts = where_parts(self.tokens, reference.end) if found else []
        if use.search is None:
            use = replace(use, totals=totals(self.tree, node, self.tokens, own, texts), top_n=top_n(node, own))
        return replace(use, conjuncts=conjuncts(self.text, self.masked, texts, found, own))

    def _words(self, at: int) -> frozenset[str]:
        """The words of the innermost query in parentheses around a token, or else of the text.

        What stands outside sees only the columns that the query returns, and these are named in it.
        """
        around = enclosing_query(self.tokens, at)
        text = self.text if around is None else self.text[slice(*around)]
        return frozenset(fold(word) for word in _FOLDED_WORD.findall(text))

    def _has_no_alias(self, reference: Reference) -> bool:
        """A function, and a table in ``TABLE(t)``, are named by nothing, and cannot have an alias everywhere."""
        before = [token.upper for token in self.tokens[max(reference.first - 2, 0) : reference.first]]
        return reference.increment is not None or reference.search is not None or before == ["TABLE", "("]

    def _table_word(self, reference: Reference) -> tuple[int, int] | None:
        """Where ``TABLE`` stands before a name that columns of the query may be qualified by."""
        before = self.tokens[reference.first - 1] if reference.first else None
        return None if before is None or before.upper != "TABLE" else (before.start, before.end)

    def _table(self, reference: Reference) -> TableName | None:
        try:
            return self.names.find_table(reference.parts)
        except SqlError as error:
            raise error_at(self.text, reference.start, str(error)) from None

    def _behind_sample(self, reference: Reference) -> int:
        """Where the alias of a table goes: behind its TABLESAMPLE (...) [REPEATABLE (...)]."""
        end = reference.end
        rest = [token for token in self.tokens if token.start >= end]
        at = 0
        while at < len(rest) and rest[at].upper in ("TABLESAMPLE", "REPEATABLE"):
            at, depth = at + 1, 0
            while at < len(rest):
                depth += rest[at].nesting
                at += 1
                if depth == 0:
                    break
            end = rest[at - 1].end
        return end

    def _check_rest(self, references: Sequence[Reference], uses: Sequence[Use]) -> None:
        """Refuse what is surely one of our tables and was not found in the tree."""
        known = {use.start for use in uses}
        for reference in references:
            if reference.start in known or not reference.is_certain:
                continue
            if len(reference.parts) == 4:
                problem = (
                    f"names no table: a system table is written {'.'.join(reference.parts[:3])}${reference.parts[3]}"
                )
            elif len(reference.parts) > 3:
                problem = f"names no table: {self.names.how_to}"
            else:
                problem = "stands where no table of ours can be read; name it in FROM or JOIN"
            is_table = reference.travel or reference.increment or reference.search or reference.options
            before = self.tokens[reference.first - 1].upper if reference.first else ""
            if is_table or before in ("FROM", "JOIN", "INTO", "TABLE"):
                raise error_at(self.text, reference.start, f"{'.'.join(reference.parts)} {problem}")


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
