"""The merge engine of a table, from its options (Java: PrimaryKeyTableUtils.createMergeFunctionFactory).

An engine and its aggregate functions are imported only for a table that uses them: most tables do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from paimon_spark.errors import OptionError
from paimon_spark.format.options.engines import MergeEngine
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema

if TYPE_CHECKING:
    from paimon_spark.merge.engines.aggregation import Aggregation
    from paimon_spark.merge.engines.partial_update import PartialUpdate
    from paimon_spark.merge.keys.window import Engine, Refusal

Columns: TypeAlias = Callable[[Sequence[str]], tuple[str, ...]]
"""(output columns) -> the columns that are read only to merge them."""
LeftAlone: TypeAlias = Callable[[Set[str]], frozenset[str]]
"""(columns that a row has null in) -> those whose stored value stays nevertheless."""


@dataclass(frozen=True)
class TableEngine:
    """The merge engine of one table; picklable.

    Attributes:
        merge: the engine function for ``merge_runs`` and ``sort_and_merge``.
        columns: returns the further columns that the merge of some columns needs, without keys and ``sequence.field``.
        left_alone: returns which of some columns a row does not change if it has null in all of them.
        refused: rows that no merge takes, of those that the table does not drop.
    """

    kind: MergeEngine
    merge: Engine
    columns: Columns
    left_alone: LeftAlone
    refused: tuple[Refusal, ...] = ()


def check_engine(schema: TableSchema, settings: TableSettings) -> None:
    """Checks that the options of a table with a primary key make a valid engine.

    Raises:
        OptionError: an option has a bad value, does not fit the columns, or contradicts another.
        UnsupportedFeature: an aggregate function that this release does not have.
    """
    if settings.merge_engine.has_functions:  # the others have no rules of their own
        engine_for(schema, settings)


def engine_for(schema: TableSchema, settings: TableSettings) -> TableEngine:
    """The engine of a table with a primary key.

    Args:
        schema: the columns and keys of the table.
        settings: the options of the table, with those of the call on top.

    Raises:
        OptionError: an option has a bad value, does not fit the columns, or contradicts another.
        UnsupportedFeature: an aggregate function that this release does not have.
    """
    kind = settings.merge_engine
    if kind == MergeEngine.PARTIAL_UPDATE:
        update = _partial_update(schema, settings)
        return TableEngine(kind, update, update.columns, update.left_alone, update.refused)
    if kind == MergeEngine.AGGREGATION:
        aggregation = _aggregation(schema, settings)
        return TableEngine(kind, aggregation, _no_columns, aggregation.left_alone, aggregation.refused)
    if kind == MergeEngine.FIRST_ROW:
        from paimon_spark.merge.engines.first_row import REFUSED, first_row

        return TableEngine(kind, first_row, _no_columns, _none_left_alone, REFUSED)
    return deduplicate_engine()


def deduplicate_engine() -> TableEngine:
    """The engine that keeps the newest row of each key as it is."""
    from paimon_spark.merge.engines.deduplicate import deduplicate

    return TableEngine(MergeEngine.DEDUPLICATE, deduplicate, _no_columns, _none_left_alone)


def _aggregation(schema: TableSchema, settings: TableSettings) -> Aggregation:
    from paimon_spark.merge.aggregates.registry import aggregate_for
    from paimon_spark.merge.engines.aggregation import Aggregation
    from paimon_spark.merge.engines.rules import aggregates, check_aggregation, field_options

    sequence = [name for name in settings.sequence_field if name not in schema.primary_keys]
    names = [name for name in schema.names if name not in schema.primary_keys and name not in sequence]
    functions = aggregates(schema, settings, names, "last_non_null_value")
    lacking = [name for name in sequence if name not in schema.by_name]
    if lacking:
        raise OptionError(
            f"'sequence.field' names {', '.join(lacking)}, and the columns are {', '.join(schema.names)}; "
            "name columns of the table"
        )
    for name in sequence:  # regardless of options
        functions[name] = aggregate_for(name, "last_value", schema.by_name[name].type, field_options(settings, name))
    check_aggregation(functions, settings)
    return Aggregation(functions, settings.aggregation_remove_record_on_delete)


def _partial_update(schema: TableSchema, settings: TableSettings) -> PartialUpdate:
    from paimon_spark.merge.engines.partial_update import PartialUpdate
    from paimon_spark.merge.engines.rules import aggregates, check_partial_update, sequence_groups

    groups = sequence_groups(schema, settings)
    check_partial_update(schema, groups, settings)
    removing = settings.partial_update_remove_record_on_sequence_group
    values = [name for name in schema.names if name not in schema.primary_keys]
    return PartialUpdate(
        values=frozenset(values),
        required=frozenset(name for name in values if not schema.by_name[name].type.nullable),
        groups=groups,
        functions=aggregates(schema, settings, [name for group in groups for name in group.members], None),
        ignore_delete=settings.ignore_delete,
        remove_on_delete=settings.partial_update_remove_record_on_delete,
        remove_on_groups=tuple(group for group in groups if not set(group.sequence).isdisjoint(removing)),
    )


def _no_columns(output: Sequence[str]) -> tuple[str, ...]:
    return ()


def _none_left_alone(absent: Set[str]) -> frozenset[str]:
    return frozenset()
