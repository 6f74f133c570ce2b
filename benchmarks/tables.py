"""Tables of the benchmarks, written once by the product itself into a working directory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import data
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table


def write(table: Table, batches: Iterable[pa.RecordBatch], user: str) -> None:
    """One commit of the batches."""
    writer = TableWrite(table, user)
    for batch in batches:
        writer.write(batch)
    TableCommit(table, user).append(writer.finish())


def primary_key_table(root: Path, shape: str, count: int, upserts: int, rounds: int, buckets: int = 2) -> Table:
    """A table of `count` rows and `rounds` upserts of `upserts` rows, one level-0 run each; reused when it is there."""
    path = root / f"pk-{shape.replace(' ', '-')}-{count}-{upserts}-{rounds}-{buckets}"
    done = path.with_suffix(".done")
    if not done.exists():
        schema = data.batch(shape, np.arange(1), 0).schema
        options = {
            "bucket": str(buckets),
            "write-only": "true",
            "target-file-size": "1 gb",
            "write-buffer-size": "8 gb",
        }
        create_table(str(path), new_schema(schema, data.KEYS[shape], (), options))
        for turn, numbers in enumerate(data.base_and_upserts(count, upserts, rounds)):
            write(open_table(str(path)), data.rows(shape, numbers, 1000 * turn), f"load-{turn}")
        done.touch()
    return open_table(str(path))


def append_table(root: Path, count: int) -> Table:
    """An append table without buckets; reused when it is there."""
    path = root / f"append-{count}"
    done = path.with_suffix(".done")
    if not done.exists():
        schema = data.batch("int64 dense", np.arange(1), 0).schema
        create_table(str(path), new_schema(schema, (), (), {"bucket": "-1"}))
        write(open_table(str(path)), data.rows("int64 dense", np.arange(count), 0), "load")
        done.touch()
    return open_table(str(path))


def data_files(table: Table) -> list[str]:
    """The paths of the live parquet files of the table, by walking its directory (the benches delete nothing)."""
    return sorted(str(path) for path in Path(table.location).rglob("*.parquet"))


def decode(files: Sequence[str], columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    """The floor: pyarrow decodes the same columns of the same files, in one thread, and nothing is merged."""
    for file in files:
        yield from pq.ParquetFile(file).iter_batches(65536, columns=columns, use_threads=False)


def drain(batches: Iterable[pa.RecordBatch]) -> int:
    return sum(batch.num_rows for batch in batches)
