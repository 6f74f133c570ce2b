"""Checks the files of one bucket together: levels, deletion vectors, one live row per key (format 7.2, 8.1).

Also checks that each key is in one partition if keys do not contain it (features section 5.2, KEY_DYNAMIC).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.predicates.predicate import TRUE
from paimon_spark.arrow.row_hash import hash_rows
from paimon_spark.errors import CorruptFile, PaimonError, StorageError
from paimon_spark.format.bucket import Partition, Place
from paimon_spark.format.deletion_vector import decode_vector, deleted_positions, range_to_read
from paimon_spark.format.manifest import DataFileMeta, IndexManifestEntry, ManifestEntry
from paimon_spark.format.paths import data_file_path
from paimon_spark.format.rules.key_clustering import orders_otherwise
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataType
from paimon_spark.merge.keys.key_order import key_range_of
from paimon_spark.merge.keys.row_ids import column_files, sections_by_row_id
from paimon_spark.merge.keys.sections import partition_sections
from paimon_spark.merge.keys.window import MergeSpec, Window
from paimon_spark.merge.runs.sort_merge import merge_runs
from paimon_spark.store.checks.report import Findings, Rule
from paimon_spark.store.checks.row_checks import named
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.live_files import Identity
from paimon_spark.store.metadata.messages import DELETION_VECTORS
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.deletion_files import read_deleted_positions
from paimon_spark.store.read.file_rows import FileRequest, StoredFile, read_file
from paimon_spark.store.read.sorted_runs import RunSpill, SortedChunks
from paimon_spark.store.read.splits import DeletionFile
from paimon_spark.store.scan.new_scan import own_scan

KEYS_AT_ONCE = 1 << 23
_BATCH_ROWS = 65536


def level_faults(files: Iterable[DataFileMeta], key_types: Sequence[DataType]) -> Iterator[str]:
    """Descriptions of files on one level above 0 whose key ranges overlap."""
    key_range = key_range_of(key_types)
    levels: dict[int, list[DataFileMeta]] = {}
    for file in files:
        if file.level > 0:
            levels.setdefault(file.level, []).append(file)
    for level, found in levels.items():
        ranges = sorted((*key_range(file), number) for number, file in enumerate(found))
        for (_, last, one), (first, _, other) in itertools.pairwise(ranges):
            if last >= first:
                yield f"the keys of {found[one].file_name} and {found[other].file_name} overlap on level {level}"


def bucket_counts(
    live: Mapping[Place, Mapping[Identity, ManifestEntry]], partitions: Collection[Partition]
) -> dict[Partition, set[int]]:
    """Partition -> the numbers of buckets that its files name; postponed files name none.

    Args:
        live: the files of a state.
        partitions: those that are looked at.
    """
    counts: dict[Partition, set[int]] = {partition: set() for partition in partitions}
    for (partition, _), entries in live.items():
        if partition in counts:
            counts[partition].update(entry.total_buckets for entry in entries.values() if entry.total_buckets > 0)
    return counts


def double_files(files: Iterable[DataFileMeta]) -> Iterator[str]:
    """Descriptions of files that are live more than once."""
    for name, count in Counter(file.file_name for file in files).items():
        if count > 1:
            yield f"{name} is live {count} times"


def vector_faults(index: Iterable[IndexManifestEntry], live: Mapping[str, DataFileMeta]) -> Iterator[str]:
    """Descriptions of deletion vectors of files that are not live, and of files with more than one vector.

    Args:
        index: the index files of a bucket.
        live: the live data files of the bucket by name.
    """
    holders: dict[str, str] = {}
    for entry in index:
        for place in entry.deletion_ranges or () if entry.index_type == DELETION_VECTORS else ():
            if place.data_file not in live:
                yield f"{entry.file_name} deletes rows of {place.data_file}, which is not live"
            if holders.setdefault(place.data_file, entry.file_name) != entry.file_name:
                yield f"{holders[place.data_file]} and {entry.file_name} both delete rows of {place.data_file}"


def unseen_vectors(index: Iterable[IndexManifestEntry], files: Iterable[DataFileMeta]) -> Iterator[str]:
    """Descriptions of deletion vectors of a table with data evolution that readers do not look for.

    Args:
        index: the index files of a bucket.
        files: the live data files of the bucket. Of those with columns of the same rows the oldest one has the vector.
    """
    hidden: dict[str, str] = {}
    for section in sections_by_row_id(file for file in files if file.first_row_id is not None):
        try:
            group = column_files(section)
        except CorruptFile:  # reported elsewhere
            continue
        if group.anchor is not None:
            hidden |= {file.file_name: group.anchor.file_name for file in group.wide if file is not group.anchor}
    for entry in index:
        for place in entry.deletion_ranges or () if entry.index_type == DELETION_VECTORS else ():
            if place.data_file in hidden:
                yield (
                    f"{entry.file_name} deletes rows of {place.data_file}, and readers look for them under "
                    f"{hidden[place.data_file]}, which has columns of the same rows and is older"
                )


def check_vector_file(
    table: Table, label: str, path: str, entry: IndexManifestEntry, rows: Mapping[str, int], findings: Findings
) -> None:
    """Reads all deletion vectors of an index file.

    Args:
        table: the table of the file.
        label: the name of the snapshot, for problems.
        path: the path of the file.
        entry: its entry in the index manifest.
        rows: the numbers of rows of the live data files, by name.
        findings: receives the problems.
    """
    ranges = entry.deletion_ranges or ()
    if entry.row_count != len(ranges):
        found = f"it is recorded with {entry.row_count} deletion vectors, {len(ranges)} are listed"
        findings.add(Rule.VECTORS, label, path, found)
    try:
        data = table.file_io.read_bytes(path)
    except FileNotFoundError:
        return  # reported as a missing file
    for place in ranges:
        start, end = range_to_read(place.offset, place.length)
        try:
            vector = decode_vector(data[max(start, 0) : end], f"of {place.data_file} in {path}", place.length)
        except PaimonError as error:
            findings.add(Rule.VECTORS, label, path, str(error))
            continue
        positions = deleted_positions(vector)
        if place.cardinality is not None and place.cardinality != len(positions):
            found = f"it deletes {len(positions)} rows of {place.data_file}, recorded are {place.cardinality}"
            findings.add(Rule.VECTORS, label, path, found)
        count = rows.get(place.data_file)
        if count is not None and len(positions) and positions[-1] >= count:
            found = f"it deletes row {positions[-1]} of {place.data_file}, which has {count} rows"
            findings.add(Rule.VECTORS, label, path, found)


@dataclass(frozen=True)
class OneRowTask:
    """A bucket in which no key may have two rows that no deletion vector deletes.

    Attributes:
        label: the name of the snapshot, for problems.
        where: the name of the bucket, for problems.
        partition, bucket: the bucket.
        files: the files above level 0.
        deletions: deletion vectors by data file name.
    """

    label: str
    where: str
    partition: bytes
    bucket: int
    files: tuple[DataFileMeta, ...]
    deletions: Mapping[str, DeletionFile]


def check_one_row(table: Table, task: OneRowTask, findings: Findings) -> None:
    """Merges the keys of files with overlapping key ranges, and reports keys that occur more than once.

    Files that overlap no other are not read.
    """
    keys = table.schema.key_fields
    spec = MergeSpec(keys, has_sequence=False, has_kind=False)
    count, example = 0, ""
    try:
        for batch in _repeated_in(table, task, spec):
            count += batch.num_rows
            example = example or named(keys, [batch.column(name)[0].as_py() for name in spec.key_names])
    except (StorageError, MemoryError):
        raise
    except PaimonError:  # a file that cannot be read is a problem of its own
        findings.note(f"{task.where}: not looked for keys with more than one row, because a file cannot be read")
    if count:
        found = f"{count} keys have more than one live row above level 0, where readers do not merge: {example}, ..."
        findings.add(Rule.ONE_ROW, task.label, task.where, found)


def _repeated_in(table: Table, task: OneRowTask, spec: MergeSpec) -> Iterator[pa.RecordBatch]:
    """One row of each key that has several."""
    if orders_otherwise(table.settings):
        with SortedChunks() as chunks, RunSpill() as spill:
            runs = chunks.sort(_live_keys(table, task, task.files), spec.key_names)
            fewer = spill.fewer(runs, spec.key_fields, spec.key_names, _BATCH_ROWS)
            yield from merge_runs(fewer, spec, spec.key_names, engine=repeated_keys)
        return
    for section in partition_sections(task.files, [field.type for field in spec.key_fields]):
        if len(section) > 1:
            found = [_live_keys(table, task, run.files) for run in section]
            yield from merge_runs(found, spec, spec.key_names, engine=repeated_keys)


def repeated_keys(window: Window, spec: MergeSpec, output: Sequence[str], ordered: bool) -> Iterator[pa.RecordBatch]:
    """An engine that returns one row of every key that has several."""
    groups = window.groups
    sizes = np.diff(groups.starts, append=len(groups.order))
    rows = pa.array(groups.order[groups.starts[sizes > 1]])
    if len(rows):
        yield pa.RecordBatch.from_arrays([window.column(name).take(rows) for name in output], names=list(output))


def _live_keys(table: Table, task: OneRowTask, files: Iterable[DataFileMeta]) -> Iterator[pa.RecordBatch]:
    directory = bucket_directory(table, task.partition, task.bucket)
    legacy = table.settings.files.orc_legacy_ltz
    for file in files:
        deletion = task.deletions.get(file.file_name)
        deleted = None if deletion is None else read_deleted_positions(table.file_io, deletion)
        schema = table.schemas.load(file.schema_id)
        stored = StoredFile(data_file_path(directory, file), file, schema, {}, deleted, legacy)
        yield from read_file(table.file_io, stored, FileRequest(table.schema.key_fields))


def check_one_partition(
    table: Table, label: str, snapshot: Snapshot, findings: Findings, keys_at_once: int = KEYS_AT_ONCE
) -> None:
    """Reads the keys of a snapshot as a reader does, and reports those that occur more than once.

    Args:
        table: a table whose primary key lacks a partition column.
        label: the name of the snapshot, for problems.
        snapshot: the snapshot to read.
        findings: receives the problems.
        keys_at_once: the most keys in memory; more are read several times, each time a share of their hashes.
    """
    shares = -(-snapshot.total_record_count // keys_at_once)
    count, example = 0, ""
    for share in range(shares):
        try:
            repeated = _repeated_keys(table, snapshot, share, shares)
        except (StorageError, MemoryError):
            raise
        except PaimonError as error:  # an unreadable file is reported as a problem itself
            findings.note(f"{label}: not looked for keys in more than one partition: {error}")
            return
        count += repeated.num_rows
        if repeated.num_rows and not example:
            fields = [table.schema.by_name[name] for name in table.schema.primary_keys]
            example = named(fields, [repeated.column(field.name)[0].as_py() for field in fields])
    if count:
        found = f"{count} keys live in more than one partition or bucket: {example}, ..."
        findings.add(Rule.ONE_ROW, label, table.location, found)


def _repeated_keys(table: Table, snapshot: Snapshot, share: int, shares: int) -> pa.Table:
    names = list(table.schema.primary_keys)
    fields = [table.schema.by_name[name] for name in names]
    then = replace(table, schema=table.schemas.load(snapshot.schema_id))
    scan = own_scan(then, [then.schema.by_name[name] for name in names], TRUE)
    reader, batches = scan.reader(), []
    for split in scan.plan_at(snapshot).splits:
        for batch in reader.read(split):
            mine = np.mod(hash_rows(batch, fields), shares) == share
            batches.append(batch if shares == 1 else batch.filter(pa.array(mine)))
    if not batches:
        return pa.table({name: pa.nulls(0) for name in names})
    counted = pa.Table.from_batches(batches).group_by(names).aggregate([([], "count_all")])
    return counted.filter(pc.greater(counted.column("count_all"), 1))
