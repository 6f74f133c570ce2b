"""Merged reads of the other merge engines, against deduplicate and the decode floor on the same files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import tables
from measure import Results, fastest, printed_apart

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

CHUNK = 250_000
_TEXTS = pa.array([f"text {i:04d}" for i in range(1000)])


@dataclass(frozen=True)
class Engine:
    """goal: at most this many times the time of deduplicate; None: at least 1 million rows a second."""

    options: Mapping[str, str]
    columns: tuple[str, ...]
    goal: float | None


VALUES = tuple(f"v{i}" for i in range(8))
_AGGREGATION = {"merge-engine": "aggregation"}
ENGINES = {
    "partial-update, 8 columns, half null": Engine({"merge-engine": "partial-update"}, VALUES, 3),
    "partial-update, 2 sequence groups": Engine(
        {
            "merge-engine": "partial-update",
            "fields.v0.sequence-group": "v1,v2,v3",
            "fields.v4.sequence-group": "v5,v6,v7",
        },
        VALUES,
        None,
    ),
    "sum, max, min, last_value": Engine(
        {
            **_AGGREGATION,
            "fields.v0.aggregate-function": "sum",
            "fields.v2.aggregate-function": "max",
            "fields.v4.aggregate-function": "min",
            "fields.v1.aggregate-function": "last_value",
        },
        ("v0", "v1", "v2", "v4"),
        2,
    ),
    "sum, max, last_value, listagg": Engine(
        {
            **_AGGREGATION,
            "fields.v0.aggregate-function": "sum",
            "fields.v2.aggregate-function": "max",
            "fields.v4.aggregate-function": "last_value",
            "fields.v1.aggregate-function": "listagg",
        },
        ("v0", "v1", "v2", "v4"),
        None,
    ),
    "first-row": Engine({"merge-engine": "first-row"}, VALUES, 1.1),
    "collect": Engine({**_AGGREGATION, "fields.items.aggregate-function": "collect"}, ("items",), None),
    "merge_map": Engine({**_AGGREGATION, "fields.pairs.aggregate-function": "merge_map"}, ("pairs",), None),
}


def batch(keys: np.ndarray, seed: int) -> pa.RecordBatch:
    """Eight columns of which half the values are null, texts in the odd ones; lists and maps of two items."""
    draw, count = np.random.default_rng(seed), len(keys)
    columns: dict[str, pa.Array] = {"id": pa.array(keys)}
    for i, name in enumerate(VALUES):
        missing = draw.random(count) < 0.5
        numbers = draw.integers(0, 1000, count)
        text = i % 2 and name not in ("v5", "v7")
        columns[name] = _TEXTS.take(pa.array(numbers, mask=missing)) if text else pa.array(numbers, mask=missing)
    offsets = pa.array(np.arange(0, 2 * count + 1, 2, dtype=np.int32))
    items = pa.array(draw.integers(0, 100, 2 * count))
    columns["items"] = pa.ListArray.from_arrays(offsets, items)
    columns["pairs"] = pa.MapArray.from_arrays(offsets, pa.array(np.tile([1, 2], count) + 2 * (seed % 3)), items)
    fields = [pa.field(name, array.type, nullable=name != "id") for name, array in columns.items()]
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=pa.schema(fields))


def runs(shape: str, scale: float) -> list[np.ndarray]:
    """Key numbers of the runs: a big one under eight small ones, or eight of one size."""
    draw = np.random.default_rng(7)
    if shape == "5M + 8 x 200k":
        count = int(5_000_000 * scale)
        return [np.arange(count), *(draw.choice(count, count // 25, replace=False) for _ in range(8))]
    count = int(1_000_000 * scale)
    return [draw.choice(2 * count, count, replace=False) for _ in range(8)]


def engine_table(root: Path, shape: str, scale: float) -> Table:
    """A deduplicate table of two buckets; the engines read its files under their own options."""
    path = root / f"engines-{shape.replace(' ', '')}-{scale}"
    done = path.with_suffix(".done")
    if not done.exists():
        options = {"bucket": "2", "write-only": "true", "target-file-size": "1 gb", "write-buffer-size": "8 gb"}
        create_table(str(path), new_schema(batch(np.arange(1), 0).schema, ("id",), (), options))
        for number, keys in enumerate(runs(shape, scale)):
            parts = (batch(keys[i : i + CHUNK], 1000 * number + i) for i in range(0, len(keys), CHUNK))
            tables.write(open_table(str(path)), parts, f"load-{number}")
        done.touch()
    return open_table(str(path))


def reading(table: Table, options: Mapping[str, str], columns: tuple[str, ...]) -> Callable[[], int]:
    """A merge of all files, as if the table had these options.

    The splits are those of deduplicate: a read of first-row alone would skip the files that are not compacted.
    """
    as_if = replace(table, settings=TableSettings({**table.settings, **options}))
    splits, reader = table.scan().plan().splits, as_if.scan(columns=["id", *columns]).reader()
    return lambda: tables.drain(batch for split in splits for batch in reader.read(split))


def child(path: str, options: Mapping[str, str], columns: Sequence[str]) -> None:
    """Merge the table at path; print the peak of Arrow's pool in bytes."""
    reading(open_table(path), options, tuple(columns))()
    print(pa.default_memory_pool().max_memory())


def pool_peak(table: Table, options: Mapping[str, str], columns: tuple[str, ...]) -> int:
    """The peak of Arrow's pool in bytes, in a process of its own."""
    return int(printed_apart(f"bench_engines.child({table.location!r}, {dict(options)!r}, {columns!r})"))


def decoding(files: Sequence[str], columns: tuple[str, ...]) -> Callable[[], int]:
    """The floor: the same columns decoded and nothing merged."""
    return lambda: tables.drain(tables.decode(files, ["id", *columns]))


def run(results: Results, root: Path, scale: float) -> None:
    for shape in ("5M + 8 x 200k", "8 x 1M"):
        table = engine_table(root / "bench.db", shape, scale)
        rows = sum(len(keys) for keys in runs(shape, scale))
        files = tables.data_files(table)
        for name, engine in ENGINES.items():
            best = fastest(
                {
                    "floor": decoding(files, engine.columns),
                    "deduplicate": reading(table, {}, engine.columns),
                    "engine": reading(table, engine.options, engine.columns),
                }
            )
            speed = rows / best["engine"] / 1e6
            note = f"{speed:.1f} M rows/s, {best['engine'] / best['floor']:.2f} x decode floor"
            what = f"{name}, {shape}"
            if engine.goal is None:
                results.higher(f"{what}: speed", speed, "M rows/s", 1, note)
            else:
                results.lower(
                    f"{what}: time / deduplicate", best["engine"] / best["deduplicate"], "x", engine.goal, note
                )
            peak, plain = pool_peak(table, engine.options, engine.columns), pool_peak(table, {}, engine.columns)
            note = f"{peak / 2**20:.0f} MB, deduplicate {plain / 2**20:.0f} MB"
            results.lower(f"{what}: pool peak / deduplicate", peak / plain, "x", 1.5, note)
