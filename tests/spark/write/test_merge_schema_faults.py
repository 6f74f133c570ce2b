"""Whatever fails when rows are committed with a new schema: the table is as before or after, or the error says what is.

These run without a session: a task writes in this process.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
from pyspark.sql import types as st
from support.faults.faulty_store import FaultyFileIO, fault_points
from support.oracles.checker import check_table

from paimon_spark import open_table
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CommitStateUnknown, StorageError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.spark.adapters.batches import FrameColumns
from paimon_spark.spark.adapters.options import write_options
from paimon_spark.writes.commit_write import commit_job
from paimon_spark.writes.open_write import open_job
from paimon_spark.writes.task_rows import write_rows

ROWS = pa.RecordBatch.from_pydict({"a": pa.array([2], pa.int32()), "b": pa.array(["x"])})
SCHEMA = st.StructType([st.StructField("a", st.IntegerType()), st.StructField("b", st.StringType())])


def fail() -> NoReturn:
    raise StorageError("the disk is full")


def commit(path: Path, store: FaultyFileIO) -> None:
    """Writes rows with a new column; the store fails while they are committed."""
    create_table(str(path), new_schema(pa.schema([("a", pa.int32())]), options={"bucket": "-1"}))
    job = open_job(
        write_options({"path": str(path), "write.merge-schema": "true"}), FrameColumns(SCHEMA), overwrite=False
    )
    messages = write_rows(job, 0, [ROWS])
    commit_job(replace(job, table=replace(job.table, file_io=store)), messages)


def test_the_schema_comes_with_the_rows_or_is_given(tmp_path: Path) -> None:
    counted = FaultyFileIO(LocalFileIO())
    commit(tmp_path / "counted", counted)
    outcomes = set()
    for number, (at, when) in enumerate(fault_points(counted.log)):
        path, said = tmp_path / str(number), ""
        try:
            commit(path, FaultyFileIO(LocalFileIO(), at, when, act=fail))
        except CommitStateUnknown:
            said = "unknown"
        except StorageError as error:
            said = str(error)
        table = open_table(str(path))
        rows = table.scan().to_arrow().num_rows
        outcomes.add((table.schema.id, rows))
        assert (table.schema.id, rows) in ((0, 0), (1, 0), (1, 1))
        if (table.schema.id, rows) == (1, 0):
            assert said == "unknown" or "The schema 1 with the columns of these rows is published and stays" in said
        check_table(str(path))
    assert outcomes == {(0, 0), (1, 0), (1, 1)}
