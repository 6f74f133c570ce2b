"""$files, $file_key_ranges, $file_indexes: the live data files, column by column from manifests (Java: FilesTable).

$file_indexes: the indexes kept for single data files (release 2.1; Java: FileIndexesTable).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.raw_values import from_numpy, masked, scalar_of, text_array
from paimon_spark.arrow.row_columns import RowBytes, row_field
from paimon_spark.arrow.text_casts import listed, object_texts
from paimon_spark.arrow.types import arrow_type
from paimon_spark.file_io import FileIO
from paimon_spark.format.file_index.container import decode_container
from paimon_spark.format.manifest import DataFileMeta, FileSource
from paimon_spark.format.manifests.columns import ManifestColumns
from paimon_spark.format.paths import INDEX_SUFFIX, bucket_path, extra_file_path, file_format_of
from paimon_spark.format.rules.key_clustering import orders_otherwise
from paimon_spark.store.holds.expired import translate_missing_files
from paimon_spark.store.metadata.live_files import Indices
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.deletion_files import partition_directory
from paimon_spark.store.read.file_index_files import index_file_of, missing_file_index
from paimon_spark.store.storage.files import find_bytes
from paimon_spark.store.storage.parallel import map_parallel
from paimon_spark.store.system_tables.entries import Entries, read_state
from paimon_spark.store.system_tables.file_stats import value_statistics
from paimon_spark.store.system_tables.request import (
    Columns,
    MetadataTable,
    Request,
    by_group,
    columns_of_rows,
    either,
    fields_of,
)

_BEGIN = """
    partition STRING
    bucket INT NOT NULL
    file_path STRING NOT NULL
    file_format STRING NOT NULL
    schema_id BIGINT NOT NULL
    level INT NOT NULL
    record_count BIGINT NOT NULL
    file_size_in_bytes BIGINT NOT NULL
    min_key STRING
    max_key STRING
"""
FILE_FIELDS = fields_of(
    _BEGIN
    + """
    null_value_counts STRING NOT NULL
    min_value_stats STRING NOT NULL
    max_value_stats STRING NOT NULL
    min_sequence_number BIGINT
    max_sequence_number BIGINT
    creation_time TIMESTAMP(3)
    deleteRowCount BIGINT
    file_source STRING
    first_row_id BIGINT
    write_cols ARRAY<STRING>
"""
)
FILE_KEY_RANGE_FIELDS = fields_of(_BEGIN + "first_row_id BIGINT")
_STATISTICS = ("null_value_counts", "min_value_stats", "max_value_stats")
FILE_INDEX_FIELDS = fields_of("""
    partition STRING
    bucket INT NOT NULL
    file_path STRING NOT NULL
    file_size_in_bytes BIGINT NOT NULL
    record_count BIGINT NOT NULL
    schema_id BIGINT NOT NULL
    column_name STRING NOT NULL
    index_type STRING NOT NULL
    storage_type STRING NOT NULL
    index_file_path STRING
    index_size_in_bytes BIGINT NOT NULL
    index_container_size_in_bytes BIGINT NOT NULL
    is_empty BOOLEAN NOT NULL
""")


def _files(request: Request) -> Columns:
    entries = read_state(request)
    if entries is None:
        return columns_of_rows(FILE_FIELDS, ())
    live = entries.live()
    made = {name: make(entries, live) for name, make in _PLAIN.items() if request.wants(name)}
    table = request.table
    if request.wants("file_path"):
        made["file_path"] = file_paths(table, entries, live)
    for name, rows in (("min_key", "_MIN_KEY"), ("max_key", "_MAX_KEY")):
        if request.wants(name):
            made[name] = _key_texts(table, entries.columns, rows, live)
    wanted = [name for name in _STATISTICS if request.wants(name)]
    return made | value_statistics(table, entries.columns, live, wanted)


def file_paths(table: Table, entries: Entries, live: Indices) -> pa.Array:
    """The paths of the files of entries."""
    columns = entries.columns
    code, bucket = columns.partition_code[live], columns.bucket[live]
    places = {key: number for number, key in enumerate(dict.fromkeys(zip(code.tolist(), bucket.tolist(), strict=True)))}
    directories = [partition_directory(table.schema, table.settings, row) for row in columns.partitions]
    paths = [bucket_path(table.location, directories[c], b, table.settings) for c, b in places]
    numbers = [places[key] for key in zip(code.tolist(), bucket.tolist(), strict=True)]
    names = _names(columns, live)
    of_each = text_array(paths).take(from_numpy(np.array(numbers, np.int64)))
    beside = pc.binary_join_element_wise(of_each, names, scalar_of("/", pa.string()))
    if not columns.attribute("external_path").valid[live].any():
        return beside
    return pc.coalesce(text_array(columns.texts("external_path", live)), beside)


def _names(columns: ManifestColumns, live: Indices) -> pa.Array:
    return text_array(columns.texts("file_name", live))


def _formats(entries: Entries, live: Indices) -> pa.Array:
    """The format of each file. Names differ before their first dot, so each distinct rest is parsed once."""
    names = _names(entries.columns, live)
    ends = pc.replace_substring_regex(names, r"^[^.]*", "x").dictionary_encode()
    _, firsts = np.unique(ends.indices.to_numpy(), return_index=True)  # the dictionary has them in this order
    return text_array(list(map(file_format_of, names.take(pa.array(firsts)).to_pylist()))).take(ends.indices)


def _key_texts(table: Table, columns: ManifestColumns, rows: str, live: Indices) -> pa.Array:
    """``[a, b]``: the first or last key of each file; null for files without keys.

    And null where files are in another order than that of the key: what they record are no keys.
    """
    if orders_otherwise(table.settings):
        return pa.nulls(len(live), pa.string())
    column = columns.columns["_FILE", rows]
    keys = RowBytes(columns.buffer, column.values[live], column.ends[live])
    arity = keys.arities()
    schema_ids = columns.schema_id[live]
    return by_group(schema_ids, lambda schema_id, chosen: _keys_of(table, schema_id, keys.of(chosen), arity[chosen]))


def _keys_of(table: Table, schema_id: int, keys: RowBytes, arity: Indices) -> pa.Array:
    schema = table.schema if schema_id == table.schema.id else table.schemas.load(schema_id)
    types = [field.type for field in schema.key_fields or schema.fields]

    def stored(some: Indices) -> pa.Array:
        rows = keys.of(some)
        return listed([object_texts(row_field(rows, types, i), t) for i, t in enumerate(types)], len(some))

    return either(arity == len(types), stored, lambda some: pa.nulls(len(some), pa.string()))


def _needed(name: str, to: pa.DataType) -> Callable[[Entries, Indices], pa.Array]:
    return lambda entries, live: from_numpy(entries.columns.needed_integers(name)[live]).cast(to)


def _optional(name: str) -> Callable[[Entries, Indices], pa.Array]:
    def integers(entries: Entries, live: Indices) -> pa.Array:
        column = entries.columns.attribute(name)
        return masked(column.values[live].astype(np.int64), ~column.valid[live])

    return integers


def _sources(entries: Entries, live: Indices) -> pa.Array:
    names = text_array([source.name for source in FileSource])
    return names.take(_optional("file_source")(entries, live))


def _write_columns(entries: Entries, live: Indices) -> pa.Array:
    written = entries.columns.lists(("_FILE", "_WRITE_COLS"), live)
    return pa.array(written, arrow_type(FILE_FIELDS[-1].type))


_PLAIN: Mapping[str, Callable[[Entries, Indices], pa.Array]] = {
    "partition": lambda entries, live: entries.partitions_of(live),
    "bucket": lambda entries, live: from_numpy(entries.columns.bucket[live]).cast(pa.int32()),
    "file_format": _formats,
    "schema_id": _needed("schema_id", pa.int64()),
    "level": _needed("level", pa.int32()),
    "record_count": _needed("row_count", pa.int64()),
    "file_size_in_bytes": _needed("file_size", pa.int64()),
    "min_sequence_number": _needed("min_sequence_number", pa.int64()),
    "max_sequence_number": _needed("max_sequence_number", pa.int64()),
    "creation_time": lambda entries, live: _optional("creation_time")(entries, live).cast(pa.timestamp("ms")),
    "deleteRowCount": _optional("delete_row_count"),
    "file_source": _sources,
    "first_row_id": _optional("first_row_id"),
    "write_cols": _write_columns,
}


def _file_indexes(request: Request) -> Columns:
    entries = read_state(request)
    if entries is None:
        return columns_of_rows(FILE_INDEX_FIELDS, ())
    live = entries.live()
    columns = entries.columns
    extra = columns.lists(("_FILE", "_EXTRA_FILES"), live)
    embedded = columns.attribute("embedded_index").valid[live]
    beside = np.fromiter((any(name.endswith(INDEX_SUFFIX) for name in names or ()) for names in extra), np.bool_)
    live = live[embedded | beside]
    files = columns.data_files(live, stats=False, keys=False)
    paths = file_paths(request.table, entries, live).to_pylist()
    partitions = entries.partitions_of(live).to_pylist()
    places = zip(files, paths, partitions, columns.bucket[live].tolist(), strict=True)
    wanted = [place for place in places if request.may_hold(file_path=place[1])]
    table = request.table
    with translate_missing_files(table, entries.snapshot.id):
        containers = map_parallel(lambda place: _container(table.file_io, place[0], place[1]), wanted)
    rows = [
        (partition, bucket, path, file.file_size, file.row_count, file.schema_id, *index)
        for (file, path, partition, bucket), indexes in zip(wanted, containers, strict=True)
        for index in indexes
    ]
    return columns_of_rows(FILE_INDEX_FIELDS, rows)


def _container(file_io: FileIO, file: DataFileMeta, path: str) -> list[tuple[Any, ...]]:
    """The columns from column_name on, of each index of a file."""
    if file.embedded_index is not None:
        return list(_rows(file.embedded_index, f"embedded in the manifest for {path}", "EMBEDDED", None))
    name = index_file_of(file)
    index_path = extra_file_path(path.rpartition("/")[0], file, name or "")
    data = find_bytes(file_io, index_path)
    if data is None:
        raise missing_file_index(index_path)
    return list(_rows(data, index_path, "FILE", index_path))


def _rows(data: bytes, where: str, storage: str, path: str | None) -> Iterator[tuple[Any, ...]]:
    for column, indexes in decode_container(data, where).items():
        for kind, index in indexes.items():
            yield column, kind, storage, path, len(index or b""), len(data), index is None


TABLES = {
    "files": MetadataTable(FILE_FIELDS, _files),
    "file_key_ranges": MetadataTable(FILE_KEY_RANGE_FIELDS, _files),
    "file_indexes": MetadataTable(FILE_INDEX_FIELDS, _file_indexes),
}
