"""Snapshots, tags and branches on a time line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import SubFigure
from matplotlib.lines import Line2D

from paimon_spark.cli.facts import TableView
from paimon_spark.cli.texts import count_text, cut_text, printable
from paimon_spark.spec.snapshot import CommitKind, Snapshot
from paimon_spark.store.local_time import iso_time
from paimon_spark.store.snapshots import SnapshotStore
from paimon_spark.store.threads import in_threads

_LANE = 0.42  # inches
_TAG_ROWS = 0.8
_LABEL = 8
_BRANCHES = 8  # of more only the number is told
_TAGS = 16  # the newest ones
_MARKS = {
    CommitKind.APPEND: ("o", "#0072B2", "append"),
    CommitKind.COMPACT: ("s", "#009E73", "compaction"),
    CommitKind.OVERWRITE: ("^", "#D55E00", "overwrite"),
    CommitKind.ANALYZE: ("D", "#CC79A7", "statistics"),
}
_TAG = "#000000"
_APART = 8.0  # dots between names


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
    return tuple(snapshot for snapshot in in_threads(store.find, store.ids()) if snapshot is not None)


def time_inches(view: TableView, lanes: Lanes) -> float:
    """How high the drawing is."""
    return 1.5 + _LANE * len(lanes.branches) + (_TAG_ROWS if view.facts.tags else 0)


def draw_time_line(figure: SubFigure, view: TableView, lanes: Lanes) -> Axes | None:
    """One lane a branch, its snapshots as marks; above the first one is room for tags. None: there is nothing."""
    axes = figure.add_subplot()
    shown = [snapshot for lane in (lanes.own, *lanes.branches.values()) for snapshot in lane]
    tags = view.facts.tags[-_TAGS:]
    times = [_time(s.time_millis) for s in shown] + [_moment(tag.snapshot.time) for tag in tags]
    if not times:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "no snapshots", ha="center", va="center", fontsize=14, color="gray")
        return None
    room = max((max(times) - min(times)) * 0.04, timedelta(milliseconds=20))
    axes.set_xlim(min(times) - room, max(times) + room)  # type: ignore[arg-type]  # matplotlib takes datetimes
    rows = [(view.facts.branch, lanes.own), *lanes.branches.items()]
    for place, (_, snapshots) in enumerate(rows):
        _draw_lane(axes, -place, snapshots)
        if place:
            _draw_fork(axes, -place, snapshots, lanes.own)
    names = [name if lane else f"{name} (empty)" for name, lane in rows]
    axes.set_yticks([-place for place in range(len(rows))], [cut_text(printable(name), 24) for name in names])
    axes.tick_params(labelsize=_LABEL)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    locator = AutoDateLocator(minticks=3, maxticks=8)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.xaxis.get_offset_text().set_fontsize(_LABEL)
    axes.set_title(_title(view, lanes), loc="left", fontsize=10)
    _legend(figure, shown, bool(tags))
    axes.set_ylim(0.4 - len(rows), 0.5)
    return axes


def _draw_lane(axes: Axes, y: float, snapshots: Sequence[Snapshot]) -> None:
    if not snapshots:
        return
    times = [_time(snapshot.time_millis) for snapshot in snapshots]
    axes.plot([times[0], times[-1]], [y, y], color="lightgray", linewidth=2, zorder=1)  # type: ignore[arg-type]
    for kind, (marker, colour, _) in _MARKS.items():
        chosen = [time for time, snapshot in zip(times, snapshots, strict=True) if snapshot.commit_kind == kind]
        axes.scatter(chosen, [y] * len(chosen), marker=marker, color=colour, s=34, alpha=0.85, zorder=2)  # type: ignore[arg-type]
    ends = {snapshots[0].id: times[0], snapshots[-1].id: times[-1]}
    for number, time in ends.items():
        axes.annotate(
            str(number), (date2num(time), y), xytext=(0, -7), textcoords="offset points", ha="center", va="top",
            fontsize=_LABEL - 1, color="dimgray",
        )  # fmt: skip


def _draw_fork(axes: Axes, y: float, snapshots: Sequence[Snapshot], own: Sequence[Snapshot]) -> None:
    """A branch that began with a snapshot of the table hangs on it."""
    if snapshots and any(s.id == snapshots[0].id and s.time_millis == snapshots[0].time_millis for s in own):
        time = _time(snapshots[0].time_millis)
        axes.plot([time, time], [0, y], color="gray", linestyle=":", linewidth=1.2, zorder=0)  # type: ignore[arg-type]


def draw_tags(axes: Axes, view: TableView) -> None:
    """Names above the lane of the table, so high that they meet no other and no stem. The axes have their place.

    A name stands to the right of its stem: the stems of later tags that it would meet must be lower.
    """
    tags = sorted(view.facts.tags[-_TAGS:], key=lambda tag: tag.snapshot.time, reverse=True)
    places = [date2num(_moment(tag.snapshot.time)) for tag in tags]
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
    told = [count_text(facts.snapshots, "snapshot")]
    if facts.tags:
        told.append(count_text(len(facts.tags), "tag"))
        told += [f"the newest {_TAGS} shown"] if len(facts.tags) > _TAGS else []
    if facts.branches:
        told.append(count_text(len(facts.branches), "branch", "branches"))
        told += [f"{lanes.left_out} not shown"] if lanes.left_out else []
    return "time line: " + ", ".join(told)


def _time(epoch_millis: int) -> datetime:
    """In the zone of the call."""
    return _moment(iso_time(epoch_millis))


def _moment(iso: str) -> datetime:
    return datetime.fromisoformat(iso).replace(tzinfo=None)
