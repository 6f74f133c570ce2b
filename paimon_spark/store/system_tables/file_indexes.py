"""$file_indexes: the indexes kept for single data files, by their headers (release 2.1; Java: FileIndexesTable)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import FileIO
from paimon_spark.spec.file_index_header import HEADER_START, StoredIndex, decode_header, header_length
from paimon_spark.spec.manifest import DataFileMeta
from paimon_spark.spec.paths import extra_file_path
from paimon_spark.store.system_tables.entries import read_state
from paimon_spark.store.system_tables.files import file_paths
from paimon_spark.store.system_tables.request import Columns, MetadataTable, Request, columns_of_rows, fields_of

_READ_THREADS = 16
_INDEX_SUFFIX = ".index"

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
    beside = np.fromiter((any(name.endswith(_INDEX_SUFFIX) for name in names or ()) for names in extra), np.bool_)
    live = live[embedded | beside]
    files = columns.data_files(live, stats=False, keys=False)
    paths = file_paths(request.table, entries, live).to_pylist()
    partitions = entries.partitions_of(live).to_pylist()
    places = zip(files, paths, partitions, columns.bucket[live].tolist(), strict=True)
    wanted = [place for place in places if request.may_hold(file_path=place[1])]
    with ThreadPoolExecutor(_READ_THREADS) as threads:
        containers = threads.map(lambda place: _container(request.table.file_io, place[0], place[1]), wanted)
        rows = [
            (partition, bucket, path, file.file_size, file.row_count, file.schema_id, *index)
            for (file, path, partition, bucket), indexes in zip(wanted, containers, strict=True)
            for index in indexes
        ]
    return columns_of_rows(FIELDS, rows)


def _container(file_io: FileIO, file: DataFileMeta, path: str) -> list[tuple[Any, ...]]:
    """The columns from column_name on, of each index of a file."""
    if file.embedded_index is not None:
        found = decode_header(file.embedded_index, f"embedded in the manifest for {path}")
        return list(_rows(found, "EMBEDDED", None, len(file.embedded_index)))
    name = next(name for name in file.extra_files if name.endswith(_INDEX_SUFFIX))
    index_path = extra_file_path(path.rpartition("/")[0], file, name)
    try:
        with file_io.open_input(index_path) as container:
            size = container.seek(0, os.SEEK_END)
            container.seek(0)
            begin = container.read(HEADER_START)
            rest = header_length(begin, index_path) - HEADER_START
            found = decode_header(begin + container.read(rest), index_path)
    except FileNotFoundError:
        raise CorruptFile(
            f"reading the file index {index_path}: it does not exist. If the snapshot that names it has just expired, "
            "read a newer one; else the table is damaged and the file must be restored"
        ) from None
    return list(_rows(found, "FILE", index_path, size))


def _rows(found: tuple[StoredIndex, ...], storage: str, path: str | None, container: int) -> Iterator[tuple[Any, ...]]:
    for index in found:
        yield index.column, index.kind, storage, path, index.size, container, index.is_empty


TABLES = {"file_indexes": MetadataTable(FIELDS, _file_indexes)}
