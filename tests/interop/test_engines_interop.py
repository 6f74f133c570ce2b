"""Tables of every merge engine and aggregate function, written by us and by genuine Java in turn, read alike by both.

``PAIMON_ENGINE_HISTORIES`` sets how many histories are tried (each by its number as seed).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import our_engine
import pytest
from engine_tables import Blobs, EngineTable, draw_table
from genuine import NO_OPTIONS, Genuine, table_path
from readers import assert_same, java_read, telling
from support.long_runs import tries

from paimon_spark.errors import CompactionFailed, DataError

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_ENGINE_HISTORIES", ci=6, long=14)
ENGINES = ["aggregation", "groups", "aggregation", "groups", "partial-update", "first-row", "deduplicate"]
ROWS = 12


class EngineHistory:
    """One table and what was done to it; log is shown when the readers differ."""

    def __init__(self, seed: int, path: str, java: Genuine, blobs: Blobs) -> None:
        self.random = random.Random(seed)
        self.path, self.java = path, java
        self.table: EngineTable = draw_table(self.random, ENGINES[seed % len(ENGINES)], blobs)
        self.log: list[str] = []

    def run(self) -> None:
        table = self.table
        maker: Any = self.random.choice([our_engine, self.java])
        self.log.append(f"create {table.columns} keys {table.keys} {table.options}")
        maker.create(self.path, table.columns, table.keys, [], table.options)
        steps = [self._we_write, self._java_writes]
        for number in range(self.random.randint(3, 8)):
            steps[number % 2]() if self.random.random() < 0.7 else self.random.choice(steps)()
            if self.random.random() < 0.2:
                self._java_compacts()
        self._check(NO_OPTIONS)
        self._check({"scan.snapshot-id": str(self.random.choice(our_engine.snapshot_ids(self.path)))})

    def _we_write(self) -> None:
        parts = [self.table.rows_and_kinds(self.random, ROWS) for _ in range(self.random.choice([1, 1, 2]))]
        self.log.append(f"we write {parts}")
        our_engine.write(self.path, parts, self._options_of_ours())

    def _options_of_ours(self) -> Mapping[str, str]:
        """first-row rows show when they are compacted, which is left to Java here: we write it with write-only."""
        return {"write-only": "true"} if self.table.options.get("merge-engine") == "first-row" else NO_OPTIONS

    def _java_writes(self) -> None:
        rows, kinds = self.table.rows_and_kinds(self.random, ROWS)
        options = self.random.choice([{}, {"write-only": "true"}])
        self.log.append(f"Java writes {options} {list(zip(kinds, rows, strict=True))}")
        self.java.write(self.path, rows, kinds, options)

    def _java_compacts(self) -> None:
        if self.java.files(self.path):
            full = self.random.random() < 0.5
            self.log.append(f"Java compacts, full: {full}")
            self.java.compact(self.path, full)

    def _check(self, options: Mapping[str, str]) -> None:
        ours, javas = our_engine.read(self.path, options), java_read(self.java, self.path, options)
        assert self.table.canonical_rows(ours) == self.table.canonical_rows(javas)


@pytest.mark.parametrize("seed", range(COUNT))
def test_any_history_of_any_engine_reads_the_same(seed: int, java: Genuine, blobs: Blobs, tmp_path: Path) -> None:
    history = EngineHistory(seed, table_path(tmp_path), java, blobs)
    with telling(history.log):
        history.run()


REMOVES: Mapping[str, Mapping[str, str]] = {
    "sum": {
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "sum",
        "aggregation.remove-record-on-delete": "true",
    },
    "overlay": {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
}


@pytest.mark.parametrize(
    ("engine", "deletion", "compacts", "expected"),
    [
        ("sum", (1, 10, 5), False, (1, 14, 5)),
        ("sum", (1, None, None), False, (1, 4, None)),
        ("sum", (1, 10, 5), True, (1, 4, None)),
        ("overlay", (1, 10, 5), False, (1, 4, 5)),
        ("overlay", (1, None, None), False, (1, 4, None)),
        ("overlay", (1, 10, 5), True, (1, 4, None)),
    ],
)
@pytest.mark.parametrize("producer", ["none", "input", "full-compaction"])
@pytest.mark.parametrize("writer", ["ours", "Java"])
def test_a_key_written_again_starts_from_the_values_of_its_deletion(
    engine: str,
    deletion: tuple[Any, ...],
    compacts: bool,
    expected: tuple[Any, ...],
    producer: str,
    writer: str,
    java: Genuine,
    tmp_path: Path,
) -> None:
    """A row of kind -D puts its own values into the record, until a compaction leaves it out with the older rows."""
    path = table_path(tmp_path)
    options = {**REMOVES[engine], "bucket": "1", "changelog-producer": producer}
    our_engine.create(path, {"k": "INT NOT NULL", "v": "INT", "w": "INT"}, ["k"], [], options)
    for row, kind, left in [((1, 10, 5), "+I", [(1, 10, 5)]), (deletion, "-D", []), ((1, 4, None), "+I", [expected])]:
        if writer == "ours":
            our_engine.write(path, [([row], [kind])])
        else:
            java.write(path, [row], [kind], {"write-only": "true"})
        if kind == "-D" and compacts:
            our_engine.compact(path, True) if writer == "ours" else java.compact(path, True)
        assert sorted(assert_same(path, [java])) == left
    our_engine.compact(path, True) if writer == "ours" else java.compact(path, True)
    assert sorted(assert_same(path, [java])) == [expected]


@pytest.mark.parametrize(
    "options",
    [
        {"merge-engine": "partial-update"},
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "max"},
        {"merge-engine": "partial-update", "fields.w.sequence-group": "v", "fields.v.aggregate-function": "max"},
        {"merge-engine": "first-row"},
    ],
    ids=lambda options: " ".join(options.values()),
)
@pytest.mark.parametrize("kind", ["-U", "-D"])
def test_a_row_that_java_writes_and_cannot_merge_is_refused_by_us(
    options: Mapping[str, str], kind: str, java: Genuine, tmp_path: Path
) -> None:
    """Java writes the row, and can neither read nor compact the table once the key has another one; so we refuse it."""
    path = table_path(tmp_path)
    our_engine.create(path, {"k": "INT NOT NULL", "v": "INT", "w": "INT"}, ["k"], [], {**options, "bucket": "1"})
    with pytest.raises(DataError, match=f"found 1 rows of kind {kind}"):
        our_engine.write(path, [([(1, 10, 5)], [kind])])
    assert our_engine.snapshot_ids(path) == []
    java.write(path, [(1, 10, 5)], [kind], {"write-only": "true"})
    assert not assert_same(path, [java])
    java.write(path, [(1, 4, 6)], ["+I"], {"write-only": "true"})
    if options["merge-engine"] == "first-row":
        assert not assert_same(path, [java])  # rows on level 0 are not read
    else:
        with pytest.raises(RuntimeError, match=r"delete records|retraction"):
            java.read(path)
        with pytest.raises(DataError, match="-U or -D"):
            our_engine.read(path)
    with pytest.raises(RuntimeError, match=r"delete records|DELETE/UPDATE_BEFORE|retraction"):
        java.compact(path, True)
    with pytest.raises(CompactionFailed, match="-U or -D"):
        our_engine.compact(path, True)
