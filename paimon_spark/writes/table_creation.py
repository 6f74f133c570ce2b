"""Making the table that rows are to be written to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from paimon_spark.catalogs.create import check_has_snapshots, check_written_here, create_table
from paimon_spark.errors import OptionError, SchemaError, TableNotFound, UnsupportedFeature
from paimon_spark.file_io import absolute_location, file_io_for
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.value_texts import parse_list
from paimon_spark.format.rules.column_directives import VECTOR_FIELD, VECTOR_LENGTH, directed_columns, with_blobs
from paimon_spark.format.rules.format_tables import check_new_format_table
from paimon_spark.format.rules.new_tables import assign_field_ids, validate_table
from paimon_spark.format.rules.object_tables import object_table_schema
from paimon_spark.format.rules.supported import check_call
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField, Root
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import resolve_keys, resolve_properties, split_storage_options
from paimon_spark.store.storage.served import is_served
from paimon_spark.writes.row_columns import RowColumns


def table_for_rows(location: str, options: Mapping[str, str], columns: RowColumns) -> Table:
    """The table for rows, which is not there yet; ``create_table`` makes it.

    All columns may hold NULL, as in every table Spark makes from a query, except those of the primary key.

    Args:
        location: the table directory.
        options: of the new table, `primary-key` and `partition` among them; storage options.
        columns: of the rows, without those that are not stored.

    Raises:
        SchemaError: a column's type cannot be stored, or keys and options break a rule of table creation.
        OptionError: an option is unknown or bad.
        UnsupportedFeature: this release could not write to such a table.
    """
    _refuse_served(location)
    storage, given = split_storage_options(options)
    resolve_keys(given, columns.names)  # options of a write: a label would be a typing error
    check_names(location, columns.names)
    made = new_table_schema(location, given, columns.fields(), with_rows=True)
    validate_table(made)
    return Table(absolute_location(location), file_io_for(location, storage), made, TableSettings(made.options))


def create(
    location: str,
    options: Mapping[str, str],
    fields: Sequence[DataField],
    comment: str | None = None,
    ignore_if_exists: bool = False,
) -> TableSchema:
    """Creates a table with these columns; their ids are assigned here.

    Args:
        location: the table directory.
        options: of the new table, `primary-key` and `partition` among them; storage options.
        fields: its columns.
        comment: of the table.
        ignore_if_exists: take the table that is there.

    Raises:
        TableAlreadyExists: there is one, and ignore_if_exists is false.
        SchemaError, OptionError: a rule of table creation is broken, a branch is named, or an option would do nothing.
        UnsupportedFeature: this release could not write to such a table.
        TableNotFound: the location is the name of a table of a REST catalog.
    """
    _refuse_served(location)
    storage, given = split_storage_options(options)
    schema = new_table_schema(location, given, fields, comment)
    check_has_snapshots(location, schema)
    return create_table(location, schema, file_io_for(location, storage), ignore_if_exists)


def check_names(location: str, names: Sequence[str], is_exact: bool = False) -> None:
    """Refuses columns that queries could not tell apart (Spark: PreprocessTableCreation).

    Args:
        location: the table directory, or its name, for messages.
        is_exact: whether letter case counts, as a session may say.

    Raises:
        SchemaError: there are two of one name.
    """
    found = alike_names(names, is_exact)
    if found is not None:
        declare = "with PaimonTable.create or CREATE TABLE, and then appends to it"
        way_out = "" if is_exact else f". A session with spark.sql.caseSensitive = true declares such a table {declare}"
        raise SchemaError(f"creating {location}: {found}; give each column a name of its own{way_out}")


def alike_names(names: Sequence[str], is_exact: bool) -> str | None:
    """Tells which columns a query could not tell apart; None: there are none."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(name if is_exact else name.lower(), []).append(name)
    same = next((found for found in alike.values() if len(found) > 1), None)
    if same is None:
        return None
    if len(set(same)) < len(same):
        return f"the column '{same[0]}' stands there twice"
    return f"the columns {' and '.join(same)} differ in letter case alone, and spark.sql.caseSensitive is off"


def _refuse_served(location: str) -> None:
    if is_served(location):
        raise TableNotFound(
            f"there is no table {location}, and a catalog makes tables by the statement CREATE TABLE only: run "
            "cat.sql('CREATE TABLE ...') with its catalog"
        )


def new_table_schema(
    location: str,
    options: Mapping[str, str],
    fields: Sequence[DataField],
    comment: str | None = None,
    with_rows: bool = False,
) -> TableSchema:
    """The first schema of a table with these columns; their ids are assigned here.

    Args:
        location: the table directory, or its name, for messages.
        options: of the new table, `primary-key` and `partition` among them.
        fields: its columns.
        comment: of the table.
        with_rows: rows are written by the same call, so that the options ask for something at once.

    Raises:
        SchemaError, OptionError: a rule of table creation is broken, a branch is named, or an option would do nothing.
        UnsupportedFeature: this release could not write to such a table.
    """
    names = [field.name for field in fields]
    stored = resolve_properties(options, names)
    if TableSettings.branch.key in stored or "$branch_" in location.rstrip("/").rpartition("/")[2]:
        raise OptionError(f"creating {location}: a new table has no branch; create the table first, then the branch")
    if TableSettings(stored).table_type == TableKind.OBJECT_TABLE:
        if with_rows:
            raise UnsupportedFeature(
                f"creating {location} with rows: the rows of an object table are the files of its directory; create "
                "it without a query"
            )
        return object_table_schema(location, fields, stored, comment)
    fields, stored = directed_columns(fields, stored)
    primary_keys = _columns(stored.pop(TableSettings.primary_key.key, ""), names)
    partition_keys = _columns(stored.pop(TableSettings.partition.key, ""), names)
    keyed = [
        replace(f, type=f.type.with_nullable(False)) if f.name in primary_keys else f
        for f in with_blobs(_with_vectors(fields, stored), stored)
    ]
    numbered, highest = assign_field_ids(keyed)
    schema = TableSchema(0, numbered, highest, partition_keys, primary_keys, stored, comment)
    if TableSettings(stored).table_type == TableKind.FORMAT_TABLE:
        check_new_format_table(f"creating {location}", schema)
        return schema
    if with_rows:
        check_call(stored)
    check_written_here(location, schema)
    return schema


def _with_vectors(fields: Sequence[DataField], stored: Mapping[str, str]) -> Iterator[DataField]:
    """The columns, those arrays as VECTOR that the option `vector-field` names (Java: SparkCatalog.toInitialSchema).

    Raises:
        OptionError: the option says of one that is no array, or it is not said how many elements it has.
    """
    named = parse_list(stored.get(VECTOR_FIELD, ""))
    for field in fields:
        if field.name not in named or field.type.root is Root.VECTOR:
            yield field
            continue
        key = VECTOR_LENGTH.format(field.name)
        length = stored.get(key, "").strip()
        if field.type.root is not Root.ARRAY or not length.isdecimal():
            raise OptionError(
                f"the option '{VECTOR_FIELD}' names the column '{field.name}': give it the type ARRAY, and its "
                f"number of elements with the option '{key}'"
            )
        yield replace(field, type=replace(field.type, root=Root.VECTOR, length=int(length)))


def _columns(text: str, names: Sequence[str]) -> tuple[str, ...]:
    """Column names of an option, in the case of the columns."""
    found = []
    for item in parse_list(text):
        alike = [item] if item in names else [name for name in names if name.lower() == item.lower()]
        found.append(alike[0] if len(alike) == 1 else item)  # an unknown one is the rules' to refuse
    return tuple(found)
