"""Java's own picks of append tables, and its full picks, from files of metadata only. Runs in the JVM's process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jpype
from java_picks import PickedFile, Unit, call_hidden, java_file, java_runs, vector_maintainer
from java_table import table_at


def pick_full(
    paimon: Any, cases: Sequence[tuple[int, Sequence[Sequence[PickedFile]], Sequence[str] | None, bool]]
) -> list[tuple[Unit, bool] | None]:
    """For each (levels, runs, files with vectors or None, forced): the unit and whether each file is alone in it."""
    picks: list[tuple[Unit, bool] | None] = []
    for levels, runs, vectors, forced in cases:
        maintainer = None if vectors is None else vector_maintainer(paimon, vectors)
        strategy = paimon.mergetree.compact.CompactStrategy
        found = strategy.pickFullCompaction(levels, java_runs(paimon, runs), None, maintainer, forced)
        if not found.isPresent():
            picks.append(None)
            continue
        unit = found.get()
        names = [str(file.fileName()) for file in unit.files()]
        picks.append(((int(unit.outputLevel()), names), bool(unit.fileRewrite())))
    return picks


def pick_any_order(
    paimon: Any, path: str, cases: Sequence[tuple[Sequence[PickedFile], Mapping[str, tuple[str, int | None]], bool]]
) -> list[list[list[str]]]:
    """For each (files, name -> index file and cardinality, whether few are taken) the groups of one partition.

    path: a table whose options hold for all cases.
    """
    table, partition = table_at(paimon, path), paimon.data.BinaryRow.EMPTY_ROW
    picks = []
    for files, vectors, few in cases:
        coordinator = paimon.append.AppendCompactCoordinator(table, True)
        if vectors:
            maintainer = call_hidden(coordinator, "dvMaintainer", partition)
            for name, (index, count) in vectors.items():
                place = paimon.table.source.DeletionFile(
                    index, jpype.JLong(0), jpype.JLong(0), None if count is None else jpype.java.lang.Long(count)
                )
                call_hidden(maintainer, "putDeletionFile", name, place)
        metas = jpype.java.util.ArrayList([java_file(paimon, file) for file in files])
        call_hidden(coordinator, "notifyNewFiles", partition, metas)
        tasks: Any = []
        for _ in range(6 if few else 1):  # COMPACT_AGE fruitless looks, and one more
            tasks = tasks or call_hidden(coordinator, "compactPlan")
        picks.append([[str(file.fileName()) for file in task.compactBefore()] for task in tasks])
    return picks


def pick_neighbours(
    paimon: Any, cases: Sequence[tuple[Sequence[PickedFile], int, int, int, bool]]
) -> list[tuple[list[str], list[str]]]:
    """For each (files, min files, target size, small file, forced): a normal and a full pick, empty for none."""
    picks = []
    executor = jpype.java.util.concurrent.Executors.newSingleThreadExecutor()
    for files, min_files, target, small, forced in cases:
        both = []
        for full in (False, True):
            rewritten: list[str] = []

            def rewrite(before: Any, seen: list[str] = rewritten) -> Any:
                seen += [str(file.fileName()) for file in before]
                return jpype.java.util.ArrayList()

            rewriter = jpype.JProxy(
                paimon.append.BucketedAppendCompactManager.CompactRewriter, dict={"rewrite": rewrite}
            )
            metas = jpype.java.util.ArrayList([java_file(paimon, file) for file in files])
            manager = paimon.append.BucketedAppendCompactManager(
                executor, metas, None, min_files, jpype.JLong(target), jpype.JLong(small), forced, rewriter, None
            )
            manager.triggerCompaction(full)
            manager.getCompactionResult(True)
            both.append(rewritten)
        picks.append((both[0], both[1]))
    executor.shutdown()
    return picks
