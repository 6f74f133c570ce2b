"""PaimonTable: what can be done with a table beyond ``spark.read`` and ``df.write``, on classic Spark and on Connect.

Writes take the road with a shuffle: one task owns a bucket, files are few and large. Metadata is read and commits are
made by this process, which therefore must reach the table's storage, as the executors must.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from pyspark.sql import Column, DataFrame, SparkSession

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.errors import TableNotFound
from paimon_spark.format.options.column_names import format_columns, given_columns
from paimon_spark.format.options.foreign_names import ForeignNames
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.procedures.procedure import Procedure
from paimon_spark.spark.adapters.dataframes import Rows, as_dataframe, held_rows
from paimon_spark.spark.adapters.live_session import LiveSession
from paimon_spark.spark.adapters.open_catalogs import named_table
from paimon_spark.spark.adapters.options import (
    COLUMNS,
    CREATES_TABLE,
    DYNAMIC_OVERWRITE,
    FAIL,
    FILTER,
    LOCAL,
    NATIVE,
    OVERWRITE_MODE,
    OVERWRITE_WHERE,
    PATH,
    TIME_ZONE,
    UNKNOWN_BATCH,
    Once,
    path_in_session,
    without_merging,
    write_options,
)
from paimon_spark.spark.jobs.spark_engine import SparkEngine
from paimon_spark.spark.jobs.write_run import run_write
from paimon_spark.spark.native.read_table import ReadRequest, read_table
from paimon_spark.spark.stream_sink.query import compute, local_query
from paimon_spark.spark.table.count_methods import CountMethods
from paimon_spark.spark.table.history_methods import HistoryMethods
from paimon_spark.spark.table.maintenance_methods import MaintenanceMethods, TableOptimizer
from paimon_spark.spark.table.new_table import NewTable
from paimon_spark.spark.table.row_methods import RowMethods
from paimon_spark.spark.table.schema_methods import SchemaMethods
from paimon_spark.spark.table.stream_methods import StreamMethods
from paimon_spark.spark.table.sync_methods import SyncMethods
from paimon_spark.spark.write.bucket_routing import how_computed
from paimon_spark.spark.write.open_write import open_job
from paimon_spark.spark.write.write_job import WriteResult
from paimon_spark.store.checks.report import CheckResult
from paimon_spark.store.checks.table import check
from paimon_spark.store.metadata.table_options import split_storage_options
from paimon_spark.store.open import ReadableTable, find_table, open_table
from paimon_spark.store.storage.served import is_served

R = TypeVar("R")
_MOST_OF_LIMIT = 2**31 - 1  # Spark's limit is an int of Java
_NO_OPTIONS: Mapping[str, str] = {}
_DETAIL = (
    "location string, schema_id bigint, comment string, partition_keys array<string>, primary_keys array<string>, "
    "bucket_mode string, options map<string, string>, snapshot_id bigint, files bigint, bytes bigint, rows bigint"
)


@checks_arguments
class PaimonTable(
    CountMethods,
    HistoryMethods,
    MaintenanceMethods,
    RowMethods,
    SchemaMethods,
    StreamMethods,
    SyncMethods,
    ForeignNames,
):
    """A table at a path. It holds no state of the table: every call opens the table that is there then.

    A table that was dropped raises TableNotFound, for writes too. One that was made anew at its place is the table from
    then on; a call that had opened the old one before commits nothing.

    - Open and declare: ``forPath``, ``forName``, ``isPaimonTable``, ``create``, ``createIfNotExists``
    - Read: ``toDF``, ``count``, ``min``, ``max``, ``createOrReplaceTempView``
    - Write: ``append``, ``overwrite``, ``dynamic_partition_overwrite``, ``truncate``, ``drop_partitions``
    - Streams: ``write_stream``, ``stream``
    - Change rows: ``delete``, ``update``, ``merge`` (with ``alias``)
    - Follow a database: ``sync``
    - Look: ``detail``, ``history``, ``files``, ``partitions``, ``buckets``, ``schemas``, ``tags``, ``branches``,
      ``consumers``, ``system_table``, ``check``, ``analyze``
    - Columns and options: ``update_schema``, ``set_options``, ``unset_options``
    - Compact and index: ``optimize``, ``compact_manifest``, ``rescale``, ``rewrite_file_index``
    - Expire and clean up: ``expire_snapshots``, ``expire_changelogs``, ``expire_partitions``, ``mark_partition_done``,
      ``remove_orphan_files``, ``purge_files``
    - Tags: ``create_tag``, ``create_tag_from_timestamp``, ``replace_tag``, ``rename_tag``, ``delete_tag``,
      ``expire_tags``, ``trigger_tag_automatic_creation``
    - Go back: ``rollback``, ``rollback_to_timestamp``, ``rollback_to_watermark``, ``rollback_to_as_latest``
    - Branches, copies and consumers: ``create_branch``, ``rename_branch``, ``delete_branch``, ``fast_forward``,
      ``merge_branch``, ``copy``, ``reset_consumer``, ``clear_consumers``
    - Repair: ``remove_unexisting_files``, ``repair_earliest_snapshot``
    """

    _spark = LiveSession("this table", "open the table, such as PaimonTable.forPath(spark, '<path>'),")

    def __init__(self, spark: SparkSession, path: str, options: Mapping[str, str] = _NO_OPTIONS) -> None:
        """Use ``forPath``, which checks that the table is there."""
        self._spark = spark
        self._path = path
        self._options = _of_table(options)
        self._of_reads = {key: _last(options, key) for key in (TIME_ZONE, NATIVE, LOCAL)}
        self._unknown = _last(options, UNKNOWN_BATCH) or FAIL

    def __repr__(self) -> str:
        """The path and the options, without those of the storage, which hold secrets. It reads nothing."""
        _, table = split_storage_options(self._options)
        return f"PaimonTable({self._path!r}{f', options={table!r}' if table else ''})"

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
        """
        path = path_in_session(spark, path)
        table = open_table(path, _of_table(options), time_zone=_last(options, TIME_ZONE))
        branch = {} if table.branch == TableSettings.branch.default else {TableSettings.branch.key: table.branch}
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
        catalog.load_table(identifier)
        path = f"{catalog.table_location(identifier)}{suffixes}"
        return cls.forPath(spark, path, {**catalog.table_options(), **options})

    @classmethod
    def isPaimonTable(cls, spark: SparkSession, path: str, options: Mapping[str, str] = _NO_OPTIONS) -> bool:
        """True if there is a table at the path."""
        return find_table(path_in_session(spark, path), _of_table(options)) is not None

    @classmethod
    def create(cls, spark: SparkSession) -> NewTable[PaimonTable]:
        """Declares a table to be created; one that exists is an error."""
        return NewTable(spark, lambda path, options: cls.forPath(spark, path, options), ignore_if_exists=False)

    @classmethod
    def createIfNotExists(cls, spark: SparkSession) -> NewTable[PaimonTable]:
        """Declares a table to be created; one that exists is taken as it is."""
        return NewTable(spark, lambda path, options: cls.forPath(spark, path, options), ignore_if_exists=True)

    def toDF(
        self,
        columns: str | Sequence[str] | None = None,
        where: str | Column | None = None,
        options: Mapping[str, str] = _NO_OPTIONS,
        native: bool | None = None,
    ) -> DataFrame:
        """The rows as a DataFrame of the state that the table has now: make it again to see newer rows.

        Spark itself reads the Parquet files whose rows need no merge, so a query reads the columns that it needs and
        skips row groups. The data source reads the other files in Python; `columns` and `where` make that part smaller.

        Args:
            columns: names of the columns to read, in order, or one text such as "id, total"; None means all.
            where: a condition, read in the time zone of the session. As SQL text it is used for pruning and decided
                while reading; as a Column it is a ``DataFrame.where``, over the chosen columns only.
            options: more options of the read, such as ``scan.snapshot-id``.
            native: None: Spark reads itself what it can. True: it must read all files. False: it reads none, and the
                first query chooses the state. None leaves the choice to the option `read.native` (auto, true, false),
                then to the setting `spark.paimon.read.native` of the session.

        Raises:
            UnsupportedFeature: native is True, and a file must be read in Python; the message names the file and why.
            PaimonError: the table cannot be planned, an option does not fit, or a column is unknown.
        """
        names = given_columns(columns)
        text = where if isinstance(where, str) else None
        given = {**without_merging(self._options), **options}
        for key, value in self._of_reads.items():
            if value is not None and _last(given, key) is None:
                given[key] = value
        frame = read_table(self._spark, ReadRequest(self._path, given, names, text, native)).frame
        return frame if where is None or isinstance(where, str) else frame.where(where)

    def createOrReplaceTempView(self, name: str, options: Mapping[str, str] = _NO_OPTIONS) -> None:
        """Gives the table a name in the SQL of this session, for ``SELECT`` and ``INSERT``.

        All files are read by the data source, because Spark inserts into nothing else: ``toDF`` makes a DataFrame that
        Spark reads faster, and whose own ``createOrReplaceTempView`` makes a view to read only.

        The first query over the view chooses the snapshot for all later ones. Neither ``INSERT INTO`` the view nor
        ``REFRESH TABLE`` changes that: call this again to see newer rows. An insert says so in the log of the driver.

        Args:
            name: of the view; one that is there is replaced.
            options: of the reads and writes through it; ``filter`` or ``scan.snapshot-id`` make it a view to read only.
        """
        merged = {**self._options, **options, CREATES_TABLE: "false"}  # the view outlives a drop of the table
        self._read(self._path, None, None, merged).createOrReplaceTempView(name)

    def append(
        self,
        df: Rows,
        options: Mapping[str, str] = _NO_OPTIONS,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> WriteResult:
        """Adds the rows, or upserts them if the table has a primary key.

        Args:
            df: a DataFrame of Spark or pandas, a pyarrow Table, a scan, or what else has Arrow's stream, such as a
                DataFrame of Polars; this process holds all rows but those of Spark.
            options: of this write; ``row-kind-column`` among them.
            once: the name of an application and a number that grows from write to write, such as that of a batch: the
                write happens once. It is looked up before a row is computed; a repeated call does nothing and says so
                (``repeated``). Several writes of one batch need names of their own.
            once_skips_older: whether a lower number than the last one is skipped; else it is an error.

        Raises:
            TableNotFound: the table was dropped; a write makes none.
            StaleBatch: the application has written a later number; the message names the ways out.
            CommitStateUnknown: an earlier call broke off, and the snapshots have expired that could tell whether it
                was committed; the option `write.stream.unknown-batch` = skip or write decides.
            PaimonError: the DataFrame, the options and the table do not fit, or the commit failed.
        """
        return self._write(df, options, False, Once.of(once, once_skips_older))

    def overwrite(
        self,
        df: Rows,
        where: str | None = None,
        options: Mapping[str, str] = _NO_OPTIONS,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> WriteResult:
        """Replaces all rows, or those of some partitions, in one snapshot.

        In a session with ``spark.sql.sources.partitionOverwriteMode`` = ``dynamic`` and without a condition it replaces
        the partitions that the DataFrame has rows of; the option ``dynamic-partition-overwrite`` decides otherwise.

        Args:
            df: as for append.
            where: SQL text that gives partition columns their values, such as ``dt = '2026-11-01'``; rows of other
                partitions are refused.
            once, once_skips_older: as for append.
        """
        df = held_rows(df)
        chosen = self._overwrite_of_session(options) if where is None else {OVERWRITE_WHERE: where}
        return self._write(df, {**options, **chosen}, True, Once.of(once, once_skips_older))

    def dynamic_partition_overwrite(
        self,
        df: Rows,
        options: Mapping[str, str] = _NO_OPTIONS,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> WriteResult:
        """Replaces the partitions that the rows belong to, and no other; arguments as for append."""
        return self._write(df, {**options, DYNAMIC_OVERWRITE: "true"}, True, Once.of(once, once_skips_older))

    def _overwrite_of_session(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """What the session says of overwrites, as option, unless the call says something."""
        says = any(key.lower() == DYNAMIC_OVERWRITE for key in (*self._options, *options))
        mode = self._spark.conf.get(OVERWRITE_MODE, "static") or "static"
        return {DYNAMIC_OVERWRITE: "true"} if not says and mode.lower() == "dynamic" else _NO_OPTIONS

    def optimize(self) -> TableOptimizer:
        """Compaction: ``optimize().compact()``, or ``optimize().where("dt = '2026-11-01'").executeCompaction()``."""
        return TableOptimizer(self._run)

    def check(self, read_files: bool = True, latest_only: bool = False, keys_only: bool = False) -> CheckResult:
        """Verifies that everything the metadata of the table say is true, in this process; see paimon_spark.check.

        Args:
            read_files: False opens no data file.
            latest_only: True looks at the latest snapshot only.
            keys_only: True reads of each data file its keys, partition and bucket columns only.
        """
        return check(self._open(), read_files=read_files, latest_only=latest_only, keys_only=keys_only)

    def detail(self) -> DataFrame:
        """One row: location, schema_id, comment, partition_keys, primary_keys, bucket_mode, options, snapshot_id, files, bytes, rows.

        `rows` counts the rows in files, before equal keys are merged; snapshot_id is NULL before the first write.
        """  # noqa: E501
        table = self._open().without_fallback
        plan = table.scan().plan()
        schema = table.schema
        row = (
            table.location,
            schema.id,
            schema.comment,
            list(schema.partition_keys),
            list(schema.primary_keys),
            str(table.bucket_mode),
            dict(schema.options),
            None if plan.snapshot is None else plan.snapshot.id,
            sum(split.file_count for split in plan.splits),
            sum(split.size for split in plan.splits),
            sum(split.row_count for split in plan.splits),
        )
        return self._spark.createDataFrame([row], _DETAIL)

    def history(self, limit: int | None = None) -> DataFrame:
        """The snapshots, newest first: the system table ``$snapshots``.

        Args:
            limit: at most so many.
        """
        rows = self.system_table("snapshots").orderBy("snapshot_id", ascending=False)
        return rows if limit is None else rows.limit(min(limit, _MOST_OF_LIMIT))

    def files(self, where: str | None = None) -> DataFrame:
        """The data files that live: the system table ``$files``."""
        return self.system_table("files", where=where)

    def partitions(self, where: str | None = None) -> DataFrame:
        """The partitions with their rows, files and bytes: the system table ``$partitions``."""
        return self.system_table("partitions", where=where)

    def buckets(self, where: str | None = None) -> DataFrame:
        """The buckets with their rows, files and bytes: the system table ``$buckets``."""
        return self.system_table("buckets", where=where)

    def schemas(self) -> DataFrame:
        """The schemas that the table has had: the system table ``$schemas``."""
        return self.system_table("schemas")

    def tags(self) -> DataFrame:
        """The tags: the system table ``$tags``."""
        return self.system_table("tags")

    def branches(self) -> DataFrame:
        """The branches: the system table ``$branches``."""
        return self.system_table("branches")

    def consumers(self) -> DataFrame:
        """The consumers and what they read next: the system table ``$consumers``."""
        return self.system_table("consumers")

    def system_table(
        self, name: str, columns: str | Sequence[str] | None = None, where: str | None = None
    ) -> DataFrame:
        """A system table, such as "manifests" or "audit_log"; it is made when a query runs.

        Args:
            name: of the system table, without ``$``.
            columns: names of the columns to read, in order, or one text such as "id, total"; None means all.
            where: a condition in SQL, which leaves unread what it excludes: partitions, snapshots, tags.

        Raises:
            TableNotFound: there is no such system table; the message lists their names.
        """
        return self._read(f"{self._path}${name}", columns, where, self._options)

    def _read(
        self, path: str, columns: str | Sequence[str] | None, where: str | None, options: Mapping[str, str]
    ) -> DataFrame:
        given = options if where is None else {**options, FILTER: where}
        reader = self._spark.read.format("paimon").options(**self._in_session(given))
        if columns is not None:
            reader = reader.option(COLUMNS, columns if isinstance(columns, str) else format_columns(tuple(columns)))
        return reader.load(path)

    def _run(self, procedure: Procedure[R]) -> R:
        return procedure.run(self._open_in_session(), SparkEngine(self._spark, self._rows_of_snapshot))

    def _rows_of_snapshot(self, columns: Sequence[str], snapshot_id: int) -> DataFrame:
        return self.toDF(columns, options={ScanSettings.snapshot_id.key: str(snapshot_id)})

    def _open(self) -> ReadableTable:
        return open_table(self._path, self._options)

    def _open_in_session(self) -> ReadableTable:
        return replace(self._open(), time_zone=self._session_zone())

    def _session_zone(self) -> str | None:
        """The zone in which Spark itself would read a condition."""
        return self._of_reads[TIME_ZONE] or self._spark.conf.get("spark.sql.session.timeZone")

    def _in_session(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """The options with the zone in which a condition among them is read; one that is given comes first."""
        rest, zone = _of_table(options), _last(options, TIME_ZONE)
        if zone is None and any(key.lower() in (FILTER, OVERWRITE_WHERE) for key in rest):
            zone = self._session_zone()
        return rest if zone is None else {**rest, TIME_ZONE: zone}

    def _stream_options(self) -> Mapping[str, str]:
        return {UNKNOWN_BATCH: self._unknown, **self._options}

    def _write(self, rows: Rows, options: Mapping[str, str], overwrite: bool, once: Once | None) -> WriteResult:
        rows = held_rows(rows)
        df = as_dataframe(self._spark, rows)
        given = self._in_session({**self._options, **options, PATH: self._path})
        read = write_options({**given, UNKNOWN_BATCH: _last(options, UNKNOWN_BATCH) or self._unknown})
        write = read if once is None else replace(read, once=once)
        missing = None if write.creates else partial(_refuse_lost_table, self._path)
        job = open_job(write, df.schema, overwrite, missing, finds_keys=True)
        done = run_write(self._spark, df, job, here=how_computed(rows))
        if done.repeated and local_query(self._spark) is not None:
            compute(df)
        return done


def _refuse_lost_table(path: str) -> None:
    """A table that a write made of its rows would lack the keys and options of the one that the object was made for.

    Raises:
        TableNotFound: always.
    """
    raise TableNotFound(
        f"writing to {path}: there is no table any more; it was dropped or renamed since this PaimonTable was made. "
        f"Nothing was written. Create it again, with its keys and options; or let df.write.format('paimon')"
        f".mode('append').save('{path}') make a table of the rows"
    )


def _of_table(options: Mapping[str, str]) -> dict[str, str]:
    """The options but for those of reads or writes alone that all those of a table object share."""
    others = (TIME_ZONE, NATIVE, LOCAL, UNKNOWN_BATCH)
    return {key: value for key, value in options.items() if key.lower() not in others}


def _last(options: Mapping[str, str], name: str) -> str | None:
    """The value of an option under its name in any letter case; None: it is not given."""
    values = [value for key, value in options.items() if key.lower() == name]
    return values[-1] if values else None
