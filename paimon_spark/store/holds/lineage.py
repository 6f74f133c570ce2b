"""Checks that snapshots with successive ids were built on one another.

A rollback deletes snapshots while other jobs commit, and ids are used again, so a snapshot may follow one that it was
not built on. Its base manifest list shows this.

Invariant: protocol R5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from paimon_spark.errors import CommitConflict, MissingFile
from paimon_spark.format.manifest import FileKind, ManifestFileMeta
from paimon_spark.format.paths import snapshot_path
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.metadata.live_files import Identity
from paimon_spark.store.metadata.manifest_files import read_manifest_list, read_manifests
from paimon_spark.store.metadata.table import Table

_ROUNDS = 5


def builds_on(table: Table, snapshot: Snapshot, following: Snapshot) -> bool:
    """True if the base of the following snapshot has the changes of a snapshot, or the same files if it adds none.

    Manifests are mostly reused unchanged, and their names are unique, so comparing the lists is usually enough.

    Raises:
        CorruptFile: the metadata of one cannot be read.
        MissingFile: one of them has expired.
    """
    base, changes = _metas(table, following.base_manifest_list), _metas(table, snapshot.delta_manifest_list)
    if changes and _names(changes) <= _names(base):
        return True
    found, kinds = _kinds(table, base), _kinds(table, changes)
    if any((found.get(file) == FileKind.ADD) != (kind == FileKind.ADD) for file, kind in kinds.items()):
        return False
    if FileKind.ADD in kinds.values():
        return True  # its file names are unique
    try:
        before = _kinds(table, _metas(table, snapshot.base_manifest_list))
    except MissingFile:
        return False  # its metadata have expired: no existing snapshot was built on it
    return _live({**before, **kinds}) == _live(found)


def delete_unrelated_after(table: Table, last: Snapshot) -> None:
    """Deletes the snapshots after one that are not built on it, with all that follow them, newest first.

    A job that has not noticed yet that its base was deleted may publish one more, so each round lists them again.

    Raises:
        CommitConflict: other jobs continue to publish snapshots there.
        CorruptFile: the metadata of a snapshot cannot be read.
        StorageError: the storage failed.
    """
    for _ in range(_ROUNDS):
        loose = _loose(table, last)
        for number, seen in loose:
            if seen is not None and table.snapshots.find(number) == seen:  # else others have the id since
                table.file_io.delete(snapshot_path(table.location, number, table.branch))
        if not loose:
            return
    raise CommitConflict(
        f"going back to snapshot {last.id} of {table.location}: other jobs go on putting snapshots on the state that "
        "is being taken away; let the jobs rest that began before, and call it again"
    )


def _loose(table: Table, last: Snapshot) -> list[tuple[int, Snapshot | None]]:
    """The listed snapshots after one that are not built on it, newest first; None for one that is gone since.

    They are read before the line is followed: what is not in the line afterwards was not in it then. Ids that the
    listing lacks are looked up by name: they may be new.
    """
    store = table.snapshots
    listed = [(number, store.find(number)) for number in reversed(store.ids()) if number > last.id]
    line = [last]
    while (following := store.find(line[-1].id + 1)) is not None and builds_on(table, line[-1], following):
        line.append(following)
    return [(number, seen) for number, seen in listed if seen not in line]


def _metas(table: Table, name: str) -> list[ManifestFileMeta]:
    return read_manifest_list(table.file_io, table.location, name)


def _names(metas: Iterable[ManifestFileMeta]) -> set[str]:
    return {meta.file_name for meta in metas}


def _kinds(table: Table, metas: Sequence[ManifestFileMeta]) -> dict[Identity, int]:
    """The kind of the last entry of each file."""
    return {entry.identity: entry.kind for entry in read_manifests(table.file_io, table.location, metas)}


def _live(kinds: dict[Identity, int]) -> set[Identity]:
    return {file for file, kind in kinds.items() if kind == FileKind.ADD}
