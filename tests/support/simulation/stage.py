"""A stage: several actors, each a thread that runs the real thing, of which one at a time goes on, as a seed says.

The seam is the FileIO: before each of its operations an actor waits until it is let go on. So a run depends on nothing
but its seed: pools of threads are made to work where they are called, names are drawn from the seed, and the clock goes
on by operations.
"""

from __future__ import annotations

import random
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any, NoReturn
from unittest import mock

from paimon_spark.errors import PaimonError
from paimon_spark.file_io import FileIO, FileStatus, OutputStream
from paimon_spark.file_io.base import WholeOrNothing
from support.faults.faulty_store import FaultyFileIO, When, fail

OPERATION_MILLIS = 1000
FOREVER = 10**9
PAGED = 0.5
"""How many listings come in pages."""


class Killed(BaseException):
    """The process of this actor is dead: whatever it tries from now on has no effect."""


def die() -> NoReturn:
    raise Killed


@dataclass(frozen=True)
class Fault:
    """What goes wrong for an actor. at, named, when: as for FaultyFileIO; kills: whether its process ends there."""

    at: int
    when: When
    kills: bool
    named: str | None = None


@dataclass
class Stored:
    """The one store of a stage, and what is known of its files.

    Attributes:
        inner: holds the bytes.
        now: the clock, epoch millis.
        modified, makers: for each file when it was written last, and by whom.
        changed: the files that came, went or became others since somebody looked, and by whom.
        who: the actor whose turn it is.
        actors: those under way, by their threads.
    """

    inner: FileIO
    now: int = 1_700_000_000_000
    modified: dict[str, int] = field(default_factory=dict)
    makers: dict[str, str] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)
    who: str = "nobody"
    actors: dict[int, Actor] = field(default_factory=dict)

    def came(self, path: str) -> None:
        self.modified[path], self.makers[path] = self.now, self.who
        self._note(path)

    def went(self, path: str) -> None:
        if self.modified.pop(path, None) is not None:
            self._note(path)

    def _note(self, path: str) -> None:
        self.changed.pop(path, None)  # the last change of a file counts, in the order of the last changes
        self.changed[path] = self.who

    def sleep(self, actor: Actor | None, seconds: float) -> None:
        """Who waits lets others go on."""
        self.now += round(seconds * 1000)
        if actor is not None:
            actor.pause("sleep", f"{seconds}")


class Actor:
    """Something that is done by one call, operation by operation.

    Attributes:
        outcome: None as long as it is under way; then "done", "killed", or what it failed with.
        trace: its operations so far.
        pending: the operation before which it waits: its name and path.
    """

    def __init__(self, name: str, stored: Stored, chance: random.Random, fault: Fault | None = None) -> None:
        self.name = name
        self.stored = stored
        self.chance = chance
        self.began = stored.now
        self.error: BaseException | None = None
        self.outcome: str | None = None
        self.trace: list[str] = []
        self.pending: tuple[str, str] | None = None
        self._allowed = 0
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self.file_io: FileIO = StagedFileIO(stored, self)
        if fault is not None:
            act, lasting = (die, True) if fault.kills else (fail, False)
            self.file_io = FaultyFileIO(self.file_io, fault.at, fault.when, act, lasting, fault.named)

    def start(self, action: Callable[[FileIO], object]) -> None:
        """Gets ready; nothing runs before go_on."""
        threading.Thread(target=self._run, args=(action,), daemon=True, name=self.name).start()

    def go_on(self, operations: int) -> bool:
        """Lets it do some operations; whether it is through then."""
        self._allowed = operations
        self.stored.who = self.name
        self._go.release()
        self._back.acquire()
        return self.outcome is not None

    def pause(self, operation: str, path: str) -> None:
        """Called by the store before an operation."""
        self.pending = (operation, path)
        while self._allowed <= 0:
            self._back.release()
            self._go.acquire()
        self._allowed -= 1
        self.stored.now += OPERATION_MILLIS
        self.trace.append(f"{operation} {path}")

    def _run(self, action: Callable[[FileIO], object]) -> None:
        self._go.acquire()
        self.stored.actors[threading.get_ident()] = self
        try:
            action(self.file_io)
            self.outcome = "done"
        except Killed:
            self.outcome = "killed"
        except (PaimonError, OSError) as error:
            self.error, self.outcome = error, type(error).__name__
        except BaseException as error:
            self.error, self.outcome = error, f"broken: {''.join(traceback.format_exception(error))}"
        finally:
            del self.stored.actors[threading.get_ident()]
            self._back.release()


@dataclass
class StagedFileIO:
    """The store as one actor uses it.

    A listing may be as that of a store that answers page by page: names of the first pages as they were when it began,
    the others as they were when it ended.
    """

    stored: Stored
    actor: Actor

    def read_bytes(self, path: str) -> bytes:
        self.actor.pause("read", path)
        return self.stored.inner.read_bytes(path)

    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        self.actor.pause("open", path)
        return self.stored.inner.open_input(path, size)

    def open_output(self, path: str) -> StagedStream:
        self.actor.pause("create", path)
        return StagedStream(self, path, self.stored.inner.open_output(path))

    def write_bytes(self, path: str, data: bytes) -> None:
        self.actor.pause("write", path)
        self.stored.inner.write_bytes(path, data)
        self.stored.came(path)

    def create_if_absent(self, path: str, data: bytes) -> bool:
        self.actor.pause("publish", path)
        created = self.stored.inner.create_if_absent(path, data)
        if created:
            self.stored.came(path)
        return created

    def overwrite(self, path: str, data: bytes) -> None:
        self.actor.pause("overwrite", path)
        self.stored.inner.overwrite(path, data)
        self.stored.came(path)

    def _listed(self, path: str) -> list[FileStatus]:
        found = sorted(self.stored.inner.list(path), key=lambda status: status.name)
        modified = self.stored.modified
        return [s if s.is_directory else s._replace(modified_millis=modified.get(s.path, 0)) for s in found]

    def list(self, path: str) -> list[FileStatus]:
        self.actor.pause("list", path)
        first = self._listed(path)
        if self.actor.chance.random() >= PAGED:
            return first
        self.actor.pause("list on", path)
        second = self._listed(path)
        names = sorted({status.name for status in (*first, *second)})
        border = self.actor.chance.choice(names) if names else ""
        pages = [s for s in first if s.name < border] + [s for s in second if s.name >= border]
        return sorted(pages, key=lambda status: status.name)

    def exists(self, path: str) -> bool:
        self.actor.pause("exists", path)
        return self.stored.inner.exists(path)

    def delete(self, path: str) -> None:
        self.actor.pause("delete", path)
        self.stored.inner.delete(path)
        self.stored.went(path)

    def delete_many(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.delete(path)

    def move_file(self, path: str, target: str) -> None:
        self.actor.pause("move", path)
        self.stored.inner.move_file(path, target)

    def remove_empty_directory(self, path: str) -> bool:
        self.actor.pause("remove", path)
        return self.stored.inner.remove_empty_directory(path)


@dataclass
class StagedStream(WholeOrNothing):
    """A file being written; it is seen when it is closed."""

    store: StagedFileIO
    path: str
    inner: OutputStream

    @property
    def closed(self) -> bool:
        return self.inner.closed

    def write(self, data: bytes | bytearray | memoryview, /) -> int:
        return self.inner.write(data)

    def flush(self) -> None:
        self.inner.flush()

    def tell(self) -> int:
        return self.inner.tell()

    def close(self) -> None:
        if self.inner.closed:
            return
        self.store.actor.pause("close", self.path)
        self.inner.close()
        self.store.stored.came(self.path)

    def discard(self) -> None:
        self.inner.discard()


@contextmanager
def on_stage(stored: Stored, chance: random.Random) -> Iterator[None]:
    """What else would differ from run to run comes from the seed.

    Only for the actors and the caller: this process has other threads, which wait and draw names when they like.
    """
    caller, submit, uuid4, time_ns, sleep = (
        threading.get_ident(), ThreadPoolExecutor.submit, uuid.uuid4, time.time_ns, time.sleep,
    )  # fmt: skip

    def is_staged() -> bool:
        return threading.get_ident() in (caller, *stored.actors)

    def names() -> uuid.UUID:
        return uuid.UUID(int=chance.getrandbits(128), version=4) if is_staged() else uuid4()

    def nanos() -> int:
        return stored.now * 1_000_000 if is_staged() else time_ns()

    def wait(seconds: float) -> None:
        if is_staged():
            stored.sleep(stored.actors.get(threading.get_ident()), seconds)
        else:
            sleep(seconds)

    def here(pool: ThreadPoolExecutor, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        return _at_once(function, *args, **named) if is_staged() else submit(pool, function, *args, **named)

    with (
        mock.patch.object(ThreadPoolExecutor, "submit", here),
        mock.patch.object(uuid, "uuid4", names),
        mock.patch.object(time, "time_ns", nanos),
        mock.patch.object(time, "sleep", wait),
    ):
        yield


def _at_once(function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
    """What a pool would do in another thread is done at once, in that of the actor."""
    future: Future[Any] = Future()
    try:
        future.set_result(function(*args, **named))
    except BaseException as error:
        future.set_exception(error)
    return future
