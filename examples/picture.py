"""Makes docs/orders.png: a table of orders after two weeks of writes, of which some wait for a compaction.

``python examples/picture.py [PICTURE]``; it needs ``pip install 'paimon-spark[plot]'`` and no Spark.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from paimon_spark import open_table
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.write.table_write import TableWrite

DAYS = [f"2026-11-{day:02}" for day in range(1, 10)]
SCHEMA = pa.schema([pa.field("id", pa.int64(), False), pa.field("dt", pa.string(), False), ("total", pa.float64())])
OPTIONS = {"bucket": "8", "write-only": "true"}


def write(path: str, days: list[str], rows: int, chance: np.random.Generator) -> None:
    """One commit of rows with random keys, so many a day."""
    table = open_table(path)
    user = new_user(table)
    job = TableWrite(table, user)
    for day in days:
        keys = pa.array(chance.choice(500_000, rows, replace=False))
        columns = [keys, pa.array([day] * rows), pa.array(chance.random(rows).round(2))]
        job.write(pa.RecordBatch.from_arrays(columns, schema=SCHEMA), None)
    TableCommit(table, user).append(job.finish())


def main(picture: str) -> None:
    chance = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/lake/shop.db/orders"
        create_table(path, new_schema(SCHEMA, ["id", "dt"], ["dt"], OPTIONS))
        for count, _ in enumerate(DAYS, 1):
            write(path, DAYS[:count], 4_000 // count, chance)
        compact_table(open_table(path), LocalRunner(), full=True)
        create_tag(open_table(path), "week-45")
        create_branch(open_table(path), "trial", "week-45")
        for rows in (900, 700):
            write(path, DAYS[-5:], rows, chance)
        compact_table(open_table(path), LocalRunner(), where=f"dt = '{DAYS[-5]}'", full=True)
        for rows in (500, 400, 300):
            write(path, DAYS[-2:], rows, chance)
        subprocess.run([sys.executable, "-m", "paimon_spark", "info", path, "--plot", picture], check=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).parents[1] / "docs" / "orders.png"))
