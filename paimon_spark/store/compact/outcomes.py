"""Where the tasks of a compaction run, what becomes of them, and what a compaction has done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from paimon_spark.errors import words_of
from paimon_spark.format.bucket import Place
from paimon_spark.store.compact.live_buckets import place_of
from paimon_spark.store.compact.task import CompactTask, CompactTaskResult
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result, millis_since

if TYPE_CHECKING:
    from paimon_spark.store.compact.commit import CompactedBuckets


@dataclass(frozen=True)
class TaskFailure:
    """A task that failed; its files are deleted."""

    partition: bytes
    bucket: int
    error: str


Outcome: TypeAlias = CompactTaskResult | TaskFailure


class TaskRunner(Protocol):
    """A place where tasks run."""

    def run(self, table: Table, tasks: Sequence[CompactTask]) -> list[Outcome]:
        """The outcomes of all tasks, in any order; called by several threads at once."""
        ...

    def stop(self) -> None:
        """Stops running tasks as soon as possible; no further tasks follow. Tasks delete their files."""
        ...


@dataclass(frozen=True)
class DroppedBucket:
    """A bucket that was not compacted, because another job changed it concurrently."""

    partition: str
    bucket: int
    reason: str


@dataclass(frozen=True, repr=False)
class CompactResult(Result):
    """The result of a compaction.

    Attributes:
        snapshot_ids: the new COMPACT snapshots, in order; empty if there was nothing to do.
        postponed_files, postponed_rows: the postponed files and rows moved into buckets first; not counted below.
        buckets: the number of compacted buckets.
        files_before, rows_before, bytes_before: the totals of the data files that were replaced or upgraded.
        files_after, rows_after, bytes_after: the totals of the new and upgraded data files.
        bytes_written: the bytes of new files, including changelog files, without upgraded files.
        changelog_rows: the rows of new changelog files.
        dropped: the buckets left unchanged; the next compaction tries them again.
        millis: the duration of the call.
    """

    snapshot_ids: tuple[int, ...] = ()
    postponed_files: int = 0
    postponed_rows: int = 0
    buckets: int = 0
    files_before: int = 0
    rows_before: int = 0
    bytes_before: int = 0
    files_after: int = 0
    rows_after: int = 0
    bytes_after: int = 0
    bytes_written: int = 0
    changelog_rows: int = 0
    dropped: tuple[DroppedBucket, ...] = ()
    millis: int = 0


def error_words(error: Exception) -> str:
    """The kind of an error and what it says."""
    return f"{type(error).__name__}: {words_of(error)}"


def compact_result(
    table: Table, done: Sequence[CompactedBuckets], dropped: Mapping[Place, str], began: float
) -> CompactResult:
    """What some commits have done.

    Args:
        table: the table.
        done: the commits.
        dropped: the buckets that are left as they were, each with the reason.
        began: the time of the call, by time.monotonic().
    """
    messages = [message for made in done for message in made.messages]
    before = [file for message in messages for file in message.compact_before]
    after = [file for message in messages for file in message.compact_after]
    changelog = [file for message in messages for file in message.compact_changelog]
    moved = {file.file_name for file in before}
    new = [file for file in after if file.file_name not in moved]
    left = (DroppedBucket(describe_partition(table, p[0]), p[1], reason) for p, reason in dropped.items())
    return CompactResult(
        snapshot_ids=tuple(made.snapshot_id for made in done if made.snapshot_id is not None),
        buckets=len({place_of(table, message.partition, message.bucket) for message in messages}),
        files_before=len(before),
        rows_before=sum(file.row_count for file in before),
        bytes_before=sum(file.file_size for file in before),
        files_after=len(after),
        rows_after=sum(file.row_count for file in after),
        bytes_after=sum(file.file_size for file in after),
        bytes_written=sum(file.file_size for file in (*new, *changelog)),
        changelog_rows=sum(file.row_count for file in changelog),
        dropped=tuple(left),
        millis=millis_since(began),
    )
