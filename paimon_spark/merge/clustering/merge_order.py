"""Columns beside rows that a merge of sorted runs can order them by, where the columns of the order may hold nulls.

A merge takes keys without nulls, and has all rows of a key in memory. So a column of the order becomes two: whether
there is a value, and the value. One more counts the rows of a run, so that no two rows of a run are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pt

from paimon_spark.arrow.raw_values import from_numpy
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.merge.keys.key_words import Key, key_columns, key_words, row_key

_VALUE, _THERE, _ROW = "_ORDER_{}", "_ORDER_{}_THERE", "_ORDER_ROW"
_BOOLEAN, _BIGINT = DataType(Root.BOOLEAN, False), DataType(Root.BIGINT, False)


def order_names(fields: Sequence[DataField]) -> list[str]:
    """The names of the columns that with_order adds, without the one that counts rows."""
    return [name.format(number) for number in range(len(fields)) for name in (_THERE, _VALUE)]


def order_fields_of(fields: Sequence[DataField]) -> tuple[DataField, ...]:
    """The columns that with_order adds, as the key of a merge.

    Args:
        fields: the columns of the order, the most important first.
    """
    found = []
    for number, field in enumerate(fields):
        found.append(DataField(field.id, _THERE.format(number), _BOOLEAN))
        found.append(DataField(field.id, _VALUE.format(number), field.type.with_nullable(False)))
    return (*found, DataField(-1, _ROW, _BIGINT))


def with_order(batches: Iterable[pa.RecordBatch], fields: Sequence[DataField]) -> Iterator[pa.RecordBatch]:
    """The rows of one run with the columns of order_fields_of behind their own: nulls come first.

    Args:
        batches: the rows, in their order.
        fields: the columns of the order.
    """
    count = 0
    for batch in batches:
        arrays, names = list(batch.columns), list(batch.schema.names)
        for number, field in enumerate(fields):
            column = batch.column(field.name)
            arrays += [column.is_valid(), _filled(column)]
            names += [_THERE.format(number), _VALUE.format(number)]
        arrays.append(from_numpy(np.arange(count, count + batch.num_rows, dtype=np.int64)))
        count += batch.num_rows
        yield pa.RecordBatch.from_arrays(arrays, names=[*names, _ROW])


class RowOrder:
    """Looks whether rows that come batch by batch are in order, nulls first."""

    def __init__(self, fields: Sequence[DataField]) -> None:
        """
        Args:
            fields: the columns of the order, the most important first.
        """
        self._fields = fields
        self._names = order_names(fields)
        self._last: Key | None = None

    def goes_on(self, batch: pa.RecordBatch) -> bool:
        """True if the rows of the next batch are in order, and none is before the last one of the batches so far."""
        if not batch.num_rows:
            return True
        (ordered,) = with_order([batch], self._fields)
        columns = key_columns(ordered, self._names)
        words = key_words(columns, None)
        equal = np.ones(batch.num_rows - 1, np.bool_)
        after = np.zeros(batch.num_rows - 1, np.bool_)
        for word in words:
            after |= equal & (word[1:] > word[:-1])
            equal &= word[1:] == word[:-1]
        last, self._last = self._last, row_key(columns, batch.num_rows - 1)
        return bool((after | equal).all()) and (last is None or last <= row_key(columns, 0))


def _filled(column: pa.Array) -> pa.Array:
    """The values, with one and the same at all nulls."""
    if not column.null_count:
        return column
    return pc.fill_null(column, pa.scalar(_nothing(column.type), column.type))


def _nothing(arrow: pa.DataType) -> Any:
    if pt.is_string(arrow) or pt.is_large_string(arrow):
        return ""
    if pt.is_binary(arrow) or pt.is_large_binary(arrow):
        return b""
    if pt.is_boolean(arrow):
        return False
    return Decimal(0) if pt.is_decimal(arrow) else 0
