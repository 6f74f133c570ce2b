"""CREATE TABLE ... AS SELECT and REPLACE TABLE in one step: if the rows cannot be written, nothing has changed.

Spark asks for the same where ``saveAsTable`` writes in the mode ``overwrite``. Of a table that is there it replaces the
rows alone, as the official connector does (Java: PaimonReplaceTableAsSelectStrategy, release 2.0).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import OptionError, SchemaError
from paimon_spark.format.schema import TableSchema
from paimon_spark.spark.adapters.options import PATH, write_options
from paimon_spark.spark.adapters.types import nullable, shown_schema, spark_schema
from paimon_spark.spark.spark_catalog.jvm_objects import Java, dict_of
from paimon_spark.spark.spark_catalog.sessions import CatalogSessions
from paimon_spark.spark.spark_catalog.spark_internals import data_frame, struct_of
from paimon_spark.spark.spark_catalog.write_builder import INSERTABLE, InsertableRelation, without_path
from paimon_spark.spark.statements.new_tables import create_filled_table, replace_table
from paimon_spark.sql.text.names import TableName
from paimon_spark.store.metadata.table_options import resolve_keys

_CATALOG = "org.apache.spark.sql.connector.catalog."
_WRITE = "org.apache.spark.sql.connector.write."
_CAPABILITIES = ("V1_BATCH_WRITE", "TRUNCATE")


def staged_table(
    sessions: CatalogSessions,
    name: Identifier,
    schema_with: Callable[[Mapping[str, str]], TableSchema],
    there: bool,
) -> Java:
    """A table that is not there yet, or has not changed yet.

    Spark is shown columns that may hold NULL: the optimizer takes a scan for one whose columns may, and refuses a plan
    that writes them to columns that may not. The write itself refuses NULL.

    Args:
        schema_with: the schema of the new table, with these options on top.
        there: whether there is a table, which gets the new columns and rows.
    """
    objects, schema = sessions.objects, schema_with({})
    constants = {
        "name": f"{sessions.catalog.name}.{name}",
        "schema": struct_of(objects, nullable(shown_schema(spark_schema(schema.fields)))),
        "partitioning": objects.array("org.apache.spark.sql.connector.expressions.Transform", []),
        "properties": objects.map({}),
        "capabilities": objects.set(objects.static(f"{_CATALOG}TableCapability.{what}") for what in _CAPABILITIES),
    }
    return objects.make(
        [_CATALOG + kind for kind in ("StagedTable", "SupportsWrite")],
        StagedCalls(sessions, name, schema_with, schema, there),
        constants,
    )


@dataclass
class StagedCalls:
    """Answers for a staged table: it becomes a table with its rows when these are written, in one step.

    Attributes:
        sessions, name, schema_with, there: as of staged_table. The session that asks is not held: the JVM may keep this
            object longer than the session.
        schema: of the new table.
        options: of a write that replaces the rows of the table alone; None: the table is made, or made anew.
        is_done: whether it has become one.
    """

    sessions: CatalogSessions
    name: Identifier
    schema_with: Callable[[Mapping[str, str]], TableSchema]
    schema: TableSchema
    there: bool
    options: Mapping[str, str] | None = None
    is_done: bool = False

    def newWriteBuilder(self, info: Java) -> Java:
        """To replace the rows of a new table is to write it. Spark hands over the options of the DataFrame here."""
        given = dict_of(info.options())
        options = {key: value for key, value in given.items() if key.lower() != PATH}
        if self.there and self.sessions.objects.is_called_by("DataFrameWriter.saveAsTable"):
            self.options = without_path(self.sessions.current(), self._table_name, given)
        elif options:
            self.schema = self.schema_with(self._table_options(options))
        objects = self.sessions.objects
        insert = objects.make([INSERTABLE], InsertableRelation(self._insert))
        constants = {"toInsertableRelation": insert, "description": f"paimon {self.name}"}
        write = objects.make([_WRITE + "V1Write"], None, constants)
        itself = objects.make([_WRITE + "WriteBuilder"], None, {"build": write})
        return objects.make([_WRITE + "SupportsTruncate"], None, {"build": write, "truncate": itself})

    @property
    def _table_name(self) -> TableName:
        return TableName((self.name.database, self.name.table), self.name.database, self.name.table)

    def _table_options(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """The options, which are all of the new table, as for ``df.write.save`` of a new one.

        Raises:
            OptionError: one is unknown, or is of a write to a table that stays as it is.
        """
        given = write_options({**options, PATH: self.sessions.catalog.table_location(self.name)})
        of_writes = sorted(options.keys() - given.table.keys())
        if of_writes:
            raise OptionError(
                f"the option '{of_writes[0]}' of a write that makes {self.name} anew, with its columns, keys and rows, "
                "as writeTo(...).create and replace do, would do nothing; write to the table that is there with "
                "insertInto, saveAsTable, or df.write.format('paimon')...save('<path>')"
            )
        return resolve_keys(given.table, self.schema.names)

    def commitStagedChanges(self) -> None:
        if not self.is_done and self.options is None:
            self._make(None)

    def abortStagedChanges(self) -> None:
        """A write that failed has left nothing."""

    def _insert(self, rows: Java) -> None:
        session = self.sessions.current()
        frame = data_frame(rows, session.spark)
        if self.options is None:
            self._make(frame)
            return
        named, keys = self.schema.partition_keys, session.catalog.load_table(self.name).schema.partition_keys
        if named and named != keys:
            raise SchemaError(
                f"saveAsTable of {self.name} in the mode overwrite replaces its rows, and its partition columns are "
                f"{', '.join(keys) or 'none'}, not {', '.join(named)}: leave partitionBy out, or make the table anew "
                "with writeTo(...).partitionedBy(...).createOrReplace()"
            )
        session.table(self._table_name).overwrite(frame, options=self.options)
        self.is_done = True

    def _make(self, rows: DataFrame | None) -> None:
        if self.there:
            replace_table(self.sessions.current(), self.name, self.schema, rows)
        else:
            create_filled_table(self.sessions.current(), self.name, self.schema, rows)
        self.is_done = True
