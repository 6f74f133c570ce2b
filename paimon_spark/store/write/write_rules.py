"""How one task of a write job turns rows into files, as the options of the table say (Java: TableWriteImpl).

A job that wants less than the options say, as one that moves rows of the table, changes the rules and not the options.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from paimon_spark.format.options.engines import ChangelogProducer
from paimon_spark.format.options.option import MB
from paimon_spark.merge.clustering.strategy import Clustering, table_clustering
from paimon_spark.merge.engines.choice import deduplicate_engine, engine_for
from paimon_spark.merge.keys.window import Engine, MergeSpec, merge_spec
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.write.row_rules import RowRules, row_rules


@dataclass(frozen=True)
class WriteRules:
    """Build with ``write_rules``.

    Attributes:
        rows: what is asked of every row.
        bucket_mode: how rows find their bucket.
        buckets: the number of buckets, as the option ``bucket`` has it.
        merge, engine: how rows of one key that the task gets become one row.
        input_changelog: whether all rows go to changelog files too.
        buffer_bytes: so many bytes of rows wait to be sorted.
        clustering: the order of the rows that wait, of a table without keys; None: as they come.
    """

    rows: RowRules
    bucket_mode: BucketMode
    buckets: int
    merge: MergeSpec
    engine: Engine
    input_changelog: bool
    buffer_bytes: int
    clustering: Clustering | None = None

    def with_buckets(self, buckets: int, share: int = 1) -> WriteRules:
        """The rules of rows whose partition has so many fixed buckets.

        Args:
            share: how many writes of one process divide the write buffer among them.
        """
        buffer = max(self.buffer_bytes // share, MB)
        return replace(self, bucket_mode=BucketMode.HASH_FIXED, buckets=buckets, buffer_bytes=buffer)

    def of_stored_rows(self) -> WriteRules:
        """The rules of merged rows of the table, which come back unchanged: no default fills a null, none is merged."""
        return replace(self, rows=self.rows.of_stored_rows(), engine=deduplicate_engine().merge, input_changelog=False)

    def of_moved_rows(self) -> WriteRules:
        """The rules of rows that another write has committed: none is refused."""
        return replace(self, rows=replace(self.rows, refused=()))


def write_rules(table: Table) -> WriteRules:
    """The rules of a table.

    Args:
        table: with the options of the write.

    Raises:
        SchemaError: a default value does not fit its column.
        OptionError, UnsupportedFeature: see ``engine_for``.
    """
    schema, settings = table.schema, table.settings
    engine = engine_for(schema, settings)
    return WriteRules(
        rows=replace(row_rules(table.location, schema, settings), refused=engine.refused),
        bucket_mode=table.bucket_mode,
        buckets=settings.bucket,
        # RowRules drops the rows of kinds that the table ignores, before they come here.
        merge=replace(merge_spec(schema, settings), ignore_delete=False, ignore_update_before=False),
        engine=engine.merge,
        input_changelog=settings.changelog_producer == ChangelogProducer.INPUT,
        buffer_bytes=settings.files.write_buffer_size,
        clustering=write_clustering(table),
    )


def write_clustering(table: Table) -> Clustering | None:
    """The order in which a write sorts rows (Java: PaimonSparkWriter): of tables without keys and buckets only, and not
    where compactions sort them, unless `clustering.incremental.optimize-write` wants both.

    Raises:
        OptionError: rows cannot be ordered by `clustering.columns`.
    """
    settings = table.settings
    if table.schema.primary_keys or table.bucket_mode is not BucketMode.BUCKET_UNAWARE:
        return None
    waits = settings.clustering.incremental and not settings.clustering.incremental_optimize_write
    return None if waits else table_clustering(table.schema, settings)
