"""Values that are computed of the columns of a row, for the row filters and column masks of a server.

Java: package predicate, the implementations of Transform; a server names each by its name there. Two more are made here
for conditions that a predicate cannot say: ORDER and LIKE.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.casts import cast_array
from paimon_spark.arrow.predicates.binding import pattern_parts
from paimon_spark.arrow.predicates.predicate import Wildcard
from paimon_spark.arrow.raw_values import int64_array
from paimon_spark.arrow.text_casts import by_distinct
from paimon_spark.arrow.types import arrow_type
from paimon_spark.errors import DataError
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import MAX_LENGTH, DataType, Root

TEXT = DataType(Root.VARCHAR, length=MAX_LENGTH)
_WITHOUT_LINE_ENDS = r"[^\n\r\x{85}\x{2028}\x{2029}]"  # what `.` stands for in a regular expression of Java


class Kind(StrEnum):
    """What is computed: the names that a server uses, then those made here.

    ORDER is a number whose order is that of Java's compareTo, where -0.0 comes before 0.0. LIKE is whether the first
    input fits the pattern that the second one is.
    """

    FIELD_REF = "FIELD_REF"
    CAST = "CAST"
    CONCAT = "CONCAT"
    CONCAT_WS = "CONCAT_WS"
    UPPER = "UPPER"
    LOWER = "LOWER"
    NULL = "NULL"
    ORDER = "order"
    LIKE = "like"


@dataclass(frozen=True, slots=True)
class ColumnInput:
    """A column of the table, by its name, with the type that it has there."""

    name: str
    type: DataType


Input: TypeAlias = "ColumnInput | Transform | str | None"
"""A column, a computed value, a text, or NULL."""


@dataclass(frozen=True, slots=True)
class Transform:
    """A computed value.

    Attributes:
        kind: how.
        inputs: of what.
        type: of the value.
    """

    kind: Kind
    inputs: tuple[Input, ...]
    type: DataType

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it looks at."""
        found = frozenset[str]()
        for one in self.inputs:
            if isinstance(one, Transform):
                found |= one.columns
            elif isinstance(one, ColumnInput):
                found |= {one.name}
        return found

    def values(self, rows: pa.RecordBatch) -> pa.Array:
        """The value of each row, in ``arrow_type`` of the type.

        Args:
            rows: with the columns that it looks at, as they are stored.

        Raises:
            DataError: a value cannot be cast. The message does not show it.
        """
        if self.kind is Kind.NULL:
            return pa.nulls(rows.num_rows, arrow_type(self.type))
        inputs = [_values(one, rows) for one in self.inputs]
        return _STEPS[self.kind](self, inputs)


def _values(one: Input, rows: pa.RecordBatch) -> pa.Array:
    if isinstance(one, ColumnInput):
        return rows.column(rows.schema.get_field_index(one.name))
    if isinstance(one, Transform):
        return one.values(rows)
    return pa.repeat(pa.scalar(one, pa.string()), rows.num_rows)


def _cast(of: Transform, inputs: Sequence[pa.Array]) -> pa.Array:
    (source,) = of.inputs
    assert isinstance(source, ColumnInput)
    try:
        return cast_array(inputs[0], source.type, of.type)
    except DataError:  # its message shows the value, which the reader of a mask must not see
        raise DataError(
            f"casting the column '{source.name}' to {type_sql(of.type)}, as the server of the catalog asks: a value of "
            "it is none of that type"
        ) from None


def _joined(of: Transform, inputs: Sequence[pa.Array]) -> pa.Array:
    texts = [one.cast(pa.string()) for one in inputs]
    if of.kind is Kind.CONCAT:
        return pc.binary_join_element_wise(*texts, "", null_handling="emit_null")
    separators, first, *others = texts
    empty = reduce(pc.and_, (one.is_null() for one in others), first.is_null())
    first = pc.if_else(empty, "", first)  # Arrow loses the rows in which all inputs are null
    return pc.binary_join_element_wise(first, *others, separators, null_handling="skip")


def _in_case(of: Transform, inputs: Sequence[pa.Array]) -> pa.Array:
    texts = inputs[0].cast(pa.string())
    upper = of.kind is Kind.UPPER
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return pc.ascii_upper(texts) if upper else pc.ascii_lower(texts)
    return by_distinct(texts, _upper if upper else str.lower, TEXT)  # Arrow's kernels do not make SS of a sharp s


def _upper(text: str) -> str:
    return text.upper()


def _ordered(of: Transform, inputs: Sequence[pa.Array]) -> pa.Array:
    array = inputs[0]
    if pa.types.is_boolean(array.type):
        return array.cast(pa.int64())
    values = np.asarray(array.cast(pa.float64()).fill_null(0.0), dtype=np.float64).copy()
    values[np.isnan(values)] = np.nan
    bits = values.view(np.int64)
    return int64_array(np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits), array, pa.int64())


def _like(of: Transform, inputs: Sequence[pa.Array]) -> pa.Array:
    pattern = of.inputs[1]
    assert isinstance(pattern, str)
    signs = {Wildcard.ONE: _WITHOUT_LINE_ENDS, Wildcard.ANY: "(?s:.*)"}
    parts = pattern_parts(pattern, "\\")
    whole = "".join(signs[part] if isinstance(part, Wildcard) else re.escape(part) for part in parts)
    return pc.match_substring_regex(inputs[0].cast(pa.string()), rf"\A{whole}\z")


_STEPS: dict[Kind, Callable[[Transform, Sequence[pa.Array]], pa.Array]] = {
    Kind.FIELD_REF: lambda of, inputs: inputs[0],
    Kind.CAST: _cast,
    Kind.CONCAT: _joined,
    Kind.CONCAT_WS: _joined,
    Kind.UPPER: _in_case,
    Kind.LOWER: _in_case,
    Kind.ORDER: _ordered,
    Kind.LIKE: _like,
}
