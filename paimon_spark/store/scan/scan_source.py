"""What a scan reads, as an interface, and the plan that it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import ReadUnit

if TYPE_CHECKING:
    from paimon_spark.store.pruning.first_rows import FirstRows
    from paimon_spark.store.read.branched_reader import BranchedReader
    from paimon_spark.store.read.split_reader import SplitReader
    from paimon_spark.store.scan.read_tags import ReadTag
    from paimon_spark.store.scan.scan_explanation import ScanExplanation


@dataclass(frozen=True)
class Plan:
    """The splits of a scan; snapshot is None for a table without snapshots, and for an empty increment.

    skipped_by_index is how many files were left out by their indexes, which statistics had not left out, and
    skipped_by_order how many because their rows do not come first.
    """

    snapshot: Snapshot | None
    splits: tuple[ReadUnit, ...]
    skipped_by_index: int = 0
    skipped_by_order: int = 0


class ScanSource(Protocol):
    """What a scan reads: one branch of a table, or two of them as one."""

    @property
    def table(self) -> Table: ...

    @property
    def fields(self) -> tuple[DataField, ...]: ...

    @property
    def predicate(self) -> Predicate: ...

    @property
    def is_strict(self) -> bool:
        """True if no file is passed over, so that each has the rows that it is said to have."""
        ...

    def with_fields(self, fields: tuple[DataField, ...]) -> ScanSource:
        """The same read of other columns."""
        ...

    def with_statistics(self) -> ScanSource:
        """The same read, whose plans have the statistics of files."""
        ...

    def with_first(self, first: FirstRows) -> ScanSource:
        """The same read, whose plans need not have what comes behind the first rows."""
        ...

    def plan(self) -> Plan:
        """See Scan.plan."""
        ...

    def plan_with_read_tags(self) -> tuple[Plan, tuple[ReadTag, ...]]:
        """See Scan.plan_with_read_tags."""
        ...

    def explain(self) -> ScanExplanation | None:
        """See Scan.explain."""
        ...

    def reader(self) -> SplitReader | BranchedReader:
        """See Scan.reader."""
        ...
