"""Expiring partitions and marking them done by the genuine Java; run where the JVM is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jpype
from java_table import table_at

NO_TIME = "no time"
NO_PATTERN = "no pattern"
_LAST = 2**63 - 1


def times(paimon: Any, cases: Sequence[tuple[str | None, str]]) -> list[int | str]:
    """What (formatter, text) mean to the extractor of partition times: nanoseconds from 1970-01-01 00:00."""
    return [_time(paimon, *case) for case in cases]


def _time(paimon: Any, formatter: str | None, text: str) -> int | str:
    spec = jpype.java.util.LinkedHashMap({"dt": text})
    try:
        time = paimon.partition.PartitionTimeExtractor(None, formatter).extract(spec)
    except jpype.java.time.format.DateTimeParseException:
        return NO_TIME
    except jpype.java.lang.IllegalArgumentException:
        return NO_PATTERN
    return int(time.toEpochSecond(jpype.java.time.ZoneOffset.UTC)) * 10**9 + int(time.getNano())


def epoch_millis(paimon: Any, walls: Sequence[int], zone: str) -> list[int]:
    """Local times in milliseconds from 1970-01-01 00:00 as instants, as Java takes a file's time of creation."""
    local, java_zone = paimon.data.Timestamp, jpype.java.time.ZoneId.of(zone)
    return [
        int(local.fromEpochMillis(jpype.JLong(wall)).toLocalDateTime().atZone(java_zone).toInstant().toEpochMilli())
        for wall in walls
    ]


def format_times(paimon: Any, formatter: str, moments: Sequence[str]) -> list[str] | None:
    """Local times in ISO form, printed; None: that is no pattern."""
    try:
        made = jpype.java.time.format.DateTimeFormatter.ofPattern(formatter, jpype.java.util.Locale.ROOT)
        return [str(made.format(jpype.java.time.LocalDateTime.parse(moment))) for moment in moments]
    except jpype.java.lang.RuntimeException:
        return None


def expire(paimon: Any, path: str, options: Mapping[str, str], now: str) -> list[dict[str, str]]:
    """Expires partitions at a local time; the values of those that went."""
    given = {**options, "partition.expiration-check-interval": "0 s"}
    table = table_at(paimon, path, given)
    made = table.store().newPartitionExpire("", table)
    method = made.getClass().getDeclaredMethod(
        "expire", jpype.java.time.LocalDateTime.class_, jpype.java.lang.Long.TYPE
    )
    method.setAccessible(True)
    gone = method.invoke(made, jpype.java.time.LocalDateTime.parse(now), jpype.java.lang.Long(_LAST))
    return [{str(entry.getKey()): str(entry.getValue()) for entry in spec.entrySet()} for spec in gone]


def too_old(paimon: Any, path: str, options: Mapping[str, str], limit: str) -> list[bytes]:
    """The rows of the partitions that are older than a local time."""
    table = table_at(paimon, path, options)
    made = paimon.partition.PartitionExpireStrategy.createPartitionExpireStrategy(
        table.coreOptions(), table.store().partitionType(), None, None
    )
    found = made.selectExpiredPartitions(table.store().newScan(), jpype.java.time.LocalDateTime.parse(limit))
    encode = paimon.utils.SerializationUtils.serializeBinaryRow
    return [bytes(encode(entry.partition())) for entry in found]


def mark_done(paimon: Any, path: str, options: Mapping[str, str], partitions: Sequence[str]) -> None:
    """partitions: ``dt=a,hour=1``. As the procedure mark_partition_done does it."""
    table = table_at(paimon, path, options)
    loader = paimon.fs.Path.class_.getClassLoader()
    actions = paimon.partition.actions.PartitionMarkDoneAction.createActions(loader, table, table.coreOptions())
    specs = paimon.utils.ParameterUtils.getPartitions(*partitions)
    directories = paimon.utils.PartitionPathUtils.generatePartitionPaths(specs, table.store().partitionType())
    for directory in directories:
        for action in actions:
            action.markDone(directory)


def success_times(paimon: Any, path: str) -> tuple[int, int]:
    """(created, changed) as Java reads a success file."""
    found = paimon.partition.file.SuccessFile.fromPath(paimon.fs.local.LocalFileIO.create(), paimon.fs.Path(path))
    return int(found.creationTime()), int(found.modificationTime())
