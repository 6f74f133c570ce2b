"""BinaryRow: genuine rows byte for byte, random rows back and forth, damaged ones."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.draws.format_values import BIGINT, INT, STRING, data_types, golden_cases, internal, values_of
from support.long_runs import examples

from paimon_spark.errors import CorruptFile, DataError
from paimon_spark.format.binary_row import (
    decode_arity_row,
    encode_arity_row,
    encode_row,
    murmur_hash,
    row_decoder,
    row_hash,
)
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, DataType, Root

GENUINE = [case for writer in ("java-0.9", "java-2.1") for case in golden_cases(f"{writer}/binary_row.json")]
DECIMAL_38 = DataType(Root.DECIMAL, precision=38, scale=2)
TIMESTAMP_6 = DataType(Root.TIMESTAMP, precision=6)


def same(a: Any, b: Any) -> bool:
    """Equality that tells -0.0 from 0.0 and finds NaN equal to itself."""
    if isinstance(a, float) and isinstance(b, float):
        return struct.pack("<d", a) == struct.pack("<d", b) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


@pytest.mark.parametrize("case", GENUINE, ids=lambda case: f"{case['types']}-{str(case['values'])[:30]}")
def test_genuine_rows(case: dict[str, Any]) -> None:
    """We write what the projection writes that makes partitions and keys, where the generic serializer differs."""
    types = [parse_type(text) for text in case["types"]]
    values = tuple(internal(value, t) for value, t in zip(case["values"], types, strict=True))
    row, arity_row = bytes.fromhex(case["hex"]), bytes.fromhex(case["arity_prefixed_hex"])
    assert same(row_decoder(types)(row), values)
    assert same(decode_arity_row(arity_row, types), values)
    assert row_hash(row) == case["hash"]
    if case["row_kind"] == 0:
        written = bytes.fromhex(case.get("projection_hex", case["hex"]))
        assert encode_row(values, types) == written
        assert encode_arity_row(values, types) == struct.pack(">i", len(types)) + written
        assert row_hash(written) == case.get("projection_hash", case["hash"])


@pytest.mark.parametrize("case", golden_cases("java-2.1/binary_row_new_types.json"), ids=lambda c: c["types"][0])
def test_genuine_rows_of_new_types(case: dict[str, Any]) -> None:
    types = [parse_type(text) for text in case["types"]]
    row = bytes.fromhex(case["hex"])
    if types[0].root is Root.VARIANT:
        variant = bytes.fromhex(case["variant_value_hex"]), bytes.fromhex(case["variant_metadata_hex"])
        values: tuple[Any, ...] = (variant, 7)
    else:
        values = tuple(case["values"])
    assert row_decoder(types)(row) == values
    assert encode_row(values, types) == row


@pytest.mark.parametrize("case", golden_cases("java-2.1/murmur.json"), ids=lambda c: c["hex"] or "empty")
def test_genuine_hashes(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["hex"])
    assert murmur_hash(data) == case["hash_bytes"]
    assert murmur_hash(data) == case.get("hash_by_words", case["hash_bytes"])


@given(st.data())
@settings(max_examples=examples(80))
def test_random_rows_survive(data: st.DataObject) -> None:
    types = data.draw(st.lists(data_types(), max_size=6))
    values = tuple(data.draw(values_of(t)) for t in types)
    encoded = encode_arity_row(values, types)
    assert len(encoded) % 8 == 4
    assert same(decode_arity_row(encoded, types), values)


@pytest.mark.parametrize("arity", [1, 55, 56, 57, 120, 121])
def test_null_bits_of_wide_rows(arity: int) -> None:
    values = tuple(None if i % 3 == 0 else i for i in range(arity))
    row = encode_row(values, [INT] * arity)
    assert len(row) == 8 * ((arity + 8 + 63) // 64) + 8 * arity
    assert row_decoder([INT] * arity)(row) == values


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 64, 65])
def test_null_bits_of_long_arrays(count: int) -> None:
    """One word of null bits for each 32 elements that are begun, then the elements, together in words of 8 bytes."""
    values = [None if i % 3 == 0 else i for i in range(count)]
    array = DataType(Root.ARRAY, element=INT)
    row = encode_row([values], [array])
    assert len(row) == 16 + (4 + (count + 31) // 32 * 4 + 4 * count + 7) // 8 * 8
    assert row_decoder([array])(row) == (values,)


def test_values_of_rows_are_distinguished_by_more_than_their_first_bytes() -> None:
    texts = ["ba", "ba\0", "ba\0\0", "", "\0", "1234567", "12345678", "é" * 4, "é" * 3]
    assert len({encode_row([text], [STRING]) for text in texts}) == len(texts)
    assert len({encode_row([number], [DataType(Root.DOUBLE)]) for number in (0.0, -0.0, math.nan, math.inf)}) == 4


def test_a_nan_of_any_bits_is_written_as_java_writes_it() -> None:
    odd_nan = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000123))[0]
    assert encode_row([odd_nan], [DataType(Root.DOUBLE)])[8:].hex() == "000000000000f87f"
    assert encode_row([odd_nan], [DataType(Root.FLOAT)])[8:].hex() == "0000c07f00000000"


def test_timestamps_before_the_epoch_floor_to_their_millisecond() -> None:
    millis = DataType(Root.TIMESTAMP, precision=3)
    assert encode_row([-1_000_000], [millis])[8:] == struct.pack("<q", -1)
    assert encode_row([-1], [TIMESTAMP_6])[8:] == struct.pack("<iiq", 999_999, 16, -1)
    assert row_decoder([TIMESTAMP_6])(encode_row([-1], [TIMESTAMP_6])) == (-1,)


@pytest.mark.parametrize(
    ("value", "data_type"),
    [
        (2**31, INT),
        (-129, DataType(Root.TINYINT)),
        (2**63, BIGINT),
        ("1", INT),
        (1.5, INT),
        (5, STRING),
        ("\ud800", STRING),
        ("text", DataType(Root.VARBINARY, length=4)),
        (1e300, DataType(Root.FLOAT)),
        (Decimal("1.005"), DECIMAL_38),
        (Decimal("1e37"), DECIMAL_38),
        (Decimal("NaN"), DECIMAL_38),
        (Decimal("Infinity"), DECIMAL_38),
        (Decimal("1000"), DataType(Root.DECIMAL, precision=3, scale=0)),
        (2**90, TIMESTAMP_6),
        ([1, "x"], DataType(Root.ARRAY, element=INT)),
        ([1.0], DataType(Root.VECTOR, element=DataType(Root.FLOAT), length=2)),
    ],
)
def test_values_that_do_not_fit_are_refused(value: Any, data_type: DataType) -> None:
    with pytest.raises(DataError, match="cannot store"):
        encode_row([value], [data_type])


NESTED = DataType(Root.ROW, fields=(DataField(0, "a", DataType(Root.ARRAY, element=STRING)), DataField(1, "b", INT)))
DAMAGED_TYPES = (
    INT,
    STRING,
    DECIMAL_38,
    TIMESTAMP_6,
    NESTED,
    DataType(Root.MAP, key=STRING, element=DataType(Root.SMALLINT)),
    DataType(Root.VECTOR, element=DataType(Root.FLOAT), length=2),
    DataType(Root.VARIANT),
)
NESTED_VALUES = ((["x", None, "eight..."], 3), [("k", 1)], [0.5, 1.5], (b"v", b"mmm"))
DAMAGED_ROW = encode_arity_row((7, "longer than seven", Decimal("123.45"), 5, *NESTED_VALUES), DAMAGED_TYPES)


def test_short_rows_never_give_another_error() -> None:
    for length in range(len(DAMAGED_ROW)):
        with pytest.raises(CorruptFile):
            decode_arity_row(DAMAGED_ROW[:length], DAMAGED_TYPES)


@given(st.integers(0, len(DAMAGED_ROW) - 1), st.binary(min_size=1, max_size=8))
@settings(max_examples=examples(500))
def test_changed_rows_never_give_another_error(at: int, patch: bytes) -> None:
    changed = (DAMAGED_ROW[:at] + patch + DAMAGED_ROW[at + len(patch) :])[: len(DAMAGED_ROW)]
    try:
        values = decode_arity_row(changed, DAMAGED_TYPES)
    except CorruptFile:
        return
    assert len(values) == len(DAMAGED_TYPES)


@pytest.mark.parametrize(
    ("slot", "message"),
    [
        (struct.pack("<ii", 100, 16), "points to 100 bytes at 16"),
        (struct.pack("<ii", 8, 2**31 - 8), "points to 8 bytes"),
        (struct.pack("<ii", -1, 16), "points to -1 bytes"),
        (b"\xff\xfe\0\0\0\0\0\x82", "utf-8"),
        (b"abcdefg\xff", "claims 127 bytes inside its 7"),
    ],
)
def test_what_is_wrong_with_a_text_is_said(slot: bytes, message: str) -> None:
    with pytest.raises(CorruptFile, match=message):
        row_decoder([STRING])(bytes(8) + slot)


def test_another_arity_than_expected_is_an_error() -> None:
    row = encode_arity_row([1, 2], [INT, INT])
    with pytest.raises(CorruptFile, match="does not hold 1 fields"):
        decode_arity_row(row, [INT])
