"""The kinds of file indexes: their names, the types that they can hold, and the defaults of their options."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from types import MappingProxyType

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.types import BINARIES, FLOATS, INTEGERS, STRINGS, TIMESTAMPS, DataType, Root

BLOOM_FILTER = "bloom-filter"
BITMAP = "bitmap"
BSI = "bsi"
RANGE_BITMAP = "range-bitmap"

DEFAULT_ITEMS = 1_000_000
DEFAULT_FALSE_POSITIVES = 0.1
NEWEST_BITMAP = 2
DEFAULT_BLOCK_SIZE = 16 * 1024

_TIMES = TIMESTAMPS | {Root.DATE, Root.TIME}
_ROOTS: Mapping[str, Set[Root]] = MappingProxyType(
    {
        BLOOM_FILTER: INTEGERS | FLOATS | STRINGS | BINARIES | _TIMES,
        BITMAP: INTEGERS | FLOATS | STRINGS | _TIMES | {Root.BOOLEAN},
        BSI: INTEGERS | _TIMES | {Root.DECIMAL},
        RANGE_BITMAP: INTEGERS | FLOATS | STRINGS | _TIMES | {Root.BOOLEAN, Root.DECIMAL},
    }
)
_MOST_PRECISE = {Root.DECIMAL: 18, Root.TIMESTAMP: 6, Root.TIMESTAMP_LTZ: 6}  # of range bitmaps
_MOST_BITS = 2**31 - 16


def check_type(kind: str, data_type: DataType) -> None:
    """Checks that an index of this kind can hold values of a type.

    Raises:
        UnsupportedFeature: it cannot.
    """
    root, precision = data_type.root, data_type.precision
    if root not in _ROOTS[kind]:
        raise UnsupportedFeature(
            f"a {kind} index cannot hold values of type {root}: take the column out of file-index.{kind}.columns"
        )
    limit = _MOST_PRECISE.get(root) if kind == RANGE_BITMAP else None
    if limit is not None and precision is not None and precision > limit:
        raise UnsupportedFeature(
            f"a {kind} index cannot hold values of type {root}({precision}): at most precision {limit}"
        )


def check_bloom_size(items: int, false_positives: float) -> int:
    """The number of bits of a bloom filter.

    Args:
        items: the index option ``items``, the expected number of distinct values.
        false_positives: the index option ``fpp``.

    Raises:
        OptionError: the numbers give no size of a filter, or one that no bit can be numbered in.
    """
    whole = -1
    if items > 0 and 0 < false_positives < 1:
        whole = int(-items * math.log(false_positives) / (math.log(2) * math.log(2)))
    if not 0 <= whole <= _MOST_BITS:
        raise OptionError(
            f"a {BLOOM_FILTER} index for items = {items} and fpp = {false_positives} cannot be made: items must be at "
            f"least 1, fpp between 0 and 1, and both together ask for at most {_MOST_BITS // 8} bytes"
        )
    return whole + (8 - whole % 8)
