"""May these changes be applied to the latest snapshot? (format section 3.2; Java: ConflictDetection)"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from paimon_spark.errors import CommitConflict
from paimon_spark.merge.key_order import sort_key_of
from paimon_spark.spec.binary_row import decode_arity_row
from paimon_spark.spec.manifest import FileKind, ManifestEntry
from paimon_spark.spec.snapshot import CommitKind, Snapshot
from paimon_spark.spec.types import DataType
from paimon_spark.store.entries import AddedTwice, fold_entries

_SHOWN = 5


@dataclass(frozen=True)
class ConflictRules:
    """What the checks need to know of a table.

    Attributes:
        table: its location, for messages.
        key_types: of the trimmed primary key; empty for append tables, which have no order to protect.
        canonical: makes two rows of one partition the same bytes.
        partition_text: a partition row in words.
    """

    table: str
    key_types: tuple[DataType, ...]
    canonical: Callable[[bytes], bytes]
    partition_text: Callable[[bytes], str]


def check_conflicts(
    rules: ConflictRules, latest: Snapshot, live: Sequence[ManifestEntry], delta: Sequence[ManifestEntry], kind: str
) -> None:
    """Refuses changes that do not fit the files which are live in the latest snapshot.

    Args:
        rules: of the table.
        latest: the snapshot that live belongs to.
        live: the live files of (at least) the partitions that delta changes.
        delta: the changes, in order.
        kind: the commit kind; an OVERWRITE may change the number of buckets.

    Raises:
        CommitConflict: a file to delete is not live, a file to add is, key ranges of one level would overlap, or the
            number of buckets of a partition would change. Nothing has been committed; the message tells which and why.
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
        raise CommitConflict(
            f"{_text(rules, latest)}: {len(gone)} of the files it replaces are no longer live: {names}. Another job "
            "has compacted or overwritten them meanwhile; run the job again on the new state of the table"
        )
    if rules.key_types:
        _check_key_ranges(rules, latest, after)


def check_total_buckets(rules: ConflictRules, latest: Snapshot | None, entries: Iterable[ManifestEntry]) -> None:
    """All files of a partition must be spread over one number of buckets.

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
                f"job wrote for {entry.total_buckets}. Overwrite the partition to change its number of buckets"
            )


def _check_key_ranges(rules: ConflictRules, latest: Snapshot, entries: Iterable[ManifestEntry]) -> None:
    """Files of one level above 0 are one sorted run: their key ranges must not meet."""
    order = sort_key_of(rules.key_types)
    levels: dict[tuple[bytes, int, int], list[ManifestEntry]] = {}
    for entry in entries:
        if entry.file.level >= 1:
            place = rules.canonical(entry.partition), entry.bucket, entry.file.level
            levels.setdefault(place, []).append(entry)
    for found in levels.values():
        if len(found) == 1:
            continue
        ranges = sorted(
            (
                (order(_key(rules, e.file.min_key)), order(_key(rules, e.file.max_key)), number)
                for number, e in enumerate(found)
            )
        )
        for (_, last, a), (first, _, b) in itertools.pairwise(ranges):
            if last >= first:
                one, other = found[a], found[b]
                raise CommitConflict(
                    f"{_text(rules, latest)}: the key ranges of {one.file.file_name} and {other.file.file_name} on "
                    f"level {one.file.level} of {_place(rules, one)} overlap. Another job has compacted the bucket "
                    "meanwhile; run the job again on the new state of the table"
                )


def _key(rules: ConflictRules, row: bytes) -> tuple[object, ...]:
    return decode_arity_row(row, rules.key_types)


def _place(rules: ConflictRules, entry: ManifestEntry) -> str:
    return f"{rules.partition_text(entry.partition)}, bucket {entry.bucket}"


def _text(rules: ConflictRules, latest: Snapshot | None) -> str:
    after = "" if latest is None else f" after snapshot {latest.id} of user {latest.commit_user}"
    return f"this commit to {rules.table} conflicts with the table{after}"
