"""One random history of a table: commits by us and by Java in turn, compactions and schema changes by Java between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import our_engine
from genuine import Genuine
from random_tables import WIDER, Column, pool, random_shape
from readers import assert_same
from support.oracles.comparing import COMPARISONS, Row, satisfies

from paimon_spark.arrow.predicates.predicate import Compare

KINDS = ["+I", "+I", "+I", "+U", "-D", "-D", "-U"]
PLAIN_PARTITIONS = {"INT", "BIGINT", "BOOLEAN"}  # types whose text means the same to everybody
FILTERS = 4
STEPS = (4, 12)
ROWS = 40


@dataclass
class History:
    """The state of one history; log tells what was done, to be shown when the readers differ."""

    seed: int
    path: str
    java: Genuine
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.shape = random_shape(self.random)
        if not self.shape.keys and self.random.random() < 0.4:
            self.shape.options["deletion-vectors.enabled"] = "true"
            self.shape.options["deletion-vectors.bitmap64"] = self.random.choice(["true", "false"])

    def run(self) -> None:
        self._create()
        for _ in range(self.random.randint(*STEPS)):
            self.random.choice(self._steps())()

    def check_reads(self) -> None:
        """Both readers see the same rows, now and at an earlier snapshot; our filters find what is there."""
        snapshots = our_engine.snapshot_ids(self.path)
        earlier = self.random.sample(snapshots, min(1, len(snapshots)))
        for snapshot in earlier:
            assert_same(self.path, [self.java], {"scan.snapshot-id": str(snapshot)})
        rows = assert_same(self.path, [self.java])
        for _ in range(FILTERS):
            self._check_filter(rows)

    def _check_filter(self, rows: Counter[Row]) -> None:
        at = self.random.randrange(len(self.shape.columns))
        column = self.shape.columns[at]
        if not isinstance(column.type, str) or column.type.startswith("VARIANT"):  # nothing compares its values
            return
        op, value = self.random.choice(list(COMPARISONS)), self.random.choice(column.values)
        self._note(f"filter {column.name} {op} {value!r}")
        found = our_engine.read(self.path, where=Compare((column.name,), op, value))
        assert found == Counter({row: n for row, n in rows.items() if satisfies(row[at], op, value)})

    def _note(self, text: str) -> None:
        self.log.append(f"{len(self.log)}: {text}")

    def _create(self) -> None:
        shape = self.shape
        maker = self.random.choice(["us", "Java"])
        self._note(f"{maker} create {shape.types} keys {shape.keys} partitions {shape.partitions} {shape.options}")
        create: Callable[..., Any] = our_engine.create if maker == "us" else self.java.create
        create(self.path, shape.types, shape.keys, shape.partitions, shape.options)

    def _steps(self) -> list[Callable[[], None]]:
        steps = [self._we_write] * 6 + [self._java_writes] * 4
        steps += [self._java_compacts, self._java_alters, self._we_overwrite, self._java_overwrites]
        if self.shape.options.get("deletion-vectors.enabled") == "true":
            steps += [self._java_deletes] * 3
        return steps

    def _rows_and_kinds(self) -> tuple[list[Row], list[str]]:
        rows = self.shape.rows(self.random, self.random.randint(1, ROWS))
        return rows, [self.random.choice(KINDS) if self.shape.keys else "+I" for _ in rows]

    def _we_write(self) -> None:
        parts = [self._rows_and_kinds() for _ in range(self.random.choice([1, 1, 2]))]
        self._note(f"we write {parts}")
        if len(parts) == 1:
            our_engine.append(self.path, *parts[0])
        else:
            our_engine.write(self.path, parts)

    def _java_writes(self) -> None:
        rows, kinds = self._rows_and_kinds()
        options = self.random.choice([{}, {"write-only": "true"}])
        self._note(f"Java writes {options} {list(zip(kinds, rows, strict=True))}")
        self.java.write(self.path, rows, kinds, options)

    def _java_compacts(self) -> None:
        if not self.java.files(self.path):
            return
        # A minor compaction of a bucketed append table runs into conflicts with itself, in Java alone too.
        full = not self.shape.keys or self.random.random() < 0.5
        self._note(f"Java compacts, full: {full}")
        self.java.compact(self.path, full)

    def _static_partition(self) -> tuple[list[Row], Column | None]:
        """Rows of one partition value, and its column when there is one that can be named by text."""
        rows = self.shape.rows(self.random, self.random.randint(1, ROWS))
        named = [c for c in self.shape.columns if c.name in self.shape.partitions and c.type in PLAIN_PARTITIONS]
        if not named or self.random.random() < 0.5:
            return rows, None
        column = self.random.choice(named)
        at, value = self.shape.columns.index(column), self.random.choice(column.values)
        return [(*row[:at], value, *row[at + 1 :]) for row in rows], column

    def _we_overwrite(self) -> None:
        rows, column = self._static_partition()
        what: Any = "dynamic" if self.shape.partitions else None
        if column is not None:
            what = {column.name: rows[0][self.shape.columns.index(column)]}
        elif self.random.random() < 0.2:
            what = None
        self._note(f"we overwrite {what} with {rows}")
        if what in (None, "dynamic"):
            our_engine.replace(self.path, rows, dynamic=what == "dynamic")
        else:
            our_engine.overwrite(self.path, rows, what)

    def _java_overwrites(self) -> None:
        rows, column = self._static_partition()
        partition = {}
        if column is not None:
            value = rows[0][self.shape.columns.index(column)]
            partition = {column.name: str(value).lower() if isinstance(value, bool) else str(value)}
        self._note(f"Java overwrites {partition} with {rows}")
        self.java.write(self.path, rows, overwrite=partition)

    def _java_deletes(self) -> None:
        files = self.java.files(self.path)
        if not files:
            return
        chosen = self.random.sample(files, self.random.randint(1, len(files)))
        positions = {
            name: sorted(self.random.sample(range(count), self.random.randint(1, count))) for name, _, count in chosen
        }
        self._note(f"Java deletes {positions}")
        self.java.delete_positions(self.path, positions)

    def _java_alters(self) -> None:
        shape, free = self.shape, [c for c in self.shape.columns if c.name not in self.shape.fixed]
        verb = self.random.choice(["add", "add", "rename", "widen", "widen", "drop"])
        change: tuple[Any, ...] | None = None
        if verb == "add":
            column = shape.new_column(self.random)
            shape.columns.append(column)
            change = ("addColumn", column.name, column.type)
        elif verb == "rename" and free:
            column = self.random.choice(free)
            shape.made += 1
            old, column.name = column.name, f"r{shape.made}"
            change = ("renameColumn", old, column.name)
        elif verb == "drop" and len(free) > 1:
            column = self.random.choice(free)
            shape.columns.remove(column)
            change = ("dropColumn", column.name)
        elif verb == "widen":
            change = self._widen([c for c in free if isinstance(c.type, str) and c.type in WIDER])
        if change is not None:
            self._note(f"Java alters {change}")
            self.java.alter(self.path, change)

    def _widen(self, columns: list[Column]) -> tuple[Any, ...] | None:
        if not columns:
            return None
        column = self.random.choice(columns)
        column.type = self.random.choice(WIDER[column.type])
        column.values = pool(column.type, self.shape.options["file.format"])
        return ("updateColumnType", column.name, column.type)
