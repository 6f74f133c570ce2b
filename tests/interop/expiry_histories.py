"""Random lives of tables that end twice: one copy is kept small by Java, one by us, round after round.

The lives are those of expiry_lives. Tags, branches, consumers, statistics, rollbacks and expiries by either side come
in between. The clock of the table is set by hand: a snapshot a minute.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import java_expiry
import java_tags
import our_engine
from engine_tables import Blobs
from expiry_lives import KeyedLife, PartitionedLife
from genuine import Genuine
from java_expiry import Settings
from readers import java_read
from support.oracles.comparing import Row

from paimon_spark import check, open_table
from paimon_spark.format.paths import branch_root
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.checks.report import Rule
from paimon_spark.store.expire.changelogs import expire_changelogs_by
from paimon_spark.store.expire.files import DeletionPlan, FileFinder
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.consumers import expire_consumers
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tag_deletion import delete_tags, expire_tags
from paimon_spark.store.holds.retention import Retention, RetentionRules
from paimon_spark.store.metadata.table import Table

T = TypeVar("T")

MINUTE = 60_000
ROUNDS = 4


class ExpiryHistory:
    """One table, its tags, branches and consumers, and its two ends; log is shown when something is wrong."""

    def __init__(self, seed: int, folder: Path, java: Genuine, blobs: Blobs, steps: int) -> None:
        self.random = random.Random(seed)
        self.folder, self.java = folder, java
        self.path, self.mine, self.javas = (str(folder / name / "t") for name in ("lived", "mine", "javas"))
        self.tags_made = 0
        self.revived: set[int] = set()  # snapshots that a rollback made of tags
        self.branches: dict[str, str] = {}  # name -> the tag it was made from, which stays, for Java 2.0.0 forgets it
        self.life: KeyedLife | PartitionedLife
        if seed % 2:
            self.life = KeyedLife(
                self.random.getrandbits(32) * 5 + seed % 5, self.path, java, blobs, steps, self._between
            )
        else:
            self.life = PartitionedLife(self.random.getrandbits(32), self.path, java, steps, self._between)
        self.log: list[str] = self.life.log

    def run(self) -> None:
        self.life.run()
        self._set_clock()
        for target in (self.mine, self.javas):
            shutil.copytree(self.path, target)
        self._part_external_files()
        ends = [self._delete_tags, self._expire_tags, self._expire_consumers, self._roll_back]
        for number in range(ROUNDS):
            if number % 2 == 0 or self.random.random() < 0.3:
                self._expire(self.random.choice(["main", *self.branches]))
            else:
                self.random.choice(ends)()
            self._compare()

    # ------------------------------------------------------------------------------------------------ beside the life

    def _between(self) -> None:
        if not our_engine.snapshot_ids(self.path):
            return
        chances = [
            (0.25, self._tag),
            (0.05, self._branch),
            (0.3, self._write_to_a_branch),
            (0.06, self._consume),
            (0.08, self._analyze),
            (0.08, self._expire_early),
            (0.05, self._go_back),
            (0.04, self._untag),
        ]
        for chance, deed in chances:
            if self.random.random() < chance:
                deed()

    def _tag(self) -> None:
        name, number = f"t{self.tags_made}", self.random.choice(our_engine.snapshot_ids(self.path))
        self.tags_made += 1
        hours = self.random.choice([None, None, 0, 100])
        self.log.append(f"tag {name} of snapshot {number} for {hours} hours")
        if hours is None:
            self.java.create_tag(self.path, name, number)
        else:
            self.java.run(java_tags.create_tag, self.path, name, number, hours)

    def _branch(self) -> None:
        stay = open_table(self.path).snapshots.tags()  # Java 2.0.0 expires a tag although a branch began with it
        tags = [name for name, tag in stay.items() if tag.time_retained is None]
        if tags and len(self.branches) < 2:
            name, tag = f"b{len(self.branches)}", self.random.choice(tags)
            self.log.append(f"branch {name} from {tag}")
            self.java.create_branch(self.path, name, tag)
            self.branches[name] = tag

    def _write_to_a_branch(self) -> None:
        if self.branches and self.life.mode != "cross":
            branch = self.random.choice([*self.branches])
            self.log.append(f"Java writes to branch {branch}")
            self.java.write(self.path, self.life.rows(), None, {"branch": branch})

    def _consume(self) -> None:
        number = self.random.choice(our_engine.snapshot_ids(self.path)) + 2
        self.log.append(f"a consumer at {number}")
        consumers = Path(self.path, "consumer")
        consumers.mkdir(exist_ok=True)
        (consumers / f"consumer-c{number}").write_text(json.dumps({"nextSnapshot": number}))

    def _analyze(self) -> None:
        self.log.append("Java commits statistics")
        self.java.run(java_expiry.commit_statistics, self.path)

    def _expire_early(self) -> None:
        settings = self._draw_settings()
        ours = bool(self.branches) or self.random.random() < 0.5
        self.log.append(f"{'we' if ours else 'Java'} expire {settings}")
        if ours:
            expire_snapshots_by(open_table(self.path), our_rules(settings))
        else:
            self.java.run(java_expiry.expire_snapshots, self.path, "main", settings)

    def _go_back(self) -> None:
        if self.branches or not self.life.keeps_buckets:
            return
        target = self._draw_target(self.path)
        ours = self.random.random() < 0.5
        self._note_target(self.path, target)
        self.log.append(f"{'we' if ours else 'Java'} roll back to {target!r}")
        if ours:
            self._roll_our_table_back(self.path, target)
        else:
            self.java.run(java_tags.rollback, self.path, target)

    def _untag(self) -> None:
        tags = self._free_tags(self.path)
        if tags:
            name = self.random.choice(tags)
            ours = bool(self.branches) or self.random.random() < 0.5
            self.log.append(f"{'we' if ours else 'Java'} delete tag {name}")
            if ours:
                delete_tags(open_table(self.path), [name])
            else:
                self.java.run(java_tags.delete_tag, self.path, name)

    def _free_tags(self, path: str) -> list[str]:
        """Tags that no branch was made from."""
        return [name for name in open_table(path).snapshots.tag_names() if name not in self.branches.values()]

    def _draw_target(self, path: str) -> int | str:
        return self.random.choice([*our_engine.snapshot_ids(path), *open_table(path).snapshots.tag_names()])

    def _roll_our_table_back(self, path: str, target: int | str) -> None:
        table = open_table(path)
        rollback(table, snapshot=target) if isinstance(target, int) else rollback(table, tag=target)

    def _note_target(self, path: str, target: int | str) -> None:
        """Before a rollback: whether a snapshot will be made of a tag."""
        store = open_table(path).snapshots
        tag = store.find_tag(target) if isinstance(target, str) else None
        number = target if isinstance(target, int) else tag.snapshot.id if tag is not None else 0
        gone = {n for n in self.revived if n > number}
        self.revived = (self.revived - gone) | (set() if store.exists(number) else {number})

    def _set_clock(self) -> None:
        """Snapshot n is as old as if one had been made each minute up to now; tags and consumers get any age."""
        latest = max(our_engine.snapshot_ids(self.path))
        now = time.time_ns() // 1_000_000
        for path in sorted(Path(self.path).rglob("*")):
            if re.fullmatch(r"(snapshot|tag)-.*", path.name) and path.is_file():
                number = json.loads(path.read_text())["id"]
                then = now - (latest - number) * MINUTE
                path.write_text(re.sub(r'("timeMillis"\s*:\s*)\d+', rf"\g<1>{then}", path.read_text()))
            if re.fullmatch(r"(tag|consumer)-.*", path.name) and path.is_file():
                made = now // 1000 - 60 * self.random.randint(0, 10)
                os.utime(path, (made, made))

    def _draw_settings(self) -> Settings:
        draw = self.random
        least = draw.choice([1, 1, 2, 4])
        most = draw.choice([2**31 - 1, least, least + 1, least + 4])
        millis = draw.choice([0, MINUTE * draw.randint(1, 8) + MINUTE // 2])
        settings = Settings(most, least, millis, draw.choice([2**31 - 1, 2**31 - 1, 1, 4]))
        if draw.random() < 0.5:
            return settings
        more = Settings(most, least, millis, settings.max_deletes, max(most, least + 3), least + 3, millis + 3 * MINUTE)
        bounded = None if most == 2**31 - 1 else most + 1
        return draw.choice([more, Settings(most, least, millis, settings.max_deletes, bounded, least + 1)])

    # ---------------------------------------------------------------------------------------------------- the two ends

    def _part_external_files(self) -> None:
        """Both copies name the same external places; a link shows each of them its own."""
        external = self.folder / "external"
        if external.exists():
            external.rename(self.folder / "external-mine")
            shutil.copytree(self.folder / "external-mine", self.folder / "external-javas")
            external.symlink_to(self.folder / "external-mine")

    def _at_java(self, function: Any, *args: Any) -> Any:
        """What a function of Java gives of its copy."""
        return self._with_javas_external(lambda: self.java.run(function, self.javas, *args))

    def _with_javas_external(self, run: Callable[[], T]) -> T:
        external = self.folder / "external"
        if not external.exists():
            return run()
        external.unlink()
        external.symlink_to(self.folder / "external-javas")
        try:
            return run()
        finally:
            external.unlink()
            external.symlink_to(self.folder / "external-mine")

    def _expire(self, branch: str) -> None:
        settings = self._draw_settings()
        before = self._states(self.mine)
        self.log.append(f"expire {branch} by {settings}")
        rules = our_rules(settings)
        table = open_table(self.mine, {"branch": branch})
        ours = expire_snapshots_by(table, rules)
        javas = self._at_java(java_expiry.expire_snapshots, branch, settings)
        assert len(ours.ids) == javas
        if Path(self.mine, "changelog").exists() and self.random.random() < 0.7:
            later = self._draw_settings()
            self.log.append(f"expire changelogs of {branch} by {later}")
            ours = expire_changelogs_by(table, our_rules(later).changelogs)
            javas = self._at_java(java_expiry.expire_changelogs, branch, later)
            assert (len(ours.ids) > 0) == (javas > 0)
        self._check_states(before)

    def _delete_tags(self) -> None:
        tags = self._free_tags(self.mine)
        names = self.random.sample(tags, self.random.randint(0, len(tags)))
        self.log.append(f"delete the tags {names}")
        before = self._states(self.mine)
        delete_tags(open_table(self.mine), names)
        for name in names:
            self._at_java(java_tags.delete_tag, name)
        self._check_states(before)

    def _expire_tags(self) -> None:
        if self.branches:
            return
        older_than = self.random.choice(
            [None, time.time_ns() // 1_000_000 - MINUTE * self.random.randint(0, 10) - 30_000]
        )
        self.log.append(f"expire tags older than {older_than}")
        before = self._states(self.mine)
        ours = expire_tags(open_table(self.mine), older_than)
        assert sorted(ours.names) == sorted(self._at_java(java_expiry.expire_tags, older_than))
        self._check_states(before)

    def _expire_consumers(self) -> None:
        older_than = time.time_ns() // 1_000_000 - MINUTE * self.random.randint(0, 10) - 30_000
        self.log.append(f"expire consumers older than {older_than}")
        expire_consumers(open_table(self.mine), older_than)
        self._at_java(java_expiry.expire_consumers, older_than)

    def _roll_back(self) -> None:
        if self.branches:
            return
        target = self._draw_target(self.mine)
        self._note_target(self.mine, target)
        self.log.append(f"roll back to {target!r}")
        before = self._states(self.mine)
        self._roll_our_table_back(self.mine, target)
        self._at_java(java_tags.rollback, target)
        self._check_states(before)

    def _check_states(self, before: Mapping[str, Counter[Row]]) -> None:
        """What is still there reads as before; a snapshot that a rollback makes of a tag reads as the tag."""
        after = self._states(self.mine)
        assert all(rows == before[name] for name, rows in after.items() if name in before)
        assert all(rows in before.values() for rows in after.values())

    def _compare(self) -> None:
        """The same files, the same hints, and what stays can be read by both."""
        mine, javas = stored(self.mine), stored(self.javas)
        assert not javas.keys() - mine.keys(), sorted(javas.keys() - mine.keys())
        forgotten = self._java_forgets()
        more = mine.keys() - javas.keys() - forgotten
        assert not more, sorted(more)
        assert {path: mine[path] for path in javas} == javas
        outside, javas_outside = (
            stored(str(self.folder / name)).keys() for name in ("external-mine", "external-javas")
        )
        assert not javas_outside - outside
        assert {Path(path).name for path in outside - javas_outside} <= {Path(path).name for path in forgotten}
        self._check()
        ours = java_read(self.java, self.mine)
        assert ours == self._with_javas_external(lambda: java_read(self.java, self.javas))

    def _check(self) -> None:
        """The copy is sound, but for the changelogs of snapshots that a rollback made of tags: they had expired."""
        store, found = open_table(self.mine).snapshots, []
        lost = [s.changelog_manifest_list for number in self.revived if (s := store.find_change(number)) is not None]
        for problem in check(self.mine).problems:
            if problem.rule is not Rule.MANIFEST or Path(problem.where).name not in lost:
                found.append(str(problem))
        assert not found

    def _java_forgets(self) -> set[str]:
        """What Java 2.0.0 deletes too early: the changelogs that another branch names too, and with a tag what a
        long-lived changelog without changelog files needs, and what is to go with the change that deletes it."""
        found: set[str] = set()
        for branch in ["main", *self.branches] if self.branches else []:
            table = open_table(self.mine, {"branch": branch})
            found |= self._paths(table, [change.changelog_manifest_list for change in changes_of(table)])
        table = open_table(self.mine)
        plain = [change for change in changes_of(table) if change.changelog_manifest_list is None]
        if Path(self.mine, "changelog").exists():
            found |= self._paths(table, [change.delta_manifest_list for change in plain], plain)
        return found | {os.path.dirname(path) for path in found}

    def _paths(self, table: Table, lists: Iterable[str | None], changes: Sequence[Snapshot] = ()) -> set[str]:
        """Manifest lists and all that they name and add, and what changes delete."""
        finder, doomed = FileFinder(table), DeletionPlan()
        finder.add_lists(lists, doomed)
        doomed.data = finder.added(lists) | finder.deleted(changes, keeps_appended=False)
        return {os.path.relpath(path, self.mine) for stage in doomed.stages() for path in stage}

    def _states(self, path: str) -> Mapping[str, Counter[Row]]:
        """The rows of every snapshot, tag and branch."""
        table = open_table(path)
        options = {f"snapshot {n}": {"scan.snapshot-id": str(n)} for n in table.snapshots.ids()}
        options |= {f"tag {name}": {"scan.tag-name": name} for name in table.snapshots.tag_names()}
        for branch in self.branches:
            ids = open_table(path, {"branch": branch}).snapshots.ids()
            options |= {f"{branch} {n}": {"branch": branch, "scan.snapshot-id": str(n)} for n in ids}
        return {name: our_engine.read(path, chosen) for name, chosen in options.items()}


def our_rules(s: Settings) -> RetentionRules:
    now = time.time_ns() // 1_000_000

    def kept(most: int, least: int, millis: int) -> Retention:
        return Retention(most, least, millis, now - millis, s.max_deletes)

    changelog = (
        s.retain_max if s.changelog_max is None else s.changelog_max,
        s.retain_min if s.changelog_min is None else s.changelog_min,
        s.millis if s.changelog_millis is None else s.changelog_millis,
    )
    return RetentionRules(kept(s.retain_max, s.retain_min, s.millis), kept(*changelog), True)


def changes_of(table: Table) -> list[Snapshot]:
    """The snapshots of a branch and its long-lived changelogs, in the order of their ids."""
    changelogs = Path(branch_root(table.location, table.branch), "changelog").glob("changelog-*")
    numbers = {*table.snapshots.ids(), *(int(path.name[10:]) for path in changelogs)}
    return [change for number in sorted(numbers) if (change := table.snapshots.find_change(number)) is not None]


def stored(root: str) -> dict[str, str | None]:
    """All files and directories; of hints their content."""
    found: dict[str, str | None] = {}
    for directory, names, files in os.walk(root):
        for name in (*names, *(f for f in files if not f.endswith(".crc"))):
            path = Path(directory, name)
            found[str(path.relative_to(root))] = path.read_text() if name in ("EARLIEST", "LATEST") else None
    return found
