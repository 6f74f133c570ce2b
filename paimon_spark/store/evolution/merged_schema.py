"""The changes that make the columns of rows fit a table (features 2.4; Java: SchemaMergingUtils).

Columns are added, at any depth, and types become wider where that is asked for. None is taken away, moved or renamed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from paimon_spark.errors import SchemaError
from paimon_spark.format.rules.missing_columns import Merging
from paimon_spark.format.rules.type_casts import may_cast
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import TIMESTAMPS, DataField, DataType, Root
from paimon_spark.store.evolution.changes import AddColumn, Path, SchemaChange, UpdateType, dotted


def merge_changes(have: Sequence[DataField], rows: Sequence[DataField], merging: Merging) -> tuple[SchemaChange, ...]:
    """The changes that a table needs for rows.

    Args:
        have: the columns of the table.
        rows: those of the rows; their ids do not count.

    Raises:
        SchemaError: a type cannot become the one of the rows.
    """
    return tuple(_fields(have, rows, (), merging))


def _fields(
    have: Sequence[DataField], rows: Sequence[DataField], parent: Path, merging: Merging
) -> Iterator[SchemaChange]:
    given = _by_name(rows, merging)
    for own in have:
        found = given(own.name)
        if found is not None:
            yield from _types(own.type, found.type, (*parent, own.name), merging)
    known = _by_name(have, merging)
    for field in rows:
        if known(field.name) is None:
            yield AddColumn((*parent, field.name), field.type.with_nullable(True), field.description)


def _by_name(fields: Sequence[DataField], merging: Merging) -> Callable[[str], DataField | None]:
    exact = {field.name: field for field in fields}
    if merging.case_sensitive:
        return exact.get
    folded = {field.name.lower(): field for field in reversed(fields)}
    return lambda name: exact.get(name) or folded.get(name.lower())


def _types(own: DataType, given: DataType, path: Path, merging: Merging) -> Iterator[SchemaChange]:
    if own.root is given.root and own.root is Root.ROW:
        yield from _fields(own.fields, given.fields, path, merging)
    elif own.root is given.root and own.root in (Root.ARRAY, Root.MAP):
        inner = "element" if own.root is Root.ARRAY else "value"
        yield from _types(own.inner, given.inner, (*path, inner), merging)
    elif merging.type_widening:
        wide = _widened(own.with_nullable(True), given.with_nullable(True), path, merging.explicit_cast)
        if wide != own.with_nullable(True):
            yield UpdateType(path, wide)


def _widened(own: DataType, given: DataType, path: Path, explicit: bool) -> DataType:
    """The type for values of both; the one of the table where the values of the rows fit that without loss."""
    if own == given:
        return own
    if own.root is given.root is Root.DECIMAL:
        return _wider_decimal(own, given, path)
    if may_cast(own, given, explicit) and (explicit or _size(own) <= _size(given)):
        return given
    if may_cast(given, own, allow_explicit=False) and (own.root in TIMESTAMPS or given.root not in TIMESTAMPS):
        return own  # but a DATE or TIME has no place for all of a timestamp
    hint = ""
    if may_cast(own, given, allow_explicit=True):
        hint = "; it may lose information, which 'write.merge-schema.explicit-cast' = 'true' allows"
    raise SchemaError(
        f"column '{dotted(path)}' is {type_sql(own)} and cannot become {type_sql(given)}, the type of the rows{hint}"
    )


def _size(data_type: DataType) -> int:
    """The length or precision, which types of one kind may differ in."""
    return data_type.length or (data_type.precision or 0 if data_type.root is not Root.DECIMAL else 0)


def _wider_decimal(own: DataType, given: DataType, path: Path) -> DataType:
    scales, digits = (own.scale or 0, given.scale or 0), (own.precision or 10, given.precision or 10)
    if scales[0] == scales[1]:
        return replace(own, precision=max(digits))
    if scales[0] > scales[1] and digits[0] - scales[0] >= digits[1] - scales[1]:
        return own
    raise SchemaError(
        f"column '{dotted(path)}' is {type_sql(own)} and cannot become {type_sql(given)}, the type of the rows: the "
        "scales of decimals do not change; cast it first"
    )
