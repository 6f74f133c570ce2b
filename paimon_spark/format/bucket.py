"""Partitions and buckets: their types, the bucket of a row, and the key hashes of dynamic buckets.

``arrow/row_buckets.py`` finds the buckets of whole batches by the same rule, for writers.

Buckets are those of format section 5.4 (Java: BucketFunction), HASH index files those of 8.2 (Java: HashIndexFile).

Writers encode some nulls differently (format section 5.1), so two different byte strings can mean one partition. A
``Partition`` holds the bytes that this project encodes the values to: equal bytes are equal partitions. Plain ``bytes``
are a partition as a metadata file has it: the same values, but possibly other bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NewType, TypeAlias

import numpy as np
import numpy.typing as npt

from paimon_spark.errors import CorruptFile, OptionError, UnsupportedFeature
from paimon_spark.format.binary_row import encode_row, row_hash
from paimon_spark.format.manifest import EMPTY_ROW
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import BINARIES, STRINGS, DataField, DataType, Root

_MASK = 0xFFFFFFFF
_HIVE_INTEGERS = frozenset({Root.BOOLEAN, Root.TINYINT, Root.SMALLINT, Root.INT, Root.DATE, Root.TIME})
Partition = NewType("Partition", bytes)
"""An arity-prefixed BinaryRow with the bytes of this project; made by ``canonical_row``."""
NO_PARTITION = Partition(EMPTY_ROW)
"""Of tables without partition columns."""
Place: TypeAlias = tuple[Partition, int]
"""Partition and bucket."""
StoredPlace: TypeAlias = tuple[bytes, int]
"""Partition and bucket as a metadata file has them: two of them may be one place."""


def bucket_fields(schema: TableSchema, settings: TableSettings) -> tuple[DataField, ...]:
    """The columns that are hashed to the bucket, in order: option `bucket-key`, else the trimmed primary key.

    Raises:
        OptionError: the option names a column that the table does not have.
    """
    names = settings.bucket_key or schema.trimmed_primary_keys
    unknown = [name for name in names if name not in schema.by_name]
    if unknown:
        raise OptionError(
            f"the option '{TableSettings.bucket_key.key}' names {', '.join(unknown)!r:.200}, and the columns of the "
            f"table are {', '.join(schema.names)}"
        )
    return tuple(schema.by_name[name] for name in names)


def bucket_of(values: Sequence[Any], types: Sequence[DataType], buckets: int, function: str) -> int:
    """The bucket of a row, from 0 to buckets - 1.

    Args:
        values: internal values of the bucket key columns.
        types: their types.
        buckets: the fixed number of buckets, at least 1.
        function: value of ``bucket-function.type``: default, mod or hive.

    Raises:
        UnsupportedFeature: the function does not take these types.
    """
    if function == "default":
        return abs(row_hash(encode_row(values, types))) % buckets
    if function == "mod":
        if len(types) != 1 or types[0].root not in (Root.INT, Root.BIGINT):
            raise UnsupportedFeature("bucket-function.type=mod needs a bucket key of one INT or BIGINT column")
        return int(values[0] or 0) % buckets  # Java reads 0 where the key is null
    if function == "hive":
        hashed = 0
        for value, data_type in zip(values, types, strict=True):
            hashed = (31 * hashed + (0 if value is None else _hive_hash(value, data_type))) & _MASK
        return (hashed & 0x7FFFFFFF) % buckets
    raise UnsupportedFeature(f"bucket-function.type={function} is not known: use default, mod or hive")


def _hive_hash(value: Any, data_type: DataType) -> int:
    root = data_type.root
    if root in _HIVE_INTEGERS:
        return int(value)
    if root is Root.BIGINT:
        return _fold(value)
    if root is Root.FLOAT:
        return 0 if value == 0 else _bits(value, "<f", "<i")
    if root is Root.DOUBLE:
        return 0 if value == 0 else _fold(_bits(value, "<d", "<q"))
    if root in STRINGS:
        return _bytes_hash(value.encode("utf-8"))
    if root in BINARIES:
        return _bytes_hash(value)
    if root is Root.DECIMAL:
        return _decimal_hash(value)
    raise UnsupportedFeature(f"bucket-function.type=hive cannot hash a bucket key of type {root}")


def _fold(value: int) -> int:
    return (value ^ (value & 0xFFFFFFFFFFFFFFFF) >> 32) & _MASK


def _bits(value: float, form: str, integer: str) -> int:
    bits: int = struct.unpack(integer, struct.pack(form, value if value == value else float("nan")))[0]
    return bits


def _bytes_hash(data: bytes) -> int:
    hashed = 0
    for byte in data:
        hashed = (31 * hashed + (byte - 256 if byte > 127 else byte)) & _MASK
    return hashed


def _decimal_hash(value: Decimal) -> int:
    """BigDecimal.hashCode of the value without trailing zeros, with a scale of at least 0."""
    sign, digits, exponent = value.as_tuple()
    unscaled, scale = int("".join(map(str, digits))), -int(exponent)
    while unscaled and unscaled % 10 == 0 and scale > 0:
        unscaled, scale = unscaled // 10, scale - 1
    if not unscaled:
        return 0
    if scale < 0:
        unscaled, scale = unscaled * 10**-scale, 0
    magnitude = 0
    for shift in range(
        (unscaled.bit_length() + 31) // 32 * 32 - 32, -1, -32
    ):  # BigInteger.hashCode, highest word first
        magnitude = (31 * magnitude + (unscaled >> shift & _MASK)) & _MASK
    return 31 * (-magnitude if sign else magnitude) + scale


def decode_hashes(data: bytes, where: str = "a HASH index file") -> npt.NDArray[np.int32]:
    """The key hashes of a bucket, in file order, which has no meaning.

    Raises:
        CorruptFile: the file is not whole 4-byte integers.
    """
    if len(data) % 4:
        raise CorruptFile(f"cannot read {where}: its {len(data)} bytes are not a whole number of 4-byte hashes")
    return np.frombuffer(data, ">i4").astype(np.int32)


def encode_hashes(hashes: npt.NDArray[np.int32]) -> bytes:
    """The bytes of the index file."""
    return hashes.astype(">i4").tobytes()


def number_words(numbers: Iterable[int]) -> str:
    """Numbers of buckets in words: ``2 and 4``."""
    return " and ".join(str(number) for number in sorted(numbers))
