"""Writes the files of a compaction of one bucket, encoding them concurrently with the merge."""

from __future__ import annotations

import uuid
from functools import partial
from types import TracebackType

import pyarrow as pa

from paimon_spark.format.manifest import DataFileMeta, FileSource
from paimon_spark.format.paths import data_file_name
from paimon_spark.store.compact.task import AppendTask, CompactTask
from paimon_spark.store.metadata.file_paths import BucketPlaces
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.files import discard
from paimon_spark.store.storage.parallel import Background
from paimon_spark.store.write.data_writer import MOST_SHORT, SHORT_BYTES, BucketWriter, file_batch
from paimon_spark.store.write.file_layout import FileLayout, changelog_layout, file_layout


class CompactOutput:
    """Takes the rows of a task, data and changelog, each in key order.

    As a context it keeps its files on success, and deletes them if an error is raised in it. Leave the context before
    the result is committed.

    Attributes:
        rows_written: rows of data files so far.
    """

    def __init__(
        self,
        table: Table,
        task: CompactTask,
        source: FileSource = FileSource.COMPACT,
        layout: FileLayout | None = None,
    ) -> None:
        """Creates no file yet.

        Args:
            table: the table; the files have its schema and options.
            task: the task, with the bucket of the files.
            source: what the metadata of the files tell of their origin.
            layout: of the data files; None: all columns, with those of row tracking.
        """
        level, first_sequence = 0, 0
        if isinstance(task, AppendTask):
            # Java starts every new file at this number; one counter for all files keeps their order unambiguous.
            first_sequence = task.files[0].min_sequence_number
        else:
            level = task.output_level
        self.rows_written: int = 0
        self._has_changelog = False
        self._table = table
        self._uuid = str(uuid.uuid4())
        self._names = 0
        self._writing = Background(limit=3, most_short=MOST_SHORT)
        self._closing = Background(limit=64, most_short=1)
        places = BucketPlaces(table, task.partition, task.bucket)
        self._layout = layout or file_layout(table.schema.with_tracking, table.settings, level, source)
        self._changelog_layout = changelog_layout(table.schema, table.settings, level)
        self._data = self._writer(self._layout, places, first_sequence)
        self._changelog = self._writer(self._changelog_layout, places, 0)

    def __enter__(self) -> CompactOutput:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writing.stop()
        self._closing.stop()
        if kind is not None:
            self._delete()

    @property
    def created(self) -> list[str]:
        """The paths of all files ever begun."""
        return [*self._data.begun, *self._changelog.begun]

    def write(self, rows: pa.RecordBatch) -> None:
        """Appends rows to the data files: all table columns, and those of row tracking if the table tracks its rows, or
        for a table with keys sequence number and kind."""
        self.rows_written += rows.num_rows
        part = file_batch(self._layout, rows) if self._layout.keys else rows
        self._writing.run(partial(self._data.write, part), is_short=part.nbytes <= SHORT_BYTES)

    def write_changelog(self, rows: pa.RecordBatch) -> None:
        """Appends rows to the changelog files, in the same columns."""
        self._has_changelog = True
        self._writing.run(partial(self._changelog.write, file_batch(self._changelog_layout, rows)))

    def end_files(self) -> None:
        """Ends the open files; the next rows begin new files."""
        self._writing.run(self._data.end_file, is_short=True)
        if self._has_changelog:
            self._writing.run(self._changelog.end_file, is_short=True)

    def wait(self) -> tuple[list[DataFileMeta], list[DataFileMeta]]:
        """The data and the changelog files so far; ended files are complete and durable."""
        self._writing.wait()
        self._closing.wait()
        return self._data.files, self._changelog.files

    def _writer(self, layout: FileLayout, places: BucketPlaces, first_sequence: int) -> BucketWriter:
        name = partial(self._new_name, layout)
        return BucketWriter(self._table.file_io, layout, places, name, self._closing, first_sequence)

    def _new_name(self, layout: FileLayout, file_format: str) -> str:
        number = self._names
        self._names += 1
        return data_file_name(layout.prefix, self._uuid, number, file_format, layout.suffix_of(file_format))

    def _delete(self) -> None:
        self._data.discard()
        self._changelog.discard()
        discard(self._table.file_io, self.created)
