"""Options of the Iceberg metadata beside a table (features 3.22; Java: IcebergOptions)."""

from __future__ import annotations

from paimon_spark.format.options.option import Moment, Refused, Settings, boolean, choice, integer, text, word

DISABLED, TABLE_LOCATION, HADOOP_CATALOG = "disabled", "table-location", "hadoop-catalog"
CATALOG_LOCATION = "catalog-location"


# One option is one entry, and not a line for each argument.
# fmt: off
class IcebergSettings(Settings):
    """Metadata of Apache Iceberg beside each snapshot, so that readers of Iceberg read the data files."""

    storage = word("metadata.iceberg.storage", DISABLED,
        "Where commits keep Iceberg metadata: `disabled`, `table-location` (in the directory of the table), or "
        "`hadoop-catalog` (in a directory that is the warehouse of an Iceberg catalog of files). See [Iceberg "
        "readers](../guides/iceberg-readers.md).",
        refuses=(Refused(Moment.WRITE, (DISABLED, TABLE_LOCATION, HADOOP_CATALOG),
            "registering tables in the catalogs of Iceberg, in a Hive metastore or behind a REST server",
            "use the official system for it, or set it to 'hadoop-catalog' and let readers open the directory"),))
    storage_location = choice("metadata.iceberg.storage-location", ("", TABLE_LOCATION, CATALOG_LOCATION),
        "Which directory that is: `table-location` (`metadata` in the table), or `catalog-location` "
        "(`iceberg/<database>/<table>/metadata` in the warehouse). The default is that of `metadata.iceberg.storage`.")
    compatible = boolean("metadata.iceberg-compatible", False,
        "The older form of `metadata.iceberg.storage` = `table-location`.")
    format_version = integer("metadata.iceberg.format-version", 2,
        "The version of Iceberg's format: 2, or 3, which has deletion vectors.")
    compact_min_files = integer("metadata.iceberg.compaction.min.file-num", 10,
        "From so many small Iceberg manifests on they are merged, if they are large enough together.")
    compact_max_files = integer("metadata.iceberg.compaction.max.file-num", 50,
        "From so many small Iceberg manifests on they are merged in any case.")
    delete_after_commit = boolean("metadata.iceberg.delete-after-commit.enabled", True,
        "Whether a commit deletes older Iceberg metadata files (`v<n>.metadata.json`).")
    previous_versions_max = integer("metadata.iceberg.previous-versions-max", 0,
        "How many older Iceberg metadata files a commit leaves.")
    manifest_compression = text("metadata.iceberg.manifest-compression", "snappy",
        "How Iceberg manifests are compressed.")
    manifest_legacy = boolean("metadata.iceberg.manifest-legacy-version", False,
        "Iceberg manifest lists have the names of Iceberg 1.4.")
