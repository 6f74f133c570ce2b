"""How a list of files is handed to Spark: file by file, or as directories and a pattern of names.

Spark looks at each path of a list by itself: of more than 32 in a job with one task for each, which takes seconds for a
thousand files. A directory is listed at once. It may hold other files too, so a pattern names those to read. Spark does
not notice if one of them is gone, so the directories are listed here again after Spark has done it.

Also finds out if Spark itself can read the store of a table. Local paths it can. For others Hadoop must have a client,
and credentials, that this process knows nothing of: one file is read to find out, once for each bucket or authority in
a session.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from paimon_spark.file_io import FileIO, plain_location
from paimon_spark.store.metadata.table_options import split_storage_options
from paimon_spark.store.read.file_rows import missing_data_file
from paimon_spark.store.storage.parallel import map_parallel
from paimon_spark.store.storage.publishers import CONNECTION, WAREHOUSE

FEW = 32
"""Spark's own `spark.sql.sources.parallelPartitionDiscovery.threshold`, unless it is set."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_found: WeakKeyDictionary[SparkSession, dict[str, str | None]] = WeakKeyDictionary()


@dataclass(frozen=True)
class FileList:
    """What Spark has to read.

    Attributes:
        paths: files or directories, as URIs for local ones.
        options: of the reader.
        names: for directories, the names of the files in each; None: the paths are files.
    """

    paths: tuple[str, ...]
    options: Mapping[str, str]
    names: Mapping[str, frozenset[str]] | None = None


def file_list(file_io: FileIO, paths: Sequence[str]) -> FileList:
    """The files as Spark finds them fastest.

    Args:
        file_io: the store of the files.
        paths: of the files; none twice.
    """
    if len(paths) > FEW:
        directories = _by_directory(paths)
        if len(directories) <= max(FEW, len(paths) // 4) and _is_exact(file_io, directories):
            every = sorted({name for names in directories.values() for name in names})
            options = {"pathGlobFilter": f"{{{','.join(every)}}}", "recursiveFileLookup": "true"}
            return FileList(tuple(map(spark_path, directories)), options, directories)
    return FileList(tuple(map(spark_path, paths)), {})


def check_still_there(file_io: FileIO, found: FileList) -> None:
    """Checks that Spark has found every file, after it has listed the directories.

    Raises:
        MissingFile: a file does not exist.
    """
    names = found.names or {}
    for directory, there in zip(names, map_parallel(lambda d: _listed(file_io, d), names), strict=True):
        missing = sorted(names[directory] - there)
        if missing:
            raise missing_data_file(f"{directory}/{missing[0]}")


def spark_path(path: str) -> str:
    """The path as Spark takes it: a local one with its scheme, because the cluster may have another default."""
    plain = plain_location(path)
    return f"file://{plain}" if plain.startswith("/") else plain


def _by_directory(paths: Sequence[str]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        directory, _, name = path.rpartition("/")
        found[directory].add(name)
    return {directory: frozenset(names) for directory, names in found.items()}


def _is_exact(file_io: FileIO, directories: Mapping[str, frozenset[str]]) -> bool:
    """True if the pattern of all names finds these files and no other."""
    every = frozenset[str]().union(*directories.values())
    if not all(map(_PLAIN_NAME.fullmatch, every)):
        return False
    if len(directories) == 1:
        return True
    listed = map_parallel(lambda directory: _listed(file_io, directory), directories)
    return all(there & every <= names for there, names in zip(listed, directories.values(), strict=True))


def _listed(file_io: FileIO, directory: str) -> frozenset[str]:
    return frozenset(status.name for status in file_io.list(directory))


def store_refusal(spark: SparkSession, options: Mapping[str, str], path: str) -> str | None:
    """Why Spark cannot read files of the store itself, in words; None: it can.

    Args:
        spark: the session.
        options: of the read; storage options among them are for our reader, and Spark has other ones.
        path: of a Parquet file in the store.
    """
    place = spark_path(path)
    if place.startswith("file:"):
        return None
    if split_storage_options(options)[0].keys() - {CONNECTION, WAREHOUSE}:
        return "storage options were given, which Spark's own reader does not know"
    known = _found.setdefault(spark, {})
    store = "/".join(place.split("/")[:3])
    if store not in known:
        known[store] = _probe(spark, store, place)
    return known[store]


def _probe(spark: SparkSession, store: str, path: str) -> str | None:
    try:
        spark.read.schema("paimon_probe int").option("__globPaths__", "false").parquet(path).limit(1).collect()
    except PySparkException as error:
        return f"Spark's own reader cannot read {store} ({str(error).splitlines()[0]:.200})"
    except Exception as error:  # py4j's own errors have no base in PySpark
        if type(error).__module__.partition(".")[0] != "py4j":
            raise
        return f"Spark's own reader cannot read {store} ({str(error).splitlines()[0]:.200})"
    return None
