"""Reads two branches: partitions that one lacks are read from the other (Java: FallbackReadFileStoreTable).

With `scan.fallback-branch` the table's own branch has priority, with `scan.primary-branch` the other one. Each
partition is read from one branch as a whole, whatever the condition is. Writes use their own branch only.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NoReturn

from paimon_spark.arrow.predicates.predicate import restrict
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.metadata.live_files import canonical_row
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import other_branch
from paimon_spark.store.read.branched_reader import BranchedReader
from paimon_spark.store.read.splits import PostponeSplit, ReadUnit, Split
from paimon_spark.store.scan.increments import reads_increment
from paimon_spark.store.scan.other_branches import check_alike, fields_of, listed_partitions, other_table
from paimon_spark.store.scan.read_spec import Plan
from paimon_spark.store.scan.read_tags import ReadTag
from paimon_spark.store.scan.split_plan import of_level, top_level
from paimon_spark.store.scan.table_scan import Scan, delete_read_tags

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SecondBranch:
    """The other branch of a table that is read through two.

    Attributes:
        table: the table as that branch has it.
        goes_first: whether partitions that both branches have are read from it.
        top_only: whether only files of the highest level of each branch count, as for ``$ro``.
    """

    table: Table
    goes_first: bool
    top_only: bool = False

    def read_with(self, scan: Scan) -> BranchPair:
        """The reads of both branches. They have all rows: the other branch may hide those that come first."""
        spec = replace(scan.spec, first=None)
        others = replace(spec, fields=fields_of(self.table, spec.fields))
        return BranchPair(Scan(scan.table, spec), Scan(self.table, others), self)


@dataclass(frozen=True)
class BranchPair:
    """Two branches of a table, read as one.

    Attributes:
        own: the read of the table's own branch alone.
        other: the same read of the other branch, in its columns.
        second: the other branch.
    """

    own: Scan
    other: Scan
    second: SecondBranch

    def plan(self) -> Plan:
        """As Scan.plan; the snapshot is that of the own branch."""
        self._check_reads_state()
        own = self.own.plan()
        return self._merge_plans(own, self.other.plan() if self._other_is_there else Plan(None, ()))

    def plan_with_read_tags(self) -> tuple[Plan, tuple[ReadTag, ...]]:
        """As Scan.plan_with_read_tags; there are tags in both branches."""
        self._check_reads_state()
        other, tags = self.other.plan_with_read_tags() if self._other_is_there else (Plan(None, ()), ())
        try:
            own, more = self.own.plan_with_read_tags()
            tags += more
            return self._merge_plans(own, other), tags
        except BaseException:
            delete_read_tags(self.own.table, tags)
            raise

    def reader(self) -> BranchedReader:
        """Reads the splits of both."""
        return BranchedReader(self.own.split_reader(), self.other.split_reader())

    def explain(self) -> NoReturn:
        """Refuses to explain the read.

        Raises:
            UnsupportedFeature: always.
        """
        raise UnsupportedFeature(
            f"explaining a read of {self.own.table.location}: it is read through the branch "
            f"'{self.other.table.branch}' too; name one of the branches by the option 'branch'"
        )

    def _check_reads_state(self) -> None:
        if reads_increment(self.own.table.settings):
            option = ScanSettings.primary_branch if self.second.goes_first else ScanSettings.fallback_branch
            raise UnsupportedFeature(
                f"reading a change of {self.own.table.location}: of which branch is not told, as the table is also "
                f"read through the branch '{self.other.table.branch}'; set the option '{option.key}' to '' to read the "
                "changes of its own branch, or name the branch by the option 'branch'"
            )

    def _merge_plans(self, own: Plan, other: Plan) -> Plan:
        sides = [
            (self.own, own.snapshot, self._shown(self.own, own.splits)),
            (self.other, other.snapshot, [self._as_others(split) for split in self._shown(self.other, other.splits)]),
        ]
        (first, snapshot, splits), (_, _, more) = sides[::-1] if self.second.goes_first else sides
        known = set(map(self._partition, splits)) if self._shows_all(first) else self._partitions(first, snapshot)
        return Plan(own.snapshot, (*splits, *(split for split in more if self._partition(split) not in known)))

    def _shown(self, scan: Scan, splits: Iterable[ReadUnit]) -> list[ReadUnit]:
        level = top_level(scan.table.schema, scan.table.settings) if self.second.top_only else None
        if level is None:
            return list(splits)
        return [split for split in (of_level(split, level) for split in splits) if split.raw_files]

    def _as_others(self, split: ReadUnit) -> ReadUnit:
        """A split of the other branch, which says so."""
        assert isinstance(split, (Split, PostponeSplit))  # only changes have others, and they are refused
        return replace(split, branch=self.other.table.branch)

    @property
    def _other_is_there(self) -> bool:
        """True if the other branch has the state. A tag may exist in the own branch only; then only that is read."""
        name = self.own.table.settings.scan.tag_name
        return name is None or self.other.table.snapshots.find_tag(name) is not None

    def _shows_all(self, scan: Scan) -> bool:
        """True if the splits of its plan tell its partitions: no file is left out for its values or its age."""
        ages = (ScanSettings.file_creation_time_millis, ScanSettings.creation_time_millis)
        by_partition = restrict(self.own.predicate, set(scan.table.schema.partition_keys))
        return self.own.predicate == by_partition and not any(map(scan.table.settings.is_set, ages))

    def _partitions(self, scan: Scan, snapshot: Snapshot | None) -> set[bytes]:
        """The partitions in which a branch has files that the read looks at, among those that the condition allows."""
        return listed_partitions(scan.table, snapshot, self.own.predicate, self.second.top_only)

    def _partition(self, split: ReadUnit) -> bytes:
        assert isinstance(split, (Split, PostponeSplit))  # only changes have others, and they are refused
        return canonical_row(split.partition, self.own.table.schema.partition_types)


def second_branch(table: Table) -> SecondBranch | None:
    """The branch that an option says to read as well; None: it says none, or there is none, as in Java.

    Raises:
        SchemaError: the branches do not have the same columns and partition columns.
        UnsupportedFeature: this release cannot read the other branch.
        SnapshotNotFound: an option names a snapshot, tag or time that does not exist.
    """
    name = other_branch(table.settings, table.branch)
    if name is None:
        return None
    other = other_table(table, name)
    if other is None:
        _log.warning("%s is to be read through the branch '%s', which it does not have", table.location, name)
        return None
    check_alike(table, other)
    return SecondBranch(other, goes_first=not table.settings.scan.fallback_branch)
