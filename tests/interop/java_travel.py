"""What the genuine Java sees of a table when options travel; run where the JVM is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jpype


def columns(paimon: Any, path: str, options: Mapping[str, str]) -> list[tuple[str, str]]:
    """(name, type as SQL) of the columns that a read with the options has."""
    file_io = paimon.fs.local.LocalFileIO.create()
    table = paimon.table.FileStoreTableFactory.create(file_io, paimon.fs.Path(path))
    rest = {key: value for key, value in options.items() if key != "branch"}
    table = table.switchToBranch(options["branch"]) if "branch" in options else table
    fields = table.copy(jpype.java.util.HashMap(rest)).rowType().getFields()
    return [(str(field.name()), str(field.type().asSQLString())) for field in fields]
