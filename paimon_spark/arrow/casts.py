"""Casts values from one data type to another as the Java system does (Java: CastExecutors and its rules).

These casts serve columns that changed their type after files were written, and default values. The rules are Java's,
not Spark's: a number too big for a narrower integer wraps around, one too big for a DECIMAL becomes null, text that
cannot be parsed is an error. Java uses its default time zone between TIMESTAMP_LTZ and local types; here it is UTC.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow import kernels as pc
from paimon_spark.arrow.conform import conform, rescale
from paimon_spark.arrow.raw_values import int64_array, int64_values, with_nulls
from paimon_spark.arrow.text_casts import cut_text, format_texts, parse_texts
from paimon_spark.arrow.types import NANOS_PER_UNIT, arrow_type, timestamp_unit
from paimon_spark.arrow.zones import DAY, start_of_day, to_instant, to_local
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import (
    BINARIES,
    FLOATS,
    INTEGERS,
    MAX_LENGTH,
    STRINGS,
    TIMESTAMPS,
    UNORDERED,
    DataType,
    Root,
)

Cast = Callable[[pa.Array, DataType, DataType], pa.Array]

_PRIMITIVE = INTEGERS | FLOATS
_TEXT = DataType(Root.VARCHAR, length=MAX_LENGTH)
_INTEGER_BITS = {Root.TINYINT: np.int8, Root.SMALLINT: np.int16, Root.INT: np.int32, Root.BIGINT: np.int64}


def cast_array(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """The values as the target type; nulls stay null.

    Args:
        array: of ``arrow_type(source)``.

    Raises:
        UnsupportedFeature: Java has no such cast (for example between nested types). An empty array raises it too.
        DataError: a text cannot be parsed, or a timestamp leaves the range of its new unit.
    """
    if source.with_nullable(True) == target.with_nullable(True):
        return conform(array, arrow_type(target))
    cast = _find(source, target)
    if cast is None:
        raise UnsupportedFeature(
            f"casting {type_sql(source)} to {type_sql(target)} is not supported: rewrite the old files in the new type"
        )
    return cast(array, source, target)


def _find(source: DataType, target: DataType) -> Cast | None:
    """The rule for a pair of types, by their kinds."""
    have, want = source.root, target.root
    if have in UNORDERED or want in UNORDERED:
        return None
    if have in STRINGS:
        return cut_text if want in STRINGS else _text_to_bytes if want in BINARIES else parse_texts
    if want in STRINGS:
        return _bytes_to_text if have in BINARIES else format_texts
    if have in _PRIMITIVE or have in (Root.DECIMAL, Root.BOOLEAN):
        return _from_number(have, want)
    if have in BINARIES and want in BINARIES:
        return _cut_bytes
    if have in TIMESTAMPS or have in (Root.DATE, Root.TIME):
        return _from_time(have, want)
    return None


def _from_number(have: Root, want: Root) -> Cast | None:
    if want in _PRIMITIVE:
        if have is Root.DECIMAL:
            return _decimal_to_number
        return _boolean_to_number if have is Root.BOOLEAN else _number_to_number
    if want is Root.DECIMAL:
        return _boolean_to_decimal if have is Root.BOOLEAN else _to_decimal
    if want is Root.BOOLEAN and have in INTEGERS:
        return lambda array, source, target: pc.not_equal(array, pa.scalar(0, array.type))
    if want in TIMESTAMPS and have in (Root.INT, Root.BIGINT):
        return _seconds_to_timestamp
    return None


def _from_time(have: Root, want: Root) -> Cast | None:
    if have in TIMESTAMPS:
        if want in TIMESTAMPS:
            return _timestamp_to_timestamp
        if want in (Root.INT, Root.BIGINT):
            return _timestamp_to_seconds
        return {Root.DATE: _timestamp_to_date, Root.TIME: _timestamp_to_time}.get(want)
    if want in TIMESTAMPS:
        return _date_to_timestamp if have is Root.DATE else _time_to_timestamp
    if have is want is Root.TIME:
        return lambda array, source, target: array
    return None


def _numbers(array: pa.Array) -> npt.NDArray[np.generic]:
    """The values of a number column; the values at nulls are arbitrary."""
    filled = array if not array.null_count else pc.fill_null(array, pa.scalar(0).cast(array.type))
    values: npt.NDArray[np.generic] = filled.to_numpy(zero_copy_only=False)
    return values


def _number_to_number(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Java's primitive conversions: integers wrap around, floats are cut and stop at the ends; NaN is 0."""
    arrow = arrow_type(target)
    values = _numbers(array)
    if target.root in FLOATS or source.root in INTEGERS:
        with np.errstate(over="ignore"):
            return with_nulls(pa.array(values.astype(arrow.to_pandas_dtype())), array)
    wide: type[np.int32 | np.int64] = (
        np.int64 if target.root is Root.BIGINT else np.int32
    )  # Java goes through int to byte and short
    return with_nulls(pa.array(_saturate(values, wide).astype(_INTEGER_BITS[target.root])), array)


def _saturate(values: npt.NDArray[np.generic], wide: type[np.int32 | np.int64]) -> npt.NDArray[np.generic]:
    limits = np.iinfo(wide)
    numbers = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
    low, high = numbers <= limits.min, numbers >= limits.max
    whole = np.where(low | high, 0, numbers).astype(wide)
    return np.where(low, limits.min, np.where(high, limits.max, whole)).astype(wide)


def _boolean_to_number(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    return array.cast(pa.int8()).cast(arrow_type(target))


def _boolean_to_decimal(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    return _to_decimal(array.cast(pa.int32()), DataType(Root.INT), target)


def _decimal_to_number(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Integers: the fraction is cut, then the lowest bits count. Floats: by way of a double.

    Of up to 18 digits Java divides two doubles, which misses the nearest one if there are more than 15 digits.
    """
    if target.root not in FLOATS:
        return with_nulls(pa.array(_low_words(integer_part(array)).astype(_INTEGER_BITS[target.root])), array)
    if array.type.precision <= 18:
        doubles = with_nulls(pa.array(_low_words(array) / 10.0**array.type.scale), array)
    else:
        doubles = parse_texts(format_texts(array, source, _TEXT), _TEXT, DataType(Root.DOUBLE))
    return _number_to_number(doubles, DataType(Root.DOUBLE), target)


def integer_part(array: pa.Array) -> pa.Array:
    """The integer part of each value of a decimal128 array, as decimal128(38, 0)."""
    # Arrow truncates only where the type has a digit before the point, which DECIMAL(2, 2) has not.
    wide = array.cast(pa.decimal256(array.type.precision + 1, array.type.scale))
    return pc.trunc(wide).cast(pa.decimal128(38, 0))


def _low_words(array: pa.Array) -> npt.NDArray[np.int64]:
    """The low 64 bits of the unscaled values of a decimal128 array."""
    words = np.frombuffer(array.buffers()[1] or b"", np.int64)[::2]
    return words[array.offset : array.offset + len(array)]


def _to_decimal(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Rounds half up; a value that does not fit the precision becomes null. Floats use the text of their double."""
    arrow = arrow_type(target)
    if source.root in FLOATS:
        texts = format_texts(array.cast(pa.float64()), DataType(Root.DOUBLE), _TEXT)
        return parse_texts(texts, _TEXT, target)
    wide = array if source.root is Root.DECIMAL else array.cast(pa.decimal128(20, 0))
    wide = wide.cast(pa.decimal256(76, wide.type.scale))
    if wide.type.scale > arrow.scale:
        wide = pc.round(wide, arrow.scale, round_mode="half_towards_infinity").cast(pa.decimal256(76, arrow.scale))
    bound = pa.scalar(Decimal(10 ** (arrow.precision - arrow.scale)), wide.type)
    fitting = pc.if_else(pc.less(pc.abs(wide), bound), wide, pa.scalar(None, wide.type))
    return fitting.cast(pa.decimal256(76, arrow.scale)).cast(arrow)


def _text_to_bytes(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    return _cut_bytes(array.cast(pa.binary()), source, target)


def _bytes_to_text(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Bytes as text of any length: like Java, this does not cut to the type. Raises DataError for invalid UTF-8."""
    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid as error:
        raise DataError(f"bytes are not UTF-8 and cannot become {type_sql(target)}: {error}") from None


def _cut_bytes(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Cut to the length of the type; BINARY(n) is also filled up with zero bytes."""
    limit = target.length or 1
    if limit >= MAX_LENGTH:
        return array
    cut = pc.binary_slice(array, 0, limit)
    if target.root is not Root.BINARY:
        return cut
    padded = pc.binary_join_element_wise(cut, pa.scalar(bytes(limit)), pa.scalar(b""))
    return pc.binary_slice(padded, 0, limit)


def _truncated(array: pa.Array, precision: int) -> pa.Array:
    """Timestamps with the digits beyond the precision set to zero (Java: DateTimeUtils.truncate).

    Precisions up to 3 round towards the past, higher ones towards 1970.
    """
    unit = NANOS_PER_UNIT[array.type.unit]
    step = 10 ** (9 - max(precision, 3)) // unit
    counts = int64_values(array)
    if step > 1:
        counts = counts - counts % step
    if precision < 3:
        coarse = 10 ** (9 - precision) // unit
        counts = np.where(counts < 0, -(-counts // coarse), counts // coarse) * coarse
    return int64_array(counts, array, array.type)


def _timestamp_to_timestamp(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    precision = 6 if target.precision is None else target.precision
    if (6 if source.precision is None else source.precision) > precision:
        array = _truncated(array, precision)
    return conform(array, arrow_type(target))


def _in_unit(array: pa.Array, nanos: int, target: pa.DataType) -> pa.Array:
    """Timestamps as counts of `nanos` nanoseconds, rounded down."""
    have = NANOS_PER_UNIT[array.type.unit]
    return rescale(array, max(have // nanos, 1), max(nanos // have, 1), target)


def _timestamp_to_seconds(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Seconds since the epoch, cut towards zero as Java divides; INT wraps around."""
    per_second = 10**9 // NANOS_PER_UNIT[array.type.unit]
    counts = int64_values(array)
    seconds = np.where(counts < 0, -(-counts // per_second), counts // per_second)
    return with_nulls(pa.array(seconds.astype(_INTEGER_BITS[target.root])), array)


def _timestamp_to_date(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    return _in_unit(array, DAY, pa.int64()).cast(pa.int32()).view(pa.date32())


def _timestamp_to_time(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    millis = int64_values(_in_unit(array, 10**6, pa.int64())) % 86_400_000
    return with_nulls(pa.array(millis.astype(np.int32)), array).view(pa.time32("ms"))


def _seconds_to_timestamp(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    unit = NANOS_PER_UNIT[timestamp_unit(target.precision)]
    return rescale(array.cast(pa.int64()), 10**9 // unit, 1, arrow_type(target))


def _date_to_timestamp(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    unit = NANOS_PER_UNIT[timestamp_unit(target.precision)]
    return rescale(array.view(pa.int32()).cast(pa.int64()), DAY // unit, 1, arrow_type(target))


def _time_to_timestamp(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    unit = NANOS_PER_UNIT[timestamp_unit(target.precision)]
    return rescale(array.view(pa.int32()).cast(pa.int64()), 10**6 // unit, 1, arrow_type(target))


def as_local_times(array: pa.Array, zone: dt.tzinfo) -> pa.Array:
    """Instants as the times that a clock in the zone shows, without a zone and in the same unit."""
    return _moved(array, lambda instant: to_local(instant, zone), pa.timestamp(array.type.unit))


def as_instants(array: pa.Array, source: DataType, zone: dt.tzinfo) -> pa.Array:
    """Local times or dates of a zone as the instants that they are there, as Spark casts them to TIMESTAMP."""
    local = DataType(Root.TIMESTAMP, precision=6)
    first = start_of_day if source.root is Root.DATE else to_instant
    array = array if source.root is Root.TIMESTAMP else cast_array(array, source, local)
    return _moved(array, lambda time: first(time, zone), pa.timestamp(array.type.unit, "UTC"))


def _moved(array: pa.Array, move: Callable[[int], int], target: pa.DataType) -> pa.Array:
    """Timestamps, each moved by a function of nanoseconds, which is asked twice a day unless the clocks change then."""
    nanos = NANOS_PER_UNIT[array.type.unit]
    values = int64_values(pc.fill_null(array, pa.scalar(0).cast(array.type)))
    days, day_of = np.unique(values // (DAY // nanos), return_inverse=True)
    bounds = np.array([[move(int(d + end) * DAY) - int(d + end) * DAY for end in (0, 1)] for d in days]) // nanos
    offsets = bounds[day_of, 0] if len(days) else values
    for row in np.flatnonzero((bounds[:, 0] != bounds[:, 1])[day_of]) if len(days) else ():
        time = int(values[row]) * nanos
        offsets[row] = (move(time) - time) // nanos
    return int64_array(values + offsets, array, target)
