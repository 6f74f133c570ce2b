"""Streams of append tables that are clustered meanwhile: each row comes once, wherever the stream begins."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from support.long_runs import tries
from support.tables.compacting import make, rows_of, write
from support.tables.micro_batches import FROM_FIRST, Checkpoint, Died, Query, Rows
from support.tables.sorting import COLUMNS, PLAIN, SmallParts, same

from paimon_spark.store.clustering.incremental import cluster_incrementally
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

COUNT = tries("PAIMON_CLUSTERED_STREAMS", ci=4, long=60)
CLUSTERED = {
    **PLAIN, "clustering.incremental": "true", "clustering.columns": "k", "num-sorted-run.compaction-trigger": "2",
    "deletion-vectors.enabled": "true",
}  # fmt: skip
LIMITS = [{}, {"read.stream.maxFilesPerTrigger": "1"}, {"read.stream.maxRowsPerTrigger": "7"}]
STARTS = {"from the first snapshot": FROM_FIRST, "from a full state": {"scan.mode": "latest-full"}}


class Life:
    """An append table of distinct numbers, written and clustered in turn."""

    def __init__(self, seed: str, path: Path) -> None:
        self.random, self.written = random.Random(seed), 0
        self.table = make(path, COLUMNS, [], CLUSTERED)

    def write(self) -> None:
        count = self.random.randint(1, 9)
        numbers = list(range(self.written, self.written + count))
        self.random.shuffle(numbers)
        write(self.table, [(number, f"v{number}", number / 8) for number in numbers])
        self.written += count

    def cluster(self) -> None:
        """Sorts some or all files, into parts so small that there are several files; some rows come meanwhile."""
        run = SmallParts(range_bytes=200, group_bytes=400, before=[self.write] * self.random.randint(0, 1))
        cluster_incrementally(open_table(self.table.location), full=self.random.random() < 0.3, run=run)

    def step(self) -> None:
        self.random.choices([self.write, self.cluster], [3, 2])[0]()


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("seed", range(COUNT))
def test_each_row_comes_once(start: str, seed: int, tmp_path: Path) -> None:
    life = Life(f"{seed} {start}", tmp_path / "t")
    draw = life.random
    for _ in range(draw.randint(1, 6)):
        life.step()
    life.write()
    options, checkpoint = {**STARTS[start], **draw.choice(LIMITS)}, Checkpoint()
    batches: dict[int, Rows] = {}
    for _ in range(6):
        try:
            for number, rows in Query(life.table, options, checkpoint).run(draw.choice([None, 1, 2])):
                assert batches.setdefault(number, rows) == rows  # a batch that comes again is the same
                if draw.random() < 0.4:
                    life.step()
        except Died:
            pass
        life.step()
    life.cluster()
    batches.update(Query(life.table, options, checkpoint).run())
    assert sorted(row["k"] for rows in batches.values() for row in rows) == list(range(life.written))
    assert same([k for k, _, _ in rows_of(life.table)], range(life.written))
    assert clusterings(life.table)


def clusterings(table: Table) -> int:
    """How many snapshots are of clusterings."""
    return sum(table.snapshots.load(i).commit_kind == "COMPACT" for i in table.snapshots.ids())
