"""Tables of Java whose files are in another order than that of the key (pk-clustering-override): read, never written.

PAIMON_KEY_CLUSTERING_HISTORIES says how many random tables are read.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from genuine import Genuine, table_path
from java_streams import java_stream
from readers import assert_same
from support.long_runs import run_seed, tries
from support.tables.micro_batches import FROM_FIRST, opened

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.procedures.local_engine import LocalEngine
from paimon_spark.procedures.rewrites import Compact
from paimon_spark.store.checks.table import check
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.interop

COLUMNS = {"k": "INT NOT NULL", "city": "STRING", "v": "BIGINT"}
OPTIONS = {
    "bucket": "2", "pk-clustering-override": "true", "clustering.columns": "city,v", "deletion-vectors.enabled": "true",
    "target-file-size": "4 kb",
}  # fmt: skip


def test_what_java_wrote_is_read(java: Genuine, tmp_path: Path) -> None:
    """Upserts and deletes; conditions on keys and values; each snapshot."""
    for number in range(tries("PAIMON_KEY_CLUSTERING_HISTORIES", 1, 20)):
        draw = random.Random(f"{run_seed()}-{number}")
        path = table_path(tmp_path, f"t{number}")
        java.create(path, COLUMNS, ["k"], options=OPTIONS)
        expected: dict[int, tuple[int, str, int]] = {}
        for _ in range(6):
            rows = [(k, f"city {draw.randrange(9)}", draw.randrange(1000)) for k in draw.sample(range(300), 60)]
            kinds = [draw.choice(["+I", "+I", "-D"]) for _ in rows]
            java.write(path, rows, kinds)
            for row, kind in zip(rows, kinds, strict=True):
                expected.pop(row[0], None)
                if kind == "+I":
                    expected[row[0]] = row
            assert_same(path, [java])
            found = open_table(path).scan().to_arrow()
            assert sorted(tuple(row.values()) for row in found.to_pylist()) == sorted(expected.values())
        for where, keeps in (
            ("k = 7 or k between 100 and 150", lambda row: row[0] == 7 or 100 <= row[0] <= 150),
            ("city = 'city 3'", lambda row: row[1] == "city 3"),
            ("v < 100", lambda row: row[2] < 100),
        ):
            found = open_table(path).scan(where=where).to_arrow()
            assert sorted(tuple(row.values()) for row in found.to_pylist()) == sorted(filter(keeps, expected.values()))
        for snapshot in open_table(path).snapshots.ids():
            assert_same(path, [java], {"scan.snapshot-id": str(snapshot)})
        assert check(path, read_files=False).problems == ()


def test_what_needs_the_order_of_keys_is_refused(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    java.create(path, COLUMNS, ["k"], options=OPTIONS)
    for number in range(2):
        java.write(path, [(k, f"city {k % 3}", number) for k in range(9)])
    with pytest.raises(UnsupportedFeature, match="'pk-clustering-override' is 'true'"):
        Compact().run(open_table(path), LocalEngine())
    for options, what in (
        ({"deletion-vectors.merge-on-read": "true"}, "files that are not compacted"),
        ({"incremental-between": "1,3", "incremental-between-scan-mode": "diff"}, "the difference of two states"),
    ):
        with pytest.raises(UnsupportedFeature, match=what):
            open_table(path, options).scan().to_arrow()
    with pytest.raises(UnsupportedFeature, match="check all files"):
        check(path)
    first = table_path(tmp_path, "first")
    options = {key: value for key, value in OPTIONS.items() if key != "deletion-vectors.enabled"}
    java.create(first, COLUMNS, ["k"], options={**options, "merge-engine": "first-row"})
    with pytest.raises(UnsupportedFeature, match="without deletion vectors"):
        open_table(first).scan().to_arrow()


@pytest.mark.parametrize("producer", ["none", "input"])
@pytest.mark.parametrize("seed", range(tries("PAIMON_KEY_CLUSTERING_HISTORIES", 1, 20)))
def test_changes_and_streams_are_those_of_java(producer: str, seed: int, java: Genuine, tmp_path: Path) -> None:
    path, draw = table_path(tmp_path), random.Random(f"{run_seed()}-{producer}-{seed}")
    java.create(path, COLUMNS, ["k"], options={**OPTIONS, "changelog-producer": producer})
    for _ in range(6):
        rows = [(k, f"city {draw.randrange(9)}", draw.randrange(1000)) for k in draw.sample(range(50), 20)]
        kinds = [draw.choice(["+I", "+U", "-D"]) for _ in rows]
        java.write(path, rows, kinds, {"write-only": draw.choice(["true", "false"])})
    ids = [0, *open_table(path).snapshots.ids()]
    for mode in ("auto", "delta", "changelog"):
        start, end = sorted(draw.sample(ids, 2))
        options = {"incremental-between": f"{start},{end}", "incremental-between-scan-mode": mode}
        javas = Counter((kind, *row) for kind, row in java.audit_log(path, options))
        names = ["_row_kind", *COLUMNS]
        ours = Counter(tuple(r.values()) for r in open_table(path, options).scan(names).to_arrow().to_pylist())
        assert ours == javas, options
        some = Counter(tuple(r.values()) for r in open_table(path, options).scan(names, "k < 9").to_arrow().to_pylist())
        assert some == Counter({row: count for row, count in javas.items() if row[1] < 9}), options
    told, _ = java.run(java_stream, path, FROM_FIRST)
    stream = opened(open_table(path), FROM_FIRST, row_kinds=True)
    run = stream.start()
    found: Counter[tuple[object, ...]] = Counter()
    for unit in run.units(run.first(), replace(run.first(), snapshot=ids[-1] + 1, full=False, after=None)):
        for batch in stream.reader.read(unit):
            found.update(tuple(row.values()) for row in batch.select(names).to_pylist())
    assert found == Counter((kind, *values) for plan in told for kind, values in plan)
