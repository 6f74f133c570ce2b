"""The arguments of SQL CALL become a procedure, or one clear sentence says why not."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping

import pytest

from paimon_spark.errors import OptionError
from paimon_spark.procedures.branches import CreateBranch, RenameBranch
from paimon_spark.procedures.call.bind import OTHER_NAMES, Call, DatabaseCall, bind
from paimon_spark.procedures.catalogue import DATABASE_PROCEDURES, PROCEDURES
from paimon_spark.procedures.databases import CompactDatabase, RemoveDatabaseOrphanFiles
from paimon_spark.procedures.orphan_files import RemoveOrphanFiles
from paimon_spark.procedures.partitions import ExpirePartitions, MarkPartitionDone
from paimon_spark.procedures.procedure import Procedure
from paimon_spark.procedures.rewrites import Compact, CompactManifest, Copy, Rescale
from paimon_spark.procedures.rollbacks import Rollback, RollbackToTimestamp
from paimon_spark.procedures.row_removal import DropPartitions, RemoveUnexistingFiles
from paimon_spark.procedures.snapshots import ExpireChangelogs, ExpireSnapshots, ResetConsumer
from paimon_spark.procedures.tags import CreateTag, CreateTagFromTimestamp, DeleteTag

NOON = dt.datetime(2026, 11, 1, 12)


@pytest.mark.parametrize(
    ("name", "positional", "named", "bound"),
    [
        ("expire_snapshots", ("t", 5), {}, ExpireSnapshots(retain_max=5)),
        ("EXPIRE_SNAPSHOTS", (), {"TABLE": "t", "Older_Than": "2026-11-01"}, ExpireSnapshots(older_than="2026-11-01")),
        ("expire_snapshots", ("t",), {"older_than": NOON}, ExpireSnapshots(older_than=NOON)),
        ("expire_snapshots", ("t", None, 2, None, 3), {}, ExpireSnapshots(retain_min=2, max_deletes=3)),
        ("expire_snapshots", ("t",), {"dry_run": True}, ExpireSnapshots(dry_run=True)),
        ("expire_changelogs", ("t", 5, 2, "2026-11-01", 3, "TRUE"), {}, ExpireChangelogs(5, 2, "2026-11-01", 3, True)),
        ("rollback_to_timestamp", ("t", 1_700_000_000_000), {}, RollbackToTimestamp(1_700_000_000_000)),
        ("rollback", ("t", "3"), {}, Rollback("3")),
        ("rollback", ("t",), {"version": 3}, Rollback(3)),
        ("rollback", ("t", None, None, "a"), {}, Rollback(tag="a")),
        ("create_tag", ("t", "a", None, "7 d"), {}, CreateTag("a", time_retained="7 d")),
        ("create_tag", ("t", "a"), {"time_retained": dt.timedelta(7)}, CreateTag("a", None, None, dt.timedelta(7))),
        ("delete_tag", ("t", "a,b"), {}, DeleteTag("a,b")),
        ("delete_tag", ("t", ["a", "b"]), {}, DeleteTag(("a", "b"))),
        ("create_branch", ("t", "b", None, "true"), {}, CreateBranch("b", ignore_if_exists=True)),
        ("create_branch", ("t", "b"), {"IGNOREIFEXISTS": False}, CreateBranch("b")),
        ("rename_branch", ("t",), {"from_branch": "a", "to_branch": "b"}, RenameBranch("a", "b")),
        ("reset_consumer", (), {"table": "t", "consumerId": "c", "nextSnapshotId": None}, ResetConsumer("c")),
        ("remove_orphan_files", ("t",), {}, RemoveOrphanFiles(dry_run=False)),
        ("remove_orphan_files", ("t",), {"Parallelism": 2}, RemoveOrphanFiles(dry_run=False)),
        ("compact", ("t",), {"Partition_Idle_Time": "1 d"}, Compact(partition_idle_time="1 d")),
        ("compact_manifest", ("t",), {"dry_run": True}, CompactManifest(dry_run=True)),
        ("remove_orphan_files", ("t", NOON, True, None, "LOCAL"), {}, RemoveOrphanFiles(NOON, True, False)),
        ("remove_unexisting_files", ("t",), {"dry_run": "true"}, RemoveUnexistingFiles(True)),
        ("remove_unexisting_files", ("t",), {}, RemoveUnexistingFiles(False)),
        ("compact", ("t",), {"compact_strategy": "minor", "where": "p = 1"}, Compact("p = 1", False)),
        ("compact", ("t", "p=1", "full", "NONE"), {}, Compact(full=True, partitions="p=1", order_strategy="NONE")),
        ("compact", ("t", None, None, "zorder", "a, b"), {}, Compact(order_strategy="zorder", order_by="a, b")),
        ("compact_manifest", ("t", None, False, False), {}, CompactManifest()),
        ("rescale", ("t", 4), {"where": "p = 1"}, Rescale(4, "p = 1")),
        ("rescale", ("t",), {"partitions": [{"p": 1}]}, Rescale(partitions=({"p": 1},))),
        ("create_tag_from_timestamp", ("t", "a", 7, "1 d"), {}, CreateTagFromTimestamp("a", 7, "1 d")),
        ("expire_partitions", ("t", "7 d", "yyyyMMdd"), {}, ExpirePartitions("7 d", "yyyyMMdd")),
        ("mark_partition_done", ("t", "p=1;p=2"), {}, MarkPartitionDone("p=1;p=2")),
        ("mark_partition_done", ("t", [{"p": 1}]), {}, MarkPartitionDone(({"p": 1},))),
        ("drop_partitions", ("t", "p = 1"), {}, DropPartitions("p = 1")),
        ("copy", (), {"source_table": "t", "target_table": "/u", "options": {"s3.region": "eu"}},
         Copy("/u", options={"s3.region": "eu"})),
        ("copy", ("t", "/u", "p = 1"), {"options": "a=b, c = d=e"}, Copy("/u", "p = 1", {"a": "b", "c": "d=e"})),
    ],
)  # fmt: skip
def test_arguments(
    name: str, positional: tuple[object, ...], named: Mapping[str, object], bound: Procedure[object]
) -> None:
    assert bind(name, positional, named) == Call("t", {}, bound)


@pytest.mark.parametrize(
    "given", ["snapshot.num-retained.min=2,write-only=true", {"snapshot.num-retained.min": "2", "write-only": "true"}]
)
def test_options_of_the_call(given: object) -> None:
    options = {"snapshot.num-retained.min": "2", "write-only": "true"}
    assert bind("expire_snapshots", ("t",), {"options": given}) == Call("t", options, ExpireSnapshots())


def test_a_procedure_of_many_tables() -> None:
    given = ("a|b", None, "b.c", "write-only=true,snapshot.num-retained.min=2")
    options = {"write-only": "true", "snapshot.num-retained.min": "2"}
    wanted = CompactDatabase("a|b", excluding_tables="b.c", options=options)
    assert bind("compact_database", given) == DatabaseCall(wanted)
    assert bind("Compact_Database") == DatabaseCall(CompactDatabase())


@pytest.mark.parametrize("database", ["db", "paimon.db"])
def test_the_orphan_files_of_a_database(database: str) -> None:
    each = RemoveOrphanFiles(NOON, dry_run=True)
    wanted = DatabaseCall(RemoveDatabaseOrphanFiles(database, each))
    assert bind("remove_orphan_files", (f"{database}.*", NOON, True)) == wanted


def test_names_of_further_tables_become_directories() -> None:
    call = bind("copy", ("db.t", "db.u"))
    assert isinstance(call, Call)
    assert call.located(lambda name: f"/lake/{name}") == Call("db.t", {}, Copy("/lake/db.u"))
    alone = bind("truncate", ("db.t",))
    assert isinstance(alone, Call)
    assert alone.located(lambda name: f"/lake/{name}") == alone


@pytest.mark.parametrize("name", PROCEDURES)
def test_null_is_an_argument_that_is_not_given(name: str) -> None:
    order = PROCEDURES[name].official
    with pytest.raises(OptionError, match=r"needs '\w*table'"):
        bind(name, [None] * len(order))


@pytest.mark.parametrize(
    ("name", "positional", "named", "said"),
    [
        ("expire_snapshot", (), {}, "there is no procedure 'expire_snapshot': did you mean 'expire_snapshots'?"),
        ("zzz", (), {}, "there is no procedure 'zzz'; there are compact, compact_manifest, compact_chain_table, "),
        ("create_tag", ("t",), {}, "the procedure create_tag needs 'tag'"),
        ("rename_tag", (), {}, "the procedure rename_tag needs 'table' and 'tag' and 'target_tag'"),
        ("copy", (), {"target_table": "u"}, "the procedure copy needs 'source_table'"),
        ("expire_snapshots", ("t",), {"retain_mx": 3},
         "the procedure expire_snapshots has no argument 'retain_mx': did you mean 'retain_max'?"),
        ("rename_tag", ("t", "a"), {"new_name": "b"},
         "the procedure rename_tag has no argument 'new_name': did you mean 'target_tag'?"),
        ("truncate", ("t",), {"where": "p = 1"}, "the procedure truncate has no argument 'where'; there are table"),
        ("truncate", ("t", "u"), {}, "the procedure truncate takes at most 1 arguments without names, found 2"),
        ("remove_orphan_files", ("t",), {"progress": "x"},
         "the procedure remove_orphan_files has no argument 'progress'; there are table, older_than, dry_run, mode"),
        ("compact", ("t",), {"Buckets": "0-9"},
         "the procedure compact does not have the argument 'Buckets' in this release: all buckets of the chosen "),
        ("remove_orphan_files", ("t",), {"parallelism": 0}, "wants a number of at least 1 for 'parallelism', or none"),
        ("migrate_table", ("hive", "t"), {"parallelism": "2"}, "wants a number of at least 1 for 'parallelism'"),
        ("compact_database", (), {"table": "t"}, "the procedure compact_database has no argument 'table'; there are "),
        ("compact_database", (), {"including_databases": 7},
         "the procedure compact_database wants text for 'including_databases', found 7"),
        ("create_tag", ("t", "a"), {"Tag": "b"}, "the procedure create_tag has got 'tag' twice"),
        ("rename_branch", ("t", "a", "b"), {"options": "a=b"},
         "the procedure rename_branch has no argument 'options'; there are table, from_branch, to_branch"),
        ("expire_snapshots", ("t", "5"), {},
         "the procedure expire_snapshots wants a whole number for 'retain_max', found '5'"),
        ("expire_snapshots", ("t", True), {},
         "the procedure expire_snapshots wants a whole number for 'retain_max', found true"),
        ("expire_snapshots", ("t", 0), {}, "the procedure expire_snapshots wants at least 1 for 'retain_max', found 0"),
        ("expire_snapshots", ("t",), {"dry_run": "yes"},
         "the procedure expire_snapshots wants true or false for 'dry_run', found 'yes'"),
        ("expire_snapshots", ("t",), {"options": "write-only"},
         "wants text such as 'key=value,key=value', or a map for 'options', found 'write-only'"),
        ("expire_snapshots", ("t",), {"older_than": 1.5},
         "wants a time, such as '2026-11-01 12:30:00', or epoch milliseconds for 'older_than', found 1.5"),
        ("create_tag", ("t", 7), {}, "the procedure create_tag wants text for 'tag', found 7"),
        ("create_tag", ("t", "a", None, 7), {},
         "wants a length of time, such as '7 d' for 'time_retained', found 7"),
        ("delete_tag", ("t", ["a", 7]), {},
         "wants text with commas between names, or an array of names for 'tag', found ['a', 7]"),
        ("mark_partition_done", ("t", {"p": 1}), {}, "for 'partitions', found {'p': 1}"),
        ("compact", ("t",), {"compact_strategy": "half"},
         "the procedure compact wants 'full' or 'minor' for 'compact_strategy', found 'half'"),
        ("compact", (7,), {}, "the procedure compact wants text for 'table', found 7"),
    ],
)  # fmt: skip
def test_what_does_not_fit(name: str, positional: tuple[object, ...], named: Mapping[str, object], said: str) -> None:
    with pytest.raises(OptionError, match=re.escape(said)):
        bind(name, positional, named)


def test_a_procedure_of_another_system_leads_to_one_of_ours() -> None:
    with pytest.raises(OptionError, match=r"no procedure 'rewrite_data_files'; what it does is CALL sys\.compact$"):
        bind("rewrite_data_files", ("db.t",))
    assert set(OTHER_NAMES.values()) <= set(PROCEDURES)
    assert not set(OTHER_NAMES) & {*PROCEDURES, *DATABASE_PROCEDURES}
