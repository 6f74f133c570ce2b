"""Conditions on CHAR columns mean padded texts, and no pruning loses a row that is stored without its blanks."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_spark.arrow.predicates.char_columns import char_range
from paimon_spark.arrow.predicates.evaluate import evaluate
from paimon_spark.arrow.predicates.expressions import bind, col
from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.arrow.predicates.pruning import match_values, may_match
from paimon_spark.arrow.predicates.sql_text import parse_predicate
from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.format.types import DataField, DataType, Root

LENGTH = 4
FIELDS = (
    DataField(0, "c", DataType(Root.CHAR, length=LENGTH)),
    DataField(1, "d", DataType(Root.CHAR, length=6)),
    DataField(2, "r", DataType(Root.ROW, fields=(DataField(3, "c", DataType(Root.CHAR, length=LENGTH)),))),
)
TEXTS = st.text("ab \t\u00e9", max_size=LENGTH)
LITERALS = st.text("ab \t\u00e9", max_size=LENGTH + 2)


def both(literal: str, stored: str) -> tuple[str, str]:
    """A text as it is read, and the literal, as Spark pads them for a comparison."""
    width = max(LENGTH, len(literal))
    return stored.ljust(width), literal.ljust(width)


COMPARED: dict[str, Callable[[str, str], bool]] = {
    "c = {}": lambda value, literal: value == literal,
    "c <=> {}": lambda value, literal: value == literal,
    "c <> {}": lambda value, literal: value != literal,
    "c < {}": lambda value, literal: value < literal,
    "c <= {}": lambda value, literal: value <= literal,
    "c > {}": lambda value, literal: value > literal,
    "c >= {}": lambda value, literal: value >= literal,
    "c IN ({})": lambda value, literal: value == literal,
    "NOT c IN ({})": lambda value, literal: value != literal,
}
READ: dict[str, Callable[[str, str], bool]] = {
    "startswith(c, {})": str.startswith,
    "endswith(c, {})": str.endswith,
    "contains(c, {})": lambda value, literal: literal in value,
    "c LIKE {}": lambda value, literal: value == literal,
    "c LIKE '%' || {}": str.endswith,
    "c BETWEEN {} AND 'b'": lambda value, literal: literal <= value <= "b",
}
"""Conditions whose literals Spark does not pad."""


def written(text: str) -> str:
    return "'" + text + "'"


def predicate_of(condition: str, literal: str) -> Predicate:
    text = condition.format(written(literal)).replace("'%' || '", "'%")
    return parse_predicate(text, FIELDS, None)


def check_all_ways(predicate: Predicate, stored: str, expected: bool) -> None:
    """One row, its batch, and statistics of a file that has it."""
    assert match_values(predicate, {"c": stored, "d": None}) is expected
    batch = pa.record_batch({"c": [stored, None]})
    assert evaluate(predicate, batch).to_pylist()[0] is expected
    if expected:
        for low, high in ((stored, stored), (stored[:1], stored + "z")):
            stats = ColumnStats(low, high, 0)
            assert may_match(predicate, lambda _, stats=stats: stats, 1), (low, high)


@settings(max_examples=150)
@given(TEXTS, LITERALS, st.sampled_from(sorted(COMPARED)))
def test_a_literal_and_a_stored_text_are_padded_before_they_are_compared(
    stored: str, literal: str, condition: str
) -> None:
    check_all_ways(predicate_of(condition, literal), stored, COMPARED[condition](*both(literal, stored)))


@settings(max_examples=150)
@given(TEXTS, LITERALS, st.sampled_from(sorted(READ)))
def test_other_conditions_look_at_the_padded_text_alone(stored: str, literal: str, condition: str) -> None:
    check_all_ways(predicate_of(condition, literal), stored, READ[condition](stored.ljust(LENGTH), literal))


@settings(max_examples=60)
@given(TEXTS, TEXTS)
def test_two_columns_of_different_lengths_are_padded(left: str, right: str) -> None:
    for predicate in (parse_predicate("c = d", FIELDS, None), bind(col("c") == col("d"), FIELDS, None)):
        expected = left.ljust(6) == right.ljust(6)
        assert match_values(predicate, {"c": left, "d": right}) is expected
        assert evaluate(predicate, pa.record_batch({"c": [left], "d": [right]})).to_pylist() == [expected]


@settings(max_examples=100)
@given(TEXTS, LITERALS, LITERALS)
def test_a_range_of_padded_texts_holds_all_stored_ones(stored: str, one: str, other: str) -> None:
    low, high = sorted((one, other))
    if low <= stored.ljust(LENGTH) <= high:
        assert match_values(char_range(("c",), low, high, LENGTH), {"c": stored})


def test_the_literal_for_a_field_of_a_struct_is_not_padded() -> None:
    rows = pa.record_batch({"r": pa.array([{"c": "a"}, {"c": "a   "}, None])})
    assert evaluate(parse_predicate("r.c = 'a'", FIELDS, None), rows).to_pylist() == [False, False, None]
    assert evaluate(parse_predicate("r.c = 'a   '", FIELDS, None), rows).to_pylist() == [True, True, None]


@pytest.mark.parametrize("length", [4, 1000])
def test_a_text_with_many_forms_is_found_too(length: int) -> None:
    fields = (DataField(0, "c", DataType(Root.CHAR, length=length)),)
    for condition in ("c = 'a'", "c IN ('a', 'q')", "c <=> 'a'"):
        predicate = parse_predicate(condition, fields, None)
        found = [match_values(predicate, {"c": text}) for text in ("a", "a  ", "a".ljust(length), "ab", "a\t")]
        assert found == [True, True, True, False, False], condition
