"""Checks of file names in metadata: a name must be one part of a path, so that it cannot lead out of the table.

A name is joined to a directory of the table, and the file is read, or deleted when it expires. Paimon writers draw a
UUID for it, so every genuine table passes. The backslash is refused too, because some stores treat it as a slash.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from paimon_spark.errors import CorruptFile, OptionError

NOT_IN_NAMES = "/\\\0"
_BUCKET = re.compile(r"(.*/)?bucket-(-?\d{1,10}|postpone)(/[01]{1,32})*", re.ASCII | re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?/")


def is_name(text: str) -> bool:
    """True if a text is one part of a path."""
    return text not in ("", ".", "..") and not any(mark in text for mark in NOT_IN_NAMES)


def are_names(texts: Sequence[str]) -> bool:
    """True if is_name holds for all texts. A few passes over all of them are faster than one call for each."""
    joined = "\n".join(texts)
    if any(mark in joined for mark in NOT_IN_NAMES):
        return False
    return min(map(len, texts), default=3) > 2 or all(map(is_name, texts))


def checked_name(text: str, field: str, where: str) -> str:
    """The name, if it is one.

    Args:
        text: what metadata hold.
        field: the metadata field that holds it, for the error.
        where: the metadata file, for the error.

    Raises:
        CorruptFile: it is not one part of a path.
    """
    if not is_name(text):
        raise CorruptFile(
            f"cannot read {where}: field '{field}' is {text!r:.200}, which is no file name: a name is one part of a "
            "path, so that it cannot lead out of the table; the file is damaged, or made to reach other files"
        )
    return text


def checked_external_path(path: str, name: str, where: str, in_bucket: bool) -> str:
    """The place of a file outside of the table as metadata recorded it, if it is one that a writer may choose.

    Writers put a file at ``<external root>/.../bucket-<n>/<name>`` (format section 1; Java 2.0.0:
    RoundRobinExternalPathProvider), or below directories of binary digits in there (EntropyInjectExternalPathProvider),
    an index of the whole table at ``<external root>/<name>`` (FileStorePathFactory.globalIndexFileFactory).

    Args:
        path: what metadata hold.
        name: the name of the file, which the path ends with.
        where: the metadata file, for the error.
        in_bucket: whether it lies in the directory of a bucket.

    Raises:
        CorruptFile: it is not an absolute path, has parts such as `..`, or does not end with the name.
    """
    scheme = _SCHEME.match(path)
    start = len(scheme[0]) if scheme else 1
    *directories, last = path[start:].split("/")
    is_absolute = scheme is not None or path.startswith("/")
    ends_well = last == name and (not in_bucket or is_bucket_directory("/".join(directories)))
    if not (is_absolute and ends_well and all(map(is_name, (*directories, last)))):
        place = f"bucket-<n>/{name}" if in_bucket else name
        raise CorruptFile(
            f"cannot read {where}: field '_EXTERNAL_PATH' is {path!r:.200}; the external place of a file is an "
            f"absolute path that ends with {place!r:.200} and has no '..'; the file is damaged, or made to reach other "
            "files"
        )
    return path


def has_scheme(path: str) -> bool:
    """True for a URI of a file or directory: ``s3://bucket/x``, ``file:/x``; False for a path such as ``/x``."""
    return _SCHEME.match(path) is not None


def is_bucket_directory(path: str) -> bool:
    """True if a writer may have made the directory for the data files of a bucket, by its last parts."""
    return _BUCKET.fullmatch(path) is not None


def is_inside(text: str) -> bool:
    """True if a relative path of one part or more stays where it begins."""
    return all(part not in (".", "..") for part in text.split("/")) and not any(mark in text for mark in "\\\0")


def joined_name(prefix: str, name: str, what: str) -> str:
    """``<prefix><name>`` as the name of a file or directory, for names that callers or options give.

    Raises:
        OptionError: it would be more than one part of a path; the message uses what for the kind of thing named.
    """
    if any(mark in name for mark in NOT_IN_NAMES):
        raise OptionError(f"{name!r:.200} is no name of a {what}: it must not hold '/', '\\' or a zero byte")
    return prefix + name
