"""Finds rows of higher levels by key, many keys at once (Java: LookupLevels, key by key).

Both the keys and the rows of a level are in key order, so each batch is opened once, and batches without any of the
keys need not be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from paimon_spark.merge.keys.key_words import Ints, Key, KeyColumn, concat_columns, key_words, row_key, rows_up_to
from paimon_spark.merge.keys.winners import Rows, group_rows
from paimon_spark.merge.runs.sort_merge import checked_keys

KeyAt: TypeAlias = Callable[[int], pa.RecordBatch]
"""The number of a key -> its key columns, as a batch of one row."""


class UpperRun(Protocol):
    """The rows of one level, sorted by key, with unique keys."""

    def next_from(self, key: pa.RecordBatch) -> pa.RecordBatch | None:
        """The next batch in key order, or None at the end. Empty batches are fine.

        Args:
            key: one row with the key columns. Rows before it are no longer needed: batches, row groups and files whose
                last key is less may be skipped. The key never decreases from call to call.
        """
        ...


@dataclass(frozen=True)
class FoundRows:
    """The rows of some keys.

    Attributes:
        keys: the numbers of these keys, ascending.
        rows: the row of each of these keys.
    """

    keys: Rows
    rows: pa.RecordBatch


class UpperRows:
    """The rows of several levels.

    Args:
        levels: the lowest level first.
        key_names: the key columns in key order.
    """

    def __init__(self, levels: Sequence[UpperRun], key_names: Sequence[str]) -> None:
        self._levels = [_LevelCursor(level, key_names) for level in levels]

    def __bool__(self) -> bool:
        return bool(self._levels)

    def find(self, keys: Sequence[KeyColumn], key_at: KeyAt) -> list[FoundRows]:
        """For each key its row on the lowest level that has one; a result for each level with such rows.

        Args:
            keys: key columns of keys in order, none twice; all greater than those of the calls before.
            key_at: one of these keys.
        """
        left = np.arange(len(keys[0]))
        found = []
        for level in self._levels:
            if not len(left):
                break
            hits = level.find(keys if len(left) == len(keys[0]) else taken_keys(keys, left), left, key_at)
            if hits is not None:
                found.append(FoundRows(left[hits.keys], hits.rows))
                left = np.delete(left, hits.keys)
        return found


class _LevelCursor:
    """One level, its open batch, and the position in it to search from."""

    def __init__(self, run: UpperRun, key_names: Sequence[str]) -> None:
        self._run = run
        self._key_names = key_names
        self._rows: pa.RecordBatch | None = None
        self._keys: tuple[KeyColumn, ...] = ()
        self._position = 0
        self._last_key: Key = ()
        self._at_end = False

    def find(self, keys: Sequence[KeyColumn], numbers: Rows, key_at: KeyAt) -> FoundRows | None:
        """The rows of keys; their numbers are those that key_at takes."""
        found, parts = [], []
        start, count = 0, len(numbers)
        while start < count and self._open_for(row_key(keys, start), int(numbers[start]), key_at):
            assert self._rows is not None
            end = rows_up_to(keys, self._last_key, start, count)
            wanted = [column[start:end] for column in keys]
            which, places = matching_keys(wanted, [column[self._position :] for column in self._keys])
            if len(which):
                found.append(which + start)
                parts.append(self._rows.take(pa.array(places + self._position)))
            last = row_key(keys, end - 1)
            self._position = rows_up_to(self._keys, last, self._position, self._rows.num_rows)
            start = end
        return FoundRows(np.concatenate(found), pa.concat_batches(parts)) if found else None

    def _open_for(self, key: Key, number: int, key_at: KeyAt) -> bool:
        """Open the batch that can hold the key; False at the end of the level."""
        while not self._at_end and (self._rows is None or self._last_key < key):
            rows = self._run.next_from(key_at(number))
            self._at_end = rows is None
            if rows is not None and rows.num_rows:
                self._rows, self._position = rows, 0
                self._keys = checked_keys(rows, self._key_names)
                self._last_key = row_key(self._keys, rows.num_rows - 1)
        return not self._at_end


def matching_keys(wanted: Sequence[KeyColumn], keys: Sequence[KeyColumn]) -> tuple[Rows, Rows]:
    """The wanted keys that occur in keys: their numbers, ascending, and their positions in keys.

    Args:
        wanted: key columns of at least one key, in order, without repeats.
        keys: the key columns to search, in order.
    """
    if not len(keys[0]):
        return np.empty(0, np.intp), np.empty(0, np.intp)
    if len(wanted) == 1 and isinstance(wanted[0], np.ndarray):
        return _search(wanted[0], keys[0])
    count = len(wanted[0])
    words = key_words(concat_columns([wanted, keys]), (0, count))
    if len(words) == 1:
        return _search(words[0][:count], words[0][count:])
    groups = group_rows(words)
    pairs = groups.starts[np.diff(groups.starts, append=len(groups.order)) > 1]
    pairs = pairs[groups.order[pairs] < count]
    return groups.order[pairs], groups.order[pairs + 1] - count


def _search(wanted: Ints, keys: Ints) -> tuple[Rows, Rows]:
    places: Rows = np.searchsorted(keys, wanted)
    which = np.flatnonzero(keys.take(places, mode="clip") == wanted)
    return which, places[which]


def taken_keys(keys: Sequence[KeyColumn], rows: Rows) -> list[KeyColumn]:
    """The key columns of some rows."""
    return [column[rows] if isinstance(column, np.ndarray) else column.take(pa.array(rows)) for column in keys]
