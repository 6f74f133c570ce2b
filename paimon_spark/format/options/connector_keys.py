"""Options of this connector that are none of tables: where each belongs, for messages about those at a wrong place.

The layers above read them. Here are their names alone, because an option is found unknown where options of tables are
looked up.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

TIME_ZONE = "time-zone"
_READ = "of spark.read and spark.readStream"
_STREAM_READ = "of spark.readStream"
_WRITE = "of df.write and df.writeStream"
_BATCH_WRITE = "of df.write"
_STREAM_WRITE = "of df.writeStream"

CONNECTOR_KEYS: Mapping[str, str] = MappingProxyType(
    {
        "columns": _READ,
        "filter": _READ,
        "row-kinds": _READ,
        TIME_ZONE: "of spark.read, df.write and PaimonTable.forPath",
        "push-filters": "of spark.read",
        "read.native": "of spark.read",
        "read.local": "of spark.read",
        "read.stream": _STREAM_READ,
        "scan.on-expired": _STREAM_READ,
        "row-kind-column": _WRITE,
        "write.create-table": _WRITE,
        "write.missing-columns": _WRITE,
        "write.merge-schema": _WRITE,
        "write.merge-schema.type-widening": _WRITE,
        "write.merge-schema.explicit-cast": _WRITE,
        "write.stream.unknown-batch": _WRITE,
        "overwrite-where": _BATCH_WRITE,
        "overwrite-schema": _BATCH_WRITE,
        "dynamic-partition-overwrite": _BATCH_WRITE,
        "once.application": _BATCH_WRITE,
        "once.version": _BATCH_WRITE,
        "once.skips-older": _BATCH_WRITE,
        "write.stream.commit-user": _STREAM_WRITE,
        "write.stream.compact-budget": _STREAM_WRITE,
        "watermark-column": _STREAM_WRITE,
        "watermark-delay": _STREAM_WRITE,
        "checkpointLocation": _STREAM_WRITE,
        "queryName": _STREAM_WRITE,
    }
)
"""Option -> what takes it."""
INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        TIME_ZONE: "give open_table the argument time_zone= instead",
        "columns": "write .select(...) behind a read by name, or scan(columns=[...]) without Spark",
        "filter": "write .where(...) behind a read by name, or scan(where=...) without Spark",
        "row-kinds": "spark.readStream.format('paimon') takes it with .load('<path>'); of a table that is named, "
        "'<table>$audit_log' has the row kinds in its first column",
    }
)
"""Option -> what to write where a table is named, or read without Spark; of others nothing."""
