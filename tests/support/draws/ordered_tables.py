"""Random tables for queries of an order: files whose ranges lie apart or overlap, of all types that have an order."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table
from support.draws.counted_tables import delete_some, publish
from support.draws.indexed_tables import POOLS, TYPES
from support.tables.compacting import compact

ODD_NAMES = ("x y", "all", "true", "null", "1", "upper(a)", "Ünit", "limit", "t", "c")
_COMMON = "what all of these texts have in common, and more than statistics keep " * 2
_PARTITIONS: Mapping[str, tuple[pa.DataType, Sequence[Any]]] = {
    "p": (pa.string(), ["a", "b", "", "ü", "10", "9", None]),
    "q": (pa.int32(), [-1, 0, 7, 10, None]),
    "day": (pa.date32(), [-141_428, 0, 18_000, None]),
    "f": (pa.float64(), [float("nan"), -0.0, 0.0, 1.5, None]),
    "flag": (pa.bool_(), [True, False, None]),
    "z": (pa.timestamp("us", "UTC"), [-1, 0, 1_600_000_000_000_001, None]),
    "num": (pa.decimal128(5, 2), [Decimal("-0.01"), Decimal("1.10"), None]),
}
_ENGINES = ("deduplicate", "deduplicate", "partial-update", "aggregation", "first-row")
_WIDER = {
    Root.TINYINT: Root.INT, Root.SMALLINT: Root.BIGINT, Root.INT: Root.BIGINT, Root.FLOAT: Root.DOUBLE,
    Root.BIGINT: Root.DOUBLE, Root.DATE: Root.TIMESTAMP,
}  # fmt: skip


@dataclass(frozen=True)
class OrderedTable:
    """A table of the catalog.

    Attributes:
        name: of the table in the database.
        path: of its directory.
        states: its snapshots.
        struct: the name of a struct, whose fields have the names of other columns; None: there is none.
    """

    name: str
    path: str
    states: tuple[int, ...]
    struct: str | None


def draw_ordered_table(random: Random, database: Path) -> OrderedTable:
    """A new table of some files, whose column ``id`` is another number in every row that was written."""
    name = f"t{uuid.uuid4().hex[:8]}"
    struct = random.choice([None, "s", "x", name, "web"])
    path = str(database / name)
    create_table(path, _schema(random, struct))
    writer = _Writer(random, struct)
    for _ in range(random.randint(3, 6)):
        writer.write(open_table(path))
        shape, table = random.random(), open_table(path)
        if shape < 0.2:
            publish(table, _changed(random, table.schema, struct))
        elif shape < 0.35:
            compact(table, full=random.random() < 0.7)
        elif shape < 0.5 and not table.schema.primary_keys and "deletion-vectors.enabled" in table.schema.options:
            delete_some(random, table)
    table = open_table(path)
    if table.schema.primary_keys and random.random() < 0.6:
        compact(table, full=random.random() < 0.7)
    return OrderedTable(name, path, tuple(open_table(path).snapshots.ids()), struct)


def _schema(random: Random, struct: str | None) -> TableSchema:
    keyed = random.random() < 0.3
    parts = random.sample(list(_PARTITIONS), random.choice([0, 0, 1, 1, 2]))
    file_format = random.choice(["parquet", "parquet", "parquet", "orc", "avro"])
    if file_format == "orc":  # which cannot hold each time before 1970
        parts = [part for part in parts if part != "z"]
    kinds = [t for t in POOLS if file_format == "parquet" or not _is_for_parquet_alone(t, file_format)]
    columns = [pa.field("id", pa.int64(), nullable=not keyed)]
    columns += [pa.field(part, _PARTITIONS[part][0], nullable=not keyed) for part in parts]
    odd = [name for name in random.sample(ODD_NAMES, random.choice([0, 0, 1])) if name != struct]
    odd = [] if file_format == "avro" else odd  # Avro allows few letters in names
    names = [*"abc"[: random.randint(1, 3)], *odd]
    columns += [pa.field(name, random.choice(kinds)) for name in dict.fromkeys(names)]
    if struct is not None:
        columns.append(pa.field(struct, pa.struct([("id", pa.int64()), ("a", pa.int64()), ("c", pa.int64())])))
    options = {
        "bucket": str(random.randint(1, 2)) if keyed else "-1",
        "write-only": "true",
        "file.format": file_format,
        "metadata.stats-mode": random.choice([*["truncate(16)"] * 6, "full", "none", "counts"]),
        "metadata.stats-dense-store": random.choice(["true", "false"]),
        "file-index.in-manifest-threshold": random.choice(["0 b", "1 mb"]),
    }
    if random.random() < 0.5:
        kind = random.choice(["range-bitmap", "range-bitmap", "bitmap"])
        indexed = [c.name for c in columns if c.type in TYPES[kind] and c.name in ("id", "a", "b", "c")]
        options[f"file-index.{kind}.columns"] = ",".join(name for name in indexed if random.random() < 0.7) or "id"
    if random.random() < 0.2:
        options["fields.a.stats-mode"] = random.choice(["none", "full", "truncate(3)", "counts"])
    engine = random.choice(_ENGINES) if keyed else "deduplicate"
    if keyed:
        options["merge-engine"] = engine
        if engine == "aggregation":
            options["fields.default-aggregate-function"] = "last_value"
        elif engine != "first-row" and random.random() < 0.5:
            options["sequence.field"] = "n"
            columns.append(pa.field("n", pa.int64()))
    if random.random() < 0.4 and engine != "first-row":
        options["deletion-vectors.enabled"] = "true"
    keys = ("k", *parts) if keyed else ()
    if keyed:
        columns.append(pa.field("k", pa.int32(), nullable=False))
    schema = new_schema(pa.schema(columns), keys, tuple(parts), options)
    return replace(schema, fields=tuple(_shorter(random, field, file_format) for field in schema.fields))


def _is_for_parquet_alone(data_type: pa.DataType, file_format: str) -> bool:
    if data_type in (pa.timestamp("ns"), pa.time32("ms")):
        return True
    return pa.types.is_timestamp(data_type) and file_format == "orc"


def _shorter(random: Random, field: DataField, file_format: str) -> DataField:
    """The column, perhaps as CHAR or VARCHAR of some characters, or as TIMESTAMP of some digits."""
    if field.name in _PARTITIONS:
        return field
    if field.type.root is Root.VARCHAR and random.random() < 0.4:
        kind, length = random.choice([(Root.VARCHAR, 7), (Root.VARCHAR, 200), (Root.CHAR, 7), (Root.CHAR, 200)])
        return replace(field, type=DataType(kind, field.type.nullable, length=length))
    if field.type.precision == 9 and file_format == "parquet":
        return replace(field, type=replace(field.type, precision=random.choice([7, 9])))
    if field.type.precision == 3 and field.type.root is Root.TIMESTAMP:
        return replace(field, type=replace(field.type, precision=random.choice([0, 1, 3])))
    return field


def _changed(random: Random, schema: TableSchema, struct: str | None) -> TableSchema:
    """The schema after a column was dropped, dropped and added again, renamed, or had its type changed."""
    fixed = {"id", "k", "n", struct, *schema.partition_keys}
    own = [field for field in schema.fields if field.name not in fixed]
    fields, options, highest = list(schema.fields), dict(schema.options), schema.highest_field_id + 1
    shape, chosen = random.random(), random.choice(own) if own else None
    added = DataField(highest, f"d{highest}", DataType(random.choice([Root.INT, Root.DATE, Root.DOUBLE, Root.BIGINT])))
    if chosen is None or shape < 0.2:
        fields.append(added)
    elif shape < 0.5:
        fields[fields.index(chosen)] = replace(added, name=chosen.name)
    elif shape < 0.7:
        name = random.choice([f"r{highest}", chosen.name.upper() + "2"])
        fields[fields.index(chosen)] = replace(chosen, name=name)
        options = {key.replace(f"fields.{chosen.name}.", f"fields.{name}."): v for key, v in options.items()}
        options = {
            key: _renamed(value, chosen.name, name) if "file-index" in key else value for key, value in options.items()
        }
        highest -= 1
    elif chosen.type.root in _WIDER:
        root = _WIDER[chosen.type.root]
        precision = 6 if root is Root.TIMESTAMP else None
        fields[fields.index(chosen)] = replace(chosen, type=DataType(root, chosen.type.nullable, precision=precision))
        highest -= 1
    return replace(schema, id=schema.id + 1, fields=tuple(fields), highest_field_id=highest, options=options)


def _renamed(names: str, old: str, new: str) -> str:
    return ",".join(new if name == old else name for name in names.split(","))


class _Writer:
    """Writes files, of which each has rows of its own part of all values, or of any."""

    def __init__(self, random: Random, struct: str | None) -> None:
        self._random = random
        self._struct = struct
        self._ids = list(range(200))
        if random.random() < 0.5:
            random.shuffle(self._ids)

    def write(self, table: Table) -> None:
        """One commit."""
        rows = self._random.randint(1, 25)
        ids, self._ids = self._ids[:rows], self._ids[rows:]
        arrays = [
            self._column(field, arrow.type, ids)
            for field, arrow in zip(table.schema.fields, arrow_schema(table.schema.fields), strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(table.schema.fields))
        deletes = table.schema.primary_keys and table.schema.options["merge-engine"] == "deduplicate"
        kinds = np.array([self._random.choice([0, 0, 0, 2, 3]) for _ in ids], np.int8) if deletes else None
        user = str(uuid.uuid4())
        write = TableWrite(table, user)
        write.write(batch, kinds)
        TableCommit(table, user).append(write.finish())

    def _column(self, field: DataField, data_type: pa.DataType, ids: Sequence[int]) -> pa.Array:
        random, values = self._random, list[Any]()
        if field.name == "id":
            values = list(ids)
        elif field.name == "k":
            low = random.randint(0, 40)
            values = [random.randint(low, low + 20) for _ in ids]
        elif field.name == self._struct:
            values = [None if id % 9 == 8 else {"id": -id, "a": 7 * id % 11, "c": -id} for id in ids]
        elif field.name in _PARTITIONS:
            pool = [value for value in _PARTITIONS[field.name][1] if value is not None or field.type.nullable]
            pool = random.sample(pool, random.randint(1, len(pool)))
            values = [random.choice(pool) for _ in ids]
        else:
            values = self._any(field, data_type, len(ids))
        return pa.array(values, data_type)

    def _any(self, field: DataField, data_type: pa.DataType, rows: int) -> list[Any]:
        random = self._random
        few = random.random() < 0.15
        low = random.choice([0, 0, 40, 80, 120, 160])
        width = random.choice([0, 3, 10, 10, 40, 200 - low])
        of_place = _value_at(data_type)
        pool = [of_place(min(low + random.randint(0, width), 199)) for _ in range(rows)]
        if few and data_type in POOLS:
            pool = random.sample(list(POOLS[data_type]), min(3, len(POOLS[data_type])))
        if field.type.root in (Root.CHAR, Root.VARCHAR):
            pool = [text[: field.type.length].rstrip() for text in pool]
        nulls = random.choice([0, 0, 0, 0.1, 0.5, 1]) if field.type.nullable else 0
        return [None if random.random() < nulls else random.choice(pool) for _ in range(rows)]


def _value_at(data_type: pa.DataType) -> Callable[[int], Any]:
    """Gives the values of a type, in their order, for numbers from 0 to 199."""
    if pa.types.is_boolean(data_type):
        return lambda n: n >= 100
    if pa.types.is_integer(data_type):
        return lambda n: n - 100
    if pa.types.is_floating(data_type):
        return lambda n: (n - 100) / 4 if n % 7 else (-0.0, 0.0, float("nan"))[n % 3]
    if pa.types.is_string(data_type):
        return lambda n: f"{_COMMON if n % 5 == 0 else ''}{n:03}"
    if pa.types.is_binary(data_type):
        return lambda n: bytes([n, 0, n])
    if pa.types.is_date(data_type):
        return lambda n: -141_500 + n
    if pa.types.is_decimal(data_type):
        return lambda n: Decimal(n - 100).scaleb(-data_type.scale)
    if pa.types.is_time(data_type):
        return lambda n: n * 60_001
    return lambda n: (n - 100) * 1_000_001
