"""Lookup joins of Flink, with a full cache and with a partial one, over tables that we upsert, delete from, compact and
expire: each row of the stream finds what is there, a little later at most, and never again what was there before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flink_conflicts import until
from flink_session import FlinkSession
from support.oracles.checker import check_table

from paimon_spark import create_table, open_table

pytestmark = pytest.mark.interop

KEYS = 20
COLUMNS = {"k": "BIGINT", "g": "BIGINT", "v": "BIGINT"}
TABLES = {
    "plain": {"bucket": "2"},
    "changelog": {"bucket": "2", "changelog-producer": "lookup"},
    "vectors": {"bucket": "2", "deletion-vectors.enabled": "true"},
    "dynamic": {"bucket": "-1", "dynamic-bucket.target-row-num": "8"},
}
SOURCE = (
    "CREATE TEMPORARY TABLE asked (n BIGINT, k AS MOD(n, {keys}), moment AS PROCTIME()) WITH ('connector' = 'datagen', "
    "'fields.n.kind' = 'sequence', 'fields.n.start' = '0', 'fields.n.end' = '30000', 'rows-per-second' = '100')"
)
# The cache of a join on the key of a table with a fixed number of buckets is partial, unless an option says else.
CASES = [
    *((table, "auto", "k") for table in TABLES),
    *((table, "full", "k") for table in TABLES),
    ("plain", "full", "g"),
    ("vectors", "full", "g"),
]


class Join:
    """A join that goes on, over one table."""

    def __init__(self, flink: FlinkSession, warehouse: Path, table: str, cache: str, column: str) -> None:
        self.flink, self.column = flink, column
        self.name = f"joined_{table}_{cache}_{column}"
        self.path = str(warehouse / "d.db" / self.name)
        create_table(self.path, COLUMNS, primary_keys="k", options=TABLES[table])
        self.expected: dict[int, int | None] = {}
        self.seen = 0
        self.newest: dict[int, int] = {}

    def start(self) -> None:
        # A row's g is another one of the keys, so that each is asked for in both ways.
        hint = f"OPTIONS('lookup.cache' = '{self.name.split('_')[2]}', 'continuous.discovery-interval' = '200 ms')"
        self.flink.follow(
            self.name,
            f"SELECT a.k, d.v FROM asked AS a LEFT JOIN d.{self.name} /*+ {hint} */ "
            f"FOR SYSTEM_TIME AS OF a.moment AS d ON a.k = d.{self.column}",
        )

    def put(self, keys: range, value: int) -> None:
        open_table(self.path).append([{"k": k, "g": KEYS - 1 - k, "v": value} for k in keys])
        self.expected |= {self._asked(k): value for k in keys}

    def delete(self, keys: range) -> None:
        table = open_table(self.path)
        assert table.delete(f"k >= {keys.start} AND k < {keys.stop}").rows_deleted == len(keys)
        self.expected |= dict.fromkeys(map(self._asked, keys), None)

    def wait(self) -> None:
        """Until a round of answers is what is there; answers on the way are not older than those before."""
        until(lambda: self._answers() == self.expected, f"{self.name} answers {self.expected}")

    def _answers(self) -> dict[int, int | None]:
        end = self.flink.end_of(self.name)
        assert end == "", end
        rows = [(int(str(k)), v if v is None else int(v)) for _, (k, v) in self.flink.changes(self.name)]
        for key, value in rows[self.seen :]:
            if value is not None:
                assert value >= self.newest.get(key, 0), f"{self.name}: key {key} has {value} again"
                self.newest[key] = value
        self.seen = len(rows)
        return dict(rows[-KEYS:])

    def _asked(self, k: int) -> int:
        return k if self.column == "k" else KEYS - 1 - k


@pytest.mark.parametrize(("table", "cache", "column"), CASES)
def test_lookup_join(table: str, cache: str, column: str, flink: FlinkSession, flink_warehouse: Path) -> None:
    flink.define(SOURCE.format(keys=KEYS).replace("TABLE asked", "TABLE IF NOT EXISTS asked"))
    join = Join(flink, flink_warehouse, table, cache, column)
    join.put(range(KEYS), 1)
    join.start()
    join.wait()
    for value in range(2, 6):
        join.put(range(value, KEYS), value)
        join.wait()
        join.delete(range(KEYS - 3, KEYS))
        if (table, cache) != ("vectors", "auto"):  # a partial cache sees the vectors of a DELETE after a compaction
            join.wait()
        opened: Any = open_table(join.path)
        opened.compact(full=True)
        opened.expire_snapshots(retain_max=2, retain_min=1, older_than="2999-01-01 00:00:00")
        join.wait()
    flink.cancel(join.name)
    check_table(join.path)
