"""What Spark asks of a catalog: namespaces, tables, staged tables, functions and procedures.

Java: org.apache.spark.sql.connector.catalog.{TableCatalog, StagingTableCatalog, SupportsNamespaces, ProcedureCatalog}
of Spark 4.1 to 4.3. The methods have the names of Java; a name stands for all of its overloads, so some take ``*more``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from weakref import ref

from pyspark.sql import types as st

from paimon_spark import errors
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import SYSTEM_DATABASE, Identifier
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.rules.format_tables import check_names_of_spark
from paimon_spark.format.schema import TableSchema
from paimon_spark.spark.adapters.types import COMMENT, paimon_fields
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.spark_catalog.bucketing import FUNCTION, bucket_function
from paimon_spark.spark.spark_catalog.jvm_objects import Java, JvmObjects, Thrown, dict_of
from paimon_spark.spark.spark_catalog.sessions import CatalogSessions, NamedTable
from paimon_spark.spark.spark_catalog.table_calls import listed_table, table_of_spark
from paimon_spark.sql.text.names import TableName
from paimon_spark.store.metadata.table_options import PATH

CONNECTOR = "org.apache.spark.sql.connector.catalog."
INTERFACES = tuple(
    CONNECTOR + name for name in ("StagingTableCatalog", "SupportsNamespaces", "FunctionCatalog", "ProcedureCatalog")
)
_ANALYSIS = "org.apache.spark.sql.catalyst.analysis."
_OF_SPARK = frozenset({"provider", "owner", "location", "comment", "external", "is_managed_location", "table-type"})
"""Table properties that Spark sets itself."""
_HIVE = "STORED AS and ROW FORMAT describe tables of Hive; write TBLPROPERTIES ('file.format' = 'orc')"
_CLAUSES = {
    **dict.fromkeys(("hive.stored-as", "hive.serde", "hive.input-format", "hive.output-format"), _HIVE),
    "collation": "a table stores no collation, and compares texts by their bytes; leave DEFAULT COLLATION out",
}
"""Table properties by which Spark hands over clauses of CREATE TABLE that mean nothing here, and what to say."""
_BUCKETS = "set the table properties 'bucket' and 'bucket-key' in place of it"
_LAYOUTS = {
    "bucket": _BUCKETS,
    "sorted_bucket": _BUCKETS,
    "cluster_by": "the table property 'clustering.columns' = 'a,b' sorts the rows of each write",
}
"""What Spark hands over as partitions of a new table and is none, and what to say."""
_SYSTEM = "sys"
_NO_OPTIONS: Mapping[str, str] = {}


class CatalogCalls:
    """Answers for a catalog. Each call is one of the session that is active in the JVM thread."""

    def __init__(self, sessions: CatalogSessions) -> None:
        self._sessions = sessions
        self._objects: JvmObjects = sessions.objects

    @property
    def _catalog(self) -> Catalog:
        return self._sessions.catalog

    def initialize(self, name: str, options: Java) -> None:
        """Spark calls it for catalogs that it makes itself."""

    # ------------------------------------------------------------------------------------------------------ namespaces

    def listNamespaces(self, parent: Java = None) -> Java:
        if parent is not None and len(parent):
            self._database(parent)
            names = []
        else:
            names = sorted({*self._catalog.list_databases(), self._catalog.default_database})
        return self._objects.array("[Ljava.lang.String;", [self._objects.strings([name]) for name in names])

    def namespaceExists(self, namespace: Java) -> bool:
        try:
            self._catalog.load_database(self._database(namespace))
        except (Thrown, errors.DatabaseNotFound):
            return list(namespace) == [self._catalog.default_database]
        return True

    def loadNamespaceMetadata(self, namespace: Java) -> Java:
        if self._is_unmade(namespace):
            return self._objects.map({})
        with self._translated(namespace=namespace):
            database = self._catalog.load_database(self._database(namespace))
        known = {**database.properties, "location": database.location}
        return self._objects.map({key: value for key, value in known.items() if value is not None})

    def createNamespace(self, namespace: Java, metadata: Java) -> None:
        if len(namespace) != 1:
            raise UnsupportedFeature(
                f"creating the database {'.'.join(namespace)}: the name of a database has one part; write that alone"
            )
        with self._translated(namespace=namespace):
            given = {key: value for key, value in dict_of(metadata).items() if key != "owner"}
            self._catalog.create_database(self._database(namespace), given)

    def alterNamespace(self, namespace: Java, changes: Java) -> None:
        given, unset = dict[str, str](), list[str]()
        for change in changes:
            if change.getClass().getSimpleName() == "SetProperty":
                given[change.property()] = change.value()
            else:
                unset.append(change.property())
        with self._translated(namespace=namespace):
            self._catalog.alter_database(self._database(namespace), given, tuple(unset))

    def dropNamespace(self, namespace: Java, cascade: bool) -> bool:
        with self._translated(namespace=namespace):
            self._catalog.drop_database(self._database(namespace), cascade=cascade)
        return True

    # ---------------------------------------------------------------------------------------------------------- tables

    def listTables(self, namespace: Java) -> Java:
        with self._translated(namespace=namespace):
            names = [] if self._is_unmade(namespace) else self._catalog.list_tables(self._database(namespace))
        return self._identifiers(namespace, names)

    def loadTable(self, identifier: Java, *more: Any) -> Java:
        session = self._sessions.current()
        name, travel = self._name(identifier, session), self._travel(more)
        said = session.said_of(name).without_state() if travel else session.said_of(name)
        options = {**said.of_reads, **travel}
        of = NamedTable(self._sessions, ref(session), name)
        with self._translated(identifier=identifier):
            if name.system is not None or name.database == SYSTEM_DATABASE:
                return listed_table(of, options)
            try:
                return table_of_spark(of, options)
            except errors.TableNotFound:
                self._refuse_view(session, name)
                raise

    def tableExists(self, identifier: Java) -> bool:
        session = self._sessions.current()
        try:
            name = self._name(identifier, session)
            if name.database == SYSTEM_DATABASE:
                return name.table in self._catalog.list_tables(SYSTEM_DATABASE)
            if name.system is None and name.branch is None:
                return self._catalog.find_table(session.identifier(name)) is not None
            session.fields(name)
        except (Thrown, errors.TableNotFound, errors.DatabaseNotFound, errors.SnapshotNotFound):
            return False
        return True

    def createTable(self, identifier: Java, *more: Any) -> Java:
        session = self._sessions.current()
        schema = self._schema(session, identifier, more)
        with self._translated(identifier=identifier, namespace=identifier.namespace()):
            name = self._new_name(identifier, session)
            session.make_default(name.database)
            self._catalog.create_table(name, schema)
        return self.loadTable(identifier)

    def alterTable(self, identifier: Java, changes: Java) -> Java:
        """ALTER TABLE is a statement of ours (see statement_parser); Spark asks for it in a script, BEGIN ... END.

        Raises:
            UnsupportedFeature: always.
        """
        raise UnsupportedFeature(
            f"ALTER TABLE {identifier.toString()}: a table of Paimon is not altered within a script, by a name in "
            "IDENTIFIER(<expression>), nor by a parser that was exchanged after the catalog was registered; run the "
            "statement alone, by spark.sql, with the name in its text"
        )

    def dropTable(self, identifier: Java) -> bool:
        session = self._sessions.current()
        try:
            self._catalog.drop_table(session.identifier(self._name(identifier, session)))
        except (Thrown, errors.TableNotFound, errors.DatabaseNotFound):
            return False
        return True

    def invalidateTable(self, identifier: Java) -> None:
        """REFRESH TABLE: each query reads the newest metadata anyway."""

    # ---------------------------------------------------------------------------------------------------------- staged

    def stageCreate(self, identifier: Java, *more: Any) -> Java:
        return self._staged(identifier, more, "create")

    def stageReplace(self, identifier: Java, *more: Any) -> Java:
        return self._staged(identifier, more, "replace")

    def stageCreateOrReplace(self, identifier: Java, *more: Any) -> Java:
        return self._staged(identifier, more, "create or replace")

    def _staged(self, identifier: Java, more: tuple[Any, ...], staging: str) -> Java:
        from paimon_spark.spark.spark_catalog.staged_table import staged_table

        session = self._sessions.current()

        def schema_with(options: Mapping[str, str]) -> TableSchema:
            return self._schema(self._sessions.current(), identifier, more, options, with_rows=True)

        with self._translated(identifier=identifier, namespace=identifier.namespace()):
            name = self._new_name(identifier, session)
            session.make_default(name.database)
            there = self._catalog.find_table(name) is not None
            if there and staging == "create":
                raise errors.TableAlreadyExists(f"there is a table {name}")
            if not there and staging == "replace":
                raise errors.TableNotFound(f"there is no table {name}")
        return staged_table(self._sessions, name, schema_with, there)

    # --------------------------------------------------------------------------------------- functions and procedures

    def listFunctions(self, namespace: Java) -> Java:
        return self._identifiers(namespace, ())

    def loadFunction(self, identifier: Java) -> Java:
        if identifier.name() == FUNCTION and not len(identifier.namespace()):
            return bucket_function(self._objects)
        missing = self._objects.static(_ANALYSIS + "NoSuchFunctionException")
        raise Thrown(missing(identifier))

    def listProcedures(self, namespace: Java) -> Java:
        from paimon_spark.procedures.catalogue import DATABASE_PROCEDURES, PROCEDURES

        return self._identifiers(self._objects.strings([_SYSTEM]), sorted({*PROCEDURES, *DATABASE_PROCEDURES}))

    def loadProcedure(self, identifier: Java) -> Java:
        from paimon_spark.spark.spark_catalog.procedure_calls import execute_procedure

        return execute_procedure(self._sessions, identifier.name())

    # --------------------------------------------------------------------------------------------------------- helpers

    def _identifiers(self, namespace: Java, names: Iterable[str]) -> Java:
        made = self._objects.static(CONNECTOR + "Identifier.of")
        return self._objects.array(CONNECTOR + "Identifier", [made(namespace, name) for name in names])

    def _is_unmade(self, namespace: Java) -> bool:
        """True of the default database until its first table makes it: Spark sees it from the beginning."""
        if list(namespace) != [self._catalog.default_database]:
            return False
        try:
            self._catalog.load_database(self._catalog.default_database)
        except errors.DatabaseNotFound:
            return True
        return False

    def _database(self, namespace: Java) -> str:
        if len(namespace) != 1:
            missing = self._objects.static(_ANALYSIS + "NoSuchNamespaceException")
            raise Thrown(missing(namespace))
        return str(namespace[0])

    def _name(self, identifier: Java, session: SqlSession) -> TableName:
        namespace = list(identifier.namespace())
        if len(namespace) == 1:
            parts: tuple[str, ...] = (self._catalog.name, namespace[0], identifier.name())
        elif not namespace and "/" in identifier.name():
            parts = (self._catalog.name, identifier.name())
        else:
            raise Thrown(self._objects.static(_ANALYSIS + "NoSuchTableException")(identifier))
        found = session.names.find_table(parts)
        assert found is not None  # it begins with the name of the catalog
        return found

    def _new_name(self, identifier: Java, session: SqlSession) -> Identifier:
        """The name of a table that is made; Spark expects no error that says that it is not there."""
        try:
            return session.identifier(self._name(identifier, session))
        except Thrown:
            name = self._catalog.name
            raise UnsupportedFeature(
                f"creating {name}.{identifier.toString()}: a table has a database of one part, and nothing else "
                f"before its name; write {name}.<database>.<table>"
            ) from None

    def _travel(self, more: tuple[Any, ...]) -> dict[str, str]:
        """The options of the state that VERSION AS OF or TIMESTAMP AS OF names."""
        options = dict[str, str]()
        for given in more:
            if isinstance(given, str):
                options |= {ScanSettings.version.key: given}
            elif isinstance(given, int):
                options |= {ScanSettings.timestamp_millis.key: str(given // 1000)}
            elif given.getClass().getSimpleName() == "TableContext":
                travel = given.timeTravel()
                if travel.isPresent():
                    state = travel.get()
                    by_version = "Version" in state.getClass().getSimpleName()
                    options |= self._travel((state.version() if by_version else state.micros(),))
        return options

    def _schema(
        self,
        session: SqlSession,
        identifier: Java,
        more: tuple[Any, ...],
        options: Mapping[str, str] = _NO_OPTIONS,
        with_rows: bool = False,
    ) -> TableSchema:
        """The schema of a new table, from the arguments of createTable or of a staged one, and options on top."""
        from paimon_spark.spark.statements.table_formats import format_options
        from paimon_spark.sql.text.default_texts import stored_default
        from paimon_spark.writes.table_creation import new_table_schema

        if len(more) == 1:  # TableInfo, since Spark 4.1
            columns, partitions, properties = more[0].schema(), more[0].partitions(), more[0].properties()
        else:
            columns, partitions, properties = more
            if columns.getClass().getSimpleName() != "StructType":
                columns = self._objects.static(CONNECTOR + "CatalogV2Util.v2ColumnsToStructType")(columns)
        shown = st._parse_datatype_json_string(columns.json())
        assert isinstance(shown, st.StructType)
        fields = tuple(
            field
            if field.default_value is None
            else replace(field, default_value=stored_default(field.name, field.default_value, field.type))
            for field in paimon_fields(shown)
        )
        given = {key: str(value) for key, value in dict_of(properties).items() if not key.startswith("option.")}
        comment, location, provider = given.get(COMMENT), given.get("location"), given.get("provider", "paimon")
        default = session.spark.conf.get("spark.sql.sources.default", "parquet")
        of_files = {} if provider.lower() == default else format_options(provider.lower())
        if not of_files and provider.lower() not in ("paimon", default):
            raise UnsupportedFeature(  # saveAsTable and toTable ask for the default where none is named
                f"creating {identifier.toString()} with the format '{provider}': this catalog makes Paimon tables; "
                "leave the format out, or name paimon and the table property 'file.format'"
            )
        if of_files:
            check_names_of_spark(f"creating {identifier.toString()}", given)
        for clause, advice in _CLAUSES.items():
            if clause in given:
                raise UnsupportedFeature(f"creating {identifier.toString()}: {advice}")
        given = {key: value for key, value in given.items() if key not in _OF_SPARK} | {**of_files, **options}
        if location is not None:
            given[PATH] = location
        keys = [self._partition_column(transform) for transform in partitions]
        if keys:
            given[TableSettings.partition.key] = ",".join(keys)
        return new_table_schema(identifier.toString(), given, fields, comment, with_rows=with_rows)

    def _partition_column(self, transform: Java) -> str:
        kind = transform.name()
        if kind in _LAYOUTS:
            raise UnsupportedFeature(f"{transform.toString()} of a new table: {_LAYOUTS[kind]}")
        parts = list(transform.references()[0].fieldNames()) if kind == "identity" else []
        if len(parts) != 1:
            raise UnsupportedFeature(
                f"PARTITIONED BY {'.'.join(parts) or transform.toString()}: a Paimon table is partitioned by the "
                "values of whole columns; add a column with that value, or name a column"
            )
        return str(parts[0])

    def _refuse_view(self, session: SqlSession, name: TableName) -> None:
        if session.find_view(name) is not None:
            raise UnsupportedFeature(
                f"{name} is a view of the catalog, which Spark reads in queries of spark.sql alone: write "
                f"spark.sql('SELECT * FROM {name}')"
            )

    @contextmanager
    def _translated(self, identifier: Java = None, namespace: Java = None) -> Iterator[None]:
        """Errors of names as Spark knows them, in its own words; other errors as they are.

        Args:
            identifier: of the table that is looked for or made.
            namespace: of the call.
        """

        def thrown(kind: str, *arguments: Any) -> Thrown:
            return Thrown(self._objects.static(_ANALYSIS + kind)(*arguments))

        try:
            yield
        except errors.TableNotFound as error:
            if identifier is None or "$" in identifier.name():
                raise
            raise thrown("NoSuchTableException", identifier) from error
        except (errors.TableAlreadyExists, errors.NameTaken) as error:
            raise thrown("TableAlreadyExistsException", identifier) from error
        except errors.DatabaseNotFound as error:
            if namespace is None and identifier is not None:
                raise thrown("NoSuchTableException", identifier) from error
            raise thrown("NoSuchNamespaceException", namespace) from error
        except errors.DatabaseAlreadyExists as error:
            raise thrown("NamespaceAlreadyExistsException", namespace) from error
        except errors.DatabaseNotEmpty as error:
            raise thrown("NonEmptyNamespaceException", namespace) from error
