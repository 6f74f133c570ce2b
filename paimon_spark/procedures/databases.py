"""What is done with the tables of databases, and with the names that a catalog keeps beside their files."""

from __future__ import annotations

import json
import logging
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Protocol, TypeVar

from paimon_spark.errors import OptionError, PaimonError, SchemaError
from paimon_spark.format.type_text import parse_field
from paimon_spark.format.types import DataField
from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.orphan_files import RemoveOrphanFiles
from paimon_spark.procedures.procedure import OPTIONS, Absent, Argument, Declaration
from paimon_spark.store.clean.orphans import RemoveOrphanFilesResult
from paimon_spark.store.compact.outcomes import CompactResult
from paimon_spark.store.compact.partition_choice import Partitions
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Progress, Result

_SPARK = "spark"
_HIVE = "hive"
_PARALLELISM = {"parallelism": Absent("the files are looked at by a few threads", is_speed=True)}
_ACTIONS = ("add", "update", "drop")
_PARAMETERS = 'as a list in JSON, such as [{"id": 0, "name": "length", "type": "INT"}]'

_log = logging.getLogger(__name__)

R = TypeVar("R", covariant=True)


class Tables(Protocol):
    """The databases and tables of a catalog."""

    def list_databases(self) -> Sequence[str]:
        """The names of all databases."""
        ...

    def list_tables(self, database: str) -> Sequence[str]:
        """The names of the Paimon tables of a database.

        Args:
            database: a name of ``list_databases``, or one that the user gave.

        Raises:
            PaimonError: there is no such database.
        """
        ...

    def repair(self, database: str | None, table: str | None) -> None:
        """Makes what the catalog knows of tables agree with their files.

        Args:
            database: None: all.
            table: of the database; None: all.

        Raises:
            PaimonError: there are no such files, or the catalog knows nothing beside them.
        """
        ...

    def tables_of_hive(self, database: str) -> Sequence[str]:
        """The names of the tables of Hive in a database of the catalog.

        Raises:
            PaimonError: there is no such database, or the catalog has no such tables.
        """
        ...

    def migrate(self, source: str, target: str | None, options: Mapping[str, str], drop_source: bool) -> None:
        """Makes a table of Paimon of one of Hive.

        Args:
            source: the table of Hive, as db.orders.
            target: the table that gets its files; None: it gets the name of the source.
            options: of a new table.
            drop_source: whether the table of Hive is dropped then.

        Raises:
            PaimonError: it cannot be done.
        """
        ...

    def alter_dialect(self, view: str, action: str, dialect: str, query: str | None) -> None:
        """Changes the query of a view for one engine.

        Args:
            view: its name, as it was given.
            action: "add", "update" or "drop".
            dialect: the name of the engine.
            query: None for "drop".

        Raises:
            PaimonError: there is no such view, or it has or lacks the dialect, or the catalog has no views.
        """
        ...

    def refresh(self, table: str, partition: Partitions | None) -> RefreshMaterializedTableResult:
        """Replaces the rows of a materialized table by those of its query.

        Args:
            table: its name, as it was given.
            partition: the values of one; None: all rows.

        Raises:
            PaimonError: it is no such table, or its query cannot be run; nothing has changed.
        """
        ...

    def create_function(
        self,
        function: str,
        inputs: Sequence[DataField],
        returns: Sequence[DataField],
        deterministic: bool,
        comment: str | None,
        options: Mapping[str, str],
    ) -> None:
        """Stores a function without definitions.

        Args:
            function: its name, as it was given.
            inputs, returns: its parameters, and what it returns.

        Raises:
            PaimonError: there is one of that name, or the catalog stores none.
        """
        ...

    def alter_function(self, function: str, change: Mapping[str, Any]) -> None:
        """Makes a change of a function, as in the JSON of the REST protocol.

        Raises:
            PaimonError: there is no such function, or the change does not fit.
        """
        ...

    def drop_function(self, function: str) -> None:
        """Drops a function.

        Raises:
            PaimonError: there is no such function.
        """
        ...

    def open(self, database: str, table: str, options: Mapping[str, str]) -> Table:
        """A table with options for one call.

        Raises:
            PaimonError: there is no such table, or it cannot be opened.
        """
        ...


class DatabaseProcedure(Declaration, Generic[R]):
    """An operation on the tables of databases; R: its result."""

    @abstractmethod
    def run(self, tables: Tables, engine: Engine) -> R:
        """Does it.

        Args:
            tables: of the catalog.
            engine: does what may be too big for one process.
        """


@dataclass(frozen=True, repr=False)
class CompactDatabaseResult(Result):
    """The result of a compaction of many tables.

    Attributes:
        compacted: the results by the names of the tables, such as ``db.orders``.
        failed: the errors by the names of the tables.
    """

    compacted: Mapping[str, CompactResult]
    failed: Mapping[str, str]


@dataclass(frozen=True)
class CompactDatabase(DatabaseProcedure[CompactDatabaseResult]):
    """Compacts, one after another, the tables whose names match patterns, each with the defaults of `compact`.

    A table that fails does not stop the others: its error is logged, and counted in the result.

    Raises:
        OptionError: a pattern is no regular expression.
        PaimonError: the databases or their tables cannot be listed.
    """

    official = ("including_databases", "including_tables", "excluding_tables", OPTIONS)

    including_databases: Annotated[str, Argument("a regular expression that the whole name of a database matches.")] = (
        ".*"
    )
    including_tables: Annotated[
        str, Argument("a regular expression that the name of a table with its database, as in db.orders, matches.")
    ] = ".*"
    excluding_tables: Annotated[
        str | None, Argument("a regular expression; tables whose names with their databases match it are left out.")
    ] = None
    options: Annotated[Mapping[str, str], Argument("table options of this call.")] = field(default_factory=dict)
    progress: Annotated[Progress | None, Argument("is told how many tables are done.", only_python=True)] = None

    def run(self, tables: Tables, engine: Engine) -> CompactDatabaseResult:
        compacted: dict[str, CompactResult] = {}
        failed: dict[str, str] = {}
        chosen = list(self._chosen(tables))
        for done, (database, table) in enumerate(chosen):
            name = f"{database}.{table}"
            if self.progress is not None:
                self.progress(f"compacting {name}", done, len(chosen))
            try:
                compacted[name] = engine.compact(tables.open(database, table, self.options), None, None)
            except Exception as error:  # of whatever kind: Spark's errors are none of ours
                _log.exception("compacting the table %s failed; the other tables are compacted all the same", name)
                failed[name] = f"{type(error).__name__}: {error}"
        return CompactDatabaseResult(compacted, failed)

    def _chosen(self, tables: Tables) -> Iterator[tuple[str, str]]:
        """Databases and tables whose names match."""
        databases = _pattern("including_databases", self.including_databases)
        included = _pattern("including_tables", self.including_tables)
        excluding = self.excluding_tables is not None and self.excluding_tables.strip()
        excluded = _pattern("excluding_tables", excluding) if excluding else None
        for database in filter(databases.fullmatch, tables.list_databases()):
            for table in tables.list_tables(database):
                name = f"{database}.{table}"
                if included.fullmatch(name) and not (excluded and excluded.fullmatch(name)):
                    yield database, table


@dataclass(frozen=True, repr=False)
class RemoveDatabaseOrphanFilesResult(Result):
    """The result of a removal of orphan files from many tables, by their names in the database."""

    tables: Mapping[str, RemoveOrphanFilesResult]


@dataclass(frozen=True)
class RemoveDatabaseOrphanFiles(DatabaseProcedure[RemoveDatabaseOrphanFilesResult]):
    """Removes orphan files from each table of a database; SQL calls it `remove_orphan_files` of ``db.*``.

    All tables are opened before the first file goes. The first table that fails stops the removal.

    Raises:
        PaimonError: as of remove_orphan_files, or a table cannot be opened; nothing was deleted then.

    Attributes:
        database: its name, as it was given.
        each: what is done with a table.
        options: table options of this call.
    """

    database: str
    each: RemoveOrphanFiles
    options: Mapping[str, str] = field(default_factory=dict)

    def run(self, tables: Tables, engine: Engine) -> RemoveDatabaseOrphanFilesResult:
        names = tables.list_tables(self.database)
        opened = {name: tables.open(self.database, name, self.options) for name in names}
        return RemoveDatabaseOrphanFilesResult({name: self.each.run(one, engine) for name, one in opened.items()})


@dataclass(frozen=True)
class Repair(DatabaseProcedure[None]):
    """Makes what a catalog knows of tables agree with their files: tables that it does not know are registered.

    Raises:
        OptionError: a name has more than two parts.
        PaimonError: there are no such files, or the catalog knows nothing beside the files.
    """

    official = ("database_or_table",)

    database_or_table: Annotated[
        str, Argument("databases, and tables as db.orders, with commas between them; '' for all of the warehouse.")
    ]

    def run(self, tables: Tables, engine: Engine) -> None:
        if not self.database_or_table.strip():
            tables.repair(None, None)
            return
        names = [text.strip().split(".") for text in self.database_or_table.split(",")]
        for parts in names:
            if len(parts) > 2 or not all(parts):
                raise OptionError(f"'{'.'.join(parts)}' is neither a database nor a table as db.orders")
        for parts in names:
            tables.repair(parts[0], parts[1] if len(parts) == 2 else None)


@dataclass(frozen=True)
class AlterViewDialect(DatabaseProcedure[None]):
    """Changes the query that a view has for one engine.

    Raises:
        OptionError: the query is missing, or the dialect to change or drop is not there.
        NameTaken: the dialect to add is there already.
        PaimonError: there is no such view, or the catalog has none.
    """

    official = ("view", "action", "engine", "query")

    view: Annotated[str, Argument("the name of the view, as db.big.")]
    action: Annotated[str, Argument("add, update or drop.")]
    engine: Annotated[str, Argument("the name of the engine; spark if it is empty.")] = _SPARK
    query: Annotated[str | None, Argument("the query in the words of the engine; not for drop.")] = None

    def run(self, tables: Tables, engine: Engine) -> None:
        if self.action not in _ACTIONS:
            raise OptionError(f"alter_view_dialect: the action '{self.action}' is none of {', '.join(_ACTIONS)}")
        if self.action != "drop" and not (self.query or "").strip():
            raise OptionError(f"alter_view_dialect needs 'query' for the action '{self.action}'")
        tables.alter_dialect(self.view, self.action, self.engine.strip() or _SPARK, self.query)


@dataclass(frozen=True, repr=False)
class RefreshMaterializedTableResult(Result):
    """What a refresh has written.

    Attributes:
        rows: how many the query gave.
        snapshot_id: of the commit; None: nothing was there, and nothing is.
    """

    rows: int
    snapshot_id: int | None


@dataclass(frozen=True)
class RefreshMaterializedTable(DatabaseProcedure[RefreshMaterializedTableResult]):
    """Replaces the rows of a materialized table by those of its query, in one commit. The query is run as SQL of Spark.

    Raises:
        OptionError: the partition is none of the table.
        UnsupportedFeature: it is no materialized table of the refresh mode FULL, or Spark does not run its query.
        PaimonError: the rows do not fit; nothing has changed.
    """

    table: Annotated[str, Argument("the name of the table, as db.totals.")]
    partition: Annotated[
        Partitions | None,
        Argument("the values of one partition, such as 'dt=2026-11-01,hour=10', which alone is replaced."),
    ] = None

    def run(self, tables: Tables, engine: Engine) -> RefreshMaterializedTableResult:
        return tables.refresh(self.table, self.partition)


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


def _pattern(argument: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise OptionError(f"'{text}' is no regular expression for {argument}: {error}", arguments=(argument,)) from None


@dataclass(frozen=True)
class CreateFunction(DatabaseProcedure[None]):
    """Stores a function without a definition; `alter_function` adds one for each engine.

    Raises:
        OptionError: parameters are no list of them in JSON.
        FunctionAlreadyExists: there is a function of that name.
        UnsupportedFeature: the catalog stores no functions.
    """

    official = ("function", "inputParams", "returnParams", "deterministic", "comment", "options")

    function: Annotated[str, Argument("the name of the function, as db.area.")]
    input_params: Annotated[str, Argument(f"its parameters {_PARAMETERS}.", sql="inputParams")]
    return_params: Annotated[str, Argument(f"what it returns, {_PARAMETERS}.", sql="returnParams")]
    deterministic: Annotated[bool, Argument("whether equal arguments give equal results.")] = True
    comment: Annotated[str | None, Argument("what it does.")] = None
    options: Annotated[Mapping[str, str], Argument("others, which are stored with it.", sql="options")] = field(
        default_factory=dict
    )

    def run(self, tables: Tables, engine: Engine) -> None:
        given = _fields("inputParams", self.input_params), _fields("returnParams", self.return_params)
        tables.create_function(self.function, *given, self.deterministic, self.comment, self.options)


@dataclass(frozen=True)
class AlterFunction(DatabaseProcedure[None]):
    """Changes a function: its comment, an option, or the definition for one engine.

    Raises:
        OptionError: the change is none in JSON.
        FunctionNotFound: there is no such function.
        NameTaken: the definition to add is there already.
        UnsupportedFeature: the catalog stores no functions.
    """

    official = ("function", "change")

    function: Annotated[str, Argument("the name of the function, as db.area.")]
    change: Annotated[
        str,
        Argument(
            'the change in JSON, such as {"action": "updateComment", "comment": "..."}. The actions are setOption, '
            "removeOption, updateComment, addDefinition, updateDefinition and dropDefinition."
        ),
    ]

    def run(self, tables: Tables, engine: Engine) -> None:
        change = _json("change", self.change)
        if not isinstance(change, dict) or not isinstance(change.get("action"), str):
            raise OptionError(f"alter_function wants an object with 'action' for 'change', found {self.change!r:.200}")
        tables.alter_function(self.function, change)


@dataclass(frozen=True)
class DropFunction(DatabaseProcedure[None]):
    """Drops a function.

    Raises:
        FunctionNotFound: there is no such function.
        UnsupportedFeature: the catalog stores no functions.
    """

    official = ("function",)

    function: Annotated[str, Argument("the name of the function, as db.area.")]

    def run(self, tables: Tables, engine: Engine) -> None:
        tables.drop_function(self.function)


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise OptionError(f"'{name}' is no JSON: {text!r:.200}") from None


def _fields(name: str, text: str) -> tuple[DataField, ...]:
    found = _json(name, text)
    if not isinstance(found, list):
        raise OptionError(f"'{name}' wants parameters {_PARAMETERS}, found {text!r:.200}")
    try:
        return tuple(map(parse_field, found))
    except SchemaError as error:
        raise OptionError(f"'{name}' wants parameters {_PARAMETERS}: {error}") from None
