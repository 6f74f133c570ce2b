"""Columns made of others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from support.change_messages.decoding import columns, decoded

from paimon_spark.errors import DataError, OptionError

ROW = {
    "id": 1,
    "name": " Ab ",
    "at": "2023-03-04 05:06:07.5",
    "day": "2023-03-04",
    "n": -17,
    "d": "12.345",
    "text": "2023-01-02",
}
FIELDS = columns(id="INT", name="STRING", at="TIMESTAMP(3)", day="DATE", n="INT", d="DECIMAL(9, 3)", text="STRING")


def computed(*definitions: str, **row: Any) -> tuple[Any, ...]:
    message = {"database": "b", "table": "t", "type": "insert", "data": {**ROW, **row}}
    (found,) = decoded("maxwell-json", FIELDS, message, computed=definitions)
    return found[len(FIELDS) + 1 :]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("year(at)", 2023),
        ("month(at)", 3),
        ("day(at)", 4),
        ("hour(at)", 5),
        ("minute(at)", 6),
        ("second(at)", 7),
        ("YEAR(day)", 2023),
        ("month(text)", 1),
        ("year(id)", 1970),
        ("second(id, 0)", 1),
        ("hour(id, 3)", 0),
        ("date_format(at, yyyy-MM-dd)", "2023-03-04"),
        ("date_format(at, yyyyMMdd HH:mm:ss)", "20230304 05:06:07"),
        ("date_format(day, 'on' dd%)", "on 04%"),
        ("date_format(id, yyyy, 9)", "1970"),
        ("substring(name, 1)", "Ab "),
        ("substring(name, 1, 2)", "A"),
        ("truncate(n, 10)", -20),
        ("truncate(d, 50)", Decimal("12.300")),
        ("truncate(name, 2)", " A"),
        ("cast(7, INT)", 7),
        ("cast(x)", "x"),
        ("cast(2023-01-02, DATE)", datetime(2023, 1, 2).date()),
        ("upper(name)", " AB "),
        ("lower(name)", " ab "),
        ("trim(name)", "Ab"),
    ],
)
def test_functions(expression: str, value: Any) -> None:
    assert computed(f"c={expression}") == (value,)


def test_functions_of_null_are_null() -> None:
    nothing: dict[str, Any] = dict.fromkeys(("name", "at", "n", "d"))
    definitions = ("a=year(at)", "b=upper(name)", "c=truncate(n, 5)", "e=truncate(d, 5)", "f=substring(name, 1)")
    assert computed(*definitions, **nothing) == (None,) * 5


def test_now_is_the_time_of_the_batch() -> None:
    (now,) = computed("now=now()")
    assert timedelta(0) <= datetime.now(UTC).replace(tzinfo=None) - now < timedelta(minutes=1)


def test_columns_are_made_of_each_other_and_come_in_the_order_of_their_definitions() -> None:
    assert computed("month=substring(short, 5, 7)", "short=substring(text, 0, 7)") == ("01", "2023-01")


@pytest.mark.parametrize(
    ("definitions", "told"),
    [
        (("c",), "is not of the form column=function"),
        (("c=sqrt(n)",), "there is no function 'sqrt'; there are year"),
        (("c=year(x)",), "is made of 'x', which is none of id, name"),
        (("c=year(d)",), "it does not read columns of type DECIMAL"),
        (("c=year(at, 5)",), "the precision 5 is none of"),
        (("c=substring(name, 3, 2)",), "are no range"),
        (("c=substring(name, a)",), "are not whole numbers"),
        (("c=truncate(n, x)",), "is no whole number"),
        (("c=truncate(at, 5)",), "does not read columns of type TIMESTAMP"),
        (("c=upper(n)",), "reads columns of texts only"),
        (("c=date_format(at, EEE)",), "the pattern letters 'EEE' are not supported"),
        (("c=cast(1, NUMBER)",), "NUMBER"),
        (("a=upper(b)", "b=upper(a)"), "made of each other"),
        (("a=upper(name)", "a=lower(name)"), "defined twice"),
    ],
)
def test_definitions_that_are_refused(definitions: tuple[str, ...], told: str) -> None:
    with pytest.raises(OptionError) as error:
        computed(*definitions)
    assert told in str(error.value)


def test_a_value_that_a_function_does_not_take_makes_the_message_malformed() -> None:
    with pytest.raises(DataError, match=r"column 'c': .*too short for substring"):
        computed("c=substring(name, 10)")
    with pytest.raises(DataError, match="column 'c': 'soon' is no INT"):
        computed("c=year(text)", text="soon")
