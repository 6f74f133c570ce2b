"""Emptying tables and partitions: which files leave, what the snapshot says (Java: BatchTableCommit.truncateTable)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from support.faults.faulty_store import FaultyFileIO
from support.oracles.checker import check_table
from support.tables.commit_states import delta, latest, live, with_rivals
from support.tables.compacting import make, rows_of, write
from support.tables.expiring import copied
from support.tables.files_by_hand import added, file, keyed_table, partition, plain_table

from paimon_spark.errors import OptionError, PaimonError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.manifest import IndexManifestEntry
from paimon_spark.store.clean.partition_expiry import expire_partitions
from paimon_spark.store.clean.truncate import (
    drop_partition_rows,
    drop_partitions,
    live_partitions,
    partition_columns,
    partition_rows,
    truncate_table,
)
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

X, Y, NULL = partition("x"), partition("y"), partition(None)
COLUMNS = pa.schema(
    [pa.field("k", pa.int32(), nullable=False), pa.field("dt", pa.string(), nullable=False), ("v", pa.int64())]
)


@pytest.fixture
def parts(tmp_path: Path) -> Table:
    table = keyed_table(tmp_path)
    new = [added(file(name, keys=(1, 1)), part=part, total=2) for name, part in (("x0", X), ("y0", Y), ("n0", NULL))]
    TableCommit(table, "0").append([*new, added(file("x1", 4, keys=(2, 2)), part=X, bucket=1, total=2)])
    return table


def test_truncating_a_table(parts: Table) -> None:
    metrics = truncate_table(parts)
    snapshot = latest(parts)
    assert live(parts) == set()
    assert (snapshot.commit_kind, snapshot.operation, snapshot.commit_identifier) == (
        "OVERWRITE",
        "TRUNCATE",
        2**63 - 1,
    )
    assert (snapshot.delta_record_count, snapshot.total_record_count) == (-34, 0)
    assert (metrics.snapshot_id, metrics.files, metrics.rows, metrics.bytes) == (2, 4, 34, 4034)
    assert metrics.partitions == ("partition part=__DEFAULT_PARTITION__", "partition part=x", "partition part=y")


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("part = 'x'", {"y0", "n0"}),
        ("part > 'x'", {"x0", "x1", "n0"}),
        ("part is null", {"x0", "x1", "y0"}),
        ("part in ('x', 'y')", {"n0"}),
        ("part is null or part = 'y'", {"x0", "x1"}),
        ("true", set()),
    ],
)
def test_dropping_partitions(parts: Table, where: str, left: set[str]) -> None:
    drop_partitions(parts, where)
    assert (live(parts), latest(parts).operation) == (left, "TRUNCATE")


@pytest.mark.parametrize("where", ["part = 'z'", "false"])
def test_nothing_to_drop_makes_no_snapshot(parts: Table, where: str) -> None:
    metrics = drop_partitions(parts, where)
    assert (metrics.snapshot_id, metrics.files, metrics.partitions, latest(parts).id) == (None, 0, (), 1)


def test_a_condition_that_is_missing_does_not_mean_all(parts: Table) -> None:
    with pytest.raises(OptionError, match=r"no condition is given; truncate\(\) takes all rows"):
        drop_partitions(parts, None)  # type: ignore[arg-type]
    assert len(live(parts)) == 4


def test_an_empty_table_stays(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    assert truncate_table(table).snapshot_id is None
    assert table.snapshots.latest() is None


def test_only_partition_columns(parts: Table) -> None:
    with pytest.raises(OptionError, match="id is no partition column"):
        drop_partitions(parts, "id = 1")
    assert len(live(parts)) == 4


def test_time_travel_is_refused(parts: Table) -> None:
    """Who opened an old state does not mean the rows of today."""
    old = open_table(parts.location, {"scan.snapshot-id": "1"})
    with pytest.raises(OptionError, match=r"'scan\.snapshot-id' chooses .* the latest snapshot is truncated: leave it"):
        truncate_table(old)
    with pytest.raises(OptionError, match="the latest snapshot is what partitions are dropped from"):
        drop_partitions(old, "p = 'a'")
    with pytest.raises(OptionError, match="the latest snapshot is what partitions are expired from"):
        expire_partitions(old, "1 d")


def test_index_files_of_the_partition_leave(parts: Table) -> None:
    def index(name: str, part: bytes) -> IndexManifestEntry:
        return IndexManifestEntry(0, part, 0, "HASH", name, 10, 1, None)

    for name, part in (("ix", X), ("iy", Y)):
        message = replace(added(part=part, total=2), index_entries=(index(name, part),))
        TableCommit(parts, name).append([message])
    drop_partitions(parts, "part = 'x'")
    assert [e.file_name for e in table_state(parts, latest(parts)).index_entries] == ["iy"]


def test_files_that_come_in_concurrently_leave_too(parts: Table) -> None:
    rival = TableCommit(parts, "rival")
    raced = with_rivals(
        parts,
        lambda: rival.append([added(file(n, keys=(9, 9)), part=p, total=2) for n, p in (("x2", X), ("y2", Y))]),
    )
    metrics = drop_partitions(raced, "part <= 'x'")
    assert live(parts) == {"y0", "y2", "n0"}
    assert (metrics.snapshot_id, metrics.files) == (3, 3)
    assert sorted(delta(parts)) == [("DELETE", "x0"), ("DELETE", "x1"), ("DELETE", "x2")]


def test_what_others_have_taken_away_concurrently_needs_no_snapshot(parts: Table) -> None:
    metrics = truncate_table(with_rivals(parts, lambda: truncate_table(parts)))
    assert (metrics.snapshot_id, metrics.files, metrics.partitions) == (None, 0, ())
    assert (latest(parts).id, live(parts)) == (2, set())


def test_whatever_fails_the_rows_are_there_or_gone(tmp_path: Path) -> None:
    whole = make(tmp_path / "whole", COLUMNS, ["k", "dt"], {}, ["dt"])
    write(whole, [(1, "a", 1), (1, "b", 1)])
    for at in range(0, 60, 3):
        table = copied(whole, tmp_path / str(at))
        faulty = FaultyFileIO(LocalFileIO(), at=at)
        try:
            drop_partitions(replace(table, file_io=faulty), "dt = 'a'")
        except (OSError, PaimonError):
            assert rows_of(table) in ([(1, "a", 1), (1, "b", 1)], [(1, "b", 1)])
        else:
            assert rows_of(table) == [(1, "b", 1)]
        check_table(table.location)
        if len(faulty.log) <= at:
            return
    raise AssertionError("the run has more operations than were tried")


def test_partitions_by_their_rows(parts: Table, tmp_path_factory: pytest.TempPathFactory) -> None:
    rows = partition_rows(parts, parts.snapshots.latest())
    assert set(rows) == {X, Y, NULL}
    assert partition_rows(parts, None) == []
    (values,) = partition_columns(parts, [NULL, X])
    assert values.to_pylist() == [None, "x"]
    assert drop_partition_rows(parts, [X, NULL], None).files == 3
    assert live(parts) == {"y0"}
    assert live_partitions(parts) == [Y]
    assert live_partitions(keyed_table(tmp_path_factory.mktemp("empty"))) == []


def test_a_partition_lives_while_it_has_a_file(tmp_path: Path) -> None:
    """The manifests still name what was deleted."""
    table = keyed_table(tmp_path)
    names = [(f"{name}{n}", part) for name, part in (("x", X), ("y", Y), ("n", NULL)) for n in range(2)]
    TableCommit(table, "0").append([added(file(name, keys=(1, 1)), part=part, total=2) for name, part in names])
    assert set(live_partitions(table)) == {X, Y, NULL}
    for gone in (("x0",), ("x1", "y0")):
        messages = [
            CommitMessage(part, 0, 2, deleted_files=(file(name, keys=(1, 1)),)) for name, part in names if name in gone
        ]
        TableCommit(table, gone[0]).append(messages)
    assert set(live_partitions(table)) == {Y, NULL}
