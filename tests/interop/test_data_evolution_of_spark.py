"""Tables with data evolution that the official connector for Spark changes by statements; see genuine_spark.py.

They are not collected where PAIMON_JVM_PYTHON and PAIMON_JVM_JAR name no official connector (conftest.py).

``PAIMON_EVOLUTION_HISTORIES`` sets how many histories of each kind of table are tried, and ``PAIMON_EVOLVED_TURNS`` how
many of those in which we write the table too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import our_engine
import pytest
from evolved_lives import CREATE, EvolvedLife
from genuine import Genuine, table_path
from genuine_spark import GenuineSpark
from java_evolution import compact_columns
from pyspark.sql import SparkSession
from readers import assert_same, telling
from support.long_runs import tries
from support.oracles.checker import check_table
from support.oracles.comparing import comparable

import paimon_spark
from paimon_spark import open_table

pytestmark = pytest.mark.interop
KINDS = {
    "plain": "",
    "vectors": ", 'deletion-vectors.enabled' = 'true'",
    "partitions": ", 'deletion-vectors.enabled' = 'true'",
    "blobs": ", 'deletion-vectors.enabled' = 'true', 'blob-field' = 'b', 'blob.target-file-size' = '1 kb'",
}
Rows = dict[int, list[Any]]


@pytest.fixture(scope="module")
def official() -> Iterator[GenuineSpark]:
    session = GenuineSpark()
    yield session
    session.end()


def text(value: Any) -> str:
    if value is None:
        return "null"
    return f"X'{value.hex()}'" if isinstance(value, bytes) else repr(value)


class Model:
    """The rows by their ids: name, v, p, and b where there are blobs."""

    def __init__(self, kind: str, random: Random) -> None:
        self.rows: Rows = {}
        self.random = random
        self.deletes = kind != "plain"
        self.has_blobs = kind == "blobs"
        self.made = 0

    @property
    def columns(self) -> list[str]:
        return ["name", "v", "p", *(["b"] if self.has_blobs else [])]

    def value(self, column: str) -> Any:
        draw: dict[str, list[Any]] = {
            "name": [None, "a", "b", "a longer name"],
            "v": [None, 0.5, -2.0],
            "p": [1, 2],
            "b": [None, b"", self.random.randbytes(400)],
        }
        return self.random.choice(draw[column])

    def source(self, ids: list[int], columns: list[str]) -> tuple[str, Rows]:
        rows = {k: [self.value(column) for column in columns] for k in ids}
        types = {"name": "string", "v": "double", "p": "int", "b": "binary"}
        selects = []
        for k, row in rows.items():
            values = (f"cast({text(v)} as {types[c]}) as {c}" for c, v in zip(columns, row, strict=True))
            selects.append(f"select {k} as id, {', '.join(values)}")
        return " union all ".join(selects), rows

    def insert(self) -> str:
        ids = [self.made + n for n in range(self.random.randint(1, 8))]
        self.made += len(ids)
        query, rows = self.source(ids, self.columns)
        self.rows |= rows
        return f"insert into {{table}} {query}"

    def merge(self) -> str:
        """Some columns of some rows, and new rows."""
        changed = self.random.sample(["name", "v"], self.random.randint(1, 2))
        known = [k for k in self.rows if self.random.random() < 0.4]
        new = [self.made + n for n in range(self.random.randint(0, 2))]
        self.made += len(new)
        query, rows = self.source([*known, *new] or [-1], self.columns)
        for k, row in rows.items():
            if k in self.rows:
                for column in changed:
                    place = self.columns.index(column)
                    self.rows[k][place] = row[place]
            else:
                self.rows[k] = row
        sets = ", ".join(f"t.{column} = s.{column}" for column in changed)
        names = ", ".join(["id", *self.columns])
        values = ", ".join(f"s.{name}" for name in ["id", *self.columns])
        return (
            f"merge into {{table}} t using ({query}) s on t.id = s.id when matched then update set {sets} "
            f"when not matched then insert ({names}) values ({values})"
        )

    def delete(self) -> str:
        gone = [k for k in self.rows if self.random.random() < 0.2] or [-1]
        for k in gone:
            self.rows.pop(k, None)
        return f"delete from {{table}} where id in ({', '.join(map(str, gone))})"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(tries("PAIMON_EVOLUTION_HISTORIES", ci=1, long=8)))
def test_statements(kind: str, seed: int, official: GenuineSpark, java: Genuine, tmp_path: Path) -> None:
    path, random = table_path(tmp_path), Random(f"{kind} {seed}")
    model = Model(kind, random)
    blob = ", b binary" if model.has_blobs else ""
    parts = "partitioned by (p)" if kind == "partitions" else ""
    log = [
        f"create table {{table}} (id int, name string, v double, p int{blob}) using paimon {parts} tblproperties "
        f"('bucket' = '-1', 'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'{KINDS[kind]})"
    ]
    Path(path).parent.mkdir()
    official.run(log[0], path)
    states: dict[int, Counter[Any]] = {}
    with telling(log):
        for turn in range(9):
            deeds = [model.insert, model.merge, model.merge, *([model.delete] if model.deletes else [])]
            statement = model.insert() if not turn else random.choice(deeds)()
            log.append(statement)
            official.run(statement, path)
            if random.random() < 0.15:
                log.append("compact")
                java.run(compact_columns, path, model.has_blobs)
            expected = Counter((k, *row) for k, row in model.rows.items())
            found = open_table(path).scan(["id", *model.columns]).to_arrow()
            assert Counter(zip(*(column.to_pylist() for column in found.columns), strict=True)) == expected
            assert open_table(path).scan(columns=[]).count() == len(model.rows)
            states[our_engine.snapshot_ids(path)[-1]] = comparable(found)
        for snapshot in our_engine.snapshot_ids(path):
            rows = assert_same(path, [java], {"scan.snapshot-id": str(snapshot)})
            assert snapshot not in states or rows.total() == states[snapshot].total()
            some = open_table(path, {"scan.snapshot-id": str(snapshot)}).scan(["v", "id"], "v = 0.5").to_arrow()
            place = [f.name for f in open_table(path).schema.fields].index("v")
            assert some.num_rows == sum(1 for row in rows.elements() if row[place] is not None and row[place][0] == 0.5)
    check_table(path)


IN_TURNS = {
    "plain": ("", ""),
    "vectors": ("", ", 'deletion-vectors.enabled' = 'true'"),
    "partitions": ("partitioned by (p)", ", 'deletion-vectors.enabled' = 'true'"),
    "orc": ("", ", 'deletion-vectors.enabled' = 'true', 'file.format' = 'orc'"),
    "indexes": (
        "",
        ", 'deletion-vectors.enabled' = 'true', 'file-index.bloom-filter.columns' = 'k,v,w,n', "
        "'file-index.bitmap.columns' = 'k,v,n'",
    ),
}


@pytest.mark.spark
@pytest.mark.parametrize("kind", IN_TURNS)
@pytest.mark.parametrize("seed", range(tries("PAIMON_EVOLVED_TURNS", ci=1, long=40)))
def test_both_write_in_turn(
    kind: str, seed: int, official: GenuineSpark, java: Genuine, quick_spark: SparkSession, tmp_path: Path
) -> None:
    path, random = table_path(tmp_path), Random(f"{kind} {seed} in turns")
    catalog = paimon_spark.catalog(quick_spark, str(Path(path).parents[1]))
    Path(path).parent.mkdir()

    def ours(statement: str) -> list[Any]:
        return catalog.sql(statement.format(table="paimon.lake.t", catalog="paimon")).collect()

    def theirs(statement: str) -> None:
        official.run(statement, path)

    parts, options = IN_TURNS[kind]
    ways = {"ours": ours, "official": theirs}
    changers = ["ours"] if "file-index" in options else []  # Java makes no file without the columns of indexes
    life = EvolvedLife(random, path, java, ways, "deletion-vectors" in options, bool(parts), changers)
    with telling(life.log):
        life.say("official", CREATE % (parts, options))
        life.say(random.choice(["ours", "official"]), life.insert())
        life.check()
        for _ in range(12):
            life.step()
            life.check()
        life.check_history(our_engine.snapshot_ids(path))
