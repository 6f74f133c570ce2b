"""Gives the rows of each partition ids without gaps, by metadata alone (Java: DataEvolutionRowIdReassigner, 2.0).

Rows that were written in turn to several partitions have ids that are far apart. Files of a partition whose ids have
no gap can be compacted together, and an index of the whole table over them is one range. The data files stay as they
are: manifests say which row ids a file has. New ids are above all that were ever given, so an id never means another
row than before.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.errors import CorruptFile, OptionError, UnsupportedFeature
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.bucket import Partition
from paimon_spark.format.manifest import FileKind, IndexManifestEntry, ManifestEntry
from paimon_spark.format.manifests.columns import ManifestColumns
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.schema import ROW_ID
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind
from paimon_spark.merge.keys.key_order import sort_key_of
from paimon_spark.merge.keys.row_ids import is_part_name
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState
from paimon_spark.store.commit.commit_loop import commit_request
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.compact.live_buckets import is_chosen
from paimon_spark.store.compact.plan import partition_condition
from paimon_spark.store.metadata.live_files import canonical_partitions, canonical_row, fold
from paimon_spark.store.metadata.manifest_files import read_manifest_columns
from paimon_spark.store.metadata.messages import CommitChanges, NewBase
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result, millis_since

_log = logging.getLogger(__name__)
_Longs: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class ReassignRowIdResult(Result):
    """The result of giving rows new ids.

    Attributes:
        snapshot_id: the new snapshot; None: nothing had to change.
        partitions, files, rows: what got new ids.
        index_files: the indexes of the whole table whose rows have new ids, which are said to be over these now.
        first_row_id: the first of the new ids; None: there is none.
        next_row_id: the first id that no row has.
        millis: the duration of the call.
    """

    snapshot_id: int | None
    partitions: int
    files: int
    rows: int
    index_files: int
    first_row_id: int | None
    next_row_id: int
    millis: int


@dataclass(frozen=True)
class NewIds:
    """The new ids of the rows of one partition: of some ranges of old ids, ascending, which do not meet.

    Attributes:
        starts, ends: the first old id of each range, and the one after its last.
        new_starts: the new id of the first row of each range.
    """

    starts: _Longs
    ends: _Longs
    new_starts: _Longs

    def of(self, first: _Longs, end: _Longs) -> tuple[_Longs, npt.NDArray[np.bool_]]:
        """The new first ids of ranges of old ids, and which of them have one: those that lie in one range."""
        at = np.maximum(np.searchsorted(self.starts, first, side="right") - 1, 0)
        inside = (first >= self.starts[at]) & (end <= self.ends[at])
        return first - self.starts[at] + self.new_starts[at], inside

    def meets(self, first: int, end: int) -> bool:
        """True if some rows of a range of old ids have new ones."""
        at = int(np.searchsorted(self.ends, first, side="right"))
        return at < len(self.starts) and int(self.starts[at]) < end


@dataclass(frozen=True)
class _Done:
    """What a proposal changes."""

    partitions: int = 0
    files: int = 0
    index_files: int = 0
    first_row_id: int | None = None
    next_row_id: int = 0


def reassign_row_ids(table: Table, where: str | Predicate | None = None) -> ReassignRowIdResult:
    """Gives the rows of partitions whose ids have gaps new ids, partition by partition, in one OVERWRITE snapshot.

    Rows keep their order, and the order of partitions is that of their values. Deletion vectors hold places in files,
    and stay. Partitions whose ids have no gap keep them, as do rows in runs of more ids without a gap than
    `data-evolution.reassign.skip-contiguous-row-count`. A table without partition columns has nothing to gain.

    Args:
        table: with data evolution, and the options of the call.
        where: a condition on partition columns; None: all partitions.

    Raises:
        OptionError: the table has no data evolution, or the condition does not fit.
        UnsupportedFeature: the table cannot be written, or a file holds row ids itself.
        CorruptFile: metadata are missing or damaged.
        RetriesExhausted: other writers were faster in every attempt; nothing was committed.
        CommitStateUnknown: the store did not answer.
    """
    began = time.monotonic()
    check_writable(table.schema, table.settings)
    if not table.settings.data_evolution_enabled:
        raise OptionError(
            f"giving rows of {table.location} new ids: the table has not '{TableSettings.data_evolution_enabled.key}' "
            "= 'true', so its files hold the ids of rows that were written again; create a table with the option"
        )
    condition = partition_condition(table, where)

    def propose(state: TableState) -> Proposal[_Done]:
        return _proposal(state, condition)

    latest = table.snapshots.latest()
    next_row_id = 0 if latest is None else latest.next_row_id or 0
    if latest is None or not table.schema.partition_keys:
        return ReassignRowIdResult(None, 0, 0, 0, 0, None, next_row_id, millis_since(began))
    request = CommitRequest(
        new_user(table), BATCH_COMMIT_IDENTIFIER, CommitKind.OVERWRITE, None, propose, checks_files=False
    )
    made = commit_request(table, request, latest.id)
    done = _Done() if made.proposal is None else made.proposal.detail
    next_row_id = next_row_id if made.snapshot is None else made.snapshot.next_row_id or 0
    rows = 0 if done.first_row_id is None else done.next_row_id - done.first_row_id
    return ReassignRowIdResult(
        made.snapshot_id, done.partitions, done.files, rows, done.index_files, done.first_row_id, next_row_id,
        millis_since(began),
    )  # fmt: skip


def _proposal(state: TableState, condition: Predicate) -> Proposal[_Done]:
    table, snapshot = state.table, state.snapshot
    if snapshot is None:
        return Proposal(None, _Done())
    columns = read_manifest_columns(table.file_io, table.location, state.manifests)
    codes = canonical_partitions(columns, table.schema.partition_types)
    new_ids = _new_ids(table, columns, codes, condition, snapshot.next_row_id or 0)
    if not new_ids:
        return Proposal(None, _Done())
    manifests, files = _manifests(state, columns, codes, new_ids)
    types = table.schema.partition_types
    of_partition = {canonical_row(columns.partitions[code], types): found for code, found in new_ids.items()}
    index, renamed = _index(table, state.index_entries, of_partition)
    last = max(int((found.new_starts + found.ends - found.starts).max()) for found in new_ids.values())
    done = _Done(len(new_ids), files, renamed, snapshot.next_row_id or 0, last)
    return Proposal(CommitChanges(base=NewBase(manifests, index, last)), done)


def _new_ids(
    table: Table, columns: ManifestColumns, codes: _Longs, condition: Predicate, next_row_id: int
) -> dict[int, NewIds]:
    """The new ids by canonical code of the partition, in the order of partitions."""
    chosen = np.array([is_chosen(table, condition, row) for row in columns.partitions], np.bool_)
    live = fold(columns, codes[columns.partition_code], np.flatnonzero(chosen[columns.partition_code]))
    ranges: dict[int, tuple[_Longs, _Longs]] = {}
    for code in np.unique(codes[columns.partition_code[live]]).tolist():
        mine = live[codes[columns.partition_code[live]] == code]
        found = _whole_runs(columns, mine, table.settings.reassign_skipped_rows)
        if len(found[0]) > 1:
            ranges[code] = found
    order = _partition_order(table)
    result: dict[int, NewIds] = {}
    for code in sorted(ranges, key=lambda code: (order(columns.partitions[code]), int(ranges[code][0][0]))):
        starts, ends = ranges[code]
        counts = np.cumsum(ends - starts)
        result[code] = NewIds(starts, ends, next_row_id + counts - (ends - starts))
        next_row_id += int(counts[-1])
    return result


def _whole_runs(columns: ManifestColumns, live: _Longs, skipped: int) -> tuple[_Longs, _Longs]:
    """The runs of row ids without a gap that the live files of a partition have: first ids, and those after the last.

    Args:
        columns: entries of manifests.
        live: the numbers of those that add the live files.
        skipped: longer runs are left out; 0: none is.
    """
    first, end = _ids(columns, live)
    order = np.lexsort((end, first))
    live, first, end = live[order], first[order], end[order]
    reach = np.maximum.accumulate(end)
    begins = np.flatnonzero(np.concatenate([[True], first[1:] >= reach[:-1]]))
    section = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(first))))
    starts, ends = first[begins], np.maximum.reduceat(end, begins)
    names = columns.file_names
    for place in np.flatnonzero((first != starts[section]) | (end != ends[section])).tolist():
        if not is_part_name(names[live[place]]):
            raise CorruptFile(
                f"giving rows new ids: {names[live[place]]} has the row ids {first[place]} to {end[place] - 1}, and "
                f"other files that have columns of these rows have {starts[section[place]]} to "
                f"{ends[section[place]] - 1}; a file is missing in the metadata, or they are damaged"
            )
    cuts = np.flatnonzero(np.concatenate([[True], starts[1:] != ends[:-1]]))
    starts, ends = starts[cuts], ends[np.append(cuts[1:], len(ends)) - 1]
    kept = ends - starts <= skipped if skipped > 0 else np.ones(len(starts), np.bool_)
    return starts[kept], ends[kept]


def _ids(columns: ManifestColumns, entries: _Longs) -> tuple[_Longs, _Longs]:
    """The first id of the rows of files, and the one after the last.

    Raises:
        UnsupportedFeature: a file holds ids itself.
        CorruptFile: the metadata of a file do not say which ids it has.
    """
    column, counts = columns.attribute("first_row_id"), columns.row_count[entries]
    bad = np.flatnonzero(~column.valid[entries] | (counts <= 0) | (column.values[entries] < 0))
    if len(bad):
        raise CorruptFile(
            f"giving rows new ids: the metadata of {columns.file_names[entries[bad[0]]]} do not say which row ids it "
            "has; it was written before 'row-tracking.enabled' was set, or the table is damaged"
        )
    for entry, written in zip(entries.tolist(), columns.lists(("_FILE", "_WRITE_COLS"), entries), strict=True):
        if written is not None and ROW_ID in written:
            raise UnsupportedFeature(
                f"giving rows new ids: {columns.file_names[entry]} holds the ids of its rows itself, and only ids that "
                "the metadata say can change; compact the partition first"
            )
    first = column.values[entries]
    return first, first + counts


def _partition_order(table: Table) -> Callable[[bytes], tuple[Any, ...]]:
    """A function that makes partition rows tuples which Python compares in Paimon's order, with nulls first."""
    types = table.schema.partition_types
    keys = [sort_key_of([data_type]) for data_type in types]

    def order(row: bytes) -> tuple[Any, ...]:
        values = decode_arity_row(row, types)
        return tuple(() if value is None else key([value]) for key, value in zip(keys, values, strict=True))

    return order


def _manifests(
    state: TableState, columns: ManifestColumns, codes: _Longs, new_ids: Mapping[int, NewIds]
) -> tuple[dict[str, Sequence[ManifestEntry]], int]:
    """The entries of the manifests that name rows with new ids, by the name of the manifest; and how many add files.

    Entries of files that are gone get the ids too where they had those of live ones.
    """
    of_entry = codes[columns.partition_code]
    first, known = columns.attribute("first_row_id").values, columns.attribute("first_row_id").valid
    new, moved = first.copy(), np.zeros(len(columns), np.bool_)
    for code, found in new_ids.items():
        mine = np.flatnonzero((of_entry == code) & known)
        new[mine], moved[mine] = found.of(first[mine], first[mine] + columns.row_count[mine])
    bounds = np.append(columns.file_starts, len(columns))
    manifests: dict[str, Sequence[ManifestEntry]] = {}
    for number, meta in enumerate(state.manifests):
        place = np.arange(bounds[number], bounds[number + 1])
        if moved[place].any():
            ids = zip(columns.entries(place), moved[place].tolist(), new[place].tolist(), strict=True)
            manifests[meta.file_name] = [
                entry._replace(file=entry.file._replace(first_row_id=number)) if is_moved else entry
                for entry, is_moved, number in ids
            ]
    return manifests, int((moved & (columns.kind == FileKind.ADD)).sum())


def _index(
    table: Table, entries: Sequence[IndexManifestEntry], new_ids: Mapping[Partition, NewIds]
) -> tuple[tuple[IndexManifestEntry, ...], int]:
    """The index files, those of the whole table over the new ids; and how many of these there are.

    An index over rows of which some get new ids, or whose new ids have a gap, can no longer be told to be over a range
    of ids, and is dropped.
    """
    kept: list[IndexManifestEntry] = []
    renamed = 0
    for entry in entries:
        meta, found = entry.global_index, new_ids.get(canonical_row(entry.partition, table.schema.partition_types))
        if meta is None or found is None:
            kept.append(entry)
            continue
        start, end = meta.row_range_start, meta.row_range_end + 1
        (first,), (inside,) = found.of(np.array([start]), np.array([end]))
        if inside:
            renamed += 1
            moved = replace(meta, row_range_start=int(first), row_range_end=int(first) + end - start - 1)
            kept.append(replace(entry, global_index=moved))
        elif not found.meets(start, end):
            kept.append(entry)
        else:
            _log.warning(
                "giving rows of %s new ids: the index %s is over rows %d to %d, whose new ids are no range: it is "
                "dropped, and has to be made again",
                table.location, entry.file_name, start, end - 1,
            )  # fmt: skip
    return tuple(kept), renamed
