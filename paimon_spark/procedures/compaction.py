"""Fewer files of data, and of manifests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Argument, Procedure
from paimon_spark.store.compact.compaction import CompactResult
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.manifest_compaction import CompactManifestResult, compact_manifests


@dataclass(frozen=True)
class Compact(Procedure[CompactResult]):
    """Merges the files of buckets that have too many, or small files of a table without primary key.

    Rows that a table with postponed buckets keeps waiting come into their buckets first, by a commit of their own.

    Readers and writers go on meanwhile. Work is committed in pieces of some ten GB, each by one snapshot of kind
    COMPACT. Buckets that another job changes meanwhile are planned again, at last left out and named in the result.

    Raises:
        CompactionFailed: some buckets failed; the others are compacted.
        OptionError: an option of this object chooses a snapshot.
        PaimonError: the condition does not fit, the table cannot be written, or a commit failed.
    """

    official = (
        TABLE, "partitions", "compact_strategy", "order_strategy", "order_by", "where", "options",
        "partition_idle_time", "buckets",
    )  # fmt: skip

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

    def run(self, table: Table, engine: Engine) -> CompactResult:
        return engine.compact(table, self.where, self.full)


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

    def run(self, table: Table, engine: Engine) -> CompactManifestResult:
        return compact_manifests(table)
