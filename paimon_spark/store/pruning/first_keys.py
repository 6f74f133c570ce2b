"""Bounds the values that come first in an order, by the dictionaries of the ``range-bitmap`` indexes of all files.

A dictionary is much shorter than the bitmaps of an index. It has each value of its file once, ascending; so the values
of all files that come first have the last wanted row among them, or lie before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paimon_spark.format.file_index.keys import Key
from paimon_spark.format.file_index.range_bitmap import RangeBitmap

if TYPE_CHECKING:
    from paimon_spark.store.pruning.top_n import TopN

MOST_KEYS = 1 << 12  # of one file


@dataclass(frozen=True)
class FirstKeys:
    """What an index tells of the values of its file without a look at their rows.

    Attributes:
        keys: distinct ones that come first; not all that are wanted if these are more than MOST_KEYS.
        null_count: how many rows are NULL.
        all_live: whether no row is deleted, so that each key has a row.
    """

    keys: Sequence[Key]
    null_count: int
    all_live: bool


def first_keys(first: TopN, index: RangeBitmap, all_live: bool) -> FirstKeys:
    """What an index tells of a file; all_live: as of FirstKeys. Raises CorruptFile: the index is damaged."""
    keys = index.first_keys(min(first.count, MOST_KEYS), first.descending)
    return FirstKeys(keys, index.row_count - len(index.present), all_live)


def last_key(first: TopN, known: Sequence[FirstKeys | None]) -> Key | None:
    """A key that no wanted value lies behind; None: the indexes do not tell one.

    Args:
        first: what is wanted.
        known: of each file that needs no merge.
    """
    live = [each for each in known if each is not None and each.all_live]
    nulls = sum(each.null_count for each in live) if first.nulls_first else 0
    wanted = max(first.count - nulls, 1)
    keys = sorted((key for each in live for key in each.keys), reverse=first.descending)
    return keys[wanted - 1] if len(keys) >= wanted else None


def has_none(first: TopN, keys: FirstKeys, last: Key) -> bool:
    """True if a file has no row that comes first: all its values lie behind a key, and NULL is not wanted."""
    if first.nulls_first and keys.null_count:
        return False
    if not keys.keys:
        return True
    near = keys.keys[0]
    return near < last if first.descending else near > last  # type: ignore[operator]  # keys of one type
