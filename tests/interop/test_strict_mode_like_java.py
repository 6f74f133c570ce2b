"""`commit.strict-mode.last-safe-snapshot`: both systems refuse the same commits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from genuine import Genuine

from paimon_spark import create_table, open_table
from paimon_spark.errors import StrictModeConflict
from paimon_spark.tables.open import WritableTable

pytestmark = pytest.mark.interop

COLUMNS = {"k": "INT NOT NULL", "p": "STRING NOT NULL", "v": "STRING"}
STRICT = "commit.strict-mode.last-safe-snapshot"
OTHERS: dict[str, Callable[[WritableTable], object]] = {
    "append": lambda table: table.append(rows("a")),
    "append elsewhere": lambda table: table.append(rows("b")),
    "overwrite": lambda table: table.overwrite(rows("a"), "p = 'a'"),
    "overwrite elsewhere": lambda table: table.overwrite(rows("b"), "p = 'b'"),
    "compact": lambda table: table.compact(full=True),
    "delete by vectors": lambda table: table.delete("k = 1"),
}


def rows(part: str) -> pa.Table:
    return pa.table({"k": pa.array([1, 2], pa.int32()), "p": [part] * 2, "v": ["x"] * 2})


def theirs(java: Genuine, path: str, overwrites: bool, options: dict[str, str]) -> bool:
    """True if Java commits. It says only that it gives up."""
    try:
        given = {**options, "write-only": "true"}
        java.write(path, [(3, "a", "y")], None, given, overwrite={"p": "a"} if overwrites else None)
    except Exception as error:
        if "Giving up committing" not in str(error):
            raise
        return False
    return True


def ours(path: str, overwrites: bool, options: dict[str, str]) -> bool:
    table = open_table(path)
    row = pa.table({"k": pa.array([3], pa.int32()), "p": ["a"], "v": ["y"]})
    given = {**options, "write-only": "true"}
    try:
        if overwrites:
            table.overwrite(row, "p = 'a'", options=given)
        else:
            table.append(row, options=given)
    except StrictModeConflict:
        return False
    return True


def latest_id(path: str) -> int:
    return open_table(path).snapshots.latest_id() or 0


@pytest.mark.parametrize("overwrites", [False, True])
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("keys", [["k", "p"], []])
def test_the_same_commits_are_refused(
    keys: list[str], other: str, overwrites: bool, java: Genuine, tmp_path: Path
) -> None:
    made = []
    vectors, buckets = {"deletion-vectors.enabled": "true"}, {"bucket": "1", "write-only": "true"}
    for name in ("ours", "javas"):
        table = create_table(f"{tmp_path}/{name}", COLUMNS, keys, "p", {**vectors, **(buckets if keys else {})})
        table.append(rows("a"))
        table.append(rows("a"))
        if keys:
            table.compact(full=True)
        OTHERS[other](table)
        made.append(table.location)
    mine, javas = made
    before = {STRICT: str(latest_id(mine) - 1)}
    expected = theirs(java, javas, overwrites, before)
    assert ours(mine, overwrites, before) is expected
    files = sorted(str(path) for path in Path(mine).rglob("*.parquet"))
    assert ours(mine, overwrites, {STRICT: str(latest_id(mine))})
    assert len(list(Path(mine).rglob("*.parquet"))) == len(files) + 1  # nothing was left behind
