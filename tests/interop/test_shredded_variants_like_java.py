"""Shredded values of VARIANT that Java writes: whole again, whatever the schema of shredding is."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import our_engine
import pyarrow.parquet as pq
import pytest
from genuine import Genuine, table_path
from pyspark.sql.variant_utils import VariantUtils
from support.draws.json_values import random_json
from support.oracles.checker import check_table
from support.oracles.comparing import Row

from paimon_spark import open_table

pytestmark = pytest.mark.interop

COLUMNS = {"k": "INT NOT NULL", "v": "VARIANT", "w": "VARIANT"}
SHAPE = {
    "a": "BIGINT",
    "b": {"type": "ARRAY", "element": "INT"},
    "age": "INT",
    "city": "STRING",
    "é": {"type": "ROW", "fields": [{"name": "a", "type": "DOUBLE"}, {"name": "b", "type": "VARIANT"}]},
    "a.b": "DECIMAL(12, 3)",
    "absent": "BOOLEAN",
    "list": {"type": "ARRAY", "element": {"type": "ROW", "fields": [{"name": "x", "type": "STRING"}]}},
}


def shredding(shape: dict[str, Any]) -> dict[str, str]:
    row = {"type": "ROW", "fields": [{"name": name, "type": kind} for name, kind in shape.items()]}
    return {"variant.shreddingSchema": json.dumps({"type": "ROW", "fields": [{"name": "v", "type": row}]})}


def drawn(random: Random, others: float) -> tuple[bytes, bytes] | None:
    """Objects with some fields of the shape, of the right type or of another, and a share of other values."""
    if random.random() < 0.15:
        return None
    value = _named(random_json(random))
    if random.random() >= others:
        fitting = {
            "a": random.choice([1, 2**40, "text", None]), "b": random.choice([[1, 2], [], [None, "x"], 7]), "age": 27,
            "city": "Beijing", "é": {"a": 1.5e300, "b": [1], "c": {}}, "a.b": random.choice([1.25, 100, 1.23456]),
            "list": [{"x": "y", "z": 1}, {}, 5], "other": value,
        }  # fmt: skip
        value = {name: fitting[name] for name in random.sample(list(fitting), random.randrange(len(fitting) + 1))}
    return VariantUtils.parse_json(json.dumps(value))


def _named(value: Any) -> Any:
    """Without fields that have no name: Java fails to infer a schema of them."""
    if isinstance(value, dict):
        return {name: _named(item) for name, item in value.items() if name}
    return [_named(item) for item in value] if isinstance(value, list) else value


def rows_of(random: Random, others: float) -> list[Row]:
    return [(k, drawn(random, others), drawn(random, others)) for k in range(60)]


def meant(rows: list[Row]) -> dict[int, Any]:
    """What the values mean, by key: the order of names, and how numbers are stored, may differ."""
    return {row[0]: [value and VariantUtils.to_python(*value) for value in row[1:]] for row in rows}


def ours(path: str) -> list[Row]:
    rows = open_table(path).scan().to_arrow().to_pylist()
    return [(r["k"], *(r[n] and (r[n]["value"], r[n]["metadata"]) for n in ("v", "w"))) for r in rows]


def is_shredded(path: str) -> bool:
    return any("typed_value" in str(pq.ParquetFile(file).schema) for file in Path(path).rglob("data-*.parquet"))


@pytest.mark.parametrize(
    ("keys", "options"),
    [
        ([], {"bucket": "-1", **shredding(SHAPE)}),
        ([], {"bucket": "-1", "variant.inferShreddingSchema": "true"}),
        (["k"], {"bucket": "1", **shredding(SHAPE)}),
        (["k"], {"bucket": "1", "deletion-vectors.enabled": "true", "variant.inferShreddingSchema": "true"}),
    ],
)
def test_whole_values(keys: list[str], options: dict[str, str], java: Genuine, tmp_path: Path) -> None:
    path, random = table_path(tmp_path), Random(str(options))
    java.create(path, COLUMNS, keys=keys, options=options)
    others = 0.0 if "variant.inferShreddingSchema" in options else 0.2  # of nothing in common Java infers nothing
    rows = rows_of(random, others)
    java.write(path, rows)
    assert is_shredded(path)
    assert meant(ours(path)) == meant(rows)
    more = [(k + 50, v, w) for k, v, w in rows_of(random, 0.2)]
    our_engine.write(path, [(more, None)])  # whole, beside shredded files
    our_engine.compact(path, full=True)
    theirs = [row for _, row in java.read(path)]
    assert sorted(map(repr, meant(ours(path)).items())) == sorted(map(repr, meant(theirs).items()))
    check_table(path)
