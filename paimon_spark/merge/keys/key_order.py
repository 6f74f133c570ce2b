"""The order of primary keys as single values, for the smallest and largest keys of files (format section 7.2).

Columns are compared one after the other: booleans false before true, numbers, dates and timestamps by value,
FLOAT and DOUBLE in Java's total order (``Double.compare``: -0.0 before 0.0, every NaN equal and greatest), strings
and binary by unsigned bytes. Whole columns of keys are ordered by ``key_words``; both must agree.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from paimon_spark.errors import CorruptFile
from paimon_spark.format.binary_row import arity_row_decoder
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.types import BINARIES, FLOATS, INTEGERS, STRINGS, TIMESTAMPS, DataType, Root

SortKey: TypeAlias = tuple[bool | int | Decimal | bytes, ...]
_NAN_ORDER = 0x7FF8 << 48
_PLAIN = INTEGERS | BINARIES | TIMESTAMPS | {Root.BOOLEAN, Root.DECIMAL, Root.DATE, Root.TIME}


def sort_key_of(types: Sequence[DataType]) -> Callable[[Sequence[Any]], SortKey]:
    """Makes keys of these types tuples that Python compares in Paimon's key order.

    Args:
        types: the data types of the key columns.

    Returns:
        A function of the internal values of a key. It raises TypeError for a null; sort_key_of does so for a type that
        cannot be a key.
    """
    converters = tuple(_converter(data_type) for data_type in types)

    def make(values: Sequence[Any]) -> SortKey:
        return tuple([convert(value) for convert, value in zip(converters, values, strict=True)])

    return make


def float_order(value: float) -> int:
    """An int that orders floats as Java's ``Double.compare``; a FLOAT widened to float keeps its order."""
    if value != value:
        return _NAN_ORDER
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return int(bits) if bits >= 0 else -(bits & (2**63 - 1)) - 1


def _converter(data_type: DataType) -> Callable[[Any], Any]:
    root = data_type.root
    if root in FLOATS:
        return float_order
    if root in STRINGS:
        return _utf8
    if root in _PLAIN:
        return _not_null
    raise TypeError(f"a column of type {root} cannot be part of a key")


def _utf8(value: Any) -> bytes:
    return bytes(_not_null(value).encode("utf-8", "surrogatepass"))


def _not_null(value: Any) -> Any:
    if value is None:
        raise TypeError("a key holds a null")
    return value


def key_range_of(key_types: Sequence[DataType]) -> Callable[[DataFileMeta], tuple[SortKey, SortKey]]:
    """A function that returns the first and the last key of a data file.

    It raises CorruptFile, naming the file, for a key that does not decode, or holds a null.

    Args:
        key_types: the types of the trimmed primary key.
    """
    decode, make = arity_row_decoder(key_types), sort_key_of(key_types)

    def key(row: bytes, file: DataFileMeta) -> SortKey:
        try:
            values = decode(row)
        except CorruptFile as error:
            raise _damaged(file, str(error)) from None
        if None in values:
            raise _damaged(file, "it holds a null")
        return make(values)

    def key_range(file: DataFileMeta) -> tuple[SortKey, SortKey]:
        first = key(file.min_key, file)
        return first, first if file.max_key == file.min_key else key(file.max_key, file)

    return key_range


def _damaged(file: DataFileMeta, why: str) -> CorruptFile:
    return CorruptFile(
        f"the smallest or largest key that a manifest records of the data file {file.file_name} is none: {why}; the "
        "manifest is damaged and must be restored"
    )
