"""Selects the rows that count in a table whose compaction looks keys up in higher levels (Java: LookupMergeFunction).

In these tables a row that leaves level 0 is merged with the row of its key above before it is written. So among the
rows of a key above level 0, the one on the lowest level already contains all others. Only this row counts, together
with the rows of level 0. An engine that folds rows would count the others twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.format.schema import LEVEL
from paimon_spark.merge.keys.sections import Section
from paimon_spark.merge.keys.window import Engine, MergeSpec, Piece, Window
from paimon_spark.merge.keys.winners import Groups, Mask, Rows

_NO_LEVEL = np.iinfo(np.int8).max


@dataclass(frozen=True)
class KeyLevels:
    """The levels of the rows of each key.

    Attributes:
        has_level_0: for each key, True if it has a row on level 0.
        upper: for each key, the row number of its row on the lowest level above 0; -1 if none.
        counts: for each row (not key), False for rows above level 0 that are not in upper; None: all rows count.
    """

    has_level_0: Mask
    upper: Rows
    counts: Mask | None


@dataclass(frozen=True)
class LowestLevel:
    """Calls another engine with only the rows that count. The rows of the window must have ``_LEVEL``.

    If only one row of a key counts, it is merged nevertheless, as in Java.
    """

    engine: Engine

    def __call__(
        self, window: Window, spec: MergeSpec, output: Sequence[str], ordered: bool
    ) -> Iterable[pa.RecordBatch]:
        levels = window.column(LEVEL).to_numpy()
        if has_one_level(levels):
            return self.engine(window, spec, output, ordered)
        counts = key_levels(window.groups, levels).counts
        return self.engine(window if counts is None else rows_that_count(window, counts), spec, output, ordered)


def lowest_level(engine: Engine) -> Engine:
    """The engine for a table whose compaction looks keys up. First-row tables do not need it: their oldest row wins."""
    return LowestLevel(engine)


def counts_levels(section: Section, spec: MergeSpec, whole_rows: bool) -> bool:
    """True if ``lowest_level`` can change the result of the engine for the files of a section.

    Args:
        section: files of a table whose compaction looks keys up.
        spec: the order of their rows.
        whole_rows: True if the engine picks the newest row of each key.
    """
    ranges: dict[int, tuple[int, int]] = {}
    for file in (file for run in section for file in run.files if file.level > 0):
        low, high = ranges.get(file.level, (file.min_sequence_number, file.max_sequence_number))
        ranges[file.level] = min(low, file.min_sequence_number), max(high, file.max_sequence_number)
    if len(ranges) < 2:
        return False
    if not whole_rows or spec.sequence_fields or spec.ignore_delete or spec.ignore_update_before:
        return True
    by_level = [ranges[level] for level in sorted(ranges)]
    return any(lower[0] <= upper[1] for lower, upper in itertools.pairwise(by_level))


def with_level(rows: pa.RecordBatch, level: int) -> pa.RecordBatch:
    """Rows of a file on a level, with ``_LEVEL`` as their last column."""
    levels = pa.array(np.full(rows.num_rows, level, np.int8))
    return rows.append_column(pa.field(LEVEL, pa.int8(), nullable=False), levels)


def has_one_level(levels: npt.NDArray[np.int8]) -> bool:
    """True if all rows above level 0 are on the same level."""
    highest = levels.max()
    return bool(((levels == highest) | (levels <= 0)).all())


def key_levels(groups: Groups, levels: npt.NDArray[np.int8]) -> KeyLevels:
    """The levels of the rows of each key.

    Args:
        groups: the rows by key.
        levels: the level of each row; rows on level 0 or below always count.
    """
    level = levels[groups.order]
    above = level > 0
    if has_one_level(levels):
        upper = row_where(above, groups)
        return KeyLevels(groups.sizes > (upper >= 0), upper, None)
    has_level_0: Mask = np.logical_or.reduceat(~above, groups.starts)
    lowest = np.minimum.reduceat(np.where(above, level, _NO_LEVEL), groups.starts)
    upper = row_where(above & (level == np.repeat(lowest, groups.sizes)), groups)
    if np.count_nonzero(above) == np.count_nonzero(upper >= 0):
        return KeyLevels(has_level_0, upper, None)
    counts = levels <= 0
    counts[upper[upper >= 0]] = True
    return KeyLevels(has_level_0, upper, counts)


def row_where(mask: Mask, groups: Groups) -> Rows:
    """For each key the number of the row for which the mask is true, -1 if none; no key may have two.

    Args:
        mask: in the order of groups.
    """
    rows: Rows = np.maximum.reduceat(np.where(mask, groups.order, -1), groups.starts)
    return rows


def rows_that_count(window: Window, counts: Mask) -> Window:
    """The window without the rows for which counts is false; rows of keys that had several are merged in any case."""
    groups = window.groups
    merged = np.empty(window.row_count, np.bool_)
    merged[groups.order] = np.repeat(groups.sizes > 1, groups.sizes)
    pieces = []
    for piece, start in zip(window.pieces, window.starts, strict=True):
        rows = slice(start, start + piece.rows.num_rows)
        if (kept := counts[rows]).any():
            pieces.append(_kept(piece, kept, merged[rows]))
    return Window(tuple(pieces))


def _kept(piece: Piece, kept: Mask, merged: Mask) -> Piece:
    if kept.all():
        return Piece(piece.rows, piece.keys, merged)
    mask = pa.array(kept)
    keys = tuple([keys[kept] if isinstance(keys, np.ndarray) else keys.filter(mask) for keys in piece.keys])
    return Piece(piece.rows.filter(mask), keys, merged[kept])
