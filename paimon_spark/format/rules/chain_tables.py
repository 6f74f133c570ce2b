"""What a chain table must have (Java: SchemaValidation.validateChainTable)."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_spark.format.options.engines import ChangelogProducer, MergeEngine, TableKind
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema


def check_chain(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    """A message for each rule that a table with ``chain-table.enabled`` breaks."""
    if not settings.chain_table_enabled:
        return
    keys = list(settings.chain_partition_keys or ())
    partitions = list(schema.partition_keys)
    rules = (
        (settings.table_type == TableKind.TABLE, f"is a table, and 'type' is '{settings.table_type}'"),
        (bool(schema.primary_keys), "has a primary key"),
        (bool(partitions), "has partition columns"),
        (settings.bucket > 0, f"has a fixed number of buckets, and 'bucket' is {settings.bucket}"),
        (bool(settings.sequence_field), "has a 'sequence.field'"),
        (
            settings.changelog_producer in (ChangelogProducer.NONE, ChangelogProducer.INPUT),
            f"has the 'changelog-producer' none or input, and not {settings.changelog_producer}",
        ),
        (
            not settings.deletion_vectors_enabled or settings.merge_engine == MergeEngine.DEDUPLICATE,
            "has 'deletion-vectors.enabled' with the merge engine deduplicate only",
        ),
        (settings.partitions.timestamp_pattern is not None, "has a 'partition.timestamp-pattern'"),
        (settings.partitions.timestamp_formatter is not None, "has a 'partition.timestamp-formatter'"),
        (
            settings.partitions.expiration_time is None or settings.partitions.expiration_strategy == "values-time",
            "expires its partitions by their values: 'partition.expiration-strategy' = 'values-time'",
        ),
        (
            not keys or partitions[len(partitions) - len(keys) :] == keys,
            f"has its last partition columns as 'chain-table.chain-partition-keys', and {', '.join(keys)} are not the "
            f"last of {', '.join(partitions)}",
        ),
    )
    yield from (f"a chain table ('chain-table.enabled') {rule}" for holds, rule in rules if not holds)
