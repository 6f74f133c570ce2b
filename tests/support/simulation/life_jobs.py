"""What actors do to a table: those that commit, and those that delete. Each function draws one job, or None."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

import pyarrow as pa

from paimon_spark.errors import CommitStateUnknown, PaimonError
from paimon_spark.file_io import FileIO
from paimon_spark.format.paths import tag_path
from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.clean.partition_expiry import expire_partitions_at
from paimon_spark.store.clean.truncate import drop_partitions, truncate_table
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.compaction import compact_table, run_here
from paimon_spark.store.compact.outcomes import Outcome
from paimon_spark.store.compact.task import CompactTask
from paimon_spark.store.expire.changelogs import expire_changelogs_by
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.tag_deletion import delete_tags, expire_tags
from paimon_spark.store.holds.retention import RetentionRules
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.manifest_compaction import compact_manifests
from paimon_spark.store.write.table_write import TableWrite
from support.oracles.life_oracle import Kind, Root, Row
from support.simulation.life import COLUMNS, Doubt, Effect, Job, World
from support.tables.expiring import rules

PARTITIONS = 3
KEYS = 6


class Here:
    """Compaction tasks run in the thread of the actor."""

    def run(self, table: Table, tasks: Sequence[CompactTask]) -> list[Outcome]:
        return [run_here(table, task) for task in tasks]

    def stop(self) -> None:
        """Nothing runs beside."""


def named(world: World) -> str:
    return f"job{world.number()}"


# ---------------------------------------------------------------------------------------------------- those that commit


def write(world: World, branch: str) -> Job:
    name, rows = named(world), _rows(world)
    act = partial(_write, world, branch, name, rows, None)
    return Job(name, f"write of {len(rows)} rows to {branch}", act, Effect(rows))


def overwrite(world: World, branch: str) -> Job:
    name = named(world)
    p = world.chance.choice([None, *range(PARTITIONS)])
    rows = tuple(row for row in _rows(world) if p in (None, row[0]))
    where = {} if p is None else {"p": p}
    act = partial(_write, world, branch, name, rows, where)
    return Job(name, f"overwrite of {branch} where {where}", act, Effect(rows, True, p))


def _rows(world: World) -> tuple[Row, ...]:
    chance = world.chance
    count = chance.randint(1, 5)
    return tuple((chance.randrange(PARTITIONS), chance.randrange(KEYS), world.number()) for _ in range(count))


def _write(
    world: World, branch: str, name: str, rows: Sequence[Row], where: dict[str, int] | None, file_io: FileIO
) -> None:
    """As a job does it: what is for certain not committed is deleted."""
    table = world.on(file_io, branch, name)
    writer, commit = TableWrite(table, name), TableCommit(table, name)
    try:
        if rows:
            columns = [list(column) for column in zip(*rows, strict=True)]
            arrays = [pa.array(c, type_) for c, type_ in zip(columns, COLUMNS.types, strict=True)]
            writer.write(pa.RecordBatch.from_arrays(arrays, schema=COLUMNS))
        messages = writer.finish()
    except (OSError, PaimonError):
        writer.abort()
        raise
    try:
        if where is None:
            commit.append(messages)
        else:
            commit.overwrite(messages, where or None)
    except CommitStateUnknown:
        raise
    except (OSError, PaimonError):
        commit.abort(messages)
        raise


def drop(world: World, branch: str) -> Job:
    name = named(world)
    p = world.chance.choice([None, *range(PARTITIONS)])

    def act(file_io: FileIO) -> None:
        table = world.on(file_io, branch, name)
        if p is None:
            truncate_table(table)
        else:
            drop_partitions(table, f"p = {p}")

    return Job(name, f"drop of {branch} where p is {p}", act, Effect((), True, p))


def expire_partition(world: World, branch: str) -> Job:
    """The partition 0 is of the tenth, 1 and 2 are of the days after it: on the twelfth only 0 is older than a day."""
    name = named(world)
    options = {"partition.expiration-time": "1 d", "partition.timestamp-pattern": "2000-01-1$p 00:00:00"}

    def act(file_io: FileIO) -> None:
        expire_partitions_at(world.on(file_io, branch, name).with_options(options), datetime(2000, 1, 12))

    return Job(name, f"partitions of {branch}", act, Effect((), True, 0))


def compact(world: World, branch: str) -> Job:
    name, full = named(world), world.chance.choice([True, False, None])

    def act(file_io: FileIO) -> None:
        compact_table(world.on(file_io, branch, name), Here(), full=full)

    return Job(name, f"compaction of {branch}, full {full}", act)


def merge_manifests(world: World, branch: str) -> Job:
    name = named(world)
    return Job(name, f"manifests of {branch}", lambda file_io: compact_manifests(world.on(file_io, branch, name)))


# ---------------------------------------------------------------------------------------------------- those that delete


def expire(world: World, branch: str, keep: int | None = None, finishes: bool = False) -> Job:
    """finishes: as a call for it does; what follows a commit does not look for expiries that broke off."""
    name, keep = named(world), keep or world.chance.randint(1, 5)
    by = rules(keep, changelogs=keep + world.chance.randint(1, 6) if world.decouples else None)

    def act(file_io: FileIO) -> None:
        table = world.on(file_io, branch, name)
        expire_snapshots_by(table, by, finishes=finishes)
        if by.is_decoupled:
            expire_changelogs_by(table, by.changelogs)

    return Job(name, f"expiry of {branch}, keeps {keep}", act, doubt=_expiry_doubt(world, name, branch, by))


def expire_changelogs(world: World, branch: str) -> Job | None:
    if not world.found(Kind.CHANGELOG, branch):
        return None
    name, keep = named(world), world.chance.randint(1, 6)
    by = rules(1, changelogs=keep)
    is_old = _changelogs_below(world, branch, by)
    return Job(
        name,
        f"changelogs of {branch}, keeps {keep}",
        lambda file_io: expire_changelogs_by(world.on(file_io, branch, name), by.changelogs),
        doubt=Doubt(name, is_old, is_old),
    )


def _expiry_doubt(world: World, name: str, branch: str, by: RetentionRules) -> Doubt:
    """Snapshots older than the newest ones may go, but for those that a consumer has not read."""
    is_old_changelog = _changelogs_below(world, branch, by)
    doubt = Doubt(name, branch=branch, highest=world.latest(branch) - by.snapshots.retain_min)

    def is_old(root: Root) -> bool:
        if root.branch != branch:
            return False
        if root.kind == Kind.CHANGELOG:
            # What another expiry has moved and expired already it moves once more, and takes back.
            return by.is_decoupled and (is_old_changelog(root) or world.stored.makers.get(root.path) == name)
        if root.kind != Kind.SNAPSHOT:
            return False
        doubt.highest = max(doubt.highest, world.latest(branch) - by.snapshots.retain_min)
        held = [position - 1 for (on, _), position in world.held.items() if on == branch]
        return root.number <= min([doubt.highest, *held])

    doubt.may_go = doubt.may_be_broken = is_old
    return doubt


def _changelogs_below(world: World, branch: str, by: RetentionRules) -> Callable[[Root], bool]:
    highest = 0

    def is_old(root: Root) -> bool:
        nonlocal highest
        highest = max(highest, world.latest(branch) - by.changelogs.retain_min)
        return (root.kind, root.branch) == (Kind.CHANGELOG, branch) and root.number <= highest

    return is_old


def untag(world: World, branch: str) -> Job | None:
    names = [root.name for root in world.found(Kind.TAG, branch)]
    if not names:
        return None
    return untag_these(world, branch, world.chance.sample(names, min(len(names), world.chance.randint(1, 2))))


def untag_these(world: World, branch: str, names: Sequence[str]) -> Job:
    name = named(world)
    return Job(
        name,
        f"untag {','.join(names)} of {branch}",
        lambda file_io: delete_tags(world.on(file_io, branch, name), names),
        doubt=tag_doubt(world, name, branch, names),
    )


def expire_old_tags(world: World, branch: str) -> Job | None:
    tags = world.found(Kind.TAG, branch)
    if not tags:
        return None
    name = named(world)
    before = world.chance.choice(sorted(world.stored.modified[root.path] for root in tags)) + 1
    chosen = [root.name for root in tags if world.stored.modified[root.path] < before]
    return Job(
        name,
        f"tags of {branch} older than {before}",
        lambda file_io: expire_tags(world.on(file_io, branch, name), older_than=before),
        doubt=tag_doubt(world, name, branch, chosen),
    )


def tag_doubt(world: World, name: str, branch: str, tags: Sequence[str]) -> Doubt:
    """Some tags may be half made or half gone."""
    paths = {tag_path(world.table.location, tag, branch) for tag in tags}

    def is_meant(root: Root) -> bool:
        return root.path in paths

    return Doubt(name, is_meant, is_meant)


def clean(world: World, branch: str) -> Job:
    """What is older than every job under way, and named by nothing, goes."""
    name = named(world)
    before = min([world.stored.now, *(actor.began for _, actor in world.actors)])
    return clean_before(world, name, before)


def clean_before(world: World, name: str, before: int) -> Job:
    return Job(
        name,
        f"orphans older than {before}",
        lambda file_io: remove_orphan_files(world.on(file_io, "main", name), before, dry_run=False),
    )
