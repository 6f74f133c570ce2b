"""Small tables of a catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pyarrow as pa

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import new_schema
from paimon_spark.catalogs.file_catalog import FileCatalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.file_io import FileIO
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.write.table_write import TableWrite

ORDERS = Identifier("shop", "orders")


def schema(**options: str) -> TableSchema:
    return new_schema(pa.schema([("id", pa.int64())]), options=options)


def append(table: ReadableTable, *ids: int) -> None:
    append_rows(table, {"id": ids})


def append_rows(table: ReadableTable, columns: Mapping[str, Sequence[Any]]) -> None:
    """One commit of rows, by column."""
    user = uuid4().hex
    task = TableWrite(table, user)
    task.write(pa.RecordBatch.from_pydict(dict(columns), schema=arrow_schema(table.schema.fields)))
    TableCommit(table, user).append(task.finish())


def ids_of(table: ReadableTable) -> list[int]:
    return sorted(table.scan().to_arrow().column("id").to_pylist())


def with_store(catalog: FileCatalog, file_io: FileIO) -> FileCatalog:
    """The catalog in files, or in a database, with another store."""
    names: Any = catalog.names
    return replace(catalog, names=replace(names, file_io=file_io))
