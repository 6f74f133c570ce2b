"""Reads the snapshots and tags of a table (format section 3; Java: SnapshotManager, TagManager, the reading halves)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial

from paimon_spark.errors import CorruptFile, SnapshotNotFound
from paimon_spark.file_io import FileIO, FileStatus, is_far, overwrite_hint
from paimon_spark.format.paths import (
    CHANGELOG_PREFIX,
    EARLIEST,
    LATEST,
    MAIN_BRANCH,
    MANIFEST_LIST_PREFIX,
    SNAPSHOT_PREFIX,
    TAG_PREFIX,
    changelog_directory,
    changelog_path,
    earliest_hint_path,
    id_of,
    latest_hint_path,
    manifest_directory,
    manifest_path,
    parse_expiry_mark,
    snapshot_directory,
    snapshot_path,
    tag_directory,
    tag_path,
)
from paimon_spark.format.snapshot import Snapshot, Tag, decode_snapshot, decode_tag
from paimon_spark.store.storage.files import find_bytes, list_branches, list_ids, list_named, read_hint, with_way_out
from paimon_spark.store.storage.local_time import time_text
from paimon_spark.store.storage.parallel import map_parallel, together
from paimon_spark.store.storage.served import TableServer

_LOOKAHEAD = 32  # snapshots
_LISTS_OF_A_COMMIT = 3  # base, changes, changelogs
_NAMED = 20  # tags in a message
_NO_WATERMARK = -(2**63)  # written by engines without watermarks; means none


def _watermark(snapshot: Snapshot) -> int:
    return _NO_WATERMARK if snapshot.watermark is None else snapshot.watermark


def has_watermark(snapshot: Snapshot) -> bool:
    return snapshot.watermark is not None and snapshot.watermark != _NO_WATERMARK


def last_until(millis: int, low: int, high: int, find: Callable[[int], Snapshot | None]) -> int | None:
    """The newest id from low to high that was committed at or before a time (epoch millis); None if all are later.

    Of several committed in exactly that millisecond, it is the one that Java's search finds first, so that both systems
    read the same snapshot (SnapshotManager.earlierOrEqualTimeMills).
    """
    found = None
    while low <= high:
        middle = (low + high) // 2
        snapshot = find(middle)
        if snapshot is not None and snapshot.time_millis == millis:
            return middle
        if snapshot is None or snapshot.time_millis < millis:  # a missing one has expired since: too old
            found, low = (found if snapshot is None else middle), middle + 1
        else:
            high = middle - 1
    return found


def around_time(
    millis: int, low: int, high: int, find: Callable[[int], Snapshot | None]
) -> tuple[Snapshot | None, Snapshot | None]:
    """Of the ids from low to high, the newest committed before a time (epoch millis), and the oldest at it or later."""
    before = since = None
    while low <= high:
        middle = (low + high) // 2
        snapshot = find(middle)
        if snapshot is None or snapshot.time_millis < millis:
            before, low = snapshot or before, middle + 1
        else:
            since, high = snapshot, middle - 1
    return before, since


def _list_on_a_snapshot(file_io: FileIO, table: str) -> str | None:
    """The name of a manifest list that was written on top of a snapshot; None: a first commit may have left them all.

    The lists of one writer have a number, and each of its attempts to commit begins with a base list. That of a first
    commit is empty; it is followed by one list of changes, and one of changelogs at most. Lists of manifests that are
    not there say nothing: a job that had opened a table which was dropped and made anew may leave them.
    """
    from paimon_spark.format.manifests.codec import decode_manifest_list  # only here is one read

    def is_filled(name: str) -> bool:
        data = find_bytes(file_io, manifest_path(table, name))
        try:
            found = [] if data is None else decode_manifest_list(data, manifest_path(table, name))
        except CorruptFile:
            return False
        return bool(found) and all(manifest.file_name in names for manifest in found)

    names = {status.name for status in file_io.list(manifest_directory(table))}
    writers: dict[str, list[int]] = {}
    for name in names:
        writer, _, number = name.rpartition("-")
        if writer.startswith(MANIFEST_LIST_PREFIX) and number.isascii() and number.isdigit():
            writers.setdefault(writer, []).append(int(number))
    for writer, numbers in sorted(writers.items()):
        filled = [number for number in sorted(numbers) if is_filled(f"{writer}-{number}")]
        empty = len(numbers) - len(filled)
        if 0 in filled or (filled and filled[-1] >= _LISTS_OF_A_COMMIT and len(filled) > 2 * empty):
            return f"{writer}-{filled[-1]}"
    return None


_seen_ids: dict[str, int] = {}
"""The latest id that this process has seen, by directory: what is looked for first in a store that is far."""
_MOST_SEEN = 10_000


class SnapshotStore:
    """Finds and reads the snapshots and tags of one table (or branch). Nothing is cached: other jobs change them.

    If the table has a server, that says which snapshot is the latest one. It has files of all snapshots too.

    Attributes:
        published: the last snapshot that a commit has published by this object.
    """

    def __init__(
        self, file_io: FileIO, table: str, branch: str = MAIN_BRANCH, server: TableServer | None = None
    ) -> None:
        self.file_io = file_io
        self.table = table
        self.branch = branch
        self.server = server
        self.published: Snapshot | None = None
        self._follows_commit = False

    def after_commit(self) -> SnapshotStore:
        """The snapshots as the work sees them that follows a commit: what that job publishes is the latest one.

        This saves looking for it. Others may have committed since, which the work has to bear anyway.
        """
        found = SnapshotStore(self.file_io, self.table, self.branch, self.server)
        found.published, found._follows_commit = self.published, True
        return found

    @property
    def directory(self) -> str:
        return snapshot_directory(self.table, self.branch)

    def ids(self) -> list[int]:
        """All snapshot ids found by listing, ascending."""
        return list_ids(self.file_io, self.directory, SNAPSHOT_PREFIX)

    def whole_ids(self) -> list[int]:
        """The ids that no expiry has begun to delete, ascending: below its mark, files may be missing."""
        names = [status.name for status in self.file_io.list(self.directory)]
        ids = sorted(number for name in names if (number := id_of(name, SNAPSHOT_PREFIX)) is not None)
        ends = [end for name in names if (end := parse_expiry_mark(name)) is not None and ids and end <= ids[-1]]
        return [number for number in ids if number >= max(ends, default=0)]

    def exists(self, snapshot_id: int) -> bool:
        return self.file_io.exists(snapshot_path(self.table, snapshot_id, self.branch))

    def latest_id(self) -> int | None:
        """The newest id, or None. The LATEST hint is used only if its snapshot exists and the next one does not.

        Raises:
            CorruptFile: the snapshot that the hint names is lost, see lost_id.
        """
        if self._follows_commit and self.published is not None:
            return self.published.id
        if self.server is not None:
            served = self.server.latest(self.branch)
            return None if served is None else served.id
        hint = self.latest_hint()
        if hint is not None and not self.exists(hint + 1) and self.exists(hint):
            return hint
        ids = self._ids_to_latest(hint)
        return ids[-1] if ids else None

    def lost_id(self) -> int | None:
        """The id in the LATEST hint if its snapshot does not exist and all others are older; None if all is well.

        Then the newest snapshot was lost, or a writer that was slower than a rollback has written the hint. Nobody can
        tell which, so the newest of the others is not taken for the latest state. Java then fails as well
        (HintFileUtils.findLatest returns the hint). A commit writes the hint after its snapshot, and a rollback before
        it deletes one, so a hint that stays the same while its snapshot is looked for is no race.
        """
        if self.server is not None:
            return None
        hint = self.latest_hint()
        while hint is not None and hint > 0:
            ids = self.ids()
            if (ids and ids[-1] >= hint) or self.exists(hint):
                return None
            before, hint = hint, self.latest_hint()
            if hint == before:
                return hint
        return None

    def check_latest(self) -> None:
        """Checks that the snapshot that the LATEST hint names is not lost.

        Raises:
            CorruptFile: it is; the message says what to do.
        """
        lost = self.lost_id()
        if lost is not None:
            raise CorruptFile(
                f"reading the latest state of the table at {self.table}{self._branch_text()}: {self.lost_text(lost)}"
            )

    def lost_text(self, lost: int) -> str:
        """What a lost snapshot means and what to do, for messages."""
        ids = self.ids()
        newest = f"the newest one there is {ids[-1]}" if ids else "there is no snapshot"
        target = f"snapshot {ids[-1]} (`paimon-spark rollback <table> {ids[-1]}`)" if ids else "a tag, if it has one"
        return (
            f"the hint snapshot/{LATEST} names snapshot {lost}, and {newest}: snapshot {lost} was lost, or another "
            f"client rolled the table back while it was committed. Restore the file snapshot-{lost}; or accept the "
            f"older state: roll the table back to {target}, which also writes the hint"
        )

    def _ids_to_latest(self, hint: int | None) -> list[int]:
        """All ids, of which the last is that of the latest snapshot; hint is LATEST, whose snapshot is not the latest.

        Raises:
            CorruptFile: the snapshot that the hint names is lost, or all snapshots are.
        """
        ids = self.ids()
        if hint is not None and hint > (ids[-1] if ids else 0):
            self.check_latest()
            ids = self.ids()
        if not ids:
            self.check_not_lost()
            ids = self.ids()
        return ids

    def check_not_lost(self) -> None:
        """Checks that a main branch without a snapshot never had one. Other branches have manifests of their own.

        Raises:
            CorruptFile: its snapshots are lost.
        """
        if self.server is not None or self.branch != MAIN_BRANCH:
            return
        name = _list_on_a_snapshot(self.file_io, self.table)
        if name is None or list_branches(self.file_io, self.table) or self.ids():
            return
        raise CorruptFile(
            f"reading the latest state of the table at {self.table}: it has no snapshot, but the manifest list {name}, "
            "which was written on top of one: its snapshots were lost. Restore the directory snapshot from a backup; "
            "or roll the table back to a tag, if it has one (`paimon-spark rollback <table> <tag>`); or give up its "
            "rows: drop the table"
        )

    def earliest_id(self) -> int | None:
        """The oldest id, or None. The EARLIEST hint is used only if its snapshot exists."""
        return self.earliest()[0]

    def earliest(self) -> tuple[int | None, bool]:
        """(earliest_id, True if the hint holds it)."""
        hint = read_hint(self.file_io, earliest_hint_path(self.table, self.branch))
        if hint is not None and self.exists(hint):
            return hint, True
        ids = self.ids()
        return (ids[0] if ids else None), False

    def latest(self) -> Snapshot | None:
        """The newest snapshot; None if the table has none. With a correct hint it takes three small reads.

        Raises:
            CorruptFile: it is damaged or lost.
        """
        return self.hinted_latest()[0]

    def hinted_latest(self) -> tuple[Snapshot | None, bool]:
        """(latest, True if it is sure that it stays: the hint holds its id, or a server has said it)."""
        if self._follows_commit and self.published is not None:
            return self.published, True
        if self.server is not None:
            return self.server.latest(self.branch), True
        hint, snapshot = self._hinted() if is_far(self.table) else self._hinted_nearby()
        if snapshot is not None:
            return snapshot, True
        ids = self._ids_to_latest(hint)
        for number in reversed(ids):  # a rollback may delete the newest between listing and reading
            snapshot = self.find(number)
            if snapshot is not None:
                return snapshot, False
        return (self.load(ids[-1]) if ids else None), False

    def _hinted_nearby(self) -> tuple[int | None, Snapshot | None]:
        """The id in the LATEST hint, and its snapshot if it exists and the next one does not."""
        hint = self.latest_hint()
        if hint is not None and hint > 0 and self.find(hint + 1) is None:
            return hint, self.find(hint)
        return hint, None

    def _hinted(self) -> tuple[int | None, Snapshot | None]:
        """As _hinted_nearby; asks for the hint and, if it is as it was when it was read last, for both at once."""
        seen = _seen_ids.get(self.directory, 0)
        hint: int | None = 0
        if seen:
            looks = (self.latest_hint, partial(self.find, seen + 1), partial(self.find, seen))
            hint, following, snapshot = together(True, *looks)
        else:
            hint = self.latest_hint()
        if hint is not None and hint > 0 and hint != seen:
            following, snapshot = map_parallel(self.find, [hint + 1, hint])
        if hint is None or hint <= 0 or following is not None:
            return hint, None
        self._note_seen(hint)
        return hint, snapshot

    def _note_seen(self, snapshot_id: int) -> None:
        if len(_seen_ids) >= _MOST_SEEN:
            _seen_ids.clear()
        _seen_ids[self.directory] = snapshot_id

    def look_ahead(self) -> None:
        """Reads the LATEST hint of a table that this process has not met, so that ``latest`` asks for all at once."""
        if self.server is None and self.directory not in _seen_ids:
            with suppress(OSError):  # latest will tell
                self._note_seen(self.latest_hint() or 0)

    def note_published(self, snapshot: Snapshot) -> None:
        """Remembers what a commit has published; see after_commit."""
        self.published = snapshot
        self._note_seen(snapshot.id)

    def find(self, snapshot_id: int) -> Snapshot | None:
        """The snapshot, or None if its file does not exist.

        Raises:
            CorruptFile: the file is not a snapshot, or holds one with another id.
        """
        back = (
            "restore the file from a backup, or roll the table back to an earlier snapshot (`paimon-spark rollback "
            "<table> <snapshot>`), which gives up this one and all after it"
        )
        return self._find(snapshot_path(self.table, snapshot_id, self.branch), snapshot_id, back)

    def walk(self, ids: Sequence[int]) -> Iterator[Snapshot]:
        """The existing snapshots among the ids, in the given order.

        They are read lazily, some at a time, and the first one alone, because callers often need no other.
        """
        start, step = 0, 1
        while start < len(ids):
            found = map_parallel(self.find, ids[start : start + step])
            yield from (snapshot for snapshot in found if snapshot is not None)
            start, step = start + step, _LOOKAHEAD

    def find_kept(self, snapshot_id: int) -> Snapshot | None:
        """The snapshot, from its file or, if it has expired, from a tag; None if neither exists.

        Raises:
            CorruptFile: a file is not a snapshot or tag, or holds a snapshot with another id.
        """
        found = self.find(snapshot_id)
        return found or next((t.snapshot for t in self.tags().values() if t.snapshot.id == snapshot_id), None)

    def find_change(self, snapshot_id: int) -> Snapshot | None:
        """The snapshot or, if it has expired, its long-lived changelog (format section 3.4), or None.

        A changelog has only one manifest list that can be read: the changelog list, or the delta list if it has none.
        """
        snapshot = self.find(snapshot_id)
        return self.find_changelog(snapshot_id) if snapshot is None else snapshot

    def find_delta(self, snapshot_id: int) -> Snapshot | None:
        """The snapshot or, if it has expired, its long-lived changelog, if the delta list can be read; else None."""
        snapshot = self.find(snapshot_id)
        if snapshot is not None:
            return snapshot
        expired = self.find_changelog(snapshot_id)
        return None if expired is None or expired.changelog_manifest_list is not None else expired

    def earliest_change_id(self) -> int:
        """The oldest id for which find_change returns a snapshot; 1 for a table without snapshots."""
        hint = self.hinted_changelog_id()
        if hint is not None:
            return hint
        return min([*self.changelog_ids()[:1], self.earliest_id() or 1])

    def hinted_changelog_id(self) -> int | None:
        """The id of the oldest long-lived changelog from the hint, None if that changelog does not exist."""
        hint = read_hint(self.file_io, f"{changelog_directory(self.table, self.branch)}/{EARLIEST}")
        return None if hint is None or self.find_changelog(hint) is None else hint

    def changelog_ids(self) -> list[int]:
        """The ids of all long-lived changelogs found by listing, ascending."""
        return list_ids(self.file_io, changelog_directory(self.table, self.branch), CHANGELOG_PREFIX)

    def find_changelog(self, snapshot_id: int) -> Snapshot | None:
        """The long-lived changelog with this id, or None if its file does not exist.

        Raises:
            CorruptFile: the file is not a changelog, or holds one with another id.
        """
        return self._find(changelog_path(self.table, snapshot_id, self.branch), snapshot_id, "restore it from a backup")

    def _find(self, path: str, snapshot_id: int, way_out: str) -> Snapshot | None:
        data = find_bytes(self.file_io, path)
        if data is None:
            return None
        with with_way_out(way_out):
            snapshot = decode_snapshot(data, path)
        if snapshot.id != snapshot_id:  # a walk from snapshot to snapshot would never end
            raise CorruptFile(f"reading {path}: it holds snapshot {snapshot.id} and not {snapshot_id}; {way_out}")
        return snapshot

    def load(self, snapshot_id: int) -> Snapshot:
        """The snapshot.

        Raises:
            SnapshotNotFound: the snapshot does not exist; the message names the available ids.
        """
        snapshot = self.find(snapshot_id)
        if snapshot is None:
            raise SnapshotNotFound(
                f"reading snapshot {snapshot_id} of the table at {self.table}{self._branch_text()}: it never was or "
                f"has expired; {self.available()}. Choose one of these, or a tag"
            )
        return snapshot

    def available(self) -> str:
        """The available states as text, for messages: the range of snapshots with their times, and the tags."""
        ids = self.whole_ids()
        if not ids:
            text = "the table has no snapshot"
        elif len(ids) == 1:
            text = f"the only snapshot is {ids[0]}{self._committed(ids)}"
        else:
            text = f"snapshots {ids[0]} to {ids[-1]} are available{self._committed(ids)}"
        names = self.tag_names()
        if not names:
            return text
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return f"{text}; its tags are {', '.join(names[:_NAMED])}{more}"

    def _committed(self, ids: list[int]) -> str:
        found = (self.find(snapshot_id) for snapshot_id in sorted({ids[0], ids[-1]}))
        times = " to ".join(time_text(snapshot.time_millis) for snapshot in found if snapshot is not None)
        return f", committed {times}" if times else ""

    def find_at_time(self, millis: int) -> Snapshot | None:
        """The newest snapshot committed at or before a time (epoch millis); None if all are later.

        If several were committed in exactly that millisecond, last_until chooses one of them.
        """
        low, high = self.earliest_id(), self.latest_id()
        if low is None or high is None:
            return None
        found = last_until(millis, low, high, self.find)
        return None if found is None else self.find(found)

    def find_since_time(self, millis: int) -> Snapshot | None:
        """The oldest snapshot committed at or after a time (epoch millis); None if all are earlier."""
        low, high = self.earliest_id(), self.latest_id()
        return None if low is None or high is None else around_time(millis, low, high, self.find)[1]

    def find_at_watermark(self, watermark: int) -> Snapshot | None:
        """The oldest snapshot whose watermark is at least this; None if there is none.

        Watermarks never fall; a snapshot without one is skipped. Of several with exactly that watermark, it is the one
        that Java's search finds first, or the oldest of all with a watermark, so that both systems read the same.
        """
        low, high = self.earliest_id(), self.latest_id()
        if low is None or high is None:
            return None
        low, found = self._next_with_watermark(low, high)
        if found is None or _watermark(found) >= watermark:
            return found
        found = None
        while low <= high:
            middle = (low + high) // 2
            position, snapshot = self._next_with_watermark(middle, high)
            if snapshot is not None and _watermark(snapshot) == watermark:
                return snapshot
            if snapshot is not None and _watermark(snapshot) < watermark:
                low = position + 1
            else:
                found, high = snapshot or found, middle - 1
        return found

    def _next_with_watermark(self, low: int, high: int) -> tuple[int, Snapshot | None]:
        """The first snapshot from low to high that has a watermark, and its id."""
        for snapshot_id in range(low, high + 1):
            snapshot = self.find(snapshot_id)
            if snapshot is not None and has_watermark(snapshot):
                return snapshot_id, snapshot
        return high, None

    def tag_names(self) -> list[str]:
        """The names of all tags, sorted."""
        return list(self.tag_files())

    def tag_files(self) -> dict[str, FileStatus]:
        """The files of all tags by name, sorted."""
        return list_named(self.file_io, tag_directory(self.table, self.branch), TAG_PREFIX)

    def find_tag(self, name: str) -> Tag | None:
        """The tag, or None when its file does not exist.

        Raises:
            CorruptFile: the file is not a tag; the message says what to do.
        """
        path = tag_path(self.table, name, self.branch)
        data = find_bytes(self.file_io, path)
        if data is None:
            return None
        way_out = f"restore the file from a backup, or delete the tag (`paimon-spark delete-tag <table> {name}`)"
        with with_way_out(way_out):
            return decode_tag(data, path)

    def tags(self, leave_out: Collection[str] = ()) -> dict[str, Tag]:
        """All tags by name. One deleted during the listing is left out; one being renamed has at least one name.

        Args:
            leave_out: names of tags that are not read.

        Raises:
            CorruptFile: the file of one of them is not a tag.
        """

        def listed() -> list[str]:
            return [name for name in self.tag_names() if name not in leave_out]

        names = listed()
        while True:
            tags = zip(names, map_parallel(self.find_tag, names), strict=True)
            found = {name: tag for name, tag in tags if tag is not None}
            if len(found) == len(names) or (again := listed()) == names:
                return found
            names = again

    def tag_or_error(self, name: str) -> Tag | CorruptFile | None:
        """The tag, or the error of one whose file is damaged; None: its file does not exist."""
        try:
            return self.find_tag(name)
        except CorruptFile as error:
            return error

    def readable_tags(self) -> tuple[dict[str, Tag], list[CorruptFile]]:
        """The tags by name, and an error for each whose file is damaged; only to show them."""
        found = {name: self.tag_or_error(name) for name in self.tag_names()}
        tags = {name: tag for name, tag in found.items() if isinstance(tag, Tag)}
        return tags, [error for error in found.values() if isinstance(error, CorruptFile)]

    def latest_hint(self) -> int | None:
        """The id in the hint LATEST, which may be stale; None if there is no hint."""
        return read_hint(self.file_io, latest_hint_path(self.table, self.branch))

    def settle_latest_hint(self) -> None:
        """Writes the LATEST hint anew if a rollback has deleted its snapshot, so that nobody takes it for lost.

        The rollback may delete the snapshot that is listed before the hint names it, so it is looked at again.
        """
        while self.lost_id() is not None:
            ids = self.ids()
            self.write_latest_hint(ids[-1] if ids else 0)

    def is_final(self, snapshot: Snapshot) -> bool:
        """True if the LATEST hint names a snapshot that was read before, or a later one: its committer has finished.

        A hint that was read before the snapshot says nothing: a rollback may have deleted the one that it named, and
        the id may belong to one that will be withdrawn.
        """
        return self.server is not None or (self.latest_hint() or 0) >= snapshot.id

    def advance_latest_hint(self, snapshot_id: int) -> None:
        """Sets LATEST to a new snapshot. A crash of the machine may undo it: one that is too low harms nobody."""
        overwrite_hint(self.file_io, latest_hint_path(self.table, self.branch), str(snapshot_id).encode())

    def write_latest_hint(self, snapshot_id: int) -> None:
        """Sets LATEST before snapshots above it are deleted, so it is durable on return."""
        self.file_io.overwrite(latest_hint_path(self.table, self.branch), str(snapshot_id).encode())

    def write_earliest_hint(self, snapshot_id: int) -> None:
        self.file_io.overwrite(earliest_hint_path(self.table, self.branch), str(snapshot_id).encode())

    def _branch_text(self) -> str:
        return "" if self.branch == MAIN_BRANCH else f" (branch {self.branch})"
