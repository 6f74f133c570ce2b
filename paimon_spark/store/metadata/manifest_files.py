"""Reads and writes manifests, manifest lists and index manifests (format section 4; Java: ManifestFile and others).

The index files of the next snapshot (format sections 4.3, 4.4; Java: IndexManifestFileHandler).
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from paimon_spark.errors import CommitConflict, MissingFile
from paimon_spark.file_io import FileIO, Memory, identity_of, is_far
from paimon_spark.format.manifest import FileKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta
from paimon_spark.format.manifests.codec import check_size, decode_manifest_list, encode_manifest, encode_manifest_list
from paimon_spark.format.manifests.columns import ManifestColumns, columns_of_entries, decode_manifests
from paimon_spark.format.manifests.index_manifest import decode_index_manifest, encode_index_manifest
from paimon_spark.format.manifests.join import held_bytes, join_columns, join_manifests, split_columns
from paimon_spark.format.options.option import MB
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import manifest_path
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.messages import DELETION_VECTORS
from paimon_spark.store.metadata.partition_stats import joined_stats, partition_stats
from paimon_spark.store.metadata.remembered import memory_in_use, remember, remembered, remembered_nearby
from paimon_spark.store.storage.files import discard, with_way_out
from paimon_spark.store.storage.parallel import FAR_THREADS, READ_THREADS, map_parallel

WRITE_THREADS = 8
WAITING_BYTES = 32 * MB
_META_BYTES = 3500  # of a record of a list in memory, about
_NAME_BYTES = 500  # of the name under which a manifest is remembered, about
_FEW = 100
"""Entries of a new manifest that are made columns at once; more are decoded in less time."""
_LAST = "joined"  # names no manifest
HASH = "HASH"
_WAY_OUT = (
    "restore it from a backup, or read an older snapshot or a tag that does not need it: `paimon-spark check` tells "
    "which do"
)


def read_manifest_list(file_io: FileIO, table: str, name: str, size: int | None = None) -> list[ManifestFileMeta]:
    """The manifests named by one manifest list, in its order.

    Args:
        file_io: the store of the table.
        table: the table directory.
        name: file name of the list, as a snapshot holds it.
        size: its recorded size in bytes, checked if known.

    Raises:
        CorruptFile: the list is missing (MissingFile), of another size, or not a manifest list.
        UnsupportedFeature: a record version this release does not know.
    """
    path = manifest_path(table, name)

    def read() -> tuple[list[ManifestFileMeta], int]:
        data = _read(file_io, path, "manifest list")
        check_size(data, size, path)
        with with_way_out(_WAY_OUT):
            found = decode_manifest_list(data, path)
        return found, len(found) * _META_BYTES

    return list(remembered(file_io, _sized_name(path, size), read))


def _sized_name(path: str, size: int | None) -> str:
    """The name under which what a manifest or a manifest list holds is remembered."""
    return f"{path}?{size}"


def read_data_manifests(file_io: FileIO, table: str, snapshot: Snapshot) -> list[ManifestFileMeta]:
    """All manifests of the live files of a snapshot: those of its base list, then those of its delta list.

    Raises:
        CorruptFile: a list is missing (MissingFile), of another size, or not a manifest list.
        UnsupportedFeature: a record version this release does not know.
    """
    base = (snapshot.base_manifest_list, snapshot.base_manifest_list_size)
    return read_manifest_lists(
        file_io, table, [base, (snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)]
    )


def read_manifest_lists(file_io: FileIO, table: str, lists: Iterable[tuple[str, int | None]]) -> list[ManifestFileMeta]:
    """The manifests named by manifest lists, in their order.

    Args:
        lists: (name, size) of each, as of read_manifest_list.
    """

    def read(one: tuple[str, int | None]) -> list[ManifestFileMeta]:
        return read_manifest_list(file_io, table, *one)

    return list(chain.from_iterable(map_parallel(read, lists) if is_far(table) else map(read, lists)))


def read_manifest_bytes(file_io: FileIO, table: str, metas: Sequence[ManifestFileMeta]) -> list[tuple[str, bytes]]:
    """(path, content) of manifests, in order, read by several threads.

    Raises:
        CorruptFile: a manifest is missing (MissingFile), or its size is not the one in its list.
    """

    def read(meta: ManifestFileMeta) -> tuple[str, bytes]:
        path = manifest_path(table, meta.file_name)
        data = _read(file_io, path, "manifest")
        check_size(data, meta.file_size, path)
        return path, data

    return map_parallel(read, metas, FAR_THREADS if is_far(table) else READ_THREADS)


def read_manifests(file_io: FileIO, table: str, metas: Sequence[ManifestFileMeta]) -> list[ManifestEntry]:
    """The entries of manifests in order, not folded: both ADD and DELETE.

    Raises:
        CorruptFile: a manifest is missing (MissingFile), of another size than in its list, or damaged.
        UnsupportedFeature: a record version this release does not know.
    """
    columns = read_manifest_columns(file_io, table, metas)
    return columns.entries(range(len(columns)))


def read_manifest_columns(file_io: FileIO, table: str, metas: Sequence[ManifestFileMeta]) -> ManifestColumns:
    """The entries of manifests in order, not folded, as columns; faster when only few of many entries are used.

    Raises:
        CorruptFile: a manifest is missing (MissingFile), of another size than in its list, or damaged.
        UnsupportedFeature: a record version this release does not know.
    """
    memory = memory_in_use(table)
    if memory is None:
        return decode_manifests(read_manifest_bytes(file_io, table, metas))
    identity = identity_of(file_io)
    names = [(identity, _sized_name(manifest_path(table, meta.file_name), meta.file_size)) for meta in metas]
    # A commit adds manifests behind those that were read before it, so what was joined last is a part of the next.
    last = (identity, manifest_path(table, _LAST))
    joined: tuple[Sequence[Hashable], ManifestColumns] | None = memory.find(last)
    if joined is None or names[: len(joined[0])] != joined[0]:
        found = join_columns(_manifest_parts(memory, file_io, table, names, metas))
    else:
        begun = len(joined[0])
        found = join_columns([joined[1], *_manifest_parts(memory, file_io, table, names[begun:], metas[begun:])])
    if len(names) > 1 and (joined is None or found is not joined[1]):
        memory.forget(last)
        memory.keep(last, (names, found), held_bytes(found) + _NAME_BYTES * len(names))
    return found


def _manifest_parts(
    memory: Memory, file_io: FileIO, table: str, names: Sequence[Hashable], metas: Sequence[ManifestFileMeta]
) -> list[ManifestColumns]:
    """The entries of manifests in order, from the memory if they are there under their names, else kept there."""
    known: dict[Hashable, ManifestColumns] = {name: found for name in names if (found := memory.find(name)) is not None}
    new = {name: meta for name, meta in zip(names, metas, strict=True) if name not in known}
    if new:
        read = decode_manifests(read_manifest_bytes(file_io, table, list(new.values())))  # all at once, which is faster
        for name, part in zip(new, split_columns(read), strict=True):
            memory.keep(name, part, held_bytes(part))
            known[name] = part
        if len(new) == len(metas):
            return [read]
    return [known[name] for name in names]


def planned_manifest_columns(file_io: FileIO, table: str, metas: Sequence[ManifestFileMeta]) -> ManifestColumns:
    """As read_manifest_columns, for plans: a session plans the same state many times, and decodes it once.

    Nobody may change the arrays of the result.
    """
    if memory_in_use(table) is not None:
        return read_manifest_columns(file_io, table, metas)

    def read() -> tuple[ManifestColumns, int]:
        found = read_manifest_columns(file_io, table, metas)
        return found, held_bytes(found)

    paths = [manifest_path(table, meta.file_name) for meta in metas]
    return remembered_nearby(file_io, paths, tuple(meta.file_size for meta in metas), read)


def read_index_manifest(file_io: FileIO, table: str, name: str | None) -> list[IndexManifestEntry]:
    """The index files that an index manifest names; none for None, the name in a snapshot without index files.

    Raises:
        CorruptFile: the index manifest is missing (MissingFile) or damaged.
        UnsupportedFeature: a record version this release does not know.
    """
    if name is None:
        return []
    path = manifest_path(table, name)

    def read() -> tuple[list[IndexManifestEntry], int]:
        data = _read(file_io, path, "index manifest")
        with with_way_out(_WAY_OUT):
            found = decode_index_manifest(data, path)
        return found, len(found) * _META_BYTES

    return list(remembered(file_io, path, read))


def read_global_indexes(file_io: FileIO, table: str, name: str | None) -> list[IndexManifestEntry]:
    """The files of all indexes of the whole table that an index manifest names; for errors see read_index_manifest."""
    return [entry for entry in read_index_manifest(file_io, table, name) if entry.global_index is not None]


def _read(file_io: FileIO, path: str, what: str) -> bytes:
    try:
        return file_io.read_bytes(path)
    except FileNotFoundError:
        raise MissingFile(
            f"cannot read the {what} {path}: it does not exist. If the snapshot that names it has just expired, "
            "read a newer one; else the table is damaged and the file must be restored",
            path,
        ) from None


def joined_meta(
    metas: Sequence[ManifestFileMeta], name: str, size: int, partition_fields: Sequence[DataField]
) -> ManifestFileMeta:
    """The record in a manifest list for a manifest that holds the entries of all these."""

    def common(pick: Callable[[Iterable[int]], int], attribute: str) -> int | None:
        values = [getattr(meta, attribute) for meta in metas]
        return None if None in values else pick(values)

    return ManifestFileMeta(
        file_name=name,
        file_size=size,
        num_added_files=sum(meta.num_added_files for meta in metas),
        num_deleted_files=sum(meta.num_deleted_files for meta in metas),
        partition_stats=joined_stats([meta.partition_stats for meta in metas], partition_fields),
        schema_id=max(meta.schema_id for meta in metas),
        min_bucket=common(min, "min_bucket"),
        max_bucket=common(max, "max_bucket"),
        min_level=common(min, "min_level"),
        max_level=common(max, "max_level"),
        min_row_id=common(min, "min_row_id"),
        max_row_id=common(max, "max_row_id"),
    )


@dataclass
class ManifestWriter:
    """Writes the metadata files of one commit attempt and remembers them, so that a lost attempt can be undone.

    Every name is new, so no process reads these files before a snapshot names them. They are buffered in memory and
    written together by ``flush``: concurrent writes take about the time of one.
    """

    file_io: FileIO
    table: str
    settings: TableSettings
    partition_fields: Sequence[DataField]
    written: list[str] = field(default_factory=list)
    _waiting: list[tuple[str, bytes]] = field(default_factory=list)
    _held: list[tuple[str, object, int]] = field(default_factory=list)
    _uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    _counts: dict[str, int] = field(default_factory=dict)

    def write_manifests(self, entries: Sequence[ManifestEntry]) -> list[ManifestFileMeta]:
        """Writes the entries in order, in files that reach manifest.target-file-size, but the last.

        A smaller one counts as one to be merged: if all were a little smaller, each commit would write all of them
        again.
        """
        if not entries:
            return []
        data, target = encode_manifest(entries, self._compression), self.settings.commits.manifest_target_file_size
        step = max(1, math.ceil(len(entries) * target / len(data)))
        if step >= len(entries):
            return [self._write_manifest(entries, data)]
        made, start, stop = list[ManifestFileMeta](), 0, 0
        while stop < len(entries):
            start, stop = stop, min(stop + step, len(entries))
            data = encode_manifest(entries[start:stop], self._compression)
            while len(data) < target and stop < len(entries):
                lacking = (stop - start) * (target - len(data)) / len(data)
                stop = min(stop + math.ceil(1.02 * lacking), len(entries))
                data = encode_manifest(entries[start:stop], self._compression)
            made.append(self._write_manifest(entries[start:stop], data))
        return made

    def join_manifests(
        self, metas: Sequence[ManifestFileMeta], files: Sequence[tuple[str, bytes]]
    ) -> list[ManifestFileMeta] | None:
        """Joins manifests that only add files into one; files are their names and bytes.

        Returns:
            The new manifest. None: they cannot be joined, and must be rewritten.
        """
        data = join_manifests(files, self._compression)
        if data is None:
            return None
        return [joined_meta(metas, self._write("manifest", data), len(data), self.partition_fields)]

    def write_list(self, metas: Iterable[ManifestFileMeta]) -> tuple[str, int]:
        """Writes a new manifest list, even for no manifests; returns (name, size in bytes)."""
        named = list(metas)
        data = encode_manifest_list(named, self._compression)
        name = self._write("manifest-list", data)
        self._held.append((_sized_name(manifest_path(self.table, name), len(data)), named, len(named) * _META_BYTES))
        return name, len(data)

    def write_index_manifest(self, entries: Sequence[IndexManifestEntry]) -> str:
        """Writes a new index manifest that holds exactly these entries; returns its name."""
        return self._write("index-manifest", encode_index_manifest(entries, self._compression))

    def flush(self) -> None:
        """Writes the buffered files; all are durable on return. What the next commit reads of them is remembered."""
        waiting, self._waiting = self._waiting, []
        held, self._held = self._held, []
        self.written += [path for path, _ in waiting]  # before the write: one that fails half-way leaves a file too
        map_parallel(lambda file: self.file_io.write_bytes(*file), waiting, WRITE_THREADS)
        for name, value, size in held:
            remember(self.file_io, name, value, size)

    def discard(self) -> None:
        """Deletes the files of this attempt."""
        discard(self.file_io, self.written)
        self.written.clear()

    @property
    def _compression(self) -> str:
        return self.settings.commits.manifest_compression

    def _write_manifest(self, entries: Sequence[ManifestEntry], data: bytes) -> ManifestFileMeta:
        name = self._write("manifest", data)
        if len(entries) <= _FEW and memory_in_use(self.table) is not None:
            columns = columns_of_entries(path := manifest_path(self.table, name), entries)
            self._held.append((_sized_name(path, len(data)), columns, held_bytes(columns)))
        row_ids = [(e.file.first_row_id, e.file.row_count) for e in entries]
        known = [(first, first + count - 1) for first, count in row_ids if first is not None]
        complete = len(known) == len(row_ids)
        return ManifestFileMeta(
            file_name=name,
            file_size=len(data),
            num_added_files=sum(e.kind == FileKind.ADD for e in entries),
            num_deleted_files=sum(e.kind == FileKind.DELETE for e in entries),
            partition_stats=partition_stats([e.partition for e in entries], self.partition_fields),
            schema_id=max(e.file.schema_id for e in entries),
            min_bucket=min(e.bucket for e in entries),
            max_bucket=max(e.bucket for e in entries),
            min_level=min(e.file.level for e in entries),
            max_level=max(e.file.level for e in entries),
            min_row_id=min(first for first, _ in known) if complete else None,
            max_row_id=max(last for _, last in known) if complete else None,
        )

    def _write(self, kind: str, data: bytes) -> str:
        number = self._counts.get(kind, 0)
        self._counts[kind] = number + 1
        name = f"{kind}-{self._uuid}-{number}"
        self._waiting.append((manifest_path(self.table, name), data))
        if sum(len(data) for _, data in self._waiting) > WAITING_BYTES:
            self.flush()
        return name


def combine_index_entries(
    previous: Sequence[IndexManifestEntry],
    changes: Sequence[IndexManifestEntry],
    unaware: bool,
    canonical: Callable[[bytes], bytes],
) -> list[IndexManifestEntry]:
    """The complete list of live index files after some changes.

    HASH files, and deletion vectors of tables with buckets, exist once per (partition, bucket). Deletion vectors of
    unaware append tables and all other indexes are identified by their file names. A new HASH file replaces the old one
    of its bucket. New deletion vectors must delete the old file by name: they were made from it, and if another job has
    written newer ones since then, the rows that these delete would come back.

    Args:
        previous: the live index files, all of kind ADD.
        changes: kind ADD or DELETE, in any order.
        unaware: whether the table is an append table without buckets.
        canonical: gives all rows of one partition the same bytes.

    Raises:
        CommitConflict: a deleted index file is no longer live, an added one already is, a bucket has other deletion
            vectors now, or two files hold the deletion vector of one data file.
    """

    def place(entry: IndexManifestEntry) -> tuple[bytes, int, str] | str:
        if entry.index_type == HASH or (entry.index_type == DELETION_VECTORS and not unaware):
            return canonical(entry.partition), entry.bucket, entry.index_type
        return entry.file_name

    live = {place(entry): entry for entry in previous}
    for entry in {e.file_name: e for e in changes if e.kind == FileKind.DELETE}.values():
        known = live.pop(place(entry), None)
        if known is None or known.file_name != entry.file_name:
            raise CommitConflict(
                f"the index file {entry.file_name}, which this commit replaces, was removed by another commit; "
                "run the job again on the new state of the table"
            )
    for entry in (e for e in changes if e.kind == FileKind.ADD):
        known = live.get(place(entry))
        if known is not None and entry.index_type != HASH:
            raise CommitConflict(_added_before(entry, known))
        live[place(entry)] = entry
    combined = list(live.values())
    _check_one_vector_a_file(combined)
    return combined


def _added_before(entry: IndexManifestEntry, known: IndexManifestEntry) -> str:
    if entry.file_name == known.file_name:
        return f"the index file {entry.file_name} was added by another commit already"
    return (
        f"the deletion vectors {entry.file_name} were written without those of {known.file_name}, which another commit "
        f"has added to bucket {entry.bucket}; run the job again on the new state of the table"
    )


def _check_one_vector_a_file(entries: Iterable[IndexManifestEntry]) -> None:
    holders: dict[str, str] = {}
    for entry in entries:
        for deletion in entry.deletion_ranges or () if entry.index_type == DELETION_VECTORS else ():
            other = holders.setdefault(deletion.data_file, entry.file_name)
            if other != entry.file_name:
                raise CommitConflict(
                    f"two index files hold a deletion vector of {deletion.data_file}: {other} and {entry.file_name}; "
                    "another commit deleted rows of the same file: run the job again on the new state of the table"
                )
