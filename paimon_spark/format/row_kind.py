"""What a row does to its key (format section 7.2; Java: RowKind, 2.0.0)."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)
"""The byte that files store for each kind, in the column ``_VALUE_KIND``."""
KIND_TEXTS = ("+I", "-U", "+U", "-D")
"""The kinds as users write them, by that byte."""

Kinds: TypeAlias = npt.NDArray[np.int8]
"""The kind of each row of a batch."""


def is_retract(kinds: Kinds) -> npt.NDArray[np.bool_]:
    """True for -U and -D."""
    return (kinds & 1).astype(np.bool_)
