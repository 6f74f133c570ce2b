"""Expiry by the genuine Java, with every setting given; run where the JVM is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jpype
from java_table import table_at


@dataclass(frozen=True)
class Settings:
    """What stays: numbers, and milliseconds. Changelog settings that are None are those of the snapshots."""

    retain_max: int
    retain_min: int
    millis: int
    max_deletes: int
    changelog_max: int | None = None
    changelog_min: int | None = None
    changelog_millis: int | None = None


def expire_snapshots(paimon: Any, path: str, branch: str, settings: Settings) -> int:
    expiry = table_at(paimon, path, {"branch": branch}).newExpireSnapshots()
    return int(expiry.config(_config(paimon, settings)).expire())


def expire_changelogs(paimon: Any, path: str, branch: str, settings: Settings) -> int:
    expiry = table_at(paimon, path, {"branch": branch}).newExpireChangelog()
    return int(expiry.config(_config(paimon, settings)).expire())


def expire_tags(paimon: Any, path: str, older_than: int | None) -> list[str]:
    """older_than: epoch millis; without it only those go that have lived as long as they were given."""
    table = table_at(paimon, path)
    deletion, callbacks = table.store().newTagDeletion(), jpype.java.util.ArrayList()
    made = paimon.tag.TagTimeExpire.create(table.snapshotManager(), table.tagManager(), deletion, callbacks)
    if older_than is not None:
        made = made.withOlderThanTime(_local_time(paimon, older_than))
    return [str(name) for name in made.expire()]


def expire_consumers(paimon: Any, path: str, older_than: int) -> None:
    """older_than: epoch millis."""
    consumers = paimon.consumer.ConsumerManager(paimon.fs.local.LocalFileIO.create(), paimon.fs.Path(path))
    consumers.expire(_local_time(paimon, older_than))


def commit_statistics(paimon: Any, path: str) -> None:
    """As ANALYZE does, of the latest snapshot."""
    table, count = table_at(paimon, path), jpype.java.lang.Long(1)
    latest = table.snapshotManager().latestSnapshot()
    with table.newBatchWriteBuilder().newCommit() as commit:
        commit.updateStatistics(paimon.stats.Statistics(latest.id(), latest.schemaId(), count, count))


def _local_time(paimon: Any, millis: int) -> Any:
    return paimon.utils.DateTimeUtils.toLocalDateTime(jpype.JLong(millis))


def _config(paimon: Any, s: Settings) -> Any:
    made = paimon.options.ExpireConfig.builder()
    made = made.snapshotRetainMax(s.retain_max).snapshotRetainMin(s.retain_min)
    made = made.snapshotTimeRetain(_duration(s.millis)).snapshotMaxDeletes(s.max_deletes)
    if s.changelog_max is not None:
        made = made.changelogRetainMax(jpype.java.lang.Integer(s.changelog_max))
    if s.changelog_min is not None:
        made = made.changelogRetainMin(jpype.java.lang.Integer(s.changelog_min))
    if s.changelog_millis is not None:
        made = made.changelogTimeRetain(_duration(s.changelog_millis))
    return made.changelogMaxDeletes(jpype.java.lang.Integer(s.max_deletes)).build()


def _duration(millis: int) -> Any:
    return jpype.java.time.Duration.ofMillis(millis)
