"""Publishes the Iceberg metadata of a snapshot (Java: IcebergCommitCallback).

Only the latest snapshot is published: whoever commits the next one finds that the metadata before are absent, and makes
its own of all files. That repairs a failure, too.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from paimon_spark.errors import CorruptFile
from paimon_spark.format.iceberg.documents import Document, document_of, snapshot_entry, tag_ref
from paimon_spark.format.iceberg.manifests import Content, Manifest, path_key
from paimon_spark.format.iceberg.types import changed_fields, iceberg_schema, partition_spec
from paimon_spark.format.manifest import IndexManifestEntry, ManifestEntry
from paimon_spark.format.rules.iceberg_tables import check_iceberg
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.iceberg.changed import Made, all_files, changed_files
from paimon_spark.store.iceberg.directory import IcebergDirectory, recorded_location
from paimon_spark.store.iceberg.place import metadata_directory
from paimon_spark.store.iceberg.registration import register
from paimon_spark.store.iceberg.shown import ShownFiles
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.manifest_files import read_index_manifest
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.local_time import now_millis

_log = logging.getLogger(__name__)
Json = dict[str, Any]
Changes = tuple[Sequence[ManifestEntry], Sequence[IndexManifestEntry]] | None


@dataclass(frozen=True)
class _Base:
    """What was published before: the document to go on from, or one of the same table whose identity is kept."""

    document: Document
    goes_on: bool


def publish_commit(table: Table, snapshot: Snapshot, changes: Changes) -> None:
    """Publishes the metadata of a snapshot that was committed, unless a newer one is there, which does it then.

    Args:
        table: with the options of the write.
        snapshot: the snapshot.
        changes: its data files and index files; None: they are read.
    """
    directory = _directory(table)
    if directory is None or table.snapshots.latest_id() != snapshot.id:
        return
    if snapshot.id == 1:
        directory.clear()
    document = directory.document(snapshot.id)
    if document is not None and document.is_of(snapshot):
        _settle(directory, snapshot)
    else:
        _publish(directory, snapshot, changes)


def republish(table: Table) -> None:
    """Publishes the metadata of the latest snapshot, and takes away those of later ones that are no more."""
    directory, latest = _directory(table), table.snapshots.latest()
    if directory is None or latest is None:
        return
    document = directory.document(latest.id)
    schema_id = directory.table.schema.id  # a rollback leaves the schema as it is
    if document is not None and document.is_of(latest) and document.json.get("current-schema-id") == schema_id:
        _drop_later(directory, latest)
        _settle(directory, latest)
        refresh(table)  # the tags are those of today
    else:
        _publish(directory, latest, None)


def refresh(table: Table) -> None:
    """Writes the latest metadata again, if the table has other tags than they say, or lost old snapshots.

    Java writes them in place too: the number of a metadata file is that of its snapshot.
    """
    directory, latest = _directory(table), table.snapshots.latest()
    document = None if directory is None or latest is None else directory.document(latest.id)
    if directory is None or latest is None or document is None or not document.is_of(latest):
        return
    earliest = table.snapshots.earliest_id() or 0
    snapshots = [found for found in document.snapshots if found["snapshot-id"] >= earliest]
    refs = _refs(table, snapshots)
    if len(snapshots) == len(document.snapshots) and refs == _tags_of(document):
        return
    others = {name: ref for name, ref in (document.json.get("refs") or {}).items() if ref.get("type") != "tag"}
    new = {**others, **{name: tag_ref(number) for name, number in refs.items()}}
    changed = {**document.json, "snapshots": snapshots, "refs": new, "last-updated-ms": now_millis()}
    directory.write_document(latest.id, Document(changed))
    _delete_lists(directory, [*document.snapshots[: -len(snapshots)], snapshots[0]])


def _directory(table: Table) -> IcebergDirectory | None:
    path = metadata_directory(table)
    if path is None:
        return None
    latest = replace(table, schema=table.schemas.latest() or table.schema)
    return IcebergDirectory(latest, path, recorded_location(table))


def _publish(directory: IcebergDirectory, snapshot: Snapshot, changes: Changes) -> None:
    table = directory.table
    check_iceberg(table.schema, table.settings)
    base = _base(directory, snapshot)
    if base is not None and _is_same_place(base.document, table):
        directory.location = base.document.location.rstrip("/")
    others: list[str] = []
    try:
        done = _behind(directory, snapshot, changes, base.document) if base is not None and base.goes_on else None
        if done is None:
            others = _lists(directory, snapshot)
            made = all_files(directory, _shown(directory, snapshot), snapshot)
            done = _first_document(directory, snapshot, made, base), [], made.obsolete
        document, expired, obsolete = done
        directory.write_document(snapshot.id, document)
    except BaseException:
        directory.delete(directory.written)
        raise
    directory.delete(obsolete)
    _delete_unnamed(directory, others)
    _drop_later(directory, snapshot)
    _settle(directory, snapshot)
    _delete_lists(directory, expired)


def _behind(
    directory: IcebergDirectory, snapshot: Snapshot, changes: Changes, base: Document
) -> tuple[Document, list[Json], Sequence[str]] | None:
    """The metadata of a snapshot behind those before; None: the manifests of these are damaged or lost."""
    shown, table = _shown(directory, snapshot), directory.table
    files, index = changes or (shown.delta(), read_index_manifest(*_index_of(table, snapshot)))
    try:
        before = directory.manifests(base.current["manifest-list"])
        made = changed_files(directory, shown, snapshot, before, files, index)
        document, expired = _next_document(directory, snapshot, made, base, before)
    except (CorruptFile, FileNotFoundError) as error:
        _log.warning("the Iceberg metadata of %s are damaged and made anew: %s", table.location, error)
        directory.delete(directory.written)
        directory.written.clear()
        return None
    return document, expired, made.obsolete


def _shown(directory: IcebergDirectory, snapshot: Snapshot) -> ShownFiles:
    return ShownFiles(directory, snapshot, partial(bucket_directory, directory.table))


def _index_of(table: Table, snapshot: Snapshot) -> tuple[Any, str, str | None]:
    return table.file_io, table.location, snapshot.index_manifest


# --------------------------------------------------------------------------------------------------------- what it is


def _base(directory: IcebergDirectory, snapshot: Snapshot) -> _Base | None:
    """The metadata of the snapshot before, if they are surely its own and of the table as it is; else any others."""
    table = directory.table
    document, before = directory.document(snapshot.id - 1), table.snapshots.find(snapshot.id - 1)
    if document is not None and before is not None and document.is_of(before) and _fits(document, table):
        return _Base(document, True)
    versions = sorted(directory.versions(), reverse=True)
    found = (directory.document(version) for version in versions)
    known = next((document for document in found if document is not None), None)
    return None if known is None else _Base(known, False)


def _fits(document: Document, table: Table) -> bool:
    """True if the metadata are of this format version, place and history of schemas.

    Where a column has got a type that readers do not follow, the bounds in the manifests before are of another type.
    """
    known = {schema["schema-id"]: schema for schema in document.json.get("schemas", [])}
    if not {document.json.get("current-schema-id"), *known} <= set(table.schemas.ids()):
        return False
    if changed_fields(table.schemas.load(document.json["current-schema-id"]), table.schema):
        return False
    ours = (iceberg_schema(table.schemas.load(number)) for number in table.schemas.ids() if number in known)
    return (
        document.version == table.settings.iceberg.format_version
        and _is_same_place(document, table)
        and document.json.get("partition-specs") == [partition_spec(table.schema)]
        and all(known[schema["schema-id"]] == schema for schema in ours)
    )


def _is_same_place(document: Document, table: Table) -> bool:
    return path_key(document.location.rstrip("/")) == path_key(recorded_location(table))


def _first_document(directory: IcebergDirectory, snapshot: Snapshot, made: Made, known: _Base | None) -> Document:
    """The metadata of a snapshot as the only one. The table keeps its Iceberg identity if it had one."""
    floor = 0 if known is None else known.document.next_row_id
    manifests, next_row_id = _numbered(directory, made.manifests, floor)
    totals = {"total-records": 0, "total-data-files": 0, "total-files-size": 0}
    entry = _entry(directory, snapshot, made, manifests, totals, floor, next_row_id)
    identity = str(uuid.uuid4()) if known is None else known.document.uuid
    return _document(directory, identity, [entry], next_row_id)


def _next_document(
    directory: IcebergDirectory, snapshot: Snapshot, made: Made, base: Document, before: Sequence[Manifest]
) -> tuple[Document, list[Json]]:
    """The metadata of a snapshot behind earlier ones; and those of them that are no longer named, and one more."""
    floor = base.next_row_id
    manifests, next_row_id = _numbered(directory, made.manifests, floor)
    entry = _entry(directory, snapshot, made, manifests, _totals(directory, base, before), floor, next_row_id)
    snapshots = [*base.snapshots, entry]
    kept = _retained(directory.table, snapshots)
    expired = snapshots[: len(snapshots) - len(kept) + 1] if len(kept) < len(snapshots) else []
    return _document(directory, base.uuid, kept, next_row_id), expired


def _document(directory: IcebergDirectory, identity: str, snapshots: Sequence[Json], next_row_id: int) -> Document:
    table = directory.table
    schemas = [table.schemas.load(number) for number in table.schemas.ids()]
    version = table.settings.iceberg.format_version
    return document_of(
        version=version,
        uuid=identity,
        location=directory.location,
        schemas=[iceberg_schema(schema) for schema in schemas],
        last_column_id=max(schema.highest_field_id for schema in schemas),
        spec=partition_spec(table.schema),
        snapshots=snapshots,
        refs=_refs(table, snapshots),
        millis=now_millis(),
        next_row_id=next_row_id if version > 2 else None,
    )


def _numbered(
    directory: IcebergDirectory, manifests: Iterable[Manifest], floor: int
) -> tuple[tuple[Manifest, ...], int]:
    """The manifests with the ids of their first rows, which version 3 wants, and the first id that no row has."""
    if directory.table.settings.iceberg.format_version < 3:
        return tuple(manifests), 0
    found = []
    for meta in manifests:
        if meta.content == Content.DATA and meta.first_row_id is None:
            meta = replace(meta, first_row_id=floor)
            floor += meta.live_rows
        found.append(meta)
    return tuple(found), floor


def _entry(
    directory: IcebergDirectory,
    snapshot: Snapshot,
    made: Made,
    manifests: Sequence[Manifest],
    totals: Mapping[str, int],
    first_row_id: int,
    next_row_id: int,
) -> Json:
    added, deleted = _sums(made.added), _sums(made.deleted)
    vectors = [meta for meta in manifests if meta.content == Content.DELETES]
    partitions = {tuple((file["partition"] or {}).items()) for file in (*made.added, *made.deleted)}
    metrics = {
        "added-data-files": added[0],
        "added-records": added[1],
        "added-files-size": added[2],
        "deleted-data-files": deleted[0],
        "deleted-records": deleted[1],
        "removed-files-size": deleted[2],
        "changed-partition-count": len(partitions),
        "total-records": max(0, totals["total-records"] + added[1] - deleted[1]),
        "total-data-files": max(0, totals["total-data-files"] + added[0] - deleted[0]),
        "total-files-size": max(0, totals["total-files-size"] + added[2] - deleted[2]),
        "total-delete-files": sum(meta.live_files for meta in vectors),
        "total-position-deletes": sum(meta.live_rows for meta in vectors),
        "total-equality-deletes": 0,
    }
    summary = {"operation": made.operation, **{name: str(number) for name, number in metrics.items()}}
    has_ids = directory.table.settings.iceberg.format_version > 2
    path = directory.write_list(manifests)
    return snapshot_entry(snapshot, path, summary, first_row_id if has_ids else None, next_row_id - first_row_id)


def _sums(files: Sequence[Mapping[str, Any]]) -> tuple[int, int, int]:
    return len(files), sum(f["record_count"] for f in files), sum(f["file_size_in_bytes"] for f in files)


def _totals(directory: IcebergDirectory, base: Document, before: Sequence[Manifest]) -> dict[str, int]:
    """The totals of the snapshot before: from its summary, else from its manifests."""
    summary = base.current["summary"]
    names = ("total-records", "total-data-files", "total-files-size")
    if all(str(summary.get(name, "")).isdigit() for name in names):
        return {name: int(summary[name]) for name in names}
    data = [meta for meta in before if meta.content == Content.DATA]
    sizes = (entry.file["file_size_in_bytes"] for meta in data for entry in directory.entries(meta) if entry.is_live)
    counts = sum(meta.live_rows for meta in data), sum(meta.live_files for meta in data), sum(sizes)
    return dict(zip(names, counts, strict=True))


def _retained(table: Table, snapshots: Sequence[Json]) -> list[Json]:
    """The snapshots from the first one on that does not expire, by the options and by what is there (Java:
    shouldExpire, which is asked before the expiry of the commit)."""
    rules, latest, now = table.settings.retention, snapshots[-1]["snapshot-id"], now_millis()
    earliest = table.snapshots.earliest_id() or 0

    def expires(found: Json) -> bool:
        number = found["snapshot-id"]
        if number < earliest or number <= latest - rules.snapshot_num_retained_max:
            return True
        if number > latest - rules.snapshot_num_retained_min:
            return False
        return bool(found["timestamp-ms"] < now - rules.snapshot_time_retained)

    first = next((i for i, found in enumerate(snapshots[:-1]) if not expires(found)), len(snapshots) - 1)
    return list(snapshots[first:])


def _refs(table: Table, snapshots: Iterable[Json]) -> dict[str, int]:
    """The tags of the table whose snapshots the metadata name: a reader fails if one is of another."""
    known = {found["snapshot-id"]: found["timestamp-ms"] for found in snapshots}
    tags, _ = table.snapshots.readable_tags()
    return {name: tag.snapshot.id for name, tag in tags.items() if tag.snapshot.id in known}


def _tags_of(document: Document) -> dict[str, int]:
    refs = document.json.get("refs") or {}
    return {name: ref["snapshot-id"] for name, ref in refs.items() if ref.get("type") == "tag"}


# ----------------------------------------------------------------------------------------------------- what goes away


def _settle(directory: IcebergDirectory, snapshot: Snapshot) -> None:
    """Names the newest metadata file to readers and to the catalog of the options, and deletes older ones.

    Other jobs may publish later snapshots meanwhile, and this one would name an older one behind them: who has named
    one looks again, until that is the newest.
    """
    named = snapshot.id
    while True:
        _name_newest(directory, named)
        latest = directory.table.snapshots.latest_id()
        if latest is None or latest == named or directory.document(latest) is None:
            break
        named = latest
    if named != snapshot.id:
        return
    iceberg = directory.table.settings.iceberg
    if iceberg.delete_after_commit:
        first = snapshot.id - max(iceberg.previous_versions_max, 0)
        directory.delete(path for version, path in directory.versions().items() if version < first)


def _name_newest(directory: IcebergDirectory, version: int) -> None:
    directory.write_hint(version)
    register(directory, version)


def _drop_later(directory: IcebergDirectory, snapshot: Snapshot) -> None:
    """Deletes metadata files of later snapshots that a rollback has taken away."""
    store = directory.table.snapshots
    later = {version: path for version, path in directory.versions().items() if version > snapshot.id}
    directory.delete(path for version, path in later.items() if not store.exists(version))


def _lists(directory: IcebergDirectory, snapshot: Snapshot) -> list[str]:
    """The manifest lists that the metadata files of earlier snapshots name, and of those that are no more: not of a
    later one, which another job has published in between."""
    store = directory.table.snapshots
    versions = (n for n in directory.versions() if n <= snapshot.id or not store.exists(n))
    found = (directory.document(version) for version in versions)
    return list({entry["manifest-list"] for document in found if document is not None for entry in document.snapshots})


def _delete_unnamed(directory: IcebergDirectory, lists: Sequence[str]) -> None:
    """Deletes manifest lists of earlier metadata, which nothing goes on from, and their manifests."""
    metas = {meta.path for path in lists for meta in _manifests_or_none(directory, path)}
    directory.delete([*metas, *lists])


def _delete_lists(directory: IcebergDirectory, snapshots: Sequence[Json]) -> None:
    """Deletes the lists of all these snapshots but the last, and their manifests that the next one does not name."""
    lists = [found["manifest-list"] for found in snapshots]
    metas = [{meta.path for meta in _manifests_or_none(directory, path)} for path in lists]
    for i, path in enumerate(lists[:-1]):
        directory.delete([*(metas[i] - metas[i + 1]), path])


def _manifests_or_none(directory: IcebergDirectory, path: str) -> list[Manifest]:
    try:
        return directory.manifests(path)
    except (CorruptFile, FileNotFoundError):
        return []
