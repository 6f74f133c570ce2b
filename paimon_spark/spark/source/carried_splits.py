"""Splits of a plan as the text of an option, for reads that are planned in one process and run in another.

An option may be kept in a permanent view and come from another user. So the text holds no pickle: it is JSON around a
manifest in Avro, and what it says is checked as the metadata of a table are. The directory of a bucket is not carried:
the reader derives it from the partition and the bucket.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paimon_spark.errors import CorruptFile, OptionError, PaimonError
from paimon_spark.file_io import plain_location
from paimon_spark.format.json_text import JsonObject, parse_json_object
from paimon_spark.format.manifest import EMPTY_STATS, DataFileMeta, FileKind, ManifestEntry
from paimon_spark.format.manifests.codec import decode_manifest, encode_manifest
from paimon_spark.format.names import checked_external_path, is_inside
from paimon_spark.format.paths import bucket_path
from paimon_spark.merge.keys.sections import SortedRun
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.deletion_files import partition_directory
from paimon_spark.store.read.splits import DeletionFile, Split

VERSION = 1
MAX_FILES = 10_000  # of one text: about a megabyte
_WHERE = "the option 'read.splits'"
_COUNT = range(2**31)


@dataclass(frozen=True)
class Pinned:
    """The state that splits belong to.

    Attributes:
        schema_id: the schema that the table is read in.
        options_schema_id: the schema whose options hold: the latest one when the read was planned.
        branch: whose snapshots and schemas they are.
    """

    schema_id: int
    options_schema_id: int
    branch: str


def encode_splits(splits: Sequence[Split], pinned: Pinned) -> str:
    """The text for the option `read.splits`. Statistics of files are left out, because only plans use them."""
    entries = [ManifestEntry(FileKind.ADD, s.partition, s.bucket, 1, _bare(file)) for s in splits for file in s.files]
    told = {
        "version": VERSION,
        "schema": pinned.schema_id,
        "options": pinned.options_schema_id,
        "branch": pinned.branch,
        "splits": [_shape(split) for split in splits],
        "files": base64.b64encode(encode_manifest(entries)).decode("ascii"),
    }
    return json.dumps(told, separators=(",", ":"))


def _bare(file: DataFileMeta) -> DataFileMeta:
    return replace(
        file, key_stats=EMPTY_STATS, value_stats=EMPTY_STATS, value_stats_cols=None, embedded_index=None, extra_files=()
    )


def _shape(split: Split) -> dict[str, Any]:
    """How many files are raw, and how many each run of each section has."""
    sections = [[len(run) for run in section] for section in split.sections]
    vectors = [[name, d.path, d.offset, d.length, d.cardinality] for name, d in split.deletions.items()]
    return {"raw": len(split.raw_files), "sections": sections, "vectors": vectors, "snapshot": split.snapshot_id}


def pinned_state(text: str) -> Pinned:
    """The state that the splits in a text belong to.

    Raises:
        OptionError: the text is not what encode_splits makes.
    """
    try:
        told = _parse(text)
        return Pinned(told.integer("schema"), told.integer("options"), told.text("branch"))
    except CorruptFile as error:
        raise _damaged(error) from None


def decode_splits(text: str, table: Table) -> tuple[Split, ...]:
    """The splits in a text, of a table.

    Raises:
        OptionError: the text is not what encode_splits makes, does not fit the table, or leads out of it.
    """
    try:
        told = _parse(text)
        entries = iter(decode_manifest(base64.b64decode(told.text("files"), validate=True), _WHERE))
        splits = tuple(_split(JsonObject(shape, _WHERE), entries, table) for shape in _objects(told, "splits"))
        if next(entries, None) is not None:
            raise _wrong("it has files that belong to no split")
    except (PaimonError, binascii.Error) as error:
        raise _damaged(error) from None
    return splits


def _parse(text: str) -> JsonObject:
    told = parse_json_object(text.encode("utf-8", "surrogatepass"), _WHERE)
    if told.integer("version") != VERSION:
        raise _wrong(f"it has the version {told.integer('version')}, and this release reads {VERSION}")
    return told


def _objects(told: JsonObject, key: str) -> list[dict[str, Any]]:
    values = told.array(key)
    if not all(isinstance(value, dict) for value in values):
        raise told.corrupt(key, "a list of objects")
    return values


def _split(shape: JsonObject, entries: Iterator[ManifestEntry], table: Table) -> Split:
    raw = _take(entries, shape.get("raw"))
    sections = [[_take(entries, count) for count in _list(runs)] for runs in shape.array("sections")]
    all_entries = [*raw, *(entry for runs in sections for run in runs for entry in run)]
    if len({(entry.partition, entry.bucket) for entry in all_entries}) != 1:
        raise _wrong("a split has no files, or files of several buckets")
    partition, bucket = all_entries[0].partition, all_entries[0].bucket
    directory = partition_directory(table.schema, table.options, partition)
    vectors = (_vector(place, table.location) for place in shape.array("vectors"))
    return Split(
        partition=partition,
        bucket=bucket,
        bucket_path=bucket_path(table.location, directory, bucket, table.options),
        raw_files=tuple(entry.file for entry in raw),
        sections=tuple(tuple(SortedRun(tuple(e.file for e in run)) for run in runs) for runs in sections),
        deletions=dict(vectors),
        snapshot_id=shape.optional_integer("snapshot"),
    )


def _take(entries: Iterator[ManifestEntry], count: Any) -> list[ManifestEntry]:
    if type(count) is not int or count not in _COUNT:
        raise _wrong(f"{count!r:.50} is no number of files")
    taken = list(itertools.islice(entries, count))
    if len(taken) != count:
        raise _wrong("it has fewer files than its splits")
    return taken


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(f"{value!r:.50} is no list")
    return value


def _vector(place: Any, location: str) -> tuple[str, DeletionFile]:
    match place:
        case [str(name), str(path), int(offset), int(length), int() | None as cardinality]:
            if min(offset, length, cardinality or 0) >= 0:
                return name, DeletionFile(_checked_path(path, location), offset, length, cardinality)
    raise _wrong(f"{place!r:.100} is no place of a deletion vector")


def _checked_path(path: str, location: str) -> str:
    """A path in the table, or an external one that metadata of the table could hold."""
    base, plain = f"{plain_location(location)}/", plain_location(path)
    if plain.startswith(base) and is_inside(plain[len(base) :]):
        return path
    return checked_external_path(path, path.rpartition("/")[2], _WHERE, in_bucket=False)


def _wrong(why: str) -> CorruptFile:
    return CorruptFile(f"cannot read {_WHERE}: {why}")


def _damaged(error: Exception) -> OptionError:
    return OptionError(f"{error}. PaimonTable.toDF writes this option; make the DataFrame again")
