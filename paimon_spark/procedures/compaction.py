"""Fewer files of data, and of manifests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Absent, Argument, ChosenPartitions, Procedure
from paimon_spark.store.compact.compaction import CompactResult
from paimon_spark.store.compact.partition_choice import chosen_partitions
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.manifest_compaction import CompactManifestResult, compact_manifests

_NO_SORT = "compaction that sorts rows is not supported"
_UNSORTED = "entries of manifests are not sorted"


@dataclass(frozen=True)
class Compact(Procedure[CompactResult]):
    """Merges the files of buckets that have too many, or small files of a table without primary key.

    Rows that a table with postponed buckets keeps waiting come into their buckets first, by a commit of their own.

    Readers and writers go on meanwhile. Work is committed in pieces of some ten GB, each by one snapshot of kind
    COMPACT. Buckets that another job changes meanwhile are planned again, at last left out and named in the result.

    Raises:
        CompactionFailed: some buckets failed; the others are compacted.
        OptionError: an option of this object chooses a snapshot, or both a condition and partitions are given.
        PaimonError: the condition does not fit, the table cannot be written, or a commit failed.
    """

    official = (
        TABLE, "partitions", "compact_strategy", "order_strategy", "order_by", "where", "options",
        "partition_idle_time", "buckets",
    )  # fmt: skip
    absent: ClassVar[Mapping[str, Absent]] = {
        "order_strategy": Absent(_NO_SORT, "none"),
        "order_by": Absent(_NO_SORT),
        "partition_idle_time": Absent("'where' or 'partitions' choose the partitions"),
        "buckets": Absent("all buckets of the chosen partitions that need it are compacted"),
    }

    where: Annotated[
        str | None, Argument("a condition on partition columns, such as dt = '2026-11-01'; else all partitions.")
    ] = None
    full: Annotated[
        bool | None,
        Argument(
            "whether all files of a bucket become one sorted run, so that a read merges nothing (the default), or only "
            "what a writer would compact does, which costs less.",
            sql="compact_strategy",
            words={"full": True, "minor": False},
        ),
    ] = None
    partitions: ChosenPartitions = None

    def run(self, table: Table, engine: Engine) -> CompactResult:
        return engine.compact(table, chosen_partitions(table, self.where, self.partitions), self.full)


@dataclass(frozen=True)
class CompactManifest(Procedure[CompactManifestResult]):
    """Merges the manifests now, in one snapshot: none deletes any more, and at most one is small.

    Raises:
        CorruptFile: a manifest cannot be read; nothing was committed.
        UnsupportedFeature: the table cannot be written.
    """

    official = (
        TABLE, "options", "dry_run", "manifest_sort_enabled", "manifest_sort_partition_field",
        "manifest_sort_max_rewrite_size",
    )  # fmt: skip
    absent: ClassVar[Mapping[str, Absent]] = {
        "dry_run": Absent("the manifests are always merged", False),
        "manifest_sort_enabled": Absent(_UNSORTED, False),
        "manifest_sort_partition_field": Absent(_UNSORTED),
        "manifest_sort_max_rewrite_size": Absent(_UNSORTED),
    }

    def run(self, table: Table, engine: Engine) -> CompactManifestResult:
        return compact_manifests(table)
