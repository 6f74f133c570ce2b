"""Random lives of tables, looked at through random options of time travel: we and Java read the same, or both refuse.

A life has writes and compactions of both, overwrites, changes of columns, tags, a branch, expiry of either, long-lived
changelogs. Then the clock is set by hand: commits of one millisecond, watermarks that stand still.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import java_expiry
import java_travel
import our_engine
from expiry_histories import our_rules
from genuine import Genuine
from java_expiry import Settings
from readers import java_change, java_read, our_change
from support.oracles.comparing import Row

from paimon_spark import open_table
from paimon_spark.errors import MissingFile, OptionError, PaimonError, SnapshotNotFound
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import Root
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.scan.increments import Difference, find_increment, reads_increment

Drawn = dict[str, str]
Columns = list[tuple[str, str]]

PRODUCERS = ("none", "none", "input", "lookup")
MODES = ("default", "latest", "latest-full", "full", "compacted-full", "from-timestamp", "from-snapshot", "incremental",
         "from-snapshot-full", "from-creation-timestamp", "from-file-creation-time")  # fmt: skip
STEPS = 9
EPOCH = 1_700_000_000_000
PLAIN = ("first", "second", "7", "watermark-105", "2026-11-01", "2026-11-02", "2026-11-04")
BESIDE = ("scan.mode", "scan.bucket", "incremental-between-scan-mode", "incremental-between-tag-to-snapshot")
WRITE_ONLY = {"write-only": "true"}


class TravelHistory:
    """One table and what was done to it; log is shown when the readers differ."""

    def __init__(self, seed: int, path: str, java: Genuine, looks: int) -> None:
        self.random = random.Random(seed)
        self.path, self.java, self.looks = path, java, looks
        self.keyed = seed % 3 != 2
        self.number = 0
        self.branch = ""
        self.times: dict[int, int] = {}
        self.watermarks: dict[int, int | None] = {}
        self.log: list[str] = []
        self.outcomes: Counter[str] = Counter()

    def run(self) -> None:
        self._create()
        self._java_writes()
        deeds = [self._we_write, self._java_writes, self._compact, self._overwrite, self._alter, self._tag, self._tag]
        for _ in range(STEPS):
            self.random.choice(deeds)()
        if self.random.random() < 0.5:
            self._make_a_branch()
        if self.random.random() < 0.7:
            self._expire()
            self._we_write()
        self._set_clock()
        for _ in range(self.looks):
            self._look(self._draw_options())

    # -------------------------------------------------------------------------------------------------------- the life

    def _create(self) -> None:
        draw = self.random
        columns = {"k": "INT NOT NULL", "p": "STRING NOT NULL", "v": "BIGINT", "s": "STRING"}
        options = {"bucket": draw.choice(["1", "2"]), "full-compaction.delta-commits": "2"}
        options = options if draw.random() < 0.3 else {"bucket": options["bucket"]}
        if self.keyed:
            options["changelog-producer"] = draw.choice(PRODUCERS)
            if options["changelog-producer"] == "lookup":
                options.pop("full-compaction.delta-commits", None)
        else:
            options = {"bucket": "-1"}
        if draw.random() < 0.3:
            options |= {"changelog.num-retained.min": "100", "changelog.num-retained.max": "100"}
            options |= {"snapshot.num-retained.min": "50", "snapshot.num-retained.max": "50"}
        parts = draw.choice([[], ["p"]])
        self.log.append(f"create {columns} keyed {self.keyed} by {parts} {options}")
        self.java.create(self.path, columns, [*parts, "k"] if self.keyed else [], parts, options)

    def _rows(self) -> list[Row]:
        rows = []
        for _ in range(self.random.randint(1, 4)):
            self.number += 1
            made: dict[str, Any] = {"k": self.random.randint(0, 5), "p": self.random.choice("ab")}
            for field in open_table(self.path).schema.fields[2:]:
                made[field.name] = f"s{self.number}" if field.type.root is Root.VARCHAR else self.number
            rows.append(tuple(made.values()))
        return rows

    def _we_write(self) -> None:
        rows = self._rows()
        self.log.append(f"we write {rows}")
        our_engine.write(self.path, [(rows, None)], WRITE_ONLY)

    def _java_writes(self) -> None:
        rows, options = self._rows(), self.random.choice([WRITE_ONLY, {}])
        self.log.append(f"Java writes {options} {rows}")
        self.java.write(self.path, rows, None, options)

    def _overwrite(self) -> None:
        rows = self._rows()
        self.log.append(f"we overwrite with {rows}")
        our_engine.overwrite(self.path, rows, None)

    def _compact(self) -> None:
        self.log.append("Java compacts")
        if self.java.files(self.path):
            self.java.compact(self.path, True)

    def _alter(self) -> None:
        names = open_table(self.path).schema.names[2:]
        new = f"c{len(open_table(self.path).schemas.ids())}"
        changes: list[tuple[Any, ...]] = [("addColumn", new, self.random.choice(["INT", "STRING"]))]
        if len(names) > 1:
            changes += [("renameColumn", names[-1], f"{new}r"), ("dropColumn", names[-1])]
        change = self.random.choice(changes)
        self.log.append(f"alter {change}")
        self.java.alter(self.path, change)

    def _tag(self) -> None:
        taken = open_table(self.path).snapshots.tag_names()
        free = [name for name in PLAIN if name not in taken]
        if free:
            name, number = self.random.choice(free), self.random.choice(our_engine.snapshot_ids(self.path))
            self.log.append(f"tag {name} of {number}")
            self.java.create_tag(self.path, name, number)

    def _make_a_branch(self) -> None:
        tags = open_table(self.path).snapshots.tag_names()
        if tags:
            self.branch = "b"
            self.log.append(f"branch b from {tags[0]}")
            self.java.create_branch(self.path, "b", tags[0])
            rows = [(9, "a", *[None] * (len(open_table(self.path, {"branch": "b"}).schema.fields) - 2))]
            self.java.write(self.path, rows, None, {"branch": "b", **WRITE_ONLY})

    def _expire(self) -> None:
        keep = self.random.randint(1, 4)
        settings = Settings(keep, 1, 0, 2**31 - 1, *((100, 1, 0) if self.random.random() < 0.5 else ()))
        ours = self.random.random() < 0.5
        self.log.append(f"{'we' if ours else 'Java'} expire {settings}")
        if ours:
            expire_snapshots_by(open_table(self.path), our_rules(settings))
        else:
            self.java.run(java_expiry.expire_snapshots, self.path, "main", settings)

    def _set_clock(self) -> None:
        """Times that never fall and often stand still; watermarks the same, and none on the first snapshots."""
        latest, draw = max(our_engine.snapshot_ids(self.path)), self.random
        time, mark, without = EPOCH, 100, draw.randint(0, 3)
        for number in range(1, latest + 9):
            time, mark = time + draw.choice([0, 1, 1000, 3_600_000]), mark + draw.choice([0, 0, 1, 5])
            self.times[number] = time
            self.watermarks[number] = None if number <= without else mark
        for path in Path(self.path).rglob("*"):
            if path.is_file() and path.parent.name in ("snapshot", "tag", "changelog") and "-" in path.name:
                made = json.loads(path.read_text())
                made |= {"timeMillis": self.times[made["id"]], "watermark": self.watermarks[made["id"]]}
                path.write_text(json.dumps({key: value for key, value in made.items() if value is not None}))
        self.log.append(f"times {self.times}, watermarks {self.watermarks}")

    # ------------------------------------------------------------------------------------------------------ the options

    def _draw_options(self) -> Drawn:
        draw = self.random
        options = dict(draw.choice([self._draw_state, self._draw_state, self._draw_change])())
        if draw.random() < 0.15:
            options |= self._draw_state()
        if draw.random() < 0.25:
            options["scan.mode"] = draw.choice(MODES)
        if draw.random() < 0.1:
            options["scan.bucket"] = draw.choice(["0", "1", "5"])
        if self.branch and draw.random() < 0.25:
            options["branch"] = self.branch
        return options

    def _id(self) -> int:
        return self.random.randint(0, max(our_engine.snapshot_ids(self.path)) + 1)

    def _time(self) -> int:
        return self.times[max(self._id(), 1)] + self.random.choice([-1, 0, 0, 1])

    def _time_text(self) -> str:
        moment = datetime.fromtimestamp(self._time() / 1000, UTC)
        return self.random.choice([f"{moment:%Y-%m-%d %H:%M:%S.%f}"[:-3], f"{moment:%Y-%m-%d %H:%M:%S}", "2023-11-15"])

    def _created(self) -> int:
        splits = open_table(self.path).scan().plan().splits
        times = [file.creation_time or 0 for split in splits for file in split.files]
        return self.random.choice(times or [0]) + self.random.choice([-1, 0, 1])

    def _name(self) -> str:
        return self.random.choice([*PLAIN, "none"])

    def _draw_state(self) -> Drawn:
        draw, mark = self.random, f"{100 + self.random.randint(-1, 30)}"
        drawn = [
            ("scan.snapshot-id", str(self._id())),
            ("scan.tag-name", self._name()),
            ("scan.version", draw.choice([str(self._id()), self._name(), f"watermark-{mark}", "watermark-x"])),
            ("scan.timestamp-millis", str(self._time())),
            ("scan.timestamp", self._time_text()),
            ("scan.watermark", mark),
            ("scan.creation-time-millis", str(draw.choice([self._time, self._created])())),
            ("scan.file-creation-time-millis", str(self._created())),
            ("scan.mode", draw.choice(MODES[:5])),
        ]
        return dict([draw.choice(drawn)])

    def _draw_change(self) -> Drawn:
        draw = self.random
        ends = draw.choice([sorted([self._id(), self._id()]), [self._name(), self._name()], [self._id(), self._id()]])
        times = draw.choice([sorted([self._time(), self._time()]), sorted([self._time_text(), self._time_text()])])
        drawn = [
            ("incremental-between", f"{ends[0]},{ends[1]}"),
            ("incremental-between-timestamp", f"{times[0]},{times[1]}"),
            ("incremental-to-auto-tag", draw.choice([name for name in PLAIN if name.startswith("2026")])),
        ]
        options = dict([draw.choices(drawn, [4, 3, 1])[0]])
        if draw.random() < 0.6:
            options["incremental-between-scan-mode"] = draw.choice(["auto", "delta", "changelog", "diff"])
        if draw.random() < 0.3:
            options["incremental-between-tag-to-snapshot"] = "true"
        return options

    # ----------------------------------------------------------------------------------------------------- both readers

    def _look(self, options: Drawn) -> None:
        self.log.append(f"read {options}")
        ours, javas = self._our_columns(options), self._javas_columns(options)
        if isinstance(ours, PaimonError) or isinstance(javas, RuntimeError):
            self._check_refusals(options, ours, javas)
            return
        assert ours == javas
        self._check_rows(options)

    def _our_columns(self, options: Drawn) -> Columns | PaimonError:
        """Names and types, or why we do not read it."""
        try:
            table = open_table(self.path, options)
            table.scan().to_arrow()
        except PaimonError as error:
            return error
        return [(field.name, type_sql(field.type)) for field in table.schema.fields]

    def _javas_columns(self, options: Drawn) -> Columns | RuntimeError:
        try:
            self.java.read(self.path, options=options)
            return self.java.run(java_travel.columns, self.path, options)
        except RuntimeError as error:
            return error

    def _check_refusals(self, options: Drawn, ours: object, javas: object) -> None:
        if isinstance(ours, PaimonError) and isinstance(javas, RuntimeError):
            # Java's expiry deletes changelogs that a branch has: then both miss a file.
            assert isinstance(ours, OptionError | SnapshotNotFound | MissingFile), ours
            self.outcomes["both refuse"] += 1
        elif isinstance(ours, PaimonError):
            assert self._contradicts(options), f"Java reads, we say: {ours}"
            self.outcomes["we refuse"] += 1
        else:
            assert self._reads_more(options), f"we read, Java says: {str(javas)[:500]}"
            self.outcomes["Java refuses"] += 1

    def _contradicts(self, options: Drawn) -> bool:
        """Java looks at the first of some pairs of options only, and at none where a watermark is no number; a branch
        has the tags of the main one; between tags taken as ids, from the later to the earlier, nothing happened."""
        choosing = [key for key in options if key.startswith(("scan.", "incremental-")) and key not in BESIDE]
        if len(choosing) > 1 or (choosing and "scan.mode" in options) or "watermark-x" in options.values():
            return True
        if "incremental-between" in options and "incremental-between-tag-to-snapshot" in options:
            ends = (open_table(self.path).snapshots.find_tag(n) for n in options["incremental-between"].split(","))
            first, last = (0 if tag is None else tag.snapshot.id for tag in ends)
            return first > last
        return "branch" in options and "scan.tag-name" in options

    def _reads_more(self, options: Drawn) -> bool:
        """What Java 2.0.0 refuses: snapshots that only a tag keeps by id or time, tags of branches, differences that
        begin before the first commit or between tags taken as ids, commits whose changelog outlived them."""
        table = open_table(self.path, options)
        branch = "branch" in options
        store = table.snapshots
        wanted = options.get("scan.snapshot-id", options.get("scan.version", ""))
        if wanted.isdigit():
            return not store.exists(int(wanted))
        if "scan.creation-time-millis" in options:
            snapshot = table.scan().plan().snapshot
            return snapshot is not None and not store.exists(snapshot.id)
        if "scan.tag-name" in options or "scan.version" in options:
            return branch
        if "incremental-between" in options:
            start = options["incremental-between"].split(",")[0]
            ids = "incremental-between-tag-to-snapshot" in options
            first = store.find_tag(start)
            number = first.snapshot.id if first is not None else int(start)
            return ids or number == 0 or not store.exists(number)
        return "incremental-to-auto-tag" in options and options.get("scan.mode") == "default"

    def _check_rows(self, options: Drawn) -> None:
        self.outcomes["both read"] += 1
        table = open_table(self.path, options)
        if not reads_increment(table.settings):
            assert our_engine.read(self.path, options) == java_read(self.java, self.path, options)
            return
        change = find_increment(table.settings, table.snapshots)
        if not isinstance(change, Difference):
            if self._misses_changelogs(options):
                ours, javas = our_change(self.path, options), java_change(self.java, self.path, options)
                assert not javas - ours, (ours, javas, change)
                return
            assert our_change(self.path, options) == java_change(self.java, self.path, options)
            return
        before: Counter[Row] = Counter()
        if change.before is not None:
            before = our_engine.read(self.path, self._state(change.before.id, options))
        ours, javas = our_engine.read(self.path, options), java_read(self.java, self.path, options)
        assert {row for row in ours if row not in before} == {row for row in javas if row not in before}

    def _misses_changelogs(self, options: Drawn) -> bool:
        """Java 2.0.0 begins with the earliest snapshot where changelogs of earlier commits are still there."""
        return "incremental-between-timestamp" in options and Path(self.path, "changelog").exists()

    def _state(self, number: int, options: Drawn) -> Mapping[str, str]:
        names = open_table(self.path).snapshots.tags()
        kept = next((name for name, tag in names.items() if tag.snapshot.id == number), None)
        given = {"scan.snapshot-id": str(number)} if kept is None else {"scan.tag-name": kept}
        return given | {key: value for key, value in options.items() if key in ("branch", "scan.bucket")}
