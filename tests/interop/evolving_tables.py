"""Tables whose schema changes between writes, nested columns too: the changes are made by us and by Java in turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import java_changes
import our_engine
import pyarrow as pa
from genuine import Genuine

from paimon_spark import open_table
from paimon_spark.arrow.casts import cast_array
from paimon_spark.arrow.types import arrow_type
from paimon_spark.errors import OptionError, SchemaError, UnsupportedFeature
from paimon_spark.format.type_text import parse_type, type_sql
from paimon_spark.format.types import NESTED, STRINGS, DataField, DataType, Root, all_fields
from paimon_spark.store.evolution import changes as c
from paimon_spark.store.evolution.alter import alter_table

COLUMNS = {
    "k": "INT NOT NULL",
    "p": "STRING NOT NULL",
    "n": "INT",
    "d": "DECIMAL(9, 2)",
    "t": "TIMESTAMP(3)",
    "s": "ROW<x INT, y STRING, r ROW<z SMALLINT>>",
    "a": "ARRAY<ROW<x INT, y FLOAT>>",
    "l": "ARRAY<INT>",
    "m": "MAP<STRING NOT NULL, ROW<x INT, y DATE>>",
}
NEW = (
    "INT", "BIGINT", "DOUBLE", "STRING", "DATE", "BOOLEAN", "DECIMAL(12, 3)", "TIMESTAMP(6)", "VARCHAR(3)", "BYTES",
    "ROW<u INT, v ROW<w STRING>>", "ARRAY<INT>", "MAP<STRING NOT NULL, INT>", "ARRAY<ROW<u INT>>",
)  # fmt: skip
SCALARS = (
    "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "DECIMAL(20, 4)", "STRING",
    "VARCHAR(3)", "DATE", "TIMESTAMP(3)", "TIMESTAMP(6)", "BOOLEAN", "BYTES", "CHAR(4)",
)  # fmt: skip
FORMATS = ("parquet", "parquet", "orc", "avro")
REFUSALS = (SchemaError, OptionError, UnsupportedFeature)


def value(random: Random, data_type: DataType) -> Any:
    """A value of a type, as the tests write them."""
    if data_type.nullable and random.random() < 0.2:
        return None
    match data_type.root:
        case Root.ROW:
            return tuple(value(random, f.type) for f in data_type.fields)
        case Root.ARRAY:
            return tuple(value(random, data_type.inner) for _ in range(random.randrange(3)))
        case Root.MAP:
            return tuple((key, value(random, data_type.inner)) for key in ("a", "b")[: random.randrange(3)])
        case Root.BOOLEAN:
            return random.random() < 0.5
        case Root.TINYINT | Root.SMALLINT | Root.INT | Root.BIGINT:
            return random.choice((0, 1, -1, 100, {"TINYINT": -128, "SMALLINT": 32767}.get(data_type.root, 2**31 - 1)))
        case Root.FLOAT | Root.DOUBLE:
            return random.choice((0.0, 1.5, -2.25, 1000.0))
        case Root.DECIMAL:
            return Decimal(random.choice((0, 125, -3))).scaleb(-(data_type.scale or 0))
        case Root.CHAR:
            return "x".ljust(data_type.length or 1)
        case Root.VARCHAR:
            return random.choice(("", "a", "bcd", "é1"))
        case Root.BINARY | Root.VARBINARY:
            return random.choice((b"", b"ab"))
        case Root.DATE:
            return random.choice((0, 20_000, -1))
    # Java 2.0 rounds times before 1970 up where they become dates, see test_casts_like_java
    return random.choice((0, 1_700_000_000_123_000_000, 1_000_000))


@dataclass
class EvolvingTable:
    """A table with a history; log tells what was done."""

    seed: int
    path: str
    java: Genuine
    log: list[str] = field(default_factory=list)
    made: int = 0

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        keys = self.random.choice(((), ("k",), ("p", "k")))
        options = {"bucket": "1" if keys else "-1", "file.format": self.random.choice(FORMATS)}
        if keys and self.random.random() < 0.3:
            options |= {"merge-engine": "partial-update"}
        partitions = ("p",) if self.random.random() < 0.4 and keys != ("k",) else ()
        self.keys = (*keys, *partitions)
        our_engine.create(self.path, COLUMNS, keys, partitions, options)
        self._note(f"create keys {keys} partitions {partitions} {options}")
        self.random.choice((self._we_write, self._java_writes))()

    def run(self, steps: int) -> None:
        for _ in range(steps):
            acts = (self._alter, self._alter, self._alter, self._we_write, self._java_writes, self._java_compacts)
            self.random.choice(acts)()

    def _note(self, text: str) -> None:
        self.log.append(f"{len(self.log)}: {text}")

    @property
    def fields(self) -> tuple[DataField, ...]:
        return open_table(self.path).schema.fields

    def _rows(self) -> list[tuple[Any, ...]]:
        count = self.random.randint(1, 8)
        rows = [{f.name: value(self.random, f.type) for f in self.fields} for _ in range(count)]
        for row in rows:
            row["k"], row["p"] = self.random.randrange(6), self.random.choice("xy")
        return [tuple(row.values()) for row in rows]

    def _we_write(self) -> None:
        rows = self._rows()
        self._note(f"we write {rows}")
        our_engine.write(self.path, [(rows, None)])

    def _java_writes(self) -> None:
        rows = self._rows()
        self._note(f"Java writes {rows}")
        self.java.write(self.path, rows, options={"write-only": "true"})

    def _java_compacts(self) -> None:
        if self.java.files(self.path):
            self._note("Java compacts")
            self.java.compact(self.path)

    def _alter(self) -> None:
        change = self._draw()
        if change is None or (isinstance(change, c.UpdateType) and not self._is_readable(change)):
            return
        if self.random.random() < 0.5:
            self._note(f"we {change}")
            try:
                alter_table(open_table(self.path), (change,))
            except REFUSALS as error:
                self._note(f"refused: {error}")
        else:
            (refused,) = self.java.run(java_changes.alter_all, [(self.path, (change,))])
            self._note(f"Java: {change} {refused or ''}"[:300])

    def _paths(self) -> list[tuple[c.Path, DataType]]:
        found: list[tuple[c.Path, DataType]] = []

        def visit(path: c.Path, data_type: DataType) -> None:
            found.append((path, data_type))
            for inner in data_type.fields:
                visit((*path, inner.name), inner.type)
            if data_type.root in (Root.ARRAY, Root.MAP):
                visit((*path, "element" if data_type.root is Root.ARRAY else "value"), data_type.inner)

        for own in self.fields:
            if own.name not in ("k", "p"):
                visit((own.name,), own.type)
        return found

    def _draw(self) -> c.SchemaChange | None:
        paths = self._paths()
        named = [path for path, _ in paths if path[-1] not in ("element", "value")]
        structs = [(), (), *(path for path, data_type in paths if data_type.root is Root.ROW)]
        self.made += 1
        match self.random.choice(("add", "add", "rename", "drop", "type", "type", "type", "move", "null")):
            case "add":
                position = self.random.choice((None, c.Position(c.Place.FIRST)))
                path = (*self.random.choice(structs), f"c{self.made}")
                return c.AddColumn(path, parse_type(self.random.choice(NEW)), None, position)
            case "rename":
                return c.RenameColumn(self.random.choice(named), f"r{self.made}") if named else None
            case "drop":
                return c.DropColumn(self.random.choice(named)) if len(named) > 3 else None
            case "move":
                return c.MoveColumn((self.random.choice(self.fields).name,), c.Position(c.Place.LAST))
            case "null":
                return c.UpdateNullable(self.random.choice(paths)[0], nullable=True) if paths else None
        scalars = [path for path, data_type in paths if data_type.root not in NESTED]
        return c.UpdateType(self.random.choice(scalars), parse_type(self.random.choice(SCALARS))) if scalars else None

    def _is_readable(self, change: c.UpdateType) -> bool:
        """Whether every type that the column has had becomes the new one; a text may be no value of it."""
        own = dict(self._paths())[change.path]
        types = {own}
        if change.path[-1] not in ("element", "value"):
            ids = {f.id for f in all_fields(self.fields) if f.name == change.path[-1]}
            schemas = open_table(self.path).schemas
            types |= {f.type for n in schemas.ids() for f in all_fields(schemas.load(n).fields) if f.id in ids}
        elif len(open_table(self.path).schemas.ids()) > 1 and own.with_nullable(True) != parse_type("INT"):
            return False  # its earlier types are not known here
        return all(_becomes(data_type, change.type) for data_type in types)


def _becomes(have: DataType, want: DataType) -> bool:
    if have.root in NESTED or (have.root in STRINGS and want.root not in STRINGS | {Root.VARBINARY}):
        return False
    try:
        cast_array(pa.nulls(0, arrow_type(have)), have, want)
    except UnsupportedFeature:
        return False
    return True


def shown(path: str) -> str:
    """The columns of a table, for messages."""
    return ", ".join(f"{f.name} {type_sql(f.type)}" for f in open_table(path).schema.fields)


def schema_count(path: str) -> int:
    """How many schemas a table has had."""
    return len(list(Path(path, "schema").iterdir()))
