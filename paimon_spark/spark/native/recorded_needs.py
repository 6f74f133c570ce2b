"""What operations on the DataFrame of a table need of the table: which columns, and which rows.

Spark does all operations itself on top of what is read. So a read may have too many columns and rows, never too few,
and an operation that is not understood asks for more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame

from paimon_spark.arrow.predicates.dialect import Dialect
from paimon_spark.arrow.predicates.sql_text import parse_predicate
from paimon_spark.errors import PaimonError
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import INTEGERS, DataField
from paimon_spark.sql.queries.conjuncts import or_parts
from paimon_spark.sql.queries.needs import is_whole_filter, pushed_filter
from paimon_spark.sql.queries.query import Use, fold
from paimon_spark.sql.queries.read_query import read_query
from paimon_spark.sql.text.lexer import tokenize
from paimon_spark.sql.text.names import Names
from paimon_spark.store.pruning.top_n import TopN

WHERE = frozenset({"where", "filter"})
SELECT = frozenset({"select", "selectExpr"})
ORDER = frozenset({"orderBy", "sort"})
RECORDED = WHERE | SELECT | ORDER | {"limit", "drop"}
_TABLE = "paimon_recorded"
"""A name that no condition may have: a nested column might be taken for one of the table."""
_NAMES = Names(_TABLE, None)
_WORD = re.compile(r"[^\W\d]\w*")
_WORDS = re.compile(r"\w+")
_COLUMN = re.compile(r"Column<'(.*)'>", re.DOTALL)
_QUOTED = re.compile(r"`([^`]*)`")
# The text of a Column has perhaps no quotes around a string, may be cut, and does not say what is in a sub-query or in
# all columns.
_READABLE = re.compile(r"(?is)(?!.*(?:subquery|window|lambda|plan|star|regex|\.\.\.))[\w\s(),.+<>=!%'-]*")
_INTEGERS = re.compile(r"(?:==?|in)\((\w+)((?:, -?\d{1,19})+)\)")
_ORDERED = re.compile(r"(\w+)(?: (?:ASC|DESC) NULLS (?:FIRST|LAST))?")


@dataclass(frozen=True)
class Operation:
    """A call of a method of a DataFrame."""

    name: str
    args: tuple[Any, ...]
    named: Mapping[str, Any] = field(default_factory=dict)

    def of(self, frame: DataFrame) -> DataFrame:
        """What Spark makes of it."""
        made: DataFrame = getattr(frame, self.name)(*self.args, **self.named)
        return made

    @property
    def items(self) -> tuple[Any, ...]:
        """The arguments, of which one list may hold all."""
        return tuple(self.args[0]) if len(self.args) == 1 and isinstance(self.args[0], list | tuple) else self.args

    def is_recorded(self) -> bool:
        """True if it may be done later: its arguments are of the kinds that Spark takes."""
        if self.name == "limit":
            return len(self.args) == 1 and type(self.args[0]) is int and not self.named
        if self.name in WHERE:
            return len(self.args) == 1 and isinstance(self.args[0], str | Column) and not self.named
        if self.name in ORDER:
            ascending = self.named.get("ascending", True)
            named = self.named.keys() <= {"ascending"} and isinstance(ascending, bool)
            return named and bool(self.items) and all(isinstance(item, str | Column) for item in self.items)
        kinds = str if self.name in ("drop", "selectExpr") else (str, Column)
        return bool(self.args) and not self.named and all(isinstance(item, kinds) for item in self.items)

    def texts(self) -> Iterator[str | None]:
        """The texts of its arguments, in which each column that it reads is named; None: it may read any column."""
        for item in self.items:
            text = item if isinstance(item, str) else _text_of(item) if isinstance(item, Column) else ""
            yield None if isinstance(item, Column) and not _READABLE.fullmatch(text) else text


@dataclass(frozen=True)
class Needs:
    """What is needed of a table.

    Attributes:
        columns: None: all.
        where: a condition that all rows fulfil which are needed; None: none is known.
        first: the rows that come first in an order, if no others are needed.
        counted: a condition, "" for none: there are as many rows as fulfil it. None: perhaps there are not.
    """

    columns: tuple[str, ...] | None = None
    where: str | None = None
    first: TopN | None = None
    counted: str | None = None


def needs_of(
    operations: Sequence[Operation], fields: Sequence[DataField], time_zone: str | None, dialect: Dialect
) -> Needs:
    """What operations need of a table.

    Args:
        operations: each is done on what the one before it gives.
        fields: the columns of the DataFrame of the table.
        time_zone: of the session; None: it is not known, and conditions that need it choose no rows.
        dialect: by which rules the session reads conditions.
    """
    by_name = {fold(field.name): field for field in fields}
    if dialect is Dialect.OTHER or len(by_name) < len(fields):
        return Needs()
    reading = _Reading(by_name, dialect, time_zone)
    for operation in operations:
        reading.add(operation)
    use, first = reading.use(), None
    where = None if use is None else pushed_filter(use, fields, time_zone, dialect=dialect)
    if use is not None and use.top_n is not None:
        is_whole = is_whole_filter(use, use.top_n.conditions, fields, time_zone, dialect=dialect)
        first = first_rows(use, fields) if is_whole else None
    return Needs(_columns(operations, by_name), where, first, reading.counted())


def first_rows(use: Use, fields: Sequence[DataField]) -> TopN | None:
    """The rows that come first in the order of a query; None: it needs all, or its order is not that of a column."""
    top_n = use.top_n
    names = [] if top_n is None else [field.name for field in fields if fold(field.name) == top_n.column]
    if top_n is None or len(names) != 1:
        return None
    return TopN(names[0], top_n.count, top_n.descending, top_n.nulls_first, top_n.with_ties)


def _columns(operations: Sequence[Operation], by_name: Mapping[str, DataField]) -> tuple[str, ...] | None:
    """The columns that operations may name; a name counts wherever it is a word of a text. None: all."""
    texts = [text for operation in operations if operation.name != "drop" for text in operation.texts()]
    given = [text for text in texts if text is not None]
    quoted_names = {fold(name) for text in given for name in _QUOTED.findall(text)}
    if len(given) < len(texts) or quoted_names - by_name.keys():  # quoted ones may be patterns
        return None
    words = {fold(word) for text in given for word in _WORDS.findall(text)}
    left = [name for name in by_name if name in words or not _WORDS.fullmatch(name)]
    chosen = [text for operation in operations if operation.name in SELECT for text in operation.texts() if text]
    if not chosen:
        dropped = {fold(name) for operation in operations if operation.name == "drop" for name in operation.items}
        left = [name for name in by_name if name not in dropped - words]
    if any("*" in text or (_WORDS.fullmatch(text) and fold(text) not in by_name) for text in chosen):
        return None  # of all columns Spark names those that are like the one it does not know
    return tuple(by_name[name].name for name in left) if 0 < len(left) < len(by_name) else None


class _Reading:
    """Operations being read, one after the other."""

    def __init__(self, by_name: Mapping[str, DataField], dialect: Dialect, time_zone: str | None) -> None:
        self._by_name, self._dialect, self._time_zone = by_name, dialect, time_zone
        self._conditions: list[str] = []
        self._whole: list[str] | None = []  # None: more than conditions that are understood decide about rows
        self._order: str | None = None
        self._limit: int | None = None
        self._is_open = True  # names are those of the table, and each of its rows is looked at by itself

    def add(self, operation: Operation) -> None:
        """Reads the next operation."""
        if operation.name in WHERE:
            self._add_condition(operation.args[0])
        elif operation.name in SELECT:
            names = operation.items if operation.name == "select" else (None,)
            if not all(isinstance(name, str) and self._is_column(name) for name in names):
                self._is_open, self._whole = False, None
        elif operation.name in ORDER and self._is_open:
            self._order = self._order_of(operation)
        elif operation.name == "limit":
            self._limit = operation.args[0] if self._is_open and self._whole is not None else self._limit
            self._is_open, self._whole = False, None

    def use(self) -> Use | None:
        """A query that asks for the same rows, as it is understood; None: it is not."""
        where = f" WHERE {' AND '.join(self._conditions)}" if self._conditions else ""
        order = "" if self._order is None or self._limit is None else f" ORDER BY {self._order} LIMIT {self._limit}"
        text = f"SELECT * FROM {_TABLE}.{_TABLE}.{_TABLE}{where}{order}"
        if _TABLE in (where + order).lower():
            return None
        try:
            uses = read_query(text, tokenize(text), _NAMES).uses
        except PaimonError:
            return None
        return uses[0] if len(uses) == 1 else None

    def counted(self) -> str | None:
        """See ``Needs``."""
        return None if self._whole is None else " AND ".join(self._whole)

    def _add_condition(self, condition: str | Column) -> None:
        text = condition if isinstance(condition, str) else self._integers(condition)
        is_known = isinstance(condition, str) and self._is_understood(condition)
        self._whole = [*self._whole, f"({condition}\n)"] if is_known and self._whole is not None else None
        if text is None or not self._is_open:
            return
        try:
            is_or = len(or_parts(tokenize(text))) > 1
        except PaimonError:
            return
        self._conditions.append(f"({text}\n)" if is_or else f"{text}\n")

    def _is_understood(self, condition: str) -> bool:
        fields = tuple(self._by_name.values())
        try:
            for text in (condition, f"({condition}\n)"):
                parse_predicate(text, fields, self._time_zone, self._dialect)
        except PaimonError:
            return False
        return True

    def _integers(self, condition: Column) -> str | None:
        """The condition as SQL, if it compares a column of whole numbers with such, by = or IN; None: it may not.

        The text of a Column does not tell the kinds of literals, nor a string from a column. Here it need not: whatever
        stands there, a row for which the condition holds has one of these numbers.
        """
        found = _INTEGERS.fullmatch(_text_of(condition))
        if found is None or not self._is_column(found[1]):
            return None
        numbers = [text.strip() for text in found[2].split(",")[1:]]
        column = self._by_name[fold(found[1])]
        if column.type.root not in INTEGERS or any(number in self._by_name for number in numbers):
            return None
        return f"{quoted(column.name)} IN ({', '.join(str(int(number)) for number in numbers)})"

    def _order_of(self, operation: Operation) -> str | None:
        """The order as SQL; None: it is not that of columns."""
        descends = operation.named.get("ascending", True) is False
        items = []
        for item in operation.items:
            text = item if isinstance(item, str) else _text_of(item)
            found = _ORDERED.fullmatch(text)
            if found is None or not self._is_column(found[1]) or (text != found[1] and (descends or text is item)):
                return None
            name = quoted(self._by_name[fold(found[1])].name)
            items.append(f"{name} DESC" if descends else f"{name}{text[len(found[1]) :]}")
        return ", ".join(items)

    def _is_column(self, name: str) -> bool:
        return _WORD.fullmatch(name) is not None and fold(name) in self._by_name


def _text_of(column: Column) -> str:
    """What a Column shows of itself; "": nothing that is known."""
    found = _COLUMN.fullmatch(str(column))
    return "" if found is None else found[1]
