"""Which files of a bucket of a primary-key table are compacted now (Java: MergeTreeCompactManager, CompactStrategy).

Picks see metadata only. They keep no state: what a writer in Java counts or remembers comes from the caller or is read
off the files.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Sequence

from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.merge.compaction.levels import CompactUnit, LevelRun, top_level, unit_of_runs
from paimon_spark.merge.compaction.rules import CompactionRules
from paimon_spark.merge.compaction.universal import pick_level_0, pick_universal


def never(_: DataFileMeta) -> bool:
    """The answer to "may this file hold expired rows?" of a table whose rows do not expire."""
    return False


def pick_compaction(
    runs: Sequence[LevelRun], rules: CompactionRules, now: dt.datetime, checks: int | None = None
) -> CompactUnit | None:
    """What a writer would compact now, or None.

    First universal compaction. Where that finds nothing, tables that force level 0 up take it (Java:
    ForceUpLevel0Compaction): at every check, or under ``lookup-compact`` = gentle at every so many.

    Args:
        runs: all sorted runs of the bucket (``level_runs``).
        rules: of the table.
        now: the local wall clock, without a time zone.
        checks: how many times this bucket was looked at, this time included, since it was last found without level 0
            or forced; a writer that stays open looks once a commit. None: as many as level 0 has files, the least
            there can have been.
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
    """What a full compaction takes, or None: all runs.

    Where all is one run of the top level already, only the files that still gain by it, each rewritten by itself.

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
    """True if deletes need not be kept in what comes out: no older row lies below them.

    Args:
        unit: what is compacted.
        runs: all sorted runs of the bucket.
        has_vectors: whether the table has deletion vectors: they have deleted the older rows already.
    """
    if unit.output_level == 0:
        return False
    return has_vectors or unit.output_level >= max(run.level for run in runs)


def _is_done(unit: CompactUnit) -> bool:
    """A single file that lies where it would go."""
    return not unit.files or (len(unit.files) == 1 and unit.files[0].level == unit.output_level)
