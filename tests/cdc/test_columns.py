"""JSON values as columns: what is read, what is refused, and that a whole column is read as its values are."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.arrow.types import arrow_type
from paimon_spark.cdc.columns import column_array
from paimon_spark.cdc.encodings import TEXT, Encoding, Form
from paimon_spark.cdc.json_values import parse_json, value_text
from paimon_spark.cdc.plain_values import PlainRules
from paimon_spark.errors import DataError
from paimon_spark.format.type_text import parse_type

PLAIN = Encoding(TEXT)
RULES = PlainRules()
DIGITS = "123456789012345678901234567890123456.78"


def read(json_text: str, column: str, rules: PlainRules = RULES, form: Form = Form.PLAIN) -> Any:
    """The value of one JSON text in a column; the problem where it does not fit."""
    array, problems = column_array([parse_json(json_text)], Encoding(TEXT, form), parse_type(column), rules)
    assert array.type == arrow_type(parse_type(column))
    return problems[0] if problems else array[0].as_py()


@pytest.mark.parametrize(
    ("text", "column", "value"),
    [
        ("true", "BOOLEAN", True),
        ("1", "BOOLEAN", True),
        ('"yes"', "BOOLEAN", True),
        ("127", "TINYINT", 127),
        ('"-128"', "TINYINT", -128),
        ('"+5"', "INT", 5),
        ("9223372036854775807", "BIGINT", 2**63 - 1),
        ("9007199254740993", "DOUBLE", 9007199254740992.0),
        ("1e400", "DOUBLE", float("inf")),
        ("1.5", "FLOAT", 1.5),
        ("3.14", "FLOAT", 3.140000104904175),
        ("0.1", "DECIMAL(5, 2)", Decimal("0.10")),
        ("3.140000000000001", "DECIMAL(5, 2)", Decimal("3.14")),
        ('"2.345"', "DECIMAL(5, 2)", Decimal("2.35")),
        (
            "123456789012345678901234567890123456.78",
            "DECIMAL(38, 2)",
            Decimal("123456789012345678901234567890123456.78"),
        ),
        ("1E+2", "DECIMAL(5, 0)", Decimal(100)),
        ("5", "STRING", "5"),
        ("1.50", "STRING", "1.50"),
        ("false", "STRING", "false"),
        ('"é\\u0000😀"', "STRING", "é\0😀"),
        ('"abc"', "CHAR(3)", "abc"),
        ("-4016", "DATE", date(1959, 1, 3)),
        ('"2024-02-29"', "DATE", date(2024, 2, 29)),
        ('"10:11:12.5"', "TIME(3)", time(10, 11, 12, 500000)),
        ("1000", "TIME(3)", time(0, 0, 1)),
        ("-1", "TIMESTAMP(3)", datetime(1969, 12, 31, 23, 59, 59, 999000)),
        ("2", "TIMESTAMP(0)", datetime(1970, 1, 1, 0, 0, 2)),
        ("2", "TIMESTAMP(6)", datetime(1970, 1, 1, 0, 0, 0, 2)),
        ('"2023-11-14T22:13:20Z"', "TIMESTAMP(0)", datetime(2023, 11, 14, 22, 13, 20)),
        ('"2023-11-14 22:13:20.129999"', "TIMESTAMP(2)", datetime(2023, 11, 14, 22, 13, 20, 120000)),
        ('"2023-11-14T22:13:20+05:30"', "TIMESTAMP_LTZ(6)", datetime(2023, 11, 14, 16, 43, 20, tzinfo=UTC)),
        ('"2023-11-14 22:13:20"', "TIMESTAMP_LTZ(6)", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        ('"AP8="', "BYTES", b"\x00\xff"),
        ("[1, null]", "ARRAY<INT>", [1, None]),
        ('"[1, 2]"', "ARRAY<BIGINT>", [1, 2]),
        ('{"a": 1}', "MAP<STRING, INT>", [("a", 1)]),
        ('{"x": "1", "z": 0}', "ROW<x INT, y STRING>", {"x": 1, "y": None}),
        ("null", "ROW<x INT>", None),
    ],
)
def test_values(text: str, column: str, value: Any) -> None:
    assert read(text, column) == value
    array, problems = column_array([parse_json(text), None] * 3, PLAIN, parse_type(column), RULES)
    assert (array.to_pylist(), problems) == ([value, None] * 3, {})


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ('"maybe"', "BOOLEAN"),
        ("2", "BOOLEAN"),
        ("128", "TINYINT"),
        ("1.5", "INT"),
        ("true", "INT"),
        ('"0x1F"', "INT"),
        ('" 1"', "INT"),
        ('"1_000"', "BIGINT"),
        ("9223372036854775808", "BIGINT"),
        ("1.000001234", "FLOAT"),
        ('"one"', "DOUBLE"),
        ("1000", "DECIMAL(5, 2)"),
        ('"abcd"', "CHAR(3)"),
        ('"abcd"', "VARCHAR(3)"),
        ('"2023-02-29"', "DATE"),
        ('"0000-00-00 00:00:00"', "TIMESTAMP(0)"),
        ("5", "TIMESTAMP(4)"),
        ('"24:00:00"', "TIME(3)"),
        ('"***"', "BYTES"),
        ("5", "BYTES"),
        ('"AAAA"', "VARBINARY(2)"),
        ("{}", "ARRAY<INT>"),
        ('"[1"', "ARRAY<INT>"),
        ('["x"]', "ARRAY<INT>"),
        ("[]", "ROW<x INT>"),
    ],
)
def test_values_that_do_not_fit(text: str, column: str) -> None:
    problem = read(text, column)
    assert isinstance(problem, str)
    assert " is no " in problem


def test_only_the_values_that_do_not_fit_are_left_out() -> None:
    values = [1, "2", "x", None, 5, 2**40, "7"]
    array, problems = column_array(values, PLAIN, parse_type("INT"), RULES)
    assert array.to_pylist() == [1, 2, None, None, 5, None, 7]
    assert list(problems) == [2, 5]


@pytest.mark.parametrize(
    ("rules", "text", "column", "value"),
    [
        (PlainRules(time_unit=Form.MICROS), "1000001", "TIMESTAMP(3)", datetime(1970, 1, 1, 0, 0, 1)),
        (PlainRules(time_unit=Form.MILLIS), "1001", "TIMESTAMP(6)", datetime(1970, 1, 1, 0, 0, 1, 1000)),
        (PlainRules(time_unit=Form.MICROS), "3600000000", "TIME(3)", time(1)),
        (PlainRules(binary=Form.HEX), '"0x00ff"', "BYTES", b"\x00\xff"),
        (PlainRules(binary=Form.PLAIN), '"é"', "BYTES", "é".encode()),
        (PlainRules(binary=Form.LATIN1), '"é"', "BYTES", b"\xe9"),
        (
            PlainRules(time_zone="Europe/Berlin"),
            '"2023-07-01 12:00:00"',
            "TIMESTAMP_LTZ(3)",
            datetime(2023, 7, 1, 10, tzinfo=UTC),
        ),
    ],
)
def test_rules(rules: PlainRules, text: str, column: str, value: Any) -> None:
    assert read(text, column, rules) == value


def test_duplicate_members_and_large_numbers() -> None:
    assert parse_json('{"a": 1, "a": 2}') == {"a": 2}
    assert parse_json("1" * 60) == int("1" * 60)
    with pytest.raises(DataError):
        parse_json("1" * 10_000)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_nested_values_as_text_are_the_same_json(value: Any) -> None:
    text = value_text(parse_json(json.dumps(value)))
    assert (value is None) == (text is None)
    if isinstance(value, list | dict) and text is not None:
        assert json.loads(text) == value
        assert text == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@given(st.lists(st.none() | st.booleans() | st.integers(-300, 300) | st.sampled_from(["1", "x", "2.5", "", "true"])))
def test_a_column_is_read_as_its_values_are(values: list[Any]) -> None:
    for column in ("BOOLEAN", "TINYINT", "DOUBLE", "DECIMAL(5, 1)", "STRING", "DATE"):
        array, problems = column_array(values, PLAIN, parse_type(column), RULES)
        single = [column_array([value], PLAIN, parse_type(column), RULES) for value in values]
        assert array.to_pylist() == [one.to_pylist()[0] for one, _ in single]
        assert sorted(problems) == [i for i, (_, found) in enumerate(single) if found]
