"""What becomes of the files of a compaction: text cases, and what must always hold."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables.pick_cases import KEY_TYPES, PickCase, PickCheck, a_file, load_pick_cases, range_of, ranged_file

from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.merge.compaction.levels import CompactUnit, level_runs, top_level
from paimon_spark.merge.compaction.rules import CompactionRules, compaction_rules
from paimon_spark.merge.compaction.steps import CompactStep, compact_steps
from paimon_spark.merge.keys.sections import Section, partition_sections


def files_of(check: PickCheck) -> tuple[DataFileMeta, ...]:
    return tuple(ranged_file(word, i) for i, word in enumerate(check.words("files")))


def sections_text(sections: tuple[Section, ...]) -> str:
    """Sections in order; in a section the runs are in no order of meaning and stand sorted."""
    return " | ".join(" / ".join(sorted(" ".join(map(range_of, run)) for run in section)) for section in sections)


def step_text(step: CompactStep) -> str:
    verb = ("rewrite" if step.rewrites else "move") + ("+changelog" if step.changelog else "")
    return f"{verb}: {sections_text(step.sections)}"


def sorted_runs(text: str) -> str:
    """An expected line with the runs of each section sorted, as sections_text shows them."""
    verb, _, sections = text.rpartition(": ")
    shown = " | ".join(" / ".join(sorted(section.split(" / "))) for section in sections.split(" | "))
    return f"{verb}: {shown}" if verb else shown


@pytest.mark.parametrize("case", load_pick_cases("steps.txt"), ids=lambda case: case.title)
def test_case(case: PickCase) -> None:
    assert case.checks
    for check in case.checks:
        files, rules = files_of(check), compaction_rules(check.settings)
        unit = CompactUnit(int(check.last("output")), files, each_alone=check.last("each alone") == "yes")
        expired = check.words("expired")
        top = top_level(level_runs(files), rules.num_levels)
        steps = compact_steps(unit, top, KEY_TYPES, rules, lambda file, old=expired: range_of(file) in old)
        expected = [] if check.expected == ["nothing"] else [sorted_runs(line) for line in check.expected]
        assert [step_text(step) for step in steps] == expected, (check.settings, check.inputs)


@pytest.mark.parametrize("case", load_pick_cases("intervals.txt"), ids=lambda case: case.title)
def test_sections(case: PickCase) -> None:
    for check in case.checks:
        sections = tuple(partition_sections(files_of(check), KEY_TYPES))
        assert [sections_text(sections)] == [sorted_runs(line) for line in check.expected]


# ---------------------------------------------------------------------------------------------------------- properties

SWITCHES = {
    "merge-engine": ["deduplicate", "aggregation"],
    "changelog-producer": ["none", "lookup", "full-compaction"],
    "deletion-vectors.enabled": ["false", "true"],
    "compaction.force-rewrite-all-files": ["false", "true"],
    "file.format.per.level": ["0:avro", "0:parquet"],
}


@st.composite
def units(draw: st.DrawFn) -> tuple[CompactUnit, CompactionRules]:
    files = []
    for i in range(draw(st.integers(1, 12))):
        first = draw(st.integers(0, 60))
        keys = (first, first + draw(st.integers(0, 9)))
        level, deletes = draw(st.integers(0, 3)), draw(st.sampled_from([0, 1, None]))
        files.append(a_file(f"f{i}", draw(st.integers(0, 20)), level, keys, (i, i), deletes=deletes))
    options = {key: draw(st.sampled_from(values)) for key, values in SWITCHES.items()}
    options |= {"target-file-size": "10 b", "num-levels": "5"}
    return CompactUnit(draw(st.integers(3, 4)), tuple(files)), compaction_rules(TableSettings(options))


def keys_of(file: DataFileMeta) -> tuple[int, int]:
    return decode_arity_row(file.min_key, KEY_TYPES)[0], decode_arity_row(file.max_key, KEY_TYPES)[0]


@given(units())
def test_steps_share_no_key_and_lose_no_file(case: tuple[CompactUnit, CompactionRules]) -> None:
    unit, rules = case
    steps = compact_steps(unit, 4, KEY_TYPES, rules)
    names = [file.file_name for step in steps for file in step.files]
    assert len(set(names)) == len(names)
    kept = [file for file in unit.files if file.file_name not in names]
    assert all(file.level == unit.output_level for file in kept)
    spans = [(min(keys_of(f)[0] for f in s.files), max(keys_of(f)[1] for f in s.files)) for s in steps]
    assert spans == sorted(spans)
    spans = sorted(spans + [keys_of(file) for file in kept])
    assert all(before[1] < after[0] for before, after in itertools.pairwise(spans))


@given(units())
def test_what_may_not_happen(case: tuple[CompactUnit, CompactionRules]) -> None:
    unit, rules = case
    for step in compact_steps(unit, 4, KEY_TYPES, rules):
        level_0 = any(file.level == 0 for file in step.files)
        if not step.rewrites:
            (file,) = step.files
            assert file.level != unit.output_level
            assert not rules.rewrites_all
            assert unit.output_level != 4 or file.delete_row_count == 0
        if rules.needs_lookup and not rules.full_changelog:
            assert step.changelog is level_0
        if rules.full_changelog:
            assert step.changelog is (unit.output_level == 4)


@given(units())
def test_each_alone_rewrites_every_file(case: tuple[CompactUnit, CompactionRules]) -> None:
    unit, rules = case
    steps = compact_steps(replace(unit, each_alone=True), 4, KEY_TYPES, rules)
    assert [step.files for step in steps] == [(file,) for file in unit.files]
    assert all(step.rewrites for step in steps)
