"""What the model stores, and how its files are named.

Left out of the model: what a manifest or data file holds (a snapshot has one metadata file and names its data files),
schemas but for the identity of a table, the hint EARLIEST, changelogs, and directories.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterable
from typing import Any, NamedTuple, TypeAlias

from support.model.machine import Kind, Op, Path

Names: TypeAlias = frozenset[Hashable]
NONE: Names = frozenset()
MAIN = "main"


class Snap(NamedTuple):
    """A snapshot.

    Attributes:
        uid: of all snapshots only this one has it, as its manifest lists have.
        parent: the uid of the snapshot that it was built on.
        lineage: its own uid and those of all that it was built on.
        live, adds, deletes: data files.
        name: commit user and identifier.
        table: the identity of the table that its committer had opened.
        time: by the clock of its committer, but not before that of its parent.
        next_row: the first row id that it has not given.
    """

    uid: str
    id: int
    parent: str | None
    lineage: Names
    live: Names
    adds: Names
    deletes: Names
    name: Hashable
    kind: str = "append"
    table: str = "t"
    time: int = 0
    next_row: int = 0


class Mark(NamedTuple):
    """What a file holds of which only the age counts. day: when it was written, by the clock of the storage."""

    day: int


Found: TypeAlias = Generator[Op, Any, Any]
"""A part of a job that returns something."""


def read(*path: Hashable) -> Op:
    return Op(Kind.READ, path)


def listing(*beginning: Hashable) -> Op:
    return Op(Kind.LIST, beginning)


def create(path: Path, content: Hashable, *notes: Path) -> Op:
    return Op(Kind.CREATE, path, content, notes)


def write(path: Path, content: Hashable, *notes: Path) -> Op:
    return Op(Kind.WRITE, path, content, notes)


def delete(*path: Hashable, note: Path | None = None) -> Op:
    return Op(Kind.DELETE, path, None, () if note is None else (note,))


def delete_if(path: Path, *as_seen: tuple[Path, Hashable], note: Path | None = None) -> Op:
    """A deletion directly after a look at files, which were as they are given."""
    return Op(Kind.DELETE, path, as_seen, () if note is None else (note,))


def snapshot(id_: int, branch: str = MAIN) -> Path:
    return ("snapshot", branch, id_)


def tag(name: str, branch: str = MAIN) -> Path:
    return ("tag", branch, name)


def hint(branch: str = MAIN) -> Path:
    return ("LATEST", branch)


def expiry_mark(end: int, who: str, branch: str = MAIN) -> Path:
    return ("marks", branch, "expiring", end, who)


def hold_mark(first: int, who: str, branch: str = MAIN) -> Path:
    return ("marks", branch, "holding", first, who)


def tag_hold(id_: int, who: str, branch: str = MAIN) -> Path:
    return ("tag marks", branch, "holding", id_, who)


def deletion_mark(name: str, branch: str = MAIN) -> Path:
    return ("tag marks", branch, "deleting", name)


def files_of(snap: Snap) -> frozenset[Path]:
    """What a snapshot needs to be read."""
    return frozenset({("meta", snap.uid), *(("data", name) for name in snap.live)})


def ids_in(paths: Iterable[Path]) -> tuple[int, ...]:
    """The ids of snapshots, ascending."""
    return tuple(sorted(int(str(path[2])) for path in paths))


def born(*commits: tuple[str, Iterable[str], Iterable[str]], table: str = "t") -> dict[Path, Hashable]:
    """The files of a table after some commits, each with its uid, the files that it adds and those that it deletes."""
    files: dict[Path, Hashable] = {("schema",): table}
    before: Snap | None = None
    for number, (uid, adds, deletes) in enumerate(commits, start=1):
        before = next_snapshot(before, uid, frozenset(adds), frozenset(deletes), name=uid, table=table)
        files |= {snapshot(number): before, ("meta", uid): Mark(0), hint(): number}
        files |= {("data", name): Mark(0) for name in adds}
    return files


def next_snapshot(
    base: Snap | None,
    uid: str,
    adds: Names,
    deletes: Names,
    name: Hashable,
    kind: str = "append",
    table: str = "t",
    clock: int = 0,
) -> Snap:
    """The snapshot that a commit makes on top of another one, or the first one."""
    live, lineage = (NONE, NONE) if base is None else (base.live, base.lineage)
    time, next_row = (0, 0) if base is None else (base.time, base.next_row)
    return Snap(
        uid=uid,
        id=1 if base is None else base.id + 1,
        parent=None if base is None else base.uid,
        lineage=lineage | {uid},
        live=(live - deletes) | adds,
        adds=adds,
        deletes=deletes,
        name=name,
        kind=kind,
        table=table,
        time=max(clock, time),
        next_row=next_row + (0 if kind == "restore" else len(adds)),
    )
