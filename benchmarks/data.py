"""The rows of the benchmarks: nine columns, about 94 bytes a row in Arrow, four shapes of key, from fixed seeds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

CHUNK = 250_000
VALUES = ("s1", "s2", "d1", "d2", "d3", "l1", "l2", "ts")
KEYS = {
    "int64 dense": ("id",),
    "int64 sparse": ("id",),
    "string": ("id",),
    "composite": ("k1", "k2"),
}
_NAMES = pa.array([f"category-{i:04d}" for i in range(1000)])


def _texts(numbers: np.ndarray, prefix: bytes, digits: int) -> pa.Array:
    """ "<prefix><digits>" of each number, made without a Python loop over rows."""
    width = len(prefix) + digits
    raw = np.empty((len(numbers), width), np.uint8)
    raw[:, : len(prefix)] = np.frombuffer(prefix, np.uint8)
    rest = numbers.astype(np.int64)
    for place in range(width - 1, len(prefix) - 1, -1):
        raw[:, place] = rest % 10 + 48
        rest //= 10
    offsets = np.arange(0, (len(numbers) + 1) * width, width, dtype=np.int32)
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), pa.py_buffer(raw.tobytes()))


def key_columns(shape: str, numbers: np.ndarray) -> dict[str, pa.Array]:
    """The key columns of a shape for distinct non-negative numbers."""
    if shape == "int64 dense":
        return {"id": pa.array(numbers.astype(np.int64))}
    if shape == "int64 sparse":
        return {"id": pa.array((numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)).view(np.int64))}
    if shape == "string":
        return {"id": _texts(numbers * 7919 % 10**12, b"user-", 12)}
    return {"k1": pa.array((numbers % 1000).astype(np.int32)), "k2": _texts(numbers // 1000, b"item-", 8)}


def batch(shape: str, numbers: np.ndarray, seed: int) -> pa.RecordBatch:
    """Whole rows for the numbers; seed changes the values, never the keys."""
    draw = np.random.default_rng(seed)
    n = len(numbers)
    columns = key_columns(shape, numbers)
    columns["s1"] = _texts(draw.integers(0, 10**12, n), b"text-", 12)
    columns["s2"] = _NAMES.take(pa.array(draw.integers(0, len(_NAMES), n)))
    for name in ("d1", "d2", "d3"):
        columns[name] = pa.array(draw.random(n).round(4))
    columns["l1"] = pa.array(draw.integers(0, 10**6, n))
    columns["l2"] = pa.array(draw.integers(0, 10**12, n))
    columns["ts"] = pa.array(draw.integers(0, 10**15, n), pa.timestamp("us"))
    keys = KEYS[shape]
    fields = [pa.field(name, array.type, nullable=name not in keys) for name, array in columns.items()]
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=pa.schema(fields))


def rows(shape: str, numbers: np.ndarray, seed: int) -> Iterator[pa.RecordBatch]:
    """The rows in chunks of at most CHUNK."""
    for start in range(0, len(numbers), CHUNK):
        yield batch(shape, numbers[start : start + CHUNK], seed + start)


def base_and_upserts(count: int, upserts: int, rounds: int) -> list[np.ndarray]:
    """Key numbers of a first load of `count` rows and `rounds` upserts of `upserts` rows, about 30 % of them new."""
    draw = np.random.default_rng(7)
    loads = [draw.permutation(count)]
    for _ in range(rounds):
        loads.append(draw.choice(int(count * 1.1), upserts, replace=False))
    return loads
