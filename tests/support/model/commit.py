"""Commits: attempts on top of the latest snapshot (protocol C1 to C14; ``paimon_spark/store/commit``)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from support.model.machine import LOST, REFUSED, Stopped
from support.model.mutations import Mutation as M
from support.model.values import (
    MAIN,
    NONE,
    Found,
    Mark,
    Names,
    Snap,
    create,
    delete,
    delete_if,
    hint,
    ids_in,
    listing,
    next_snapshot,
    read,
    snapshot,
    write,
)

COMMITTED = "committed"
TRIES = 4


class Change(NamedTuple):
    """What a commit does to the files.

    Attributes:
        name: commit user and identifier.
        adds: new data files, which are written before the commit begins.
        replaces: files that were read before and must still be live.
        kind: append, compact or overwrite; restore brings back the state of ``target``; column: each added file is
            ("column", rows, column, the files of that column that it was computed from, a name).
    """

    name: Hashable
    adds: Names = NONE
    replaces: Names = NONE
    kind: str = "append"
    target: Snap | None = None


# ---------------------------------------------------------------------------------------------- what several jobs do


def snapshot_ids(branch: str = MAIN) -> Found:
    found = yield listing("snapshot", branch)
    return ids_in(found)


def latest(m: M | None, branch: str = MAIN) -> Found:
    """The newest snapshot, and whether LATEST names it, so that it is final."""
    named = yield read(*hint(branch))
    if named:
        later = yield read(*snapshot(named + 1, branch))
        found = None if later is not None else (yield read(*snapshot(named, branch)))
        if found is not None:
            return found, True
    ids = yield from snapshot_ids(branch)
    if named and (not ids or ids[-1] < named) and m is not M.LOST_IS_OLD:
        if (yield from lost(branch)):
            raise Stopped("lost")
        ids = yield from snapshot_ids(branch)
    newest_first = ids[::-1]
    for number in newest_first:
        found = yield read(*snapshot(number, branch))
        if found is not None:
            return found, False
    return None, False


def still_named(snap: Snap | None, branch: str = MAIN) -> Found:
    """True if LATEST names a snapshot, or a later one, that was read before."""
    assert snap is not None
    named = yield read(*hint(branch))
    return bool(named) and named >= snap.id


def lost(branch: str = MAIN) -> Found:
    """True if LATEST names a snapshot that is gone and all others are older."""
    named = yield read(*hint(branch))
    while named:
        ids = yield from snapshot_ids(branch)
        if (ids and ids[-1] >= named) or (yield read(*snapshot(named, branch))) is not None:
            return False
        before, named = named, (yield read(*hint(branch)))
        if before == named:
            return True
    return False


def settle_hint(m: M | None, branch: str = MAIN) -> Found:
    """Writes LATEST anew if its snapshot is gone, until it names one that is there."""
    for _ in (1, 2, 3, 4):
        if not (yield from lost(branch)):
            return
        ids = yield from snapshot_ids(branch)
        yield write(hint(branch), ids[-1] if ids else 0)
        if m is M.HINT_SETTLED_ONCE:
            return


def expiring_below(m: M | None, branch: str = MAIN) -> Found:
    """The greatest end of an expiry mark that is not above all snapshots; 0: there is none. One listing."""
    marks = yield listing("marks", branch, "expiring")
    if not marks:
        return 0
    ids = yield from snapshot_ids(branch)
    newest = ids[-1] if ids else 0
    return max((mark[3] for mark in marks if mark[3] <= newest or m is M.ALL_MARKS_COUNT), default=0)


def builds_on(m: M | None, before: Snap, following: Snap) -> bool:
    return m is M.LINEAGE_BY_ID or following.parent == before.uid


def may_be_withdrawn(m: M | None, newest: Snap | None, branch: str = MAIN) -> Found:
    assert newest is not None
    before = yield read(*snapshot(newest.id - 1, branch))
    if before is None:
        return (yield from was_rolled_back(m, newest.id - 1, branch))
    return not builds_on(m, before, newest)


def was_rolled_back(m: M | None, number: int, branch: str = MAIN) -> Found:
    """True if a rollback has removed a snapshot that is missing; an expiry would remove the older ones too."""
    below = 0
    marks = yield listing("marks", branch, "expiring")
    for mark in marks:
        first = yield read(*snapshot(mark[3], branch))
        kept = yield read(*mark)
        if first is not None and (m is M.MARKS_BY_ID or kept == first.uid):
            below = max(below, mark[3])
    ids = yield from snapshot_ids(branch)
    return below <= number and any(n < number for n in ids)


# ------------------------------------------------------------------------------------------------------ one commit


def commit(
    m: M | None,
    who: str,
    change: Change,
    since: int,
    branch: str = MAIN,
    clock: int = 0,
    opened: str = "t",
    iceberg: bool = False,
) -> Found:
    """Tries until the change is a snapshot.

    Args:
        since: the latest id when the commit was named.
        clock: what the clock of this process says.
        opened: the identity of the table that was opened.
        iceberg: whether metadata for Iceberg follow.
    """
    withdrawn, first, rows = False, None, None
    base, sure, walks = None, False, False
    for attempt in (1, 2, 3, 4):
        base, sure, since = yield from _look(m, base, sure, walks, since, branch)
        walks = True
        top = 0 if base is None else base.id
        since = 0 if top < since else since
        mine = yield from _own(m, change.name, base, since, branch)
        since = top
        doubted = mine in (None, base) and not sure and base is not None and m is not M.NO_GROUND_CHECK
        if doubted and (yield from may_be_withdrawn(m, base, branch)):
            since, walks = 0, False
            continue
        if mine is not None:
            return COMMITTED, mine
        if (yield read("schema")) != opened:
            yield from _abort(m, change, withdrawn)
            raise Stopped("table not found")
        made = first if first is not None and m is M.CHECKED_ONCE else _proposed(m, change, base)
        if made is None:
            yield from _abort(m, change, withdrawn)
            raise Stopped("conflict")
        snap = next_snapshot(base, f"{who}.{attempt}", *made, change.name, change.kind, opened, clock)
        first, rows = first or made, rows or snap.next_row
        if m is M.OWN_CLOCK:
            snap = snap._replace(time=clock)
        elif m is M.ROW_IDS_ONCE:
            snap = snap._replace(next_row=rows)
        if (yield from _attempt(m, snap, branch)):
            if (yield from _confirmed(m, base, snap, branch, opened, sure)):
                yield from _write_hint(m, snap, branch)
                if iceberg:
                    yield from _iceberg(m, snap, base)
                return COMMITTED, snap
            withdrawn, since, walks = True, 0, False
    yield from _abort(m, change, withdrawn)
    raise Stopped("exhausted")


def _look(m: M | None, known: Snap | None, sure: bool, walks: bool, since: int, branch: str) -> Found:
    """The latest snapshot, whether it is final, and since which id to look for own ones.

    A commit that lost a race goes on from the snapshot that it knows, if that is still there.
    """
    if walks:
        newest, number = known, 0 if known is None else known.id
        following = yield read(*snapshot(number + 1, branch))
        while following is not None:
            newest = following
            following = yield read(*snapshot(newest.id + 1, branch))
        now = None if known is None else (yield read(*snapshot(known.id, branch)))
        if now == known:
            return newest, sure and newest == known, since
        since = 0 if now is not None else since
    newest, sure = yield from latest(m, branch)
    return newest, sure, since


def _own(m: M | None, name: Hashable, base: Snap | None, since: int, branch: str) -> Found:
    """The snapshot of an earlier try of this commit; newest first."""
    if m is M.NO_LOOK_FOR_OWN or base is None:
        return None
    if base.id > since and base.name == name:
        return base
    older = tuple(range(base.id - 1, since, -1))
    for number in older:
        found = yield read(*snapshot(number, branch))
        if found is not None and found.name == name:
            return found
    return None


def _proposed(m: M | None, change: Change, base: Snap | None) -> tuple[Names, Names] | None:
    """What is added and deleted on top of a snapshot; None: it does not fit."""
    live = NONE if base is None else base.live
    if change.kind == "overwrite":
        return change.adds, live
    if change.kind == "restore":
        assert change.target is not None
        return change.target.live - live, live - change.target.live
    if change.kind == "column":
        return _columns(m, change, live)
    if not change.replaces <= live and m is not M.NO_CONFLICT_CHECK:
        return None
    of_columns = {file for file in live if isinstance(file, tuple) and file[1] in change.replaces}
    if not of_columns <= change.replaces and m is not M.COLUMNS_LEFT:
        return None
    return change.adds, change.replaces


def _columns(m: M | None, change: Change, live: Names) -> tuple[Names, Names] | None:
    """Each added file is of a column of the rows of another file: that is live, and so is what it was computed from."""
    gone = NONE
    for file in change.adds:
        assert isinstance(file, tuple)
        rows, column, known = file[1:4]
        if rows not in live and m is not M.COLUMN_OF_NOTHING:
            return None
        now = frozenset(f for f in live if isinstance(f, tuple) and f[1:3] == (rows, column))
        if now != known and rows in live and m is not M.COLUMN_UNCHECKED:
            return None
        gone |= now
    return change.adds, gone


def _attempt(m: M | None, snap: Snap, branch: str) -> Found:
    """True if the snapshot is published."""
    if m is not M.PUBLISH_FIRST:
        yield write(("meta", snap.uid), Mark(1))
    won = yield from _publish(m, snap, branch)
    if m is M.PUBLISH_FIRST:
        yield write(("meta", snap.uid), Mark(1))
    if won is None:
        if m is M.DELETE_IN_DOUBT:
            yield delete("meta", snap.uid)
        raise Stopped("unknown")
    if not won:
        yield delete("meta", snap.uid)
    return won


def _publish(m: M | None, snap: Snap, branch: str) -> Found:
    """True: it is there. False: another one has its id. None: nobody knows."""
    path = snapshot(snap.id, branch)
    if m is M.OVERWRITE:
        yield write(path, snap)
        return True
    doubt = False
    for _ in (1, 2):
        answer = yield create(path, snap)
        if answer is True:
            return True
        doubt = doubt or answer == LOST
        found = yield read(*path)
        if found is not None:
            return found.uid == snap.uid
        if not doubt:
            return False
    return None


def _confirmed(m: M | None, base: Snap | None, snap: Snap, branch: str, opened: str, sure: bool) -> Found:
    """True if a published snapshot is part of the table; else it is withdrawn."""
    phase = ("confirming", snap)
    if m is M.HINT_FIRST:
        yield write(hint(branch), snap.id)
    if m is not M.NO_TABLE_CHECK and (yield read("schema")) != opened:
        return (yield from _withdraw_from_place(snap, branch))
    if m is M.NO_BASE_CHECK:
        return True
    found = None if base is None else (yield read(*snapshot(base.id, branch)))
    if found is None:
        was_taken_back = base is not None and (yield from was_rolled_back(m, base.id, branch))
        if not was_taken_back:
            return not (yield from _overtaken(m, snap, branch))
    elif found == base:
        is_final = not sure or m is M.HINT_READ_ONCE or (yield from still_named(base, branch))
        if is_final or not (yield from may_be_withdrawn(m, base, branch)):
            return True
    if (yield read(*snapshot(snap.id, branch))) == phase[1]:
        ids = yield from snapshot_ids(branch)
        later = tuple(n for n in ids[::-1] if n >= snap.id)
        own = (snapshot(snap.id, branch), snap)
        for number in later:
            path = snapshot(number, branch)
            yield delete(*path) if m is M.STALE_WITHDRAWAL else delete_if(path, own)
        yield from settle_hint(m, branch)
    return False


def _withdraw_from_place(snap: Snap, branch: str) -> Found:
    if (yield read(*snapshot(snap.id, branch))) != snap:
        return True
    ids = yield from snapshot_ids(branch)
    if ids and ids[-1] > snap.id:
        raise Stopped("unknown")
    yield delete_if(snapshot(snap.id, branch), (snapshot(snap.id, branch), snap))
    return False


def _overtaken(m: M | None, snap: Snap, branch: str) -> Found:
    """True if no later snapshot holds a published one whose base has expired; then it is withdrawn."""
    if m is M.NO_OVERTAKEN_CHECK:
        return False
    ids = yield from snapshot_ids(branch)
    if not ids or ids[-1] <= snap.id:
        return False
    following = yield read(*snapshot(snap.id + 1, branch))
    if following is not None and builds_on(m, snap, following):
        return False
    if following is None:
        below = yield from expiring_below(m, branch)
        if below > snap.id or (yield read(*snapshot(snap.id, branch))) is None:
            raise Stopped("unknown")
    path = snapshot(snap.id, branch)
    yield delete_if(path, (path, snap))
    return True


def _write_hint(m: M | None, snap: Snap, branch: str) -> Found:
    yield write(hint(branch), snap.id)
    if m is M.NO_LOOK_AFTER_HINT:
        return
    if (yield read(*snapshot(snap.id, branch))) is None:
        yield from settle_hint(m, branch)


def _abort(m: M | None, change: Change, withdrawn: bool) -> Found:
    """Deletes what only this commit knows of, if nobody can have seen it."""
    if withdrawn:
        raise Stopped("unknown")
    if m is M.ABORT_LEAVES_FILES:
        return
    paths = tuple(sorted(change.adds | (change.replaces if m is M.ABORT_DELETES_INPUTS else NONE), key=repr))
    for name in paths:
        yield delete("data", name)


def _iceberg(m: M | None, snap: Snap, base: Snap | None) -> Found:
    """Metadata for readers of Iceberg: (the uid of the snapshot, its files) by the id of the snapshot (C14)."""
    before = None if base is None else (yield read("iceberg", base.id))
    if base is not None and before is not None and (before[0] == base.uid or m is M.ICEBERG_BY_ID):
        files = (before[1] - snap.deletes) | snap.adds
    else:
        files = snap.live
    newest, _ = yield from latest(m)
    if newest == snap:
        if (yield delete("iceberg blocked")) == REFUSED:
            if m is M.ICEBERG_FAILS:
                raise Stopped("iceberg")
            return
        yield write(("iceberg", snap.id), (snap.uid, files))
    elif m is M.ICEBERG_TAKES_LATER and newest is not None:
        yield delete("iceberg", newest.id)
