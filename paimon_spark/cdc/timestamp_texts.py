"""Texts of times as timestamps, also with a zone."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.casts import cast_array
from paimon_spark.arrow.text_casts import parse_texts
from paimon_spark.arrow.types import UTC, arrow_type
from paimon_spark.cdc.encodings import TEXT
from paimon_spark.format.types import DataType, Root

_ZONED = r"[0-9]:[0-9]{2}.*(?:Z|z|[+-][0-9]{2}:?[0-9]{2})$"
_DIGITS = {"ms": 3, "us": 6, "ns": 9}


def timestamps_of_texts(texts: pa.Array, target: DataType, zone: str) -> pa.Array:
    """Texts such as ``2026-11-01 12:00:00.5`` or ``2026-11-01T12:00:00Z`` as timestamps.

    Digits alone count units of the precision (Java). A text with a zone is an instant: a TIMESTAMP shows it in UTC.

    Args:
        zone: of texts without one, in a TIMESTAMP_LTZ.

    Raises:
        DataError, pa.ArrowException: a text is none, or such a time does not exist in the zone.
    """
    local = DataType(Root.TIMESTAMP, precision=target.precision)
    zoned = pc.fill_null(pc.match_substring_regex(texts, _ZONED), False)
    if not pc.any(zoned).as_py():
        return _placed(_local(texts, local), target, zone)
    none = pa.scalar(None, pa.string())
    instants = _instants(pc.if_else(zoned, texts, none), local)
    if target.root is Root.TIMESTAMP_LTZ:
        instants = instants.cast(arrow_type(target))
    return pc.coalesce(instants, _placed(_local(pc.if_else(zoned, none, texts), local), target, zone))


def _instants(texts: pa.Array, local: DataType) -> pa.Array:
    """Texts with a zone, as local times of UTC."""
    compact = pc.replace_substring_regex(texts, r"([+-][0-9]{2}):?([0-9]{2})$", r"\1:\2")
    nanos = compact.cast(pa.timestamp("ns", UTC)) if _finest(local) else compact.cast(pa.timestamp("us", UTC))
    plain = nanos.cast(pa.timestamp(nanos.type.unit))
    return cast_array(plain, DataType(Root.TIMESTAMP, precision=_DIGITS[nanos.type.unit]), local)


def _finest(local: DataType) -> bool:
    return (6 if local.precision is None else local.precision) > 6


def _local(texts: pa.Array, local: DataType) -> pa.Array:
    """Texts without a zone; Arrow reads most, Java's rule the others."""
    arrow = arrow_type(local)
    try:
        found = texts.cast(arrow)
    except pa.ArrowInvalid:
        return parse_texts(texts, TEXT, local)
    return cast_array(found, DataType(Root.TIMESTAMP, precision=_DIGITS[arrow.unit]), local)


def _placed(local: pa.Array, target: DataType, zone: str) -> pa.Array:
    if target.root is Root.TIMESTAMP:
        return local
    placed = local if zone == UTC else pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="latest")
    return placed.cast(arrow_type(target)) if zone != UTC else local.cast(arrow_type(target))
