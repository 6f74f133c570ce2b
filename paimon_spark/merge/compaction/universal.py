"""Universal compaction: which sorted runs are merged so that few bytes are written twice (features 3.23).

The runs of a bucket form one list from the newest to the oldest (``levels.level_runs``); a pick is always a head of it.
Java: UniversalCompaction, EarlyFullCompaction.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from paimon_spark.merge.compaction.levels import CompactUnit, LevelRun, top_level, unit_of_runs
from paimon_spark.merge.compaction.rules import CompactionRules

_EPOCH = dt.datetime(1970, 1, 1)
_MILLISECOND = dt.timedelta(milliseconds=1)


def pick_universal(runs: Sequence[LevelRun], rules: CompactionRules, now: dt.datetime) -> CompactUnit | None:
    """The unit that universal compaction picks, or None.

    The first rule that applies decides: early full, size amplification, size ratio, number of runs.

    Args:
        runs: all sorted runs of the bucket, as ``level_runs`` gives them.
        now: the local wall clock, without a time zone.
    """
    if not runs:
        return None
    if is_full_due(runs, rules, now) or is_amplified(runs, rules):
        return unit_of_runs(top_level(runs, rules.num_levels), runs)
    if len(runs) >= rules.trigger:
        count = count_by_ratio(runs, rules, now, 1)
        if count > 1:
            return unit_of_head(runs, rules, count)
    if len(runs) > rules.trigger:
        return unit_of_head(runs, rules, count_by_ratio(runs, rules, now, len(runs) - rules.trigger + 1))
    return None


def pick_level_0(runs: Sequence[LevelRun], rules: CompactionRules, now: dt.datetime) -> CompactUnit | None:
    """All of level 0 with the runs that the size ratio adds, or None if level 0 is empty.

    Level 1 is always included: the output may not be on level 0, and level 2 is compared with the size of both.
    """
    count = sum(run.level == 0 for run in runs)
    if not count:
        return None
    if count < len(runs) and runs[count].level == 1:
        count += 1
    return unit_of_head(runs, rules, count_by_ratio(runs, rules, now, count))


def is_full_due(runs: Sequence[LevelRun], rules: CompactionRules, now: dt.datetime) -> bool:
    """True if a rule of early full compaction asks for all runs (Java: EarlyFullCompaction).

    A Java writer remembers the time of its last full compaction. Here, as in a writer that has just started, it is the
    creation time of the youngest file of the top level. Creation times are wall clock times of the writer, as is now.
    """
    if len(runs) == 1:
        return False
    if rules.full_interval is not None:
        last = _last_full(runs, rules)
        if last is None or (now - _EPOCH) // _MILLISECOND - last > rules.full_interval:
            return True
    if rules.total_size_threshold is not None and sum(run.size for run in runs) < rules.total_size_threshold:
        return True
    if rules.incremental_size_threshold is None:
        return False
    top = top_level(runs, rules.num_levels)
    return sum(run.size for run in runs if run.level != top) > rules.incremental_size_threshold


def unit_of_head(runs: Sequence[LevelRun], rules: CompactionRules, count: int) -> CompactUnit:
    """The first runs as a unit. Its output level is one below that of the next run; for all runs it is the top level.

    The output level is never 0: more runs are added instead, up to the first one of a higher level.
    """
    output_level = 0 if count == len(runs) else max(0, runs[count].level - 1)
    while output_level == 0 and count < len(runs):
        output_level = runs[count].level
        count += 1
    if count == len(runs):
        output_level = top_level(runs, rules.num_levels)
    return unit_of_runs(output_level, runs[:count])


def is_amplified(runs: Sequence[LevelRun], rules: CompactionRules) -> bool:
    """True if the runs other than the oldest are too large compared with it: too much of the storage is obsolete."""
    if len(runs) < rules.trigger:
        return False
    newer = sum(run.size for run in runs[:-1])
    return newer * 100 > rules.max_size_amplification * runs[-1].size


def count_by_ratio(runs: Sequence[LevelRun], rules: CompactionRules, now: dt.datetime, count: int) -> int:
    """The number of runs after the first count are extended by the next ones while these are not much larger."""
    ratio = rules.size_ratio + (rules.off_peak.ratio_at(now.hour) if rules.off_peak else 0)
    size = sum(run.size for run in runs[:count])
    for run in runs[count:]:
        if size * (100.0 + ratio) / 100.0 < float(run.size):
            break
        size += run.size
        count += 1
    return count


def _last_full(runs: Sequence[LevelRun], rules: CompactionRules) -> int | None:
    """Creation time of the youngest file of the top level, in milliseconds of the wall clock."""
    top = (file.creation_time for run in runs if run.level >= rules.max_level for file in run.files)
    return max((time for time in top if time is not None), default=None)
