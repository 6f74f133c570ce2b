"""Computes the bucket and the partition of each row of a batch (format section 5.4; Java: BucketFunction).

Every row gets the bucket that ``format/bucket.py``, the rule for one row, gives it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.hive_hash import hive_hash
from paimon_spark.arrow.row_hash import SECTION, fixed_values, float_bits, hash_rows, key_column, valid_mask, zero_nulls
from paimon_spark.arrow.types import to_internal
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.partition import Partition
from paimon_spark.format.types import FLOATS, DataField, Root

Buckets = npt.NDArray[np.int32]
Indices = npt.NDArray[np.int64]

_RADIX_LIMIT = 1 << 16  # numpy sorts 16-bit integers by radix: linear, and stable
_CODE_LIMIT = 1 << 62


def assign_buckets(batch: pa.RecordBatch, fields: Sequence[DataField], buckets: int, function: str) -> Buckets:
    """The bucket of each row.

    Args:
        batch: holds the bucket key columns.
        fields: the bucket key, in its order.
        buckets: the number of buckets, at least 1.
        function: ``bucket-function.type``: default, mod or hive.

    Raises:
        UnsupportedFeature: an unknown function, or a key that it does not take.
    """
    match function:
        case "default":
            # Both C and Java truncate the remainder towards zero; its absolute value is below the number of buckets.
            rest: Buckets = np.fmod(hash_rows(batch, fields), np.int32(buckets))
            return np.abs(rest)
        case "hive":
            out: Buckets = np.empty(batch.num_rows, np.int32)
            for start in range(0, batch.num_rows, SECTION):
                hashes = hive_hash(batch.slice(start, SECTION), fields) & np.uint32(0x7FFFFFFF)
                out[start : start + SECTION] = hashes % np.uint32(buckets)
            return out
        case "mod":
            return _floor_mod(batch, fields, buckets)
    raise UnsupportedFeature(f"bucket-function.type = {function} is unknown: use default, mod or hive")


def _floor_mod(batch: pa.RecordBatch, fields: Sequence[DataField], buckets: int) -> Buckets:
    if len(fields) != 1 or fields[0].type.root not in (Root.INT, Root.BIGINT):
        key = ", ".join(f"{f.name} {f.type.root}" for f in fields)
        raise UnsupportedFeature(
            f"bucket-function.type = mod needs one bucket key column of type INT or BIGINT, found: {key}"
        )
    column = key_column(batch, fields[0])
    if not len(column):
        return np.empty(0, np.int32)
    values = fixed_values(column, np.int32 if fields[0].type.root is Root.INT else np.int64)
    rest: Buckets = np.mod(zero_nulls(values, valid_mask(column)), values.dtype.type(buckets)).astype(np.int32)
    return rest


def group_rows(
    batch: pa.RecordBatch, partition_fields: Sequence[DataField], buckets: Buckets | None
) -> list[tuple[Partition, int, Indices]]:
    """The rows of a batch by partition and bucket.

    Args:
        batch: holds the partition columns.
        partition_fields: the partition keys in their order; empty for a table without partitions.
        buckets: the bucket of each row; None puts all rows into bucket 0.

    Returns:
        (partition as an arity row, bucket, ascending positions of its rows), by partition in order of first
        appearance, then by bucket. -0.0 and 0.0 are two partitions, all NaN are one: partitions differ by their bytes.
    """
    if batch.num_rows == 0:
        return []
    columns = [_encode_distinct(key_column(batch, field), field) for field in partition_fields]
    codes, count = _codes(columns, batch.num_rows)
    if buckets is not None:
        codes, count = _combine(codes, count, buckets, int(buckets.max()) + 1)
    groups = [
        (_partition_row(columns, partition_fields, int(rows[0])), 0 if buckets is None else int(buckets[rows[0]]), rows)
        for rows in _split(codes, count)
    ]
    first_seen: dict[Partition, int] = {}
    for partition, _, rows in groups:
        first_seen[partition] = min(int(rows[0]), first_seen.get(partition, batch.num_rows))
    return sorted(groups, key=lambda group: (first_seen[group[0]], group[1]))


def row_codes(batch: pa.RecordBatch, fields: Sequence[DataField]) -> Indices:
    """A number for each row; rows have equal numbers if group_rows would put them into one partition."""
    return _codes([_encode_distinct(key_column(batch, field), field) for field in fields], batch.num_rows)[0]


def _codes(columns: Sequence[pa.DictionaryArray], rows: int) -> tuple[Indices, int]:
    """The combined codes of the rows, and a number above them."""
    codes, count = np.zeros(rows, np.int64), 1
    for column in columns:
        codes, count = _combine(codes, count, fixed_values(column.indices, np.int32), len(column.dictionary))
    return codes, count


def _encode_distinct(column: pa.Array, field: DataField) -> pa.DictionaryArray:
    """Codes and distinct values; null has a code. Floats are compared by their bits."""
    if field.type.root in FLOATS:
        valid = valid_mask(column)
        column = pa.array(float_bits(column), mask=None if valid is None else ~valid)
    return pc.dictionary_encode(column, null_encoding="encode")


def _combine(codes: Indices, count: int, more: npt.NDArray[np.int32], more_count: int) -> tuple[Indices, int]:
    if count * more_count >= _CODE_LIMIT:
        distinct, codes = np.unique(codes, return_inverse=True)
        count = len(distinct)
    return codes * more_count + more, count * more_count


def _split(codes: Indices, count: int) -> list[Indices]:
    """The positions of each distinct code, ascending."""
    if count == 1:
        return [np.arange(len(codes))]
    if count <= _RADIX_LIMIT:
        order = np.argsort(codes.astype(np.uint16), kind="stable")
    else:
        order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    return np.split(order, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1)


def _partition_row(columns: Sequence[pa.DictionaryArray], fields: Sequence[DataField], row: int) -> Partition:
    values = []
    for column, field in zip(columns, fields, strict=True):
        distinct = column.dictionary[column.indices[row].as_py()]
        if field.type.root in FLOATS and distinct.is_valid:
            width = np.float32 if field.type.root is Root.FLOAT else np.float64
            bits = np.array([distinct.as_py()], np.uint32 if field.type.root is Root.FLOAT else np.uint64)
            values.append(float(bits.view(width)[0]))
        else:
            values.append(to_internal(distinct))
    return Partition(encode_arity_row(values, [field.type for field in fields]))
