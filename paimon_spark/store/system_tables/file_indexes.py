"""$file_indexes: the indexes kept for single data files (release 2.1; Java: FileIndexesTable)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from paimon_spark.file_io import FileIO
from paimon_spark.format.file_index.container import decode_container
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import INDEX_SUFFIX, extra_file_path
from paimon_spark.store.holds.expired import translate_missing_files
from paimon_spark.store.read.file_index_files import index_file_of, missing_file_index
from paimon_spark.store.storage.listing import find_bytes
from paimon_spark.store.storage.parallel import map_parallel
from paimon_spark.store.system_tables.entries import read_state
from paimon_spark.store.system_tables.files import file_paths
from paimon_spark.store.system_tables.request import Columns, MetadataTable, Request, columns_of_rows, fields_of

FIELDS = fields_of("""
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


def _file_indexes(request: Request) -> Columns:
    entries = read_state(request)
    if entries is None:
        return columns_of_rows(FIELDS, ())
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
    return columns_of_rows(FIELDS, rows)


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


TABLES = {"file_indexes": MetadataTable(FIELDS, _file_indexes)}
