"""Indexes of a whole table, which this release neither makes nor reads (Java: GlobalIndexMeta)."""

from __future__ import annotations

from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.metadata.manifest_files import read_index_manifest
from paimon_spark.store.metadata.table import Table


def indexed_columns(table: Table, snapshot: Snapshot) -> dict[str, str]:
    """The columns that indexes of the whole table are over, each with the type of the index.

    Raises:
        CorruptFile: the index manifest is missing or damaged.
    """
    names = {field.id: field.name for field in table.schema.fields}
    found: dict[str, str] = {}
    for entry in read_index_manifest(table.file_io, table.location, snapshot.index_manifest):
        meta = entry.global_index
        for number in () if meta is None else (meta.index_field_id, *(meta.extra_field_ids or ())):
            found.setdefault(names.get(number, f"of the id {number}"), entry.index_type)
    return found
