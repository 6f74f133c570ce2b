"""Tries out what tables need of a storage, step by step, in a scratch directory of its own that is deleted again.

Each step says what it found, and what to do where it found something wrong. Nothing else is changed.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from threading import Barrier

from paimon_spark.errors import PaimonError
from paimon_spark.file_io.base import DirectoryIO
from paimon_spark.file_io.conditional_put import OPTION
from paimon_spark.file_io.locate import absolute_location, file_io_for

_SCRATCH = ".paimon-doctor-"
_NAME = "dt=a%3Ab é"
_LARGE = 9 * 2**20  # more than a part of an upload has
_RACES, _RACERS = 10, 4
_SECONDS_APART, _SECONDS_TOO_FAR = 5, 60
_MILLIS = 1000
_CREDENTIALS: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...] = (
    (("s3", "s3a", "s3n"), "access", ("AWS_ACCESS_KEY_ID",)),
    (("gs",), "keyfile", ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_KEY")),
    (
        ("az", "abfs", "abfss"),
        "fs.azure.",
        ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_CLIENT_ID", "AZURE_CLIENT_ID"),
    ),
    (("oss", "cosn", "obs"), "secret", ()),
)


class Outcome(StrEnum):
    """Of a step."""

    GOOD = "ok"
    NOTE = "note"
    BAD = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Finding:
    """What a step found.

    Attributes:
        step: its name.
        message: one sentence; of a bad outcome with what to do next.
    """

    step: str
    outcome: Outcome
    message: str


@dataclass(frozen=True)
class _Trial:
    """What the steps work on. scratch: the directory of the trial."""

    io: DirectoryIO
    location: str
    scratch: str


def examine(location: str, options: Mapping[str, str], writes: bool = True) -> Iterator[Finding]:
    """Tries out the storage of a location; a step that needs another one which failed is skipped.

    Args:
        location: of a table, a warehouse, or a directory in which one is to be; it need not be there.
        options: storage options; others are ignored.
        writes: False only reads.
    """
    io: DirectoryIO | None = None
    try:
        location = absolute_location(location)
        io = file_io_for(location, options)
        yield Finding("storage", Outcome.GOOD, _description(location, options))
    except PaimonError as error:
        yield Finding("storage", Outcome.BAD, str(error))
    failed = io is None
    for step, work in _READING:
        if failed or io is None:
            yield _skipped(step)
            continue
        found = _run(step, work, _Trial(io, location, ""))
        failed = found.outcome is Outcome.BAD
        yield found
    if io is None or failed or not writes:
        why = "" if failed else "only reads were asked for"
        yield from (_skipped(step, why) for step, _ in (*_WRITING, ("clean up", _cleaned)))
        return
    yield from _written(io, location)


def _written(io: DirectoryIO, location: str) -> Iterator[Finding]:
    trial = _Trial(io, location, f"{_existing(io, location)}/{_SCRATCH}{uuid.uuid4()}")
    failed = False
    try:
        for number, (step, work) in enumerate(_WRITING):
            if failed:
                yield _skipped(step)
                continue
            found = _run(step, work, trial)
            yield found
            failed = number == 0 and found.outcome is Outcome.BAD  # who cannot write one file is asked no more
    finally:
        cleaned = _run("clean up", _cleaned, trial)
    yield cleaned


def _run(step: str, work: Callable[[_Trial], tuple[Outcome, str]], trial: _Trial) -> Finding:
    try:
        return Finding(step, *work(trial))
    except (PaimonError, OSError) as error:
        return Finding(step, Outcome.BAD, str(error))


def _skipped(step: str, why: str = "") -> Finding:
    return Finding(step, Outcome.SKIPPED, why or "a step before it failed")


def _description(location: str, options: Mapping[str, str]) -> str:
    scheme = location.partition("://")[0] if "://" in location else "file"
    endpoints = [value for key, value in options.items() if key.lower().endswith(("endpoint", "root.url"))]
    place = f" at {endpoints[0]}" if endpoints else ""
    for schemes, word, variables in _CREDENTIALS:
        if scheme in schemes:
            variable = next((name for name in variables if os.environ.get(name)), "")
            if any(word in key.lower() for key in options):
                source = "the options"
            else:
                source = f"{variable} in the environment" if variable else "the machine, if it has any"
            return f"{scheme}{place}, with credentials of {source}"
    return "the disk of this machine: jobs on other machines do not see it" if scheme == "file" else f"{scheme}{place}"


def _listed(trial: _Trial) -> tuple[Outcome, str]:
    entries = trial.io.list(trial.location)
    if not entries and not trial.io.exists(trial.location):
        return Outcome.NOTE, f"there is nothing at {trial.location} yet; the storage answers"
    folders = sum(status.is_directory for status in entries)
    return Outcome.GOOD, f"{len(entries) - folders} files and {folders} directories"


def _read(trial: _Trial) -> tuple[Outcome, str]:
    """Reads the oldest schema of a table, or any file that is there."""
    files = [s for s in trial.io.list(f"{trial.location}/schema") if not s.is_directory]
    files = files or [s for s in trial.io.list(trial.location) if not s.is_directory]
    if not files:
        return Outcome.NOTE, "there is no file to read yet"
    file = min(files, key=lambda status: status.size)
    if len(trial.io.read_bytes(file.path)) != file.size:
        return Outcome.BAD, f"{file.path} has other bytes than the list says: {_ASK}"
    return Outcome.GOOD, f"{file.path} has {file.size} bytes"


def _wrote(trial: _Trial) -> tuple[Outcome, str]:
    path, data = f"{trial.scratch}/first", os.urandom(100)
    trial.io.write_bytes(path, data)
    if trial.io.read_bytes(path) != data or [s.size for s in trial.io.list(trial.scratch)] != [len(data)]:
        return Outcome.BAD, f"a file that was just written is not read or listed as it was written: {_ASK}"
    return Outcome.GOOD, "a new file is read and listed at once"


def _large(trial: _Trial) -> tuple[Outcome, str]:
    path, part = f"{trial.scratch}/large/x", os.urandom(2**20)
    began = time.monotonic()
    with trial.io.open_output(path) as stream:
        for _ in range(_LARGE // len(part)):
            stream.write(part)
    seconds = time.monotonic() - began
    with trial.io.open_input(path) as source:
        source.seek(_LARGE - 10)
        if source.read(10) != part[-10:]:
            return Outcome.BAD, f"the end of a large file is not what was written: {_ASK}"
    return Outcome.GOOD, f"{_LARGE / 2**20:.0f} MiB in {seconds:.1f} s, in parts where the storage has them"


def _names(trial: _Trial) -> tuple[Outcome, str]:
    path = f"{trial.scratch}/{_NAME}/{_NAME}"
    trial.io.write_bytes(path, b"1")
    if [s.name for s in trial.io.list(f"{trial.scratch}/{_NAME}")] != [_NAME] or trial.io.read_bytes(path) != b"1":
        return Outcome.BAD, f"the name '{_NAME}', as partitions have it, comes back as another one: {_ASK}"
    return Outcome.GOOD, "names of partitions come back as they are"


def _raced(trial: _Trial) -> tuple[Outcome, str]:
    """Each race has one winner, whose bytes stay."""
    start = Barrier(_RACERS)

    def create(race: int, racer: int) -> bool:
        start.wait()
        return trial.io.create_if_absent(f"{trial.scratch}/race-{race}", b"%d" % racer)

    if getattr(trial.io, "unproved", False):
        return Outcome.NOTE, (
            f"'{OPTION}' is set, and nothing keeps two jobs from overwriting each other's commits; "
            "leave it out to see if the storage does"
        )
    trial.io.create_if_absent(f"{trial.scratch}/alone", b"")  # a store that cannot says so here
    with ThreadPoolExecutor(_RACERS) as threads:
        for race in range(_RACES):
            won = list(threads.map(create, [race] * _RACERS, range(_RACERS)))
            kept = trial.io.read_bytes(f"{trial.scratch}/race-{race}")
            if won.count(True) > 1 or (True in won and kept != b"%d" % won.index(True)):
                return Outcome.BAD, (
                    "several writers were told at once that each created the same file, so commits would be lost: do "
                    "not write here without a catalog that locks (jdbc, hive or rest)"
                )
    return Outcome.GOOD, f"{_RACES} races of {_RACERS} for one new name had one winner each: commits are safe"


def _overwrote(trial: _Trial) -> tuple[Outcome, str]:
    path = f"{trial.scratch}/hint"
    for data in (b"1", b"22"):
        trial.io.overwrite(path, data)
        if trial.io.read_bytes(path) != data:
            return Outcome.BAD, f"a file that was replaced still has its old content: {_ASK}"
    return Outcome.GOOD, "a replaced file is read anew at once"


def _renamed(trial: _Trial) -> tuple[Outcome, str]:
    if not trial.io.moves_directories:
        return (
            Outcome.NOTE,
            "an object store renames no directory in one step: a filesystem catalog renames no table here",
        )
    for name in ("from", "taken"):
        trial.io.write_bytes(f"{trial.scratch}/{name}/x", name.encode())
    if trial.io.move_directory(f"{trial.scratch}/from", f"{trial.scratch}/taken"):
        return Outcome.BAD, f"a directory was renamed to a name that another one has: {_ASK}"
    moved = trial.io.move_directory(f"{trial.scratch}/from", f"{trial.scratch}/to")
    if not moved or trial.io.read_bytes(f"{trial.scratch}/to/x") != b"from":
        return Outcome.BAD, f"a directory that was renamed is not there: {_ASK}"
    return Outcome.GOOD, "a directory is renamed in one step, and never over another one"


def _deleted(trial: _Trial) -> tuple[Outcome, str]:
    paths = [f"{trial.scratch}/gone/{number}" for number in range(3)]
    for path in paths:
        trial.io.write_bytes(path, b"")
    trial.io.delete_many([*paths, f"{trial.scratch}/gone/absent"])
    if [path for path in paths if trial.io.exists(path)]:
        return Outcome.BAD, f"files that were deleted are still there: {_ASK}"
    return Outcome.GOOD, "files are deleted, and a missing one is no error"


def _clock(trial: _Trial) -> tuple[Outcome, str]:
    trial.io.write_bytes(f"{trial.scratch}/clock/x", b"1")
    (found,) = trial.io.list(f"{trial.scratch}/clock")
    if not found.modified_millis:
        return Outcome.NOTE, "the storage does not tell when a file was changed: no orphan file can be found old enough"
    apart = found.modified_millis / _MILLIS - time.time()
    if abs(apart) <= _SECONDS_APART:
        return Outcome.GOOD, "the storage and this machine have the same time"
    side = "ahead of" if apart > 0 else "behind"
    return (Outcome.BAD if abs(apart) > _SECONDS_TOO_FAR else Outcome.NOTE), (
        f"the clock of the storage is {abs(apart):.0f} s {side} that of this machine: set it right, for ages of files "
        "decide what is deleted"
    )


def _cleaned(trial: _Trial) -> tuple[Outcome, str]:
    try:
        trial.io.delete_directory(trial.scratch)
        left = trial.io.exists(trial.scratch)
    except (PaimonError, OSError) as error:
        return Outcome.BAD, f"{trial.scratch} could not be deleted, delete it by hand: {error}"
    return (Outcome.BAD if left else Outcome.GOOD), (
        f"{trial.scratch} is still there: delete it by hand" if left else "all that was written is deleted again"
    )


def _existing(io: DirectoryIO, location: str) -> str:
    """The location, or the nearest directory above it that exists, where a file does not make directories that stay."""
    if not io.moves_directories:
        return location
    place = location
    with suppress(PaimonError, OSError):
        while not io.exists(place) and "/" in place.partition("://")[2].strip("/") + place.removeprefix("/"):
            place = place.rpartition("/")[0]
    return place


_ASK = "ask who runs the storage"
_READING = (("list", _listed), ("read", _read))
_WRITING = (
    ("write", _wrote),
    ("large file", _large),
    ("names", _names),
    ("conditional create", _raced),
    ("overwrite", _overwrote),
    ("rename", _renamed),
    ("delete", _deleted),
    ("clock", _clock),
)
