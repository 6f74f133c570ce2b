"""The table whose rows change, read at one snapshot, with the places of its rows where they are needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Predicate
from paimon_spark.format.paths import file_format_of
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField, has_char
from paimon_spark.row_changes.read_table import ReadTable
from paimon_spark.spark.adapters.char_columns import padded, read_columns, stored_name, takes_as_strings
from paimon_spark.spark.adapters.types import nullable, shown_schema, spark_schema
from paimon_spark.spark.native.hybrid_scan import PLACE, HybridScan
from paimon_spark.spark.native.local_read import is_key_lookup, is_small
from paimon_spark.spark.native.session_settings import session_settings
from paimon_spark.store.read.row_places import check_places
from paimon_spark.store.read.splits import Split
from paimon_spark.store.rows.live_files import LiveFile, files_by_name
from paimon_spark.store.scan.new_scan import own_scan
from paimon_spark.writes.write_job import Texts, texts_as_they_are

if TYPE_CHECKING:
    from paimon_spark.store.open import ReadableTable

_TRUE = AlwaysTrue()


@dataclass(frozen=True)
class TargetRows:
    """Rows of the table.

    Attributes:
        frame: the columns asked for, as in every read of the table; those with CHAR once more under ``stored_name``,
            with the texts that are stored; then with places ROW_FILE and ROW_NUMBER.
        file_count: how many files hold them.
        files: with places, the files by their names.
        few: whether this process has read them all: they fit into its memory.
        whole_buckets: whether a Spark partition that has rows of a bucket has all of them.
    """

    frame: DataFrame
    file_count: int
    files: Mapping[str, LiveFile] = field(default_factory=dict)
    few: bool = False
    whole_buckets: bool = False


@dataclass(frozen=True)
class Target:
    """A table at the snapshot that a statement of a session reads.

    Attributes:
        spark: the session.
        read: the table and the snapshot.
    """

    spark: SparkSession
    read: ReadTable

    @property
    def table(self) -> ReadableTable:
        """The table in its newest schema."""
        return self.read.table

    @property
    def texts(self) -> Texts:
        """What becomes of the texts of rows that change."""
        return Texts.FREE if takes_as_strings(self.spark) else Texts.KEPT

    def stored(self, fields: Sequence[DataField]) -> Sequence[DataField]:
        """Columns of the table with the types that the values of rows that change are brought to."""
        return texts_as_they_are(fields) if self.texts is Texts.FREE else fields

    def shown(self, fields: Sequence[DataField]) -> st.StructType:
        """Columns as a read of the table shows them."""
        return nullable(shown_schema(spark_schema(fields)))

    def rows(
        self, fields: Sequence[DataField], predicate: Predicate = _TRUE, placed: bool = False, decided: bool = False
    ) -> TargetRows:
        """Rows that may satisfy a predicate, among others.

        Args:
            fields: the columns; metadata columns may be among them.
            predicate: leaves out files, and some rows.
            placed: whether the places of the rows follow; for append tables only.
            decided: whether no other rows are wanted: our reader then leaves the others out where it reads them.
        """
        splits, scan = self.read.splits(predicate), self.scan(fields, predicate, placed)
        check_places(self.table, fields, predicate, splits)
        settings, is_few = scan.settings, is_small(splits) or is_key_lookup(self.table, predicate, splits)
        rows = scan.here(splits) if settings.local and splits and is_few else None
        few, whole = rows is not None, False
        if rows is None:
            refusal = "native reads are off" if settings.native is False else None
            refusal = "rows are left out where they are read" if decided else refusal
            found = scan.classified(splits, refusal)
            rows, whole = scan.frame(found, self.read.snapshot), scan.keeps_buckets(found)
        rows = self.as_read(rows, fields, splits, PLACE.names if placed else ())
        files = files_by_name(self.table, splits) if placed else {}
        return TargetRows(rows, sum(split.file_count for split in splits), files, few, whole)

    def scan(self, fields: Sequence[DataField], predicate: Predicate = _TRUE, placed: bool = False) -> HybridScan:
        """A scan of the table; arguments as of ``rows``."""
        own = own_scan(self.table, fields, predicate)
        return HybridScan(self.spark, own, self.shown(fields), session_settings(self.spark), placed)

    def as_read(
        self, frame: DataFrame, fields: Sequence[DataField], splits: Sequence[Split], more: Sequence[str] = ()
    ) -> DataFrame:
        """The rows as Spark reads them, and their texts as they are stored; see TargetRows.

        ORC files do not tell blanks at the end of CHAR: their rows are taken for padded ones, as Spark writes them.
        """
        chars = [field for field in fields if has_char(field.type)]
        if not chars:
            return frame
        tells = all(file_format_of(file.file_name) != "orc" for split in splits for file in split.files)
        known = [sf.col(quoted(field.name)) for field in chars]
        kept = known if tells else [padded(column, field.type) for column, field in zip(known, chars, strict=True)]
        stored = [column.alias(stored_name(field)) for column, field in zip(kept, chars, strict=True)]
        return frame.select(*read_columns(self.spark, fields, self.shown(fields)), *stored, *map(sf.col, more))
