"""The read of one state in up to three parts: by Spark's own scan, by our reader in tasks, or by this process."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as st

from paimon_spark.arrow.conform import conform_batch
from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Predicate, columns_of
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.paths import data_file_path
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.adapters.char_columns import as_read
from paimon_spark.spark.adapters.readable_columns import find_column
from paimon_spark.spark.adapters.rebatch import rebatch
from paimon_spark.spark.adapters.sizes import size_of_splits
from paimon_spark.spark.adapters.tasks import rows_of_tasks
from paimon_spark.spark.adapters.types import nullable, shown_schema, spark_schema
from paimon_spark.spark.native.conditions import NotExpressible, spark_condition
from paimon_spark.spark.native.file_classifier import ClassifiedFiles, FileClassifier
from paimon_spark.spark.native.local_read import (
    is_key_lookup,
    is_row_lookup,
    is_small,
    local_rows,
    read_here,
    read_if_small,
)
from paimon_spark.spark.native.parquet_scan import scan_files
from paimon_spark.spark.native.requests import ReadExplanation
from paimon_spark.spark.native.session_settings import SessionSettings
from paimon_spark.spark.native.store_probe import store_refusal
from paimon_spark.spark.native.table_reading import Reading
from paimon_spark.store.holds.expired import translate_missing_files
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.read.row_places import named_metadata
from paimon_spark.store.read.splits import ReadUnit, Split
from paimon_spark.store.scan.read_spec import Plan
from paimon_spark.store.scan.table_scan import Scan

_PLACES = "metadata columns were asked for"


@dataclass(frozen=True)
class DividedRead:
    """A read whose files go, each by itself, to Spark's own scan or to our data source.

    Attributes:
        spark: the session.
        reading: what was asked for.
        table: the table of it.
        settings: of the session.
        native: True: our data source may read no file.
    """

    spark: SparkSession
    reading: Reading
    table: ReadableTable
    settings: SessionSettings
    native: bool | None

    def frame(self) -> tuple[DataFrame, ReadExplanation]:
        """The DataFrame of the latest state, or of the one that the options choose, and how it is read.

        Raises:
            UnsupportedFeature: native is True, and a file must be read by our data source.
            SnapshotNotFound: the state does not exist, or it expires concurrently.
            CorruptFile: metadata or files are missing or damaged.
        """
        scan = self.reading.scan(self.table)
        plan = scan.plan_with_read_tags()[0]
        splits = [split for split in plan.splits if isinstance(split, Split)]
        condition = self._condition(scan.predicate)
        found = self._classified(scan.predicate, splits, condition if isinstance(condition, str) else None)
        if found.rest and self.native:
            raise self._refused(found)
        explained = self._explain(plan, found)
        local = self._local_rows(scan, splits, bool(found.rest))
        if local is not None:
            return self._as_read(local), replace(
                explained, native_files=0, merged_splits=0, merged_files=0, local_rows=True
            )
        frames = self._native_frames(scan, plan, found)
        if isinstance(condition, Column):
            frames = [frame.where(condition) for frame in frames]
        frames = self._shown(scan.predicate, frames)
        if found.rest:
            frames.append(merged_rows(self.spark, self.reading, scan, found.rest))
        if not frames:
            frames.append(local_rows(self.spark, self._no_rows(), self.reading.shown))
        return self._as_read(functools.reduce(DataFrame.unionAll, frames)), explained

    def _as_read(self, frame: DataFrame) -> DataFrame:
        return as_read(frame, self.reading.fields, self.reading.shown)

    def _local_rows(self, scan: Scan, splits: Sequence[Split], has_rest: bool) -> DataFrame | None:
        """The rows, if they are few enough for this process to read them itself."""
        is_lookup = is_key_lookup(self.table, scan.predicate, splits) or (self._reads_few and is_row_lookup(splits))
        if has_rest and is_lookup:
            return read_here(self.spark, scan, splits, self.reading.shown)
        said = self.reading.options.local
        wants_local = self.native is None and (self.settings.local if said is None else said)
        if wants_local and splits and is_small(splits):
            return read_if_small(self.spark, scan, splits, self.reading.shown)
        return None

    def _condition(self, predicate: Predicate) -> Column | str | None:
        """The condition for Spark's own scan, or why it has none, in words; None: all rows are read."""
        if named_metadata(self.table.schema, self.reading.fields, predicate):
            return _PLACES
        if isinstance(predicate, AlwaysTrue):
            return None
        try:
            return spark_condition(predicate, self.table.schema.fields)
        except NotExpressible as error:
            return str(error)

    def _classified(self, predicate: Predicate, splits: Sequence[Split], refusal: str | None) -> ClassifiedFiles:
        classifier = FileClassifier(self.table, self._fields(predicate), self.settings.case_sensitive)
        refusal = self.settings.refusal or refusal or self._store_refusal(splits)
        return classifier.classify(splits, refusal, self._reads_few)

    @property
    def _reads_few(self) -> bool:
        """True if our data source reads the files of which an index leaves few rows: Spark would read them whole."""
        return self.reading.request.first is not None and not self.native

    def _store_refusal(self, splits: Sequence[Split]) -> str | None:
        """Why Spark cannot read the store of the table itself, in words; None: it can."""
        raw = next(((split, file) for split in splits for file in split.raw_files), None)
        if raw is None:
            return None
        return store_refusal(self.spark, self.reading.options.table, data_file_path(raw[0].bucket_path, raw[1]))

    def _fields(self, predicate: Predicate) -> tuple[DataField, ...]:
        """The columns of the result, then those that only the condition needs."""
        shown = set(self.reading.shown.names)
        more = sorted(columns_of(predicate) - shown)
        return (*self.reading.fields, *(find_column(self.table, name) for name in more))

    def _native_frames(self, scan: Scan, plan: Plan, found: ClassifiedFiles) -> list[DataFrame]:
        more = self._fields(scan.predicate)[len(self.reading.shown.fields) :]
        shown = st.StructType([*self.reading.shown.fields, *nullable(shown_schema(spark_schema(more))).fields])
        snapshot = None if plan.snapshot is None else plan.snapshot.id
        with translate_missing_files(self.table, snapshot):
            return [
                frame
                for kind, files in found.native.items()
                for frame in scan_files(self.spark, self.table.file_io, kind, files, shown)
            ]

    def _shown(self, predicate: Predicate, frames: list[DataFrame]) -> list[DataFrame]:
        """The DataFrames without the columns that only the condition needs."""
        if not columns_of(predicate) - set(self.reading.shown.names):
            return frames
        names = [quoted(name) for name in self.reading.shown.names]
        return [frame.select(*names) for frame in frames]

    def _no_rows(self) -> pa.Table:
        return spark_arrow_schema(self.reading.shown).empty_table()

    def _refused(self, found: ClassifiedFiles) -> UnsupportedFeature:
        path, reason = found.example or (self.table.location, "a file cannot be read natively")
        return UnsupportedFeature(
            f"reading {self.table.location} natively was asked for (native=True), but the data file {path} must be "
            f"read by the Python source: {reason}. Leave native out, so that only such files are, or compact the table"
        )

    def _explain(self, plan: Plan, found: ClassifiedFiles) -> ReadExplanation:
        reasons = (
            f"{reason} ({count} {'file' if count == 1 else 'files'})" for reason, count in found.reasons.most_common()
        )
        return replace(
            self.reading.explanation(),
            snapshot=plan.snapshot,
            native_files=found.native_count,
            merged_splits=len(found.rest),
            merged_files=sum(split.file_count for split in found.rest),
            reasons=tuple(reasons),
            skipped_by_index=plan.skipped_by_index,
            skipped_by_order=plan.skipped_by_order,
        )


def merged_rows(spark: SparkSession, reading: Reading, scan: Scan, splits: Sequence[Split]) -> DataFrame:
    """The rows of splits, merged when the DataFrame runs; small splits share a task.

    Spark does not know how large the rows of a data source are: it takes them to be larger than any other table, and
    shuffles and sorts both sides of a join where it could send the smaller one to all tasks. Here it gets the size.

    Args:
        spark: the session.
        reading: what was asked for; its schema is that of the DataFrame.
        scan: of the reading.
        splits: of its plan, at least one.
    """
    arrow = spark_arrow_schema(reading.shown)

    def work(group: tuple[ReadUnit, ...]) -> Iterator[pa.RecordBatch]:
        reader = scan.reader()
        return rebatch(conform_batch(batch, arrow) for split in group for batch in reader.read(split))

    size = size_of_splits(splits, reading.fields, scan.table.schema.fields)
    groups = scan.tasks_of([split.without_statistics() for split in splits])
    return rows_of_tasks(spark, groups, work, reading.shown, size)
