"""Format tables: files of one format in directories of partitions, which no snapshot names (Java: FormatTable).

Java: FormatTableScan, FileSystemSplitEnumerator, FormatReadBuilder of release 2.0.0. Columns are found by their exact
name, and one that a file lacks is NULL. Partition columns come from directories, ``k=v`` or only ``v``. Files and
directories whose names begin with ``_`` or ``.`` are those of writers that are at work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.arrow.formats.data_file import open_reader
from paimon_spark.arrow.predicates.evaluate import filter_batch
from paimon_spark.arrow.predicates.expressions import Expr
from paimon_spark.arrow.predicates.predicate import Predicate, restrict
from paimon_spark.arrow.predicates.pruning import may_hold
from paimon_spark.arrow.text_files.text_file import TEXT_FORMATS, read_text_file
from paimon_spark.arrow.text_files.text_values import partition_value
from paimon_spark.arrow.types import arrow_schema, from_internal
from paimon_spark.errors import CorruptFile, MissingFile, UnsupportedFeature
from paimon_spark.file_io import FileIO, FileStatus
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.upkeep_settings import PartitionSettings
from paimon_spark.format.paths import escape, unescape
from paimon_spark.format.rules.format_tables import (
    check_format_table,
    check_kept_partitions,
    file_fields,
    names_values_only,
)
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import INTEGERS, STRINGS, DataField
from paimon_spark.store.file_tables.file_table import FileTable
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import check_dynamic_options, resolve_keys
from paimon_spark.store.read.file_rows import read_plain_file
from paimon_spark.store.read.open_file import FileRequest
from paimon_spark.store.system_tables.made_rows import SystemRows, asked_rows

_NAMED = re.compile(r"([^/]+)=([^/]+)")
HIDDEN = ("_", ".")
"""What the names of files of writers that are at work begin with."""
_NULL_OF_HIVE = "__HIVE_DEFAULT_PARTITION__"
_TASK_BYTES = 128 << 20


@dataclass(frozen=True)
class FormatFile:
    """One file to read. partition: the internal value of each partition column."""

    path: str
    size: int
    partition: Mapping[str, Any]


@dataclass(frozen=True)
class FormatPartition:
    """A directory of files. texts: the text of each partition column; values: its internal value."""

    path: str
    texts: Mapping[str, str]
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        """``dt=2026-11-01/hour=1``."""
        return "/".join(f"{key}={text}" for key, text in self.texts.items())


@checks_arguments
@dataclass(frozen=True, repr=False)
class FormatTable(FileTable):
    """An open format table."""

    table_kind = TableKind.FORMAT_TABLE
    called = "a format table"
    offers = "scan() reads its files, partitions() lists its partitions; INSERT writes rows"
    rows_are = "in the files"

    def __repr__(self) -> str:
        return f"<FormatTable {self.location}: {self.schema!r}>"

    @property
    def file_format(self) -> str:
        """One of FILE_FORMATS."""
        return self.table.settings.files.format.lower()

    @cached_property
    def schema(self) -> TableSchema:
        """The columns as they are declared; each may hold NULL, for nobody checks the files."""
        stored = self.table.schema
        fields = tuple(replace(field, type=field.type.with_nullable(True)) for field in stored.fields)
        return replace(stored, fields=fields, primary_keys=())

    def scan(
        self,
        columns: str | Sequence[str] | None = None,
        where: str | Expr | Predicate | None = None,
    ) -> FormatScan:
        """A read of some columns of the rows that satisfy a condition, of the files that are there when it begins.

        Partitions that cannot satisfy the condition are not listed, and row groups and stripes are left out by their
        statistics.

        Args:
            columns: names in the order wanted, any letter case, or one text such as "id, total"; None means all.
            where: SQL text, an expression of ``col(...)``, or a bound Predicate.

        Raises:
            OptionError: a column does not exist, or is named twice.
            PredicateError: the condition does not fit the columns.
        """
        return FormatScan(self, *asked_rows(self.schema, columns, where, self.time_zone))

    def partitions(self, where: Predicate | None = None) -> list[FormatPartition]:
        """The partitions that may have rows that satisfy a condition, in the order of their paths.

        They are the directories that are there, or those that the server of the catalog knows, if it keeps them.

        Raises:
            CorruptFile: the name of a directory is no value of its column, or the server names no partition.
        """
        if self.table.server is None:
            return self.directories(where)
        found = {one.path: one for one in map(self._kept, self.table.server.partitions())}
        chosen = (one for one in found.values() if where is None or may_hold(where, one.values))
        return sorted(chosen, key=lambda one: one.path)

    def _kept(self, spec: Mapping[str, str]) -> FormatPartition:
        """A partition that the server knows. Its directory need not be there."""
        only_value, keys = names_values_only(self.table.schema), self.schema.partition_keys
        null, path, values = self.table.settings.partitions.default_name, self.location, dict[str, Any]()
        texts = {key: str(spec.get(key) or "") for key in keys}
        names = [escape(text) if only_value else f"{escape(key)}={escape(text)}" for key, text in texts.items()]
        if spec.keys() != set(keys) or not all(texts.values()) or not {".", ".."}.isdisjoint(names):
            raise CorruptFile(
                f"reading {self.location}: the server of the catalog has the partition {dict(spec)}, and the table is "
                f"partitioned by {', '.join(keys)}; correct it there"
            )
        for field, name in zip(self.schema.partition_fields, names, strict=True):
            path, text = f"{path}/{name}", texts[field.name]
            values[field.name] = self._value(path, field, None if text == null else text)
        return FormatPartition(path, texts, values)

    def texts_of(self, values: Mapping[str, Any]) -> dict[str, str]:
        """The texts of a partition, as in the name of its directory.

        Args:
            values: of each partition column, or of some: a text or a whole number, or None for NULL.

        Raises:
            UnsupportedFeature: a column is neither of texts nor of whole numbers.
        """
        null, texts = self.table.settings.partitions.default_name, dict[str, str]()
        for field in (field for field in self.schema.partition_fields if field.name in values):
            if field.type.root not in STRINGS | INTEGERS:
                raise UnsupportedFeature(
                    f"naming a partition of {self.location} by '{field.name}' of type {type_sql(field.type)}: this "
                    "release does it for texts and whole numbers only; make the directory, and run MSCK REPAIR TABLE"
                )
            value = values[field.name]
            text = "" if value is None else str(int(value)) if field.type.root in INTEGERS else str(value)
            texts[field.name] = text if text.strip() else null
        return texts

    def directories(self, where: Predicate | None = None) -> list[FormatPartition]:
        """As partitions, whoever keeps them: the directories that are there."""
        found = [FormatPartition(self.location, {}, {})]
        for field in self.schema.partition_fields:
            found = [below for above in found for below in self._below(above, field, where)]
        return found

    def files(self, where: Predicate | None = None) -> Iterator[FormatFile]:
        """The files of these partitions."""
        for partition in self.partitions(where):
            for status in files_below(self.table.file_io, partition.path):
                yield FormatFile(status.path, status.size, partition.values)

    def _below(self, above: FormatPartition, field: DataField, where: Predicate | None) -> Iterator[FormatPartition]:
        only_value = names_values_only(self.table.schema)
        null = self.table.settings.partitions.default_name
        for status in sorted(self.table.file_io.list(above.path), key=lambda status: status.name):
            is_null = only_value and status.name == null
            if not status.is_directory or (status.name.startswith(HIDDEN) and not is_null):
                continue
            named = None if only_value else _NAMED.fullmatch(status.name)
            if not only_value and (named is None or unescape(named[1]) != field.name):
                continue
            text = unescape(named[2] if named else status.name)
            if text == _NULL_OF_HIVE != null:
                raise self._null_of_hive(status.path, field)
            values = {**above.values, field.name: self._value(status.path, field, None if text == null else text)}
            if where is None or may_hold(where, values):
                yield FormatPartition(f"{above.path}/{status.name}", {**above.texts, field.name: text}, values)

    def _null_of_hive(self, path: str, field: DataField) -> UnsupportedFeature:
        key, default = PartitionSettings.default_name.key, self.table.settings.partitions.default_name
        return UnsupportedFeature(
            f"reading {self.location}: the directory {path} is the partition of {field.name} = NULL for Hive and "
            f"Spark, and a text for readers of this table, whose NULL is '{default}'; set '{key}' = '{_NULL_OF_HIVE}'"
        )

    def _value(self, path: str, field: DataField, text: str | None) -> Any:
        try:
            return None if text is None else partition_value(text, field.type)
        except ValueError as error:
            raise CorruptFile(
                f"reading {self.location}: the directory {path} is no partition of the column '{field.name}': {error}; "
                "move it away, or begin its name with an underscore"
            ) from None


@checks_arguments
@dataclass(frozen=True)
class FormatScan(SystemRows):
    """A read of a format table; picklable.

    Attributes:
        table: whose files are read.
        predicate: rows for which it is not true are left out.
        made: the columns to read: wanted ones, then those that only the predicate needs.
        fields: the columns of the result, in order.
    """

    table: FormatTable
    predicate: Predicate
    made: tuple[DataField, ...]
    fields: tuple[DataField, ...]

    def tasks(self) -> list[tuple[FormatFile, ...]]:
        """The files to read, in groups for one task each."""
        groups, group, size = list[tuple[FormatFile, ...]](), list[FormatFile](), 0
        for file in self.table.files(self.predicate):
            if group and size + file.size > _TASK_BYTES:
                groups.append(tuple(group))
                group, size = [], 0
            group.append(file)
            size += file.size
        return [*groups, tuple(group)] if group else groups

    def reader(self) -> FormatScan:
        """Itself."""
        return self

    def read(self, unit: FormatFile) -> Iterator[pa.RecordBatch]:
        """The rows of one file.

        Raises:
            CorruptFile: it is damaged, or a column is not of its type.
            MissingFile: it is not there any more.
        """
        names = [field.name for field in self.fields]
        made = self._lines if self.table.file_format in TEXT_FORMATS else self._columns
        try:
            for batch in made(unit, self.table.table.file_io.open_input(unit.path, unit.size)):
                rows = filter_batch(self.predicate, batch)
                if rows.num_rows:
                    yield rows.select(names)
        except FileNotFoundError:  # object stores report it only when reading
            raise MissingFile(
                f"reading {self.table.location}: the file {unit.path} was there when the read began, and is not any "
                "more; another job has replaced it: run the query again",
                unit.path,
            ) from None

    def _columns(self, unit: FormatFile, source: Any) -> Iterator[pa.RecordBatch]:
        """All rows of a file with columns, but those that its statistics leave out."""
        schema = self.table.schema
        in_files = {field.name for field in schema.fields} - set(schema.partition_keys)
        reader = open_reader(source, self.table.file_format, unit.path)
        try:
            request = FileRequest(self.made, prunes=restrict(self.predicate, in_files))
            yield from read_plain_file(reader, schema, unit.partition, request)
        finally:
            reader.close()

    def _lines(self, unit: FormatFile, source: Any) -> Iterator[pa.RecordBatch]:
        """All rows of a file of lines."""
        schema, options = arrow_schema(self.made), self.table.schema.options
        names = [field.name for field in self.made if field.name not in unit.partition]
        with source:
            for batch in read_text_file(
                source, unit.path, self.table.file_format, options, file_fields(self.table.schema), names
            ):
                columns = [
                    batch.column(field.name)
                    if field.name not in unit.partition
                    else pa.repeat(from_internal([unit.partition[field.name]], field.type)[0], batch.num_rows)
                    for field in self.made
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, file by file."""
        for task in self.tasks():
            for file in task:
                yield from self.read(file)


def format_table(table: Table, dynamic: Mapping[str, str]) -> FormatTable:
    """The format table with this schema.

    Args:
        dynamic: the options of the call, which replace those of the table for it (Java: FormatTable.copy).

    Raises:
        SchemaError, OptionError, UnsupportedFeature: as check_format_table; or a state is asked for.
    """
    FormatTable(table).refuse_states(dynamic)
    given = resolve_keys(dynamic, table.schema.names)
    check_dynamic_options(table.schema, given)
    schema = replace(table.schema, options={**table.schema.options, **given})
    check_format_table(f"opening {table.location}", schema)
    check_kept_partitions(f"opening {table.location}", schema, keeps=table.server is not None)
    return FormatTable(replace(table, schema=schema, settings=TableSettings(schema.options)))


def files_below(file_io: FileIO, directory: str) -> Iterator[FileStatus]:
    """All files below a directory but those of writers that are at work, by name."""
    for status in sorted(file_io.list(directory), key=lambda status: status.name):
        if status.name.startswith(HIDDEN):
            continue
        if status.is_directory:
            yield from files_below(file_io, f"{directory}/{status.name}")
        else:
            yield status
