"""Overwrites: which files leave, which stay, and what a snapshot says of it (Java: FileStoreCommitImpl)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.tables.commit_states import delta, latest, live
from support.tables.files_by_hand import added, file, keyed_table, partition, plain_table

from paimon_spark.errors import DataError, OptionError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.manifest import DeletionRange, FileKind, IndexManifestEntry
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.manifest_files import read_index_manifest
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.partitions import PartitionFilter
from paimon_spark.store.metadata.table import Table

X, Y = partition("x"), partition("y")


@pytest.fixture
def two_parts(tmp_path: Path) -> Table:
    table = keyed_table(tmp_path)
    TableCommit(table, "0").append(
        [
            added(file("x0", keys=(1, 1)), part=X, total=2),
            added(file("x1", keys=(2, 2)), part=X, bucket=1, total=2),
            added(file("y0", keys=(1, 1)), part=Y, total=2),
        ]
    )
    return table


def test_overwriting_one_partition(two_parts: Table) -> None:
    TableCommit(two_parts, "me").overwrite([added(file("n", 4, keys=(1, 1)), part=X, total=2)], {"part": "x"})
    snapshot = latest(two_parts)
    assert live(two_parts) == {"n", "y0"}
    assert (snapshot.commit_kind, snapshot.operation) == ("OVERWRITE", "OVERWRITE")
    assert (snapshot.delta_record_count, snapshot.total_record_count) == (-16, 14)


def test_overwriting_several_partitions(two_parts: Table) -> None:
    TableCommit(two_parts, "me").overwrite([], [{"part": "x"}, {"part": "y"}, {"part": "z"}])
    assert live(two_parts) == set()


def test_overwriting_the_partitions_of_the_rows(two_parts: Table) -> None:
    TableCommit(two_parts, "me").overwrite([added(file("n", keys=(1, 1)), part=Y, total=2)], "dynamic")
    assert live(two_parts) == {"x0", "x1", "n"}


def test_overwriting_the_whole_table(two_parts: Table) -> None:
    TableCommit(two_parts, "me").overwrite([added(file("n", keys=(1, 1)), part=Y, total=2)], None)
    assert live(two_parts) == {"n"}
    TableCommit(two_parts, "again").overwrite([], None)
    assert (live(two_parts), latest(two_parts).total_record_count) == (set(), 0)


def test_a_dynamic_overwrite_of_a_table_without_partitions_is_of_all(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    TableCommit(table, "0").append([added(file("a"))])
    TableCommit(table, "1").overwrite([added(file("b"))], "dynamic")
    assert live(table) == {"b"}


def test_overwriting_an_empty_table(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    result = TableCommit(table, "0").overwrite([], None)
    assert result is not None
    assert (latest(table).commit_kind, live(table)) == ("OVERWRITE", set())


def test_rows_outside_of_the_replaced_partitions(two_parts: Table) -> None:
    with pytest.raises(DataError, match="part=y, which is not among the partitions to replace"):
        TableCommit(two_parts, "me").overwrite([added(file("n", keys=(1, 1)), part=Y, total=2)], {"part": "x"})
    with pytest.raises(OptionError, match="id: no partition column"):
        TableCommit(two_parts, "you").overwrite([], {"id": 1})
    assert live(two_parts) == {"x0", "x1", "y0"}


def test_the_null_partition(tmp_path: Path) -> None:
    table = plain_table_by_part(tmp_path)
    null = partition(None)
    TableCommit(table, "0").append(
        [added(file("n"), part=null), added(file("b"), part=partition(" ")), added(file("x"), part=X)]
    )
    TableCommit(table, "1").overwrite([], {"part": None})
    assert live(table) == {"b", "x"}


def plain_table_by_part(path: Path) -> Table:
    from_keyed = keyed_table(path)
    schema = path / "schema" / "schema-0"
    stored = json.loads(schema.read_text())
    stored["primaryKeys"] = []
    stored["options"] = {"bucket": "-1"}
    for field in stored["fields"]:
        field["type"] = field["type"].removesuffix(" NOT NULL")
    schema.write_text(json.dumps(stored))
    changed = type(from_keyed.schemas)(LocalFileIO(), str(path)).load(0)
    return replace(from_keyed, schema=changed, opened=changed)


def test_new_files_of_an_overwrite_go_to_the_top_level(two_parts: Table) -> None:
    files = (file("n1", keys=(1, 3)), file("n2", keys=(4, 9)))
    TableCommit(two_parts, "me").overwrite([added(*files, part=X, total=2)], {"part": "x"})
    assert {
        e.file.level
        for e in table_state(two_parts, latest(two_parts)).live_entries(
            PartitionFilter(two_parts.schema.partition_fields, [{"part": "x"}])
        )
    } == {5}
    off = replace(two_parts, settings=two_parts.settings.merged({"overwrite-upgrade": "false"}))
    TableCommit(off, "off").overwrite([added(file("n3", keys=(1, 3)), part=X, total=2)], {"part": "x"})
    assert {e.file.level for e in table_state(off, latest(off)).live_entries(None) if e.file.file_name == "n3"} == {0}


def test_postponed_files_of_other_tables_stay(two_parts: Table) -> None:
    """Files of the postpone bucket (-2) belong to rows that wait, not to what readers see."""
    TableCommit(two_parts, "p").append([added(file("wait"), part=X, bucket=-2, total=-2)])
    TableCommit(two_parts, "me").overwrite([], None)
    assert live(two_parts) == {"wait"}


def test_index_files_go_with_their_partitions(two_parts: Table) -> None:
    def index(part: bytes, name: str) -> CommitMessage:
        entry = IndexManifestEntry(FileKind.ADD, part, 0, "HASH", name, 4, 1)
        return CommitMessage(part, 0, 2, index_entries=(entry,))

    TableCommit(two_parts, "i").append([index(X, "ix"), index(Y, "iy")])
    TableCommit(two_parts, "n").append([added(file("x3", keys=(7, 7)), part=X, total=2)])
    assert latest(two_parts).index_manifest == two_parts.snapshots.load(2).index_manifest, "carried forward"
    TableCommit(two_parts, "me").overwrite([], {"part": "x"})
    entries = read_index_manifest(two_parts.file_io, two_parts.location, latest(two_parts).index_manifest)
    assert [e.file_name for e in entries] == ["iy"]
    TableCommit(two_parts, "you").overwrite([], None)
    assert latest(two_parts).index_manifest is None


def test_deletion_vectors_make_an_overwrite_commit(two_parts: Table) -> None:
    vector = IndexManifestEntry(FileKind.ADD, X, 0, "DELETION_VECTORS", "dv", 4, 1, (DeletionRange("x0", 1, 10),))
    TableCommit(two_parts, "me").append([CommitMessage(X, 0, 2, index_entries=(vector,))])
    assert (latest(two_parts).commit_kind, delta(two_parts)) == ("OVERWRITE", [])


# --- when the store fails -------------------------------------------------------------------------------------------
