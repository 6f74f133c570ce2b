"""Where reads have most to merge: the sorted runs of each partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import pyarrow as pa
from matplotlib.colors import ListedColormap
from matplotlib.figure import SubFigure

from paimon_spark.cli.picture.style import CROWDED, LABEL, clear
from paimon_spark.cli.texts import cut_text, printable

_SHOWN = 120
"""Partitions, the last ones by their values: those of dates that are written to."""

_NAMES = 8
_NAME = 16  # characters


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
