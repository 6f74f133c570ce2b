"""A job of the model: a generator that yields one operation on storage at a time and is sent its answer.

A job is written as the code is, from top to bottom. Its state between two operations is the place where it stands and
what its local variables hold, so two histories that lead to the same place and values are one state. For that to be
true a job obeys three rules: its local variables hold values that can be hashed; a loop runs over distinct elements of
a local variable; no operation stands in a ``finally`` or ``with`` block.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass, field
from enum import StrEnum
from types import FrameType, GeneratorType
from typing import Any, NamedTuple, TypeAlias

Path: TypeAlias = tuple[Hashable, ...]


class Kind(StrEnum):
    """An operation on storage: each is atomic, and nothing else is."""

    READ = "read"
    LIST = "list"
    CREATE = "create"
    WRITE = "write"
    DELETE = "delete"


class Op(NamedTuple):
    """One operation.

    Attributes:
        kind: what is done.
        path: of the file; of a listing the beginning of the paths.
        content: what is created or written. Of a deletion: (path, content) of files that must be as the job has just
            seen them, else nothing is deleted. No storage can do that: it stands for a look directly before.
        notes: what the checker remembers of it, as names of files that no job sees.
    """

    kind: Kind
    path: Path
    content: Hashable = None
    notes: tuple[Path, ...] = ()


Program: TypeAlias = Generator[Op, Any, Any]
LOST = "no answer"
"""The answer to a creation of which nobody knows whether it was done, or will be."""
REFUSED = "refused"
"""The answer to a deletion that the storage does not allow."""


class Stopped(Exception):
    """A job ends with an error; its argument is the name of the error."""


@dataclass(eq=False)
class Node:
    """A job at one point between two operations.

    Attributes:
        number: of the node, for the states of the explorer.
        op: what it does next; None: it is through.
        outcome: what it returned, or ("failed", name); None: it is under way.
        phase: what its variable ``phase`` holds, or None.
        history: answers that lead here.
        following: by answer.
    """

    actor: str
    number: int
    op: Op | None
    outcome: Hashable
    phase: Hashable
    history: tuple[Any, ...]
    following: dict[Any, Node] = field(default_factory=dict)


class Jobs:
    """The states of jobs, made as they are reached."""

    def __init__(self, programs: dict[str, Callable[[], Program]]) -> None:
        self._programs = programs
        self._by_key: dict[Hashable, Node] = {}
        self.nodes: list[Node] = []

    def start(self, actor: str) -> Node:
        return self._node(actor, ())

    def dead(self, actor: str) -> Node:
        """The process of the job has ended in the middle of its work."""
        return self._intern((actor, "dead"), lambda n: Node(actor, n, None, ("dead",), None, ()))

    def after(self, node: Node, answer: Any) -> Node:
        found = node.following.get(answer)
        if found is None:
            found = node.following[answer] = self._node(node.actor, (*node.history, answer))
        return found

    def _node(self, actor: str, history: tuple[Any, ...]) -> Node:
        program = self._programs[actor]()
        op: Op | None = None
        outcome: Hashable = None
        try:
            op = next(program)
            for answer in history:
                op = program.send(answer)
        except StopIteration as end:
            op, outcome = None, end.value if end.value is not None else "done"
        except Stopped as error:
            op, outcome = None, ("failed", error.args[0])
        if op is None:
            return self._intern((actor, outcome), lambda n: Node(actor, n, None, outcome, None, history))
        places, phase = _standing(program)
        node = self._intern((actor, places), lambda n: Node(actor, n, op, None, phase, history))
        assert node.op == op, f"{actor}: a hidden variable; {node.op} and {op} follow one state"
        return node

    def _intern(self, key: Hashable, make: Callable[[int], Node]) -> Node:
        node = self._by_key.get(key)
        if node is None:
            node = self._by_key[key] = make(len(self.nodes))
            self.nodes.append(node)
        return node


def _standing(program: Program) -> tuple[Hashable, Hashable]:
    """Where a generator stands and what it holds, with all that it has called; and its phase."""
    places: list[Hashable] = []
    phase: Hashable = None
    generator: Any = program
    while isinstance(generator, GeneratorType):
        frame: FrameType | None = generator.gi_frame
        assert frame is not None
        held = frame.f_locals
        phase = held.get("phase", phase)
        places.append((frame.f_code.co_name, frame.f_lasti, tuple(sorted(held.items(), key=lambda item: item[0]))))
        generator = generator.gi_yieldfrom
    return tuple(places), phase
