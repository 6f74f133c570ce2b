"""Making a table: publishing its first schema (format section 2; Java: SchemaManager.createTable)."""

from __future__ import annotations

import errno
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa

from paimon_spark.arguments.checks import checked
from paimon_spark.arrow.default_values import check_defaults
from paimon_spark.arrow.types import data_type
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import (
    CorruptFile,
    OptionError,
    SchemaError,
    StorageError,
    TableAlreadyExists,
    UnsupportedFeature,
)
from paimon_spark.file_io import FileIO, NotCreated, absolute_location, file_io_for
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.value_texts import parse_list
from paimon_spark.format.paths import schema_path
from paimon_spark.format.rules.column_directives import with_blobs
from paimon_spark.format.rules.format_tables import check_kept_partitions, check_new_format_table
from paimon_spark.format.rules.new_tables import assign_field_ids, check_written_compressions, validate_table
from paimon_spark.format.rules.object_tables import object_table_schema
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.schema import TableSchema, encode_schema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, DataType
from paimon_spark.merge.engines.choice import engine_for
from paimon_spark.store.metadata.publish import publish_file
from paimon_spark.store.metadata.schemas import SchemaStore
from paimon_spark.store.metadata.table_options import PATH, resolve_properties
from paimon_spark.store.storage.wrong_path import above_tables, check_new_place
from paimon_spark.store.system_tables.names import refuse_name_of_part

Columns: TypeAlias = pa.Schema | Mapping[str, str]
"""The columns of a new table."""
_TRIES = 20
_KINDS = (TableKind.TABLE, TableKind.MATERIALIZED_TABLE)
_AUTO_CREATE = "auto-create"
_NOT_YET = re.compile(r"^cannot (?:read|write(?: to)?) the table: ")  # which there is not


@checked
def new_schema(
    columns: Columns,
    primary_keys: str | Sequence[str] = (),
    partition_keys: str | Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    comment: str | None = None,
) -> TableSchema:
    """A schema for create_table; the columns of the primary key become NOT NULL.

    Args:
        columns: of the table, in order: a schema of pyarrow, or types by names such as ``{"id": "BIGINT"}``; ``{}`` for
            an object table, whose columns are always the same.
        primary_keys, partition_keys: names of columns, or one text with commas between the names.
        options: of the table, and labels of the user, as TBLPROPERTIES in SQL; `primary-key` and `partition` may be
            among them in place of the arguments.
        comment: of the table.

    Raises:
        SchemaError: a column has a type that cannot be stored, or an object table is given columns of its own.
        OptionError: an option is misspelt, or belongs to another system.
    """
    declared = list(_declared(columns))
    stored = resolve_properties(options or {}, [name for name, _ in declared])
    keys, partitions = (
        parse_list(names) if isinstance(names, str) else tuple(names)
        for names in (
            primary_keys or stored.pop(TableSettings.primary_key.key, ""),
            partition_keys or stored.pop(TableSettings.partition.key, ""),
        )
    )
    fields = [DataField(0, name, of.with_nullable(of.nullable and name not in keys)) for name, of in declared]
    if TableSettings(stored).table_type == TableKind.OBJECT_TABLE:
        of_rows = {TableSettings.primary_key.key: ",".join(keys), TableSettings.partition.key: ",".join(partitions)}
        return object_table_schema("the table", fields, {**stored, **{k: v for k, v in of_rows.items() if v}}, comment)
    numbered, highest = assign_field_ids(list(with_blobs(fields, stored)))
    return TableSchema(0, tuple(numbered), highest, partitions, keys, stored, comment)


def check_has_snapshots(location: str, schema: TableSchema) -> None:
    """Refuses a table of files at a path: only catalogs know where such tables are.

    Args:
        location: the table directory, for messages.
        schema: of the new table.

    Raises:
        UnsupportedFeature: it is an object table or a format table.
    """
    kind = TableSettings(schema.options).table_type
    if kind in (TableKind.OBJECT_TABLE, TableKind.FORMAT_TABLE):
        is_of_rows = kind == TableKind.FORMAT_TABLE
        makes = "a Hive or REST catalog makes format" if is_of_rows else "a Hive, JDBC or REST catalog makes object"
        raise UnsupportedFeature(
            f"creating {location} with 'type' = '{kind}': only {makes} tables; create it by its name there, with SQL, "
            "tableName(...), or new_table(...) of open_catalog"
        )


def _declared(columns: Columns) -> Iterator[tuple[str, DataType]]:
    """Names and types."""
    if isinstance(columns, pa.Schema):
        yield from ((column.name, data_type(column.type, column.nullable)) for column in columns)
        return
    for name, text in columns.items():
        try:
            yield name, parse_type(text)
        except SchemaError as error:
            raise SchemaError(f"column '{name}': {error}") from None


@checked
def create_table(
    location: str,
    schema: TableSchema,
    file_io: FileIO | None = None,
    ignore_if_exists: bool = False,
    locked: bool = False,
    of_server: bool = False,
) -> TableSchema:
    """Makes a table with this schema.

    Of several jobs that create one table at the same moment just one does; the others find its table.

    Args:
        location: the table directory; it may exist if it holds nothing.
        schema: complete, with field ids; its id and time are set here.
        file_io: reaches the location; None for one that needs no storage options.
        ignore_if_exists: take the table that is there, whatever its schema.
        locked: the caller holds a lock on the table that all who make it take.
        of_server: the caller is the server that decides who reads the table.

    Returns:
        The schema of the table that is there now.

    Raises:
        SchemaError: the schema breaks a rule; or the directory holds files of something else, but for an object table,
            which lists them, or is within a table.
        StorageError: the directory cannot be made.
        TableAlreadyExists: there is a table, and ignore_if_exists is false.
    """
    root = absolute_location(location)
    store = file_io or file_io_for(root, {})
    first = replace(schema, id=0, time_millis=time.time_ns() // 1_000_000)
    is_of_files = TableSettings(first.options).table_type == TableKind.OBJECT_TABLE
    if TableSettings(first.options).query_auth_enabled and not of_server:
        raise UnsupportedFeature(
            f"creating {root} with '{TableSettings.query_auth_enabled.key}' = 'true': only the server of a REST "
            "catalog can decide who reads which rows; create the table there, without a path"
        )
    validate_table(first)
    check_defaults(f"creating {root}", first.fields)
    if first.primary_keys:
        engine_for(first, TableSettings(first.options))
    for _ in range(_TRIES):
        failed: OSError | None = None
        existing = find_schema(store, root)
        if existing is None:
            check_new_place(store, root, "creating a table at")
            refuse_name_of_part(root, "creating a table at")
            if not is_of_files:
                _refuse_foreign_files(store, root)
            try:
                if publish_file(store, schema_path(root, 0), encode_schema(first), locked):
                    return first
            except (FileNotFoundError, NotCreated) as error:
                if isinstance(error, NotCreated) and error.errno != errno.ENOENT:
                    raise
                failed = error  # another job has moved the directory away, or nobody can make it
            existing = find_schema(store, root)
        if existing is not None:
            if not ignore_if_exists:
                raise TableAlreadyExists(f"there is a table at {root} already; write to it, or choose another path")
            return existing
    if failed is not None:
        raise StorageError(
            f"creating the table at {root}: its directory cannot be made ({failed}); check the path, and "
            "where links in it lead"
        )
    raise SchemaError(
        f"creating the table at {root}: other jobs create and drop it all the time; run it again when they are done"
    )


def find_schema(store: FileIO, root: str) -> TableSchema | None:
    """The latest schema of the table in a directory; None: there is no table, or it was dropped during this call.

    Raises:
        CorruptFile: a schema file is damaged.
    """
    for last in range(_TRIES, 0, -1):
        schemas = SchemaStore(store, root)
        try:
            return schemas.latest()
        except CorruptFile:  # listed, and then missing: dropped in between, and perhaps created anew
            if not schemas.ids():
                return None
            if last == 1:
                raise
    return None


def _refuse_foreign_files(store: FileIO, root: str) -> None:
    """A wrong path must not bury a table in other data. An empty schema directory is that of a creation that failed."""
    found = _foreign_names(store, root)
    # The files may be those of a table that another job has just created, or has just dropped as a whole.
    if found and find_schema(store, root) is None and (found := _foreign_names(store, root)):
        of_tables = above_tables(store, root, store.list(root))  # a directory that must not be emptied
        of_others = (
            f"the directory is not empty ({', '.join(found[:5])}), and holds no Paimon table; check the path, or empty "
            "the directory"
        )
        raise SchemaError(f"creating a table at {root}: {of_tables or of_others}")


def _foreign_names(store: FileIO, root: str) -> list[str]:
    return sorted(s.name for s in store.list(root) if not s.name.startswith((".", "_")) and s.name != "schema")


def check_written_here(what: str, schema: TableSchema) -> None:
    """Checks that this release writes to such a table, before it is made.

    Args:
        what: the new table, for the message.
        schema: its first one.

    Raises:
        UnsupportedFeature: it does not; the message names the option or column.
    """
    settings = TableSettings(schema.options)
    try:
        check_writable(schema, settings)
        check_written_compressions(schema, settings)
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"creating {what}: {_NOT_YET.sub('', str(error))}") from None


def check_creatable(
    identifier: Identifier,
    schema: TableSchema,
    has_external_tables: bool,
    has_object_tables: bool,
    has_format_tables: bool = False,
) -> None:
    """Checks the options of a new table (Java: AbstractCatalog.createTable), and that this release writes to it.

    Args:
        identifier: its name.
        schema: its first one.
        has_external_tables: the catalog has tables at other places than those it chooses.
        has_object_tables: it has object tables. Java's catalog in files alone has none.
        has_format_tables: it has format tables. Java's catalogs in files and in a database have none.

    Raises:
        UnsupportedFeature: they ask for a location of its own, or for something else than a table with snapshots.
        OptionError: they ask readers to create the table; those of a format table are ones of Spark, or misspelt.
    """
    if PATH in schema.options and not has_external_tables:
        raise UnsupportedFeature(
            f"creating {identifier} with the option 'path', which is LOCATION in SQL: this catalog decides where its "
            "tables are, only a Hive or REST catalog has tables at other places; leave LOCATION out, or make a table "
            "without a name, with PaimonTable.create(spark).location(...)"
        )
    kind = TableSettings(schema.options).table_type
    kinds = [*_KINDS, *([TableKind.OBJECT_TABLE] if has_object_tables else [])]
    kinds += [TableKind.FORMAT_TABLE] if has_format_tables else []
    if kind not in kinds:
        instead = "; a Hive or REST catalog has format tables" if kind == TableKind.FORMAT_TABLE else ""
        instead = "; a Hive, JDBC or REST catalog has object tables" if kind == TableKind.OBJECT_TABLE else instead
        raise UnsupportedFeature(
            f"creating {identifier} with 'type' = '{kind}': this catalog holds {', '.join(kinds)} only{instead}"
        )
    if schema.options.get(_AUTO_CREATE, "false").strip().lower() != "false":
        raise OptionError(
            f"creating {identifier}: 'auto-create' must be false, because the catalog itself creates the table"
        )
    if kind == TableKind.FORMAT_TABLE:
        check_new_format_table(f"creating {identifier}", schema)
        check_kept_partitions(f"creating {identifier}", schema, keeps=False)
    elif kind != TableKind.OBJECT_TABLE:
        check_written_here(str(identifier), schema)


def same_schema(identifier: Identifier, schema: TableSchema, there: TableSchema, location: str) -> TableSchema:
    """The schema of the table that is at the place of an external one (Java: checkSchemaForExternalTable)."""
    differs = [
        *(["columns"] if [(f.name, f.type) for f in schema.fields] != [(f.name, f.type) for f in there.fields] else []),
        *(["partition columns"] if schema.partition_keys not in ((), there.partition_keys) else []),
        *(["primary key"] if schema.primary_keys not in ((), there.primary_keys) else []),
        *(k for k, v in schema.options.items() if k not in (PATH, "owner") and there.options.get(k) != v),
    ]
    if differs:
        raise SchemaError(
            f"creating {identifier}: the table at {location} differs in {', '.join(differs)}; give the same, or "
            "another path"
        )
    return there
