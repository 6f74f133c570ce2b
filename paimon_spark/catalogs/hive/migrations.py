"""What a Hive catalog does to make a table of Paimon of one of Hive (Java: HiveMigrator.executeMigrate)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.hive.migrate import check_migratable, check_target, files_of, schema_of, take_over
from paimon_spark.catalogs.hive.places import is_paimon, is_view, place_of_table
from paimon_spark.catalogs.identifier import Identifier, Missing
from paimon_spark.errors import OptionError, SchemaError, UnsupportedFeature
from paimon_spark.file_io import DirectoryIO, file_io_for, is_same_store

_SUFFIX = "_paimon_"


@dataclass(frozen=True)
class HiveMigrations:
    """The tables of Hive in a metastore; see HiveTables.

    Attributes:
        storage: storage options.
    """

    metastore: Metastore
    storage: Mapping[str, str] = field(repr=False)

    def list_tables(self, database: str) -> list[str]:
        found = self.metastore.tables(database)
        return [str(one.tableName) for one in found if not is_paimon(one) and not is_view(one)]

    def migrate(
        self,
        catalog: Catalog,
        source: Identifier,
        target: Identifier | None,
        options: Mapping[str, str],
        drop_source: bool,
    ) -> None:
        if target is None and not drop_source:
            raise OptionError(
                f"migrating {source} without dropping it: give the name of the new table ('target_table')"
            )
        name, new = str(source), target or Identifier(source.database, f"{source.table}{_SUFFIX}")
        table = self.metastore.table(source)
        if target is None and table is None and self.metastore.table(new) is not None:  # all but the last step is done
            catalog.rename_table(new, source)
            return
        check_migratable(name, table)
        assert table is not None, "it was checked"
        if self.metastore.has_primary_key(source):
            raise UnsupportedFeature(f"migrating {name}: it has a primary key, and its files do not keep it")
        schema = schema_of(name, table, options, self.metastore.null_partition())
        is_new = self.metastore.table(new) is None
        if is_new:
            self._check_movable(name, place_of_table(table), catalog.table_location(new))
            catalog.create_table(new, schema)
        opened = catalog.load_table(new)
        file_io = file_io_for(opened.location, self.storage)
        try:
            check_target(name, opened, schema)
            self._check_movable(name, place_of_table(table), opened.location)
            partitions = self.metastore.partitions(source) if opened.schema.partition_keys else []
            take_over(name, files_of(name, table, partitions, opened, file_io), opened, file_io)
        except Exception:
            if is_new and opened.snapshots.latest() is None and not _has_files(file_io, opened.location):
                catalog.drop_table(new, ignore_if_not_exists=True)
            raise
        if drop_source:
            with suppress(Missing):  # another client has dropped it
                self.metastore.drop_table(source, deletes_data=True)
        if target is None:
            catalog.rename_table(new, source)

    def _check_movable(self, name: str, source: str | None, target: str) -> None:
        file_io = file_io_for(target, self.storage)
        if source is None or not is_same_store(source, target) or not file_io.moves_directories:
            raise UnsupportedFeature(
                f"migrating {name}: its files at {source} cannot be moved to {target}, which takes one disk, or one "
                "HDFS; copy the rows with a query"
            )
        if target.startswith(f"{source}/"):
            raise SchemaError(f"migrating {name}: {target} is in the directory of the table, which is to go")


def _has_files(file_io: DirectoryIO, location: str) -> bool:
    """True if anything but the schema is in the directory of a table: files that could not be moved back."""
    left = [location]
    while left:
        for status in file_io.list(left.pop()):
            if status.is_directory and status.name != "schema":
                left.append(status.path)
            elif not status.is_directory:
                return True
    return False
