"""A task that writes buckets again: rows that stay become files, those that go become changelog, or nothing is left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support.tables.expiring import COLUMNS, new_table

from paimon_spark.store.rows.merged_buckets import BucketRewrite
from paimon_spark.store.write.write_plan import plan_write


def rewrite(path: Path, producer: str) -> tuple[BucketRewrite, Path]:
    table = new_table(path / "t", {"changelog-producer": producer, "target-file-size": "1 b"})
    write = BucketRewrite(table, "user", 0, plan_write(table))
    for keys, take in (([1, 2], write.keep), ([3], write.remove)):
        for key in keys:
            take(pa.record_batch([[key], [key]], schema=COLUMNS), np.zeros(1, np.int32))
    return write, Path(table.location)


def files(location: Path, prefix: str) -> int:
    return len(list(location.rglob(f"{prefix}-*")))


@pytest.mark.parametrize(("producer", "changelogs"), [("none", 0), ("input", 1)])
def test_rows_that_go_are_in_the_changelog_only(tmp_path: Path, producer: str, changelogs: int) -> None:
    write, location = rewrite(tmp_path, producer)
    messages = write.finish()
    new = [file for message in messages for file in message.new_files]
    assert sum(file.row_count for file in new) == 2
    assert files(location, "data") == len(new)
    deleted = [file for message in messages for file in message.changelog_files]
    assert (len(deleted), files(location, "changelog")) == (changelogs, changelogs)
    assert all((file.row_count, file.delete_row_count) == (1, 1) for file in deleted)


def test_a_task_that_fails_leaves_no_file(tmp_path: Path) -> None:
    write, location = rewrite(tmp_path, "input")
    write.finish()
    assert files(location, "data")
    write.abort()
    assert (files(location, "data"), files(location, "changelog")) == (0, 0)
