"""INT96 timestamps of parquet: 12 bytes, little-endian nanoseconds of the day (int64), then the Julian day (int32).

Paimon stores TIMESTAMP and TIMESTAMP_LTZ of precision 7 to 9 in it (format section 7.3). Arrow can write INT96 only for
all timestamps of a file at once, which old Java readers refuse, and its decoder misreads what Java writes before 1970
(negative nanoseconds). So both directions use FIXED_LEN_BYTE_ARRAY(12), whose pages have the same bytes. Only the
footer differs between the two, and ``int96_footer`` rewrites it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.raw_values import int64_array, int64_values, valid_mask, with_nulls
from paimon_spark.arrow.types import NANOS_PER_UNIT
from paimon_spark.errors import DataError

INT96 = pa.binary(12)
_LAYOUT = np.dtype([("nanos", "<i8"), ("day", "<i4")])
_EPOCH_DAY = 2440588
_NANOS_PER_DAY = 86_400 * 10**9


def decode_int96(array: pa.Array, target: pa.DataType) -> pa.Array:
    """INT96 bytes as a timestamp type; finer digits than its unit are dropped (floor).

    Raises:
        DataError: a value is outside the range of the target, for nanoseconds 1677..2262.
    """
    raw = np.frombuffer(array.buffers()[1] or b"", _LAYOUT, len(array), array.offset * 12)
    unit = NANOS_PER_UNIT[target.unit]
    days = raw["day"].astype(np.int64) - _EPOCH_DAY
    counts = days * (_NANOS_PER_DAY // unit) + np.floor_divide(raw["nanos"], unit)
    rough = days * (_NANOS_PER_DAY / unit) + raw["nanos"] / unit
    unset = (raw["day"] == 0) & (raw["nanos"] == 0)  # a NOT NULL field in a null struct
    outside = (np.abs(rough - counts) > 2.0**62) & ~unset
    if outside.any() and (outside & valid_mask(array)).any():
        raise DataError(f"a timestamp in the file is outside the range of {target}")
    return int64_array(counts, array, target)


def encode_int96(array: pa.Array) -> pa.Array:
    """Timestamps as INT96 bytes, nanoseconds of the day never negative."""
    unit = NANOS_PER_UNIT[array.type.unit]
    days, rest = np.divmod(int64_values(array), _NANOS_PER_DAY // unit)
    raw = np.empty(len(array), _LAYOUT)
    raw["nanos"] = rest * unit
    raw["day"] = days + _EPOCH_DAY
    return with_nulls(pa.Array.from_buffers(INT96, len(raw), [None, pa.py_buffer(raw)]), array)
