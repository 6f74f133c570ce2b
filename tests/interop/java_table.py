"""A table as the genuine Java opens it; run where the JVM is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jpype

NO_OPTIONS: Mapping[str, str] = {}


def table_at(paimon: Any, path: str, branch: str | None = None, options: Mapping[str, str] = NO_OPTIONS) -> Any:
    """The table in a directory, or one of its branches, with options beside its own."""
    file_io = paimon.fs.local.LocalFileIO.create()
    table = paimon.table.FileStoreTableFactory.create(file_io, paimon.fs.Path(path))
    table = table if branch in (None, "main") else table.switchToBranch(branch)
    return table.copy(jpype.java.util.HashMap(dict(options))) if options else table
