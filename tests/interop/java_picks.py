"""Java's own picks: its strategy classes driven with files made of nothing but metadata. Runs in the JVM's process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jpype


@dataclass(frozen=True)
class PickedFile:
    """What of a file matters to picks."""

    name: str
    size: int
    level: int = 0
    keys: tuple[int, int] = (0, 0)
    sequences: tuple[int, int] = (0, 0)
    rows: int = 100
    deletes: int | None = 0
    created: int = 0


@dataclass(frozen=True)
class PickSettings:
    """The arguments of Java's strategies; None switches a part off."""

    amplification: int
    ratio: int
    trigger: int
    num_levels: int
    early_full: tuple[int | None, int | None, int | None, int | None] | None = None
    off_peak: tuple[int, int, int] | None = None
    forces: bool = False
    force_interval: int | None = None


Unit = tuple[int, list[str]]
"""Output level, names of the files."""


def java_file(paimon: Any, file: PickedFile) -> Any:
    number = jpype.JLong
    key = [paimon.data.BinaryRow.singleColumn(jpype.java.lang.Integer(k)) for k in file.keys]
    return paimon.io.DataFileMeta.create(
        file.name, number(file.size), number(file.rows), key[0], key[1], None, None,
        number(file.sequences[0]), number(file.sequences[1]), number(0), jpype.JInt(file.level),
        jpype.java.util.ArrayList(), paimon.data.Timestamp.fromEpochMillis(file.created), _boxed(file.deletes),
        None, paimon.manifest.FileSource.APPEND, None, None, None, None,
    )  # fmt: skip


def pick_units(
    paimon: Any, cases: Sequence[tuple[PickSettings, Sequence[Sequence[PickedFile]], int]]
) -> list[Unit | None]:
    """For each (settings, runs, checks): the last of so many picks of one strategy, as a writer takes it."""
    return [
        _unit(_strategy(paimon, settings), settings, java_runs(paimon, runs), checks)
        for settings, runs, checks in cases
    ]


def level_orders(paimon: Any, cases: Sequence[Sequence[PickedFile]]) -> list[list[list[str]]]:
    """For each list of files its sorted runs, as names."""
    orders = []
    for files in cases:
        metas = jpype.java.util.ArrayList([java_file(paimon, file) for file in files])
        levels = paimon.mergetree.Levels(_comparator(), metas, 3)
        orders.append([[str(f.fileName()) for f in run.run().files()] for run in levels.levelSortedRuns()])
    return orders


def _strategy(paimon: Any, settings: PickSettings) -> Any:
    package = paimon.mergetree.compact
    early = settings.early_full and package.EarlyFullCompaction(*map(_boxed, settings.early_full))
    hours = settings.off_peak and package.OffPeakHours.create(*settings.off_peak)
    universal = package.UniversalCompaction(settings.amplification, settings.ratio, settings.trigger, early, hours)
    if not settings.forces:
        return universal
    interval = settings.force_interval
    return package.ForceUpLevel0Compaction(universal, None if interval is None else jpype.java.lang.Integer(interval))


def java_runs(paimon: Any, runs: Sequence[Sequence[PickedFile]]) -> Any:
    made = jpype.java.util.ArrayList()
    for files in runs:
        metas = jpype.java.util.ArrayList([java_file(paimon, file) for file in files])
        made.add(paimon.mergetree.LevelSortedRun(files[0].level, paimon.mergetree.SortedRun.fromSorted(metas)))
    return made


def _unit(strategy: Any, settings: PickSettings, runs: Any, checks: int) -> Unit | None:
    for _ in range(checks):
        found = strategy.pick(settings.num_levels, runs)
    if not found.isPresent():
        return None
    unit = found.get()
    files = [(str(file.fileName()), int(file.level())) for file in unit.files()]
    level = int(unit.outputLevel())
    if not files or (len(files) == 1 and files[0][1] == level):  # as MergeTreeCompactManager does
        return None
    return level, [name for name, _ in files]


# --------------------------------------------------------------------------------------------------------------- steps

Step = tuple[bool, bool, list[list[list[str]]]]
"""Whether new files are written, whether the rows go through the changelog merge, sections of runs of file names."""


def compact_steps(
    paimon: Any, cases: Sequence[tuple[Mapping[str, str], int, int, Sequence[PickedFile]]]
) -> list[list[Step]]:
    """For each (options, levels, output level, files) what Java's compaction task asks its rewriter to do."""
    return [_steps(paimon, *case) for case in cases]


def _steps(
    paimon: Any, options: Mapping[str, str], levels: int, output: int, files: Sequence[PickedFile]
) -> list[Step]:
    core = paimon.CoreOptions(jpype.java.util.HashMap(dict(options)))
    rewriter, boxed = _rewriter(paimon, core, levels - 1), jpype.java.lang
    steps: list[Step] = []

    def names(sections: Any) -> list[list[list[str]]]:
        return [[[str(f.fileName()) for f in run.files()] for run in section] for section in sections]

    def rewrite(level: int, drops: bool, sections: Any) -> Any:
        changelog = rewriter is not None and call_hidden(
            rewriter, "rewriteChangelog", boxed.Integer(int(level)), boxed.Boolean(bool(drops)), sections
        )
        steps.append((True, bool(changelog), names(sections)))
        return paimon.compact.CompactResult()

    def upgrade(level: int, file: Any) -> Any:
        strategy = (
            "NO_CHANGELOG_NO_REWRITE"
            if rewriter is None
            else str(call_hidden(rewriter, "upgradeStrategy", boxed.Integer(int(level)), file))
        )
        rewrites, changelog = strategy.endswith("WITH_REWRITE"), strategy.startswith("CHANGELOG")
        steps.append((rewrites, changelog, [[[str(file.fileName())]]]))
        return paimon.compact.CompactResult()

    recorder = jpype.JProxy(paimon.mergetree.compact.CompactRewriter, dict={"rewrite": rewrite, "upgrade": upgrade})
    metas = jpype.java.util.ArrayList([java_file(paimon, file) for file in files])
    unit = paimon.compact.CompactUnit.fromFiles(output, metas, False)
    nothing = jpype.JProxy("java.util.function.Supplier", dict={"get": lambda: None})
    task = paimon.mergetree.compact.MergeTreeCompactTask(
        _comparator(), core.compactionFileSize(True), recorder, unit, True, levels - 1, None, nothing, None,
        core.forceRewriteAllFiles(), "",
    )  # fmt: skip
    task.call()
    return steps


def _rewriter(paimon: Any, core: Any, max_level: int) -> Any:
    """The rewriter of the table, for its decisions only; None for tables without changelog and lookup."""
    package = paimon.mergetree.compact
    engine = core.mergeEngine()
    if str(core.changelogProducer().toString()) == "full-compaction":
        return package.FullChangelogMergeTreeCompactRewriter(max_level, engine, *[None] * 7)
    if not core.needLookup():
        return None
    vectors = None
    if core.deletionVectorsEnabled():
        vectors = vector_maintainer(paimon, [])
    return package.LookupMergeTreeCompactRewriter(
        max_level, engine, None, None, None, None, None, None, None, None, False, vectors, core, None
    )


def vector_maintainer(paimon: Any, names: Sequence[str]) -> Any:
    """What knows the deletion vectors of a bucket: those files have one. It cannot write."""
    package = paimon.deletionvectors
    index = package.DeletionVectorsIndexFile(None, None, paimon.options.MemorySize.ofMebiBytes(2), False)
    vectors = jpype.java.util.HashMap({name: package.BitmapDeletionVector() for name in names})
    (constructor,) = package.BucketedDvMaintainer.class_.getDeclaredConstructors()
    constructor.setAccessible(True)
    return constructor.newInstance(index, vectors)


def call_hidden(target: Any, name: str, *args: Any) -> Any:
    """A method that Java keeps for itself."""
    kind = target.getClass()
    while kind is not None:
        for method in kind.getDeclaredMethods():
            if str(method.getName()) == name and not method.isBridge():
                method.setAccessible(True)
                return method.invoke(target, *args)
        kind = kind.getSuperclass()
    raise LookupError(name)


def _boxed(value: int | None) -> Any:
    return None if value is None else jpype.java.lang.Long(value)


def _comparator() -> Any:
    return jpype.JProxy("java.util.Comparator", dict={"compare": lambda a, b: int(a.getInt(0)) - int(b.getInt(0))})
