"""A folder of databases for tests of SQL CALL: ``<database>.db/<table>``, and what a catalog does with a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.types import DataField
from paimon_spark.procedures.call.bind import DatabaseCall, bind
from paimon_spark.procedures.call.results import call_result
from paimon_spark.procedures.databases import RefreshMaterializedTableResult
from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.local_engine import LocalEngine
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.partition_choice import Partitions
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("id", pa.int64()), ("dt", pa.string())])
NO_OPTIONS: Mapping[str, str] = {}
_FILES_ONLY = UnsupportedFeature("a folder of databases has the files of tables and knows nothing beside them")


@dataclass(frozen=True)
class Warehouse:
    """See Tables of paimon_spark.procedures.databases."""

    folder: Path

    def list_databases(self) -> Sequence[str]:
        return sorted(path.stem for path in self.folder.glob("*.db"))

    def list_tables(self, database: str) -> Sequence[str]:
        return sorted(path.name for path in (self.folder / f"{database}.db").iterdir())

    def open(self, database: str, table: str, options: Mapping[str, str]) -> Table:
        return open_table(str(self.folder / f"{database}.db" / table), options)

    def repair(self, database: str | None, table: str | None) -> None:
        raise _FILES_ONLY

    def tables_of_hive(self, database: str) -> Sequence[str]:
        raise _FILES_ONLY

    def migrate(self, source: str, target: str | None, options: Mapping[str, str], drop_source: bool) -> None:
        raise _FILES_ONLY

    def alter_dialect(self, view: str, action: str, dialect: str, query: str | None) -> None:
        raise _FILES_ONLY

    def create_function(
        self,
        function: str,
        inputs: Sequence[DataField],
        returns: Sequence[DataField],
        deterministic: bool,
        comment: str | None,
        options: Mapping[str, str],
    ) -> None:
        raise _FILES_ONLY

    def alter_function(self, function: str, change: Mapping[str, Any]) -> None:
        raise _FILES_ONLY

    def drop_function(self, function: str) -> None:
        raise _FILES_ONLY

    def refresh(self, table: str, partition: Partitions | None) -> RefreshMaterializedTableResult:
        raise _FILES_ONLY

    def location(self, name: str) -> str:
        database, _, table = name.partition(".")
        return str(self.folder / f"{database}.db" / table)

    def create(self, name: str, keys: Sequence[str] = (), options: Mapping[str, str] = NO_OPTIONS) -> None:
        """A table of COLUMNS in partitions of dt, that is not compacted by writers."""
        schema = new_schema(COLUMNS, keys, ("dt",), {"write-only": "true", **options})
        create_table(self.location(name), schema)

    def append(self, name: str, rows: Sequence[tuple[int, str]], watermark: int | None = None) -> None:
        """One commit of the rows."""
        table = open_table(self.location(name))
        write = TableWrite(table, "writer")
        write.write(pa.record_batch([pa.array(column) for column in zip(*rows, strict=True)], schema=COLUMNS))
        latest = table.snapshots.latest_id() or 0
        TableCommit(table, "writer").append(write.finish(), latest + 1, watermark=watermark)

    def rows(self, name: str) -> list[tuple[int, str]]:
        found = open_table(self.location(name)).scan().to_arrow()
        return sorted(zip(found.column("id").to_pylist(), found.column("dt").to_pylist(), strict=True))

    def call(self, procedure: str, *positional: object, **named: object) -> tuple[pa.Schema, list[tuple[Any, ...]]]:
        """What SQL CALL does and returns."""
        engine: Engine = LocalEngine()
        bound = bind(procedure, positional, named)
        if isinstance(bound, DatabaseCall):
            return call_result(bound.procedure, bound.procedure.run(self, engine))
        call = bound.located(self.location)
        table = open_table(self.location(call.table), call.options)
        return call_result(call.procedure, call.procedure.run(table, engine))
