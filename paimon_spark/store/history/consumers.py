"""Consumers: the positions of streaming reads, which hold snapshots (format section 3.5; Java: ConsumerManager)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from paimon_spark.errors import OptionError, SnapshotNotFound
from paimon_spark.file_io import FileStatus
from paimon_spark.format.json_text import format_json
from paimon_spark.format.paths import consumer_path
from paimon_spark.store.holds.consumer_files import consumer_files
from paimon_spark.store.holds.marks import expiring_below
from paimon_spark.store.holds.retention import Moment, epoch_millis
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result
from paimon_spark.store.storage.files import find_bytes
from paimon_spark.store.storage.local_time import now_millis


@dataclass(frozen=True, repr=False)
class ClearConsumersResult(Result):
    """The deleted consumers; in a dry run, those that would be deleted.

    Attributes:
        names: their ids, sorted.
    """

    names: tuple[str, ...]
    dry_run: bool = False


def reset_consumer(table: Table, consumer: str, next_snapshot: int | None = None) -> bool:
    """Sets the next snapshot of a consumer, or deletes the consumer.

    Args:
        table: the table, opened on the branch of the consumer.
        consumer: the id of the consumer, which may be new.
        next_snapshot: the id of the snapshot that it reads next; None deletes the consumer.

    Returns:
        False: there was no such consumer to delete.

    Raises:
        OptionError: the id is not valid.
        SnapshotNotFound: the snapshot does not exist or is expiring; the consumer is unchanged.
    """
    if not consumer.strip() or "/" in consumer:
        raise OptionError(f"'{consumer}' is no id for a consumer: it must not be blank, and have no '/'")
    path = consumer_path(table.location, consumer, table.branch)
    if next_snapshot is None:
        is_there = table.file_io.exists(path)
        table.file_io.delete(path)
        return is_there
    store = table.snapshots
    store.load(next_snapshot)
    before = find_bytes(table.file_io, path)
    table.file_io.overwrite(path, format_json({"nextSnapshot": next_snapshot}).encode())
    if store.exists(next_snapshot) and (expiring_below(store) or 0) <= next_snapshot:
        return True
    if before is None:
        table.file_io.delete(path)
    else:
        table.file_io.overwrite(path, before)
    raise SnapshotNotFound(
        f"the consumer '{consumer}' of {table.location} cannot stand at snapshot {next_snapshot}, which expires just "
        f"now; {store.available()}. Reset it to a later one"
    )


def clear_consumers(
    table: Table, including: str | None = None, excluding: str | None = None, dry_run: bool = False
) -> ClearConsumersResult:
    """Deletes the consumers whose whole id matches a pattern.

    Args:
        table: the table, opened on the branch of the consumers.
        including: a regular expression; None: all consumers.
        excluding: a regular expression; consumers that match it are kept.
        dry_run: True only reports what would be deleted.

    Raises:
        OptionError: a pattern is not a regular expression.
    """
    wanted, spared = _pattern(including or ".*"), _pattern(excluding) if excluding else None
    chosen = {
        name: status
        for name, status in consumer_files(table.file_io, table.location, table.branch).items()
        if wanted.fullmatch(name) and not (spared and spared.fullmatch(name))
    }
    return _delete(table, chosen, dry_run)


def expire_consumers(table: Table, older_than: Moment | None = None, dry_run: bool = False) -> ClearConsumersResult:
    """Deletes the consumers that have not moved since a time.

    Args:
        table: the table, opened on the branch of the consumers.
        older_than: the time; None: the option `consumer.expiration-time` before now, and nothing if that is not set.
        dry_run: True only reports what would be deleted.

    Raises:
        OptionError: the time is not valid.
    """
    if older_than is None:
        age = table.settings.retention.consumer_expiration_time
        if age is None:
            return ClearConsumersResult((), dry_run)
        before = now_millis() - age
    else:
        before = epoch_millis(older_than, "older_than")
    given = consumer_files(table.file_io, table.location, table.branch)
    due = {name: status for name, status in given.items() if 0 < status.modified_millis < before}
    return _delete(table, due, dry_run)


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise OptionError(f"'{text}' is no regular expression: {error}") from None


def _delete(table: Table, chosen: dict[str, FileStatus], dry_run: bool) -> ClearConsumersResult:
    if not dry_run:
        for status in chosen.values():
            table.file_io.delete(status.path)
    return ClearConsumersResult(tuple(sorted(chosen)), dry_run)
