"""Colours and sizes that the parts of the picture share."""

from __future__ import annotations

from typing import Any

import matplotlib
from matplotlib.axes import Axes

WAITING, CROWDED = "#E69F00", "#D55E00"
LABEL = 8


def shade(level: int, top: int) -> Any:
    """Blue, darker with the level."""
    return matplotlib.colormaps["Blues"](0.45 + 0.5 * level / max(top, 1))


def clear(axes: Axes) -> None:
    """Labels are small, and only the sides with ticks have a line."""
    axes.tick_params(labelsize=LABEL)
    axes.spines[["top", "right"]].set_visible(False)
