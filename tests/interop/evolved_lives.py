"""A table with data evolution that several systems write in turn, by statements; and the rows that it must have.

A row is known by its key. It keeps its id as long as it lives, whoever writes its columns, deletes others or compacts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from genuine import Genuine
from java_evolution import keys_where, read_tracked
from readers import assert_same
from support.oracles.checker import check_table

from paimon_spark import open_table
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.store.commit.attempt import table_state

TYPES = {"k": "int", "v": "string", "w": "double", "n": "bigint", "p": "int"}
COLUMNS = list(TYPES)
DRAWS: Mapping[str, Callable[[Random], Any]] = {
    "v": lambda r: r.choice([None, "", "a", "b", "a longer text", f"x{r.randrange(100)}"]),
    "w": lambda r: r.choice([None, 0.5, -2.0, 1e300]),
    "n": lambda r: r.choice([None, 2**60, *range(5)]),
    "p": lambda r: r.choice([1, 2]),
}
Values = dict[str, Any]
Say = Callable[[str], object]
CREATE = (
    "CREATE TABLE {table} (k int, v string, w double, n bigint, p int) USING paimon %s TBLPROPERTIES ('bucket' = '-1', "
    "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'%s)"
)


def text(value: Any) -> str:
    return "null" if value is None else f"'{value}'" if isinstance(value, str) else repr(value)


@dataclass
class EvolvedLife:
    """One life.

    Attributes:
        ways: by its name, what runs a statement, in which the table is {table} and its catalog {catalog}.
        deletes: whether rows are deleted.
        parts: whether the table has partitions.
        changers: which of the ways change columns of rows; none: all.
        renumbers: whether rows get new ids.
        rows: the values of each row by its key.
        ids: the ids of the rows by their keys.
        log: what was done.
    """

    random: Random
    path: str
    java: Genuine
    ways: Mapping[str, Say]
    deletes: bool
    parts: bool
    changers: Sequence[str] = ()
    renumbers: bool = False
    rows: dict[int, Values] = field(default_factory=dict)
    ids: dict[int, int] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    made: int = 0

    def step(self) -> None:
        """One statement, by one of the systems."""
        deeds = [self.insert, self.update, self.update, self.merge, self.merge, self.compact]
        deeds += [self.renumber] * self.renumbers
        statement = self.random.choice([*deeds, *([self.delete] * self.deletes)])() if self.rows else self.insert()
        changes = statement.startswith(("UPDATE", "MERGE"))
        self.say(self.random.choice(sorted(self.changers if changes and self.changers else self.ways)), statement)

    def say(self, way: str, statement: str) -> None:
        self.log.append(f"{way}: {statement}")
        self.ways[way](statement)

    def check(self) -> None:
        """The rows are those of the model, for us and for Java, and so are their ids."""
        names = [*COLUMNS, "_ROW_ID", "_SEQUENCE_NUMBER"]
        found = open_table(self.path).scan(names).to_arrow().to_pylist()
        assert {row["k"]: {name: row[name] for name in COLUMNS[1:]} for row in found} == self.rows
        assert len(found) == len(self.rows)
        assert sorted(map(repr, (tuple(row.values()) for row in found))) == sorted(
            map(repr, self.java.run(read_tracked, self.path))
        )
        self.check_condition()
        ids = {row["k"]: row["_ROW_ID"] for row in found}
        kept = {key: number for key, number in self.ids.items() if key in self.rows}
        assert {key: ids[key] for key in kept} == kept
        self.ids = ids
        latest = open_table(self.path).snapshots.latest()
        assert latest is None or max(ids.values(), default=-1) < (latest.next_row_id or 0)
        check_table(self.path)

    def check_condition(self) -> None:
        """Both find the rows with some value, which old files of a column may not have, or may still have."""
        name = self.random.choice(["v", "w", "n"])
        values = [row[name] for row in self.rows.values() if row[name] is not None]
        value = self.random.choice(values or ["a" if name == "v" else 1])
        keys = sorted(key for key, row in self.rows.items() if row[name] == value)
        assert sorted(self.java.run(keys_where, self.path, name, value)) == keys
        found = open_table(self.path).scan(["k"], f"{name} = {text(value)}").to_arrow()
        assert sorted(found.column(0).to_pylist()) == keys

    def check_history(self, ids: Sequence[int]) -> None:
        """Every snapshot is read alike."""
        for number in ids:
            assert_same(self.path, [self.java], {"scan.snapshot-id": str(number)})

    # ---------------------------------------------------------------------------------------------------- statements

    def new(self, count: int) -> dict[int, Values]:
        first, self.made = self.made, self.made + count
        return {key: self.drawn(COLUMNS[1:]) for key in range(first, self.made)}

    def drawn(self, names: Sequence[str]) -> Values:
        return {name: DRAWS[name](self.random) for name in names}

    def chosen(self) -> tuple[str, list[int]]:
        """A condition, and the keys that it is true for."""
        if self.random.random() < 0.3:  # by a value that files tell of in statistics and indexes, old ones too
            name = self.random.choice(["v", "n"])
            value = self.random.choice([row[name] for row in self.rows.values()])
            found = [key for key, row in self.rows.items() if row[name] == value]
            return f"{name} {'is null' if value is None else f'= {text(value)}'}", found
        rest, by_id = self.random.randrange(3), self.random.random() < 0.3
        numbers = {key: self.ids[key] if by_id else key for key in self.rows}
        return f"{'_ROW_ID' if by_id else 'k'} % 3 = {rest}", [key for key in self.rows if numbers[key] % 3 == rest]

    def some_columns(self) -> list[str]:
        return self.random.sample(["v", "w", "n"], self.random.choice([1, 1, 2, 3]))

    def insert(self) -> str:
        rows = self.new(self.random.randint(1, 7))
        self.rows |= rows
        return f"INSERT INTO {{table}} {self.source(rows)}"

    def source(self, rows: Mapping[int, Values]) -> str:
        selects = (
            ", ".join(f"cast({text(v)} as {TYPES[name]}) as {name}" for name, v in {"k": key, **row}.items())
            for key, row in rows.items()
        )
        return " union all ".join(f"select {columns}" for columns in selects)

    def update(self) -> str:
        condition, keys = self.chosen()
        values = self.drawn(self.some_columns())
        for key in keys:
            self.rows[key] |= values
        sets = ", ".join(f"{name} = {text(value)}" for name, value in values.items())
        if self.random.random() < 0.3:
            sets += ", k = k"
        if "n" not in values and self.random.random() < 0.3:
            sets += ", n = p * 10"
            for key in keys:
                self.rows[key]["n"] = self.rows[key]["p"] * 10
        return f"UPDATE {{table}} SET {sets} WHERE {condition}"

    def delete(self) -> str:
        condition, keys = self.chosen()
        for key in keys:
            del self.rows[key]
        return f"DELETE FROM {{table}} WHERE {condition}"

    def merge(self) -> str:
        """Some columns of some rows, rows that go, and new ones."""
        old = [key for key in self.rows if self.random.random() < 0.4]
        source = {**{key: self.drawn(COLUMNS[1:]) for key in old}, **self.new(self.random.randint(0, 3))}
        if not source:
            return self.insert()
        clauses, gone = [], set[int]()
        if self.deletes and self.random.random() < 0.4:
            clauses.append("WHEN MATCHED AND s.p = 2 THEN DELETE")
            gone = {key for key in old if source[key]["p"] == 2}
        first, second = self.some_columns(), self.some_columns()
        if self.random.random() < 0.5:
            clauses.append(f"WHEN MATCHED AND s.w > 0 THEN UPDATE SET {self.sets(first)}")
        else:
            first = second
        clauses.append(f"WHEN MATCHED THEN UPDATE SET {self.sets(second)}")
        if self.random.random() < 0.8:
            values = ", ".join(f"s.{name}" for name in COLUMNS)
            clauses.append(f"WHEN NOT MATCHED THEN INSERT ({', '.join(COLUMNS)}) VALUES ({values})")
            self.rows |= {key: row for key, row in source.items() if key not in self.rows}
        # the connector of release 2.0.0 passes the condition on a partition column over, and deletes other rows too
        if self.deletes and self.random.random() < 0.15 and not self.parts:
            clauses.append("WHEN NOT MATCHED BY SOURCE AND t.p = 1 THEN DELETE")
            gone |= {key for key, row in self.rows.items() if key not in source and row["p"] == 1}
        for key in old:
            given = first if source[key]["w"] is not None and source[key]["w"] > 0 else second
            self.rows[key] |= {name: source[key][name] for name in given}
        for key in gone:
            del self.rows[key]
        return f"MERGE INTO {{table}} t USING ({self.source(source)}) s ON t.k = s.k {' '.join(clauses)}"

    def sets(self, names: Sequence[str]) -> str:
        return ", ".join(f"t.{name} = s.{name}" for name in names)

    def compact(self) -> str:
        return "CALL {catalog}.sys.compact(table => 'lake.t', options => 'compaction.min.file-num=2')"

    def renumber(self) -> str:
        """Some rows get new ids."""
        self.ids = {}
        option = "data-evolution.compaction.rewrite-row-ids=true,compaction.min.file-num=2"
        calls = ["reassign_row_id(table => 'lake.t')"]
        if self.deletes:
            calls.append("materialize_deletion_vectors(table => 'lake.t')")
            calls.append(f"compact(table => 'lake.t', options => '{option}')")
        return f"CALL {{catalog}}.sys.{self.random.choice(calls)}"


def live_column_files(path: str) -> list[DataFileMeta]:
    """The live files that have some columns only."""
    table = open_table(path)
    latest = table.snapshots.latest()
    files = (entry.file for entry in table_state(table, latest).live_entries(None))
    return [file for file in files if file.write_cols is not None]
