"""Tags: names that keep snapshots (features 3.14, format section 3.3; Java: TagManager, SuccessFileTagCallback).

Deleting tags, with the files that only they need, is the concern of tag_deletion.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from paimon_spark.errors import CorruptFile, NameTaken, OptionError, SnapshotNotFound
from paimon_spark.format.options import core_options as o
from paimon_spark.format.options.core_options import Options, parse_duration
from paimon_spark.format.paths import tag_directory, tag_path
from paimon_spark.format.rules.supported import check_tagging
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.snapshot_json import Tag, encode_tag
from paimon_spark.store.holds.retention import Moment, epoch_millis
from paimon_spark.store.holds.tag_files import new_tag, publish_tag
from paimon_spark.store.holds.tag_holds import hold_snapshot
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result
from paimon_spark.store.scan.auto_tag_names import auto_tag_time
from paimon_spark.store.storage.success_files import touch_success_file

_log = logging.getLogger(__name__)

_MILLI = 1_000_000
Duration: TypeAlias = timedelta | str
"""A length of time; as text such as "7 d"."""


@dataclass(frozen=True, repr=False)
class CreateTagResult(Result):
    """Attributes:
    name: of the tag.
    snapshot_id: what it keeps.
    commit_millis: when that was committed, epoch millis.
    watermark: of the snapshot.
    retained_millis: how long the tag lives; None: until it is deleted.
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
    """Makes a tag.

    Args:
        table: on its branch the tag is made.
        name: of the tag.
        snapshot: its id; it may have expired if another tag keeps it. None: the latest.
        timestamp: instead of an id: the first snapshot, or tag, committed at this time or later.
        time_retained: how long the tag lives; None: the option `tag.default-time-retained`.

    Raises:
        NameTaken: there is such a tag.
        SnapshotNotFound: there is no such snapshot, or it is expiring just now.
        OptionError: the arguments are no name, no time, or contradict each other.
        UnsupportedFeature: the table has `tag.callbacks`.
    """
    chosen = _chosen(table, name, snapshot, timestamp)
    made = keep_as_tag(table, name, chosen, retained_millis(time_retained, table.options))
    _warn_of_number(table, name)
    return made


def replace_tag(
    table: Table, name: str, snapshot: int | None = None, time_retained: Duration | None = None
) -> CreateTagResult:
    """Lets a tag keep another snapshot. The files of the old one stay until orphan files are removed.

    Args:
        name: of a tag that is there.
        snapshot: its id; None: the latest.
        time_retained: how long the tag lives from now on; None: until it is deleted.

    Raises:
        SnapshotNotFound: there is no such tag or snapshot.
        OptionError: an argument is no name, or no length of time.
        UnsupportedFeature: the table has `tag.callbacks`.
    """
    check_tagging(table.options)
    store = table.snapshots
    if store.find_tag(_checked_name(name)) is None:
        raise no_such_tag(store, name)
    millis = None if time_retained is None else duration_millis(time_retained, "time_retained")
    tag = new_tag(_chosen(table, name, snapshot, None), millis)
    with hold_snapshot(store, tag.snapshot):
        table.file_io.overwrite(tag_path(table.location, name, table.branch), encode_tag(tag))
    return _created(name, tag)


def rename_tag(table: Table, name: str, new_name: str) -> None:
    """Gives a tag another name. A crash may leave it both names; a second call finishes the work.

    Raises:
        SnapshotNotFound: there is no such tag.
        NameTaken: the new name is taken.
        OptionError: the new name is none.
    """
    store = table.snapshots
    tag = store.find_tag(_checked_name(name))
    if tag is None:
        raise no_such_tag(store, name)
    if name == new_name or store.find_tag(_checked_name(new_name)) != tag:  # else a crash has left both
        publish_tag(store, _checked_name(new_name), tag)
        _warn_of_number(table, new_name)
    table.file_io.delete(tag_path(table.location, name, table.branch))


def keep_as_tag(table: Table, name: str, snapshot: Snapshot, millis: int | None) -> CreateTagResult:
    """As create_tag, of a snapshot that was found; millis: how long the tag lives."""
    check_tagging(table.options)
    store = table.snapshots
    _check_not_tagged_twice(table, name, snapshot)
    tag = new_tag(snapshot, millis)
    publish_tag(store, name, tag)
    if table.options.value(o.TAG_CREATE_SUCCESS_FILE):
        _write_success_file(store, name)
    return _created(name, tag)


def tagged_snapshot(store: SnapshotStore, snapshot_id: int) -> Snapshot:
    """The snapshot of that id, be it only in a tag.

    Raises:
        SnapshotNotFound: neither is there.
    """
    return store.find_kept(snapshot_id) or store.load(snapshot_id)


def success_file_path(store: SnapshotStore, name: str) -> str:
    """Where the file lies that tells others that a tag is there."""
    return f"{tag_directory(store.table, store.branch)}/tag-success-file/{name}_SUCCESS"


def retained_millis(time_retained: Duration | None, options: Options) -> int | None:
    """How long a new tag lives; None: for ever. Errors: OptionError."""
    if time_retained is None:
        return options.value(o.TAG_DEFAULT_TIME_RETAINED)
    return duration_millis(time_retained, "time_retained")


def duration_millis(duration: Duration, argument: str) -> int:
    """A length of time in milliseconds.

    Raises:
        OptionError: it is none; the message names the argument.
    """
    if isinstance(duration, timedelta):
        return duration // timedelta(milliseconds=1)
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
    """The first state committed at this time or later, of snapshots and tags."""
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
    """Automatic tags are counted by their snapshots, so that none may have two."""
    if table.options.value(o.TAG_AUTOMATIC_CREATION) not in ("process-time", "watermark"):
        return
    if auto_tag_time(name, table.options) is None:
        return
    tags = table.snapshots.tags()
    others = [n for n, tag in tags.items() if tag.snapshot.id == snapshot.id and auto_tag_time(n, table.options)]
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
    """The error of who names a tag that is not there."""
    return SnapshotNotFound(f"the table at {store.table} has no tag '{name}'; {store.available()}")


def _write_success_file(store: SnapshotStore, name: str) -> None:
    """The tag is made whatever happens here."""
    path = success_file_path(store, name)
    try:
        touch_success_file(store.file_io, path)
    except (CorruptFile, OSError) as error:
        _log.warning("the tag '%s' of %s is made, but not its file %s: %s", name, store.table, path, error)
