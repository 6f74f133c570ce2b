"""Iceberg's manifests and manifest lists (Java: IcebergManifestFile, IcebergManifestList and their serializers).

A data file stays the record that its manifest has, because most of them are only copied from one to the next.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from paimon_spark.errors import CorruptFile
from paimon_spark.format.avro.file import read_records, write_records
from paimon_spark.format.iceberg.types import bound_pair, partition_value
from paimon_spark.format.types import FLOATS, DataField, Root

Json = dict[str, Any]
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:/*|^/+")


class Status(IntEnum):
    """What a manifest says of a file: it was there before, was added, or was deleted."""

    EXISTING = 0
    ADDED = 1
    DELETED = 2


class Content(IntEnum):
    """What the files of a manifest hold."""

    DATA = 0
    DELETES = 1


@dataclass(frozen=True)
class Entry:
    """One file in a manifest.

    Attributes:
        snapshot_id: that added or deleted the file.
        sequence_number, file_sequence_number: the snapshots of its rows, and of the file itself.
        file: the record ``data_file``.
    """

    status: Status
    snapshot_id: int
    sequence_number: int
    file_sequence_number: int
    file: Json

    @property
    def is_live(self) -> bool:
        return self.status != Status.DELETED

    @property
    def path(self) -> str:
        return str(self.file["file_path"])


@dataclass(frozen=True)
class PartitionSummary:
    """What a list tells of the values of a partition column in a manifest. Bounds of None are unknown."""

    contains_null: bool
    contains_nan: bool
    lower: bytes | None
    upper: bytes | None


@dataclass(frozen=True)
class Manifest:
    """One line of a manifest list. Counts: of added, existing and deleted files, and their rows."""

    path: str
    length: int
    content: Content
    sequence_number: int
    min_sequence_number: int
    snapshot_id: int
    files: tuple[int, int, int]
    rows: tuple[int, int, int]
    partitions: tuple[PartitionSummary, ...]
    first_row_id: int | None = None

    @property
    def live_files(self) -> int:
        return self.files[0] + self.files[1]

    @property
    def live_rows(self) -> int:
        return self.rows[0] + self.rows[1]


# ------------------------------------------------------------------------------------------------------------ schemas


def _field(number: int, name: str, avro: Any) -> Json:
    return {"name": name, "field-id": number, "type": avro}


def _maybe(number: int, name: str, avro: Any) -> Json:
    return {"name": name, "field-id": number, "type": ["null", avro], "default": None}


def _map(key: int, value: int, avro: str) -> Json:
    items = {
        "type": "record",
        "name": f"k{key}_v{value}",
        "fields": [_field(key, "key", "int"), _field(value, "value", avro)],
    }
    return {"type": "array", "items": items, "logicalType": "map"}


_AVRO = {
    Root.BOOLEAN: "boolean", Root.TINYINT: "int", Root.SMALLINT: "int", Root.INT: "int", Root.BIGINT: "long",
    Root.FLOAT: "float", Root.DOUBLE: "double", Root.CHAR: "string", Root.VARCHAR: "string", Root.BINARY: "bytes",
    Root.VARBINARY: "bytes", Root.DATE: {"type": "int", "logicalType": "date"},
    Root.TIMESTAMP: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    Root.TIMESTAMP_LTZ: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
}  # fmt: skip


def avro_name(name: str) -> str:
    """The name of a column as a name of Avro, which has letters, digits and underscores, by Iceberg's rule."""
    begun = f"_{name}" if re.match(r"[0-9]", name) else name
    return re.sub(r"[^A-Za-z0-9_]", lambda match: f"_x{ord(match[0]):X}", begun)


def entry_schema(partition: Sequence[DataField]) -> Json:
    """The Avro schema of manifests of a table with these partition columns."""
    columns = [_maybe(1000 + i, avro_name(field.name), _AVRO[field.type.root]) for i, field in enumerate(partition)]
    file = [
        _field(134, "content", "int"),
        _field(100, "file_path", "string"),
        _field(101, "file_format", "string"),
        _field(102, "partition", {"type": "record", "name": "r102", "fields": columns}),
        _field(103, "record_count", "long"),
        _field(104, "file_size_in_bytes", "long"),
        _maybe(110, "null_value_counts", _map(121, 122, "long")),
        _maybe(125, "lower_bounds", _map(126, 127, "bytes")),
        _maybe(128, "upper_bounds", _map(129, 130, "bytes")),
        _maybe(143, "referenced_data_file", "string"),
        _maybe(144, "content_offset", "long"),
        _maybe(145, "content_size_in_bytes", "long"),
    ]
    fields = [
        _field(0, "status", "int"),
        _maybe(1, "snapshot_id", "long"),
        _maybe(3, "sequence_number", "long"),
        _maybe(4, "file_sequence_number", "long"),
        _field(2, "data_file", {"type": "record", "name": "r2", "fields": file}),
    ]
    return {"type": "record", "name": "manifest_entry", "fields": fields}


def _counts(legacy: bool) -> tuple[str, str, str]:
    kind = "data_files" if legacy else "files"
    return f"added_{kind}_count", f"existing_{kind}_count", f"deleted_{kind}_count"


def list_schema(version: int, legacy: bool) -> Json:
    """The Avro schema of manifest lists of a version of the format; legacy: with the names of Iceberg 1.4."""
    summary = [
        _field(509, "contains_null", "boolean"),
        _maybe(518, "contains_nan", "boolean"),
        _maybe(510, "lower_bound", "bytes"),
        _maybe(511, "upper_bound", "bytes"),
    ]
    items = {"type": "record", "name": "r508", "fields": summary}
    fields = [
        _field(500, "manifest_path", "string"),
        _field(501, "manifest_length", "long"),
        _field(502, "partition_spec_id", "int"),
        _field(517, "content", "int"),
        _field(515, "sequence_number", "long"),
        _field(516, "min_sequence_number", "long"),
        _maybe(503, "added_snapshot_id", "long"),
        *(_field(504 + i, name, "int") for i, name in enumerate(_counts(legacy))),
        _field(512, "added_rows_count", "long"),
        _field(513, "existing_rows_count", "long"),
        _field(514, "deleted_rows_count", "long"),
        _maybe(507, "partitions", {"type": "array", "items": items, "element-id": 508}),
        *([_maybe(520, "first_row_id", "long")] if version > 2 else ()),
    ]
    return {"type": "record", "name": "manifest_file", "fields": fields}


# ------------------------------------------------------------------------------------------------------------- bytes


def encode_entries(entries: Sequence[Entry], partition: Sequence[DataField], compression: str) -> bytes:
    """The bytes of one manifest."""
    records = (
        {
            "status": int(entry.status),
            "snapshot_id": entry.snapshot_id,
            "sequence_number": entry.sequence_number,
            "file_sequence_number": entry.file_sequence_number,
            "data_file": entry.file,
        }
        for entry in entries
    )
    return write_records(records, entry_schema(partition), compression)


def decode_entries(data: bytes, manifest: Manifest) -> Iterator[Entry]:
    """The entries of a manifest; numbers that are left out are those of its line in the list.

    Raises:
        CorruptFile: these are no entries.
    """
    try:
        for record in read_records(data, manifest.path):
            numbers = (record["snapshot_id"], record["sequence_number"], record["file_sequence_number"])
            known = (manifest.snapshot_id, manifest.sequence_number, manifest.sequence_number)
            added, rows, file = (
                own if inherited is None else inherited for inherited, own in zip(numbers, known, strict=True)
            )
            yield Entry(Status(record["status"]), int(added), int(rows), int(file), record["data_file"])
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptFile(f"cannot read {manifest.path}: it is no Iceberg manifest ({error!r})") from None


def encode_manifests(manifests: Sequence[Manifest], version: int, legacy: bool, compression: str) -> bytes:
    """The bytes of a manifest list."""
    return write_records((_record(m, _counts(legacy)) for m in manifests), list_schema(version, legacy), compression)


def _record(manifest: Manifest, counts: tuple[str, str, str]) -> Json:
    return {
        "manifest_path": manifest.path,
        "manifest_length": manifest.length,
        "partition_spec_id": 0,
        "content": int(manifest.content),
        "sequence_number": manifest.sequence_number,
        "min_sequence_number": manifest.min_sequence_number,
        "added_snapshot_id": manifest.snapshot_id,
        **dict(zip(counts, manifest.files, strict=True)),
        **dict(zip(("added_rows_count", "existing_rows_count", "deleted_rows_count"), manifest.rows, strict=True)),
        "partitions": [
            {
                "contains_null": p.contains_null,
                "contains_nan": p.contains_nan,
                "lower_bound": p.lower,
                "upper_bound": p.upper,
            }
            for p in manifest.partitions
        ],
        "first_row_id": manifest.first_row_id,
    }


def decode_manifests(data: bytes, where: str) -> list[Manifest]:
    """The lines of a manifest list, with the names of either release of Iceberg.

    Raises:
        CorruptFile: this is none.
    """
    try:
        return [_manifest(record) for record in read_records(data, where)]
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptFile(f"cannot read {where}: it is no Iceberg manifest list ({error!r})") from None


def _manifest(record: Json) -> Manifest:
    added, existing, deleted = (record[name] for name in _counts("added_data_files_count" in record))
    return Manifest(
        path=str(record["manifest_path"]),
        length=int(record["manifest_length"]),
        content=Content(record["content"]),
        sequence_number=int(record["sequence_number"]),
        min_sequence_number=int(record["min_sequence_number"]),
        snapshot_id=int(record["added_snapshot_id"]),
        files=(int(added), int(existing), int(deleted)),
        rows=(record["added_rows_count"], record["existing_rows_count"], record["deleted_rows_count"]),
        partitions=tuple(
            PartitionSummary(p["contains_null"], bool(p["contains_nan"]), p["lower_bound"], p["upper_bound"])
            for p in record["partitions"] or ()
        ),
        first_row_id=record.get("first_row_id"),
    )


def described(
    path: str, length: int, content: Content, snapshot_id: int, entries: Sequence[Entry], partition: Sequence[DataField]
) -> Manifest:
    """The line in the list of a manifest with these entries, made by a snapshot; partition: the columns."""
    kinds = (Status.ADDED, Status.EXISTING, Status.DELETED)
    of_kind = [[entry for entry in entries if entry.status == kind] for kind in kinds]
    files = len(of_kind[0]), len(of_kind[1]), len(of_kind[2])
    rows = tuple(sum(int(entry.file["record_count"]) for entry in found) for found in of_kind)
    return Manifest(
        path=path,
        length=length,
        content=content,
        sequence_number=snapshot_id,
        min_sequence_number=min(entry.sequence_number for entry in entries),
        snapshot_id=snapshot_id,
        files=files,
        rows=(rows[0], rows[1], rows[2]),
        partitions=tuple(_summary(field, entries) for field in partition),
    )


def _summary(field: DataField, entries: Sequence[Entry]) -> PartitionSummary:
    name = avro_name(field.name)
    values = {entry.file["partition"][name] for entry in entries}
    is_float = field.type.root in FLOATS
    known = [v for v in values if v is not None and not (is_float and math.isnan(v))]
    has_nan = is_float and any(v is not None and math.isnan(v) for v in values)
    if not known:
        return PartitionSummary(None in values, has_nan, None, None)
    scale = 1000 if field.type.root in (Root.TIMESTAMP, Root.TIMESTAMP_LTZ) else 1  # in the file they are microseconds
    bounds = bound_pair(min(known) * scale, max(known) * scale, field.type) or (None, None)
    return PartitionSummary(None in values, has_nan, *bounds)


def partition_record(values: Sequence[Any], partition: Sequence[DataField]) -> Json:
    """The record of the partition of a file, of internal values."""
    pairs = zip(partition, values, strict=True)
    return {avro_name(field.name): partition_value(value, field.type) for field, value in pairs}


def path_key(path: str) -> str:
    """What two spellings of the path of one file have in common: all but the scheme."""
    return _SCHEME.sub("", path)
