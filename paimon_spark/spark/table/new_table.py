"""Declaring a table before anything is written to it, step by step as in Delta's table builder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Generic, TypeVar

from pyspark.sql import types as st

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.errors import OptionError, SchemaError
from paimon_spark.format.options import core_options as o
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.foreign_names import ForeignNames
from paimon_spark.spark.adapters.types import paimon_field
from paimon_spark.spark.write.table_creation import create

WAREHOUSE = "warehouse"
T = TypeVar("T")


@checks_arguments
class NewTable(ForeignNames, Generic[T]):
    """A table to be created: say where, which columns and which keys, then ``execute()``.

    Every method returns the same object, so that calls chain.
    """

    def __init__(self, opened: Callable[[str, Mapping[str, str]], T], ignore_if_exists: bool) -> None:
        """
        Args:
            opened: makes the result of execute from the location and the storage options.
            ignore_if_exists: leave an existing table as it is, whatever its columns are.
        """
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
        """`table` or `database.table`, under the warehouse that ``option("warehouse", ...)`` names."""
        self._name = name
        return self

    def addColumn(
        self, name: str, dataType: str | st.DataType, nullable: bool = True, comment: str | None = None
    ) -> NewTable[T]:
        """One more column.

        Args:
            dataType: a Spark type, or a Paimon type as text: ``BIGINT NOT NULL``, ``DECIMAL(10, 2)``, ``TIME(3)``,
                ``ARRAY<INT>``, ``ROW<a INT, b STRING>``. TIMESTAMP has no zone there (Spark's TIMESTAMP_NTZ),
                TIMESTAMP_LTZ is Spark's TIMESTAMP.
            nullable: False is the same as NOT NULL in the text.

        Raises:
            SchemaError, UnsupportedFeature: the type cannot be understood or stored.
        """
        if isinstance(dataType, str):
            parsed = parse_type(dataType)
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
        return self.property(o.PRIMARY_KEY.key, ",".join(columns))

    def partitionedBy(self, *columns: str) -> NewTable[T]:
        return self.property(o.PARTITION.key, ",".join(columns))

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
            OptionError: it is not said where, or an option is bad.
            TableAlreadyExists: there is one; ``createIfNotExists`` would have taken it.
            SchemaError: columns, keys and options break a rule of table creation.
            UnsupportedFeature: this release could not write to such a table.
        """
        storage = {key: value for key, value in self._options.items() if key.lower() != WAREHOUSE}
        location = self._where()
        if not self._fields:
            raise SchemaError(f"creating {location}: a table needs at least one column; call addColumn or addColumns")
        given = {**storage, **self._properties}
        create(location, given, self._fields, self._comment, ignore_if_exists=self._ignore_if_exists)
        return self._opened(location, storage)

    def _where(self) -> str:
        if self._location is not None:
            return self._location
        if self._name is None:
            raise OptionError("creating a table: it is not said where; call location('<path of the table>')")
        warehouse = next((value for key, value in self._options.items() if key.lower() == WAREHOUSE), None)
        if warehouse is None:
            raise OptionError(
                f"creating the table {self._name}: a name needs a catalog, which this release does not support; call "
                f"location('<path of the table>'), or option('warehouse', '<path>') to put it in a directory by name"
            )
        database, _, table = self._name.rpartition(".")
        if not table or "." in database:
            raise OptionError(f"creating the table {self._name}: expected <table> or <database>.<table>")
        return f"{warehouse.rstrip('/')}/{database or 'default'}.db/{table}"
