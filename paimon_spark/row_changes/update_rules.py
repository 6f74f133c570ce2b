"""Which updates and deletions a merge engine would not apply as they are: they are errors, not silence.

The rules are data: statements of a session check them by expressions of Spark, others on Arrow (``wrong_rows``).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.format.options.engines import MergeEngine
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.row_kind import KIND_TEXTS
from paimon_spark.merge.aggregates.equality import equality_columns
from paimon_spark.merge.engines.rules import aggregates
from paimon_spark.store.metadata.table import BucketMode, Table

INSERT, BEFORE, UPDATE, DELETE = KIND_TEXTS
INSERTED = (INSERT, UPDATE)
"""The kinds of rows that a column `rowkind.field` may give a row that is updated or inserted."""
_GROUP = ".sequence-group"


class Wrong(Enum):
    """What is wrong with a row, whose columns are ``names``."""

    OLDER = auto()
    """Its new values, compared one after the other with NULL as the smallest, are smaller than the old ones."""
    NEWER = auto()
    """They are larger."""
    UNORDERED = auto()
    """The first column changes, and the new values of all others are NULL."""
    CLEARED = auto()
    """The column has a value and gets NULL."""
    CHANGED = auto()
    """The column gets another value."""
    REMOVES = auto()
    """The new value of the column is none of INSERTED."""
    EMPTY = auto()
    """One of the columns is NULL in the row that is deleted."""


@dataclass(frozen=True)
class RowRule:
    """Rows that a statement must not make.

    Attributes:
        wrong: what is wrong with them.
        names: the columns that tell.
        text: the error.
    """

    wrong: Wrong
    names: tuple[str, ...]
    text: str


def update_rules(table: Table, assigned: Collection[str]) -> list[RowRule]:
    """What must not be true of a row of a table with keys that is updated.

    Args:
        assigned: the columns that get new values.
    """
    found, settings = [], table.settings
    chosen, fields = set(assigned), settings.sequence_field
    if chosen.intersection(fields):
        wrong = Wrong.NEWER if settings.sequence_sort_order == "descending" else Wrong.OLDER
        found.append(RowRule(wrong, tuple(fields), _falls(table, fields)))
    groups = sequence_groups(table)
    for keys, members in groups.items():
        if chosen.intersection(keys):
            found.append(RowRule(Wrong.OLDER, keys, _falls(table, keys)))
        for name in sorted(chosen.intersection(members)):
            found.append(RowRule(Wrong.UNORDERED, (name, *keys), _unordered(table, name, keys)))
    if settings.merge_engine is MergeEngine.PARTIAL_UPDATE:
        grouped = {name for keys, members in groups.items() for name in (*keys, *members)}
        for name in sorted(chosen - grouped | chosen & _keeping(table, groups)):
            found.append(RowRule(Wrong.CLEARED, (name,), _keeps(table, name)))
    found += [RowRule(Wrong.CHANGED, (name,), _moves(table, name)) for name in sorted(chosen & _fixed(table))]
    return [*found, *insert_rules(table)]


def insert_rules(table: Table) -> list[RowRule]:
    """What must not be true of a row that is inserted: the column `rowkind.field`, which counts, removes it."""
    name = table.settings.rowkind_field
    if name is None:
        return []
    text = (
        f"changing rows of {table.location}: the column '{name}' tells what a row does "
        f"('{TableSettings.rowkind_field.key}'), and must be {' or '.join(INSERTED)} in a row that is updated or "
        "inserted; use DELETE to remove rows"
    )
    return [RowRule(Wrong.REMOVES, (name,), text)]


def delete_rules(table: Table) -> list[RowRule]:
    """What must not be true of a row that is deleted by one of kind -D: the merge engine would not remove it."""
    names = table.settings.partial_update_remove_record_on_sequence_group
    if table.settings.merge_engine is not MergeEngine.PARTIAL_UPDATE or not names:
        return []
    groups = [keys for keys in sequence_groups(table) if set(keys).intersection(names)]
    text = (
        f"deleting rows of {table.location}: {', '.join(names)}, the sequence field of "
        f"'{TableSettings.partial_update_remove_record_on_sequence_group.key}', is NULL in a row, so that the merge "
        "engine would keep it; give the field a value first"
    )
    return [RowRule(Wrong.EMPTY, tuple(key for keys in groups for key in keys), text)] if groups else []


def sequence_groups(table: Table) -> dict[tuple[str, ...], tuple[str, ...]]:
    """The sequence groups of partial-update: the columns that order them, and their members."""
    found = {}
    for key, value in table.settings.items():
        if key.startswith("fields.") and key.endswith(_GROUP):
            names = key.removeprefix("fields.").removesuffix(_GROUP)
            found[tuple(n.strip() for n in names.split(","))] = tuple(n.strip() for n in value.split(","))
    return found


def _keeping(table: Table, groups: Mapping[tuple[str, ...], tuple[str, ...]]) -> set[str]:
    """The members of sequence groups whose aggregate function keeps the older value where a written one is NULL."""
    members = [name for names in groups.values() for name in names]
    functions = aggregates(table.schema, table.settings, members, None)
    return {name for name, function in functions.items() if function.name == "last_non_null_value"}


def _fixed(table: Table) -> set[str]:
    """The partition columns that the key leaves out, if a row with another value does not replace the stored one.

    Only a table whose keys are unique in all partitions moves a key, if its engine keeps the last row (features 5.2).
    """
    is_global = table.bucket_mode is BucketMode.KEY_DYNAMIC
    if is_global and table.settings.merge_engine is MergeEngine.DEDUPLICATE:
        return set()
    return set(table.schema.partition_keys) - set(table.schema.primary_keys)


def _moves(table: Table, name: str) -> str:
    if table.bucket_mode is BucketMode.KEY_DYNAMIC:
        why = "the merge engine keeps a key in the partition where it is"
    else:
        why = "the table would then have the row twice, because the key is unique only within each partition"
    return (
        f"updating {table.location}: a row would move to another partition, because '{name}' is a partition column "
        f"that the primary key ({', '.join(table.schema.primary_keys)}) leaves out and gets another value: {why}; "
        f"delete the row, then insert it with the new '{name}'"
    )


def _keeps(table: Table, name: str) -> str:
    return (
        f"updating {table.location}: the merge engine partial-update keeps the older value of '{name}' where a "
        "written one is NULL, so it cannot be set to NULL; give it another value"
    )


def _unordered(table: Table, name: str, keys: Sequence[str]) -> str:
    return (
        f"updating {table.location}: the sequence field {', '.join(keys)} of the group of '{name}' is NULL, so that "
        "the merge engine would keep the stored value; give the sequence field a value too"
    )


def _falls(table: Table, fields: Sequence[str]) -> str:
    return (
        f"updating {table.location}: the new value of the sequence field {', '.join(fields)} is older than the stored "
        "one, so that the stored row would win; give it a newer value, or leave it as it is"
    )


# ------------------------------------------------------------------------------------------------------------- on Arrow


def wrong_rows(rule: RowRule, old: pa.RecordBatch | None, new: pa.RecordBatch | None) -> npt.NDArray[np.bool_]:
    """Which rows break a rule. Values are ordered as the merge engine orders them.

    Args:
        old: the rows as the table has them; None: they are new.
        new: the rows as they become, one for each of old; None: they are deleted.
    """
    match rule.wrong:
        case Wrong.OLDER:
            return _Compared.of(rule.names, _given(new), _given(old)).smaller
        case Wrong.NEWER:
            return _Compared.of(rule.names, _given(old), _given(new)).smaller
        case Wrong.UNORDERED:
            name, *keys = rule.names
            unordered = functools.reduce(operator.and_, (_nulls(_given(new), key) for key in keys))
            return ~_Compared.of([name], _given(old), _given(new)).same & unordered
        case Wrong.CLEARED:
            return _nulls(_given(new), rule.names[0]) & ~_nulls(_given(old), rule.names[0])
        case Wrong.CHANGED:
            return ~_Compared.of(rule.names, _given(old), _given(new)).same
        case Wrong.REMOVES:
            allowed = pc.is_in(_given(new).column(rule.names[0]), pa.array(INSERTED, pa.string()))
            return _mask(pc.invert(allowed))
        case Wrong.EMPTY:
            return functools.reduce(operator.or_, (_nulls(_given(old), name) for name in rule.names))


@dataclass(frozen=True)
class _Compared:
    """How the rows of two batches compare, column after column; NULL is the smallest value, and equal to NULL."""

    smaller: npt.NDArray[np.bool_]
    same: npt.NDArray[np.bool_]

    @staticmethod
    def of(names: Sequence[str], left: pa.RecordBatch, right: pa.RecordBatch) -> _Compared:
        count = left.num_rows
        smaller, same = np.zeros(count, np.bool_), np.ones(count, np.bool_)
        for name in names:
            both = pa.concat_arrays([left.column(name), right.column(name)])
            for values in equality_columns(both, name):
                smaller |= same & (values[:count] < values[count:])
                same &= values[:count] == values[count:]
        return _Compared(smaller, same)


def _nulls(rows: pa.RecordBatch, name: str) -> npt.NDArray[np.bool_]:
    return _mask(rows.column(name).is_null())


def _mask(values: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = values.to_numpy(zero_copy_only=False)
    return found


def _given(rows: pa.RecordBatch | None) -> pa.RecordBatch:
    assert rows is not None, "a rule on rows that the statement does not have"
    return rows
