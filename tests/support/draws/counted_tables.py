"""Random tables of all kinds, and reads of them, for what metadata tell of the rows."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.types import arrow_schema, from_internal, to_internal
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.format.paths import schema_path
from paimon_spark.format.schema import TableSchema, encode_schema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.commit.vector_files import find_vector_files, vector_changes
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import Split
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table
from support.draws.indexed_tables import POOLS, TYPES
from support.tables.commit_states import latest
from support.tables.compacting import compact

_PARTITIONS = {"p": pa.string(), "q": pa.int32(), "day": pa.date32(), "f": pa.float64()}
_PARTITION_VALUES: Mapping[str, list[Any]] = {
    "p": ["a", "b", "", "ü", None],
    "q": [-1, 0, 7, None],
    "day": [0, 18_000, None],
    "f": [float("nan"), 0.0, 1.5, None],
}
_ENGINES = ["deduplicate", "deduplicate", "partial-update", "aggregation", "first-row"]
_WIDER = {Root.TINYINT: Root.INT, Root.SMALLINT: Root.BIGINT, Root.INT: Root.BIGINT, Root.FLOAT: Root.DOUBLE}
_FINE = pa.timestamp("ns")


@dataclass(frozen=True)
class CountedRead:
    """A read of a table: the options of the read, and a condition in SQL."""

    path: str
    options: Mapping[str, str]
    where: str | None


def draw_reads(random: Random, root: Path, indexed: bool = False) -> Iterator[CountedRead]:
    """Some reads of a new table: of its latest state, of older ones, of changes, of branches.

    Args:
        random: draws.
        root: the directory of the table.
        indexed: whether the first columns have ``range-bitmap`` indexes.
    """
    path = str(root / uuid.uuid4().hex)
    _draw_table(random, path, indexed)
    table = open_table(path)
    snapshots = table.snapshots.ids()
    yield CountedRead(path, {}, None)
    yield CountedRead(path, {}, _condition(random, table))
    if not snapshots:  # what was written has no rows
        return
    chosen = str(random.choice(snapshots))
    yield CountedRead(path, {"scan.snapshot-id": chosen}, _condition(random, table))
    shape = random.random()
    if shape < 0.2 and len(snapshots) > 1:
        yield CountedRead(path, {"incremental-between": f"1,{snapshots[-1]}"}, _condition(random, table))
    elif shape < 0.35:
        create_branch(table, "other", snapshot=random.choice(snapshots))
        _write(random, open_table(path, {"branch": "other"}))
        yield CountedRead(path, {"branch": "other"}, None)
        if open_table(path, {"branch": "other"}).schema.fields == table.schema.fields:
            yield CountedRead(path, {"scan.fallback-branch": "other"}, _condition(random, table))
    elif shape < 0.45:
        yield CountedRead(path, {"scan.file-creation-time-millis": "0"}, None)
    elif shape < 0.5:
        yield CountedRead(path, {"scan.ignore-lost-files": "true"}, None)


def _draw_table(random: Random, path: str, indexed: bool) -> None:
    schema = _schema(random)
    if indexed:
        schema = _indexed(random, schema)
    create_table(path, schema)
    for _ in range(random.randint(1, 4)):
        _write(random, open_table(path))
        shape = random.random()
        if shape < 0.25:
            publish(open_table(path), _changed(random, open_table(path).schema))
        elif shape < 0.45:
            compact(open_table(path), full=random.random() < 0.7)
        elif shape < 0.6 and not schema.primary_keys and "deletion-vectors.enabled" in schema.options:
            delete_some(random, open_table(path))


def _schema(random: Random) -> TableSchema:
    keyed = random.random() < 0.5
    parts = random.sample(list(_PARTITIONS), random.choice([0, 1, 1, 2]))
    file_format = random.choice(["parquet", "parquet", "orc", "avro"])
    columns = [pa.field("k", pa.int32(), nullable=not keyed)]
    columns += [pa.field(name, _PARTITIONS[name], nullable=not keyed) for name in parts]
    kinds = [t for t in POOLS if _fits(t, file_format)]
    columns += [pa.field(f"c{i}", random.choice(kinds)) for i in range(random.randint(1, 4))]
    options = {
        "bucket": str(random.randint(1, 2)) if keyed else "-1",
        "write-only": "true",
        "file.format": file_format,
        "metadata.stats-mode": random.choice(["truncate(16)", "truncate(16)", "full", "none", "counts"]),
        "metadata.stats-dense-store": random.choice(["true", "false"]),
        "record-level.expire-time": "1 d",
        "record-level.time-field": "k",
    }
    if not keyed or random.random() < 0.6:  # what expires is left out when files are compacted, not when they are read
        del options["record-level.expire-time"], options["record-level.time-field"]
    if random.random() < 0.3:
        options["fields.c0.stats-mode"] = random.choice(["none", "full", "truncate(3)"])
    engine = random.choice(_ENGINES) if keyed else "deduplicate"
    if keyed:
        options["merge-engine"] = engine
        if engine == "aggregation":
            options["fields.default-aggregate-function"] = "last_value"
        if random.random() < 0.3 and engine in ("deduplicate", "partial-update", "first-row"):
            options["ignore-delete"] = "true"
    if random.random() < 0.35 and engine != "first-row":
        options["deletion-vectors.enabled"] = "true"
    keys = ("k", *parts) if keyed else ()
    return new_schema(pa.schema(columns), keys, tuple(parts), options)


def _indexed(random: Random, schema: TableSchema) -> TableSchema:
    """The schema with an index of its column k, and of c0 if it can have one."""
    first = arrow_schema([schema.by_name["c0"]]).field(0).type
    columns = "k,c0" if first in TYPES["range-bitmap"] else "k"
    place = random.choice(["0 b", "1 mb"])
    options = {"file-index.range-bitmap.columns": columns, "file-index.in-manifest-threshold": place}
    return replace(schema, options={**schema.options, **options})


def _fits(data_type: pa.DataType, file_format: str) -> bool:
    if data_type in (_FINE, pa.time32("ms")):
        return file_format == "parquet"
    return not (pa.types.is_timestamp(data_type) and file_format == "orc")


def _write(random: Random, table: Table) -> None:
    rows = random.randint(1, 8)
    keyed = bool(table.schema.primary_keys)
    arrays = []
    for field, arrow in zip(table.schema.fields, arrow_schema(table.schema.fields), strict=True):
        pool: list[Any] = _PARTITION_VALUES.get(field.name, [])
        if field.name == "k":
            pool = list(range(12))
        elif not pool:
            pool = [to_internal(pa.scalar(value, arrow.type)) for value in POOLS.get(arrow.type, [0, 1])]
            pool = random.sample(pool, min(3, len(pool)))
            pool = pool if random.random() < 0.9 else []
        allowed = [value for value in pool if value is not None]
        if field.type.nullable:
            allowed = [*allowed, None]
        arrays.append(from_internal([random.choice(allowed) for _ in range(rows)], field.type))
    batch = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(table.schema.fields))
    deletes = keyed and table.schema.options.get("merge-engine") == "deduplicate"
    deletes = deletes or table.schema.options.get("ignore-delete") == "true"
    kinds = np.array([random.choice([0, 0, 2, 3]) for _ in range(rows)], np.int8) if deletes else None
    user = str(uuid.uuid4())
    write = TableWrite(table, user)
    write.write(batch, kinds)
    TableCommit(table, user).append(write.finish())


def _changed(random: Random, schema: TableSchema) -> TableSchema:
    """The schema after a column was added, dropped, renamed, or had its type changed."""
    named = any("c0" in (*key.split("."), *value.split(",")) for key, value in schema.options.items())
    settled = "c0" if named else ""  # an option must not name a column that is gone
    own = [field for field in schema.fields if field.name[0] in "cnr"]
    fields, highest = list(schema.fields), schema.highest_field_id
    shape, chosen = random.random(), random.choice(own)
    if shape < 0.4:
        highest += 1
        fields.append(DataField(highest, f"n{highest}", DataType(random.choice([Root.INT, Root.DATE, Root.DOUBLE]))))
    elif shape < 0.6 and len(own) > 1 and chosen.name != settled:
        fields.remove(chosen)
    elif shape < 0.8 and chosen.name != settled:
        fields[fields.index(chosen)] = replace(chosen, name=f"r{schema.id}_{chosen.name}")
    elif chosen.type.root in _WIDER:
        fields[fields.index(chosen)] = replace(chosen, type=DataType(_WIDER[chosen.type.root]))
    return replace(schema, id=schema.id + 1, fields=tuple(fields), highest_field_id=highest)


def publish(table: Table, schema: TableSchema) -> None:
    table.file_io.write_bytes(schema_path(table.location, schema.id), encode_schema(schema))


def delete_some(random: Random, table: Table) -> None:
    """Deletes some rows of a file by a deletion vector, as a DELETE does."""
    splits = [split for split in open_table(table.location).scan().plan().splits if isinstance(split, Split)]
    if not splits:
        return
    split = random.choice(splits)
    file = random.choice(split.raw_files)
    positions = random.sample(range(file.row_count), random.randint(1, file.row_count))
    before = latest(table)
    gone = {file.file_name: np.array(sorted(positions), np.int64)}
    made = vector_changes(table, find_vector_files(table, before), split.partition, split.bucket, (), gone)
    message = CommitMessage(split.partition, split.bucket, -1, index_entries=made.entries)
    TableCommit(table, "delete", before.id).append([message])


def _condition(random: Random, table: Table) -> str | None:
    """A condition on partition columns or on others; None: none."""
    literals = {"p": "'b'", "q": "0", "day": "date'1970-01-01'", "f": "1.5D"}
    parts = list(table.schema.partition_keys)
    shape = random.random()
    if shape < 0.3 or (not parts and shape < 0.7):
        return None
    if not parts or shape > 0.85:
        return f"k > {random.randint(0, 11)}"
    name = random.choice(parts)
    text = random.choice(["{} = {}", "{} <> {}", "{} >= {}", "{} is null", "{} is not null", "not ({} < {})"])
    return text.format(name, literals[name])
