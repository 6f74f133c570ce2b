"""``info --plot``: files of each format, and that no text lies on another or outside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import combinations, pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from support.faults.damage import edit_json, snapshot_file
from support.programs.command_line import command
from support.tables.compacted_tables import append, new_table
from support.tables.golden_tables import GoldenTable

from paimon_spark import open_table
from paimon_spark.cli.facts import TableView, view_table
from paimon_spark.cli.picture.draw import drawn
from paimon_spark.cli.picture.tree import PartitionRuns, draw_partitions, partitions_inches, runs_of_partitions
from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.history.tags import create_tag

HOUR = 3_600_000
BEGAN = 1_793_000_000_000
BAR = 0.7  # of a level, in rows


def busy(path: Path, buckets: int, commits: int = 8) -> Path:
    """Commits an hour apart, two levels, many tags at once, branches."""
    made = new_table(path, {"write-only": "true", "bucket": str(buckets)})
    for commit in range(commits):
        append(made, [(i * 7 + commit, i, "x" * 20) for i in range(40)])
        if commit == commits // 2:
            compact_table(open_table(str(path)), LocalRunner(1))
    table = open_table(str(path))
    for snapshot in table.snapshots.ids():
        edit_json(snapshot_file(path, snapshot), timeMillis=BEGAN + snapshot * HOUR)
    for snapshot in (1, 2, 3, 4, commits - 1, commits):
        create_tag(table, f"a-tag-with-a-long-name-{snapshot}", snapshot)
    create_tag(table, "newest")
    create_branch(table, "of-a-tag", "newest")
    create_branch(table, "empty")
    return path


def texts(figure: Figure) -> Iterator[Text]:
    for text in figure.findobj(Text):
        if isinstance(text, Text) and text.get_visible() and text.get_text().strip():
            yield text


def assert_readable(figure: Figure) -> None:
    """Axis labels of neighbouring axes that share them are hidden; all others must be alone where they are."""
    figure.draw_without_rendering()
    boxes = {text: text.get_window_extent() for text in texts(figure)}
    left_out = undrawn(figure)
    shown = {text: box for text, box in boxes.items() if box.width > 0 and text not in left_out}
    for text, box in shown.items():
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1, text
        assert box.y1 <= figure.bbox.y1 + 1, text
    for (one, first), (other, second) in combinations(shown.items(), 2):
        assert not first.padded(-1).overlaps(second.padded(-1)), f"{one} lies on {other}"


def undrawn(figure: Figure) -> set[Text]:
    """Matplotlib keeps texts of ticks beyond the limits of an axis, and does not draw them."""
    found: set[Text] = set()
    for axes in figure.axes:
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, sorted(axes.get_ylim()))):
            outside = [tick for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high]
            found.update(label for tick in outside for label in (tick.label1, tick.label2))
    return found


@pytest.mark.parametrize("buckets", [1, 5, 13])
def test_a_busy_table(tmp_path: Path, buckets: int) -> None:
    assert_readable(drawn(view_table(str(busy(tmp_path / "t", buckets)), {}, None)))


@pytest.mark.parametrize("name", ["tags_branches", "pk_part_buckets", "expire", "append_part", "blob", "postpone"])
def test_golden_tables(tmp_path: Path, name: str) -> None:
    assert_readable(drawn(view_table(str(GoldenTable("java-2.1", name).unpack(tmp_path)), {}, None)))


@pytest.mark.parametrize("keys", [("k",), ()])
def test_an_empty_table(tmp_path: Path, keys: tuple[str, ...]) -> None:
    new_table(tmp_path / "t", {"bucket": "1" if keys else "-1"}, keys)
    figure = drawn(view_table(str(tmp_path / "t"), {}, None))
    assert_readable(figure)
    assert {"no data files", "no snapshots"} <= {text.get_text() for text in texts(figure)}


def test_what_is_written(tmp_path: Path) -> None:
    figure = drawn(view_table(str(busy(tmp_path / "t", 1)), {}, None))
    words = {text.get_text().strip() for text in texts(figure)}
    assert {"L0", "L5", "bucket 0", "main", "of-a-tag", "empty (empty)", "newest", "a-tag-with-a-long-name-1"} <= words
    assert "time line: 9 snapshots, 7 tags, 2 branches" in words
    assert any(word.startswith("3 files, ") for word in words)
    assert f"{tmp_path.name}/t" in words


def test_the_head_says_what_to_do(tmp_path: Path) -> None:
    view = view_table(str(busy(tmp_path / "t", 1)), {}, None)
    calm = {text.get_text() for text in texts(drawn(view))}
    assert "nothing to do: 3 files in level 0, no bucket is due for a compaction" in calm
    advice = ("compact the table, it is due", "expire it")
    told = {text.get_text() for text in texts(drawn(replace(view, facts=replace(view.facts, problems=advice))))}
    assert "compact the table, it is due (and 1 more, see info)" in told
    long = replace(view, facts=replace(view.facts, problems=("word " * 200,), location="/" + "x" * 4000))
    assert_readable(drawn(long))


def sized(view: TableView, sizes: dict[int, int]) -> TableView:
    """As if the sorted runs of each level had so many bytes."""
    found = [sizes[level] for level in view.runs.column("level").to_pylist()]
    place = view.runs.schema.get_field_index("bytes")
    return replace(view, runs=view.runs.set_column(place, "bytes", pa.array(found, pa.int64())))


@pytest.mark.parametrize(("buckets", "size"), [(2, 1413), (3, 1205), (4, 976)])
def test_a_small_table(tmp_path: Path, buckets: int, size: int) -> None:
    """Bars of one length side by side, so long that an axis would end with a label that meets the next one."""
    table = new_table(tmp_path / "t", {"bucket": str(buckets), "write-only": "true"})
    append(table, [(i, i, "x" * 20) for i in range(40)])
    figure = drawn(sized(view_table(str(tmp_path / "t"), {}, None), {0: size}))
    assert_readable(figure)
    assert not [text for text in texts(figure) if re.fullmatch(r"[0-9.]+ (B|KiB)", text.get_text())]  # bars say it


def test_snapshots_of_one_minute_are_distinguished(tmp_path: Path) -> None:
    """Ten commits within a minute and one hours later: no mark lies on another, and numbers and times are there."""
    table = new_table(tmp_path / "t", {"write-only": "true"})
    for commit in range(11):
        append(table, [(commit, 0, "x")])
        time = BEGAN + commit * 5000 + (7 * HOUR if commit == 10 else 0)
        edit_json(snapshot_file(tmp_path / "t", commit + 1), timeMillis=time)
    figure = drawn(view_table(str(tmp_path / "t"), {}, None))
    assert_readable(figure)
    (marks,) = [found for found in figure.findobj(PathCollection) if len(found.get_offsets()) == 11]
    dots = sorted(float(x) for x, _ in marks.get_offset_transform().transform(marks.get_offsets()))
    wide = marks.get_sizes()[0] ** 0.5 * figure.dpi / 72
    assert all(right - left > wide for left, right in pairwise(dots))
    shown = {text.get_text() for text in texts(figure)}
    assert {str(number) for number in range(1, 12)} <= shown
    first, last = (datetime.fromtimestamp((BEGAN + millis) / 1000) for millis in (0, 50_000 + 7 * HOUR))
    assert f"{first:%H:%M:%S}\n{first:%Y-%m-%d}" in shown
    assert any(text.startswith(f"{last:%H:%M:%S}") for text in shown)


def test_a_level_that_is_tiny_is_seen(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"bucket": "4", "write-only": "true"})
    append(table, [(i, i, "x") for i in range(40)])
    compact_table(open_table(str(tmp_path / "t")), LocalRunner(1))
    append(table, [(i, i, "y") for i in range(40)])
    figure = drawn(sized(view_table(str(tmp_path / "t"), {}, None), {0: 10**9, 5: 1000}))
    figure.draw_without_rendering()
    bars = [bar for bar in figure.findobj(Rectangle) if bar.get_height() == BAR]
    assert len(bars) == 8
    for bar in bars:
        edge = bar.get_linewidth() * figure.dpi / 72 if to_hex(bar.get_edgecolor()) == "#ffffff" else 0
        assert bar.get_window_extent().width - edge >= 2  # dots that have a colour


def test_where_reads_merge_most(tmp_path: Path) -> None:
    """The strip of partitions against a count of the files by hand; files of level 0 are a sorted run each."""
    path = GoldenTable("java-2.1", "pk_part_buckets").unpack(tmp_path)
    view = view_table(str(path), {}, None)
    files = open_table(str(path)).system_table("files", ["partition", "bucket", "level", "file_path"]).to_arrow()
    runs: dict[str, dict[int, set[object]]] = {}
    for row in files.to_pylist():
        bucket = runs.setdefault(row["partition"].strip("{}"), {}).setdefault(row["bucket"], set())
        bucket.add(row["level"] or row["file_path"])
    expected = {name: max(map(len, buckets.values())) for name, buckets in runs.items()}
    assert len(expected) > 1
    found = runs_of_partitions(view.runs)
    assert {partition.name: partition.runs for partition in found} == expected
    assert [partition.name for partition in found] == sorted(expected)


@pytest.mark.parametrize("partitions", [2, 60, 61, 500])
def test_a_strip_of_partitions(partitions: int) -> None:
    found = [PartitionRuns(f"2026-11-01-and-a-long-name-{number}", number % 9) for number in range(partitions)]
    figure = Figure(figsize=(12, partitions_inches(found)), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    draw_partitions(figure.subfigures(1, 1), found, 5)
    assert_readable(figure)
    title = "most sorted runs of a bucket, by partition"
    some = " (the last 120 of 500)" if partitions == 500 else ""
    assert title + some in {text.get_text() for text in texts(figure)}


@pytest.mark.parametrize(("suffix", "begin"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_formats(tmp_path: Path, suffix: str, begin: bytes) -> None:
    append(new_table(tmp_path / "t"), [(1, 1, "x")])
    target = tmp_path / f"picture.{suffix}"
    printed = command("info", tmp_path / "t", "--plot", target)
    assert (printed.code, printed.err) == (0, f"drawn: {target}\n")
    assert target.read_bytes().startswith(begin)


@pytest.mark.parametrize("target", ["picture.doc", "picture", "nosuch/picture.png"])
def test_what_cannot_be_drawn(tmp_path: Path, target: str) -> None:
    append(new_table(tmp_path / "t"), [(1, 1, "x")])
    printed = command("info", tmp_path / "t", "--plot", tmp_path / target)
    assert printed.code == 2
    assert printed.err.startswith("paimon-spark info: ")
    assert printed.err.count("\n") == 1
