"""Rollback, fast-forward, and the states that come back (protocol R1 to R6; ``paimon_spark/store/history``)."""

from __future__ import annotations

from support.model.commit import Change, builds_on, commit, latest, settle_hint, snapshot_ids
from support.model.keepers import hold_tagged, keep, make_tag, release, take_hold
from support.model.machine import Path, Stopped
from support.model.mutations import Mutation as M
from support.model.values import (
    MAIN,
    Found,
    Mark,
    Snap,
    create,
    delete,
    delete_if,
    hint,
    hold_mark,
    listing,
    read,
    snapshot,
    write,
)

REMOVED = ("removed",)
"""The checker notes the uids of snapshots that a rollback has taken away."""


def roll_back(m: M | None, who: str, target: Snap, branch: str = MAIN) -> Found:
    """Deletes all that came after a state that was read before."""
    ids = yield from snapshot_ids(branch)
    there = yield read(*snapshot(target.id, branch))
    if there is not None and there != target:
        raise Stopped("snapshot not found")
    later = tuple(n for n in ids[::-1] if n > target.id)
    tags = yield from _later_tags(target, branch)
    if not (yield from take_hold(m, who, target.id, branch)):
        raise Stopped("snapshot not found")
    if m is not M.TARGET_LAST:
        yield from _make_snapshot(m, who, target, branch)
    phase = ("keeping", branch, target.id, target)
    if m is not M.TAGS_STAY:
        for path, _ in tags:
            yield delete(*path)
    if m is not M.NO_HINT_BEFORE_ROLLBACK:
        yield write(hint(branch), target.id)
    order = later[::-1] if m is M.OLDEST_FIRST else later
    for number in order:
        yield delete(*snapshot(number, branch), note=REMOVED)
    if m is M.TARGET_LAST:
        yield from _make_snapshot(m, who, target, branch)
    if m is not M.NO_LOOK_AFTER_ROLLBACK:
        yield from _delete_unrelated(m, target, branch)
    if m is not M.NO_HINT_AFTER_ROLLBACK:
        yield from settle_hint(m, branch)
    if m is not M.TAGS_STAY:
        late = yield from _later_tags(target, branch)
        for path, kept in late:
            if (yield read(*snapshot(kept.id, branch))) != kept:
                yield delete(*path)
    yield from release(m, hold_mark(target.id, who, branch))
    return ("rolled back", phase[3].uid)


def _later_tags(target: Snap, branch: str) -> Found:
    """(path, snapshot) of each tag above the target."""
    paths = yield listing("tag", branch)
    found: tuple[tuple[Path, Snap], ...] = ()
    for path in paths:
        kept = yield read(*path)
        if kept is not None and kept.id > target.id:
            found = (*found, (path, kept))
    return found


def _make_snapshot(m: M | None, who: str, target: Snap, branch: str) -> Found:
    """Makes the target a snapshot again if only a tag keeps it."""
    if (yield read(*snapshot(target.id, branch))) is not None:
        return
    mark = yield from hold_tagged(m, who, target, branch, hold_mark(target.id, who, branch))
    yield create(snapshot(target.id, branch), target)
    yield from release(m, mark)


def _delete_unrelated(m: M | None, last: Snap, branch: str) -> Found:
    """Deletes what is not built on a snapshot, and all after it, until there is nothing more."""
    phase = ("looking", last)
    for _ in (1, 2, 3, 4):
        ids = yield from snapshot_ids(branch)
        numbers = tuple(n for n in ids[::-1] if n > last.id)
        seen: tuple[Snap, ...] = ()
        for number in numbers:  # before the line is followed: what is not in it then was not in it at any time since
            found = yield read(*snapshot(number, branch))
            seen = seen if found is None else (*seen, found)
        line: tuple[Snap, ...] = (last,)
        following = yield read(*snapshot(last.id + 1, branch))
        while following is not None and builds_on(m, line[-1], following):
            line = (*line, following)
            following = yield read(*snapshot(line[-1].id + 1, branch))
        loose = tuple(snap for snap in seen if snap not in line)
        if not set(numbers) - {snap.id for snap in line}:  # one that is gone since may have had others on top
            return phase
        for snap in loose:
            path = snapshot(snap.id, branch)
            as_seen = () if m is M.STALE_LOOK else ((path, snap),)
            yield delete_if(path, *as_seen, note=REMOVED)
    raise Stopped("conflict")


def fast_forward(m: M | None, who: str, branch: str) -> Found:
    """Replaces the snapshots of main since the beginning of a branch by those of the branch."""
    theirs = yield from snapshot_ids(branch)
    if not theirs:
        raise Stopped("snapshot not found")
    first = theirs[0]
    if not (yield from take_hold(m, who, first, branch)):
        raise Stopped("snapshot not found")
    if not (yield from take_hold(m, who, first, MAIN)):
        yield from release(m, hold_mark(first, who, branch))
        raise Stopped("snapshot not found")
    new: tuple[Snap, ...] = ()
    for number in theirs:
        found = yield read(*snapshot(number, branch))
        new = new if found is None else (*new, found)
    own = yield from snapshot_ids()
    newest = new[-1].id
    if own and newest < own[-1]:
        yield write(hint(), newest)
    gone = tuple(n for n in own[::-1] if n > newest)
    for number in gone:
        yield delete(*snapshot(number), note=REMOVED)
    replaced = tuple(snap for snap in new[::-1] if snap.id in own)
    for snap in replaced:
        if (yield read(*snapshot(snap.id))) != snap:
            yield write(snapshot(snap.id), snap, REMOVED)
    later = tuple(snap for snap in new if snap.id not in own)
    for snap in later:
        yield write(snapshot(snap.id), snap, REMOVED)
    if m is not M.NO_LOOK_AFTER_ROLLBACK:
        yield from _delete_unrelated(m, new[-1], MAIN)
    yield write(hint(), newest)
    yield from release(m, hold_mark(first, who), hold_mark(first, who, branch))
    return ("forwarded", newest)


def restore(m: M | None, who: str, target: Snap, name: str | None = None) -> Found:
    """Makes an old state the latest snapshot: a tag of it, a mark, and a commit (R6).

    Args:
        name: of a tag that keeps the state; None: one is made.
    """
    newest, _ = yield from latest(m)
    _, marks = yield from keep(m, f"{who}'", target)
    if name is None:
        yield from make_tag(m, who, f"restored-{who}", target)
    if m is not M.NO_REVIVAL_MARK:
        yield write(("tag marks", MAIN, "revived", newest.id, who), Mark(0))
    result = yield from commit(m, who, Change((who, 0), kind="restore", target=target), newest.id)
    yield from release(m, *marks)
    return result


def drop_and_make_anew(new: str) -> Found:
    """Another table at the place of the first."""
    yield delete("schema")
    for kind in ("snapshot", "LATEST", "marks", "tag", "meta", "data"):
        paths = yield listing(kind)
        for path in paths:
            yield delete(*path)
    yield create(("schema",), new)
    return ("made", new)
