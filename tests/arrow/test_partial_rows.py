"""Rows that lack fields of structs are completed with nulls, and texts become values; the rest is left as it is."""

from __future__ import annotations

import pyarrow as pa
import pytest

from paimon_spark.arrow.alignment import align_batch, complete_batch
from paimon_spark.errors import DataError
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField


def stored(rows: list[dict[str, object]], **columns: str) -> list[dict[str, object]]:
    fields = [DataField(i, name, parse_type(text)) for i, (name, text) in enumerate(columns.items())]
    batch = pa.RecordBatch.from_pylist(rows)
    return align_batch(complete_batch(batch, fields), fields).to_pylist()


def test_missing_fields_are_null_at_every_depth() -> None:
    rows: list[dict[str, object]] = [{"s": {"X": 1}, "a": [{"x": 1}, None]}, {"s": None, "a": None}]
    assert stored(rows, s="ROW<x INT, r ROW<y INT>>", a="ARRAY<ROW<y STRING, x BIGINT>>") == [
        {"s": {"x": 1, "r": None}, "a": [{"y": None, "x": 1}, None]},
        {"s": None, "a": None},
    ]


def test_rows_of_a_slice_are_completed() -> None:
    fields = [DataField(0, "s", parse_type("ROW<x INT, y INT>"))]
    batch = pa.RecordBatch.from_pylist([{"s": {"x": n}} for n in range(5)]).slice(2, 2)
    assert complete_batch(batch, fields).to_pylist() == [{"s": {"x": 2, "y": None}}, {"s": {"x": 3, "y": None}}]


def test_values_of_maps_are_completed() -> None:
    fields = [DataField(0, "m", parse_type("MAP<STRING, ROW<x INT, y INT>>"))]
    maps = pa.array([[("k", {"x": 1})], None], pa.map_(pa.string(), pa.struct([("x", pa.int32())])))
    found = complete_batch(pa.record_batch({"m": maps}), fields)
    assert found.to_pylist() == [{"m": [("k", {"x": 1, "y": None})]}, {"m": None}]


def test_texts_become_the_values_of_their_columns() -> None:
    assert stored([{"n": "2000", "l": ["1", None]}], n="BIGINT", l="ARRAY<INT>") == [{"n": 2000, "l": [1, None]}]
    with pytest.raises(DataError, match="writing column 'n': the text 'x' is no BIGINT"):
        stored([{"n": "x"}], n="BIGINT")


def test_fields_that_must_not_be_null_are_not_made_up() -> None:
    with pytest.raises(DataError, match="the rows do not fit the table: column 's'"):
        stored([{"s": {"x": 1}}], s="ROW<x INT, y INT NOT NULL>")
