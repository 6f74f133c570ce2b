"""A table as the genuine Java opens it; run where the JVM is."""

from __future__ import annotations

from typing import Any


def table_at(paimon: Any, path: str, branch: str | None = None) -> Any:
    """The table in a directory, or one of its branches."""
    file_io = paimon.fs.local.LocalFileIO.create()
    table = paimon.table.FileStoreTableFactory.create(file_io, paimon.fs.Path(path))
    return table if branch in (None, "main") else table.switchToBranch(branch)
