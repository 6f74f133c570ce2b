"""Page indexes with the genuine Java: rows read from its pages, and rows that it reads from the pages of our files.

PAIMON_PAGE_JAVA_FILES says how many files of Java are tried, with 12 conditions each.
"""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from genuine import Genuine, table_path
from support.draws.indexed_tables import POOLS, draw_condition
from support.long_runs import run_seed, tries

from paimon_spark.arrow.predicates.evaluate import filter_batch
from paimon_spark.arrow.types import to_internal
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.interop

PAGES = {"parquet.page.row.count.limit": "20", "parquet.columnindex.truncate.length": "4"}


def drawn_columns(draws: random.Random, value_type: pa.DataType, count: int) -> pa.Table:
    """Values in runs, a text and a list of other lengths, so that pages differ."""
    values: list[Any] = []
    while len(values) < count:
        some = draws.choice([[None], draws.sample(list(POOLS[value_type]), 2), [*POOLS[value_type], None]])
        values += [draws.choice(some) for _ in range(draws.randint(5, 60))]
    lists = [None if draws.random() < 0.1 else list(range(draws.randint(0, 4))) for _ in range(count)]
    columns = [
        pa.array(range(count), pa.int64()),
        pa.array(values[:count], value_type),
        pa.array(["x" * draws.randint(0, 30) for _ in range(count)]),
        pa.array(lists, pa.list_(pa.int64())),
    ]
    return pa.table(columns, names=["id", "v", "t", "l"])


def data_file(path: Path) -> Path:
    (found,) = path.glob("bucket-*/*.parquet")
    return found


def has_pages(path: Path) -> bool:
    chunk = pq.read_metadata(data_file(path)).row_group(0).column(0)
    return bool(chunk.has_offset_index and chunk.has_column_index)


def test_rows_of_the_pages_of_java(java: Genuine, tmp_path: Path) -> None:
    for number in range(tries("PAIMON_PAGE_JAVA_FILES", 2, 40)):
        draws = random.Random(f"{run_seed()}-{number}")
        value_type, count = draws.choice(list(POOLS)), draws.randint(100, 400)
        rows = drawn_columns(draws, value_type, count)
        path = Path(table_path(tmp_path, f"t{number}"))
        options = {"bucket": "-1", "parquet.enable.dictionary": draws.choice(["true", "false"]), **PAGES}
        if draws.random() < 0.5:
            options["parquet.writer.version"] = "PARQUET_2_0"
        create_table(str(path), new_schema(rows.schema, (), (), options))
        internal = [[to_internal(scalar) for scalar in column] for column in rows.columns]
        java.write(str(path), list(zip(*internal, strict=True)))
        assert has_pages(path)
        table = open_table(str(path))
        (whole,) = table.scan().to_arrow().combine_chunks().to_batches()
        for _ in range(12):
            where = draw_condition(draws, value_type, POOLS[value_type])
            found = table.scan(where=where).to_arrow()
            expected = pa.Table.from_batches([filter_batch(where, whole)])
            assert repr(found.to_pylist()) == repr(expected.to_pylist()), (number, options, value_type, where)


@pytest.mark.parametrize("value_type", [pa.int64(), pa.string(), pa.decimal128(18, 4), pa.timestamp("us")])
def test_java_leaves_out_pages_of_ours(java: Genuine, tmp_path: Path, value_type: pa.DataType) -> None:
    """Our files have page indexes, whose pages Java leaves out as those of its own."""
    path, count = Path(table_path(tmp_path)), 100_000
    values = pa.array(range(count), pa.int64())
    if pa.types.is_string(value_type):
        column = pa.array([f"{number:06}" for number in range(count)])
    elif pa.types.is_decimal(value_type):
        column = pa.array([Decimal(number) for number in range(count)], value_type)
    else:
        column = values.cast(value_type)
    rows = pa.record_batch([values, column], names=["id", "v"])
    create_table(str(path), new_schema(rows.schema, (), (), {"bucket": "-1"}))
    table = open_table(str(path))
    task = TableWrite(table, "u", 0)
    task.write(rows)
    TableCommit(table, "u").append(task.finish())
    assert has_pages(path)
    literal = to_internal(column[54_321])
    found = [row for _, row in java.read(str(path), equal=("v", literal))]
    assert (54_321, literal) in found
    assert 0 < len(found) < count / 2
    assert isinstance(literal, (int, str, Decimal))
