"""Conditions written in Python: ``(col("id") > 3) & col("name").startswith("a")``.

An expression is independent of tables; ``bind`` resolves its columns in one. Values are compared as Spark compares the
same Python values: an int as INT or BIGINT, a float as DOUBLE, a datetime with a zone as an instant and one without as
a local time.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from paimon_spark.arguments.checks import checked
from paimon_spark.arrow.predicates.binding import (
    bind_boolean,
    bind_compare,
    bind_in,
    bind_is_nan,
    bind_like,
    bind_text_test,
    resolve_column,
)
from paimon_spark.arrow.predicates.coercion import Column
from paimon_spark.arrow.predicates.literals import Literal, items_of, literal_of
from paimon_spark.arrow.predicates.predicate import TRUE, IsNotNull, IsNull, Op, Predicate, UnlessNull, and_, not_, or_
from paimon_spark.arrow.zones import TimeZone, session_zone
from paimon_spark.errors import PredicateError, UnsupportedMethod, wrong_in_utf8
from paimon_spark.format.types import DataField

_MOST_DEPTH = 100  # what evaluates, prunes and pickles a condition calls itself for each level


class Expr:
    """A condition. Combine conditions with ``&``, ``|`` and ``~``, each in brackets."""

    __slots__ = ()
    _described = "an expression of paimon_spark.col, which only the 'where' of open_table takes"
    __array_ufunc__ = None  # an array of NumPy on the left leaves the comparison to this class

    def __and__(self, other: Expr) -> Expr:
        return _Joined(_require(self), _require(other), is_and=True)

    def __or__(self, other: Expr) -> Expr:
        return _Joined(_require(self), _require(other), is_and=False)

    def __rand__(self, other: object) -> NoReturn:
        _require(other)  # else Python would have asked the other
        raise AssertionError

    __ror__ = __rand__

    def __invert__(self) -> Expr:
        return _Negated(self)

    def __bool__(self) -> NoReturn:
        raise PredicateError(
            "a condition has no truth value in Python: combine conditions with &, | and ~, and put each comparison in "
            "brackets, (col('a') > 1) & (col('b') < 3)"
        )


@dataclass(frozen=True, slots=True, eq=False)
class ColumnExpr(Expr):
    """A column, or a field inside a ROW; a BOOLEAN one is a condition by itself."""

    names: tuple[str, ...]

    if not TYPE_CHECKING:  # a checker of types shall go on to see that the name is not there

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):  # as pickle and copy ask for
                raise AttributeError(f"'ColumnExpr' has no attribute '{name}'", name=name, obj=self)
            from paimon_spark.format.options.other_systems import ANY_COLUMN_ADVICE, COLUMN_ADVICE

            raise UnsupportedMethod(f"a column has no '{name}': {COLUMN_ADVICE.get(name, ANY_COLUMN_ADVICE)}")

        def _no_value(self, *_: object) -> NoReturn:
            raise PredicateError(
                f"col({self.names[-1]!r}) is compared with values and computes none: field('a') is a field of a ROW, "
                "and what needs arithmetic or a function is done in Arrow, after the read"
            )

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _no_value
        __mod__ = __neg__ = __abs__ = __getitem__ = _no_value
        __iter__ = None  # else Python would ask for the items

    def field(self, name: str) -> ColumnExpr:
        """A field of the ROW in this column."""
        return ColumnExpr((*self.names, name))

    def __eq__(self, value: object) -> Expr:  # type: ignore[override]  # an expression, not an answer
        return _Comparison(self.names, Op.EQ, value)

    def __ne__(self, value: object) -> Expr:  # type: ignore[override]  # an expression, not an answer
        return _Comparison(self.names, Op.NE, value)

    __hash__ = None  # type: ignore[assignment]  # equality gives expressions, so a column is no key

    def __lt__(self, value: object) -> Expr:
        return _Comparison(self.names, Op.LT, value)

    def __le__(self, value: object) -> Expr:
        return _Comparison(self.names, Op.LE, value)

    def __gt__(self, value: object) -> Expr:
        return _Comparison(self.names, Op.GT, value)

    def __ge__(self, value: object) -> Expr:
        return _Comparison(self.names, Op.GE, value)

    def eq_null_safe(self, value: object) -> Expr:
        """``<=>``: equal, or both null; never NULL."""
        return _Comparison(self.names, Op.NULL_SAFE_EQ, value)

    @partial(checked, of_class=True)
    def between(self, low: object, high: object) -> Expr:
        """From ``low`` to ``high``, with both."""
        return (self >= low) & (self <= high)

    def isin(self, *values: object) -> Expr:
        """Equal to one of the values, given singly or as one list, set, range, array, Series or other iterable.

        With a None, NaT or NA, a mismatch is NULL, as in SQL. NaN is a number; among texts and other objects of NumPy
        and pandas it stands for None. Of no values the result is false, or NULL where the column is.
        """
        return _InList(self.names, items_of(values[0]) if len(values) == 1 else values)

    def is_null(self) -> Expr:
        return _Test(self.names, "is_null")

    def is_not_null(self) -> Expr:
        return _Test(self.names, "is_not_null")

    def is_nan(self) -> Expr:
        return _Test(self.names, "is_nan")

    def startswith(self, text: str) -> Expr:
        return _TextTest(self.names, "startswith", text)

    def endswith(self, text: str) -> Expr:
        return _TextTest(self.names, "endswith", text)

    def contains(self, text: str) -> Expr:
        return _TextTest(self.names, "contains", text)

    def like(self, pattern: str, escape: str = "\\") -> Expr:
        return _TextTest(self.names, "like", pattern, escape)


def col(*names: str) -> ColumnExpr:
    """A column by name, in any letter case; more names lead into ROWs. A dot in a name is part of it."""
    if not names or not all(isinstance(name, str) for name in names):
        raise PredicateError(f"col needs the name of a column, found {names!r}")
    return ColumnExpr(names)


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison(Expr):
    names: tuple[str, ...]
    op: Op
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class _InList(Expr):
    names: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Test(Expr):
    names: tuple[str, ...]
    test: str


@dataclass(frozen=True, slots=True, eq=False)
class _TextTest(Expr):
    names: tuple[str, ...]
    test: str
    text: Any
    escape: str = "\\"


@dataclass(frozen=True, slots=True, eq=False)
class _Joined(Expr):
    left: Expr
    right: Expr
    is_and: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Negated(Expr):
    part: Expr


def _require(value: object) -> Expr:
    if not isinstance(value, Expr):
        raise PredicateError(
            f"{value!r:.100} is not a condition: put each comparison in brackets, (col('a') > 1) & ..."
        )
    return value


def bind(expr: Expr, fields: Sequence[DataField], time_zone: TimeZone | None) -> Predicate:
    """The predicate that an expression means for a table.

    Args:
        expr: made of ``col(...)``.
        fields: the table's columns.
        time_zone: the session's, for comparisons of local times with instants. None: unknown; a condition that needs it
            is refused.

    Raises:
        PredicateError: an unknown column, values that its type cannot be compared with, or a condition that needs an
            unknown time zone.
        OptionError: an unknown time zone.
    """
    return _bind(expr, fields, session_zone(time_zone))


def _bind(expr: Expr, fields: Sequence[DataField], zone: dt.tzinfo, depth: int = 0) -> Predicate:
    if depth > _MOST_DEPTH:
        raise PredicateError(
            f"cannot use the filter of col(...): it is nested too deeply, in more than {_MOST_DEPTH} levels of &, | "
            "and ~; isin(...) compares with many values"
        )
    match expr:
        case _Joined(_, _, is_and):
            parts: list[Predicate] = []
            while isinstance(expr, _Joined) and expr.is_and == is_and:  # a chain grows on its left: no recursion there
                parts.append(_bind(expr.right, fields, zone, depth + 1))
                expr = expr.left
            parts.append(_bind(expr, fields, zone, depth + 1))
            return and_(*reversed(parts)) if is_and else or_(*reversed(parts))
        case _Negated(part):
            return not_(_bind(part, fields, zone, depth + 1))
        case ColumnExpr(names):
            return bind_boolean(resolve_column(names, fields))
        case _Comparison(names, op, ColumnExpr(others)):
            return bind_compare(resolve_column(names, fields), op, resolve_column(others, fields), zone)
        case _Comparison(names, op, value):
            return bind_compare(resolve_column(names, fields), op, literal_of(value), zone)
        case _InList(names, ()):
            return UnlessNull(resolve_column(names, fields).path, False)
        case _InList(names, values):
            return bind_in(resolve_column(names, fields), [literal_of(value) for value in values], zone)
        case _TextTest(names, "like", pattern, escape):
            return bind_like(resolve_column(names, fields), literal_of(pattern), escape)
        case _TextTest(names, test, text):
            return bind_text_test(resolve_column(names, fields), test, literal_of(text))
        case _Test(names, test):
            column = resolve_column(names, fields)
            if test == "is_nan":
                return bind_is_nan(column)
            return IsNull(column.path) if test == "is_null" else IsNotNull(column.path)
    raise PredicateError(f"{expr!r} is not a condition")


def as_value(value: Any, fields: Sequence[DataField], time_zone: TimeZone | None) -> Column | Literal:
    """A column or a constant, from any form.

    Args:
        value: SQL text, ``col(...)``, or a constant of Python, NumPy, pandas or Arrow.
        fields, time_zone: as for as_predicate.

    Raises:
        PredicateError: the text is not SQL or computes more than constants, a column is unknown, or it is no value.
        OptionError: an unknown time zone.
    """
    if isinstance(value, ColumnExpr):
        return resolve_column(value.names, fields)
    if isinstance(value, Expr):
        raise PredicateError(f"{value!r:.100} is a condition, and stands where a value must")
    if not isinstance(value, str):
        return literal_of(value)
    from paimon_spark.arrow.predicates.sql_text import parse_value  # imports the SQL parser, as in as_predicate

    return parse_value(value, fields, time_zone)


def as_predicate(
    where: str | Expr | Predicate | None, fields: Sequence[DataField], time_zone: TimeZone | None
) -> Predicate:
    """The predicate of a condition in any form.

    Args:
        where: SQL text, an expression, a predicate, which is returned as it is, or None for all rows.
        fields: the table's columns.
        time_zone: the session's, for comparisons of local times with instants. None: unknown; a condition that needs it
            is refused.

    Raises:
        PredicateError: the text is not SQL or uses an unsupported construct, a column is unknown, values cannot be
            compared, an unknown time zone is needed, or where has another type.
        OptionError: an unknown time zone.
    """
    if where is None:
        return TRUE
    if isinstance(where, str):
        # Imported here because it imports the SQL parser, which few reads need.
        from paimon_spark.arrow.predicates.sql_text import parse_predicate

        if wrong := wrong_in_utf8(where):
            raise PredicateError(f"the condition {where!r:.100} {wrong}; write it in UTF-8")
        return parse_predicate(where, fields, time_zone)
    if isinstance(where, Expr):
        return bind(where, fields, time_zone)
    if not isinstance(where, Predicate):
        raise PredicateError(
            f"{where!r:.100} is not a condition: give SQL text or an expression of col(...) from paimon_spark"
        )
    return where
