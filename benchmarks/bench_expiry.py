"""Expiry of 1,000 snapshots of a table of 100,000 files; the files hold a few bytes, the metadata are real."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import bench_plan
from measure import Results, printed_apart, resident_peak

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "interop"))

import java_expiry  # the interop tests are no package
from genuine import Genuine, java_process
from genuine_jars import JavaUnavailable
from java_expiry import Settings

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import DataFileMeta, FileKind, ManifestEntry
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.store.commit.attempt import CommitRequest, Proposal
from paimon_spark.store.commit.table_commit import commit_request
from paimon_spark.store.expire.snapshots import ExpireSnapshotsResult, expire_snapshots
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.messages import CommitChanges
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

PARTITIONS = 40
MOST = 2**31 - 1
ROUNDS = 3
KEEP_ONE = Settings(retain_max=1, retain_min=1, millis=0, max_deletes=MOST)
SECONDS = 20.0  # goal: 5,000 files a second on a local disk


@dataclass(frozen=True)
class Expired:
    """What an expiry of ours took. peak: bytes of memory beyond what the process had before."""

    seconds: float
    snapshots: int
    files: int
    peak: int


def run(results: Results, root: Path, scale: float) -> None:
    """Each expires copies of one table that were made just before, as what the system holds in memory counts."""
    snapshots, files = max(20, int(1000 * scale)), max(2000, int(100_000 * scale))
    directory = root / "bench.db" / "expiry"
    shutil.rmtree(directory, ignore_errors=True)
    table = lived(directory / "made", snapshots, files)
    with _java(directory) as java:
        rounds = [_round(Path(table.location), java) for _ in range(ROUNDS)]
    ours = min((ours for ours, _ in rounds), key=lambda taken: taken.seconds)
    what = f"expire {ours.snapshots:,} snapshots of {files:,} files"
    results.lower(what, ours.seconds, "s", SECONDS * scale, f"{ours.files:,} files deleted, best of {ROUNDS}")
    results.higher(f"{what}: files", ours.files / ours.seconds, "/s", 5000)
    results.lower(f"{what}: memory", ours.peak / 2**20, "MB", 500)
    theirs = [seconds for _, seconds in rounds if seconds is not None]
    if theirs:
        note = f"Java {min(theirs):.2f} s, best of {ROUNDS}"
        results.lower(f"{what}: time / Java 2.0.0", ours.seconds / min(theirs), "x", 0.8, note)


def _round(made: Path, java: Genuine | None) -> tuple[Expired, float | None]:
    """What we and Java took, in seconds."""
    copies = [Path(shutil.copytree(made, made.with_name(name))) for name in ("ours", "theirs")]
    ours = Expired(**printed_apart(f"bench_expiry.expire({str(copies[0])!r})"))
    theirs = None if java is None else _expire_by_java(copies[1], java, ours.snapshots)
    for copy in copies:
        shutil.rmtree(copy)
    return ours, theirs


@contextmanager
def _java(directory: Path) -> Iterator[Genuine | None]:
    """Java 2.0.0 after it has expired another table: its classes are loaded then. None: there is no Java."""
    first = lived(directory / "first", 20, 2000)
    try:
        with java_process("2.0.0") as java:
            java.run(java_expiry.expire_snapshots, first.location, "main", KEEP_ONE)
            yield java
    except JavaUnavailable as reason:
        print(f"not compared with Java: {reason}")
        yield None


def _expire_by_java(path: Path, java: Genuine, expected: int) -> float:
    began = time.perf_counter()
    count = java.run(java_expiry.expire_snapshots, str(path), "main", KEEP_ONE)
    seconds = time.perf_counter() - began
    if count != expected:
        raise RuntimeError(f"Java expired {count} snapshots, we {expected}: the times cannot be compared")
    return seconds


def expire(path: str) -> None:
    """Expires all but the last snapshot of the table at path, in a process of its own; prints what it took."""
    table, before, began = open_table(path), resident_peak(), time.perf_counter()
    result: ExpireSnapshotsResult = expire_snapshots(table, retain_max=1, retain_min=1, max_deletes=MOST)
    seconds = time.perf_counter() - began
    taken = Expired(seconds, len(result.ids), len(result.paths), resident_peak() - before)
    print(json.dumps(asdict(taken)))


def lived(path: Path, snapshots: int, files: int) -> Table:
    """An append table of partitions; each snapshot replaces as many files as all of them together replace the table."""
    schema = arrow_schema(bench_plan.table_of_files(path.parent, 1000).schema.fields)
    create_table(str(path), new_schema(schema, (), ("s2",), {"bucket": "-1", "write-only": "true"}))
    table = open_table(str(path))
    live = [_entry(number) for number in range(files)]
    _store(table, live)
    _commit(table, 0, live)
    each = max(1, files // snapshots)
    for number in range(1, snapshots + 1):
        gone, live = live[:each], live[each:]
        new = [_entry(files + number * each + i) for i in range(each)]
        _store(table, new)
        _commit(table, number, [*(entry._replace(kind=FileKind.DELETE) for entry in gone), *new])
        live += new
    return table


def _entry(number: int) -> ManifestEntry:
    file: DataFileMeta = bench_plan.data_file(number)
    part = encode_arity_row((f"category-{number % PARTITIONS:04d}",), (bench_plan.STRING,))
    return ManifestEntry(FileKind.ADD, part, 0, -1, file)


def _store(table: Table, entries: list[ManifestEntry]) -> None:
    for entry in entries:
        directory = Path(bucket_directory(table, entry.partition, entry.bucket))
        directory.mkdir(parents=True, exist_ok=True)
        (directory / entry.file.file_name).write_bytes(b"some")


def _commit(table: Table, number: int, entries: list[ManifestEntry]) -> None:
    proposal = Proposal(CommitChanges(tuple(entries)), None)
    request = CommitRequest("bench", number, CommitKind.APPEND, None, lambda state: proposal, checks_files=False)
    commit_request(table, request, None)
