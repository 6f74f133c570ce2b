"""What actors do to a table: those that keep states, take it back, and read. Each function draws one job, or None."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from paimon_spark.file_io import FileIO
from paimon_spark.format.paths import consumer_path
from paimon_spark.store.history.branches import create_branch, delete_branch
from paimon_spark.store.history.consumers import clear_consumers, reset_consumer
from paimon_spark.store.history.fast_forward import fast_forward
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tags import create_tag, rename_tag, replace_tag
from support.oracles.life_oracle import Kind, Root, Rows
from support.simulation import life_jobs as j
from support.simulation.life import Broken, Doubt, Job, World
from support.simulation.life_jobs import named, tag_doubt

Draw = Callable[[World, str], Job | None]


# ------------------------------------------------------------------------------------------------------ those that keep


def tag(world: World, branch: str) -> Job | None:
    snapshots = world.found(Kind.SNAPSHOT, branch) + world.found(Kind.TAG, branch)
    if not snapshots:
        return None
    name, new = named(world), f"t{world.number()}"
    chosen = world.chance.choice([None, snapshots[0].number, *(root.number for root in snapshots)])
    return Job(
        name,
        f"tag {new} of {branch} at {chosen or 'the latest'}",
        lambda file_io: create_tag(world.on(file_io, branch, name), new, snapshot=chosen),
        doubt=tag_doubt(world, name, branch, [new]),
    )


def retag(world: World, branch: str) -> Job | None:
    tags, snapshots = world.found(Kind.TAG, branch), world.found(Kind.SNAPSHOT, branch)
    if not tags or not snapshots:
        return None
    name, chosen, old = named(world), world.chance.choice(snapshots).number, world.chance.choice(tags).name
    return Job(
        name,
        f"retag {old} of {branch} at {chosen}",
        lambda file_io: replace_tag(world.on(file_io, branch, name), old, snapshot=chosen),
        doubt=tag_doubt(world, name, branch, [old]),
    )


def name_anew(world: World, branch: str) -> Job | None:
    tags = world.found(Kind.TAG, branch)
    if not tags:
        return None
    name, new, old = named(world), f"t{world.number()}", world.chance.choice(tags).name
    return Job(
        name,
        f"renaming tag {old} of {branch} to {new}",
        lambda file_io: rename_tag(world.on(file_io, branch, name), old, new),
        doubt=tag_doubt(world, name, branch, [old, new]),
    )


def consume(world: World, branch: str) -> Job | None:
    snapshots = world.found(Kind.SNAPSHOT, branch)
    if not snapshots:
        return None
    name, consumer, chosen = named(world), world.chance.choice("ab"), world.chance.choice(snapshots).number
    forgets = world.chance.random() < 0.3
    world.held.pop((branch, consumer), None)

    def finish(outcome: str) -> None:
        others = (f"consumer {consumer} of {branch}", f"consumers of {branch}")
        is_alone = not any(job.what.startswith(others) for job, _ in world.actors)
        is_there = consumer_path(world.table.location, consumer, branch) in world.stored.modified
        if outcome == "done" and not forgets and is_alone and is_there and branch in world.branches:
            world.held[branch, consumer] = chosen

    return Job(
        name,
        f"consumer {consumer} of {branch} at {None if forgets else chosen}",
        lambda file_io: reset_consumer(world.on(file_io, branch, name), consumer, None if forgets else chosen),
        finish=finish,
    )


def forget_consumers(world: World, branch: str) -> Job:
    name = named(world)
    for key in [key for key in world.held if key[0] == branch]:
        del world.held[key]
    return Job(name, f"consumers of {branch}", lambda file_io: clear_consumers(world.on(file_io, branch, name)))


# ------------------------------------------------------------------------------------------------- those that take back


def roll_back(world: World, branch: str) -> Job | None:
    snapshots, tags = world.found(Kind.SNAPSHOT, branch), world.found(Kind.TAG, branch)
    if not snapshots:
        return None
    return roll_back_to(world, world.chance.choice([*snapshots[-4:], *tags]))


def roll_back_to(world: World, target: Root) -> Job:
    name, branch, lowest = named(world), target.branch, target.number

    def is_later(root: Root) -> bool:
        nonlocal lowest  # the tag may be put on another snapshot before it is read
        lowest = min(lowest, world.roots.get(target.path, target).number)
        return root.branch == branch and root.number > lowest

    def finish(outcome: str) -> None:
        for doubt in world.doubts:
            if outcome == "done" and doubt.branch == branch:
                doubt.highest = min(doubt.highest, lowest - 1)

    def act(file_io: FileIO) -> None:
        table = world.on(file_io, branch, name)
        if target.kind == Kind.TAG:
            rollback(table, tag=target.name)
        else:
            rollback(table, snapshot=target.number)

    return Job(name, f"rollback to {target}", act, doubt=Doubt(name, is_later, upsets=branch), finish=finish)


def fork(world: World, branch: str) -> Job | None:
    snapshots, tags = world.found(Kind.SNAPSHOT, branch), world.found(Kind.TAG, branch)
    if not snapshots or len(world.branches) > 3:
        return None
    name, new = named(world), f"b{world.number()}"
    start = world.chance.choice([*snapshots, *tags])
    given: dict[str, Any] = {"tag": start.name} if start.kind == Kind.TAG else {"snapshot": start.number}

    def finish(outcome: str) -> None:
        if outcome == "done":
            world.branches.add(new)

    return Job(
        name,
        f"branch {new} from {start}",
        lambda file_io: create_branch(world.on(file_io, branch, name), new, **given),
        doubt=_branch_doubt(name, new),
        finish=finish,
    )


def cut(world: World, branch: str) -> Job | None:
    others = sorted(world.branches - {"main"})
    return cut_this(world, world.chance.choice(others)) if others else None


def cut_this(world: World, branch: str) -> Job:
    name = named(world)
    world.bury(branch)
    return Job(
        name,
        f"cutting branch {branch}",
        lambda file_io: delete_branch(world.on(file_io, "main", name), branch),
        doubt=_branch_doubt(name, branch),
    )


def _branch_doubt(name: str, branch: str) -> Doubt:
    def is_in(root: Root) -> bool:
        return root.branch == branch

    return Doubt(name, is_in, is_in)


def forward(world: World, branch: str) -> Job | None:
    others = sorted(world.branches - {"main"})
    return forward_to(world, world.chance.choice(others)) if others else None


def forward_to(world: World, branch: str) -> Job:
    name = named(world)

    def may_go(root: Root) -> bool:
        return root.branch == "main"

    return Job(
        name,
        f"forward to {branch}",
        lambda file_io: fast_forward(world.on(file_io, "main", name), branch),
        doubt=Doubt(name, may_go, upsets="main"),
    )


# ------------------------------------------------------------------------------------------------------ those that read


def read(world: World, branch: str) -> Job | None:
    chosen = [*world.found(Kind.SNAPSHOT, branch), *world.found(Kind.TAG, branch)]
    if not chosen:
        return None
    name, root = named(world), world.chance.choice(chosen)
    if world.is_doubted(root) or root.path in world.tentative:
        return None
    expected = world.shown(root)

    def is_sure() -> bool:
        return world.roots.get(root.path) == root and not world.is_doubted(root)

    def act(file_io: FileIO) -> None:
        found = rows_at(world, file_io, root)
        if found != expected and is_sure():
            raise Broken(f"{root} is read as {sorted(found)}, and holds {sorted(expected)}")

    def finish(outcome: str) -> None:
        if outcome not in ("done", "killed", "InjectedFault") and is_sure():
            raise Broken(f"{root} cannot be read: {outcome}")

    return Job(name, f"read of {root}", act, finish=finish)


def rows_at(world: World, file_io: FileIO, root: Root) -> Rows:
    """What the table shows a reader of a state."""
    option = "scan.tag-name" if root.kind == Kind.TAG else "scan.snapshot-id"
    table = world.on(file_io, root.branch, "reader").with_options({option: root.name})
    rows = [(row["p"], row["k"], row["v"]) for row in table.scan().to_arrow().to_pylist()]
    if len(rows) != len(set(rows)):
        raise Broken(f"{root} shows rows twice: {sorted(rows)}")
    return frozenset(rows)


JOBS: dict[Draw, int] = {
    j.write: 10,
    j.overwrite: 2,
    j.drop: 1,
    j.expire_partition: 1,
    j.compact: 5,
    j.merge_manifests: 1,
    j.expire: 6,
    j.expire_changelogs: 2,
    j.untag: 3,
    j.expire_old_tags: 1,
    j.clean: 2,
    tag: 4,
    retag: 1,
    name_anew: 1,
    consume: 1,
    forget_consumers: 1,
    roll_back: 1,
    fork: 2,
    cut: 1,
    forward: 1,
    read: 4,
}


def draw(world: World, chance: random.Random) -> Job:
    """Any job that can be done now."""
    while True:
        branch = "main" if chance.random() < 0.75 else chance.choice(sorted(world.branches))
        made = chance.choices(list(JOBS), list(JOBS.values()))[0](world, branch)
        if made is not None:
            return made
