"""Values of ARRAY<BLOB> and MAP<X, BLOB> columns: what an entry of a blob file has as its value (format section 10).

Java: ArrayBlobElementSerializer, MapBlobElementSerializer (release 2.0). A value is a magic number (int32), the version
1 and the number of elements (int32), the bytes of the keys of a map, the bytes of the elements, and then the lengths of
keys and elements as in the index of a file, -1 for NULL, each list with its size (int32) at the end.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from paimon_spark.errors import CorruptFile
from paimon_spark.format.blob_file import NULL, decode_lengths, encode_lengths
from paimon_spark.format.types import STRINGS, DataType, Root

Place: TypeAlias = tuple[int, int]
"""Where the bytes of an element begin in a value, and how many they are."""
ReadValue: TypeAlias = Callable[[int, int], bytes]
"""Gives some bytes of a value: from where, and how many."""
_ARRAY, _MAP = 1094861634, 0x4D424342
_VERSION = 1
_HEAD = struct.Struct("<ibi")
_SIZE = struct.Struct("<i")
_SIZES = struct.Struct("<ii")
_NUMBERS = {Root.TINYINT: "<b", Root.SMALLINT: "<h", Root.INT: "<i", Root.BIGINT: "<q"}


def encode_key(key: int | str, key_type: DataType) -> bytes:
    """The key of a map as bytes."""
    return key.encode() if isinstance(key, str) else struct.pack(_NUMBERS[key_type.root], key)


def begin_array(count: int) -> bytes:
    """What comes before the elements of an array."""
    return _HEAD.pack(_ARRAY, _VERSION, count)


def end_array(lengths: Sequence[int]) -> bytes:
    """What comes behind the elements of an array. lengths: of each, NULL for one that is NULL."""
    index = encode_lengths(np.array(lengths, np.int64))
    return index + _SIZE.pack(len(index))


def begin_map(keys: Sequence[bytes]) -> bytes:
    """What comes before the elements of a map."""
    return _HEAD.pack(_MAP, _VERSION, len(keys)) + b"".join(keys)


def end_map(keys: Sequence[bytes], lengths: Sequence[int]) -> bytes:
    """What comes behind the elements of a map. lengths: as of end_array."""
    indexes = [encode_lengths(np.array(values, np.int64)) for values in ([len(key) for key in keys], lengths)]
    return b"".join(indexes) + _SIZES.pack(*map(len, indexes))


def decode_array(read: ReadValue, size: int, where: str) -> list[Place | None]:
    """Where the elements of an array are; None: an element is NULL.

    Args:
        read: gives bytes of the value.
        size: of the value.
        where: the path, for messages.

    Raises:
        CorruptFile: it is no such value.
    """
    count = _count(read, size, _ARRAY, _SIZE.size, where)
    (index_size,) = _SIZE.unpack(read(size - _SIZE.size, _SIZE.size))
    end = size - _SIZE.size - index_size
    if index_size < 0 or end < _HEAD.size:
        raise _damaged(where, f"its index has {index_size} bytes")
    return _places(decode_lengths(read(end, index_size), where).tolist(), count, _HEAD.size, end, where)


def decode_map(read: ReadValue, size: int, key_type: DataType, where: str) -> list[tuple[int | str, Place | None]]:
    """The keys of a map, and where their elements are; arguments and errors as of decode_array."""
    count = _count(read, size, _MAP, _SIZES.size, where)
    key_size, value_size = _SIZES.unpack(read(size - _SIZES.size, _SIZES.size))
    end = size - _SIZES.size - value_size - key_size
    if key_size < 0 or value_size < 0 or end < _HEAD.size:
        raise _damaged(where, f"its indexes have {key_size} and {value_size} bytes")
    key_lengths = decode_lengths(read(end, key_size), where).tolist()
    lengths = decode_lengths(read(end + key_size, value_size), where).tolist()
    if len(key_lengths) != count or min(key_lengths, default=0) < 0:
        raise _damaged(where, f"it has {count} entries, and {len(key_lengths)} keys, or one that is NULL")
    values_start = _HEAD.size + sum(key_lengths)
    places = _places(lengths, count, values_start, end, where)
    keys = _places(key_lengths, count, _HEAD.size, values_start, where)
    data = read(_HEAD.size, values_start - _HEAD.size)
    start = _HEAD.size
    return [
        (_decode_key(data[key[0] - start : key[0] - start + key[1]], key_type, where), place)
        for key, place in zip(keys, places, strict=True)
        if key is not None
    ]


def _count(read: ReadValue, size: int, magic: int, end: int, where: str) -> int:
    if size < _HEAD.size + end:
        raise _damaged(where, f"it has {size} bytes")
    found, version, count = _HEAD.unpack(read(0, _HEAD.size))
    if (found, version) != (magic, _VERSION) or count < 0:
        raise _damaged(where, f"it begins with {found}, version {version}, {count} elements")
    return int(count)


def _places(lengths: Sequence[int], count: int, start: int, end: int, where: str) -> list[Place | None]:
    there = [max(length, 0) for length in lengths]
    if len(lengths) != count or min(lengths, default=0) < NULL or start + sum(there) != end:
        raise _damaged(where, f"the lengths of its {count} elements do not fit the {end - start} bytes that it has")
    places: list[Place | None] = []
    for length in lengths:
        places.append(None if length == NULL else (start, length))
        start += max(length, 0)
    return places


def _decode_key(data: bytes, key_type: DataType, where: str) -> int | str:
    try:
        if key_type.root in STRINGS:
            return data.decode()
        (number,) = struct.unpack(_NUMBERS[key_type.root], data)
    except (UnicodeDecodeError, struct.error):
        raise _damaged(where, f"one of its keys is no {key_type.root}") from None
    return int(number)


def _damaged(where: str, found: str) -> CorruptFile:
    return CorruptFile(
        f"reading the blob file {where}: a value is no array or map of blobs ({found}); it is damaged: restore it from "
        "a copy"
    )
