"""Processes commit to one table at once; every commit is there once, ids have no gap.

``PAIMON_COMMITTERS`` sets how many processes, ``PAIMON_COMMITS`` how often each commits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pyarrow as pa

from paimon_spark.catalogs.create import new_schema
from paimon_spark.tables.open import open_table
from support.long_runs import tries
from support.oracles.checker import check_table
from support.programs.commit_many import commit_many, row_id
from support.programs.process_pool import process_pool

PROCESSES = tries("PAIMON_COMMITTERS", ci=8, long=16)
COLUMNS = pa.schema([("id", pa.int64()), ("writer", pa.int32())])


def commit_at_once(location: str, storage: Mapping[str, str], keyed: bool, commits: int) -> str:
    """Makes a table, to which each process commits so many rows, one by one; says what was lost and won.

    Args:
        location: of the table, which is not there yet.
        storage: storage options.
        keyed: whether it has a primary key.
    """
    # Processes that do nothing but commit lose more often than ten times; the servers of tests are slow.
    options = {"commit.max-retries": "1000", "bucket": "2" if keyed else "-1"}
    schema = new_schema(COLUMNS, ("id",) if keyed else (), (), options)
    with process_pool(PROCESSES) as pool:
        started = [
            pool.submit(commit_many, location, dict(storage), schema, writer, commits) for writer in range(PROCESSES)
        ]
        attempts = [count for future in started for count in future.result(timeout=7200)]
    total = PROCESSES * commits
    report = check_table(location, dict(storage))
    table = open_table(location, storage)
    users = Counter(table.snapshots.load(i).commit_user for i in report.snapshots)
    assert report.snapshots == tuple(range(1, total + 1))
    assert set(users.values()) == {1}, "a commit is there twice"
    assert len(users) == total
    found = sorted(table.scan(columns=["id"]).to_arrow().column("id").to_pylist())
    assert found == sorted(row_id(writer, n) for writer in range(PROCESSES) for n in range(commits))
    return f"{PROCESSES} processes x {commits} commits: {total} snapshots, {sum(attempts) - total} races lost"
