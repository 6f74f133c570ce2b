"""Finds the store of a location. The client of a store is imported only for tables in that store."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.file_io.base import DirectoryIO
from paimon_spark.file_io.local import LocalFileIO, local_path
from paimon_spark.file_io.s3_options import check_spelling

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_KIN = ({"s3", "s3a", "s3n"}, {"az", "abfs", "abfss"}, {"hdfs", "viewfs"})


def file_io_for(location: str, storage_options: Mapping[str, str]) -> DirectoryIO:
    """The store of a location such as ``/lake/t``, ``file:/lake/t``, ``s3://bucket/t``, ``hdfs://host/t``.

    Args:
        location: a path or URI; nothing is read.
        storage_options: options that may hold keys of the store (``s3.endpoint``, ``fs.s3a.access.key``, ...); other
            keys are ignored. Those of another store may be there: one map of options may serve many tables.

    Raises:
        UnsupportedFeature: the scheme is not supported.
        OptionError: one slash follows the scheme of a store that is reached by the name of its host or bucket, or
            an option is nearly one of S3.
    """
    check_spelling(storage_options)
    scheme = _scheme(location)
    match scheme:
        case "file":
            return LocalFileIO()
        case "s3" | "s3a" | "s3n" | "gs" | "az" | "abfs" | "abfss" | "oss" | "cosn" | "obs" | "memory":
            _check_two_slashes(location, scheme)
            from paimon_spark.file_io.object_store import object_store

            return object_store(scheme, storage_options)
        case "hdfs" | "viewfs":
            _check_two_slashes(location, scheme)
            return _hadoop(storage_options)
    local = "" if "://" in location else f"; './{location}' is a local directory of that name"
    raise UnsupportedFeature(
        f"no store serves '{scheme}://' (location '{location}'); use a local path, file, s3, s3a, s3n, gs, az, abfs, "
        f"abfss, oss, cosn, obs, hdfs or viewfs, in lower case{local}"
    )


def _hadoop(storage_options: Mapping[str, str]) -> DirectoryIO:
    """HDFS by the libhdfs of an installed Hadoop, else by hdfs-native, else by nothing, which the first call tells."""
    from paimon_spark.file_io.hadoop import HadoopFileIO, libhdfs_place

    if libhdfs_place() is None:
        with suppress(ImportError):  # an extra
            from paimon_spark.file_io.native_hdfs import connect_native, hadoop_config

            return HadoopFileIO(partial(connect_native, config=hadoop_config(storage_options)))
    return HadoopFileIO()


def _check_two_slashes(location: str, scheme: str) -> None:
    """Refuses a URI without the host or bucket by which these stores are reached."""
    if "://" in location:
        return
    path = location.partition(":")[2]
    if scheme in ("hdfs", "viewfs"):
        whole = f"{scheme}://<host>{path} names the name node, {scheme}://{path} takes that of Hadoop's settings"
    else:
        whole = f"write {scheme}:/{path}"
    raise OptionError(
        f"'{location}' has one slash behind {scheme}:, where a location of {scheme} has two: {whole}; './{location}' "
        "is a local directory of that name"
    )


def absolute_location(location: str) -> str:
    """The location in a form that is valid in every process, because executors may run elsewhere.

    A local path, with or without ``file:``, is made absolute: ``~`` becomes the home directory, a relative path is
    relative to the working directory of this process. ``.``, ``..`` and repeated slashes are resolved. Other locations
    only lose slashes at their end.

    Raises:
        OptionError: the location is blank or holds a zero byte, the home directory is unknown, or ``file:`` names
            another machine.
    """
    if not location.strip():
        raise OptionError("no path was given: name the directory of the table")
    if "\0" in location:
        raise OptionError(f"{location!r:.200} is no path: it holds a zero byte")
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
    """True if the location depends on the user or the working directory of the process."""
    return _scheme(location) == "file" and not location.removeprefix("file:").startswith("/")


def _from_root(path: str, location: str) -> str:
    whole = os.path.expanduser(path) if path.startswith("~") else path
    if whole.startswith("~"):
        raise OptionError(f"'{location}' begins in a home directory that is not known here: write the whole path")
    try:
        return "/" + os.path.abspath(whole).lstrip("/")
    except FileNotFoundError:
        raise OptionError(
            f"'{location}' is relative to the working directory of this process, which was removed: write the whole "
            "path"
        ) from None


def plain_location(location: str) -> str:
    """An absolute local path without its scheme, any other location unchanged; without a slash at the end."""
    return (local_path(location) if _scheme(location) == "file" else location).rstrip("/")


def is_far(location: str) -> bool:
    """True if each look at a file takes some time, as it does in any store but a local disk."""
    return _scheme(location) != "file"


def is_same_store(location: str, other: str) -> bool:
    """True if the store of one location also serves the other."""
    scheme, another = _scheme(location), _scheme(other)
    return scheme == another or any(scheme in kin and another in kin for kin in _KIN)


def _scheme(location: str) -> str:
    """What stands before ``:/``: a URI of Hadoop needs no authority. One letter alone is a drive of Windows."""
    is_uri = "://" in location or location.startswith("file:") or _URI.match(location)
    return location.partition(":")[0] if is_uri else "file"
