"""Removal of orphan files by the genuine Java; run where the JVM is."""

from __future__ import annotations

from typing import Any

from java_table import table_at


def remove(paimon: Any, path: str, before: int, dry_run: bool) -> tuple[int, int, list[str]]:
    """How many files, their bytes and paths; before: epoch millis."""
    table = table_at(paimon, path)
    done = paimon.operation.LocalOrphanFilesClean(table, before, dry_run).clean()
    paths = [str(deleted) for deleted in done.getDeletedFilesPath()]
    return int(done.getDeletedFileCount()), int(done.getDeletedFileTotalLenInBytes()), paths
