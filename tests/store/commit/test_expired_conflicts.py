"""What a job is told whose files were in partitions that have expired meanwhile (Java: ConflictDetection)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pytest
from support.tables.files_by_hand import added, file, keyed_table, partition

from paimon_spark.errors import CommitConflict
from paimon_spark.store.clean.partition_expiry import expire_partitions_at
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.messages import CommitMessage

LIFETIME = {"partition.expiration-time": "7 d"}
OLD, SOON = partition("2020-01-01"), partition("soon")


def compacted(part: bytes, name: str) -> CommitMessage:
    old, new = file(name, keys=(1, 1)), file(f"new {name}", level=5, keys=(1, 1))
    return CommitMessage(part, 0, 2, compact_before=(old,), compact_after=(new,))


@pytest.mark.parametrize(
    ("options", "parts", "words"),
    [
        (LIFETIME, [(OLD, "a")], "have expired; leave such rows out"),
        (LIFETIME, [(OLD, "a"), (SOON, "never there")], "run the job again"),
        ({**LIFETIME, "partition.expiration-strategy": "update-time"}, [(OLD, "a")], "run the job again"),
        ({**LIFETIME, "partition.timestamp-formatter": "ww"}, [(OLD, "a")], "run the job again"),
        ({}, [(OLD, "a")], "run the job again"),
    ],
)
def test_a_job_on_an_expired_partition(
    tmp_path: Path, options: Mapping[str, str], parts: list[tuple[bytes, str]], words: str
) -> None:
    table = keyed_table(tmp_path)
    TableCommit(table, "0").append([added(file("a", keys=(1, 1)), part=OLD, total=2)])
    expire_partitions_at(table.with_options(LIFETIME), datetime.now())
    late = TableCommit(table.with_options(options), "late")
    with pytest.raises(CommitConflict, match=words):
        late.append([compacted(part, name) for part, name in parts])
