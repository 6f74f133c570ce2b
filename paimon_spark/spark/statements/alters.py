"""ALTER TABLE of columns and of table properties (features 8.1; Java: SparkCatalog.alterTable)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

from pyspark.errors import ParseException
from pyspark.sql import DataFrame
from pyspark.sql import types as st

from paimon_spark.errors import OptionError, SchemaError, SqlError, UnsupportedFeature
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import MAX_LENGTH, STRINGS, DataField, DataType, Root
from paimon_spark.spark.adapters.session_options import is_case_sensitive
from paimon_spark.spark.adapters.store_assignment import can_store
from paimon_spark.spark.adapters.types import COMMENT, paimon_field, read_spark_type, spark_type
from paimon_spark.spark.adapters.types import declared_type as declared_words
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.sql import statements as s
from paimon_spark.sql.statements import ColumnDefinition
from paimon_spark.sql.text.default_texts import stored_default
from paimon_spark.store.evolution import changes as c
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.nested_fields import spelled, type_at
from paimon_spark.store.evolution.schema_update import option_changes, unset_changes

_NESTED = (st.ArrayType, st.MapType, st.StructType)
_OTHER_TYPES = {
    "BLOB": "; write BINARY, and name the column in the option 'blob-field' of the new table",
    "VECTOR": "; write ARRAY, and name the column in the options 'vector-field' and 'field.<column>.vector-dim' of the "
    "new table",
}
_OF_THE_CATALOG = ("location", "provider", "owner", "external", "is_managed_location")


def run_alter_columns(session: SqlSession, alter: s.AlterColumns) -> DataFrame:
    """Changes columns: all changes of the statement make one schema, or none is made.

    Raises:
        SchemaError: a change does not fit.
        UnsupportedFeature: columns are replaced, or added with a default value, as in the official connector.
    """
    table = session.open(alter.table)
    changes = [made for change in alter.changes for made in _column_changes(table.schema, change)]
    for change in changes:
        if isinstance(change, c.UpdateType):
            _check_wider(table.schema, change)
    alter_table(table, changes, is_case_sensitive(session.spark))
    return session.no_rows


def run_set_properties(session: SqlSession, statement: s.SetProperties) -> DataFrame:
    """Stores table options; ``comment`` is the comment of the table."""
    for key in statement.properties:
        check_fixed_property(key)
    alter_table(session.open(statement.table), option_changes(statement.properties))
    return session.no_rows


def run_unset_properties(session: SqlSession, statement: s.UnsetProperties) -> DataFrame:
    """Removes table options; one that is not set is no error, with IF EXISTS or without, as in Spark."""
    for key in statement.keys:
        check_fixed_property(key)
    alter_table(session.open(statement.table), unset_changes(statement.keys))
    return session.no_rows


def _check_wider(schema: TableSchema, change: c.UpdateType) -> None:
    """Spark's SQL changes a type to one that holds all its values (Spark: AlterColumns, Cast.canUpCast)."""
    own = type_at(schema.fields, spelled(schema.fields, change.path))
    if own is None:
        return  # there is no such column, which is reported when the change is made
    have, want = spark_type(own), spark_type(change.type)
    changes = have != want and not isinstance(have, _NESTED)
    if (changes and not can_store(have, want, is_strict=True)) or not _keeps_length(own, change.type):
        raise SchemaError(
            f"ALTER COLUMN {c.dotted(change.path)} TYPE {declared_words(change.type)}: it is {declared_words(own)}, "
            "and SQL of Spark only allows types that hold all its values; PaimonTable.update_schema changes it "
            "nevertheless"
        )


def _keeps_length(have: DataType, want: DataType) -> bool:
    """True if no text is cut or padded anew (Spark: CheckAnalysis.canAlterColumnType)."""
    limit = MAX_LENGTH if want.length is None else want.length
    if want.root is Root.CHAR:
        return have.root is Root.CHAR and have.length == limit
    if want.root is not Root.VARCHAR or limit == MAX_LENGTH:
        return True
    return have.root in STRINGS and (MAX_LENGTH if have.length is None else have.length) <= limit


def check_property(key: str) -> None:
    """Checks that a table property may be set by a statement (Spark: AstBuilder.cleanTableProperties).

    Raises:
        OptionError: it is one that the catalog sets.
    """
    if key.lower() in _OF_THE_CATALOG:
        raise OptionError(f"the table property '{key}' is the catalog's: no statement sets it")


def check_fixed_property(key: str) -> None:
    """Checks that a statement may set or unset a property of a table that is there.

    Raises:
        OptionError: it is one that the catalog sets, or the primary key.
    """
    check_property(key)
    if key.lower() == TableSettings.primary_key.key:
        raise OptionError(
            "the table property 'primary-key' cannot change: create another table with it, and copy the rows; or, "
            "while the table is empty, use PaimonTable.set_options"
        )


def _column_changes(schema: TableSchema, change: s.ColumnChange) -> Iterator[c.SchemaChange]:
    match change:
        case s.AddColumn():
            if change.default is not None:
                raise UnsupportedFeature(
                    f"ADD COLUMN {c.dotted(change.path)} DEFAULT: the rows that are there have NULL in a new column; "
                    "add it without DEFAULT, then write ALTER COLUMN ... SET DEFAULT for the rows to come"
                )
            data_type = _type(change.path, change.type).with_nullable(change.nullable)
            yield c.AddColumn(change.path, data_type, change.comment, _position(change))
        case s.RenameColumn():
            yield c.RenameColumn(change.path, change.to)
        case s.DropColumn():
            yield c.DropColumn(change.path, change.if_exists)
        case s.ReplaceColumns():
            raise UnsupportedFeature(
                "REPLACE COLUMNS would drop all columns with their values; drop and add the columns that change, or "
                "write CREATE OR REPLACE TABLE for a table with other columns"
            )
        case s.ChangeColumn():
            yield from _change_column(schema, change)


def _change_column(schema: TableSchema, change: s.ChangeColumn) -> Iterator[c.SchemaChange]:
    if change.type is not None:
        yield c.UpdateType(change.path, _type(change.path, change.type))
    if change.nullable is not None:
        yield c.UpdateNullable(change.path, change.nullable)
    if change.comment is not None:
        yield c.UpdateComment(change.path, change.comment)
    if change.default is not None:
        own = type_at(schema.fields, spelled(schema.fields, change.path))
        default = change.default or None
        if own is not None and default is not None:
            default = stored_default(c.dotted(change.path), default, own)
        yield c.UpdateDefault(change.path, default)
    position = _position(change)
    if position is not None:
        yield c.MoveColumn(change.path, position)


def _position(change: s.AddColumn | s.ChangeColumn) -> c.Position | None:
    if change.first and change.after is not None:
        raise SchemaError(f"column {c.dotted(change.path)}: FIRST and AFTER exclude each other")
    if change.after is not None:
        return c.Position(c.Place.AFTER, change.after)
    return c.Position(c.Place.FIRST) if change.first else None


def _type(path: c.Path, text: str) -> DataType:
    return declared_type(c.dotted(path), text)


def declared_columns(columns: Sequence[ColumnDefinition]) -> tuple[DataField, ...]:
    """The columns of CREATE TABLE, without ids; Spark reads all types in one question.

    Raises:
        SqlError: Spark does not have a type, or a default value is an expression.
        SchemaError: a type cannot be stored.
    """
    if not columns:
        return ()
    ddl = ", ".join(f"c{number} {column.type}" for number, column in enumerate(columns))
    try:
        types = [field.dataType for field in cast(st.StructType, st.StructType.fromDDL(ddl)).fields]
    except ParseException:
        types = [_spark_type(column.name, column.type) for column in columns]
    return tuple(
        _with_default(column, paimon_field(st.StructField(column.name, spark, column.nullable, _metadata(column))))
        for column, spark in zip(columns, types, strict=True)
    )


def declared_type(column: str, text: str) -> DataType:
    """The type that a text of Spark's SQL means; it may hold NULL.

    Raises:
        SqlError: Spark does not have it.
        SchemaError: it cannot be stored.
    """
    return paimon_field(st.StructField(column, _spark_type(column, text))).type


def _spark_type(column: str, text: str) -> st.DataType:
    try:
        return read_spark_type(text)
    except ParseException:
        way_out = _OTHER_TYPES.get(text.strip().upper().partition("<")[0], "")
        raise SqlError(f"SQL: the column {column} has the type {text}, which Spark does not have{way_out}") from None


def _metadata(column: ColumnDefinition) -> dict[str, str]:
    return {} if column.comment is None else {COMMENT: column.comment}


def _with_default(column: ColumnDefinition, field: DataField) -> DataField:
    if column.default is None:
        return field
    return replace(field, default_value=stored_default(column.name, column.default, field.type))
