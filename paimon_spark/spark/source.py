"""The data source behind ``format("paimon")``."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, DataSourceStreamWriter
from pyspark.sql.types import StructType

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.spark.options import ReadOptions, read_options, write_options
from paimon_spark.spark.plain_errors import plainly
from paimon_spark.spark.reader import PaimonReader, Readable, table_schema
from paimon_spark.spark.writer import PaimonWriter, open_writer
from paimon_spark.store.table import find_system_table, open_table
from paimon_spark.store.warehouse import find_warehouse_table


def register(spark: SparkSession) -> None:
    """Makes ``format("paimon")`` known to a session. Needed only where Spark cannot find it by itself.

    Spark looks for data sources in the Python that its JVM starts, which has installed packages but not those sent by
    ``spark-submit --py-files`` or ``addArtifacts``.
    """
    spark.dataSource.register(PaimonDataSource)


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
    carry both. A `where` on the DataFrame is right in any case, only slower.

    The first query of a loaded DataFrame or view chooses the snapshot for all its queries: Spark plans it once. Load it
    again (or create the view again) to see newer rows. For the same reason filters are pushed down only on request:
    with ``spark.sql.python.filterPushdown.enabled`` on, Spark reads every scan of a DataFrame with the filters of the
    one planned last. The option ``push-filters`` = true allows it, for a DataFrame that is used once, in one query.

    Write::

        df.write.format("paimon").mode("append").option("primary-key", "id").option("partition", "dt").option("bucket", "4").save(...)
        df.write.format("paimon").mode("overwrite").save(...)                   # replaces all rows
        ... .mode("overwrite").option("overwrite-where", "dt = '2026-11-01'")   # replaces these partitions
        ... .mode("overwrite").option("dynamic-partition-overwrite", "true")    # replaces the partitions of the rows
        ... .option("row-kind-column", "op")                                    # +I, -U, +U, -D per row; not stored

    A missing table is created with the options given. To an existing one they apply for that write only, and one that
    contradicts the table is an error. Columns are matched by name. Spark itself answers for three calls this source
    cannot see: ``partitionBy`` (use the option `partition`), ``bucketBy`` (use `bucket` and `bucket-key`), and the modes
    `ignore` and `error` (use `append`, or ``PaimonTable.createIfNotExists``).
    """  # noqa: E501

    @classmethod
    def name(cls) -> str:
        return "paimon"

    @plainly
    def schema(self) -> StructType:
        table, options = self._open()
        return table_schema(table, options)

    @plainly
    def reader(self, schema: StructType) -> DataSourceReader:
        table, options = self._open()
        return PaimonReader(table, schema, options.where, options.push_filters)

    @plainly
    def writer(self, schema: StructType, overwrite: bool) -> PaimonWriter:
        return open_writer(write_options(self.options), schema, overwrite)

    @plainly
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        raise UnsupportedFeature(
            "streaming reads of a Paimon table are not supported by this release: read it with spark.read, "
            "'scan.snapshot-id' names the state to read"
        )

    @plainly
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        raise UnsupportedFeature(
            "streaming writes to a Paimon table are not supported by this release: use foreachBatch with "
            "df.write.format('paimon').mode('append').save(path)"
        )

    def _open(self) -> tuple[Readable, ReadOptions]:
        options = read_options(self.options)
        system = find_warehouse_table(options.path, options.table) or find_system_table(options.path, options.table)
        if system is not None and options.row_kinds:
            raise OptionError(f"reading {options.path}: a system table has no row kinds but those that it shows")
        return system or open_table(options.path, options.table), options
