"""A table as a picture: its LSM tree, or the sizes of its files, above a time line. Needs matplotlib, an extra.

Colours tell apart for eyes that see no red or green (Okabe and Ito), and shapes, hatches and words say the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from paimon_spark.cli.facts import TableView
from paimon_spark.cli.picture_time import draw_tags, draw_time_line, lanes_of, time_inches
from paimon_spark.cli.picture_tree import draw_files, draw_tree, tree_inches
from paimon_spark.cli.texts import count_text, printable, size_text
from paimon_spark.errors import OptionError

_WIDTH = 12.0  # inches
_HEAD = 0.9
_DOTS = 120
_LONGEST = 90  # characters of a path


def draw(view: TableView, target: Path) -> None:
    """Draws a table into a file, whose suffix chooses the format.

    Raises:
        OptionError: matplotlib knows no such format.
        OSError: the file cannot be written.
    """
    kind = target.suffix.lstrip(".").lower()
    if kind not in FigureCanvasAgg.get_supported_filetypes():
        raise OptionError(f"--plot {target}: no picture has the suffix '{target.suffix}'; use .png, .svg or .pdf")
    drawn(view).savefig(target, format=kind)


def drawn(view: TableView) -> Figure:
    """The picture of a table."""
    lanes = lanes_of(view)
    heights = [tree_inches(view), time_inches(view, lanes)]
    figure = Figure(figsize=(_WIDTH, _HEAD + sum(heights)), dpi=_DOTS, layout="constrained")
    FigureCanvasAgg(figure)  # which measures texts
    figure.suptitle(_title(view), x=0.01, ha="left", fontsize=12, fontweight="bold")
    parts: Any = figure.subfigures(2, 1, height_ratios=heights, hspace=0.02)
    (draw_tree if view.facts.primary_keys else draw_files)(parts[0], view)
    axes = draw_time_line(parts[1], view, lanes)
    if axes is not None and view.facts.tags:
        figure.draw_without_rendering()  # now it is known where things are
        draw_tags(axes, view)
    return figure


def _title(view: TableView) -> str:
    facts = view.facts
    branch = "" if facts.branch == "main" else f", branch {facts.branch}"
    name = printable(facts.location + branch)
    name = name if len(name) <= _LONGEST else f"…{name[-_LONGEST:]}"
    if facts.snapshot is None:
        return f"{name}\nnothing was written yet"
    stored = facts.stored
    told = f"{count_text(stored.files, 'file')}, {stored.rows:,} rows, {size_text(stored.bytes)}"
    return f"{name}\n{told} in snapshot {facts.snapshot.id}"
