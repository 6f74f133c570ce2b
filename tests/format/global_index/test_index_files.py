"""Files of indexes of a whole table: those of genuine Java 2.0.0, our own, and damaged ones."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import examples

from paimon_spark.arrow.file_index.table_keys import coded_column
from paimon_spark.arrow.types import arrow_type, from_internal
from paimon_spark.errors import CorruptFile, PaimonError, UnsupportedFeature
from paimon_spark.format.global_index.bitmap import BitmapFile, write_bitmap
from paimon_spark.format.global_index.blocks import read_block
from paimon_spark.format.global_index.btree import BTreeFile, write_btree
from paimon_spark.format.global_index.file_meta import KeyBounds, read_key_bounds
from paimon_spark.format.global_index.keys import GlobalKeyForm, Interval, global_key_form
from paimon_spark.format.type_text import parse_type

READERS = {"btree": BTreeFile, "bitmap": BitmapFile}
WRITERS = {"btree": write_btree, "bitmap": write_bitmap}
VALUES: dict[str, Sequence[Any]] = {"INT": [7, None, 1, 1, -2], "STRING": ["b", None, "", "ab", "ab"]}
# Made by SortedGlobalIndexBuilder of release 2.0.0 of the rows VALUES, in their order: the file, and _INDEX_META.
GENUINE = {
    ("INT", "btree"): (
        "04feffffff02010404010000000302020304070000000201000000000008000000110000000300000001000432"
        "4a620100000000000000000000003a3000000100000000000000100000000100318534e3040700000002002a08"
        "0000000000bd3c0c1c000000000000000000000000000000000000000051000000000000000d0000002f000000"
        "000000001e0000000100000049544250",
        "04000000feffffff0400000007000000010100",
    ),
    ("INT", "bitmap"): (
        "0100000000000000000000003a30000001000000000000001000000004000100000000000000000000003a3000"
        "00010000000000010010000000020003000100000000000000000000003a300000010000000000000010000000"
        "00000304feffffff001e04010000001e2004070000003e1e007a8fdca80100000000000000000000003a300000"
        "01000000000000001000000001000100000000000000000000003a300000010000000000030010000000000002"
        "00030004000104feffffff5c16002147e2c800000000000000770000001e000000000000009500000024000000"
        "00000000b900000008000000030000000142474958",
        "04000000feffffff0400000007000000010100",
    ),
    ("STRING", "btree"): (
        "0002010202616203020304016202010000000000040000000b0000000300000001007e6b1ad101000000000000"
        "00000000003a3000000100000000000000100000000100318534e301620200210500000000007c31ea68000000"
        "000000000000000000000000000000000048000000000000000a00000026000000000000001e00000001000000"
        "49544250",
        "000000000100000062010100",
    ),
    ("STRING", "bitmap"): (
        "0100000000000000000000003a30000001000000000000001000000002000100000000000000000000003a3000"
        "00010000000000010010000000030004000100000000000000000000003a300000010000000000000010000000"
        "00000300001e0261621e2001623e1e001552cfea0100000000000000000000003a300000010000000000000010"
        "00000001000100000000000000000000003a300000010000000000030010000000000002000300040001005c0d"
        "0034774a2b000000000000006e0000001e000000000000008c0000002400000000000000b00000000400000003"
        "0000000142474958",
        "000000000100000062010100",
    ),
}


def opened(data: bytes, kind: str, form: GlobalKeyForm) -> BTreeFile | BitmapFile:
    return READERS[kind](data, form, "an index")


@pytest.mark.parametrize(("data_type", "kind"), GENUINE)
def test_genuine_files(data_type: str, kind: str) -> None:
    data, meta = map(bytes.fromhex, GENUINE[data_type, kind])
    form, values = global_key_form(parse_type(data_type)), VALUES[data_type]
    index = opened(data, kind, form)
    for value in {*values} - {None}:
        key = form.key(value)
        assert list(index.rows(Interval(key, key))) == [row for row, found in enumerate(values) if found == value]
    assert list(index.nulls()) == [1]
    assert list(index.present()) == [0, 2, 3, 4]
    bounds, present = read_key_bounds(meta), [value for value in values if value is not None]
    assert bounds == KeyBounds(form.stored(form.key(min(present))), form.stored(form.key(max(present))), True)
    assert bounds.to_bytes() == meta
    assert made(values, data_type, kind, 1 << 16, "none")[1] == bounds


def made(values: Sequence[Any], data_type: str, kind: str, block: int, codec: str) -> tuple[bytes, KeyBounds]:
    """Our own file of some values."""
    form = global_key_form(parse_type(data_type))
    array = pa.chunked_array([from_internal(list(values), form.data_type)], arrow_type(form.data_type))
    return WRITERS[kind](coded_column(array, form), np.arange(len(values)), form, block, codec)


NUMBERS = st.floats(allow_nan=True, width=32)
DRAWS: dict[str, st.SearchStrategy[Any]] = {
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-128, 127),
    "SMALLINT": st.integers(-(2**15), 2**15 - 1),
    "INT": st.integers(-(2**31), 2**31 - 1) | st.integers(-2, 2),
    "BIGINT": st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2),
    "FLOAT": NUMBERS,
    "DOUBLE": st.floats(allow_nan=True),
    "STRING": st.text(max_size=4) | st.sampled_from(["", "a", "ab"]),
    "DATE": st.integers(-1000, 1000),
    "TIME(3)": st.integers(0, 86_399_999),
    "TIMESTAMP(3)": st.integers(-100, 10**12).map(lambda n: n * 10**6),
    "TIMESTAMP(6)": st.integers(-(10**16), 10**16).map(lambda n: n * 1000) | st.just(10**21),
    "TIMESTAMP(9)": st.integers(-(10**18), 10**18),
    "DECIMAL(9, 2)": st.decimals(-(10**6), 10**6, places=2),
    "DECIMAL(30, 3)": st.decimals(Decimal(-(10**20)), Decimal(10**20), places=3),
}


@settings(max_examples=examples(400), deadline=None)
@given(st.data())
def test_our_files_have_the_rows_of_each_interval(data: st.DataObject) -> None:
    data_type = data.draw(st.sampled_from(sorted(DRAWS)))
    values = data.draw(st.lists(st.none() | DRAWS[data_type], min_size=1, max_size=30))
    form = global_key_form(parse_type(data_type))
    keys = [None if value is None else form.key(value) for value in values]
    known = sorted({key for key in keys if key is not None})
    kind, codec = data.draw(st.sampled_from(sorted(READERS))), data.draw(st.sampled_from(["none", "zstd", "lz4"]))
    raw, bounds = made(values, data_type, kind, data.draw(st.sampled_from([1, 40, 65536])), codec)
    index = opened(raw, kind, form)
    assert list(index.nulls()) == [row for row, key in enumerate(keys) if key is None]
    assert bounds.first == (form.stored(known[0]) if known else None)
    assert all(form.loaded(form.stored(key)) == key for key in known)
    ends = st.none() | st.sampled_from(known) if known else st.none()
    wanted = Interval(data.draw(ends), data.draw(ends), data.draw(st.booleans()), data.draw(st.booleans()))
    rows = [
        row
        for row, key in enumerate(keys)
        if key is not None
        and (wanted.low is None or key > wanted.low or (wanted.with_low and key == wanted.low))
        and (wanted.high is None or key < wanted.high or (wanted.with_high and key == wanted.high))
    ]
    assert list(index.rows(wanted)) == rows


@pytest.mark.parametrize(("data_type", "kind"), GENUINE)
def test_damaged_files_are_named(data_type: str, kind: str) -> None:
    """Nothing but a PaimonError comes of bytes that have changed, and no number of rows that memory does not hold."""
    genuine, form = bytes.fromhex(GENUINE[data_type, kind][0]), global_key_form(parse_type(data_type))
    random, failed = Random(kind + data_type), 0
    for _ in range(500):
        data = bytearray(genuine)
        for _ in range(random.randint(1, 3)):
            data[random.randrange(len(data))] = random.randrange(256)
        cut = bytes(data[: random.choice([len(data), random.randrange(len(data))])])
        try:
            index = opened(cut, kind, form)
            assert len(index.rows(Interval())) + len(index.nulls()) < 1 << 40
        except PaimonError:
            failed += 1
    assert failed > 300


def test_a_codec_that_is_not_here() -> None:
    check = zlib.crc32(b"\3", zlib.crc32(b"x"))
    with pytest.raises(UnsupportedFeature, match="blocks of codec 3"):
        read_block(b"x\3" + struct.pack("<I", check), 0, 1, "f")


def test_types_without_keys() -> None:
    with pytest.raises(UnsupportedFeature, match="cannot be over a column of the type BYTES"):
        global_key_form(parse_type("BYTES"))


def test_bounds_of_older_releases_have_no_flags() -> None:
    """Java: SortedIndexFileMeta.deserialize: two empty keys and NULL are a file of NULL alone."""
    old = struct.pack("<ii", 0, 0)
    assert read_key_bounds(old + b"\1") == KeyBounds(None, None, True)
    assert read_key_bounds(old + b"\0") == KeyBounds(b"", b"", False)
    with pytest.raises(CorruptFile, match="does not say which keys"):
        read_key_bounds(struct.pack("<i", 9))
    with pytest.raises(CorruptFile, match="does not say which keys"):
        read_key_bounds(None)
