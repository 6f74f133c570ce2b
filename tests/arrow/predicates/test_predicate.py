"""The algebra, its evaluation and its pruning against a naive row-at-a-time model of three-valued logic."""

import datetime as dt
import itertools
import math
import pickle
import sys
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import examples

from paimon_spark.arrow.predicates.evaluate import evaluate, filter_batch
from paimon_spark.arrow.predicates.expressions import as_predicate, col
from paimon_spark.arrow.predicates.predicate import (
    FALSE,
    NULL,
    TRUE,
    And,
    Compare,
    Contains,
    EndsWith,
    In,
    IsNotNull,
    IsNull,
    Like,
    Not,
    Op,
    Or,
    Predicate,
    Remainder,
    StartsWith,
    UnlessNull,
    Wildcard,
    and_,
    columns_of,
    conjuncts,
    is_false,
    is_true,
    not_,
    or_,
    rename,
    restrict,
)
from paimon_spark.arrow.predicates.pruning import match_values, may_match
from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.arrow.types import arrow_schema, from_internal
from paimon_spark.errors import PredicateError
from paimon_spark.format.types import INTEGERS, MAX_LENGTH, DataField, DataType, Root

T = DataType
TYPES = {
    "flag": T(Root.BOOLEAN),
    "tiny": T(Root.TINYINT),
    "long": T(Root.BIGINT),
    "single": T(Root.FLOAT),
    "double": T(Root.DOUBLE),
    "price": T(Root.DECIMAL, precision=5, scale=2),
    "wide": T(Root.DECIMAL, precision=38, scale=0),
    "name": T(Root.VARCHAR, length=MAX_LENGTH),
    "data": T(Root.VARBINARY, length=MAX_LENGTH),
    "day": T(Root.DATE),
    "clock": T(Root.TIME, precision=3),
    "milli": T(Root.TIMESTAMP, precision=3),
    "micro": T(Root.TIMESTAMP_LTZ, precision=6),
    "nano": T(Root.TIMESTAMP, precision=9),
}
FIELDS = [DataField(i, name, t) for i, (name, t) in enumerate(TYPES.items())]
_FLOATS = [0.0, -0.0, 1.5, -1.5, math.inf, -math.inf, math.nan]
_TEXTS = ["", "a", "ab", "ab\0", "b", "a%", "a_b", "é", "😀", "\uffff", "a\nb"]
VALUES: dict[str, list[Any]] = {
    "flag": [True, False],
    "tiny": [-128, -1, 0, 1, 127],
    "long": [-(2**63), -1, 0, 1, 2**53 + 1, 2**63 - 1],
    "single": _FLOATS,
    "double": [*_FLOATS, 0.1, 5e-324],
    "price": [Decimal(v) for v in ("0.00", "1.10", "-1.10", "999.99", "-999.99")],
    "wide": [Decimal(v) for v in (0, 1, -1, 10**38 - 1, 1 - 10**38)],
    "name": _TEXTS,
    "data": [b"", b"a", b"ab", b"ab\0", b"\x7f", b"\x80", b"\xff"],
    "day": [-1, 0, 1, 20_000],
    "clock": [0, 1, 86_399_999],
    "milli": [-(10**6), 0, 10**6, 10**18],
    "micro": [-1000, 0, 1000, 10**18],
    "nano": [-1, 0, 1, 999, 1000, 10**18],
}
# Literals a column cannot hold: out of range, or finer than its unit or scale.
STRANGE: dict[str, list[Any]] = {
    "tiny": [-129, 128, 10**30],
    "long": [2**63, -(2**63) - 1],
    "single": [0.1, 16777217.0, 1e300],
    "price": [Decimal("1.105"), Decimal(1000), Decimal("-1000"), Decimal("999.995")],
    "wide": [Decimal("0.5"), Decimal(10**38)],
    "day": [2**31],
    "milli": [1, 1000, -1, 10**30],
    "micro": [1, -1, 999, 10**30],
    "nano": [10**30],
}


# --------------------------------------------------------------------------------------------------------- naive model


def sort_key(value: Any) -> Any:
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value


def model(p: Predicate, row: Mapping[str, Any]) -> bool | None:
    constants: dict[Any, bool | None] = {TRUE: True, FALSE: False, NULL: None}
    if p in constants:
        return constants[p]
    if isinstance(p, Not):
        inner = model(p.part, row)
        return None if inner is None else not inner
    if isinstance(p, And | Or):
        found = [model(part, row) for part in p.parts]
        wins = isinstance(p, Or)
        return wins if wins in found else None if None in found else not wins
    value = row[p.column[0]]
    if isinstance(p, IsNull | IsNotNull):
        return (value is None) == isinstance(p, IsNull)
    if isinstance(p, Compare) and p.op is Op.NULL_SAFE_EQ and value is None:
        return False
    if value is None:
        return None
    return model_value(p, value)


def model_value(p: Any, value: Any) -> bool | None:
    match p:
        case UnlessNull():
            return p.result
        case Compare():
            left, right = sort_key(value), sort_key(p.value)
            return {
                "=": left == right, "<=>": left == right, "!=": left != right,
                "<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right,
            }[p.op.value]  # fmt: skip
        case In():
            found = sort_key(value) in [sort_key(v) for v in p.values]
            return True if found else None if p.has_null else False
        case StartsWith():
            return value[: len(p.text)] == p.text
        case EndsWith():
            return value.encode().endswith(p.text.encode())
        case Contains():
            return p.text.encode() in value.encode()
        case Like():
            return like(list(p.parts), value)
        case Remainder():
            return model_value(p.part, int(Decimal(value) % p.divisor))  # of decimals it has the sign of the number
    raise AssertionError(p)


def like(parts: list[Any], text: str) -> bool:
    if not parts:
        return text == ""
    head, rest = parts[0], parts[1:]
    if head is Wildcard.ANY:
        return any(like(rest, text[i:]) for i in range(len(text) + 1))
    if head is Wildcard.ONE:
        return bool(text) and like(rest, text[1:])
    return text.startswith(head) and like(rest, text[len(head) :])


# ----------------------------------------------------------------------------------------------------------- strategies


def literals(column: str, strange: bool) -> st.SearchStrategy[Any]:
    return st.sampled_from(VALUES[column] + (STRANGE.get(column, []) if strange else []))


@st.composite
def leaves(draw: st.DrawFn, strange: bool = True) -> Predicate:
    column = draw(st.sampled_from(list(TYPES)))
    path = (column,)
    forms = ["compare", "compare", "in", "null", "unless"] + ["text"] * 2 * (column == "name")
    forms += ["remainder"] * 2 * (TYPES[column].root in INTEGERS)
    match draw(st.sampled_from(forms)):
        case "compare":
            return Compare(path, draw(st.sampled_from(list(Op))), draw(literals(column, strange)))
        case "in":
            values = draw(st.lists(literals(column, strange), max_size=3))
            return In(path, tuple(values), draw(st.booleans()))
        case "null":
            return draw(st.sampled_from([IsNull(path), IsNotNull(path)]))
        case "unless":
            return UnlessNull(path, draw(st.booleans()))
        case "remainder":
            op = draw(st.sampled_from([op for op in Op if op is not Op.NULL_SAFE_EQ]))
            part = Compare(path, op, draw(st.sampled_from([-2, 0, 1, 2, 127])))
            return Remainder(path, draw(st.sampled_from([1, 2, 3, 100, 1000, 2**63 - 1])), part)
    text = st.sampled_from(_TEXTS)
    part = text | st.sampled_from(list(Wildcard))
    kind = draw(st.sampled_from([StartsWith, EndsWith, Contains, Like]))
    return Like(path, tuple(draw(st.lists(part, max_size=4)))) if kind is Like else kind(path, draw(text))


def predicates(strange: bool = True) -> st.SearchStrategy[Predicate]:
    base = leaves(strange) | st.sampled_from([TRUE, FALSE, NULL])

    def grow(inner: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
        parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
        return parts.map(And) | parts.map(Or) | inner.map(Not)

    return st.recursive(base, grow, max_leaves=6)


ROW = st.fixed_dictionaries({name: st.none() | st.sampled_from(VALUES[name]) for name in TYPES})
ROWS = st.lists(ROW, max_size=6)


def batch_of(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    columns = [from_internal([row[f.name] for row in rows], f.type) for f in FIELDS]
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(FIELDS))


# ---------------------------------------------------------------------------------------------------------------- tests


@settings(max_examples=examples(400))
@given(predicates(), ROWS, st.integers(0, 2))
def test_evaluate_equals_the_model(p: Predicate, rows: list[dict[str, Any]], skip: int) -> None:
    batch = batch_of(rows).slice(skip)
    expected = [model(p, row) for row in rows[skip:]]
    assert evaluate(p, batch).to_pylist() == expected
    assert filter_batch(p, batch).num_rows == expected.count(True)


@pytest.mark.parametrize("column", TYPES)
def test_every_comparison_of_every_type(column: str) -> None:
    rows = [{column: v} for v in [*VALUES[column], None]]
    array = from_internal([row[column] for row in rows], TYPES[column])
    batch = pa.RecordBatch.from_arrays([array], names=[column])
    for op, literal in itertools.product(Op, VALUES[column] + STRANGE.get(column, [])):
        p = Compare((column,), op, literal)
        assert evaluate(p, batch).to_pylist() == [model(p, row) for row in rows], p


@settings(max_examples=examples(300))
@given(predicates(), ROW)
def test_match_values_equals_the_model(p: Predicate, row: dict[str, Any]) -> None:
    assert match_values(p, row) is model(p, row)


@settings(max_examples=examples(300))
@given(predicates(), ROW, st.sets(st.sampled_from(list(TYPES))))
def test_restrict_is_a_consequence(p: Predicate, row: dict[str, Any], columns: set[str]) -> None:
    weaker = restrict(p, columns)
    assert columns_of(weaker) <= columns
    assert model(p, row) is not True or model(weaker, row) is True


def test_restrict_keeps_what_it_can() -> None:
    a, b = Compare(("a",), Op.EQ, 1), Compare(("b",), Op.EQ, 2)
    assert restrict(And((a, b)), {"a"}) == a
    assert restrict(Or((a, b)), {"a"}) == TRUE
    assert restrict(Not(Or((a, b))), {"a"}) == Not(a)
    assert restrict(Not(And((a, b))), {"a"}) == TRUE
    assert restrict(Or((And((a, b)), FALSE)), {"a"}) == a
    assert restrict(Not(Not(a)), {"a"}) == a
    assert restrict(And((a, NULL)), {"a"}) == FALSE


@settings(max_examples=examples(300))
@given(predicates(), ROW)
def test_settled_predicates_are_never_null(p: Predicate, row: dict[str, Any]) -> None:
    truth = model(p, row)
    assert model(is_true(p), row) is (truth is True)
    assert model(is_false(p), row) is (truth is False)


@st.composite
def bounds(draw: st.DrawFn, values: list[Any]) -> ColumnStats | None:
    """Statistics as a writer may keep them: bounds that need not be taken on, floats without NaN, or nothing."""
    if draw(st.integers(0, 5)) == 0:
        return None
    present = [v for v in values if v is not None]
    numbers = [v for v in present if v == v]
    low = min(numbers, key=sort_key, default=None)
    high = max(numbers, key=sort_key, default=None)
    if isinstance(low, str) and draw(st.booleans()):
        low, high = low[:1], (high or "")[:1] + chr(0x10FFFF)
    if draw(st.integers(0, 3)) == 0:
        low = math.nan if isinstance(low, float) else None
    if draw(st.integers(0, 3)) == 0:
        high = math.nan if isinstance(high, float) else None
    return ColumnStats(low, high, draw(st.sampled_from([None, values.count(None)])))


@settings(max_examples=examples(1000))
@given(st.data(), predicates(strange=True), st.lists(ROW, min_size=1, max_size=3))
def test_pruning_never_loses_a_row(data: st.DataObject, p: Predicate, rows: list[dict[str, Any]]) -> None:
    stats = {name: data.draw(bounds([row[name] for row in rows])) for name in columns_of(p)}
    if not may_match(p, stats.get, len(rows)):
        assert True not in [model(p, row) for row in rows]


def stats_of(low: Any, high: Any, nulls: int | None = 0) -> Any:
    return {"c": ColumnStats(low, high, nulls)}.get


C = ("c",)


@pytest.mark.parametrize(
    ("predicate", "stats", "expected"),
    [
        (Compare(C, Op.EQ, 5), stats_of(1, 4), False),
        (Compare(C, Op.EQ, 4), stats_of(1, 4), True),
        (Compare(C, Op.LT, 1), stats_of(1, 4), False),
        (Compare(C, Op.LE, 1), stats_of(1, 4), True),
        (Compare(C, Op.GT, 4), stats_of(1, 4), False),
        (Compare(C, Op.GE, 5), stats_of(1, 4), False),
        (Compare(C, Op.NE, 4), stats_of(4, 4), False),
        (Not(Compare(C, Op.LE, 4)), stats_of(1, 4), False),
        (Not(Compare(C, Op.EQ, 4)), stats_of(4, 4), False),
        (Not(In(C, (1, 4))), stats_of(4, 4), False),
        (Not(In(C, (1, 2), has_null=True)), stats_of(4, 4), False),
        (In(C, (0, 5)), stats_of(1, 4), False),
        (In(C, (0, 3)), stats_of(1, 4), True),
        (Compare(C, Op.EQ, 5), stats_of(None, 4), False),
        (Compare(C, Op.EQ, 5), stats_of(None, None), True),
        (Compare(C, Op.GT, 7.0), stats_of(0.0, 5.0), True),  # a NaN may hide above
        (Compare(C, Op.LT, 0.0), stats_of(0.0, 5.0), False),
        (Compare(C, Op.LT, 0.0), stats_of(-0.0, 5.0), False),
        (Compare(C, Op.EQ, -0.0), stats_of(0.0, 5.0), True),
        (Compare(C, Op.LT, 0.0), stats_of(math.nan, math.nan), True),
        (IsNull(C), stats_of(1, 4, 0), False),
        (IsNull(C), stats_of(1, 4, None), True),
        (IsNotNull(C), stats_of(None, None, 10), False),
        (Compare(C, Op.NE, 4), stats_of(None, None, 10), False),
        (Not(Compare(C, Op.NULL_SAFE_EQ, 4)), stats_of(None, None, 10), True),
        (Not(Compare(C, Op.NULL_SAFE_EQ, 4)), stats_of(4, 4, 0), False),
        (Compare(C, Op.NULL_SAFE_EQ, 4), stats_of(None, None, 10), False),
        (UnlessNull(C, False), stats_of(1, 2), False),
        (Not(UnlessNull(C, True)), stats_of(1, 2), False),
        (StartsWith(C, "b"), stats_of("c", "d"), False),
        (StartsWith(C, "b"), stats_of("a", "az"), False),
        (StartsWith(C, "b"), stats_of("a", "bz"), True),
        (StartsWith(C, "bb"), stats_of("bba", "c"), True),
        (Not(StartsWith(C, "b")), stats_of("ba", "bz"), False),
        (Like(C, ("b", Wildcard.ONE)), stats_of("c", "d"), False),
        (Like(C, (Wildcard.ONE, "b")), stats_of("c", "d"), True),
        (Contains(C, "b"), stats_of("c", "d"), True),
        (Or((Compare(C, Op.EQ, 5), IsNull(C))), stats_of(1, 4, 0), False),
        (TRUE, stats_of(1, 4), True),
        (NULL, stats_of(1, 4), False),
        (Not(NULL), stats_of(1, 4), False),
    ],
)
def test_pruning_by_known_bounds(predicate: Predicate, stats: Any, expected: bool) -> None:
    assert may_match(predicate, stats, 10) is expected
    assert may_match(predicate, stats, 0) is False


@settings(max_examples=examples(500))
@given(st.data(), st.sampled_from(sorted(VALUES)), st.booleans())
def test_a_list_leaves_out_what_comparisons_with_each_value_leave_out(
    data: st.DataObject, name: str, has_null: bool
) -> None:
    values = data.draw(st.lists(st.sampled_from(VALUES[name] + STRANGE.get(name, [])), max_size=4))
    rows = data.draw(st.lists(st.sampled_from(VALUES[name]), min_size=1, max_size=3))
    known = data.draw(bounds(rows))
    listed, each = In((name,), tuple(values), has_null), [Compare((name,), Op.EQ, value) for value in values]
    stats = {name: known}.get
    assert may_match(listed, stats, 3) is any(may_match(one, stats, 3) for one in each)
    if values and not has_null:
        assert may_match(Not(listed), stats, 3) is all(may_match(Not(one), stats, 3) for one in each)
    for row in rows:
        found = any(sort_key(row) == sort_key(value) for value in values)
        assert match_values(listed, {name: row}) is (found or (None if has_null else False))


def test_a_long_list_is_looked_through_once() -> None:
    """Files and batches are many: what Python does for each of them must not grow with the list."""
    count, calls = 20_000, 0

    def counted(_frame: object, _event: str, _argument: object) -> None:
        nonlocal calls
        calls += 1

    batch = pa.RecordBatch.from_pydict(
        {"tiny": pa.array([1, 2], pa.int8()), "micro": pa.array([1, 2], pa.timestamp("us"))}
    )
    whole = col("tiny").isin(range(count))
    moments = col("micro").isin([dt.datetime(2026, 1, 1) + dt.timedelta(seconds=second) for second in range(count)])
    fields = [DataField(0, "tiny", T(Root.TINYINT)), DataField(1, "micro", T(Root.TIMESTAMP, precision=6))]
    sys.setprofile(counted)
    try:
        for condition, column, rows in ((whole, "tiny", [True, True]), (moments, "micro", [False, False])):
            predicate = as_predicate(condition, fields, None)
            for number in range(50):
                assert may_match(predicate, {column: ColumnStats(number, number, 0)}.get, 1) is rows[0]
                assert match_values(predicate, {column: number}) is rows[0]
                assert evaluate(predicate, batch).to_pylist() == rows
    finally:
        sys.setprofile(None)
    assert calls < 200 * count, "binding, once for each value"


def test_pruning_knows_nothing_of_fields_inside_a_row() -> None:
    assert may_match(Compare(("c", "f"), Op.EQ, 9), stats_of(1, 4), 10)


def test_fields_inside_a_row() -> None:
    inner = T(Root.ROW, fields=(DataField(1, "x", T(Root.INT)),))
    batch = pa.RecordBatch.from_arrays([from_internal([(1,), (None,), None, (3,)], inner)], names=["r"])
    assert evaluate(Compare(("r", "x"), Op.GT, 1), batch).to_pylist() == [False, None, None, True]
    assert evaluate(IsNull(("r", "x")), batch).to_pylist() == [False, True, True, False]
    with pytest.raises(PredicateError, match="r\\.y"):
        evaluate(IsNull(("r", "y")), batch)


def test_a_missing_column_is_named() -> None:
    with pytest.raises(PredicateError, match="'nope'"):
        evaluate(IsNull(("nope",)), pa.RecordBatch.from_pydict({"a": [1]}))
    with pytest.raises(KeyError):
        match_values(IsNull(("nope",)), {"a": 1})


def test_filter_returns_the_batch_itself_when_all_rows_match() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, 2]})
    assert filter_batch(Compare(("a",), Op.GT, 0), batch) is batch
    assert filter_batch(TRUE, batch) is batch
    assert filter_batch(FALSE, batch).num_rows == 0


def test_like_takes_every_character_literally() -> None:
    text = "".join(map(chr, range(1, 256)))
    batch = pa.RecordBatch.from_pydict({"a": [text, text + "x", text.replace("A", "B")]})
    assert evaluate(Like(("a",), (text,)), batch).to_pylist() == [True, False, False]
    assert match_values(Like(("a",), (text, Wildcard.ANY)), {"a": text + "x"})


def test_joining_resolves_constants() -> None:
    a, b, c = (Compare((name,), Op.EQ, 1) for name in "abc")
    assert and_() == TRUE
    assert or_() == FALSE
    assert and_(a, TRUE) == a
    assert and_(a, FALSE, b) == FALSE
    assert or_(a, TRUE, b) == TRUE
    assert and_(a, and_(b, c)) == And((a, b, c))
    assert or_(a, NULL) == Or((a, NULL))
    assert not_(not_(a)) == a
    assert not_(NULL) == NULL
    assert conjuncts(And((a, And((b, c))))) == [a, b, c]
    assert conjuncts(TRUE) == []
    assert conjuncts(Or((a, b))) == [Or((a, b))]


def test_rename_and_pickle() -> None:
    p = And((Compare(("a", "x"), Op.EQ, 1), Not(Or((IsNull(("b",)), Like(("s",), ("a", Wildcard.ANY)))))))
    renamed = rename(p, {"a": "_KEY_a", "x": "never"})
    assert columns_of(renamed) == {"_KEY_a", "b", "s"}
    assert renamed.parts[0] == Compare(("_KEY_a", "x"), Op.EQ, 1)  # type: ignore[union-attr]  # an And stays one
    assert pickle.loads(pickle.dumps(p)) == p


def test_a_text_part_is_not_a_wildcard() -> None:
    assert Like(("s",), ("%",)) != Like(("s",), (Wildcard.ANY,))


def test_a_list_with_nan_has_every_nan() -> None:
    """Arrow looks values up by their bits, and NaN has many."""
    doubles, floats = [0x7FF8 << 48, 0xFFF8 << 48, (0x7FF8 << 48) + 1], [0x7FC00000, 0xFFC00000]
    for arrow, whole, bits in ((pa.float64(), pa.uint64(), doubles), (pa.float32(), pa.uint32(), floats)):
        column = pa.concat_arrays([pa.array(bits, whole).view(arrow), pa.array([1.5, 0.0, None], arrow)])
        batch = pa.RecordBatch.from_arrays([column], names=["c"])
        found = evaluate(In(C, (math.nan, 1.5)), batch).to_pylist()
        assert found == [*([True] * len(bits)), True, False, None]
        assert evaluate(Not(In(C, (math.nan,))), batch).to_pylist() == [*([False] * len(bits)), True, True, None]


@pytest.mark.parametrize("levels", [90, 1000, 5000])
def test_a_condition_of_many_levels(levels: int) -> None:
    """It is read and pickled, or refused by name; a chain has one level."""
    fields = (DataField(0, "a", DataType(Root.INT)),)
    batch = pa.record_batch({"a": pa.array([1, 2], pa.int32())})
    negated = joined = to_the_right = chain = col("a") == 1
    for level in range(levels):
        negated = ~negated
        joined = (joined & (col("a") < 9)) if level % 2 else (joined | (col("a") == 7))
        to_the_right = ((col("a") < 9) & to_the_right) if level % 2 else ((col("a") == 7) | to_the_right)
        chain = chain | (col("a") == 7)
    assert filter_batch(as_predicate(chain, fields, None), batch).num_rows == 1
    for condition in (negated, joined, to_the_right):
        if levels < 100:
            bound = pickle.loads(pickle.dumps(as_predicate(condition, fields, None)))
            assert filter_batch(bound, batch).num_rows == 1
        else:
            with pytest.raises(PredicateError, match="it is nested too deeply, in more than 100 levels"):
                as_predicate(condition, fields, None)
