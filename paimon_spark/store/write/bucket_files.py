"""The files of the buckets that one writer task writes to, encoded and made durable by threads of their own."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import partial

import pyarrow as pa

from paimon_spark.errors import DataError
from paimon_spark.format.bucket import Place
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options.upkeep_settings import PartitionSettings
from paimon_spark.format.paths import data_file_name
from paimon_spark.store.metadata.file_paths import BucketPlaces
from paimon_spark.store.metadata.partition_times import check_of_partitions
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.parallel import Background
from paimon_spark.store.write.data_writer import MOST_SHORT, SHORT_BYTES, BucketWriter
from paimon_spark.store.write.file_layout import FileLayout

MAX_OPEN_FILES = 16  # an open file holds up to a row group in memory


class WriterThreads:
    """The threads of one task: one encodes rows, others make finished files durable."""

    def __init__(self) -> None:
        self.encoding: Background = Background(limit=3, most_short=MOST_SHORT)
        self.closing: Background = Background(limit=64, most_short=1)

    def wait(self) -> None:
        """Returns when all is done. Raises what a thread raised."""
        self.encoding.wait()
        self.closing.wait()

    def stop(self) -> None:
        """Abandons what is not done."""
        self.encoding.stop()
        self.closing.stop()


class BucketFiles:
    """Files of one layout, of which at most MAX_OPEN_FILES are open.

    Attributes:
        layout: of the files.
    """

    def __init__(self, table: Table, layout: FileLayout, threads: WriterThreads, first_sequence: int = 0) -> None:
        """Creates no file yet.

        Args:
            table: whose files they are.
            layout: of the files.
            threads: of the task.
            first_sequence: the number of the first row of a bucket; only for files without numbers of their own.
        """
        self._table = table
        self.layout = layout
        self._threads = threads
        self._first_sequence = first_sequence
        self._check_time = check_of_partitions(table.schema, table.settings)
        self._uuid = str(uuid.uuid4())
        self._names = 0
        self._writers: dict[Place, BucketWriter] = {}
        self._open: dict[Place, None] = {}  # places with an open file, the one written last at the end

    def write(self, place: Place, batch: pa.RecordBatch) -> None:
        """Hands rows to the writer of their bucket, which encodes them concurrently.

        Raises:
            DataError: the partition says no time, and the options want one.
        """
        writer = self._writers.get(place)
        if writer is None:
            writer = self._writers[place] = self._new_writer(place)
        self._open.pop(place, None)
        while len(self._open) >= MAX_OPEN_FILES:
            self.end_file(next(iter(self._open)))
        self._open[place] = None
        self._threads.encoding.run(partial(writer.write, batch), is_short=batch.nbytes <= SHORT_BYTES)

    def end_file(self, place: Place) -> None:
        """Completes the open file of a bucket, if there is one; the next rows begin another."""
        if place in self._open:
            del self._open[place]
            self._threads.encoding.run(self._writers[place].end_file, is_short=True)

    def end_files(self) -> None:
        """Completes all open files."""
        for place in list(self._open):
            self.end_file(place)

    @property
    def files(self) -> Mapping[Place, tuple[DataFileMeta, ...]]:
        """The completed files of each bucket; to be asked for when the threads have done their work."""
        return {place: tuple(writer.files) for place, writer in self._writers.items()}

    def discard(self) -> list[str]:
        """Abandons the open files. Returns the paths of all files, for the caller to delete."""
        for writer in self._writers.values():
            writer.discard()
        return [path for writer in self._writers.values() for path in writer.begun]

    def _new_writer(self, place: Place) -> BucketWriter:
        self._check_partition(place[0])
        places = BucketPlaces(self._table, *place)
        io, closing = self._table.file_io, self._threads.closing
        return BucketWriter(io, self.layout, places, self._new_name, closing, self._first_sequence)

    def _check_partition(self, partition: bytes) -> None:
        try:
            if self._check_time is not None:
                self._check_time(partition)
        except ValueError as error:
            raise DataError(
                f"writing to {self._table.location}: {describe_partition(self._table, partition)} says no time as the "
                f"options 'partition.timestamp-*' want it: {error}. Correct the rows, or set "
                f"'{PartitionSettings.timestamp_format_strict.key}' = 'false'"
            ) from None

    def _new_name(self, file_format: str) -> str:
        number = self._names
        self._names += 1
        return data_file_name(self.layout.prefix, self._uuid, number, file_format, self.layout.suffix_of(file_format))
