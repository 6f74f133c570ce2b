"""CREATE TABLE ... AS SELECT and REPLACE TABLE in one step: if the rows cannot be written, nothing has changed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pyspark.sql import DataFrame

from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.spark.adapters.options import write_options
from paimon_spark.spark.adapters.types import nullable, shown_schema, spark_schema
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.spark_catalog.jvm_objects import Java, JvmObjects, dict_of
from paimon_spark.spark.spark_catalog.spark_internals import data_frame, struct_of
from paimon_spark.spark.spark_catalog.write_builder import INSERTABLE, InsertableRelation
from paimon_spark.spark.statements.new_tables import create_filled_table, replace_table
from paimon_spark.spark.write.table_creation import new_table_schema
from paimon_spark.store.metadata.table_options import PATH, resolve_keys

_CATALOG = "org.apache.spark.sql.connector.catalog."
_WRITE = "org.apache.spark.sql.connector.write."
_CAPABILITIES = ("V1_BATCH_WRITE", "TRUNCATE")


class Staging(Enum):
    """Which tables may be there already."""

    CREATE = "create"
    REPLACE = "replace"
    CREATE_OR_REPLACE = "create or replace"


def staged_table(session: SqlSession, objects: JvmObjects, name: Identifier, schema: TableSchema, there: bool) -> Java:
    """A table that is not there yet, or has not changed yet.

    Spark is shown columns that may hold NULL: the optimizer takes a scan for one whose columns may, and refuses a plan
    that writes them to columns that may not. The write itself refuses NULL.

    Args:
        schema: of the new table.
        there: whether there is a table, which gets the new columns and rows.
    """
    constants = {
        "name": f"{session.catalog.name}.{name}",
        "schema": struct_of(objects, nullable(shown_schema(spark_schema(schema.fields)))),
        "partitioning": objects.array("org.apache.spark.sql.connector.expressions.Transform", []),
        "properties": objects.map({}),
        "capabilities": objects.set(
            objects.static(f"{_CATALOG}TableCapability.{name}") for name in ("V1_BATCH_WRITE", "TRUNCATE")
        ),
    }
    return objects.make(
        [_CATALOG + kind for kind in ("StagedTable", "SupportsWrite")],
        StagedCalls(session, objects, name, schema, there),
        constants,
    )


@dataclass
class StagedCalls:
    """Answers for a staged table: it becomes a table with its rows when these are written, in one step.

    Attributes:
        session, objects, name, schema, there: as of staged_table.
        is_done: whether it has become one.
    """

    session: SqlSession
    objects: JvmObjects
    name: Identifier
    schema: TableSchema
    there: bool
    is_done: bool = False

    def newWriteBuilder(self, info: Java) -> Java:
        """To replace the rows of a new table is to write it.

        ``df.write.option('primary-key', 'id').saveAsTable`` hands over options of the table as those of the write.
        """
        given = write_options({**dict_of(info.options()), PATH: f"/{self.name}"}).table
        if given:
            resolve_keys(given, self.schema.names)
            known = dict(self.schema.options)
            if self.schema.partition_keys:
                known[TableSettings.partition.key] = ",".join(self.schema.partition_keys)
            if self.schema.primary_keys:
                known[TableSettings.primary_key.key] = ",".join(self.schema.primary_keys)
            self.schema = new_table_schema(
                str(self.name), {**known, **given}, self.schema.fields, self.schema.comment, with_rows=True
            )
        insert = self.objects.make([INSERTABLE], InsertableRelation(self._insert))
        constants = {"toInsertableRelation": insert, "description": f"paimon {self.name}"}
        write = self.objects.make([_WRITE + "V1Write"], None, constants)
        itself = self.objects.make([_WRITE + "WriteBuilder"], None, {"build": write})
        return self.objects.make([_WRITE + "SupportsTruncate"], None, {"build": write, "truncate": itself})

    def commitStagedChanges(self) -> None:
        if not self.is_done:
            self._make(None)

    def abortStagedChanges(self) -> None:
        """A write that failed has left nothing."""

    def _insert(self, rows: Java) -> None:
        self._make(data_frame(rows, self.session.spark))

    def _make(self, rows: DataFrame | None) -> None:
        if self.there:
            replace_table(self.session, self.name, self.schema, rows)
        else:
            create_filled_table(self.session, self.name, self.schema, rows)
        self.is_done = True
