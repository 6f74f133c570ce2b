"""Updates that a merge engine would not apply are errors, not silence."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as sf

from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.options.engines import MergeEngine
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.quoting import quoted
from paimon_spark.merge.engines.rules import aggregates
from paimon_spark.spark.adapters.char_columns import stored_column
from paimon_spark.spark.adapters.errors import raised
from paimon_spark.spark.adapters.types import loses_digits
from paimon_spark.spark.rows.assignments import Assignment
from paimon_spark.spark.rows.changes import DELETE, INSERT, UPDATE
from paimon_spark.store.metadata.table import BucketMode, Table

_GROUP = ".sequence-group"


def update_kind(table: Table, given: Sequence[Assignment], values: Sequence[Column], alias: str) -> Column:
    """The kind +U, or an error of the job for a row that the merge engine would not take as it is.

    Args:
        given: the assignments.
        values: the new values of all columns of the table.
        alias: of the table, whose columns are the old values.
    """
    assigned = {item.field.name for item in given}
    new = dict(zip(table.schema.names, values, strict=True))
    old = {field.name: stored_column(field, alias) for field in table.schema.fields}
    kind = sf.lit(UPDATE)
    fields = table.settings.sequence_field
    if assigned.intersection(fields):
        before, after = _struct(old, fields), _struct(new, fields)
        falls = before < after if table.settings.sequence_sort_order == "descending" else after < before
        kind = _unless(falls, kind, _falls(table, fields))
    groups = sequence_groups(table)
    for keys, members in groups.items():
        if assigned.intersection(keys):
            kind = _unless(_struct(new, keys) < _struct(old, keys), kind, _falls(table, keys))
        for name in sorted(assigned.intersection(members)):
            changes = ~new[name].eqNullSafe(old[name])
            without = functools.reduce(operator.and_, (new[key].isNull() for key in keys))
            kind = _unless(changes & without, kind, _unordered(table, name, keys))
    if table.settings.merge_engine is MergeEngine.PARTIAL_UPDATE:
        grouped = {name for keys, members in groups.items() for name in (*keys, *members)}
        for name in sorted(assigned - grouped | assigned & _keeping(table, groups)):
            text = (
                f"updating {table.location}: the merge engine partial-update keeps the older value of '{name}' where a "
                "written one is NULL, so it cannot be set to NULL; give it another value"
            )
            kind = _unless(new[name].isNull() & old[name].isNotNull(), kind, text)
    for name in sorted(assigned & _fixed_partitions(table)):
        kind = _unless(~new[name].eqNullSafe(old[name]), kind, _moves(table, name))
    return _unless_removing(table, kind, new)


def insert_kind(table: Table, values: Sequence[Column]) -> Column:
    """The kind +I, or an error of the job for a row that would not be added.

    Args:
        values: of all columns of the table.
    """
    return _unless_removing(table, sf.lit(INSERT), dict(zip(table.schema.names, values, strict=True)))


def _unless_removing(table: Table, kind: Column, new: Mapping[str, Column]) -> Column:
    """The kind, unless the column `rowkind.field`, which counts, says that the row is to be removed."""
    name = table.settings.rowkind_field
    if name is None:
        return kind
    text = (
        f"changing rows of {table.location}: the column '{name}' tells what a row does "
        f"('{TableSettings.rowkind_field.key}'), and "
        f"must be {INSERT} or {UPDATE} in a row that is updated or inserted; use DELETE to remove rows"
    )
    return _unless(~sf.coalesce(new[name].isin(INSERT, UPDATE), sf.lit(False)), kind, text)


def delete_kind(table: Table, alias: str) -> Column:
    """The kind -D, or an error of the job for a row that the merge engine would not remove.

    Args:
        alias: of the table, whose columns are the values of the row.
    """
    kind, names = sf.lit(DELETE), table.settings.partial_update_remove_record_on_sequence_group
    if table.settings.merge_engine is not MergeEngine.PARTIAL_UPDATE or not names:
        return kind
    groups = [keys for keys in sequence_groups(table) if set(keys).intersection(names)]
    empty = [sf.col(f"{quoted(alias)}.{quoted(key)}").isNull() for keys in groups for key in keys]
    text = (
        f"deleting rows of {table.location}: {', '.join(names)}, the sequence field of "
        f"'{TableSettings.partial_update_remove_record_on_sequence_group.key}', is NULL in a row, so that the merge "
        "engine would keep it; give the field a value first"
    )
    return _unless(functools.reduce(operator.and_, empty), kind, text) if empty else kind


def check_digits(table: Table, names: Iterable[str], why: str) -> None:
    """Refuses columns with digits that Spark cuts, where the whole values must come back from it.

    Args:
        names: of the columns.
        why: what would go wrong, for the message.

    Raises:
        UnsupportedFeature: a column has times finer than microseconds.
    """
    cut = [name for name in names if loses_digits(table.schema.by_name[name].type)]
    if cut:
        raise UnsupportedFeature(
            f"changing rows of {table.location}: the column '{cut[0]}' has times finer than microseconds, whose last "
            f"digits Spark cuts: {why}; change them with an engine that keeps all digits"
        )


def check_kept_digits(table: Table, given: Sequence[Assignment]) -> None:
    """Refuses an update whose rows would lose digits in columns that it does not assign; errors as of check_digits."""
    assigned = {item.field.name for item in given}
    kept = [name for name in table.schema.names if name not in assigned]
    check_digits(table, kept, "the rows that are updated would lose them")


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


def _fixed_partitions(table: Table) -> set[str]:
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


def _struct(columns: dict[str, Column], names: Sequence[str]) -> Column:
    return sf.struct(*(columns[name] for name in names))


def _unless(wrong: Column, kind: Column, text: str) -> Column:
    return sf.when(wrong, raised(DataError, text).cast("string")).otherwise(kind)


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
