"""An append table of three files with a row each, in two partitions: some rows are deleted, and it is copied."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.commit.vector_files import find_vector_files, vector_changes
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.copy_files import copy_table
from paimon_spark.tables.open import open_table
from support.tables.commit_states import latest
from support.tables.compacting import make, write
from support.tables.files_by_hand import partition

COLUMNS = pa.schema(
    [pa.field("k", pa.int32(), nullable=False), pa.field("p", pa.string(), nullable=False), ("v", pa.int64())]
)
ROWS = [(1, "a", 1), (2, "a", 1), (3, "b", 1)]
NO_OPTIONS: Mapping[str, str] = {}
VECTORS = {"deletion-vectors.enabled": "true"}


def three_files(path: Path, options: Mapping[str, str] = NO_OPTIONS) -> Table:
    made = make(path, COLUMNS, (), {"bucket": "-1", **options}, ["p"])
    for row in ROWS:
        write(made, [row])
    return made


def delete_rows(table: Table, name: str, part: str, *positions: int) -> None:
    """As a DELETE does, of a file in a partition."""
    before = latest(table)
    found, gone = find_vector_files(table, before), {name: np.array(positions, np.int64)}
    made = vector_changes(table, found, partition(part), 0, (), gone)
    message = CommitMessage(partition(part), 0, -1, index_entries=made.entries)
    TableCommit(table, f"delete-{name}", before.id).append([message])


def copied_beside(table: Table, **arguments: Any) -> Table:
    """Copies it; the copy."""
    target = f"{Path(table.location).parent}/copy"
    copy_table(open_table(table.location), target, **arguments)
    return open_table(target)
