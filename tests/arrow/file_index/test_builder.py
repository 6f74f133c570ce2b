"""Indexes that are made of batches are those that are made of single values, whatever the batches are."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.draws.indexed_tables import POOLS, TYPES
from support.index_files import encode_bitmap, encode_bloom, encode_bsi, encode_range_bitmap
from support.long_runs import tries

from paimon_spark.arrow.file_index.builder import FileIndexBuilder, map_values
from paimon_spark.arrow.types import data_type, to_internal
from paimon_spark.format.file_index.container import decode_container
from paimon_spark.format.file_index.settings import index_settings
from paimon_spark.format.types import DataField

OPTIONS = {
    "file-index.bloom-filter.v.items": "30",
    "file-index.bitmap.v.index-block-size": "500 b",
    "file-index.range-bitmap.v.chunk-size": "16 b",
}
ENCODERS: dict[str, Any] = {
    "bloom-filter": lambda values, of: encode_bloom(values, of, 30),
    "bitmap": lambda values, of: encode_bitmap(values, of, block_size=500),
    "bsi": encode_bsi,
    "range-bitmap": lambda values, of: encode_range_bitmap(values, of, 16),
}


def built(column: pa.ChunkedArray, options: dict[str, str]) -> dict[str, dict[str, bytes | None]]:
    """The indexes of a column 'v' whose rows come in the chunks."""
    field = DataField(0, "v", data_type(column.type))
    builder = FileIndexBuilder(index_settings(options), {"v": field})
    for chunk in column.chunks:
        builder.add(pa.record_batch([chunk], names=["v"]))
    return decode_container(builder.to_bytes(), "x")


@pytest.mark.parametrize("kind", TYPES)
def test_batches_give_what_single_values_give(kind: str) -> None:
    draws = random.Random(kind)
    of_kind = {key: value for key, value in OPTIONS.items() if key.startswith(f"file-index.{kind}.")}
    for column_type in TYPES[kind]:
        for _ in range(tries("PAIMON_INDEX_BUILDS", 2, 100)):
            values = [draws.choice([*POOLS[column_type], None]) for _ in range(draws.randint(1, 60))]
            whole = pa.array([None, *values], column_type)  # a slice begins within its buffers
            cut = draws.randint(1, len(whole))
            column = pa.chunked_array([whole[1:cut], whole[cut:]])
            internal = [to_internal(value) for value in whole[1:]]
            try:
                expected = {kind: ENCODERS[kind](internal, data_type(column_type))}
            except ValueError:  # a value has more bits than the index can hold
                expected = {}
            assert built(column, {f"file-index.{kind}.columns": "v", **of_kind}) == {"v": expected}, column_type


@pytest.mark.parametrize("column_type", [pa.int64(), pa.string()], ids=str)
def test_the_filter_of_many_rows_is_that_of_single_values(column_type: pa.DataType) -> None:
    rows = pa.array([(-7) ** (number % 17) * number for number in range(40_000)], pa.int64()).cast(column_type)
    options = {"file-index.bloom-filter.columns": "v", "file-index.bloom-filter.v.items": "50000"}
    found = built(pa.chunked_array([rows[:35_000], rows[35_000:]]), options)
    assert found == {"v": {"bloom-filter": encode_bloom(rows.to_pylist(), data_type(column_type), 50_000)}}


def test_all_kinds_of_one_column() -> None:
    kinds = list(TYPES)
    column = pa.chunked_array([pa.array([3, None, -1, 3], pa.int32())])
    found = built(column, {f"file-index.{kind}.columns": "v" for kind in kinds})
    assert sorted(found["v"]) == sorted(kinds)


def test_a_value_that_no_bit_slices_hold_leaves_their_index_out() -> None:
    options = {"file-index.bsi.columns": "v", "file-index.bitmap.columns": "v"}
    assert list(built(pa.chunked_array([pa.array([1, -(2**63)])]), options)["v"]) == ["bitmap"]
    wide = pa.chunked_array([pa.array([10**30], pa.decimal128(38, 0))])
    assert built(wide, {"file-index.bsi.columns": "v"}) == {"v": {}}


MAPS = pa.map_(pa.string(), pa.int32())


def test_values_of_a_key_of_maps() -> None:
    rows = [[("a", 9)], [("a", 1), ("b", 2)], None, [], [("b", 3)], [("a", None)], [("b", 4), ("a", 5)]]
    maps = pa.array(rows, MAPS)
    assert map_values(maps, "a").to_pylist() == [9, 1, None, None, None, None, 5]
    assert map_values(maps[1:5], "b").to_pylist() == [2, None, None, 3]
    assert map_values(maps, "none").to_pylist() == [None] * 7
    assert map_values(maps[2:4], "a").to_pylist() == [None, None]


def test_a_null_map_may_hide_entries() -> None:
    offsets, keys, items = pa.array([0, 1, 2], pa.int32()), pa.array(["a", "a"]), pa.array([1, 2], pa.int32())
    hidden = pa.MapArray.from_arrays(offsets, keys, items, mask=pa.array(np.array([True, False])))
    assert map_values(hidden, "a").to_pylist() == [None, 2]


def test_indexes_of_keys_of_maps() -> None:
    column = pa.chunked_array([pa.array([[("a", 1)], None], MAPS), pa.array([[("b", 7)]], MAPS)])
    found = built(column, {"file-index.bitmap.columns": "v[a],v[b]", "file-index.bitmap.v.version": "1"})
    of_int = data_type(pa.int32())
    assert found == {
        "v[a]": {"bitmap": encode_bitmap([1, None, None], of_int, 1)},
        "v[b]": {"bitmap": encode_bitmap([None, None, 7], of_int, 1)},
    }
