"""Removal of orphan files by the genuine Java; run where the JVM is."""

from __future__ import annotations

from typing import Any


def remove(paimon: Any, path: str, before: int, dry_run: bool) -> tuple[int, int, list[str]]:
    """How many files, their bytes and paths; before: epoch millis."""
    file_io = paimon.fs.local.LocalFileIO.create()
    table = paimon.table.FileStoreTableFactory.create(file_io, paimon.fs.Path(path))
    done = paimon.operation.LocalOrphanFilesClean(table, before, dry_run).clean()
    paths = [str(deleted) for deleted in done.getDeletedFilesPath()]
    return int(done.getDeletedFileCount()), int(done.getDeletedFileTotalLenInBytes()), paths


def delete_branch(paimon: Any, path: str, name: str) -> None:
    file_io = paimon.fs.local.LocalFileIO.create()
    paimon.table.FileStoreTableFactory.create(file_io, paimon.fs.Path(path)).deleteBranch(name)
