"""Ranges of positions, each by its start and its length, as one array of all positions in them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Positions: TypeAlias = np.ndarray[tuple[int], np.dtype[Any]]
"""Whole numbers."""


def expand(starts: Positions, lengths: Positions) -> Positions:
    """All numbers of the ranges with these starts and lengths, range after range."""
    ends = np.cumsum(lengths)
    return np.repeat(starts - ends + lengths, lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
