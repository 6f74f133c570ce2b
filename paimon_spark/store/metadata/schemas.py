"""Reads the schema files of a table (format section 2; Java: SchemaManager, the reading half).

Detects files with a newer schema than that of their reader, which opened the table before the schema was changed. An
older file is converted to the newer schema (arrow.evolution). The reverse is not possible: values that do not fit the
old type would be cut off, and a column that was dropped since then would be null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from paimon_spark.errors import CorruptFile, SnapshotNotFound, TableChanged
from paimon_spark.file_io import FileIO, FileStatus
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import branch_root, id_of, schema_path
from paimon_spark.format.schema import TableSchema, decode_schema
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.metadata.remembered import file_version, remembered
from paimon_spark.store.storage.files import list_branches, list_ids, with_way_out

_PREFIX = "schema-"
_TRIES = 3
_PARSED = 10  # times the size of the file, about


class SchemaStore:
    """Reads the schemas of one table (or branch). Schema files are never rewritten, so each is read once and kept."""

    def __init__(self, file_io: FileIO, table: str, branch: str = "main", opened: TableSchema | None = None) -> None:
        """
        Args:
            opened: the schema in a file that the caller has read before; None: of none.
        """
        self.file_io = file_io
        self.table = table
        self.branch = branch
        self._opened = opened
        self._loaded: dict[int, TableSchema] = {}
        self._held: tuple[bytes, TableSchema] | None = None
        self._newest_id: int | None = None
        self._follows_commit = False

    def after_commit(self) -> SchemaStore:
        """The schemas as the work sees them that follows a commit: the newest one is what that has found."""
        found = SchemaStore(self.file_io, self.table, self.branch, self._opened)
        found._newest_id, found._follows_commit = self._newest_id, True
        return found

    def ids(self) -> list[int]:
        """The ids of all schema files, ascending; empty if the path has no table."""
        found = list_ids(self.file_io, f"{branch_root(self.table, self.branch)}/schema", _PREFIX)
        self._newest_id = found[-1] if found else None
        return found

    def latest(self) -> TableSchema | None:
        """The schema with the highest id found by listing; None if the table (or branch) does not exist."""
        if self._follows_commit and self._opened is not None and self._opened.id == self._newest_id:
            return self._opened
        failure: CorruptFile | None = None
        for _ in range(_TRIES):
            found = self._listed()
            if not found:
                return None
            try:
                return self._newest(found)
            except CorruptFile as error:
                failure = error  # another client may have dropped the table since, and created it again
        assert failure is not None
        raise failure

    def _listed(self) -> dict[int, FileStatus]:
        directory = f"{branch_root(self.table, self.branch)}/schema"
        found = {id_of(status.name, _PREFIX): status for status in self.file_io.list(directory)}
        return {number: status for number, status in found.items() if number is not None}

    def _newest(self, found: Mapping[int, FileStatus]) -> TableSchema:
        newest = max(found)
        status = found[newest]
        version = file_version(status)
        if version is not None and newest not in self._loaded:
            self._loaded[newest] = remembered(
                self.file_io, version, lambda: (self._load(newest), status.size * _PARSED)
            )
        return self._load(newest)

    def holds(self, schema: TableSchema) -> bool:
        """True if the file of a schema is there and has its content, by a look at the storage.

        It tells a table from another one that was made at its place since: their first schemas differ in their times.
        """
        path = schema_path(self.table, schema.id, self.branch)
        try:
            data = self.file_io.read_bytes(path)
        except FileNotFoundError:
            return False
        if self._held != (data, schema):
            if decode_schema(data, path) != schema:
                return False
            self._held = data, schema
        return True

    def load(self, schema_id: int) -> TableSchema:
        """The schema with this id.

        Raises:
            CorruptFile: the file is missing or is not a schema; old schemas must exist as long as data files name them.
        """
        if self._opened is not None and self._opened.id == schema_id:
            return self._opened
        return self._load(schema_id)

    def _load(self, schema_id: int) -> TableSchema:
        schema = self._loaded.get(schema_id)
        if schema is None:
            path = schema_path(self.table, schema_id, self.branch)
            try:
                data = self.file_io.read_bytes(path)
            except FileNotFoundError:
                raise CorruptFile(
                    f"reading schema {schema_id} of the table at {self.table}: the file {path} is missing; found the "
                    f"schema ids {self.ids()}. Restore the file: data files written with it cannot be read without"
                ) from None
            with with_way_out(
                "restore the file from a backup, or from a branch of the table that has it: rows that were written "
                "with this schema cannot be read without it"
            ):
                schema = decode_schema(data, path)
            self._loaded[schema_id] = schema
        return schema


def no_such_branch(file_io: FileIO, table: str, name: str) -> SnapshotNotFound:
    """The error for a branch that is not there, or that has no schema."""
    named = list_branches(file_io, table)
    if name in named and not SchemaStore(file_io, table, name).ids():
        return SnapshotNotFound(f"the table at {table} has no whole branch '{name}': {broken_branch_text(name)}")
    there = ", ".join(one for one in named if SchemaStore(file_io, table, one).ids()) or "none"
    return SnapshotNotFound(f"the table at {table} has no branch '{name}'; its branches: {there}")


def broken_branch_text(name: str) -> str:
    """What a branch without schema is, and what to do, for messages."""
    return (
        f"its directory branch/branch-{name} holds no schema: that was lost, or the making or the deletion of the "
        f"branch broke off; restore the schema, or delete the branch (`paimon-spark delete-branch <table> {name}`)"
    )


def branch_holds_files(file_io: FileIO, table: str, name: str) -> bool:
    """True if a branch has files beside its schemas; without any, and without schema, it is no branch."""
    parts = ("snapshot", "tag", "changelog", "consumer", "stream-sink")
    root = branch_root(table, name)
    return any(not status.is_directory for part in parts for status in file_io.list(f"{root}/{part}"))


def schema_of_file(
    reader: TableSchema, schemas: SchemaStore, schema_id: int, fields: Iterable[DataField]
) -> TableSchema:
    """The schema that a file was written with.

    Args:
        reader: the schema that the table is read in.
        schemas: the schemas of the table.
        schema_id: the id of the file's schema.
        fields: the columns that the reader needs, in its own schema. A renamed column is the same column, and columns
            that were added later are not needed.

    Raises:
        TableChanged: the file has a newer schema in which one of the columns was dropped or changed its type.
    """
    if schema_id == reader.id:
        return reader
    written = schemas.load(schema_id)
    if schema_id > reader.id:
        known = {field.id: field for field in written.fields}
        for field in fields:
            now = known.get(field.id)
            if now is None or not _holds(now.type, field.type):
                raise _changed(schemas.table, reader, written, field, now)
    return written


def columns_written(now: TableSchema, schemas: SchemaStore, file: DataFileMeta) -> frozenset[int] | None:
    """The ids of the columns that a data file has values of; None: all.

    Raises:
        CorruptFile: the schema that the file was written with is missing or damaged.
    """
    if file.write_cols is None:
        return None
    written = now if file.schema_id == now.id else schemas.load(file.schema_id)
    return frozenset(field.id for field in written.columns_of_file(file.write_cols))


def check_rewritable(table: str, reader: TableSchema, schemas: SchemaStore, schema_ids: Iterable[int]) -> None:
    """Checks that files can be rewritten in the schema of the reader: no column was added or changed since then.

    Raises:
        TableChanged: a file has a newer schema with an added or changed column.
    """
    for schema_id in sorted(set(schema_ids)):
        if schema_id > reader.id and schemas.load(schema_id).fields != reader.fields:
            raise TableChanged(
                f"writing rows of {table} again: the table was opened with schema {reader.id}, and others have since "
                f"written rows with schema {schema_id}, which has other columns; nothing was changed. Open it again"
            )


def _holds(written: DataType, read: DataType) -> bool:
    """True if values of the written type are values of the read type; fields of rows that are not read do not count."""
    if written.root is not read.root or (written.nullable and not read.nullable):
        return False
    if read.root is Root.ROW:
        there = {field.id: field.type for field in written.fields}
        return all(field.id in there and _holds(there[field.id], field.type) for field in read.fields)
    if read.root in (Root.ARRAY, Root.MULTISET):
        return _holds(written.inner, read.inner)
    if read.root is Root.MAP:
        return _holds(written.key_type, read.key_type) and _holds(written.inner, read.inner)
    return written.with_nullable(True) == read.with_nullable(True)


def _changed(
    table: str, reader: TableSchema, written: TableSchema, field: DataField, now: DataField | None
) -> TableChanged:
    found = "it is no more" if now is None else f"it is {type_sql(now.type)}"
    return TableChanged(
        f"reading {table}: its column '{field.name}' was {type_sql(field.type)} when the table was opened (schema "
        f"{reader.id}), and rows have since been written with schema {written.id}, where {found}. Open or load the "
        f"table again, or read the state of then with 'scan.snapshot-id'"
    )
