"""Expressions of pyarrow: what is known of one leaves out rows, and none that the expression keeps."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow.compute import field

from paimon_spark.arrow.predicates.arrow_conditions import implied_condition, names_in, parse_expression
from paimon_spark.arrow.predicates.evaluate import evaluate
from paimon_spark.arrow.predicates.predicate import TRUE, Predicate
from paimon_spark.arrow.types import data_fields

NAN = float("nan")
DAY, MOMENT = dt.date(2026, 11, 1), dt.datetime(2026, 11, 1, 12)
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "n": (pa.int64(), [None, -1, 0, 2**63 - 1]),
    "small": (pa.int8(), [None, -128, 5]),
    "f": (pa.float64(), [None, NAN, -0.0, 0.0, 1.5, float("inf")]),
    "g": (pa.float32(), [None, NAN, 0.1, 1.5]),
    "s": (pa.string(), [None, "", "a", "ä\0", 'b"\\']),
    "b": (pa.bool_(), [None, True, False]),
    "d": (pa.date32(), [None, DAY, dt.date(1, 1, 1)]),
    "e": (pa.decimal128(9, 2), [None, Decimal("1.50"), Decimal("-3.00")]),
    "t": (pa.timestamp("us"), [None, MOMENT, MOMENT + dt.timedelta(microseconds=1)]),
    "z": (pa.timestamp("us", "UTC"), [None, MOMENT.replace(tzinfo=dt.UTC)]),
    "nanos": (pa.timestamp("ns"), [None, MOMENT]),
}
SCHEMA = pa.schema([(name, of) for name, (of, _) in VALUES.items()])
COMPARISONS = (
    pc.Expression.__eq__, pc.Expression.__ne__, pc.Expression.__lt__,
    pc.Expression.__le__, pc.Expression.__gt__, pc.Expression.__ge__,
)  # fmt: skip


def rows(draw: random.Random, count: int = 60) -> pa.RecordBatch:
    columns = [pa.array([draw.choice(values) for _ in range(count)], of) for of, values in VALUES.values()]
    return pa.record_batch(columns, schema=SCHEMA)


def drawn(draw: random.Random, depth: int = 3) -> pc.Expression:
    form = draw.randrange(9)
    if depth and form < 5:
        left, right = drawn(draw, depth - 1), drawn(draw, depth - 1)
        return left & right if form < 2 else left | right if form < 4 else ~left
    name = draw.choice(list(VALUES))
    of, values = VALUES[name]
    column, present = field(name), [value for value in values if value is not None]
    if form == 5:
        return column.is_null(nan_is_null=draw.random() < 0.3)
    if form == 6:
        inside = column.isin(pa.array(draw.sample(values, 2), of))
        return inside if draw.random() < 0.5 else pc.if_else(column.is_valid(), inside, pa.scalar(None, pa.bool_()))
    if form == 7 and name in ("s", "b"):
        return pc.starts_with(field("s"), draw.choice(["", "a"])) if name == "s" else column
    constant = pa.scalar(draw.choice(present), of)
    compare = draw.choice(COMPARISONS)
    return compare(column, constant) if draw.random() < 0.7 else compare(pc.scalar(constant), column)


def implied(expression: pc.Expression) -> Predicate:
    node = parse_expression(expression)
    assert node is not None
    return implied_condition(node, data_fields(SCHEMA))


def test_no_row_that_an_expression_keeps_is_left_out() -> None:
    known = 0
    for seed in range(400):
        draw = random.Random(seed)
        expression, batch = drawn(draw), rows(draw)
        predicate = implied(expression)
        known += predicate != TRUE
        kept = pa.Table.from_batches([batch]).add_column(0, "row", [pa.array(range(batch.num_rows))]).filter(expression)
        ours = evaluate(predicate, batch).to_pylist()
        assert [row for row in kept["row"].to_pylist() if ours[row] is not True] == [], (str(expression), predicate)
    assert known > 200


@pytest.mark.parametrize(
    ("expression", "left_out"),
    [
        (field("n") > 0, {"n": -1}),
        (pc.scalar(0) < field("n"), {"n": -1}),
        (~(field("n") == 0), {"n": 0}),
        (~field("n").is_null(), {"n": None}),
        (field("s") == 'b"\\', {"s": "a"}),
        (field("s").isin(["a"]), {"s": ""}),
        (pc.starts_with(field("s"), "a"), {"s": ""}),
        (field("f") > 1.0, {"f": 0.0}),
        (field("g") <= pa.scalar(0.1, pa.float32()), {"g": 1.5}),
        (field("d") == DAY, {"d": dt.date(1, 1, 1)}),
        (field("e") < Decimal("1.50"), {"e": Decimal("1.50")}),
        (field("t") > MOMENT, {"t": MOMENT}),
        (field("z") != MOMENT.replace(tzinfo=dt.UTC), {"z": MOMENT.replace(tzinfo=dt.UTC)}),
        (field("b"), {"b": False}),
        ((field("n") > 0) & (pc.utf8_length(field("s")) > 1), {"n": 0}),
        ((field("n") > 0) | (field("s") == "a"), {"n": 0, "s": "b"}),
    ],
    ids=str,
)
def test_what_is_known_leaves_out_rows(expression: pc.Expression, left_out: dict[str, Any]) -> None:
    """Else a newer pyarrow has another form, and every file is read."""
    row = {name: left_out.get(name) for name in VALUES}
    (found,) = evaluate(implied(expression), pa.RecordBatch.from_pylist([row], SCHEMA)).to_pylist()
    assert found is not True


@pytest.mark.parametrize(
    "expression",
    [
        field("n") + 1 > 0,
        field("n") > 1.5,  # in which type they are compared is not known
        field("nanos") > MOMENT,
        field("f") == NAN,
        ~(field("f") > 1.0),
        ~field("n").isin([1]),
        field("other") == 1,
        pc.field("n", "m") == 1,
        (field("n") > 0) | (pc.utf8_length(field("s")) > 1),
    ],
    ids=str,
)
def test_what_may_be_compared_otherwise_is_not_used(expression: pc.Expression) -> None:
    assert implied(expression) == TRUE


def test_the_columns_of_an_expression() -> None:
    node = parse_expression((pc.field("a", "x") > 1) & (pc.utf8_length(field("s")) > field("n")))
    assert node is not None
    assert names_in(node) == {"a", "s", "n"}


def test_an_expression_that_pyarrow_does_not_pickle() -> None:
    assert parse_expression(pc.field(0) == 1) is None
