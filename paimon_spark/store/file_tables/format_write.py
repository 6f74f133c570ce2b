"""Writes the files of a format table (Java: FormatTableWrite, FormatTableCommit of release 2.0.0).

A task writes whole files under hidden names, beside the names that they get. When all tasks are done, the files get
their names, and the files that they replace are deleted then: a job that fails before has changed no row.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.formats.data_file import FileWriter, WriteSettings, open_writer
from paimon_spark.arrow.text_files.compression import SUFFIXES
from paimon_spark.arrow.text_files.line_writer import LineWriter
from paimon_spark.arrow.text_files.text_file import TEXT_FORMATS
from paimon_spark.arrow.text_files.text_values import partition_value
from paimon_spark.arrow.types import to_internal
from paimon_spark.errors import DataError, PaimonError, StorageError, UnsupportedFeature
from paimon_spark.file_io import OutputStream
from paimon_spark.format.names import is_name
from paimon_spark.format.paths import data_file_name, escape, partition_text, unescape
from paimon_spark.format.rules.format_tables import file_fields, names_values_only
from paimon_spark.store.file_tables.format_table import HIDDEN, FormatPartition, FormatTable, files_below
from paimon_spark.store.storage.publishers import partition_keeper
from paimon_spark.store.write.file_layout import TARGET_WITHOUT_KEY
from paimon_spark.store.write.row_rules import row_rules

Replaced: TypeAlias = Literal["nothing", "all", "dynamic"] | tuple[Mapping[str, Any], ...]
"""What an overwrite replaces: no rows, all rows, the partitions of the rows, or those with these internal values."""
_COMPRESSIONS = ("file.compression", "format-table.file.compression", "compression")
_DEFAULT_COMPRESSION = {"parquet": "snappy", "orc": "zstd"}
_PREFIX = ".tmp."


@dataclass(frozen=True)
class StagedFile:
    """A whole file that has a hidden name. directory: of its partition; name: that it gets; size: in bytes."""

    directory: str
    hidden: str
    name: str
    rows: int
    size: int

    @property
    def hidden_path(self) -> str:
        return f"{self.directory}/{self.hidden}"

    @property
    def path(self) -> str:
        return f"{self.directory}/{self.name}"


@dataclass
class _OpenFile:
    staged: StagedFile
    stream: OutputStream
    writer: FileWriter
    rows: int = 0


def check_compression(table: FormatTable) -> str:
    """How the files of a table are compressed.

    Raises:
        UnsupportedFeature: files of lines have no such compression.
    """
    options = table.table.schema.options
    given = next((options[key] for key in _COMPRESSIONS if key in options), None)
    codec = (given or _DEFAULT_COMPRESSION.get(table.file_format, "none")).lower()
    if table.file_format in TEXT_FORMATS and codec not in (*SUFFIXES, "none"):
        raise UnsupportedFeature(
            f"writing to {table.location} with the compression '{codec}': files of the format '{table.file_format}' "
            f"have one of none, {', '.join(SUFFIXES)}; set 'file.compression' to one of them"
        )
    return codec


class FormatWriter:
    """Writes the rows of one task of a job."""

    def __init__(self, table: FormatTable, job: str) -> None:
        """job: a name that no other job has.

        Raises:
            UnsupportedFeature: as check_compression.
        """
        self._table, self._job, self._uuid = table, job, str(uuid.uuid4())
        stored, settings = table.table.schema, table.table.settings
        self._fields = file_fields(stored)
        self._rules = replace(row_rules(table.location, stored, settings), kind_column=None)
        self._codec = check_compression(table)
        self._target = settings.files.target_size or TARGET_WITHOUT_KEY, settings.files.target_row_num
        self._open: dict[str, _OpenFile] = {}
        self._staged: list[StagedFile] = []
        self._begun: list[StagedFile] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Adds rows in the columns of the table.

        Raises:
            DataError: a NULL where none may be, or a partition that no reader could find.
            StorageError: a file could not be written.
        """
        rows, _ = self._rules.prepare(batch, None)
        for directory, part in self._by_directory(rows):
            file = self._open.get(directory) or self._begin(directory)
            file.writer.write(part)
            file.rows += part.num_rows
            if file.writer.bytes_estimate >= self._target[0] or file.rows >= self._target[1]:
                self._end(directory)

    def finish(self) -> list[StagedFile]:
        """The files of all rows, which are durable."""
        for directory in list(self._open):
            self._end(directory)
        return self._staged

    def abort(self) -> None:
        """Deletes all files. Raises nothing."""
        for file in self._open.values():
            with suppress(PaimonError, OSError):
                file.stream.discard()
        discard(self._table, self._begun)

    def _begin(self, directory: str) -> _OpenFile:
        suffix = SUFFIXES.get(self._codec) if self._table.file_format in TEXT_FORMATS else None
        extension = ".".join([self._table.file_format, *([suffix] if suffix else [])])
        name = data_file_name(self._table.table.settings.files.prefix, self._uuid, len(self._begun), extension)
        staged = StagedFile(directory, f"{_PREFIX}{self._job}.{name}", name, 0, 0)
        self._begun.append(staged)
        stream = self._table.table.file_io.open_output(staged.hidden_path)
        try:
            writer = self._writer(stream)
        except BaseException:
            stream.discard()
            raise
        self._open[directory] = _OpenFile(staged, stream, writer)
        return self._open[directory]

    def _writer(self, stream: OutputStream) -> FileWriter:
        file_format = self._table.file_format
        if file_format in TEXT_FORMATS:
            return LineWriter(stream, file_format, self._fields, self._table.table.schema.options, self._codec)
        return open_writer(stream, file_format, self._fields, WriteSettings(compression=self._codec))

    def _end(self, directory: str) -> None:
        file = self._open.pop(directory)
        try:
            file.writer.close()
            size = file.stream.tell()
        except BaseException:
            file.stream.discard()
            raise
        file.stream.close()
        self._staged.append(replace(file.staged, rows=file.rows, size=size))

    def _by_directory(self, rows: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        schema = self._table.table.schema
        names = [field.name for field in self._fields]
        if not rows.num_rows:
            return
        if not schema.partition_keys:
            yield self._table.location, rows.select(names)
            return
        codes = np.zeros(rows.num_rows, np.int64)
        for key in schema.partition_keys:
            encoded = rows.column(key).dictionary_encode("encode")
            _, codes = np.unique(codes * len(encoded.dictionary) + encoded.indices.to_numpy(), return_inverse=True)
        for code in range(int(codes.max()) + 1):
            at = np.flatnonzero(codes == code)
            part = rows.take(pa.array(at)) if len(at) < rows.num_rows else rows
            values = [to_internal(part.column(key)[0]) for key in schema.partition_keys]
            yield partition_directory(self._table, values), part.select(names)


def partition_directory(table: FormatTable, values: Sequence[Any]) -> str:
    """Where the files of a partition are. values: the internal ones of its columns.

    Raises:
        DataError: a reader would not find the directory, or would read other values in its name.
        UnsupportedFeature: a type of a column has no name in directories.
    """
    settings, only_values = table.table.settings.partitions, names_values_only(table.table.schema)
    path = table.location
    for value, field in zip(values, table.table.schema.partition_fields, strict=True):
        text = "" if value is None else partition_text(value, field.type, settings.legacy_name)
        text = text if text.strip() else settings.default_name
        name = escape(text) if only_values else f"{escape(field.name)}={escape(text)}"
        is_null = only_values and text == settings.default_name
        if not is_name(name):  # as 'partition.default-name' of a stranger's table may be
            raise DataError(
                f"writing to {table.location}: the partition of {field.name} = '{text}' would be the directory "
                f"'{name}', which leads out of the table; set 'partition.default-name' to a name"
            )
        if name.startswith(HIDDEN) and not is_null:
            raise DataError(
                f"writing to {table.location}: the partition of {field.name} = '{text}' would be the directory "
                f"'{name}', and readers pass over names that begin with '_' or '.'; leave such rows out"
            )
        if text != settings.default_name and not _reads_back(text, value, field.type):
            raise DataError(
                f"writing to {table.location}: readers do not understand the name '{name}' of the partition of "
                f"{field.name}; set 'partition.legacy-name' to 'false' in a new table, or partition by another column"
            )
        path = f"{path}/{name}"
    return path


def _reads_back(text: str, value: Any, data_type: Any) -> bool:
    try:
        return bool(partition_value(text, data_type) == value or value != value)
    except (ValueError, UnsupportedFeature):
        return False


def publish(table: FormatTable, staged: Sequence[StagedFile], replaced: Replaced) -> None:
    """Gives all files their names, deletes those that they replace, and tells a metastore of new partitions.

    Raises:
        CatalogUnavailable: the metastore does not answer; the rows are there.
        StorageError: a file could not get its name: then none of them is there; or a replaced file could not be
            deleted: then its rows are there beside the new ones, as the message says.
    """
    store = table.table.file_io
    old = list(_replaced_files(table, staged, replaced))
    named = list[StagedFile]()
    try:
        for file in staged:
            named.append(file)  # after an error it may have its name
            store.move_file(file.hidden_path, file.path)
    except BaseException:
        with suppress(StorageError):
            store.delete_many([file.path for file in named])
        discard(table, staged)
        raise
    try:
        store.delete_many(old)
    except StorageError as error:
        raise StorageError(
            f"overwriting {table.location}: the new rows are there, and some of those that they replace are too, "
            f"because a file could not be deleted: {error}. Remove the cause and overwrite again"
        ) from error
    if table.table.schema.partition_keys and staged:
        _tell_partitions(table, staged)


def _tell_partitions(table: FormatTable, staged: Sequence[StagedFile]) -> None:
    """Tells a server that keeps the partitions, or a metastore, of those that have new files."""
    specs = [_partition_spec(table, directory) for directory in sorted({file.directory for file in staged})]
    if table.table.server is not None:
        table.table.server.add_partitions(specs)
    elif (keeper := partition_keeper(table.table.file_io)) is not None:
        keeper.add(table.location, specs)


def _partition_spec(table: FormatTable, directory: str) -> dict[str, str]:
    """The texts of the partition columns in the path of a directory."""
    names = directory.removeprefix(f"{table.location}/").split("/")
    only_values = names_values_only(table.table.schema)
    texts = [unescape(name if only_values else name.partition("=")[2]) for name in names]
    return dict(zip(table.table.schema.partition_keys, texts, strict=True))


def discard(table: FormatTable, staged: Sequence[StagedFile]) -> None:
    """Deletes files that have hidden names. Raises nothing: what is left is never read."""
    for file in staged:
        with suppress(StorageError):
            table.table.file_io.delete(file.hidden_path)


def discard_job(table: FormatTable, job: str) -> None:
    """Deletes the hidden files of a job, whose tasks are lost with their names. Raises nothing.

    A task that Spark has not ended yet may leave one.
    """
    with suppress(PaimonError, OSError):
        for partition in table.directories():
            for status in table.table.file_io.list(partition.path):
                if status.name.startswith(f"{_PREFIX}{job}."):
                    table.table.file_io.delete(f"{partition.path}/{status.name}")


def _replaced_files(table: FormatTable, staged: Sequence[StagedFile], replaced: Replaced) -> Iterator[str]:
    """The files that are there and that an overwrite replaces."""
    if replaced == "nothing":
        return
    if replaced == "dynamic":
        directories = sorted({file.directory for file in staged})
    else:
        found = table.partitions()
        directories = [one.path for one in found if replaced == "all" or _is_chosen(one, replaced)]
    for directory in directories:
        yield from (status.path for status in files_below(table.table.file_io, directory))


def _is_chosen(partition: FormatPartition, patterns: Replaced) -> bool:
    assert not isinstance(patterns, str)
    return any(all(partition.values[name] == value for name, value in pattern.items()) for pattern in patterns)


def check_in_patterns(table: FormatTable, batch: pa.RecordBatch, replaced: Replaced) -> None:
    """Checks that the rows of an overwrite are of the partitions that it replaces.

    Raises:
        DataError: a row is of another one.
    """
    if isinstance(replaced, str) or not batch.num_rows:
        return
    keys = table.table.schema.partition_keys
    distinct = pa.Table.from_batches([batch.select(list(keys))]).group_by(list(keys)).aggregate([])
    for row in distinct.select(list(keys)).to_batches():
        for place in range(row.num_rows):
            values = {key: to_internal(row.column(key)[place]) for key in keys}
            if not any(all(values[name] == value for name, value in pattern.items()) for pattern in replaced):
                shown = ", ".join(f"{key} = {row.column(key)[place]}" for key in keys)
                raise DataError(
                    f"overwriting partitions of {table.location}: a row has {shown}, which the condition does not "
                    "choose; nothing was written"
                )
