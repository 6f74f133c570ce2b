"""The paths of the files of a table's partitions and buckets, and where new ones go.

New files go into the directory of their bucket, or below an external path that a strategy picks. Java:
FileStorePathFactory, DataFilePathFactory, RoundRobinExternalPathProvider, WeightedExternalPathProvider,
EntropyInjectExternalPathProvider, IndexInDataFileDirPathFactory.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import NamedTuple

from paimon_spark.errors import OptionError
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import FileKind
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.write_settings import FileSettings
from paimon_spark.format.paths import (
    bucket_path,
    data_file_path,
    extra_file_path,
    index_file_path,
    index_path,
    index_root,
    partition_path,
    write_roots,
)
from paimon_spark.store.metadata.messages import CommitMessage, created_files
from paimon_spark.store.metadata.table import Table


def bucket_directory(table: Table, partition: bytes, bucket: int) -> str:
    """The directory of one bucket.

    Args:
        table: the table; its options determine the paths.
        partition: arity-prefixed row.
        bucket: the bucket number; -2 is the postponed bucket.
    """
    fields = table.schema.partition_fields
    settings = table.settings
    path = partition_path(
        decode_arity_row(partition, [f.type for f in fields]),
        fields,
        settings.partitions.default_name,
        settings.partitions.legacy_name,
    )
    return bucket_path(table.location, path, bucket, settings)


def changelog_paths(table: Table, message: CommitMessage) -> Iterator[str]:
    """The changelog files that the task of a message wrote, with their sidecars."""
    directory = bucket_directory(table, message.partition, message.bucket)
    for file in (*message.changelog_files, *message.compact_changelog):
        yield data_file_path(directory, file)
        for name in file.extra_files:
            yield extra_file_path(directory, file, name)


def created_paths(table: Table, message: CommitMessage) -> Iterator[str]:
    """All files that the task of a message wrote: data, changelog, their sidecars, index files."""
    directory = bucket_directory(table, message.partition, message.bucket)
    for file in created_files(message):
        yield data_file_path(directory, file)
        for name in file.extra_files:
            yield extra_file_path(directory, file, name)
    for entry in (*message.index_entries, *message.compact_index_entries):
        if entry.kind == FileKind.ADD:
            yield index_file_path(table.location, directory, entry, table.settings)


class FilePlace(NamedTuple):
    """Where one new file goes.

    Attributes:
        path: the whole path.
        external_path: the path as metadata record it (`_EXTERNAL_PATH`); None: it follows from the name of the file.
    """

    path: str
    external_path: str | None


class BucketPlaces:
    """Finds places for the new data, changelog and index files of one bucket.

    Attributes:
        location: of the table.
    """

    def __init__(self, table: Table, partition: bytes, bucket: int) -> None:
        """Reads nothing.

        Args:
            table: its options say where files go.
            partition: arity-prefixed row.
            bucket: the number; -2 is the postponed bucket.

        Raises:
            OptionError: the options of external paths do not fit each other.
        """
        self._settings = table.settings
        self.location: str = table.location
        self._directory = bucket_directory(table, partition, bucket)
        self._next_root = _chooser(table.settings)

    def data_file(self, name: str) -> FilePlace:
        """The place of a new data or changelog file; the file of its index lies beside it."""
        if self._next_root is None:
            return FilePlace(f"{self._directory}/{name}", None)
        below = self._directory[len(self.location) + 1 :]
        if self._settings.files.external_strategy == "entropy-inject":
            below = f"{below}/{entropy_directories(name)}"
        path = f"{self._next_root()}/{below}/{name}"
        return FilePlace(path, path)

    def index_file(self, name: str) -> FilePlace:
        """The place of a new index file: of deletion vectors, or of hashes."""
        if self._settings.files.index_in_data_dir:
            return self.data_file(name)
        root = index_root(self._settings)
        if root is None:
            return FilePlace(index_path(self.location, name), None)
        return FilePlace(f"{root}/{name}", f"{root}/{name}")


def _chooser(settings: TableSettings) -> Callable[[], str] | None:
    """Returns the external path of the next data file; None: it stays in the table."""
    roots = write_roots(settings)
    if not roots:
        return None
    weights = settings.files.external_weights
    if settings.files.external_strategy == "weight-robin" and weights and len(roots) > 1:
        if len(weights) != len(roots):
            raise OptionError(
                f"'{FileSettings.external_weights.key}' has {len(weights)} numbers, and "
                f"'{FileSettings.external_paths.key}' {len(roots)} paths: give each path one"
            )
        return lambda: random.choices(roots, weights)[0]
    following = cycle(roots)
    for _ in range(random.randrange(len(roots))):  # so that small writes do not all meet the first path
        next(following)
    return lambda: next(following)


def entropy_directories(name: str) -> str:
    """Directories of 20 binary digits, ``1001/1001/1001/10011001``, from a hash of a file name.

    The official writer takes Murmur3. No reader computes it: metadata have the whole path.
    """
    digits = f"{zlib.crc32(name.encode()) & 0xFFFFF:020b}"
    return "/".join((digits[:4], digits[4:8], digits[8:12], digits[12:]))
