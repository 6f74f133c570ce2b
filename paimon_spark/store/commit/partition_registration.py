"""Registers the partitions and tags of a table in a metastore, where its catalog has one (features 3.14, 3.15).

Java: AddPartitionCommitCallback, AddPartitionTagCallback, PartitionStatisticsReporter. They are registered after the
commit. If the metastore does not answer, that is logged: the rows are there for everybody, and ``CALL sys.repair``
registers them.

What a commit changes in each partition, for the server of a table (Java: PartitionEntry).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from paimon_spark.errors import PaimonError, UnsupportedFeature, words_of
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import FileKind, ManifestEntry
from paimon_spark.format.options.upkeep_settings import PartitionSettings
from paimon_spark.format.paths import partition_path, unescape
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.local_time import epoch_millis_of_wall
from paimon_spark.store.storage.publishers import PartitionKeeper, partition_keeper
from paimon_spark.store.storage.served import PartitionChange

_log = logging.getLogger(__name__)
_EVENT = "mark-event"
OF_METASTORE = ("done-partition", _EVENT)
"""The actions of `partition.mark-done-action` that a metastore does."""
_PREVIEW = "metastore.tag-to-partition.preview"


def check_registration(table: Table) -> None:
    """Checks before a write that what the options ask for can be registered in the metastore.

    Raises:
        UnsupportedFeature: there is none for marking partitions done, or previews of tags are asked for.
    """
    if table.settings.partitions.end_input_to_done and table.schema.partition_keys:
        for action in table.settings.partitions.mark_done_action:
            if action in OF_METASTORE:
                marking_keeper(table, action)
    preview = table.settings.get(_PREVIEW, "none")
    if preview != "none" and tag_keeper(table) is not None:
        raise UnsupportedFeature(
            f"writing to {table.location}: '{_PREVIEW}' = '{preview}' asks to tell the metastore of tags before they "
            "are made, which this release does not do; write with the official system, or unset the option"
        )


def keeper_of(table: Table) -> PartitionKeeper | None:
    """What keeps the partitions of a table beside its files; None: nothing does."""
    if not table.schema.partition_keys or not table.settings.partitions.in_metastore:
        return None
    return partition_keeper(table.file_io)


def tag_keeper(table: Table) -> PartitionKeeper | None:
    """What keeps the tags of a table as partitions; None: nothing does."""
    if table.schema.partition_keys or table.settings.partitions.tag_to_partition is None:
        return None
    return partition_keeper(table.file_io)


def marking_keeper(table: Table, action: str) -> PartitionKeeper:
    """What marks partitions of the table done.

    Raises:
        UnsupportedFeature: nothing does.
    """
    keeper = keeper_of(table)
    if keeper is None:
        why = (
            "which needs a metastore: open the table by the name that it has in a hive catalog"
            if partition_keeper(table.file_io) is None
            else f"which needs '{PartitionSettings.in_metastore.key}' = 'true'"
        )
        raise UnsupportedFeature(
            f"cannot mark partitions of {table.location} done: '{PartitionSettings.mark_done_action.key}' has "
            f"'{action}', {why}"
        )
    return keeper


def register_partitions(table: Table, rows: Iterable[bytes]) -> None:
    """Registers partitions (arity-prefixed BinaryRows) that a commit has added files to."""
    keeper, added = keeper_of(table), dict.fromkeys(rows)
    if keeper is not None and added:
        with _logged(table, "partitions"):
            keeper.add(table.location, [partition_spec(table, row) for row in added])


def unregister_partitions(table: Table, rows: Iterable[bytes]) -> None:
    """Removes partitions from the metastore whose files a commit has taken away as a whole."""
    keeper, dropped = keeper_of(table), dict.fromkeys(rows)
    if keeper is not None and dropped:
        with _logged(table, "dropped partitions"):
            keeper.drop(table.location, [partition_spec(table, row) for row in dropped])


def register_tag(table: Table, name: str) -> None:
    """Registers a new tag."""
    keeper, column = tag_keeper(table), table.settings.partitions.tag_to_partition
    if keeper is not None and column is not None:
        with _logged(table, "tags"):
            keeper.add(table.location, [{column: name}])


def unregister_tags(table: Table, names: Iterable[str]) -> None:
    """Removes deleted tags from the metastore."""
    keeper, column = tag_keeper(table), table.settings.partitions.tag_to_partition
    if keeper is not None and column is not None:
        with _logged(table, "deleted tags"):
            keeper.drop(table.location, [{column: name} for name in names])


def is_marked_done(table: Table, row: bytes) -> bool:
    """True if a metastore has a partition with the mark that its rows are complete.

    It is asked only of tables whose options say that partitions are marked there (Java: HiveCatalog.listPartitions).

    Raises:
        CatalogUnavailable: it does not answer.
    """
    keeper = keeper_of(table) if _EVENT in table.settings.partitions.mark_done_action else None
    return keeper is not None and keeper.is_done(table.location, partition_spec(table, row))


@contextmanager
def _logged(table: Table, what: str) -> Iterator[None]:
    try:
        yield
    except (PaimonError, OSError, MemoryError) as error:
        _log.warning(
            "%s is committed, but the metastore is not told of its %s; CALL sys.repair does it: %s",
            table.location,
            what,
            words_of(error),
        )


def partition_changes(table: Table, entries: Iterable[ManifestEntry]) -> list[PartitionChange]:
    """The sums of added and deleted files by partition."""
    found: dict[bytes, PartitionChange] = {}
    for entry in entries:
        one = found.get(entry.partition)
        if one is None:
            one = PartitionChange(partition_spec(table, entry.partition), 0, 0, 0, 0, entry.total_buckets)
        sign = 1 if entry.kind == FileKind.ADD else -1
        made = 0 if entry.file.creation_time is None else epoch_millis_of_wall(entry.file.creation_time)
        found[entry.partition] = replace(
            one,
            rows=one.rows + sign * entry.file.row_count,
            bytes=one.bytes + sign * entry.file.file_size,
            files=one.files + sign,
            last_file_millis=max(one.last_file_millis, made),
            total_buckets=entry.total_buckets,
        )
    return list(found.values())


def partition_spec(table: Table, row: bytes) -> dict[str, str]:
    """The values of a partition (an arity-prefixed BinaryRow) by column, as in the paths of its files."""
    fields = table.schema.partition_fields
    default, legacy = table.settings.partitions.default_name, table.settings.partitions.legacy_name
    values = decode_arity_row(row, [field.type for field in fields])
    return {
        field.name: unescape(partition_path([value], [field], default, legacy).removesuffix("/").partition("=")[2])
        for value, field in zip(values, fields, strict=True)
    }
