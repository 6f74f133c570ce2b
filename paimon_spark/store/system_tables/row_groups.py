"""Computes a column for groups of rows, one group at a time, and restores the order of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from paimon_spark.store.metadata.live_files import Indices

Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


def by_group(group: Indices, make: Callable[[int, Indices], pa.Array]) -> pa.Array:
    """Texts computed group by group; make gets the number of a group and the numbers of its rows."""
    numbers = np.unique(group).tolist()
    parts = [np.flatnonzero(group == number) for number in numbers]
    return in_order([make(number, part) for number, part in zip(numbers, parts, strict=True)], parts)


def either(mask: Mask, then: Callable[[Indices], pa.Array], otherwise: Callable[[Indices], pa.Array]) -> pa.Array:
    """Texts computed by then for the rows of the mask and by otherwise for the others; both get numbers of rows."""
    makes = ((then, np.flatnonzero(mask)), (otherwise, np.flatnonzero(~mask)))
    used = [(make, part) for make, part in makes if len(part)]
    return in_order([make(part) for make, part in used], [part for _, part in used])


def in_order(made: Sequence[pa.Array], parts: Sequence[Indices]) -> pa.Array:
    """The texts of parts of the rows in the order of the rows."""
    if not made:
        return pa.nulls(0, pa.string())
    if len(made) == 1:
        return made[0]
    return pa.concat_arrays(made).take(pa.array(np.argsort(np.concatenate(parts))))
