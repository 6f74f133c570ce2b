"""Random histories of tables, streamed with limits and restarts: the changes make the states (R2), each comes once."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.long_runs import tries
from support.tables.compacted_tables import append, new_table
from support.tables.micro_batches import FROM_FIRST, Checkpoint, Died, Query, applied

from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.finish_write import compact_after_write
from paimon_spark.tables.open import open_table

COUNT = tries("PAIMON_STREAM_HISTORIES", ci=3, long=60)
KINDS: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "input": {"changelog-producer": "input"},
    "lookup": {"changelog-producer": "lookup"},
    "lookup with vectors": {"changelog-producer": "lookup", "deletion-vectors.enabled": "true"},
    "full-compaction": {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "2"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "dynamic buckets": {"bucket": "-1", "dynamic-bucket.target-row-num": "5", "changelog-producer": "lookup"},
    "aggregation": {
        "changelog-producer": "lookup", "merge-engine": "aggregation", "fields.a.aggregate-function": "sum",
        "fields.b.aggregate-function": "last_value", "fields.b.ignore-retract": "true",
        "fields.a.ignore-retract": "true",
    },
}  # fmt: skip
LIMITS: list[dict[str, str]] = [
    {},
    {"read.stream.maxFilesPerTrigger": "1"},
    {"read.stream.maxRowsPerTrigger": "7"},
    {"read.stream.maxFilesPerTrigger": "3", "read.stream.maxBytesPerTrigger": "4000"},
]


class History:
    """A table that is written, compacted and streamed in turn."""

    def __init__(self, seed: int, kind: str, path: Path) -> None:
        self.random = random.Random(f"{seed} {kind}")
        options = {"bucket": str(self.random.choice([1, 2])), **KINDS[kind]}
        self.deletes = "aggregation" not in kind
        self.table = new_table(path, options)
        self.states: dict[int, dict[Any, Any]] = {0: {}}

    def write(self) -> None:
        keys = sorted(self.random.sample(range(20), 6))
        kinds = [3 if self.deletes and self.random.random() < 0.3 else self.random.choice([0, 2]) for _ in keys]
        number = self.random.randrange(1000)
        messages = append(self.table, [(k, number + k, f"s{number}") for k in keys], kinds)
        if self.random.random() < 0.7:
            compact_after_write(self.table, messages, LocalRunner())

    def compact(self) -> None:
        compact_table(open_table(self.table.location), LocalRunner(), full=True)

    def step(self) -> None:
        self.random.choices([self.write, self.compact], [5, 1])[0]()


def state_of(table: Table, snapshot_id: int | None = None) -> dict[Any, Any]:
    options = {} if snapshot_id is None else {"scan.snapshot-id": str(snapshot_id)}
    rows = open_table(table.location, options).scan().to_arrow().to_pylist()
    return {row["k"]: row for row in rows}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(COUNT))
def test_changes_make_the_state_whenever_the_query_dies(kind: str, seed: int, tmp_path: Path) -> None:
    history = History(seed, kind, tmp_path / "t")
    r, table = history.random, history.table
    history.write()
    for _ in range(r.randrange(4)):
        history.step()
    modes: list[dict[str, str]] = [FROM_FIRST, {}, {"scan.mode": "latest-full"}]
    if kind in ("none", "input", "vectors"):  # else the last full state is what has a changelog
        modes.append({"scan.mode": "from-snapshot-full", "scan.snapshot-id": "1"})
    options = {**r.choice(modes), **r.choice(LIMITS)}
    checkpoint, state = Checkpoint(), dict[Any, Any]()
    batches: dict[int, list[dict[str, Any]]] = {}
    for _ in range(8):
        query = Query(table, options, checkpoint, available_now=r.random() < 0.5, row_kinds=True)
        try:
            for number, rows in query.run(dies_after=r.choice([None, None, 1, 2, 3])):
                if number in batches:
                    assert _sorted(rows) == _sorted(batches[number])  # a batch that comes again is the same
                else:
                    applied(rows, state)
                batches[number] = rows
                if r.random() < 0.3:
                    history.step()
        except Died:
            pass
        history.step()
    history.compact()
    for number, rows in Query(table, options, checkpoint, row_kinds=True).run():
        if number not in batches:
            applied(rows, state)
        batches[number] = rows
    assert state == state_of(table)


def _sorted(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(map(str, rows))


@pytest.mark.parametrize("kind", ["none", "input", "lookup", "full-compaction", "lookup with vectors"])
def test_changes_make_every_state(kind: str, tmp_path: Path) -> None:
    """Stream from the first snapshot on, unit by unit: after each snapshot the changes make what a read shows; with a
    lookup changelog what it shows without level 0, and so after each compaction only."""
    history = History(1, kind, tmp_path / "t")
    for _ in range(7):
        history.write()
    history.compact()
    table = history.table
    stream = Query(table, FROM_FIRST, Checkpoint(), row_kinds=True)
    state: dict[Any, Any] = {}
    position, compared = stream.stream.first(), 0
    for snapshot_id in range(1, (table.snapshots.latest_id() or 0) + 1):
        end = replace(position, snapshot=snapshot_id + 1, index=0, full=False)
        units = stream.stream.units(position, end)
        for task in stream.read.tasks(units):
            for unit in task:
                for batch in stream.read.reader.read(unit):
                    applied(batch.to_pylist(), state)
        position = end
        compacts = table.snapshots.load(snapshot_id).commit_kind == "COMPACT"
        if kind in ("none", "input") or (compacts and kind.startswith("lookup")):
            assert state == state_of(table, snapshot_id)
            compared += 1
    assert state == state_of(table)
    assert compared or kind == "full-compaction"


@pytest.mark.parametrize("kind", ["none", "input", "lookup", "lookup with vectors"])
def test_sums_over_changes_are_right_wherever_a_stream_begins(kind: str, tmp_path: Path) -> None:
    """What adds rows up counts each row that comes, so a deletion must not come whose row never came."""
    history = History(3, kind, tmp_path / "t")
    for _ in range(6):
        history.write()
    history.compact()
    for _ in range(6):
        history.write()
        query = Query(history.table, {"scan.mode": "latest-full"}, Checkpoint(), row_kinds=True)
        rows = [row for _, batch in query.run() for row in batch]
        assert {row["_row_kind"] for row in rows} <= {"+I", "+U"}
