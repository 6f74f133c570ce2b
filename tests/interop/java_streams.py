"""Streams of tables as the genuine Java reads them, with row kinds; run where the JVM is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from genuine_values import codec
from java_table import table_at

Event = tuple[str, tuple[Any, ...]]
"""A row kind and the values of a row."""


def java_stream(
    paimon: Any, path: str, options: Mapping[str, str], position: int | None = None
) -> tuple[list[list[Event]], int | None]:
    """The rows of every plan that there is now, the first one even if it has none, and where the stream goes on.

    Args:
        paimon: Java's package.
        path: of the table.
        options: of the stream.
        position: where it went on the last time; None: it begins.
    """
    table = table_at(paimon, path, options)
    audit = paimon.table.system.AuditLogTable(table)
    scan = audit.newStreamScan()
    if position is not None:
        scan.restore(position)
    codecs = [codec(t) for t in table.rowType().getFieldTypes()]
    plans: list[list[Event]] = []
    while True:
        before, plan = scan.checkpoint(), scan.plan()
        splits = list(plan.splits())
        if splits or not plans:
            plans.append([event for split in splits for event in _events(paimon, audit, codecs, split)])
        after = scan.checkpoint()
        if not splits and (after is None or before == after):
            return plans, None if after is None else int(after)


def _events(paimon: Any, audit: Any, codecs: list[Any], split: Any) -> list[Event]:
    read, found = audit.newRead().withIOManager(paimon.disk.IOManager.create("/tmp")), []
    with read.createReader(split).toCloseableIterator() as cursor:
        while cursor.hasNext():
            row = cursor.next()
            found.append((str(row.getString(0)), tuple(c.decode(row, i) for i, c in enumerate(codecs, 1))))
    return found


def java_consumer(paimon: Any, path: str, consumer: str) -> int | None:
    """The snapshot that a consumer reads next, as Java sees it."""
    table = table_at(paimon, path)
    found = table.consumerManager().consumer(consumer)
    return int(found.get().nextSnapshot()) if found.isPresent() else None


def java_consumes(paimon: Any, path: str, consumer: str) -> int:
    """Java's stream reads all that there is and stores where its consumer stands; the snapshot that it reads next."""
    scan = table_at(paimon, path, {"consumer-id": consumer}).newReadBuilder().newStreamScan()
    position = None
    while list(scan.plan().splits()) or position != scan.checkpoint():
        position = scan.checkpoint()
    scan.notifyCheckpointComplete(position)
    return int(position)
