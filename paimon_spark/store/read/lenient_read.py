"""Reads that pass over files that are lost or damaged (`scan.ignore-lost-files`, `scan.ignore-corrupt-files`).

Java: DataFileRecordReader. What such a read returns is what the other files tell: rows are missing, and of keys whose
newest row is lost an older one comes back. Only reads of users do so; a compaction would make the loss last.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from paimon_spark.errors import CorruptFile, MissingFile
from paimon_spark.format.options import core_options as o
from paimon_spark.format.options.core_options import Options

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tolerance:
    """Attributes:
    lost: data files that do not exist are passed over.
    corrupt: of data files that are damaged the rows before the damage are read, if any.
    """

    lost: bool = False
    corrupt: bool = False


STRICT = Tolerance()


def tolerance(options: Options) -> Tolerance:
    """What the options of a read ask for."""
    return Tolerance(options.value(o.SCAN_IGNORE_LOST_FILES), options.value(o.SCAN_IGNORE_CORRUPT_FILES))


def tolerate(batches: Iterator[pa.RecordBatch], path: str, tolerated: Tolerance) -> Iterator[pa.RecordBatch]:
    """The rows of a data file; where they end because of what is tolerated, a warning is logged.

    A storage that fails is no damage of a file: OSError is never tolerated.
    """
    try:
        yield from batches
    except CorruptFile as error:
        if not (tolerated.lost if isinstance(error, MissingFile) else tolerated.corrupt):
            raise
        _log.warning("the data file %s is passed over, its rows are not among those returned: %s", path, error)
