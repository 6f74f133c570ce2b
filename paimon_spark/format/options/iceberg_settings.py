"""Options of the Iceberg metadata beside a table (features 3.22; Java: IcebergOptions)."""

from __future__ import annotations

from typing import Final

from paimon_spark.format.options.option import Moment, Refused, Settings, boolean, choice, integer, text, word

DISABLED, TABLE_LOCATION, HADOOP_CATALOG = "disabled", "table-location", "hadoop-catalog"
HIVE_CATALOG = "hive-catalog"
CATALOG_LOCATION = "catalog-location"


# One option is one entry, and not a line for each argument.
# fmt: off
class IcebergSettings(Settings):
    """Metadata of Apache Iceberg beside each snapshot, so that readers of Iceberg read the data files."""

    storage: Final = word("metadata.iceberg.storage", DISABLED,
        "Where commits keep Iceberg metadata: `disabled`, `table-location` (in the directory of the table), "
        "`hadoop-catalog` (in a directory that is the warehouse of an Iceberg catalog of files), or `hive-catalog` "
        "(the same, and a Hive metastore knows the table by its name). See "
        "[Iceberg readers](../guides/iceberg-readers.md).",
        refuses=(Refused(Moment.WRITE, (DISABLED, TABLE_LOCATION, HADOOP_CATALOG, HIVE_CATALOG),
            "places of Iceberg metadata such as a REST server",
            "set it to 'table-location', 'hadoop-catalog' or 'hive-catalog'"),))
    storage_location: Final = choice("metadata.iceberg.storage-location", ("", TABLE_LOCATION, CATALOG_LOCATION),
        "Which directory that is: `table-location` (`metadata` in the table), or `catalog-location` "
        "(`iceberg/<database>/<table>/metadata` in the warehouse). The default is that of `metadata.iceberg.storage`.")
    compatible: Final = boolean("metadata.iceberg-compatible", False,
        "The older form of `metadata.iceberg.storage` = `table-location`.")
    format_version: Final = integer("metadata.iceberg.format-version", 2,
        "The version of Iceberg's format: 2, or 3, which has deletion vectors.")
    compact_min_files: Final = integer("metadata.iceberg.compaction.min.file-num", 10,
        "From so many small Iceberg manifests on they are merged, if they are large enough together.")
    compact_max_files: Final = integer("metadata.iceberg.compaction.max.file-num", 50,
        "From so many small Iceberg manifests on they are merged in any case.")
    delete_after_commit: Final = boolean("metadata.iceberg.delete-after-commit.enabled", True,
        "Whether a commit deletes older Iceberg metadata files (`v<n>.metadata.json`).")
    previous_versions_max: Final = integer("metadata.iceberg.previous-versions-max", 0,
        "How many older Iceberg metadata files a commit leaves.")
    manifest_compression: Final = text("metadata.iceberg.manifest-compression", "snappy",
        "How Iceberg manifests are compressed.")
    manifest_legacy: Final = boolean("metadata.iceberg.manifest-legacy-version", False,
        "Iceberg manifest lists have the names of Iceberg 1.4.")
    uri: Final = text("metadata.iceberg.uri", None,
        "Of `hive-catalog`: the address of the metastore, such as `thrift://host:9083`. The default is that of "
        "`metadata.iceberg.hive-conf-dir`, or the metastore that has the table itself.")
    hive_conf_dir: Final = text("metadata.iceberg.hive-conf-dir", None,
        "Of `hive-catalog`: the directory of a `hive-site.xml` that tells the address.")
    database: Final = text("metadata.iceberg.database", None,
        "Of `hive-catalog`: the database in which the table is registered; several with `;` between them. The default "
        "is that of the table's own directory.")
    table: Final = text("metadata.iceberg.table", None,
        "Of `hive-catalog`: the name under which the table is registered. The default is that of its own directory.")
    skip_update_stats: Final = boolean("metadata.iceberg.hive-skip-update-stats", False,
        "Of `hive-catalog`: the metastore leaves its statistics alone when the table is altered.")
