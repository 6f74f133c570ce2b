"""Snapshots, tags and branches on a time line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.lines import Line2D

from paimon_spark.cli.facts import TableView, TagFacts
from paimon_spark.cli.texts import count_text, cut_text, printable
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.storage.local_time import iso_time
from paimon_spark.store.storage.parallel import map_parallel

_LANE = 0.42  # inches
_TAG_ROWS = 0.8
_LABEL = 8
_BRANCHES = 8  # of more only the number is shown
_TAGS = 16  # the newest ones
_MARKS = {
    CommitKind.APPEND: ("o", "#0072B2", "append"),
    CommitKind.COMPACT: ("s", "#009E73", "compaction"),
    CommitKind.OVERWRITE: ("^", "#D55E00", "overwrite"),
    CommitKind.ANALYZE: ("D", "#CC79A7", "statistics"),
}
_TAG = "#000000"
_APART = 8.0  # dots between names
_TIMES = 9  # are shown below the lanes
_NUMBERS = 24  # of snapshots are shown in a lane
_MARK = 34.0  # square points
_CROWD = 90  # snapshots in a lane whose marks do not touch; those of more are smaller

Event: TypeAlias = tuple[int, int]
"""A snapshot on the time line: epoch millis, id."""


@dataclass(frozen=True)
class Lanes:
    """What is drawn: the snapshots of the table, and of its other branches.

    Attributes:
        own: of the branch that is looked at.
        branches: by name.
        left_out: how many branches more there are.
    """

    own: tuple[Snapshot, ...]
    branches: dict[str, tuple[Snapshot, ...]]
    left_out: int


def lanes_of(view: TableView) -> Lanes:
    """Reads the snapshots."""
    table = view.table
    names = [name for name in view.facts.branches if name != table.branch]
    stores = {name: SnapshotStore(table.file_io, table.location, name) for name in names[:_BRANCHES]}
    branches = {name: _snapshots(store) for name, store in stores.items()}
    return Lanes(_snapshots(table.snapshots), branches, max(0, len(names) - _BRANCHES))


def _snapshots(store: SnapshotStore) -> tuple[Snapshot, ...]:
    return tuple(snapshot for snapshot in map_parallel(store.find, store.ids()) if snapshot is not None)


def time_inches(view: TableView, lanes: Lanes) -> float:
    """How high the drawing is."""
    return 1.4 + _LANE * len(lanes.branches) + (_TAG_ROWS if view.facts.tags else 0)


def draw_time_line(figure: SubFigure, view: TableView, lanes: Lanes) -> Axes | None:
    """One lane a branch, its snapshots as marks; above the first one is room for tags. None: there is nothing.

    The snapshots are as far apart as their numbers, with their times below: those of one minute are distinct, and a
    pause of a night takes no room.
    """
    axes = figure.add_subplot()
    events = events_of(view, lanes)
    if not events:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "no snapshots", ha="center", va="center", fontsize=14, color="gray")
        return None
    rows = [(view.facts.branch, lanes.own), *lanes.branches.items()]
    for place, (_, snapshots) in enumerate(rows):
        _draw_lane(axes, -place, snapshots, events)
        if place:
            _draw_fork(axes, -place, snapshots, lanes.own, events)
    names = [name if lane else f"{name} (empty)" for name, lane in rows]
    axes.set_yticks([-place for place in range(len(rows))], [cut_text(printable(name), 24) for name in names])
    axes.set_xlim(-0.6 - len(events) * 0.01, len(events) - 0.4 + len(events) * 0.01)
    _label_times(axes, list(events))
    axes.tick_params(labelsize=_LABEL)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_title(_title(view, lanes), loc="left", fontsize=10)
    _legend(figure, [s for _, lane in rows for s in lane], bool(view.facts.tags))
    axes.set_ylim(0.2 - len(rows), 0.5)
    return axes


def events_of(view: TableView, lanes: Lanes) -> Mapping[Event, int]:
    """Where on the time line each snapshot is that a lane or a tag shows; one that two lanes have is one."""
    shown = {_event(snapshot) for lane in (lanes.own, *lanes.branches.values()) for snapshot in lane}
    tagged = {_tagged(tag) for tag in view.facts.tags[-_TAGS:]}
    return {event: place for place, event in enumerate(sorted(shown | tagged))}


def _label_times(axes: Axes, events: Sequence[Event]) -> None:
    """The times of some snapshots, so far apart that they can be read; the date where it is another one."""
    places = _spread(range(len(events)), len(events) / _TIMES)
    times = [datetime.fromisoformat(iso_time(events[place][0])).replace(tzinfo=None) for place in places]
    minutes = [f"{time:%Y-%m-%d %H:%M}" for time in times]
    form = "%H:%M" if len(set(minutes)) == len(minutes) else "%H:%M:%S"
    texts = []
    for number, time in enumerate(times):
        is_new = number == 0 or time.date() != times[number - 1].date()
        texts.append(f"{time:{form}}\n{time:%Y-%m-%d}" if is_new else f"{time:{form}}")
    axes.set_xticks(places, texts)


def _draw_lane(axes: Axes, y: float, snapshots: Sequence[Snapshot], events: Mapping[Event, int]) -> None:
    if not snapshots:
        return
    places = [events[_event(snapshot)] for snapshot in snapshots]
    axes.plot([min(places), max(places)], [y, y], color="lightgray", linewidth=2, zorder=1)
    size = _MARK * min(1.0, _CROWD / len(events))
    for kind, (marker, colour, _) in _MARKS.items():
        chosen = [place for place, snapshot in zip(places, snapshots, strict=True) if snapshot.commit_kind == kind]
        axes.scatter(chosen, [y] * len(chosen), marker=marker, color=colour, s=size, alpha=0.85, zorder=2)
    ids = {events[_event(snapshot)]: snapshot.id for snapshot in snapshots}
    for place in _spread(sorted(ids), len(events) / _NUMBERS):
        axes.annotate(
            str(ids[place]), (place, y), xytext=(0, -7), textcoords="offset points", ha="center", va="top",
            fontsize=_LABEL - 1, color="dimgray", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip


def _draw_fork(
    axes: Axes, y: float, snapshots: Sequence[Snapshot], own: Sequence[Snapshot], events: Mapping[Event, int]
) -> None:
    """A branch that began with a snapshot of the table hangs on it."""
    if snapshots and any(_event(snapshot) == _event(snapshots[0]) for snapshot in own):
        place = events[_event(snapshots[0])]
        axes.plot([place, place], [0, y], color="gray", linestyle=":", linewidth=1.2, zorder=0)


def _spread(places: Sequence[int], apart: float) -> list[int]:
    """The first and the last of ascending places, and of those between as many as are so far apart."""
    chosen: list[int] = []
    for place in places:
        if not chosen or place - chosen[-1] >= apart:
            chosen.append(place)
    if chosen[-1] != places[-1]:
        kept = chosen[:-1] if len(chosen) > 1 and places[-1] - chosen[-1] < apart else chosen
        chosen = [*kept, places[-1]] if places[-1] - kept[-1] >= apart else kept
    return chosen


def draw_tags(axes: Axes, view: TableView, events: Mapping[Event, int]) -> None:
    """Names above the lane of the table, so high that they meet no other and no stem. The axes have their place.

    A name stands to the right of its stem: the stems of later tags that it would meet must be lower.
    """
    tags = sorted(view.facts.tags[-_TAGS:], key=_tagged, reverse=True)
    places = [float(events[_tagged(tag)]) for tag in tags]
    texts = [axes.text(x, 0, f"  {cut_text(printable(tag.name), 28)}") for tag, x in zip(tags, places, strict=True)]
    for text in texts:
        text.set(fontsize=_LABEL, color=_TAG, va="center")
    widths = [text.get_window_extent().width + _APART for text in texts]
    left, right = axes.get_xlim()
    whole = axes.bbox.width
    right = max(right, *(left + (x - left) * whole / (whole - width) for x, width in zip(places, widths, strict=True)))
    axes.set_xlim(left, right)  # the last name has room
    per_dot = (right - left) / whole
    rows: list[int] = []
    for number, (x, width, text) in enumerate(zip(places, widths, texts, strict=True)):
        met = [rows[i] for i in range(number) if places[i] <= x + width * per_dot]
        rows.append(max(met, default=-1) + 1)
        y = 0.8 + 0.6 * rows[-1]
        text.set_y(y)
        axes.plot([x, x], [0, y], color=_TAG, linewidth=0.8, zorder=0)
        axes.scatter([x], [y], marker="D", color=_TAG, s=12, zorder=2)
    axes.set_ylim(axes.get_ylim()[0], 1.2 + 0.6 * max(rows))


def _legend(figure: SubFigure, shown: Sequence[Snapshot], has_tags: bool) -> None:
    kinds = {snapshot.commit_kind for snapshot in shown}
    handles = [
        Line2D([], [], linestyle="", marker=marker, color=colour, markersize=6, label=f"{name} snapshot")
        for kind, (marker, colour, name) in _MARKS.items()
        if kind in kinds
    ]
    if has_tags:
        handles.append(Line2D([], [], linestyle="", marker="D", color=_TAG, markersize=3.5, label="tag"))
    figure.legend(handles=handles, fontsize=_LABEL, loc="outside lower left", ncols=len(handles), frameon=False)


def _title(view: TableView, lanes: Lanes) -> str:
    facts = view.facts
    parts = [count_text(facts.snapshots, "snapshot")]
    if facts.tags:
        parts.append(count_text(len(facts.tags), "tag"))
        parts += [f"the newest {_TAGS} shown"] if len(facts.tags) > _TAGS else []
    if facts.branches:
        parts.append(count_text(len(facts.branches), "branch", "branches"))
        parts += [f"{lanes.left_out} not shown"] if lanes.left_out else []
    return "time line: " + ", ".join(parts)


def _event(snapshot: Snapshot) -> Event:
    return snapshot.time_millis, snapshot.id


def _tagged(tag: TagFacts) -> Event:
    return round(datetime.fromisoformat(tag.snapshot.time).timestamp() * 1000), tag.snapshot.id
