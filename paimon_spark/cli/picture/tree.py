"""What a state is made of: the levels and sorted runs of a key table, the file sizes of any other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import Any

import matplotlib
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import SubFigure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from paimon_spark.cli.facts import TableView
from paimon_spark.cli.texts import count_text, cut_text, printable, size_text
from paimon_spark.format.options.option import MB

FEW = 12
"""Buckets that are drawn one by one; of more the sums."""
_COLUMNS = 4
_NARROW = 0.05  # of an axis: no hatch is seen in bars of less
_NARROWEST = 0.008  # of an axis: of less nothing would be seen
_SEGMENTS = 60  # files of level 0 that are distinct in a bar
_SHOWN = 120
"""Partitions, the last ones by their values: those of dates that are written to."""
_NAMES = 8
_NAME = 16  # characters
WAITING, CROWDED = "#E69F00", "#D55E00"
LABEL = 8


@dataclass(frozen=True)
class _Bar:
    """One level: the bytes of its sorted runs (of level 0 its files), and what is written beside it."""

    level: int
    sizes: Sequence[int]
    label: str


def tree_inches(view: TableView) -> float:
    """How high the drawing is."""
    levels = max(len(view.facts.stored.levels), 1)
    if view.facts.stored.files == 0:
        return 1.0
    if not view.facts.primary_keys or not is_few(view):
        return 3.4
    return 0.6 + ceil(view.facts.stored.buckets / _COLUMNS) * (0.45 + 0.3 * levels)


def draw_tree(figure: SubFigure, view: TableView) -> None:
    """Levels downwards, as long as they are big: bucket by bucket, or of all buckets."""
    if view.runs.num_rows == 0:
        _say(figure, "no data files")
    elif is_few(view):
        _draw_buckets(figure, view)
    else:
        _draw_sums(figure, view)


def draw_files(figure: SubFigure, view: TableView) -> None:
    """How many files there are of each size."""
    sizes = np.asarray(view.sizes)
    if not len(sizes):
        _say(figure, "no data files")
        return
    target = view.table.settings.files.target_size or 256 * MB
    axes = figure.add_subplot()
    low, high = int(log2(max(sizes.min(), 1))), ceil(log2(max(int(sizes.max()), target))) + 1
    bins = [2.0**power for power in range(low, high + 1)]
    axes.hist(sizes, bins=bins, color=shade(1, 1), edgecolor="white", linewidth=1.5)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(size)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.axvline(target, color=CROWDED, linestyle="--")
    top = axes.get_ylim()[1]
    axes.set_ylim(0, top * 1.15)
    axes.text(target, top * 1.06, f"new files: {size_text(target)} ", color=CROWDED, ha="right", fontsize=LABEL)
    axes.set_xlabel("size of a file", fontsize=LABEL)
    axes.set_ylabel("files", fontsize=LABEL)
    axes.set_title(f"files by size: {_totals(view)}", loc="left", fontsize=10)
    clear(axes)


def _draw_buckets(figure: SubFigure, view: TableView) -> None:
    places = sorted(set(zip(_values(view.runs, "partition"), _values(view.runs, "bucket"), strict=True)))
    columns = min(_COLUMNS, len(places))
    grid = figure.subplots(ceil(len(places) / columns), columns, sharex=True, sharey=True, squeeze=False)
    levels = [level.level for level in view.facts.stored.levels]
    longest = max(_total(view.runs, ("partition", "bucket", "level")))
    for axes, (partition, bucket) in zip(grid.flat, places, strict=False):
        here = pc.and_(pc.equal(view.runs.column("partition"), partition), pc.equal(view.runs.column("bucket"), bucket))
        runs = view.runs.filter(here)
        bars = [_bar(runs, level) for level in levels]
        _draw_bars(axes, bars, levels, longest * _room(columns))
        name = f"bucket {bucket}" if partition in (None, "{}") else f"{partition} bucket {bucket}"
        axes.set_title(cut_text(printable(name), 34), loc="left", fontsize=9)
    for axes in list(grid.flat)[len(places) :]:
        axes.set_axis_off()
    _legend(figure, view, f"Each bar is a level of a bucket, all on one scale; together {_totals(view)}.")


def _draw_sums(figure: SubFigure, view: TableView) -> None:
    """All buckets: bytes by level on the left, how many sorted runs the buckets have on the right."""
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    levels = [level.level for level in view.facts.stored.levels]
    bars = []
    for level in view.facts.stored.levels:
        buckets = view.runs.filter(pc.equal(view.runs.column("level"), level.level)).group_by(["partition", "bucket"])
        inside = f"in {count_text(buckets.aggregate([]).num_rows, 'bucket')}"
        bars.append(
            _Bar(level.level, [level.bytes], f"{count_text(level.files, 'file')} {inside}, {size_text(level.bytes)}")
        )
    _draw_bars(left, bars, levels, max(level.bytes for level in view.facts.stored.levels) * 1.75)
    buckets = count_text(view.facts.stored.buckets, "bucket")
    left.set_title(f"levels of {buckets} together: {_totals(view)}", loc="left", fontsize=10)
    _draw_run_counts(right, view)
    _legend(figure, view, "Each bar is a level of all buckets.")


def _draw_run_counts(axes: Axes, view: TableView) -> None:
    trigger = view.facts.trigger
    runs = view.runs.group_by(["partition", "bucket"]).aggregate([("level", "count")]).column("level_count")
    counts = Counter(runs.to_pylist())
    numbers = sorted(counts)
    colours = [CROWDED if number >= trigger else shade(1, 1) for number in numbers]
    bars = axes.bar(numbers, [counts[number] for number in numbers], color=colours, edgecolor="white", width=0.9)
    for bar, number in zip(bars, numbers, strict=True):
        bar.set_hatch("//" if number >= trigger else "")
    if len(numbers) <= 20:
        axes.bar_label(bars, fontsize=LABEL, padding=2)
    axes.axvline(trigger - 0.5, color=CROWDED, linestyle="--", linewidth=1)
    axes.margins(y=0.2)
    axes.text(
        trigger - 0.5, 0.98, f" {trigger} start a compaction ", color=CROWDED, fontsize=LABEL, va="top",
        transform=axes.get_xaxis_transform(), ha="left" if trigger < max(numbers) else "right",
    )  # fmt: skip
    axes.set_xlim(0.4, max(numbers[-1], trigger) + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("sorted runs of a bucket", fontsize=LABEL)
    axes.set_ylabel("buckets", fontsize=LABEL)
    axes.set_title("sorted runs that a read merges", loc="left", fontsize=10)
    clear(axes)


def _draw_bars(axes: Axes, bars: Sequence[_Bar], levels: Sequence[int], longest: float) -> None:
    for place, bar in enumerate(bars):
        colour = WAITING if bar.level == 0 else shade(bar.level, max(levels))
        hatch = "//" if bar.level == 0 and sum(bar.sizes) > longest * _NARROW else ""
        begin = 0.0
        for size in bar.sizes:
            width = max(size, longest * _NARROWEST / len(bar.sizes))
            edge = "white" if width > longest * _NARROWEST else colour
            axes.barh(place, width, left=begin, height=0.7, color=colour, hatch=hatch, edgecolor=edge, linewidth=0.7)
            begin += width
        axes.text(begin + longest * 0.012, place, bar.label, va="center", fontsize=LABEL)
    axes.set_yticks(range(len(levels)), [f"L{level}" for level in levels])
    axes.set_ylim(len(levels) - 0.4, -0.6)
    axes.set_xlim(0, longest)
    axes.set_xticks([])  # each bar says how long it is
    clear(axes)
    axes.spines["bottom"].set_visible(False)


def _bar(runs: pa.Table, level: int) -> _Bar:
    here = runs.filter(pc.equal(runs.column("level"), level))
    sizes = sorted(_values(here, "bytes"), reverse=True)
    files = sum(_values(here, "files"))
    label = f"{count_text(files, 'file')}, {size_text(sum(sizes))}" if sizes else ""
    return _Bar(level, sizes if len(sizes) <= _SEGMENTS else [sum(sizes)], label)


def _totals(view: TableView) -> str:
    stored = view.facts.stored
    return f"{count_text(stored.files, 'file')}, {size_text(stored.bytes)}"


def _legend(figure: SubFigure, view: TableView, words: str) -> None:
    levels = [level.level for level in view.facts.stored.levels]
    shown: list[Any] = []
    if 0 in levels:
        shown.append(
            Patch(
                facecolor=WAITING,
                hatch="//",
                edgecolor="white",
                label="level 0: files waiting for compaction, each a sorted run",
            )
        )
    upper = [level for level in levels if level]
    if upper:
        shown.append(Patch(color=shade(upper[-1], upper[-1]), label="higher levels: one sorted run of a bucket each"))
    figure.legend(handles=shown, title=words, title_fontsize=LABEL, fontsize=LABEL, loc="outside lower left", ncols=2,
                  frameon=False, alignment="left")  # fmt: skip


def _room(columns: int) -> float:
    """How much longer than the longest bar an axis is, for the label beside it."""
    return {1: 1.2, 2: 1.45, 3: 1.7}.get(columns, 2.1)


def _say(figure: SubFigure, words: str) -> None:
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.text(0.5, 0.5, words, ha="center", va="center", fontsize=14, color="gray")


def is_few(view: TableView) -> bool:
    """True if the buckets are drawn one by one."""
    return view.facts.stored.buckets <= FEW


def _total(runs: pa.Table, by: Sequence[str]) -> list[int]:
    return _values(runs.group_by(list(by)).aggregate([("bytes", "sum")]), "bytes_sum")


def _values(table: pa.Table, name: str) -> list[Any]:
    return table.column(name).to_pylist()  # type: ignore[no-any-return]  # pyarrow has no types


@dataclass(frozen=True)
class PartitionRuns:
    """A partition, and the sorted runs of the bucket that has most of them."""

    name: str
    runs: int


def runs_of_partitions(runs: pa.Table) -> list[PartitionRuns]:
    """In the order of their values as text. runs: see sorted_runs."""
    buckets = runs.group_by(["partition", "directory", "bucket"]).aggregate([("level", "count")])
    most = buckets.group_by("partition").aggregate([("level_count", "max")]).sort_by("partition")
    pairs = zip(most.column("partition").to_pylist(), most.column("level_count_max").to_pylist(), strict=True)
    return [PartitionRuns((name or "").strip("{}"), number) for name, number in pairs]


def partitions_inches(found: Sequence[PartitionRuns]) -> float:
    """How high the drawing is."""
    return 0.95 if len(found) > 1 else 0.0


def draw_partitions(figure: SubFigure, found: Sequence[PartitionRuns], trigger: int) -> None:
    """A strip with a field for each partition, darker with its runs; those that are due for a compaction stand out.

    trigger: sorted runs of a bucket that start a compaction.
    """
    shown = found[-_SHOWN:]
    blues: list[Any] = [matplotlib.colormaps["Blues"](0.15 + 0.75 * n / max(trigger - 1, 1)) for n in range(trigger)]
    axes = figure.add_subplot()
    values = [[min(partition.runs, trigger) for partition in shown]]
    axes.pcolormesh(values, cmap=ListedColormap([*blues, CROWDED]), vmin=0, vmax=trigger, edgecolors="white")
    if len(shown) <= _SHOWN // 2:
        for place, partition in enumerate(shown):
            colour = "white" if partition.runs > trigger / 2 else "black"
            axes.text(place + 0.5, 0.5, str(partition.runs), ha="center", va="center", fontsize=LABEL, color=colour)
    step = -(-len(shown) // _NAMES)
    places = range(0, len(shown), step)
    names = [cut_text(printable(shown[place].name), _NAME) for place in places]
    axes.set_xticks([place + 0.5 for place in places], names)
    axes.set_yticks([])
    axes.tick_params(length=0)
    clear(axes)
    axes.spines[["left", "bottom"]].set_visible(False)
    some = "" if len(shown) == len(found) else f" (the last {len(shown)} of {len(found):,})"
    axes.set_title(f"most sorted runs of a bucket, by partition{some}", loc="left", fontsize=10)


def shade(level: int, top: int) -> Any:
    """Blue, darker with the level."""
    return matplotlib.colormaps["Blues"](0.45 + 0.5 * level / max(top, 1))


def clear(axes: Axes) -> None:
    """Labels are small, and only the sides with ticks have a line."""
    axes.tick_params(labelsize=LABEL)
    axes.spines[["top", "right"]].set_visible(False)
