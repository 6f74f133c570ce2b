"""Lets real jobs go on in the order of the steps of the model: what the model does to a file, they do to theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from support.model.explorer import Explorer
from support.model.machine import Kind, Op, Path
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
_FREE = frozenset({"meta", "data", "clock", "consumer"})
"""Files whose order among the others is not compared."""


def meanings(operation: str, path: str, location: str) -> list[tuple[Kind, Path]]:
    """What an operation of a real job may be in the model; of paths of marks without the name of the job."""
    inside = re.fullmatch(rf"{re.escape(location)}/(?:branch/branch-([^/]+)/)?(.+)", path)
    kind = _KINDS.get(operation)
    if inside is None or kind is None:
        return []
    branch, rest = inside[1] or MAIN, inside[2]
    if rest == "branch":
        return [(kind, ("snapshot",)), (kind, ("tag",))]
    if rest == "snapshot/EARLIEST" and kind == Kind.READ:
        return [(Kind.LIST, ("snapshot", branch))]  # the model has no such hint
    if kind == Kind.LIST:
        return [(kind, (name, branch)) for name in _LISTED.get(rest, ())]
    if rest.startswith("manifest/"):
        return [(kind, ("meta",))] if kind == Kind.READ else []
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
    return any(real_kind == kind and _is_same(path, real) for real_kind, real in meanings(*operation, location))


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


Event = tuple[str, str, str]
"""Who, what, and the path: an operation of a real job."""


class Tracing:
    """Follows real jobs in the model: all states in which it may be after their operations.

    Each change that a real job makes must be one that its model can make now. What the model reads, the real job must
    read at the same moment; it may read more.
    """

    def __init__(self, explorer: Explorer, location: str) -> None:
        self._explorer, self._location = explorer, location
        self._places = {name: number for number, name in enumerate(explorer.scenario.jobs, start=3)}
        self.states = {self._settled(explorer.start())}

    def goes_on(self, event: Event) -> bool:
        """Takes one operation; False: the model cannot do it."""
        found = meanings(event[1], event[2], self._location)
        if not found:
            return True
        place = self._places[event[0]]
        reached = {after for state in self.states for after in self._steps(state, place, found)}
        if found[0][0] in _CHANGES:
            if found[0][0] == Kind.DELETE:  # of what is not there: nothing happens
                reached |= {state for state in self.states if not self._is_there(state, found[0][1])}
            self.states = reached
            return bool(reached)
        while reached - self.states:
            self.states |= reached
            reached = {after for state in reached for after in self._steps(state, place, found)}
        return True

    def _steps(
        self, state: tuple[int, ...], place: int, found: Sequence[tuple[Kind, Path]]
    ) -> Iterator[tuple[int, ...]]:
        node = self._explorer.jobs.nodes[state[place]]
        if node.op is None:
            return
        op = node.op
        kinds = {kind for kind, _ in found}
        for store, after, lost, _ in self._explorer.steps_of(state[0], node):
            if lost:
                continue
            is_look = op.kind == Kind.DELETE and Kind.READ in kinds and op.content and store == state[0]
            paths = [path for path, _ in op.content] if is_look and isinstance(op.content, tuple) else [op.path]
            if (op.kind in kinds or is_look) and any(_is_same(path, real) for path in paths for _, real in found):
                yield self._settled((store, *state[1:place], after, *state[place + 1 :]))

    def _is_there(self, state: tuple[int, ...], real: Path) -> bool:
        return any(_is_same(path, real) for path in self._explorer.stores[state[0]])

    def _settled(self, state: tuple[int, ...]) -> tuple[int, ...]:
        """The state after the steps that are not compared."""
        for place in range(3, len(state)):
            node = self._explorer.jobs.nodes[state[place]]
            while node.op is not None and _is_free(node.op):
                store, after, _, _ = self._explorer.steps_of(state[0], node)[0]
                state = (store, *state[1:place], after, *state[place + 1 :])
                node = self._explorer.jobs.nodes[after]
        return state


def _is_same(path: Path, real: Path) -> bool:
    shorter = min(len(path), len(real))
    return path[:shorter] == real[:shorter]


def _is_free(op: Op) -> bool:
    """True if the order of an operation among the others is not compared; a listing has the ages of holds."""
    if op.kind == Kind.READ and op.path[0] == "meta":
        return False
    return op.path[0] in _FREE or (op.kind == Kind.READ and op.path[2:3] == ("holding",))
