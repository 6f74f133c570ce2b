"""Reads that skip lost or damaged files (`scan.ignore-lost-files`, `scan.ignore-corrupt-files`).

Java: DataFileRecordReader. Such a read returns the rows of the other files: rows are missing, and a key whose newest
row is lost has an older one again. Only reads of users may do this; a compaction would make the loss permanent.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from paimon_spark.errors import CorruptFile, MissingFile
from paimon_spark.format.options.table_settings import TableSettings

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tolerance:
    """Which bad files a read skips.

    Attributes:
        lost: data files that do not exist are skipped.
        corrupt: of damaged data files only the rows before the damage are read, if any.
    """

    lost: bool = False
    corrupt: bool = False


STRICT = Tolerance()


def tolerance(settings: TableSettings) -> Tolerance:
    """The tolerance in the options of a read."""
    return Tolerance(settings.scan.ignore_lost_files, settings.scan.ignore_corrupt_files)


def tolerate(batches: Iterator[pa.RecordBatch], path: str, tolerated: Tolerance) -> Iterator[pa.RecordBatch]:
    """The rows of a data file; if a tolerated fault ends them, a warning is logged.

    An error of the storage is not damage of a file: OSError is never tolerated.
    """
    try:
        yield from batches
    except CorruptFile as error:
        if not (tolerated.lost if isinstance(error, MissingFile) else tolerated.corrupt):
            raise
        _log.warning("the data file %s is passed over, its rows are not among those returned: %s", path, error)
