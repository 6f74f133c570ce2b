"""Expiry by the genuine Java, with every setting given; run where the JVM is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jpype


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
    return int(_table(paimon, path, branch).newExpireSnapshots().config(_config(paimon, settings)).expire())


def expire_changelogs(paimon: Any, path: str, branch: str, settings: Settings) -> int:
    return int(_table(paimon, path, branch).newExpireChangelog().config(_config(paimon, settings)).expire())


def _table(paimon: Any, path: str, branch: str) -> Any:
    file_io = paimon.fs.local.LocalFileIO.create()
    table = paimon.table.FileStoreTableFactory.create(file_io, paimon.fs.Path(path))
    return table if branch == "main" else table.switchToBranch(branch)


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
