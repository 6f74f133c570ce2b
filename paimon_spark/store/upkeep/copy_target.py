"""The target of a copy: a new table with the same schemas, or an existing one that fits (Java: CopySchemaOperator).

Java reads every copied file by the one schema of the target, so it misreads files of an older schema. Here a new target
gets all schemas, and an existing target must have a schema with exactly the same columns for each file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from paimon_spark.errors import OptionError, SchemaError, TableAlreadyExists
from paimon_spark.file_io import FileIO, absolute_location, file_io_for, is_same_store, local_path
from paimon_spark.format.bucket import bucket_fields
from paimon_spark.format.options.option import Option
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.write_settings import FileSettings
from paimon_spark.format.paths import schema_path
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.schema import TableSchema, encode_schema
from paimon_spark.store.metadata.external_paths import confined
from paimon_spark.store.metadata.publish import publish_file
from paimon_spark.store.metadata.schemas import SchemaStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import split_storage_options
from paimon_spark.store.open import find_stored_table, open_data_table
from paimon_spark.store.storage.wrong_path import check_new_place
from paimon_spark.store.system_tables.names import refuse_name_of_part

_OWN = ("path", "branch", "data-file.external-paths", "global-index.external-path", "scan.fallback-", "scan.primary-")
"""Prefixes of options that speak of places and branches of the one table; two tables must not share a place."""

_ALIKE: tuple[Option[Any], ...] = (
    TableSettings.bucket,
    TableSettings.bucket_function,
    FileSettings.format,
    TableSettings.merge_engine,
)
"""Options without which writers and readers of a table there would look for rows elsewhere. Java knows but three."""

_ALIKE_WITH_KEYS: tuple[Option[Any], ...] = (
    TableSettings.deletion_vectors_enabled,
    TableSettings.sequence_field,
    TableSettings.sequence_sort_order,
    TableSettings.sequence_snapshot_ordering,
    TableSettings.ignore_delete,
    TableSettings.ignore_update_before,
    TableSettings.aggregation_remove_record_on_delete,
    TableSettings.partial_update_remove_record_on_delete,
    TableSettings.partial_update_remove_record_on_sequence_group,
)
"""Options, beside those that begin with `fields.`, that say which row comes of those with one key."""


@dataclass(frozen=True)
class CopyTarget:
    """The target of a copy.

    Attributes:
        table: the table, which may not exist yet.
        new_schemas: the schemas to publish before the commit, oldest first.
    """

    table: Table
    new_schemas: tuple[TableSchema, ...]

    def publish(self) -> None:
        """Creates the table.

        Raises:
            TableAlreadyExists: another process has created a different table there concurrently.
        """
        table = self.table
        for schema in self.new_schemas:
            if not publish_file(table.file_io, schema_path(table.location, schema.id), encode_schema(schema)):
                raise TableAlreadyExists(
                    f"copying to {table.location}: another job has made a table there meanwhile; nothing was copied. "
                    "Copy again if that table is the one you meant"
                )

    def schema_id_of(self, schema: TableSchema) -> int:
        """The id of the target's schema for files that were written with a schema of the source.

        Raises:
            SchemaError: the target has no such schema.
        """
        published = {schema.id for schema in self.new_schemas}
        if schema.id in published:
            return schema.id
        schemas = self.table.schemas
        for number in reversed(schemas.ids()):
            if _columns(schemas.load(number)) == _columns(schema):
                return number
        raise SchemaError(
            f"copying to {self.table.location}: some data files were written with {', '.join(schema.names)} (schema "
            f"{schema.id}), and the table there never had just these columns; copy to a new path, or compact the "
            "source fully before"
        )


def find_target(source: Table, location: str, options: Mapping[str, str]) -> CopyTarget:
    """The target of a copy; nothing is written.

    Args:
        source: the table to copy.
        location: the location of the target: empty, a table that fits, or a branch of one: ``<path>$branch_<name>``.
        options: the options of the call, including storage options of the target.

    Raises:
        OptionError: the target is the source itself, or inside it.
        SchemaError: the table there does not fit, or the location has something else.
        SnapshotNotFound: the target is a branch that does not exist.
        UnsupportedFeature: the target cannot be written.
    """
    storage, _ = split_storage_options(options)
    root = absolute_location(location)
    file_io = file_io_for(root, storage)
    schemas = _new_schemas(source)
    latest = schemas[-1]
    made = Table(root, confined(file_io, root, {}), latest, TableSettings(latest.options), opened=latest)
    _check_apart(source, root)
    there = SchemaStore(file_io, root)
    ids = there.ids()
    if not ids and find_stored_table(root, storage) is None:  # else it is a branch
        check_new_place(file_io, root, f"copying {source.location} to")
        refuse_name_of_part(root, f"copying {source.location} to")
        _check_empty(file_io, root)
        check_writable(latest, made.settings)
        return CopyTarget(made, schemas)
    if ids and _is_begun(made, there, ids, schemas):  # a copy crashed while creating the table
        return CopyTarget(made, schemas)
    table = open_data_table(root, storage)
    check_writable(table.schema, table.settings)
    _check_fits(source, table)
    return CopyTarget(table, ())


def _new_schemas(source: Table) -> tuple[TableSchema, ...]:
    schemas = (source.schemas.load(number) for number in source.schemas.ids())
    return tuple(replace(schema, options=_without_places(schema.options)) for schema in schemas)


def _without_places(options: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in options.items() if not key.lower().startswith(_OWN)}


def _check_apart(source: Table, root: str) -> None:
    places = (root, source.location)
    inner, outer = (f"{local_path(place) if is_same_store(place, '/') else place}/" for place in places)
    if inner.startswith(outer) or outer.startswith(inner):
        raise OptionError(
            f"copying {source.location} to {root}: that is the table itself, or one of them would lie in the other; "
            "choose a path beside it"
        )


def _check_empty(file_io: FileIO, root: str) -> None:
    found = sorted(status.name for status in file_io.list(root) if not status.name.startswith((".", "_")))
    if found and found != ["schema"]:
        raise SchemaError(
            f"copying to {root}: the directory is not empty ({', '.join(found[:5])}), and holds no Paimon table; check "
            "the path, or empty the directory, if these are files of a copy that broke off"
        )


def _is_begun(made: Table, there: SchemaStore, ids: Iterable[int], schemas: Iterable[TableSchema]) -> bool:
    wanted = {schema.id: encode_schema(schema) for schema in schemas}
    same = all(wanted.get(number) == encode_schema(there.load(number)) for number in ids)
    return same and made.snapshots.latest_id() is None


def _check_fits(source: Table, target: Table) -> None:
    """Checks that rows are the same in the target: the rules of Java, and further ones."""
    theirs, ours = target.schema, source.schema
    differing = [
        f"{x.key} ({x.read(source.settings)}, and there {x.read(target.settings)})"
        for x in (*_ALIKE, *(_ALIKE_WITH_KEYS if ours.primary_keys else ()))
        if x.read(target.settings) != x.read(source.settings)
    ]
    if ours.primary_keys:
        differing += sorted({key for key, _ in _of_fields(source.settings) ^ _of_fields(target.settings)})
    elif source.settings.deletion_vectors_enabled and not target.settings.deletion_vectors_enabled:
        differing.append(TableSettings.deletion_vectors_enabled.key)
    if theirs.primary_keys == ours.primary_keys and _bucket_names(source) != _bucket_names(target):
        differing.append(TableSettings.bucket_key.key)
    if differing:
        raise SchemaError(
            f"copying {source.location} to the table at {target.location}: they differ in {', '.join(differing)}; copy "
            "to a new path"
        )
    for what, one, other in (
        ("the primary keys", theirs.primary_keys, ours.primary_keys),
        ("the partition columns", theirs.partition_keys, ours.partition_keys),
    ):
        if one != other:
            raise SchemaError(
                f"copying {source.location} to the table at {target.location}: {what} are "
                f"{', '.join(other) or 'none'}, and there {', '.join(one) or 'none'}; copy to a new path"
            )
    missing = [field.name for field in ours.fields if field not in theirs.fields]
    if missing:
        raise SchemaError(
            f"copying {source.location} to the table at {target.location}: the table there lacks {', '.join(missing)}, "
            "or has them with another type or id; copy to a new path"
        )


def _bucket_names(table: Table) -> list[str]:
    return [field.name for field in bucket_fields(table.schema, table.settings)]


def _of_fields(settings: TableSettings) -> set[tuple[str, str]]:
    return {(key, value) for key, value in settings.items() if key.startswith("fields.")}


def _columns(schema: TableSchema) -> tuple[object, ...]:
    fields = tuple(replace(field, description=None, default_value=None) for field in schema.fields)
    return fields, schema.primary_keys, schema.partition_keys
