"""Tables with indexes of the whole table that we and Java write in turn: both find the same rows with and without.

``PAIMON_GLOBAL_INDEX_HISTORIES`` sets how many histories are tried; a number is a seed.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from genuine import Genuine
from java_evolution import NEW_IDS, compact_columns, live_groups, reassign_row_ids
from java_global_indexes import create_index, index_entries, rows_where
from readers import telling
from support.long_runs import tries
from support.oracles.checker import check_table
from support.tables.column_changes import EVOLVED, VECTORS

from paimon_spark import open_table
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.tables.open import WritableTable

pytestmark = pytest.mark.interop

TYPES = {"k": "BIGINT", "n": "INT", "s": "STRING", "w": "BIGINT", "p": "INT"}
NUMBERS = [None, *range(7)]
TEXTS = [None, "", "a", "ab", "abc", "b", "c"]
DROPS = {"global-index.column-update-action": "DROP_PARTITION_INDEX"}
LEAVES = [
    "n = 3", "n in (1, 5)", "n < 2", "n is null", "n <> 4", "n between 2 and 5", "s = 'ab'", "s like 'a%'", "s > 'ab'",
    "s is null", "not (s = 'a')", "p = 1", "w = -1",
]  # fmt: skip


class History:
    """What is done to a table, at random."""

    def __init__(self, java: Genuine, path: str, random: Random) -> None:
        self.java, self.path, self.random = java, path, random
        self.log: list[str] = []
        self.count = 0

    @property
    def table(self) -> WritableTable:
        return open_table(self.path)

    def step(self) -> None:
        deeds = [self.append, self.append, self.index, self.index, self.index, self.update_other, self.update_indexed]
        deeds += [self.delete, self.compact, self.renumber, self.drop, self.back, self.empty, self.java_delete]
        deed = self.random.choice(deeds)
        self.log.append(deed.__name__)
        deed()

    def append(self) -> None:
        rows = []
        for _ in range(self.random.randint(1, 30)):
            self.count += 1
            draw = self.random.choice
            rows.append((self.count, draw(NUMBERS), draw(TEXTS), self.random.randrange(5), self.random.randrange(2)))
        if self.random.random() < 0.5:
            self.java.write(self.path, rows)
        else:
            self.table.append([dict(zip(TYPES, row, strict=True)) for row in rows])

    def index(self) -> None:
        column, kind = self.random.choice(["n", "s"]), self.random.choice(["btree", "bitmap"])
        self.log.append(f"{kind} of {column}")
        if self.random.random() < 0.3:
            with suppress(RuntimeError):  # it takes files whole, which a compaction may have made of others
                self.java.run(create_index, self.path, column, kind)
            return
        chosen = self.random.choice([None, None, "p=0", "p=1"])
        options = {"sorted-index.records-per-range": self.random.choice(["7", "1000"])}
        open_table(self.path, options).create_global_index(column, kind, partitions=chosen)

    def drop(self) -> None:
        partitions = self.random.choice([None, "p=0"])
        self.table.drop_global_index(self.random.choice(["n", "s"]), "btree", partitions=partitions)

    def update_other(self) -> None:
        self.table.update(self.random.choice(LEAVES), {"w": -1})

    def update_indexed(self) -> None:
        where, column = self.random.choice(LEAVES), self.random.choice(["n", "s"])
        value: Any = {"n": 4, "s": "'abc'"}[column]
        if self.random.random() < 0.5:
            with suppress(UnsupportedFeature):
                self.table.update(where, {column: value})
        else:
            open_table(self.path, DROPS).update(where, {column: value})

    def delete(self) -> None:
        self.table.delete(f"n = {self.random.randrange(7)} and w < 3")

    def java_delete(self) -> None:
        positions = {}
        for _, count, name in self.java.run(live_groups, self.path):
            gone = [place for place in range(count) if self.random.random() < 0.1]
            positions |= {name: gone} if gone else {}
        if positions:
            self.java.delete_positions(self.path, positions)

    def compact(self) -> None:
        if self.random.random() < 0.5:
            self.table.compact()
        else:
            self.java.run(compact_columns, self.path)

    def renumber(self) -> None:
        ours, anew = self.random.random() < 0.5, self.random.random() < 0.5
        if ours and anew:
            self.table.materialize_deletion_vectors()
        elif ours:
            self.table.reassign_row_id()
        elif anew:
            self.java.run(compact_columns, self.path, False, NEW_IDS)
        else:
            self.java.run(reassign_row_ids, self.path)

    def back(self) -> None:
        """To a state before the last changes."""
        latest = self.table.snapshots.latest_id() or 1
        self.table.rollback(max(latest - self.random.randint(1, 3), 1))

    def empty(self) -> None:
        if self.random.random() < 0.3:
            self.table.drop_partitions(f"p = {self.random.randrange(2)}")

    def found(self, where: str, enabled: str) -> list[int]:
        scan = open_table(self.path, {"global-index.enabled": enabled}).scan(["k"], where=where)
        return sorted(scan.to_arrow()["k"].to_pylist())

    def check(self) -> None:
        for _ in range(4):
            some = self.random.choices(LEAVES, k=self.random.randint(1, 3))
            where = f" {self.random.choice(['and', 'or'])} ".join(some)
            assert self.found(where, "true") == self.found(where, "false"), where
        column, values = self.random.choice([("n", NUMBERS[1:]), ("s", TEXTS[1:])])
        method = self.random.choice(["equal", "lessThan", "isNull", "greaterOrEqual"])
        asked = [(column, method, self.random.choice(values))]
        rows = [
            sorted(map(repr, self.java.run(rows_where, self.path, asked, options)[0]))
            for options in ({"scalar-index.search-mode": "full"}, {"global-index.enabled": "false"})
        ]
        assert rows[0] == rows[1], asked


@pytest.mark.parametrize("seed", range(tries("PAIMON_GLOBAL_INDEX_HISTORIES", ci=1, long=40)))
def test_both_write_and_index_in_turn(java: Genuine, tmp_path: Path, seed: int) -> None:
    path, random = str(tmp_path / "t"), Random(seed)
    java.create(path, TYPES, partitions=["p"], options={**EVOLVED, **VECTORS, "snapshot.num-retained.min": "100"})
    history = History(java, path, random)
    with telling(history.log):
        history.append()
        history.index()
        for _ in range(12):
            history.step()
            history.check()
        check_table(path)
        for _, name, first, last, _, _ in java.run(index_entries, path):
            assert 0 <= first <= last, name
