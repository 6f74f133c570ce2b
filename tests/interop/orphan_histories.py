"""Random lives of tables that leave orphans: one copy is cleaned by Java, one by us.

A life is one of expiry_histories. Then things are forgotten that held files (snapshots, tags, a branch), strange files
and empty directories come into every directory, some young, most old.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from pathlib import Path

import java_branches
import java_orphans
import java_tags
from expiry_histories import ExpiryHistory, stored
from readers import java_read
from support.oracles.checker import check_table

from paimon_spark import open_table
from paimon_spark.file_io.local import local_path
from paimon_spark.store.clean.orphans import remove_orphan_files

DAY = 86_400
NAMES = (
    "junk-{}", ".hidden-{}", "data-{}-0.parquet", "manifest-{}-0", "manifest-list-{}-0", "index-{}-0", "snapshot-{}",
    "changelog-{}", ".snapshot-7.{}.tmp", ".tag-a.{}.tmp", "{}.managed.blob", "stat-{}-0",
)  # fmt: skip
EMPTY = ("bucket-77", "p=zz", "p=zz/bucket-0", "p=zz/q=1", "p=zz/q=1/bucket-3", "p=a/q=9", "p=a", "p=y", "other", "x=y")


class OrphanHistory(ExpiryHistory):
    """See the module."""

    def run(self) -> None:
        self.life.run()
        self._forget()
        self._scatter()
        for target in (self.mine, self.javas):
            shutil.copytree(self.path, target, copy_function=shutil.copy2)
        self._part_external_files()
        self._age()
        before, states = (int(time.time()) - 2 * DAY) * 1000, self._states(self.mine)
        table = open_table(self.mine)
        told = remove_orphan_files(table, before)
        kept = stored(self.mine)
        done = remove_orphan_files(table, before, dry_run=False)
        assert (done.paths, done.bytes) == (told.paths, told.bytes)
        assert kept.keys() >= stored(self.mine).keys()
        count, size, paths = self._at_java(java_orphans.remove, before, False)
        ours = {self._relative(local_path(path)) for path in done.paths}
        javas = {self._relative(local_path(path)) for path in paths}
        self.log.append(f"{len(ours)} orphans, only here {sorted(ours - javas)}, only in Java {sorted(javas - ours)}")
        more = {path for path in ours - javas if not is_unfinished(path)}
        assert (more, javas - ours) == (set(), set())
        assert count == len(paths)
        assert size == done.bytes - sum(os.path.getsize(Path(self.javas, p)) for p in ours - javas)
        self._compare_what_stays()
        assert self._states(self.mine) == states
        later = remove_orphan_files(table, before).paths  # partitions that lost their last bucket or partition
        assert [path for path in later if "=" not in Path(path).parent.name] == []
        check_table(self.mine)
        assert java_read(self.java, self.mine) == self._with_javas_external(lambda: java_read(self.java, self.javas))

    def _forget(self) -> None:
        """Takes away holders of files, as rollbacks and deletions do, and leaves the files."""
        draw = self.random
        if self.branches and draw.random() < 0.5:
            name = draw.choice([*self.branches])
            self.log.append(f"Java deletes the branch {name}")
            self.java.run(java_branches.delete_branch, self.path, name)
            del self.branches[name]
        tags = open_table(self.path).snapshots.tag_names()
        for name in draw.sample(tags, draw.randint(0, len(tags))):
            self.log.append(f"the tag {name} is forgotten")
            Path(self.path, "tag", f"tag-{name}").unlink()
        ids = open_table(self.path).snapshots.ids()
        if len(ids) > 1 and draw.random() < 0.7:
            target = draw.choice(ids)
            self.log.append(f"Java rolls back to {target}")
            self.java.run(java_tags.rollback, self.path, target)
        ids = open_table(self.path).snapshots.ids()
        for number in ids[: draw.randrange(len(ids))]:
            self.log.append(f"snapshot {number} is forgotten")
            Path(self.path, "snapshot", f"snapshot-{number}").unlink()

    def _scatter(self) -> None:
        draw = self.random
        roots = [Path(self.path), *Path(self.folder).glob("external*")]
        for root in roots:
            for name in EMPTY:
                if draw.random() < 0.3:
                    (root / name).mkdir(parents=True, exist_ok=True)
        for root in roots:
            for directory in [root, *(path for path in sorted(root.rglob("*")) if path.is_dir())]:
                for name in NAMES:
                    if draw.random() < 0.1 and not (directory.name in ("snapshot", "changelog") and name[:4] != "junk"):
                        unique = uuid.UUID(int=draw.getrandbits(128), version=4)
                        (directory / name.format(unique)).write_bytes(b"?" * draw.randrange(5))

    def _age(self) -> None:
        """Files are three days old, some a day; the same in both copies. Directories are old."""
        draw, now = self.random, int(time.time())
        roots = [Path(self.mine), Path(self.javas)]
        pairs = [tuple(roots)]
        if (self.folder / "external-mine").exists():
            pairs.append((self.folder / "external-mine", self.folder / "external-javas"))
        for mine, javas in pairs:
            for path in sorted(mine.rglob("*"), key=lambda path: -len(path.parts)):
                age = 3 if path.is_dir() or draw.random() < 0.8 else 1
                for twin in (path, javas / path.relative_to(mine)):
                    os.utime(twin, (now - age * DAY, now - age * DAY))

    def _relative(self, path: str) -> str:
        for root in (self.mine, self.javas, *(str(self.folder / f"external{x}") for x in ("-mine", "-javas", ""))):
            if path.startswith(f"{root}/"):
                return path.removeprefix(f"{root}/")
        raise AssertionError(path)

    def _compare_what_stays(self) -> None:
        """The same files. Java leaves partitions that it makes empty, but for their buckets, to its next run; of old
        empty directories of metadata it is rid."""
        pairs = [(Path(self.mine), Path(self.javas))]
        if (self.folder / "external-mine").exists():
            pairs.append((self.folder / "external-mine", self.folder / "external-javas"))
        for mine, javas in pairs:
            more = stored(str(javas)).keys() - stored(str(mine)).keys()
            assert [path for path in more if not is_unfinished(path) and not is_empty_partition(javas / path)] == []
            assert stored(str(mine)).keys() - stored(str(javas)).keys() <= {"manifest", "index", "statistics"}


def is_empty_partition(path: Path) -> bool:
    """Whether no file is in it."""
    return path.is_dir() and "=" in path.name and not any(inner.is_file() for inner in path.rglob("*"))


def is_unfinished(path: str) -> bool:
    """What atomic writes leave behind in directories that Java never cleans."""
    directory, _, name = path.rpartition("/")
    return name.startswith(".") and name.endswith(".tmp") and directory.endswith(("schema", "tag", "consumer"))
