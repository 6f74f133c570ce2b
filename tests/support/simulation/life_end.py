"""The end of a table's life on a stage: what broke off is done again, and then nothing may be in doubt or left over."""

from __future__ import annotations

import re

from paimon_spark.format.paths import branch_root
from support.oracles.life_oracle import Kind
from support.simulation.life import Broken, Job, World
from support.simulation.life_jobs import clean_before, expire, named, untag_these
from support.simulation.life_keepers import cut_this, forward_to, roll_back_to, rows_at

TWO_DAYS = 2 * 24 * 3600 * 1000
_KEPT = re.compile(
    r"(/branch/branch-[^/]+)?/"
    r"(schema/schema-\d+|(snapshot|tag)/\.holding-.+|(snapshot|changelog)/(EARLIEST|LATEST)|consumer/.+)"
)


def settle(world: World) -> None:
    """All actors end, and every work that broke off is finished by a second run.

    Raises:
        Broken: a state is not whole, or not read as it must be; or what nobody needs is left over.
    """
    world.finish_all()
    world.stored.now += TWO_DAYS  # marks of crashes count no more
    for branch in sorted(world.branches):  # first of all: where an expiry broke off nobody may go back
        world.run(expire(world, branch, keep=5, finishes=True))
    _repeat(world)
    for _ in range(2):
        for branch in sorted(world.branches):
            _done(world, expire(world, branch, keep=2, finishes=True))
    world.doubts.clear()
    world.tentative.clear()
    world.look(always=True)
    for root in world.roots.values():
        if root.kind != Kind.CHANGELOG and rows_at(world, world.stored.inner, root) != world.shown(root):
            raise Broken(f"{root} is not read as what it holds")
    _done(world, clean_before(world, named(world), world.stored.now - 1))
    world.look(always=True)
    _check_nothing_is_left(world)


def _done(world: World, job: Job) -> None:
    outcome = world.run(job)
    if outcome != "done":
        raise Broken(f"{job.what} of a quiet table: {world.log[-1]}")


def _repeat(world: World) -> None:
    """What had broken off."""
    for tentative in list(world.tentative.values()):
        root = world.roots.get(tentative.root.path)
        below = [r for r in world.found(Kind.SNAPSHOT, tentative.root.branch) if r.number < tentative.root.number]
        if root is not None and below:
            _done(world, roll_back_to(world, below[-1]))
        elif root is not None:  # below all others: its committer died before he could take it away
            world.stored.inner.delete(root.path)
            world.stored.went(root.path)
    for doubt in list(world.doubts):
        what = world.jobs[doubt.who].what
        if what.startswith("forward to ") and what.split(" ")[-1] in world.branches:
            _done(world, forward_to(world, what.split(" ")[-1]))
    _remove_half_branches(world)
    for branch in sorted(world.branches):
        tags = [root for root in world.found(Kind.TAG, branch) if world.is_doubted(root)]
        _done(world, untag_these(world, branch, [root.name for root in tags]))  # finishes deletions that broke off too


def _remove_half_branches(world: World) -> None:
    """What is left of a branch whose creation broke off can be deleted."""
    inner, location = world.stored.inner, world.table.location
    directory = branch_root(location, "x").rpartition("/")[0]
    for status in inner.list(directory):
        name = status.name.removeprefix("branch-")
        files = [path for path in world.stored.modified if path.startswith(f"{status.path}/")]
        if name in world.branches or not files:
            continue
        _done(world, cut_this(world, name))


def _check_nothing_is_left(world: World) -> None:
    """Every file is a root, or one names it, or it belongs to every table."""
    named_by_any = {name for root in world.roots.values() for name in world.oracle.names(root)}
    others = (path for path in world.stored.modified if path.rpartition("/")[2] not in named_by_any)
    left = [path for path in others if path not in world.roots and not _KEPT.fullmatch(_in_table(world, path))]
    if left:
        raise Broken(f"{len(left)} files are left that nobody needs: {sorted(left)[:6]}")
    gone = [path for path in world.stored.modified if not world.stored.inner.exists(path)]
    if gone:
        raise Broken(f"{gone} went unseen")


def _in_table(world: World, path: str) -> str:
    return path.removeprefix(world.table.location)
