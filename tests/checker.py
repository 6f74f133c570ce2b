"""Walks a whole table and verifies that what its metadata say is true: for every test that writes.

``check_table`` looks at all snapshots: every file named is there with its exact size, all counts add up, files are
sorted with one row a key and lie in the right bucket, levels above 0 do not overlap.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from paimon_spark.arrow.data_file import open_reader
from paimon_spark.arrow.types import arrow_schema, to_internal
from paimon_spark.file_io import FileIO
from paimon_spark.merge.key_order import sort_key_of
from paimon_spark.spec import options as o
from paimon_spark.spec.binary_row import decode_arity_row
from paimon_spark.spec.bucket import bucket_of
from paimon_spark.spec.index_manifest import decode_index_manifest
from paimon_spark.spec.manifest import DataFileMeta, FileKind, ManifestEntry, ManifestFileMeta
from paimon_spark.spec.manifest_codec import decode_manifest, decode_manifest_list
from paimon_spark.spec.paths import (
    bucket_path,
    data_file_path,
    file_format_of,
    index_file_path,
    manifest_path,
    partition_path,
)
from paimon_spark.spec.schema import KEY_PREFIX, SEQUENCE_NUMBER, SEQUENCE_NUMBER_ID, VALUE_KIND, VALUE_KIND_ID
from paimon_spark.spec.snapshot import Snapshot
from paimon_spark.spec.types import DataField, DataType, Root
from paimon_spark.store.table import Table, open_table


@dataclass(frozen=True)
class Report:
    """What was found: snapshots by id, live files and their rows in the latest one."""

    snapshots: tuple[int, ...]
    live_files: int
    live_rows: int


def check_table(location: str, options: dict[str, str] | None = None, contiguous: bool = True) -> Report:
    """Verifies the table.

    Args:
        location: the table directory.
        options: storage options.
        contiguous: whether snapshot ids must have no gap (they never have, unless something deleted snapshots).

    Raises:
        AssertionError: something is not as the metadata say.
    """
    table = open_table(location, options)
    ids = table.snapshots.ids()
    if contiguous and ids:
        assert ids == list(range(ids[0], ids[-1] + 1)), f"snapshot ids with a gap: {ids}"
    checker = _Checker(table)
    live: dict[object, ManifestEntry] = {}
    for snapshot_id in ids:
        live = checker.check_snapshot(table.snapshots.load(snapshot_id))
    for entry in live.values():
        checker.check_data_file(entry)
    checker.check_levels(live.values())
    names = Counter((e.partition, e.bucket, e.file.file_name) for e in live.values())
    assert all(count == 1 for count in names.values()), f"a file is live twice: {names.most_common(1)}"
    return Report(tuple(ids), len(live), sum(e.file.row_count for e in live.values()))


def named_files(location: str) -> set[str]:
    """The paths of all data and metadata files that some snapshot names."""
    table = open_table(location)
    checker = _Checker(table)
    for snapshot_id in table.snapshots.ids():
        checker.check_snapshot(table.snapshots.load(snapshot_id))
    return checker.named


class _Checker:
    def __init__(self, table: Table) -> None:
        self.table = table
        self.io: FileIO = table.file_io
        self.named: set[str] = set()
        self.sizes: dict[str, int] = {}
        self.listed: set[str] = set()
        self.partition_types = [f.type for f in table.schema.partition_fields]

    def check_snapshot(self, snapshot: Snapshot) -> dict[object, ManifestEntry]:
        """The live files of the snapshot, by identity."""
        base = self.manifests(snapshot.base_manifest_list, snapshot.base_manifest_list_size)
        delta = self.manifests(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
        live: dict[object, ManifestEntry] = {}
        before = 0
        for metas in (base, delta):
            before = sum(e.file.row_count for e in live.values())
            for meta in metas:
                for entry in self.entries(meta):
                    if entry.kind == FileKind.ADD:
                        assert entry.identity not in live, f"{entry.file.file_name} is added twice"
                        live[entry.identity] = entry
                    else:
                        assert live.pop(entry.identity, None), f"{entry.file.file_name} is deleted, but not there"
        total = sum(e.file.row_count for e in live.values())
        assert snapshot.total_record_count == total, (
            f"snapshot {snapshot.id}: total {snapshot.total_record_count} {total}"
        )
        assert snapshot.delta_record_count == total - before, f"snapshot {snapshot.id}: delta"
        for entry in live.values():
            for path in self.paths(entry):
                assert self.size(path) is not None, f"snapshot {snapshot.id} names {path}, which is not there"
            assert self.size(self.path(entry)) == entry.file.file_size, f"{self.path(entry)} has another size"
        self.check_index_files(snapshot, live)
        return live

    def check_index_files(self, snapshot: Snapshot, live: dict[object, ManifestEntry]) -> None:
        if snapshot.index_manifest is None:
            return
        path = manifest_path(self.table.location, snapshot.index_manifest)
        self.named.add(path)
        names = {e.file.file_name for e in live.values()}
        for entry in decode_index_manifest(self.io.read_bytes(path), path):
            directory = self.directory(entry.partition, entry.bucket)
            file = index_file_path(self.table.location, directory, entry, self.table.options)
            self.named.add(file)
            assert self.size(file) == entry.file_size, f"the index file {file} is missing or has another size"
            for deletion in entry.deletion_ranges or ():
                assert deletion.data_file in names, f"a deletion vector of {deletion.data_file}, which is not live"

    def manifests(self, name: str, size: int | None) -> list[ManifestFileMeta]:
        path = manifest_path(self.table.location, name)
        self.named.add(path)
        data = self.io.read_bytes(path)
        assert size is None or len(data) == size, f"{path} has another size"
        return decode_manifest_list(data, path)

    def entries(self, meta: ManifestFileMeta) -> list[ManifestEntry]:
        path = manifest_path(self.table.location, meta.file_name)
        self.named.add(path)
        data = self.io.read_bytes(path)
        assert len(data) == meta.file_size, f"{path} has another size"
        entries = decode_manifest(data, path)
        kinds = Counter(e.kind for e in entries)
        assert kinds[FileKind.ADD] == meta.num_added_files
        assert kinds[FileKind.DELETE] == meta.num_deleted_files
        if meta.min_bucket is not None:
            assert (meta.min_bucket, meta.max_bucket) == (
                min(e.bucket for e in entries),
                max(e.bucket for e in entries),
            )
            levels = [e.file.level for e in entries]
            assert (meta.min_level, meta.max_level) == (min(levels), max(levels))
        self.check_partition_stats(meta, entries)
        return entries

    def check_partition_stats(self, meta: ManifestFileMeta, entries: list[ManifestEntry]) -> None:
        rows = [decode_arity_row(e.partition, self.partition_types) for e in entries]
        low = decode_arity_row(meta.partition_stats.min_values, self.partition_types)
        high = decode_arity_row(meta.partition_stats.max_values, self.partition_types)
        for column, data_type in enumerate(self.partition_types):
            order = sort_key_of((data_type,))
            keys = [order((row[column],)) for row in rows if row[column] is not None]
            if keys:
                assert (order((low[column],)), order((high[column],))) == (min(keys), max(keys))
            assert (meta.partition_stats.null_counts or ())[column] == len(rows) - len(keys)

    def directory(self, partition: bytes, bucket: int) -> str:
        options = self.table.options
        path = partition_path(
            decode_arity_row(partition, self.partition_types),
            self.table.schema.partition_fields,
            options.value(o.PARTITION_DEFAULT_NAME),
            options.value(o.PARTITION_LEGACY_NAME),
        )
        return bucket_path(self.table.location, path, bucket, options)

    def path(self, entry: ManifestEntry) -> str:
        return data_file_path(self.directory(entry.partition, entry.bucket), entry.file)

    def paths(self, entry: ManifestEntry) -> Iterator[str]:
        path = self.path(entry)
        self.named.add(path)
        yield path
        for extra in entry.file.extra_files:
            yield f"{path.rpartition('/')[0]}/{extra}"

    def size(self, path: str) -> int | None:
        directory = path.rpartition("/")[0]
        if directory not in self.listed:
            self.listed.add(directory)
            self.sizes.update((s.path, s.size) for s in self.io.list(directory))
        return self.sizes.get(path)

    def check_data_file(self, entry: ManifestEntry) -> None:
        """Rows, keys, sequence numbers, bucket of one file against its metadata."""
        file, path = entry.file, self.path(entry)
        schema = self.table.schemas.load(file.schema_id)
        with self.io.open_input(path, file.file_size) as source:
            reader = open_reader(source, file_format_of(file.file_name), path)
            assert reader.row_count == file.row_count, f"{path}: row count"
            if not schema.primary_keys:
                return
            thin = KEY_PREFIX + schema.key_fields[0].name not in reader.names
            keys = [f if thin else DataField(f.id, KEY_PREFIX + f.name, f.type) for f in schema.key_fields]
            fields = [
                *keys,
                DataField(SEQUENCE_NUMBER_ID, SEQUENCE_NUMBER, DataType(Root.BIGINT)),
                DataField(VALUE_KIND_ID, VALUE_KIND, DataType(Root.TINYINT)),
            ]
            batches = [batch for _, batch in reader.read(fields, 65536)]
            rows = pa.Table.from_batches(batches, arrow_schema(fields))
        columns = [[to_internal(value) for value in rows.column(f.name)] for f in keys]
        order = sort_key_of(tuple(f.type for f in keys))
        found = [order(key) for key in zip(*columns, strict=True)]
        assert all(a < b for a, b in itertools.pairwise(found)), f"{path}: keys are not sorted and unique"
        types = [f.type for f in keys]
        assert order(decode_arity_row(file.min_key, types)) == found[0], f"{path}: min key"
        assert order(decode_arity_row(file.max_key, types)) == found[-1], f"{path}: max key"
        sequences = rows.column(SEQUENCE_NUMBER).to_pylist()
        assert (file.min_sequence_number, file.max_sequence_number) == (min(sequences), max(sequences)), (
            f"{path}: sequence"
        )
        kinds = Counter(rows.column(VALUE_KIND).to_pylist())
        if file.delete_row_count is not None:
            assert file.delete_row_count == kinds[1] + kinds[3], f"{path}: delete rows"
        self.check_bucket(entry, list(zip(*columns, strict=True)))

    def check_bucket(self, entry: ManifestEntry, keys: list[tuple[object, ...]]) -> None:
        """Only where the bucket key is (a part of) the key that was read."""
        schema = self.table.schemas.load(entry.file.schema_id)
        if entry.total_buckets <= 0:
            return
        names = self.table.options.value(o.BUCKET_KEY) or schema.trimmed_primary_keys
        positions = [schema.trimmed_primary_keys.index(name) for name in names]
        types = [schema.by_name[name].type for name in names]
        function = self.table.options.value(o.BUCKET_FUNCTION)
        for key in keys[:: max(1, len(keys) // 50)]:
            bucket = bucket_of([key[p] for p in positions], types, entry.total_buckets, function)
            assert bucket == entry.bucket, f"{self.path(entry)}: the key {key} belongs to bucket {bucket}"

    def check_levels(self, live: Iterable[ManifestEntry]) -> None:
        """Files of one level above 0 in a bucket share no key."""
        schema = self.table.schema
        if not schema.primary_keys:
            return
        types = [f.type for f in schema.key_fields]
        order = sort_key_of(tuple(types))
        levels: dict[object, list[DataFileMeta]] = {}
        for entry in live:
            if entry.file.level > 0:
                levels.setdefault((entry.partition, entry.bucket, entry.file.level), []).append(entry.file)
        for files in levels.values():
            ranges = sorted(tuple(order(decode_arity_row(key, types)) for key in (f.min_key, f.max_key)) for f in files)
            assert all(a[1] < b[0] for a, b in itertools.pairwise(ranges)), "files of one level overlap"
