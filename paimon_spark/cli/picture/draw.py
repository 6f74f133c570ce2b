"""A table as a picture: its LSM tree, or the sizes of its files, above a time line. Needs matplotlib, an extra.

Colours tell apart for eyes that see no red or green (Okabe and Ito), and shapes, hatches and words say the same.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from textwrap import wrap
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure

from paimon_spark.cli.facts import TableView
from paimon_spark.cli.picture.time import draw_tags, draw_time_line, events_of, lanes_of, time_inches
from paimon_spark.cli.picture.tree import (
    CROWDED,
    draw_files,
    draw_partitions,
    draw_tree,
    is_few,
    partitions_inches,
    runs_of_partitions,
    tree_inches,
)
from paimon_spark.cli.texts import count_text, cut_text, printable
from paimon_spark.errors import OptionError

_WIDTH = 12.0  # inches
_LINE = 0.21  # inches
_DOTS = 120
_LONGEST = 150  # characters of a line
_ADVICE_LINES = 2


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
    partitions = [] if is_few(view) else runs_of_partitions(view.runs)
    advice = _advice(view)
    heights = [
        0.55 + _LINE * len(advice),
        tree_inches(view),
        *([partitions_inches(partitions)] if len(partitions) > 1 else []),
        time_inches(view, lanes),
    ]
    figure = Figure(figsize=(_WIDTH, sum(heights)), dpi=_DOTS, layout="constrained")
    FigureCanvasAgg(figure)  # which measures texts
    parts: Any = figure.subfigures(len(heights), 1, height_ratios=heights, hspace=0.02)
    _draw_head(parts[0], view, advice)
    (draw_tree if view.facts.primary_keys else draw_files)(parts[1], view)
    if len(partitions) > 1:
        draw_partitions(parts[2], partitions, view.facts.trigger)
    axes = draw_time_line(parts[-1], view, lanes)
    if axes is not None and view.facts.tags:
        figure.draw_without_rendering()  # now it is known where things are
        draw_tags(axes, view, events_of(view, lanes))
    return figure


def _draw_head(figure: SubFigure, view: TableView, advice: list[str]) -> None:
    """The name of the table, what to do, and in small letters which state of which directory this is."""
    high = figure.bbox.height / _DOTS  # inches
    lines = [(_name(view), 12.0, "bold", "black"), (_state(view), 8.0, "normal", "gray")]
    lines[1:1] = [(text, 9.5, "normal", CROWDED if view.facts.problems else "black") for text in advice]
    y = high - 0.08
    for text, size, weight, colour in lines:
        figure.text(0.01, y / high, text, fontsize=size, fontweight=weight, color=colour, va="top")
        y -= 0.25 if weight == "bold" else _LINE


def _name(view: TableView) -> str:
    """The last two parts of the path: the database and the table, where it lies in a warehouse."""
    facts = view.facts
    parts = facts.location.rstrip("/").split("/")
    branch = "" if facts.branch == "main" else f", branch {facts.branch}"
    return cut_text(printable("/".join(parts[-2:]) + branch), 90)


def _state(view: TableView) -> str:
    facts = view.facts
    snapshot = facts.snapshot
    state = "nothing was written yet"
    if snapshot is not None:
        rows = f"{facts.stored.rows:,} rows" + (" before equal keys are merged" if facts.primary_keys else "")
        state = f"snapshot {snapshot.id} of {snapshot.time[:19].replace('T', ' ')}, {rows}"
    caption = f"{state}; drawn {datetime.now():%Y-%m-%d %H:%M} of "
    path = printable(facts.location)
    room = _LONGEST - len(caption)
    return caption + (path if len(path) <= room else f"…{path[1 - room :]}")


def _advice(view: TableView) -> list[str]:
    """What the user may want to do, of several things the gravest; lines."""
    facts = view.facts
    if not facts.problems:
        fresh = sum(level.files for level in facts.stored.levels if level.level == 0)
        waits = f": {count_text(fresh, 'file')} in level 0, no bucket is due for a compaction" if fresh else ""
        return [f"nothing to do{waits}"]
    more = len(facts.problems) - 1
    text = printable(facts.problems[0]) + (f" (and {more} more, see info)" if more else "")
    return wrap(text, _LONGEST - 10, max_lines=_ADVICE_LINES, placeholder=" …")
