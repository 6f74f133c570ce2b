"""Rows that compaction drops because of their age (``record-level.*``; features 5.2; Java: RecordLevelExpire).

One column gives the age of a row: INT in seconds; BIGINT in seconds, or in milliseconds from 10^12 on; TIMESTAMP in
whole seconds. Rows without a time stay. Each row is checked before the merge. This includes the rows that lookup finds
above, except in first-row tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_spark.arrow import kernels as pc
from paimon_spark.errors import CorruptFile, OptionError
from paimon_spark.format.binary_row import row_decoder
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import INTEGERS, TIMESTAMPS, DataField, Root

_FIRST_MILLIS = 10**12
_PER_MILLI = {"ms": 1, "us": 10**3, "ns": 10**6}
_INT64_MAX = 2**63 - 1


@dataclass(frozen=True)
class RecordExpiry:
    """The column of the current schema with the time of a row, and the lifetime of rows in seconds."""

    field: DataField
    lifetime: int


def record_expiry(schema: TableSchema, settings: TableSettings) -> RecordExpiry | None:
    """The row expiry of a table; None if its rows do not expire.

    Args:
        schema: the schema of the compaction.
        settings: the options of the table, with those of the call on top.

    Raises:
        OptionError: no time column is named, or it is missing or of an unsupported type.
    """
    millis = settings.record_level_expire_time
    if millis is None:
        return None
    name = settings.record_level_time_field
    if name is None:
        raise OptionError(
            "'record-level.expire-time' is set, but no column tells the time of a row; set 'record-level.time-field' "
            "to an INT, BIGINT or TIMESTAMP column"
        )
    field = schema.by_name.get(name)
    if field is None:
        raise OptionError(f"'record-level.time-field' is '{name}', but the columns are {', '.join(schema.names)}")
    if field.type.root not in (Root.INT, Root.BIGINT, *TIMESTAMPS):
        raise OptionError(
            f"'record-level.time-field' is '{name}' of the type {type_sql(field.type)}; name an INT, BIGINT or "
            "TIMESTAMP column"
        )
    return RecordExpiry(field, millis // 1000)


def unexpired(times: pa.Array, expiry: RecordExpiry, now: int) -> pa.BooleanArray:
    """True for the rows that stay: those not older than the lifetime, and those without a time.

    Args:
        times: the time column, in the Arrow type of its field.
        now: seconds since the epoch.
    """
    oldest = now - expiry.lifetime
    if pa.types.is_timestamp(times.type):
        stays = _at_least(times.cast(pa.int64()), _first_milli(oldest) * _PER_MILLI[times.type.unit])
    elif expiry.field.type.root is Root.BIGINT:
        in_seconds, in_millis = _at_least(times, oldest), _at_least(times, oldest * 1000)
        stays = pc.if_else(_at_least(times, _FIRST_MILLIS), in_millis, in_seconds)
    else:
        stays = _at_least(times.cast(pa.int64()), oldest)
    return pc.fill_null(stays, True)


def expired_files(
    expiry: RecordExpiry, now: int, fields_of: Callable[[int], Sequence[DataField]]
) -> Callable[[DataFileMeta], bool]:
    """A function that returns whether a file holds expired rows, by the minimum of the time column.

    Without statistics of that column, or if its kind of type has changed since, it returns False: no file is rewritten
    on suspicion. Its rows expire when the file is compacted for another reason.

    Args:
        expiry: the row expiry of the table.
        now: seconds since the epoch.
        fields_of: returns the columns of the schema of an id.
    """
    minima: dict[tuple[int, tuple[str, ...] | None], Callable[[DataFileMeta], int | None]] = {}

    def is_expired(file: DataFileMeta) -> bool:
        columns = file.write_cols if file.value_stats_cols is None else file.value_stats_cols
        shape = (file.schema_id, columns)
        if shape not in minima:
            minima[shape] = _minimum_of(expiry.field, fields_of(file.schema_id), columns)
        oldest = minima[shape](file)
        return oldest is not None and now - expiry.lifetime > oldest

    return is_expired


def _minimum_of(
    field: DataField, fields: Sequence[DataField], columns: tuple[str, ...] | None
) -> Callable[[DataFileMeta], int | None]:
    """A function that returns the oldest time of a file in seconds, None if it is unknown.

    Args:
        field: the time column in the current schema.
        fields: the columns of the schema the file was written with.
        columns: those that have statistics; None: all.
    """
    by_name = {f.name: f for f in fields}
    stored = list(fields) if columns is None else [by_name[name] for name in columns if name in by_name]
    position = next((i for i, f in enumerate(stored) if f.id == field.id and _same_clock(f, field)), None)
    if position is None or (columns is not None and len(stored) != len(columns)):
        return lambda _: None
    then = stored[position]
    decode = row_decoder([f.type for f in stored], [position])
    arity = len(stored).to_bytes(4, "big")

    def find(file: DataFileMeta) -> int | None:
        minimum = file.value_stats.min_values
        if minimum[:4] != arity:
            return None
        try:
            (value,) = decode(minimum[4:])
        except CorruptFile as error:
            raise CorruptFile(f"reading the statistics of the data file {file.file_name}: {error}") from None
        return None if value is None else _seconds(value, then.type.root)

    return find


def _same_clock(one: DataField, other: DataField) -> bool:
    """True if values of both types count the same: integers of any width, or timestamps of any precision."""
    roots = {one.type.root, other.type.root}
    return roots <= INTEGERS or len(roots) == 1


def _seconds(value: int, root: Root) -> int:
    """Whole seconds of an internal value; before 1970 towards 1970, as Java divides."""
    if root in TIMESTAMPS:
        millis = value // 10**6
        return millis // 1000 if millis >= 0 else -(-millis // 1000)
    return value // 1000 if root is Root.BIGINT and value >= _FIRST_MILLIS else value


def _first_milli(second: int) -> int:
    """The first millisecond that counts as this second or a later one (see ``_seconds``)."""
    return second * 1000 if second > 0 else (second - 1) * 1000 + 1


def _at_least(values: pa.Array, low: int) -> pa.BooleanArray:
    if low > _INT64_MAX:
        return pc.if_else(pc.is_valid(values), False, pa.scalar(None, pa.bool_()))
    return pc.greater_equal(values, pa.scalar(max(low, -_INT64_MAX - 1), pa.int64()))
