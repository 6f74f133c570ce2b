"""Lets real jobs go on in the order of the steps of the model: what the model does to a file, they do to theirs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from support.model.machine import Kind, Path
from support.model.values import MAIN
from support.simulation.stage import FOREVER, Actor

Step = tuple[str, str, Path]
"""Who does what to which file."""
_KINDS = {
    "read": Kind.READ,
    "exists": Kind.READ,
    "open": Kind.READ,
    "publish": Kind.CREATE,
    "overwrite": Kind.WRITE,
    "write": Kind.WRITE,
    "delete": Kind.DELETE,
    "list": Kind.LIST,
}
_FILES = (
    (r"snapshot/snapshot-(\d+)", lambda branch, n: ("snapshot", branch, int(n))),
    (r"snapshot/LATEST", lambda branch: ("LATEST", branch)),
    (r"snapshot/\.expiring-(\d+)-.*", lambda branch, n: ("marks", branch, "expiring", int(n))),
    (r"snapshot/\.holding-(\d+)-.*", lambda branch, n: ("marks", branch, "holding", int(n))),
    (r"tag/tag-(.+)", lambda branch, name: ("tag", branch, name)),
    (r"tag/\.deleting-(.+)", lambda branch, name: ("tag marks", branch, "deleting", name)),
    (r"tag/\.holding-(\d+)-.*", lambda branch, n: ("tag marks", branch, "holding", int(n))),
    (r"schema/schema-\d+", lambda branch: ("schema",)),
)
_CHANGES = (Kind.CREATE, Kind.WRITE, Kind.DELETE)
_LISTED = {"snapshot": ("snapshot", "marks"), "tag": ("tag", "tag marks")}


def meanings(operation: str, path: str, location: str) -> list[tuple[Kind, Path]]:
    """What an operation of a real job may be in the model; of paths of marks without the name of the job."""
    inside = re.fullmatch(rf"{re.escape(location)}/(?:branch/branch-([^/]+)/)?(.+)", path)
    kind = _KINDS.get(operation)
    if inside is None or kind is None:
        return []
    branch, rest = inside[1] or MAIN, inside[2]
    if kind == Kind.LIST:
        return [(kind, (name, branch)) for name in _LISTED.get(rest, ())]
    for pattern, named in _FILES:
        found = re.fullmatch(pattern, rest)
        if found is not None:
            return [(kind, named(branch, *found.groups()))]
    return []


def is_meant(step: Step, operation: tuple[str, str] | None, location: str) -> bool:
    """True if an operation of a real job is a step of the model."""
    if operation is None:
        return False
    _, kind, path = step
    for real_kind, real in meanings(*operation, location):
        shorter = min(len(real), len(path))
        if real_kind == kind and real[:shorter] == path[:shorter]:
            return True
    return False


def follow(actors: Mapping[str, Actor], steps: Sequence[Step], location: str) -> int:
    """Lets jobs go on as the model does, then to their ends, in the order of their names.

    What a job reads beside the steps of the model, it reads before its next one; it changes no file before its turn.

    Returns:
        How many changes of the model the jobs made.
    """
    known = [step for step in steps if step[2][0] not in ("meta", "data", "clock")]
    made = 0
    for number, step in enumerate(known):
        actor = actors[step[0]]
        later = [other for other in known[number + 1 :] if other[0] == step[0] and other[1] in _CHANGES]
        if actor.pending is None:
            actor.go_on(0)
        while actor.outcome is None:
            is_this = is_meant(step, actor.pending, location)
            if not is_this and any(is_meant(other, actor.pending, location) for other in later):
                break
            actor.go_on(1)
            if is_this:
                made += step[1] in _CHANGES
                break
    for actor in actors.values():
        if actor.outcome is None:
            actor.go_on(FOREVER)
    return made
