"""The interface of aggregate functions (features section 4; Java: FieldAggregator).

A function folds the values of one column, key by key, into one value per key. It is a plain function of a ``Fold``,
registered as an ``AggregateSpec`` in its module and listed in ``registry``. The rules of the fold:

* The accumulator of a key starts as null. A row of kind +I or +U folds its value into it; a row of kind -U or -D
  (``retract``) removes its value from it.
* A *seeded* key starts with its first value as the accumulator instead; that row is not folded. The seed is a record
  that was set by a retraction, or the accumulator of an earlier fold.
* Nulls are values like others: each function has its own rule for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.format.types import DataType
from paimon_spark.merge.keys.winners import Mask, Rows

MAX_COUNT = 2**31 - 1


@dataclass(frozen=True)
class FieldOptions:
    """The options ``fields.<column>.*`` of one column.

    Attributes:
        ignore_retract: rows of kind -U and -D do not count. The caller leaves them out; no function sees this option.
        delimiter: for ``listagg``.
        distinct: for ``collect`` and ``listagg``.
        nested_key, nested_sequence: fields of the rows in an ARRAY<ROW>, for ``nested_update`` and
            ``nested_partial_update``.
        nested_key_null: "merge", "ignore" or "error".
        count_limit: the most elements of ``nested_update``.
        ts_field: for ``merge_map_with_keytime``; None: the last field.
    """

    ignore_retract: bool = False
    delimiter: str = ","
    distinct: bool = False
    nested_key: tuple[str, ...] = ()
    nested_sequence: tuple[str, ...] = ()
    nested_key_null: str = "merge"
    count_limit: int = MAX_COUNT
    ts_field: str | None = None


@dataclass(frozen=True)
class Fold:
    """The values of one column in the order in which they are folded, key after key.

    Attributes:
        source: the values, an Arrow array of arrow.types.arrow_type(type), which may be sliced.
        starts: the position of the first value of each key. Every key has at least one value, so starts[0] is 0 and
            starts ascend strictly.
        rows: the positions in source of the values to fold, in this order; None: all in their order. ``values`` has
            them in order; a function that returns some of the values is faster with ``valid`` and ``take``.
        retract: True where the value is retracted; None if none is.
        seeded: for each key, True if its first value is the initial accumulator; None if no key has a seed. A seed is
            never marked as a retraction.
        late: True for values that are older than some before them; only for a function that ``takes_late``.
        settled: for each key, True if the seed counts as a first value; only for a function with ``settled_by``.
        key_of_row: for each value the number of its key, if the caller knows it; see ``keys_of_rows``.
        type, column, function, options: for the rules of the function and for messages.
    """

    source: pa.Array
    starts: Rows
    type: DataType
    column: str
    function: str
    options: FieldOptions = field(default_factory=FieldOptions)
    retract: Mask | None = None
    seeded: Mask | None = None
    rows: Rows | None = None
    late: Mask | None = None
    settled: Mask | None = None
    key_of_row: Rows | None = None

    @property
    def keys(self) -> int:
        """The number of keys, which is the number of values of the result."""
        return len(self.starts)

    @property
    def count(self) -> int:
        """How many values are folded."""
        return len(self.source) if self.rows is None else len(self.rows)

    @cached_property
    def values(self) -> pa.Array:
        """The values in the order in which they are folded."""
        return self.source if self.rows is None else self.source.take(pa.array(self.rows))

    @cached_property
    def sizes(self) -> Rows:
        """How many values each key has."""
        return np.diff(self.starts, append=self.count)

    @cached_property
    def lasts(self) -> Rows:
        """Where the last value of each key is."""
        return self.starts + self.sizes - 1

    @cached_property
    def valid(self) -> Mask | None:
        """True where a value is not null; None where none is null."""
        if not self.source.null_count:
            return None
        valid: Mask = self.source.is_valid().to_numpy(zero_copy_only=False)
        return valid if self.rows is None else valid[self.rows]

    def take(self, positions: npt.NDArray[np.int64]) -> pa.Array:
        """The values at positions of the fold order, null where a position is negative."""
        missing = positions < 0
        rows = positions if self.rows is None else self.rows[positions]
        return self.source.take(pa.array(rows, mask=missing if missing.any() else None))

    def keys_of_rows(self) -> Rows:
        """The number of its key for every value."""
        return self._keys if self.key_of_row is None else self.key_of_row

    @cached_property
    def empty(self) -> Mask | None:
        """Per key, True where all its values are null; None where none is null."""
        if self.valid is None:
            return None
        empty = np.ones(self.keys, np.bool_)
        empty[self.keys_of_rows()[np.flatnonzero(self.valid)]] = False
        return empty

    @cached_property
    def _keys(self) -> Rows:
        return np.repeat(np.arange(self.keys), self.sizes)


Aggregate: TypeAlias = Callable[[Fold], pa.Array]
"""One value per key, of the type of ``Fold.values``.

Raises DataError for values it cannot fold (overflow, a null key where one is an error), with column and function.
"""

Objection: TypeAlias = Callable[[DataType, FieldOptions], str | None]
"""What is wrong with a column of this type and these options, in words that follow "it ..."; None: nothing."""


@dataclass(frozen=True)
class AggregateSpec:
    """One aggregate function.

    Attributes:
        fold: the function.
        objection: says why the function does not accept a column of a type with some options; None: it does.
        retracts: the function supports retractions; if not, ``fold`` never gets any.
        commutative: the order of the values of a key does not change the result (max), or only its rounding, where the
            order of arrival is right (a floating-point sum). Late rows of a sequence group are not moved.
        appends_late: late rows of a sequence group are folded in order of arrival although the order matters (collect);
            all other functions get them before the older rows' result (Java: FieldAggregator.aggReversed).
        takes_late: the function gets late rows in order of arrival, marked by ``Fold.late``.
        starts_plain: a value folded into null gives that value itself, so the only value of a key can be folded or be
            its seed with the same result.
        settled_by: for a function that keeps the first value: which values count as one.
        null_counts: a null can change the result, now or for later values; with all other functions it changes nothing.
    """

    fold: Aggregate
    objection: Objection
    retracts: bool = False
    commutative: bool = False
    appends_late: bool = False
    takes_late: bool = False
    starts_plain: bool = False
    settled_by: Callable[[Fold], Mask] | None = None
    null_counts: bool = False


Specs: TypeAlias = Mapping[str, AggregateSpec]


def last_where(
    mask: Mask, starts: Rows, keys: Rows | None = None, otherwise: Rows | None = None
) -> npt.NDArray[np.int64]:
    """For every key the position of its last value where mask is true.

    Args:
        mask: for each value.
        starts: the position of the first value of each key.
        keys: for each value the number of its key, if that is known (``Fold.keys_of_rows``).
        otherwise: for each key the position to use if mask is true for none of its values; None: -1.
    """
    result = np.full(len(starts), -1, np.int64) if otherwise is None else otherwise.copy()
    found = np.flatnonzero(mask)
    result[_keys_of(found, mask, starts, keys)] = found  # of several the last one stays
    return result


def first_where(
    mask: Mask, starts: Rows, keys: Rows | None = None, otherwise: Rows | None = None
) -> npt.NDArray[np.int64]:
    """For every key the position of its first value where mask is true; the arguments are those of ``last_where``."""
    result = np.full(len(starts), -1, np.int64) if otherwise is None else otherwise.copy()
    found = np.flatnonzero(mask)[::-1]
    result[_keys_of(found, mask, starts, keys)] = found
    return result


def _keys_of(found: Rows, mask: Mask, starts: Rows, keys: Rows | None) -> Rows:
    if keys is None:
        keys = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(mask)))
    return keys[found]


def any_type(data_type: DataType, options: FieldOptions) -> str | None:
    """No objection to any type."""
    return None
