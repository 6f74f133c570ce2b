"""Finds the buckets that may hold a row that satisfies a predicate (Java: BucketSelector)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from paimon_spark.arrow.predicates.predicate import Compare, In, IsNull, Op, Or, Predicate, Value, conjuncts
from paimon_spark.format.bucket import bucket_of
from paimon_spark.format.types import FLOATS, NESTED, DataField

MAX_KEYS = 1000  # more keys than that are not worth hashing one by one


class BucketFilter:
    """The buckets of a point lookup: a condition that fixes every bucket key column to one value or to several."""

    def __init__(self, predicate: Predicate, fields: Sequence[DataField], function: str) -> None:
        """The filter of one condition.

        Args:
            predicate: the whole condition of the scan.
            fields: the bucket key columns.
            function: option `bucket-function.type`.
        """
        self._types = [field.type for field in fields]
        self._function = function
        self._keys: list[tuple[Value | None, ...]] | None = _keys(predicate, fields) if fields else None
        self._buckets: dict[int, frozenset[int]] = {}

    @property
    def is_useful(self) -> bool:
        return self._keys is not None

    def buckets(self, total: int) -> frozenset[int] | None:
        """The buckets, of ``total`` in the partition, that may hold a row; None means any.

        Args:
            total: `_TOTAL_BUCKETS` of the entry; not above zero if the hash does not determine the bucket.
        """
        if self._keys is None or total <= 0:
            return None
        if total not in self._buckets:
            hashed = (bucket_of(key, self._types, total, self._function) for key in self._keys)
            self._buckets[total] = frozenset(hashed)
        return self._buckets[total]


def _keys(predicate: Predicate, fields: Sequence[DataField]) -> list[tuple[Value | None, ...]] | None:
    candidates: list[tuple[Value | None, ...]] = []
    parts = conjuncts(predicate)
    for field in fields:
        # 0.0 and -0.0 are equal in a condition but have different hashes, and so may NaNs: floats are not used.
        if field.type.root in FLOATS | NESTED:
            return None
        found = [v for v in (_values(part, (field.name,)) for part in parts) if v is not None]
        if not found:
            return None
        candidates.append(min(found, key=len))
    if math.prod(len(values) for values in candidates) > MAX_KEYS:
        return None
    return list(itertools.product(*candidates))


def _values(part: Predicate, column: tuple[str, ...]) -> tuple[Value | None, ...] | None:
    """The only values of the column for which the part can be true; None when it does not list them."""
    match part:
        case Compare(column=path, op=Op.EQ | Op.NULL_SAFE_EQ, value=value) if path == column:
            return (value,)
        case In(column=path, values=values) if path == column:
            return values
        case IsNull(column=path) if path == column:
            return (None,)
        case Or(parts=parts):
            lists = [_values(p, column) for p in parts]
            if any(values is None for values in lists):
                return None
            return tuple(value for values in lists if values is not None for value in values)
    return None
