"""Reads the positions of the consumers of a table (format section 3.5; Java: ConsumerManager)."""

from __future__ import annotations

from paimon_spark.file_io import FileIO, FileStatus
from paimon_spark.format.json_text import parse_json_object
from paimon_spark.format.paths import CONSUMER_PREFIX, MAIN_BRANCH, consumer_directory
from paimon_spark.store.storage.listing import find_bytes, list_named
from paimon_spark.store.storage.parallel import map_parallel


def consumer_files(file_io: FileIO, table: str, branch: str = MAIN_BRANCH) -> dict[str, FileStatus]:
    """The files of the consumers of a branch, by their ids."""
    return list_named(file_io, consumer_directory(table, branch), CONSUMER_PREFIX)


def consumer_position(file_io: FileIO, path: str) -> int | None:
    """The id of the snapshot that one consumer reads next, None if its file does not exist.

    Raises:
        CorruptFile: the file of the consumer is damaged.
    """
    data = find_bytes(file_io, path)
    return None if data is None else parse_json_object(data, path).integer("nextSnapshot")


def consumer_positions(file_io: FileIO, table: str, branch: str = MAIN_BRANCH) -> dict[str, int]:
    """For each consumer the id of the snapshot that it reads next.

    Raises:
        CorruptFile: the file of a consumer is damaged.
    """
    paths = {name: status.path for name, status in consumer_files(file_io, table, branch).items()}
    found = zip(paths, map_parallel(lambda path: consumer_position(file_io, path), paths.values()), strict=True)
    return {name: position for name, position in found if position is not None}  # else deleted since the listing
