"""Changes of a column's type, and of whether it may hold NULL (Java: SchemaManager, UpdateColumnType)."""

from __future__ import annotations

import pyarrow as pa

from paimon_spark.arrow.casts import cast_array
from paimon_spark.arrow.types import arrow_type
from paimon_spark.errors import SchemaError, UnsupportedFeature
from paimon_spark.format.options.table_settings import SchemaChangeSettings
from paimon_spark.format.rules.supported import holds_blobs
from paimon_spark.format.rules.type_casts import may_cast
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import MAX_LENGTH, NESTED, STRINGS, TIMESTAMPS, DataType, Root

_NOT_NULL = SchemaChangeSettings.null_to_not_null_disabled.key
_EXPLICIT = SchemaChangeSettings.explicit_casting_disabled.key
_TIMES = TIMESTAMPS | {Root.DATE, Root.TIME}
_LONG_TEXT = DataType(Root.VARCHAR, length=MAX_LENGTH)


def changed_type(
    name: str, source: DataType, target: DataType, keep_nullable: bool, allow_explicit: bool, allow_not_null: bool
) -> DataType:
    """The type that a column has after a change.

    Args:
        name: of the column, for messages.
        source: its type.
        target: what is asked for.
        keep_nullable: whether it may hold NULL stays as it is.
        allow_explicit: also changes that may lose information.
        allow_not_null: a column that may hold NULL may be made NOT NULL.

    Raises:
        SchemaError: no rule lets the one type become the other.
        UnsupportedFeature: of nested types, or blobs.
    """
    if keep_nullable:
        target = target.with_nullable(source.nullable)
    else:
        changed_nullable(name, source, target.nullable, allow_not_null)
    if source.with_nullable(True) == target.with_nullable(True):
        return target
    have, want = type_sql(source.with_nullable(True)), type_sql(target.with_nullable(True))
    if holds_blobs(source) or holds_blobs(target):
        raise UnsupportedFeature(f"column '{name}' cannot change from {have} to {want}: BLOB columns keep their type")
    if source.root in NESTED or target.root in NESTED:
        raise UnsupportedFeature(
            f"column '{name}' cannot change from {have} to {want} as a whole; change what is in it, by the path of a "
            "field, of '.element' or '.value'"
        )
    if not may_cast(source, target, allow_explicit):
        hint = ""
        if may_cast(source, target, allow_explicit=True):
            hint = f"; it may lose information, which the table option '{_EXPLICIT}' = 'false' allows"
        raise SchemaError(f"column '{name}' cannot change from {have} to {want}{hint}")
    _check_cast(name, source, target)
    return target


def changed_nullable(name: str, source: DataType, nullable: bool, allow_not_null: bool) -> DataType:
    """The type that may hold NULL or may not.

    Raises:
        SchemaError: it may hold NULL now, and the table does not let that change.
    """
    if source.nullable and not nullable and not allow_not_null:
        raise SchemaError(
            f"column '{name}' may hold NULL, and rows may have it; the table option '{_NOT_NULL}' = 'false' "
            "allows to make it NOT NULL, if it has none"
        )
    return source.with_nullable(nullable)


def _check_cast(name: str, source: DataType, target: DataType) -> None:
    """Rows that are there are cast when they are read (Java: CastExecutors.resolve)."""
    try:
        if source.root in _TIMES and target.root in STRINGS and target != _LONG_TEXT:
            raise UnsupportedFeature("times are cast to STRING alone, and only where it may be NULL")
        cast_array(pa.nulls(0, arrow_type(source)), source, target)
    except UnsupportedFeature:
        raise SchemaError(
            f"column '{name}' cannot change from {type_sql(source.with_nullable(True))} to "
            f"{type_sql(target.with_nullable(True))}: there is no cast for the rows that the table has"
        ) from None
