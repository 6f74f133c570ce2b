"""Sums, differences and products of decimals, which tasks compute as Spark does.

Spark gives each of them a DECIMAL type of its own. Where that would need more than 38 digits, Spark may round a value,
or fail with it. So a term is computed here only if its scale is kept and none of its values is that large.

Source of the types: Spark's Add, Subtract and Multiply (``resultDecimalType``), with and without
spark.sql.decimalOperations.allowPrecisionLoss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.raw_values import scalar_of
from paimon_spark.format.types import DataField, Root
from paimon_spark.sql.queries.aggregate_calls import Constant

MOST_DIGITS = 38
_KEPT_SCALE = 6
"""Spark keeps so many digits behind the point where 38 digits are too few."""
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
SIGNS = frozenset(_FUNCTIONS)


@dataclass(frozen=True)
class DecimalTerm:
    """A term over columns whose values are those of Spark.

    Attributes:
        operation: a column, a literal, or one of SIGNS.
        parts: the terms left and right of a sign.
        precision, scale: of its DECIMAL type in Spark.
        largest: no value is greater than that, without its sign and its point.
    """

    operation: DataField | Constant | str
    parts: tuple[DecimalTerm, ...]
    precision: int
    scale: int
    largest: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        if isinstance(self.operation, DataField):
            return (self.operation.name,)
        return tuple(name for part in self.parts for name in part.columns)

    @cached_property
    def narrow(self) -> pa.DataType:
        """The Arrow type of the fewest digits that has all values."""
        return pa.decimal128(max(len(str(self.largest)), self.scale, 1), self.scale)

    def values(self, batch: pa.RecordBatch) -> Any:
        """The values for the rows of a batch: an array of decimals, or a scalar if they are all the same."""
        if isinstance(self.operation, DataField):
            return batch.column(self.operation.name)
        if isinstance(self.operation, Constant):
            return scalar_of(self.operation.units, self.narrow)
        left, right = (part.values(batch) for part in self.parts)
        if _type_of(self.operation, left.type, right.type)[0] > MOST_DIGITS:
            left, right = (value.cast(part.narrow) for value, part in zip((left, right), self.parts, strict=True))
        return _FUNCTIONS[self.operation](left, right)


_Sized: TypeAlias = DecimalTerm | pa.Decimal128Type
"""What has a precision and a scale."""
Tree: TypeAlias = "DataField | Constant | tuple[str, Tree, Tree]"
"""What a query computes: a column, a literal, or a sign between two of them."""
Largest: TypeAlias = Callable[[DataField], int | None]
"""No value of a column is greater than the result, without its sign and its point; None: that is not known."""


def decimal_term(tree: Tree) -> DecimalTerm | None:
    """The term of a tree, of whose columns the types alone are known; None: Spark rounds it, or it is of others."""
    if isinstance(tree, Constant):
        return DecimalTerm(tree, (), tree.precision, tree.scale, abs(tree.units))
    if isinstance(tree, DataField):
        if tree.type.root is not Root.DECIMAL:
            return None
        precision, scale = tree.type.precision or 10, tree.type.scale or 0
        return DecimalTerm(tree, (), precision, scale, 10**precision - 1)
    sign, *trees = tree
    left, right = (decimal_term(each) for each in trees)
    if left is None or right is None:
        return None
    precision, scale = _type_of(sign, left, right)
    if precision > MOST_DIGITS and scale > _KEPT_SCALE:
        return None
    return DecimalTerm(sign, (left, right), min(precision, MOST_DIGITS), scale, _most(sign, left, right, scale))


def bounded(term: DecimalTerm, largest: Largest) -> DecimalTerm | None:
    """The term with what is known of its columns; None: a value may need more digits than there are."""
    if isinstance(term.operation, DataField):
        known = largest(term.operation)
        return term if known is None else replace(term, largest=min(term.largest, known))
    if isinstance(term.operation, Constant):
        return term
    left, right = (bounded(part, largest) for part in term.parts)
    if left is None or right is None or _type_of(term.operation, left.narrow, right.narrow)[0] > MOST_DIGITS:
        return None
    return replace(term, parts=(left, right), largest=_most(term.operation, left, right, term.scale))


def _most(sign: str, left: DecimalTerm, right: DecimalTerm, scale: int) -> int:
    if sign == "*":
        return left.largest * right.largest
    return sum(part.largest * 10 ** (scale - part.scale) for part in (left, right))


def _type_of(sign: str, left: _Sized, right: _Sized) -> tuple[int, int]:
    """Precision and scale of a result, with no bound on them: Spark's, and Arrow's alike."""
    if sign == "*":
        return left.precision + right.precision + 1, left.scale + right.scale
    scale = max(left.scale, right.scale)
    return max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale
