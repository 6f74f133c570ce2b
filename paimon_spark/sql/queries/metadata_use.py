"""Metadata columns in a query: of which tables they are named, and which stars must not stand for them.

They are hidden: ``SELECT *`` has none, and a sub-query or a common table expression does not pass them on. A DataFrame
has no hidden columns, so a table is read with those that the query names, and ``EXCEPT`` keeps them out of its stars.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from sqlglot import exp

from paimon_spark.format.schema import METADATA_COLUMNS, SEARCH_SCORE
from paimon_spark.sql.queries.query import StarPlace, Use, fold
from paimon_spark.sql.queries.tree import Node, NotUnderstood, alias_of, parse_tree, select_of, start_of, tables
from paimon_spark.sql.text.lexer import Token

_BEFORE_STARS = frozenset({"SELECT", "DISTINCT", "ALL", ",", "(", "."})
_COLUMN = "q"  # as long as a star, in whose place it stands for the parser, which tells where columns are


def with_metadata(
    use: Use, words: Set[str], refusal: str, masked: str, tokens: Sequence[Token], alias: str | None
) -> Use:
    """The use of a table with what is known of its metadata columns.

    Args:
        use: of the table.
        words: the folded words of the query around it, as of Use.
        refusal: why the table must have no further columns; "": it may.
        masked: the text of the query for the parser.
        tokens: of the query.
        alias: by which columns of the table are named in the text that Spark gets; None: by nothing.
    """
    known = METADATA_COLUMNS if use.search is None else (*METADATA_COLUMNS, SEARCH_SCORE)
    named = tuple(name for name in known if fold(name) in words)
    if not named:
        return use
    if refusal:
        return replace(use, metadata=named, metadata_refusal=refusal)
    places = list(_star_places(tokens))
    try:
        tree = parse_tree(_with_columns(masked, tokens, places))
    except NotUnderstood:
        return replace(use, metadata=named, metadata_refusal="its stars cannot be told apart")
    node = next((node for start, node in tables(tree) if start == use.start), None)
    if node is None and places:
        return replace(use, metadata=named, metadata_refusal="its stars cannot be told apart")
    mine = [] if node is None else list(_stars_of(tree, node, alias, {place.at for place in places}))
    prefix = "" if alias is None else f"`{alias.replace('`', '``')}`."
    stars = tuple(replace(_behind(place, tokens), qualifier=prefix) for place in places if place.at in mine)
    return replace(use, metadata=named, stars=stars)


def _star_places(tokens: Sequence[Token]) -> Iterator[StarPlace]:
    """The stars that stand for columns, but that of ``count(*)``, by the offset of the star itself."""
    for at, token in enumerate(tokens):
        if token.upper != "*" or not at or tokens[at - 1].upper not in _BEFORE_STARS:
            continue
        around = [other.upper for other in (*tokens[max(at - 2, 0) : at], *tokens[at + 1 : at + 2])]
        if around != ["COUNT", "(", ")"]:
            following = [other.upper for other in tokens[at + 1 : at + 3]]
            yield StarPlace(token.start, following == ["EXCEPT", "("], "")


def _behind(place: StarPlace, tokens: Sequence[Token]) -> StarPlace:
    """The place of names that the star does not stand for."""
    at = next(number for number, token in enumerate(tokens) if token.start == place.at)
    return replace(place, at=tokens[at + 2].end if place.has_list else tokens[at].end)


def _with_columns(masked: str, tokens: Sequence[Token], places: Sequence[StarPlace]) -> str:
    """The text with a column in the place of each star, of which the parser tells the offset."""
    characters = list(masked)
    lists = {place.at: place.has_list for place in places}
    for number, token in enumerate(tokens):
        if token.start not in lists:
            continue
        characters[token.start] = _COLUMN
        if lists[token.start]:
            depth, last = 0, number + 2
            for last in range(number + 2, len(tokens)):
                depth += tokens[last].nesting
                if depth == 0:
                    break
            start, end = tokens[number + 1].start, tokens[last].end
            characters[start:end] = " " * (end - start)
    return "".join(characters)


def _stars_of(tree: Node, node: Node, alias: str | None, offsets: Set[int]) -> Iterator[int]:
    """The offsets of the stars that stand for the columns of a table, among others."""
    select = select_of(node)
    mine = None if alias is None else fold(alias)
    for column in tree.find_all(exp.Column):
        start = start_of(column.parts[-1]) if isinstance(column.parts[-1], exp.Identifier) else None
        if start is None or start not in offsets:
            continue
        around = column.find_ancestor(exp.Select)
        qualifier = fold(column.parts[-2].name) if len(column.parts) > 1 else None
        is_here = around is select and qualifier in (None, mine)
        if is_here or (mine is not None and qualifier == mine and _sees(around, select, mine)):
            yield start


def _sees(inner: Node | None, outer: Node, alias: str) -> bool:
    """True if an alias means in a sub-query what it means around it."""
    while inner is not None and inner is not outer:
        sources = [join.this for join in inner.args.get("joins") or ()]
        head = inner.args.get("from_") or inner.args.get("from")  # the key has two names in sqlglot's releases
        sources += [] if head is None else [head.this]
        if any(fold(alias_of(source) or source.name) == alias for source in sources):
            return False
        inner = inner.find_ancestor(exp.Select)
    return inner is outer
