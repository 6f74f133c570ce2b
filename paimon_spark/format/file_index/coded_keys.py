"""A column as the numbers of its distinct keys: what indexes of rows are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from paimon_spark.format.file_index.keys import Key, KeyForm
from paimon_spark.format.file_index.row_sets import Ints, RowSet, row_set

KeyList: TypeAlias = Ints | Sequence[bytes]


@dataclass(frozen=True)
class CodedKeys:
    """The keys of the rows of a column.

    Attributes:
        form: of the keys.
        keys: the distinct ones, ascending.
        codes: for every row the number of its key, -1 for null.
    """

    form: KeyForm
    keys: KeyList
    codes: Ints

    @property
    def row_count(self) -> int:
        return len(self.codes)

    @property
    def key_list(self) -> Sequence[Key]:
        """The distinct keys as single values."""
        return self.keys.tolist() if isinstance(self.keys, np.ndarray) else self.keys

    def key_at(self, number: int) -> Key:
        """One of the distinct keys."""
        key = self.keys[number]
        return key if isinstance(key, bytes) else int(key)

    @property
    def nulls(self) -> RowSet:
        """The rows that are null."""
        return row_set(np.flatnonzero(self.codes < 0))

    def rows_by_key(self) -> Iterator[Ints]:
        """The rows of each key, ascending, in the order of keys."""
        rows = np.argsort(self.codes, kind="stable")
        ends = np.searchsorted(self.codes, np.arange(-1, len(self.keys)), "right", sorter=rows)
        for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            yield rows[start:end]

    def slices(self, count: int) -> list[RowSet]:
        """The rows whose code has bit i set, for every i."""
        codes = np.maximum(self.codes, 0)
        return [row_set(np.flatnonzero(codes >> bit & 1)) for bit in range(count)]


def code_keys(form: KeyForm, keys: Ints, valid: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> CodedKeys:
    """The coded keys of a column of fixed width; keys of rows that are not valid do not count."""
    distinct, places = np.unique(keys[valid], return_inverse=True)
    codes = np.full(len(keys), -1, np.int64)
    codes[valid] = places
    return CodedKeys(form, distinct, codes)
