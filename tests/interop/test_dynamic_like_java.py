"""Dynamic buckets by us and by Java in turn: no key in two buckets, no key in two partitions, rows equal."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import java_dynamic
import numpy as np
import our_dynamic
import our_engine
import pytest
from genuine import Genuine, table_path
from java_dynamic import Row
from readers import assert_same, telling
from support.long_runs import tries
from support.oracles.checker import check_table

from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.store.buckets.bucket_assigner import BucketFilling, KnownHashes, PartitionIndex, bucket_rules

pytestmark = pytest.mark.interop
COUNT = tries("PAIMON_HISTORIES", ci=2, long=4)
COLUMNS = {"k": "INT NOT NULL", "p": "STRING", "v": "INT"}


def test_assigners_fill_buckets_alike(java: Genuine) -> None:
    draw = Random(7)
    for _ in range(40):
        target, assigners = draw.randint(1, 5), draw.randint(1, 3)
        assigner = draw.randrange(assigners)
        top = draw.choice([20, 2**31 - 1])
        calls = [[draw.randint(-top, top) for _ in range(draw.randint(0, 30))] for _ in range(3)]
        theirs = java.run(java_dynamic.assign_hashes, calls, target, -1, assigner, assigners)
        none = np.empty(0, np.int32)
        rules = bucket_rules(TableSettings({"dynamic-bucket.target-row-num": str(target)}), partitioned=True)
        index = PartitionIndex(KnownHashes(none, none), BucketFilling({}, rules, assigner, assigners))
        assert [index.assign(np.array(call, np.int32)).tolist() for call in calls] == theirs


class Turns:
    """One random history of a table that both write; the model is a dict of rows by key."""

    def __init__(self, seed: int, path: str, java: Genuine) -> None:
        self.draw, self.path, self.java = Random(seed), path, java
        self.rows: dict[tuple[object, ...], Row] = {}
        self.log: list[str] = []
        self.partitioned = self.draw.random() < 0.7

    def batch(self) -> tuple[list[Row], list[str]]:
        count, draw = self.draw.randint(1, 25), self.draw
        parts = ["a", "b", "ä"] if self.partitioned else [None]
        rows = [(draw.randint(-20, 20), draw.choice(parts), draw.randint(0, 999)) for _ in range(count)]
        return rows, draw.choices(["+I", "+U", "-D"], [6, 2, 2], k=count)

    def create(self) -> None:
        draw = self.draw
        options = {"bucket": "-1", "dynamic-bucket.target-row-num": str(draw.randint(1, 6)), "num-levels": "3"}
        options["write-only"] = draw.choice(["true", "false"])
        options["dynamic-bucket.max-buckets"] = draw.choice(["-1", "3"])
        if draw.random() < 0.5:
            options["dynamic-bucket.initial-buckets"] = str(draw.randint(1, 3))
        columns = COLUMNS | ({"p": "STRING NOT NULL"} if self.partitioned else {})
        keys, partitions = (["k", "p"], ["p"]) if self.partitioned else (["k"], [])
        draw.choice([self.java.create, our_engine.create])(self.path, columns, keys, partitions, options)
        self.log.append(f"{keys} {options}")

    def turn(self) -> None:
        rows, kinds = self.batch()
        what = self.draw.choice(["java", "java", "told", "told", "untold", "untold", "compact", "overwrite"])
        if what == "compact":
            self.log.append(what)
            if self.rows:
                self.java.compact(self.path, full=self.draw.random() < 0.5)
            return
        overwrite = {} if what == "overwrite" else None
        if overwrite is not None:
            kinds = ["+I"] * len(rows)
            gone = {p for _, p, _ in rows}
            self.rows = {key: row for key, row in self.rows.items() if row[1] not in gone}
            what = self.draw.choice(["java", "told", "untold"])
        self.log.append(f"{what} {overwrite} {list(zip(rows, kinds, strict=True))}")
        for row, kind in zip(rows, kinds, strict=True):
            self.rows.pop(row[:2], None)
            if kind != "-D":
                self.rows[row[:2]] = row
        if what == "java":
            self.java.run(java_dynamic.write_dynamic, self.path, rows, kinds, self.draw.randint(1, 4), overwrite)
        else:
            cut = 0 if what == "told" else self.draw.randrange(len(rows))
            tasks = [(rows[:cut], kinds[:cut])] if cut else []
            our_dynamic.write_dynamic(self.path, [*tasks, (rows[cut:], kinds[cut:])], what == "told", overwrite)

    def check(self) -> None:
        assert assert_same(self.path, [self.java]) == Counter(self.rows.values())
        our_dynamic.index_of(self.path)


@pytest.mark.parametrize("seed", range(COUNT))
def test_turns(seed: int, java: Genuine, tmp_path: Path) -> None:
    turns = Turns(seed, table_path(tmp_path), java)
    with telling(turns.log):
        turns.create()
        for _ in range(7):
            turns.turn()
            turns.check()
        check_table(turns.path)


ENGINES = {
    "deduplicate": {},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    "first-row": {"merge-engine": "first-row"},
}


def applied(engine: str, state: dict[int, tuple[str, int | None]], rows: list[Row], kinds: list[str]) -> None:
    """What a job makes of the rows of a cross-partition table, by features 5.2."""
    for (k, p, v), kind in zip(rows, kinds, strict=True):
        assert p is not None
        if k not in state:
            if kind != "-D":
                state[k] = p, v
        elif engine == "deduplicate":
            state[k] = p, v
            if kind == "-D":
                del state[k]
        elif engine == "partial-update" and v is not None:
            state[k] = state[k][0], v
        elif engine == "aggregation" and v is not None:
            state[k] = state[k][0], (state[k][1] or 0) + v


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(max(COUNT // 3, 1)))
def test_turns_on_a_cross_partition_table(seed: int, engine: str, java: Genuine, tmp_path: Path) -> None:
    draw, path = Random(f"{seed}{engine}"), table_path(tmp_path)
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "3", **ENGINES[engine]}
    java.create(path, {"k": "INT NOT NULL", "p": "STRING NOT NULL", "v": "INT"}, ["k"], ["p"], options)
    state: dict[int, tuple[str, int | None]] = {}
    for number in range(6):
        count = draw.randint(1, 20)
        kinds = draw.choices(["+I", "-D"], [4, 1], k=count) if engine == "deduplicate" else ["+I"] * count
        rows: list[Row] = [
            (draw.randint(0, 12), draw.choice("abc"), draw.choice([None, *range(9)])) for _ in range(count)
        ]
        applied(engine, state, rows, kinds)
        if number % 2:
            java.run(java_dynamic.write_cross_partition, path, rows, kinds)
        else:
            our_dynamic.write_cross_partition(path, rows, kinds, draw.randint(1, 3))
            if engine == "first-row":
                java.compact(path)
        assert assert_same(path, [java]) == Counter((k, p, v) for k, (p, v) in state.items()), (rows, kinds)
    check_table(path)
