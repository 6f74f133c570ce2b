"""Which files of a bucket of a primary-key table are compacted now (Java: MergeTreeCompactManager, CompactStrategy).

Picks use metadata only and keep no state. What a Java writer counts or remembers is an argument here, or is derived
from the files.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Sequence

from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.merge.compaction.levels import CompactUnit, LevelRun, top_level, unit_of_runs
from paimon_spark.merge.compaction.rules import CompactionRules
from paimon_spark.merge.compaction.universal import pick_level_0, pick_universal


def never(_: DataFileMeta) -> bool:
    """The ``expires`` function of a table whose rows do not expire: always False."""
    return False


def pick_compaction(
    runs: Sequence[LevelRun], rules: CompactionRules, now: dt.datetime, checks: int | None = None
) -> CompactUnit | None:
    """The unit that a writer would compact now, or None.

    Universal compaction is tried first. If it finds nothing, tables that force level 0 up compact it (Java:
    ForceUpLevel0Compaction): at every check, or at every n-th check under ``lookup-compact`` = gentle.

    Args:
        runs: all sorted runs of the bucket (``level_runs``).
        rules: the rules of the table.
        now: the local wall clock, without a time zone.
        checks: the number of checks of this bucket, including this one, since level 0 was last empty or forced; a
            writer that stays open checks once per commit. None: the number of files of level 0, which is the least
            possible.
    """
    unit = pick_universal(runs, rules, now)
    if unit is None and rules.forces_level_0:
        waited = sum(run.level == 0 for run in runs) if checks is None else checks
        if rules.force_interval is None or waited >= rules.force_interval:
            unit = pick_level_0(runs, rules, now)
    return None if unit is None or _is_done(unit) else unit


def pick_full(
    runs: Sequence[LevelRun],
    rules: CompactionRules,
    vectors: Collection[str] = (),
    expires: Callable[[DataFileMeta], bool] = never,
) -> CompactUnit | None:
    """The unit of a full compaction: all runs; None if there is nothing to do.

    If there is one run of the top level only, the unit has the files that need a rewrite, each rewritten by itself.

    Args:
        runs: all sorted runs of the bucket.
        rules: of the table.
        vectors: names of the files that have a deletion vector.
        expires: whether a file may hold expired rows (``record_expiry``).
    """
    if not runs:
        return None
    top = top_level(runs, rules.num_levels)
    if runs[0].level != top:
        return unit_of_runs(top, runs)
    files = tuple(f for f in runs[0].files if rules.rewrites_all or expires(f) or f.file_name in vectors)
    return CompactUnit(top, files, each_alone=True) if files else None


def drops_deletes(unit: CompactUnit, runs: Sequence[LevelRun], has_vectors: bool) -> bool:
    """True if the result need not keep deletes, because no older rows of their keys are on higher levels.

    Args:
        unit: the files to compact.
        runs: all sorted runs of the bucket.
        has_vectors: whether the table has deletion vectors: they have deleted the older rows already.
    """
    if unit.output_level == 0:
        return False
    return has_vectors or unit.output_level >= max(run.level for run in runs)


def _is_done(unit: CompactUnit) -> bool:
    """True for a single file that is already on the output level."""
    return not unit.files or (len(unit.files) == 1 and unit.files[0].level == unit.output_level)
