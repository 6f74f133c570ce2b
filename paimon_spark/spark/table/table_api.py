"""PaimonTable: what can be done with a table beyond ``spark.read`` and ``df.write``, on classic Spark and on Connect.

What reads the table is in ``table_reads``, what changes its rows in ``table_writes``; here is how it is opened, and
what changes its metadata. Metadata is read and commits are made by this process, which therefore must reach the table's
storage, as the executors must.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.errors import TableNotFound
from paimon_spark.format.options.foreign_names import ForeignNames
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.procedures.procedure import Procedure, documented, method_of
from paimon_spark.procedures.rewrites import Compact, Copy
from paimon_spark.procedures.table_procedures import TableProcedures
from paimon_spark.spark.adapters.open_catalogs import named_table
from paimon_spark.spark.adapters.options import last_of, path_in_session, refuse_table_name
from paimon_spark.spark.adapters.session_options import is_case_sensitive
from paimon_spark.spark.jobs.spark_engine import SparkEngine
from paimon_spark.spark.table.new_table import NewTable, read_type
from paimon_spark.spark.table.table_reads import TableReads
from paimon_spark.spark.table.table_state import of_table
from paimon_spark.spark.table.table_writes import TableWrites
from paimon_spark.store.compact.outcomes import CompactResult
from paimon_spark.store.evolution.alter import AlterResult, alter
from paimon_spark.store.evolution.changes import SchemaChange
from paimon_spark.store.evolution.schema_update import SchemaBlock, SchemaUpdate, option_changes, unset_changes
from paimon_spark.store.open import ReadableTable, find_any_table, open_any_table
from paimon_spark.store.storage.served import is_served
from paimon_spark.store.upkeep.copy_files import CopyResult
from paimon_spark.writes.options import TIME_ZONE

R = TypeVar("R")
_NO_OPTIONS: Mapping[str, str] = {}


@checks_arguments
class PaimonTable(TableReads, TableWrites, TableProcedures):
    """A table at a path. It holds no state of the table: every call opens the table that is there then.

    A table that was dropped raises TableNotFound, for writes too. One that was made anew at its place is the table from
    then on; a call that had opened the old one before commits nothing.

    - Open and declare: ``forPath`` and ``forName``, which check that the table is there, ``isPaimonTable``, ``create``,
      ``createIfNotExists``
    - Read: ``toDF``, ``count``, ``min``, ``max``, ``createOrReplaceTempView``
    - Write: ``append``, ``overwrite``, ``dynamic_partition_overwrite``, ``truncate``, ``drop_partitions``
    - Streams: ``write_stream``, ``stream``
    - Change rows: ``delete``, ``update``, ``merge`` (with ``alias``)
    - Follow a database: ``sync``
    - Look: ``detail``, ``history``, ``files``, ``partitions``, ``buckets``, ``schemas``, ``tags``, ``branches``,
      ``consumers``, ``system_table``, ``check``, ``analyze``
    - Columns and options: ``update_schema``, ``set_options``, ``unset_options``
    - Compact and index: ``optimize``, ``compact``, ``compact_manifest``, ``rescale``, ``rewrite_file_index``,
      ``create_global_index``, ``drop_global_index``, ``materialize_deletion_vectors``, ``reassign_row_id``,
      ``compact_chain_table``
    - Expire and clean up: ``expire_snapshots``, ``expire_changelogs``, ``expire_partitions``, ``mark_partition_done``,
      ``remove_orphan_files``, ``purge_files``
    - Tags: ``create_tag``, ``create_tag_from_timestamp``, ``replace_tag``, ``rename_tag``, ``delete_tag``,
      ``expire_tags``, ``trigger_tag_automatic_creation``
    - Go back: ``rollback``, ``rollback_to_timestamp``, ``rollback_to_watermark``, ``rollback_to_as_latest``
    - Branches, copies and consumers: ``create_branch``, ``rename_branch``, ``delete_branch``, ``fast_forward``,
      ``merge_branch``, ``copy``, ``reset_consumer``, ``clear_consumers``
    - Repair: ``remove_unexisting_files``, ``repair_earliest_snapshot``
    """

    @classmethod
    def forPath(cls, spark: SparkSession, path: str, options: Mapping[str, str] = _NO_OPTIONS) -> PaimonTable:
        """The table at a path.

        Args:
            path: a relative one begins where the session was started, on Spark Connect where this process is.
            options: storage options (``s3.endpoint``, ...) and table options for all uses of this object. Conditions
                are read in the time zone of the session; ``time-zone`` names another one. ``read.native`` is for
                ``toDF``.

        Raises:
            TableNotFound: there is none; the message tells what was found there.
            OptionError: there is none, and the path looks like the name of a table.
        """
        given, path = path, path_in_session(spark, path)
        try:
            table = open_any_table(path, of_table(options), time_zone=last_of(options, TIME_ZONE))
        except TableNotFound:
            refuse_table_name(given)
            raise
        name = table.branch if isinstance(table, ReadableTable) else TableSettings.branch.default
        branch = {} if name == TableSettings.branch.default else {TableSettings.branch.key: name}
        return cls(spark, path if is_served(path) else table.location, {**options, **branch})

    @classmethod
    def forName(cls, spark: SparkSession, name: str, options: Mapping[str, str] = _NO_OPTIONS) -> PaimonTable:
        """The table of a name in the catalogs that ``paimon_spark.catalog`` has opened in the session.

        Args:
            name: ``table`` of the current database, which ``USE`` in the SQL of the catalog chooses, ``database.table``
                or ``catalog.database.table``.
            options: as for forPath.

        Raises:
            TableNotFound: there is none; the message tells what is there.
            OptionError: the session has no catalog.
            SqlError: several catalogs are open in the session, and the name does not say which one is meant.
        """
        catalog, identifier, suffixes = named_table(spark, name)
        catalog.load_any_table(identifier)
        path = f"{catalog.table_location(identifier)}{suffixes}"
        return cls.forPath(spark, path, {**catalog.table_options(), **options})

    @classmethod
    def isPaimonTable(cls, spark: SparkSession, path: str, options: Mapping[str, str] = _NO_OPTIONS) -> bool:
        """True if there is a table at the path."""
        return find_any_table(path_in_session(spark, path), of_table(options)) is not None

    @classmethod
    def create(cls, spark: SparkSession) -> NewTable[PaimonTable]:
        """Declares a table to be created; one that exists is an error."""
        return NewTable(spark, lambda path, options: cls.forPath(spark, path, options), ignore_if_exists=False)

    @classmethod
    def createIfNotExists(cls, spark: SparkSession) -> NewTable[PaimonTable]:
        """Declares a table to be created; one that exists is taken as it is."""
        return NewTable(spark, lambda path, options: cls.forPath(spark, path, options), ignore_if_exists=True)

    def optimize(self) -> TableOptimizer:
        """Compaction: ``optimize().compact()``, or ``optimize().where("dt = '2026-11-01'").executeCompaction()``."""
        return TableOptimizer(self._run)

    @documented(Copy)
    def copy(
        self,
        target: str,
        where: str | None = None,
        options: Mapping[str, str] = _NO_OPTIONS,
        distributed: bool | None = None,
    ) -> CopyResult:
        return self._run(Copy(path_in_session(self._spark, target), where, {**self._options, **options}, distributed))

    def update_schema(self, dry_run: bool = False) -> SchemaBlock:
        """Changes columns, comments and options: all of them at the end of the block, or none if it raises.

        Columns are found in any letter case, unless ``spark.sql.caseSensitive`` is set. A type is a Spark type, or a
        Paimon type as text, as for ``create().addColumn``. The ``result`` of the update is there after the block.

        Args:
            dry_run: True only says, in ``result.difference``, what would be different.

        Raises:
            SchemaError, OptionError, UnsupportedFeature: a change does not fit; nothing was changed.
            CommitConflict: another job has changed the schema concurrently, so that the changes do not fit any more.
        """
        return SchemaBlock(SchemaUpdate(read_type), lambda changes: self._alter(changes, dry_run))

    def set_options(self, options: Mapping[str, str], dry_run: bool = False) -> AlterResult:
        """Stores table options, for all readers and writers from now on.

        Args:
            options: "comment" among them is the comment of the table.
            dry_run: True changes nothing.

        Raises:
            OptionError: an option is unknown, has a bad value, or cannot change any more; the message says what to do.
            UnsupportedFeature: this release could not write to such a table.
        """
        return self._alter(option_changes(options), dry_run)

    def unset_options(self, *keys: str, dry_run: bool = False) -> AlterResult:
        """Removes table options, which then have their default; one that is not set is no error.

        Raises:
            OptionError: an option cannot change any more.
        """
        return self._alter(unset_changes(keys), dry_run)

    def _alter(self, changes: tuple[SchemaChange, ...], dry_run: bool) -> AlterResult:
        return alter(self._open(), changes, is_case_sensitive(self._spark), dry_run)

    def _run(self, procedure: Procedure[R]) -> R:
        return procedure.run(self._open_in_session(), SparkEngine(self._spark, self._rows_of_snapshot))

    def _rows_of_snapshot(self, columns: Sequence[str], snapshot_id: int) -> DataFrame:
        return self.toDF(columns, options={ScanSettings.snapshot_id.key: str(snapshot_id)})


@checks_arguments
class TableOptimizer(ForeignNames):
    """Compacts or sorts a table; made by ``PaimonTable.optimize()``."""

    def __init__(self, run: Callable[[Compact], CompactResult], where: str | None = None) -> None:
        """
        Args:
            run: compacts the table as it is then.
            where: a condition on partition columns, for calls that give none.
        """
        self._compact = run
        self._where = where

    def where(self, condition: str) -> TableOptimizer:
        """Only the partitions for which an SQL condition on partition columns is true."""
        return TableOptimizer(self._compact, condition)

    def executeCompaction(self) -> CompactResult:
        """Compacts with the defaults of ``compact``."""
        return self.compact()

    compact = method_of(Compact)

    def executeOrderBy(self, *columns: str) -> CompactResult:
        """Sorts the rows of each partition by columns, one after the other; see ``compact``."""
        return self._sorted("order", columns)

    def executeZOrderBy(self, *columns: str) -> CompactResult:
        """Sorts the rows of each partition along a z-order of columns; see ``compact``."""
        return self._sorted("zorder", columns)

    def executeHilbertOrderBy(self, *columns: str) -> CompactResult:
        """Sorts the rows of each partition along a Hilbert curve of columns; see ``compact``."""
        return self._sorted("hilbert", columns)

    def _sorted(self, strategy: str, columns: Sequence[str]) -> CompactResult:
        return self.compact(order_strategy=strategy, order_by=columns)

    def _run(self, procedure: Compact) -> CompactResult:
        return self._compact(replace(procedure, where=procedure.where or self._where))
