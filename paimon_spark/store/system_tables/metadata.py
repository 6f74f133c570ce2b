"""$manifests and $table_indexes: the metadata files of the snapshot that is shown."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from paimon_spark.format.manifest import GlobalIndexMeta, IndexManifestEntry, ManifestFileMeta
from paimon_spark.store.metadata.manifest_files import read_data_manifests, read_index_manifest, read_manifest_list
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.system_tables.entries import braced_texts
from paimon_spark.store.system_tables.request import (
    Columns,
    MetadataTable,
    Request,
    columns_of_rows,
    fields_of,
    shown_state,
)

MANIFEST_FIELDS = fields_of("""
    file_name STRING NOT NULL
    file_size BIGINT NOT NULL
    num_added_files BIGINT NOT NULL
    num_deleted_files BIGINT NOT NULL
    schema_id BIGINT NOT NULL
    min_partition_stats STRING
    max_partition_stats STRING
    min_row_id BIGINT
    max_row_id BIGINT
""")
INDEX_FIELDS = fields_of("""
    partition STRING
    bucket INT NOT NULL
    index_type STRING NOT NULL
    file_name STRING NOT NULL
    file_size BIGINT NOT NULL
    row_count BIGINT NOT NULL
    dv_ranges ARRAY<ROW<f0 STRING NOT NULL, f1 INT NOT NULL, f2 INT NOT NULL, _CARDINALITY BIGINT>>
    row_range_start BIGINT
    row_range_end BIGINT
    index_field_id INT
    index_field_name STRING
""")


def _manifests(request: Request) -> Columns:
    """The manifests of the data and of the changelog of the snapshot."""
    table = request.table
    metas: list[ManifestFileMeta] = []
    with shown_state(table) as snapshot:
        if snapshot is not None:
            metas += read_data_manifests(table.file_io, table.location, snapshot)
        if snapshot is not None and snapshot.changelog_manifest_list is not None:
            size = snapshot.changelog_manifest_list_size
            metas += read_manifest_list(table.file_io, table.location, snapshot.changelog_manifest_list, size)
    metas = [meta for meta in metas if request.may_hold(schema_id=meta.schema_id)]
    low = _partition_texts(table, [meta.partition_stats.min_values for meta in metas])
    high = _partition_texts(table, [meta.partition_stats.max_values for meta in metas])
    rows = (
        (
            meta.file_name,
            meta.file_size,
            meta.num_added_files,
            meta.num_deleted_files,
            meta.schema_id,
            one,
            other,
            meta.min_row_id,
            meta.max_row_id,
        )
        for meta, one, other in zip(metas, low.to_pylist(), high.to_pylist(), strict=True)
    )
    return columns_of_rows(MANIFEST_FIELDS, rows)


def _partition_texts(table: Table, rows: Sequence[bytes]) -> pa.Array:
    return braced_texts(rows, table.schema.partition_fields)


def _table_indexes(request: Request) -> Columns:
    table = request.table
    with shown_state(table) as snapshot:
        name = None if snapshot is None else snapshot.index_manifest
        found = read_index_manifest(table.file_io, table.location, name)
    partitions = _partition_texts(table, [entry.partition for entry in found]).to_pylist()
    rows = (
        (
            partition,
            entry.bucket,
            entry.index_type,
            entry.file_name,
            entry.file_size,
            entry.row_count,
            _ranges(entry),
            *_global(table, entry.global_index),
        )
        for entry, partition in zip(found, partitions, strict=True)
    )
    return columns_of_rows(INDEX_FIELDS, rows)


def _ranges(entry: IndexManifestEntry) -> list[tuple[str, int, int, int | None]] | None:
    if entry.deletion_ranges is None:
        return None
    return [(place.data_file, place.offset, place.length, place.cardinality) for place in entry.deletion_ranges]


def _global(table: Table, index: GlobalIndexMeta | None) -> tuple[int | None, int | None, int | None, str | None]:
    """The rows and columns of a global index. The name of a dropped column is empty."""
    if index is None:
        return None, None, None, None
    names = {field.id: field.name for field in table.schema.fields}
    ids = (index.index_field_id, *(index.extra_field_ids or ()))
    name = ",".join(names[i] for i in ids) if all(i in names for i in ids) else None
    return index.row_range_start, index.row_range_end, index.index_field_id, name


TABLES = {
    "manifests": MetadataTable(MANIFEST_FIELDS, _manifests),
    "table_indexes": MetadataTable(INDEX_FIELDS, _table_indexes),
}
