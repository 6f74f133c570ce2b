"""A write that Spark asks for: this package gets the rows as a DataFrame, and writes them as ``PaimonTable`` does.

Java: org.apache.spark.sql.connector.write.V1Write, by which a source runs the write itself. An overwrite of the
partitions of the rows has no such road in Spark, and a stream neither: these go the road of the data source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from paimon_spark.arrow.predicates import predicate as p
from paimon_spark.arrow.types import from_internal
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.quoting import quoted
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import INTEGERS, MAX_LENGTH, STRINGS, TIMESTAMPS, DataType, Root
from paimon_spark.spark.adapters.options import PATH, last_of, path_in_session
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.source.filters import NotPushed
from paimon_spark.spark.spark_catalog.driver_calls import parsed
from paimon_spark.spark.spark_catalog.jvm_objects import Java, dict_of
from paimon_spark.spark.spark_catalog.predicates import convert
from paimon_spark.spark.spark_catalog.sessions import NamedTable
from paimon_spark.spark.spark_catalog.spark_internals import data_frame, python_table, write_info
from paimon_spark.spark.table.table_appends import TableAppends
from paimon_spark.sql.text.literals import literal_text
from paimon_spark.sql.text.names import TableName
from paimon_spark.store.metadata.table import Table
from paimon_spark.writes.options import DYNAMIC_OVERWRITE, OVERWRITE_WHERE, Once
from paimon_spark.writes.write_job import WriteResult

_WRITE = "org.apache.spark.sql.connector.write."
INSERTABLE = "org.apache.spark.sql.sources.InsertableRelation"


def write_builder(of: NamedTable, info: Java) -> Java:
    """The builder of a write to a table."""
    target = WriteBuilder(of, info)
    kinds = [_WRITE + kind for kind in ("SupportsOverwriteV2", "SupportsDynamicOverwrite")]
    target.itself = of.objects.make(kinds, target)
    return target.itself


class WriteBuilder:
    """Answers for the builder of a write: notes what is replaced."""

    def __init__(self, of: NamedTable, info: Java) -> None:
        self._of = of
        self._info = info
        self._schema = of.open_any({}).schema
        self._replaces: dict[str, str] | None = None
        self.itself: Java = None

    def truncate(self) -> Java:
        self._replaces = {DYNAMIC_OVERWRITE: "false"}
        return self.itself

    def overwrite(self, predicates: Java) -> Java:
        try:
            condition = self._condition(predicates)
        except NotPushed:
            name, keys = self._of.full_name, ", ".join(self._schema.partition_keys) or "of which this table has none"
            raise UnsupportedFeature(
                f"writeTo('{name}').overwrite(<condition>): a condition says which partitions are replaced, and names "
                f"partition columns alone ({keys}); to replace other rows write DELETE FROM {name} WHERE ... and append"
            ) from None
        self._replaces = {OVERWRITE_WHERE: condition} if condition else {DYNAMIC_OVERWRITE: "false"}
        return self.itself

    def overwriteDynamicPartitions(self) -> Java:
        self._replaces = {DYNAMIC_OVERWRITE: "true"}
        return self.itself

    def build(self) -> Java:
        replaces = self._replaces
        options = without_path(self._of.session, self._of.name, dict_of(self._info.options()))
        target = Write(self._of, self._info, options, replaces)
        if replaces is not None and replaces.get(DYNAMIC_OVERWRITE) == "true":
            return target.of_source(replaces)
        description = f"paimon {self._of.name}"
        return self._of.objects.make([_WRITE + "V1Write"], target, {"description": description})

    def _condition(self, predicates: Java) -> str:
        """The condition as text; empty: all rows."""
        columns = {field.name: replace(field, type=_plain(field.type)) for field in self._schema.partition_fields}
        found = p.and_(*(convert(node, columns) for node in parsed(self._of.objects, predicates)))
        return "" if found == p.TRUE else condition_text(found, self._schema)


@dataclass(frozen=True)
class Write:
    """Answers for a write.

    Attributes:
        of: the table.
        info: what Spark says of the write.
        options: of the write.
        replaces: the options of an overwrite; None: rows are added.
    """

    of: NamedTable
    info: Java
    options: Mapping[str, str]
    replaces: Mapping[str, str] | None

    def toInsertableRelation(self) -> Java:
        return self.of.objects.make([INSERTABLE], InsertableRelation(self._insert))

    def toStreaming(self) -> Java:
        """Of a stream the output mode says what a batch replaces."""
        return self.of_source({}).toStreaming()

    def of_source(self, more: Mapping[str, str]) -> Java:
        """The write of Spark's own table of the data source, with more options."""
        session, objects, name = self.of.session, self.of.objects, self.of.name
        said = session.said_of(name).of_writes
        options = {**session.storage_options, **said, **self.options, **more}
        options["path"] = session.location(name)
        table = python_table(session.spark, objects, self.info.schema(), options)
        builder = table.newWriteBuilder(write_info(objects, self.info, options))
        return (builder if self.replaces is None else builder.truncate()).build()

    def _insert(self, rows: Java) -> None:
        session = self.of.session
        session.open_any(self.of.name)
        options = {**session.storage_options, **session.said_of(self.of.name).of_writes}
        table = _Appends(session.spark, session.location(self.of.name), options)
        frame = data_frame(rows, session.spark)
        if self.replaces is None:
            table.append(frame, self.options)
        else:
            table.overwrite(frame, options={**self.options, **self.replaces})


class _Appends(TableAppends):
    """A table that rows are written to; what changes rows in place is imported where a write has an `upsert-key`."""

    def __init__(self, spark: SparkSession, path: str, options: Mapping[str, str]) -> None:
        super().__init__(spark, path, options)
        self._given = options

    def _upsert(self, df: DataFrame, table: Table, once: Once | None) -> WriteResult:
        from paimon_spark.spark.table.table_writes import TableWrites

        return TableWrites(self._spark, self._path, self._given)._upsert(df, table, once)


@dataclass(frozen=True)
class InsertableRelation:
    """Answers for what Spark gives the rows to.

    Attributes:
        write: writes a Dataset.
    """

    write: Callable[[Java], None]

    def insert(self, rows: Java, overwrite: bool) -> None:
        self.write(rows)


def without_path(session: SqlSession, name: TableName, options: Mapping[str, str]) -> dict[str, str]:
    """The options of a write to a table that is there, without its path.

    Raises:
        OptionError: they name another path.
    """
    place = session.location(name)
    given = last_of(options, PATH)
    if given is not None and path_in_session(session.spark, given).rstrip("/") != place.rstrip("/"):
        raise OptionError(f"the option 'path' = '{given}' of a write to {name}: the table is at {place}; leave it out")
    return {key: value for key, value in options.items() if key.lower() != PATH}


def condition_text(predicate: p.Predicate, schema: TableSchema) -> str:
    """A condition on partition columns as SQL.

    Raises:
        NotPushed: it has a part for which there is no text.
    """

    def text(part: p.Predicate) -> str:
        match part:
            case p.And(parts):
                return "(" + " AND ".join(map(text, parts)) + ")"
            case p.Or(parts):
                return "(" + " OR ".join(map(text, parts)) + ")"
            case p.IsNull((name,)):
                return f"{quoted(name)} IS NULL"
            case p.IsNotNull((name,)):
                return f"{quoted(name)} IS NOT NULL"
            case p.In((name,), values):
                return (
                    f"{quoted(name)} IN ({', '.join(_literal(value, schema.by_name[name].type) for value in values)})"
                )
            case p.Compare((name,), op, value):
                return f"{quoted(name)} {op} {_literal(value, schema.by_name[name].type)}"
        raise NotPushed

    return text(predicate)


def _plain(data_type: DataType) -> DataType:
    """The type of a partition column; a text of CHAR is compared with blanks behind it by the text of the condition."""
    return DataType(Root.VARCHAR, data_type.nullable, MAX_LENGTH) if data_type.root is Root.CHAR else data_type


def _literal(value: p.Value, data_type: DataType) -> str:
    shown = from_internal([value], data_type.with_nullable(True))[0].as_py()
    root = data_type.root
    if root in STRINGS or root in INTEGERS or root in (Root.BOOLEAN, Root.BINARY, Root.VARBINARY, Root.DECIMAL):
        return literal_text(shown)
    if root is Root.DATE:
        return f"DATE '{shown.isoformat()}'"
    if root in TIMESTAMPS:
        word = "TIMESTAMP_NTZ" if root is Root.TIMESTAMP else "TIMESTAMP_LTZ"
        return f"{word} '{shown.isoformat(sep=' ')}'"
    raise NotPushed
