"""Every genuine table is compacted by us: no snapshot reads otherwise than before, and the table is sound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.oracles.checker import check_table
from support.oracles.comparing import Row, comparable
from support.tables.golden_tables import GoldenTable, golden_tables

from paimon_spark import open_table
from paimon_spark.store.compact.compaction import compact_table, run_here
from paimon_spark.store.compact.outcomes import Outcome
from paimon_spark.store.compact.task import CompactTask
from paimon_spark.store.metadata.table import Table

TABLES = golden_tables()
UNREAD = {"blob", "data_evolution"}  # refused by name


class Here:
    """Runs the tasks in this process."""

    def run(self, table: Table, tasks: Sequence[CompactTask]) -> list[Outcome]:
        return [run_here(table, task) for task in tasks]

    def stop(self) -> None:
        """Nothing runs beside the caller."""


def states(path: Path) -> dict[int, Counter[Row]]:
    """The rows of every snapshot that can be travelled to."""
    ids = open_table(str(path)).snapshots.ids()
    return {i: comparable(open_table(str(path), {"scan.snapshot-id": str(i)}).scan().to_arrow()) for i in ids}


def shown_by_compaction(path: Path) -> Counter[Row] | None:
    """The rows once no file of level 0 is hidden any more; None where that cannot be read before."""
    table = open_table(str(path))
    if table.settings.get("merge-engine") == "first-row":
        return None
    return comparable(open_table(str(path), {"deletion-vectors.merge-on-read": "true"}).scan().to_arrow())


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("golden", [t for t in TABLES if t.name not in UNREAD], ids=str)
def test_rows_of_every_snapshot_stay(golden: GoldenTable, full: bool, tmp_path: Path) -> None:
    path = golden.unpack(tmp_path)
    before, shown = states(path), shown_by_compaction(path)
    done = compact_table(open_table(str(path)), Here(), full=full)
    after = states(path)
    assert {i: after[i] for i in before} == before
    assert len(after) == len(before) + len(done.snapshot_ids)
    for snapshot_id in done.snapshot_ids:
        if shown is None:
            assert after[snapshot_id] >= before[max(before)]
        elif full:
            assert after[snapshot_id] == shown
    check_table(str(path))
