"""Random tables whose schema changed between writes: columns of all types, partitions, keys, deleted rows."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from paimon_spark.arrow.types import arrow_schema, from_internal
from paimon_spark.catalogs.create import create_table
from paimon_spark.format.paths import schema_path
from paimon_spark.format.rules.new_tables import assign_field_ids
from paimon_spark.format.schema import TableSchema, encode_schema
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.commit.vector_files import find_vector_files, vector_changes
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import Split
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table
from support.draws.typed_batches import Limits, data_types, values
from support.tables.commit_states import latest
from support.tables.compacting import compact

LIMITS = Limits(timestamp_digits=6)
PARTITION = DataField(1, "p", DataType(Root.VARCHAR, length=MAX_LENGTH))
KEY = DataField(0, "k", DataType(Root.INT, False))
WIDER = {
    Root.TINYINT: (Root.SMALLINT, Root.INT, Root.BIGINT),
    Root.SMALLINT: (Root.INT, Root.BIGINT),
    Root.INT: (Root.BIGINT, Root.DOUBLE),
    Root.BIGINT: (Root.INT,),
    Root.FLOAT: (Root.DOUBLE,),
    Root.DOUBLE: (Root.FLOAT,),
}
"""To wider types, which Spark casts to as we do, and to others, which it does not."""
TEXTS = ("a", "b b", "ü", "50%", "[x]", " ", None)
"""Values of the partition column: some are escaped in the names of directories."""


@st.composite
def evolved_tables(draw: st.DrawFn, root: Path) -> Table:
    """A table under root with up to four writes, and up to as many changes of its schema between them."""
    keyed, partitioned, vectors = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    schema = _first_schema(draw, keyed, partitioned, vectors)
    path = str(root / f"{uuid.uuid4().hex}")
    create_table(path, schema)
    for _ in range(draw(st.integers(1, 4))):
        _write(draw, open_table(path))
        if draw(st.booleans()):
            _publish(open_table(path), _changed(draw, open_table(path).schema))
    table = open_table(path)
    if keyed and (vectors or draw(st.booleans())):
        compact(table, full=draw(st.booleans()))
    elif vectors:
        _delete(draw, table)
    return open_table(path)


def _first_schema(draw: st.DrawFn, keyed: bool, partitioned: bool, vectors: bool) -> TableSchema:
    # TIME and MULTISET are what Spark does not read itself: they are one half of the types that are drawn, not more.
    types = draw(
        st.lists(data_types(LIMITS).filter(lambda t: draw(st.booleans()) or _is_native(t)), min_size=1, max_size=4)
    )
    columns = [DataField(0, f"c{number}", t.with_nullable(True)) for number, t in enumerate(types)]
    fields, highest = assign_field_ids([KEY, PARTITION, *columns] if partitioned else [KEY, *columns])
    keys = (("k", "p") if partitioned else ("k",)) if keyed else ()
    if keyed and partitioned:
        fields = tuple(replace(f, type=f.type.with_nullable(False)) if f.name == "p" else f for f in fields)
    options = {"bucket": "1" if keyed else "-1", **({"deletion-vectors.enabled": "true"} if vectors else {})}
    return TableSchema(0, fields, highest, ("p",) if partitioned else (), keys, options)


def _is_native(t: DataType) -> bool:
    """True if the type has no TIME and no MULTISET, which Spark does not read itself."""
    inner = [part for part in (t.element, t.key) if part is not None] + [field.type for field in t.fields]
    return t.root not in (Root.TIME, Root.MULTISET) and all(map(_is_native, inner))


def _write(draw: st.DrawFn, table: Table) -> None:
    rows = draw(st.integers(1, 6))
    keys = draw(st.lists(st.integers(0, 9), min_size=rows, max_size=rows, unique=bool(table.schema.primary_keys)))
    arrays = []
    for field in table.schema.fields:
        if field.name == "k":
            column: list[Any] = keys
        elif field.name == "p":
            texts = [text for text in TEXTS if text is not None or field.type.nullable]
            column = draw(st.lists(st.sampled_from(texts), min_size=rows, max_size=rows))
        else:
            column = draw(st.lists(values(field.type, LIMITS), min_size=rows, max_size=rows))
        arrays.append(from_internal(column, field.type))
    batch = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(table.schema.fields))
    kinds = (
        draw(st.lists(st.sampled_from([0, 2, 3]), min_size=rows, max_size=rows)) if table.schema.primary_keys else None
    )
    user = str(uuid.uuid4())
    write = TableWrite(table, user)
    write.write(batch, None if kinds is None else np.array(kinds, np.int8))
    TableCommit(table, user).append(write.finish())


def _changed(draw: st.DrawFn, schema: TableSchema) -> TableSchema:
    """The schema after a column was added, dropped, renamed, or had its type changed."""
    own = [field for field in schema.fields if field.name not in ("k", "p")]
    fields, highest = list(schema.fields), schema.highest_field_id
    what = draw(st.sampled_from(["add", "drop", "rename", "retype"]))
    chosen = draw(st.sampled_from(own)) if own else None
    if what == "add" or chosen is None:
        (new,), highest = assign_field_ids([DataField(0, f"n{highest}", draw(data_types(LIMITS)).with_nullable(True))])
        shift = schema.highest_field_id + 1
        fields.append(_shifted(new, shift))
        highest += shift
    elif what == "drop" and len(own) > 1:
        fields.remove(chosen)
    elif what == "rename":
        fields[fields.index(chosen)] = replace(chosen, name=f"r{schema.id}_{chosen.name}")
    elif chosen.type.root in WIDER:
        root = draw(st.sampled_from(WIDER[chosen.type.root]))
        fields[fields.index(chosen)] = replace(chosen, type=DataType(root))
    return replace(schema, id=schema.id + 1, fields=tuple(fields), highest_field_id=highest)


def _shifted(field: DataField, by: int) -> DataField:
    return replace(field, id=field.id + by, type=_shifted_type(field.type, by))


def _shifted_type(t: DataType, by: int) -> DataType:
    return replace(
        t,
        element=None if t.element is None else _shifted_type(t.element, by),
        key=None if t.key is None else _shifted_type(t.key, by),
        fields=tuple(_shifted(field, by) for field in t.fields),
    )


def _publish(table: Table, schema: TableSchema) -> None:
    table.file_io.write_bytes(schema_path(table.location, schema.id), encode_schema(schema))


def _delete(draw: st.DrawFn, table: Table) -> None:
    """Deletes some rows of a file by a deletion vector, as a DELETE does."""
    splits = [split for split in open_table(table.location).scan().plan().splits if isinstance(split, Split)]
    split = draw(st.sampled_from(splits))
    file = draw(st.sampled_from(split.raw_files))
    positions = draw(st.sets(st.integers(0, file.row_count - 1), min_size=1))
    before = latest(table)
    gone = {file.file_name: np.array(sorted(positions), np.int64)}
    made = vector_changes(table, find_vector_files(table, before), split.partition, split.bucket, (), gone)
    message = CommitMessage(split.partition, split.bucket, -1, index_entries=made.entries)
    TableCommit(table, "delete", before.id).append([message])
