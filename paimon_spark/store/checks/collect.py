"""Turns the states of a table into jobs: every file is checked once, every bucket when it has changed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from paimon_spark.errors import CorruptFile, PaimonError
from paimon_spark.file_io import FileIO
from paimon_spark.file_io.locate import is_same_store, plain_location
from paimon_spark.format.bucket import Partition, Place, decode_hashes, number_words
from paimon_spark.format.managed_blobs import LIST_SUFFIX, decode_packs
from paimon_spark.format.manifest import DataFileMeta, IndexManifestEntry, ManifestEntry
from paimon_spark.format.options.engines import MergeEngine
from paimon_spark.format.options.option import DATA_FORMATS
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import data_file_path, extra_file_path, file_format_of, index_file_path, statistics_path
from paimon_spark.format.rules.key_clustering import orders_otherwise
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.merge.keys.row_ids import is_blob_file
from paimon_spark.store.checks.buckets import (
    OneRowTask,
    bucket_counts,
    check_one_partition,
    check_one_row,
    check_vector_file,
    double_files,
    level_faults,
    unseen_vectors,
    vector_faults,
)
from paimon_spark.store.checks.data_files import FileTask, check_changed_types, check_data_file
from paimon_spark.store.checks.global_index_files import check_global_index_file, check_search_file, range_faults
from paimon_spark.store.checks.report import KEPT, Findings, Rule
from paimon_spark.store.checks.snapshots import SnapshotState, evolved_faults, place_in, row_id_faults
from paimon_spark.store.checks.value_checks import StoredStatistics
from paimon_spark.store.global_index.index_files import can_open
from paimon_spark.store.global_index.search_files import SEARCH_KINDS
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.live_files import Identity
from paimon_spark.store.metadata.manifest_files import HASH
from paimon_spark.store.metadata.messages import DELETION_VECTORS
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.read.splits import DeletionFile

_COMPACTED_CHANGELOG = ".cc-"
_INDEX_FILE_COST = 1 << 20  # the weight of reading an index file, in bytes of a job


@dataclass(frozen=True)
class Job:
    """Something to read.

    Attributes:
        weight: the approximate number of bytes.
        run: reads it.
        order: jobs run in the order of these numbers.
    """

    weight: int
    run: Callable[[], None]
    order: int = -1


@dataclass
class Collector:
    """Takes the states of a table in order; reports problems in their metadata, and makes jobs of the files to read.

    Attributes:
        table: the table.
        findings: receives the problems.
        reads_files: whether data files are opened.
        statistics: of the data files, with which all their columns are compared; None: only keys are read.
        jobs: the jobs so far.
        files: all data and changelog files so far, by path.
        opened: the number of files that the jobs open.
    """

    table: Table
    findings: Findings
    reads_files: bool
    statistics: StoredStatistics | None
    jobs: list[Job] = field(default_factory=list)
    files: dict[str, DataFileMeta] = field(default_factory=dict)
    opened: int = 0
    _index_files: set[str] = field(default_factory=set)
    _hash_files: dict[Place, str] = field(default_factory=dict)
    _compared: dict[Place, object] = field(default_factory=dict)
    _directories: dict[Place, str] = field(default_factory=dict)
    _counts: dict[Partition, int] = field(default_factory=dict)
    _lost: dict[str, tuple[Place, Identity]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._storage = Storage(self.table.file_io)
        self._hashes = HashFiles(self.table.file_io)

    def take(self, state: SnapshotState) -> None:
        """The next state of the table."""
        if not state.follows:
            self._hash_files.clear()
        for path, (place, identity) in self._lost.items():
            if identity in state.live.get(place, ()):
                self.findings.need(path, state.label)
        for entry in state.added:
            self._take_file(state.label, entry, self._hashes_of(state, entry))
        self.take_changelog(state.label, state.changelog)
        for place in state.changed:
            self._take_bucket(state, place)
        self._compare_counts(state)
        if state.added and self.table.schema.tracking_fields:
            evolves = self.table.settings.data_evolution_enabled  # several files have a row
            for found in evolved_faults(state) if evolves else row_id_faults(state):
                self.findings.add(Rule.ROW_IDS, state.label, state.label, found)
        for found in range_faults((e for entries in state.index.values() for e in entries), state.snapshot.next_row_id):
            self.findings.add(Rule.GLOBAL_INDEX, state.label, state.label, found)
        if state.snapshot.statistics is not None:
            path = statistics_path(self.table.location, state.snapshot.statistics)
            self._check_stored(state.label, path, None)

    def take_changelog(self, label: str, entries: Iterable[ManifestEntry]) -> None:
        """Takes the changelog files of a snapshot; label is its name, for problems."""
        for entry in entries:
            self._take_file(label, entry, None, is_changelog=True)

    def finish(self, label: str, snapshot: Snapshot) -> None:
        """Ends with the last state, which is that of the snapshot: no key may be in two buckets or partitions."""
        if self.table.bucket_mode == BucketMode.KEY_DYNAMIC and self.reads_files:
            weight = sum(file.file_size for file in self.files.values())
            self._add_job(weight, partial(check_one_partition, self.table, label, snapshot, self.findings))
        # Keys are only added to the HASH index of a bucket, so checking the last state is enough.
        partitions: dict[Partition, list[str]] = {}
        for (partition, _), path in self._hash_files.items():
            partitions.setdefault(partition, []).append(path)
        for partition, paths in partitions.items():
            where = describe_partition(self.table, partition)
            self._add_job(_INDEX_FILE_COST * len(paths), partial(self._compare_buckets, label, where, paths))

    def take_changed(self, label: str, live: Iterable[ManifestEntry]) -> None:
        """Takes the live files of the last state again, if columns have got other types since they were written."""
        if self.statistics is None:
            return
        for entry in live:
            path = data_file_path(self._directory(place_in(entry)), entry.file)
            is_read = self.reads_files and path in self.files and file_format_of(path) in DATA_FORMATS
            if is_read and entry.file.schema_id != self.table.schema.id:
                task = FileTask(label, path, entry)
                self._add_job(entry.file.file_size, partial(check_changed_types, self.table, task, self.findings))

    def _compare_counts(self, state: SnapshotState) -> None:
        """The files of a partition name one number of buckets. It is looked at where a file names a new one."""
        named: dict[Partition, int] = {}
        for entry in state.added:
            partition, _ = place_in(entry)
            if entry.total_buckets > 0 and self._counts.get(partition) != entry.total_buckets:
                named[partition] = self._counts[partition] = entry.total_buckets
        for partition, counts in bucket_counts(state.live, named).items() if named else ():
            if len(counts) > 1:
                found = (
                    f"its files name {number_words(counts)} buckets, so a key may have rows in two of them: a job "
                    "wrote on while another one changed the number"
                )
                self.findings.add(Rule.BUCKET, state.label, describe_partition(self.table, partition), found)

    def _compare_buckets(self, label: str, where: str, paths: Iterable[str]) -> None:
        check_disjoint(label, where, map(self._hashes.find, paths), self.findings)

    def _add_job(self, weight: int, run: Callable[[], None], order: int = -1) -> None:
        self.jobs.append(Job(weight, run, order))

    # ---------------------------------------------------------------------------------------------------- data files

    def _take_file(self, label: str, entry: ManifestEntry, hashes: str | None, is_changelog: bool = False) -> None:
        meta, directory = entry.file, self._directory(place_in(entry))
        path = data_file_path(directory, meta)
        if _COMPACTED_CHANGELOG in meta.file_name:
            self.findings.note("changelog files that many buckets share (.cc-) are not looked at")
            return
        for name in meta.extra_files:
            extra = extra_file_path(directory, meta, name)
            if not self._check_stored(label, extra, None):
                self._lose(extra, entry)
            elif extra.endswith(LIST_SUFFIX):
                self._take_packs(label, extra)
        known = self.files.get(path)
        if known is not None:
            if _content(meta) != _content(known):
                found = "two manifests name it with different rows, keys or sizes"
                self.findings.add(Rule.LIVE_FILES, label, path, found)
            return
        self.files[path] = meta
        is_there = self._check_stored(label, path, meta.file_size)
        if not is_there:
            self._lose(path, entry)
        if not (is_there and self.reads_files):
            return
        if is_blob_file(meta) and self.statistics is None:
            return  # its column says nothing of where a row belongs
        if file_format_of(meta.file_name) not in DATA_FORMATS and not is_blob_file(meta):
            self.findings.note(f"data files of the format {file_format_of(meta.file_name)} are not opened")
            return
        self.opened += 1
        find = None if hashes is None else partial(self._hashes.find, hashes)
        recorded = None if self.statistics is None else partial(self.statistics.find, meta.file_name)
        task = FileTask(label, path, entry, is_changelog, find, recorded)
        order = -1 if self.statistics is None else self.statistics.order(meta.file_name)
        self._add_job(meta.file_size, partial(check_data_file, self.table, task, self.findings), order)

    def _take_packs(self, label: str, path: str) -> None:
        """The packs in the list of a data file are there."""
        try:
            packs = decode_packs(self.table.file_io.read_bytes(path), path)
        except CorruptFile as error:
            self.findings.add(Rule.STORED, label, path, str(error))
            return
        for pack in packs:
            if is_same_store(pack.path, self.table.location):
                self._check_stored(label, plain_location(pack.path), None)

    def _lose(self, path: str, entry: ManifestEntry) -> None:
        """Notes a file that is lost or cut, so that the states that need it are reported; of many, the first ones."""
        if len(self._lost) < KEPT:
            self._lost.setdefault(path, (place_in(entry), entry.identity))

    def _check_stored(self, label: str, path: str, size: int | None) -> bool:
        found = self._storage.wrong_size(path, size)
        if found is not None:
            self.findings.add(Rule.STORED, label, path, found)
        return found is None

    def _directory(self, place: Place) -> str:
        if place not in self._directories:
            self._directories[place] = bucket_directory(self.table, *place)
        return self._directories[place]

    # ------------------------------------------------------------------------------------------------------- buckets

    def _take_bucket(self, state: SnapshotState, place: Place) -> None:
        files = [entry.file for entry in state.live.get(place, {}).values()]
        index = state.index.get(place, ())
        settings = self._options(state)
        faults = [(Rule.LIVE_FILES, found) for found in double_files(files)]
        if self.table.schema.primary_keys and not orders_otherwise(settings):
            faults += self._level_faults(files)
        if settings.deletion_vectors_enabled:
            faults += [(Rule.VECTORS, found) for found in vector_faults(index, {f.file_name: f for f in files})]
            if settings.data_evolution_enabled:
                faults += [(Rule.VECTORS, found) for found in unseen_vectors(index, files)]
        for rule, found in faults:
            self.findings.add(rule, state.label, self._where(place), found)
        for entry in index:
            self._take_index_file(state, place, entry, files)
        if self.table.bucket_mode == BucketMode.HASH_DYNAMIC:
            self._take_hashes(state, place, has_files=bool(files))
        if self.reads_files and not faults:
            self._take_one_row(state, place, files, settings)

    def _level_faults(self, files: Iterable[DataFileMeta]) -> list[tuple[Rule, str]]:
        key_types = [field.type for field in self.table.schema.key_fields]
        try:
            return [(Rule.LEVELS, found) for found in level_faults(files, key_types)]
        except PaimonError as error:
            return [(Rule.KEY_RANGE, f"a recorded key cannot be read: {error}")]

    def _where(self, place: Place) -> str:
        return f"{describe_partition(self.table, place[0])}, bucket {place[1]}"

    def _options(self, state: SnapshotState) -> TableSettings:
        """The options when the snapshot was made."""
        try:
            return TableSettings(self.table.schemas.load(state.snapshot.schema_id).options)
        except CorruptFile:  # reported already
            return self.table.settings

    def _take_index_file(
        self, state: SnapshotState, place: Place, entry: IndexManifestEntry, files: Iterable[DataFileMeta]
    ) -> None:
        path = self._index_path(place, entry)
        if path in self._index_files:
            return
        self._index_files.add(path)
        if not self._check_stored(state.label, path, entry.file_size):
            return
        if entry.index_type == DELETION_VECTORS:
            rows = {file.file_name: file.row_count for file in files}
            check = partial(check_vector_file, self.table, state.label, path, entry, rows, self.findings)
            self._add_job(entry.file_size, check)
        elif entry.index_type == HASH:
            check_hash_file(state.label, path, entry, self.findings)
        elif can_open(entry):
            check = partial(check_global_index_file, self.table, state.label, path, entry, self.findings)
            self._add_job(entry.file_size, check)
        elif entry.index_type in SEARCH_KINDS:
            check = partial(check_search_file, self.table, state.label, path, entry, self.findings)
            self._add_job(entry.file_size, check)
        else:
            self.findings.note(f"index files of the type {entry.index_type} are not opened")

    def _index_path(self, place: Place, entry: IndexManifestEntry) -> str:
        return index_file_path(self.table.location, self._directory(place), entry, self.table.settings)

    # ------------------------------------------------------------------------------------------------ HASH index files

    def _hash_path(self, state: SnapshotState, place: Place) -> str | None:
        found = [entry for entry in state.index.get(place, ()) if entry.index_type == HASH]
        return self._index_path(place, found[0]) if found else None

    def _hashes_of(self, state: SnapshotState, entry: ManifestEntry) -> str | None:
        return self._hash_path(state, place_in(entry))

    def _take_hashes(self, state: SnapshotState, place: Place, has_files: bool) -> None:
        new, old = self._hash_path(state, place), self._hash_files.pop(place, None)
        if new is None:
            if has_files:
                self.findings.add(Rule.HASH_INDEX, state.label, self._where(place), "it has files and no HASH index")
            return
        self._hash_files[place] = new
        if old is None or old == new or state.snapshot.commit_kind == CommitKind.OVERWRITE or not self.reads_files:
            return
        self._add_job(_INDEX_FILE_COST, partial(self._compare_hashes, state.label, old, new))

    def _compare_hashes(self, label: str, old: str, new: str) -> None:
        check_growth(label, new, self._hashes.find(old), self._hashes.find(new), self.findings)

    # ----------------------------------------------------------------------------------------------- one row of a key

    def _take_one_row(
        self, state: SnapshotState, place: Place, files: Iterable[DataFileMeta], settings: TableSettings
    ) -> None:
        """For tables whose readers skip level 0 and do not merge; only if files above level 0 have changed."""
        has_vectors = settings.deletion_vectors_enabled
        if not self.table.schema.primary_keys:
            return
        if not has_vectors and settings.merge_engine != MergeEngine.FIRST_ROW:
            return
        above = tuple(file for file in files if file.level > 0)
        vectors = [e for e in state.index.get(place, ()) if e.index_type == DELETION_VECTORS and has_vectors]
        compared = (frozenset(f.file_name for f in above), frozenset(e.file_name for e in vectors))
        if len(above) < 2 or self._compared.get(place) == compared:
            return
        self._compared[place] = compared
        deletions = {
            r.data_file: DeletionFile(self._index_path(place, entry), r.offset, r.length, r.cardinality)
            for entry in vectors
            for r in entry.deletion_ranges or ()
        }
        task = OneRowTask(state.label, self._where(place), *place, above, deletions)
        weight = sum(file.file_size for file in above)
        self._add_job(weight, partial(check_one_row, self.table, task, self.findings))


def _content(meta: DataFileMeta) -> tuple[object, ...]:
    """The metadata of a file that do not depend on its level, its sidecars or the ids of its rows."""
    return meta.file_size, meta.row_count, meta.min_key, meta.max_key, meta.schema_id


_KEPT_HASHES = 1 << 24  # 64 MB

Hashes = npt.NDArray[np.int32]


class HashFiles:
    """Reads HASH index files and keeps those read last; safe to use from several threads."""

    def __init__(self, file_io: FileIO) -> None:
        self._file_io = file_io
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Hashes] = OrderedDict()

    def find(self, path: str) -> Hashes | None:
        """The hashes of a file, ascending, each once; None if it is missing or damaged, which is reported elsewhere."""
        with self._lock:
            if path in self._kept:
                self._kept.move_to_end(path)
                return self._kept[path]
        try:
            hashes = np.unique(decode_hashes(self._file_io.read_bytes(path), path))
        except (CorruptFile, FileNotFoundError):
            return None
        with self._lock:
            self._kept[path] = hashes
            while len(self._kept) > 1 and sum(map(len, self._kept.values())) > _KEPT_HASHES:
                self._kept.popitem(last=False)
        return hashes


def check_hash_file(label: str, path: str, entry: IndexManifestEntry, findings: Findings) -> None:
    """Checks, by the size of the file, that it has as many hashes as the index manifest records."""
    if entry.file_size != 4 * entry.row_count:
        found = f"it is recorded with {entry.row_count} hashes of 4 bytes and {entry.file_size} bytes"
        findings.add(Rule.HASH_INDEX, label, path, found)


def check_growth(label: str, path: str, old: Hashes | None, new: Hashes | None, findings: Findings) -> None:
    """Checks that a HASH index has only grown: a key that is written again must be in the same bucket."""
    if old is None or new is None:
        return
    lost = len(np.setdiff1d(old, new, assume_unique=True))
    if lost:
        findings.add(Rule.HASH_INDEX, label, path, f"it does not know {lost} hashes that the file it replaces knew")


def check_disjoint(label: str, where: str, buckets: Iterable[Hashes | None], findings: Findings) -> None:
    """Checks that no two buckets of a partition have the same hash; holds all hashes of the partition in memory."""
    known = [hashes for hashes in buckets if hashes is not None]
    if len(known) < 2:
        return
    _, counts = np.unique(np.concatenate(known), return_counts=True)
    shared = int((counts > 1).sum())
    if shared:
        findings.add(Rule.HASH_INDEX, label, where, f"{shared} hashes are in the HASH index of more than one bucket")


class Storage:
    """The sizes of the files of a table; safe to use from several threads."""

    def __init__(self, file_io: FileIO) -> None:
        self._file_io = file_io
        self._sizes: dict[str, dict[str, int]] = {}
        self._lock = threading.Lock()

    def size(self, path: str) -> int | None:
        """The size of a file in bytes; None if it does not exist."""
        directory, _, name = path.rpartition("/")
        with self._lock:
            if directory not in self._sizes:
                self._sizes[directory] = {s.name: s.size for s in self._file_io.list(directory) if not s.is_directory}
            return self._sizes[directory].get(name)

    def wrong_size(self, path: str, recorded: int | None) -> str | None:
        """A description of what is wrong with the size of a file, None if nothing; recorded None allows any size."""
        found = self.size(path)
        if found is None:
            return "the file does not exist"
        if recorded is not None and found != recorded:
            return f"the file has {found} bytes, recorded are {recorded}"
        return None
