"""What a sort reads at once: few wide rows, and no more of them than a chunk of rows that are divided by range."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support.tables.compacting import make, write

from paimon_spark.merge.clustering.strategy import new_clustering
from paimon_spark.store.clustering import rows as clustering_rows
from paimon_spark.store.clustering.rows import ranged_rows
from paimon_spark.store.clustering.work import Bounds, ClusterUnit, ClusterWork
from paimon_spark.store.compact.bucket import LEAST_BATCH_ROWS
from paimon_spark.store.compact.live_buckets import live_buckets

ROWS = 3 * LEAST_BATCH_ROWS
COLUMNS = pa.schema([("k", pa.int64()), ("v", pa.string())])


@pytest.mark.parametrize(("width", "parts"), [(1, 1), (5000, 3)])
def test_wide_rows_are_read_in_small_batches(
    width: int, parts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of 5,000 bytes, of which a chunk of a megabyte holds few, come a thousand at a time."""
    monkeypatch.setattr(clustering_rows, "LEAST_CHUNK", 2**20)
    monkeypatch.setattr(clustering_rows, "MOST_CHUNK", 2**20)
    table = make(tmp_path / "t", COLUMNS, [], {"bucket": "-1", "file.compression": "none"})
    write(table, [(number, f"{number:0{width}}") for number in range(ROWS)])
    (bucket,) = live_buckets(table, table.snapshots.latest())
    entry = bucket.entries[0]
    unit = ClusterUnit(entry.partition, entry.bucket, entry.total_buckets, tuple(bucket.files))
    work = ClusterWork(table, new_clustering(table.schema, table.settings, "zorder", ["k"]), (unit,))
    found = [rows for _, rows in ranged_rows(work, 0, Bounds({}))]
    assert len(found) == parts
    assert [k for rows in found for k in rows.column("k").to_pylist()] == list(range(ROWS))
