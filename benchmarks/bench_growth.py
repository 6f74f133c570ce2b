"""How work on one table grows with its rows, files, snapshots, partitions, buckets and columns, here and in Java 2.0.0.

Each measurement is made in a process of its own, so that its peak of memory is its own too. A work that takes longer
than LIMIT ends its curve. Curves are of processor time, which other work on the machine changes little; the seconds are
kept beside it. The part writes ``growth.json``, ``growth.md`` and ``growth.svg`` beside its tables.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import shutil
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from growth_session import JAVA, answer
from measure import Results

LIMIT, MAKING, WAITED = 600, 1800, 2400
"""Processor seconds for a measurement, and for the making of a table; seconds for either."""
MINUTES = 60
BEND = 1.2
"""A curve whose last step is steeper than that on log-log paper bends upward."""
OURS, THEIRS = "ours", "java"
Curve = dict[int, tuple[float, int, float]]
"""By the size of a table: processor seconds, bytes of the peak, and seconds."""


@dataclass(frozen=True)
class Axis:
    """What grows.

    Attributes:
        points: sizes of the table.
        works: what is done, in this order, by the names of growth_session.
        where: the row or the partition that is looked up.
        is_spent: whether the works leave another table, so that Java gets one of its own.
    """

    points: tuple[int, ...]
    works: tuple[str, ...]
    where: str = ""
    is_spent: bool = False


AXES: Mapping[str, Axis] = {
    "files": Axis(
        (10, 100, 1000, 10_000, 100_000, 1_000_000),
        ("plan", "plan of a partition", "commit of a row"),
        "s2=category-0000",
    ),
    "snapshots": Axis(
        (10, 100, 1000, 10_000, 50_000), ("plan", "plan of a time", "commit of a row", "expire"), "", True
    ),
    "partitions": Axis(
        (1, 10, 100, 1000, 10_000, 100_000),
        ("plan", "plan of a partition", "commit of a row"),
        "s2=category-000000",
    ),
    "buckets": Axis((1, 10, 100, 1000, 10_000), ("plan", "row by its key", "all rows", "commit of a row"), "id=12345"),
    "columns": Axis((10, 100, 1000, 10_000), ("plan", "row by its key", "all rows", "commit of a row"), "id=123"),
    "rows": Axis(
        (1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000, 200_000_000),
        ("row by its key", "all rows", "commit of a row", "compact"),
        "id=123456",
    ),
}


@dataclass
class Growth:
    """What is measured so far.

    Attributes:
        curves: by axis, work and who does it.
        left_out: what is not measured, and why, in words.
    """

    curves: dict[tuple[str, str, str], Curve]
    left_out: list[str]


def session(who: str, what: str, path: str, more: str) -> Mapping[str, float] | str:
    """What a process of growth_session sends; or in words why it sends nothing. It has the imports from the start."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["growth_session"])
    here, there = context.Pipe(duplex=False)
    limit = MAKING if who == "make" else LIMIT
    process = context.Process(target=answer, args=(there, limit, who, what, path, more))
    process.start()
    there.close()
    try:
        found: Mapping[str, float] | str = here.recv() if here.poll(WAITED) else f"longer than {WAITED} s"
    except EOFError:
        process.join()
        limited = process.exitcode == -signal.SIGXCPU
        found = f"more than {limit} processor seconds" if limited else f"it ends with {process.exitcode}"
    process.kill()
    process.join()
    return found


def measure(growth: Growth, root: Path, scale: float, until: float) -> None:
    """All curves: ours first, small tables first, as far as time allows. A curve that fails has no further points."""
    ended: set[tuple[str, str, str]] = set()
    for who in (OURS, THEIRS):
        for name, point in _tables(scale):
            axis = AXES[name]
            works = [w for w in axis.works if (name, w, who) not in ended and (who == OURS or w in JAVA)]
            path = root / f"growth-{name}-{point}{'-java' * (axis.is_spent and who == THEIRS)}"
            if works and time.monotonic() > until:
                growth.left_out.append(f"{name} {point:,}, {who}: the time of the part is over")
                continue
            if works and not _is_made(path, name, point):
                growth.left_out.append(
                    f"{name} {point:,}, {who}: the table is not made with {MAKING} processor seconds"
                )
                continue
            for work in works:
                taken = session(who, work, str(path), axis.where)
                if isinstance(taken, str):
                    growth.left_out.append(f"{name} {point:,}, {work}, {who}: {taken}")
                    ended.add((name, work, who))
                    continue
                used, peak = taken["processor"], taken["peak"]
                growth.curves.setdefault((name, work, who), {})[point] = (used, int(peak), taken["seconds"])
                print(f"growth: {name} {point:,}, {work}, {who}: {used:.4f} s, {peak / 2**20:.0f} MB", flush=True)


def _tables(scale: float) -> list[tuple[str, int]]:
    """What grows, and how large it is: from the smallest tables of all kinds to the largest."""
    found = [
        (rank - len(axis.points), name, point)
        for name, axis in AXES.items()
        for rank, point in enumerate(axis.points)
        if rank == 0 or point <= max(axis.points) * scale
    ]
    return [(name, point) for _, name, point in sorted(found, key=lambda each: each[0])]


def _is_made(path: Path, name: str, point: int) -> bool:
    if (path / "snapshot").exists():
        return True
    shutil.rmtree(path, ignore_errors=True)
    return not isinstance(session("make", name, str(path), str(point)), str)


def slope(curve: Curve, what: int) -> float:
    """How steep the last step of a curve is on log-log paper: 1 is proportional.

    Args:
        what: 0 for the seconds, 1 for the memory.
    """
    (low, before), (high, after) = list(curve.items())[-2:]
    return math.log(after[what] / before[what]) / math.log(high / low)


def table(growth: Growth) -> str:
    """The curves as Markdown."""
    lines = [
        "| what grows | work | sizes | processor | last step | peak of memory | Java: processor | last step | peak |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (name, work, who), curve in growth.curves.items():
        if who == OURS:
            theirs = growth.curves.get((name, work, THEIRS), {})
            sizes = f"{min(curve):,} to {max(curve):,}"
            lines.append(f"| {name} | {work} | {sizes} | {_cells(curve)} | {_cells(theirs)} |")
    return "\n".join(lines) + "\n"


def _cells(curve: Curve) -> str:
    if len(curve) < 2:
        return " | | "
    (first, low, _), (last, high, _) = next(iter(curve.values())), list(curve.values())[-1]
    return f"{_seconds(first)} to {_seconds(last)} | {slope(curve, 0):.2f} | {low / 2**20:.0f} to {high / 2**20:.0f} MB"


def _seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def picture(growth: Growth, target: Path) -> None:
    """Small multiples on log-log paper: seconds above, memory below, a column for each axis."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "growth", "svg.fonttype": "none", "font.size": 8}
    from matplotlib import pyplot

    names = [name for name in AXES if any(key[0] == name for key in growth.curves)]
    works = list(dict.fromkeys(work for axis in AXES.values() for work in axis.works))
    colors = {work: f"C{number}" for number, work in enumerate(works)}
    figure, plots = pyplot.subplots(
        2, len(names), figsize=(2.7 * len(names), 5.6), squeeze=False, layout="constrained", sharey="row"
    )
    for column, name in enumerate(names):
        for (_, work, who), curve in ((k, c) for k, c in growth.curves.items() if k[0] == name):
            style = {"color": colors[work], "linestyle": "-" if who == OURS else ":", "marker": ".", "linewidth": 1}
            for row, factor in ((0, 1.0), (1, 2**-20)):
                values = [found[row] * factor for found in curve.values()]
                plots[row][column].loglog(list(curve), values, **style)
        plots[0][column].set_title(name)
        plots[1][column].set_xlabel(f"number of {name}")
        for row in (0, 1):
            plots[row][column].grid(alpha=0.3)
    plots[0][0].set_ylabel("processor seconds")
    plots[1][0].set_ylabel("peak of memory, MB")
    lines = [pyplot.Line2D([], [], color=color, label=work) for work, color in colors.items()]
    lines += [
        pyplot.Line2D([], [], color="grey", linestyle=s, label=n) for s, n in (("-", "this package"), (":", "Java"))
    ]
    figure.legend(handles=lines, loc="outside lower center", ncols=5)
    figure.savefig(target, metadata={"Date": None})
    pyplot.close(figure)


def report(results: Results, growth: Growth) -> None:
    for (name, work, who), curve in growth.curves.items():
        if who != OURS or len(curve) < 2:
            continue
        theirs = growth.curves.get((name, work, THEIRS), {})
        last = max(curve)
        java = f", Java {theirs[last][0]:.3f} s, {theirs[last][1] / 2**20:.0f} MB" if last in theirs else ""
        note = f"{last:,}: {curve[last][0]:.3f} s, {curve[last][1] / 2**20:.0f} MB{java}"
        results.lower(f"growth of {work} with {name}: slope of the last step", slope(curve, 0), "", BEND, note)


def run(results: Results, root: Path, scale: float) -> None:
    growth = Growth({}, [])
    directory = root / "growth"
    directory.mkdir(exist_ok=True)
    measure(growth, directory, scale, time.monotonic() + MINUTES * 60)
    shutil.rmtree(directory)
    found = {" / ".join(key): curve for key, curve in growth.curves.items()}
    (root / "growth.json").write_text(json.dumps({"curves": found, "left out": growth.left_out}, indent=1))
    (root / "growth.md").write_text(table(growth))
    picture(growth, root / "growth.svg")
    for line in growth.left_out:
        print(f"growth: left out: {line}")
    report(results, growth)
