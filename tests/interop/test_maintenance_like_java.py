"""Maintenance as Java does it: of two copies of a table, one is maintained by Java, one by us."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import java_maintenance
import pytest
from genuine import Genuine, table_path
from readers import assert_same, java_change, java_read, our_change, said
from support.oracles.checker import check_table

from paimon_spark import open_table
from paimon_spark.store.clean.truncate import drop_partitions, truncate_table
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.upkeep.manifest_compaction import compact_manifests

pytestmark = pytest.mark.interop

OPTIONS = {"bucket": "2", "write-only": "true"}


def two_copies(java: Genuine, folder: Path, options: Mapping[str, str] = OPTIONS) -> tuple[str, str]:
    """Four partitions, written several times, one of them compacted."""
    theirs, ours = table_path(folder, "theirs"), table_path(folder, "ours")
    columns = {"k": "INT NOT NULL", "dt": "STRING NOT NULL", "hour": "INT NOT NULL", "v": "STRING"}
    java.create(theirs, columns, keys=["k", "dt", "hour"], partitions=["dt", "hour"], options=options)
    for number in range(3):
        rows = [(k, day, hour, f"{number}") for k in range(number, 5) for day in ("a", "b") for hour in (1, 2)]
        java.write(theirs, rows)
    java.compact(theirs)
    java.write(theirs, [(9, "a", 1, "late")])
    shutil.copytree(theirs, ours)
    return theirs, ours


def test_manifests_are_merged_alike(java: Genuine, tmp_path: Path) -> None:
    theirs, ours = two_copies(java, tmp_path)
    java.run(java_maintenance.compact_manifests, theirs)
    compact_manifests(open_table(ours))
    assert said(ours) == said(theirs)
    counts = java.run(java_maintenance.manifest_counts, ours)
    assert counts == java.run(java_maintenance.manifest_counts, theirs)
    assert all(deleted == 0 for _, deleted in counts)
    assert assert_same(ours, [java]) == java_read(java, theirs)
    check_table(ours)
    java.run(java_maintenance.compact_manifests, ours)
    assert said(ours) == said(theirs), "Java found something left to merge"


@pytest.mark.parametrize(
    ("where", "specs"),
    [
        (None, None),
        ("dt = 'a' and hour = 1", [{"dt": "a", "hour": "1"}]),
        ("dt = 'a'", [{"dt": "a"}]),
        ("(dt = 'a' and hour = 2) or dt = 'b'", [{"dt": "a", "hour": "2"}, {"dt": "b"}]),
    ],
)
def test_partitions_leave_alike(
    java: Genuine, tmp_path: Path, where: str | None, specs: list[dict[str, str]] | None
) -> None:
    theirs, ours = two_copies(java, tmp_path)
    java.run(java_maintenance.truncate, theirs, specs)
    table = open_table(ours)
    metrics = truncate_table(table) if where is None else drop_partitions(table, where)
    assert metrics.files
    assert said(ours) == said(theirs)
    assert assert_same(ours, [java]) == java_read(java, theirs)
    check_table(ours)


KINDS: dict[str, dict[str, str]] = {
    "input": {"changelog-producer": "input"},
    "lookup": {"changelog-producer": "lookup"},
    "full-compaction": {"changelog-producer": "full-compaction"},
    "vectors": {"deletion-vectors.enabled": "true", "changelog-producer": "lookup"},
    "first-row": {"merge-engine": "first-row", "changelog-producer": "lookup"},
    "dynamic": {"bucket": "-1"},
    "postponed": {"bucket": "-2"},
}


@pytest.mark.parametrize("specs", [None, [{"dt": "a"}]])
@pytest.mark.parametrize("kind", KINDS)
def test_changelogs_and_indexes_go_on_alike(
    java: Genuine, tmp_path: Path, kind: str, specs: list[dict[str, str]] | None
) -> None:
    """What leaves is in no changelog; what is written afterwards is."""
    theirs, ours = two_copies(java, tmp_path, {**OPTIONS, **KINDS[kind]})
    first = open_table(ours).snapshots.latest_id()
    java.run(java_maintenance.truncate, theirs, specs)
    if specs is None:
        truncate_table(open_table(ours))
    else:
        drop_partitions(open_table(ours), "dt = 'a'")
    assert said(ours) == said(theirs)
    assert index_places(ours) == index_places(theirs)
    for path in (theirs, ours):
        java.write(path, [(k, day, 1, "new") for k in range(3) for day in ("a", "b")])
        if kind not in ("dynamic", "postponed"):
            java.compact(path)
    last = open_table(ours).snapshots.latest_id()
    assert last == open_table(theirs).snapshots.latest_id()
    between = {"incremental-between": f"{first},{last}"}
    if "changelog-producer" in KINDS[kind]:
        between["incremental-between-scan-mode"] = "changelog"
    change = java_change(java, theirs, between)
    assert our_change(ours, between) == java_change(java, ours, between) == change
    assert change or kind == "postponed"
    assert assert_same(ours, [java]) == java_read(java, theirs)
    check_table(ours)


def index_places(path: str) -> Counter[tuple[bytes, int, str]]:
    table = open_table(path)
    entries = table_state(table, table.snapshots.latest()).index_entries
    return Counter((entry.partition, entry.bucket, entry.index_type) for entry in entries)
