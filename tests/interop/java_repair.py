"""Repairs by the genuine Java, as its procedures do them on top of the core; run where the JVM is."""

from __future__ import annotations

from typing import Any

import jpype
from java_table import table_at


def remove_unexisting_files(paimon: Any, path: str) -> list[str]:
    """What RemoveUnexistingFilesProcedure commits; the lost paths."""
    table, none, lost = table_at(paimon, path), jpype.java.util.ArrayList(), []
    messages = jpype.java.util.ArrayList()
    for partition in table.newScan().listPartitions():
        found = paimon.operation.ListUnexistingFiles(table).list(partition)
        for entry in found.entrySet():
            files = jpype.java.util.ArrayList(entry.getValue().values())
            lost += [str(path) for path in entry.getValue().keySet()]
            messages.add(
                paimon.table.sink.CommitMessageImpl(
                    partition,
                    entry.getKey(),
                    jpype.java.lang.Integer(table.coreOptions().bucket()),
                    paimon.io.DataIncrement(none, files, none),
                    paimon.io.CompactIncrement.emptyIncrement(),
                )
            )
    commit = table.newCommit("repair")
    commit.commit(2**63 - 1, messages)
    commit.close()
    return sorted(lost)


def repair_earliest_snapshot(paimon: Any, path: str, snapshot: int) -> int:
    return int(table_at(paimon, path).snapshotManager().repairEarliestSnapshot(snapshot))


def earliest(paimon: Any, path: str) -> int:
    return int(table_at(paimon, path).snapshotManager().earliestSnapshotId())


def purge_files(paimon: Any, path: str) -> None:
    table_at(paimon, path).purgeFiles()
