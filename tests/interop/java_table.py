"""A table as the genuine Java opens it; run where the JVM is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jpype

NO_OPTIONS: Mapping[str, str] = {}
S3_JAR = "org.apache.paimon:paimon-s3:1.4.2"
"""What each release needs for tables in a store of S3; that of 2.0.0 is not on Maven Central."""
_STORAGE = "s3."


def file_io_at(paimon: Any, path: str, options: Mapping[str, str] = NO_OPTIONS) -> Any:
    """Java's file system for a path, with the options of the storage among those that are given."""
    if "://" not in path:
        return paimon.fs.local.LocalFileIO.create()
    told = {key: value for key, value in options.items() if key.startswith(_STORAGE)}
    context = paimon.catalog.CatalogContext.create(paimon.options.Options.fromMap(jpype.java.util.HashMap(told)))
    return paimon.fs.FileIO.get(paimon.fs.Path(path), context)


def table_at(paimon: Any, path: str, options: Mapping[str, str] = NO_OPTIONS) -> Any:
    """The table in a directory, with options beside its own; ``branch`` names one of its branches.

    Those of a storage of S3, ``s3.*``, reach it, and are not of the table.
    """
    file_io = file_io_at(paimon, path, options)
    table = paimon.table.FileStoreTableFactory.create(file_io, paimon.fs.Path(path))
    rest = {key: value for key, value in options.items() if not key.startswith(_STORAGE)}
    branch = rest.pop("branch", "main")
    if branch != "main" and table.coreOptions().isChainTable():  # as a catalog opens it; else it would read chains
        schema = paimon.schema.SchemaManager(file_io, paimon.fs.Path(path), branch).latest().get()
        told = {str(key): str(value) for key, value in dict(schema.options()).items()} | {"branch": branch}
        schema, none = schema.copy(jpype.java.util.HashMap(told)), paimon.table.CatalogEnvironment.empty()
        table = paimon.table.FileStoreTableFactory.create(file_io, paimon.fs.Path(path), schema, none)
    elif branch != "main":
        table = table.switchToBranch(branch)
    return table.copy(jpype.java.util.HashMap(rest)) if rest else table
