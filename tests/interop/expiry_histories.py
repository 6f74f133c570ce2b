"""Random lives of tables that end twice: one copy is expired by Java, one by us, round after round.

Keyed tables live as in lsm_histories; tables with partitions, with and without keys, live here. Tags, branches and
consumers come in between. The clock of the table is set by hand: a snapshot a minute.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import java_expiry
import our_engine
from checker import check_table
from comparing import Row
from engine_tables import Blobs
from genuine import NO_OPTIONS, Genuine
from java_expiry import Settings
from lsm_histories import LsmHistory
from readers import java_read

from paimon_spark import open_table
from paimon_spark.store.expire import expire_snapshots_by
from paimon_spark.store.expire_changelogs import expire_changelogs_by
from paimon_spark.store.expire_files import DoomedFiles, FileFinder
from paimon_spark.store.retention import Retention, RetentionRules

MINUTE = 60_000
PARTS = ["a", "b", "c"]
ROUNDS = 3


class KeyedLife(LsmHistory):
    """Something may happen beside the table after every step. What readers see is the concern of test_lsm_histories."""

    between: Callable[[], None]

    def check(self) -> None:
        self.between()

    def check_changelog(self) -> None:
        """Not here."""


class PartitionedLife:
    """A small table of partitions, of two levels at most, that lose all their files now and then."""

    def __init__(self, seed: int, path: str, java: Genuine, steps: int, between: Callable[[], None]) -> None:
        self.random = random.Random(seed)
        self.path, self.java, self.steps, self.between = path, java, steps, between
        self.log: list[str] = []
        self.parts = self.random.choice([["p"], ["p", "q"]])
        self.keys = self.random.choice([[], ["k", *self.parts]])
        self.options = {"bucket": "1" if self.keys else "-1", "file.format": self.random.choice(["parquet", "avro"])}
        self.options["snapshot.clean-empty-directories"] = self.random.choice(["true", "false"])
        if self.random.random() < 0.5:
            self.options["deletion-vectors.enabled"] = "true"
        elif self.keys:
            self.options["changelog-producer"] = self.random.choice(["none", "input", "lookup"])

    def run(self) -> None:
        maker: Any = self.random.choice([our_engine, self.java])
        columns = {"k": "INT NOT NULL", "p": "STRING NOT NULL", "q": "INT NOT NULL", "v": "STRING"}
        self.log.append(f"create keys {self.keys} parts {self.parts} {self.options}")
        maker.create(self.path, columns, self.keys, self.parts, self.options)
        deeds = [self._we_write, self._java_writes, self._we_overwrite, self._java_overwrites, self._compact]
        if not self.keys and "deletion-vectors.enabled" in self.options:
            deeds.append(self._delete)
        for _ in range(self.steps):
            self.random.choice(deeds)()
            self.between()

    def rows(self) -> list[Row]:
        draw = self.random
        return [(draw.randrange(5), draw.choice(PARTS), draw.randrange(2), "x") for _ in range(draw.randint(1, 4))]

    def _we_write(self) -> None:
        self.log.append("we write")
        our_engine.write(self.path, [(self.rows(), None)])
        if self.keys:
            our_engine.compact(self.path, full=False)

    def _java_writes(self) -> None:
        self.log.append("Java writes")
        self.java.write(self.path, self.rows())

    def _we_overwrite(self) -> None:
        self.log.append("we overwrite")
        our_engine.overwrite(self.path, self.rows(), self.random.choice([None, "dynamic"]))

    def _java_overwrites(self) -> None:
        self.log.append("Java overwrites")
        self.java.write(self.path, self.rows(), None, NO_OPTIONS, {})

    def _compact(self) -> None:
        if self.keys and self.java.files(self.path):
            self.log.append("compact")
            self.random.choice([our_engine, self.java]).compact(self.path, True)
        elif self.java.files(self.path):
            self.log.append("Java compacts")
            self.java.compact(self.path)

    def _delete(self) -> None:
        files = self.java.files(self.path)
        if files:
            name, _, count = self.random.choice(files)
            self.log.append("Java deletes")
            self.java.delete_positions(self.path, {name: [self.random.randrange(count)]})


class ExpiryHistory:
    """One table, its tags, branches and consumers, and its two ends; log is shown when something is wrong."""

    def __init__(self, seed: int, folder: Path, java: Genuine, blobs: Blobs, steps: int) -> None:
        self.random = random.Random(seed)
        self.folder, self.java = folder, java
        self.path, self.mine, self.javas = (str(folder / name / "t") for name in ("lived", "mine", "javas"))
        self.tags: dict[str, int] = {}
        self.branches: list[str] = []
        self.life: Any
        if seed % 3:
            self.life = KeyedLife(self.random.getrandbits(32) * 5 + seed % 5, self.path, java, blobs, steps)
            self.life.between = self._between
        else:
            self.life = PartitionedLife(self.random.getrandbits(32), self.path, java, steps, self._between)
        self.log: list[str] = self.life.log

    def run(self) -> None:
        self.life.run()
        self._set_clock()
        for target in (self.mine, self.javas):
            shutil.copytree(self.path, target)
        for _ in range(ROUNDS):
            self._expire(self.random.choice(["main", *self.branches]))
            self._compare()

    def _between(self) -> None:
        ids, draw = our_engine.snapshot_ids(self.path), self.random
        if not ids:
            return
        if draw.random() < 0.25:
            name, number = f"t{len(self.tags)}", draw.choice(ids)
            self.log.append(f"tag {name} of snapshot {number}")
            self.java.create_tag(self.path, name, number)
            self.tags[name] = number
        if self.tags and len(self.branches) < 2 and draw.random() < 0.1:
            name, tag = f"b{len(self.branches)}", draw.choice([*self.tags])
            self.log.append(f"branch {name} from {tag}")
            self.java.create_branch(self.path, name, tag)
            self.branches.append(name)
        if self.branches and draw.random() < 0.3:
            branch = draw.choice(self.branches)
            self.log.append(f"Java writes to branch {branch}")
            self.java.write(self.path, self._rows(), None, {"branch": branch})
        if draw.random() < 0.05:
            number = draw.choice(ids) + 2
            self.log.append(f"a consumer at {number}")
            consumers = Path(self.path, "consumer")
            consumers.mkdir(exist_ok=True)
            (consumers / f"consumer-c{number}").write_text(json.dumps({"nextSnapshot": number}))

    def _rows(self) -> list[Row]:
        if isinstance(self.life, PartitionedLife):
            return self.life.rows()
        return self.life.table.rows(self.random, 3)

    def _set_clock(self) -> None:
        """Snapshot n is as old as if one had been made each minute up to now."""
        latest = max(our_engine.snapshot_ids(self.path))
        now = time.time_ns() // 1_000_000
        for path in Path(self.path).rglob("*"):
            if re.fullmatch(r"(snapshot|tag)-.*", path.name) and path.is_file():
                number = json.loads(path.read_text())["id"]
                then = now - (latest - number) * MINUTE
                path.write_text(re.sub(r'("timeMillis"\s*:\s*)\d+', rf"\g<1>{then}", path.read_text()))

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

    def _expire(self, branch: str) -> None:
        settings = self._draw_settings()
        before = self._states(self.mine)
        self.log.append(f"expire {branch} by {settings}")
        rules = our_rules(settings)
        table = open_table(self.mine, {"branch": branch})
        ours = expire_snapshots_by(table, rules)
        javas = self.java.run(java_expiry.expire_snapshots, self.javas, branch, settings)
        assert len(ours.ids) == javas
        if Path(self.mine, "changelog").exists() and self.random.random() < 0.7:
            later = self._draw_settings()
            self.log.append(f"expire changelogs of {branch} by {later}")
            ours = expire_changelogs_by(table, our_rules(later).changelogs)
            javas = self.java.run(java_expiry.expire_changelogs, self.javas, branch, later)
            assert (len(ours.ids) > 0) == (javas > 0)
        after = self._states(self.mine)
        assert after == {name: rows for name, rows in before.items() if name in after}

    def _compare(self) -> None:
        """The same files, the same hints, and what stays can be read by both."""
        mine, javas = stored(self.mine), stored(self.javas)
        assert not javas.keys() - mine.keys(), sorted(javas.keys() - mine.keys())
        more = mine.keys() - javas.keys() - self._changelogs_of_branches()
        assert not more, sorted(more)
        assert {path: mine[path] for path in javas} == javas
        check_table(self.mine)
        assert java_read(self.java, self.mine) == java_read(self.java, self.javas)

    def _changelogs_of_branches(self) -> set[str]:
        """The changelogs that snapshots of branches name: Java 2.0.0 forgets that the main branch has the same ones."""
        found: set[str] = set()
        for branch in self.branches:
            table = open_table(self.mine, {"branch": branch})
            snapshots = [s for n in table.snapshots.ids() if (s := table.snapshots.load(n)).changelog_manifest_list]
            doomed = DoomedFiles(changelog=FileFinder(table).changelog(snapshots))
            FileFinder(table).add_lists((s.changelog_manifest_list for s in snapshots), doomed)
            found |= {os.path.relpath(path, self.mine) for stage in doomed.stages() for path in stage}
            found |= {os.path.dirname(path) for path in found}
        return found

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


def stored(root: str) -> dict[str, str | None]:
    """All files and directories; of hints their content."""
    found: dict[str, str | None] = {}
    for directory, names, files in os.walk(root):
        for name in (*names, *(f for f in files if not f.endswith(".crc"))):
            path = Path(directory, name)
            found[str(path.relative_to(root))] = path.read_text() if name in ("EARLIEST", "LATEST") else None
    return found
