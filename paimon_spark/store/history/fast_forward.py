"""Replaces the state of a table by that of one of its branches (features 7; Java: FileSystemBranchManager.fastForward).

The table is readable at any time, in its old or its new state; after a crash a second call finishes the work.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from paimon_spark.errors import MissingFile, OptionError, SnapshotNotFound
from paimon_spark.format.paths import MAIN_BRANCH, schema_path, snapshot_path, tag_path
from paimon_spark.format.snapshot import Snapshot, Tag, encode_snapshot, encode_tag
from paimon_spark.store.expire.used import mark_revival, revived_states
from paimon_spark.store.history.branches import on_branch
from paimon_spark.store.history.rollback import delete_changelogs, delete_tag_files
from paimon_spark.store.holds.lineage import builds_on, delete_unrelated_after
from paimon_spark.store.holds.marks import hold
from paimon_spark.store.holds.tag_holds import hold_snapshot
from paimon_spark.store.iceberg.after import after_rollback
from paimon_spark.store.metadata.schemas import no_such_branch
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result
from paimon_spark.store.storage.files import find_bytes
from paimon_spark.store.storage.parallel import map_parallel

_log = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class FastForwardResult(Result):
    """The ids of the deleted and of the new snapshots, and the names of the deleted and of the new tags."""

    removed_snapshots: tuple[int, ...]
    added_snapshots: tuple[int, ...]
    removed_tags: tuple[str, ...]
    added_tags: tuple[str, ...]


def fast_forward(table: Table, branch: str, dry_run: bool = False) -> FastForwardResult:
    """Replaces the snapshots, tags and schemas of the table since the branch began by those of the branch.

    Older snapshots of the table are kept if the first one of the branch was built on them. Otherwise, for example if
    the snapshots that the branch began with have expired, they are deleted too (Java keeps them): the next expiry would
    treat the first snapshot of the branch as a change of the table's last one, and delete live files. Data files of
    deleted snapshots are left to the removal of orphan files. Concurrent commits to the table are deleted too, or are
    committed again on top of the new snapshots.

    Args:
        table: the table.
        branch: the name of the branch.
        dry_run: True only reports what would be deleted and added.

    Raises:
        OptionError: the branch is the one that the table is opened on, or main.
        SnapshotNotFound: the branch does not exist or has no snapshot, or some of its snapshots are expiring.
    """
    if branch in (MAIN_BRANCH, table.branch):
        names = " and ".join(dict.fromkeys((MAIN_BRANCH, table.branch)))
        raise OptionError(f"fast-forward of {table.location} to '{branch}': name another branch than {names}")
    theirs = on_branch(table, branch)
    first = theirs.snapshots.earliest_id()
    if first is None:
        raise SnapshotNotFound(f"fast-forward of {table.location}: the branch '{branch}' has no snapshot")
    if dry_run or table.server is not None:
        planned = _Forward.plan(table, theirs).result()
        if not dry_run and table.server is not None:
            table.server.fast_forward(branch)
            after_rollback(table)
        return planned
    with hold(theirs.snapshots, first), hold(table.snapshots, first):
        plan = _Forward.plan(table, theirs)
        table.check_still_there(doing="fast_forward of")
        result = plan.execute()
    after_rollback(table)
    return result


@dataclass(frozen=True)
class _Forward:
    """The plan of a fast-forward, made before anything is changed.

    Attributes:
        own: the ids of the snapshots of the table, ascending.
        new: the snapshots of the branch by id.
        tags: the tags of the branch by name.
        schemas: the bytes of the schemas of the branch by id.
        unrelated: whether the first new snapshot was not built on the table's snapshot below it.
    """

    table: Table
    theirs: Table
    own: tuple[int, ...]
    new: dict[int, Snapshot]
    tags: Mapping[str, Tag]
    schemas: Mapping[int, bytes]
    unrelated: bool

    @classmethod
    def plan(cls, table: Table, theirs: Table) -> _Forward:
        own = tuple(table.snapshots.ids())
        new = {snapshot.id: snapshot for snapshot in map_parallel(theirs.snapshots.load, theirs.snapshots.ids())}
        tags = theirs.snapshots.tags()
        paths = {number: schema_path(table.location, number, theirs.branch) for number in theirs.schemas.ids()}
        found = {number: find_bytes(table.file_io, path) for number, path in paths.items()}
        schemas = {number: data for number, data in found.items() if data is not None}
        if not new or not schemas:
            raise no_such_branch(table.file_io, table.location, theirs.branch)
        return cls(table, theirs, own, new, tags, schemas, _is_unrelated(table, own, new[min(new)]))

    @property
    def first(self) -> int:
        return min(self.new)

    @property
    def gone(self) -> tuple[int, ...]:
        """The snapshots of the table to delete, newest first."""
        return tuple(number for number in reversed(self.own) if number >= self.first or self.unrelated)

    def result(self) -> FastForwardResult:
        return FastForwardResult(self.gone, tuple(self.new), tuple(self._own_tags()), tuple(self.tags))

    def execute(self) -> FastForwardResult:
        table, changelogs = self.table, self.table.snapshots.changelog_ids()
        for number, data in self.schemas.items():
            if number >= self.new[self.first].schema_id:
                table.file_io.overwrite(schema_path(table.location, number, table.branch), data)
        removed = self._delete_tags()  # before a new snapshot takes the id of one that only a tag keeps
        stays = 0 if self.unrelated else self.first - 1
        delete_changelogs(table, [number for number in reversed(changelogs) if number > stays], stays)
        if self.tags and revived_states(self.theirs.snapshots):
            mark_revival(table.snapshots, max(self.new))
        self._replace_snapshots()
        delete_unrelated_after(table, self.new[max(self.new)])
        for number in self.gone:
            if number < self.first:
                table.file_io.delete(snapshot_path(table.location, number, table.branch))
        table.snapshots.write_earliest_hint(self.first if self.unrelated else min([self.first, *self.own]))
        table.snapshots.write_latest_hint(max(self.new))
        removed += self._delete_tags()  # tags of snapshots that were deleted in between
        added = [name for name, tag in self.tags.items() if _give_tag(table, self.theirs, name, tag)]
        for number in table.schemas.ids():
            if number > max(self.schemas):
                table.file_io.delete(schema_path(table.location, number, table.branch))
        return FastForwardResult(self.gone, tuple(self.new), tuple(removed), tuple(added))

    def _replace_snapshots(self) -> None:
        table, own, new = self.table, self.own, self.new
        table.snapshots.write_earliest_hint(min([self.first, *own]))  # nothing below the hint is ever expired
        older = [number for number in new if number not in own and number < max(own, default=0)]
        _write_snapshots(table, [new[number] for number in older])  # no reader sees these yet
        if max(new) < max(own, default=0):
            table.snapshots.write_latest_hint(max(new))  # first: no hint may name a snapshot that is gone
        for number in self.gone:
            if number >= self.first and number not in new:
                table.file_io.delete(snapshot_path(table.location, number, table.branch))
        replaced = [number for number in reversed(new) if number in own]
        later = [number for number in new if number not in own and number not in older]
        _write_snapshots(table, [new[number] for number in (*replaced, *later)])

    def _own_tags(self) -> list[str]:
        """The tags of the table since the branch began that the branch does not have."""
        own = self.table.snapshots.tags()
        return [name for name, tag in own.items() if tag.snapshot.id >= self.first and name not in self.tags]

    def _delete_tags(self) -> list[str]:
        names = self._own_tags()
        delete_tag_files(self.table, names)
        return names


def _is_unrelated(table: Table, own: Sequence[int], first: Snapshot) -> bool:
    """True if a snapshot was not built on the one below it, or if that one does not exist."""
    below = [number for number in own if number < first.id]
    if not below:
        return table.snapshots.find(first.id) != first
    before = table.snapshots.find(first.id - 1)
    try:
        return before is None or not builds_on(table, before, first)
    except MissingFile:
        return True  # it is expiring


def _write_snapshots(table: Table, snapshots: Iterable[Snapshot]) -> None:
    for snapshot in snapshots:
        path = snapshot_path(table.location, snapshot.id, table.branch)
        table.file_io.overwrite(path, encode_snapshot(snapshot))


def _give_tag(table: Table, theirs: Table, name: str, tag: Tag) -> bool:
    """Copies a tag of the branch to the table. False: the tag is being deleted in the branch, and was not copied."""
    try:
        with hold_snapshot(theirs.snapshots, tag.snapshot):
            table.file_io.overwrite(tag_path(table.location, name, table.branch), encode_tag(tag))
    except SnapshotNotFound as error:
        _log.warning("the tag '%s' of the branch '%s' did not come along: %s", name, theirs.branch, error)
        return False
    return True
