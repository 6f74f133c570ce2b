"""The catalog that a server keeps (Java: RESTCatalog)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.arrow.default_values import check_defaults
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.catalogs.catalog import NO_OPTIONS, OpensByName
from paimon_spark.catalogs.catalog_options import CASE_SENSITIVE, DEFAULT_DATABASE, bool_option, table_defaults
from paimon_spark.catalogs.create import check_written_here, find_schema
from paimon_spark.catalogs.identifier import (
    SYSTEM_DATABASE,
    Database,
    Identifier,
    check_addressable,
    check_new_name,
    check_not_system,
    check_not_system_database,
)
from paimon_spark.catalogs.not_found import database_not_empty, database_not_found, no_table, no_tables_of_hive
from paimon_spark.catalogs.rest.base import DATABASE
from paimon_spark.catalogs.rest.failures import Refused
from paimon_spark.catalogs.rest.functions_part import RestFunctions
from paimon_spark.catalogs.rest.schema_json import schema_json
from paimon_spark.catalogs.rest.served import QUERY_AUTH, check_kind
from paimon_spark.catalogs.rest.views_part import RestViews
from paimon_spark.errors import (
    DatabaseAlreadyExists,
    OptionError,
    SchemaError,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
)
from paimon_spark.file_io import absolute_location, file_io_for
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.rules.format_tables import check_kept_partitions, check_new_format_table
from paimon_spark.format.rules.new_tables import validate_table
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.metadata.table_options import PATH
from paimon_spark.store.open import OpenTable, find_stored_table, open_any_table
from paimon_spark.store.storage.served import SERVED

_COMMENT = "comment"
_LOCATION = "location"


@checks_arguments
@dataclass(frozen=True)
class RestCatalog(RestViews, RestFunctions, OpensByName):
    """A catalog on a REST server; see Catalog. Picklable: the credentials go along.

    A table is opened by its name (``table_location``), so that its snapshots are published by the server wherever it is
    written. Nothing is asked before the first call.
    """

    @property
    def default_database(self) -> str:
        return self.options.get(DEFAULT_DATABASE, "default")

    @property
    def case_sensitive(self) -> bool:
        return bool_option(self.options, True, CASE_SENSITIVE, "allow-upper-case")

    @property
    def can_rename_tables(self) -> bool:
        return True

    def load_database(self, name: str) -> Database:
        if name == SYSTEM_DATABASE:
            return Database(name)
        check_addressable(name, "database")
        with self.asking(f"the database '{name}'", name):
            found = self.api.get_database(name)
        properties = {str(key): str(text) for key, text in (found.get("options") or {}).items()}
        comment = properties.pop(_COMMENT, None)
        return Database(name, found.get("location") or properties.get(_LOCATION), comment, properties)

    def create_database(
        self, name: str, properties: Mapping[str, str] = NO_OPTIONS, ignore_if_exists: bool = False
    ) -> None:
        check_not_system_database(name, "creating")
        check_new_name(name, "database")
        try:
            self.api.create_database(name, properties)
        except Refused as error:
            if not error.is_taken:
                raise OptionError(f"creating the database '{name}': {error}") from None
            if not ignore_if_exists:
                raise DatabaseAlreadyExists(
                    f"there is a database '{name}' already in the catalog '{self.name}'; use it, or choose another name"
                ) from None

    def drop_database(self, name: str, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        check_not_system_database(name, "dropping")
        check_addressable(name, "database")
        try:
            tables = [] if cascade else self.api.list_tables(name)
            if tables:
                raise database_not_empty(self.name, name, {"tables": sorted(tables)})
            self.api.drop_database(name)
        except Refused as error:
            if not error.is_missing:
                raise OptionError(f"dropping the database '{name}': {error}") from None
            if not ignore_if_not_exists:
                raise database_not_found(self, name) from None

    def alter_database(self, name: str, properties: Mapping[str, str], unset: tuple[str, ...] = ()) -> None:
        check_not_system_database(name, "changing")
        check_addressable(name, "database")
        with self.asking(f"the database '{name}'", name):
            self.api.alter_database(name, unset, properties)

    def list_tables(self, database: str) -> list[str]:
        if database == SYSTEM_DATABASE:
            return []
        check_addressable(database, "database")
        with self.asking(f"the database '{database}'", database):
            return sorted(self.api.list_tables(database))

    def table_location(self, identifier: Identifier) -> str:
        check_addressable(identifier.database, "database")
        check_addressable(identifier.table, "table")
        table, dollar, suffix = identifier.table.partition("$")
        parts = (quote(part, safe="") for part in (self.name, identifier.database, table))
        return f"{SERVED}{'/'.join(parts)}{dollar}{suffix}"

    def table_options(self, identifier: Identifier | None = None) -> Mapping[str, str]:
        return self.api.options.travelling()

    def find_table(self, identifier: Identifier) -> TableSchema | None:
        if identifier.database == SYSTEM_DATABASE:
            return None
        found = find_stored_table(self.table_location(identifier), self.table_options())
        return None if found is None else found.schema

    def load_any_table(
        self, identifier: Identifier, options: Mapping[str, str] = NO_OPTIONS, time_zone: TimeZone | None = None
    ) -> OpenTable:
        if identifier.database == SYSTEM_DATABASE:
            raise UnsupportedFeature(
                f"reading {identifier}: this release has no system tables of a whole REST catalog; those of a table, "
                "such as $snapshots, can be read"
            )
        location = self.table_location(identifier)
        try:
            return open_any_table(location, {**self.table_options(), **options}, time_zone=time_zone)
        except TableNotFound:
            if "$" in identifier.table:
                raise  # the message knows the names of system tables
            raise no_table(self, identifier) from None

    def create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> TableSchema:
        check_not_system(identifier, "creating")
        check_new_name(identifier.table, "table")
        complete = self._of_its_path(
            identifier, replace(schema, options={**table_defaults(self.options), **schema.options})
        )
        table_type = check_kind(f"creating {identifier}", complete.options)
        validate_table(complete)
        check_defaults(f"creating {identifier}", complete.fields)
        written = {
            key: text for key, text in complete.options.items() if key != QUERY_AUTH
        }  # the server tells its limits
        if table_type == TableKind.FORMAT_TABLE:
            check_new_format_table(f"creating {identifier}", complete)
            check_kept_partitions(f"creating {identifier}", complete, keeps=PATH not in complete.options)
        elif table_type != TableKind.OBJECT_TABLE:
            check_written_here(str(identifier), replace(complete, options=written))
        try:
            self.api.create_table(identifier.database, identifier.table, schema_json(complete))
        except Refused as error:
            if error.is_taken:
                if not ignore_if_exists:
                    raise TableAlreadyExists(
                        f"there is a table {identifier} already; write to it, or choose another name"
                    ) from None
            elif error.is_missing:
                raise database_not_found(self, identifier.database) from None
            else:
                kind = UnsupportedFeature if error.status == 501 else SchemaError
                raise kind(f"creating {identifier}: {error}") from None
        made = self.find_table(identifier)
        if made is None:
            raise TableNotFound(f"creating {identifier}: another client has dropped it already")
        return made

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_not_system(identifier, "dropping")
        self.table_location(identifier)
        try:
            self.api.drop_table(identifier.database, identifier.table)
        except Refused as error:
            if not error.is_missing:
                raise OptionError(f"dropping {identifier}: {error}") from None
            if not ignore_if_not_exists:
                raise no_table(self, identifier) from None

    def rename_table(self, identifier: Identifier, to: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_not_system(identifier, "renaming")
        check_not_system(to, "renaming a table to")
        check_new_name(to.table, "table")
        try:
            self.api.rename_table((identifier.database, identifier.table), (to.database, to.table))
        except Refused as error:
            if error.is_taken:
                raise TableAlreadyExists(
                    f"renaming {identifier}: there is a table {to} already; choose another name"
                ) from None
            if not error.is_missing:
                raise OptionError(f"renaming {identifier} to {to}: {error}") from None
            if error.resource == DATABASE and identifier.database in self.api.list_databases():
                raise database_not_found(self, to.database) from None
            if not ignore_if_not_exists:
                raise no_table(self, identifier) from None

    def _of_its_path(self, identifier: Identifier, schema: TableSchema) -> TableSchema:
        """The schema of the table that is at the option `path` already, if there is one (Java does so too)."""
        path = schema.options.get(PATH)
        if path is None:
            return schema
        location = absolute_location(path)
        there = find_schema(file_io_for(location, self.api.options.storage), location)
        if there is None:
            return schema
        if [(f.name, f.type) for f in schema.fields] != [(f.name, f.type) for f in there.fields]:
            raise SchemaError(
                f"creating {identifier}: the table at {location} has other columns ({', '.join(there.names)}); give "
                "the same, or another path"
            )
        return replace(there, options={**there.options, PATH: path})

    def check_table(self, identifier: Identifier) -> None:
        """Does nothing: a table is opened by its name, so the server is asked then."""

    def repair(self, database: str | None = None, table: str | None = None) -> None:
        """Always refused: only the server knows its tables."""
        raise UnsupportedFeature(
            f"repairing the catalog '{self.name}': a REST server keeps its tables itself, and has no such call"
        )

    def refresh(self, identifier: Identifier | None = None) -> None:
        """Does nothing: nothing is cached."""

    def tables_of_hive(self, database: str) -> list[str]:
        """Always refused."""
        raise no_tables_of_hive(f"looking for tables of Hive in '{database}'")

    def migrate_table(
        self,
        source: Identifier,
        target: Identifier | None = None,
        options: Mapping[str, str] | None = None,
        drop_source: bool = True,
    ) -> None:
        """Always refused."""
        raise no_tables_of_hive(f"migrating {source}")
