"""Compactions are picked as Java picks them: random buckets, given to both."""

from __future__ import annotations

import datetime as dt
import random

import pytest
from genuine import Genuine
from java_picks import PickedFile, PickSettings, Unit, compact_steps, level_orders, pick_units

from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import EMPTY_STATS, DataFileMeta
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.types import DataType, Root
from paimon_spark.merge.compaction.levels import CompactUnit, LevelRun, level_runs
from paimon_spark.merge.compaction.pick import pick_compaction
from paimon_spark.merge.compaction.rules import compaction_rules
from paimon_spark.merge.compaction.steps import compact_steps as our_steps

pytestmark = pytest.mark.interop

HOUR = 3_600_000
KEY = [DataType(Root.INT, nullable=False)]
EPOCH = dt.datetime(1970, 1, 1)


def our_file(file: PickedFile) -> DataFileMeta:
    low, high = (encode_arity_row([key], KEY) for key in file.keys)
    return DataFileMeta(
        file.name, file.size, file.rows, low, high, EMPTY_STATS, EMPTY_STATS, *file.sequences, 0, file.level,
        creation_time=file.created, delete_row_count=file.deletes,
    )  # fmt: skip


def utc_now() -> dt.datetime:
    """The wall clock of the JVM in the tests, which runs in UTC."""
    return dt.datetime.now(dt.UTC).replace(tzinfo=None)


def random_runs(draw: random.Random, last_full: int) -> list[list[PickedFile]]:
    """Runs of a bucket: equal, growing or wildly different sizes, one or two files on a level."""
    scale = draw.choice([3, 30, 10**4, 2**50])
    levels = [0] * draw.randrange(9) + sorted(draw.sample(range(1, 7), draw.randrange(4)))
    runs: list[list[PickedFile]] = []
    for number, level in enumerate(levels):
        size = draw.randrange(scale) if draw.random() < 0.5 else 2 ** min(number, 40) + draw.randrange(2)
        names = [f"{number}a", f"{number}b"][: 1 + (level > 0 and draw.random() < 0.3)]
        runs.append([PickedFile(name, size, level, created=last_full) for name in names])
    return runs


def random_case(draw: random.Random) -> tuple[PickSettings, TableSettings, list[list[PickedFile]], int]:
    """A bucket, how often it was looked at, and the settings as Java's classes and as options."""
    trigger, levels = draw.randrange(1, 7), draw.randrange(2, 8)
    amplification, ratio = draw.choice([0, 25, 100, 200]), draw.choice([0, 1, 10, 100])
    hours = (draw.randrange(24), draw.randrange(24), draw.choice([10, 1000])) if draw.random() < 0.4 else None
    forces = draw.random() < 0.5
    gentle = draw.randrange(trigger, trigger + 5) if forces and draw.random() < 0.5 else None
    interval = None if gentle else draw.choice([None, HOUR])  # the interval runs anew after the first of several picks
    total, incremental = (draw.choice([None, None, 2 ** draw.randrange(20)]) for _ in range(2))
    now = (utc_now() - EPOCH) // dt.timedelta(milliseconds=1)
    runs = random_runs(draw, now - draw.choice([HOUR // 2, 2 * HOUR]))
    full_times = [file.created for files in runs for file in files if file.level >= levels - 1]
    options = {
        "num-levels": levels,
        "num-sorted-run.compaction-trigger": trigger,
        "compaction.max-size-amplification-percent": amplification,
        "compaction.size-ratio": ratio,
        "compaction.offpeak.start.hour": hours and hours[0],
        "compaction.offpeak.end.hour": hours and hours[1],
        "compaction.offpeak-ratio": hours and hours[2],
        "compaction.optimization-interval": interval and f"{interval} ms",
        "compaction.total-size-threshold": total and f"{total} b",
        "compaction.incremental-size-threshold": incremental and f"{incremental} b",
        "force-lookup": "true" if forces else None,
        "lookup-compact": "gentle" if gentle else None,
        "lookup-compact.max-interval": gentle,
    }
    top = max([levels, *(files[0].level + 1 for files in runs)])
    early = (interval, total, incremental, max(full_times, default=None))
    settings = PickSettings(amplification, ratio, trigger, top, early, hours, forces, gentle)
    set_options = TableSettings({key: str(value) for key, value in options.items() if value is not None})
    return settings, set_options, runs, draw.randrange(1, gentle + 1) if gentle else 1


def as_text(unit: CompactUnit | None) -> Unit | None:
    return None if unit is None else (unit.output_level, [file.file_name for file in unit.files])


def test_picks(java: Genuine) -> None:
    draw = random.Random(20261121)
    while True:
        hour = utc_now().hour
        cases = [random_case(draw) for _ in range(3000)]
        theirs = java.run(pick_units, [(settings, runs, checks) for settings, _, runs, checks in cases])
        if utc_now().hour == hour:
            break
    found = set()
    for (_, options, runs, checks), their in zip(cases, theirs, strict=True):
        ours = [LevelRun(files[0].level, tuple(map(our_file, files))) for files in runs]
        unit = as_text(pick_compaction(ours, compaction_rules(options), utc_now().replace(hour=hour), checks))
        assert unit == their, (options, runs, checks)
        found.add((unit is None, unit and unit[0], unit and len(unit[1]) == len(runs)))
    assert len(found) > 10  # picks of all kinds came up


def random_file(draw: random.Random, number: int) -> PickedFile:
    first = draw.randrange(60)
    low = draw.randrange(4)
    return PickedFile(
        f"f{number}",
        draw.randrange(20),
        draw.randrange(4),
        (first, first + draw.randrange(draw.choice([1, 8]))),
        (low, low + draw.randrange(3)),
        deletes=draw.choice([0, 0, 3, None]),
        created=draw.randrange(3),
    )


def test_order_of_runs(java: Genuine) -> None:
    draw = random.Random(7)
    cases = []
    for _ in range(200):
        files = [random_file(draw, i) for i in range(draw.randrange(1, 9))]
        cases.append([PickedFile(**{**f.__dict__, "level": 0}) for f in files] + [PickedFile("top", 1, 2)])
    for files, theirs in zip(cases, java.run(level_orders, cases), strict=True):
        ours = [[file.file_name for file in run.files] for run in level_runs(map(our_file, files))]
        assert ours == theirs


TABLES = [
    {},
    {"compaction.force-rewrite-all-files": "true"},
    {"changelog-producer": "full-compaction"},
    {"changelog-producer": "full-compaction", "file.format.per.level": "0:avro"},
    {"changelog-producer": "lookup"},
    {"changelog-producer": "lookup", "file.format.per.level": "0:avro,2:orc"},
    {"changelog-producer": "lookup", "file.format": "avro", "file.format.per.level": "0:avro"},
    {"force-lookup": "true", "merge-engine": "aggregation"},
    {"force-lookup": "true", "sequence.field": "v"},
    {"merge-engine": "first-row"},
    {"deletion-vectors.enabled": "true"},
    {"deletion-vectors.enabled": "true", "merge-engine": "partial-update", "changelog-producer": "lookup"},
]


def test_steps(java: Genuine) -> None:
    draw = random.Random(11)
    cases = []
    for number in range(600):
        options = {**TABLES[number % len(TABLES)], "target-file-size": "10 b", "num-levels": "4"}
        files = [random_file(draw, i) for i in range(draw.randrange(1, 10))]
        cases.append((options, 4, draw.choice([2, 3, 3]), files))
    theirs = java.run(compact_steps, cases)
    for (options, levels, output, files), their in zip(cases, theirs, strict=True):
        unit = CompactUnit(output, tuple(map(our_file, files)))
        steps = our_steps(unit, levels - 1, KEY, compaction_rules(TableSettings(options)))
        ours = [
            (step.rewrites, step.changelog, [[[f.file_name for f in run] for run in s] for s in step.sections])
            for step in steps
        ]
        assert [in_any_order(step) for step in ours] == [in_any_order(step) for step in their], (options, output, files)


def in_any_order(step: tuple[bool, bool, list[list[list[str]]]]) -> tuple[bool, bool, list[list[str]]]:
    """Which files share a run is no matter of the task (see test_sections)."""
    rewrites, changelog, sections = step
    return rewrites, changelog, [sorted(name for run in section for name in run) for section in sections]
