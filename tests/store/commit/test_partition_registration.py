"""What a metastore is told of partitions and tags: one in memory. test_hive_partitions has the genuine one."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.tables.compacting import make, rows_of
from support.tables.files_by_hand import file, partition

from paimon_spark.errors import CatalogUnavailable, OptionError, UnsupportedFeature
from paimon_spark.file_io import ConfinedFileIO, FileIO, LocalFileIO
from paimon_spark.format.manifest import FileKind, ManifestEntry
from paimon_spark.store.clean.truncate import drop_partitions
from paimon_spark.store.commit.partition_registration import (
    check_registration,
    is_marked_done,
    partition_changes,
    partition_spec,
)
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.history.tag_deletion import delete_tags
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.local_time import epoch_millis_of_wall
from paimon_spark.store.storage.publishers import CatalogPublisher
from paimon_spark.store.upkeep.partition_done import mark_partition_done
from paimon_spark.store.write.table_write import TableWrite

COLUMNS = pa.schema([("p", pa.string()), ("v", pa.int64())])
KEPT = {"metastore.partitioned-table": "true"}
TAGS = {"metastore.tag-to-partition": "dt"}
PREVIEW = {"metastore.tag-to-partition.preview": "process-time"}
NO_PREVIEW = dict.fromkeys(PREVIEW, "none")
MARKS = {"partition.end-input-to-done": "true", "partition.mark-done-action": "success-file,mark-event"}
Call = tuple[str, list[dict[str, str]]]


@dataclass
class Metastore:
    """Partitions in memory. calls: (add or drop, partitions), in order; done: those that are marked."""

    calls: list[Call] = field(default_factory=list)
    done: list[dict[str, str]] = field(default_factory=list)
    answers: bool = True

    def add(self, root: str, partitions: Sequence[Mapping[str, str]]) -> None:
        self._take("add", partitions)

    def drop(self, root: str, partitions: Sequence[Mapping[str, str]]) -> None:
        self._take("drop", partitions)

    def report(self, root: str, partition: Mapping[str, str], statistics: Mapping[str, str], seconds: int) -> None:
        raise AssertionError("no test reports")

    def mark_done(self, root: str, partition: Mapping[str, str]) -> None:
        self.done.append(dict(partition))

    def is_done(self, root: str, partition: Mapping[str, str]) -> bool:
        return dict(partition) in self.done

    def _take(self, what: str, partitions: Sequence[Mapping[str, str]]) -> None:
        if not self.answers:
            raise CatalogUnavailable("the metastore does not answer")
        self.calls.append((what, [dict(one) for one in partitions]))


@dataclass(frozen=True)
class WithMetastore(CatalogPublisher):
    """The publisher of a catalog that has this metastore; snapshots are files."""

    connection: str = ""
    metastore: Metastore = field(default_factory=Metastore)

    @property
    def partitions(self) -> Metastore:
        return self.metastore

    def create_if_absent(self, store: FileIO, path: str, data: bytes) -> bool:
        return store.create_if_absent(path, data)


def table_of(path: Path, parts: Sequence[str] = ("p",), **options: str) -> tuple[Table, Metastore]:
    table, publisher = make(path / "t", COLUMNS, [], {"bucket": "-1", **options}, parts), WithMetastore()
    confined = ConfinedFileIO(LocalFileIO(), table.location, publisher=publisher)
    return replace(table, file_io=confined), publisher.metastore


def append(table: Table, *parts: str) -> None:
    task = TableWrite(table, "user")
    task.write(pa.record_batch([pa.array(parts), pa.array(range(len(parts)), pa.int64())], schema=COLUMNS))
    TableCommit(table, "user").append(task.finish(), (table.snapshots.latest_id() or 0) + 1)


def test_commits_tell_of_partitions(tmp_path: Path) -> None:
    table, metastore = table_of(tmp_path, **KEPT)
    append(table, "a", "b", "a")
    append(table, "a")
    assert [(what, sorted(str(one["p"]) for one in told)) for what, told in metastore.calls] == [
        ("add", ["a", "b"]),
        ("add", ["a"]),
    ]
    metastore.calls.clear()
    drop_partitions(table, "p = 'a'")
    assert metastore.calls == [("drop", [{"p": "a"}])]
    metastore.calls.clear()
    drop_partitions(table, "p = 'a'")
    assert metastore.calls == []  # it has gone already


def test_a_partition_that_a_branch_has_stays(tmp_path: Path) -> None:
    table, metastore = table_of(tmp_path, **KEPT)
    append(table, "a", "b")
    create_tag(table, "one")
    create_branch(table, "other", "one")
    metastore.calls.clear()
    drop_partitions(table, "p = 'a'")
    assert metastore.calls == []


@pytest.mark.parametrize(
    ("parts", "options"), [(("p",), {}), (("p",), {"metastore.partitioned-table": "false"}), ((), KEPT)]
)
def test_a_table_whose_partitions_are_not_kept(tmp_path: Path, parts: tuple[str, ...], options: dict[str, str]) -> None:
    table, metastore = table_of(tmp_path, parts, **options)
    append(table, "a")
    create_tag(table, "one")
    delete_tags(table, "one")
    if parts:
        drop_partitions(table, "p = 'a'")
    assert metastore.calls == []
    assert not is_marked_done(table, partition("a"))


@pytest.mark.parametrize(
    ("parts", "options"), [(("p",), {**KEPT, "partition.mark-done-action": "mark-event"}), ((), TAGS)]
)
def test_a_table_without_a_metastore(tmp_path: Path, parts: tuple[str, ...], options: dict[str, str]) -> None:
    table = replace(table_of(tmp_path, parts, **options)[0], file_io=LocalFileIO())
    append(table, "a")
    create_tag(table, "one")
    delete_tags(table, "one")
    assert rows_of(table) == [("a", 0)]
    assert not (parts and is_marked_done(table, partition("a")))


def test_tags_are_partitions(tmp_path: Path) -> None:
    table, metastore = table_of(tmp_path, (), **TAGS)
    append(table, "a")
    assert metastore.calls == []
    create_tag(table, "one")
    create_tag(table, "two")
    delete_tags(table, "one,none")
    assert metastore.calls == [("add", [{"dt": "one"}]), ("add", [{"dt": "two"}]), ("drop", [{"dt": "one"}])]


def test_previews_of_tags_are_refused_where_tags_are_kept(tmp_path: Path) -> None:
    table, metastore = table_of(tmp_path, (), **TAGS, **PREVIEW)
    with pytest.raises(UnsupportedFeature, match=r"metastore\.tag-to-partition\.preview' = 'process-time'"):
        append(table, "a")
    assert metastore.calls == [] == rows_of(table)


@pytest.mark.parametrize(
    ("parts", "options"),
    [((), PREVIEW), (("p",), {**KEPT, **PREVIEW}), ((), {**TAGS, **NO_PREVIEW}), ((), TAGS)],
)
def test_other_tables_have_no_previews(tmp_path: Path, parts: tuple[str, ...], options: dict[str, str]) -> None:
    table, _ = table_of(tmp_path, parts, **options)
    append(table, "a")
    assert rows_of(table) == [("a", 0)]


@pytest.mark.parametrize("what", ["partitions", "dropped partitions", "tags", "deleted tags"])
def test_a_metastore_that_does_not_answer(tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture) -> None:
    """What is committed stays."""
    is_of_tags = "tags" in what
    table, metastore = table_of(tmp_path, () if is_of_tags else ("p",), **(TAGS if is_of_tags else KEPT))
    append(table, "a")
    create_tag(table, "one")
    metastore.answers = False
    work: dict[str, Any] = {
        "partitions": lambda: append(table, "b"),
        "dropped partitions": lambda: drop_partitions(table, "p = 'a'"),
        "tags": lambda: create_tag(table, "two"),
        "deleted tags": lambda: delete_tags(table, "one"),
    }
    with caplog.at_level(logging.WARNING):
        work[what]()
    assert f"the metastore is not told of its {what}; CALL sys.repair does it" in caplog.text
    metastore.answers = True
    assert [row[0] for row in rows_of(table)] == {"partitions": ["a", "b"], "dropped partitions": []}.get(what, ["a"])


def test_marks_of_a_metastore(tmp_path: Path) -> None:
    table, metastore = table_of(tmp_path, **KEPT, **MARKS)
    check_registration(table)
    append(table, "a", "b")
    mark_partition_done(table, "p=a")
    assert metastore.done == [{"p": "a"}]
    assert [is_marked_done(table, partition(name)) for name in "ab"] == [True, False]
    assert partition_spec(table, partition("a")) == {"p": "a"}


def test_marks_without_a_metastore_are_refused_before_a_write(tmp_path: Path) -> None:
    table, _ = table_of(tmp_path, **MARKS)
    with pytest.raises(UnsupportedFeature, match=r"which needs 'metastore\.partitioned-table' = 'true'"):
        append(table, "a")
    with pytest.raises(UnsupportedFeature, match="open the table by the name that it has in a hive catalog"):
        append(replace(table, file_io=LocalFileIO()), "a")


@pytest.mark.parametrize(
    ("parts", "options"),
    [((), MARKS), (("p",), {**MARKS, "partition.end-input-to-done": "false"}),
     (("p",), {**MARKS, "partition.mark-done-action": "success-file"})],
)  # fmt: skip
def test_a_write_that_marks_nothing_needs_no_metastore(
    tmp_path: Path, parts: tuple[str, ...], options: dict[str, str]
) -> None:
    table, metastore = table_of(tmp_path, parts, **options)
    append(table, "a")
    assert (len(rows_of(table)), metastore.done) == (1, [])


def test_what_a_commit_changes_in_each_partition(tmp_path: Path) -> None:
    """As a REST server is told: deleted files count against the added ones."""
    table, _ = table_of(tmp_path)

    def entry(kind: FileKind, part: str, rows: int, size: int, millis: int | None, total: int) -> ManifestEntry:
        meta = file("f")._replace(row_count=rows, file_size=size, creation_time=millis)
        return ManifestEntry(kind, partition(part), 0, total, meta)

    found = partition_changes(
        table,
        [
            entry(FileKind.ADD, "a", 10, 100, 2000, 1),
            entry(FileKind.ADD, "a", 1, 7, 1000, 2),
            entry(FileKind.DELETE, "a", 4, 30, None, 3),
            entry(FileKind.DELETE, "b", 5, 50, 3000, 4),
        ],
    )
    a, b = found
    assert (a.spec, a.rows, a.bytes, a.files, a.total_buckets) == ({"p": "a"}, 7, 77, 1, 3)
    assert a.last_file_millis == epoch_millis_of_wall(2000)
    assert (b.spec, b.rows, b.bytes, b.files, b.total_buckets) == ({"p": "b"}, -5, -50, -1, 4)


def test_a_catalog_publishes_snapshots_and_schemas_only(tmp_path: Path) -> None:
    publisher = CatalogPublisher("other:x")
    store = LocalFileIO()
    assert publisher.create_if_absent(store, str(tmp_path / "t/manifest/m-1"), b"1")
    assert not publisher.create_if_absent(store, str(tmp_path / "t/manifest/m-1"), b"2")
    assert (tmp_path / "t/manifest/m-1").read_bytes() == b"1"
    for path in ("t/snapshot/snapshot-1", "t/schema/schema-0", "t/branch/branch-b/schema/schema-10"):
        with pytest.raises(OptionError, match=r"'catalog\.connection' begins with 'other': expected jdbc or hive"):
            publisher.create_if_absent(store, str(tmp_path / path), b"1")
    assert pickle.loads(pickle.dumps(publisher)) == publisher
