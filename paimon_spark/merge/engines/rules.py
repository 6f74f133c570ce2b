"""Checks the options of a merge engine, and reads the sequence groups they define (features 3.24, 5.1).

Java: SchemaValidation, PartialUpdateMergeFunction.Factory, FieldAggregatorFactory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from paimon_spark.errors import OptionError
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.value_texts import parse_list
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import BINARIES, FLOATS, INTEGERS, STRINGS, TIMESTAMPS, Root
from paimon_spark.merge.aggregates.frame import FieldOptions
from paimon_spark.merge.aggregates.registry import ColumnAggregate, aggregate_for
from paimon_spark.merge.engines.sequence_groups import SequenceGroup

_FIELDS, _GROUP = "fields.", ".sequence-group"
_ORDERED = INTEGERS | FLOATS | STRINGS | BINARIES | TIMESTAMPS | {Root.BOOLEAN, Root.DECIMAL, Root.DATE, Root.TIME}


def sequence_groups(schema: TableSchema, settings: TableSettings) -> tuple[SequenceGroup, ...]:
    """The sequence groups of a partial-update table, in the order of the names of their options.

    Raises:
        OptionError: a column does not exist, is in the primary key, is in two groups, or has no order.
    """
    groups, owner = [], dict[str, str]()
    keys = sorted(key for key in settings if key.startswith(_FIELDS) and key.endswith(_GROUP))
    sequences = {key: parse_list(key[len(_FIELDS) : -len(_GROUP)]) for key in keys}
    for key, names in sequences.items():
        for name in names:
            _check_sequence_column(schema, key, name)
            _claim(owner, name, key)
    for key, names in sequences.items():
        members = tuple(name for name in parse_list(settings[key]) if name not in names)
        for name in members:
            _check_member(schema, key, name)
            _claim(owner, name, key)
        groups.append(SequenceGroup(names, members))
    return tuple(groups)


def aggregates(
    schema: TableSchema, settings: TableSettings, names: Iterable[str], default: str | None
) -> dict[str, ColumnAggregate]:
    """The functions of some columns: the column's own, else that for all columns, else the default.

    Args:
        schema: the columns of the table.
        settings: the options of the table.
        names: the columns.
        default: the function of columns that no option covers; None: they have no function, and are left out.

    Raises:
        OptionError, UnsupportedFeature: a function does not exist, or does not fit its column.
    """
    general = settings.default_aggregate_function or default
    found = {}
    for name in names:
        function = settings.column(name).aggregate_function or general
        if function is not None:
            found[name] = aggregate_for(name, function, schema.by_name[name].type, field_options(settings, name))
    return found


def field_options(settings: TableSettings, column: str) -> FieldOptions:
    """The options of one column.

    Raises:
        OptionError: a value does not parse; the message names its key.
    """
    own = settings.column(column)
    return FieldOptions(
        ignore_retract=own.ignore_retract,
        delimiter=own.delimiter,
        distinct=own.distinct,
        nested_key=own.nested_key,
        nested_sequence=own.nested_sequence,
        nested_key_null=own.nested_key_null,
        count_limit=own.count_limit,
        ts_field=own.ts_field,
    )


def check_aggregation(functions: Mapping[str, ColumnAggregate], settings: TableSettings) -> None:
    """Checks that no options of merge-engine=aggregation contradict each other.

    Raises:
        OptionError: two options do; the message names both.
    """
    if not settings.aggregation_remove_record_on_delete:
        return
    for name, function in functions.items():
        if function.options.ignore_retract:
            raise _conflict(TableSettings.aggregation_remove_record_on_delete.key, f"fields.{name}.ignore-retract")


def check_partial_update(schema: TableSchema, groups: Iterable[SequenceGroup], settings: TableSettings) -> None:
    """Checks that no options of merge-engine=partial-update contradict each other.

    Raises:
        OptionError: two options do; the message names both.
    """
    on_delete = TableSettings.partial_update_remove_record_on_delete
    on_group = TableSettings.partial_update_remove_record_on_sequence_group
    groups = tuple(groups)
    sequence_columns = [name for group in groups for name in group.sequence]
    grouped = {name for group in groups for name in group.members}
    if settings.partial_update_remove_record_on_delete:
        if settings.ignore_delete:
            raise _conflict(on_delete.key, TableSettings.ignore_delete.key)
        if groups:
            raise _conflict(on_delete.key, f"{_FIELDS}{','.join(groups[0].sequence)}{_GROUP}")
    if settings.is_set(on_group):
        if settings.ignore_delete:
            raise _conflict(on_group.key, TableSettings.ignore_delete.key)
        for name in settings.partial_update_remove_record_on_sequence_group:
            if name not in sequence_columns:
                raise OptionError(
                    f"the option '{on_group.key}' names '{name}', which is no sequence column of a sequence group; "
                    f"those are: {', '.join(sequence_columns) or 'none'}"
                )
    for name in schema.names:
        if name in grouped or name in sequence_columns or name in schema.primary_keys:
            continue
        function = settings.column(name).aggregate_function or settings.default_aggregate_function
        if function not in (None, "last_non_null_value"):
            raise OptionError(
                f"column '{name}' has the aggregate function '{function}', which with merge-engine=partial-update "
                "needs a sequence group: add the column to an option 'fields.<column>.sequence-group'"
            )


def _check_sequence_column(schema: TableSchema, key: str, name: str) -> None:
    _check_member(schema, key, name)
    data_type = schema.by_name[name].type
    if data_type.root not in _ORDERED:
        raise OptionError(
            f"the option '{key}' orders rows by column '{name}' of type {type_sql(data_type)}, which has no order; use "
            "a number, text, bytes, date or time"
        )


def _check_member(schema: TableSchema, key: str, name: str) -> None:
    if name not in schema.by_name:
        raise OptionError(f"the option '{key}' names '{name}', but the columns are {', '.join(schema.names)}")
    if name in schema.primary_keys:
        raise OptionError(f"the option '{key}' names '{name}', a primary key column; these cannot be in a group")


def _claim(owner: dict[str, str], name: str, key: str) -> None:
    """Records that a column is in the group of an option; raises OptionError if it is already in another group."""
    if owner.setdefault(name, key) != key:
        raise OptionError(f"column '{name}' is in two sequence groups: '{owner[name]}' and '{key}'; leave it in one")


def _conflict(one: str, other: str) -> OptionError:
    return OptionError(f"the options '{one}' and '{other}' contradict each other; remove one of them")
