"""A scan of one state in up to three parts: by Spark's own scan, by our reader in tasks, or by this process."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as st

from paimon_spark.arrow.predicates.predicate import AlwaysTrue, columns_of
from paimon_spark.format.paths import data_file_path
from paimon_spark.format.quoting import quoted
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.batches import conformed, spark_arrow_schema
from paimon_spark.spark.adapters.decimals import FromIntegers
from paimon_spark.spark.adapters.sizes import size_of_splits
from paimon_spark.spark.adapters.tasks import rows_of_tasks
from paimon_spark.spark.adapters.types import nullable, shown_schema, spark_schema
from paimon_spark.spark.native.asked_partials import AskedPartials
from paimon_spark.spark.native.conditions import NotExpressible, spark_condition
from paimon_spark.spark.native.file_classifier import ClassifiedFiles, FileClassifier
from paimon_spark.spark.native.file_lists import store_refusal
from paimon_spark.spark.native.local_read import local_rows, rows_if_small
from paimon_spark.spark.native.parquet_scan import ROW_FILE, ROW_NUMBER, scan_files
from paimon_spark.spark.native.session_settings import SessionSettings
from paimon_spark.store.holds.expired import translate_missing_files
from paimon_spark.store.read.lenient_read import STRICT
from paimon_spark.store.read.row_places import named_metadata
from paimon_spark.store.read.splits import Split
from paimon_spark.store.scan.table_scan import Scan

PLACE = st.StructType([st.StructField(ROW_FILE, st.StringType()), st.StructField(ROW_NUMBER, st.LongType())])


@dataclass(frozen=True)
class HybridScan:
    """A scan whose files go, each by itself, to Spark's own scan or to our reader.

    Attributes:
        spark: the session.
        scan: its table, columns and condition. It is of one branch, and passes over no file, whatever its options say.
        shown: the schema of the columns; each may be NULL.
        settings: of the session.
        placed: whether the places of the rows, PLACE, follow the columns; for append tables only.
        from_integers: of rows_of_tasks.
    """

    spark: SparkSession
    scan: Scan
    shown: st.StructType
    settings: SessionSettings
    placed: bool = False
    from_integers: FromIntegers | None = None

    @property
    def schema(self) -> st.StructType:
        """The schema of the rows."""
        return st.StructType([*self.shown.fields, *(PLACE.fields if self.placed else ())])

    @property
    def condition(self) -> tuple[Column | None, str | None]:
        """The condition for Spark's own scan, None: all rows are read; and why it has none, in words."""
        scan = self.scan
        if isinstance(scan.predicate, AlwaysTrue) or named_metadata(scan.table.schema, scan.fields, scan.predicate):
            return None, None  # no file has metadata columns: Spark's own scan reads none then
        if scan.spec.parts:
            return None, "the condition names a part of a VARIANT value"
        try:
            return spark_condition(scan.predicate, scan.table.schema.fields), None
        except NotExpressible as error:
            return None, str(error)

    def classified(
        self, splits: Sequence[Split], refusal: str | None, where: Column | None = None, reads_selected: bool = False
    ) -> ClassifiedFiles:
        """Which files Spark's own scan reads.

        Args:
            splits: of a plan of the scan.
            refusal: why it must read none, in words; None: it may.
            where: the condition, if Spark is to apply it.
            reads_selected: whether our reader reads the files of which an index leaves few rows.
        """
        table = self.scan.table
        refusal = self.settings.refusal or refusal or self._refusal(splits)
        classifier = FileClassifier(table, self._fields(where), self.settings.case_sensitive)
        return classifier.classify(splits, refusal, reads_selected)

    def frame(self, found: ClassifiedFiles, snapshot: Snapshot | None, where: Column | None = None) -> DataFrame:
        """The rows of files, read when the DataFrame runs.

        Args:
            found: the files, and who reads them.
            snapshot: whose files they are; None: there are none.
            where: applied to the rows that Spark reads; our reader applies the condition of the scan.

        Raises:
            MissingFile, SnapshotNotFound: a file does not exist; its snapshot has expired since it was planned.
            CorruptFile: a deletion vector is missing or damaged.
        """
        frames = self._native_frames(found, snapshot, where)
        if found.rest:
            frames.append(self.merged(found.rest))
        if not frames:
            return local_rows(self.spark, spark_arrow_schema(self.schema).empty_table(), self.schema)
        return functools.reduce(DataFrame.unionAll, frames)

    def keeps_buckets(self, found: ClassifiedFiles) -> bool:
        """True if each Spark partition of ``frame`` has all rows of its buckets: our reader reads them all, whole."""
        tasks = [{(split.partition, split.bucket) for split in task} for task in self.scan.tasks_of(found.rest)]
        return not found.native and sum(map(len, tasks)) == len(set().union(*tasks))

    def merged(self, splits: Sequence[Split]) -> DataFrame:
        """The rows of splits, merged by our reader when the DataFrame runs; small splits share a task.

        Spark does not know how large the rows of a data source are: it takes them to be larger than any other table,
        and shuffles and sorts both sides of a join where it could send the smaller one to all tasks. Here it gets the
        size.

        Args:
            splits: at least one.
        """
        scan, schema, placed = self.scan, spark_arrow_schema(self.schema), self.placed

        def work(group: tuple[Split, ...]) -> Iterator[pa.RecordBatch]:
            return conformed(_reader(scan, placed), group, schema)

        size = size_of_splits(splits, self.scan.fields, self.scan.table.schema.fields)
        groups = self.scan.tasks_of([split.without_statistics() for split in splits])
        return rows_of_tasks(self.spark, groups, work, self.schema, size, self.from_integers)

    def aggregated(self, splits: Sequence[Split], asked: AskedPartials) -> DataFrame:
        """Partial aggregates of the rows of splits, which tasks make when the DataFrame runs.

        Args:
            splits: at least one.
            asked: of the columns of the scan.
        """
        scan, schema, made = self.scan, spark_arrow_schema(self.schema), asked.made

        def work(group: tuple[Split, ...]) -> Iterator[pa.RecordBatch]:
            return made.of(conformed(_reader(scan, placed=False), group, schema))

        size = size_of_splits(splits, scan.fields, scan.table.schema.fields) if made.groups else 1
        groups = scan.tasks_of([split.without_statistics() for split in splits])
        return rows_of_tasks(self.spark, groups, work, asked.schema, size, self.from_integers)

    def here(self, splits: Sequence[Split], bounded: bool = True) -> DataFrame | None:
        """The rows of splits, read now and by this process; None: they are larger than SMALL_BYTES, and bounded."""
        return rows_if_small(self.spark, _reader(self.scan, self.placed), splits, self.schema, bounded)

    def _fields(self, where: Column | None) -> tuple[DataField, ...]:
        """The columns of the result, then those that only the condition needs."""
        if where is None:
            return self.scan.fields
        more = sorted(columns_of(self.scan.predicate) - set(self.shown.names))
        return (*self.scan.fields, *(self.scan.table.schema.by_name[name] for name in more))

    def _native_frames(
        self, found: ClassifiedFiles, snapshot: Snapshot | None, where: Column | None
    ) -> list[DataFrame]:
        more = self._fields(where)[len(self.shown.fields) :]
        read = st.StructType([*self.shown.fields, *nullable(shown_schema(spark_schema(more))).fields])
        with translate_missing_files(self.scan.table, None if snapshot is None else snapshot.id):
            frames = [
                frame if where is None else frame.where(where)
                for kind, files in found.native.items()
                for frame in scan_files(self.spark, self.scan.table.file_io, kind, files, read, self.placed)
            ]
        return [frame.select(*map(quoted, self.schema.names)) for frame in frames] if more else frames

    def _refusal(self, splits: Sequence[Split]) -> str | None:
        """Why Spark's own scan can read no file of the table, in words; None: it can."""
        table = self.scan.table
        if named_metadata(table.schema, self.scan.fields, self.scan.predicate):
            return "metadata columns were asked for"
        if self.placed and any(field.name.lower() == "_metadata" for field in table.schema.fields):
            return "the table has a column '_metadata'"
        raw = next(((split, file) for split in splits for file in split.raw_files), None)
        return (
            None
            if raw is None
            else store_refusal(self.spark, table.settings, data_file_path(raw[0].bucket_path, raw[1]))
        )


def _reader(scan: Scan, placed: bool) -> Callable[[Split], Iterator[pa.RecordBatch]]:
    """Reads a split of a scan, here or in a task: the columns of the scan, then with places those of PLACE."""
    reader = replace(scan.split_reader(), tolerance=STRICT)
    return reader.read_with_places if placed else reader.read
