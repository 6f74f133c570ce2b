"""Extracts a time from the values of a partition (features 3.15; Java: PartitionTimeExtractor)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.java.time_pattern import DEFAULT_PATTERN, time_pattern
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.upkeep_settings import PartitionSettings
from paimon_spark.format.paths import partition_text
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import BINARIES, DataField


def partition_times(schema: TableSchema, settings: TableSettings) -> Callable[[bytes], int]:
    """A function from a partition row to its local time, in nanoseconds since 1970-01-01 00:00.

    The text of the first partition column, or `partition.timestamp-pattern` with each ``$column`` replaced by its text,
    is parsed by `partition.timestamp-formatter`. The text of a DATE is its day number, which is not a time.

    Args:
        schema: the schema of a table with partition columns.
        settings: the options of the table.

    Returns:
        The function; it raises ValueError for a partition without a time, for example with a null.

    Raises:
        OptionError: the formatter cannot be read.
    """
    fields = schema.partition_fields
    types = [field.type for field in fields]
    pattern = settings.partitions.timestamp_pattern
    formatter = settings.partitions.timestamp_formatter
    times = DEFAULT_PATTERN if formatter is None else time_pattern(formatter, PartitionSettings.timestamp_formatter.key)

    def nanos(row: bytes) -> int:
        return times.parse(_text(decode_arity_row(row, types), fields, pattern))

    return nanos


def nanos_before(now: datetime, millis: int) -> int:
    """The local time that is millis milliseconds before now, in nanoseconds since 1970-01-01 00:00."""
    return (now - datetime(1970, 1, 1)) // timedelta(microseconds=1) * 1_000 - millis * 1_000_000


def partitions_to_skip(schema: TableSchema, settings: TableSettings, now: datetime) -> Callable[[bytes], bool]:
    """A function that returns whether a compaction skips a partition (`compaction.skip-expired-partitions`).

    With the option set, these are the partitions that expire by their values (see expired_by_values).

    Raises:
        OptionError: the formatter cannot be read.
    """
    if settings.compaction.skip_expired_partitions:
        return expired_by_values(schema, settings, now)
    return lambda row: False


def expired_by_values(schema: TableSchema, settings: TableSettings, now: datetime) -> Callable[[bytes], bool]:
    """A function that returns whether a partition is expired at a local time; always False without `values-time`.

    Raises:
        OptionError: the formatter cannot be read.
    """
    lifetime = settings.partitions.expiration_time
    by_values = settings.partitions.expiration_strategy == "values-time"
    if lifetime is None or not by_values or not schema.partition_keys:
        return lambda row: False
    times, limit = partition_times(schema, settings), nanos_before(now, lifetime)

    def is_too_old(row: bytes) -> bool:
        try:
            return times(row) < limit
        except ValueError:  # it has no time, and never expires
            return False

    return is_too_old


def check_of_partitions(schema: TableSchema, settings: TableSettings) -> Callable[[bytes], object] | None:
    """The check of new partitions under `partition.timestamp-format.strict`; None if the option is not set.

    The function raises ValueError if the values are not a time by the other options `partition.timestamp-*`.

    Raises:
        OptionError: the formatter cannot be read.
    """
    wanted = (PartitionSettings.timestamp_formatter, PartitionSettings.timestamp_pattern)
    if not settings.partitions.timestamp_format_strict or all(x.read(settings) is None for x in wanted):
        return None
    return partition_times(schema, settings) if schema.partition_keys else None


def _text(values: Sequence[Any], fields: Sequence[DataField], pattern: str | None) -> str:
    if pattern is None:
        return _value_text(values[0], fields[0])
    text = pattern
    for value, field in zip(values, fields, strict=True):
        if value is None:  # in any column, even if the pattern does not use it
            raise ValueError(f"{field.name} is null")
        if f"${field.name}" in text:
            text = text.replace(f"${field.name}", _value_text(value, field))
    return text


def _value_text(value: Any, field: DataField) -> str:
    if value is None or field.type.root in BINARIES:
        raise ValueError(f"{field.name} is {'null' if value is None else 'of bytes'}")
    return partition_text(value, field.type, legacy=True)
