"""Maintenance by the genuine Java; run where the JVM is."""

from __future__ import annotations

from typing import Any

import jpype
from java_table import table_at


def compact_manifests(paimon: Any, path: str) -> None:
    commit = table_at(paimon, path).newBatchWriteBuilder().newCommit()
    commit.compactManifests()
    commit.close()


def manifest_counts(paimon: Any, path: str) -> list[tuple[int, int]]:
    """(added, deleted) files of the manifests that make up the latest snapshot, as Java reads them."""
    table = table_at(paimon, path)
    snapshot = table.snapshotManager().latestSnapshot()
    metas = table.store().manifestListFactory().create().readDataManifests(snapshot)
    return [(int(meta.numAddedFiles()), int(meta.numDeletedFiles())) for meta in metas]


def truncate(paimon: Any, path: str, specs: list[dict[str, str]] | None) -> None:
    """specs: values of partition columns as text; None: the whole table."""
    commit = table_at(paimon, path).newBatchWriteBuilder().newCommit()
    if specs is None:
        commit.truncateTable()
    else:
        commit.truncatePartitions(jpype.java.util.ArrayList([jpype.java.util.HashMap(spec) for spec in specs]))
    commit.close()
