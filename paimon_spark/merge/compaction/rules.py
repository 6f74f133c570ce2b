"""The options that determine when and how a bucket of a primary-key table is compacted (features 3.5, 3.6).

They are numbers and flags here, with all derived defaults filled in; ``pick``, ``universal`` and ``steps`` use them.
"""

from __future__ import annotations

from dataclasses import dataclass

from paimon_spark.errors import OptionError
from paimon_spark.format.options import core_options as o
from paimon_spark.format.options.core_options import MB, Options
from paimon_spark.format.options.engines import ChangelogProducer, MergeEngine

_DEFAULT_TARGET = 128 * MB


@dataclass(frozen=True)
class OffPeak:
    """Hours of the day, the end exclusive, in which percent is added to size-ratio; they may span midnight."""

    start: int
    end: int
    ratio: int

    def ratio_at(self, hour: int) -> int:
        """Percent to add at that hour (0 to 23)."""
        if self.start <= self.end:
            inside = self.start <= hour < self.end
        else:
            inside = hour < self.end or self.start <= hour
        return self.ratio if inside else 0


@dataclass(frozen=True)
class CompactionRules:
    """The compaction rules of a primary-key table; made by ``compaction_rules`` (Java: CoreOptions).

    Attributes:
        num_levels: the configured number of levels, including level 0.
        trigger: the number of sorted runs that starts a compaction.
        stop_trigger: the number of sorted runs above which a writer waits for a compaction.
        max_size_amplification, size_ratio: percent, for the rules of universal compaction; off_peak adds to size_ratio.
        full_interval: milliseconds between early full compactions, or None.
        total_size_threshold, incremental_size_threshold: bytes for an early full compaction, or None.
        forces_level_0: whether level 0 is compacted even if universal compaction finds nothing.
        force_interval: level 0 is forced at every n-th check (lookup-compact = gentle); None: at every check.
        needs_lookup: whether rows that leave level 0 are looked up in the levels above the output.
        keeps_vectors: whether the table has deletion vectors.
        full_changelog: whether full compactions write a changelog.
        upgrade_merges: whether a file that leaves level 0 for a middle level must be rewritten under lookup: the merge
            engine needs more than the newest row, or rows carry a sequence of their own.
        small_file: bytes; smaller files are rewritten with their neighbours.
        rewrites_all: whether full compactions also rewrite files that do not need it.
        file_format: the file format of levels that file_formats does not name.
        file_formats: file formats by level.
    """

    num_levels: int
    trigger: int
    stop_trigger: int
    max_size_amplification: int
    size_ratio: int
    off_peak: OffPeak | None
    full_interval: int | None
    total_size_threshold: int | None
    incremental_size_threshold: int | None
    forces_level_0: bool
    force_interval: int | None
    needs_lookup: bool
    keeps_vectors: bool
    full_changelog: bool
    upgrade_merges: bool
    small_file: int
    rewrites_all: bool
    file_format: str
    file_formats: dict[int, str]

    @property
    def max_level(self) -> int:
        return self.num_levels - 1

    def format_of(self, level: int) -> str:
        """File format of new files of that level."""
        return self.file_formats.get(level, self.file_format)


def needs_lookup(options: Options) -> bool:
    """True if rows that leave level 0 are looked up in higher levels (Java: LookupStrategy; features 3.23).

    The files of level 0 of these tables must be compacted soon: first-row tables and those with deletion vectors do
    not show them to readers before.
    """
    return (
        options.value(o.MERGE_ENGINE) == MergeEngine.FIRST_ROW
        or options.value(o.CHANGELOG_PRODUCER) == ChangelogProducer.LOOKUP
        or options.value(o.DELETION_VECTORS_ENABLED)
        or options.value(o.FORCE_LOOKUP)
    )


def compaction_rules(options: Options) -> CompactionRules:
    """The rules of a primary-key table.

    Args:
        options: of the table, with those of the call on top.

    Raises:
        OptionError: an option does not parse, the trigger is below 1, or there would be fewer than two levels.
    """
    trigger = options.value(o.NUM_SORTED_RUN_COMPACTION_TRIGGER)
    stop_trigger = options.value(o.NUM_SORTED_RUN_STOP_TRIGGER)
    num_levels = options.value(o.NUM_LEVELS)
    num_levels = trigger + 1 if num_levels is None else num_levels
    if trigger < 1:
        raise OptionError(f"'num-sorted-run.compaction-trigger' is {trigger}; set it to 1 or more")
    if num_levels < 2:
        raise OptionError(f"the table would have {num_levels} levels; set 'num-levels' to 2 or more")
    lookup = needs_lookup(options)
    gentle = lookup and options.value(o.LOOKUP_COMPACT) == "gentle"
    engine = options.value(o.MERGE_ENGINE)
    return CompactionRules(
        num_levels=num_levels,
        trigger=trigger,
        stop_trigger=max(trigger, trigger + 3 if stop_trigger is None else stop_trigger),
        max_size_amplification=options.value(o.COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT),
        size_ratio=options.value(o.COMPACTION_SIZE_RATIO),
        off_peak=_off_peak(options),
        full_interval=options.value(o.COMPACTION_OPTIMIZATION_INTERVAL),
        total_size_threshold=options.value(o.COMPACTION_TOTAL_SIZE_THRESHOLD),
        incremental_size_threshold=options.value(o.COMPACTION_INCREMENTAL_SIZE_THRESHOLD),
        forces_level_0=lookup or options.value(o.COMPACTION_FORCE_UP_LEVEL_0),
        force_interval=_force_interval(options, trigger) if gentle else None,
        needs_lookup=lookup,
        keeps_vectors=options.value(o.DELETION_VECTORS_ENABLED),
        full_changelog=options.value(o.CHANGELOG_PRODUCER) == ChangelogProducer.FULL_COMPACTION,
        upgrade_merges=engine != MergeEngine.DEDUPLICATE or bool(options.value(o.SEQUENCE_FIELD)),
        small_file=small_file_size(options, _DEFAULT_TARGET),
        rewrites_all=options.value(o.COMPACTION_FORCE_REWRITE_ALL_FILES),
        file_format=options.value(o.FILE_FORMAT),
        file_formats=options.value(o.FILE_FORMAT_PER_LEVEL),
    )


def small_file_size(options: Options, default_target: int) -> int:
    """Bytes below which a file is small: a share of the target size (Java: CoreOptions.compactionFileSize).

    The share prevents files that are slightly smaller than the target from being compacted again and again.
    """
    target = options.value(o.TARGET_FILE_SIZE)
    return int((default_target if target is None else target) * options.value(o.COMPACTION_SMALL_FILE_RATIO))


def _off_peak(options: Options) -> OffPeak | None:
    start, end = options.value(o.COMPACTION_OFFPEAK_START_HOUR), options.value(o.COMPACTION_OFFPEAK_END_HOUR)
    if start == -1 or end == -1 or start == end:
        return None
    return OffPeak(start, end, options.value(o.COMPACTION_OFFPEAK_RATIO))


def _force_interval(options: Options, trigger: int) -> int:
    interval = options.value(o.LOOKUP_COMPACT_MAX_INTERVAL)
    return max(trigger, 2 * trigger if interval is None else interval)
