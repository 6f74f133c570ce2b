"""What keeps files from being orphans: every holder of a state, and every way to name a file."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from support.oracles.checker import check_table
from support.oracles.orphaned import ID, age, all_states, forget_snapshots, lived, put, removed
from support.tables.compacting import compact, write
from support.tables.expiring import branch, consumer, rules, stored, tag

from paimon_spark.format.manifest import DataFileMeta, FileKind, ManifestEntry
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.commit.attempt import CommitRequest, Proposal
from paimon_spark.store.commit.commit_loop import commit_request
from paimon_spark.store.compact.live_buckets import live_buckets
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.metadata.messages import CommitChanges
from paimon_spark.store.metadata.table import Table


def kept_until_forgotten(table: Table, *holders: Path) -> None:
    """All states stay as they are; without the holders some files go."""
    age(table.location)
    before = all_states(table)
    removed(table)
    assert all_states(table) == before
    assert removed(table) == set()
    for path in holders:
        path.unlink()
    assert removed(table) != set()


def test_snapshots_keep(tmp_path: Path) -> None:
    table = lived(tmp_path, {"changelog-producer": "input"}, "wwcw")
    kept_until_forgotten(table, tmp_path / "t/snapshot/snapshot-4", tmp_path / "t/snapshot/LATEST")


def test_tags_keep(tmp_path: Path) -> None:
    table = lived(tmp_path)
    tag(table, "a", 2)
    forget_snapshots(table, below=4)
    kept_until_forgotten(table, tmp_path / "t/tag/tag-a")


def test_a_tag_needs_no_changelog_of_its_snapshot(tmp_path: Path) -> None:
    table = lived(tmp_path, {"changelog-producer": "input"})
    tag(table, "a", 1)
    expire_snapshots_by(table, rules(1))
    kept_until_forgotten(table, tmp_path / "t/tag/tag-a")


def test_branches_keep(tmp_path: Path) -> None:
    table = lived(tmp_path)
    branch(table, "b", 2)
    forget_snapshots(table, below=4)
    kept_until_forgotten(table, tmp_path / "t/branch/branch-b/snapshot/snapshot-2")


def test_tags_of_branches_keep(tmp_path: Path) -> None:
    table = lived(tmp_path)
    on = branch(table, "b", 2)
    create_tag(on, "of-branch")
    forget_snapshots(table, below=4)
    Path(on.location, "branch/branch-b/snapshot/snapshot-2").unlink()
    kept_until_forgotten(table, tmp_path / "t/branch/branch-b/tag/tag-of-branch")


@pytest.mark.parametrize("producer", ["none", "input"])
def test_long_lived_changelogs_keep(tmp_path: Path, producer: str) -> None:
    table = lived(tmp_path, {"changelog-producer": producer}, "wwwcw")
    expire_snapshots_by(table, rules(1, changelogs=5))
    changelogs = list((tmp_path / "t/changelog").glob("changelog-*"))
    assert len(changelogs) == 4
    age(table.location)
    assert removed(table) == set()
    kept_until_forgotten(table, *changelogs)


@pytest.mark.parametrize(("in_bucket", "directory"), [("false", "index"), ("true", "bucket-0")])
def test_index_files_keep(tmp_path: Path, in_bucket: str, directory: str) -> None:
    options = {"deletion-vectors.enabled": "true", "index-file-in-data-file-dir": in_bucket}
    table = lived(tmp_path, options, "wc")
    write(table, [(0, 9)])
    compact(table, full=False)
    assert list(Path(table.location, directory).glob("index-*"))
    age(table.location)
    assert removed(table) == set()
    check_table(table.location)
    last = max(Path(table.location, "snapshot").glob("snapshot-*"))
    kept_until_forgotten(table, last, tmp_path / "t/snapshot/LATEST")
    assert list(Path(table.location, directory).glob("index-*")) == []


def entries_of(table: Table, kind: FileKind) -> list[ManifestEntry]:
    buckets = live_buckets(table, table.snapshots.latest())
    return [entry._replace(kind=kind) for bucket in buckets for entry in bucket.entries]


def change(table: Table, entries: list[ManifestEntry]) -> None:
    proposal = Proposal(CommitChanges(tuple(entries)), None)
    request = CommitRequest("u", 99, CommitKind.APPEND, None, lambda state: proposal, checks_files=False)
    commit_request(table, request, None)


def with_file(table: Table, **more: Any) -> DataFileMeta:
    """Commits a file of some metadata in place of the one of the table."""
    (gone,) = entries_of(table, FileKind.DELETE)
    file = gone.file._replace(**more)
    change(table, [gone, gone._replace(kind=FileKind.ADD, file=file)])
    return file


def test_extra_files_keep(tmp_path: Path) -> None:
    table = lived(tmp_path, steps="w")
    with_file(table, file_name="data-new.parquet", extra_files=("data-new.index", "other.row"))
    for name in ("data-new.parquet", "data-new.index", "other.row", "data-new.other"):
        put(tmp_path / "t/bucket-0" / name)
    assert removed(table) == {"bucket-0/data-new.other"}


def test_parts_of_a_changelog_file_keep_the_whole(tmp_path: Path) -> None:
    table = lived(tmp_path, steps="w")
    name = f"compacted-changelog-{ID}$0-39253"
    with_file(table, file_name=f"{name}-39253-35699.cc-parquet")
    put(tmp_path / f"t/bucket-0/{name}.cc-parquet")
    put(tmp_path / f"t/bucket-0/{name}9.cc-parquet")
    assert removed(table) == {f"bucket-0/{name}9.cc-parquet"}


def test_external_paths(tmp_path: Path) -> None:
    """Data files elsewhere are used or orphans as those of the table; directories go, but not the external root."""
    external = tmp_path / "far" / "away"
    paths = f"file://{external}/, s3://bucket/t"
    table = lived(tmp_path, {"data-file.external-paths": paths}, "w")
    (entry,) = entries_of(table, FileKind.ADD)
    there = external / "bucket-0" / entry.file.file_name
    put(there, Path(table.location, "bucket-0", entry.file.file_name).read_bytes())
    with_file(table, external_path=f"file://{there}")
    put(external / "bucket-0/data-orphan.parquet")
    put(external / "bucket-7/data-orphan.parquet")
    put(external / "data-stranger.parquet")
    before = all_states(table)
    age(external)
    done = remove_orphan_files(table, dry_run=False)
    assert done.not_reached == ("s3://bucket/t",)
    assert set(done.paths) == {f"file://{external}/bucket-{n}/data-orphan.parquet" for n in (0, 7)}
    assert done.directories == (f"file://{external}/bucket-7",)
    assert sorted(path.name for path in external.rglob("*")) == sorted(
        ["bucket-0", entry.file.file_name, "data-stranger.parquet"]
    )
    assert all_states(table) == before


def test_consumers_and_success_files_stay(tmp_path: Path) -> None:
    table = lived(tmp_path, {"tag.create-success-file": "true"})
    create_tag(table, "a")
    consumer(table, "c", 2)
    age(table.location)
    files = stored(table)
    assert {"tag/tag-success-file/a_SUCCESS", "consumer/consumer-c"} <= files
    assert removed(table) == set()
    assert stored(table) == files


def test_a_mark_stays_while_its_snapshots_do(tmp_path: Path) -> None:
    table = lived(tmp_path)
    put(tmp_path / f"t/snapshot/.expiring-3-{ID}")
    put(tmp_path / f"t/snapshot/.expiring-1-{uuid.uuid4()}")
    assert len(removed(table)) == 1
    for number in (1, 2):
        (tmp_path / f"t/snapshot/snapshot-{number}").unlink()
    assert f"snapshot/.expiring-3-{ID}" in removed(table)
