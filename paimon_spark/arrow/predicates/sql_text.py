"""Conditions written as Spark SQL text. sqlglot parses the text; this module and ``binding`` give it its meaning.

Any part of the syntax tree that this module does not know, even a flag on a known node, is refused, so that a condition
is never misread.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from paimon_spark.arrow.predicates.arithmetic import Interval, Sum, calculate, interval_of, negated
from paimon_spark.arrow.predicates.binding import (
    bind_boolean,
    bind_char_between,
    bind_compare,
    bind_in,
    bind_is_nan,
    bind_like,
    bind_remainder,
    bind_text_test,
    resolve_column,
)
from paimon_spark.arrow.predicates.coercion import Column
from paimon_spark.arrow.predicates.dialect import Dialect
from paimon_spark.arrow.predicates.literals import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INSTANT,
    LOCAL_TIMESTAMP,
    NULL_LITERAL,
    OF_LOCAL_TIMES,
    STRING,
    TIME,
    WITH_OFFSET,
    Literal,
    cast_literal,
    decimal_literal,
    integer_literal,
    literal_words,
    zone_needed,
)
from paimon_spark.arrow.predicates.predicate import (
    FALSE,
    NULL,
    TRUE,
    IsNotNull,
    IsNull,
    Op,
    Predicate,
    and_,
    is_false,
    is_true,
    not_,
    or_,
)
from paimon_spark.arrow.zones import TimeZone, ZoneUnknown, session_zone
from paimon_spark.errors import PredicateError
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import INTEGERS, DataField, DataType, Root

_POSSIBLE = (
    "a condition compares columns with literals (= < IN BETWEEN LIKE IS NULL startswith ...), with AND, OR and NOT; "
    "apply what it cannot say to the rows that are read"
)
Node: TypeAlias = Any  # sqlglot's base of all nodes; its name is not the same in all releases

_COMPARISONS: dict[type[Any], Op] = {
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.GT: Op.GT,
    exp.GTE: Op.GE,
    exp.NullSafeEQ: Op.NULL_SAFE_EQ,
    exp.NullSafeNEQ: Op.NULL_SAFE_EQ,
}
_SUMS: dict[type[Any], Sum] = {exp.Add: Sum.ADD, exp.Sub: Sum.SUBTRACT, exp.Mul: Sum.MULTIPLY}
_TEXT_TESTS: dict[type[Any], str] = {
    exp.StartsWith: "startswith",
    exp.EndsWith: "endswith",
    exp.Contains: "contains",
}
_TYPES: dict[str, DataType] = {
    "BOOLEAN": BOOLEAN,
    "TINYINT": DataType(Root.TINYINT),
    "SMALLINT": DataType(Root.SMALLINT),
    "INT": DataType(Root.INT),
    "BIGINT": DataType(Root.BIGINT),
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
    "TEXT": STRING,
    "BINARY": BYTES,
    "VARBINARY": BYTES,
    "DATE": DATE,
    "TIME": TIME,
    "TIMESTAMP": INSTANT,
    "TIMESTAMPTZ": INSTANT,
    "TIMESTAMPLTZ": INSTANT,
    "TIMESTAMPNTZ": LOCAL_TIMESTAMP,
}


_TEXT = re.compile(r"'[^']*'")
_PART = re.compile(r"\w:{1,2}[\w\[]")
_PYTHON_SIGN = re.compile(r"&&?|\|\|?")


def parse_predicate(
    sql: str, fields: Sequence[DataField], time_zone: TimeZone | None, dialect: Dialect = Dialect.ANSI
) -> Predicate:
    """The predicate that a condition in Spark SQL means for a table.

    Args:
        sql: a condition as in a WHERE clause.
        fields: the table's columns; the text may spell them in any letter case.
        time_zone: the session's, for comparisons of local times with instants. None: unknown; a condition that needs it
            is refused.
        dialect: by which rules the session reads it; a condition that they give another meaning is refused.

    Raises:
        PredicateError: the text is not SQL, names an unknown column, compares what Spark cannot compare, or uses a
            construct that has no predicate; the message holds the text and what is possible.
        OptionError: an unknown time zone.
    """
    reading = _Reading(fields, session_zone(time_zone), dialect)
    try:
        dialect.check_known()
        return reading.predicate(_parse(sql))
    except PredicateError as error:
        raise PredicateError(f"cannot use the filter {sql!r}: {error}{_advice(sql, fields)}") from None
    except RecursionError:
        raise PredicateError(f"cannot use the filter {sql[:200]!r}...: it is nested too deeply") from None


def parse_value(
    sql: str, fields: Sequence[DataField], time_zone: TimeZone | None, dialect: Dialect = Dialect.ANSI
) -> Column | Literal:
    """The column or the constant that an expression in Spark SQL means; arguments as of parse_predicate.

    Raises:
        PredicateError: the text is not SQL, names an unknown column, or computes more than constants.
        OptionError: an unknown time zone.
    """
    reading = _Reading(fields, session_zone(time_zone), dialect)
    try:
        dialect.check_known()
        return reading.value(_parse(sql))
    except PredicateError as error:
        raise PredicateError(f"cannot use the value {sql!r:.200}: {error}") from None
    except RecursionError:
        raise PredicateError(f"cannot use the value {sql[:200]!r}...: it is nested too deeply") from None


def _advice(sql: str, fields: Sequence[DataField]) -> str:
    """What to do about words of Python in a condition, and about a column whose name stands in double quotes."""
    if sql.startswith("Column<"):
        return "; it is the text of a Column of Spark: write the condition itself in SQL, such as \"dt = '2026-11-01'\""
    quoted = next((field.name for field in fields if f'"{field.name.lower()}"' in sql.lower()), None)
    if quoted:
        return f"; double quotes make a text in Spark SQL: name a column `{quoted}`"
    plain = _TEXT.sub("", sql)
    if _PART.search(plain):
        return (
            "; parts of VARIANT values (v:path::TYPE) are for scan(where=) without Spark, cat.sql, and the where of a "
            "DataFrame"
        )
    sign = _PYTHON_SIGN.search(plain)
    return f"; in SQL conditions are joined with {'AND' if sign[0][0] == '&' else 'OR'}, not {sign[0]}" if sign else ""


def _parse(sql: str) -> Node:
    dialect = sqlglot.Dialect.get_or_raise("spark")
    try:
        trees = dialect.parser().parse(_join_strings(dialect.tokenize(sql), sql), sql)
    except SqlglotError as error:
        raise PredicateError(f"it is not a condition in SQL: {_reason(error)}") from None
    if trees in ([], [None]):
        raise PredicateError("it is empty; write one such as \"dt = '2026-11-01'\", or give none for all rows")
    if len(trees) != 1 or trees[0] is None:
        raise PredicateError("it must hold exactly one condition")
    return trees[0]


def _reason(error: SqlglotError) -> str:
    """What is wrong with a text, and where; without words about the parser."""
    found = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    near = str(found.get("highlight") or "")
    if not near:
        return "a quote or a comment is not closed"
    problem, place = str(found.get("description")), f"in line {found['line']}, column {found['col'] - len(near) + 1}"
    if problem.startswith("Expecting "):
        return f"'{problem.removeprefix('Expecting ')}' is missing behind '{near}' {place}"
    return f"something is missing at '{near}' {place}" if "missing" in problem else f"'{near}' is unexpected {place}"


def _join_strings(tokens: Sequence[Token], sql: str) -> list[Token]:
    """Joins adjacent strings into one. Where they touch, as in 'it''s', adds the quote that sqlglot drops."""
    joined: list[Token] = []
    for token in tokens:
        last = joined[-1] if joined else None
        if last is not None and last.token_type is token.token_type is TokenType.STRING:
            quote = sql[token.start] if last.end + 1 == token.start else ""
            text = last.text + quote + token.text
            joined[-1] = Token(TokenType.STRING, text, last.line, last.col, last.start, token.end, last.comments)
        else:
            joined.append(token)
    return joined


def _refuse(node: Node) -> PredicateError:
    return PredicateError(f"{node.sql(dialect='spark')!r:.200} is not supported; {_POSSIBLE}")


def _check_parts(node: Node, *known: str) -> None:
    """Refuse a node that has parts besides the known ones."""
    if any(value for name, value in node.args.items() if name not in known):
        raise _refuse(node)


class _Reading:
    """One text being read for one table."""

    def __init__(self, fields: Sequence[DataField], zone: dt.tzinfo, dialect: Dialect) -> None:
        self._fields = fields
        self._zone = zone
        self._dialect = dialect

    # ------------------------------------------------------------------------------------------------------ conditions

    def predicate(self, node: Node) -> Predicate:
        match node:
            case exp.Paren():
                _check_parts(node, "this")
                return self.predicate(node.this)
            case exp.And() | exp.Or():
                parts = [self.predicate(part) for part in node.flatten()]
                return and_(*parts) if isinstance(node, exp.And) else or_(*parts)
            case exp.Not():
                return not_(self.predicate(node.this))
            case exp.Is():
                return self._is(node)
            case exp.Between():
                _check_parts(node, "this", "low", "high")
                value = self._operand(node.this)
                low, high = self._operand(node.args["low"]), self._operand(node.args["high"])
                if isinstance(value, Column) and value.type.root is Root.CHAR:
                    return bind_char_between(value, low, high)
                return and_(self._compare(value, Op.GE, low), self._compare(value, Op.LE, high))
            case exp.In():
                _check_parts(node, "this", "expressions")
                column, literals = self._column(node.this), [self._literal(item) for item in node.expressions]
                for literal in literals:
                    self._dialect.check_alike(column.type, literal.type)
                return bind_in(column, literals, self._zone)
            case exp.Like():
                return self._like(node, "\\")
            case exp.Escape(this=exp.Like()):
                _check_parts(node, "this", "expression")
                return self._like(node.this, str(self._literal(node.expression).value))
            case exp.Boolean() | exp.Null():
                return NULL if isinstance(node, exp.Null) else TRUE if node.this else FALSE
            case exp.Column() | exp.Dot():
                return bind_boolean(self._column(node))
        if type(node) in _COMPARISONS:
            return self._comparison(node)
        return self._function(node)

    def _comparison(self, node: Node) -> Predicate:
        _check_parts(node, "this", "expression")
        op = _COMPARISONS[type(node)]
        left, right = _unwrap(node.this), _unwrap(node.expression)
        if isinstance(left, exp.Mod):
            return self._remainder(left, op, self._operand(right), node)
        if isinstance(right, exp.Boolean) and not _is_operand(left):
            compared = _compare_truth(self.predicate(left), op, bool(right.this), node)
        else:
            compared = self._compare(self._operand(left), op, self._operand(right))
        return not_(compared) if isinstance(node, exp.NullSafeNEQ) else compared

    def _remainder(self, node: Node, op: Op, value: Column | Literal, whole: Node) -> Predicate:
        """A comparison of ``column % number`` with a number; all are whole, so that no type matters."""
        _check_parts(node, "this", "expression")
        column, divisor = self._column(node.this), _whole(self._literal(node.expression))
        found = bind_remainder(column, divisor, op, _whole(value))
        if found is None:
            raise _refuse(whole)
        return found

    def _compare(self, left: Column | Literal, op: Op, right: Column | Literal) -> Predicate:
        self._dialect.check_alike(left.type, right.type)
        return bind_compare(left, op, right, self._zone)

    def _is(self, node: Node) -> Predicate:
        _check_parts(node, "this", "expression")
        tested, wanted = _unwrap(node.this), node.expression
        if isinstance(wanted, exp.Null):
            if isinstance(tested, exp.Column | exp.Dot):
                return IsNull(self._column(tested).path)
            inner = self.predicate(tested)
            return not_(or_(is_true(inner), is_false(inner)))
        if isinstance(wanted, exp.Boolean):
            inner = self.predicate(tested)
            return is_true(inner) if wanted.this else is_false(inner)
        raise _refuse(node)

    def _like(self, node: Node, escape: str) -> Predicate:
        _check_parts(node, "this", "expression", "negate")
        liked = bind_like(self._column(node.this), self._literal(node.expression), escape)
        return not_(liked) if node.args.get("negate") else liked

    def _function(self, node: Node) -> Predicate:
        if type(node) in _TEXT_TESTS:
            _check_parts(node, "this", "expression")
            return bind_text_test(self._column(node.this), _TEXT_TESTS[type(node)], self._literal(node.expression))
        if isinstance(node, exp.IsNan):
            _check_parts(node, "this")
            return bind_is_nan(self._column(node.this))
        if isinstance(node, exp.Anonymous) and len(node.expressions) == 1:
            match str(node.this).lower():
                case "isnull":
                    return IsNull(self._column(node.expressions[0]).path)
                case "isnotnull":
                    return IsNotNull(self._column(node.expressions[0]).path)
        raise _refuse(node)

    # -------------------------------------------------------------------------------------------------------- operands

    def value(self, node: Node) -> Column | Literal:
        """The column or the constant that stands where a value must."""
        return self._operand(node)

    def _operand(self, node: Node) -> Column | Literal:
        node = _unwrap(node)
        if isinstance(node, exp.Column | exp.Dot):
            return self._column(node)
        same = self._uncast(node)
        return self._literal(node) if same is None else same

    def _uncast(self, node: Node) -> Column | None:
        """The column of a cast that does nothing, since the column has that type; None: it is another expression."""
        if not isinstance(node, exp.Cast) or not isinstance(_unwrap(node.this), exp.Column | exp.Dot):
            return None
        _check_parts(node, "this", "to", "safe")
        column = self._column(node.this)
        return column if column.type.with_nullable(True) == _data_type(node.to) else None

    def _column(self, node: Node) -> Column:
        node = _unwrap(node)
        if not isinstance(node, exp.Column | exp.Dot):
            raise PredicateError(f"{node.sql(dialect='spark')!r:.200} stands where a column must; {_POSSIBLE}")
        parts = node.parts
        if not all(isinstance(part, exp.Identifier) for part in parts):
            raise _refuse(node)
        return resolve_column([part.name for part in parts], self._fields)

    def _literal(self, node: Node) -> Literal:
        match _unwrap(node):
            case exp.Null():
                return NULL_LITERAL
            case exp.Boolean(this=value):
                return Literal(bool(value), BOOLEAN)
            case exp.Literal(is_string=True, this=text) | exp.RawString(this=text):
                return Literal(str(text), STRING)
            case exp.Literal(this=text):
                return _number(str(text))
            case exp.HexString(this=digits):
                digits = str(digits)
                return Literal(bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2)), BYTES)
            case exp.Neg(this=inner):
                return self._negated(_unwrap(inner))
            case exp.Cast() as cast:
                return self._cast(cast, cast.this)
            case exp.Add() | exp.Sub() | exp.Mul() as sum_:
                _check_parts(sum_, "this", "expression")
                return self._sum(_SUMS[type(sum_)], self._term(sum_.this), self._term(sum_.expression))
            case exp.Column() | exp.Dot() as column:
                raise PredicateError(f"column {column.sql(dialect='spark')!r} stands where a literal must")
            case other:
                raise _refuse(other)

    def _sum(self, kind: Sum, left: Literal | Interval, right: Literal | Interval) -> Literal:
        if isinstance(left, Literal) and isinstance(right, Literal) and Root.DATE not in _roots(left, right):
            self._dialect.check_alike(left.type, right.type)
        return calculate(kind, left, right)

    def _term(self, node: Node) -> Literal | Interval:
        node = _unwrap(node)
        return _interval(node) if isinstance(node, exp.Interval) else self._literal(node)

    def _negated(self, node: Node) -> Literal:
        """A minus before a number is part of the number: -128Y is a TINYINT, 128Y is too big.

        A minus before the cast of a text is an operation on the number that the cast makes.
        """
        if isinstance(node, exp.Literal) and not node.is_string:
            return _number(f"-{node.this}")
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and not node.this.is_string:
            return self._cast(node, exp.Literal(this=f"-{node.this.this}", is_string=False))
        return negated(self._literal(node))

    def _cast(self, node: exp.Cast, inner: Node) -> Literal:
        _check_parts(node, "this", "to", "safe")
        to, literal = _data_type(node.to), self._literal(inner)
        try:
            return cast_literal(literal, to, self._zone)
        except ZoneUnknown:
            what = f"{literal_words(literal)} as {type_sql(to)}"
            raise zone_needed(what, f"{WITH_OFFSET} (for a TIMESTAMP_NTZ column, {OF_LOCAL_TIMES})") from None
        except PredicateError:
            if isinstance(node, exp.TryCast) and node.args.get("safe"):  # try_cast; a plain cast has no such mark
                return Literal(None, to)
            raise


def _interval(node: Node) -> Interval:
    """An interval of one unit, such as ``INTERVAL '3' MONTH`` or ``INTERVAL 90 DAYS``."""
    unit, number = node.args.get("unit"), node.this
    sign, number = (-1, number.this) if isinstance(number, exp.Neg) else (1, number)
    try:
        if not isinstance(unit, exp.Var) or not isinstance(number, exp.Literal):
            raise ValueError
        return interval_of(str(unit.this), sign * int(number.this))
    except ValueError:
        raise PredicateError(f"{node.sql(dialect='spark')!r} is no interval of one unit and a whole number") from None


def _unwrap(node: Node) -> Node:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _roots(*literals: Literal) -> set[Root]:
    return {literal.type.root for literal in literals if literal.type is not None}


def _is_operand(node: Node) -> bool:
    kinds = (exp.Column, exp.Dot, exp.Literal, exp.RawString, exp.HexString, exp.Neg, exp.Cast, exp.Boolean, exp.Null)
    return isinstance(node, kinds)


def _compare_truth(condition: Predicate, op: Op, wanted: bool, node: Node) -> Predicate:
    """``(condition) op TRUE`` or FALSE."""
    forms: dict[Op, Callable[[], Predicate]] = {
        Op.EQ: lambda: condition if wanted else not_(condition),
        Op.NE: lambda: not_(condition) if wanted else condition,
        Op.NULL_SAFE_EQ: lambda: is_true(condition) if wanted else is_false(condition),
    }
    if op not in forms:
        raise _refuse(node)
    return forms[op]()


def _whole(value: Column | Literal) -> int | None:
    """The value of a literal of an integer type; None: it is none, or NULL."""
    if isinstance(value, Column) or value.type is None or value.type.root not in INTEGERS:
        return None
    return value.value if isinstance(value.value, int) else None


def _number(text: str) -> Literal:
    if "e" in text.lower():
        value = float(text)
        if math.isinf(value):
            raise PredicateError(f"the number {text:.60} is beyond DOUBLE")
        return Literal(value, DOUBLE)
    number = Decimal(text)
    return decimal_literal(number) if "." in text else integer_literal(number)


def _data_type(node: Any) -> DataType:
    """The type a cast names."""
    name = node.this.value if isinstance(node, exp.DataType) and not isinstance(node.this, str) else ""
    parameters = [int(p.name[:9]) for p in node.expressions if p.name.isdigit()]
    if name == "DECIMAL":
        precision, scale = [*parameters, *((10, 0)[len(parameters) :])][:2]
        if 0 <= scale <= precision <= 38 and precision > 0:
            return DataType(Root.DECIMAL, precision=precision, scale=scale)
    if name in _TYPES and not node.expressions:
        return _TYPES[name]
    raise PredicateError(f"a filter cannot cast to {node.sql(dialect='spark')}")
