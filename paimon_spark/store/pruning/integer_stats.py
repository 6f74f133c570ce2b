"""A first filter by statistics of many files at once, for comparisons of integer columns.

FileFilter would exclude the same files. This filter works on columns, so that fewer files have to become objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from paimon_spark.arrow.predicates.predicate import Compare, In, Op, Predicate, Value, conjuncts
from paimon_spark.format.manifests.columns import ManifestColumns
from paimon_spark.format.manifests.row_integers import WIDTHS, row_integers
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField, DataType
from paimon_spark.store.metadata.live_files import Indices
from paimon_spark.store.metadata.schemas import SchemaStore

Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_KEY_STATS, _VALUE_STATS = ("_FILE", "_KEY_STATS"), ("_FILE", "_VALUE_STATS")


def leave_out_by_integers(
    columns: ManifestColumns,
    live: Indices,
    predicate: Predicate,
    schema: TableSchema,
    schemas: SchemaStore,
    only_keys: bool,
) -> Indices:
    """The live files that a comparison of an integer column does not exclude.

    Args:
        columns: the entries.
        live: numbers of the entries of live files.
        predicate: the condition of the scan; only comparisons joined by AND are used.
        schema: the schema of the read.
        schemas: finds the schemas that files were written with.
        only_keys: whether only conditions on key columns may exclude files, because values are merged first.
    """
    names = set(schema.trimmed_primary_keys) if only_keys else set(schema.names)
    comparisons = [part for part in conjuncts(predicate) if isinstance(part, Compare | In)]
    tests = [part for part in comparisons if _is_covered(part, schema, names)]
    if not tests or not len(live):
        return live
    numbers, shapes = columns.stats_shapes(live)
    keep: Mask = np.ones(len(live), np.bool_)
    for number, (schema_id, kept) in enumerate(shapes):
        old = schema if schema_id == schema.id else schemas.load(schema_id)
        if only_keys:
            stored: Sequence[DataField | None] = old.key_fields
        else:
            stored = old.fields if kept is None else [old.by_name.get(name) for name in kept]
        of_shape = np.flatnonzero(numbers == number)
        for test in tests:
            field = schema.by_name[test.column[0]]
            place = _place(field, stored)
            if place is not None:
                stats = _KEY_STATS if only_keys else _VALUE_STATS
                keep[of_shape] &= _may_match(columns, stats, live[of_shape], place, field.type, test)
    return live[keep]


def _is_covered(part: Compare | In, schema: TableSchema, names: set[str]) -> bool:
    if len(part.column) > 1 or part.column[0] not in names:
        return False
    fits = all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in _literals(part))
    return fits and schema.by_name[part.column[0]].type.root in WIDTHS


def _place(field: DataField, stored: Sequence[DataField | None]) -> tuple[int, int] | None:
    """(number of fields, index of the column) in the statistics; None if they do not cover the current column."""
    for position, old in enumerate(stored):
        if old is not None and old.id == field.id:
            same = old.type.with_nullable(True) == field.type.with_nullable(True)
            return (len(stored), position) if same else None
    return None


def _may_match(
    columns: ManifestColumns,
    stats: tuple[str, str],
    files: Indices,
    place: tuple[int, int],
    data_type: DataType,
    test: Compare | In,
) -> Mask:
    low, low_known = row_integers(columns, (*stats, "_MIN_VALUES"), files, place, data_type.root)
    high, high_known = row_integers(columns, (*stats, "_MAX_VALUES"), files, place, data_type.root)
    return _overlaps(np.where(low_known, low, _LOWEST), np.where(high_known, high, _HIGHEST), test)


def _overlaps(low: Indices, high: Indices, test: Compare | In) -> Mask:
    """A mask: some value from low to high satisfies the test."""
    if isinstance(test, In):
        values = np.array(test.ascending, np.int64)
        inside: Mask = np.searchsorted(values, low, "left") < np.searchsorted(values, high, "right")
        return inside
    return _compared(low, high, test.op, int(test.value))


def _compared(low: Indices, high: Indices, op: Op, value: int) -> Mask:
    mask: Mask
    match op:
        case Op.EQ | Op.NULL_SAFE_EQ:
            mask = (low <= value) & (value <= high)
        case Op.NE:
            mask = (low != value) | (high != value)
        case Op.LT:
            mask = low < value
        case Op.LE:
            mask = low <= value
        case Op.GT:
            mask = high > value
        case Op.GE:
            mask = high >= value
    return mask


def _literals(test: Compare | In) -> tuple[Value, ...]:
    return test.values if isinstance(test, In) else (test.value,)
