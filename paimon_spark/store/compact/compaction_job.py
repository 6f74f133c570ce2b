"""Runs the tasks of a compaction and commits what they made, wave by wave.

It is imported where a plan has tasks: after most writes nothing is compacted, and a user waits for what they import.
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from paimon_spark.errors import CommitConflict, CompactionFailed, RetriesExhausted
from paimon_spark.format.bucket import Place
from paimon_spark.store.compact.commit import CompactedBuckets, commit_compaction, commits_together, committed_units
from paimon_spark.store.compact.live_buckets import place_of
from paimon_spark.store.compact.outcomes import (
    CompactResult,
    Outcome,
    TaskFailure,
    TaskRunner,
    compact_result,
    error_words,
)
from paimon_spark.store.compact.plan import CompactionPlan
from paimon_spark.store.compact.task import CompactTask, CompactTaskResult
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.files import discard
from paimon_spark.store.storage.parallel import submitted

_log = logging.getLogger(__name__)

WAVE_TASKS = 1000  # the most tasks of one commit, however small they are
WAVES_AT_ONCE = 2  # while the last tasks of one wave run, those of the next one use the idle cores
_SHOWN = 5


@dataclass
class CompactionJob:
    """A running compaction.

    Attributes:
        began: the time of the call, by time.monotonic().
        done: the committed buckets.
        dropped, failed: the remaining buckets, each with the reason; a later round may compact them.
    """

    table: Table
    runner: TaskRunner
    commit_bytes: int
    began: float
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
            self.failed.update((self._place(result), error_words(error)) for result in results)
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


def within(plan: CompactionPlan, budget: int) -> CompactionPlan:
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
