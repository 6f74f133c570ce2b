"""Parameters of statements as literals."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.sql.queries.parameters import argument_literal, question_marks, with_arguments, with_values
from paimon_spark.sql.text.lexer import tokenize
from paimon_spark.sql.text.literals import string_value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (-7, "-7"),
        (1e-7, "1e-07D"),
        (float("-inf"), "double('-inf')"),
        (Decimal("1E+2"), "100BD"),
        (Decimal("-1.50"), "-1.50BD"),
        (b"\x00\xff", "X'00ff'"),
        (dt.date(2026, 11, 1), "DATE '2026-11-01'"),
        (dt.datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=dt.UTC), "timestamp_micros(1000005)"),
        (dt.timedelta(days=-1, microseconds=1), "make_dt_interval(0, 0, 0, -86399.999999)"),
        ([1, [2], None], "array(1, array(2), NULL)"),
        ({"a": 1.5}, "map('a', 1.5D)"),
        (Decimal("NaN"), None),
        ({1, 2}, None),
        ([object()], None),
    ],
)
def test_values_have_literals(value: object, text: str | None) -> None:
    assert argument_literal(value) == text


@pytest.mark.parametrize("value", ["it's", "a\\'b", "\\", "${x}", "\\${x}", ":x ? -- '", "\n"])
def test_texts_stay_what_they_are(value: str) -> None:
    literal = argument_literal(value)
    assert literal is not None
    assert string_value(literal) == value
    assert "${" not in literal


@pytest.mark.parametrize(
    ("text", "named", "positional", "expected"),
    [
        ("id = :id AND s <> ':id'", {"id": 5}, [], "id = 5 AND s <> ':id'"),
        ("a -:x", {"x": -1}, [], "a - -1"),
        ("v:price > :price", {"price": 3}, [], "v:price > 3"),
        ("id IN (?, ?) -- ?\nAND s = '?'", {}, [1, "a"], "id IN (1, 'a') -- ?\nAND s = '?'"),
        ("m[:k] = :`odd name`", {"k": "x", "odd name": None}, [], "m['x'] = NULL"),
    ],
)
def test_parameters_get_their_values(text: str, named: dict[str, Any], positional: list[Any], expected: str) -> None:
    assert with_arguments(text, named, iter(positional)) == expected


def test_question_marks_are_counted_where_they_are_parameters() -> None:
    assert question_marks("SELECT ?, '?', `?` FROM t /* ? */ WHERE a = ?") == 2
    left = iter([1, 2, 3])
    assert with_arguments("a = ? OR a = ?", {}, left) == "a = 1 OR a = 2"
    assert list(left) == [3]


def test_what_has_no_value_is_said() -> None:
    with pytest.raises(SqlError, match="the parameter :nope has no value"):
        with_arguments("id = :nope", {"id": 1}, iter(()))
    with pytest.raises(SqlError, match=r"the parameter \? has no value"):
        with_arguments("id = ?", {"id": 1}, iter(()))
    with pytest.raises(UnsupportedFeature, match="the value of the parameter :s is a set"):
        with_arguments("id = :s", {"s": {1}}, iter(()))


def test_pruning_takes_what_is_sure() -> None:
    assert with_values("dt = :d AND n -:n > 0", {"d": dt.date(2026, 1, 2), "n": -1}) == (
        "dt = DATE '2026-01-02' AND n - -1 > 0"
    )
    for text, args in (("a = :a", {}), ("a = ?", {}), ("a = :a", {"a": 1.5}), ("a = :a", {"a": [1]})):
        assert with_values(text, args) is None
    assert tokenize("a - -1")[-1].text == "1"
