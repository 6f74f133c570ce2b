"""Merged reads of one thread against the decode floor and against pypaimon-rust; point reads; append reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import data
import tables
from measure import Results, fastest
from pypaimon_rust.datafusion import PaimonCatalog

from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

FLOOR_GOALS = {"int64 dense": 1.5, "int64 sparse": 1.7, "string": 2.1, "composite": 2.3}


def ours(table: Table, columns: Sequence[str] | None) -> int:
    return tables.drain(table.scan(columns=columns).to_batches())


def rust_reader(table: Table, columns: Sequence[str] | None) -> Callable[[], int]:
    """A full read of the table by pypaimon-rust, in its own threads."""
    path = Path(table.location)
    catalog = PaimonCatalog({"warehouse": f"file:{path.parent.parent}"})
    found = catalog.get_table(f"{path.parent.name.removesuffix('.db')}.{path.name}")

    def read() -> int:
        builder = found.new_read_builder()
        if columns is not None:
            builder = builder.with_projection(list(columns))
        return tables.drain(builder.new_read().read_arrow(builder.new_scan().plan().splits()))

    return read


def compare(table: Table, columns: Sequence[str]) -> dict[str, float]:
    """Seconds of the decode floor, of this project and of pypaimon-rust for the same columns of the same files."""
    files = tables.data_files(table)
    return fastest(
        {
            "floor": lambda: tables.drain(tables.decode(files, columns)),
            "ours": lambda: ours(table, columns),
            "rust": rust_reader(table, columns),
        }
    )


def run(results: Results, root: Path, scale: float) -> None:
    database = root / "bench.db"
    for shape, goal in FLOOR_GOALS.items():
        size = 5_000_000 if shape == "int64 dense" else 2_000_000
        table = tables.primary_key_table(database, shape, int(size * scale), int(size * scale * 0.04), 8)
        for label, bar in {"all columns": 1.4, "2 columns": 2.5, "key only": 3.5}.items():
            if label != "all columns" and shape != "int64 dense":
                continue
            keys = list(data.KEYS[shape])
            best = compare(
                table, {"all columns": keys + list(data.VALUES), "2 columns": [*keys, "d1"]}.get(label, keys)
            )
            note = f"{best['ours']:.2f} s, floor {best['floor']:.2f} s, rust {best['rust']:.2f} s"
            what = f"merged read, {shape}, {label}, 9 runs"
            if label == "all columns":
                results.lower(f"{what}: time / decode floor", best["ours"] / best["floor"], "x", goal, note)
            if shape == "int64 dense":
                results.higher(f"{what}: speed / pypaimon-rust", best["rust"] / best["ours"], "x", bar, note)
    point_read(results, tables.primary_key_table(database, "int64 dense", int(5e6 * scale), int(2e5 * scale), 8))


def point_read(results: Results, table: Table) -> None:
    """One row by its key: planning included, per file that may hold it."""
    where = "id = 1234567"
    splits = open_table(table.location).scan(where=where).plan().splits
    overlapping = max(1, sum(split.file_count for split in splits))
    best = fastest({"ours": lambda: open_table(table.location).scan(where=where).to_arrow()}, 9)["ours"] * 1000
    note = f"{best:.1f} ms in all, {overlapping} overlapping files"
    results.lower("point read by key, per overlapping file", best / overlapping, "ms", 15, note)
