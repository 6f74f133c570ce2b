"""The life of a table on a stage: its actors, what may be in doubt as they work, and what must hold after each turn."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import FileIO
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import snapshot_path
from paimon_spark.store.open import ReadableTable
from support.faults.faulty_store import When
from support.oracles.life_oracle import Key, Kind, Oracle, Root, Row, Rows, merged, root_at, without
from support.simulation.stage import FOREVER, Actor, Fault, Stored

COLUMNS = pa.schema([pa.field("p", pa.int32(), False), pa.field("k", pa.int32(), False), ("v", pa.int64())])
QUANTA = (1, 1, 1, 2, 3, 5, 10, 30, 100, FOREVER)
FAULTY = 0.12
"""How many actors meet a fault."""

TABLES: Mapping[str, Mapping[str, str]] = {
    "append": {"bucket": "-1"},
    "keyed": {"bucket": "1", "sequence.field": "v", "changelog-producer": "input"},
    "vectors": {
        "bucket": "1",
        "sequence.field": "v",
        "changelog-producer": "lookup",
        "deletion-vectors.enabled": "true",
    },
}
COMMON = {
    "write-only": "true",
    "commit.max-retries": "50",
    "commit.min-retry-wait": "0 ms",
    "commit.max-retry-wait": "0 ms",
    "manifest.merge-min-count": "6",
    "num-sorted-run.compaction-trigger": "3",
    "compaction.min.file-num": "3",
}


class Broken(AssertionError):
    """The table is not what it must be."""


@dataclass
class Doubt:
    """What may be half-way as long as something is under way, or since it broke off.

    Attributes:
        who: the name of the actor.
        may_go: whether a root may vanish, or become another.
        may_be_broken: whether files of a root may be gone.
        branch: whose snapshots expire.
        highest: the newest snapshot that an expiry may take; a rollback to an older one lowers it.
        upsets: the branch that is taken back or replaced.
    """

    who: str
    may_go: Callable[[Root], bool] = lambda root: False
    may_be_broken: Callable[[Root], bool] = lambda root: False
    branch: str = ""
    highest: int = 0
    upsets: str = ""


@dataclass(frozen=True)
class Tentative:
    """A snapshot on top of one that was taken away before. who: its committer, who has to take it back."""

    root: Root
    who: str
    why: str


@dataclass(frozen=True)
class Effect:
    """What a commit does to the rows. replaces: rows of the partition go, of all if it is None."""

    rows: tuple[Row, ...] = ()
    replaces: bool = False
    partition: int | None = None


@dataclass
class Job:
    """One actor with what the world has to know of it.

    Attributes:
        what: in words; the first one is what outcomes are counted by.
        act: what it does.
        effect: of its commits.
        doubt: what it puts in doubt.
        finish: called with its outcome, when it is through.
    """

    name: str
    what: str
    act: Callable[[FileIO], object]
    effect: Effect = Effect()
    doubt: Doubt | None = None
    finish: Callable[[str], None] = lambda outcome: None


@dataclass
class World:
    """One table, and all that is known of it.

    Attributes:
        decouples: whether its changelogs outlive their snapshots.
        roots: by path, as they are stored.
        states: the rows of every state that ever was, by the key of its roots.
        branches: those that are there for certain. dead: names never to be looked at again.
        held: for each branch the positions of consumers that are there for certain.
        upset: by branch when it was last taken back or replaced.
        tentative: snapshots by path that their committers have to take back.
        former: the rows of snapshots that went, by path.
        makers: the jobs that committed the snapshots, by path.
        whole: paths and keys of snapshots that have their changelog too: they are no copies.
        log: all that was done, for whoever looks into a failure.
    """

    stored: Stored
    table: ReadableTable
    chance: random.Random
    decouples: bool
    jobs: dict[str, Job] = field(default_factory=dict)
    actors: list[tuple[Job, Actor]] = field(default_factory=list)
    roots: dict[str, Root] = field(default_factory=dict)
    states: dict[Key, Rows] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)
    branches: set[str] = field(default_factory=lambda: {"main"})
    dead: set[str] = field(default_factory=set)
    held: dict[tuple[str, str], int] = field(default_factory=dict)
    upset: dict[str, int] = field(default_factory=dict)
    tentative: dict[str, Tentative] = field(default_factory=dict)
    former: dict[str, Rows] = field(default_factory=dict)
    makers: dict[str, str] = field(default_factory=dict)
    whole: set[tuple[str, Key]] = field(default_factory=set)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    log: list[str] = field(default_factory=list)
    numbers: int = 0

    @classmethod
    def new(cls, inner: FileIO, location: str, kind: str, chance: random.Random) -> World:
        stored = Stored(inner)
        keys = () if kind == "append" else ("p", "k")
        create_table(location, new_schema(COLUMNS, keys, ("p",), {**COMMON, **TABLES[kind]}), inner)
        for status in inner.list(f"{location}/schema"):
            stored.came(status.path)
        stored.changed.clear()
        return cls(stored, _table(location, inner), chance, chance.random() < 0.5)

    def __post_init__(self) -> None:
        self.oracle = Oracle(self.table, bool(self.table.schema.primary_keys))

    # ------------------------------------------------------------------------------------------------- what there is

    def number(self) -> int:
        """A number that nothing had before."""
        self.numbers += 1
        return self.numbers

    def on(self, file_io: FileIO, branch: str, job: str) -> ReadableTable:
        """The table as an actor opens it; job becomes the beginning of its commit users."""
        options = self.table.settings.merged({"commit.user-prefix": job})
        return replace(self.table, file_io=file_io, branch=branch, settings=options)

    def found(self, kind: Kind, branch: str) -> list[Root]:
        """The roots of a kind that are there and to stay, by the ids of their snapshots."""
        chosen = (
            r for r in self.roots.values() if (r.kind, r.branch) == (kind, branch) and r.path not in self.tentative
        )
        return sorted(chosen, key=lambda root: (root.number, root.name))

    def latest(self, branch: str) -> int:
        return max((root.number for root in self.found(Kind.SNAPSHOT, branch)), default=0)

    def shown(self, root: Root) -> Rows:
        """The rows that a reader of a state sees."""
        visible = "deletion-vectors.enabled" in self.table.schema.options
        return self.oracle.rows(root, visible=True) if visible else self.states[root.key]

    def is_doubted(self, root: Root) -> bool:
        return any(doubt.may_go(root) or doubt.may_be_broken(root) for doubt in self.doubts)

    def bury(self, branch: str) -> None:
        """From now on nobody looks at a branch."""
        self.branches.discard(branch)
        self.dead.add(branch)
        self.roots = {path: root for path, root in self.roots.items() if root.branch != branch}
        self.held = {key: position for key, position in self.held.items() if key[0] != branch}

    # ----------------------------------------------------------------------------------------------------- the actors

    def start(self, job: Job, fault: Fault | None = None) -> Actor:
        actor = Actor(job.name, self.stored, self.chance, fault)
        self.jobs[job.name] = job
        self.actors.append((job, actor))
        if job.doubt is not None:
            self.doubts.append(job.doubt)
        self.log.append(f"{job.name} begins: {job.what}{f', {fault}' if fault else ''}")
        actor.start(job.act)
        return actor

    def fault(self) -> Fault | None:
        """What goes wrong for the next actor, mostly nothing."""
        if self.chance.random() >= FAULTY:
            return None
        named = self.chance.choice((None, None, "list"))
        at = self.chance.randrange(6 if named else 60)
        return Fault(at, self.chance.choice(list(When)), self.chance.random() < 0.5, named)

    def turn(self) -> None:
        """One actor goes on, then all is looked at."""
        self.go_on(*self.chance.choice(self.actors), self.chance.choice(QUANTA))

    def go_on(self, job: Job, actor: Actor, operations: int) -> None:
        before = len(actor.trace)
        through = actor.go_on(operations)
        self.log += [f"{job.name}: {step}" for step in actor.trace[before:]]
        self.look()
        if through:
            self._end(job, actor)

    def run(self, job: Job) -> str:
        """Alone, without a fault; its outcome."""
        actor = self.start(job)
        self.go_on(job, actor, FOREVER)
        assert actor.outcome is not None
        return actor.outcome

    def finish_all(self) -> None:
        while self.actors:
            self.go_on(*self.actors[0], FOREVER)

    def _end(self, job: Job, actor: Actor) -> None:
        outcome = actor.outcome or ""
        self.log.append(f"{job.name} ends: {outcome} {actor.error or ''}")
        if outcome.startswith("broken"):
            raise Broken(f"{job.name}, {job.what}: {outcome}")
        self.actors.remove((job, actor))
        self._check_taken_back(job.name, outcome)
        self.outcomes[job.what.split(" ")[0], outcome] += 1
        job.finish(outcome)
        if job.doubt is not None and outcome not in ("killed", "InjectedFault"):  # else it lasts
            self.doubts.remove(job.doubt)
            self.look(always=True)

    # ------------------------------------------------------------------------------------------------------ the oracle

    def look(self, always: bool = False) -> None:
        """Checks that nothing is gone that somebody keeps, and that every new state holds the rows it must hold.

        Raises:
            Broken: it is not so.
        """
        changed, self.stored.changed = self.stored.changed, {}
        self.upset.update((doubt.upsets, self.stored.now) for doubt in self.doubts if doubt.upsets)
        for path, who in changed.items():
            self._take(path, who)
        if changed or always:
            for root in self.roots.values():
                self._check(root)

    def _take(self, path: str, who: str) -> None:
        known = self.roots.get(path)
        if path not in self.stored.modified:
            if known is not None:
                if not self._is_taken_back(known, who):
                    self._may_go(known, f"{who} took it away")
                self.former[path] = self.states[known.key]
                del self.roots[path]
                self.whole.discard((path, known.key))
            return
        root = root_at(self.table.location, path, b"")
        if root is None or root.branch in self.dead:
            return
        root = replace(root, data=self.stored.inner.read_bytes(path))
        if known is not None and known.data != root.data:
            self._may_go(known, f"{who} made it another")
        self.roots[path] = root
        if root.key in self.states:
            return
        if root.kind != Kind.SNAPSHOT:
            raise Broken(f"{who} made {root}, but there never was such a state")
        self._new_state(root, who)

    def _is_taken_back(self, root: Root, who: str) -> bool:
        """True if a job removes its own commit, which changed no rows: it stood on another snapshot than that of today.

        A commit that changed rows was noticed by them.
        """
        before = self.roots.get(snapshot_path(self.table.location, root.number - 1, root.branch))
        is_own = self.makers.get(root.path) == who
        return is_own and before is not None and self.states[before.key] == self.states[root.key]

    def _may_go(self, root: Root, what: str) -> None:
        on_nothing = (t.root for t in self.tentative.values())
        if any(t.branch == root.branch and t.number <= root.number for t in on_nothing):
            return
        if not any(doubt.may_go(root) for doubt in self.doubts):
            raise Broken(f"{root} is not what it was: {what}")

    def _new_state(self, root: Root, who: str) -> None:
        """A commit: its rows follow from those of the snapshot before."""
        snapshot = root.json
        user = re.match(r"job\d+", str(snapshot["commitUser"]))
        effect = self.jobs[user[0]].effect if user else Effect()
        before = self.roots.get(snapshot_path(self.table.location, root.number - 1, root.branch))
        rows = frozenset[Row]() if before is None else self.states[before.key]
        if snapshot["commitKind"] != "COMPACT":
            rows = without(rows, effect.partition) if effect.replaces else rows
            rows = merged((rows, effect.rows), self.oracle.is_keyed)
        try:
            found = self.oracle.rows(root)
            self.oracle.needs(root)
            self.oracle.needs_changelog(root)
        except (CorruptFile, FileNotFoundError) as error:
            found = frozenset()
            if before is not None:
                raise Broken(f"{who} made {root} of files that are gone: {error}") from error
        if before is None and (root.number > 1 or self.latest(root.branch) > 1):
            self._take_for_now(root, who, "on top of nothing", True)
        elif found != rows:
            why = f"rows too many {sorted(found - rows)[:9]}, missing {sorted(rows - found)[:9]}"
            self._take_for_now(root, who, why, self.upset.get(root.branch, -1) >= self._began(who))
        self.states[root.key] = found
        self.makers[root.path] = who
        self.whole.add((root.path, root.key))

    def _take_for_now(self, root: Root, who: str, why: str, is_race: bool) -> None:
        if not is_race:
            raise Broken(f"{who} made {root}: {why}")
        self.tentative[root.path] = Tentative(root, who, why)

    def _began(self, who: str) -> int:
        return next(actor.began for job, actor in self.actors if job.name == who)

    def _check_taken_back(self, who: str, outcome: str) -> None:
        """A committer that is through has taken back what stood on nothing, unless it holds what its id held before."""
        for path, tentative in list(self.tentative.items()):
            if tentative.who != who or outcome in ("killed", "InjectedFault", "CommitStateUnknown"):
                continue
            del self.tentative[path]
            same = self.former.get(path) == self.states[tentative.root.key]
            if self.roots.get(path) == tentative.root and not same:
                raise Broken(f"{who} left {tentative.root}: {tentative.why}")

    def _check(self, root: Root) -> None:
        if root.path in self.tentative or any(doubt.may_be_broken(root) for doubt in self.doubts):
            return
        try:
            needed = self.oracle.needs(root)
            if (root.path, root.key) in self.whole:
                needed |= self.oracle.needs_changelog(root)
        except (CorruptFile, FileNotFoundError) as error:
            raise Broken(f"{root} cannot be told: {error}") from error
        missing = needed - self.stored.modified.keys()
        if missing:
            raise Broken(f"{root} has lost {len(missing)} files: {sorted(missing)[:5]}")


def _table(location: str, file_io: FileIO) -> ReadableTable:
    bare = ReadableTable(location, file_io, new_schema(COLUMNS, (), (), {}), TableSettings({}))
    schema = bare.schemas.latest()
    assert schema is not None
    return ReadableTable(location, file_io, schema, TableSettings(schema.options))
