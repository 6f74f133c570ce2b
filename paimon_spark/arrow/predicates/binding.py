"""Binds parts of a filter to a table's columns, as leaves of a predicate; used by SQL text and Python expressions."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence

from paimon_spark.arrow.predicates.char_columns import test_char
from paimon_spark.arrow.predicates.coercion import Column, bind_comparison, bind_in_type, common_type
from paimon_spark.arrow.predicates.literals import Literal, cast_literal, fits_integer, literal_words, zone_needed
from paimon_spark.arrow.predicates.predicate import (
    FALSE,
    NULL,
    TRUE,
    Compare,
    CompareColumns,
    Contains,
    EndsWith,
    In,
    Like,
    Op,
    Path,
    Predicate,
    Remainder,
    StartsWith,
    TextLeaf,
    UnlessNull,
    Value,
    Wildcard,
    and_,
    or_,
)
from paimon_spark.arrow.predicates.pruning import match_values
from paimon_spark.arrow.zones import ZoneUnknown
from paimon_spark.errors import PredicateError, similar_names
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import BINARIES, FLOATS, INTEGERS, STRINGS, TIMESTAMPS, DataField, Root

_COMPARED = INTEGERS | STRINGS | BINARIES | TIMESTAMPS | {Root.BOOLEAN, Root.DATE, Root.TIME, Root.DECIMAL}
_MICROS = 6
_MIRRORED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}


def resolve_column(names: Sequence[str], fields: Sequence[DataField]) -> Column:
    """A column, or a field inside ROWs, by its names; letter case does not matter, as in Spark.

    Raises:
        PredicateError: no column has the name, or more than one has.
    """
    path: list[str] = []
    inside: Sequence[DataField] = fields
    for name in names:
        found = [field for field in inside if field.name.lower() == name.lower()]
        if not found:
            near = similar_names(name, [field.name for field in inside])
            hint = f", did you mean '{'.'.join([*path, *near])}'?" if near else ""
            raise PredicateError(f"there is no column '{'.'.join([*path, name])}'{hint}; {_known(path, inside)}")
        if len(found) > 1:
            spellings = ", ".join(field.name for field in found)
            raise PredicateError(f"column '{name}' is ambiguous: it may be any of {spellings}; rename all but one")
        path.append(found[0].name)
        data_type, inside = found[0].type, found[0].type.fields
    return Column(tuple(path), data_type)


def _known(path: Sequence[str], fields: Sequence[DataField]) -> str:
    if path and not fields:
        return f"'{'.'.join(path)}' has no fields"
    return f"{'.'.join(path) or 'the table'} has: {', '.join(field.name for field in fields)}"


def bind_boolean(column: Column) -> Predicate:
    """The bare column as a condition. Raises PredicateError for another type than BOOLEAN."""
    if column.type.root is not Root.BOOLEAN:
        raise PredicateError(
            f"{column} is not a condition: compare it with something. Columns to read are one argument: 'id, dt'"
        )
    return Compare(column.path, Op.EQ, True)


def bind_compare(left: Column | Literal, op: Op, right: Column | Literal, zone: dt.tzinfo) -> Predicate:
    """A comparison of a column with a literal, in either order, of two literals, or of two columns of one type.

    Raises:
        PredicateError: types that cannot be compared, or a literal that cannot be read.
    """
    if isinstance(left, Column):
        if isinstance(right, Column):
            return _compare_columns(left, op, right)
        return bind_comparison(left, op, right, zone)
    if isinstance(right, Column):
        return bind_comparison(right, _MIRRORED.get(op, op), left, zone)
    return _compare_literals(left, op, right, zone)


def bind_remainder(column: Column, divisor: int | None, op: Op, value: int | None) -> Remainder | None:
    """A comparison of ``column % divisor`` with a value, all of them whole numbers; None: it has no such form."""
    if column.type.root not in INTEGERS or divisor is None or value is None:
        return None
    if divisor <= 0 or op is Op.NULL_SAFE_EQ:
        return None
    return Remainder(column.path, divisor, Compare(column.path, op, value))


def _compare_columns(left: Column, op: Op, right: Column) -> Predicate:
    """Of two types Spark casts one, and it pads the shorter CHAR."""
    roots = {left.type.root, right.type.root}
    if roots == {Root.CHAR} and (len(left.path) == len(right.path) == 1 or left.type.length == right.type.length):
        return CompareColumns(left.path, op, right.path, max(left.type.length or 1, right.type.length or 1))
    same = roots == {Root.VARCHAR} or left.type.with_nullable(True) == right.type.with_nullable(True)
    finer = max(left.type.precision or 0, right.type.precision or 0) > _MICROS and roots <= TIMESTAMPS
    if same and finer:
        raise PredicateError(
            f"cannot compare the columns {left} and {right}: Spark compares no more than their microseconds, and they "
            "have more digits; filter the rows in Arrow, or use Spark"
        )
    if not same or not roots <= _COMPARED | FLOATS:
        raise PredicateError(
            f"cannot compare the columns {left} and {right}: they need one type; filter the rows in Arrow, or use Spark"
        )
    return CompareColumns(left.path, op, right.path)


def _compare_literals(left: Literal, op: Op, right: Literal, zone: dt.tzinfo) -> Predicate:
    common = common_type(left.type, right.type)
    if common is None:
        if left.type is None and right.type is None:
            return TRUE if op is Op.NULL_SAFE_EQ else NULL
        raise PredicateError(f"cannot compare literals of type {left.type and type_sql(left.type)} and others")
    try:
        one, other = (cast_literal(literal, common, zone).value for literal in (left, right))
    except ZoneUnknown:
        raise zone_needed(f"comparing {literal_words(left)} with {literal_words(right)}") from None
    if one is None or other is None:
        return (TRUE if one is other else FALSE) if op is Op.NULL_SAFE_EQ else NULL
    return TRUE if match_values(Compare(("",), op, other), {"": one}) else FALSE


def bind_in(column: Column, literals: Sequence[Literal], zone: dt.tzinfo) -> Predicate:
    """``column IN (literals)``: all are compared in one type common to the column and every literal.

    Spark pads the texts of a list for a CHAR column, but none of a list with NULL (Spark: ApplyCharTypePadding).

    Raises:
        PredicateError: an empty list, types that cannot be compared, or a literal that cannot be read.
    """
    if not literals:
        raise PredicateError(f"the list of values for {column} is empty")
    common = column.type
    for literal_type in {id(literal.type): literal.type for literal in literals}.values():  # most lists have one
        wider = common_type(common, literal_type)
        if wider is None:
            raise PredicateError(f"cannot compare {column} with all literals of the list: give them the column's type")
        common = wider
    # NULL is left out of the parts and added to the whole, where it decides what no value matches.
    values: list[Value] = []
    ranges: list[Predicate] = []
    has_null = any(literal.value is None for literal in literals)
    as_they_are = has_null and column.type.root is Root.CHAR
    is_whole = column.type.root in INTEGERS and common.root in INTEGERS  # no bound has to be found
    for literal in literals:
        if is_whole and isinstance(literal.value, int):
            if fits_integer(literal.value, column.type.root):
                values.append(literal.value)
            continue
        if as_they_are and isinstance(literal.value, str):
            ranges.append(_of_texts(column, Compare(column.path, Op.EQ, literal.value)))
            continue
        bound = NULL if literal.value is None else bind_in_type(column, Op.EQ, literal, common, zone)
        if isinstance(bound, Compare):
            values.append(bound.value)
        elif isinstance(bound, In):
            values += bound.values
        elif bound != NULL and not isinstance(bound, UnlessNull):
            ranges.append(bound)
    if not values and not ranges and not has_null:
        return UnlessNull(column.path, False)
    listed = [In(column.path, tuple(values), has_null)] if values or has_null else []
    return or_(*listed, *ranges)


_TEXT_TESTS: dict[str, Callable[[Path, str], TextLeaf]] = {
    "startswith": StartsWith,
    "endswith": EndsWith,
    "contains": Contains,
}


def bind_text_test(column: Column, test: str, literal: Literal) -> Predicate:
    """``startswith``, ``endswith`` or ``contains`` of a text column. Raises PredicateError for other types."""
    text = _text_of(column, test, literal)
    if text is None:
        return NULL
    return _of_texts(column, _TEXT_TESTS[test](column.path, text))


def _of_texts(column: Column, leaf: TextLeaf) -> Predicate:
    """The condition on the texts as Spark reads them: those of CHAR are padded."""
    return test_char(column.type.length or 1, leaf) if column.type.root is Root.CHAR else leaf


def _text_of(column: Column, test: str, literal: Literal) -> str | None:
    if column.type.root not in STRINGS:
        raise PredicateError(f"{test} needs a text column, found {column}")
    if literal.value is not None and not isinstance(literal.value, str):
        raise PredicateError(f"{test} of {column} needs a text in quotes, found {literal.value!r:.100}")
    return literal.value


def bind_like(column: Column, literal: Literal, escape: str = "\\") -> Predicate:
    """``column LIKE pattern``: ``%`` any text, ``_`` one character, the escape takes away their meaning.

    Raises:
        PredicateError: not a text column, or the escape in the pattern precedes anything but ``%``, ``_`` or itself.
    """
    pattern = _text_of(column, "LIKE", literal)
    if pattern is None:
        return NULL
    parts = pattern_parts(pattern, escape)
    if parts == [Wildcard.ANY]:
        return UnlessNull(column.path, True)
    return _of_texts(column, matched_text(column.path, parts))


def matched_text(path: Path, parts: Sequence[str | Wildcard]) -> TextLeaf:
    """The condition that a text fits a pattern, by its parts, in the form that leaves out most files."""
    match parts:
        case []:
            return Compare(path, Op.EQ, "")
        case [str(text)]:
            return Compare(path, Op.EQ, text)
        case [str(text), Wildcard.ANY]:
            return StartsWith(path, text)
        case [Wildcard.ANY, str(text)]:
            return EndsWith(path, text)
        case [Wildcard.ANY, str(text), Wildcard.ANY]:
            return Contains(path, text)
    return Like(path, tuple(parts))


def pattern_parts(pattern: str, escape: str) -> list[str | Wildcard]:
    """The texts and wildcards of a pattern of LIKE, escapes resolved.

    Raises:
        PredicateError: the escape precedes anything but a wildcard or itself.
    """
    if len(escape) != 1:
        raise PredicateError(f"the escape of LIKE must be one character, found {escape!r}")
    parts: list[str | Wildcard] = []
    characters = iter(pattern)
    for character in characters:
        part: str | Wildcard = character
        if character == escape:
            part = next(characters, "")
            if part not in ("%", "_", escape):
                raise PredicateError(f"in the pattern {pattern!r} the escape {escape!r} must precede %, _ or itself")
        elif character == "%":
            part = Wildcard.ANY
        elif character == "_":
            part = Wildcard.ONE
        last = parts[-1] if parts else None
        if isinstance(part, str) and isinstance(last, str):
            parts[-1] = last + part
        elif not (part is Wildcard.ANY and last is Wildcard.ANY):
            parts.append(part)
    return parts


def bind_char_between(column: Column, low: Column | Literal, high: Column | Literal) -> Predicate:
    """``column BETWEEN low AND high`` of a CHAR column, for which Spark does not pad the literals.

    Raises:
        PredicateError: a bound is no text.
    """
    parts = []
    for op, bound in ((Op.GE, low), (Op.LE, high)):
        if isinstance(bound, Column) or not isinstance(bound.value, str | None):
            raise PredicateError(f"BETWEEN of {column} needs two texts in quotes")
        leaf = NULL if bound.value is None else _of_texts(column, Compare(column.path, op, bound.value))
        parts.append(leaf)
    return and_(*parts)


def bind_is_nan(column: Column) -> Predicate:
    """``isnan(column)``: false for NULL. Raises PredicateError for a type that is not a number."""
    if column.type.root in FLOATS:
        return Compare(column.path, Op.NULL_SAFE_EQ, math.nan)
    if column.type.root in INTEGERS or column.type.root is Root.DECIMAL:
        return FALSE
    raise PredicateError(f"isnan needs a column of numbers, found {column}")
