"""What the message of a condition that cannot be used advises works."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

from paimon_spark import col
from paimon_spark.arrow.predicates.sql_text import parse_predicate
from paimon_spark.catalogs.create import new_schema
from paimon_spark.errors import PredicateError

FIELDS = new_schema(
    pa.schema([("k", pa.int64()), ("d", pa.float64()), ("f", pa.float32()), ("tn", pa.timestamp("us"))])
).fields


def refusal(condition: str) -> str:
    with pytest.raises(PredicateError) as caught:
        parse_predicate(condition, FIELDS, None)
    return str(caught.value)


@pytest.mark.parametrize("condition", ["d = d", "f < f", "d = f"])
def test_columns_with_nan(condition: str) -> None:
    told = refusal(condition)
    assert "two columns of FLOAT or DOUBLE cannot be compared here" in told
    assert told.endswith("filter the rows in Arrow, or use Spark")


@pytest.mark.parametrize(
    ("condition", "advice"),
    [
        ("Column<'(k = 1)'>", "write the condition itself in SQL"),
        ("(k = 1) & (d > 2)", "joined with AND, not &"),
        ("k = 1 && d > 2", "joined with AND, not &&"),
        ("k = 1 | k = 2", "joined with OR, not |"),
    ],
)
def test_words_of_python(condition: str, advice: str) -> None:
    assert advice in refusal(condition)
    assert "joined with" not in refusal("k = 'a & b'")


def test_a_name_in_double_quotes() -> None:
    told = refusal('"k" = 1')
    assert told.endswith("; double quotes make a text in Spark SQL: name a column `k`")
    assert "double quotes" not in refusal("k = 'x'")
    parse_predicate("`k` = 1", FIELDS, None)


def test_a_time_without_a_zone() -> None:
    told = refusal("tn = timestamp'2020-01-01 00:00:00'")
    advised = re.findall(r"TIMESTAMP_NTZ '.*?'", told)
    assert advised
    for literal in advised:
        parse_predicate(f"tn = {literal}", FIELDS, None)


def test_comparisons_without_brackets() -> None:
    column: Any = col("a")
    told = pytest.raises(PredicateError, match="put each comparison in brackets")
    with told:
        _ = column > 1 & column
    with told:
        _ = column > column & column < 3
    with told:
        1 | column
