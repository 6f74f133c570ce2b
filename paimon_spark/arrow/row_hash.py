"""The BinaryRow hash of many rows at once (format sections 5.1 and 5.3; Java: BinaryRow.hashCode of a projected row).

No row bytes are built: the 8-byte words of the rows are computed column by column and mixed in the order that they
would have in a row. The layout is that of Java's generated projection, which buckets depend on: a null
DECIMAL(p > 18) or TIMESTAMP(p > 3) keeps its zeroed place in the variable part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.raw_values import to_numpy
from paimon_spark.arrow.types import arrow_type
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.binary_row import COMPACT_DECIMAL, COMPACT_TIMESTAMP, SEED, header_size
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import BINARIES, STRINGS, TIMESTAMPS, DataField, DataType, Root

SECTION = 1 << 15  # rows worked on at a time: their temporaries stay in the processor's cache

Words: TypeAlias = npt.NDArray[np.uint64]
Hashes: TypeAlias = npt.NDArray[np.uint32]
Mask: TypeAlias = npt.NDArray[np.bool_]

_NUMPY: dict[Root, type[np.generic]] = {
    Root.TINYINT: np.uint8,
    Root.SMALLINT: np.uint16,
    Root.INT: np.uint32,
    Root.DATE: np.uint32,
    Root.TIME: np.uint32,
    Root.BIGINT: np.uint64,
}
_UNITS_PER_MILLI = {"ms": 1, "us": 1_000, "ns": 1_000_000}
_U64 = np.uint64
_INLINE_BYTES = 7


def hash_rows(batch: pa.RecordBatch, fields: Sequence[DataField]) -> npt.NDArray[np.int32]:
    """The signed hash of each row projected to some columns.

    Args:
        batch: holds a column of each field's name.
        fields: the columns to hash, in the order of the projected row.

    Raises:
        UnsupportedFeature: a nested type.
    """
    columns = [key_column(batch, field) for field in fields]
    out = np.empty(batch.num_rows, np.uint32)
    for start in range(0, batch.num_rows, SECTION):
        section = [column.slice(start, SECTION) for column in columns]
        out[start : start + SECTION] = _hash_section(section, [f.type for f in fields])
    return out.view(np.int32)


def key_column(batch: pa.RecordBatch, field: DataField) -> pa.Array:
    """The column as ``arrow_type(field.type)``: dictionaries and large types are brought to their plain form."""
    column = batch.column(field.name)
    wanted = arrow_type(field.type)
    return column if column.type == wanted else column.cast(wanted)


def valid_mask(column: pa.Array) -> Mask | None:
    """Where the column is not null; None if it has no nulls."""
    if column.null_count == 0:
        return None
    return to_numpy(column.is_valid())


def fixed_values(column: pa.Array, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """The values of a fixed-width column, reinterpreted, without a copy; what lies under nulls is undefined."""
    size = np.dtype(dtype).itemsize
    values: npt.NDArray[Any] = np.frombuffer(column.buffers()[1], dtype, len(column), column.offset * size)
    return values


def zero_nulls(values: npt.NDArray[Any], valid: Mask | None) -> npt.NDArray[Any]:
    return values if valid is None else values * valid  # a product: np.where takes ten times as long on random nulls


def float_bits(column: pa.Array) -> npt.NDArray[Any]:
    """The IEEE bits of a FLOAT or DOUBLE column as unsigned integers, every NaN as Java's one NaN."""
    single = pa.types.is_float32(column.type)
    values = fixed_values(column, np.float32 if single else np.float64)
    bits = values.view(np.uint32 if single else np.uint64)
    not_a_number = np.isnan(values)
    if not_a_number.any():
        bits = bits.copy()
        bits[not_a_number] = 0x7FC00000 if single else 0x7FF8000000000000
    return bits


def byte_spans(column: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Start and length of each value of a string or binary column, in an aligned copy of their bytes.

    The copy ends with at least 16 zeros and is a whole number of 8-byte words. A null has length 0.
    """
    offsets = np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, 4 * column.offset)
    first, last = int(offsets[0]), int(offsets[-1])
    data = np.zeros((last - first + 7) // 8 + 2, np.uint64).view(np.uint8)
    if last > first:
        data[: last - first] = np.frombuffer(column.buffers()[2], np.uint8)[first:last]
    starts = offsets[:-1].astype(np.int64)
    starts -= first
    return starts, zero_nulls(np.diff(offsets).astype(np.int64), valid_mask(column)), data


# ------------------------------------------------------------------------------------------------- one section of rows


@dataclass(frozen=True, slots=True)
class _FixedTail:
    """A variable part with the same number of words in every row: one array for each."""

    columns: Sequence[Words]


@dataclass(frozen=True, slots=True)
class _BytesTail:
    """A variable part of values longer than 7 bytes, padded with zeros to whole words; shorter ones take no word."""

    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    data: Words

    def counts(self) -> npt.NDArray[np.int64]:
        counts = self.lengths + 7
        counts >>= 3
        counts *= self.lengths > _INLINE_BYTES
        return counts


def _hash_section(columns: Sequence[pa.Array], types: Sequence[DataType]) -> Hashes:
    count = len(columns[0]) if columns else 0
    header = header_size(len(columns))
    fixed = header + 8 * len(columns)
    hashes = np.full(count, SEED, np.uint32)
    for word in _header_words(columns, header // 8):
        _mix_word(hashes, word)
    offset: npt.NDArray[np.int64] | int = fixed  # where the variable part of the next column begins
    tails: list[_FixedTail | _BytesTail] = []
    for column, data_type in zip(columns, types, strict=True):
        slot, tail = _encode_column(column, data_type, offset)
        _mix_word(hashes, slot)
        if tail is not None:
            tails.append(tail)
            offset = offset + 8 * (tail.counts() if isinstance(tail, _BytesTail) else len(tail.columns))
    for tail in tails:
        if isinstance(tail, _FixedTail):
            for words in tail.columns:
                _mix_word(hashes, words)
        else:
            hashes = _mix_bytes(hashes, tail)
    return _finish(hashes, offset)


def _header_words(columns: Sequence[pa.Array], count: int) -> list[Words | None]:
    """The row kind (0) and the null bits; None for a word that is 0 in every row."""
    words: list[Words | None] = [None] * count
    for i, column in enumerate(columns):
        valid = valid_mask(column)
        if valid is None:
            continue
        word, bit = divmod(i + 8, 64)
        nulls = (~valid).astype(np.uint64) << _U64(bit)
        known = words[word]
        words[word] = nulls if known is None else known | nulls
    return words


def _encode_column(
    column: pa.Array, data_type: DataType, offset: npt.NDArray[np.int64] | int
) -> tuple[npt.NDArray[Any] | None, _FixedTail | _BytesTail | None]:
    """The slots of a column (uint64, or uint32 where the upper half is 0) and its variable part."""
    root = data_type.root
    valid = valid_mask(column)
    if root in _NUMPY:
        values = fixed_values(column, _NUMPY[root])
        return zero_nulls(values if values.itemsize >= 4 else values.astype(np.uint32), valid), None
    if root is Root.BOOLEAN:
        return zero_nulls(fixed_values(column.cast(pa.uint8()), np.uint8).astype(np.uint32), valid), None
    if root in (Root.FLOAT, Root.DOUBLE):
        return zero_nulls(float_bits(column), valid), None
    if root in STRINGS or root in BINARIES:
        return _encode_bytes(column, valid, offset)
    if root is Root.DECIMAL:
        if (data_type.precision or 0) <= COMPACT_DECIMAL:
            return zero_nulls(decimal_halves(column)[0], valid), None
        return _encode_wide_decimal(column, valid, offset)
    if root in TIMESTAMPS:
        values = fixed_values(column, np.int64)
        units = _UNITS_PER_MILLI[column.type.unit]
        millis = values // units if units > 1 else values
        if (data_type.precision or 0) <= COMPACT_TIMESTAMP:
            return zero_nulls(millis.view(np.uint64), valid), None
        nanos = (values - millis * units) * (1_000_000 // units)
        tail = _FixedTail([zero_nulls(millis.view(np.uint64), valid)])
        return _reference(zero_nulls(nanos.view(np.uint64), valid), offset), tail
    raise UnsupportedFeature(f"rows cannot be hashed by a column of type {type_sql(data_type)}: choose another key")


def _reference(lengths: Words, offset: npt.NDArray[np.int64] | int) -> Words:
    """The slot of a value in the variable part: its offset above its length."""
    place = np.asarray(offset, np.int64).astype(np.uint64) << _U64(32)
    out: Words = lengths | place
    return out


def _encode_bytes(
    column: pa.Array, valid: Mask | None, offset: npt.NDArray[np.int64] | int
) -> tuple[Words, _BytesTail | None]:
    starts, lengths, data = byte_spans(column)
    words = data.view("<u8")
    sizes = lengths.view(np.uint64)
    if valid is None and lengths.size and int(lengths.min()) > _INLINE_BYTES:
        return _reference(sizes, offset), _BytesTail(starts, lengths, words)
    inline = _load(words, starts, lengths)
    inline |= (sizes | _U64(0x80)) << _U64(56)
    if int(lengths.max(initial=0)) <= _INLINE_BYTES:
        return zero_nulls(inline, valid), None
    inline *= lengths <= _INLINE_BYTES
    far = _reference(sizes, offset)
    far *= lengths > _INLINE_BYTES
    return zero_nulls(inline | far, valid), _BytesTail(starts, lengths, words)


_KEEP = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)  # the first bytes of a word


def _load(words: Words, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> Words:
    """The first 8 bytes of each span of bytes as one word, zero behind its end.

    Two aligned loads and shifts are half the price of gathering from every byte position.
    """
    index = starts >> 3
    shift = (starts & 7).view(np.uint64)
    shift <<= _U64(3)
    loaded = words.take(index, mode="clip")
    loaded >>= shift
    index += 1
    upper = words.take(index, mode="clip")
    upper <<= _U64(64) - shift  # by 64 gives 0
    loaded |= upper
    if lengths.size and int(lengths.min()) < 8:
        loaded &= _KEEP.take(lengths, mode="clip")
    return loaded


def decimal_halves(column: pa.Array) -> tuple[Words, Words]:
    """The lower and upper 64 bits of the unscaled values of a DECIMAL column; undefined under nulls."""
    both = np.frombuffer(column.buffers()[1], np.uint64, 2 * len(column), 16 * column.offset)
    return both[0::2], both[1::2]


_BYTE_LIMITS = np.array([1 << (8 * k - 1) for k in range(1, 9)], np.uint64)


def _encode_wide_decimal(
    column: pa.Array, valid: Mask | None, offset: npt.NDArray[np.int64] | int
) -> tuple[Words, _FixedTail]:
    """The shortest big-endian two's complement, at the head of 16 zeroed bytes."""
    low, high = (zero_nulls(half, valid) for half in decimal_halves(column))
    sign = (high.view(np.int64) >> 63).view(np.uint64)
    small = np.searchsorted(_BYTE_LIMITS, low ^ sign, side="right") + 1
    large = np.searchsorted(_BYTE_LIMITS, high ^ sign, side="right") + 9
    lengths = np.where((high ^ sign) != 0, large, small)
    shift = (8 * (16 - lengths)).astype(np.uint64)  # 0..120 bits to the left
    across = shift >= 64
    part = np.where(across, shift - _U64(64), shift)
    carried = np.where(part == 0, _U64(0), low >> (_U64(64) - np.maximum(part, _U64(1))))
    first = np.where(across, low << part, (high << part) | carried)
    second = np.where(across, _U64(0), low << part)
    sizes = zero_nulls(lengths.astype(np.uint64), valid)
    return _reference(sizes, offset), _FixedTail([first.byteswap(), second.byteswap()])


# -------------------------------------------------------------------------------------------------------------- murmur


def _mix(hashes: Hashes, words: Hashes | None) -> None:
    """Mix one 32-bit word of each row into its hash, in place; None is 0 in every row."""
    if words is not None:
        words = words * np.uint32(0xCC9E2D51)
        turned = words >> np.uint32(17)
        words <<= np.uint32(15)
        words |= turned
        words *= np.uint32(0x1B873593)
        hashes ^= words
    turned = hashes >> np.uint32(19)
    hashes <<= np.uint32(13)
    hashes |= turned
    hashes *= np.uint32(5)
    hashes += np.uint32(0xE6546B64)


def _mix_word(hashes: Hashes, words: npt.NDArray[Any] | None) -> None:
    if words is None:
        _mix(hashes, None)
        _mix(hashes, None)
    elif words.dtype == np.uint32:
        _mix(hashes, words)
        _mix(hashes, None)
    else:
        halves = np.ascontiguousarray(words).view("<u4").reshape(-1, 2)
        _mix(hashes, halves[:, 0])
        _mix(hashes, halves[:, 1])


def _mix_bytes(hashes: Hashes, tail: _BytesTail) -> Hashes:
    """Mix the words of long values. Rows are ordered by their number of words: those that have more are a prefix."""
    counts = tail.counts()
    if not counts.size or int(counts.min()) == int(counts.max()):
        _mix_spans(hashes, counts, tail.starts, tail.lengths, tail.data)
        return hashes
    falling = int(counts.max()) - counts
    order = np.argsort(falling.astype(np.uint16) if int(falling.max()) < 1 << 16 else falling, kind="stable")
    ordered = hashes[order]
    _mix_spans(ordered, counts[order], tail.starts[order], tail.lengths[order], tail.data)
    hashes[order] = ordered
    return hashes


def _mix_spans(
    hashes: Hashes,
    counts: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    data: Words,
) -> None:
    """Mix counts[i] words from starts[i] on into hashes[i]; counts never rise from row to row."""
    most = int(counts[0]) if counts.size else 0
    active = np.searchsorted(-counts, -np.arange(most), side="left")  # rows with more words than 0, 1, 2, ...
    for number, rows in enumerate(active.tolist()):
        _mix_word(hashes[:rows], _load(data, starts[:rows] + 8 * number, lengths[:rows] - 8 * number))


def _finish(hashes: Hashes, length: npt.NDArray[np.int64] | int) -> Hashes:
    hashes ^= np.asarray(length).astype(np.uint32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        hashes ^= hashes >> np.uint32(shift)
        hashes *= np.uint32(factor)
    return hashes
