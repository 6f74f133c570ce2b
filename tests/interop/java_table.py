"""A table as the genuine Java opens it; run where the JVM is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jpype

NO_OPTIONS: Mapping[str, str] = {}


def table_at(paimon: Any, path: str, options: Mapping[str, str] = NO_OPTIONS) -> Any:
    """The table in a directory, with options beside its own; ``branch`` names one of its branches."""
    file_io = paimon.fs.local.LocalFileIO.create()
    table = paimon.table.FileStoreTableFactory.create(file_io, paimon.fs.Path(path))
    rest = dict(options)
    branch = rest.pop("branch", "main")
    if branch != "main" and table.coreOptions().isChainTable():  # as a catalog opens it; else it would read chains
        schema = paimon.schema.SchemaManager(file_io, paimon.fs.Path(path), branch).latest().get()
        told = {str(key): str(value) for key, value in dict(schema.options()).items()} | {"branch": branch}
        schema, none = schema.copy(jpype.java.util.HashMap(told)), paimon.table.CatalogEnvironment.empty()
        table = paimon.table.FileStoreTableFactory.create(file_io, paimon.fs.Path(path), schema, none)
    elif branch != "main":
        table = table.switchToBranch(branch)
    return table.copy(jpype.java.util.HashMap(rest)) if rest else table
