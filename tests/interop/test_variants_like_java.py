"""VARIANT columns that we and Java write in turn: both read the same bytes, at every snapshot."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import our_engine
import pytest
from genuine import Genuine, table_path
from pyspark.sql.variant_utils import VariantUtils
from readers import assert_same
from support.draws.json_values import random_json
from support.oracles.checker import check_table
from support.oracles.comparing import Row

from paimon_spark import open_table
from paimon_spark.errors import SchemaError

pytestmark = pytest.mark.interop

COLUMNS: dict[str, Any] = {
    "k": "INT NOT NULL",
    "v": "VARIANT",
    "s": "STRING",
    "r": {"type": "ROW", "fields": [{"name": "x", "type": "INT"}, {"name": "v", "type": "VARIANT"}]},
    "a": {"type": "ARRAY", "element": "VARIANT"},
    "m": {"type": "MAP", "key": "STRING NOT NULL", "value": "VARIANT"},
}
LAST = {f"fields.{name}.aggregate-function": "last_non_null_value" for name in COLUMNS if name != "k"}
KINDS_OF_TABLES = {
    "append": ([], {"bucket": "-1"}),
    "buckets": ([], {"bucket": "2", "bucket-key": "k"}),
    "append with vectors": ([], {"bucket": "-1", "deletion-vectors.enabled": "true"}),
    "deduplicate": (["k"], {"bucket": "1"}),
    "vectors": (["k"], {"bucket": "1", "deletion-vectors.enabled": "true"}),
    "first-row": (["k"], {"bucket": "1", "merge-engine": "first-row"}),
    "partial-update": (["k"], {"bucket": "1", "merge-engine": "partial-update"}),
    "aggregation": (["k"], {"bucket": "1", "merge-engine": "aggregation", **LAST}),
    "lookup": (["k"], {"bucket": "1", "changelog-producer": "lookup", "changelog-producer.row-deduplicate": "true"}),
    "dynamic": (["k"], {"bucket": "-1"}),
}


def drawn(random: Random) -> tuple[bytes, bytes] | None:
    return None if random.random() < 0.2 else VariantUtils.parse_json(json.dumps(random_json(random)))


def rows_of(random: Random, turn: int) -> list[Row]:
    return [
        (
            k,
            drawn(random),
            random.choice([None, f"{k}-{turn}"]),
            random.choice([None, (turn, drawn(random))]),
            random.choice([None, (), tuple(drawn(random) for _ in range(random.randrange(4)))]),
            random.choice([None, (), tuple((name, drawn(random)) for name in "ab")]),
        )
        for k in range(turn, turn + 12)
    ]


@pytest.mark.parametrize("kind", KINDS_OF_TABLES)
def test_both_write_in_turn(kind: str, java: Genuine, older_java: Genuine, tmp_path: Path) -> None:
    path, random = table_path(tmp_path), Random(kind)
    keys, options = KINDS_OF_TABLES[kind]
    java.create(path, COLUMNS, keys=keys, options=options)
    for turn in range(3):
        java.write(path, rows_of(random, turn))
        our_engine.write(path, [(rows_of(random, turn + 2), None)])
        if kind == "append with vectors":
            java.delete_positions(path, {name: [1, 3] for name, _, _ in java.files(path)})
        assert_same(path, [java, older_java])
    our_engine.compact(path, full=True)
    assert assert_same(path, [java, older_java]).total() >= 12
    java.compact(path)
    for snapshot in our_engine.snapshot_ids(path):
        assert_same(path, [java], {"scan.snapshot-id": str(snapshot)})
    check_table(path)


def test_columns_change_around_a_variant(java: Genuine, tmp_path: Path) -> None:
    path, random = table_path(tmp_path), Random(3)
    java.create(path, {"k": "INT NOT NULL", "s": "STRING"}, keys=["k"], options={"bucket": "1"})
    java.write(path, [(k, f"{k}") for k in range(9)], options={"write-only": "true"})
    java.alter(path, ("addColumn", "v", "VARIANT"))
    our_engine.write(path, [([(k, f"{k}", drawn(random)) for k in range(4)], None)])
    java.alter(path, ("renameColumn", "v", "w"))
    java.write(path, [(k, f"{k}", drawn(random)) for k in range(3, 8)], options={"write-only": "true"})
    assert assert_same(path, [java]).total() == 9
    our_engine.compact(path, full=True)
    assert_same(path, [java])
    check_table(path)


@pytest.mark.parametrize("columns", [["v"], ["k", "v"]])
def test_statistics_and_conditions_of_other_columns(columns: list[str], java: Genuine, tmp_path: Path) -> None:
    path, random = table_path(tmp_path), Random(5)
    our_engine.create(path, COLUMNS, options={"bucket": "-1"})
    rows = [row for turn in range(0, 60, 12) for row in rows_of(random, turn)]
    our_engine.write(path, [(rows, None)])
    java.write(path, rows)
    found = open_table(path).scan(columns, where="k > 40 and v is not null").to_arrow().to_pylist()
    wanted = [row for row in rows if row[0] > 40 and row[1] is not None] * 2
    key = [(row["v"]["value"], row["v"]["metadata"]) for row in found]
    assert sorted(key) == sorted(row[1] for row in wanted if row[1] is not None)
    files = open_table(path).system_table("files").to_arrow().to_pylist()
    ours, theirs = ({name: file[name] for name in file if "value" in name} for file in files)
    assert ours == theirs
    assert "null_value_counts" in ours


@pytest.mark.parametrize(
    ("keys", "partitions", "options"),
    [(["v"], [], {"bucket": "1"}), ([], ["v"], {}), ([], [], {"bucket": "2", "bucket-key": "v"}),
     ([], [], {"file.format": "orc"}), ([], [], {"file.format": "avro"})],
)  # fmt: skip
def test_refused_as_java_refuses(
    keys: list[str], partitions: list[str], options: dict[str, str], java: Genuine, tmp_path: Path
) -> None:
    columns = {"k": "INT NOT NULL", "v": "VARIANT NOT NULL" if keys == ["v"] else "VARIANT"}
    with pytest.raises(SchemaError):
        our_engine.create(table_path(tmp_path), columns, keys, partitions, options)
    theirs = table_path(tmp_path, "theirs")
    with pytest.raises(RuntimeError):
        _java_makes(java, theirs, columns, keys, partitions, options)


def _java_makes(java: Genuine, path: str, columns: Any, keys: Any, partitions: Any, options: Any) -> None:
    java.create(path, columns, keys=keys, partitions=partitions, options=options)
    java.write(path, [(1, VariantUtils.parse_json("1"))])
