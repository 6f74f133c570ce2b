"""The arguments of SQL CALL become a procedure, or one clear sentence says why not."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping

import pytest

from paimon_spark.errors import OptionError
from paimon_spark.procedures.bind import Call, bind
from paimon_spark.procedures.branches import CreateBranch, RenameBranch
from paimon_spark.procedures.catalogue import PROCEDURES
from paimon_spark.procedures.compaction import Compact
from paimon_spark.procedures.consumers import ResetConsumer
from paimon_spark.procedures.copies import Copy
from paimon_spark.procedures.orphan_files import RemoveOrphanFiles
from paimon_spark.procedures.partitions import ExpirePartitions, MarkPartitionDone
from paimon_spark.procedures.procedure import Procedure
from paimon_spark.procedures.rescaling import Rescale
from paimon_spark.procedures.rollbacks import Rollback, RollbackToTimestamp
from paimon_spark.procedures.row_removal import DropPartitions, RemoveUnexistingFiles
from paimon_spark.procedures.snapshot_expiry import ExpireChangelogs, ExpireSnapshots
from paimon_spark.procedures.tags import CreateTag, DeleteTag

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
        ("remove_orphan_files", ("t", NOON, True, None, "LOCAL"), {}, RemoveOrphanFiles(NOON, True, False)),
        ("remove_unexisting_files", ("t",), {"dry_run": "true"}, RemoveUnexistingFiles(True)),
        ("remove_unexisting_files", ("t",), {}, RemoveUnexistingFiles(False)),
        ("compact", ("t",), {"compact_strategy": "minor", "where": "p = 1"}, Compact("p = 1", False)),
        ("rescale", ("t", 4), {"where": "p = 1"}, Rescale(4, "p = 1")),
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


@pytest.mark.parametrize("name", PROCEDURES)
def test_null_is_an_argument_that_is_not_given(name: str) -> None:
    order = PROCEDURES[name].official
    with pytest.raises(OptionError, match=r"needs '\w*table'"):
        bind(name, [None] * len(order))


@pytest.mark.parametrize(
    ("name", "positional", "named", "said"),
    [
        ("expire_snapshot", (), {}, "there is no procedure 'expire_snapshot': did you mean 'expire_snapshots'?"),
        ("zzz", (), {}, "there is no procedure 'zzz'; there are compact, compact_manifest, rescale, "),
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
        ("compact", ("t",), {"order_by": "id"},
         "the procedure compact does not have the argument 'order_by' in this release: leave it out"),
        ("compact", ("t", "p=1"), {},
         "the procedure compact does not have the argument 'partitions' in this release: leave it out"),
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
