"""Stored bytes: the only package that reads, writes, lists or deletes files of tables.

``file_io_for`` imports the modules object_store, hadoop and native_hdfs only for tables in these stores, and
object_store imports aws_credentials only where a profile or a role of AWS is asked for.

May import: ``limits``.
Libraries: ``obstore`` in ``object_faults``, ``object_store``; ``botocore`` in ``aws_credentials``; ``hdfs_native`` in
``native_hdfs``.
"""

from paimon_spark.file_io.base import (
    DirectoryIO,
    FileIO,
    FileStatus,
    ListedNames,
    NotCreated,
    OutputStream,
    Publisher,
    UnprovedStore,
    create_locked,
    find_status,
    identity_of,
    list_names,
    named_location,
    overwrite_hint,
    version_of,
)
from paimon_spark.file_io.confined import ConfinedFileIO
from paimon_spark.file_io.local import LocalFileIO, local_path
from paimon_spark.file_io.locate import (
    absolute_location,
    file_io_for,
    is_far,
    is_relative,
    is_same_store,
    plain_location,
)
from paimon_spark.file_io.memory import Memory, forget_objects

__all__ = [
    "ConfinedFileIO",
    "DirectoryIO",
    "FileIO",
    "FileStatus",
    "ListedNames",
    "LocalFileIO",
    "Memory",
    "NotCreated",
    "OutputStream",
    "Publisher",
    "UnprovedStore",
    "absolute_location",
    "create_locked",
    "file_io_for",
    "find_status",
    "forget_objects",
    "identity_of",
    "is_far",
    "is_relative",
    "is_same_store",
    "list_names",
    "local_path",
    "named_location",
    "overwrite_hint",
    "plain_location",
    "version_of",
]
