"""Maintenance as Java does it: of two copies of a table, one is maintained by Java, one by us."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import java_maintenance
import pytest
from checker import check_table
from genuine import Genuine, table_path
from readers import assert_same, java_read

from paimon_spark import open_table
from paimon_spark.store.manifest_compaction import compact_manifests
from paimon_spark.store.truncate import drop_partitions, truncate_table

pytestmark = pytest.mark.interop

OPTIONS = {"bucket": "2", "write-only": "true"}


def two_copies(java: Genuine, folder: Path) -> tuple[str, str]:
    """Four partitions, written several times, one of them compacted."""
    theirs, ours = table_path(folder, "theirs"), table_path(folder, "ours")
    columns = {"k": "INT NOT NULL", "dt": "STRING NOT NULL", "hour": "INT NOT NULL", "v": "STRING"}
    java.create(theirs, columns, keys=["k", "dt", "hour"], partitions=["dt", "hour"], options=OPTIONS)
    for number in range(3):
        rows = [(k, day, hour, f"{number}") for k in range(number, 5) for day in ("a", "b") for hour in (1, 2)]
        java.write(theirs, rows)
    java.compact(theirs)
    java.write(theirs, [(9, "a", 1, "late")])
    shutil.copytree(theirs, ours)
    return theirs, ours


def said(path: str) -> dict[str, Any]:
    """What the latest snapshot says, but for names, times and who it was."""
    latest = open_table(path).snapshots.latest_id()
    found = json.loads(Path(path, "snapshot", f"snapshot-{latest}").read_text())
    names = {"baseManifestList", "deltaManifestList", "indexManifest", "commitUser", "timeMillis", "uuid"}
    sizes = {"baseManifestListSize", "deltaManifestListSize"}
    return {key: value for key, value in found.items() if key not in names | sizes and value is not None}


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
