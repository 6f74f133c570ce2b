"""The metadata file of an Iceberg table, ``v<snapshot>.metadata.json`` (Java: IcebergMetadata, IcebergSnapshot).

The document stays as it was parsed: what another writer has put into it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from paimon_spark.errors import CorruptFile
from paimon_spark.format.json_text import format_json, parse_json_object
from paimon_spark.format.snapshot import Snapshot

Json = dict[str, Any]
IDENTITY = "paimon-commit-identity"
"""The key in the summary of a snapshot that tells which Paimon snapshot it was made of (Java: since 2.1)."""
FOREVER = 2**63 - 1


@dataclass(frozen=True)
class Document:
    """One metadata file.

    Attributes:
        json: as parsed.
    """

    json: Json

    @property
    def version(self) -> int:
        return int(self.json["format-version"])

    @property
    def uuid(self) -> str:
        return str(self.json["table-uuid"])

    @property
    def location(self) -> str:
        return str(self.json["location"])

    @property
    def snapshots(self) -> list[Json]:
        return list(self.json["snapshots"])

    @property
    def next_row_id(self) -> int:
        """The first row id that no row has; 0 where none was given out (version 2, and releases before 2.1)."""
        return int(self.json.get("next-row-id") or 0)

    @cached_property
    def current(self) -> Json:
        """The entry of the current snapshot."""
        wanted = self.json["current-snapshot-id"]
        return next(found for found in self.json["snapshots"] if found["snapshot-id"] == wanted)

    def is_of(self, snapshot: Snapshot) -> bool:
        """True if the current snapshot was made of this Paimon snapshot, and not of another one that had its id.

        Java before 2.1 does not write down which it was. It publishes after the commit, so what is older than the
        snapshot is of one that a rollback has taken away.
        """
        if self.current["snapshot-id"] != snapshot.id:
            return False
        identity = self.current["summary"].get(IDENTITY)
        if identity is not None:
            return bool(identity == commit_identity(snapshot))
        return int(self.current["timestamp-ms"]) >= snapshot.time_millis


def commit_identity(snapshot: Snapshot) -> str:
    """What tells a Paimon snapshot from others that have had its id."""
    return snapshot.uuid or f"{snapshot.commit_user}:{snapshot.commit_identifier}:{snapshot.time_millis}"


def decode_document(data: bytes, where: str) -> Document:
    """The document in the bytes of a metadata file.

    Raises:
        CorruptFile: this is none.
    """
    parsed = parse_json_object(data, where)
    document = Document(parsed.others(frozenset()))
    try:
        _ = document.version, document.uuid, document.location, document.current["manifest-list"]
        _ = document.current["summary"], int(document.current["timestamp-ms"])
    except (KeyError, StopIteration, TypeError, ValueError) as error:
        raise CorruptFile(f"cannot read {where}: it is no Iceberg metadata file ({error!r})") from None
    return document


def encode_document(document: Document) -> bytes:
    """The bytes of the metadata file."""
    return format_json(document.json).encode()


def snapshot_entry(
    snapshot: Snapshot, manifest_list: str, summary: Mapping[str, str], first_row_id: int | None, added_rows: int
) -> Json:
    """The entry of a snapshot in the list of a document.

    Args:
        snapshot: the Paimon snapshot.
        manifest_list: its path.
        summary: the operation and the metrics.
        first_row_id: of the rows that it adds; None: the version of the format has no ids.
        added_rows: how many get ids.
    """
    parent = {} if snapshot.id == 1 else {"parent-snapshot-id": snapshot.id - 1}
    lineage = {} if first_row_id is None else {"first-row-id": first_row_id, "added-rows": added_rows}
    properties = snapshot.properties or {}
    return {
        "sequence-number": snapshot.id,
        "snapshot-id": snapshot.id,
        **parent,
        "timestamp-ms": snapshot.time_millis,
        "summary": {**summary, **properties, IDENTITY: commit_identity(snapshot)},
        "manifest-list": manifest_list,
        "schema-id": snapshot.schema_id,
        **lineage,
    }


def document_of(
    version: int,
    uuid: str,
    location: str,
    schemas: Sequence[Json],
    last_column_id: int,
    spec: Json,
    snapshots: Sequence[Json],
    refs: Mapping[str, int],
    millis: int,
    next_row_id: int | None,
) -> Document:
    """A metadata file.

    Args:
        version: of the format.
        uuid, location: of the table.
        schemas: all, ascending; the last one is the current one.
        last_column_id: the greatest id that a column has had.
        spec: the partition spec.
        snapshots: ascending; the last one is the current one.
        refs: the snapshots of tags, by name.
        millis: now.
        next_row_id: None: the version has no row ids.
    """
    latest = snapshots[-1]["snapshot-id"]
    lineage = {} if next_row_id is None else {"next-row-id": next_row_id}
    return Document(
        {
            "format-version": version,
            "table-uuid": uuid,
            "location": location,
            "last-sequence-number": latest,
            "last-updated-ms": millis,
            "last-column-id": last_column_id,
            "schemas": list(schemas),
            "current-schema-id": schemas[-1]["schema-id"],
            "partition-specs": [spec],
            "default-spec-id": 0,
            "last-partition-id": 999 + len(spec["fields"]),
            "sort-orders": [{"order-id": 0, "fields": []}],
            "default-sort-order-id": 0,
            "snapshots": list(snapshots),
            "current-snapshot-id": latest,
            **lineage,
            "properties": {},
            "refs": {name: tag_ref(number) for name, number in refs.items()},
        }
    )


def tag_ref(snapshot_id: int) -> Json:
    """A tag. Paimon expires it, not Iceberg."""
    return {"snapshot-id": snapshot_id, "type": "tag", "max-ref-age-ms": FOREVER}
