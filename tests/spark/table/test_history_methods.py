"""Tags, branches, consumers and the ways back, as a newcomer uses them on PaimonTable: what comes, and what is told."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.oracles.checker import check_table

from paimon_spark import PaimonTable
from paimon_spark.errors import NameTaken, OptionError, SnapshotNotFound, UnsupportedFeature

pytestmark = pytest.mark.spark


def put(spark: SparkSession, table: PaimonTable, *numbers: int, branch: str | None = None) -> None:
    frame = spark.createDataFrame([(n, f"v{n}") for n in numbers], "id int, v string").coalesce(1)
    table.append(frame, options={} if branch is None else {"branch": branch})


def found(table: PaimonTable, options: dict[str, str] | None = None) -> list[int]:
    return sorted(row.id for row in table.toDF(options=options or {}).collect())


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> PaimonTable:
    return made(spark, tmp_path)


@pytest.fixture(scope="module")
def kept(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> PaimonTable:
    """One table for all calls that change nothing."""
    return made(spark, tmp_path_factory.mktemp("kept"))


def made(spark: SparkSession, path: Path) -> PaimonTable:
    """Three snapshots: snapshot n has the rows 1 to n."""
    builder = PaimonTable.create(spark).location(str(path / "t"))
    table = builder.addColumn("id", "int").addColumn("v", "string").property("bucket", "-1").execute()
    for number in (1, 2, 3):
        put(spark, table, number)
    return table


def names(table: PaimonTable, what: str) -> list[str]:
    column = {"tags": "tag_name", "branches": "branch_name", "consumers": "consumer_id"}[what]
    return sorted(row[column] for row in table.system_table(what).collect())


def test_tags(spark: SparkSession, table: PaimonTable) -> None:
    made = table.create_tag("monday", time_retained="7 d")
    assert (made.name, made.snapshot_id, made.retained_millis) == ("monday", 3, 7 * 86_400_000)
    assert table.create_tag("first", snapshot=1).snapshot_id == 1
    second = table.history().where("snapshot_id = 2").collect()[0].commit_time.replace(tzinfo=dt.UTC)
    assert table.create_tag("second", timestamp=second).snapshot_id == 2
    assert names(table, "tags") == ["first", "monday", "second"]
    assert found(table, {"scan.tag-name": "first"}) == [1]
    path = table.detail().collect()[0].location
    assert spark.read.format("paimon").option("scan.tag-name", "second").load(path).count() == 2
    assert table.replace_tag("first", snapshot=2).snapshot_id == 2
    table.rename_tag("first", "two")
    assert found(table, {"scan.tag-name": "two"}) == [1, 2]
    assert table.delete_tag("two, second", dry_run=True).names == ("two", "second")
    assert names(table, "tags") == ["monday", "second", "two"]
    assert table.delete_tag(["two", "second"]).names == ("two", "second")
    assert table.expire_tags().names == ()
    tomorrow = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    assert table.expire_tags(older_than=tomorrow, dry_run=True).names == ("monday",)
    table.create_tag("short", time_retained="0 ms")
    assert table.expire_tags().names == ("short",)
    assert names(table, "tags") == ["monday"]
    table.delete_tag("nothing")  # is logged; what shall go is gone
    assert found(table) == [1, 2, 3]


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda t: t.create_tag("x", snapshot=9), SnapshotNotFound, "reading snapshot 9 of the table at .*snapshots 1"),
        (lambda t: t.create_tag(" "), OptionError, "' ' is no name for a tag: it must not be blank"),
        (lambda t: t.create_tag("x", snapshot=1, timestamp=1), OptionError, "both a snapshot and a timestamp are"),
        (lambda t: t.create_tag("x", time_retained="7 moons"), OptionError, "time_retained is '7 moons'"),
        (lambda t: t.replace_tag("x"), SnapshotNotFound, "has no tag 'x'; snapshots 1"),
        (lambda t: t.rename_tag("x", "y"), SnapshotNotFound, "has no tag 'x'"),
        (lambda t: t.rollback(9), SnapshotNotFound, "snapshots 1"),
        (lambda t: t.rollback("nowhere"), SnapshotNotFound, "there is no such tag; snapshots 1"),
        (lambda t: t.rollback(), OptionError, "give just one of version, snapshot and tag"),
        (lambda t: t.rollback_to_as_latest(1, tag="x"), OptionError, "give just one of version, snapshot and tag"),
        (lambda t: t.rollback_to_timestamp(1), OptionError, "a time before 2000: milliseconds are expected"),
        (lambda t: t.rollback_to_timestamp(10**12), SnapshotNotFound, "committed at 1000000000000 or before; snap"),
        (lambda t: t.rollback_to_watermark(1), SnapshotNotFound, "no snapshot has a watermark of 1 or less"),
        (lambda t: t.create_branch("main"), OptionError, "'main' is no name for a branch"),
        (lambda t: t.rename_branch("main", "c"), OptionError, "renaming the branch 'main' of .*is the table itself"),
        (lambda t: t.create_branch("b", tag="x"), SnapshotNotFound, "there is no tag 'x'; snapshots 1"),
        (lambda t: t.rename_branch("b", "c"), SnapshotNotFound, "has no branch 'b'; its branches: none"),
        (lambda t: t.delete_branch("b"), SnapshotNotFound, "has no branch 'b'; its branches: none"),
        (lambda t: t.fast_forward("b"), SnapshotNotFound, "has no branch 'b'"),
        (lambda t: t.fast_forward("main"), OptionError, "name another branch than main"),
        (lambda t: t.merge_branch("b"), SnapshotNotFound, "has no branch 'b'"),
        (lambda t: t.merge_branch("main"), OptionError, "name two branches"),
        (lambda t: t.toDF(options={"branch": "b"}), SnapshotNotFound, "has no branch 'b'; its branches: none"),
        (lambda t: t.clear_consumers("("), OptionError, "is no regular expression"),
    ],
)
def test_what_is_reported_when_it_cannot_be(
    kept: PaimonTable, call: Callable[[PaimonTable], object], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        call(kept)


def test_ways_back(spark: SparkSession, table: PaimonTable) -> None:
    table.create_tag("three")
    told = table.rollback(2, dry_run=True)
    assert (told.previous_snapshot_id, told.snapshots, told.tags, told.dry_run) == (3, (3,), ("three",), True)
    assert found(table) == [1, 2, 3]
    assert table.rollback(2).paths == told.paths
    assert (found(table), names(table, "tags")) == ([1, 2], [])
    put(spark, table, 13)
    put(spark, table, 14)
    table.create_tag("thirteen", snapshot=3)
    assert table.rollback(tag="thirteen").current_snapshot_id == 3
    assert table.rollback("3").snapshots == ()
    first = table.history().where("snapshot_id = 1").collect()[0].commit_time.replace(tzinfo=dt.UTC)
    assert table.rollback_to_timestamp(first).current_snapshot_id == 1
    assert found(table) == [1]
    put(spark, table, 22)
    done = table.rollback_to_as_latest(snapshot=1)
    assert (done.previous_snapshot_id, done.rolled_back_snapshot_id, done.current_snapshot_id) == (2, 1, 3)
    assert (found(table), found(table, {"scan.snapshot-id": "2"})) == ([1], [1, 22])
    assert names(table, "tags") == [done.tag]
    check_table(table.detail().collect()[0].location)


def test_branches(spark: SparkSession, table: PaimonTable) -> None:
    path = table.detail().collect()[0].location
    table.create_tag("one", snapshot=1)
    assert table.create_branch("empty").snapshot_id is None
    assert table.create_branch("tagged", tag="one").snapshot_id == 1
    assert table.create_branch("exact", snapshot=2).snapshot_id == 2
    with pytest.raises(NameTaken, match="has a branch 'exact' already; choose another name"):
        table.create_branch("exact")
    assert not table.create_branch("exact", ignore_if_exists=True).created
    put(spark, table, 31, branch="tagged")
    branch = PaimonTable.forPath(spark, f"{path}$branch_tagged")
    put(spark, branch, 32)
    rows = spark.createDataFrame([(33, "x")], "id int, v string")
    rows.write.format("paimon").mode("append").save(f"{path}$branch_tagged")
    assert found(branch) == found(table, {"branch": "tagged"}) == [1, 31, 32, 33]
    assert spark.read.format("paimon").load(f"{path}$branch_tagged$snapshots").count() == 4
    assert found(table) == [1, 2, 3]
    assert found(table, {"scan.primary-branch": "tagged"}) == [1, 31, 32, 33]
    assert found(table, {"scan.fallback-branch": "tagged"}) == [1, 2, 3]
    table.rename_branch("exact", "other")
    assert names(table, "branches") == ["empty", "other", "tagged"]
    assert table.delete_branch("empty, other", dry_run=True).names == ("empty", "other")
    table.delete_branch("empty,other")
    merged = table.merge_branch("tagged")
    assert (merged.rows, found(table)) == (3, [1, 2, 3, 31, 32, 33])
    forward = table.fast_forward("tagged")
    assert (forward.removed_snapshots, forward.added_snapshots) == ((4, 3, 2, 1), (1, 2, 3, 4))
    assert found(table) == [1, 31, 32, 33]
    put(spark, table, 4)
    assert found(table) == [1, 4, 31, 32, 33]
    assert names(table, "branches") == ["tagged"]


def test_branches_of_tables_with_keys_do_not_merge(spark: SparkSession, tmp_path: Path) -> None:
    builder = PaimonTable.create(spark).location(str(tmp_path / "k")).addColumn("id", "int", nullable=False)
    table = builder.addColumn("v", "string").property("primary-key", "id").property("bucket", "1").execute()
    put(spark, table, 1)
    table.create_branch("b", snapshot=1)
    with pytest.raises(UnsupportedFeature, match=r"has a primary key.* Read the one branch and append it to"):
        table.merge_branch("b")


def test_consumers(table: PaimonTable) -> None:
    table.reset_consumer("loader", 2)
    table.reset_consumer("other", 3)
    assert names(table, "consumers") == ["loader", "other"]
    table.reset_consumer("other")
    assert names(table, "consumers") == ["loader"]
    table.reset_consumer("load-test", 1)
    assert table.clear_consumers(including="load.*", excluding="loader", dry_run=True).names == ("load-test",)
    table.clear_consumers(including="load.*", excluding="loader")
    assert names(table, "consumers") == ["loader"]
    assert table.expire_snapshots(retain_max=1, retain_min=1).ids == (1,)  # the consumer holds snapshot 2
    table.clear_consumers()
    assert names(table, "consumers") == []


def test_tags_that_come_by_themselves(spark: SparkSession, tmp_path: Path) -> None:
    builder = PaimonTable.create(spark).location(str(tmp_path / "t")).addColumn("id", "int").addColumn("v", "string")
    builder = builder.property("tag.automatic-creation", "process-time").property("tag.creation-period", "hourly")
    table = builder.property("bucket", "-1").execute()
    put(spark, table, 1)
    (name,) = names(table, "tags")
    table.delete_tag(name)
    assert [tag.name for tag in table.trigger_tag_automatic_creation().created] == [name]
