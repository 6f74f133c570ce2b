"""Changes of tables of every merge engine and changelog producer, written by us and by genuine Java in turn: our reads
against Java's $audit_log, and the difference of two states against Java's reads of both.

``PAIMON_CHANGE_HISTORIES`` sets how many histories are tried (each by its number as seed).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import our_engine
import pytest
from engine_tables import Blobs, EngineTable, draw_table, same
from genuine import Genuine, table_path
from readers import java_read, telling
from support.long_runs import tries
from support.oracles.comparing import Row, comparable, comparable_rows

from paimon_spark import open_table
from paimon_spark.format.snapshot import CommitKind

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_CHANGE_HISTORIES", ci=4, long=10)
ENGINES = ["deduplicate", "aggregation", "partial-update", "groups", "first-row"]
PRODUCERS = ["none", "input", "lookup", "full-compaction"]
ROWS = 10


class ChangeHistory:
    """One table and what was done to it; log is shown when the readers differ."""

    def __init__(self, seed: int, path: str, java: Genuine, blobs: Blobs) -> None:
        self.random = random.Random(seed)
        self.path, self.java = path, java
        self.engine = ENGINES[seed % len(ENGINES)]
        self.table: EngineTable = draw_table(self.random, self.engine, blobs)
        producers = ["none", "lookup"] if self.engine == "first-row" else PRODUCERS
        self.producer = self.random.choice(producers)
        self.log: list[str] = []

    def run(self) -> None:
        table = self.table
        options = {**table.options, "changelog-producer": self.producer}
        self.log.append(f"create {table.columns} keys {table.keys} {options}")
        self.java.create(self.path, table.columns, table.keys, [], options)
        steps = [self._we_write, self._java_writes, self._java_writes, self._java_compacts, self._overwrite]
        self._java_writes()
        for _ in range(self.random.randint(4, 8)):
            self.random.choices(steps, [4, 3, 2, 2, 1])[0]()
        ids = [0, *our_engine.snapshot_ids(self.path)]
        for mode in ("auto", "delta", "changelog"):
            for _ in range(2):
                start, end = sorted(self.random.sample(ids, 2))
                self._check_commits({"incremental-between": f"{start},{end}", "incremental-between-scan-mode": mode})
        for _ in range(3):
            self._check_difference(*sorted(self.random.sample(ids, 2)))

    def _we_write(self) -> None:
        parts = [self.table.rows_and_kinds(self.random, ROWS) for _ in range(self.random.choice([1, 1, 2]))]
        self.log.append(f"we write {parts}")
        our_engine.write(self.path, parts, {"write-only": "true"})

    def _java_writes(self) -> None:
        rows, kinds = self.table.rows_and_kinds(self.random, ROWS)
        options = self.random.choice([{}, {"write-only": "true"}])
        self.log.append(f"Java writes {options} {list(zip(kinds, rows, strict=True))}")
        self.java.write(self.path, rows, kinds, options)

    def _overwrite(self) -> None:
        rows = self.table.rows(self.random, 3)
        if self.random.random() < 0.5:
            self.log.append(f"we overwrite with {rows}")
            our_engine.overwrite(self.path, rows, None)
        else:
            self.log.append(f"Java overwrites with {rows}")
            self.java.write(self.path, rows, None, {"write-only": "true"}, overwrite={})

    def _java_compacts(self) -> None:
        if self.java.files(self.path):
            full = self.random.random() < 0.6
            self.log.append(f"Java compacts, full: {full}")
            self.java.compact(self.path, full)

    def _check_commits(self, options: Mapping[str, str]) -> None:
        self.log.append(f"read {options}")
        javas: Counter[Row] = Counter()
        for kind, row in self.java.audit_log(self.path, options):
            javas[(kind, *self.table.canonical(next(iter(comparable_rows([row], our_engine.types(self.path))))))] += 1
        assert self._ours(options) == javas
        table = open_table(self.path, options)
        adds = sum(count for (kind, *_), count in javas.items() if kind in ("+I", "+U"))
        assert table.scan().to_arrow().num_rows == adds == table.scan().count()

    def _check_difference(self, start: int, end: int) -> None:
        """What is in the one state and not in the other, by key. Of first-row tables only compacted states are read
        alike by all readers; Java compares fresh files too."""
        snapshots = open_table(self.path).snapshots
        if self.engine == "first-row":
            ends = [snapshots.load(i) for i in (start, end) if i]
            if any(s.commit_kind != CommitKind.COMPACT for s in ends):
                return
        options = {"incremental-between": f"{start},{end}", "incremental-between-scan-mode": "diff"}
        self.log.append(f"read {options}")
        before, after = (self._by_key(i) for i in (start, end))
        expected = Counter({("-D", *before[key]): 1 for key in before if key not in after})
        expected.update({("+", *row): 1 for key, row in after.items() if before.get(key) != row})
        ours: Counter[Row] = Counter()
        for (kind, *row), count in self._ours(options).items():
            if kind == "-D" or before.get(self._key(tuple(row))) != tuple(row):  # values may be of other bytes only
                ours[("-D" if kind == "-D" else "+", *row)] += count
            else:
                assert any(canon is not same for canon in self.table.canons)
        assert ours == expected
        if start and self.engine in ("deduplicate", "first-row"):
            self._check_against_javas_difference(ours, options, before, after)

    def _check_against_javas_difference(
        self, ours: Counter[Row], options: Mapping[str, str], before: Mapping[Row, Row], after: Mapping[Row, Row]
    ) -> None:
        """Java leaves files of both states out before it merges: it also shows rows that were written again unchanged,
        and deletions of keys that were not there, or that an older row of a higher sequence keeps alive."""
        types, javas = our_engine.types(self.path), Counter[Row]()
        for kind, values in self.java.audit_log(self.path, options):
            row = self.table.canonical(next(iter(comparable_rows([values], types))))
            key = self._key(row)
            if kind in ("+I", "+U"):
                if before.get(key) != after.get(key):
                    javas[("+", *row)] += 1
            elif key in before and key not in after:
                javas[("-D", *before[key])] += 1
        assert ours == javas

    def _ours(self, options: Mapping[str, str]) -> Counter[Row]:
        table = open_table(self.path, options)
        made: Counter[Row] = Counter()
        for (kind, *row), count in comparable(table.scan(["_row_kind", *table.schema.names]).to_arrow()).items():
            made[(kind, *self.table.canonical(row))] += count
        return made

    def _by_key(self, snapshot: int) -> dict[Row, Row]:
        if not snapshot:
            return {}
        rows = java_read(self.java, self.path, {"scan.snapshot-id": str(snapshot)})
        return {self._key(row): row for row in map(self.table.canonical, rows)}

    def _key(self, row: Row) -> Row:
        return tuple(row[i] for i, name in enumerate(self.table.columns) if name in self.table.keys)


@pytest.mark.parametrize("seed", range(COUNT))
def test_any_change_reads_the_same(seed: int, java: Genuine, blobs: Blobs, tmp_path: Path) -> None:
    history = ChangeHistory(seed, table_path(tmp_path), java, blobs)
    with telling(history.log):
        history.run()
