"""Streams: a batch between two notes, and what it becomes when its writer is started again (protocol C2 and E8)."""

from __future__ import annotations

from support.model.commit import Change, commit, latest, snapshot_ids
from support.model.machine import Stopped
from support.model.mutations import Mutation as M
from support.model.values import Found, read, snapshot, write


def batch(m: M | None, who: str, user: str, number: int) -> Found:
    """Commits one batch of a stream if it is not in the table; ("batch", user, number, uid of its snapshot or None)."""
    written = yield from _written(user, number)
    if written is not None:
        return ("batch", user, number, None)
    newest, _ = yield from latest(m)
    before = yield read("note", user)
    note = ("committing", number, *((0, None) if newest is None else (newest.id, newest.uid)))
    if before is not None and before[1] == number:
        if before[0] == "done":
            return ("batch", user, number, None)
        note = before
    yield write(("note", user), note)
    since = note[2]
    change = Change((user, number), frozenset({f"{user}.{number}.{who}"}))
    _, snap = yield from commit(m, who, change, since)
    yield write(("note", user), ("done", number, snap.id, None))
    return ("batch", user, number, snap.uid)


def _written(user: str, number: int) -> Found:
    """Something, if a batch is in the table for certain; None: it is not, for certain; raises Stopped: nobody knows."""
    note = yield read("note", user)
    if note is None or note[1] < number:
        return None
    if note[0] == "done":
        return note
    ids = yield from snapshot_ids()
    begun = yield read(*snapshot(note[2]))
    is_base = begun is not None and begun.uid == note[3]
    numbers = tuple(n for n in ids[::-1] if not is_base or n > note[2])
    for one in numbers:
        found = yield read(*snapshot(one))
        if found is not None and found.name == (user, number):
            return found
    if not ids or is_base or note[2] + 1 >= ids[0]:
        return None
    search = yield read("search", user)
    if search is not None and search[0] == number:
        if search[2] is not None:
            return search
        earliest = yield from snapshot_ids()
        if not earliest or earliest[0] <= search[1]:
            return None
    raise Stopped("unknown")
