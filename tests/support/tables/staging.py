"""Writes of one task to tables whose rows may have to be staged until their number of buckets is known."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rescale.postpone_placement import place_staged
from paimon_spark.store.write.task_write import open_task_write
from paimon_spark.store.write.write_plan import plan_write

Row = tuple[Any, ...]


def put(table: Table, *tasks: Sequence[Row], kinds: Sequence[int] | None = None, **more: Any) -> int | None:
    """One write job, a task for each list of rows in the columns of the table; the id of the snapshot it made.

    kinds: of the rows of each task, as TableWrite.write takes them; more: arguments of TableCommit.append.
    """
    user, plan = str(uuid.uuid4()), plan_write(table)
    schema = arrow_schema(table.schema.fields)
    messages = []
    for number, rows in enumerate(tasks):
        columns = [list(c) for c in zip(*rows, strict=True)] if rows else [[] for _ in schema]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        write = open_task_write(table, user, number, plan)
        write.write(pa.RecordBatch.from_arrays(arrays, schema=schema), None if kinds is None else np.array(kinds, "i1"))
        messages += write.finish()
    done = TableCommit(table, user, plan.since).append(place_staged(table, user, plan, messages), **more)
    return None if done is None else done.snapshot_id
