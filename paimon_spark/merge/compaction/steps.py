"""Splits a compaction unit into steps: merge and rewrite files, or only move one to its new level."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.types import DataType
from paimon_spark.merge.compaction.levels import CompactUnit
from paimon_spark.merge.compaction.pick import never
from paimon_spark.merge.compaction.rules import CompactionRules
from paimon_spark.merge.keys.sections import Section, SortedRun, partition_sections


@dataclass(frozen=True)
class CompactStep:
    """An independent part of a unit; its key range overlaps that of no other step.

    Attributes:
        sections: the files, in key order.
        rewrites: whether new files are written. If not, the only file is upgraded to the output level unchanged.
        changelog: whether the rows pass through the merge that knows the rows above (``compact_merge``): to write a
            changelog, to look keys up, or to mark rows above as deleted. This may be needed without ``rewrites`` too.
    """

    sections: tuple[Section, ...]
    rewrites: bool
    changelog: bool

    @property
    def files(self) -> tuple[DataFileMeta, ...]:
        return tuple(file for section in self.sections for run in section for file in run)


def compact_steps(
    unit: CompactUnit,
    max_level: int,
    key_types: Sequence[DataType],
    rules: CompactionRules,
    expires: Callable[[DataFileMeta], bool] = never,
) -> tuple[CompactStep, ...]:
    """The unit in steps, in key order (Java: MergeTreeCompactTask, FileRewriteCompactTask).

    Sections of several runs are merged. Small files are rewritten together with the neighbouring sections. A large file
    that overlaps no other is upgraded to the output level, unless its rows must change or need a changelog. Files that
    are already on the output level and need no change are in no step.

    Args:
        unit: from ``pick_compaction`` or ``pick_full``.
        max_level: ``top_level`` of the bucket.
        key_types: types of the trimmed primary key.
        rules: of the table.
        expires: whether a file may hold expired rows (``record_expiry``).

    Raises:
        CorruptFile, ValueError: a minimum or maximum key does not decode.
    """
    fate = _Fate(unit.output_level, max_level, rules, expires)
    if unit.each_alone:
        return tuple(fate.rewritten((_alone(file),)) for file in unit.files)
    groups = _groups(partition_sections(unit.files, key_types), rules.small_file)
    steps = (fate.step(group) for group in groups)
    return tuple(step for step in steps if step is not None)


def _groups(sections: Sequence[Section], small_file: int) -> Iterator[tuple[Section, ...]]:
    """Groups of sections that are rewritten together; a large file that overlaps no other is a group by itself."""
    waiting: list[Section] = []
    for section in sections:
        if len(section) > 1:
            waiting.append(section)
            continue
        for file in section[0]:
            if file.file_size < small_file:
                waiting.append(_alone(file))
                continue
            if waiting:
                yield tuple(waiting)
                waiting = []
            yield (_alone(file),)
    if waiting:
        yield tuple(waiting)


def _alone(file: DataFileMeta) -> Section:
    return (SortedRun((file,)),)


@dataclass(frozen=True)
class _Fate:
    """Decides what to do with files; the attributes are the arguments of compact_steps."""

    output_level: int
    max_level: int
    rules: CompactionRules
    expires: Callable[[DataFileMeta], bool]

    def step(self, group: tuple[Section, ...]) -> CompactStep | None:
        if len(group) > 1 or len(group[0]) > 1:
            return self.rewritten(group)
        (file,) = group[0][0].files
        if self._must_change(file):
            return self.rewritten(group)
        if file.level == self.output_level:
            return None
        return self._moved(file, group)

    def rewritten(self, group: tuple[Section, ...]) -> CompactStep:
        """The step that rewrites a group (Java: rewriteChangelog of the rewriters)."""
        if self.rules.full_changelog:
            return CompactStep(group, rewrites=True, changelog=self.output_level == self.max_level)
        level_0 = any(file.level == 0 for section in group for run in section for file in run)
        looks_up = self.rules.needs_lookup and self.output_level != 0 and level_0
        return CompactStep(group, rewrites=True, changelog=looks_up)

    def _must_change(self, file: DataFileMeta) -> bool:
        """True if the resulting rows differ from those of the file; an unknown number of deletes counts as some."""
        deletes_end = self.output_level == self.max_level and file.delete_row_count != 0
        return deletes_end or self.rules.rewrites_all or self.expires(file)

    def _moved(self, file: DataFileMeta, group: tuple[Section, ...]) -> CompactStep:
        """The step of a large file that overlaps no other.

        Java: upgradeStrategy of FullChangelogMergeTreeCompactRewriter and LookupMergeTreeCompactRewriter.
        """
        if self.rules.full_changelog:
            return CompactStep(group, rewrites=False, changelog=self.output_level == self.max_level)
        if not self.rules.needs_lookup or file.level != 0:
            return CompactStep(group, rewrites=False, changelog=False)
        return CompactStep(group, rewrites=self._lookup_rewrites(file), changelog=True)

    def _lookup_rewrites(self, file: DataFileMeta) -> bool:
        """True if a file that leaves level 0 under lookup must be rewritten."""
        if self.rules.format_of(file.level) != self.rules.format_of(self.output_level):
            return True
        if self.rules.keeps_vectors and file.delete_row_count != 0:
            return True
        return self.output_level != self.max_level and self.rules.upgrade_merges
