"""Which runs are compacted: text cases, those of the official unit tests among them, and what always holds.

The interop tests compare the same picks with Java's own.
"""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables.pick_cases import PickCase, PickCheck, a_file, load_pick_cases, shown, sized_file

from paimon_spark.errors import OptionError
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.merge.compaction.levels import CompactUnit, LevelRun, level_runs, top_level
from paimon_spark.merge.compaction.pick import drops_deletes, pick_compaction, pick_full
from paimon_spark.merge.compaction.rules import CompactionRules, compaction_rules, needs_lookup
from paimon_spark.merge.compaction.universal import count_by_ratio, is_amplified, unit_of_head

NOON = dt.datetime(2026, 11, 1, 12)


def runs_of(check: PickCheck) -> list[LevelRun]:
    runs = []
    for word in check.words("runs"):
        level, files = word.split(":", 1)
        made = (sized_file(text, int(level), 10 * len(runs) + i) for i, text in enumerate(files.split("+")))
        runs.append(LevelRun(int(level), tuple(made)))
    return runs


def picked(check: PickCheck) -> CompactUnit | None:
    runs, rules = runs_of(check), compaction_rules(check.settings)
    now = dt.datetime.fromisoformat(check.last("now", NOON.isoformat()))
    if check.last("pick") == "full":
        return pick_full(runs, rules, check.words("vectors"), lambda file: file.file_name in check.words("expired"))
    if check.last("head"):
        return unit_of_head(runs, rules, int(check.last("head")))
    checks = check.last("checks")
    return pick_compaction(runs, rules, now, int(checks) if checks else None)


def text_of(unit: CompactUnit | None) -> str:
    if unit is None:
        return "nothing"
    how = ", each alone" if unit.each_alone else ""
    return f"level {unit.output_level}{how}: {' '.join(map(shown, unit.files))}"


FILES = ["universal.txt", "early_full.txt", "force_up.txt", "full.txt"]


@pytest.mark.parametrize("case", [c for file in FILES for c in load_pick_cases(file)], ids=lambda case: case.title)
def test_case(case: PickCase) -> None:
    assert case.checks
    for check in case.checks:
        chains = {"amplification": by_amplification, "ratio": by_ratio}
        rules = compaction_rules(check.settings)
        for name, follow in chains.items():
            for text in check.inputs.get(name, []):
                states = [[int(size) for size in state.split()] for state in text.split(">")]
                for before, after in itertools.pairwise(states):
                    assert follow([1, *before], rules) == after
        if check.expected:
            assert [text_of(picked(check))] == check.expected, check.inputs
        else:
            assert chains.keys() & check.inputs.keys()


def by_amplification(sizes: list[int], rules: CompactionRules) -> list[int]:
    runs = [LevelRun(0, (a_file("", size),)) for size in sizes]
    return [sum(sizes)] if is_amplified(runs, rules) else sizes


def by_ratio(sizes: list[int], rules: CompactionRules) -> list[int]:
    runs = [LevelRun(level, (a_file("", size),)) for level, size in enumerate(sizes)]
    count = count_by_ratio(runs, rules, NOON, 1) if len(runs) >= rules.trigger else 1
    if count == 1:
        return sizes
    taken = len(unit_of_head(runs, rules, count).files)
    return [sum(sizes[:taken]), *sizes[taken:]]


# ------------------------------------------------------------------------------------------------------------- options


def test_derived_defaults() -> None:
    rules = compaction_rules(TableSettings())
    assert (rules.trigger, rules.num_levels, rules.max_level) == (5, 6, 5)
    assert rules.small_file == int(128 * 2**20 * 0.7)
    assert compaction_rules(TableSettings({"num-sorted-run.compaction-trigger": "7"})).num_levels == 8
    assert (
        compaction_rules(TableSettings({"target-file-size": "10 b", "compaction.small-file-ratio": "0.55"})).small_file
        == 5
    )


def test_a_trigger_of_no_run_is_refused() -> None:
    with pytest.raises(OptionError, match="compaction-trigger' is 0; set it to 1 or more"):
        compaction_rules(TableSettings({"num-sorted-run.compaction-trigger": "0"}))


def test_less_than_two_levels_are_refused() -> None:
    with pytest.raises(OptionError, match="'num-levels' to 2 or more"):
        compaction_rules(TableSettings({"num-levels": "1"}))


@pytest.mark.parametrize("ratio", ["nan", "a third"])
def test_a_ratio_is_a_number(ratio: str) -> None:
    with pytest.raises(OptionError, match=r"compaction\.small-file-ratio"):
        compaction_rules(TableSettings({"compaction.small-file-ratio": ratio}))


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("merge-engine", "first-row", True),
        ("merge-engine", "aggregation", False),
        ("changelog-producer", "lookup", True),
        ("changelog-producer", "full-compaction", False),
        ("changelog-producer", "input", False),
        ("deletion-vectors.enabled", "true", True),
        ("force-lookup", "true", True),
        ("compaction.force-up-level-0", "true", False),
    ],
)
def test_needs_lookup(key: str, value: str, expected: bool) -> None:
    assert needs_lookup(TableSettings({key: value})) is expected


# -------------------------------------------------------------------------------------------------------------- levels


def test_runs_stand_from_new_to_old() -> None:
    files = [
        a_file("top", level=5),
        a_file("old", sequences=(0, 9)),
        a_file("low", level=1),
        a_file("new", sequences=(10, 19)),
        a_file("top too", level=5),
    ]
    runs = level_runs(files)
    assert [(run.level, [f.file_name for f in run.files]) for run in runs] == [
        (0, ["new"]), (0, ["old"]), (1, ["low"]), (5, ["top", "top too"]),
    ]  # fmt: skip
    assert level_runs([]) == ()


def test_files_of_equal_sequence_numbers_are_all_kept() -> None:
    """LevelsTest.testLevel0WithSameSequenceNumbers, and the order that Java gives them."""
    files = [
        a_file("d", sequences=(2, 5), created=1),
        a_file("b", sequences=(1, 5), created=7),
        a_file("c", sequences=(1, 5), created=7),
        a_file("a", sequences=(1, 5), created=8),
        a_file("old", sequences=(1, 5), created=None),
    ]
    assert [run.files[0].file_name for run in level_runs(files)] == ["old", "b", "c", "a", "d"]


def test_the_size_of_a_run() -> None:
    assert LevelRun(3, (a_file("a", 2**40), a_file("b", 7))).size == 2**40 + 7


@pytest.mark.parametrize(
    ("levels", "output_level", "dropped"),
    [
        ([0, 0], 5, True),
        ([0, 0], 0, False),
        ([0, 1, 3], 2, False),
        ([0, 1, 3], 3, True),
    ],
)
def test_deletes_are_dropped_where_nothing_older_lies_below(
    levels: list[int], output_level: int, dropped: bool
) -> None:
    """LevelsTest.testNonEmptyHighestLevel0..2 and MergeTreeCompactManagerTest.testOutputToZeroLevel,
    testCompactToPenultimateLayer, by what hangs on them."""
    runs = [LevelRun(level, (a_file("f", level=level),)) for level in levels]
    assert drops_deletes(CompactUnit(output_level, ()), runs, has_vectors=False) is dropped
    assert drops_deletes(CompactUnit(output_level, ()), runs, has_vectors=True) is (output_level != 0)


# ---------------------------------------------------------------------------------------------------------- properties


@st.composite
def buckets(draw: st.DrawFn) -> tuple[list[LevelRun], CompactionRules]:
    sizes = st.one_of(st.integers(0, 5), st.integers(0, 3000))
    runs = [LevelRun(0, (a_file("", draw(sizes)),)) for _ in range(draw(st.integers(0, 8)))]
    levels = sorted(draw(st.sets(st.integers(1, 6), max_size=5)))
    runs += [LevelRun(level, (a_file("", draw(sizes), level),)) for level in levels]
    options = {
        "num-levels": draw(st.integers(2, 8)),
        "num-sorted-run.compaction-trigger": draw(st.integers(1, 6)),
        "compaction.max-size-amplification-percent": draw(st.integers(0, 300)),
        "compaction.size-ratio": draw(st.integers(0, 120)),
        "compaction.force-up-level-0": draw(st.booleans()),
    }
    return runs, compaction_rules(TableSettings({key: str(value).lower() for key, value in options.items()}))


@given(buckets())
def test_a_pick_is_a_head_of_the_runs_and_leaves_the_levels_in_order(
    bucket: tuple[list[LevelRun], CompactionRules],
) -> None:
    runs, rules = bucket
    unit = pick_compaction(runs, rules, NOON)
    if unit is None:
        return
    taken = len(unit.files)
    assert list(unit.files) == [run.files[0] for run in runs[:taken]]
    assert 0 < unit.output_level <= top_level(runs, rules.num_levels)
    assert all(run.level <= unit.output_level for run in runs[:taken])
    assert all(run.level > unit.output_level for run in runs[taken:])


@given(buckets())
def test_compactions_come_to_an_end_with_few_runs(bucket: tuple[list[LevelRun], CompactionRules]) -> None:
    """Each pick written as one file (of all bytes): after a few there is none, and no more runs than the trigger."""
    runs, rules = bucket
    for _ in range(len(runs) + 1):
        unit = pick_compaction(runs, rules, NOON)
        if unit is None:
            break
        rest = runs[len(unit.files) :]
        size = sum(file.file_size for file in unit.files)
        runs = [LevelRun(unit.output_level, (a_file("", size, unit.output_level),)), *rest]
    assert pick_compaction(runs, rules, NOON) is None
    assert len(runs) <= max(rules.trigger, 1)
    assert not rules.forces_level_0 or all(run.level > 0 for run in runs)


@given(buckets())
def test_after_a_full_compaction_there_is_nothing_to_do(bucket: tuple[list[LevelRun], CompactionRules]) -> None:
    runs, rules = bucket
    unit = pick_full(runs, rules)
    if unit is None:
        assert not runs or [run.level for run in runs] == [top_level(runs, rules.num_levels)]
        return
    assert len(unit.files) == len(runs)
    after = [LevelRun(unit.output_level, unit.files)]
    assert pick_full(after, rules) is None
    assert pick_full(after, replace(rules, rewrites_all=True)) == CompactUnit(unit.output_level, unit.files, True)
