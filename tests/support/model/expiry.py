"""Expiry of snapshots, and the removal of orphan files (protocol E1 to E8 and F5; ``paimon_spark/store/expire``)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from support.model.commit import expiring_below, latest, may_be_withdrawn, snapshot_ids, still_named
from support.model.machine import REFUSED, Path, Stopped
from support.model.mutations import Mutation as M
from support.model.values import (
    MAIN,
    Found,
    Snap,
    delete,
    delete_if,
    expiry_mark,
    files_of,
    listing,
    read,
    snapshot,
    write,
)

NOTHING = "nothing"
DAMAGED = "damaged"
"""What a file holds that cannot be read."""


def expire(m: M | None, who: str, keep: int, branch: str = MAIN, opened: str = "t", streams: bool = False) -> Found:
    """Deletes the snapshots but for the newest, and the files that only they need.

    Args:
        keep: how many snapshots stay.
        streams: whether there may be notes of streams.
    """
    newest, sure = yield from latest(m, branch)
    ids = yield from snapshot_ids(branch)
    if newest is None or not ids:
        return NOTHING
    earliest = ids[0]
    end = newest.id - keep + 1
    if end > earliest:
        end = min([end, *(yield from _consumers())])
    if end > earliest and sure and m is not M.HINT_READ_ONCE:
        sure = yield from still_named(newest, branch)
    doubted = end > earliest and not sure and m is not M.EXPIRE_IN_DOUBT
    if doubted and (yield from may_be_withdrawn(m, newest, branch)):
        return NOTHING
    end = max(end, min((yield from expiring_below(m, branch)), newest.id))
    if end <= earliest:
        yield from _delete_marks(earliest, branch)
        return NOTHING
    end = min([end, *(yield from held(m, "marks", branch))])
    if end <= earliest:
        return NOTHING
    first = yield read(*snapshot(end, branch))
    still = first if end == newest.id else (yield read(*snapshot(newest.id, branch)))
    if first is None or (still != newest and m is not M.ANY_FIRST):
        return NOTHING
    mark = expiry_mark(end, who, branch)
    yield write(mark, first.uid)
    planned = yield from _marked_plan(m, earliest, first, branch, opened, streams)
    if planned is None:
        yield delete(*mark)
        return NOTHING
    snaps, kept, gone = planned
    phase = ("deleting", branch, end, mark)
    yield from _execute(m, snaps, kept, gone, mark, branch)
    return ("expired", phase[2])


def _marked_plan(m: M | None, earliest: int, first: Snap, branch: str, opened: str, streams: bool) -> Found:
    """(snapshots that go, the first that stays, paths that go); None: there is nothing to do any more."""
    end = first.id
    if m not in (M.HOLDS_BEFORE_MARK, M.HOLDS_IGNORED):
        needed = yield from held(m, "marks", branch)
        if any(number < end for number in needed):
            return None
    if any(number < end for number in (yield from _consumers())):
        return None
    snaps: tuple[Snap, ...] = ()
    numbers = tuple(range(earliest, end + 1))
    for number in numbers:
        found = yield read(*snapshot(number, branch))
        snaps = snaps if found is None else (*snaps, found)
    if len(snaps) < 2 or snaps[-1] != first:
        return None
    if (yield read("meta", first.uid)) is None:
        return None  # another expiry goes further
    kept, goes = snaps[-1], snaps[:-1]
    gone: frozenset[Path] = frozenset(("data", name) for snap in snaps[1:] for name in snap.deletes)
    gone |= {("meta", snap.uid) for snap in goes}
    if m is M.DELETE_WHILE_READING:
        for snap in goes:
            yield delete("meta", snap.uid)
    used = yield from _used_by_others(m, snaps, branch)
    if used is None:
        return None
    if m is not M.EXPIRE_ANY_TABLE and (yield read("schema")) != opened:
        return None
    if streams:
        yield from _write_down_batches(m, goes, end)
    return goes, kept, gone - files_of(kept) - used


def _used_by_others(m: M | None, snaps: tuple[Snap, ...], branch: str) -> Found:
    """What tags, other branches and later snapshots need that bring files back; None: it cannot be read."""
    used: frozenset[Path] = frozenset()
    tags = yield from read_all("tag", branch)
    if m is M.TAGS_LEFT_OUT:
        tags = ()
    if DAMAGED in tags:
        if m is not M.SKIP_DAMAGED:
            return None
        tags = tuple(snap for snap in tags if snap != DAMAGED)
    deletes_data = any(snap.deletes for snap in snaps[1:])
    revived = bool(tags) and deletes_data and bool((yield listing("tag marks", branch, "revived")))
    for found in _tags_that_share(tags, snaps, revived):
        used |= files_of(found)
    numbers: tuple[int, ...] = ()
    if deletes_data:
        numbers = tuple(n for n in (yield from snapshot_ids(branch)) if n > snaps[-1].id)
    for number in numbers:
        later = yield read(*snapshot(number, branch))
        if later is not None and later.kind in ("overwrite", "restore"):
            used |= files_of(later)
    if m is not M.BRANCHES_LEFT_OUT:
        used |= yield from _other_branches(branch)
    return used


def _tags_that_share(tags: Iterable[Snap], snaps: tuple[Snap, ...], revived: bool) -> list[Snap]:
    """The nearest tag below each snapshot, and those in between; where a state came back, all tags."""
    known = sorted(tags, key=lambda snap: snap.id)
    if revived:
        return [found for found in known if found.id < snaps[-1].id]
    nearest = {max((t.id for t in known if t.id < snap.id), default=None) for snap in snaps[1:]}
    lowest = max((t.id for t in known if t.id <= snaps[0].id), default=0)
    return [t for t in known if t.id in nearest or lowest <= t.id < snaps[-1].id]


def _other_branches(branch: str) -> Found:
    """What the snapshots and tags of other branches need."""
    used: frozenset[Path] = frozenset()
    for kind in ("snapshot", "tag"):
        paths = tuple(path for path in (yield listing(kind)) if path[1] != branch)
        for path in paths:
            found = yield read(*path)
            if found is not None:
                used |= files_of(found)
    return used


def _execute(m: M | None, snaps: tuple[Snap, ...], kept: Snap, gone: frozenset[Path], mark: Path, branch: str) -> Found:
    if m is M.MARK_GOES_FIRST:
        yield delete(*mark)
    if m is M.SNAPSHOTS_FIRST:
        for snap in snaps:
            yield delete(*snapshot(snap.id, branch))
    stages = tuple(sorted(gone, key=repr))
    for path in stages:
        if (yield delete(*path)) == REFUSED and m is M.STOP_AT_REFUSAL:
            raise Stopped("refused")
    as_seen: tuple[tuple[Path, Hashable], ...] = ((mark, kept.uid), (snapshot(kept.id, branch), kept))
    if m in (M.NO_LOOK_BEFORE_SNAPSHOTS, M.MARK_GOES_FIRST):
        as_seen = ()
    for snap in snaps:
        if (yield delete_if(snapshot(snap.id, branch), *as_seen)) is False:
            return
    phase = None
    yield from _delete_marks(kept.id, branch)
    return phase


def _delete_marks(end: int, branch: str) -> Found:
    marks = yield listing("marks", branch, "expiring")
    if not marks:
        return
    ids = yield from snapshot_ids(branch)
    newest = ids[-1] if ids else 0
    old = tuple(mark for mark in marks if mark[3] <= end or mark[3] > newest)
    for mark in old:
        yield delete(*mark)


def held(m: M | None, where: str, branch: str = MAIN) -> Found:
    """The ids that holds hold; those of a crash are removed when they are a day old."""
    found: tuple[int, ...] = ()
    marks = yield listing(where, branch, "holding")
    if not marks:
        return found
    today = (yield read("clock")) or 0
    for mark in marks:
        made = yield read(*mark)
        if made is None:
            continue
        if m is M.OLD_HOLDS_STAY or (made.day >= today and m is not M.HOLDS_OF_ALL_AGES_GO):
            found = (*found, mark[3])
        else:
            yield delete(*mark)
    return found


def _consumers() -> Found:
    paths = yield listing("consumer")
    found: tuple[int, ...] = ()
    for path in paths:
        position = yield read(*path)
        found = found if position is None else (*found, position)
    return found


def read_all(kind: str, branch: str) -> Found:
    """The snapshots that the tags of a branch keep, or its snapshots themselves: a listing, and a read of each."""
    paths = yield listing(kind, branch)
    found: tuple[Hashable, ...] = ()
    for path in paths:
        one = yield read(*path)
        found = found if one is None else (*found, one)
    return found


def _write_down_batches(m: M | None, goes: tuple[Snap, ...], end: int) -> Found:
    """For each undecided batch, whether it is one of the snapshots: ("search", user) holds (batch, end, uid)."""
    if m is M.NO_SEARCH:
        return
    notes = yield listing("note")
    for path in notes:
        note = yield read(*path)
        if note is None or note[0] == "done" or note[2] >= end:
            continue
        batch, since = note[1], note[2]
        search = ("search", path[1])
        before = yield read(*search)
        if before is not None and before[0] != batch:
            before = None
        found = next((snap.uid for snap in goes if snap.name == (path[1], batch)), None)
        if before is not None and (before[2] is not None or (found is None and before[1] >= end)):
            continue
        saw_all = goes[0].id <= since + 1 or (before is not None and before[1] >= goes[0].id)
        complete = len(goes) == end - goes[0].id and saw_all
        if found is not None or complete or m is M.NONE_UNSEEN:
            yield write(search, (batch, end, found))


def remove_orphans(m: M | None) -> Found:
    """Deletes the data and metadata files that are older than a day and that nothing uses."""
    phase = ("cleaning",)
    used: frozenset[Path] = frozenset()
    if m is M.USED_BEFORE_LISTED:
        used = yield from _all_used()
    paths = (*(yield listing("data")), *(yield listing("meta")))
    old: tuple[Path, ...] = ()
    today = (yield read("clock")) or 0
    for path in paths:
        made = yield read(*path)
        if made is not None and (made.day < today or m is M.ANY_AGE):
            old = (*old, path)
    if m is not M.USED_BEFORE_LISTED:
        used = yield from _all_used()
    unused = tuple(path for path in old if path not in used)
    for path in unused:
        yield delete(*path)
    return phase


def _all_used() -> Found:
    used: frozenset[Path] = frozenset()
    for kind in ("snapshot", "tag", "tag marks"):
        paths = yield listing(kind)
        for path in paths:
            found = yield read(*path)
            if isinstance(found, Snap):
                used |= files_of(found)
    return used
