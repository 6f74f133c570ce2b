"""A process that commits often; its own module, so that it starts fast."""

from __future__ import annotations

import pyarrow as pa

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table
from paimon_spark.file_io import file_io_for
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table


def commit_many(location: str, storage: dict[str, str], schema: TableSchema, writer: int, commits: int) -> list[int]:
    """One process: makes the table if it is not there, then commits one row at a time; attempts of each commit."""
    create_table(location, schema, file_io_for(location, storage), ignore_if_exists=True)
    attempts = []
    for n in range(commits):
        table = open_table(location, storage)
        user, since = f"writer-{writer}-{n}", table.snapshots.latest_id() or 0  # as a job that writes does
        task = TableWrite(table, user)
        task.write(
            pa.RecordBatch.from_pydict(
                {"id": [row_id(writer, n)], "writer": [writer]}, schema=arrow_schema(table.schema.fields)
            )
        )
        result = TableCommit(table, user, since).append(task.finish())
        assert result is not None
        attempts.append(result.attempts)
    return attempts


def row_id(writer: int, n: int) -> int:
    return writer * 1000 + n
