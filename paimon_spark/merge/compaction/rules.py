"""The options that determine when and how a bucket of a primary-key table is compacted (features 3.5, 3.6).

They are numbers and flags here, with all derived defaults filled in; ``pick``, ``universal`` and ``steps`` use them.
"""

from __future__ import annotations

from dataclasses import dataclass

from paimon_spark.errors import OptionError
from paimon_spark.format.options.engines import ChangelogProducer, MergeEngine
from paimon_spark.format.options.option import MB
from paimon_spark.format.options.table_settings import TableSettings

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


def needs_lookup(settings: TableSettings) -> bool:
    """True if rows that leave level 0 are looked up in higher levels (Java: LookupStrategy; features 3.23).

    The files of level 0 of these tables must be compacted soon: first-row tables and those with deletion vectors do
    not show them to readers before.
    """
    return (
        settings.merge_engine == MergeEngine.FIRST_ROW
        or settings.changelog_producer == ChangelogProducer.LOOKUP
        or settings.deletion_vectors_enabled
        or settings.compaction.force_lookup
    )


def compaction_rules(settings: TableSettings) -> CompactionRules:
    """The rules of a primary-key table.

    Args:
        settings: of the table, with those of the call on top.

    Raises:
        OptionError: an option does not parse, the trigger is below 1, or there would be fewer than two levels.
    """
    trigger = settings.compaction.trigger
    num_levels = settings.compaction.num_levels
    num_levels = trigger + 1 if num_levels is None else num_levels
    if trigger < 1:
        raise OptionError(f"'num-sorted-run.compaction-trigger' is {trigger}; set it to 1 or more")
    if num_levels < 2:
        raise OptionError(f"the table would have {num_levels} levels; set 'num-levels' to 2 or more")
    lookup = needs_lookup(settings)
    gentle = lookup and settings.compaction.lookup_compact == "gentle"
    engine = settings.merge_engine
    return CompactionRules(
        num_levels=num_levels,
        trigger=trigger,
        max_size_amplification=settings.compaction.max_size_amplification_percent,
        size_ratio=settings.compaction.size_ratio,
        off_peak=_off_peak(settings),
        full_interval=settings.compaction.optimization_interval,
        total_size_threshold=settings.compaction.total_size_threshold,
        incremental_size_threshold=settings.compaction.incremental_size_threshold,
        forces_level_0=lookup or settings.compaction.force_up_level_0,
        force_interval=_force_interval(settings, trigger) if gentle else None,
        needs_lookup=lookup,
        keeps_vectors=settings.deletion_vectors_enabled,
        full_changelog=settings.changelog_producer == ChangelogProducer.FULL_COMPACTION,
        upgrade_merges=engine != MergeEngine.DEDUPLICATE or bool(settings.sequence_field),
        small_file=small_file_size(settings, _DEFAULT_TARGET),
        rewrites_all=settings.compaction.force_rewrite_all_files,
        file_format=settings.files.format,
        file_formats=settings.files.format_per_level,
    )


def small_file_size(settings: TableSettings, default_target: int) -> int:
    """Bytes below which a file is small: a share of the target size (Java: CoreOptions.compactionFileSize).

    The share prevents files that are slightly smaller than the target from being compacted again and again.
    """
    target = settings.files.target_size
    return int((default_target if target is None else target) * settings.compaction.small_file_ratio)


def _off_peak(settings: TableSettings) -> OffPeak | None:
    start, end = settings.compaction.offpeak_start_hour, settings.compaction.offpeak_end_hour
    if start == -1 or end == -1 or start == end:
        return None
    return OffPeak(start, end, settings.compaction.offpeak_ratio)


def _force_interval(settings: TableSettings, trigger: int) -> int:
    interval = settings.compaction.lookup_max_interval
    return max(trigger, 2 * trigger if interval is None else interval)
