"""Streams over tables with row tracking, data evolution, VARIANT and BLOB columns: ours and Java's, row by row.

Changes of single columns of rows are left out: their files lack the other columns, and our streams refuse them.

``PAIMON_KIND_STREAMS`` sets how many histories are tried of each kind.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import our_engine
import pytest
from blob_lives import EVOLVED, BlobLife
from compared_streams import compare_streams
from genuine import Genuine, table_path
from java_evolution import compact_columns
from readers import telling
from support.long_runs import tries
from support.tables.micro_batches import FROM_FIRST
from test_variants_like_java import COLUMNS as VARIANT_COLUMNS
from test_variants_like_java import KINDS_OF_TABLES as VARIANT_TABLES
from test_variants_like_java import rows_of

from paimon_spark import open_table

pytestmark = pytest.mark.interop
COUNT = tries("PAIMON_KIND_STREAMS", ci=2, long=50)
PLAIN: dict[str, Any] = {"k": "INT", "v": "STRING", "n": "BIGINT"}
LATEST_FULL = {"scan.mode": "latest-full"}


class PlainLife:
    """A table with ids of rows that both systems change."""

    def __init__(self, random: Random, path: str, java: Genuine, evolved: bool) -> None:
        self.random, self.path, self.java, self.evolved = random, path, java, evolved
        self.log: list[str] = []
        options = {**EVOLVED, "data-evolution.enabled": str(evolved).lower()}
        self.deletes = random.random() < 0.5 or not evolved
        options["deletion-vectors.enabled"] = str(self.deletes).lower()
        options["file.format"] = random.choice(["parquet", "parquet", "orc"])
        java.create(path, PLAIN, (), ("v",) if random.random() < 0.3 and not evolved else (), options)

    def step(self) -> None:
        deeds = [self.append, self.append, self.java_appends, self.compact, self.java_compacts]
        deeds += [self.update] * (not self.evolved) + [self.delete] * self.deletes
        deed = self.random.choice(deeds)
        self.log.append(deed.__name__)
        deed()

    def rows(self) -> list[tuple[Any, ...]]:
        r = self.random
        return [(r.choice([None, *range(9)]), r.choice("xyz"), r.choice([None, r.randrange(9)])) for _ in range(4)]

    def append(self) -> None:
        our_engine.write(self.path, [(self.rows(), None)])

    def java_appends(self) -> None:
        self.java.write(self.path, self.rows())

    def update(self) -> None:
        table = open_table(self.path)
        if table.snapshots.latest_id() is not None:
            table.update(f"k in ({self.random.randrange(9)}, {self.random.randrange(9)})", {"n": "77"})

    def delete(self) -> None:
        table = open_table(self.path)
        if table.snapshots.latest_id() is not None:
            table.delete(f"k = {self.random.randrange(9)}")

    def compact(self) -> None:
        our_engine.compact(self.path, full=True)

    def java_compacts(self) -> None:
        if not self.java.files(self.path):
            return
        if self.evolved:
            self.java.run(compact_columns, self.path)
        else:
            self.java.compact(self.path)


class VariantLife:
    """A table with VARIANT columns that both systems write."""

    def __init__(self, random: Random, path: str, java: Genuine) -> None:
        self.random, self.path, self.java = random, path, java
        name = random.choice(sorted(VARIANT_TABLES))
        keys, options = VARIANT_TABLES[name]
        self.log = [name]
        self.is_fixed = options["bucket"] != "-1" or not keys
        java.create(path, VARIANT_COLUMNS, keys=keys, options=options)

    def step(self) -> None:
        rows = rows_of(self.random, self.random.randrange(6))[: self.random.randint(1, 12)]
        if self.is_fixed and self.random.random() < 0.5:
            self.log.append(f"we write {rows}")
            our_engine.write(self.path, [(rows, None)])
        else:
            self.log.append(f"Java writes {rows}")
            self.java.write(self.path, rows)
        if self.random.random() < 0.2:
            self.log.append("we compact")
            our_engine.compact(self.path, full=True)


class BlobsOfWholeRows(BlobLife):
    """A table with BLOB columns in which no column of old rows changes, of which no stream tells."""

    def step(self) -> None:
        deeds = [self.append, self.append, self.java_writes, *([self.compact] * bool(self.rows))]
        self.random.choice([*deeds, *([self.delete, self.java_deletes] * (self.deletes and bool(self.rows)))])()


LIVES: dict[str, Callable[[Random, str, Genuine], Any]] = {
    "row tracking": lambda random, path, java: PlainLife(random, path, java, evolved=False),
    "data evolution": lambda random, path, java: PlainLife(random, path, java, evolved=True),
    "VARIANT": VariantLife,
    "BLOB": BlobsOfWholeRows,
}


@pytest.mark.parametrize("seed", range(COUNT))
@pytest.mark.parametrize("name", LIVES)
def test_streams_have_the_same_rows(name: str, seed: int, java: Genuine, tmp_path: Path) -> None:
    random = Random(seed)
    life = LIVES[name](random, table_path(tmp_path), java)

    def live(steps: int) -> None:
        for _ in range(steps):
            life.step()

    with telling(life.log):
        live(random.randint(4, 9))
        if open_table(life.path).snapshots.latest_id() is None:
            return
        for options in (FROM_FIRST, LATEST_FULL, {"scan.mode": "latest"}):
            compare_streams(life.path, java, options, lambda: live(3))
