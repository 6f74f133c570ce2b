"""Runtime filters: a join says which values its other side has, and the scan leaves out files by them.

Java: org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering. The join compares all rows that a scan returns, so
what is left out need not be exact: a file is left out only where the plan of the table proves that it has no match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from paimon_spark.arrow.predicates import predicate as p
from paimon_spark.format.bucket import bucket_fields
from paimon_spark.format.types import BINARIES, INTEGERS, TIMESTAMPS, DataField, Root
from paimon_spark.spark.source.filters import NotPushed
from paimon_spark.spark.spark_catalog.driver_calls import Node, parsed
from paimon_spark.spark.spark_catalog.jvm_objects import Java, JvmObjects
from paimon_spark.spark.spark_catalog.predicates import convert
from paimon_spark.store.metadata.table import Table

_COMPARED_ALIKE = frozenset({Root.BOOLEAN, Root.DECIMAL, Root.VARCHAR, Root.DATE, *INTEGERS, *BINARIES, *TIMESTAMPS})
"""Types whose values are equal for a join of Spark exactly if they are equal here: not floats, nor padded texts."""
_MOST_VALUES = 100
"""Of a column whose values are compared with the statistics of each file; more of them are compared as one range."""
_LEAST_SPLITS = 16
"""That our reader reads, of which a join is to leave out some by keys."""


@dataclass(frozen=True)
class RuntimeFilter:
    """How a scan is narrowed.

    Attributes:
        columns: those whose values Spark may say, by name.
        exact: partition columns, whose values are compared with each partition alone.
        batch: makes the batch of what a condition leaves.
    """

    columns: Mapping[str, DataField]
    exact: frozenset[str]
    batch: Callable[[p.Predicate], Java]

    def condition(self, predicates: Iterable[Node]) -> p.Predicate:
        """What Spark says; TRUE: nothing that is of use here."""
        found = []
        for predicate in predicates:
            try:
                found.append(self._of_files(convert(predicate, self.columns)))
            except NotPushed:
                continue
        return p.and_(*found)

    def _of_files(self, part: p.Predicate) -> p.Predicate:
        match part:
            case p.In((name,), values) if name not in self.exact and len(values) > _MOST_VALUES:
                low, high = part.ascending[0], part.ascending[-1]
                return p.and_(p.Compare((name,), p.Op.GE, low), p.Compare((name,), p.Op.LE, high))
        return part


def filter_columns(table: Table, names: Iterable[str], merged_splits: int | None = None) -> dict[str, DataField]:
    """The columns of a read by whose values files are found: of the partition, the primary key and the bucket key.

    Args:
        names: the columns of the read.
        merged_splits: how many splits our reader reads. Such a read is slower as a scan than as a function, and keys
            seldom leave out many of few splits. None: Spark's own scan reads them.
    """
    known = {*table.schema.partition_keys}
    if merged_splits is None or merged_splits >= _LEAST_SPLITS:
        known |= {*table.schema.primary_keys, *(field.name for field in bucket_fields(table.schema, table.settings))}
    fields = [table.schema.by_name[name] for name in names if name in known]
    return {field.name: field for field in fields if field.type.root in _COMPARED_ALIKE}


class ScanCalls:
    """Answers for a scan.

    Its batch is made when Spark asks for it: where Spark runs a plan in its place, it does not. With a runtime filter
    Spark asks right after it has said the values, in one thread. Every other call gets the whole batch: a plan may have
    the scan in several places, and what narrows it in one of them does not hold in the others.
    """

    def __init__(
        self, objects: JvmObjects, target: Any, whole: Callable[[], Java], runtime: RuntimeFilter | None
    ) -> None:
        """
        Args:
            target: answers for the scan as a stream, and as a plan.
            whole: makes the batch of all rows.
            runtime: narrows the scan; None: nothing does.
        """
        self._objects = objects
        self._target = target
        self._make_whole = whole
        self._runtime = runtime
        self._said: dict[int, p.Predicate] = {}

    @cached_property
    def _whole(self) -> Java:
        return self._make_whole()

    def filter(self, predicates: Java) -> None:
        assert self._runtime is not None
        condition = self._runtime.condition(parsed(self._objects, predicates))
        if condition != p.TRUE:
            thread = self._objects.thread_id()
            self._said[thread] = p.and_(self._said.get(thread, p.TRUE), condition)

    def toBatch(self) -> Java:
        condition = self._said.pop(self._objects.thread_id(), None) if self._said else None
        if condition is None or self._runtime is None:
            return self._whole
        return self._runtime.batch(condition)

    def apply(self, relation: Java) -> Java:
        return self._target.apply(relation)

    def toMicroBatchStream(self, checkpoint: str) -> Java:
        return self._target.toMicroBatchStream(checkpoint)
