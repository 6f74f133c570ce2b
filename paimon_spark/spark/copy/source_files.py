"""Lists the files of a directory as Spark sees them, with the identity that the load history keeps."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from paimon_spark.errors import OptionError
from paimon_spark.format.load_history import SourceFile

AS_IT_IS = {"__globPaths__": "false", "recursiveFileLookup": "true"}
"""The options by which Spark takes a path with ``*`` or ``[`` for the name of one file.

Without recursiveFileLookup it would read all files once more for each such path, and take directories such as dt=1 for
partitions.
"""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://[^/]*)?")


def list_files(spark: SparkSession, path: str, pattern: str | None = None) -> list[SourceFile]:
    """The files directly in a directory, or the one file of a path, sorted by name.

    Spark lists them, with its own access to stores. As everywhere in Spark, names that begin with ``_`` or ``.`` are
    left out. Spark does not tell when an empty file was modified: that is 0.

    Args:
        path: absolute, or a URI.
        pattern: a regular expression of Java that must be found in the name; None: all files.

    Raises:
        OptionError: the path is relative, or nothing is there, or the pattern is no regular expression.
    """
    root = plain_path(path)
    if not root.startswith("/"):
        raise OptionError(f"the path '{path}' is relative, and Spark may run elsewhere: give the whole path or a URI")
    options = {**AS_IT_IS, "ignoreMissingFiles": "false"}
    try:
        listed = spark.read.format("binaryFile").options(**options).load(path)
        files = _full_files(listed)
        known = {plain_path(file.path) for file in files}
        files += [empty for empty in _all_files(listed) if plain_path(empty.path) not in known]
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            raise OptionError(f"there is no file and no directory at '{path}'") from None
        raise
    mine = [file for file in files if root in (plain_path(file.path), posixpath.dirname(plain_path(file.path)))]
    return sorted(_named(spark, mine, pattern), key=lambda file: file.name)


def _full_files(listed: DataFrame) -> list[SourceFile]:
    """The files that are not empty, which are all that Spark makes rows of."""
    rows = listed.select("path", "length", F.unix_millis("modificationTime")).collect()
    return [SourceFile(path, size, modified) for path, size, modified in rows]


def _all_files(listed: DataFrame) -> list[SourceFile]:
    """All files as if they were empty: Spark tells their URIs alone."""
    paths = (unquote(uri) for uri in listed.inputFiles())
    return [SourceFile(re.sub("^file:///", "file:/", path), 0, 0) for path in paths]


def _named(spark: SparkSession, files: list[SourceFile], pattern: str | None) -> list[SourceFile]:
    """Those in whose names a pattern is found, by Java's regular expressions."""
    if pattern is None or not files:
        return files
    names = pa.table({"number": list(range(len(files))), "name": [file.name for file in files]})
    try:
        found = spark.createDataFrame(names).where(F.col("name").rlike(pattern)).select("number").collect()
    except Exception as error:
        if "PatternSyntax" not in str(error) and "PATTERN" not in str(error):
            raise
        raise OptionError(f"PATTERN = '{pattern}' is no regular expression of Java") from None
    return [files[number] for (number,) in found]


def plain_path(path: str) -> str:
    """A path or URI without scheme and authority, and without ``.``, ``..`` and slashes that change nothing."""
    scheme = _SCHEME.match(path)
    rest = path[scheme.end() :] if scheme else path
    return posixpath.normpath(f"/{rest.lstrip('/')}" if rest.startswith("/") or scheme else rest)
