"""The same files compacted by us and by genuine Java: the same rows, sequence numbers, kinds, levels and changelog.

``PAIMON_COMPACT_LIKE_JAVA`` sets how many tables are tried (each by its number as seed).
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import our_engine
import pytest
from genuine import Genuine, table_path
from readers import java_read
from support.long_runs import tries
from support.tables.compacting import compact, stored_rows

from paimon_spark import open_table
from paimon_spark.format.deletion_vector import Positions
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.store.compact.live_buckets import live_buckets
from paimon_spark.store.metadata.manifest_files import read_manifest_list, read_manifests
from paimon_spark.store.read.deletion_files import read_deleted_positions

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_COMPACT_LIKE_JAVA", ci=5, long=12)
COLUMNS = {"k": "INT NOT NULL", "s": "STRING NOT NULL", "a": "INT", "b": "STRING", "g": "BIGINT"}
PARTIAL = {"merge-engine": "partial-update"}
SUMS = {
    "merge-engine": "aggregation",
    "fields.a.aggregate-function": "sum",
    "fields.b.aggregate-function": "max",
    "fields.b.ignore-retract": "true",
}
LOOKUP, VECTORS = {"changelog-producer": "lookup"}, {"deletion-vectors.enabled": "true"}
ENGINES: list[tuple[Mapping[str, str], str]] = [
    ({}, "+I +U -U -D"),
    ({"sequence.field": "g"}, "+I +U -U -D"),
    (SUMS, "+I +U -D"),
    ({**PARTIAL, "partial-update.remove-record-on-delete": "true"}, "+I +U -U -D"),
    ({**PARTIAL, "fields.g.sequence-group": "a"}, "+I +U -D"),
    ({"merge-engine": "first-row", "ignore-delete": "true"}, "+I +U -D"),
]
PRODUCERS: list[Mapping[str, str]] = [
    {},
    LOOKUP,
    {"changelog-producer": "full-compaction"},
    VECTORS,
    {**LOOKUP, **VECTORS},
    {**LOOKUP, "changelog-producer.row-deduplicate": "true", "changelog-producer.row-deduplicate-ignore-fields": "g"},
]


def random_options(r: random.Random, seed: int) -> tuple[dict[str, str], list[str]]:
    engine, kinds = ENGINES[seed % len(ENGINES)]
    first_row = engine.get("merge-engine") == "first-row"
    producers = PRODUCERS[:2] if first_row else PRODUCERS
    options = {
        **engine,
        **producers[(seed + seed // len(ENGINES)) % len(producers)],
        "bucket": "1",
        "file.format": r.choice(["parquet", "orc", "avro"]),
        "num-sorted-run.compaction-trigger": r.choice(["2", "3"]),
        "target-file-size": r.choice(["128 mb", "1 kb"]),
    }
    if r.random() < 0.3:
        options["file.format.per.level"] = "0:avro,1:orc"
    if r.random() < 0.3:
        options["data-file.thin-mode"] = "true"
    if r.random() < 0.3:
        options |= {"changelog-file.format": "orc", "changelog-file.prefix": "cl-", "changelog-file.stats-mode": "full"}
    if r.random() < 0.2 and "avro" not in str(options):  # of avro files Java keeps no more of keys than of values
        options |= {"metadata.stats-mode.per.level": "0:none,2:counts", "metadata.stats-dense-store": "false"}
    if not first_row and "sequence.field" not in options and r.random() < 0.25:
        options |= {"sequence.snapshot-ordering": "true", "write-only": "true"}
    return options, kinds.split()


def random_rows(r: random.Random) -> list[tuple[Any, ...]]:
    return [
        (r.randrange(5), r.choice(["", "ba", "ba\0"]), r.choice([None, 1, 2, 5]), r.choice([None, "x", "é"]),
         r.choice([None, 1, 2, 3]))
        for _ in range(r.randint(1, 12))
    ]  # fmt: skip


def in_files(path: str) -> Counter[Any]:
    """Level, sequence number, kind and values of every live row that no deletion vector deletes."""
    table = open_table(path)
    gone = dict[str, Positions]()
    for bucket in live_buckets(table, table.snapshots.latest()):
        gone |= {name: read_deleted_positions(table.file_io, d).tolist() for name, d in bucket.deletions.items()}
    return Counter(
        (file.level, *row)
        for file, rows in stored_rows(table)
        for position, row in enumerate(rows)
        if position not in gone.get(file.file_name, ())
    )


def levels(path: str) -> list[int]:
    return sorted(level for (level, *_), count in in_files(path).items() for _ in range(count))


def metadata(path: str) -> Counter[Any]:
    """What the manifest says of the live files."""
    table = open_table(path)
    return described(f for bucket in live_buckets(table, table.snapshots.latest()) for f in bucket.files)


def changelog_metadata(path: str) -> Counter[Any]:
    """What the manifests say of the changelog files of the latest snapshot."""
    table = open_table(path)
    snapshot = table.snapshots.latest()
    assert snapshot is not None
    if snapshot.changelog_manifest_list is None:
        return Counter()
    metas = read_manifest_list(table.file_io, path, snapshot.changelog_manifest_list)
    return described(entry.file for entry in read_manifests(table.file_io, path, metas))


def described(files: Iterable[DataFileMeta]) -> Counter[Any]:
    """Files by what is known of them, but for names, sizes and times."""
    return Counter(
        (f.level, f.row_count, f.min_key, f.max_key, f.min_sequence_number, f.max_sequence_number, f.delete_row_count,
         f.file_source, f.schema_id, f.key_stats, f.value_stats, f.value_stats_cols, f.file_name.split("-")[0],
         f.file_name.partition(".")[2])
        for f in files
    )  # fmt: skip


def changes(path: str) -> list[tuple[str, tuple[Any, ...]]]:
    return sorted(our_engine.changelog(path), key=repr)


@pytest.mark.parametrize("seed", range(COUNT))
def test_both_leave_the_same(seed: int, java: Genuine, tmp_path: Path) -> None:
    r = random.Random(seed)
    options, kinds = random_options(r, seed)
    ours, javas = table_path(tmp_path, "ours"), table_path(tmp_path, "javas")
    java.create(ours, COLUMNS, ["k", "s"], [], options)
    for _ in range(3):
        for _ in range(r.randint(1, 3)):
            rows = random_rows(r)
            chosen = [r.choice(kinds) for _ in rows]
            if r.random() < 0.5:
                java.write(ours, rows, chosen, {"write-only": "true"})
            else:
                our_engine.write(ours, [(rows, chosen)], {"write-only": "true"})
        full = r.random() < 0.5
        shutil.rmtree(javas, ignore_errors=True)
        shutil.copytree(ours, javas)
        compact(open_table(ours), full)
        java.compact(javas, full)
        note = f"{options} full: {full}"
        assert java_read(java, ours) == our_engine.read(ours) == java_read(java, javas), note
        if levels(ours) != levels(javas):  # a writer of Java looks again when it commits, at sizes that are not ours
            assert not full
            continue
        assert in_files(ours) == in_files(javas), note
        assert metadata(ours) == metadata(javas), note
        assert changelog_metadata(ours) == changelog_metadata(javas), note
        assert changes(ours) == changes(javas), note
