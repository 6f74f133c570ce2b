"""Visits the snapshots of a table in order, each with its live files (format sections 3.1, 4.5).

A snapshot differs little from the one before, so only new metadata are read: its delta, and the manifests of its base
that the last snapshot did not have, with those that they replace. Both must result in the same files.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from paimon_spark.errors import CorruptFile, PaimonError, StorageError
from paimon_spark.format.bucket import Partition, Place
from paimon_spark.format.manifest import FileKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta
from paimon_spark.format.schema import ROW_ID
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.merge.keys.row_ids import anchor_of, column_files, end_id, sections_by_row_id
from paimon_spark.store.checks.manifests import ManifestReader
from paimon_spark.store.checks.report import Findings, Rule
from paimon_spark.store.checks.value_checks import StoredStatistics
from paimon_spark.store.metadata.live_files import Identity, record_count
from paimon_spark.store.metadata.table import Table

"""Canonical partition, bucket."""
Files: TypeAlias = dict[Identity, ManifestEntry]

_SHOWN = 5


@dataclass(frozen=True)
class SnapshotState:
    """The live files of a snapshot. The mappings change when the walk continues.

    Attributes:
        label: the name of the snapshot, for problems.
        snapshot: the snapshot.
        live: the live files by place.
        index: the live index files by place.
        changed: the places whose files or index files differ from the state before; all places if that is unknown.
        added: files that were not live in the state before; all files if that is unknown.
        changelog: the changelog files of the snapshot.
        follows: whether the state before is that of the preceding snapshot.
    """

    label: str
    snapshot: Snapshot
    live: Mapping[Place, Mapping[Identity, ManifestEntry]]
    index: Mapping[Place, tuple[IndexManifestEntry, ...]]
    changed: frozenset[Place]
    added: tuple[ManifestEntry, ...]
    changelog: tuple[ManifestEntry, ...]
    follows: bool


@dataclass
class _Known:
    """The state of the snapshot before, as the walk keeps it."""

    id: int
    manifests: dict[str, ManifestFileMeta]
    rows: int = 0
    live: dict[Place, Files] = field(default_factory=dict)
    index_name: str | None = None
    index: dict[Place, tuple[IndexManifestEntry, ...]] = field(default_factory=dict)


class Walk:
    """Visits snapshots in the order of their ids and reports problems in their metadata."""

    def __init__(self, table: Table, findings: Findings, statistics: StoredStatistics) -> None:
        self._table = table
        self._findings = findings
        self._reader = ManifestReader(table, findings, statistics)
        self._known: _Known | None = None

    @property
    def is_known(self) -> bool:
        """True if all metadata of the last snapshot could be read."""
        return self._known is not None

    @property
    def live(self) -> Iterator[ManifestEntry]:
        """The live files of the last snapshot."""
        if self._known is not None:
            for files in self._known.live.values():
                yield from files.values()

    def visit(self, label: str, snapshot: Snapshot) -> SnapshotState | None:
        """The state of the next snapshot; None if too little of it can be read.

        Args:
            label: the name of the snapshot, for problems.
            snapshot: its id must be greater than that of the last one; if it does not follow it, call ``forget`` first.
        """
        self._check_schema(label, snapshot)
        last, self._known = self._known, None
        base = self._reader.read_list(label, snapshot.base_manifest_list, snapshot.base_manifest_list_size)
        delta = self._reader.read_list(label, snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
        if base is None or delta is None:
            return None
        state = self._base_state(label, base, last)
        changes = self._entries(label, delta)
        index = self._index(label, snapshot, last)
        if state is None or changes is None or index is None:
            return None
        changed = {place_in(e) for e in changes} | _differing(state.index, index)
        self._apply(label, state, changes)
        self._check_totals(label, snapshot, record_count(changes), state.rows)
        added: Iterable[ManifestEntry] = (entry for entry in changes if entry.kind == FileKind.ADD)
        if state is not last:
            changed |= state.live.keys()
            added = (entry for files in state.live.values() for entry in files.values())
        manifests = {meta.file_name: meta for meta in (*base, *delta)}
        self._known = _Known(snapshot.id, manifests, state.rows, state.live, snapshot.index_manifest, index)
        changelog = self.changelog(label, snapshot)
        follows = state is last
        return SnapshotState(label, snapshot, state.live, index, frozenset(changed), tuple(added), changelog, follows)

    def forget(self) -> None:
        """Declares that the next snapshot does not follow the last one."""
        self._known = None

    def changelog(self, label: str, snapshot: Snapshot) -> tuple[ManifestEntry, ...]:
        """The changelog files of a snapshot; their number of rows must be the recorded one."""
        if snapshot.changelog_manifest_list is None:
            return ()
        size = snapshot.changelog_manifest_list_size
        metas = self._reader.read_list(label, snapshot.changelog_manifest_list, size)
        entries = None if metas is None else self._entries(label, metas)
        if entries is None:
            return ()
        rows, recorded = record_count(entries), snapshot.changelog_record_count
        if recorded is not None and recorded != rows:
            found = f"it records {recorded} changelog rows, its changelog files have {rows}"
            self._findings.add(Rule.TOTALS, label, label, found)
        return tuple(entries)

    def _check_schema(self, label: str, snapshot: Snapshot) -> None:
        try:
            self._table.schemas.load(snapshot.schema_id)
        except (StorageError, MemoryError):
            raise
        except PaimonError as error:
            self._findings.add(Rule.SNAPSHOT, label, f"schema {snapshot.schema_id}", str(error))

    def _base_state(self, label: str, base: list[ManifestFileMeta], last: _Known | None) -> _Known | None:
        """The state that the base list describes; it must be that of the snapshot before."""
        if last is None:
            return self._read_state(label, base)
        names = {meta.file_name for meta in base}
        new = [meta for meta in base if meta.file_name not in last.manifests]
        old = [meta for name, meta in last.manifests.items() if name not in names]
        new_entries, old_entries = self._entries(label, new), self._entries(label, old)
        if new_entries is None or old_entries is None:
            return self._read_state(label, base)
        after, before = _net(new_entries), _net(old_entries)
        if after.keys() == before.keys():
            return last
        names_of = sorted({identity[1][3] for identity in after.keys() ^ before.keys()})
        found = (
            f"its base list does not hold the files of snapshot {last.id}: they differ in {len(names_of)} files, "
            f"{', '.join(names_of[:_SHOWN])}"
        )
        self._findings.add(Rule.LIVE_FILES, label, label, found)
        return self._read_state(label, base)

    def _read_state(self, label: str, base: list[ManifestFileMeta]) -> _Known | None:
        entries = self._entries(label, base)
        if entries is None:
            return None
        state = _Known(0, {})
        self._apply(label, state, entries)
        return state

    def _index(
        self, label: str, snapshot: Snapshot, last: _Known | None
    ) -> dict[Place, tuple[IndexManifestEntry, ...]] | None:
        if last is not None and snapshot.index_manifest == last.index_name:
            return last.index
        entries = self._reader.read_index(label, snapshot.index_manifest)
        return None if entries is None else _by_place(entries)

    def _entries(self, label: str, metas: Iterable[ManifestFileMeta]) -> list[ManifestEntry] | None:
        entries: list[ManifestEntry] = []
        for meta in metas:
            found = self._reader.read_entries(label, meta)
            if found is None:
                return None
            entries += found
        return entries

    def _apply(self, label: str, state: _Known, entries: Iterable[ManifestEntry]) -> None:
        for entry in entries:
            files = state.live.setdefault(place_in(entry), {})
            if entry.kind == FileKind.ADD:
                if entry.identity in files:
                    self._findings.add(Rule.LIVE_FILES, label, entry.file.file_name, "it is added, but live already")
                else:
                    state.rows += entry.file.row_count
                files[entry.identity] = entry
            elif files.pop(entry.identity, None) is None:
                self._findings.add(Rule.LIVE_FILES, label, entry.file.file_name, "it is deleted, but not live")
            else:
                state.rows -= entry.file.row_count

    def _check_totals(self, label: str, snapshot: Snapshot, delta: int, total: int) -> None:
        if snapshot.delta_record_count != delta:
            found = f"it records a delta of {snapshot.delta_record_count} rows, its delta manifests have {delta}"
            self._findings.add(Rule.TOTALS, label, label, found)
        if snapshot.total_record_count != total:
            found = f"it records {snapshot.total_record_count} rows in total, its live files have {total}"
            self._findings.add(Rule.TOTALS, label, label, found)


def row_id_faults(state: SnapshotState) -> Iterator[str]:
    """Descriptions of live files of a table with row tracking whose rows have no ids, or the same as others."""
    ranges = []
    for file in (entry.file for files in state.live.values() for entry in files.values()):
        if file.first_row_id is not None:
            ranges.append((file.first_row_id, file.first_row_id + file.row_count, file.file_name))
        elif ROW_ID not in (file.write_cols or ()):
            yield f"the rows of {file.file_name} have no ids"
    following = [(state.snapshot.next_row_id or 0, 0, "the next commit")]
    for (_, end, one), (first, _, other) in itertools.pairwise([*sorted(ranges), *following]):
        if first < end:
            yield f"{one} has row ids up to {end - 1}, {other} those from {first} on"


def evolved_faults(state: SnapshotState) -> Iterator[str]:
    """Descriptions of live files of a table with data evolution that do not fit the others with columns of their rows.

    All files of some rows, but those of BLOB and VECTOR columns, have just these rows, and lie in one bucket.
    """
    places: dict[str, Place] = {}
    files = []
    for place, entries in state.live.items():
        for file in (entry.file for entry in entries.values()):
            places[file.file_name] = place
            if file.first_row_id is None:
                yield f"the rows of {file.file_name} have no ids"
            else:
                files.append(file)
    for section in sections_by_row_id(files):
        found = [file for run in section for file in run.files]
        try:
            anchor = anchor_of(column_files(section))
        except CorruptFile as error:
            yield str(error)
            continue
        for file in found:
            if places[file.file_name] != places[anchor.file_name]:
                yield f"{file.file_name} has columns of the rows of {anchor.file_name}, which is in another bucket"
        if max(map(end_id, found)) > (state.snapshot.next_row_id or 0):
            yield (
                f"{anchor.file_name} has row ids up to {end_id(anchor) - 1}, the next commit those from "
                f"{state.snapshot.next_row_id} on"
            )


def place_in(entry: ManifestEntry | IndexManifestEntry) -> Place:
    """The partition and bucket of an entry, whose partition is in canonical bytes already (``ManifestReader``)."""
    return Partition(entry.partition), entry.bucket


def _net(entries: Iterable[ManifestEntry]) -> dict[tuple[int, Identity], ManifestEntry]:
    """The net effect of entries: additions that they do not delete, and deletions of files that they do not add."""
    left: dict[tuple[int, Identity], ManifestEntry] = {}
    for entry in entries:
        opposite = (FileKind.ADD if entry.kind == FileKind.DELETE else FileKind.DELETE, entry.identity)
        if entry.kind == FileKind.DELETE and opposite in left:
            del left[opposite]
        else:
            left[entry.kind, entry.identity] = entry
    return left


def _by_place(index: Iterable[IndexManifestEntry]) -> dict[Place, tuple[IndexManifestEntry, ...]]:
    places: dict[Place, list[IndexManifestEntry]] = {}
    for entry in index:
        places.setdefault(place_in(entry), []).append(entry)
    return {place: tuple(entries) for place, entries in places.items()}


def _differing(
    one: Mapping[Place, tuple[IndexManifestEntry, ...]], other: Mapping[Place, tuple[IndexManifestEntry, ...]]
) -> set[Place]:
    return {place for place in one.keys() | other.keys() if set(one.get(place, ())) != set(other.get(place, ()))}
