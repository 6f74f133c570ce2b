"""What Flink leaves in a table beside rows: watermarks, tags by watermark, consumers, statistics, computed columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.oracles.checker import check_table
from support.tables.golden_tables import GoldenTable, golden_tables

from paimon_spark import open_table

WRITER = "flink-2.0.0"
TABLES = [table for table in golden_tables() if table.writer == WRITER]
STEP_MILLIS = 600_000  # of the time of neighbours in the source of stream_watermark
DELAY_MILLIS = 5_000  # of its watermark
BATCH = 2**63 - 1  # the identifier of a commit that belongs to no checkpoint


def unpacked(name: str, folder: Path) -> Any:
    return open_table(str(GoldenTable(WRITER, name).unpack(folder)))


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_tables_of_flink_are_whole_and_can_be_written_on(table: GoldenTable, tmp_path: Path) -> None:
    """`check` finds nothing, and a row of the table that is written again replaces what is there."""
    path = table.unpack(tmp_path)
    check_table(str(path))
    opened = open_table(str(path))
    row = opened.scan().to_arrow().slice(0, 1)
    opened.append(row)
    if not opened.schema.primary_keys:
        assert opened.scan().count() == len(table.expectation()["rows"]) + 1
    elif opened.schema.options.get("merge-engine", "deduplicate") in ("deduplicate", "first-row", "partial-update"):
        assert opened.scan().count() == len(table.expectation()["rows"])
    check_table(str(path))


def test_watermarks_of_a_stream(tmp_path: Path) -> None:
    """Each commit has that of its newest row, and a time leads to the first state behind it."""
    table = unpacked("stream_watermark", tmp_path)
    marks = table.system_table("snapshots", "watermark").to_arrow()["watermark"].to_pylist()
    assert marks == sorted(marks)
    assert len(set(marks)) == 4
    for mark in marks:
        options = {"scan.watermark": str(mark - 1)}
        rows = open_table(str(tmp_path / "stream_watermark"), options).scan().to_arrow()
        assert max(rows["n"].to_pylist()) == (mark + DELAY_MILLIS) // STEP_MILLIS


def test_tags_by_watermark(tmp_path: Path) -> None:
    """One for each hour that the watermark has passed; a row came every ten minutes."""
    table = unpacked("stream_watermark", tmp_path)
    names = table.system_table("tags", "tag_name").to_arrow()["tag_name"].to_pylist()
    assert names
    for name in names:
        hour = int(name.removeprefix("1970-01-01 "))
        rows = open_table(str(tmp_path / "stream_watermark"), {"scan.tag-name": name}).scan().to_arrow()
        assert max(rows["n"].to_pylist()) >= 6 * (hour + 1)


def commits(name: str, folder: Path) -> list[tuple[str, int, str, int | None]]:
    """Of each snapshot its kind, identifier, user and watermark."""
    table = unpacked(name, folder / name)
    snapshots = [table.snapshots.load(number) for number in range(1, table.snapshots.latest_id() + 1)]
    return [(one.commit_kind, one.commit_identifier, one.commit_user, one.watermark) for one in snapshots]


@pytest.mark.parametrize("name", ["stream_watermark", "dynamic_bucket"])
def test_checkpoints_are_the_identifiers_of_a_job(name: str, tmp_path: Path) -> None:
    """Features 12: one user, checkpoints from 1, and a last commit where the source ends."""
    found = commits(name, tmp_path)
    assert [identifier for _, identifier, *_ in found] == [1, 2, 3, 4, BATCH]
    assert len({user for _, _, user, _ in found}) == 1


def test_each_statement_in_batch_mode_is_a_user(tmp_path: Path) -> None:
    """Features 12."""
    found = commits("cl_none", tmp_path)
    assert {identifier for _, identifier, *_ in found} == {BATCH}
    assert len({user for _, _, user, _ in found}) == len(found)


@pytest.mark.parametrize("name", ["stream_aggregation", "stream_vectors"])
def test_a_checkpoint_of_a_writer_that_compacts_is_two_snapshots(name: str, tmp_path: Path) -> None:
    """Features 12."""
    kinds = [(kind, identifier) for kind, identifier, *_ in commits(name, tmp_path)]
    assert kinds[:6] == [(kind, checkpoint) for checkpoint in (1, 2, 3) for kind in ("APPEND", "COMPACT")]


def test_a_dedicated_compaction_is_a_user_of_its_own(tmp_path: Path) -> None:
    """Features 12."""
    found = commits("postpone", tmp_path)
    (compaction,) = [user for kind, _, user, _ in found if kind == "COMPACT"]
    assert compaction not in {user for kind, _, user, _ in found if kind == "APPEND"}


def test_a_commit_without_a_watermark_keeps_the_last_one(tmp_path: Path) -> None:
    """Features 12: the last snapshot is of INSERT OVERWRITE in batch mode; one without is the least number."""
    marks = [mark for *_, mark in commits("append_partitioned", tmp_path)]
    assert marks[-1] == marks[-2] == max(mark for mark in marks if mark is not None) > 0
    assert {mark for *_, mark in commits("cl_none", tmp_path)} == {None}
    stored = json.loads((tmp_path / "cl_none" / "cl_none" / "snapshot" / "snapshot-1").read_text())
    assert stored["watermark"] == -(2**63)


def test_the_consumer_of_a_stream(tmp_path: Path) -> None:
    table = unpacked("tags_branches", tmp_path)
    (consumer,) = table.system_table("consumers").to_arrow().to_pylist()
    assert consumer["consumer_id"] == "c1"
    path = tmp_path / "tags_branches" / "consumer" / "consumer-c1"
    assert consumer["next_snapshot_id"] == json.loads(path.read_text())["nextSnapshot"]


def test_statistics_of_analyze(tmp_path: Path) -> None:
    (told,) = unpacked("tags_branches", tmp_path).system_table("statistics").to_arrow().to_pylist()
    assert told["mergedRecordCount"] == 4
    columns = json.loads(told["colstat"])
    assert columns["k"]["min"] == "1"
    assert columns["k"]["max"] == "4"


def test_names_and_comments_of_a_table_with_a_computed_column(tmp_path: Path) -> None:
    """The computed column and the watermark are options; a change of the schema by us keeps them."""
    table = unpacked("upper_case", tmp_path)
    assert [(f.name, f.description) for f in table.schema.fields] == [
        ("ID", "the key"),
        ("Name", "of a person"),
        ("at", None),
    ]
    before = {key: value for key, value in table.schema.options.items() if key.startswith("schema.")}
    assert any("UPPER" in value.upper() for value in before.values())
    with table.update_schema() as change:
        change.add_column("note", "STRING")
    table = open_table(str(tmp_path / "upper_case"))
    assert {key: value for key, value in table.schema.options.items() if key.startswith("schema.")} == before


def test_postponed_rows_come_with_a_compaction(tmp_path: Path) -> None:
    table = unpacked("postpone", tmp_path)
    table.compact()
    rows = {row["k"]: (row["v"], row["d"]) for row in table.scan().to_arrow().to_pylist()}
    assert rows == {1: ("a2", 11.5), 2: ("b", 2.5), 3: ("c3", 33.5), 4: ("d", 4.5), 5: (None, None)}
    check_table(str(tmp_path / "postpone"))
