"""Declaring a table before anything is written to it, step by step as in Delta's table builder."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Generic, TypeVar

from pyspark.errors import ParseException
from pyspark.sql import SparkSession
from pyspark.sql import types as st

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.errors import OptionError, SchemaError
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.options.foreign_names import ForeignNames
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, DataType
from paimon_spark.spark.adapters.live_session import LiveSession
from paimon_spark.spark.adapters.open_catalogs import named_table
from paimon_spark.spark.adapters.options import path_in_session, refuse_table_name
from paimon_spark.spark.adapters.session_options import is_case_sensitive
from paimon_spark.spark.adapters.types import paimon_field, read_spark_type
from paimon_spark.writes.table_creation import check_names, create, new_table_schema

WAREHOUSE = "warehouse"
_OF_SPARK = re.compile(r"\bSTRUCT\s*<|\bTIMESTAMP_NTZ\b(?!\s*\()", re.IGNORECASE)
_NOT_NULL = re.compile(r"\s+NOT\s+NULL\s*$", re.IGNORECASE)
T = TypeVar("T")


@checks_arguments
class NewTable(ForeignNames, Generic[T]):
    """A table to be created: say where, which columns and which keys, then ``execute()``.

    Every method returns the same object, so that calls chain.
    """

    _spark = LiveSession("this declaration of a table", "declare the table")

    def __init__(
        self, spark: SparkSession, opened: Callable[[str, Mapping[str, str]], T], ignore_if_exists: bool
    ) -> None:
        """
        Args:
            spark: the session, in which relative paths begin and names are looked up.
            opened: makes the result of execute from the location and the storage options.
            ignore_if_exists: leave an existing table as it is, whatever its columns are.
        """
        self._spark = spark
        self._opened = opened
        self._ignore_if_exists = ignore_if_exists
        self._location: str | None = None
        self._name: str | None = None
        self._fields: list[DataField] = []
        self._properties: dict[str, str] = {}
        self._options: dict[str, str] = {}
        self._comment: str | None = None

    def location(self, path: str) -> NewTable[T]:
        """The table directory, a local path or a URI."""
        self._location = path
        return self

    def tableName(self, name: str) -> NewTable[T]:
        """`table`, `database.table` or `catalog.database.table`, looked up as by ``PaimonTable.forName``.

        With ``option("warehouse", ...)`` it is a directory under that warehouse.
        """
        self._name = name
        return self

    def addColumn(
        self, name: str, dataType: str | st.DataType, nullable: bool = True, comment: str | None = None
    ) -> NewTable[T]:
        """One more column.

        Args:
            dataType: a Spark type, or a Paimon type as text: ``BIGINT NOT NULL``, ``DECIMAL(10, 2)``, ``TIME(3)``,
                ``ARRAY<INT>``, ``ROW<a INT, b STRING>``. TIMESTAMP has no zone there (Spark's TIMESTAMP_NTZ),
                TIMESTAMP_LTZ is Spark's TIMESTAMP. A text with ``STRUCT<a: INT>`` is one of Spark's.
            nullable: False is the same as NOT NULL in the text.

        Raises:
            SchemaError, UnsupportedFeature: the type cannot be understood or stored.
        """
        if isinstance(dataType, str):
            parsed = read_type(dataType)
            field = DataField(0, name, parsed.with_nullable(parsed.nullable and nullable), comment)
        else:
            field = replace(paimon_field(st.StructField(name, dataType, nullable)), description=comment)
        self._fields.append(field)
        return self

    def addColumns(self, columns: st.StructType) -> NewTable[T]:
        """The columns of a Spark schema, with their comments and NOT NULLs.

        Raises:
            SchemaError: a type cannot be stored.
        """
        self._fields.extend(paimon_field(field) for field in columns.fields)
        return self

    def primaryKey(self, *columns: str) -> NewTable[T]:
        return self.property(TableSettings.primary_key.key, ",".join(columns))

    def partitionedBy(self, *columns: str) -> NewTable[T]:
        return self.property(TableSettings.partition.key, ",".join(columns))

    def property(self, key: str, value: str) -> NewTable[T]:
        """A table option, stored with the table; `comment` is the table's comment, as in TBLPROPERTIES."""
        if key.lower() == "comment":
            return self.comment(value)
        self._properties[key] = str(value)
        return self

    def properties(self, values: Mapping[str, str]) -> NewTable[T]:
        for key, value in values.items():
            self.property(key, value)
        return self

    def option(self, key: str, value: str) -> NewTable[T]:
        """How to reach the storage (``s3.endpoint``, ...), or ``warehouse``: used here, not stored."""
        self._options[key] = str(value)
        return self

    def comment(self, text: str) -> NewTable[T]:
        self._comment = text
        return self

    def execute(self) -> T:
        """Creates the table and returns it.

        Raises:
            OptionError: it is not said where, or twice; an option is bad; or a name is given and the session has no
                catalog.
            DatabaseNotFound: the catalog does not have the database of the name.
            TableAlreadyExists: there is one; ``createIfNotExists`` would have taken it.
            SchemaError: columns, keys and options break a rule of table creation.
            UnsupportedFeature: this release could not write to such a table.
        """
        storage = {key: value for key, value in self._options.items() if key.lower() != WAREHOUSE}
        location = self._where()
        kind = next((text for key, text in self._properties.items() if key.lower() == TableSettings.table_type.key), "")
        if not self._fields and kind.strip().lower() != TableKind.OBJECT_TABLE:
            where = self._name if location is None else location
            raise SchemaError(f"creating {where}: a table needs at least one column; call addColumn or addColumns")
        is_exact = self._spark is not None and is_case_sensitive(self._spark)
        check_names(location or str(self._name), [f.name for f in self._fields], is_exact)
        given = {**storage, **self._properties}
        if location is None:
            return self._create_in_catalog(storage)
        create(location, given, self._fields, self._comment, ignore_if_exists=self._ignore_if_exists)
        return self._opened(location, storage)

    def _create_in_catalog(self, storage: Mapping[str, str]) -> T:
        assert self._name is not None, "there is a name where there is no location"
        catalog, identifier, suffixes = named_table(self._spark, self._name)
        if suffixes:
            raise OptionError(
                f"creating {self._name}: a new table has no branch; create the table first, then a branch"
            )
        schema = new_table_schema(str(identifier), self._properties, self._fields, self._comment)
        if identifier.database == catalog.default_database:
            catalog.create_database(identifier.database, ignore_if_exists=True)
        catalog.create_table(identifier, schema, ignore_if_exists=self._ignore_if_exists)
        return self._opened(catalog.table_location(identifier), {**catalog.table_options(), **storage})

    def _where(self) -> str | None:
        """The path of the table; None: a catalog of the session says it."""
        if self._location is not None:
            if self._name is not None:
                raise OptionError(
                    f"creating the table {self._name} at {self._location}: the catalog of a name decides where its "
                    "tables are; leave location(...) out, or leave tableName(...) out for a table without a name"
                )
            refuse_table_name(self._location)
            return path_in_session(self._spark, self._location)
        if self._name is None:
            raise OptionError("creating a table: it is not said where; call location('<path of the table>')")
        warehouse = next((value for key, value in self._options.items() if key.lower() == WAREHOUSE), None)
        if warehouse is None:
            return None
        database, _, table = self._name.rpartition(".")
        if not table or "." in database:
            raise OptionError(f"creating the table {self._name}: expected <table> or <database>.<table>")
        return f"{path_in_session(self._spark, warehouse).rstrip('/')}/{database or 'default'}.db/{table}"


def read_type(given: str | st.DataType) -> DataType:
    """The type that a caller names: a Spark type, a text of Paimon, or one of Spark's SQL, known by its own words.

    Raises:
        SchemaError, UnsupportedFeature: the type cannot be understood or stored.
    """
    if isinstance(given, st.DataType):
        return paimon_field(st.StructField("column", given)).type
    if _OF_SPARK.search(given) is None:
        return parse_type(given)
    text = _NOT_NULL.sub("", given)
    try:
        found = read_spark_type(text)
    except ParseException:
        raise SchemaError(
            f"cannot read the type '{given}': its words are of Spark's SQL, which has STRUCT<a: INT, b: CHAR(4)>; in "
            "Paimon's words that is ROW<a INT, b CHAR(4)>"
        ) from None
    return paimon_field(st.StructField("column", found, text == given)).type
