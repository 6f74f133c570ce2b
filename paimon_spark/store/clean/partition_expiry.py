"""Expires partitions that are too old (features 3.15, 7.1; Java: NormalPartitionExpire and its strategies).

Like dropped partitions, they are removed by snapshots of kind OVERWRITE, and their files are deleted when older
snapshots expire. The age of a partition is given by its values (`values-time`) or by its newest file (`update-time`).
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from paimon_spark.arrow.predicates.expressions import as_predicate
from paimon_spark.arrow.predicates.predicate import Compare, IsNull, Op, Predicate, and_, or_
from paimon_spark.errors import OptionError
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import FileKind
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.upkeep_settings import PartitionSettings
from paimon_spark.format.paths import partition_text
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.types import BINARIES
from paimon_spark.store.clean.chain_expiry import expired_segments
from paimon_spark.store.clean.truncate import TruncateResult, take_away, without_partitions
from paimon_spark.store.commit.attempt import TableState, table_state
from paimon_spark.store.history.tags import Duration, duration_millis
from paimon_spark.store.metadata.live_files import canonical_partitions, canonical_row
from paimon_spark.store.metadata.manifest_files import read_manifest_columns
from paimon_spark.store.metadata.messages import CommitChanges
from paimon_spark.store.metadata.partition_times import nanos_before, partition_times
from paimon_spark.store.metadata.partitions import describe_partition, format_partition
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import check_dynamic_options
from paimon_spark.store.reporting.result import Result, millis_since
from paimon_spark.store.scan.time_travel import refuse_travel
from paimon_spark.store.storage.local_time import epoch_millis_of_wall

_log = logging.getLogger(__name__)

_MILLI = 10**6
_NEVER, _UNKNOWN = -(2**63), 2**63 - 1
_NO_TIME = (
    "partition %s of %s, and maybe others, does not expire, because its values say no time: %s. Look at the options "
    "'partition.timestamp-*', drop it by hand, or use 'partition.expiration-strategy' = 'update-time'"
)


@dataclass(frozen=True, repr=False)
class ExpirePartitionsResult(Result):
    """The expired partitions. Their files stay in storage until the older snapshots expire.

    Attributes:
        partitions: ``dt=2026-11-01/hour=10``, in the order of expiry. Of a chain table first those with changes, then
            the whole ones, each of its branch.
        without_time: the partitions that are kept because their values are not a time.
        files, bytes, rows: the totals of the data files; rows with equal keys are counted separately.
        snapshot_ids: the new snapshots, one per batch.
        millis: the duration of the call.
    """

    partitions: tuple[str, ...]
    without_time: tuple[str, ...]
    files: int
    bytes: int
    rows: int
    snapshot_ids: tuple[int, ...]
    millis: int


@dataclass(frozen=True)
class PartitionAge:
    """A partition with files: its arity row, and the creation time of its newest file (local wall millis, or None).

    Deleted files count for the time as long as manifests name them.
    """

    partition: bytes
    last_file: int | None


IsTooOld: TypeAlias = Callable[[PartitionAge], bool]


def expire_partitions(
    table: Table,
    expiration_time: Duration | None = None,
    timestamp_formatter: str | None = None,
    timestamp_pattern: str | None = None,
    expire_strategy: str | None = None,
    max_expires: int | None = None,
    dry_run: bool = False,
) -> ExpirePartitionsResult:
    """Expires partitions now, regardless of the last check. Arguments default to the table options `partition.*`.

    Args:
        table: the table.
        expiration_time: the lifetime of a partition, such as "7 d".
        timestamp_formatter: a pattern of Java's DateTimeFormatter, such as "yyyyMMdd".
        timestamp_pattern: the text to parse, such as "$dt $hour:00:00"; else the first partition column.
        expire_strategy: "values-time" or "update-time".
        max_expires: at most this many expire, in the order of their values as text.
        dry_run: True only reports what would expire.

    Raises:
        OptionError: the table has no partitions, no time is given, an argument is not valid, or an option chooses a
            snapshot.
        UnsupportedFeature: the table cannot be written.
        CommitConflict, RetriesExhausted: other jobs committed concurrently; earlier batches are committed.
        CommitStateUnknown: the store did not answer; earlier batches are committed.
    """
    refuse_travel(table, "what partitions are expired from")
    if expiration_time is not None:
        expiration_time = f"{duration_millis(expiration_time, 'expiration_time')} ms"
    asked = {
        PartitionSettings.expiration_time.key: expiration_time,
        PartitionSettings.timestamp_formatter.key: timestamp_formatter,
        PartitionSettings.timestamp_pattern.key: timestamp_pattern,
        PartitionSettings.expiration_strategy.key: expire_strategy,
        PartitionSettings.expiration_max_num.key: None if max_expires is None else str(max_expires),
    }
    given = {key: value for key, value in asked.items() if value is not None}
    check_dynamic_options(table.schema, given)
    table = replace(table, settings=table.settings.merged(given))
    if not table.schema.partition_keys:
        raise OptionError(f"expiring partitions of {table.location}: the table has no partition columns")
    if table.settings.partitions.expiration_time is None:
        raise OptionError(
            f"expiring partitions of {table.location}: how long they live is not said; give expiration_time, or set "
            f"the option '{PartitionSettings.expiration_time.key}' of the table",
            arguments=("expiration_time",),
        )
    return expire_partitions_at(table, datetime.now(), dry_run)


def expire_partitions_at(table: Table, now: datetime, dry_run: bool = False) -> ExpirePartitionsResult:
    """Expires partitions by the options of the table, at a local time.

    Other jobs may write concurrently. Files that they add to a partition that is too old by its values expire too; a
    partition that is too old by its last update is kept if it gets a new file.

    Raises:
        OptionError: the table has no partitions, no time is set, an option is not valid or chooses a snapshot.
        UnsupportedFeature: the table cannot be written.
        CommitConflict, RetriesExhausted: other jobs committed concurrently; earlier batches are committed.
        CommitStateUnknown: the store did not answer; earlier batches are committed.
    """
    if table.settings.chain_table_enabled:
        return _expire_segments(table, now, dry_run)
    began = time.monotonic()
    latest, lifetime = table.snapshots.latest(), table.settings.partitions.expiration_time
    if latest is None or lifetime is None:
        return _expired((), (), (), began)
    is_too_old, without_time = _rule(table, nanos_before(now, lifetime))
    state = table_state(table, latest)
    ages = sorted(partition_ages(state), key=lambda age: _order(table, age.partition))
    expired = [age.partition for age in ages if is_too_old(age)][: _most(table.settings)]
    done: list[TruncateResult] = []
    for batch in _batches(expired, table.settings):

        def changes(state: TableState, batch: frozenset[bytes] = frozenset(batch)) -> CommitChanges:
            return without_partitions(state, _still_too_old(state, batch, is_too_old))

        done.append(take_away(table, changes, None, dry_run))
    gone = {words for metrics in done for words in metrics.partitions}  # other jobs may have removed or changed some
    names = tuple(format_partition(table, row) for row in expired if describe_partition(table, row) in gone)
    kept = tuple(format_partition(table, row) for row in without_time)
    if names and not dry_run:
        _log.info("%d partitions of %s expired: %s", len(names), table.location, ", ".join(names[:5]))
    return _expired(names, kept, done, began)


def _expire_segments(table: Table, now: datetime, dry_run: bool) -> ExpirePartitionsResult:
    """Expires the partitions of a chain table: those with changes first, which need the whole ones.

    Of those the newest go first. A whole partition goes with the changes of the same values, at the latest, and must
    not go before later changes that need it. Java drops batches in another order, and fails at such ones.
    """
    began, lifetime = time.monotonic(), table.settings.partitions.expiration_time
    if lifetime is None:
        return _expired((), (), (), began)
    check_writable(table.schema, table.settings)
    found = expired_segments(table, nanos_before(now, lifetime), _most(table.settings))
    done, names = [], []
    for branch, rows in ((found.changes, found.change_rows), (found.whole, found.whole_rows)):
        newest_first = rows[::-1] if branch is found.changes else rows
        for batch in _batches(newest_first, table.settings):

            def changes(state: TableState, batch: Sequence[bytes] = batch) -> CommitChanges:
                return without_partitions(state, batch)

            done.append(take_away(branch, changes, "TRUNCATE", dry_run))
        names += [format_partition(branch, row) for row in rows]
    if names and not dry_run:
        _log.info("%d partitions of the chain table %s expired: %s", len(names), table.location, ", ".join(names[:5]))
    return _expired(tuple(names), tuple(format_partition(table, row) for row in found.without_time), done, began)


def _most(settings: TableSettings) -> int:
    limit = settings.partitions.expiration_max_num
    if limit < 0:
        raise OptionError(f"at most {limit} partitions are to expire: give 0 or more")
    return limit


def partition_ages(state: TableState) -> list[PartitionAge]:
    """The partitions that have files (Java: PartitionEntry.merge), in no order."""
    table = state.table
    columns = read_manifest_columns(table.file_io, table.location, state.manifests)
    types = table.schema.partition_types
    codes = canonical_partitions(columns, types)[columns.partition_code]
    files = np.zeros(len(columns.partitions), np.int64)
    np.add.at(files, codes, np.where(columns.kind == FileKind.DELETE, -1, 1))
    made = columns.attribute("creation_time")
    last = np.full(len(columns.partitions), _NEVER, np.int64)
    np.maximum.at(last, codes, np.where(made.valid, made.values, _UNKNOWN))
    times = [None if millis == _UNKNOWN else millis for millis in last.tolist()]
    alive = np.flatnonzero(files > 0).tolist()
    return [PartitionAge(canonical_row(columns.partitions[code], types), times[code]) for code in alive]


def idle_partitions(table: Table, where: str | Predicate | None, idle_time: Duration) -> Predicate:
    """The condition for partitions whose newest file is at least so old (Java: CompactProcedure, partition_idle_time).

    Args:
        where: a condition that they fulfil too; None: there is none.

    Raises:
        OptionError: the time is no length of time.
        PredicateError: the condition does not fit.
    """
    limit = time.time_ns() // _MILLI - duration_millis(idle_time, "partition_idle_time")
    latest, fields = table.snapshots.latest(), table.schema.partition_fields
    ages = [] if latest is None else partition_ages(table_state(table, latest))
    idle = []
    for age in ages:
        if age.last_file is not None and epoch_millis_of_wall(age.last_file) <= limit:
            values = zip(fields, decode_arity_row(age.partition, [field.type for field in fields]), strict=True)
            idle.append(and_(*(_is_value(field.name, value) for field, value in values)))
    return and_(as_predicate(where, table.schema.fields, table.time_zone), or_(*idle))


def _is_value(name: str, value: Any) -> Predicate:
    return IsNull((name,)) if value is None else Compare((name,), Op.EQ, value)


def _rule(table: Table, limit: int) -> tuple[IsTooOld, list[bytes]]:
    """(test for partitions older than a limit in local nanoseconds, list that it fills with those without a time)."""
    without_time: list[bytes] = []
    if table.settings.partitions.expiration_strategy == "update-time":
        return _made_before(limit // _MILLI), without_time
    time_of = partition_times(table.schema, table.settings)

    def said_before(age: PartitionAge) -> bool:
        try:
            return time_of(age.partition) < limit
        except ValueError as error:
            if not without_time:
                _log.warning(_NO_TIME, format_partition(table, age.partition), table.location, error)
            without_time.append(age.partition)
            return False

    return said_before, without_time


def _made_before(wall_millis: int) -> IsTooOld:
    """A function that returns whether the last file was created before a wall time; both are compared as instants."""
    try:
        limit = epoch_millis_of_wall(wall_millis)
    except (ValueError, OverflowError):  # a lifetime of thousands of years
        return lambda age: False
    return lambda age: age.last_file is not None and epoch_millis_of_wall(age.last_file) < limit


def _still_too_old(state: TableState, batch: frozenset[bytes], is_too_old: IsTooOld) -> Sequence[bytes]:
    if state.table.settings.partitions.expiration_strategy == "values-time":
        return list(batch)  # values do not change
    return [age.partition for age in partition_ages(state) if age.partition in batch and is_too_old(age)]


def _order(table: Table, row: bytes) -> bytes:
    """The sort key of a partition: Java sorts the texts of values, joined by commas, by UTF-16 units."""
    fields = table.schema.partition_fields
    default = table.settings.partitions.default_name
    values = zip(decode_arity_row(row, [f.type for f in fields]), fields, strict=True)
    texts = (default if v is None else partition_text(v, f.type, f.type.root not in BINARIES) for v, f in values)
    return ",".join(texts).encode("utf-16-be", "surrogatepass")


def _batches(rows: Sequence[bytes], settings: TableSettings) -> list[Sequence[bytes]]:
    size = settings.partitions.expiration_batch_size
    size = settings.partitions.expiration_max_num if size is None else size
    step = size if size > 0 else max(len(rows), 1)
    return [rows[start : start + step] for start in range(0, len(rows), step)]


def _expired(
    names: tuple[str, ...], without_time: tuple[str, ...], done: Sequence[TruncateResult], began: float
) -> ExpirePartitionsResult:
    return ExpirePartitionsResult(
        partitions=names,
        without_time=without_time,
        files=sum(metrics.files for metrics in done),
        bytes=sum(metrics.bytes for metrics in done),
        rows=sum(metrics.rows for metrics in done),
        snapshot_ids=tuple(metrics.snapshot_id for metrics in done if metrics.snapshot_id is not None),
        millis=millis_since(began),
    )


@dataclass
class CheckTimes:
    """The times of the last check of tables, in seconds of one clock; safe to use from several threads."""

    _last: dict[tuple[str, str], float] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def is_due(self, place: tuple[str, str], interval: float, now: float) -> bool:
        """True if an interval has passed since the last check.

        For a table that was never checked, a random time within the last interval is assumed, so that processes that
        end before an interval has passed may check too.
        """
        with self._lock:
            last = self._last.setdefault(place, now - random.random() * interval)
            return interval <= 0 or now - last > interval

    def looked(self, place: tuple[str, str], now: float) -> None:
        with self._lock:
            self._last[place] = now


_CHECKS = CheckTimes()  # of this process


def expire_due_partitions(table: Table) -> None:
    """Expires partitions after a commit, if the options ask for it and the check interval has passed.

    `partition.expiration-check-interval` is measured in each process; with `end-input.check-partition-expire` every
    batch write checks.

    Raises:
        OptionError: an option is not valid.
        CommitConflict, RetriesExhausted: other jobs committed concurrently; earlier batches are committed.
        CommitStateUnknown: the store did not answer; earlier batches are committed.
    """
    settings = table.settings
    if settings.partitions.expiration_time is None or not table.schema.partition_keys:
        return
    place, now = (table.location, table.branch), time.monotonic()
    is_due = _CHECKS.is_due(place, settings.partitions.expiration_check_interval / 1000, now)
    if is_due or settings.partitions.end_input_check_expire:
        expire_partitions_at(table, datetime.now())
        _CHECKS.looked(place, now)
