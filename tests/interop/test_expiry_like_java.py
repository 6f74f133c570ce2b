"""Rows that are too old leave a table with its compactions as they do in Java."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import our_engine
import pytest
from genuine import Genuine, table_path
from java_table import table_at
from readers import assert_same, java_read

from paimon_spark import open_table
from paimon_spark.merge.compaction.record_expiry import expired_files, record_expiry
from paimon_spark.store.compact.live_buckets import live_buckets

pytestmark = pytest.mark.interop

HOUR = 3600
WRITE_ONLY = {"write-only": "true"}
UNITS = {
    "INT": 1,
    "BIGINT": 10**3,
    "TIMESTAMP(3)": 10**9,
    "TIMESTAMP(6)": 10**9,
    "TIMESTAMP(9)": 10**9,
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": 10**9,
}


def options(**others: str) -> dict[str, str]:
    return {"bucket": "1", "record-level.expire-time": "1 h", "record-level.time-field": "t", **others}


@pytest.mark.parametrize(("type_text", "engine"), [*((t, "deduplicate") for t in UNITS), ("INT", "first-row")])
def test_the_same_rows_leave(java: Genuine, tmp_path: Path, type_text: str, engine: str) -> None:
    now, unit = int(time.time()), UNITS[type_text]
    ages: list[float | None] = [0, HOUR - 120, HOUR + 120, -HOUR, now, 2 * now - 10**6, None]
    rows = [(k, None if age is None else int(now - age) * unit) for k, age in enumerate(ages)]
    if type_text == "BIGINT":
        rows += [(10, now), (11, now - 2 * HOUR), (12, 10**12 - 1), (13, 10**12), (14, -1), (15, 0)]
    newer = [(0, (now - 2 * HOUR) * unit), (1, None), (2, now * unit), (3, (now - 2 * HOUR) * unit)]
    paths = [table_path(tmp_path, name) for name in ("theirs", "ours")]
    for path in paths:
        java.create(
            path, {"k": "INT NOT NULL", "t": type_text}, keys=["k"], options=options(**{"merge-engine": engine})
        )
        java.write(path, rows, options=WRITE_ONLY)
    theirs, ours = paths
    for step in (newer, [(4, now * unit)]):
        java.compact(theirs)
        our_engine.compact(ours, full=True)
        assert assert_same(ours, [java]) == java_read(java, theirs)
        for path in paths:
            java.write(path, step, options=WRITE_ONLY)
    java.compact(theirs, full=False)
    our_engine.compact(ours, full=False)
    assert assert_same(ours, [java]) == java_read(java, theirs)


def java_expires(paimon: Any, path: str) -> dict[str, bool]:
    """Name of each live file -> whether Java would rewrite it for the sake of its expired rows."""
    table = table_at(paimon, path)
    expiry = paimon.io.RecordLevelExpire.create(table.coreOptions(), table.schema(), table.schemaManager())
    splits = table.newSnapshotReader().read().dataSplits()
    return {str(f.fileName()): bool(expiry.isExpireFile(f)) for split in splits for f in split.dataFiles()}


def we_expire(path: str) -> dict[str, bool]:
    table = open_table(path)
    expiry = record_expiry(table.schema, table.settings)
    assert expiry is not None
    expires = expired_files(expiry, int(time.time()), lambda number: table.schemas.load(number).fields)
    return {f.file_name: expires(f) for bucket in live_buckets(table, table.snapshots.latest()) for f in bucket.files}


def test_the_same_files_are_suspected(java: Genuine, tmp_path: Path) -> None:
    """RecordLevelExpireTest.testIsExpireFile, and types that change."""
    path, now = table_path(tmp_path), int(time.time())
    java.create(path, {"k": "INT NOT NULL", "t": "INT", "v": "INT"}, keys=["k"], options=options())
    dense: Mapping[str, str] = {"metadata.stats-mode": "none", "fields.t.stats-mode": "full"}
    sparse: Mapping[str, str] = {"metadata.stats-mode": "none", "fields.v.stats-mode": "full"}
    modes = ({}, dense, {**dense, "metadata.stats-dense-store": "false"}, sparse, {"metadata.stats-mode": "none"})
    key = 0

    def write_all(width: int) -> None:
        nonlocal key
        for mode in modes:
            for times in ([now, now - 2 * HOUR], [now, now + 5], [None, None], [None, now - 2 * HOUR]):
                rows = [(key + i, t, *[0] * (width - 2)) for i, t in enumerate(times)]
                java.write(path, rows, options={**WRITE_ONLY, **mode})
                key += 2

    write_all(3)
    java.alter(path, ("addColumn", "a", "INT"), ("dropColumn", "v"), ("addColumn", "v", "INT"))
    write_all(4)
    java.alter(path, ("updateColumnType", "t", "BIGINT"))
    write_all(4)
    theirs = java.run(java_expires, path)
    assert we_expire(path) == theirs
    assert len(theirs) == 60
    assert set(theirs.values()) == {False, True}


def test_a_file_of_expired_rows_vanishes(java: Genuine, tmp_path: Path) -> None:
    path, now = table_path(tmp_path), int(time.time())
    java.create(path, {"k": "INT NOT NULL", "t": "INT"}, keys=["k"], options=options())
    java.write(path, [(1, now - 2 * HOUR), (2, now - 2 * HOUR)], options=WRITE_ONLY)
    our_engine.compact(path, full=True)
    assert java.run(java_expires, path) == {}
    assert assert_same(path, [java]) == {}
