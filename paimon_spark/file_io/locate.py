"""Which store a location belongs to."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_spark.file_io.base import FileIO
from paimon_spark.file_io.local import LocalFileIO


def file_io_for(location: str, storage_options: Mapping[str, str]) -> FileIO:
    """The FileIO of a table location such as ``/lake/t``, ``file:/lake/t``, ``s3://bucket/t``, ``hdfs://host/t``."""
    return LocalFileIO()
