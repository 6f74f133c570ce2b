"""Random lives of primary-key tables: both writers write, compact and overwrite in turn, step by step compared.

A history draws a table (engine, functions, changelog producer, deletion vectors, triggers) and steps. After each
step both readers must see the same rows, and the checker must find nothing. At the end the changelog, replayed event
by event, must lead to the rows of the table.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import our_engine
from engine_tables import Blobs, EngineTable, draw_table
from genuine import NO_OPTIONS, Genuine
from readers import java_read
from support.oracles.checker import check_table
from support.oracles.comparing import Row

ENGINES = ["deduplicate", "aggregation", "groups", "partial-update", "first-row"]
ROWS = 10


class LsmHistory:
    """One table and what was done to it; log is shown when something is wrong."""

    def __init__(self, seed: int, path: str, java: Genuine, blobs: Blobs, steps: int) -> None:
        self.random = random.Random(seed)
        self.path, self.java, self.steps = path, java, steps
        self.engine = ENGINES[seed % len(ENGINES)]
        self.table: EngineTable = draw_table(self.random, self.engine, blobs)
        self.producer = self._draw_producer()
        self.table.options |= self._tree_options()
        self.log: list[str] = []

    def _draw_producer(self) -> str:
        producers = ["none", "lookup"] if self.engine == "first-row" else ["none", "input", "lookup", "full-compaction"]
        return self.random.choice(producers)

    def _tree_options(self) -> dict[str, str]:
        draw = self.random
        options = {
            "changelog-producer": self.producer,
            "num-sorted-run.compaction-trigger": draw.choice(["2", "3", "5"]),
            "target-file-size": draw.choice(["128 mb", "2 kb"]),
        }
        if draw.random() < 0.25:
            options |= {"bucket": "-1", "dynamic-bucket.target-row-num": draw.choice(["3", "100"])}
        if self.engine != "first-row" and self.producer != "full-compaction" and draw.random() < 0.4:
            options["deletion-vectors.enabled"] = "true"
            options["deletion-vectors.bitmap64"] = draw.choice(["true", "false"])
        if self.producer in ("lookup", "full-compaction"):
            options["changelog-producer.row-deduplicate"] = draw.choice(["true", "false"])
        if self.producer == "lookup" and self.engine in ("aggregation", "groups") and draw.random() < 0.7:
            options["compaction.force-rewrite-all-files"] = "true"
        return options

    @property
    def _changelog_tells_files(self) -> bool:
        """Whether events hold the rows of files. A lone row is folded in a changelog of lookups, by both writers, but
        not in its file where that only moves up; a later event then takes back what the file holds."""
        folds = self.producer == "lookup" and self.engine in ("aggregation", "groups")
        return not folds or "compaction.force-rewrite-all-files" in self.table.options

    def run(self) -> None:
        maker: Any = self.random.choice([our_engine, self.java])
        self.log.append(f"create {self.table.columns} keys {self.table.keys} {self.table.options}")
        maker.create(self.path, self.table.columns, self.table.keys, [], self.table.options)
        deeds = [self._we_write, self._java_writes, self._we_write, self._java_writes, self._we_compact]
        deeds += [self._java_compacts]
        if self.producer in ("none", "input"):
            deeds += [self._we_overwrite, self._java_overwrites] if self.random.random() < 0.3 else []
            fixed = self.table.options["bucket"] != "-1"
            deeds += [self._we_rescale] if fixed and self.random.random() < 0.3 else []
        for _ in range(self.steps):
            self.random.choice(deeds)()
            self.check()
        if self.producer in ("lookup", "full-compaction"):
            self._compacts(full=True)
            self.check()
            if self._changelog_tells_files:
                self.check_changelog()

    def check(self) -> None:
        """Both readers see the same rows, and the table is sound."""
        if not our_engine.snapshot_ids(self.path):
            return
        ours, javas = our_engine.read(self.path), java_read(self.java, self.path)
        assert self.table.canonical_rows(ours) == self.table.canonical_rows(javas)
        check_table(self.path)

    def check_changelog(self) -> None:
        """Every event of the changelog fits the rows before it, and together they make the rows of the table."""
        rows: dict[Row, Row] = {}
        for number, (kind, row) in enumerate(our_engine.changelog(self.path)):
            canonical = self.table.canonical(row)
            key = tuple(canonical[list(self.table.columns).index(name)] for name in self.table.keys)
            if kind in ("-U", "-D"):
                assert rows.get(key) == canonical, f"event {number}: {kind} {row} takes back {rows.get(key)}"
                del rows[key]
            else:
                assert key not in rows, f"event {number}: {kind} {row} comes upon {rows.get(key)}"
                rows[key] = canonical
        replayed, read = Counter(rows.values()), self.table.canonical_rows(our_engine.read(self.path))
        assert replayed == read, f"only in the changelog: {replayed - read}, only in the table: {read - replayed}"

    def _write_options(self) -> Mapping[str, str]:
        return self.random.choice([{}, {"write-only": "true"}])

    def _we_write(self) -> None:
        parts = [self.table.rows_and_kinds(self.random, ROWS) for _ in range(self.random.choice([1, 1, 2]))]
        options = self._write_options()
        self.log.append(f"we write {options} {parts}")
        our_engine.write(self.path, parts, options)
        if not options:
            our_engine.compact(self.path, full=False)

    def _java_writes(self) -> None:
        (rows, kinds), options = self.table.rows_and_kinds(self.random, ROWS), self._write_options()
        self.log.append(f"Java writes {options} {list(zip(kinds, rows, strict=True))}")
        self.java.write(self.path, rows, kinds, options)

    def _we_overwrite(self) -> None:
        rows = self._inserts()
        self.log.append(f"we overwrite {rows}")
        our_engine.overwrite(self.path, rows, None)

    def _java_overwrites(self) -> None:
        rows = self._inserts()
        self.log.append(f"Java overwrites {rows}")
        self.java.write(self.path, rows, None, NO_OPTIONS, {})

    def _we_rescale(self) -> None:
        buckets = self.random.randint(1, 3)
        self.log.append(f"we rescale to {buckets} buckets")
        our_engine.rescale(self.path, buckets)

    def _inserts(self) -> list[Row]:
        return self.table.rows(self.random, self.random.randint(1, ROWS))

    def _we_compact(self) -> None:
        self._compacts(self.random.random() < 0.5)

    def _compacts(self, full: bool) -> None:
        self.log.append(f"we compact, full: {full}")
        our_engine.compact(self.path, full)

    def _java_compacts(self) -> None:
        if self.java.files(self.path):
            full = self.random.random() < 0.5
            self.log.append(f"Java compacts, full: {full}")
            self.java.compact(self.path, full)
