"""The partitions of tables in a metastore (Java: HiveCatalog.createPartitions and what follows it)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

from pymetastore.hive_metastore import ttypes

from paimon_spark.catalogs.hive.known_places import named_table
from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.hive.places import HivePartition, HiveTable, place_of_table, put_partition
from paimon_spark.catalogs.identifier import Identifier, Missing
from paimon_spark.format.options.write_settings import FileSettings
from paimon_spark.format.paths import escape
from paimon_spark.format.rules.format_tables import ONLY_VALUE

_LAST_CHANGE = "transient_lastDdlTime"


@dataclass(frozen=True)
class HivePartitions:
    """See PartitionKeeper."""

    metastore: Metastore

    def add(self, root: str, partitions: Sequence[Mapping[str, str]]) -> None:
        for identifier, table in self._table(root):
            self.metastore.add_partitions(identifier, [self._made(table, root, one) for one in partitions])

    def drop(self, root: str, partitions: Sequence[Mapping[str, str]]) -> None:
        for identifier, _ in self._table(root):
            for one in partitions:
                try:
                    self.metastore.drop_partition(identifier, list(one.values()))
                except Missing:
                    continue

    def report(self, root: str, partition: Mapping[str, str], statistics: Mapping[str, str], seconds: int) -> None:
        for identifier, _ in self._table(root):
            try:
                found = self.metastore.partition(identifier, list(partition.values()))
                found.lastAccessTime = seconds
                reported = {**statistics, _LAST_CHANGE: str(seconds)}
                found.parameters = {**(found.parameters or {}), **reported}
                self.metastore.alter_partition(identifier, found)
            except Missing:
                continue

    def mark_done(self, root: str, partition: Mapping[str, str]) -> None:
        for identifier, _ in self._table(root):
            self.metastore.mark_done(identifier, partition)

    def is_done(self, root: str, partition: Mapping[str, str]) -> bool:
        return any(self.metastore.is_done(identifier, partition) for identifier, _ in self._table(root))

    def _table(self, root: str) -> Iterator[tuple[Identifier, HiveTable]]:
        """The table of a place, unless the metastore has none, or one without partitions."""
        identifier = named_table(self.metastore, root)
        table = None if identifier is None else self.metastore.table(identifier)
        if identifier is not None and table is not None and table.partitionKeys:
            yield identifier, table

    def _made(self, table: HiveTable, root: str, spec: Mapping[str, str]) -> HivePartition:
        now = int(time.time())
        made = ttypes.Partition(
            values=list(spec.values()),
            dbName=table.dbName,
            tableName=table.tableName,
            createTime=now,
            lastAccessTime=now,
            sd=deepcopy(table.sd),
            parameters={},
        )
        parameters = table.parameters or {}
        directory = parameters.get(FileSettings.path_directory.key)
        above = [place_of_table(table) or root, *([directory] if directory else [])]
        only_values = parameters.get(ONLY_VALUE, "false").lower() == "true"
        names = [escape(value) if only_values else f"{escape(key)}={escape(value)}" for key, value in spec.items()]
        path = "/".join([*above, *names])
        put_partition(made, path, self.metastore.settings.location_in_properties)
        return made
