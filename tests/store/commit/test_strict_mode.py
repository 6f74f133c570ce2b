"""`commit.strict-mode.last-safe-snapshot` over several commits of one user, and without the snapshots to look at."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from paimon_spark import create_table
from paimon_spark.errors import StrictModeConflict
from paimon_spark.tables.open import WritableTable

STRICT = "commit.strict-mode.last-safe-snapshot"
ROWS = pa.table({"k": pa.array([1, 2], pa.int32()), "v": ["x", "y"]})


@pytest.fixture
def table(tmp_path: Path) -> WritableTable:
    made = create_table(f"{tmp_path}/t", {"k": "INT", "v": "STRING"}, options={"deletion-vectors.enabled": "true"})
    made.append(ROWS)
    return made


def write(table: WritableTable, safe: int, number: int) -> None:
    """One batch of a stream, whose commits have one user."""
    table.overwrite(ROWS, options={STRICT: str(safe)}, once=("stream", number))


def test_what_a_user_has_seen_is_looked_at_no_more(table: WritableTable) -> None:
    table.delete("k = 1")
    with pytest.raises(StrictModeConflict, match=r"has made snapshot 2 \(OVERWRITE\) of the same partition"):
        write(table, 1, 1)
    write(table, 2, 1)
    write(table, 1, 2)  # the one before was checked itself
    table.delete("k = 1")
    with pytest.raises(StrictModeConflict, match=r"'commit.strict-mode.last-safe-snapshot' = '5' if they are meant"):
        write(table, 1, 3)
    write(table, 5, 3)


def test_the_first_commit_of_a_user_is_not_checked(table: WritableTable) -> None:
    table.delete("k = 1")
    write(table, -1, 1)
    table.delete("k = 1")
    with pytest.raises(StrictModeConflict):
        write(table, -1, 2)


def test_a_change_of_rows_is_not_tried_again(table: WritableTable) -> None:
    table.delete("k = 1")
    with pytest.raises(StrictModeConflict):
        table.with_options({STRICT: "1"}).delete("k = 2")
    assert table.scan().count() == 1


def test_a_snapshot_that_cannot_be_looked_at(table: WritableTable) -> None:
    for _ in range(3):
        table.append(ROWS)
    table.expire_snapshots(retain_max=1, retain_min=1, older_than="2999-01-01")
    with pytest.raises(StrictModeConflict, match="snapshot 3, which was to be looked at, has expired"):
        write(table, 1, 1)
    write(table, 4, 1)
    table.expire_snapshots(retain_max=1, retain_min=1, older_than="2999-01-01")
    table.append(ROWS)
    table.expire_snapshots(retain_max=1, retain_min=1, older_than="2999-01-01")
    table.overwrite(ROWS, options={STRICT: "-1"}, once=("other", 1))
