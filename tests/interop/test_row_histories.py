"""Rows changed by us and by genuine Java in turns: after every step both read what a naive model has.

``PAIMON_ROW_HISTORIES`` sets how many histories of each kind of table are tried, ``PAIMON_ROW_HISTORIES_FROM`` the seed
of the first. We change rows by the methods of PaimonTable, or by statements of ``spark.sql``. Where the official
connector for Spark is there too, see genuine_spark.py, its statements change rows beside ours and those of Java's own
API.

In the kinds of table that are called limited, keys, partitions, bucket keys and columns that order rows are of CHAR(n)
or VARCHAR(n). Statements give texts with fewer or more blanks than are stored. In some of these tables Java's API
writes CHAR values without blanks, which are keys of their own; there the official connector inserts alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from genuine import Genuine, table_path
from genuine_spark import GenuineSpark, is_there
from pyspark.sql import SparkSession
from readers import telling
from row_doors import DOORS
from row_histories import RowHistory
from row_tables import KINDS, Kind
from support.long_runs import draws, tries

pytestmark = [pytest.mark.interop, pytest.mark.spark]
COUNT = tries("PAIMON_ROW_HISTORIES", ci=0, long=26)
FIRST = int(os.environ.get("PAIMON_ROW_HISTORIES_FROM", "0"))
# Without a number, three kinds of table are tried, others in each run.
DRAWN = [
    (kind, draws().randrange(10**6), door)
    for kind, door in zip(draws().sample(KINDS, 3), draws().sample([*DOORS, *DOORS], 3), strict=True)
]
ALL = [(kind, seed, door) for seed in range(FIRST, FIRST + COUNT) for kind in KINDS for door in DOORS]


@pytest.fixture(scope="module")
def official() -> Iterator[GenuineSpark | None]:
    session = GenuineSpark() if is_there() else None
    yield session
    if session is not None:
        session.end()


@pytest.mark.parametrize(("kind", "seed", "door"), ALL or DRAWN, ids=lambda value: getattr(value, "name", str(value)))
def test_rows_are_changed_alike(
    kind: Kind,
    seed: int,
    door: str,
    java: Genuine,
    quick_spark: SparkSession,
    official: GenuineSpark | None,
    tmp_path: Path,
) -> None:
    path = table_path(tmp_path)
    way = DOORS[door](quick_spark, path)
    history = RowHistory(seed, kind, path, java, way, official)
    with telling(history.log), closing(way):
        history.run(2)
