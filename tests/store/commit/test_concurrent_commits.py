"""Section 7: eight processes commit to one table at once; every commit is there once, ids have no gap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from support.long_runs import LONG
from support.oracles.checker import check_table
from support.programs.commit_many import commit_many, row_id
from support.programs.process_pool import process_pool
from support.programs.s3_server import s3_server

from paimon_spark.catalogs.create import new_schema
from paimon_spark.tables.open import open_table

PROCESSES = 8
COMMITS = 50 if LONG else 4
COMMITS_S3 = 50 if LONG else 2  # the server of the test answers one request after the other
Place = tuple[str, Mapping[str, str]]  # location, storage options
COLUMNS = pa.schema([("id", pa.int64()), ("writer", pa.int32())])


@pytest.fixture
def local(tmp_path: Path) -> Place:
    return str(tmp_path / "table"), {}


@pytest.fixture
def s3() -> Iterator[Place]:
    with s3_server("lake") as options:
        yield "s3://lake/table", options


@pytest.mark.parametrize("keyed", [False, True], ids=["append", "primary key"])
def test_local_disk(local: Place, keyed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    commit_at_once(local, keyed, COMMITS, capsys)


@pytest.mark.parametrize(
    "keyed", [False, True] if LONG else [True], ids=lambda keyed: "primary key" * keyed or "append"
)
def test_s3(s3: Place, keyed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    commit_at_once(s3, keyed, COMMITS_S3, capsys)


def commit_at_once(place: Place, keyed: bool, commits: int, capsys: pytest.CaptureFixture[str]) -> None:
    location, storage = place
    # Eight that do nothing but commit lose more often than ten times; the server of the test is slow.
    options = {"commit.max-retries": "100", "bucket": "2" if keyed else "-1"}
    schema = new_schema(COLUMNS, ("id",) if keyed else (), (), options)
    with process_pool(PROCESSES) as pool:
        started = [
            pool.submit(commit_many, location, dict(storage), schema, writer, commits) for writer in range(PROCESSES)
        ]
        attempts = [count for future in started for count in future.result(timeout=1800)]
    total = PROCESSES * commits
    report = check_table(location, dict(storage))
    table = open_table(location, storage)
    users = Counter(table.snapshots.load(i).commit_user for i in report.snapshots)
    assert report.snapshots == tuple(range(1, total + 1))
    assert set(users.values()) == {1}, "a commit is there twice"
    assert len(users) == total
    found = sorted(table.scan(columns=["id"]).to_arrow().column("id").to_pylist())
    assert found == sorted(row_id(writer, n) for writer in range(PROCESSES) for n in range(commits))
    with capsys.disabled():
        lost = sum(attempts) - total
        print(f"\n  {PROCESSES} processes x {commits} commits: {total} snapshots, {lost} races lost", end="")
