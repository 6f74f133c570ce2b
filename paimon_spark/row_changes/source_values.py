"""What the values of a column of a source tell of the rows of a table that equal one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.predicates.char_columns import char_range
from paimon_spark.arrow.predicates.expressions import as_predicate, col
from paimon_spark.arrow.predicates.predicate import TRUE, Predicate
from paimon_spark.format.types import INTEGERS, STRINGS, DataField, Root
from paimon_spark.store.metadata.table import Table

_MOST_VALUES = 256
"""Each of them is looked for in the statistics of files."""
_ORDERED = INTEGERS | STRINGS | {Root.DATE}


@dataclass(frozen=True)
class SourceValues:
    """The values of a column.

    Attributes:
        low, high: the smallest and the largest; None: there is none but NULL, or they are not known.
        each: all of them, where they are known and few.
    """

    low: Any
    high: Any
    each: Sequence[Any] | None = None

    @staticmethod
    def of(values: pa.Array | pa.ChunkedArray) -> SourceValues:
        """All values of a column."""
        bounds, found = pc.min_max(values), pc.unique(values.drop_null())
        return _known(bounds["min"], bounds["max"], found if len(found) <= _MOST_VALUES else None)

    @staticmethod
    def between(low: pa.Scalar, high: pa.Scalar) -> SourceValues:
        """A column of which the smallest and the largest value are told."""
        return _known(low, high, None)

    def predicate(self, table: Table, field: DataField) -> Predicate:
        """What a row of the table satisfies whose column equals one of the values, among other rows.

        Args:
            field: a column of ``has_order``.
        """
        if self.low is None:
            return TRUE
        if field.type.root is Root.CHAR:
            return char_range((field.name,), self.low, self.high, field.type.length or 1)
        column = col(field.name)
        wanted = column.between(self.low, self.high) if self.each is None else column.isin(self.each)
        return as_predicate(wanted, table.schema.fields, table.time_zone)


def _known(low: pa.Scalar, high: pa.Scalar, each: pa.Array | None) -> SourceValues:
    try:
        return SourceValues(low.as_py(), high.as_py(), None if each is None else each.to_pylist())
    except (ValueError, OverflowError):  # a text that is no UTF-8, a date that Python does not have
        return SourceValues(None, None)


def has_order(field: DataField) -> bool:
    """True if equal values of a column have one order in all types with which it is compared."""
    return field.type.root in _ORDERED
