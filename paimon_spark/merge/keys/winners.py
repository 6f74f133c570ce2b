"""Finds the winning rows of a window: exact kernels over words, without a loop over rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from paimon_spark.merge.keys.key_words import Words

Rows: TypeAlias = npt.NDArray[np.intp]
Mask: TypeAlias = npt.NDArray[np.bool_]

DIRECT_SPREAD = 32  # a table of all possible keys may be this many times longer than the rows
_MAX_PIECES = 255


@dataclass(frozen=True)
class Groups:
    """Rows by key.

    Attributes:
        order: row numbers in key order; the rows of one key keep their order.
        starts: the position in order of the first row of each key.
    """

    order: Rows
    starts: Rows

    @cached_property
    def sizes(self) -> Rows:
        """How many rows each key has."""
        return np.diff(self.starts, append=len(self.order))


def last_rows(words: Sequence[Words], starts: Sequence[int]) -> Mask:
    """True for the last row of every key.

    Args:
        words: the keys (see key_words) of at least one row.
        starts: the rows at which a piece starts that is sorted by key.
    """
    if len(words) == 1:
        mask = _one_by_table(words[0], starts, first=False)
        if mask is not None:
            return mask
    order = np.argsort(words[0], kind="stable")
    same = _settle_ties(order, words[0][order], words)
    mask = np.empty(len(order), np.bool_)
    mask[order] = np.append(~same, True)
    return mask


def first_rows(words: Sequence[Words], starts: Sequence[int]) -> Mask:
    """True for the first row of every key.

    Args:
        words: the keys (see key_words) of at least one row.
        starts: the rows at which a piece starts that is sorted by key.
    """
    if len(words) == 1:
        mask = _one_by_table(words[0], starts, first=True)
        if mask is not None:
            return mask
    groups = group_rows(words)
    mask = np.zeros(len(groups.order), np.bool_)
    mask[groups.order[groups.starts]] = True
    return mask


def group_rows(words: Sequence[Words]) -> Groups:
    """The rows sorted by key, stable.

    Args:
        words: the keys (see key_words) of at least one row. numpy's stable sort merges sorted stretches, which is fast
            for windows of sorted runs.
    """
    order = np.argsort(words[0], kind="stable")
    return _groups(order, words[0][order], words)


def group_unsorted_rows(words: Sequence[Words], width: int) -> Groups:
    """The rows sorted by key, stable; for unsorted rows several times faster than ``group_rows``.

    numpy sorts plain integers with vector instructions, but not positions, so the position is made part of the integer.

    Args:
        words: the keys of at least one row in words of width bits.
        width: ``spare_width(rows)``.
    """
    order, values = _by_first_word(words[0], width)
    return _groups(order, values, words)


def order_unsorted_rows(words: Sequence[Words], width: int) -> Rows:
    """The order of ``group_unsorted_rows`` alone."""
    order, values = _by_first_word(words[0], width)
    if len(words) > 1:
        _settle_ties(order, values, words)
    return order


def _by_first_word(word: Words, width: int) -> tuple[Rows, Words]:
    """The rows sorted by a word of width bits, stable, and the word in this order."""
    position = np.uint64(64 - width)
    packed = word << position | np.arange(len(word), dtype=np.uint64)
    packed.sort()
    order = (packed & np.uint64((1 << (64 - width)) - 1)).view(np.int64)
    packed >>= position
    return order, packed


def spare_width(rows: int) -> int:
    """The number of bits of a word that a row number leaves free."""
    return 64 - max(1, (rows - 1).bit_length())


def pick_last(groups: Groups, criteria: Sequence[Words]) -> Rows:
    """One row of every key, in key order: greatest by the criteria, one after the other; the last of equal ones.

    Args:
        groups: the rows by key.
        criteria: arrays with a word per row; each is used only for keys whose rows are equal by those before it.
    """
    order, starts, sizes = groups.order, groups.starts, groups.sizes
    winners: Rows = order[starts + sizes - 1]
    several = sizes > 1
    if criteria and several.any():
        order = order[np.flatnonzero(np.repeat(several, sizes))]
        winners[several] = _pick_last_of_several(order, sizes[several], criteria)
    return winners


def pick_first(groups: Groups, criteria: Sequence[Words]) -> Rows:
    """One row of every key, in key order: least by the criteria, one after the other; the first of equal ones."""
    ends = np.append(groups.starts[1:], len(groups.order))
    backwards = Groups(groups.order[::-1], len(groups.order) - ends[::-1])
    return pick_last(backwards, [~word for word in criteria])[::-1]


def _pick_last_of_several(order: Rows, sizes: Rows, criteria: Sequence[Words]) -> Rows:
    """One row of every group; the groups follow each other in order, with these sizes."""
    for word in criteria:
        starts = np.cumsum(sizes) - sizes
        values = word[order]
        best = values == np.repeat(np.maximum.reduceat(values, starts), sizes)
        if best.all():
            continue
        order = order[np.flatnonzero(best)]
        if len(order) == len(sizes):
            return order
        sizes = np.add.reduceat(best, starts, dtype=np.intp)
    return order[np.cumsum(sizes) - 1]


def _one_by_table(word: Words, starts: Sequence[int], first: bool) -> Mask | None:
    """The last (or first) row of every key, by a table with a slot for every possible key.

    None where the table would be too big, or a piece repeats a key.
    """
    rows = len(word)
    size = int(word.max()) + 1
    if size > DIRECT_SPREAD * rows or len(starts) > _MAX_PIECES:
        return None
    ascending = word[1:] > word[:-1]
    ascending[np.asarray(starts[1:], np.intp) - 1] = True
    if not ascending.all():
        return None
    slots = word.view(np.int64)
    table = np.empty(size, np.uint8)  # only slots that were written are read
    pieces = [slots[start:end] for start, end in zip(starts, [*starts[1:], rows], strict=True)]
    for number in reversed(range(len(pieces))) if first else range(len(pieces)):
        table[pieces[number]] = number
    return np.concatenate([table[piece] == number for number, piece in enumerate(pieces)])


def _groups(order: Rows, values: Words, words: Sequence[Words]) -> Groups:
    same = _settle_ties(order, values, words)
    return Groups(order, np.flatnonzero(np.append(True, ~same)))


def _settle_ties(order: Rows, values: Words, words: Sequence[Words]) -> Mask:
    """Refines, in place, an order by the first word to one by all words.

    Most rows with the same first word have the same key; only the others are sorted by the next word.

    Args:
        order: row numbers sorted by the first word, stable.
        values: the first word in this order.

    Returns:
        For every row in order but the last: True if the next one has the same key.
    """
    same: Mask = values[1:] == values[:-1]
    for word in words[1:]:
        ties = np.flatnonzero(same)
        if not len(ties):
            break
        equal = word[order[ties]] == word[order[ties + 1]]
        if equal.all():
            continue
        group = np.cumsum(np.append(False, ~same))
        mixed = np.zeros(int(group[-1]) + 1, np.bool_)
        mixed[group[ties[~equal]]] = True
        positions = np.flatnonzero(mixed[group])
        rows = order[positions]
        order[positions] = rows[np.lexsort((word[rows], group[positions]))]
        same[ties] = word[order[ties]] == word[order[ties + 1]]
    return same
