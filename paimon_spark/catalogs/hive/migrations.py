"""What a Hive catalog does to make a table of Paimon of one of Hive (Java: HiveMigrator.executeMigrate)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.hive.failures import Missing
from paimon_spark.catalogs.hive.migrate import check_migratable, check_target, files_of, schema_of, take_over
from paimon_spark.catalogs.hive.names import HiveNames
from paimon_spark.catalogs.hive.places import place_of_table
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import OptionError, SchemaError, UnsupportedFeature
from paimon_spark.file_io import is_same_store

_SUFFIX = "_paimon_"


def migrate(
    catalog: Catalog,
    names: HiveNames,
    source: Identifier,
    target: Identifier | None,
    options: Mapping[str, str],
    drop_source: bool,
) -> None:
    """As Catalog.migrate_table. names: the catalog itself."""
    if target is None and not drop_source:
        raise OptionError(f"migrating {source} without dropping it: give the name of the new table ('target_table')")
    name, new = str(source), target or Identifier(source.database, f"{source.table}{_SUFFIX}")
    table = names.metastore.table(source)
    if target is None and table is None and names.hive_table(new) is not None:  # interrupted before its last step
        catalog.rename_table(new, source)
        return
    check_migratable(name, table)
    assert table is not None, "it was checked"
    if names.metastore.has_primary_key(source):
        raise UnsupportedFeature(f"migrating {name}: it has a primary key, and its files do not keep it")
    schema = schema_of(name, table, options, names.metastore.null_partition())
    is_new = names.hive_table(new) is None
    if is_new:
        _check_movable(names, name, place_of_table(table), catalog.table_location(new))
        catalog.create_table(new, schema)
    opened = catalog.load_table(new)
    try:
        check_target(name, opened, schema)
        _check_movable(names, name, place_of_table(table), opened.location)
        file_io = names.file_io_of(opened.location)
        partitions = names.metastore.partitions(source) if opened.schema.partition_keys else []
        take_over(name, files_of(name, table, partitions, opened, file_io), opened, file_io)
    except Exception:
        if is_new and opened.snapshots.latest() is None and not _has_files(names, opened.location):
            catalog.drop_table(new, ignore_if_not_exists=True)
        raise
    if drop_source:
        with suppress(Missing):  # another client has dropped it
            names.metastore.drop_table(source, deletes_data=True)
    if target is None:
        catalog.rename_table(new, source)


def _has_files(names: HiveNames, location: str) -> bool:
    """True if anything but the schema is in the directory of a table: files that could not be moved back."""
    file_io, left = names.file_io_of(location), [location]
    while left:
        for status in file_io.list(left.pop()):
            if status.is_directory and status.name != "schema":
                left.append(status.path)
            elif not status.is_directory:
                return True
    return False


def _check_movable(names: HiveNames, name: str, source: str | None, target: str) -> None:
    file_io = names.file_io_of(target)
    if source is None or not is_same_store(source, target) or not file_io.moves_directories:
        raise UnsupportedFeature(
            f"migrating {name}: its files at {source} cannot be moved to {target}, which takes one disk, or one "
            "HDFS; copy the rows with a query"
        )
    if target.startswith(f"{source}/"):
        raise SchemaError(f"migrating {name}: {target} is in the directory of the table, which is to go")
