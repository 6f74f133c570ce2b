"""The table of all aggregate functions, and the choice of one for a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import DataType
from paimon_spark.merge.aggregates import collects, extremes, maps, nested_rows, numbers, picks, products, texts, unions
from paimon_spark.merge.aggregates.frame import AggregateSpec, FieldOptions, Fold, Specs
from paimon_spark.merge.keys.winners import Rows

AGGREGATES: Specs = {
    **picks.SPECS,
    **numbers.SPECS,
    **extremes.SPECS,
    **products.SPECS,
    **texts.SPECS,
    **collects.SPECS,
    **maps.SPECS,
    **nested_rows.SPECS,
    **unions.SPECS,
}

INTERNAL = frozenset({"primary-key"})  # chosen by an engine, never by name


@dataclass(frozen=True)
class ColumnAggregate:
    """The function of one column, ready to fold."""

    column: str
    name: str
    type: DataType
    spec: AggregateSpec
    options: FieldOptions

    def over(self, values: pa.Array, starts: Rows, **more: Any) -> Fold:
        """A fold of this column; the arguments are those of ``Fold``."""
        return Fold(values, starts, self.type, self.column, self.name, self.options, **more)

    def fold(self, values: pa.Array, starts: Rows, **more: Any) -> pa.Array:
        """One value per key; the arguments are those of ``Fold``."""
        return self.spec.fold(self.over(values, starts, **more))


def aggregate_for(column: str, name: str, data_type: DataType, options: FieldOptions) -> ColumnAggregate:
    """The function ``name`` for a column.

    Raises:
        UnsupportedFeature: there is no such function; the message lists those there are.
        OptionError: the function does not take the type or the options of the column; the message says why.
    """
    spec = AGGREGATES.get(name)
    if spec is None:
        known = ", ".join(sorted(AGGREGATES.keys() - INTERNAL))
        raise UnsupportedFeature(
            f"column '{column}': there is no aggregate function '{name}'; set 'fields.{column}.aggregate-function' or "
            f"'fields.default-aggregate-function' to one of {known}"
        )
    objection = spec.objection(data_type, options)
    if objection is not None:
        raise OptionError(
            f"column '{column}' of type {type_sql(data_type)} cannot have the aggregate function '{name}': it "
            f"{objection}; set 'fields.{column}.aggregate-function' to another function, or fix the column or option"
        )
    return ColumnAggregate(column, name, data_type, spec, options)
