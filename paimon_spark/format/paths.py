"""Names and places of every file of a table (format section 1; Java: FileStorePathFactory, DataFilePathFactory).

A table is the text of its directory, without a slash at the end; parts are joined with "/". Nothing here touches
storage. Manifests, index files, statistics and data files of a branch lie in the main table. Only the
directories whose functions take a ``branch`` belong to the branch alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from paimon_spark.errors import CorruptFile, OptionError, UnsupportedFeature
from paimon_spark.format.java.text import (
    date_text,
    double_text,
    float_text,
    time_text,
    timestamp_iso_text,
    timestamp_text,
)
from paimon_spark.format.manifest import DataFileMeta, IndexManifestEntry
from paimon_spark.format.names import has_scheme, is_inside, joined_name
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.write_settings import FileSettings
from paimon_spark.format.types import BINARIES, TIMESTAMPS, UNORDERED, DataField, DataType, Root

MAIN_BRANCH = "main"
INDEX_SUFFIX = ".index"  # of the file with the index of a data file
POSTPONE_BUCKET = -2
VECTOR_MARK = ".vector"  # of the names of files that hold VECTOR columns alone
SCHEMA_PREFIX = "schema-"
SNAPSHOT_PREFIX = "snapshot-"
MANIFEST_LIST_PREFIX = "manifest-list-"
CHANGELOG_PREFIX = "changelog-"
TAG_PREFIX = "tag-"
BRANCH_PREFIX = "branch-"
CONSUMER_PREFIX = "consumer-"
NOTE_SUFFIX = ".json"
SEARCH_SUFFIX = ".search"
REVIVED_PREFIX = ".revived-"  # of marks beside tags: files came back that no longer belonged to the latest state
CREATE_MARK = ".created-from"  # beside the schemas of a branch that is being made: which state it begins with
RENAME_PREFIX = ".renamed-from-"  # of a mark beside the schemas of a branch that gets its name just now
MAX_ID_DIGITS = 18
"""A number of more digits is none: it may not fit into 64 bits."""
LATEST = "LATEST"
EARLIEST = "EARLIEST"

_EXPIRY_MARK = re.compile(r"\.expiring-(\d+)-[0-9a-f-]{36}", re.ASCII)
_ESCAPED = re.compile("[\x00-\x1f\x7f\"#%'*/:=?\\\\{}\\[\\]^]")
_BLANK = re.compile(
    "[\t-\r\x1c-\x20\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000]*"
)  # Character.isWhitespace
_SUFFIXES = {"gzip": "gz", "bzip2": "bz2", "deflate": "deflate", "snappy": "snappy", "lz4": "lz4", "zstd": "zst"}
_TEXT_FORMATS = frozenset({"csv", "json"})


# ------------------------------------------------------------------------------------------------- table and branches


def branch_root(table: str, branch: str = MAIN_BRANCH) -> str:
    """Where the schemas, snapshots, tags and consumers of a branch lie; the table itself for main.

    Raises:
        OptionError: no branch can have that name.
    """
    if branch == MAIN_BRANCH:
        return table
    return f"{branches_directory(table)}/{joined_name(BRANCH_PREFIX, branch, 'branch')}"


def branches_directory(table: str) -> str:
    return f"{table}/branch"


def schema_directory(table: str, branch: str = MAIN_BRANCH) -> str:
    return f"{branch_root(table, branch)}/schema"


def schema_path(table: str, schema_id: int, branch: str = MAIN_BRANCH) -> str:
    return f"{schema_directory(table, branch)}/{SCHEMA_PREFIX}{schema_id}"


def snapshot_directory(table: str, branch: str = MAIN_BRANCH) -> str:
    return f"{branch_root(table, branch)}/snapshot"


def snapshot_path(table: str, snapshot_id: int, branch: str = MAIN_BRANCH) -> str:
    return f"{snapshot_directory(table, branch)}/{SNAPSHOT_PREFIX}{snapshot_id}"


def latest_hint_path(table: str, branch: str = MAIN_BRANCH) -> str:
    """The hint file with the newest snapshot id; it may be stale or absent."""
    return f"{snapshot_directory(table, branch)}/{LATEST}"


def earliest_hint_path(table: str, branch: str = MAIN_BRANCH) -> str:
    """The hint file with the oldest snapshot id; it may be stale or absent."""
    return f"{snapshot_directory(table, branch)}/{EARLIEST}"


def changelog_directory(table: str, branch: str = MAIN_BRANCH) -> str:
    return f"{branch_root(table, branch)}/changelog"


def changelog_path(table: str, snapshot_id: int, branch: str = MAIN_BRANCH) -> str:
    return f"{changelog_directory(table, branch)}/{CHANGELOG_PREFIX}{snapshot_id}"


def tag_directory(table: str, branch: str = MAIN_BRANCH) -> str:
    return f"{branch_root(table, branch)}/tag"


def tag_path(table: str, name: str, branch: str = MAIN_BRANCH) -> str:
    """The file of a tag.

    Raises:
        OptionError: no branch or no tag can have that name.
    """
    return f"{tag_directory(table, branch)}/{joined_name(TAG_PREFIX, name, 'tag')}"


def consumer_directory(table: str, branch: str = MAIN_BRANCH) -> str:
    return f"{branch_root(table, branch)}/consumer"


def consumer_path(table: str, consumer: str, branch: str = MAIN_BRANCH) -> str:
    """The file of a consumer.

    Raises:
        OptionError: no branch or no consumer can have that name.
    """
    return f"{consumer_directory(table, branch)}/{joined_name(CONSUMER_PREFIX, consumer, 'consumer')}"


def id_of(file_name: str, prefix: str) -> int | None:
    """The number at the end of a name such as ``snapshot-12``; None for any other name, also for ``snapshot-012``."""
    digits = file_name.removeprefix(prefix)
    is_number = digits != file_name and digits.isascii() and digits.isdigit() and len(digits) <= MAX_ID_DIGITS
    return int(digits) if is_number and (digits[0] != "0" or digits == "0") else None


def parse_expiry_mark(name: str) -> int | None:
    """The id below which snapshots are deleted, from the name of the mark of an expiry; None for any other file."""
    match = _EXPIRY_MARK.fullmatch(name)
    return None if match is None else int(match[1])


# ----------------------------------------------------------------------------------------------------- metadata files


def manifest_directory(table: str) -> str:
    return f"{table}/manifest"


def stream_sink_directory(table: str, branch: str = MAIN_BRANCH) -> str:
    """Where the notes of streams lie that write to a branch; the official system has no such directory."""
    return f"{branch_root(table, branch)}/stream-sink"


def stream_note_path(table: str, user: str, branch: str = MAIN_BRANCH) -> str:
    """The note of a commit user.

    Raises:
        OptionError: no branch or no file can have that name.
    """
    return f"{stream_sink_directory(table, branch)}/{joined_name('', user, 'writer of a stream')}{NOTE_SUFFIX}"


def stream_search_path(table: str, user: str, branch: str = MAIN_BRANCH) -> str:
    """What an expiry found of the last batch of a commit user.

    Raises:
        OptionError: no branch or no file can have that name.
    """
    return stream_note_path(table, user, branch).removesuffix(NOTE_SUFFIX) + SEARCH_SUFFIX


def manifest_path(table: str, name: str) -> str:
    """A manifest, manifest list or index manifest."""
    return f"{manifest_directory(table)}/{name}"


def index_name(uuid: str, n: int) -> str:
    return f"index-{uuid}-{n}"


def statistics_path(table: str, name: str) -> str:
    return f"{table}/statistics/{name}"


def index_path(table: str, name: str) -> str:
    """An index file in the index directory of the table."""
    return f"{table}/index/{name}"


def index_file_path(table: str, bucket: str, entry: IndexManifestEntry, settings: TableSettings) -> str:
    """Where an index file lies; bucket is the path of its bucket directory."""
    if entry.external_path is not None:
        return entry.external_path
    meta = entry.global_index
    is_of_table = meta is not None and meta.source_meta is None  # not of the rows of one bucket
    if settings.files.index_in_data_dir and not is_of_table:
        return f"{bucket}/{entry.file_name}"
    return index_path(table, entry.file_name)


# --------------------------------------------------------------------------------------------------------- data files


def bucket_path(table: str, partition: str, bucket: int, settings: TableSettings) -> str:
    """The directory of a bucket; partition is the result of partition_path.

    Raises:
        OptionError: `data-file.path-directory` leads out of the table.
    """
    name = "postpone" if bucket == POSTPONE_BUCKET else str(bucket)
    return f"{data_root(table, settings)}/{partition}bucket-{name}"


def data_root(table: str, settings: TableSettings) -> str:
    """The directory that holds the directories of partitions and buckets.

    Raises:
        OptionError: `data-file.path-directory` leads out of the table.
    """
    directory = (settings.files.path_directory or "").strip("/")
    if not is_inside(directory):
        raise OptionError(
            f"the option '{FileSettings.path_directory.key}' of the table at {table} is '{directory}', which leads out "
            "of the table; data files elsewhere are recorded with their external paths"
        )
    return f"{table}/{directory}" if directory else table


def external_paths(settings: TableSettings) -> tuple[str, ...]:
    """The roots outside of the table that `data-file.external-paths` names."""
    paths = (text.strip().rstrip("/") for text in (settings.files.external_paths or "").split(","))
    return tuple(filter(None, paths))


def write_roots(settings: TableSettings) -> tuple[str, ...]:
    """The external paths that new data files go to, by `data-file.external-paths.strategy`; empty: they stay in the
    table.

    Java: AbstractFileStore.createExternalPaths.

    Raises:
        OptionError: a path has no scheme, or none has the one that the strategy asks for.
    """
    files = settings.files
    roots = external_paths(settings)
    if files.external_strategy == "none" or not roots:
        return ()
    for root in roots:
        if not has_scheme(root):
            raise OptionError(
                f"'{root}' in '{FileSettings.external_paths.key}' has no scheme, and every reader needs it to find the "
                f"data files: write file:{root}, s3://<bucket>/<path> or the like"
            )
    if files.external_strategy != "specific-fs":
        return roots
    wanted = files.external_scheme
    chosen = tuple(root for root in roots if root.partition(":")[0].lower() == (wanted or "").lower())
    if not chosen:
        raise OptionError(
            f"'{FileSettings.external_strategy.key}' = 'specific-fs' writes data files to the path of "
            f"'{FileSettings.external_paths.key}' with the scheme of '{FileSettings.external_scheme.key}', which is "
            f"{wanted!r}, and the paths are {', '.join(roots)}; name the scheme of one of them"
        )
    return chosen


def index_root(settings: TableSettings) -> str | None:
    """The directory that `global-index.external-path` names, for index files of the whole table; None: that of the
    table."""
    return (settings.files.global_index_path or "").strip().rstrip("/") or None


def data_file_path(bucket: str, meta: DataFileMeta) -> str:
    """Where a data file lies; bucket is the path of its bucket directory."""
    return meta.external_path if meta.external_path is not None else f"{bucket}/{meta.file_name}"


def extra_file_path(bucket: str, meta: DataFileMeta, name: str) -> str:
    """Where a file of meta.extra_files lies: beside its data file."""
    directory = bucket if meta.external_path is None else meta.external_path.rpartition("/")[0]
    return f"{directory}/{name}"


def data_file_name(prefix: str, uuid: str, n: int, file_format: str, compression: str | None = None) -> str:
    """The name of a new data file; compression is part of it unless None."""
    suffix = _SUFFIXES.get(compression.lower(), compression) if compression and compression.lower() != "none" else None
    if suffix is None:
        extension = file_format
    elif file_format in _TEXT_FORMATS:
        extension = f"{file_format}.{suffix}"
    else:
        extension = f"{suffix}.{file_format}"
    return f"{prefix}{uuid}-{n}.{extension}"


def marked_name(name: str, prefix: str, mark: str) -> str:
    """The name of a data file with a mark behind its number: data-1.vector.parquet of data-1.parquet and .vector."""
    start, _, extension = name[len(prefix) :].partition(".")
    return f"{prefix}{start}{mark}.{extension}"


def file_format_of(name: str) -> str:
    """The format of a data file, from its name: the table option may have changed since the file was written.

    Raises:
        CorruptFile: the name has no extension.
    """
    parts = name.split(".")
    if len(parts) > 2 and parts[-1].lower() in _SUFFIXES.values():
        parts.pop()
    if len(parts) < 2:
        raise CorruptFile(f"the data file name '{name}' has no extension that tells its format")
    return parts[-1].lower()


# --------------------------------------------------------------------------------------------------------- partitions


def partition_path(values: Sequence[Any], fields: Sequence[DataField], default_name: str, legacy: bool) -> str:
    """The directories of a partition, ``k=v/k2=v2/``, or an empty text without partition columns.

    values are internal values. Null and blank texts both become default_name, so a path does not distinguish them.

    Raises:
        UnsupportedFeature: a column of a type that has no stable text in paths.
    """
    parts = []
    for value, field in zip(values, fields, strict=True):
        text = "" if value is None else partition_text(value, field.type, legacy)
        if _BLANK.fullmatch(text):
            text = default_name
        parts.append(f"{escape(field.name)}={escape(text)}/")
    return "".join(parts)


def partition_text(value: Any, data_type: DataType, legacy: bool) -> str:
    """The text of one partition value, not escaped.

    legacy (option ``partition.legacy-name``) is Java's toString of the internal value; else it is the cast to a string,
    where TIMESTAMP_LTZ is printed in UTC.

    Raises:
        UnsupportedFeature: a type that has no stable text in paths.
    """
    root = data_type.root
    if root in UNORDERED or (root in BINARIES and legacy):
        raise UnsupportedFeature(
            f"a partition column of type {root} has no stable directory name; partition by another column"
            + (", or set partition.legacy-name=false" if root in BINARIES else "")
        )
    if root is Root.BOOLEAN:
        return "true" if value else "false"
    if root is Root.FLOAT:
        return float_text(value)
    if root is Root.DOUBLE:
        return double_text(value)
    if root is Root.DECIMAL:
        return decimal_text(value, data_type.scale or 0)
    if root in BINARIES:
        return bytes(value).decode("utf-8", errors="replace")
    if root in TIMESTAMPS:
        return timestamp_iso_text(value) if legacy else timestamp_text(value, data_type.precision or 0)
    if root is Root.DATE and not legacy:
        return date_text(value)
    if root is Root.TIME and not legacy:
        return time_text(value, data_type.precision or 0)
    return str(value)


def decimal_text(value: Decimal, scale: int) -> str:
    """All digits of the scale, never an exponent (Java: BigDecimal.toPlainString)."""
    return f"{value:.{scale}f}"


def escape(text: str) -> str:
    """A partition key or value as paths hold it: `%` and two hex digits replace each special character."""
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def unescape(text: str) -> str:
    """The inverse of escape; a `%` that no hex digits follow stays."""
    return re.sub("%([0-9A-Fa-f]{2})", lambda match: chr(int(match[1], 16)), text)
