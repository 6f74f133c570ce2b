"""Checks a whole table: its snapshots in order, then every file that they name, once.

Memory: the live files of one snapshot without their statistics, the metadata of all files, and for each thread a few
batches, or only of their key columns, and the manifest of the files that are read.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace

from paimon_spark.errors import CorruptFile, PaimonError, StorageError
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import EMPTY_ROW, DataFileMeta, ManifestEntry
from paimon_spark.format.paths import (
    LATEST,
    MAIN_BRANCH,
    MANIFEST_LIST_PREFIX,
    manifest_directory,
    manifest_path,
    schema_directory,
)
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import Root
from paimon_spark.store.checks.collect import Collector, Job
from paimon_spark.store.checks.report import CheckResult, Findings, Rule
from paimon_spark.store.checks.snapshots import Walk
from paimon_spark.store.checks.value_checks import StoredStatistics
from paimon_spark.store.holds.consumer_files import consumer_files, consumer_position
from paimon_spark.store.metadata.remembered import forget_all
from paimon_spark.store.metadata.schemas import SchemaStore, branch_holds_files, broken_branch_text
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import resolve_keys, split_storage_options
from paimon_spark.store.open import check_snapshots, find_stored_table, open_data_table
from paimon_spark.store.reporting.result import Progress
from paimon_spark.store.scan.time_travel import refuse_travel
from paimon_spark.store.storage.files import list_branches
from paimon_spark.store.storage.parallel import submitted

THREADS = 8


def check(
    table: str | Table,
    options: Mapping[str, str] | None = None,
    *,
    read_files: bool = True,
    keys_only: bool = False,
    latest_only: bool = False,
    progress: Progress | None = None,
) -> CheckResult:
    """Verifies every snapshot of a table and every file that they name against the metadata.

    Nothing is changed. Snapshots may be committed or expire during the check.

    Args:
        table: the location of the table, or an opened table.
        options: storage options, and ``branch``, for a location.
        read_files: False checks metadata, file sizes and deletion vectors only, and opens no data file.
        keys_only: True reads of each data file only the columns that say where a row belongs: the keys, the partition
            and the bucket. Damage in other columns is not found.
        latest_only: True checks the latest snapshot only.
        progress: called with the progress.

    Returns:
        The scope of the check and the problems; see Rule for what is checked.

    Raises:
        TableNotFound, SnapshotNotFound, OptionError: the table, the branch or an option does not exist; or the table
            was dropped or renamed since it was opened.
        TableChanged: another table was made at its place since it was opened.
        StorageError: the storage failed. A missing file is a problem in the report instead.
    """
    if isinstance(table, str):
        table = _found(table, options or {})
    forget_all()
    with table.still_there():
        return _checked(table, read_files, keys_only, latest_only, progress)


def _checked(
    table: Table, read_files: bool, keys_only: bool, latest_only: bool, progress: Progress | None
) -> CheckResult:
    findings = Findings()
    statistics = StoredStatistics(table)
    collector = Collector(table, findings, read_files, None if keys_only else statistics)
    walk = Walk(table, findings, statistics)
    all_ids = table.snapshots.ids()
    _check_newest(table, all_ids, findings)
    whole_ids = _without_expiring(table, all_ids, findings)
    ids = whole_ids[-1:] if latest_only else whole_ids
    tags = {} if latest_only else _expired_tags(table, findings, whole_ids)
    _visit_all(walk, collector, tags, ids, progress)
    if not latest_only:
        _take_changelogs(table, findings, walk, collector, whole_ids)
    latest = table.snapshots.find(ids[-1]) if ids and walk.is_known else None
    if latest is not None:
        collector.finish(f"snapshot {latest.id}", latest)
        collector.take_changed(f"snapshot {latest.id}", walk.live)
    live = [entry.file.row_count for entry in walk.live]
    _note_unpadded(table, walk.live, findings)
    _run(collector.jobs, progress)
    _check_consumers(table, findings)
    _check_branches(table, findings)
    findings.forget(_gone_concurrently(table, ids, tags))
    problems, left_out = findings.problems(f"snapshot {all_ids[-1]}" if all_ids else None)
    return CheckResult(
        location=table.location,
        snapshots=tuple(ids),
        tags=tuple(tags),
        files=len(collector.files),
        rows=sum(file.row_count for file in collector.files.values()),
        bytes=sum(file.file_size for file in collector.files.values()),
        files_read=collector.opened,
        live_files=len(live),
        live_rows=sum(live),
        problems=problems,
        left_out=left_out,
        notes=findings.notes(),
    )


def _found(location: str, options: Mapping[str, str]) -> Table:
    table = find_stored_table(location, options) or open_data_table(location, options)
    check_snapshots(table)
    given = resolve_keys(split_storage_options(options)[1], table.schema.names)  # none is ignored
    refuse_travel(replace(table, settings=table.settings.merged(given)), "checked like all others")
    return table


def _check_newest(table: Table, ids: Sequence[int], findings: Findings) -> None:
    """Looks for a newest snapshot that was lost, and for signs that all were."""
    store, label = table.snapshots, "the table"
    lost = store.lost_id()
    if lost is not None:
        label = f"snapshot {lost}"
        findings.add(Rule.SNAPSHOT, label, label, store.lost_text(lost))
        return
    hint = store.latest_hint()
    if store.server is None and hint and ids and hint < ids[-1]:
        findings.note(
            f"the hint snapshot/{LATEST} names snapshot {hint}, and the newest one is {ids[-1]}: a commit did not "
            f"write the hint, then nothing is needed; or a rollback to snapshot {hint} broke off, then run it again "
            f"(`paimon-spark rollback {table.location} {hint}`)"
        )
    if table.branch != MAIN_BRANCH:
        return
    if ids:
        if store.server is None and hint is None:
            _note_later_lists(table, ids[-1], findings)
        return
    try:
        store.check_not_lost()
    except CorruptFile as error:
        findings.add(Rule.SNAPSHOT, label, label, str(error))
        return
    listed = table.file_io.list(manifest_directory(table.location))
    is_left = any(status.name.startswith(MANIFEST_LIST_PREFIX) for status in listed)
    if is_left and not list_branches(table.file_io, table.location) and not store.ids():
        findings.note(
            "it has manifest lists, and no snapshot that names one: its first commit broke off, and a write can "
            "follow; or it had one commit, whose snapshot was lost: then restore the directory snapshot"
        )


def _without_expiring(table: Table, ids: Sequence[int], findings: Findings) -> Sequence[int]:
    """The ids without those below the mark of an expiry, whose files may be gone already."""
    whole = table.snapshots.whole_ids()
    gone = [number for number in ids if whole and number < whole[0]]
    if not gone:
        return ids
    findings.note(
        f"not looked at: the snapshots below {whole[0]}, because an expiry of them is under way, or broke off: the "
        "next one finishes it"
    )
    return ids[len(gone) :]


def _note_later_lists(table: Table, newest: int, findings: Findings) -> None:
    """Looks for manifest lists that were written after the newest snapshot, where no hint LATEST names one.

    Branches have lists in the same directory: only without them can a list be told to be of a commit to main.
    """
    snapshot = table.snapshots.find(newest)
    if snapshot is None or list_branches(table.file_io, table.location):
        return
    listed = table.file_io.list(manifest_directory(table.location))
    written = {s.name: s.modified_millis for s in listed if s.name.startswith(MANIFEST_LIST_PREFIX)}
    since = max(written.get(name, 0) for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list))
    named = [snapshot, *(tag.snapshot for tag in table.snapshots.readable_tags()[0].values())]
    lists = ((s.base_manifest_list, s.delta_manifest_list, s.changelog_manifest_list) for s in named)
    own = {name for names in lists for name in names}
    later = sorted(name for name, millis in written.items() if millis > since > 0 and name not in own)
    if later:
        findings.note(
            f"there is no hint snapshot/{LATEST}, and the manifest list {later[-1]} was written after snapshot "
            f"{newest}, the newest one: a commit broke off, then nothing is needed; or a later snapshot was lost "
            "together with the hint, then restore both from a backup"
        )


def _check_consumers(table: Table, findings: Findings) -> None:
    for name, status in consumer_files(table.file_io, table.location, table.branch).items():
        try:
            consumer_position(table.file_io, status.path)
        except CorruptFile as error:
            findings.add(Rule.SNAPSHOT, f"consumer {name}", f"consumer {name}", str(error))


def _visit_all(
    walk: Walk, collector: Collector, tags: Mapping[str, Snapshot], ids: Sequence[int], progress: Progress | None
) -> None:
    """Visits the tags of expired snapshots, each alone, and then the snapshots one after the other."""
    for name, snapshot in tags.items():
        _visit(walk, collector, f"tag {name}", snapshot)
        walk.forget()
    for done, (label, found) in enumerate(_snapshots(collector.table, collector.findings, ids, walk)):
        _tell(progress, "snapshots", done, len(ids))
        _visit(walk, collector, label, found)


def _visit(walk: Walk, collector: Collector, label: str, snapshot: Snapshot) -> None:
    state = walk.visit(label, snapshot)
    if state is not None:
        collector.take(state)


def _snapshots(table: Table, findings: Findings, ids: Sequence[int], walk: Walk) -> Iterator[tuple[str, Snapshot]]:
    """The snapshots with their names; calls ``walk.forget`` before one that does not follow the one before."""
    for position, snapshot_id in enumerate(ids):
        label = f"snapshot {snapshot_id}"
        if position and ids[position - 1] != snapshot_id - 1:
            missing = f"the snapshots between {ids[position - 1]} and {snapshot_id} are missing"
            findings.add(Rule.SNAPSHOT, label, label, missing)
            walk.forget()
        try:
            snapshot = table.snapshots.find(snapshot_id)
        except (StorageError, MemoryError):
            raise
        except PaimonError as error:
            findings.add(Rule.SNAPSHOT, label, label, str(error))
            snapshot = None
        if snapshot is None:  # it cannot be read, or has just expired
            walk.forget()
            continue
        if position == 0:
            snapshot = _without_expired_changelog(table, findings, snapshot)
        yield label, snapshot


def _without_expired_changelog(table: Table, findings: Findings, snapshot: Snapshot) -> Snapshot:
    """The snapshot, without its changelog if that has expired.

    A rollback makes the snapshot of a tag again as the tag holds it (Java: RollbackHelper), and the changelog of the
    snapshot expired when the snapshot did. Such a snapshot is the earliest one.
    """
    name = snapshot.changelog_manifest_list
    if name is None or snapshot.id != table.snapshots.earliest_id():
        return snapshot
    if table.file_io.exists(manifest_path(table.location, name)):
        return snapshot
    findings.note(
        f"the changes of snapshot {snapshot.id}, the earliest one, cannot be read: its changelog {name} is not there. "
        "A rollback to a tag leaves a snapshot so, whose changelog expired before; its rows can be read"
    )
    return replace(snapshot, changelog_manifest_list=None)


def _expired_tags(table: Table, findings: Findings, ids: Sequence[int]) -> dict[str, Snapshot]:
    """The tags whose snapshots have expired, oldest first, and those that hold another one than there is of that id."""
    found: dict[str, Snapshot] = {}
    for name in table.snapshots.tag_names():
        try:
            tag = table.snapshots.find_tag(name)
        except (StorageError, MemoryError):
            raise
        except PaimonError as error:
            findings.add(Rule.SNAPSHOT, f"tag {name}", f"tag {name}", str(error))
            continue
        if tag is not None and (tag.snapshot.id not in ids or _differs(table, tag.snapshot)):
            found[name] = replace(tag.snapshot, changelog_manifest_list=None)  # it expires with the snapshot
    return dict(sorted(found.items(), key=lambda item: item[1].id))


def _differs(table: Table, tagged: Snapshot) -> bool:
    """True if the snapshot that a tag holds has other rows than the one of the same id."""
    there = table.snapshots.find(tagged.id)
    lists = "base_manifest_list", "delta_manifest_list"
    return there is not None and any(getattr(there, name) != getattr(tagged, name) for name in lists)


def _take_changelogs(
    table: Table, findings: Findings, walk: Walk, collector: Collector, snapshot_ids: Sequence[int]
) -> None:
    """The changelogs that outlive their snapshots (format section 3.4)."""
    for changelog_id in sorted(set(table.snapshots.changelog_ids()) - set(snapshot_ids)):
        label = f"changelog {changelog_id}"
        try:
            snapshot = table.snapshots.find_changelog(changelog_id)
        except (StorageError, MemoryError):
            raise
        except PaimonError as error:
            findings.add(Rule.SNAPSHOT, label, label, str(error))
            continue
        if snapshot is not None:  # otherwise it has just expired
            collector.take_changelog(label, walk.changelog(label, snapshot))


def _run(jobs: Sequence[Job], progress: Progress | None) -> None:
    total, done = sum(job.weight for job in jobs), 0
    with ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1)) as threads:
        futures: dict[Future[None], int] = {}
        try:
            for job in sorted(jobs, key=lambda job: job.order):
                futures[submitted(threads, job.run)] = job.weight
            for future in as_completed(futures):
                future.result()
                done += futures[future]
                _tell(progress, "files", done, total)
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise


def _check_branches(table: Table, findings: Findings) -> None:
    if table.branch != MAIN_BRANCH:
        return
    for name in list_branches(table.file_io, table.location):
        if not table.file_io.list(schema_directory(table.location, name)):
            label = f"branch {name}"
            if branch_holds_files(table.file_io, table.location, name):
                findings.add(Rule.SNAPSHOT, label, label, broken_branch_text(name))
            else:
                findings.note(f"the {label} holds nothing: {broken_branch_text(name)}")
            continue
        for problem in _problems_of_branch(table, name):
            findings.add(Rule.SNAPSHOT, f"branch {name}", f"branch {name}", problem)
        findings.note(
            f"of {table.location}$branch_{name}, a branch, only the schemas and the newest snapshot were read"
        )


def _problems_of_branch(table: Table, name: str) -> Iterator[str]:
    """What keeps a branch from being opened, and so an expiry or `orphans` of the table from its work."""
    schemas = SchemaStore(table.file_io, table.location, name)
    for number in schemas.ids():
        fault = _fault_of(schemas.load, number)
        if fault and number in schemas.ids():  # else the branch has just been deleted
            yield fault
    store = SnapshotStore(table.file_io, table.location, name, table.server)
    lost = store.lost_id()
    if lost is not None:
        yield store.lost_text(lost)
    for number in [] if lost else store.ids()[-1:]:
        yield from filter(None, [_fault_of(store.find, number)])


def _fault_of(read: Callable[[int], object], number: int) -> str:
    """What is wrong with a file of metadata; empty: it can be read."""
    try:
        read(number)
    except PaimonError as error:
        if isinstance(error, StorageError) and error.errno != errno.EISDIR:
            raise
        return str(error)
    return ""


def _note_unpadded(table: Table, live: Iterable[ManifestEntry], findings: Findings) -> None:
    """Tells of CHAR columns of the primary key or the partition that hold texts without their blanks.

    That is no damage: Flink and the core of the Java system do not pad. But Spark takes such a text and the padded one
    for equal, and they are two keys and lie in two partitions. What is looked at costs nothing: the values of
    partitions, and the least and the greatest key of each file.
    """
    partition, key = table.schema.partition_fields, table.schema.key_fields
    if not any(field.type.root is Root.CHAR for field in (*partition, *key)):
        return
    types = [field.type for field in key]
    shortest: dict[str, str] = {}
    for entry in live:
        try:
            rows = [(partition, decode_arity_row(entry.partition, table.schema.partition_types))]
            rows += [(key, decode_arity_row(data, types)) for data in _keys_of(entry.file)]
        except CorruptFile:  # which is a problem itself
            continue
        for fields, values in rows:
            for field, value in zip(fields, values, strict=True):
                if field.type.root is Root.CHAR and value is not None and len(value) < (field.type.length or 1):
                    shortest[field.name] = min(value, shortest.get(field.name, value), key=len)
    for name, text in shortest.items():
        data_type = type_sql(table.schema.by_name[name].type.with_nullable(True))
        findings.note(
            f"the column '{name}' {data_type} holds texts without the blanks with which Spark pads them, such as "
            f"{text!r}: other engines write them so; to Spark they equal the padded ones, which are other keys or "
            "partitions"
        )


def _keys_of(file: DataFileMeta) -> Sequence[bytes]:
    return () if file.min_key == EMPTY_ROW else (file.min_key, file.max_key)


def _tell(progress: Progress | None, what: str, done: int, total: int) -> None:
    if progress is not None:
        progress(what, done, total)


def _gone_concurrently(table: Table, ids: Sequence[int], tags: Mapping[str, Snapshot]) -> list[str]:
    """The names of snapshots and tags that have expired since they were listed."""
    now = table.snapshots.ids()
    names = set(table.snapshots.tag_names())
    gone = [f"snapshot {i}" for i in ids if now and i < now[0]]
    return [*gone, *(f"tag {name}" for name in tags if name not in names)]
