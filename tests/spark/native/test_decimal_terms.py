"""Terms of decimals have the values that exact arithmetic has, or are not made."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as some
from support.long_runs import examples

from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.spark.native.decimal_terms import SIGNS, DecimalTerm, Largest, Tree, bounded, decimal_term
from paimon_spark.sql.queries.aggregate_calls import Constant

TYPES = {"a": (4, 2), "b": (15, 2), "c": (20, 0), "d": (38, 6), "e": (9, 9)}
FIELDS = {
    name: DataField(number, name, DataType(Root.DECIMAL, precision=precision, scale=scale))
    for number, (name, (precision, scale)) in enumerate(TYPES.items())
}
INTEGER = DataField(9, "i", DataType(Root.INT))
Row = dict[str, int | None]
"""Values without their points."""


def unscaled(precision: int, largest: int) -> some.SearchStrategy[int]:
    most = min(10**precision - 1, largest)
    return some.one_of(some.integers(-most, most), some.sampled_from([-most, most, 0]))


constants = some.builds(
    lambda number, scale: Constant(number, max(len(str(abs(number))), scale, 1), scale),
    some.integers(-999, 999),
    some.integers(0, 4),
)
leaves: some.SearchStrategy[Tree] = some.one_of(some.sampled_from(list(FIELDS.values())), constants)
trees: some.SearchStrategy[Tree] = some.recursive(
    leaves, lambda inner: some.tuples(some.sampled_from(sorted(SIGNS)), inner, inner), max_leaves=5
)
largest_ones = some.sampled_from([9, 10**4, 10**15, 10**38])


@settings(max_examples=examples(200))
@given(trees, largest_ones, some.data())
def test_values_are_exact(tree: Tree, largest: int, data: some.DataObject) -> None:
    """Those of rows whose values are as large as they may be."""
    columns = {
        name: data.draw(some.lists(some.one_of(some.none(), unscaled(precision, largest)), min_size=3, max_size=3))
        for name, (precision, _) in TYPES.items()
    }
    term = bounded_term(tree, lambda field: largest)
    if term is None:
        return
    arrays = {name: decimals(numbers, *TYPES[name]) for name, numbers in columns.items()}
    found = term.values(pa.RecordBatch.from_pydict(arrays))
    assert found.type.scale == term.scale
    expected = [value_of(tree, {name: numbers[row] for name, numbers in columns.items()}) for row in range(3)]
    values = found.cast(pa.decimal128(38, term.scale)).to_pylist() if isinstance(found, pa.Array) else [found.as_py()]
    assert [None if value is None else Fraction(value) for value in values] == expected[: len(values)]
    assert all(value is None or abs(value) * 10**term.scale <= term.largest for value in expected)
    assert set(term.columns) == columns_of(tree)


def bounded_term(tree: Tree, largest: Largest) -> DecimalTerm | None:
    term = decimal_term(tree)
    return None if term is None else bounded(term, largest)


def decimals(numbers: list[int | None], precision: int, scale: int) -> pa.Array:
    texts = [None if number is None else f"{number}E-{scale}" for number in numbers]
    return pa.array([None if text is None else Decimal(text) for text in texts], pa.decimal128(precision, scale))


def value_of(tree: Tree, row: Row) -> Fraction | None:
    if isinstance(tree, Constant):
        return Fraction(tree.units, 10**tree.scale)
    if isinstance(tree, DataField):
        number = row[tree.name]
        return None if number is None else Fraction(number, 10 ** TYPES[tree.name][1])
    sign, left, right = tree[0], value_of(tree[1], row), value_of(tree[2], row)
    if left is None or right is None:
        return None
    return left * right if sign == "*" else left + right if sign == "+" else left - right


def columns_of(tree: Tree) -> set[str]:
    if isinstance(tree, DataField):
        return {tree.name}
    return set() if isinstance(tree, Constant) else columns_of(tree[1]) | columns_of(tree[2])


def test_values_that_may_need_too_many_digits_are_left_to_spark() -> None:
    a, b, d, one = FIELDS["a"], FIELDS["b"], FIELDS["d"], Constant(1, 1, 0)
    charge: Tree = ("*", ("*", b, ("-", one, b)), ("+", one, b))
    assert bounded_term(("*", b, ("-", one, b)), lambda field: None) is not None
    assert bounded_term(charge, lambda field: None) is None
    known = bounded_term(charge, lambda field: 10**8)
    assert known is not None
    assert (known.precision, known.scale) == (38, 6)
    assert bounded_term(("*", d, d), lambda field: 0) is None  # Spark rounds to 6 digits of 12
    assert bounded_term(("+", d, d), lambda field: None) is None
    assert bounded_term(("+", a, INTEGER), lambda field: 0) is None
