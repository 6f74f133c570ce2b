"""Rows that are joined as they come are those that Arrow joins at once, and are held once."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import examples

from paimon_spark.store.write.row_block import RowBlock

VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "boolean": (pa.bool_(), [True, False]),
    "byte": (pa.int8(), [-128, 0, 127]),
    "long": (pa.int64(), [-(2**63), 0, 2**63 - 1]),
    "double": (pa.float64(), [float("nan"), -0.0, 0.0, float("inf")]),
    "date": (pa.date32(), [0, 2932896]),
    "time": (pa.timestamp("us", "UTC"), [0, -1]),
    "decimal": (pa.decimal128(38, 2), [Decimal("-9" + "9" * 35 + ".99"), Decimal("0.01")]),
    "text": (pa.string(), ["", "ba", "ba\0", "Ω€😀", "x" * 300]),
    "bytes": (pa.binary(), [b"", b"\0", b"\xff\xfe"]),
    "fixed": (pa.binary(3), [b"abc", b"\0\0\0"]),
    "list": (pa.list_(pa.string()), [[], ["a", None], [""]]),
    "map": (pa.map_(pa.string(), pa.int32()), [[], [("k", 1)]]),
    "struct": (pa.struct([("x", pa.int32()), ("y", pa.string())]), [{"x": 1, "y": None}, {"x": None, "y": ""}]),
    "coded": (pa.dictionary(pa.int32(), pa.string()), ["a", "b"]),
}
SCHEMA = pa.schema([pa.field(name, arrow) for name, (arrow, _) in VALUES.items()], {"k": "v"})


@st.composite
def batches(draw: st.DrawFn) -> list[pa.RecordBatch]:
    """Batches that are slices of others, with nulls in some of them."""
    found = []
    for _ in range(draw(st.integers(1, 6))):
        rows, nulls = draw(st.integers(1, 20)), draw(st.booleans())
        columns = []
        for arrow, values in VALUES.values():
            one = st.sampled_from([*values, None] if nulls else values)
            columns.append(pa.array(draw(st.lists(one, min_size=rows, max_size=rows)), arrow))
        batch = pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
        start = draw(st.integers(0, rows - 1))
        found.append(batch.slice(start, draw(st.integers(1, rows - start))))
    return found


@settings(max_examples=examples(100))
@given(batches(), st.sampled_from([1, 300, 10**6]), st.sampled_from([1, 10**4]))
def test_rows_are_those_that_arrow_joins(parts: list[pa.RecordBatch], join_bytes: int, expected: int) -> None:
    block = RowBlock(expected, join_bytes)
    for part in parts:
        block.add(part)
    joined = block.joined()
    joined.validate(full=True)
    assert repr(joined.to_pylist()) == repr(pa.concat_batches(parts).to_pylist())
    assert joined.schema.equals(SCHEMA, check_metadata=True)
    assert (block.rows, block.bytes) == (joined.num_rows, sum(part.nbytes for part in parts))


def plain(rows: int) -> pa.RecordBatch:
    """Rows of a number and its text."""
    numbers = pa.array(np.arange(rows))
    return pa.record_batch({"n": numbers, "t": numbers.cast(pa.string())})


def test_batches_are_let_go_of_as_their_rows_are_copied() -> None:
    before, each = pa.total_allocated_bytes(), plain(50_000).nbytes
    block = RowBlock(40 * each)
    for _ in range(40):
        block.add(plain(50_000))
    assert block.bytes == 40 * each
    assert pa.total_allocated_bytes() - before < 12 * each  # those that wait; Arrow rounds sizes up
    assert block.joined().num_rows == 2_000_000


def test_a_single_batch_is_not_copied() -> None:
    block, batch = RowBlock(1, join_bytes=1), plain(3)
    block.add(batch)
    assert block.joined().column("n").buffers()[1].address == batch.column("n").buffers()[1].address


def test_more_rows_come_than_were_expected() -> None:
    block = RowBlock(1, join_bytes=1)
    parts = [plain(rows) for rows in (1, 2, 50, 3, 1000)]
    for part in parts:
        block.add(part)
    assert block.joined().equals(pa.concat_batches(parts))
