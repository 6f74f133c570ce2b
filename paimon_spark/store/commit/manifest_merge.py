"""Keeps the number of manifests small (Java: ManifestFileMerger, its minor and full compaction).

Every commit adds a small manifest. The minor rule joins neighbours until they reach the target size. The full rule
applies when enough manifests are small or hold deletions; it drops deletions and the entries they delete.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paimon_spark.errors import CorruptFile
from paimon_spark.format.manifest import FileKind, ManifestEntry, ManifestFileMeta
from paimon_spark.format.manifests.columns import decode_manifests
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.live_files import AddedTwice, fold_entries
from paimon_spark.store.metadata.manifest_files import ManifestWriter
from paimon_spark.store.metadata.partitions import PartitionFilter

ReadBytes = Callable[[Sequence[ManifestFileMeta]], list[tuple[str, bytes]]]


def merge_manifests(
    metas: Sequence[ManifestFileMeta], settings: TableSettings, read: ReadBytes, writer: ManifestWriter
) -> list[ManifestFileMeta]:
    """The manifests of the previous snapshot, possibly rewritten into fewer; they mean the same live files.

    Args:
        metas: all manifests of the snapshot, base before delta.
        settings: the options of the table (manifest.*).
        read: returns name and bytes of some manifests in order; called only for manifests that must be rewritten.
        writer: writes the new ones.

    Returns:
        Manifests for the base list of the next snapshot; those that needed no change are the same objects.
    """
    full = _merge_full(metas, settings, read, writer)
    return _merge_minor(metas, settings, read, writer) if full is None else full


def _merge_minor(
    metas: Sequence[ManifestFileMeta], settings: TableSettings, read: ReadBytes, writer: ManifestWriter
) -> list[ManifestFileMeta]:
    target = settings.commits.manifest_target_file_size
    result: list[ManifestFileMeta] = []
    candidates: list[ManifestFileMeta] = []
    size = 0
    for meta in metas:
        candidates.append(meta)
        size += meta.file_size
        if size >= target:
            result += _join(candidates, read, writer)
            candidates, size = [], 0
    if candidates and len(candidates) >= settings.commits.manifest_merge_min_count:
        return result + _join(candidates, read, writer)
    return result + candidates


def _join(candidates: Sequence[ManifestFileMeta], read: ReadBytes, writer: ManifestWriter) -> list[ManifestFileMeta]:
    """Merges the entries of several manifests. Deletions of files that older manifests add must be kept."""
    if len(candidates) == 1:
        return list(candidates)
    files = read(candidates)
    if not any(meta.num_deleted_files for meta in candidates):
        joined = writer.join_manifests(candidates, files)
        if joined is not None:
            return joined
    try:
        entries = fold_entries(_entries(files))
    except AddedTwice as error:
        names = ", ".join(meta.file_name for meta in candidates[:3])
        raise CorruptFile(f"the manifests of the table add a file twice: {error} (manifests {names}, ...)") from None
    return writer.write_manifests(entries)


@dataclass(frozen=True)
class FullMerge:
    """The plan of a full merge.

    Attributes:
        changing: names of the manifests that must be rewritten: small ones, and those with deletions.
        opened: these, and others that may name a deleted file; more than one.
        deleted: identities of the data files that some manifest deletes.
    """

    changing: frozenset[str]
    opened: frozenset[str]
    deleted: frozenset[tuple[object, ...]]


def plan_full_merge(
    metas: Sequence[ManifestFileMeta], settings: TableSettings, read: ReadBytes, partition_fields: Sequence[DataField]
) -> FullMerge | None:
    """The plan after which no manifest has deletions and at most one is small; None if that is already so.

    Only the manifests with deletions are read. The arguments are those of merge_manifests.
    """
    target = settings.commits.manifest_target_file_size
    changing = {meta.file_name for meta in metas if meta.num_deleted_files > 0 or meta.file_size < target}
    with_deletions = [meta for meta in metas if meta.num_deleted_files > 0]
    deleted = {entry.identity for entry in _entries(read(with_deletions)) if entry.kind == FileKind.DELETE}
    affected = PartitionFilter.of_rows(partition_fields, {identity[0] for identity in deleted})
    opened = changing | {meta.file_name for meta in metas if affected.may_hold(meta)}
    return FullMerge(frozenset(changing), frozenset(opened), frozenset(deleted)) if len(opened) > 1 else None


def merge_fully(
    metas: Sequence[ManifestFileMeta], settings: TableSettings, read: ReadBytes, writer: ManifestWriter
) -> list[ManifestFileMeta]:
    """The manifests of the previous snapshot, merged by the full rule even if there is little to do.

    Args:
        metas: all manifests of the snapshot, base before delta.
        settings: the options of the table (manifest.*).
        read: returns name and bytes of some manifests in order; called only for manifests that must be read.
        writer: writes the new ones.
    """
    plan = plan_full_merge(metas, settings, read, writer.partition_fields)
    return list(metas) if plan is None else _merge_by(plan, metas, read, writer)


def _merge_full(
    metas: Sequence[ManifestFileMeta], settings: TableSettings, read: ReadBytes, writer: ManifestWriter
) -> list[ManifestFileMeta] | None:
    """Merges by the full rule; None if its thresholds are not reached."""
    target = settings.commits.manifest_target_file_size
    changing = sum(meta.file_size for meta in metas if meta.num_deleted_files > 0 or meta.file_size < target)
    if changing < settings.commits.manifest_full_compaction_threshold_size:
        return None
    plan = plan_full_merge(metas, settings, read, writer.partition_fields)
    return None if plan is None else _merge_by(plan, metas, read, writer)


def _merge_by(
    plan: FullMerge, metas: Sequence[ManifestFileMeta], read: ReadBytes, writer: ManifestWriter
) -> list[ManifestFileMeta]:
    kept: list[ManifestFileMeta] = []
    rewritten: list[ManifestEntry] = []
    for meta in metas:
        if meta.file_name not in plan.opened:
            kept.append(meta)
            continue
        added = [entry for entry in _entries(read([meta])) if entry.kind == FileKind.ADD]
        live = [entry for entry in added if entry.identity not in plan.deleted]
        if meta.file_name in plan.changing or len(live) < len(added):
            rewritten += live
        else:
            kept.append(meta)
    return kept + writer.write_manifests(rewritten)


def _entries(files: Sequence[tuple[str, bytes]]) -> list[ManifestEntry]:
    columns = decode_manifests(files)
    return columns.entries(range(len(columns)))
