"""Writes of one task to tables whose rows may have to be staged until their number of buckets is known."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.store.commit import TableCommit
from paimon_spark.store.postpone_moves import place_staged
from paimon_spark.store.postpone_write import open_task_write
from paimon_spark.store.table import Table
from paimon_spark.store.write_plan import plan_write

Row = tuple[Any, ...]


def put(table: Table, rows: Sequence[Row], kinds: Sequence[int] | None = None) -> None:
    """One commit of the rows, in the columns of the table; kinds as TableWrite.write takes them."""
    user, plan, schema = str(uuid.uuid4()), plan_write(table), arrow_schema(table.schema.fields)
    arrays = [pa.array(list(c), f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
    write = open_task_write(table, user, 0, plan)
    write.write(pa.RecordBatch.from_arrays(arrays, schema=schema), None if kinds is None else np.array(kinds, np.int8))
    TableCommit(table, user, plan.since).append(place_staged(table, user, plan, write.finish()))
