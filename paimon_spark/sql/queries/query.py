"""A query with tables of ours in it: the user's own characters, and what is known of each table they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from paimon_spark.sql.queries.aggregate_calls import AggregateCall
from paimon_spark.sql.text.lexer import tokenize
from paimon_spark.sql.text.names import TableName

_QUERIES = frozenset({"SELECT", "FROM", "TABLE", "WITH", "UNION"})


@dataclass(frozen=True)
class Travel:
    """Which state of a table is read.

    Attributes:
        kind: "version" (a snapshot, a tag or ``watermark-<ms>``) or "timestamp".
        value: the literal; an int for a number. A number as timestamp is in seconds since 1970.
        is_expression: the value is the text of an expression, which Spark computes.
    """

    kind: str
    value: str | int
    is_expression: bool = False


@dataclass(frozen=True)
class Increment:
    """A table-valued function that reads what changed.

    Attributes:
        function: "paimon_incremental_query", "paimon_incremental_between_timestamp" or
            "paimon_incremental_to_auto_tag".
        arguments: those behind the table: start and end, or the tag.
    """

    function: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Search:
    """The table-valued function ``vector_search``.

    Attributes:
        column: of the vectors, as the user wrote it.
        vector: what is looked for.
        count: how many rows.
        options: of the search.
    """

    column: str
    vector: tuple[float, ...]
    count: int
    options: Mapping[str, str]


@dataclass(frozen=True)
class TextSearch:
    """The table-valued function ``full_text_search``.

    Attributes:
        column: of the texts, as the user wrote it.
        query: what is looked for, as JSON.
        count: how many rows.
    """

    column: str
    query: str
    count: int


@dataclass(frozen=True)
class Conjunct:
    """A part of a WHERE that drops rows of one table alone.

    Attributes:
        text: the user's characters, without the qualifiers of columns.
        columns: the names of its columns, of which a nested one counts by its first part.
    """

    text: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Alternatives:
    """A part of a WHERE that is an OR. It may speak of other tables too.

    Attributes:
        whole: the part itself, which may speak of the table alone; None: it surely speaks of others.
        branches: of each branch the parts that may speak of the table alone; a row that the OR holds for satisfies all
            of one branch. (): a branch says nothing of the table.
    """

    whole: Conjunct | None
    branches: tuple[tuple[Conjunct, ...], ...]


Edit: TypeAlias = tuple[int, int, str]
"""(start, end, new): the characters from start to end become others."""


@dataclass(frozen=True)
class Totals:
    """What a query needs of a table of which it needs aggregates alone. Names are folded.

    Attributes:
        edits: make the query sum the number of rows instead of counting rows; None: it needs other functions than
            these and the ends of columns.
        ends: the columns whose least or greatest value it needs.
        plain: the names that its expressions use outside of aggregates and the WHERE.
        filtered: the names that its WHERE uses.
        aliases: names of its own, which may be among the plain ones.
        conditions: how many parts the WHERE has.
        where: (start, end) of what stands behind WHERE; None: there is none.
        calls: the aggregates; None: Spark would name a column of the result after what stands in their place.
    """

    edits: tuple[Edit, ...] | None
    ends: frozenset[str]
    plain: frozenset[str]
    filtered: frozenset[str]
    aliases: frozenset[str]
    conditions: int
    where: tuple[int, int] | None
    calls: tuple[AggregateCall, ...] | None


@dataclass(frozen=True)
class TopNClause:
    """The rows of a table that a query needs, if it needs those only that come first in an order.

    Attributes:
        column: the name of the column that orders them, folded.
        count: how many, at least 1.
        descending: whether the greatest values come first.
        nulls_first: whether NULL comes first.
        with_ties: whether further columns order rows of one value.
        conditions: how many parts the WHERE has; rows count that satisfy all of them.
    """

    column: str
    count: int
    descending: bool
    nulls_first: bool
    with_ties: bool
    conditions: int


@dataclass(frozen=True)
class StarPlace:
    """A star in a text.

    Attributes:
        at: the offset at which the names of columns go that it does not stand for.
        has_list: whether that is at the head of a list of such columns, ``* EXCEPT (``; else it is behind the star.
        qualifier: of these names in the text; "": none.
    """

    at: int
    has_list: bool
    qualifier: str


@dataclass(frozen=True)
class Use:
    """One table of ours in a query, and what the query needs of it.

    Attributes:
        name: of the table.
        start: the offset of the characters that stand for the table: its name, time travel, options, or the function.
        end: the offset behind them.
        travel: None: the latest state.
        increment: what changed is read; None: no function asks for that.
        search: the rows are those that a search finds; None: no function asks for that.
        options: of ``WITH (...)`` behind the name.
        words: what the columns may be named by, see ``fold``; None: all columns are needed.
        why_all: why all columns are needed; "" if not all are.
        conjuncts: rows that do not fulfil one of them may be left out, if all its columns are the table's.
        alias_at: where the name must be added as an alias, since the user gave none; None: nowhere.
        table_word: (start, end) of ``TABLE`` before the name, in whose place ``SELECT * FROM`` must stand, since
            ``TABLE`` takes no alias; None: the name stands in FROM or JOIN.
        qualifiers: (start, end) of the characters before the last part of the name, where it qualifies columns.
        totals: what the query needs, if it needs no rows but their aggregates; None: it needs rows.
        edits: characters of the text that others take the place of, if the table is exchanged.
        top_n: the rows that the query needs, if these are the first ones of an order; None: it may need all.
        metadata: the metadata columns that the query may name of the table, by their names.
        metadata_refusal: why the query cannot have them, in words; "": it can.
        stars: the stars that stand for columns of the table, which must not stand for its metadata columns.
        hidden: the metadata columns that the table is read with.
    """

    name: TableName
    start: int
    end: int
    travel: Travel | None = None
    increment: Increment | None = None
    search: Search | TextSearch | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    words: frozenset[str] | None = None
    why_all: str = ""
    conjuncts: tuple[Conjunct | Alternatives, ...] = ()
    alias_at: int | None = None
    table_word: tuple[int, int] | None = None
    qualifiers: tuple[tuple[int, int], ...] = ()
    totals: Totals | None = None
    edits: tuple[Edit, ...] = ()
    top_n: TopNClause | None = None
    metadata: tuple[str, ...] = ()
    metadata_refusal: str = ""
    stars: tuple[StarPlace, ...] = ()
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class Query:
    """A statement that Spark runs: the user's own characters with tables of ours in it.

    Attributes:
        text: the characters. Those of a statement around the query are blank, so that places stay as they are.
        uses: the tables of ours, from left to right.
        tells_defaults: whether the columns of the result are to tell the default values of the tables that they are of.
    """

    text: str
    uses: tuple[Use, ...] = ()
    tells_defaults: bool = False

    @property
    def pieces(self) -> tuple[str | Use, ...]:
        """The text, with a Use in the place of its characters."""
        found: list[str | Use] = []
        at = 0
        for use in self.uses:
            found += [self.text[at : use.start], use]
            at = use.end
        return (*found, self.text[at:])

    def with_all_columns(self) -> Query:
        """The same query, which is to get all columns and rows of its tables."""
        why = "a name of the query is that of no column"
        uses = (
            replace(
                use,
                words=None,
                why_all=why,
                conjuncts=use.conjuncts if use.search else (),  # these say what is searched
                totals=None,
                top_n=None,
            )
            for use in self.uses
        )
        return replace(self, uses=tuple(uses))

    def render(self, frames: Sequence[str | None]) -> str:
        """The text for ``spark.sql(text, **frames)``, whose braces are doubled.

        Args:
            frames: for each use the name of the argument that takes its place. None: its characters stay, as those of
                a temporary view must.

        Returns:
            The text as it was, if no use is exchanged.
        """
        edits: list[tuple[int, int, str]] = []
        for use, frame in zip(self.uses, frames, strict=True):
            if frame is None:
                continue
            edits.append((use.start, use.end, f"{{{frame}}}"))
            edits += [(start, end, "") for start, end in use.qualifiers]
            edits += use.edits
            if use.table_word is not None:
                edits.append((*use.table_word, "SELECT * FROM"))
            if use.alias_at is not None:
                alias = use.name.alias.replace("`", "``").replace("{", "{{").replace("}", "}}")
                edits.append((use.alias_at, use.alias_at, f" AS `{alias}`"))
        if not edits:
            return self.text
        edits += self._without_hidden(frames)
        out, at = [], 0
        for start, end, new in sorted(edits):
            out += [_doubled(self.text[at:start]), new]
            at = end
        return "".join((*out, _doubled(self.text[at:])))

    def _without_hidden(self, frames: Sequence[str | None]) -> list[Edit]:
        """What keeps metadata columns out of stars."""
        hidden: dict[tuple[int, bool], list[str]] = {}
        for use, frame in zip(self.uses, frames, strict=True):
            if frame is not None:
                for star in use.stars:
                    names = [_doubled(f"{star.qualifier}`{name}`") for name in use.hidden]
                    hidden.setdefault((star.at, star.has_list), []).extend(names)
        return [
            (at, at, f"{', '.join(names)}, " if has_list else f" EXCEPT ({', '.join(names)})")
            for (at, has_list), names in hidden.items()
            if names
        ]


def _doubled(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def fold(name: str) -> str:
    """A name in a form that is equal for all spellings that Spark takes for the same, letter by letter."""
    if name.isascii():
        return name.lower()
    return "".join(letter.upper().lower()[:1] for letter in name)


def lists_rows(query: Query) -> bool:
    """True if a query is a list of rows and nothing else: it has as many of them as its text."""
    words = [token.upper for token in tokenize(query.text)]
    return words[:1] == ["VALUES"] and not _QUERIES.intersection(words)
