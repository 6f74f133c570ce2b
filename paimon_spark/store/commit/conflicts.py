"""Checks whether changes may be applied to the latest snapshot (format section 3.2; Java: ConflictDetection)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from paimon_spark.errors import CommitConflict
from paimon_spark.format.manifest import FileKind, IndexManifestEntry, ManifestEntry
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.format.types import DataType
from paimon_spark.merge.keys.key_order import key_range_of
from paimon_spark.store.commit.row_ranges import check_row_ids
from paimon_spark.store.metadata.live_files import AddedTwice, fold_entries
from paimon_spark.store.metadata.messages import DELETION_VECTORS

_SHOWN = 5


@dataclass(frozen=True)
class ConflictRules:
    """The properties of a table that the checks need.

    Attributes:
        table: the location, for messages.
        key_types: the types of the trimmed primary key; empty for tables whose files above level 0 are not sorted by
            it: append tables, and those with `pk-clustering-override`.
        canonical: gives all rows of one partition the same bytes.
        partition_text: formats a partition row, for messages.
        has_expired: whether a partition expires because of its age.
        evolves: whether the table has data evolution.
    """

    table: str
    key_types: tuple[DataType, ...]
    canonical: Callable[[bytes], bytes]
    partition_text: Callable[[bytes], str]
    has_expired: Callable[[bytes], bool] = lambda row: False
    evolves: bool = False


def check_conflicts(
    rules: ConflictRules, latest: Snapshot, live: Sequence[ManifestEntry], delta: Sequence[ManifestEntry], kind: str
) -> None:
    """Refuses changes that do not fit the files which are live in the latest snapshot.

    Args:
        rules: the properties of the table.
        latest: the snapshot that live belongs to.
        live: the live files of (at least) the partitions that delta changes.
        delta: the changes, in order.
        kind: the commit kind; an OVERWRITE may change the number of buckets.

    Raises:
        CommitConflict: a file to delete is not live, a file to add is, key ranges of one level would overlap, the
            number of buckets of a partition would change, or a file has columns of rows that no other has. Nothing was
            committed; the message says which and why.
    """
    if kind != CommitKind.OVERWRITE:
        check_total_buckets(rules, latest, [*live, *delta])
    try:
        fold_entries(delta)
        after = fold_entries([*live, *delta])
    except AddedTwice as error:
        raise CommitConflict(
            f"{_text(rules, latest)}: it adds a file that is there already: {error}. The files of one job were "
            "committed twice; nothing is to be done if its rows are in the table"
        ) from None
    gone = [e for e in after if e.kind == FileKind.DELETE]
    if gone:
        names = ", ".join(f"{e.file.file_name} ({_place(rules, e)})" for e in gone[:_SHOWN])
        if all(rules.has_expired(row) for row in {e.partition for e in gone}):
            raise CommitConflict(
                f"{_text(rules, latest)}: {len(gone)} of the files it replaces are no longer live: {names}. Their "
                "partitions are older than 'partition.expiration-time' and have expired; leave such rows out, or they "
                "meet the same end again and again"
            )
        raise CommitConflict(
            f"{_text(rules, latest)}: {len(gone)} of the files it replaces are no longer live: {names}. Another job "
            "has compacted or overwritten them meanwhile; run the job again on the new state of the table"
        )
    if rules.key_types:
        _check_key_ranges(rules, latest, after)
    if rules.evolves:
        check_row_ids(_text(rules, latest), rules.canonical, live, delta, after, kind)


def check_total_buckets(rules: ConflictRules, latest: Snapshot | None, entries: Iterable[ManifestEntry]) -> None:
    """Checks that all files of a partition have the same number of buckets.

    Raises:
        CommitConflict: two entries of a partition differ.
    """
    known: dict[bytes, int] = {}
    for entry in entries:
        if entry.total_buckets <= 0:
            continue
        previous = known.setdefault(rules.canonical(entry.partition), entry.total_buckets)
        if previous != entry.total_buckets:
            raise CommitConflict(
                f"{_text(rules, latest)}: {rules.partition_text(entry.partition)} has {previous} buckets, and this "
                f"job wrote for {entry.total_buckets}: another job has rescaled it meanwhile. Run the job again; if "
                "that is refused, PaimonTable.rescale or an overwrite of the partition changes its number of buckets"
            )


def check_vectors(
    rules: ConflictRules,
    latest: Snapshot,
    live: Iterable[ManifestEntry],
    delta: Sequence[ManifestEntry],
    index: Iterable[IndexManifestEntry],
    index_delta: Iterable[IndexManifestEntry],
) -> None:
    """Checks that data files and their deletion vectors change together; otherwise deleted rows would come back.

    ``index_manifests.combine_index_entries`` checks that the index files which index_delta deletes are live. Java
    checks this only for unaware append tables.

    Args:
        rules: the properties of the table.
        latest: the snapshot that live belongs to.
        live: the live files of (at least) the partitions that delta changes.
        delta: the changes, in order.
        index: the live index files.
        index_delta: the changes of index files.

    Raises:
        CommitConflict: a file that delta deletes has a deletion vector that is kept, or a file that gets its first
            deletion vector is not live.
    """
    changed = [e for e in index_delta if e.index_type == DELETION_VECTORS]
    replaced = {e.file_name for e in changed if e.kind == FileKind.DELETE}
    vectors = [e for e in index if e.index_type == DELETION_VECTORS]
    staying = {name for e in vectors if e.file_name not in replaced for name in _data_files(e)}
    known = {name for e in vectors for name in _data_files(e)}
    coming = {name for e in changed if e.kind == FileKind.ADD for name in _data_files(e)}
    added = {e.file.file_name for e in delta if e.kind == FileKind.ADD}
    # A file that only changes its level keeps its vector.
    gone = {e.file.file_name for e in delta if e.kind == FileKind.DELETE} - added
    resurrected = sorted(gone & staying)
    if resurrected:
        raise CommitConflict(
            f"{_text(rules, latest)}: rows of {len(resurrected)} of the files it replaces were deleted meanwhile, by "
            f"deletion vectors it does not know: {', '.join(resurrected[:_SHOWN])}; run the job again on the new state "
            "of the table"
        )
    there = ({e.file.file_name for e in live} | added) - gone
    dangling = sorted(coming - there - (known - gone))
    if dangling:
        raise CommitConflict(
            f"{_text(rules, latest)}: it deletes rows of {len(dangling)} files that are no longer live: "
            f"{', '.join(dangling[:_SHOWN])}. Another job has compacted or overwritten them meanwhile; run the job "
            "again on the new state of the table"
        )


def _data_files(entry: IndexManifestEntry) -> Iterable[str]:
    return (deletion.data_file for deletion in entry.deletion_ranges or ())


def _check_key_ranges(rules: ConflictRules, latest: Snapshot, entries: Iterable[ManifestEntry]) -> None:
    """Raises CommitConflict if key ranges of files on one level above 0 overlap: they must be one sorted run."""
    key_range = key_range_of(rules.key_types)
    levels: dict[tuple[bytes, int, int], list[ManifestEntry]] = {}
    for entry in entries:
        if entry.file.level >= 1:
            place = rules.canonical(entry.partition), entry.bucket, entry.file.level
            levels.setdefault(place, []).append(entry)
    for found in levels.values():
        if len(found) == 1:
            continue
        ranges = sorted((*key_range(entry.file), number) for number, entry in enumerate(found))
        for (_, last, a), (first, _, b) in itertools.pairwise(ranges):
            if last >= first:
                one, other = found[a], found[b]
                raise CommitConflict(
                    f"{_text(rules, latest)}: the key ranges of {one.file.file_name} and {other.file.file_name} on "
                    f"level {one.file.level} of {_place(rules, one)} overlap. Another job has compacted the bucket "
                    "meanwhile; run the job again on the new state of the table"
                )


def _place(rules: ConflictRules, entry: ManifestEntry) -> str:
    return f"{rules.partition_text(entry.partition)}, bucket {entry.bucket}"


def _text(rules: ConflictRules, latest: Snapshot | None) -> str:
    after = "" if latest is None else f" after snapshot {latest.id} of user {latest.commit_user}"
    return f"this commit to {rules.table} conflicts with the table{after}"
