"""The options and keys of a table by the names that a metastore has for them (Java: convertToPropertiesTableKey)."""

from __future__ import annotations

from paimon_spark.format.options import core_options as o
from paimon_spark.format.options.core_options import Options
from paimon_spark.format.schema import TableSchema


def key_options(schema: TableSchema) -> dict[str, str]:
    """The primary key, the partition columns and the bucket key, as options; none for those that the table lacks."""
    bucket_keys: tuple[str, ...] = Options(schema.options).value(o.BUCKET_KEY) or schema.trimmed_primary_keys
    keys = {
        o.PRIMARY_KEY.key: ",".join(schema.primary_keys),
        o.PARTITION.key: ",".join(schema.partition_keys),
        o.BUCKET_KEY.key: ",".join(bucket_keys),
    }
    return {key: text for key, text in keys.items() if text}
