"""Statistics of the values of one column in a file, row group or partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """Bounds as internal values and the number of nulls; None = unknown.

    The bounds hold for all values that are not null; the maximum of a FLOAT or DOUBLE column is None where a NaN
    (the greatest value) may hide.
    """

    minimum: Any = None
    maximum: Any = None
    null_count: int | None = None
