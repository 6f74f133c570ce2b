"""How rows are clustered: the order and its columns, checked against a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from paimon_spark.errors import OptionError
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import UNORDERED, DataField

_ORDER_COLUMNS, _ZORDER_COLUMNS = 1, 4


class Strategy(Enum):
    """The order of clustered rows (Java: CoreOptions.OrderType)."""

    ORDER = "order"
    ZORDER = "zorder"
    HILBERT = "hilbert"


@dataclass(frozen=True)
class Clustering:
    """An order of rows.

    Attributes:
        strategy: by the columns one after the other, or by a curve through the space of all of them.
        fields: the columns.
        text_bytes: how many bytes of texts and binary values count for a z-order.
    """

    strategy: Strategy
    fields: tuple[DataField, ...]
    text_bytes: int

    @property
    def names(self) -> list[str]:
        return [field.name for field in self.fields]


def new_clustering(schema: TableSchema, settings: TableSettings, strategy: str, columns: Sequence[str]) -> Clustering:
    """An order of the rows of a table.

    Args:
        schema: of the table.
        settings: with `zorder.var-length-contribution`.
        strategy: order, zorder, hilbert, or auto, which chooses by the number of columns: one is ordered, up to four
            make a z-order, more a Hilbert curve (Java: CoreOptions.clusteringStrategy).
        columns: the columns to order by.

    Raises:
        OptionError: no such strategy, no columns, or columns that rows cannot be ordered by.
    """
    chosen = _strategy(strategy, len(columns))
    if not columns:
        raise OptionError(f"clustering by '{strategy}': name the columns to order by", arguments=("order_by",))
    repeated = sorted({name for name in columns if list(columns).count(name) > 1})
    if repeated:
        raise OptionError(f"clustering by {', '.join(columns)}: {repeated[0]} is there twice", arguments=("order_by",))
    if chosen is Strategy.HILBERT and len(columns) < 2:
        raise OptionError(
            f"clustering by a Hilbert curve needs at least two columns, but only {columns[0]} is given; "
            "order by it with the strategy 'order'",
            arguments=("order_by",),
        )
    fields = tuple(_field(schema, name) for name in columns)
    return Clustering(chosen, fields, max(settings.clustering.zorder_var_length, 1))


def table_clustering(schema: TableSchema, settings: TableSettings) -> Clustering | None:
    """The order that `clustering.columns` asks for; None: none.

    Partition columns are left out: all rows of a partition have the same.

    Raises:
        OptionError: rows cannot be ordered by these columns.
    """
    columns = [name for name in settings.clustering.columns if name not in schema.partition_keys]
    return new_clustering(schema, settings, settings.clustering.strategy, columns) if columns else None


def _strategy(name: str, columns: int) -> Strategy:
    if name.lower() == "auto":
        if columns <= _ORDER_COLUMNS:
            return Strategy.ORDER
        return Strategy.ZORDER if columns <= _ZORDER_COLUMNS else Strategy.HILBERT
    try:
        return Strategy(name.lower())
    except ValueError:
        known = ", ".join(f"'{strategy.value}'" for strategy in Strategy)
        raise OptionError(
            f"no order of rows is called '{name}'; there are {known}", arguments=("order_strategy",)
        ) from None


def _field(schema: TableSchema, name: str) -> DataField:
    field = schema.by_name.get(name)
    if field is None:
        raise OptionError(
            f"rows cannot be ordered by '{name}', which is no column; the columns are {', '.join(schema.names)}",
            arguments=("order_by",),
        )
    if name in schema.partition_keys:
        raise OptionError(
            f"rows cannot be ordered by '{name}': it is a partition column, the same in all rows of a partition",
            arguments=("order_by",),
        )
    if field.type.root in UNORDERED:
        raise OptionError(
            f"rows cannot be ordered by '{name}' of type {type_sql(field.type)}, which has no order",
            arguments=("order_by",),
        )
    return field
