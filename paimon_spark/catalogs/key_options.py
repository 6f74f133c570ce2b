"""The options and keys of a table by the names that a metastore has for them (Java: convertToPropertiesTableKey)."""

from __future__ import annotations

from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema


def key_options(schema: TableSchema) -> dict[str, str]:
    """The primary key, the partition columns and the bucket key, as options; none for those that the table lacks."""
    bucket_keys: tuple[str, ...] = TableSettings(schema.options).bucket_key or schema.trimmed_primary_keys
    keys = {
        TableSettings.primary_key.key: ",".join(schema.primary_keys),
        TableSettings.partition.key: ",".join(schema.partition_keys),
        TableSettings.bucket_key.key: ",".join(bucket_keys),
    }
    return {key: text for key, text in keys.items() if text}
