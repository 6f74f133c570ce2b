"""A point lookup touches the buckets its keys hash to, and never leaves out one that holds a matching row."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.arrow.predicates.predicate import AlwaysTrue, And, Compare, In, IsNotNull, IsNull, Op, Or, Predicate
from paimon_spark.format.bucket import bucket_of
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.read.bucket_filter import BucketFilter

A = DataField(0, "a", DataType(Root.INT))
B = DataField(1, "b", DataType(Root.VARCHAR, length=10))
F = DataField(2, "f", DataType(Root.DOUBLE))
D = DataField(3, "d", DataType(Root.DECIMAL, precision=25, scale=2))


def eq(column: str, value: Any) -> Compare:
    return Compare((column,), Op.EQ, value)


def test_equality_on_every_key_column_gives_one_bucket() -> None:
    found = BucketFilter(And((eq("a", 1), eq("b", "x"), eq("c", 9))), (A, B), "default")
    assert found.is_useful
    assert found.buckets(7) == {bucket_of((1, "x"), (A.type, B.type), 7, "default")}


def test_in_lists_multiply() -> None:
    where = And((In(("a",), (1, 2)), In(("b",), ("x", "y"), has_null=True)))
    keys = [(1, "x"), (1, "y"), (2, "x"), (2, "y")]
    expected = {bucket_of(key, (A.type, B.type), 64, "default") for key in keys}
    assert BucketFilter(where, (A, B), "default").buckets(64) == expected


def test_or_of_equalities_is_a_list() -> None:
    where = Or((eq("a", 1), In(("a",), (2, 3)), IsNull(("a",))))
    expected = {bucket_of((value,), (A.type,), 64, "default") for value in (1, 2, 3, None)}
    assert BucketFilter(where, (A,), "default").buckets(64) == expected


def test_null_decimal_of_high_precision_hashes_in_its_reserved_form() -> None:
    expected = {bucket_of((None,), (D.type,), 64, "default")}
    assert BucketFilter(IsNull(("d",)), (D,), "default").buckets(64) == expected
    assert BucketFilter(eq("d", Decimal("1.50")), (D,), "default").buckets(64) == {
        bucket_of((Decimal("1.50"),), (D.type,), 64, "default")
    }


@pytest.mark.parametrize(
    "where",
    [
        AlwaysTrue(),
        eq("a", 1),  # b is open
        And((Compare(("a",), Op.GT, 1), eq("b", "x"))),
        Or((And((eq("a", 1), eq("b", "x"))), eq("c", 9))),
        And((Or((eq("a", 1), eq("b", "y"))), eq("b", "x"))),
        And((eq("a", 1), IsNotNull(("b",)))),
        And((eq("a", 1), Compare(("b", "nested"), Op.EQ, "x"))),
        And((In(("a",), tuple(range(1001))), eq("b", "x"))),  # too many to hash
    ],
)
def test_open_conditions_prune_nothing(where: Predicate) -> None:
    found = BucketFilter(where, (A, B), "default")
    assert not found.is_useful
    assert found.buckets(7) is None


def test_floats_prune_nothing() -> None:
    """0.0 = -0.0 is true, and they lie in different buckets."""
    assert BucketFilter(eq("f", 0.0), (F,), "default").buckets(7) is None


@pytest.mark.parametrize("total", [-1, -2, 0])
def test_buckets_that_no_hash_gives_are_not_pruned(total: int) -> None:
    assert BucketFilter(eq("a", 1), (A,), "default").buckets(total) is None


def test_no_key_columns() -> None:
    assert BucketFilter(eq("a", 1), (), "default").buckets(4) is None


values = st.one_of(st.none(), st.integers(-3, 3))
leaves = st.one_of(
    st.builds(eq, st.sampled_from(["a", "c"]), st.integers(-3, 3)),
    st.builds(lambda c, v: In((c,), tuple(v)), st.sampled_from(["a", "c"]), st.lists(st.integers(-3, 3), max_size=3)),
    st.builds(lambda c: IsNull((c,)), st.sampled_from(["a", "c"])),
    st.builds(lambda c, v: Compare((c,), Op.LE, v), st.sampled_from(["a", "c"]), st.integers(-3, 3)),
)
predicates = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda parts: And(tuple(parts)), st.lists(inner, min_size=2, max_size=3)),
        st.builds(lambda parts: Or(tuple(parts)), st.lists(inner, min_size=2, max_size=3)),
    ),
    max_leaves=6,
)


def is_true(where: Predicate, row: dict[str, int | None]) -> bool:
    """SQL truth of the few predicates generated here."""
    match where:
        case And(parts):
            return all(is_true(part, row) for part in parts)
        case Or(parts):
            return any(is_true(part, row) for part in parts)
        case IsNull(column):
            return row[column[0]] is None
        case In(column, listed):
            return row[column[0]] is not None and row[column[0]] in listed
        case Compare(column, op, value):
            got = row[column[0]]
            return got is not None and (got == value if op is Op.EQ else got <= value)  # type: ignore[operator]  # ints
    raise AssertionError(where)


@given(where=predicates, a=values, c=values, total=st.integers(1, 5), function=st.sampled_from(["default", "hive"]))
def test_never_leaves_out_a_bucket_with_a_matching_row(
    where: Predicate, a: int | None, c: int | None, total: int, function: str
) -> None:
    key = DataField(0, "a", DataType(Root.BIGINT))
    found = BucketFilter(where, (key,), function).buckets(total)
    if found is not None and is_true(where, {"a": a, "c": c}):
        assert bucket_of((a,), (key.type,), total, function) in found
