"""Tables that Java writes have no problem for our check; Java reads and continues the deletion vectors we write."""

from __future__ import annotations

import random
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import our_engine
import pytest
from genuine import Genuine, table_path
from readers import assert_same
from support.oracles.checker import check_table
from support.oracles.comparing import Row

from paimon_spark import open_table
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.commit.vector_files import find_vector_files, vector_changes
from paimon_spark.store.compact.compaction import compact_table, run_here
from paimon_spark.store.compact.outcomes import Outcome
from paimon_spark.store.compact.task import CompactTask
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table

pytestmark = pytest.mark.interop

COLUMNS = {"k": "INT NOT NULL", "v": "STRING", "p": "STRING NOT NULL"}
VECTORS = {"deletion-vectors.enabled": "true"}
KEYED = {
    "plain": {"bucket": "2"},
    "vectors": {"bucket": "2", **VECTORS},
    "wide vectors": {"bucket": "1", **VECTORS, "deletion-vectors.bitmap64": "true"},
    "vectors, lookup": {"bucket": "1", **VECTORS, "changelog-producer": "lookup", "file.format": "orc"},
    "vectors in bucket directories": {"bucket": "2", **VECTORS, "index-file-in-data-file-dir": "true"},
    "first row": {"bucket": "1", "merge-engine": "first-row"},
    "lookup": {"bucket": "2", "changelog-producer": "lookup", "data-file.thin-mode": "true"},
    "full compaction": {"bucket": "1", "changelog-producer": "full-compaction"},
    "input": {"bucket": "1", "changelog-producer": "input", "num-sorted-run.compaction-trigger": "2"},
    "postponed": {"bucket": "-2"},
    "levels of other formats": {"bucket": "1", "file.format.per.level": "0:avro,5:orc"},
    "another hash": {"bucket": "3", "bucket-function.type": "mod"},
}


def rows_of(random_: random.Random, count: int = 40) -> tuple[list[Row], list[str]]:
    rows = [(random_.randrange(100), f"v{random_.random()}", random_.choice("ab")) for _ in range(count)]
    return rows, [random_.choice(["+I", "+I", "+I", "-D"]) for _ in rows]


@pytest.mark.parametrize("options", KEYED.values(), ids=KEYED)
def test_tables_of_java_are_good(options: dict[str, str], java: Genuine, tmp_path: Path) -> None:
    path, random_ = table_path(tmp_path), random.Random(4)
    java.create(path, COLUMNS, ["p", "k"], ["p"], options)
    first_row = options.get("merge-engine") == "first-row"
    for turn in range(6):
        rows, kinds = rows_of(random_)
        java.write(path, rows, None if first_row else kinds, {"write-only": str(turn == 2).lower()})
        if turn == 3 and options["bucket"] != "-2":
            java.compact(path)
        if turn == 4 and options["bucket"] != "-2":
            java.write(path, rows[:3], overwrite={"p": rows[0][2]})
    report = check_table(path)
    assert len(report.snapshots) >= 6
    assert report.files_read == report.files > 4


def delete(path: str, positions: dict[str, Sequence[int]]) -> None:
    """Our core of DELETE by hand: row numbers of data files become deletion vectors."""
    table = open_table(path)
    live = find_vector_files(table, table.snapshots.latest())
    messages = []
    for split in table.scan().plan().splits:
        rows = {f.file_name: np.array(positions.get(f.file_name, ()), np.int64) for f in split.files}
        changes = vector_changes(table, live, split.partition, split.bucket, (), rows)
        messages.append(CommitMessage(split.partition, split.bucket, -1, index_entries=changes.entries))
    TableCommit(table, str(uuid.uuid4())).append(messages)


@pytest.mark.parametrize("bitmap64", ["false", "true"])
@pytest.mark.parametrize("buckets", ["-1", "2"])
def test_java_and_we_delete_rows_in_turn(
    buckets: str, bitmap64: str, java: Genuine, older_java: Genuine, tmp_path: Path
) -> None:
    path, random_ = table_path(tmp_path), random.Random(9)
    options = {**VECTORS, "deletion-vectors.bitmap64": bitmap64, "bucket": buckets}
    options["deletion-vector.index-file.target-size"] = "60 b"  # several index files to a partition
    if buckets != "-1":
        options["bucket-key"] = "k"
    our_engine.create(path, COLUMNS, [], ["p"], options)
    deleted: set[tuple[str, int]] = set()
    written = 0
    for turn in range(4):
        for writer in (lambda rows: our_engine.write(path, [(rows, None)]), lambda rows: java.write(path, rows)):
            rows = rows_of(random_)[0]
            writer(rows)
            written += len(rows)
        files = {name: count for name, _, count in java.files(path)}
        for deleter in (delete, java.delete_positions):
            chosen = {name: random_.sample(range(count), count // 4) for name, count in files.items()}
            deleter(path, chosen)
            deleted |= {(name, row) for name, positions in chosen.items() for row in positions}
            assert assert_same(path, [java, older_java]).total() == written - len(deleted), turn
    check_table(path)
    java.compact(path)
    assert assert_same(path, [java, older_java]).total() == written - len(deleted)
    check_table(path)


class InterleavedRunner:
    """Runs tasks here, and something else when the first are done and not committed."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act: Callable[[], object] | None = act

    def run(self, table: Table, tasks: Sequence[CompactTask]) -> list[Outcome]:
        outcomes = [run_here(table, task) for task in tasks]
        act, self._act = self._act, None
        if act is not None:
            act()
        return outcomes

    def stop(self) -> None:
        """Nothing runs beside the caller."""


@pytest.mark.parametrize("buckets", ["-1", "2"])
def test_java_deletes_rows_of_files_that_we_compact(buckets: str, java: Genuine, tmp_path: Path) -> None:
    path, random_ = table_path(tmp_path), random.Random(2)
    options = {**VECTORS, "bucket": buckets, "compaction.min.file-num": "2"}
    if buckets != "-1":
        options["bucket-key"] = "k"
    our_engine.create(path, COLUMNS, [], [], options)
    for _ in range(3):
        our_engine.write(path, [(rows_of(random_)[0], None)])
    java.delete_positions(path, {java.files(path)[0][0]: [0, 2]})
    first = {name: [1] for name, _, _ in java.files(path)}
    compact_table(open_table(path), InterleavedRunner(lambda: java.delete_positions(path, first)), full=True)
    assert assert_same(path, [java]).total() == 118 - len(first)
    check_table(path)


@pytest.mark.parametrize("producer", ["none", "lookup"])
def test_java_writes_and_compacts_while_we_compact(producer: str, java: Genuine, tmp_path: Path) -> None:
    """Java makes other vectors of the very files of which our compaction has made some."""
    path = table_path(tmp_path)
    java.create(path, COLUMNS, ["p", "k"], ["p"], {"bucket": "1", **VECTORS, "changelog-producer": producer})
    java.write(path, [(k, "old", "a") for k in range(50)])
    java.write(path, [(k, "new", "a") for k in range(0, 20)], options={"write-only": "true"})

    def java_is_faster() -> None:
        java.write(path, [(k, "newer", "a") for k in range(10, 30)])

    compact_table(open_table(path), InterleavedRunner(java_is_faster), full=False)
    java.write(path, [(40, "last", "a")], options={"write-only": "true"})
    our_engine.compact(path, False)
    expected = {**dict.fromkeys(range(50), "old"), **dict.fromkeys(range(20), "new")}
    expected |= {**dict.fromkeys(range(10, 30), "newer"), 40: "last"}
    assert assert_same(path, [java]) == Counter((k, v, "a") for k, v in expected.items())
    check_table(path)
