"""Index manifests: the complete list of live index files of a snapshot (format 4.3; Java: IndexManifestEntry)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from paimon_spark.format.avro.file import read_records, write_records
from paimon_spark.format.avro.schemas import INDEX_MANIFEST
from paimon_spark.format.manifest import DeletionRange, GlobalIndexMeta, IndexManifestEntry
from paimon_spark.format.manifests.codec import COUNT, INT32, KINDS, AvroRecord

INDEX_MANIFEST_VERSION = 1


def decode_index_manifest(data: bytes, where: str) -> list[IndexManifestEntry]:
    """The entries of an index manifest, in file order.

    Raises:
        CorruptFile: not an index manifest, truncated or damaged.
        UnsupportedFeature: a record version this release does not know.
    """
    return [_decode_entry(AvroRecord(record, where)) for record in read_records(data, where)]


def _decode_entry(r: AvroRecord) -> IndexManifestEntry:
    r.check_version(INDEX_MANIFEST_VERSION)
    ranges = r.optional_tuple("_DELETIONS_VECTORS_RANGES", dict)
    name = r.name("_FILE_NAME")
    return IndexManifestEntry(
        kind=r.integer("_KIND", KINDS),
        partition=r.needed("_PARTITION", bytes),
        bucket=r.integer("_BUCKET", INT32),
        index_type=r.needed("_INDEX_TYPE", str),
        file_name=name,
        file_size=r.integer("_FILE_SIZE", COUNT),
        row_count=r.integer("_ROW_COUNT", COUNT),
        deletion_ranges=None if ranges is None else tuple(_decode_range(AvroRecord(x, r.where)) for x in ranges),
        external_path=r.external_path(name, in_bucket=False),
        global_index=_decode_global(r) if r.optional("_GLOBAL_INDEX", dict) is not None else None,
    )


def _decode_range(r: AvroRecord) -> DeletionRange:
    return DeletionRange(
        data_file=r.name("f0"),
        offset=r.needed("f1", int),
        length=r.needed("f2", int),
        cardinality=r.optional("_CARDINALITY", int),
    )


def _decode_global(entry: AvroRecord) -> GlobalIndexMeta:
    r = entry.nested("_GLOBAL_INDEX")
    return GlobalIndexMeta(
        row_range_start=r.needed("_ROW_RANGE_START", int),
        row_range_end=r.needed("_ROW_RANGE_END", int),
        index_field_id=r.needed("_INDEX_FIELD_ID", int),
        extra_field_ids=r.optional_tuple("_EXTRA_FIELD_IDS", int),
        index_meta=r.optional("_INDEX_META", bytes),
        source_meta=r.optional("_SOURCE_META", bytes),
    )


def encode_index_manifest(entries: Iterable[IndexManifestEntry], compression: str = "zstd") -> bytes:
    """The bytes of an index manifest. compression is a value of the option ``manifest.compression``."""
    return write_records(map(_entry_record, entries), INDEX_MANIFEST, compression)


def _entry_record(e: IndexManifestEntry) -> dict[str, Any]:
    ranges = e.deletion_ranges
    return {
        "_VERSION": INDEX_MANIFEST_VERSION,
        "_KIND": e.kind,
        "_PARTITION": e.partition,
        "_BUCKET": e.bucket,
        "_INDEX_TYPE": e.index_type,
        "_FILE_NAME": e.file_name,
        "_FILE_SIZE": e.file_size,
        "_ROW_COUNT": e.row_count,
        "_DELETIONS_VECTORS_RANGES": None if ranges is None else [_range_record(r) for r in ranges],
        "_EXTERNAL_PATH": e.external_path,
        "_GLOBAL_INDEX": None if e.global_index is None else _global_record(e.global_index),
    }


def _range_record(r: DeletionRange) -> dict[str, Any]:
    return {"f0": r.data_file, "f1": r.offset, "f2": r.length, "_CARDINALITY": r.cardinality}


def _global_record(g: GlobalIndexMeta) -> dict[str, Any]:
    return {
        "_ROW_RANGE_START": g.row_range_start,
        "_ROW_RANGE_END": g.row_range_end,
        "_INDEX_FIELD_ID": g.index_field_id,
        "_EXTRA_FIELD_IDS": g.extra_field_ids,
        "_INDEX_META": g.index_meta,
        "_SOURCE_META": g.source_meta,
    }
