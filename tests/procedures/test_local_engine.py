"""Procedures without Spark: the local engine does what is large, and what has to follow an operation follows it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.oracles.checker import check_table
from support.tables.compacted_tables import append, new_table, rows_of

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import OptionError
from paimon_spark.procedures.analysis import Analyze
from paimon_spark.procedures.local_engine import LocalEngine
from paimon_spark.procedures.orphan_files import RemoveOrphanFiles
from paimon_spark.procedures.procedure import Procedure
from paimon_spark.procedures.rewrites import Compact, CompactManifest, Copy, Rescale
from paimon_spark.procedures.rollbacks import Rollback
from paimon_spark.procedures.row_removal import DropPartitions, PurgeFiles, RemoveUnexistingFiles, Truncate
from paimon_spark.procedures.snapshots import ExpireSnapshots
from paimon_spark.procedures.tags import CreateTag, DeleteTag
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

LOCAL = LocalEngine()
ONE_SNAPSHOT = {"snapshot.num-retained.max": "1", "snapshot.num-retained.min": "1"}
PARTITIONED = pa.schema([("id", pa.int64()), ("p", pa.int32())])


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Two runs in each of two buckets."""
    made = new_table(tmp_path / "t", {"bucket": "2", "write-only": "true"})
    for number in range(2):
        append(made, [(k, number, f"text {k}") for k in range(20)])
    return made


def test_a_compaction_by_a_runner_of_the_caller(table: Table) -> None:
    before, ended = rows_of(table), []
    assert Compact(partition_idle_time="1 d").run(table, LOCAL).buckets == 0
    with pytest.raises(OptionError, match="'partition_idle_time' is for compactions that do not sort"):
        Compact(order_strategy="order", order_by="k", partition_idle_time="1 d").run(table, LOCAL)
    assert Compact(partition_idle_time="0 s").run(table, LocalEngine(LocalRunner(1, ended=ended.append))).buckets == 2
    assert (len(ended), rows_of(table)) == (2, before)
    assert Compact().run(table, LOCAL).buckets == 0
    check_table(table.location)


def test_a_rescale(table: Table) -> None:
    before = rows_of(table)
    assert Rescale(3).run(table, LOCAL).snapshot_id == 3
    rescaled = open_table(table.location)
    assert (rescaled.schema.options["bucket"], rows_of(rescaled)) == ("3", before)
    check_table(table.location)


@pytest.mark.parametrize("distributed", [True, False, None])
def test_orphans_and_copies_are_done_here(table: Table, tmp_path: Path, distributed: bool | None) -> None:
    assert RemoveOrphanFiles(distributed=distributed).run(table, LOCAL).paths == ()
    copied = Copy(str(tmp_path / "copy"), distributed=distributed).run(table, LOCAL)
    assert rows_of(open_table(copied.location)) == rows_of(table)
    check_table(copied.location)


def test_an_analysis(table: Table) -> None:
    done = Analyze("all").run(table, LOCAL)
    assert done.statistics is not None
    assert (done.snapshot_id, done.statistics.snapshot_id, done.statistics.merged_record_count) == (3, 2, 20)
    found = [(c.distinct_count, c.min, c.max, c.null_count) for c in done.statistics.columns.values()]
    assert found == [(20, "0", "19", 0), (1, "1", "1", 0), (20, None, None, 0)]
    check_table(table.location)


@pytest.mark.parametrize(
    "procedure", [Truncate(), DropPartitions("p = 1"), RemoveUnexistingFiles(dry_run=False), Rescale(2)]
)
def test_maintenance_follows(tmp_path: Path, procedure: Procedure[object]) -> None:
    location = str(tmp_path / "t")
    create_table(location, new_schema(PARTITIONED, ("id", "p"), ("p",), {"bucket": "1", "write-only": "true"}))
    for number in (1, 2):
        write = TableWrite(open_table(location), f"user-{number}")
        write.write(pa.record_batch([[1, 2], [number, 1]], schema=PARTITIONED))
        TableCommit(open_table(location), f"user-{number}").append(write.finish())
    if isinstance(procedure, RemoveUnexistingFiles):
        next(Path(location).rglob("p=2/*/data-*")).unlink()
    procedure.run(open_table(location, {**ONE_SNAPSHOT, "write-only": "false"}), LOCAL)
    assert open_table(location).snapshots.ids() == [3]
    check_table(location)


def test_maintenance_does_not_follow_what_changed_nothing(table: Table) -> None:
    kept = open_table(table.location, {**ONE_SNAPSHOT, "write-only": "false"})
    assert RemoveUnexistingFiles(dry_run=False).run(kept, LOCAL).snapshot_id is None
    assert kept.snapshots.ids() == [1, 2]


TIMED: list[Procedure[Any]] = [
    CreateTag("kept", 1),
    CompactManifest(),
    Compact(),
    Rescale(3),
    RemoveUnexistingFiles(dry_run=False),
    RemoveOrphanFiles(dry_run=False),
    DeleteTag("kept"),
    Rollback(2),
    ExpireSnapshots(retain_max=1, retain_min=1),
    Truncate(),
    PurgeFiles(),
]


def test_results_say_how_long_it_took(table: Table) -> None:
    """A clock that is not read from the beginning of the work says some days, or less than nothing."""
    timed = 0
    for procedure in TIMED:
        began = time.monotonic()
        result = procedure.run(open_table(table.location), LOCAL)
        if hasattr(result, "millis"):
            timed += 1
            assert 0 <= result.millis <= (time.monotonic() - began) * 1000 + 1, procedure
    assert timed >= len(TIMED) - 3
