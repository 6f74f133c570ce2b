"""Tables with data evolution that Java writes: the same rows at every snapshot, of any columns, under any condition.

Then tables that we and Java write in turn. ``PAIMON_EVOLUTION_HISTORIES`` and ``PAIMON_EVOLVED_TURNS`` set how many
histories of each kind are tried.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import our_engine
import pytest
from evolved_lives import TYPES, EvolvedLife
from genuine import Genuine, table_path
from java_evolution import NEW_IDS, compact_columns, live_groups, read_tracked, reassign_row_ids, write_columns
from pyspark.sql import SparkSession
from readers import assert_same, java_read, telling
from support.long_runs import tries
from support.oracles.checker import check_table
from support.oracles.comparing import Row, comparable, comparable_rows, satisfies
from support.tables.column_changes import changed, commit, evolved, put, rows_with_ids, update
from support.tables.compacting import compact

import paimon_spark
from paimon_spark import open_table
from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Op
from paimon_spark.errors import CommitConflict, UnsupportedFeature
from paimon_spark.format.type_text import parse_type
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import find_system_table
from paimon_spark.store.stream_source.units import UnitPlanner
from paimon_spark.store.upkeep.reassign_row_ids import reassign_row_ids as reassign_ids

pytestmark = pytest.mark.interop

EVOLVED = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
COLUMNS = {"id": "INT", "name": "STRING", "v": "DOUBLE", "n": "BIGINT"}
VALUES: dict[str, Callable[[Random], Any]] = {
    "INT": lambda r: r.choice([None, *range(-3, 20)]),
    "STRING": lambda r: r.choice([None, "", *"abcdefgh", "a text that is longer than others"]),
    "DOUBLE": lambda r: r.choice([None, 0.0, -1.5, 1e300, float("nan")]),
    "BIGINT": lambda r: r.choice([None, 2**60, *range(9)]),
}
INDEXES = {"file-index.bloom-filter.columns": "name", "file-index.bitmap.columns": "id"}


@dataclass
class History:
    """What is done to a table, at random."""

    java: Genuine
    path: str
    random: Random
    has_indexes: bool
    types: dict[str, str] = field(default_factory=lambda: dict(COLUMNS))
    made: int = 0

    def rows(self, names: Sequence[str], count: int) -> list[Row]:
        return [tuple(VALUES[self.types[name]](self.random) for name in names) for _ in range(count)]

    def insert(self) -> None:
        self.java.write(self.path, self.rows(list(self.types), self.random.randint(1, 12)))

    def update(self) -> None:
        """Some columns of the rows of some files."""
        groups = self.java.run(live_groups, self.path)
        names = [name for name in self.types if self.random.random() < 0.5] or [self.random.choice(list(self.types))]
        some = [group for group in groups if self.random.random() < 0.7]
        if some:
            options: dict[str, str] = {}
            if self.has_indexes:  # Java makes no file with some columns if another one is to have an index
                names = names if {"id", "name"} & {*names} else [*names, "id"]
                options["file-index.bloom-filter.columns"] = "name" if "name" in names else "id"
                options["file-index.bitmap.columns"] = "id" if "id" in names else "name"
            parts = [(first, self.rows(names, count)) for first, count, _ in some]
            self.java.run(write_columns, self.path, names, parts, options)

    def delete(self) -> None:
        for _, count, name in self.java.run(live_groups, self.path):
            gone = [row for row in range(count) if self.random.random() < 0.2]
            if gone and self.random.random() < 0.5:
                self.java.delete_positions(self.path, {name: gone})

    def alter(self) -> None:
        self.made += 1
        what = self.random.choice(["add", "rename", "drop", "widen"])
        name = self.random.choice(list(self.types))
        if what == "add" or len(self.types) < 3:
            self.types[f"c{self.made}"] = self.random.choice(list(VALUES))
            self.java.alter(self.path, ("addColumn", f"c{self.made}", self.types[f"c{self.made}"]))
        elif what == "rename" and name not in ("id", "name"):  # which indexes name
            self.types = {f"r{self.made}" if n == name else n: t for n, t in self.types.items()}
            self.java.alter(self.path, ("renameColumn", name, f"r{self.made}"))
        elif what == "drop" and name not in ("id", "name"):
            del self.types[name]
            self.java.alter(self.path, ("dropColumn", name))
        elif what == "widen" and self.types[name] == "INT":
            self.types[name] = "BIGINT"
            self.java.alter(self.path, ("updateColumnType", name, "BIGINT"))

    def compact(self) -> None:
        self.java.run(compact_columns, self.path)


def assert_any_read(java: Genuine, path: str, random: Random, options: Mapping[str, str]) -> None:
    """Some columns, and rows that satisfy a condition, are those of the rows that Java reads."""
    whole = assert_same(path, [java], options)
    fields = open_table(path, options).schema.fields
    for _ in range(4):
        columns = random.sample(range(len(fields)), random.randint(0, len(fields)))
        names = [fields[place].name for place in columns]
        place = random.randrange(len(fields))
        op = random.choice([Op.EQ, Op.LT, Op.GE])
        value = VALUES[_sql_type(fields[place].type.root)](Random(random.random()))
        if value is None:
            condition, kept = f"`{fields[place].name}` is null", [row for row in whole.elements() if row[place] is None]
        else:
            literal = f"cast('{value}' as double)" if value != value else repr(value)
            condition = f"`{fields[place].name}` {op.value} {literal}"
            kept = [row for row in whole.elements() if satisfies(row[place], op, value)]
        found = comparable(open_table(path, options).scan(names, condition).to_arrow())
        assert found == Counter(tuple(row[i] for i in columns) for row in kept), (condition, names)
        assert open_table(path, options).scan(names, condition).count() == len(kept)


def _sql_type(root: str) -> str:
    return "STRING" if root == "VARCHAR" else root


TABLES: dict[str, dict[str, str]] = {
    "parquet": {},
    "orc": {"file.format": "orc"},
    "avro": {"file.format": "avro"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "vectors of 64 bits": {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"},
    "indexes": {**INDEXES, "deletion-vectors.enabled": "true"},
    "small splits": {"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b", **INDEXES},
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("seed", range(tries("PAIMON_EVOLUTION_HISTORIES", ci=1, long=12)))
def test_histories(kind: str, seed: int, java: Genuine, tmp_path: Path) -> None:
    path, random = table_path(tmp_path), Random(f"{kind} {seed}")
    java.create(path, COLUMNS, options={**EVOLVED, **TABLES[kind]})
    history = History(java, path, random, INDEXES.items() <= TABLES[kind].items())
    history.insert()
    deeds = [history.insert, history.update, history.update, history.alter, history.compact]
    deeds += [history.delete] * ("deletion-vectors.enabled" in TABLES[kind])
    for _ in range(8):
        random.choice(deeds)()
        assert_any_read(java, path, random, {})
    for snapshot in our_engine.snapshot_ids(path):
        assert_any_read(java, path, random, {"scan.snapshot-id": str(snapshot)})
    assert open_table(path).scan(columns=[]).metadata_aggregates().rest == []
    types = [*our_engine.types(path), *([parse_type("BIGINT")] * 2)]
    tracked = comparable_rows(java.run(read_tracked, path), types)
    shown = find_system_table(f"{path}$row_tracking")
    assert shown is not None
    assert comparable(shown.scan().to_arrow()) == tracked
    check_table(path)


@pytest.fixture
def two_writes(java: Genuine, tmp_path: Path) -> str:
    """Three rows in snapshot 1, of which snapshot 2 changes `name`, and four rows more in snapshot 3."""
    path = table_path(tmp_path)
    java.create(path, {"id": "INT NOT NULL", "name": "STRING", "v": "INT"}, options=EVOLVED)
    java.write(path, [(1, "a", 10), (2, "b", 20), (3, "c", 30)])
    java.run(write_columns, path, ["name"], [(0, [("x",), ("y",), ("z",)])])
    java.write(path, [(k, "n", k) for k in (4, 5, 6, 7)])
    return path


def test_statistics_and_limits_count_rows_once(two_writes: str) -> None:
    scan = open_table(two_writes).scan(columns=[])
    known = scan.metadata_aggregates()
    assert (known.rows, known.files, known.rest) == (7, 3, [])
    assert scan.count() == 7
    assert (open_table(two_writes).scan().min("id"), open_table(two_writes).scan().max("name")) == (1, "z")
    assert open_table(two_writes).scan(where="name = 'a'").count() == 0
    assert open_table(two_writes).scan(where="name = 'x' and v = 10").count() == 1
    assert open_table(two_writes).scan().top("v", 2, descending=True).column("v").to_pylist() == [30, 20]
    explained = open_table(two_writes).scan(where="name > 'nn'").explain()
    assert explained is not None
    assert (explained.files, explained.rows, explained.rows_left) == (3, 7, 3)


def test_old_values_leave_no_row_out(two_writes: str) -> None:
    """The file of snapshot 1 has the names a to c in its statistics, which hold no more."""
    for value, found in {"x": [1], "b": [], "z": [3]}.items():
        rows = open_table(two_writes).scan(["id"], where=f"name = '{value}'").to_arrow()
        assert rows.column("id").to_pylist() == found


def test_changes(two_writes: str, java: Genuine) -> None:
    """A commit that adds rows has whole rows; one that changes columns has not, and two states are compared."""

    def change(between: str, mode: str = "delta") -> list[Any]:
        options = {"incremental-between": between, "incremental-between-scan-mode": mode}
        return sorted(open_table(two_writes, options).scan(["_row_kind", "id", "name"]).to_arrow().to_pylist(), key=str)

    assert [row["id"] for row in change("0,1")] == [1, 2, 3]
    assert [row["id"] for row in change("2,3")] == [4, 5, 6, 7]
    assert [row["name"] for row in change("0,2")] == ["x", "y", "z"]
    with pytest.raises(UnsupportedFeature, match="a commit changed some columns of rows"):
        change("1,2")
    assert [(r["_row_kind"], r["id"], r["name"]) for r in change("1,3", "diff")] == [
        *(("+I", k, name) for k, name in ((1, "x"), (2, "y"), (3, "z"), (4, "n"), (5, "n"), (6, "n"), (7, "n"))),
        *(("-D", k, name) for k, name in ((1, "a"), (2, "b"), (3, "c"))),
    ]
    assert [row["id"] for row in change("2,3", "diff")] == [4, 5, 6, 7]
    assert java_read(java, two_writes, {"scan.snapshot-id": "2"}) == our_engine.read(
        two_writes, {"scan.snapshot-id": "2"}
    )


def test_a_stream_reads_new_rows(two_writes: str) -> None:
    """Rows whose columns lie in several files are one unit; a commit that changed some columns is refused."""
    table = open_table(two_writes)
    units, reader = UnitPlanner(table, AlwaysTrue(), overwrites=False, row_kinds=False), table.scan().reader()

    def read(snapshot: int, full: bool = False) -> list[tuple[Any, ...]]:
        found = units.plan(table.snapshots.load(snapshot), full)
        batches = (batch for unit in found for batch in reader.read(unit.split))
        return sorted((row["id"], row["name"]) for batch in batches for row in batch.to_pylist())

    assert read(1) == [(1, "a"), (2, "b"), (3, "c")]
    assert read(3) == [(k, "n") for k in (4, 5, 6, 7)]
    assert read(3, full=True) == [(1, "x"), (2, "y"), (3, "z"), *((k, "n") for k in (4, 5, 6, 7))]
    with pytest.raises(UnsupportedFeature, match="a commit changed some columns of rows"):
        read(2)


# ------------------------------------------------------------------------------------------------------------- in turns


class JavaTurn:
    """What Java does to the table of a life by its own interfaces, which know no statements."""

    def __init__(self, life: EvolvedLife) -> None:
        self.life, self.java, self.path, self.random = life, life.java, life.path, life.random

    def step(self) -> None:
        deeds = [self.insert, self.compact, self.renumber, *([self.delete] * self.life.deletes)]
        deeds += [self.update, self.update] if not self.life.parts else []
        deed = self.random.choice(deeds)
        self.life.log.append(f"java: {deed.__name__}")
        deed()

    def insert(self) -> None:
        rows = self.life.new(self.random.randint(1, 6))
        self.life.rows |= rows
        self.java.write(self.path, [(key, *row.values()) for key, row in rows.items()])

    def update(self) -> None:
        """Some columns of all rows of some files; deleted ones get values too."""
        names = sorted(self.life.some_columns())
        keys, parts = {row_id: key for key, row_id in self.life.ids.items()}, []
        for first, count, _ in self.java.run(live_groups, self.path):
            if self.random.random() < 0.6:
                drawn = [self.life.drawn(names) for _ in range(count)]
                parts.append((first, [tuple(values.values()) for values in drawn]))
                for place, values in enumerate(drawn):
                    if first + place in keys:
                        self.life.rows[keys[first + place]] |= values
        if parts:
            whole = {"target-file-row-num": str(2**63 - 1)}  # as the official connector writes them
            self.java.run(write_columns, self.path, names, parts, whole)

    def delete(self) -> None:
        keys = {row_id: key for key, row_id in self.life.ids.items()}
        positions = {}
        for first, count, name in self.java.run(live_groups, self.path):
            gone = [place for place in range(count) if self.random.random() < 0.2]
            positions |= {name: gone} if gone else {}
            for place in gone:
                self.life.rows.pop(keys.get(first + place, -1), None)
        if positions:
            self.java.delete_positions(self.path, positions)

    def compact(self) -> None:
        self.java.run(compact_columns, self.path)

    def renumber(self) -> None:
        self.life.ids = {}
        if self.life.deletes and self.random.random() < 0.6:
            self.java.run(compact_columns, self.path, False, NEW_IDS)
        else:
            self.java.run(reassign_row_ids, self.path)


IN_TURNS: dict[str, tuple[dict[str, str], Sequence[str]]] = {
    "plain": ({}, ()),
    "vectors": ({"deletion-vectors.enabled": "true"}, ()),
    "partitions": ({"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"}, ("p",)),
    "orc": ({"file.format": "orc", "deletion-vectors.enabled": "true"}, ()),
    "avro": ({"file.format": "avro", "deletion-vectors.enabled": "true"}, ()),
    "small splits": ({"source.split.target-size": "1 b", "target-file-row-num": "2"}, ()),
}


@pytest.mark.spark
@pytest.mark.parametrize("kind", IN_TURNS)
@pytest.mark.parametrize("seed", range(tries("PAIMON_EVOLVED_TURNS", ci=1, long=40)))
def test_both_write_in_turn(kind: str, seed: int, java: Genuine, quick_spark: SparkSession, tmp_path: Path) -> None:
    path, random = table_path(tmp_path), Random(f"{kind} {seed} in turns")
    options, parts = IN_TURNS[kind]
    columns = {name: java_type.upper() for name, java_type in TYPES.items()}
    random.choice([our_engine, java]).create(path, columns, (), parts, {**EVOLVED, **options})
    catalog = paimon_spark.catalog(quick_spark, str(Path(path).parents[1]))

    def ours(statement: str) -> list[Any]:
        return catalog.sql(statement.format(table="paimon.lake.t", catalog="paimon")).collect()

    life = EvolvedLife(random, path, java, {"ours": ours}, "deletion-vectors.enabled" in options, bool(parts))
    life.renumbers = True
    turn = JavaTurn(life)
    with telling(life.log):
        life.say("ours", life.insert())
        life.check()
        for _ in range(10):
            (life if random.random() < 0.6 else turn).step()
            life.check()
        life.check_history(our_engine.snapshot_ids(path))


# -------------------------------------------------------------------------------------------------------------- new ids


@pytest.mark.parametrize("seed", range(tries("PAIMON_NEW_ROW_IDS", ci=3, long=60)))
def test_rows_get_the_ids_that_java_gives_them(seed: int, java: Genuine, tmp_path: Path) -> None:
    path, random = table_path(tmp_path), Random(f"new ids {seed}")
    parts = random.choice([("p",), ("p", "q"), ("q",)])
    options = {**EVOLVED, "deletion-vectors.enabled": "true"}
    if random.random() < 0.5:
        options["data-evolution.reassign.skip-contiguous-row-count"] = str(random.choice([0, 3, 6]))
    columns = {"k": "INT", "v": "STRING", "p": "DOUBLE", "q": "STRING"}
    java.create(path, columns, (), parts, options)
    for _ in range(random.randint(1, 9)):
        rows = [(n, "v", random.choice([0.5, -2.0, None]), random.choice(["a", "b", None])) for n in range(3)]
        java.write(path, random.sample(rows, random.randint(1, 3)))
    groups = [group for group in java.run(live_groups, path) if random.random() < 0.5]
    update(open_table(path), "v", {random.randrange(3): "new"})
    java.delete_positions(path, {name: [0] for _, _, name in groups})
    if random.random() < 0.4:
        java.run(compact_columns, path)
    specs, chosen = [], None
    if random.random() < 0.4:
        specs = [{name: "a" if name == "q" else "-2.0" for name in parts}]
        chosen = " and ".join(f"{name} = {repr(value) if name == 'q' else value}" for name, value in specs[0].items())
    other = table_path(tmp_path / "other")
    shutil.copytree(path, other)
    told = java.run(reassign_row_ids, path, specs)
    done = reassign_ids(open_table(other), chosen)
    if told is None:
        assert done.snapshot_id is None
    else:
        assert told == (done.files, done.rows, done.index_files, done.first_row_id, done.next_row_id)
    assert sorted(map(repr, java.run(read_tracked, other))) == sorted(map(repr, java.run(read_tracked, path)))
    for each in (path, other):
        assert_same(each, [java], {})
        check_table(each)
    assert java.run(reassign_row_ids, other, specs) is None


@pytest.mark.parametrize("seed", range(tries("PAIMON_NEW_ROW_IDS", ci=3, long=60)))
def test_deleted_rows_leave_the_files_that_java_takes(seed: int, java: Genuine, tmp_path: Path) -> None:
    path, random = table_path(tmp_path), Random(f"left out {seed}")
    options = {**EVOLVED, "deletion-vectors.enabled": "true", "source.split.open-file-cost": "1 b"}
    options["target-file-size"] = f"{random.choice([1, 2500, 100000])} b"
    java.create(path, {"k": "INT", "v": "STRING"}, options=options)
    for number in range(random.randint(1, 6)):
        java.write(
            path,
            [(number * 10 + place, f"{number}" * random.choice([1, 500])) for place in range(random.randint(1, 5))],
        )
    drawn = [group for group in java.run(live_groups, path) if random.random() < 0.3]
    some = [(first, [("new",)] * count) for first, count, _ in drawn]
    if some:
        java.run(write_columns, path, ["v"], some)
    groups = java.run(live_groups, path)
    gone = {name: [n for n in range(count) if random.random() < 0.3] for _, count, name in groups}
    java.delete_positions(path, {name: numbers for name, numbers in gone.items() if numbers and random.random() < 0.7})
    other = table_path(tmp_path / "other")
    shutil.copytree(path, other)
    java.run(compact_columns, path, False, NEW_IDS)
    open_table(other, {**NEW_IDS, "compaction.min.file-num": "2"}).compact(full=False)

    def kept(of: str) -> list[tuple[Any, ...]]:
        """The rows, with their ids where these are old ones."""
        before = sum(count for _, count, _ in groups)
        rows = java.run(read_tracked, of)
        return sorted((k, v, row_id if row_id < before else -1) for k, v, row_id, _ in rows)

    assert kept(other) == kept(path)
    counts = [sorted(count for _, count, _ in java.run(live_groups, each)) for each in (path, other)]
    assert counts[0] == counts[1]
    for each in (path, other):
        assert_same(each, [java], {})
        check_table(each)


# ------------------------------------------------------------------------------------------------------------ conflicts


@pytest.fixture
def ours(java: Genuine, tmp_path: Path) -> Table:
    """Two files with the rows 1, 2 and 3."""
    table = evolved(tmp_path / "lake.db", {"compaction.min.file-num": "2", "deletion-vectors.enabled": "true"})
    put(table, 1, 2)
    put(table, 3)
    return table


def by_java(java: Genuine, table: Table, column: str, values: Sequence[Any], read: int | None = None) -> None:
    java.run(write_columns, table.location, [column], [(0, [(value,) for value in values])], {}, read)


def test_java_sees_what_we_have_changed_since_it_read(ours: Table, java: Genuine) -> None:
    update(ours, "v", {1: "ours"})
    with pytest.raises(RuntimeError, match="multiple 'MERGE INTO' operations have encountered conflicts"):
        by_java(java, ours, "v", ["a", "b"], read=2)
    by_java(java, ours, "w", [10, 20], read=2)
    by_java(java, ours, "v", ["a", "b"], read=3)
    assert [row[:3] for row in rows_with_ids(ours)] == [(1, "a", 10), (2, "b", 20), (3, "v3", 3)]
    compact(ours)
    with pytest.raises(RuntimeError, match="Row ID existence conflict"):
        by_java(java, ours, "v", ["c", "d"], read=5)
    by_java(java, ours, "v", ["c", "d", "e"], read=6)
    assert [row[:3] for row in rows_with_ids(ours)] == [(1, "c", 10), (2, "d", 20), (3, "e", 3)]
    check_table(ours.location)


def test_we_see_what_java_has_changed_since_we_read(ours: Table, java: Genuine) -> None:
    of_v, of_w = changed(ours, "v", {1: "ours", 3: "ours"}), changed(ours, "w", {2: 20})
    by_java(java, ours, "v", ["a", "b"])
    with pytest.raises(CommitConflict, match="changed or removed the same columns of rows with ids from 0 to 1"):
        commit(ours, of_v, read=2)
    commit(ours, of_w, read=2)
    assert [row[:3] for row in rows_with_ids(ours)] == [(1, "a", 1), (2, "b", 20), (3, "v3", 3)]
    late = changed(ours, "v", {1: "late"})
    assert java.run(compact_columns, ours.location)
    with pytest.raises(CommitConflict, match="which are no longer the rows of other files"):
        commit(ours, late)
    assert [row[:3] for row in rows_with_ids(ours)] == [(1, "a", 1), (2, "b", 20), (3, "v3", 3)]
    check_table(ours.location)
