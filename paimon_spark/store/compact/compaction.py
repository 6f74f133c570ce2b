"""Compacts a table: plans, runs the tasks, commits, and plans again the buckets that other jobs have changed.

``PaimonTable.optimize()`` and the compaction right after a write both use it. The caller decides where tasks run: as
Spark tasks, or in processes of this machine.
"""

from __future__ import annotations

import logging
import re
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.errors import CommitConflict, CompactionFailed, PaimonError, RetriesExhausted, words_of
from paimon_spark.format.bucket import Place
from paimon_spark.format.options.option import MB
from paimon_spark.store.compact.commit import CompactedBuckets, commit_compaction, commits_together, committed_units
from paimon_spark.store.compact.live_buckets import place_of
from paimon_spark.store.compact.plan import CompactionPlan, plan_compaction
from paimon_spark.store.compact.task import CompactTask, CompactTaskResult
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result, millis_since
from paimon_spark.store.storage.files import discard
from paimon_spark.store.storage.parallel import submitted

_log = logging.getLogger(__name__)

ROUNDS = 3
"""How often buckets are planned that others changed concurrently, or whose task failed."""

COMMIT_BYTES = 65536 * MB
"""About so many bytes read make one commit: what is done then stays done when a later task fails."""

WAVE_TASKS = 1000  # the most tasks of one commit, however small they are
WAVES_AT_ONCE = 2  # while the last tasks of one wave run, those of the next one use the idle cores
_SHOWN = 5


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


def compact_table(
    table: Table,
    runner: TaskRunner,
    where: str | Predicate | None = None,
    full: bool | None = None,
    places: Collection[Place] | None = None,
    commit_bytes: int = COMMIT_BYTES,
    at_once: bool = False,
    budget: int | None = None,
) -> CompactResult:
    """Compacts the buckets that need it.

    Args:
        table: with the options of the call.
        runner: where the tasks run; the caller stops it afterwards.
        where, full, places, at_once: as for plan_compaction.
        commit_bytes: how much is read for one commit.
        budget: about how many bytes are read in all, though at least one bucket; what is over is left as it is. None:
            no bound.

    Returns:
        The result. A bucket that another job changed concurrently is planned again a few times, then skipped and
        listed.

    Raises:
        CompactionFailed: tasks or commits failed repeatedly; all other buckets are compacted.
        CommitStateUnknown: the store did not answer; earlier commits of this call are valid.
        StorageError: the storage failed during planning.
        OptionError, PredicateError: the condition does not fit.
    """
    job = _Job(table, runner, commit_bytes)
    for _ in range(ROUNDS):
        plan = plan_compaction(table, where, full, places, at_once)
        places = job.run(plan if budget is None else _within(plan, budget))
        if not places:
            break
        _log.info("compacting %s: %d buckets are left and looked at again", table.location, len(places))
    return job.finish()


def run_here(table: Table, task: CompactTask, progress: Callable[[int], None] | None = None) -> Outcome:
    """Runs a task in this process. Errors of the table and its storage are returned as a TaskFailure."""
    from paimon_spark.store.compact.bucket import run_task  # imported late: planning often finds nothing to do

    try:
        return run_task(table, task, progress)
    except (PaimonError, OSError, MemoryError) as error:
        return TaskFailure(task.partition, task.bucket, _words(error))


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {words_of(error)}"


@dataclass
class _Job:
    """A running compaction.

    Attributes:
        done: the committed buckets.
        dropped, failed: the remaining buckets, each with the reason; a later round may compact them.
    """

    table: Table
    runner: TaskRunner
    commit_bytes: int
    began: float = field(default_factory=time.monotonic)
    done: list[CompactedBuckets] = field(default_factory=list)
    dropped: dict[Place, str] = field(default_factory=dict)
    failed: dict[Place, str] = field(default_factory=dict)

    def run(self, plan: CompactionPlan) -> set[Place]:
        """Runs the tasks of a plan, commits wave by wave, and returns the buckets to plan again."""
        # Buckets that are no longer planned were compacted by other jobs, which may be why their tasks failed.
        planned = {self._place(task) for task in plan.tasks}
        self.dropped = {p: reason for p, reason in {**self.dropped, **self.failed}.items() if p not in planned}
        self.failed = {}
        waves = deque(_waves(self.table, plan.tasks, self.commit_bytes))
        running: deque[Future[list[Outcome]]] = deque()
        with ThreadPoolExecutor(WAVES_AT_ONCE) as threads:
            try:
                while waves or running:
                    while waves and len(running) < WAVES_AT_ONCE:
                        running.append(submitted(threads, self.runner.run, plan.table, waves.popleft()))
                    outcomes = running[0].result()
                    running.popleft()
                    self._commit(plan, outcomes)
            except BaseException:
                self._give_up(running)
                raise
        return planned & (self.dropped.keys() | self.failed.keys())

    def finish(self) -> CompactResult:
        """Logs the remaining buckets and returns the metrics.

        Raises:
            CompactionFailed: tasks failed.
        """
        if self.failed:
            shown = "; ".join(self._causes()[:_SHOWN])
            done = len({self._place(message) for made in self.done for message in made.messages})
            raise CompactionFailed(
                f"compacting {self.table.location}: {len(self.failed)} buckets failed, {done} are compacted. {shown}. "
                "The table is as it was in the failed ones; remove the cause and compact again"
            )
        for place, reason in self.dropped.items():
            _log.warning("compacting %s left out %s: %s", self.table.location, self._words(place), reason)
        return compact_result(self.table, self.done, self.dropped, self.began)

    def _commit(self, plan: CompactionPlan, outcomes: Sequence[Outcome]) -> None:
        """Commits the outcomes of a wave, except buckets with a failed task."""
        assert plan.snapshot is not None, "a plan with tasks has a snapshot"
        self.failed.update((self._place(o), o.error) for o in outcomes if isinstance(o, TaskFailure))
        results = [outcome for outcome in outcomes if isinstance(outcome, CompactTaskResult)]
        if commits_together(self.table):
            halves = [result for result in results if self._place(result) in self.failed]
            discard(self.table.file_io, [path for result in halves for path in result.created])
            results = [result for result in results if self._place(result) not in self.failed]
        try:
            made = commit_compaction(plan.table, plan.snapshot, plan.upper, results)
        except (RetriesExhausted, CommitConflict, OSError) as error:  # certainly not committed: planned again
            self.failed.update((self._place(result), _words(error)) for result in results)
            return
        self.done.append(made)
        self.dropped.update(made.dropped)

    def _give_up(self, running: Iterable[Future[list[Outcome]]]) -> None:
        """Stops the running tasks and deletes the results of finished tasks of their waves."""
        self.runner.stop()
        for future in running:
            error = None if future.cancel() else future.exception()
            if error is None and not future.cancelled():
                created = (o.created for o in future.result() if isinstance(o, CompactTaskResult))
                discard(self.table.file_io, [path for paths in created for path in paths])

    def _place(self, of: CompactTask | Outcome | CommitMessage) -> Place:
        return place_of(self.table, of.partition, of.bucket)

    def _causes(self) -> list[str]:
        """The buckets that failed with their errors, one bucket of those whose errors differ only in the file."""
        file = re.compile(re.escape(self.table.location) + r"\S*")
        alike: dict[str, list[Place]] = {}
        for place, error in self.failed.items():
            alike.setdefault(file.sub("", error), []).append(place)
        return [
            f"{self._words(first)}: {self.failed[first]}"
            + (f" (and {len(more)} more buckets likewise)" if more else "")
            for first, *more in alike.values()
        ]

    def _words(self, place: Place) -> str:
        return f"{self._partition(place)}, bucket {place[1]}"

    def _partition(self, place: Place) -> str:
        return describe_partition(self.table, place[0])


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


def _within(plan: CompactionPlan, budget: int) -> CompactionPlan:
    """The smallest buckets of a plan, until their tasks read so many bytes; at least one."""
    weights: dict[Place, int] = {}
    for task in plan.tasks:
        place = place_of(plan.table, task.partition, task.bucket)
        weights[place] = weights.get(place, 0) + task.weight
    taken: set[Place] = set()
    used = 0
    for place, weight in sorted(weights.items(), key=lambda item: item[1]):
        if taken and used + weight > budget:
            break
        taken.add(place)
        used += weight
    if len(taken) < len(weights):
        _log.warning(
            "compacting %s: %d of %d buckets are left for later, because their files are larger than the budget of %d "
            "bytes; 'write.stream.compact-budget' is the bound of a stream, and a compaction job of its own has none",
            plan.table.location, len(weights) - len(taken), len(weights), budget,
        )  # fmt: skip
    tasks = (task for task in plan.tasks if place_of(plan.table, task.partition, task.bucket) in taken)
    return replace(plan, tasks=tuple(tasks))


def _waves(table: Table, tasks: Sequence[CompactTask], commit_bytes: int) -> Iterator[tuple[CompactTask, ...]]:
    """The tasks in groups, one for each commit, in order, except that tasks committed together stay together."""
    wave: list[CompactTask] = []
    size = 0
    for unit in committed_units(table, tasks):
        wave += unit
        size += sum(task.weight for task in unit)
        if len(wave) >= WAVE_TASKS or size >= commit_bytes:
            yield tuple(wave)
            wave, size = [], 0
    if wave:
        yield tuple(wave)
