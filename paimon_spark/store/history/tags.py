"""Tags: names that keep snapshots (features 3.14, format section 3.3; Java: TagManager, SuccessFileTagCallback).

``tag_deletion`` deletes tags, with the files that only they need.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from paimon_spark.errors import CorruptFile, NameTaken, OptionError, SnapshotNotFound
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.value_texts import parse_duration
from paimon_spark.format.paths import tag_directory, tag_path
from paimon_spark.format.rules.supported import check_tagging
from paimon_spark.format.snapshot import Snapshot, Tag, encode_tag
from paimon_spark.store.commit.partition_registration import register_tag
from paimon_spark.store.holds.retention import Moment, epoch_millis
from paimon_spark.store.holds.tag_holds import hold_snapshot, new_tag, publish_tag
from paimon_spark.store.iceberg.after import after_tags
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result
from paimon_spark.store.scan.auto_tag_names import auto_tag_time
from paimon_spark.store.storage.files import touch_success_file

_log = logging.getLogger(__name__)

_MILLI = 1_000_000
Duration: TypeAlias = timedelta | str
"""A length of time; as text such as "7 d"."""


@dataclass(frozen=True, repr=False)
class CreateTagResult(Result):
    """A new tag.

    Attributes:
        name: the name of the tag.
        snapshot_id: the snapshot that it keeps.
        commit_millis: the commit time of the snapshot, epoch millis.
        watermark: the watermark of the snapshot, or None.
        retained_millis: the lifetime of the tag; None: until it is deleted.
    """

    name: str
    snapshot_id: int
    commit_millis: int
    watermark: int | None
    retained_millis: int | None


def create_tag(
    table: Table,
    name: str,
    snapshot: int | None = None,
    timestamp: Moment | None = None,
    time_retained: Duration | None = None,
) -> CreateTagResult:
    """Creates a tag.

    Args:
        table: the table, opened on the branch of the tag.
        name: the name of the tag.
        snapshot: the id of the snapshot; it may have expired if another tag keeps it. None: the latest snapshot.
        timestamp: instead of an id: the first snapshot, or tag, committed at this time or later.
        time_retained: the lifetime of the tag; None: the option `tag.default-time-retained`.

    Raises:
        NameTaken: a tag of this name exists.
        SnapshotNotFound: the snapshot does not exist or is expiring.
        OptionError: the name or a time is not valid, or both a snapshot and a timestamp are given.
        UnsupportedFeature: the table has `tag.callbacks`.
    """
    chosen = _chosen(table, name, snapshot, timestamp)
    made = keep_as_tag(table, name, chosen, retained_millis(time_retained, table.settings))
    _warn_of_number(table, name)
    return made


def replace_tag(
    table: Table, name: str, snapshot: int | None = None, time_retained: Duration | None = None
) -> CreateTagResult:
    """Changes the snapshot of a tag. The files of the old snapshot are left to the removal of orphan files.

    Args:
        table: the table, opened on the branch of the tag.
        name: the name of an existing tag.
        snapshot: the id of the new snapshot; None: the latest snapshot.
        time_retained: the lifetime of the tag from now on; None: until it is deleted.

    Raises:
        SnapshotNotFound: the tag or snapshot does not exist.
        OptionError: the name or the lifetime is not valid.
        UnsupportedFeature: the table has `tag.callbacks`.
    """
    check_tagging(table.settings)
    store = table.snapshots
    if store.find_tag(_checked_name(name)) is None:
        raise no_such_tag(store, name)
    millis = None if time_retained is None else duration_millis(time_retained, "time_retained")
    tag = new_tag(_chosen(table, name, snapshot, None), millis)
    with hold_snapshot(store, tag.snapshot):
        table.file_io.overwrite(tag_path(table.location, name, table.branch), encode_tag(tag))
    register_tag(table, name)
    after_tags(table)
    return _created(name, tag)


def rename_tag(table: Table, name: str, new_name: str) -> None:
    """Renames a tag. A crash may leave it under both names; a second call finishes the work.

    Raises:
        SnapshotNotFound: the tag does not exist.
        NameTaken: the new name is taken.
        OptionError: the new name is not valid.
    """
    store = table.snapshots
    tag = store.find_tag(_checked_name(name))
    if tag is None:
        raise no_such_tag(store, name)
    if name == new_name or store.find_tag(_checked_name(new_name)) != tag:  # else a crash has left both names
        publish_tag(store, _checked_name(new_name), tag)
        _warn_of_number(table, new_name)
    table.file_io.delete(tag_path(table.location, name, table.branch))
    after_tags(table)


def keep_as_tag(table: Table, name: str, snapshot: Snapshot, millis: int | None) -> CreateTagResult:
    """Creates a tag of a snapshot that was read.

    Args:
        table: the table, opened on the branch of the tag.
        name: the name of the tag.
        snapshot: the snapshot to keep.
        millis: the lifetime of the tag; None: until it is deleted.

    Raises:
        NameTaken: a tag of this name exists.
        SnapshotNotFound: the snapshot is expiring.
        OptionError: the name is not valid.
        UnsupportedFeature: the table has `tag.callbacks`.
    """
    check_tagging(table.settings)
    store = table.snapshots
    _check_not_tagged_twice(table, name, snapshot)
    tag = new_tag(snapshot, millis)
    publish_tag(store, name, tag)
    if table.settings.tags.create_success_file:
        _write_success_file(store, name)
    register_tag(table, name)
    after_tags(table)
    return _created(name, tag)


def tagged_snapshot(store: SnapshotStore, snapshot_id: int) -> Snapshot:
    """The snapshot with this id, from its file or, if it has expired, from a tag.

    Raises:
        SnapshotNotFound: neither the snapshot nor a tag of it exists.
    """
    return store.find_kept(snapshot_id) or store.load(snapshot_id)


def success_file_path(store: SnapshotStore, name: str) -> str:
    """The path of the success file, which announces a tag to other systems."""
    return f"{tag_directory(store.table, store.branch)}/tag-success-file/{name}_SUCCESS"


def retained_millis(time_retained: Duration | None, settings: TableSettings) -> int | None:
    """The lifetime of a new tag in milliseconds; None: until it is deleted.

    Raises:
        OptionError: the given length of time is not valid.
    """
    if time_retained is None:
        return settings.tags.default_time_retained
    return duration_millis(time_retained, "time_retained")


def duration_millis(duration: Duration, argument: str) -> int:
    """A length of time in milliseconds.

    Raises:
        OptionError: it is not a length of time; the message names the argument.
    """
    if isinstance(duration, timedelta):
        if duration < timedelta():
            raise OptionError(f"{argument} is {duration}: a length of time is not negative", arguments=(argument,))
        return duration // timedelta(milliseconds=1)
    number = duration.strip()
    if number.isascii() and number.isdigit():  # in the official system it is milliseconds, which nobody means
        raise OptionError(
            f"{argument} is '{number}', without a unit; give one, such as '{number} d' or '{number} h'",
            arguments=(argument,),
        )
    try:
        return parse_duration(duration)
    except ValueError as error:
        raise OptionError(f"{argument} is '{duration}': {error}", arguments=(argument,)) from None


def _chosen(table: Table, name: str, snapshot: int | None, timestamp: Moment | None) -> Snapshot:
    _checked_name(name)
    store = table.snapshots
    if snapshot is not None and timestamp is not None:
        raise OptionError(f"tag '{name}': both a snapshot and a timestamp are given; leave one")
    if snapshot is not None:
        return tagged_snapshot(store, snapshot)
    if timestamp is not None:
        return _since(store, epoch_millis(timestamp, "timestamp"))
    latest = store.latest()
    if latest is None:
        raise SnapshotNotFound(f"making the tag '{name}': the table at {table.location} has no snapshot yet")
    return latest


def _since(store: SnapshotStore, millis: int) -> Snapshot:
    """The first state, among snapshots and tags, committed at this time or later."""
    tagged = [t.snapshot for t in store.tags().values() if t.snapshot.time_millis >= millis]
    first = store.find_since_time(millis)
    found = sorted([*([] if first is None else [first]), *tagged], key=lambda s: (s.time_millis, s.id))
    if not found:
        raise SnapshotNotFound(
            f"making a tag of the table at {store.table}: nothing was committed at {millis} (epoch millis) or later; "
            f"{store.available()}"
        )
    return found[0]


def _checked_name(name: str) -> str:
    if not name.strip() or "/" in name:
        raise OptionError(f"'{name}' is no name for a tag: it must not be blank, and have no '/'")
    return name


def _warn_of_number(table: Table, name: str) -> None:
    if name.isascii() and name.isdigit():
        _log.warning(
            "the name of tag '%s' of %s is a number: where a tag or a snapshot id can be given ('scan.version', --at), "
            "%s is the tag from now on, and 'scan.snapshot-id' is the way to snapshot %s",
            *(name, table.location, name, name),
        )


def _check_not_tagged_twice(table: Table, name: str, snapshot: Snapshot) -> None:
    """Raises NameTaken if a snapshot would get a second automatic tag: they are counted by their snapshots."""
    if table.settings.tags.automatic_creation not in ("process-time", "watermark"):
        return
    if auto_tag_time(name, table.settings) is None:
        return
    tags = table.snapshots.tags()
    others = [n for n, tag in tags.items() if tag.snapshot.id == snapshot.id and auto_tag_time(n, table.settings)]
    if others:
        raise NameTaken(
            f"making the tag '{name}': snapshot {snapshot.id} of the table at {table.location} has the automatic tag "
            f"'{others[0]}' already; choose a name that is no time"
        )


def _created(name: str, tag: Tag) -> CreateTagResult:
    s = tag.snapshot
    retained = None if tag.time_retained is None else tag.time_retained // _MILLI
    return CreateTagResult(name, s.id, s.time_millis, s.watermark, retained)


def no_such_tag(store: SnapshotStore, name: str) -> SnapshotNotFound:
    """The error for a tag that does not exist."""
    return SnapshotNotFound(f"the table at {store.table} has no tag '{name}'; {store.available()}")


def _write_success_file(store: SnapshotStore, name: str) -> None:
    """Writes the success file of a tag. An error is not raised, because the tag exists already."""
    path = success_file_path(store, name)
    try:
        touch_success_file(store.file_io, path)
    except (CorruptFile, OSError) as error:
        _log.warning("the tag '%s' of %s is made, but not its file %s: %s", name, store.table, path, error)
