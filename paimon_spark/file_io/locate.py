"""Which store a location belongs to. The client of a store is imported for tables that are kept there."""

from __future__ import annotations

import os
from collections.abc import Mapping

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.file_io.base import FileIO
from paimon_spark.file_io.local import LocalFileIO, local_path

_KIN = ({"s3", "s3a", "s3n"}, {"az", "abfs", "abfss"}, {"hdfs", "viewfs"})


def file_io_for(location: str, storage_options: Mapping[str, str]) -> FileIO:
    """The store of a location such as ``/lake/t``, ``file:/lake/t``, ``s3://bucket/t``, ``hdfs://host/t``.

    Args:
        location: a path or URI; nothing is read.
        storage_options: options among which keys of the store are looked up (``s3.endpoint``, ``fs.s3a.access.key``,
            ...); others are ignored.

    Raises:
        UnsupportedFeature: nothing here serves that scheme.
    """
    scheme = _scheme(location)
    match scheme:
        case "file":
            return LocalFileIO()
        case "s3" | "s3a" | "s3n" | "gs" | "az" | "abfs" | "abfss" | "memory":
            from paimon_spark.file_io.object_store import object_store

            return object_store(scheme, storage_options)
        case "hdfs" | "viewfs":
            from paimon_spark.file_io.hadoop import HadoopFileIO

            return HadoopFileIO()
    raise UnsupportedFeature(
        f"no store serves '{scheme}://' (location '{location}'); use a local path, file, s3, s3a, gs, az, abfss or hdfs"
    )


def absolute_location(location: str) -> str:
    """The location as every process understands it, for executors may run elsewhere.

    A local path, also one of ``file:``, begins at the root: in place of ``~`` with the home directory, else with the
    working directory of this process. It has no ``.`` and ``..``, and no slash too many. Other locations only lose
    slashes at their end.

    Raises:
        OptionError: nothing was given, there is no such home directory, or ``file:`` names another machine.
    """
    if not location:
        raise OptionError("no path was given: name the directory of the table")
    if _scheme(location) != "file":
        return location.rstrip("/")
    if not location.startswith("file:"):
        return _from_root(location, location)
    rest, start = location[len("file:") :], "file:"
    if rest.startswith("//"):
        host, _, path = rest[2:].partition("/")
        if host not in ("", "localhost"):
            raise OptionError(
                f"'{location}' names a directory of the machine '{host}', and only those of this machine can be "
                f"reached: write file:///{rest[2:]}"
            )
        rest, start = f"/{path}", f"file://{host}"
    return start + _from_root(rest, location)


def is_relative(location: str) -> bool:
    """True if it depends on the process, its user or its working directory, where a location is."""
    return _scheme(location) == "file" and not location.removeprefix("file:").startswith("/")


def _from_root(path: str, location: str) -> str:
    whole = os.path.expanduser(path) if path.startswith("~") else path
    if whole.startswith("~"):
        raise OptionError(f"'{location}' begins in a home directory that is not known here: write the whole path")
    return "/" + os.path.abspath(whole).lstrip("/")


def plain_location(location: str) -> str:
    """A local path from the root without its scheme, any other location as it is; without a slash at the end."""
    return (local_path(location) if _scheme(location) == "file" else location).rstrip("/")


def is_same_store(location: str, other: str) -> bool:
    """True if the store of one location reaches the other too."""
    scheme, another = _scheme(location), _scheme(other)
    return scheme == another or any(scheme in kin and another in kin for kin in _KIN)


def _scheme(location: str) -> str:
    return location.partition(":")[0] if "://" in location or location.startswith("file:") else "file"
