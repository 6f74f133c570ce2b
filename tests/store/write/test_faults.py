"""Section 7: whatever operation of a job fails, the table reads as before or after, and a retry gives the rows once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest
from support.faults.faulty_store import FaultyFileIO, InjectedFault, When, fault_points, is_killed, kill
from support.long_runs import LONG
from support.oracles.checker import check_table

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CommitStateUnknown, PaimonError
from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("part", pa.string()), ("id", pa.int64()), ("value", pa.string())])
Rows = frozenset[tuple[str, int, str]]


@dataclass(frozen=True)
class Job:
    """One write job, run with any FileIO.

    Attributes:
        schema: of the table it creates if it is not there.
        rows: what it writes.
        dynamic: whether it overwrites the partitions of its rows; else it appends.
    """

    schema: TableSchema
    rows: Rows
    user: str
    dynamic: bool = False

    def run(self, location: str, io: FileIO) -> None:
        create_table(location, self.schema, io, ignore_if_exists=True)
        table = replace(open_table(location), file_io=io)
        writer = TableWrite(table, self.user)
        commit = TableCommit(table, self.user)
        try:
            writer.write(self.batch())
            messages = writer.finish()
        except OSError:
            writer.abort()
            raise
        try:
            if self.dynamic:
                commit.overwrite(messages, "dynamic")
            else:
                commit.append(messages)
        except CommitStateUnknown:
            raise
        except (OSError, PaimonError):
            commit.abort(messages)
            raise

    def batch(self) -> pa.RecordBatch:
        columns = zip(*sorted(self.rows), strict=True)
        return pa.RecordBatch.from_arrays(
            [pa.array(list(c), t) for c, t in zip(columns, COLUMNS.types, strict=True)],
            schema=arrow_schema(self.schema.fields),
        )

    def after(self, before: Rows) -> Rows:
        """What the table holds after the job."""
        parts = {row[0] for row in self.rows}
        if self.dynamic:
            return frozenset(row for row in before if row[0] not in parts) | self.rows
        if self.schema.primary_keys:
            keys = {row[:2] for row in self.rows}
            return frozenset(row for row in before if row[:2] not in keys) | self.rows
        return before | self.rows


def rows(start: int, stop: int, value: str) -> Rows:
    return frozenset((f"p{n % 2}", n, f"{value}{n}") for n in range(start, stop))


KEYED = new_schema(COLUMNS, ("part", "id"), ("part",), {"bucket": "1"})
NOTED = new_schema(COLUMNS, ("part", "id"), ("part",), {"bucket": "1", "changelog-producer": "input"})
PLAIN = new_schema(COLUMNS, (), ("part",), {"manifest.merge-min-count": "2"})
ONE_PART = frozenset(row for row in rows(0, 30, "new") if row[0] == "p1")

# name -> (the job that made the table before, or None; the job under test)
CASES: dict[str, tuple[Job | None, Job]] = {
    "create and write a keyed table": (None, Job(KEYED, rows(0, 20, "a"), "tested")),
    "upsert": (Job(KEYED, rows(0, 20, "a"), "first"), Job(KEYED, rows(10, 30, "b"), "tested")),
    "append with manifest merge": (Job(PLAIN, rows(0, 20, "a"), "first"), Job(PLAIN, rows(20, 40, "b"), "tested")),
    "upsert with a changelog": (Job(NOTED, rows(0, 4, "a"), "first"), Job(NOTED, rows(2, 6, "b"), "tested")),
    "overwrite with a changelog": (
        Job(NOTED, rows(0, 4, "a"), "first"),
        Job(NOTED, frozenset({("p1", 1, "new")}), "tested", dynamic=True),
    ),
    "overwrite a partition": (Job(KEYED, rows(0, 20, "a"), "first"), Job(KEYED, ONE_PART, "tested", dynamic=True)),
}


def read(location: str) -> Rows:
    if not Path(location, "schema", "schema-0").exists():
        return frozenset()
    table = open_table(location).scan().to_arrow()
    found = [tuple(row.values()) for row in table.to_pylist()]
    assert len(found) == len(set(found)), "a row is there twice"
    return frozenset(found)


def prepare(base: Path, before: Job | None, number: int) -> str:
    location = str(base / str(number) / "table")
    if before is not None:
        before.run(location, LocalFileIO())
    return location


def operations(base: Path, before: Job | None, job: Job) -> list[str]:
    """What the job does when nothing fails."""
    io = FaultyFileIO(LocalFileIO())
    job.run(prepare(base, before, -1), io)
    return io.log


def verify_and_retry(location: str, before: Rows, job: Job, where: str) -> None:
    """The table is as before or after; another try of the job gives its rows once."""
    after = job.after(before)
    found = read(location)
    assert found in (before, after), f"{where}: neither before nor after"
    if Path(location, "schema", "schema-0").exists():
        check_table(location)
    job.run(location, LocalFileIO())
    assert read(location) == after, f"{where}: the retry did not give the rows once"
    report = check_table(location)
    users = [open_table(location).snapshots.load(i).commit_user for i in report.snapshots]
    assert users.count(job.user) == 1, f"{where}: committed {users.count(job.user)} times"


@pytest.mark.parametrize("lasting", [False, True], ids=["one fault", "store goes away"])
@pytest.mark.parametrize("case", list(CASES) if LONG else ["create and write a keyed table", "overwrite a partition"])
def test_every_fault_point(case: str, lasting: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, job = CASES[case]
    outcomes = {"succeeded": 0, "failed": 0, "unknown": 0}
    for number, (at, when) in enumerate(fault_points(operations(tmp_path, before, job))):
        location = prepare(tmp_path, before, number)
        known = read(location)
        io = FaultyFileIO(LocalFileIO(), at, when, lasting=lasting)
        try:
            job.run(location, io)
        except CommitStateUnknown:
            outcomes["unknown"] += 1
        except InjectedFault:
            outcomes["failed"] += 1
            assert read(location) == known, f"{io.log[at]} {when}: a job that failed for certain changed the table"
        else:
            outcomes["succeeded"] += 1
            assert read(location) == job.after(known)
        verify_and_retry(location, known, job, f"{io.log[at]} #{at} {when}")
    if not lasting:
        assert outcomes["unknown"] == 0, "one lost answer must not leave the outcome open"
    with capsys.disabled():
        print(f"\n  {case}{', lasting' * lasting}: {sum(outcomes.values())} fault points, {outcomes}", end="")


@pytest.mark.parametrize("case", list(CASES) if LONG else ["append with manifest merge"])
def test_killed_at_every_point(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, job = CASES[case]
    points = fault_points(operations(tmp_path, before, job))
    for number, (at, when) in enumerate(points):
        location = prepare(tmp_path, before, number)
        known = read(location)
        assert is_killed(lambda at=at, when=when, path=location: job.run(path, killing(at, when)))
        verify_and_retry(location, known, job, f"killed at #{at} {when}")
    with capsys.disabled():
        print(f"\n  {case}: killed at {len(points)} points", end="")


def killing(at: int, when: When) -> FileIO:
    return FaultyFileIO(LocalFileIO(), at, when, act=kill)
