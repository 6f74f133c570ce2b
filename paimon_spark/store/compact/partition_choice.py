"""Partitions that a call names by their values: ``dt=2026-11-01,hour=10;dt=2026-11-02,hour=0`` (features 7).

Java: SparkProcedureUtils.convertPartitionsToPartitionPredicate, ParameterUtils.getPartitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC
from typing import Any, TypeAlias

from paimon_spark.arrow.predicates.literals import cast_literal, literal_of
from paimon_spark.arrow.predicates.predicate import Compare, IsNull, Op, Predicate, and_, or_
from paimon_spark.errors import OptionError, PredicateError
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.table import Table

Partitions: TypeAlias = str | Iterable[Mapping[str, Any]]
"""Values of partition columns; as text ``dt=2026-11-01,hour=10;dt=2026-11-02,hour=0``."""

_QUOTES = ("'", '"')


def partition_specs(partitions: Partitions) -> list[Mapping[str, Any]]:
    """Each partition as a mapping from column to value.

    Raises:
        OptionError: a part of the text is not a list of column=value.
    """
    if not isinstance(partitions, str):
        return list(partitions)
    specs: list[Mapping[str, Any]] = []
    for text in partitions.split(";"):
        pairs = [pair.split("=", 1) for pair in text.split(",") if pair.strip()]
        if not pairs or any(len(pair) != 2 for pair in pairs):
            raise OptionError(f"'{text}' names no partition: expected column=value, such as dt=2026-11-01,hour=10")
        specs.append({key.strip(): value.strip() for key, value in pairs})
    return specs


def chosen_partitions(
    table: Table, where: str | Predicate | None, partitions: Partitions | None
) -> str | Predicate | None:
    """The condition of a call that takes a condition on partition columns, or the values of partitions.

    Args:
        table: the table.
        where: a condition, which is returned as it is; or None.
        partitions: values of some or all partition columns, or None. In a text, values may stand in quotes. The
            value of the option `partition.default-name` means null. Instants without a zone are in UTC, as in the
            names of directories.

    Raises:
        OptionError: both are given, a column is not a partition column, or a value does not fit its column.
    """
    if partitions is None:
        return where
    if where is not None:
        raise OptionError(
            f"both 'partitions' and 'where' choose partitions of {table.location}: give one of them",
            arguments=("partitions", "where"),
        )
    specs = partition_specs(partitions)
    if isinstance(partitions, str):
        specs = [{name: _unquoted(text) for name, text in spec.items()} for spec in specs]
    return or_(*(_one_partition(table, spec) for spec in specs))


def _one_partition(table: Table, spec: Mapping[str, Any]) -> Predicate:
    fields = {field.name: field for field in table.schema.partition_fields}
    unknown = sorted(spec.keys() - fields.keys())
    if unknown or not spec:
        raise OptionError(
            f"the partition {dict(spec)} of {table.location}: {', '.join(unknown) or 'nothing'} is no partition "
            f"column; those are: {', '.join(fields) or 'none'}",
            arguments=("partitions",),
        )
    return and_(*(_equals(table, fields[name], given) for name, given in spec.items()))


def _equals(table: Table, field: DataField, given: Any) -> Predicate:
    if given is None or given == table.settings.partitions.default_name:
        return IsNull((field.name,))
    try:
        value = cast_literal(literal_of(given), field.type, UTC).value
    except PredicateError as error:
        raise OptionError(f"the partition {field.name}={given} of {table.location}: {error}") from None
    return IsNull((field.name,)) if value is None else Compare((field.name,), Op.EQ, value)


def _unquoted(text: str) -> str:
    """Java takes a quoted value for a literal of SQL."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in _QUOTES else text
