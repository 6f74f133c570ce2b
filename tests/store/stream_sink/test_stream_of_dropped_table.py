"""A table that is made anew while the tasks of a batch write (protocol C11)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.tables.stream_batches import rows_of, tasks, writer

from paimon_spark.errors import TableNotFound


@pytest.mark.parametrize("table", ["append", "keyed", "postpone"])
def test_a_batch_leaves_a_table_alone_that_was_made_anew(tmp_path: Path, table: str) -> None:
    """Spark opens the table once for the tasks, and once more for the commit."""
    path = tmp_path / "t"
    files = tasks(writer(path, table), 0, [(1, "a", 1)], [(2, "b", 2)])
    shutil.rmtree(path)
    committer = writer(path, table)  # it makes the table
    with pytest.raises(TableNotFound, match="dropped or renamed since this job opened it"):
        committer.commit(list(files), 0)
    assert rows_of(path) == []
