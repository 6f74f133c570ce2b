"""Who keeps a state: holds, tags, branches and reads (protocol H1 to H5, T1 to T5, F1 to F4)."""

from __future__ import annotations

from support.model.commit import expiring_below, latest, snapshot_ids
from support.model.expiry import held, read_all
from support.model.machine import REFUSED, Path, Stopped
from support.model.mutations import Mutation as M
from support.model.values import (
    MAIN,
    Found,
    Mark,
    Snap,
    create,
    delete,
    deletion_mark,
    files_of,
    hold_mark,
    listing,
    read,
    snapshot,
    tag,
    tag_hold,
    write,
)


def take_hold(m: M | None, who: str, first: int, branch: str = MAIN) -> Found:
    """True: no expiry deletes the snapshot or a later one as long as the hold is there. False: one is about to."""
    if m is M.MARKS_BEFORE_HOLD:
        below = yield from expiring_below(m, branch)
        yield write(hold_mark(first, who, branch), Mark((yield read("clock")) or 0))
    else:
        yield write(hold_mark(first, who, branch), Mark((yield read("clock")) or 0))
        below = yield from expiring_below(m, branch)
    if below > first:
        yield from release(m, hold_mark(first, who, branch))
        return False
    return True


def release(m: M | None, *marks: Path) -> Found:
    for mark in marks:
        if (yield delete(*mark)) == REFUSED and m is M.HOLD_MUST_GO:
            raise Stopped("refused")


def keep(m: M | None, who: str, snap: Snap, branch: str = MAIN) -> Found:
    """(whether the snapshot itself is there, the marks to release); raises Stopped: it expires just now."""
    if m is M.NO_HOLD:
        return True, ()
    if (yield read(*snapshot(snap.id, branch))) is not None and (yield from take_hold(m, who, snap.id, branch)):
        if (yield read(*snapshot(snap.id, branch))) == snap:
            return True, (hold_mark(snap.id, who, branch),)
        mark = yield from hold_tagged(m, who, snap, branch, hold_mark(snap.id, who, branch))
        return False, (mark, hold_mark(snap.id, who, branch))
    mark = yield from hold_tagged(m, who, snap, branch)
    return False, (mark,)


def hold_tagged(m: M | None, who: str, snap: Snap, branch: str = MAIN, *taken: Path) -> Found:
    """The hold of a snapshot that only a tag keeps; raises Stopped: none does, or it is being deleted."""
    mark = tag_hold(snap.id, who, branch)
    if m is not M.COPY_LOOKS_FIRST:
        yield write(mark, Mark((yield read("clock")) or 0))
    going = yield from read_all_marks(branch)
    tags = () if snap.id in {other.id for other in going} else (yield from read_all("tag", branch))
    if m is M.COPY_LOOKS_FIRST:
        yield write(mark, Mark((yield read("clock")) or 0))
    if snap not in tags:
        yield from release(m, mark, *taken)
        raise Stopped("snapshot not found")
    return mark


def read_all_marks(branch: str = MAIN) -> Found:
    """The snapshots of tags that are being deleted."""
    paths = yield listing("tag marks", branch, "deleting")
    found: tuple[Snap, ...] = ()
    for path in paths:
        one = yield read(*path)
        found = found if one is None else (*found, one)
    return found


def make_tag(m: M | None, who: str, name: str, snap: Snap, branch: str = MAIN) -> Found:
    """A tag of a snapshot that was read before."""
    there, marks = yield from keep(m, who, snap, branch)
    phase = ("keeping", branch, snap.id, snap)
    path = tag(name, branch)
    if m is M.TAG_OVERWRITES:
        yield write(path, snap)
    elif (yield read(*path)) is not None or not (yield create(path, snap)):
        yield from release(m, *marks)
        raise Stopped("name taken")
    if there and m is not M.NO_LOOK_AFTER_TAG and (yield read(*snapshot(snap.id, branch))) != snap:
        yield delete(*path)
        yield from release(m, *marks)
        raise Stopped("snapshot not found")
    yield from release(m, *marks)
    return ("tagged", name, phase[3].uid)


def rename_tag(m: M | None, who: str, name: str, new_name: str, branch: str = MAIN) -> Found:
    found = yield read(*tag(name, branch))
    if found is None:
        raise Stopped("no such tag")
    if name == new_name or (yield read(*tag(new_name, branch))) != found:
        yield from make_tag(m, who, new_name, found, branch)
    yield delete(*tag(name, branch))
    return ("renamed", new_name, found.uid)


def delete_tag(m: M | None, name: str, branch: str = MAIN) -> Found:
    """Deletes a tag, and its files if it is the last that keeps them; finishes deletions that broke off."""
    going = yield from read_all_marks(branch)
    path = tag(name, branch)
    found = yield read(*path)
    gone = tuple(snap for snap in (found, *going) if snap is not None)
    if not gone:
        return "no tag"
    lasting = found is not None and (yield read(*snapshot(found.id, branch))) is None
    if lasting and m is M.DELETION_LOOKS_FIRST:
        holds = yield from held(m, "tag marks", branch)
    if lasting and m is not M.DELETION_UNMARKED:
        yield write(deletion_mark(name, branch), found)
    if m is not M.DELETION_LOOKS_FIRST or not lasting:
        holds = yield from held(m, "tag marks", branch)
    to_plan = tuple(snap for snap in gone if lasting or snap in going)
    files = yield from _planned_deletion(m, path, to_plan, holds, branch)
    phase = ("untagging", branch, tuple(snap.id for snap in to_plan if snap.id not in holds))
    yield delete(*path)
    if m is not M.TAG_FILES_STAY:
        for file in files:
            yield delete(*file)
    if lasting or going:
        marks = yield listing("tag marks", branch, "deleting")
        for mark in marks:
            if (yield read(*mark)) in to_plan:
                yield delete(*mark)
    return ("untagged", name, phase[2])


def _planned_deletion(m: M | None, path: Path, gone: tuple[Snap, ...], holds: tuple[int, ...], branch: str) -> Found:
    """The files that nothing needs any more when some tags are gone."""
    if not gone:
        return ()
    ids = yield from snapshot_ids(branch)
    staying: tuple[Snap, ...] = tuple(snap for snap in gone if snap.id in holds)
    others = tuple(other for other in (yield listing("tag", branch)) if other != path)
    for other in others:
        kept = yield read(*other)
        staying = staying if kept is None else (*staying, kept)
    revived = bool((yield listing("tag marks", branch, "revived")))
    files: frozenset[Path] = frozenset()
    used: frozenset[Path] = frozenset()
    for snap in gone:
        if snap.id in {kept.id for kept in staying} or snap.id in ids:
            continue
        files |= files_of(snap)
        if m is not M.NEIGHBOURS_LEFT_OUT:
            for kept in _beside(staying, snap.id, revived):
                used |= files_of(kept)
        numbers = tuple(sorted({*[n for n in ids if n < snap.id][-1:], *[n for n in ids if n > snap.id][:1]}))
        for number in numbers:
            found = yield read(*snapshot(number, branch))
            if found is None:
                raise Stopped("snapshot not found")
            used |= files_of(found)
        later = tuple(n for n in ids if n > snap.id and n not in numbers)
        for number in later:
            found = yield read(*snapshot(number, branch))
            if found is not None and found.kind in ("overwrite", "restore"):
                used |= files_of(found)
    if m is not M.BRANCHES_LEFT_OUT:
        for kind in ("snapshot", "tag"):
            elsewhere = tuple(p for p in (yield listing(kind)) if p[1] != branch)
            for place in elsewhere:
                found = yield read(*place)
                used |= frozenset() if found is None else files_of(found)
    return tuple(sorted(files - used, key=repr))


def _beside(staying: tuple[Snap, ...], number: int, revived: bool) -> list[Snap]:
    if revived:
        return list(staying)
    below = max((snap.id for snap in staying if snap.id < number), default=None)
    above = min((snap.id for snap in staying if snap.id > number), default=None)
    return [snap for snap in staying if snap.id in (below, above)]


def make_branch(m: M | None, who: str, name: str, snap: Snap) -> Found:
    """A branch that begins with a snapshot of main."""
    _, marks = yield from keep(m, who, snap)
    phase = ("keeping", MAIN, snap.id, snap)
    yield write(snapshot(snap.id, name), snap)
    yield from release(m, *marks)
    return ("branched", name, phase[3].uid)


# ------------------------------------------------------------------------------------------------------------- reads


def read_latest(m: M | None, opened: str = "t") -> Found:
    """The rows of the latest snapshot: ("rows", uid of the snapshot that was planned, data files that were read)."""
    snap, _ = yield from latest(m)
    if snap is None:
        return ("rows", None, frozenset())
    return (yield from read_snapshot(m, snap, opened))


def read_snapshot(m: M | None, snap: Snap, opened: str = "t") -> Found:
    """Plans a snapshot and reads it."""
    if (yield read("meta", snap.uid)) is None:
        return (yield from _missing(m, snap, opened))
    if m is not M.READ_ANY_TABLE and (yield read("schema")) != opened:
        raise Stopped("table not found")
    planned = snap
    if m is M.READ_TWO:
        planned = (yield from latest(m))[0] or snap
    names = tuple(sorted(planned.live, key=repr))
    for name in names:
        if (yield read("data", name)) is None:
            return (yield from _missing(m, snap, opened))
    return ("rows", snap.uid, frozenset(names), opened, planned.table)


def _missing(m: M | None, snap: Snap, opened: str) -> Found:
    """A file is missing: the snapshot has expired, or expires now; else the file is lost."""
    if (yield read("schema")) != opened:
        raise Stopped("table not found")
    below = 0 if m is M.EXPIRED_IS_LOST else (yield from expiring_below(m))
    if snap.id >= below and (yield read(*snapshot(snap.id))) is not None:
        raise Stopped("file lost")
    tags = yield from read_all("tag", MAIN)
    if any(kept.id == snap.id for kept in tags):
        raise Stopped("file lost")
    raise Stopped("expired")


def read_with_tag(m: M | None, who: str, snap: Snap) -> Found:
    """A read that tags its snapshot first, and deletes the tag at its end."""
    if m is M.TAG_AFTER_PLAN and (yield read("meta", snap.uid)) is None:
        raise Stopped("expired after the plan")
    name = f"read-{who}"
    try:
        yield from make_tag(m, who, name, snap)
    except Stopped:
        raise Stopped("expired" if m is not M.TAG_AFTER_PLAN else "expired after the plan") from None
    files = tuple(sorted(files_of(snap), key=repr))
    for path in files:
        if (yield read(*path)) is None:
            raise Stopped("expired after the plan")
    there = yield read(*snapshot(snap.id))
    phase = ("read", there is not None)
    if there is not None or m is M.READ_TAG_GOES:
        yield delete(*tag(name))
    return phase
