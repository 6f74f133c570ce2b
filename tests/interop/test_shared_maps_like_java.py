"""Maps whose keys share columns (`shared-shredding`), which we and Java write in turn: both read the same rows."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import our_engine
import pytest
from genuine import Genuine, table_path
from readers import assert_same
from support.long_runs import tries
from support.oracles.checker import check_table
from support.oracles.comparing import Row

from paimon_spark import create_table, open_table
from paimon_spark.errors import SchemaError, UnsupportedFeature

pytestmark = pytest.mark.interop

VALUES: dict[str, Any] = {
    "STRING": lambda draw, n: f"{n} ä\0" * draw.randrange(3),
    "INT": lambda draw, n: n,
    "DOUBLE": lambda draw, n: draw.choice([float(n), float("nan"), -0.0]),
    "BOOLEAN": lambda draw, n: bool(n % 2),
}
LAYOUT = "fields.m.map.storage-layout"
MOST, PLACEMENT = "fields.m.map.shared-shredding.max-columns", "fields.m.map.shared-shredding.column-placement-policy"
TABLES: dict[str, tuple[list[str], dict[str, str]]] = {
    "append": ([], {"bucket": "-1"}),
    "deduplicate": (["k"], {"bucket": "1"}),
    "partial-update": (["k"], {"bucket": "1", "merge-engine": "partial-update"}),
    "vectors": (["k"], {"bucket": "1", "deletion-vectors.enabled": "true"}),
    "lookup": (["k"], {"bucket": "1", "changelog-producer": "lookup", "changelog-producer.row-deduplicate": "true"}),
}
NAMES = ["a", "b", "ba", "ba\0", "ä", "", "long name of a key", *(f"k{n}" for n in range(9))]


def rows_of(draw: Random, turn: int, value: Any) -> list[Row]:
    rows: list[Row] = []
    for k in range(turn, turn + 12):
        keys = draw.sample(NAMES, draw.choice([0, 1, 2, 3, len(NAMES)]))
        entries = tuple((name, draw.choice([None, value(draw, k), value(draw, k)])) for name in keys)
        rows.append((k, draw.choice([None, entries, entries, entries]), f"{k}-{turn}"))
    return rows


def columns(kind: str) -> dict[str, Any]:
    return {"k": "INT NOT NULL", "m": {"type": "MAP", "key": "STRING NOT NULL", "value": kind}, "s": "STRING"}


@pytest.mark.parametrize("seed", range(tries("PAIMON_SHARED_MAPS", ci=6, long=60)))
def test_both_write_in_turn(seed: int, java: Genuine, tmp_path: Path) -> None:
    path, draw = table_path(tmp_path), Random(seed)
    kind = draw.choice(list(VALUES))
    keys, options = TABLES[draw.choice(list(TABLES))]
    given = {
        **options,
        LAYOUT: "shared-shredding",
        MOST: str(draw.choice([1, 3, 300])),
        PLACEMENT: draw.choice(["lru", "plain", "sequential"]),
        "file.compression": draw.choice(["zstd", "lz4", "none"]),
    }
    java.create(path, columns(kind), keys=keys, options=given)
    for turn in range(3):
        java.write(path, rows_of(draw, turn, VALUES[kind]))
        our_engine.write(path, [(rows_of(draw, turn + 2, VALUES[kind]), None)])
        assert_same(path, [java])
    our_engine.compact(path, full=True)
    assert assert_same(path, [java]).total() >= 12
    java.compact(path)
    for snapshot in our_engine.snapshot_ids(path):
        assert_same(path, [java], {"scan.snapshot-id": str(snapshot)})
    check_table(path)


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_orc_files_of_java_are_read(compression: str, java: Genuine, tmp_path: Path) -> None:
    path, draw = table_path(tmp_path), Random(7)
    options = {LAYOUT: "shared-shredding", MOST: "2", "file.format": "orc", "file.compression": compression}
    java.create(path, columns("STRING"), options={"bucket": "-1", **options})
    java.write(path, rows_of(draw, 0, VALUES["STRING"]))
    assert_same(path, [java])
    with pytest.raises(UnsupportedFeature, match=r"stores maps so in parquet files only, not in orc"):
        our_engine.write(path, [(rows_of(draw, 0, VALUES["STRING"]), None)])
    our_engine.write(path, [(rows_of(draw, 0, VALUES["STRING"]), None)], {"file.format": "parquet"})
    assert_same(path, [java])


def test_a_column_gets_another_name_and_layout(java: Genuine, tmp_path: Path) -> None:
    path, draw = table_path(tmp_path), Random(3)
    java.create(path, columns("STRING"), options={"bucket": "-1"})
    java.write(path, rows_of(draw, 0, VALUES["STRING"]))
    table = open_table(path)
    table.set_options({LAYOUT: "shared-shredding", MOST: "2"})
    our_engine.write(path, [(rows_of(draw, 1, VALUES["STRING"]), None)])
    java.write(path, rows_of(draw, 2, VALUES["STRING"]))
    java.alter(path, ("renameColumn", "m", "n"))
    our_engine.write(path, [(rows_of(draw, 3, VALUES["STRING"]), None)])
    java.write(path, rows_of(draw, 4, VALUES["STRING"]))
    assert assert_same(path, [java]).total() == 60
    assert (
        open_table(path).scan("s", where="n is not null").count()
        == open_table(path).scan(where="n is not null").count()
    )
    check_table(path)


REFUSED: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"m": {"type": "MAP", "key": "INT NOT NULL", "value": "STRING"}}, {}),
    ({"m": {"type": "ARRAY", "element": "STRING"}}, {}),
    ({"v": "VARIANT"}, {}),
    ({}, {"file.format": "avro"}),
    ({}, {"file.compression": "snappy"}),
    ({}, {MOST: "0"}),
]


@pytest.mark.parametrize(("more", "options"), REFUSED)
def test_refused_as_java_refuses(more: dict[str, Any], options: dict[str, str], java: Genuine, tmp_path: Path) -> None:
    given, all_columns = {"bucket": "-1", LAYOUT: "shared-shredding", **options}, {**columns("STRING"), **more}
    with pytest.raises(Exception, match=r"(?i)shredding|MAP|max-columns"):
        java.create(table_path(tmp_path, "javas"), all_columns, options=given)
    with pytest.raises(SchemaError):
        our_engine.create(table_path(tmp_path), all_columns, options=given)


def test_postponed_buckets_are_refused(java: Genuine, tmp_path: Path) -> None:
    given = {"bucket": "-2", LAYOUT: "shared-shredding"}
    with pytest.raises(Exception, match="postpone"):
        java.create(table_path(tmp_path, "javas"), columns("STRING"), keys=["k"], options=given)
    with pytest.raises(SchemaError, match="postponed buckets"):
        create_table(table_path(tmp_path), {"k": "INT", "m": "MAP<STRING, STRING>"}, "k", options=given)
