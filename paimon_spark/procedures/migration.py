"""Tables of Hive become tables of Paimon (features 7; Java: MigrateTableProcedure, MigrateDatabaseProcedure)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from paimon_spark.errors import OptionError, PaimonError
from paimon_spark.procedures.databases import DatabaseProcedure, Tables
from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import OPTIONS, Absent, Argument
from paimon_spark.store.reporting.result import Result

_HIVE = "hive"
_PARALLELISM = {"parallelism": Absent("the files are looked at by a few threads")}

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class MigrateTable(DatabaseProcedure[None]):
    """Makes a table of Paimon of a table of Hive, in a hive catalog. Its files are moved, not copied.

    Raises:
        OptionError: an argument is missing, or not known.
        UnsupportedFeature: the catalog has no tables of Hive, or this one cannot be taken over.
        SchemaError: there is no such table, or the target does not fit.
    """

    official = ("source_type", "table", OPTIONS, "delete_origin", "target_table", "options_map", "parallelism")
    absent = _PARALLELISM

    source_type: Annotated[str, Argument("hive.")]
    table: Annotated[str, Argument("the table of Hive, as db.orders.")]
    options: Annotated[Mapping[str, str], Argument("table options of the new table.")] = field(default_factory=dict)
    delete_origin: Annotated[bool, Argument("whether the table of Hive is dropped at the end.")] = True
    target_table: Annotated[
        str | None, Argument("the table that gets the files; without it, the new table gets the name of the old one.")
    ] = None
    options_map: Annotated[Mapping[str, str], Argument("more table options.")] = field(default_factory=dict)

    def run(self, tables: Tables, engine: Engine) -> None:
        _check_type(self.source_type)
        options = {**self.options, **self.options_map}
        tables.migrate(self.table, self.target_table or None, options, self.delete_origin)


@dataclass(frozen=True, repr=False)
class MigrateDatabaseResult(Result):
    """What became of the tables of Hive.

    Attributes:
        migrated: the names of those that were taken over.
        failed: the errors by the names of the others.
    """

    migrated: tuple[str, ...]
    failed: Mapping[str, str]


@dataclass(frozen=True)
class MigrateDatabase(DatabaseProcedure[MigrateDatabaseResult]):
    """Makes tables of Paimon of all tables of Hive in a database, one after another.

    A table that fails does not stop the others: its error is logged, and counted in the result.

    Raises:
        OptionError: an argument is not known.
        PaimonError: the tables cannot be listed.
    """

    official = ("source_type", "database", OPTIONS, "options_map", "parallelism")
    absent = _PARALLELISM

    source_type: Annotated[str, Argument("hive.")]
    database: Annotated[str, Argument("the database.")]
    options: Annotated[Mapping[str, str], Argument("table options of the new tables.")] = field(default_factory=dict)
    options_map: Annotated[Mapping[str, str], Argument("more table options.")] = field(default_factory=dict)

    def run(self, tables: Tables, engine: Engine) -> MigrateDatabaseResult:
        _check_type(self.source_type)
        done, failed = [], {}
        for name in tables.tables_of_hive(self.database):
            whole = f"{self.database}.{name}"
            try:
                tables.migrate(whole, None, {**self.options, **self.options_map}, True)
            except (PaimonError, OSError) as error:
                _log.error("migrating %s failed: %s", whole, error)
                failed[whole] = str(error)
            else:
                done.append(whole)
        return MigrateDatabaseResult(tuple(done), failed)


def _check_type(source_type: str) -> None:
    if source_type.lower() != _HIVE:
        raise OptionError(f"the source type '{source_type}' is not known: tables of '{_HIVE}' can be taken over")
