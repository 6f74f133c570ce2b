"""Deletes tags and the files that only they need (features 7.1; Java: TagManager, TagDeletion, TagTimeExpire).

To delete a tag of an existing snapshot, only the tag file is deleted. If the snapshot has expired, the tag is the last
one to keep its files. Then the files are deleted that no neighbouring tag or snapshot, other branch or changelog needs.
The list of these files is complete before the tag is deleted; then follow data files, index files and statistics,
manifests, and manifest lists. A mark next to the tags records the work: after a crash the next deletion finishes it.

Invariants: protocol T1 to T3.
"""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from paimon_spark.errors import CorruptFile, SnapshotNotFound
from paimon_spark.format.options.engines import ChangelogProducer
from paimon_spark.format.paths import TAG_PREFIX, tag_directory, tag_path
from paimon_spark.format.rules.supported import check_tagging
from paimon_spark.format.snapshot import Snapshot, Tag, encode_tag
from paimon_spark.store.commit.partition_registration import unregister_tags
from paimon_spark.store.expire.delete import execute_deletion
from paimon_spark.store.expire.files import DeletionPlan, FileFinder
from paimon_spark.store.expire.used import (
    ReferencedFiles,
    add_found_deltas,
    add_reviving,
    add_root,
    add_state,
    other_roots,
    revived_states,
    reviving_snapshots,
)
from paimon_spark.store.history.tags import success_file_path
from paimon_spark.store.holds.marks import held_snapshot_ids
from paimon_spark.store.holds.retention import Moment, epoch_millis
from paimon_spark.store.holds.tag_holds import DELETION_PREFIX, deletion_mark_path, tags_being_deleted
from paimon_spark.store.iceberg.after import after_tags
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result, millis_since
from paimon_spark.store.storage.parallel import map_parallel

_log = logging.getLogger(__name__)

_TRIES = 3
_NANOS = 1_000_000_000


@dataclass(frozen=True, repr=False)
class DeleteTagResult(Result):
    """The deleted tags and files; in a dry run, those that would be deleted.

    Attributes:
        names: the names of the tags, in the order of the arguments.
        data_files, index_files, statistics_files, manifest_files: the numbers of files; manifest lists count as
            manifest files.
        bytes: the bytes of the data files.
        paths: the paths of the tags, then of the files in the order of deletion. Some may have been missing already.
        left: the paths of files that the store refused to delete; nothing needs them, and they are counted above.
        dry_run: True if nothing was deleted.
        millis: the duration of the call.
    """

    names: tuple[str, ...] = ()
    data_files: int = 0
    index_files: int = 0
    statistics_files: int = 0
    manifest_files: int = 0
    bytes: int = 0
    paths: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    dry_run: bool = False
    millis: int = 0


def delete_tags(table: Table, names: str | Iterable[str], dry_run: bool = False) -> DeleteTagResult:
    """Deletes tags and the files that only they need, including files of tags whose deletion crashed.

    Of a tag whose file is damaged nobody can tell what it needs: its own file goes, the others become orphan files.

    If a tag is marked but still exists, another deletion may be running. Its mark is kept, because it prevents the
    creation of another tag from this one.

    Args:
        table: the table, opened on the branch of the tags.
        names: the names of the tags; a text may hold several, separated by commas, unless it is the name of a tag and
            none of the several is. Missing tags are ignored.
        dry_run: True only reports what would be deleted.

    Raises:
        CorruptFile: metadata are damaged; nothing was deleted.
        StorageError: the storage failed; the next deletion of a tag finishes the work.
        UnsupportedFeature: the table has `tag.callbacks`.
    """
    check_tagging(table.settings)
    began = time.monotonic()
    store = table.snapshots
    wanted = _wanted(store, names) if isinstance(names, str) else list(names)
    going = tags_being_deleted(store)
    asked = [name for name in dict.fromkeys(wanted) if name]
    found = dict(zip(asked, map_parallel(store.tag_or_error, asked), strict=True))
    tags = {name: tag for name, tag in found.items() if isinstance(tag, Tag)}
    damaged = [name for name, tag in found.items() if isinstance(tag, CorruptFile)]
    unfinished = {name: tag for name, tag in going.items() if name in found or store.find_tag(name) != tag}
    for name in wanted:
        if found.get(name) is None:
            _log.warning("the table at %s has no tag '%s' to delete", table.location, name)
    if not tags and not unfinished and not damaged:
        return DeleteTagResult(dry_run=dry_run)
    names = [*damaged, *tags]
    paths = [tag_path(table.location, name, table.branch) for name in names]
    if dry_run:
        deletion = _plan_deletion(table, names, {**unfinished, **tags})
        stages = [path for stage in deletion.stages() for path in stage]
        return _result(names, deletion, [*paths, *stages], dry_run=True, began=began)
    for name in damaged:
        table.file_io.delete(tag_path(table.location, name, table.branch))
        _log.warning(
            "the file of the tag '%s' of %s was no tag; files that only it needed are orphans", name, table.location
        )
    deletion, deleted = _delete(table, tags, unfinished) if tags or unfinished else (DeletionPlan(), ())
    return _result(names, deletion, [*paths, *deleted], dry_run=False, began=began)


def _wanted(store: SnapshotStore, text: str) -> list[str]:
    several = [name.strip() for name in text.split(",")]
    is_one = len(several) > 1 and {text, *several}.intersection(store.tag_names()) == {text}
    return [text] if is_one else several


def expire_tags(table: Table, older_than: Moment | None = None, dry_run: bool = False) -> DeleteTagResult:
    """Deletes the tags whose retention time has passed (Java: TagTimeExpire).

    Args:
        table: the table, opened on the branch of the tags.
        older_than: tags created before this time are deleted too, including those without a retention time.
        dry_run: True only reports what would be deleted.

    Raises:
        OptionError: the time is not valid.
        CorruptFile: metadata are damaged; nothing was deleted.
        StorageError: the storage failed; the next deletion of a tag finishes the work.
        UnsupportedFeature: the table has `tag.callbacks`.
    """
    before = None if older_than is None else epoch_millis(older_than, "older_than") * 1_000_000
    now, store = time.time_ns(), table.snapshots
    listed = store.file_io.list(tag_directory(store.table, store.branch))
    given = [status for status in listed if status.name.startswith(TAG_PREFIX) and not status.is_directory]
    files = {status.name.removeprefix(TAG_PREFIX): status for status in given}
    tags = zip(files.items(), map_parallel(store.find_tag, files), strict=True)
    due = [
        name for (name, status), tag in tags if tag is not None and _is_due(tag, status.modified_millis, now, before)
    ]
    if not due and not any(status.name.startswith(DELETION_PREFIX) for status in listed):
        return DeleteTagResult(dry_run=dry_run)
    return delete_tags(table, due, dry_run)


def _is_due(tag: Tag, modified_millis: int, now: int, before: int | None) -> bool:
    """True if the retention time of a tag has passed, or the tag was created before a time; times in nanoseconds."""
    created = modified_millis * 1_000_000
    if tag.create_time is not None and tag.time_retained is not None:
        created = _instant(tag.create_time)
        if now > created + tag.time_retained:
            return True
    return before is not None and 0 < created < before


def _instant(local_nanos: int) -> int:
    """Nanoseconds since the epoch of a local date-time that is written as if UTC."""
    seconds, nanos = divmod(local_nanos, _NANOS)
    wall = dt.datetime.fromtimestamp(seconds, dt.UTC).replace(tzinfo=None)
    return round(wall.timestamp()) * _NANOS + nanos


def _delete(table: Table, tags: Mapping[str, Tag], unfinished: Mapping[str, Tag]) -> tuple[DeletionPlan, Sequence[str]]:
    """Deletes tags and their files; returns the plan, and the deleted paths in order."""
    store, file_io = table.snapshots, table.file_io
    lasting = {name: tag for name, tag in tags.items() if not store.exists(tag.snapshot.id)}
    marks = [deletion_mark_path(store, name) for name in lasting if name not in unfinished]
    for name, tag in lasting.items():
        file_io.overwrite(deletion_mark_path(store, name), encode_tag(tag))
    try:
        # Files of the other tags are kept: their snapshots existed above, so no mark protects their deletion.
        deletion = _plan_deletion(table, tags, {**unfinished, **lasting})
        table.check_still_there(doing="deleting files of")
    except BaseException:
        for mark in marks:
            file_io.delete(mark)
        raise
    with_success_files = table.settings.tags.create_success_file
    for name in tags:
        file_io.delete(tag_path(table.location, name, table.branch))
        if with_success_files:
            file_io.delete(success_file_path(store, name))
    unregister_tags(table, tags)
    after_tags(table)
    deleted = execute_deletion(table, deletion)
    for name in {**unfinished, **lasting}:
        file_io.delete(deletion_mark_path(store, name))
    _log.info("deleted the tags %s of %s: %d files", ", ".join(tags), table.location, len(deleted))
    return deletion, deleted


def _plan_deletion(table: Table, removed: Collection[str], gone: Mapping[str, Tag]) -> DeletionPlan:
    """The files to delete with tags; planned again if a neighbouring snapshot expires during the planning.

    Args:
        table: the table.
        removed: the names of tags to delete that still exist; they do not keep any files.
        gone: these, and the deleted tags whose files are left.
    """
    for _ in range(_TRIES - 1):
        before = table.snapshots.ids()
        try:
            return _plan_deletion_now(table, removed, gone)
        except (CorruptFile, SnapshotNotFound):
            if table.snapshots.ids() == before:
                raise
    return _plan_deletion_now(table, removed, gone)


def _plan_deletion_now(table: Table, removed: Collection[str], gone: Mapping[str, Tag]) -> DeletionPlan:
    store = table.snapshots
    ids = store.ids()
    staying = [tag.snapshot for tag in store.tags(leave_out=removed).values()]
    last = {t.snapshot.id: t.snapshot for t in gone.values()}
    deletion = DeletionPlan()
    held = held_snapshot_ids(
        table.file_io, tag_directory(table.location, table.branch)
    )  # by who makes another tag of it
    staying += [snapshot for number, snapshot in last.items() if number in held]
    for number in sorted(last.keys() - {snapshot.id for snapshot in staying} - set(ids)):
        one = _files_of(table, last[number])
        one.keep(_used_beside(table, number, ids, staying))
        _add_all(deletion, one)
    if not any(deletion.stages()):
        return deletion
    elsewhere = ReferencedFiles()
    for root in other_roots(table):
        add_root(table, root, elsewhere)
    _add_changelogs(table, elsewhere)
    deletion.keep(elsewhere)
    return deletion


def _files_of(table: Table, snapshot: Snapshot) -> DeletionPlan:
    finder, deletion = FileFinder(table), DeletionPlan()
    deletion.data = finder.live(snapshot)
    finder.add_lists((snapshot.base_manifest_list, snapshot.delta_manifest_list), deletion)
    finder.add_indexes([snapshot], deletion)
    return deletion


def _used_beside(table: Table, number: int, ids: Sequence[int], staying: Sequence[Snapshot]) -> ReferencedFiles:
    """The files that the nearest tags and snapshots on both sides need, and later snapshots that use files again.

    After a rollback that crashed, a tag and a snapshot, or two tags, may have the same id and differ.
    """
    store, used = table.snapshots, ReferencedFiles()
    every = {snapshot.id for snapshot in staying}
    tagged = every if revived_states(store) else _beside(every, number)
    found = [*map(store.load, _beside(ids, number)), *(snapshot for snapshot in staying if snapshot.id in tagged)]
    for place, snapshot in enumerate(found):
        if snapshot not in found[:place]:
            add_state(table, snapshot, used)
    add_reviving(table, reviving_snapshots(store, number), used)
    return used


def _beside(numbers: Iterable[int], number: int) -> set[int]:
    """The nearest number below and the nearest above."""
    given = list(numbers)
    below, above = [n for n in given if n < number], [n for n in given if n > number]
    return {*([max(below)] if below else []), *([min(above)] if above else [])}


def _add_changelogs(table: Table, used: ReferencedFiles) -> None:
    """Adds the files of long-lived changelogs of this branch if these consist of delta lists."""
    if table.settings.changelog_producer != ChangelogProducer.NONE:
        return
    found = map_parallel(table.snapshots.find_change, table.snapshots.changelog_ids())
    add_found_deltas(table, [change for change in found if change is not None], used)


def _add_all(deletion: DeletionPlan, more: DeletionPlan) -> None:
    deletion.data.update(more.data)
    for paths, others in (
        (deletion.indexes, more.indexes),
        (deletion.statistics, more.statistics),
        (deletion.manifests, more.manifests),
        (deletion.lists, more.lists),
    ):
        paths.update(others)


def _result(
    names: Iterable[str], deletion: DeletionPlan, paths: Sequence[str], dry_run: bool, began: float
) -> DeleteTagResult:
    return DeleteTagResult(
        names=tuple(names),
        data_files=len(deletion.data),
        index_files=len(deletion.indexes),
        statistics_files=len(deletion.statistics),
        manifest_files=len(deletion.manifests) + len(deletion.lists),
        bytes=sum(file.size for file in deletion.data.values()),
        paths=tuple(paths),
        left=deletion.left(paths),
        dry_run=dry_run,
        millis=millis_since(began),
    )
