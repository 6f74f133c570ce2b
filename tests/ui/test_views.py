"""The values that the page draws are those of the table."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from support.tables.files_by_hand import added, file, plain_table

from paimon_spark import create_table, open_catalog, open_table
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import OptionError, TableNotFound
from paimon_spark.format.rules.object_tables import object_table_schema
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.ui import views
from paimon_spark.ui.source import Place


@pytest.fixture
def orders(lake: Path) -> Place:
    return Place(f"{lake}/shop.db/orders", {})


def test_a_line_of_the_list(orders: Place, lake: Path) -> None:
    found = views.summary(orders)
    assert (found["engine"], found["primary_keys"], found["columns"]) == ("deduplicate", ("id", "day"), 3)
    assert (found["snapshot"]["id"], found["snapshot"]["rows"]) == (
        6,
        17,
    )  # the deletion wrote a row for each of two keys
    nothing = views.summary(Place(f"{lake}/shop.db/nothing", {}))
    assert (nothing["engine"], nothing["snapshot"]) == (None, None)
    with pytest.raises(TableNotFound):
        views.summary(Place(f"{lake}/shop.db/other", {}))


def test_overview_has_a_bar_for_each_sorted_run(orders: Place) -> None:
    found = views.overview(orders)
    assert found["facts"]["snapshots"] == 6
    assert [tag["name"] for tag in found["facts"]["tags"]] == ["first"]
    assert any("5 sorted runs or more" in problem for problem in found["problems"])
    files = open_table(orders.location).system_table("files").to_arrow()
    assert sum(found["runs"]["bytes"]) == sum(files.column("file_size_in_bytes").to_pylist())
    assert len(found["runs"]["bucket"]) == files.num_rows  # all are in level 0
    assert found["runs"]["buckets"] == len(set(found["runs"]["bucket"]))


def test_runs_of_the_buckets_with_most(orders: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "PLACES", 1)
    runs = views.overview(orders)["runs"]
    assert (runs["shown"], len(set(runs["bucket"]))) == (1, 1)
    assert len(runs["bucket"]) == 5
    assert runs["buckets"] > 1


def test_history_ends_with_the_newest_snapshot(orders: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    found = views.history(orders)
    assert (found["snapshots"], found["snapshot_id"]) == (6, [1, 2, 3, 4, 5, 6])
    assert found["total_record_count"][:2] == [3, 6]
    monkeypatch.setattr(views, "SNAPSHOTS", 2)
    found = views.history(orders)
    assert (found["snapshots"], found["snapshot_id"]) == (6, [5, 6])


def test_files_name_their_partition_by_number(orders: Place) -> None:
    found = views.files(orders)
    rows = open_table(orders.location).system_table("files").to_arrow().to_pylist()
    assert [found["partitions"][code] for code in found["partition"]] == [row["partition"] for row in rows]
    assert found["record_count"] == [row["record_count"] for row in rows]


def test_files_are_counted_where_there_are_too_many_to_draw_each(lake: Path) -> None:
    found = views.files(Place(f"{lake}/shop.db/many", {}))
    rows = open_table(f"{lake}/shop.db/many").system_table("files").to_arrow().to_pylist()
    assert len(rows) == views.FILES + 1
    for at, level in enumerate(found["levels"]["level"]):
        mine = [row for row in rows if row["level"] == level]
        assert found["levels"]["files"][at] == len(mine)
        assert found["levels"]["bytes"][at] == sum(row["file_size_in_bytes"] for row in mine)
        assert found["levels"]["rows"][at] == sum(row["record_count"] for row in mine)
    cells = found["cells"]
    edges = [datetime.fromisoformat(text) for text in cells["times"]]
    timed = [row for row in rows if row["creation_time"] is not None]
    assert cells["without_time"] == len(rows) - len(timed) == 1
    assert sum(map(sum, cells["files"])) == len(timed)
    assert (edges[0], edges[-1]) == (timed[0]["creation_time"], timed[-1]["creation_time"])
    for (low, high), counts in zip(pairwise(cells["powers"]), cells["files"], strict=True):
        mine = [row["creation_time"] for row in timed if 2**low <= row["file_size_in_bytes"] < 2**high]
        half = len(edges) // 2
        assert sum(counts) == len(mine)
        assert sum(counts[:half]) == sum(time < edges[half] for time in mine)


@pytest.mark.parametrize("moments", [[0], [-1], [1_700_000_000_000], [-150, 0, 49], [-(10**12), 10**12]], ids=str)
def test_each_cell_has_a_width_and_holds_what_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moments: list[int]
) -> None:
    """A job that copies a table gives all files one time, and the page draws nothing of a cell without a width."""
    monkeypatch.setattr(views, "FILES", 0)
    table = plain_table(tmp_path / "t")
    files = [file(f"f-{n}.parquet", creation_time=moment)._replace(file_size=n) for n, moment in enumerate(moments)]
    TableCommit(table, "test").append([added(*files)])
    cells = views.files(Place(table.location, {}))["cells"]
    edges = [datetime.fromisoformat(text) for text in cells["times"]]
    assert all(low < high for low, high in pairwise(edges))
    times = [datetime(1970, 1, 1) + timedelta(milliseconds=moment) for moment in moments]
    assert edges[-1] == max(times)
    held = [sum(column) for column in zip(*cells["files"], strict=True)]
    below = [sum(held[:at]) for at in range(len(held))]
    assert below == [sum(time < edge for time in times) for edge in edges[:-1]]
    assert sum(held) == len(moments)


def test_partitions_beyond_the_largest_are_summed(orders: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = views.partitions(orders)
    assert (whole["count"], whole["others"]["partitions"]) == (3, 0)
    assert whole["file_size_in_bytes"] == sorted(whole["file_size_in_bytes"], reverse=True)
    monkeypatch.setattr(views, "PLACES", 1)
    found = views.partitions(orders)
    assert found["partition"] == whole["partition"][:1]
    assert found["others"] == {
        "partitions": 2,
        **{name: sum(whole[name][1:]) for name in ("record_count", "file_size_in_bytes", "file_count")},
    }


def test_a_compaction_does_what_was_shown(tmp_path: Path) -> None:
    table = create_table(tmp_path / "t", {"id": "INT", "n": "INT"}, "id", options={"bucket": "2", "write-only": "true"})
    for step in range(6):
        table.append({"id": list(range(10)), "n": [step] * 10})
    found = views.compaction(Place(str(tmp_path / "t"), {}), True)
    assert found["tasks"] == len(found["bucket"]) == 2
    assert table.system_table("snapshots").count() == 6, "nothing was compacted"
    result = table.compact()
    assert (result.buckets, result.files_before, result.rows_before) == (2, found["files"], sum(found["task_rows"]))
    assert views.compaction(Place(str(tmp_path / "t"), {}), True)["tasks"] == 0


def test_changes_are_texts_since_a_browser_rounds_large_integers(orders: Place) -> None:
    found = views.changes(orders, "first", "5")
    assert found["columns"] == ["id", "day", "note"]
    assert {"change": "changed", "row": [str(2**60 + 1), "a", "note 4"], "before": [str(2**60 + 1), "a", "note 1"]} in (
        found["rows"]
    )
    assert found["shown"] == found["differ"] == 7  # one changed, and two keys added by each of three commits
    with pytest.raises(OptionError, match="is neither a tag of the table"):
        views.changes(orders, "zeroth", "5")


def test_no_more_changes_than_the_page_shows(orders: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "CHANGES", 2)
    found = views.changes(orders, "0", "5")
    assert (found["shown"], len(found["rows"])) == (2, 2)
    assert found["differ"] > 2


def test_a_table_without_snapshots(lake: Path) -> None:
    place = Place(f"{lake}/shop.db/nothing", {})
    assert views.files(place)["record_count"] == []
    assert views.partitions(place)["count"] == 0
    assert views.history(place)["snapshots"] == 0
    assert views.overview(place)["runs"]["buckets"] == 0
    assert views.compaction(place, True)["tasks"] == 0


def test_an_object_table_has_files_and_no_snapshots(tmp_path: Path) -> None:
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/c.db", "warehouse": str(tmp_path / "lake")}
    catalog = open_catalog(options)
    catalog.create_database("d")
    name = Identifier("d", "photos")
    catalog.create_table(name, object_table_schema("d.photos", (), {"type": "object-table"}, None))
    place = Place(catalog.table_location(name), {})
    before = views.overview(place)["object_table"]
    (Path(place.location) / "a.txt").write_text("12345")
    found = views.overview(place)["object_table"]
    assert (found["files"], found["bytes"]) == (before["files"] + 1, before["bytes"] + 5)
    assert views.summary(place)["kind"] == "object-table"


def test_all_values_are_json(orders: Place) -> None:
    for view in (views.summary, views.overview, views.history, views.files, views.partitions):
        json.dumps(view(orders), allow_nan=False)
