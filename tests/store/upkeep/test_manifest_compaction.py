"""Merging the manifests on demand (Java: FileStoreCommitImpl.compactManifest)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO, When
from support.oracles.checker import check_table
from support.tables.commit_states import delta, latest, live, with_rivals
from support.tables.compacting import compact, rows_of, write
from support.tables.expiring import copied, new_table
from support.tables.files_by_hand import added, file, keyed_table, partition, plain_table

from paimon_spark.errors import CorruptFile, PaimonError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.snapshot import CommitKind, encode_snapshot
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.manifest_files import read_data_manifests
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.manifest_compaction import compact_manifests

X, Y = partition("x"), partition("y")


def deletions(table: Table) -> int:
    return sum(m.num_deleted_files for m in read_data_manifests(table.file_io, table.location, latest(table)))


def small_history(path: Path) -> Table:
    """Three manifests, the last of which deletes."""
    table = keyed_table(path)
    TableCommit(table, "0").append([added(file("x0", keys=(1, 1)), part=X, total=2)])
    TableCommit(table, "1").append([added(file("y0", keys=(1, 1)), part=Y, total=2)], watermark=7)
    TableCommit(table, "2").overwrite([added(file("x1", keys=(1, 1)), part=X, total=2)], {"part": "x"})
    return table


def test_all_manifests_become_one_that_deletes_nothing(tmp_path: Path) -> None:
    table = small_history(tmp_path)
    before = latest(table)
    metrics = compact_manifests(table)
    after = latest(table)
    assert (metrics.snapshot_id, metrics.manifests_before, metrics.manifests_after) == (4, 3, 1)
    assert metrics.bytes_after < metrics.bytes_before
    assert (live(table), delta(table), deletions(table)) == ({"x1", "y0"}, [], 0)
    assert (after.commit_kind, after.operation, after.commit_identifier) == (CommitKind.COMPACT, None, 2**63 - 1)
    assert (after.delta_record_count, after.total_record_count) == (0, before.total_record_count)
    assert after.watermark == 7


def test_what_is_merged_stays(tmp_path: Path) -> None:
    table = small_history(tmp_path)
    compact_manifests(table)
    assert compact_manifests(table).snapshot_id is None
    assert latest(table).id == 4


def test_a_table_without_snapshots(tmp_path: Path) -> None:
    metrics = compact_manifests(plain_table(tmp_path))
    assert (metrics.snapshot_id, metrics.manifests_before) == (None, 0)


def test_one_manifest_is_enough(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    TableCommit(table, "0").append([added(file("a"))])
    assert compact_manifests(table).snapshot_id is None


def test_only_deleted_files(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    TableCommit(table, "0").append([added(file("a"))])
    TableCommit(table, "1").overwrite([], None)
    assert (compact_manifests(table).manifests_after, live(table)) == (0, set())


def test_schema_and_properties_are_inherited(tmp_path: Path) -> None:
    """A newer schema that no commit used must not become that of the old rows."""
    table = small_history(tmp_path)
    path = f"{table.snapshots.directory}/snapshot-3"
    table.file_io.overwrite(path, encode_snapshot(replace(latest(table), properties={"a": "b"})))
    schema = tmp_path / "schema"
    (schema / "schema-1").write_text((schema / "schema-0").read_text().replace('"id" : 0,', '"id" : 1,', 1))
    compact_manifests(table)
    assert (latest(table).schema_id, latest(table).properties) == (0, {"a": "b"})


def test_a_lost_race_merges_what_came_in(tmp_path: Path) -> None:
    table = small_history(tmp_path)
    rival = TableCommit(table, "rival")
    raced = with_rivals(table, lambda: rival.append([added(file("x2", keys=(9, 9)), part=X, total=2)]))
    metrics = compact_manifests(raced)
    assert (metrics.snapshot_id, metrics.manifests_after, deletions(table)) == (5, 1, 0)
    assert live(table) == {"x1", "y0", "x2"}


def test_rows_stay_and_the_table_is_whole(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    for number in range(3):
        write(table, [(0, number), (number, 5)])
    compact(table)
    rows = rows_of(table)
    assert compact_manifests(table).snapshot_id == 5
    assert rows_of(table) == rows
    check_table(table.location)


@pytest.mark.parametrize("when", When)
def test_whatever_fails_the_table_is_whole(tmp_path: Path, when: When) -> None:
    whole = new_table(tmp_path / "whole")
    write(whole, [(0, 1), (1, 1)])
    write(whole, [(0, 2)])
    for at in range(100):
        table = copied(whole, tmp_path / str(at))
        faulty = FaultyFileIO(LocalFileIO(), at=at, when=when)
        try:
            compact_manifests(replace(table, file_io=faulty))
            failed = False
        except (OSError, PaimonError):
            failed = True
        assert rows_of(table) == [(0, 2), (1, 1)]
        check_table(table.location)
        if not failed and len(faulty.log) <= at:
            return
    raise AssertionError("the run has more operations than were tried")


def test_a_damaged_manifest_stops_it(tmp_path: Path) -> None:
    table = small_history(tmp_path)
    meta = read_data_manifests(table.file_io, table.location, latest(table))[0]
    (tmp_path / "manifest" / meta.file_name).write_bytes(b"x" * meta.file_size)
    with pytest.raises(CorruptFile, match=meta.file_name):
        compact_manifests(table)
    assert latest(table).id == 3


def test_a_dry_run_tells_what_would_be_merged(tmp_path: Path) -> None:
    table = small_history(tmp_path)
    before = latest(table)
    told = compact_manifests(table, dry_run=True)
    assert (told.snapshot_id, told.manifests_before, told.manifests_merged) == (None, 3, 3)
    assert latest(table) == before
    done = compact_manifests(table)
    assert (done.manifests_merged, done.manifests_after) == (3, 1)
    assert compact_manifests(table, dry_run=True).manifests_merged == 0
