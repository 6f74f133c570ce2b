"""Random types and values, nested and null, written by us in every format and read equal by genuine Java.

Multisets are of text only: Java fails on its own files with others (Avro), or with decimals (parquet). No -0.0 in ORC:
Java's reader takes a batch of 0.0 and -0.0 for one repeated value.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from genuine import Genuine, table_path
from hypothesis import HealthCheck, given, settings
from readers import assert_same
from support.draws.typed_batches import Limits, batches

from paimon_spark import open_table
from paimon_spark.catalogs.create import create_table
from paimon_spark.file_io import file_io_for
from paimon_spark.format.rules.new_tables import assign_field_ids
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import plan_write

pytestmark = pytest.mark.interop

EXAMPLES = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
NextPath = Callable[[], str]


@pytest.fixture
def next_path(tmp_path: Path) -> NextPath:
    numbers = itertools.count()
    return lambda: table_path(tmp_path / str(next(numbers)))


def check(data: Any, file_format: str, path: str, javas: list[Genuine]) -> None:
    """The fields get the ids of a table; Java 1.4 and later find nested parquet fields by them."""
    fields, batch = data
    numbered, highest = assign_field_ids(fields)
    options = {"file.format": file_format, "metadata.stats-mode": "full"}
    create_table(
        path, TableSchema(0, numbered, highest, options=options), file_io_for(path, {}), ignore_if_exists=False
    )
    table = open_table(path)
    writer = TableWrite(table, "test", 0, plan_write(table))
    writer.write(pa.RecordBatch.from_arrays(batch.columns, schema=batch.schema))
    TableCommit(table, "test").append(writer.finish())
    assert assert_same(path, javas).total() == batch.num_rows


@EXAMPLES
@given(batches(Limits(any_multiset=False)))
def test_parquet(java: Genuine, older_java: Genuine, next_path: NextPath, data: Any) -> None:
    check(data, "parquet", next_path(), [java, older_java])


@EXAMPLES
@given(batches(Limits(old_fractions=False, any_multiset=False, minus_zero=False)))
def test_orc(java: Genuine, older_java: Genuine, next_path: NextPath, data: Any) -> None:
    check(data, "orc", next_path(), [java, older_java])


@EXAMPLES
@given(batches(Limits(timestamp_digits=6, time_digits=3, any_multiset=False)))
def test_avro(java: Genuine, older_java: Genuine, next_path: NextPath, data: Any) -> None:
    check(data, "avro", next_path(), [java, older_java])
