"""The data source behind ``format("paimon")``.

Spark calls each method in a Python process of its own, new in every session, while the user waits. So a method imports
what its step needs, and this module itself nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, DataSourceStreamWriter

from paimon_spark.spark.adapters.errors import plainly
from paimon_spark.spark.adapters.live_session import check_runs

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceArrowWriter
    from pyspark.sql.types import StructType


def register(spark: SparkSession) -> None:
    """Makes ``format("paimon")`` known to a session. Needed only where Spark cannot find it by itself.

    Spark looks for data sources in the Python that its JVM starts, which has installed packages but not those sent by
    ``spark-submit --py-files`` or ``addArtifacts``. It asks the active session of a thread for them, and a new thread
    of Python, or one whose statement was interrupted, has none: call this in that thread.
    """
    check_runs(spark, "this call", "and register it")
    spark.dataSource.register(PaimonDataSource)
    spark.createDataFrame([], "id int")  # makes the session the active one of this thread


class PaimonDataSource(DataSource):
    """Apache Paimon tables, by path. Spark finds it by itself where the package is installed.

    Read::

        spark.read.format("paimon").load("/lake/shop.db/orders")
        spark.read.format("paimon").option("scan.snapshot-id", 3).load(...)     # or -tag-name, -timestamp, -watermark
        spark.read.format("paimon").option("columns", "id, total").option("filter", "total > 10 or vip").load(...)
        spark.read.format("paimon").schema("id int, total double").load(...)    # a projection too

        spark.read.format("paimon").load("/lake/shop.db/orders$files")          # $snapshots, $partitions, $audit_log ...
        spark.read.format("paimon").load("/lake/sys.db/tables")                 # all tables of the warehouse /lake
        spark.read.format("paimon").option("incremental-between", "3,7").load(...)  # what the commits 4 to 7 did
        ....option("incremental-between-scan-mode", "diff")                     # or delta, changelog, auto
        ....option("row-kinds", "true")                                         # adds `_row_kind`, keeps -U and -D

    Without `row-kinds` a change has only rows that add or update (+I, +U). Ends are snapshot ids (the first one is
    excluded) or two tags; `incremental-between-timestamp` takes two times.

    Spark hands a Python source no projection, and no filter that could be trusted: the options `columns` and `filter`
    carry both. A `where` on the DataFrame is right in any case, only slower. The time zone of the session is not known
    here either: a filter that depends on it needs an offset in its literal, or the option `time-zone` = Europe/Berlin.

    The first query of a loaded DataFrame or view chooses the snapshot for all its queries: Spark plans it once, and an
    ``INSERT INTO`` the view does not change that. Load it again, or create the view again, with
    ``PaimonTable.createOrReplaceTempView`` or in SQL, to see newer rows. For the same reason filters are pushed down only on request:
    with ``spark.sql.python.filterPushdown.enabled`` on, Spark reads every scan of a DataFrame with the filters of the
    one planned last. The option ``push-filters`` = true allows it, for a DataFrame that is used once, in one query.

    Write::

        df.write.format("paimon").mode("append").option("primary-key", "id").option("partition", "dt").option("bucket", "4").save(...)
        df.write.format("paimon").mode("overwrite").save(...)                   # replaces all rows
        ... .mode("overwrite").option("overwrite-where", "dt = '2026-11-01'")   # replaces these partitions
        ... .mode("overwrite").option("dynamic-partition-overwrite", "true")    # replaces the partitions of the rows
        ... .option("row-kind-column", "op")                                    # +I, -U, +U, -D per row; not stored

        events.writeStream.format("paimon").option("checkpointLocation", ck).start("/lake/shop.db/orders")  # exactly once

    A missing table is created with the options given. To an existing one they apply for that write only, and one that
    contradicts the table is an error. Columns are matched by name. Spark itself answers for three calls this source
    cannot see: ``partitionBy`` (use the option `partition`), ``bucketBy`` (use `bucket` and `bucket-key`), and the modes
    `ignore` and `error` (use `append`, or ``PaimonTable.createIfNotExists``). It refuses them in ``df.write``, and drops
    ``partitionBy`` of ``writeStream`` without a word.
    """  # noqa: E501

    @classmethod
    def name(cls) -> str:
        return "paimon"

    @plainly
    def schema(self) -> StructType:
        from paimon_spark.spark.adapters.readable_columns import readable_schema
        from paimon_spark.spark.source.readable import open_readable
        from paimon_spark.store.stream_source.settings import asks_for_stream

        if asks_for_stream(self.options):
            from paimon_spark.spark.stream_source.open_stream import open_stream

            return open_stream(self.options).schema()
        return readable_schema(*open_readable(self.options))

    @plainly
    def reader(self, schema: StructType) -> DataSourceReader:
        from paimon_spark.spark.source.readable import open_readable
        from paimon_spark.spark.source.reader import PaimonReader

        table, options = open_readable(self.options)
        return PaimonReader(table, schema, options.where, options.push_filters)

    @plainly
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        from paimon_spark.spark.adapters.options import write_options
        from paimon_spark.spark.source.writer import open_writer

        return open_writer(write_options(self.options), schema, overwrite)

    @plainly
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from paimon_spark.spark.stream_source.stream_reader import PaimonStreamReader

        return PaimonStreamReader(self.options, schema)

    @plainly
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from paimon_spark.spark.stream_sink.writer import open_stream_writer

        return open_stream_writer(self.options, schema, overwrite)
