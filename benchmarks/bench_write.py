"""Primary-key writes of one thread against the encode floor and against pypaimon-rust."""

from __future__ import annotations

import shutil
from pathlib import Path

import data
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tables
from measure import Results, fastest
from pypaimon_rust.datafusion import PaimonCatalog, SQLContext

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.tables.open import open_table

BUCKETS = 8


def fresh(path: Path) -> Path:
    shutil.rmtree(path, ignore_errors=True)
    return path


def floor(batches: list[pa.RecordBatch], target: Path) -> None:
    """pyarrow encodes the same columns: zstd 1, dictionary on the low-cardinality column only."""
    rows = pa.Table.from_batches(batches)
    pq.write_table(rows, target, compression="zstd", compression_level=1, use_dictionary=["s2"], row_group_size=131072)


def ours(batches: list[pa.RecordBatch], path: Path) -> None:
    options = {"bucket": str(BUCKETS), "write-only": "true"}
    create_table(str(fresh(path)), new_schema(batches[0].schema, ("id",), (), options))
    tables.write(open_table(str(path)), batches, "bench")


def rust(batches: list[pa.RecordBatch], warehouse: Path) -> None:
    """The same rows through pypaimon-rust, its table made anew."""
    fresh(warehouse)
    context = SQLContext()
    context.register_catalog("p", {"warehouse": f"file:{warehouse}"})
    context.set_current_catalog("p")
    context.sql("create database d")
    values = "s1 string, s2 string, d1 double, d2 double, d3 double, l1 bigint, l2 bigint, ts timestamp(6)"
    table_of = f"id bigint not null, {values}, primary key (id)"
    context.sql(f"create table p.d.r ({table_of}) with ('bucket' = '{BUCKETS}')")
    table = PaimonCatalog({"warehouse": f"file:{warehouse}"}).get_table("d.r")
    builder = table.new_batch_write_builder()
    writer = builder.new_write()
    for batch in batches:
        writer.write_arrow(batch)
    builder.new_commit().commit(writer.prepare_commit())


def run(results: Results, root: Path, scale: float) -> None:
    count = int(2_000_000 * scale)
    numbers = np.random.default_rng(3).permutation(count)
    batches = list(data.rows("int64 dense", numbers, 0))
    best = fastest(
        {
            "floor": lambda: floor(batches, root / "floor.parquet"),
            "ours": lambda: ours(batches, root / "ours"),
            "rust": lambda: rust(batches, root / "rust"),
        },
        3,
    )
    note = f"{count / best['ours'] / 1e6:.2f} M rows/s; floor {best['floor']:.2f} s, rust {best['rust']:.2f} s"
    results.lower("PK write, 8 buckets: time / encode floor", best["ours"] / best["floor"], "x", 2.1, note)
    results.higher("PK write, 8 buckets: speed / pypaimon-rust", best["rust"] / best["ours"], "x", 1.4, note)
