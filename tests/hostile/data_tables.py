"""Tables of newer kinds of files, whose data files go wrong in mutants: BLOB, VECTOR, shredded VARIANT, shared maps,
row files, and columns of rows in several files with new row ids."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
from pyspark.sql.variant_utils import VariantUtils

from paimon_spark import create_table
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.store.upkeep.reassign_row_ids import reassign_row_ids
from paimon_spark.tables.open import open_table

EVOLVED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}
SHAPE = {
    "type": "ROW",
    "fields": [
        {
            "id": 0,
            "name": "v",
            "type": {
                "type": "ROW",
                "fields": [
                    {"id": 1, "name": "a", "type": "BIGINT"},
                    {"id": 2, "name": "b", "type": {"type": "ARRAY", "element": "STRING"}},
                ],
            },
        }
    ],
}


def _blobs(path: Path) -> None:
    columns, options = {"k": "INT", "b": "BLOB", "a": "ARRAY<BLOB>"}, {**EVOLVED, "blob.target-file-size": "2 kb"}
    table = create_table(str(path), columns, options=options)
    for first in (0, 40):
        keys = range(first, first + 40)
        blobs = [b"x" * (k * 7 % 90) if k % 5 else None for k in keys]
        arrays = [[b"y" * (k % 9), None] if k % 3 else [] for k in keys]
        table.append(pa.table({"k": pa.array(keys, pa.int32()), "b": blobs, "a": arrays}))
    table.update("k = 3", {"k": "4"})


def _vectors(file_format: str, apart: bool) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        options = {"file.format": file_format}
        options |= {**EVOLVED, "vector.file.format": file_format} if apart else {}
        table = create_table(str(path), {"k": "INT", "v": "VECTOR<FLOAT, 3>"}, options=options)
        rows = [{"k": k, "v": [float(k), 0.5, -1.0] if k % 4 else None} for k in range(60)]
        table.append(pa.Table.from_pylist(rows, schema=arrow_schema(open_table(str(path)).schema.fields)))

    return make


def _variants(path: Path) -> None:
    options = {"variant.shreddingSchema": json.dumps(SHAPE)}
    table = create_table(str(path), {"k": "INT", "v": "VARIANT"}, options=options)
    rows = []
    for k in range(80):
        text = json.dumps([{"a": k, "b": ["x", str(k)], "c": k / 2}, {"a": "text"}, k, None][k % 4])
        value, metadata = VariantUtils.parse_json(text)
        rows.append({"k": k, "v": {"value": value, "metadata": metadata}})
    table.append(pa.Table.from_pylist(rows, schema=arrow_schema(open_table(str(path)).schema.fields)))


def _maps(path: Path) -> None:
    options = {"fields.m.map.storage-layout": "shared-shredding", "fields.m.map.shared-shredding.max-columns": "3"}
    table = create_table(str(path), {"k": "INT", "m": "MAP<STRING NOT NULL, BIGINT>"}, options=options)
    rows = [{"k": k, "m": [(f"key {n}", k * n) for n in range(k % 6)] if k % 7 else None} for k in range(90)]
    table.append(pa.Table.from_pylist(rows, schema=arrow_schema(open_table(str(path)).schema.fields)))


def _row_files(path: Path) -> None:
    columns = {
        "k": "INT", "s": "STRING", "d": "DECIMAL(30, 2)", "t": "TIMESTAMP(9)", "a": "ARRAY<STRING>",
        "m": "MAP<STRING NOT NULL, ARRAY<INT>>", "r": "ROW<x DOUBLE, y BYTES>",
    }  # fmt: skip
    options = {"file.format": "row", "file.block-size": "1 kb", "deletion-vectors.enabled": "true"}
    table = create_table(str(path), columns, options=options)
    rows = [
        {
            "k": k,
            "s": "text " * (k % 9) if k % 5 else None,
            "d": k * 3,
            "t": dt.datetime(2026, 1, 1) if k % 2 else None,
            "a": ["a", None, "bc" * k] if k % 2 else [],
            "m": [(str(n), [n, None]) for n in range(k % 4)],
            "r": {"x": k / 3, "y": bytes(k % 11)} if k % 3 else None,
        }
        for k in range(120)
    ]
    table.append(pa.Table.from_pylist(rows, schema=arrow_schema(open_table(str(path)).schema.fields)))
    table.delete("k < 5")


def _new_ids(path: Path) -> None:
    table = create_table(str(path), {"k": "INT", "v": "STRING", "p": "INT"}, partition_keys=["p"], options=EVOLVED)
    for k in range(6):
        parts = pa.array([k % 2] * 2, pa.int32())
        table.append(pa.table({"k": pa.array([k, k + 10], pa.int32()), "v": ["a", None], "p": parts}))
    table.update("k = 2", {"v": "'b'"})
    table.delete("k = 13")
    reassign_row_ids(open_table(str(path)))


TABLES: Mapping[str, Callable[[Path], None]] = {
    "blobs": _blobs,
    "vectors in parquet": _vectors("parquet", False),
    "vectors in avro files of their own": _vectors("avro", True),
    "vectors in parquet files of their own": _vectors("parquet", True),
    "shredded variants": _variants,
    "shared maps": _maps,
    "row files": _row_files,
    "new row ids": _new_ids,
}
