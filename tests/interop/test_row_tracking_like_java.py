"""Tables with row tracking that we and genuine Java write in turns: the id and the number of every row.

After each step Java's own `$row_tracking`, ours, and the metadata columns of a read tell the same, and what a model
says: a row keeps its id as long as it lives, its number is that of the snapshot that changed it last, and new rows get
the ids that no row had before. Java 2.0.0 reads no ids of Avro files, not even of its own.

``PAIMON_TRACKED_HISTORIES`` sets how many lives are tried. Statements of the official connector for Spark take part
where it is there (genuine_spark.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import our_engine
import pytest
from genuine import Genuine, table_path
from genuine_spark import GenuineSpark, is_there
from java_system_tables import java_tables
from pyspark.sql import SparkSession
from readers import telling
from row_doors import BySql
from support.long_runs import draws, tries
from support.oracles.checker import check_table

import paimon_spark
from paimon_spark import open_table
from paimon_spark.store.metadata.table import Table

pytestmark = [pytest.mark.interop, pytest.mark.spark]
COUNT = tries("PAIMON_TRACKED_HISTORIES", ci=2, long=40)
COLUMNS = {"k": "INT", "v": "STRING", "p": "STRING"}
VECTORS = {"deletion-vectors.enabled": "true"}
KINDS: Mapping[str, tuple[dict[str, str], Sequence[str]]] = {
    "plain": ({}, ()),
    "parts": ({}, ("p",)),
    "vectors": (VECTORS, ()),
    "vectors in parts": (VECTORS, ("p",)),
    "orc": ({"file.format": "orc"}, ("p",)),
    "all statistics": ({"metadata.stats-dense-store": "false"}, ()),
}
Say = Callable[[str], object]


@dataclass(frozen=True)
class Told:
    """What is known of one row."""

    v: str
    p: str
    row_id: int
    number: int


@dataclass(frozen=True)
class Effect:
    """What a statement does. changes: the new values of rows by their keys, old and new ones; gone: deleted keys."""

    changes: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    gone: frozenset[int] = frozenset()


class TrackedLife:
    """One table, and what each row of it must be."""

    def __init__(self, random: Random, path: str, java: Genuine, ways: Mapping[str, Say], has_vectors: bool) -> None:
        self.random, self.path, self.java, self.ways, self.has_vectors = random, path, java, ways, has_vectors
        self.rows: dict[int, Told] = {}
        self.log: list[str] = []
        self.next_key = 0

    @property
    def table(self) -> Table:
        return open_table(self.path)

    def step(self) -> None:
        way = self.random.choice(sorted(self.ways))
        deeds = [self._insert, self._update, self._update, self._delete, self._merge, self._compact, self._sort]
        deed = self.random.choice(deeds[: 6 if way == "official" else 7]) if self.rows else self._insert
        statement, effect = deed()
        self.log.append(f"{way}: {statement} {effect}")
        before = self.table.snapshots.latest()
        self.ways[way](statement)
        snapshot = self.table.snapshots.latest()
        assert snapshot is not None
        forgets = way == "official" and statement.startswith("MERGE") and self.has_vectors
        new_ids = range(0 if before is None else before.next_row_id or 0, snapshot.next_row_id or 0)
        self.check(effect, snapshot.id, new_ids, forgets)

    def check(self, effect: Effect, snapshot_id: int, new_ids: range, forgets: bool) -> None:
        """Args: forgets: updated rows have new ids (Java 2.0.0: MERGE with deletion vectors)."""
        found = self._read()
        kept = {key: row for key, row in self.rows.items() if key not in effect.gone}
        expected, fresh = dict(kept), set()
        for key, (v, p) in effect.changes.items():
            old = kept.get(key)
            if old is None or forgets:
                fresh.add(key)
            row_id = found[key].row_id if key in fresh and key in found else -1 if old is None else old.row_id
            expected[key] = Told(v, p, row_id, snapshot_id)
        assert found == expected
        assert sorted(found[key].row_id for key in fresh) == list(new_ids)
        self.rows = found
        check_table(self.path)

    def _read(self) -> dict[int, Told]:
        """The rows as Java's system table tells them, and each of our roads too."""
        made = self.java.run(java_tables, self.path, ["row_tracking"])["row_tracking"]
        assert not isinstance(made, str), made
        theirs = sorted(made[1])
        columns = ["k", "v", "p", "_ROW_ID", "_SEQUENCE_NUMBER"]
        table = open_table(self.path)
        for scan in (table.scan(columns), table.system_table("row_tracking", columns)):
            assert sorted(tuple(row.values()) for row in scan.to_arrow().to_pylist()) == theirs
        assert len({row[0] for row in theirs}) == len(theirs)
        return {row[0]: Told(*row[1:]) for row in theirs}

    # ---------------------------------------------------------------------------------------------------- statements

    def _values(self) -> tuple[str, str]:
        return f"v{self.random.randrange(1000)}", self.random.choice("ab")

    def _new(self, count: int) -> dict[int, tuple[str, str]]:
        first, self.next_key = self.next_key, self.next_key + count
        return {key: self._values() for key in range(first, self.next_key)}

    def _chosen(self) -> tuple[str, list[int]]:
        """A condition, and the keys that it is true for."""
        rest, by_id = self.random.randrange(4), self.random.random() < 0.4
        column = "_ROW_ID" if by_id else "k"
        keys = [key for key, row in self.rows.items() if (row.row_id if by_id else key) % 4 == rest]
        return f"{column} % 4 = {rest}", keys

    def _insert(self) -> tuple[str, Effect]:
        rows = self._new(self.random.randint(1, 5))
        values = ", ".join(f"({key}, '{v}', '{p}')" for key, (v, p) in rows.items())
        return f"INSERT INTO {{table}} (k, v, p) VALUES {values}", Effect(rows)

    def _update(self) -> tuple[str, Effect]:
        condition, keys = self._chosen()
        v, p = self._values()
        moves = self.random.random() < 0.3
        sets = f"v = '{v}'" + (f", p = '{p}'" if moves else "")
        changes = {key: (v, p if moves else self.rows[key].p) for key in keys}
        return f"UPDATE {{table}} SET {sets} WHERE {condition}", Effect(changes)

    def _delete(self) -> tuple[str, Effect]:
        condition, keys = self._chosen()
        return f"DELETE FROM {{table}} WHERE {condition}", Effect(gone=frozenset(keys))

    def _merge(self) -> tuple[str, Effect]:
        old = self.random.sample(sorted(self.rows), min(len(self.rows), 3))
        source = {**{key: self._values() for key in old}, **self._new(self.random.randint(0, 2))}
        if not source:
            return self._insert()
        clauses, changes, gone = [], {key: row for key, row in source.items() if key not in self.rows}, set()
        if self.random.random() < 0.4:
            clauses.append("WHEN MATCHED AND s.p = 'b' THEN DELETE")
            gone = {key for key in old if source[key][1] == "b"}
        clauses.append("WHEN MATCHED THEN UPDATE SET v = s.v")
        changes |= {key: (source[key][0], self.rows[key].p) for key in old if key not in gone}
        clauses.append("WHEN NOT MATCHED THEN INSERT (k, v, p) VALUES (s.k, s.v, s.p)")
        rows = ", ".join(f"({key}, '{v}', '{p}')" for key, (v, p) in source.items())
        using = f"(SELECT * FROM VALUES {rows} AS x(k, v, p)) s"
        statement = f"MERGE INTO {{table}} t USING {using} ON t.k = s.k {' '.join(clauses)}"
        return statement, Effect(changes, frozenset(gone))

    def _compact(self) -> tuple[str, Effect]:
        options = "compaction.min.file-num=2"
        return f"CALL {{catalog}}.sys.compact(table => 'lake.t', options => '{options}')", Effect()

    def _sort(self) -> tuple[str, Effect]:
        """By us alone: Java writes the rows anew, with other ids."""
        call = "CALL {catalog}.sys.compact(table => 'lake.t', order_strategy => 'order', order_by => 'v')"
        return call, Effect()


@pytest.fixture(scope="module")
def official() -> Iterator[GenuineSpark | None]:
    session = GenuineSpark() if is_there() else None
    yield session
    if session is not None:
        session.end()


@pytest.mark.parametrize("seed", range(COUNT))
@pytest.mark.parametrize("kind", KINDS)
def test_ids_and_numbers_are_those_of_java(
    kind: str, seed: int, java: Genuine, quick_spark: SparkSession, official: GenuineSpark | None, tmp_path: Path
) -> None:
    random = Random(f"{kind} {seed} {draws().random() if COUNT == 2 else ''}")
    path = table_path(tmp_path)
    options, parts = KINDS[kind]
    maker = random.choice([our_engine, java])
    maker.create(path, COLUMNS, (), parts, {"bucket": "-1", "row-tracking.enabled": "true", **options})
    door = BySql(quick_spark, path)
    catalog = paimon_spark.catalog(quick_spark, str(Path(path).parents[1]))

    def by_session(statement: str) -> list[Any]:
        return quick_spark.sql(statement.format(table=door.name, catalog="doors")).collect()

    def by_catalog(statement: str) -> list[Any]:
        return catalog.sql(statement.format(table="paimon.lake.t", catalog="paimon")).collect()

    ways: dict[str, Say] = {"spark.sql": by_session, "cat.sql": by_catalog}
    if official is not None:
        ways["official"] = lambda statement: official.run(statement, path)
    life = TrackedLife(random, path, java, ways, "deletion-vectors.enabled" in options)
    with telling(life.log), closing(door):
        for _ in range(12):
            life.step()
        columns = ["k", "_ROW_ID", "_SEQUENCE_NUMBER"]
        expected = sorted((key, row.row_id, row.number) for key, row in life.rows.items())
        for say in (by_session, by_catalog):
            found = say(f"SELECT {', '.join(columns)} FROM {{table}}")
            assert sorted(map(tuple, found)) == expected
