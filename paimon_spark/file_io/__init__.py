"""Stored bytes: the only package that reads, writes, lists or deletes files."""

from paimon_spark.file_io.base import FileIO, FileStatus, NotCreated, OutputStream
from paimon_spark.file_io.hadoop import HadoopFileIO
from paimon_spark.file_io.local import LocalFileIO, local_path
from paimon_spark.file_io.locate import absolute_location, file_io_for, is_relative, is_same_store
from paimon_spark.file_io.object_store import ObstoreFileIO

__all__ = [
    "FileIO",
    "FileStatus",
    "HadoopFileIO",
    "LocalFileIO",
    "NotCreated",
    "ObstoreFileIO",
    "OutputStream",
    "absolute_location",
    "file_io_for",
    "is_relative",
    "is_same_store",
    "local_path",
]
