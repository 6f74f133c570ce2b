"""What the message of a condition that cannot be used advises works."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import pyarrow as pa
import pytest

from paimon_spark import col
from paimon_spark.arrow.predicates.expressions import ColumnExpr
from paimon_spark.arrow.predicates.sql_text import parse_predicate
from paimon_spark.catalogs.create import new_schema
from paimon_spark.errors import ArgumentError, PredicateError, UnsupportedMethod
from paimon_spark.format.options.other_systems import COLUMN_ADVICE

FIELDS = new_schema(
    pa.schema([("k", pa.int64()), ("d", pa.float64()), ("f", pa.float32()), ("tn", pa.timestamp("us"))])
).fields


def refusal(condition: str) -> str:
    with pytest.raises(PredicateError) as caught:
        parse_predicate(condition, FIELDS, None)
    return str(caught.value)


def test_columns_of_two_types_of_floats() -> None:
    assert refusal("d = f").endswith("they need one type; filter the rows in Arrow, or use Spark")


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


def test_between_needs_both_ends() -> None:
    between: Any = col("k").between
    for ends in ((1,), ([1, 2],)):
        with pytest.raises(ArgumentError, match=r"the argument 'high' is missing; the call is between\(low, high\)"):
            between(*ends)


@pytest.mark.parametrize("name", [*COLUMN_ADVICE, "upper", "cast", "a"])
def test_a_method_of_another_library_is_answered(name: str) -> None:
    column = col("k")
    with pytest.raises(AttributeError) as caught:
        getattr(column, name)
    assert isinstance(caught.value, UnsupportedMethod)
    assert str(caught.value).startswith(f"a column has no '{name}': ")
    named = re.findall(r"(\w+)\(", str(caught.value))
    assert named
    assert all(hasattr(ColumnExpr, method) for method in named)


def test_a_column_is_copied_and_computes_nothing() -> None:
    column = col("r", "x")
    for twin in (copy.deepcopy(column), pickle.loads(pickle.dumps(column))):
        assert twin.names == column.names
    assert not hasattr(column, "upper")
    assert not hasattr(column, "__array__")
    for use in (lambda: column + 1, lambda: 1 - column, lambda: column["a"], lambda: -column):
        with pytest.raises(PredicateError, match=r"col\('x'\) is compared with values and computes none"):
            use()
    with pytest.raises(TypeError, match="iter"):
        list(column)
