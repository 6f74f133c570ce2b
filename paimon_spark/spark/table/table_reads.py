"""What PaimonTable reads and tells: rows, numbers of rows, system tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.options.column_names import format_columns, given_columns
from paimon_spark.format.quoting import quoted
from paimon_spark.spark.adapters.errors import job_errors
from paimon_spark.spark.adapters.options import last_of, without_merging
from paimon_spark.spark.native.aggregate_rows import aggregate_rows
from paimon_spark.spark.native.read_table import ReadRequest, read_when_needed
from paimon_spark.spark.table.table_state import TableState
from paimon_spark.store.checks.report import CheckResult
from paimon_spark.store.checks.table import check
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.scan.read_spec import find_fields
from paimon_spark.store.stream_source.settings import STREAM
from paimon_spark.writes.options import COLUMNS, CREATES_TABLE, FILTER, ROW_KINDS

_NO_OPTIONS: Mapping[str, str] = {}
_MOST_OF_LIMIT = 2**31 - 1  # Spark's limit is an int of Java
_DETAIL = (
    "location string, schema_id bigint, comment string, partition_keys array<string>, primary_keys array<string>, "
    "bucket_mode string, options map<string, string>, snapshot_id bigint, files bigint, bytes bigint, rows bigint"
)


class TableReads(TableState):
    """What reads a table and tells of it."""

    def toDF(
        self,
        columns: str | Sequence[str] | None = None,
        where: str | Column | None = None,
        options: Mapping[str, str] = _NO_OPTIONS,
        native: bool | None = None,
    ) -> DataFrame:
        """The rows as a DataFrame of the state that the table has now: make it again to see newer rows.

        Spark itself reads the Parquet files whose rows need no merge, so a query reads the columns that it needs and
        skips row groups. Tasks in Python read the other files; `columns` and `where` make that part smaller,
        and so do `where`, `select`, `drop`, `limit` and `orderBy` of the DataFrame until another operation.

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
            PaimonError: an option does not fit, a column is unknown, or the table cannot be planned, which on Spark
                Connect is found out when the DataFrame is used.
        """
        names = given_columns(columns)
        text = where if isinstance(where, str) else None
        given = {**without_merging(self._options), **options}
        for key, value in self._of_reads.items():
            if value is not None and last_of(given, key) is None:
                given[key] = value
        frame = read_when_needed(self._spark, ReadRequest(self._path, given, names, text, native))
        return frame if where is None or isinstance(where, str) else frame.where(where)

    def count(self, where: str | Column | None = None, options: Mapping[str, str] = _NO_OPTIONS) -> int:
        """The number of rows.

        Metadata tell it without a Spark job if the condition is on partition columns alone, and no file must be merged
        with others. ``open_table(path).scan(where=...).explain()`` tells why rows are read.

        Args:
            where: a condition, as for ``toDF``.
            options: more options of the read, such as ``scan.snapshot-id``.
        """
        table = None if isinstance(where, Column) else self._open_any(options)
        if isinstance(table, ReadableTable) and not isinstance(where, Column):
            known = self._in_zone(table).scan(where=where).metadata_aggregates()
            if not known.rest:
                return known.rows
        columns = None if isinstance(where, Column) else ()  # it may name any column
        with job_errors():
            return self.toDF(columns, where, options).count()

    def min(self, column: str, where: str | Column | None = None, options: Mapping[str, str] = _NO_OPTIONS) -> Any:
        """The least value of a column, as Spark's ``min`` gives it; None: every row has NULL, or there is no row.

        Metadata tell it without reading a file where the statistics of all files are exact: of integers, booleans,
        dates, short decimals, times of parquet files, and of partition columns; not of texts and floats, nor of files
        with deleted rows.

        Args:
            column: its name in any letter case.
            where, options: as for count.
        """
        return self._end(column, where, options, sf.min)

    def max(self, column: str, where: str | Column | None = None, options: Mapping[str, str] = _NO_OPTIONS) -> Any:
        """The greatest value of a column, as ``min``."""
        return self._end(column, where, options, sf.max)

    def _end(
        self,
        column: str,
        where: str | Column | None,
        options: Mapping[str, str],
        function: Callable[[Column], Column],
    ) -> Any:
        table = self._open_any(options)
        if isinstance(table, ReadableTable):
            table = self._in_zone(table)
        (field,) = find_fields(table.schema, (column,))
        frame: DataFrame | None = None
        is_known = field in table.schema.fields and (where is None or isinstance(where, str))
        if is_known and isinstance(table, ReadableTable) and not isinstance(where, Column):
            known = table.scan(where=where).metadata_aggregates([field.name])
            frame = None if known.rest else aggregate_rows(self._spark, table.schema, known, [field], None)
        if frame is None:
            names = None if isinstance(where, Column) else [field.name]
            frame = self.toDF(names, where, options)
        try:
            with job_errors():
                row = frame.agg(function(sf.col(quoted(field.name)))).first()
        except (ValueError, OverflowError) as error:
            if isinstance(error, PySparkException):
                raise
            raise UnsupportedFeature(
                f"the least or greatest value of the column '{field.name}' is outside of the years 1 to 9999 of "
                f'Python: toDF().selectExpr("string(min(`{field.name}`))") shows it as text'
            ) from None
        return None if row is None else row[0]

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

    def stream(
        self,
        columns: str | Sequence[str] | None = None,
        where: str | None = None,
        row_kinds: bool = False,
        options: Mapping[str, str] = _NO_OPTIONS,
    ) -> DataFrame:
        """The rows of the table as a stream: its state first, then every change as it is committed.

        Args:
            columns: names of the columns to read, in order, or one text such as "id, total"; None means all.
            where: a condition in SQL, read in the time zone of the session.
            row_kinds: True adds a column ``_row_kind`` with +I, -U, +U or -D, and keeps rows that take others back.
            options: of the stream: where it begins (``scan.mode``, ``scan.snapshot-id``, ...), how much it takes at
                once (``read.stream.maxFilesPerTrigger``, ...), ``consumer-id``, for which snapshots wait.

        Raises:
            OptionError: an option does not fit, or a column does not exist.
            UnsupportedFeature: this release cannot stream from the table.
        """
        filters = {FILTER: where} if where is not None else {}
        given = {STREAM.key: "true", **self._in_session({**self._options, **options, **filters})}
        if columns is not None:
            given[COLUMNS] = columns if isinstance(columns, str) else format_columns(tuple(columns))
        if row_kinds:
            given[ROW_KINDS] = "true"
        return self._spark.readStream.format("paimon").options(**given).load(self._path)

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
