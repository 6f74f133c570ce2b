"""Sorted and clustered tables with the genuine Java: the same curves, the same picks, and each reads the other's files.

PAIMON_CLUSTERING_HISTORIES says how many random tables are clustered.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import java_clustering
import pyarrow as pa
import pytest
from genuine import Genuine, table_path
from readers import assert_same
from support.long_runs import run_seed, tries
from support.oracles.checker import check_table
from support.tables.sorting import SmallParts

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.merge.clustering.curves import curve_values
from paimon_spark.merge.clustering.strategy import Strategy, new_clustering
from paimon_spark.store.clustering.incremental import _picked, cluster_incrementally
from paimon_spark.store.clustering.sort_table import sort_table
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.interop

COLUMNS = {"i": "INT", "l": "BIGINT", "s": "STRING", "b": "BOOLEAN", "t": "SMALLINT", "d": "DATE", "f": "DOUBLE"}
WHOLE = ["i", "l", "s", "b", "t", "d"]
"""Columns whose bytes are Java's; those of fractions are not in order there."""


def drawn(draw: random.Random, count: int) -> list[tuple[Any, ...]]:
    def value(name: str) -> Any:
        number = draw.choice([0, 1, -1, draw.randrange(-100, 100), draw.randrange(-30_000, 30_000)])
        kinds = {
            "l": draw.choice([number, draw.randrange(-(2**63), 2**63)]),
            "s": draw.choice(["", "a", "prefix-1", "prefix-12", f"é{number}"]),
            "b": number % 2 == 0,
            "f": number / 8,
        }
        return None if draw.random() < 0.15 else kinds.get(name, number)

    return [tuple(value(name) for name in COLUMNS) for _ in range(count)]


def in_arrow(path: str, rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    schema = arrow_schema(open_table(path).schema.fields)
    columns = [
        pa.array(c, pa.int32() if pa.types.is_date(f.type) else f.type)
        for c, f in zip(zip(*rows, strict=True), schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays([c.cast(f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def test_the_bytes_of_curves(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    java.create(path, COLUMNS, options={"bucket": "-1"})
    draw = random.Random(run_seed())
    rows, table = drawn(draw, 200), open_table(path)
    batch = in_arrow(path, rows)
    for count in (1, 2, 3, 6):
        names = draw.sample(WHOLE, count)
        ours = curve_values(batch, new_clustering(table.schema, table.settings, "zorder", names))
        assert [bytes(row) for row in ours] == java.run(java_clustering.z_values, path, names, rows), names
    for names in (["i", "l"], ["d", "t", "i"]):
        ours = curve_values(batch, new_clustering(table.schema, table.settings, "hilbert", names))
        theirs = java.run(java_clustering.hilbert_values, path, names, rows)
        assert [int.from_bytes(bytes(row), "big") >> len(names) for row in ours] == [
            int.from_bytes(value, "big") for value in theirs
        ], names


@pytest.mark.parametrize("strategy", Strategy)
def test_each_reads_what_the_other_left(java: Genuine, tmp_path: Path, strategy: Strategy) -> None:
    """Files of Java are sorted by us, Java reads them, deletes from them and appends to them."""
    path = table_path(tmp_path)
    java.create(path, COLUMNS, options={"bucket": "-1", "deletion-vectors.enabled": "true"})
    draw = random.Random(run_seed())
    for _ in range(3):
        java.write(path, drawn(draw, 50))
    first = java.files(path)[0][0]
    java.delete_positions(path, {first: [0, 3, 49]})
    before = assert_same(path, [java])
    sort_table(open_table(path), strategy.value, ["f", "s", "l"], run=SmallParts(2000, 4000))
    assert assert_same(path, [java]) == before
    java.write(path, drawn(draw, 5))
    java.delete_positions(path, {java.files(path)[0][0]: [0]})
    assert_same(path, [java])
    check_table(path)


def test_the_same_files_are_clustered_and_read(java: Genuine, tmp_path: Path) -> None:
    for number in range(tries("PAIMON_CLUSTERING_HISTORIES", 2, 40)):
        draw = random.Random(f"{run_seed()}-{number}")
        path = table_path(tmp_path, f"t{number}")
        options = {
            "bucket": "-1", "clustering.incremental": "true", "clustering.columns": draw.choice(["i", "i,l", "f,s"]),
            "num-sorted-run.compaction-trigger": draw.choice(["2", "3", "5"]),
            "num-levels": draw.choice(["3", "6"]), "compaction.size-ratio": "50",
        }  # fmt: skip
        java.create(path, COLUMNS, options=options)
        for _ in range(8):
            java.write(path, drawn(draw, 60), options={"write-only": "true"})
            full = draw.random() < 0.2
            theirs = java.run(java_clustering.clustering_picks, path, full)
            table = open_table(path)
            snapshot = table.snapshots.latest()
            assert snapshot is not None
            # Java takes files of level 0 in any order, so that all are of about one size here.
            ours = [(unit.output_level, len(unit.files)) for _, unit in _picked(table, snapshot, None, full)]
            assert ours == [(level, len(names)) for level, names in theirs]
            if draw.random() < 0.7:
                cluster_incrementally(table, full=full, run=SmallParts(1000, 4000))
        assert_same(path, [java])
        check_table(path)
