"""Other files for the same rows: fewer ones, other buckets, other file indexes, or a copy in another table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar

from paimon_spark.errors import OptionError
from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Absent, Argument, ChosenPartitions, Procedure
from paimon_spark.store.clean.partition_expiry import idle_partitions
from paimon_spark.store.compact.outcomes import CompactResult
from paimon_spark.store.compact.partition_choice import chosen_partitions
from paimon_spark.store.history.tags import Duration
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rescale.rescale import RescaleResult, rescale
from paimon_spark.store.upkeep.compact_call import leaving_out_deleted, sort_on_call
from paimon_spark.store.upkeep.compact_chain import CompactChainTableResult, compact_chain_table
from paimon_spark.store.upkeep.copy_files import CopyResult, copy_table
from paimon_spark.store.upkeep.maintenance import maintain
from paimon_spark.store.upkeep.manifest_compaction import CompactManifestResult, compact_manifests
from paimon_spark.store.upkeep.reassign_row_ids import ReassignRowIdResult, reassign_row_ids
from paimon_spark.store.upkeep.rewrite_indexes import RewriteFileIndexResult, rewrite_file_index

_NO_ORDER = "none"
_UNSORTED = "entries of manifests are not sorted"


@dataclass(frozen=True)
class Compact(Procedure[CompactResult]):
    """Merges the files of buckets that have too many, or small files of a table without primary key.

    Rows that a table with postponed buckets keeps waiting come into their buckets first, by a commit of their own.

    Readers and writers go on concurrently. Work is committed in pieces of some ten GB, each by one snapshot of kind
    COMPACT. Buckets that another job changes concurrently are planned again, at last left out and named in the result.

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
        "buckets": Absent("all buckets of the chosen partitions that need it are compacted"),
    }

    where: Annotated[
        str | None, Argument("a condition on partition columns, such as dt = '2026-11-01'; else all partitions.")
    ] = None
    full: Annotated[
        bool | None,
        Argument(
            "whether all files of a bucket become one sorted run, so that a read merges nothing (the default, but for "
            "tables with clustering.incremental), or only what a writer would compact does, which costs less.",
            sql="compact_strategy",
            words={"full": True, "minor": False},
        ),
    ] = None
    partitions: ChosenPartitions = None
    order_strategy: Annotated[
        str,
        Argument(
            "order, zorder or hilbert: all rows of a table without primary key and buckets are sorted by the columns "
            "of order_by, one after the other or along a curve, and one snapshot replaces the files. none: no sort."
        ),
    ] = _NO_ORDER
    order_by: Annotated[str | Sequence[str] | None, Argument("the columns to sort by, for an order_strategy.")] = None
    partition_idle_time: Annotated[
        Duration | None, Argument("only partitions whose newest file is at least so old, such as '1 d'; else all.")
    ] = None

    def perform(self, table: Table, engine: Engine) -> CompactResult:
        where = chosen_partitions(table, self.where, self.partitions)
        if self.partition_idle_time is not None:
            if self.order_strategy.lower() != _NO_ORDER:
                raise OptionError(
                    f"sorting {table.location}: 'partition_idle_time' is for compactions that do not sort; choose the "
                    "partitions with a condition",
                    arguments=("partition_idle_time", "order_strategy"),
                )
            where = idle_partitions(table, where, self.partition_idle_time)
        columns = _names(self.order_by)
        if self.order_strategy.lower() == _NO_ORDER:
            if columns:
                raise OptionError(
                    f"'order_by' names {', '.join(columns)}, but no order is asked for: give an 'order_strategy' too, "
                    "which is 'order', 'zorder' or 'hilbert'",
                    arguments=("order_by", "order_strategy"),
                )
            return engine.compact(table, where, self.full)
        if self.full is False:
            raise OptionError(
                f"sorting {table.location}: all files are rewritten, not only some of them, as by a writer; leave out "
                "the strategy of the compaction"
            )
        return sort_on_call(table, self.order_strategy, columns, where, engine.cluster)


def _names(given: str | Sequence[str] | None) -> Sequence[str]:
    """The names of columns, which as text stand between commas."""
    return [name.strip() for name in given.split(",") if name.strip()] if isinstance(given, str) else list(given or ())


@dataclass(frozen=True)
class CompactChainTable(Procedure[CompactChainTableResult]):
    """Makes a partition of a chain table a whole one, of the last whole one before it and the changes since.

    This process merges and writes the rows.

    Raises:
        OptionError: the table is no chain table, or the partition is not named by its columns.
        CommitConflict, RetriesExhausted: other jobs committed concurrently; nothing was committed.
        CommitStateUnknown: the store did not answer.
    """

    official = (TABLE, "partition", "overwrite")

    partition: Annotated[
        str,
        Argument("values of partition columns in SQL, such as dt='20260201',hour='07'; several partitions may fit."),
    ]
    overwrite: Annotated[
        bool, Argument("whether a partition that is whole already is made anew; else it stays as it is.")
    ] = False

    def perform(self, table: Table, engine: Engine) -> CompactChainTableResult:
        return compact_chain_table(table, self.partition, self.overwrite)


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
        "manifest_sort_enabled": Absent(_UNSORTED, False),
        "manifest_sort_partition_field": Absent(_UNSORTED),
        "manifest_sort_max_rewrite_size": Absent(_UNSORTED),
    }

    dry_run: Annotated[bool, Argument("whether only to tell how many manifests would be merged.")] = False

    def perform(self, table: Table, engine: Engine) -> CompactManifestResult:
        return compact_manifests(table, self.dry_run)


@dataclass(frozen=True)
class Rescale(Procedure[RescaleResult]):
    """Writes the rows of partitions again, into another number of buckets, in one snapshot.

    Partitions that have this number are left alone. If all partitions are meant, the option `bucket` of the table is
    changed too, so that writes go on with the new number; else it is not, and the partitions can be written to when the
    option says the same. Partitions with postponed buckets keep the number they are given.

    Raises:
        CommitConflict: another job has changed a partition concurrently; nothing was replaced.
        OptionError: a table with postponed buckets is given no number, or both a condition and partitions are given.
        PaimonError: the table has no number of buckets to change, the condition does not fit, or the commit failed.
    """

    official = (TABLE, "bucket_num", "partitions", "where")

    buckets: Annotated[
        int | None,
        Argument(
            "the number of buckets, at least 1; else what the option `bucket` says, which a table with postponed "
            "buckets cannot do.",
            sql="bucket_num",
            at_least=1,
        ),
    ] = None
    where: Annotated[
        str | None, Argument("a condition on partition columns, such as dt < '2026-11-01'; else all partitions.")
    ] = None
    partitions: ChosenPartitions = None

    def perform(self, table: Table, engine: Engine) -> RescaleResult:
        where = chosen_partitions(table, self.where, self.partitions)
        result = rescale(table, self.buckets, where, engine.rewrite)
        maintain(table)
        return result


@dataclass(frozen=True)
class RewriteFileIndex(Procedure[RewriteFileIndexResult]):
    """Gives data files the indexes that the options `file-index.*` ask for: files that were written without, too.

    The data files stay as they are. Indexes that the options no longer ask for are taken away.

    Raises:
        OptionError: an option of indexes is not valid, or the condition is not on partition columns.
        PaimonError: the condition does not fit, or the commit failed.
    """

    official = (TABLE, "where")

    where: Annotated[
        str | None, Argument("a condition on partition columns, such as dt < '2026-11-01'; else all partitions.")
    ] = None

    def perform(self, table: Table, engine: Engine) -> RewriteFileIndexResult:
        result = rewrite_file_index(table, self.where, engine.build_indexes)
        maintain(table)
        return result


@dataclass(frozen=True)
class ReassignRowId(Procedure[ReassignRowIdResult]):
    """Gives the rows of partitions ids without gaps, in one snapshot and by metadata alone, for tables with data
    evolution.

    Rows that were written to several partitions in turn have ids that are far apart, and files are compacted together
    only if the ids of their rows have no gap. An id that somebody has kept then means no row any more. Partitions whose
    ids have no gap keep them, and so does a table without partition columns.

    Raises:
        OptionError: the table has no data evolution, or both a condition and partitions are given.
        PaimonError: the condition does not fit, metadata are damaged, or the commit failed.
    """

    official = (TABLE, "partitions")

    where: Annotated[
        str | None, Argument("a condition on partition columns, such as dt = '2026-11-01'; else all partitions.")
    ] = None
    partitions: ChosenPartitions = None

    def perform(self, table: Table, engine: Engine) -> ReassignRowIdResult:
        result = reassign_row_ids(table, chosen_partitions(table, self.where, self.partitions))
        maintain(table)
        return result


@dataclass(frozen=True)
class MaterializeDeletionVectors(Procedure[CompactResult]):
    """Leaves deleted rows of a table with data evolution out of its files; the other rows of these files get new ids.

    An id that somebody has kept then means no row any more, and indexes of the whole table over the partitions are
    dropped. Files without deleted rows stay as they are. Older snapshots and tags keep the files that are replaced
    until they expire.

    Raises:
        OptionError: the table has no data evolution or no deletion vectors, or both a condition and partitions are
            given.
        CompactionFailed: some buckets failed; the others are done.
        PaimonError: the condition does not fit, the table cannot be written, or a commit failed.
    """

    official = (TABLE, "partitions", "options", "where")

    where: Annotated[
        str | None, Argument("a condition on partition columns, such as dt = '2026-11-01'; else all partitions.")
    ] = None
    partitions: ChosenPartitions = None

    def perform(self, table: Table, engine: Engine) -> CompactResult:
        where = chosen_partitions(table, self.where, self.partitions)
        return engine.compact(leaving_out_deleted(table), where, False)


@dataclass(frozen=True)
class Copy(Procedure[CopyResult]):
    """Copies the latest state to another table, file by file, in one snapshot there.

    A target that is not there is made, with the schemas and options of this table, but for those that name places or
    branches. In one that is there the partitions are replaced that have rows here; all of it if it has no partition
    columns, or `dynamic-partition-overwrite` is false.

    Raises:
        OptionError, PredicateError: the condition does not fit, the target lies in this table, or an option chooses a
            snapshot.
        SchemaError: the target does not fit, or something else is there.
        UnsupportedFeature: the target could not be written, or there are files of a kind that is not copied.
        CorruptFile: a file of this table is missing or not what it should be.
    """

    official = ("source_table", "target_table", "where")

    target: Annotated[
        str,
        Argument(
            "the directory of the other table, in this store or in another.", sql="target_table", names_table=True
        ),
    ]
    where: Annotated[
        str | None, Argument("a condition on partition columns, such as dt < '2026-11-01'; else all partitions.")
    ] = None
    options: Annotated[
        Mapping[str, str], Argument("storage options of the target, where they differ from those of this table.")
    ] = field(default_factory=dict)
    distributed: Annotated[
        bool | None, Argument("whether Spark tasks copy, or this process; else as much as there is decides.")
    ] = None

    def perform(self, table: Table, engine: Engine) -> CopyResult:
        copy_all = partial(engine.copy_files, distributed=self.distributed)
        return copy_table(table, self.target, self.where, self.options, copy_all)
