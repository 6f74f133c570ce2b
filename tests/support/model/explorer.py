"""Tries every order of the steps of some jobs on one store, and looks at every state.

A state is what the store holds and where each job stands. Jobs go on one operation at a time; besides that, some of
them die at any point, and some creations are not answered, as often as the scenario allows.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar

from support.model.machine import LOST, REFUSED, Jobs, Kind, Node, Op, Path, Program

Files: TypeAlias = Mapping[Path, Hashable]
Check = TypeVar("Check")
_PENDING = "pending"
_NOTE = "noted"


@dataclass(frozen=True)
class Scenario:
    """Some jobs on one table.

    Attributes:
        files: what is there before.
        jobs: by name.
        crashes: how many jobs may die.
        lost: how many creations are not answered.
        mortal: the jobs that may die.
        later: a job of these begins when no other one is under way.
        refused: the beginning of the paths that cannot be deleted; None: there are none.
    """

    files: Files
    jobs: Mapping[str, Callable[[], Program]]
    crashes: int = 0
    lost: int = 0
    mortal: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()
    refused: Path | None = None


@dataclass(frozen=True)
class View:
    """A state as invariants see it.

    Attributes:
        outcomes: what the jobs returned that are through; ("dead",) of those that died.
        phases: of the jobs that are under way.
    """

    files: Files
    outcomes: Mapping[str, Hashable]
    phases: Mapping[str, Hashable]


class Step(NamedTuple):
    """One operation of one job, with what was there before and after it."""

    actor: str
    op: Op
    answer: Hashable
    before: Files
    after: Files
    phase: Hashable


@dataclass(frozen=True)
class Checks:
    """Invariants by name; each returns True where it holds.

    Attributes:
        of_files: of what is stored, at every moment.
        of_steps: of every operation.
        of_states: of jobs that are under way, at every moment.
        of_ends: of states in which no job is under way any more.
    """

    of_files: Mapping[str, Callable[[Files], bool]] = field(default_factory=dict)
    of_steps: Mapping[str, Callable[[Step], bool]] = field(default_factory=dict)
    of_states: Mapping[str, Callable[[View], bool]] = field(default_factory=dict)
    of_ends: Mapping[str, Callable[[View], bool]] = field(default_factory=dict)

    def only(self, number: str) -> Checks:
        """The invariants of one number."""
        return Checks(
            _of(number, self.of_files),
            _of(number, self.of_steps),
            _of(number, self.of_states),
            _of(number, self.of_ends),
        )

    def numbers(self) -> set[str]:
        kinds = (self.of_files, self.of_steps, self.of_states, self.of_ends)
        return {number for kind in kinds for name in kind for number in name.split()}


def _of(number: str, checks: Mapping[str, Check]) -> Mapping[str, Check]:
    return {name: check for name, check in checks.items() if number in name.split()}


@dataclass(frozen=True)
class Report:
    """What an exploration found.

    Attributes:
        states, steps: how many there are.
        broken: the invariants that do not hold in the first bad state; empty: all hold everywhere.
        trace: how it came to that: who did what to which file.
        complete: whether all states were seen.
    """

    states: int
    steps: int
    seconds: float
    broken: frozenset[str] = frozenset()
    trace: tuple[tuple[str, str, Path], ...] = ()
    complete: bool = True


_State: TypeAlias = tuple[int, ...]  # store, crashes, lost, then the node of each job


class Explorer:
    """All that is known of one scenario; see explore."""

    def __init__(self, scenario: Scenario, checks: Checks) -> None:
        self.scenario, self.checks = scenario, checks
        self.jobs = Jobs(dict(scenario.jobs))
        self.stores: list[Files] = []
        self._ids: dict[frozenset[tuple[Path, Hashable]], int] = {}
        self._results: dict[tuple[int, Op], list[tuple[int, Hashable, int]]] = {}
        self._steps: dict[tuple[int, int], list[tuple[int, int, int, frozenset[str]]]] = {}
        self._bad_files: list[frozenset[str]] = []
        self._bad_phases: dict[tuple[int, tuple[int, ...]], frozenset[str]] = {}

    def start(self) -> _State:
        nodes = (self.jobs.start(name).number for name in self.scenario.jobs)
        return (self.store_id(self.scenario.files), self.scenario.crashes, self.scenario.lost, *nodes)

    def store_id(self, files: Files) -> int:
        key = frozenset(files.items())
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self.stores)
            self.stores.append(files)
            self._bad_files.append(frozenset(n for n, holds in self.checks.of_files.items() if not holds(files)))
        return found

    def explore(self, most: int = 5_000_000) -> Report:
        """Every state that can be reached, until one is bad; nearest first.

        Args:
            most: after so many states the exploration is given up.
        """
        began = time.monotonic()
        first = self.start()
        came_from: dict[_State, tuple[_State, int] | None] = {first: None}
        waiting = deque([first])
        steps = 0
        while waiting:
            state = waiting.popleft()
            for place, following, broken in self.following(state):
                steps += 1
                bad = broken
                if following not in came_from:
                    came_from[following] = (state, place)
                    waiting.append(following)
                    bad = bad | self.broken_in(following)
                if bad:
                    trace = (*self._trace(came_from, state), self.words(state, place))
                    return Report(len(came_from), steps, time.monotonic() - began, bad, trace)
            if len(came_from) > most:
                return Report(len(came_from), steps, time.monotonic() - began, complete=False)
        return Report(len(came_from), steps, time.monotonic() - began)

    def following(self, state: _State) -> Iterator[tuple[int, _State, frozenset[str]]]:
        """The job that goes on, the state after it, and the invariants that its step breaks."""
        store, crashes, lost = state[:3]
        for place in range(3, len(state)):
            node = self.jobs.nodes[state[place]]
            if node.op is None or (node.actor in self.scenario.later and self._waits(state, place)):
                continue
            for new_store, new_node, cost, broken in self.steps_of(store, node):
                if cost <= lost:
                    after = (new_store, crashes, lost - cost, *state[3:place], new_node, *state[place + 1 :])
                    yield place, after, broken
            if crashes and node.actor in self.scenario.mortal:
                dead = self.jobs.dead(node.actor).number
                yield place, (store, crashes - 1, lost, *state[3:place], dead, *state[place + 1 :]), frozenset()

    def _waits(self, state: _State, place: int) -> bool:
        """True if a job that begins when all others have ended has not begun yet, and some other one goes on."""
        if self.jobs.nodes[state[place]].history:
            return False
        return any(self.jobs.nodes[n].op is not None for n in (*state[3:place], *state[place + 1 :]))

    def steps_of(self, store: int, node: Node) -> list[tuple[int, int, int, frozenset[str]]]:
        """For each answer to the operation of a job: the store and the node after it, lost answers, what it breaks."""
        found = self._steps.get((store, node.number))
        if found is None:
            assert node.op is not None
            found = []
            for new_store, answer, cost in self._results_of(store, node.op):
                files = self.stores[store], self.stores[new_store]
                step = Step(node.actor, node.op, answer, *files, node.phase)
                broken = frozenset(name for name, holds in self.checks.of_steps.items() if not holds(step))
                found.append((new_store, self.jobs.after(node, answer).number, cost, broken))
            self._steps[store, node.number] = found
        return found

    def broken_in(self, state: _State) -> frozenset[str]:
        """The invariants that do not hold in a state."""
        broken = self._bad_files[state[0]]
        nodes = [self.jobs.nodes[number] for number in state[3:]]
        phases = tuple(node.number for node in nodes if node.phase is not None)
        if phases:
            broken |= self._broken_phases(state[0], phases)
        if all(node.op is None or node.actor == "network" for node in nodes):
            outcomes = {node.actor: node.outcome for node in nodes if node.op is None}
            view = View(self.stores[state[0]], outcomes, {})
            broken |= {name for name, holds in self.checks.of_ends.items() if not holds(view)}
        return broken

    def _broken_phases(self, store: int, numbers: tuple[int, ...]) -> frozenset[str]:
        found = self._bad_phases.get((store, numbers))
        if found is None:
            nodes = [self.jobs.nodes[number] for number in numbers]
            view = View(self.stores[store], {}, {node.actor: node.phase for node in nodes})
            found = frozenset(name for name, holds in self.checks.of_states.items() if not holds(view))
            self._bad_phases[store, numbers] = found
        return found

    def _results_of(self, store: int, op: Op) -> list[tuple[int, Hashable, int]]:
        found = self._results.get((store, op))
        if found is None:
            results = done(self.stores[store], op, self.scenario.refused)
            found = [(self.store_id(files), answer, cost) for files, answer, cost in results]
            self._results[store, op] = found
        return found

    def words(self, state: _State, place: int) -> tuple[str, str, Path]:
        node = self.jobs.nodes[state[place]]
        assert node.op is not None
        return node.actor, node.op.kind, node.op.path

    def _trace(
        self, came_from: Mapping[_State, tuple[_State, int] | None], state: _State
    ) -> list[tuple[str, str, Path]]:
        trace = []
        step = came_from[state]
        while step is not None:
            trace.append(self.words(*step))
            step = came_from[step[0]]
        return trace[::-1]


def done(files: Files, op: Op, refused: Path | None = None) -> list[tuple[Files, Hashable, int]]:
    """What an operation may come to: the files after it, its answer, and how many answers were lost."""
    path = op.path
    if op.kind == Kind.READ:
        return [(files, files.get(path), 0)]
    if op.kind == Kind.LIST:
        listed = sorted((p for p in files if p[: len(path)] == path), key=repr)
        return [(files, tuple(listed), 0)]
    if op.kind == Kind.DELETE:
        if refused is not None and path[: len(refused)] == refused:
            return [(files, REFUSED, 0)]
        if isinstance(op.content, tuple) and any(files.get(p) != content for p, content in op.content):
            return [(files, False, 0)]
        left = {p: content for p, content in files.items() if p != path}
        return [(_noted(left, op, files[path]) if path in files else files, None, 0)]
    after = _noted({**files, path: op.content}, op, files.get(path))
    if op.kind == Kind.WRITE:
        return [(after, None, 0)]
    if path in files:
        return [(files, False, 0), (files, LOST, 1)]
    coming = {**files, (_PENDING, path): op}
    return [(after, True, 0), (after, LOST, 1), (files, LOST, 1), (coming, LOST, 1)]


def _noted(files: dict[Path, Hashable], op: Op, old: Hashable) -> dict[Path, Hashable]:
    """Adds the notes of an operation. They are of the snapshot that was there before, if there was one."""
    if old is not None:
        files.update({(_NOTE, *note, getattr(old, "uid", old)): True for note in op.notes})
    return files


def noted(files: Files, *beginning: Hashable) -> list[Path]:
    """What the checker remembers, by the beginning of its name."""
    start = (_NOTE, *beginning)
    return [path[len(start) :] for path in files if path[: len(start)] == start]


def network() -> Program:
    """Brings a creation to the store whose answer was lost, at any later time."""
    while True:
        coming = yield Op(Kind.LIST, (_PENDING,))
        if coming:
            path = coming[0]
            op = yield Op(Kind.READ, path)
            yield Op(Kind.DELETE, path)
            yield op
