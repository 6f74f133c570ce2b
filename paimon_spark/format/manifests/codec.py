"""Manifest lists and manifests as values, record by record (format sections 4.1, 4.2; Java: ManifestEntrySerializer).

``columns`` reads the same files many times faster; this module is the reference and the only writer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.avro.file import read_records, write_records
from paimon_spark.format.avro.schemas import MANIFEST, MANIFEST_LIST
from paimon_spark.format.manifest import DataFileMeta, ManifestEntry, ManifestFileMeta, SimpleStats
from paimon_spark.format.names import checked_external_path, checked_name

MANIFEST_VERSION = 2
KINDS = range(2)
SOURCES = range(2)
INT32 = range(-(2**31), 2**31)
COUNT = range(2**63)


@dataclass(frozen=True)
class AvroRecord:
    """One record with typed access by field name. A null counts as absent."""

    values: Mapping[str, Any]
    where: str

    def optional(self, name: str, kind: type) -> Any:
        value = self.values.get(name)
        if value is not None and not isinstance(value, kind):
            raise self.wrong(name, kind.__name__)
        return value

    def integer(self, name: str, values: range) -> int:
        """An integer field. Raises CorruptFile if it is absent, or not one of the values."""
        value = self.optional_integer(name, values)
        if value is None:
            raise self.wrong(name, int.__name__)
        return value

    def optional_integer(self, name: str, values: range) -> int | None:
        """An integer field, None if it is absent. Raises CorruptFile if it is not one of the values."""
        value: int | None = self.optional(name, int)
        if value is not None and value not in values:
            raise self.wrong(name, f"integer from {values.start} to {values.stop - 1}")
        return value

    def needed(self, name: str, kind: type) -> Any:
        value = self.optional(name, kind)
        if value is None:
            raise self.wrong(name, kind.__name__)
        return value

    def nested(self, name: str) -> AvroRecord:
        return AvroRecord(self.needed(name, dict), self.where)

    def optional_tuple(self, name: str, *kinds: type) -> tuple[Any, ...] | None:
        value = self.optional(name, list)
        if value is None:
            return None
        if not all(isinstance(item, kinds) for item in value):
            raise self.wrong(name, "list of " + " or ".join(kind.__name__ for kind in kinds))
        return tuple(value)

    def name(self, field: str) -> str:
        """The name of a file in a directory of the table."""
        return checked_name(self.needed(field, str), field, self.where)

    def names(self, field: str) -> tuple[str, ...]:
        """The names of files; none for a null."""
        return tuple(checked_name(name, field, self.where) for name in self.optional_tuple(field, str) or ())

    def external_path(self, name: str, in_bucket: bool) -> str | None:
        """The path of the file of that name if it lies outside of the table, else None."""
        path = self.optional("_EXTERNAL_PATH", str)
        return None if path is None else checked_external_path(path, name, self.where, in_bucket)

    def wrong(self, name: str, expected: str) -> CorruptFile:
        return CorruptFile(
            f"cannot read {self.where}: field '{name}' is {self.values.get(name)!r:.100}, not a {expected}"
        )

    def check_version(self, supported: int) -> None:
        version = self.needed("_VERSION", int)
        if version != supported:
            raise UnsupportedFeature(
                f"cannot read {self.where}: its records have version {version}, this release knows {supported} only"
            )


def check_size(data: bytes, recorded: int | None, where: str) -> None:
    """Compare a file with the size its parent recorded: Avro alone does not notice a file cut between two blocks.

    Raises:
        CorruptFile: the sizes differ. A parent that recorded none (None) allows any.
    """
    if recorded is not None and len(data) != recorded:
        raise CorruptFile(
            f"cannot read {where}: it has {len(data)} bytes, but was written with {recorded}; restore it from a "
            "backup, or travel to a snapshot that does not use it"
        )


def decode_manifest_list(data: bytes, where: str) -> list[ManifestFileMeta]:
    """The manifests that a manifest list names, in file order.

    Raises:
        CorruptFile: not a manifest list, truncated or damaged.
        UnsupportedFeature: a record version this release does not know.
    """
    return [_decode_manifest_meta(AvroRecord(record, where)) for record in read_records(data, where)]


def _decode_manifest_meta(r: AvroRecord) -> ManifestFileMeta:
    r.check_version(MANIFEST_VERSION)
    return ManifestFileMeta(
        file_name=r.name("_FILE_NAME"),
        file_size=r.integer("_FILE_SIZE", COUNT),
        num_added_files=r.integer("_NUM_ADDED_FILES", COUNT),
        num_deleted_files=r.integer("_NUM_DELETED_FILES", COUNT),
        partition_stats=_decode_stats(r.nested("_PARTITION_STATS")),
        schema_id=r.needed("_SCHEMA_ID", int),
        min_bucket=r.optional("_MIN_BUCKET", int),
        max_bucket=r.optional("_MAX_BUCKET", int),
        min_level=r.optional("_MIN_LEVEL", int),
        max_level=r.optional("_MAX_LEVEL", int),
        min_row_id=r.optional("_MIN_ROW_ID", int),
        max_row_id=r.optional("_MAX_ROW_ID", int),
    )


def encode_manifest_list(metas: Iterable[ManifestFileMeta], compression: str = "zstd") -> bytes:
    """The bytes of a manifest list. compression is a value of the option ``manifest.compression``."""
    return write_records(map(_manifest_meta_record, metas), MANIFEST_LIST, compression)


def _manifest_meta_record(m: ManifestFileMeta) -> dict[str, Any]:
    return {
        "_VERSION": MANIFEST_VERSION,
        "_FILE_NAME": m.file_name,
        "_FILE_SIZE": m.file_size,
        "_NUM_ADDED_FILES": m.num_added_files,
        "_NUM_DELETED_FILES": m.num_deleted_files,
        "_PARTITION_STATS": _stats_record(m.partition_stats),
        "_SCHEMA_ID": m.schema_id,
        "_MIN_BUCKET": m.min_bucket,
        "_MAX_BUCKET": m.max_bucket,
        "_MIN_LEVEL": m.min_level,
        "_MAX_LEVEL": m.max_level,
        "_MIN_ROW_ID": m.min_row_id,
        "_MAX_ROW_ID": m.max_row_id,
    }


def decode_manifest(data: bytes, where: str) -> list[ManifestEntry]:
    """The entries of a manifest, in file order.

    Raises:
        CorruptFile: not a manifest, truncated or damaged.
        UnsupportedFeature: a record version this release does not know.
    """
    return [_decode_entry(AvroRecord(record, where)) for record in read_records(data, where)]


def _decode_entry(r: AvroRecord) -> ManifestEntry:
    r.check_version(MANIFEST_VERSION)
    return ManifestEntry(
        kind=r.integer("_KIND", KINDS),
        partition=r.needed("_PARTITION", bytes),
        bucket=r.integer("_BUCKET", INT32),
        total_buckets=r.integer("_TOTAL_BUCKETS", INT32),
        file=_decode_file(r.nested("_FILE")),
    )


def _decode_file(r: AvroRecord) -> DataFileMeta:
    name = r.name("_FILE_NAME")
    return DataFileMeta(
        file_name=name,
        file_size=r.integer("_FILE_SIZE", COUNT),
        row_count=r.integer("_ROW_COUNT", COUNT),
        min_key=r.needed("_MIN_KEY", bytes),
        max_key=r.needed("_MAX_KEY", bytes),
        key_stats=_decode_stats(r.nested("_KEY_STATS")),
        value_stats=_decode_stats(r.nested("_VALUE_STATS")),
        min_sequence_number=r.needed("_MIN_SEQUENCE_NUMBER", int),
        max_sequence_number=r.needed("_MAX_SEQUENCE_NUMBER", int),
        schema_id=r.needed("_SCHEMA_ID", int),
        level=r.integer("_LEVEL", INT32),
        extra_files=r.names("_EXTRA_FILES"),
        creation_time=r.optional("_CREATION_TIME", int),
        delete_row_count=r.optional("_DELETE_ROW_COUNT", int),
        embedded_index=r.optional("_EMBEDDED_FILE_INDEX", bytes),
        file_source=r.optional_integer("_FILE_SOURCE", SOURCES),
        value_stats_cols=r.optional_tuple("_VALUE_STATS_COLS", str),
        external_path=r.external_path(name, in_bucket=True),
        first_row_id=r.optional("_FIRST_ROW_ID", int),
        write_cols=r.optional_tuple("_WRITE_COLS", str),
        write_cols_sequences=r.optional_tuple("_WRITE_COLS_SEQUENCES", int),
    )


def _decode_stats(r: AvroRecord) -> SimpleStats:
    return SimpleStats(
        min_values=r.needed("_MIN_VALUES", bytes),
        max_values=r.needed("_MAX_VALUES", bytes),
        null_counts=r.optional_tuple("_NULL_COUNTS", int, type(None)),
    )


def encode_manifest(entries: Iterable[ManifestEntry], compression: str = "zstd") -> bytes:
    """The bytes of a manifest. compression is a value of the option ``manifest.compression``."""
    return write_records(map(entry_record, entries), MANIFEST, compression)


def entry_record(e: ManifestEntry) -> dict[str, Any]:
    """The Avro record of an entry."""
    return {
        "_VERSION": MANIFEST_VERSION,
        "_KIND": e.kind,
        "_PARTITION": e.partition,
        "_BUCKET": e.bucket,
        "_TOTAL_BUCKETS": e.total_buckets,
        "_FILE": _file_record(e.file),
    }


def _file_record(f: DataFileMeta) -> dict[str, Any]:
    return {
        "_FILE_NAME": f.file_name,
        "_FILE_SIZE": f.file_size,
        "_ROW_COUNT": f.row_count,
        "_MIN_KEY": f.min_key,
        "_MAX_KEY": f.max_key,
        "_KEY_STATS": _stats_record(f.key_stats),
        "_VALUE_STATS": _stats_record(f.value_stats),
        "_MIN_SEQUENCE_NUMBER": f.min_sequence_number,
        "_MAX_SEQUENCE_NUMBER": f.max_sequence_number,
        "_SCHEMA_ID": f.schema_id,
        "_LEVEL": f.level,
        "_EXTRA_FILES": f.extra_files,
        "_CREATION_TIME": f.creation_time,
        "_DELETE_ROW_COUNT": f.delete_row_count,
        "_EMBEDDED_FILE_INDEX": f.embedded_index,
        "_FILE_SOURCE": f.file_source,
        "_VALUE_STATS_COLS": f.value_stats_cols,
        "_EXTERNAL_PATH": f.external_path,
        "_FIRST_ROW_ID": f.first_row_id,
        "_WRITE_COLS": f.write_cols,
        "_WRITE_COLS_SEQUENCES": f.write_cols_sequences,
    }


def _stats_record(s: SimpleStats) -> dict[str, Any]:
    return {"_MIN_VALUES": s.min_values, "_MAX_VALUES": s.max_values, "_NULL_COUNTS": s.null_counts}
