"""Snapshots, and their files (format sections 3.1 and 3.3; Java: Snapshot, Tag)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Any

from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.json_text import JsonObject, format_json, parse_json_object

BATCH_COMMIT_IDENTIFIER = 2**63 - 1
CURRENT_VERSION = 3
NO_WATERMARK = -(2**63)
_NANOS = 10**9
_FIRST_MILLIS, _LAST_MILLIS = -62_135_596_800_000, 253_402_300_799_999  # the years 1 to 9999, in UTC
# JSON key, attribute of Snapshot, reader of JsonObject; in the order Java writes them.
_FIELDS = (
    ("version", "version", JsonObject.integer),
    ("uuid", "uuid", JsonObject.optional_text),
    ("id", "id", JsonObject.integer),
    ("schemaId", "schema_id", JsonObject.integer),
    ("baseManifestList", "base_manifest_list", JsonObject.name),
    ("baseManifestListSize", "base_manifest_list_size", JsonObject.optional_integer),
    ("deltaManifestList", "delta_manifest_list", JsonObject.name),
    ("deltaManifestListSize", "delta_manifest_list_size", JsonObject.optional_integer),
    ("changelogManifestList", "changelog_manifest_list", JsonObject.optional_name),
    ("changelogManifestListSize", "changelog_manifest_list_size", JsonObject.optional_integer),
    ("indexManifest", "index_manifest", JsonObject.optional_name),
    ("commitUser", "commit_user", JsonObject.text),
    ("writerVersion", "writer_version", JsonObject.optional_text),
    ("commitIdentifier", "commit_identifier", JsonObject.integer),
    ("commitKind", "commit_kind", JsonObject.text),
    ("timeMillis", "time_millis", JsonObject.integer),
    ("totalRecordCount", "total_record_count", JsonObject.integer),
    ("deltaRecordCount", "delta_record_count", JsonObject.integer),
    ("changelogRecordCount", "changelog_record_count", JsonObject.optional_integer),
    ("watermark", "watermark", JsonObject.optional_integer),
    ("statistics", "statistics", JsonObject.optional_name),
    ("properties", "properties", JsonObject.optional_text_map),
    ("nextRowId", "next_row_id", JsonObject.optional_integer),
    ("operation", "operation", JsonObject.optional_text),
)
_REMEMBERED, _MOST_REMEMBERED = 64, 2**14  # snapshots; bytes of one
_KNOWN = frozenset(key for key, _, _ in _FIELDS)
_TAG_KEYS = frozenset({"tagCreateTime", "tagTimeRetained"})


class CommitKind(StrEnum):
    APPEND = "APPEND"
    COMPACT = "COMPACT"
    OVERWRITE = "OVERWRITE"
    ANALYZE = "ANALYZE"


@dataclass(frozen=True)
class Snapshot:
    """One snapshot file. unknown keeps the JSON keys of newer releases."""

    id: int
    schema_id: int
    base_manifest_list: str
    delta_manifest_list: str
    commit_user: str
    commit_identifier: int
    commit_kind: str
    time_millis: int
    total_record_count: int
    delta_record_count: int
    version: int = 3
    uuid: str | None = None
    base_manifest_list_size: int | None = None
    delta_manifest_list_size: int | None = None
    changelog_manifest_list: str | None = None
    changelog_manifest_list_size: int | None = None
    index_manifest: str | None = None
    changelog_record_count: int | None = None
    watermark: int | None = None
    statistics: str | None = None
    properties: Mapping[str, str] | None = None
    next_row_id: int | None = None
    operation: str | None = None
    writer_version: str | None = None
    unknown: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Tag:
    """A tag file: the snapshot it keeps and, for a tag that expires, its times.

    Attributes:
        create_time: nanoseconds since the epoch of the local date-time read as if UTC; None in tags without it.
        time_retained: nanoseconds; None if the tag does not expire.
    """

    snapshot: Snapshot
    create_time: int | None = None
    time_retained: int | None = None


def decode_snapshot(data: bytes, where: str) -> Snapshot:
    """The snapshot in the bytes of one snapshot or changelog file; where names the file in errors.

    A watermark of Long.MIN_VALUE comes as None: both mean that there is none.

    Raises:
        CorruptFile: not a snapshot file.
        UnsupportedFeature: the version is newer than this release knows.
    """
    return _remembered(data, where) if len(data) <= _MOST_REMEMBERED else _decoded(data, where)


def _decoded(data: bytes, where: str) -> Snapshot:
    return _snapshot(parse_json_object(data, where), _KNOWN)


_remembered = lru_cache(_REMEMBERED)(_decoded)  # a commit looks at the newest one four times, a stream each second


def _snapshot(json: JsonObject, known: frozenset[str]) -> Snapshot:
    version = json.integer("version")
    if version > CURRENT_VERSION:
        raise UnsupportedFeature(
            f"cannot read {json.where}: snapshot version {version} is newer than {CURRENT_VERSION}, the last one this "
            "release knows; use a newer release of paimon_spark"
        )
    values: dict[str, Any] = {attribute: read(json, key) for key, attribute, read in _FIELDS}
    if not _FIRST_MILLIS <= values["time_millis"] <= _LAST_MILLIS:
        raise CorruptFile(
            f"{json.where} is damaged: its time, timeMillis = {values['time_millis']}, is beyond the years 1 to 9999"
        )
    if values["watermark"] == NO_WATERMARK:
        values["watermark"] = None
    return Snapshot(**values, unknown=json.others(known))


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """The bytes of the snapshot file, as Java lays it out; what is None is left out."""
    return format_json(_snapshot_json(snapshot)).encode("utf-8")


def _snapshot_json(snapshot: Snapshot) -> dict[str, Any]:
    values = {key: getattr(snapshot, attribute) for key, attribute, _ in _FIELDS}
    return {**{key: value for key, value in values.items() if value is not None}, **snapshot.unknown}


def decode_tag(data: bytes, where: str) -> Tag:
    """The tag in the bytes of one tag file; where names the file in errors.

    Raises:
        CorruptFile: not a tag file.
        UnsupportedFeature: the version is newer than this release knows.
    """
    json = parse_json_object(data, where)
    return Tag(_snapshot(json, _KNOWN | _TAG_KEYS), _create_time(json), _time_retained(json))


def encode_tag(tag: Tag) -> bytes:
    """The bytes of the tag file; times that are None are left out."""
    json = _snapshot_json(tag.snapshot)
    if tag.create_time is not None:
        seconds, nanos = divmod(tag.create_time, _NANOS)
        local = datetime.fromtimestamp(seconds, UTC)
        json["tagCreateTime"] = [local.year, local.month, local.day, local.hour, local.minute]
        if local.second or nanos:
            json["tagCreateTime"].append(local.second)
        if nanos:
            json["tagCreateTime"].append(nanos)
    if tag.time_retained is not None:
        json["tagTimeRetained"] = Decimal(tag.time_retained).scaleb(-9)
    return format_json(json).encode("utf-8")


def _create_time(json: JsonObject) -> int | None:
    """Jackson's LocalDateTime: [y, M, d, h, m, s, nanos] without zeros at the end, or an ISO text."""
    value = json.get("tagCreateTime")
    if value is None:
        return None
    try:
        if isinstance(value, str):
            body, _, fraction = value.partition(".")
            local = datetime.fromisoformat(body).replace(tzinfo=UTC)
            nanos = int(fraction.ljust(9, "0")[:9] or "0")
        else:
            year, month, day, hour, minute, second, nanos = [*value, 0, 0][:7]
            local = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        return int(local.timestamp()) * _NANOS + nanos
    except (TypeError, ValueError):
        raise json.corrupt("tagCreateTime", "a local date-time such as [ 2026, 11, 20, 18, 14, 19 ]") from None


def _time_retained(json: JsonObject) -> int | None:
    """Jackson's Duration: decimal seconds, or an ISO text such as PT24H."""
    value = json.get("tagTimeRetained")
    if value is None:
        return None
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return int(value * _NANOS)
    match = re.fullmatch(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9}))?S)?)?", str(value))
    if match is None:
        raise json.corrupt("tagTimeRetained", "seconds, or a duration such as PT24H")
    days, hours, minutes, seconds = (int(match[i] or 0) for i in range(1, 5))
    whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return whole * _NANOS + int((match[5] or "").ljust(9, "0"))
