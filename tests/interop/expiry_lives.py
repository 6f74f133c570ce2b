"""Random lives of small tables for the histories of expiry: every bucket mode, vectors, changelogs, places of files."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import our_dynamic
import our_engine
from engine_tables import Blobs
from genuine import NO_OPTIONS, Genuine
from lsm_histories import LsmHistory
from support.oracles.comparing import Row

from paimon_spark import open_table
from paimon_spark.store.rescale.postpone_compact import compact_postponed

PARTS = ["a", "b", "c"]
WRITE_ONLY = {"write-only": "true"}
STRATEGIES = ["round-robin", "entropy-inject", "weight-robin", "specific-fs"]
MODES = ["append", "append", "bucketed append", "keyed", "keyed", "keyed", "postponed", "cross", "external"]


class KeyedLife(LsmHistory):
    """Something may happen beside the table after every step. What readers see is the concern of test_lsm_histories."""

    mode = "keyed"

    def __init__(
        self, seed: int, path: str, java: Genuine, blobs: Blobs, steps: int, between: Callable[[], None]
    ) -> None:
        super().__init__(seed, path, java, blobs, steps)
        self.between = between
        self.table.options |= draw_places(self.random)

    @property
    def keeps_buckets(self) -> bool:
        """Whether the number of buckets is still that of the first snapshot."""
        return not any("rescale" in line for line in self.log)

    def rows(self) -> list[Row]:
        return self.table.rows(self.random, 3)

    def check(self) -> None:
        self.between()

    def check_changelog(self) -> None:
        """Not here."""


class PartitionedLife:
    """A small table of partitions, of two levels at most, that lose all their files now and then."""

    keeps_buckets = True

    def __init__(self, seed: int, path: str, java: Genuine, steps: int, between: Callable[[], None]) -> None:
        self.random = random.Random(seed)
        self.path, self.java, self.steps, self.between = path, java, steps, between
        self.log: list[str] = []
        self.mode = self.random.choice(MODES)
        self.parts = self.random.choice([["p"], ["p", "q"]])
        is_append = self.mode.endswith("append") or (self.mode == "external" and self.random.random() < 0.5)
        self.keys = [] if is_append else ["k"] if self.mode == "cross" else ["k", *self.parts]
        self.options = {"bucket": self._bucket(), "file.format": self.random.choice(["parquet", "avro"])}
        self.options["snapshot.clean-empty-directories"] = self.random.choice(["true", "false"])
        self.options |= draw_places(self.random) | self._features()

    def _bucket(self) -> str:
        if self.mode == "bucketed append":
            return "2"
        if self.mode == "postponed":
            return "-2"
        return "-1" if self.mode == "cross" or not self.keys else "1"

    def _features(self) -> dict[str, str]:
        features = {}
        if self.mode == "bucketed append":
            features["bucket-key"] = "k"
        elif self.mode == "postponed":
            features["postpone.default-bucket-num"] = "2"
        elif self.mode == "external":
            places = [f"file://{Path(self.path).parent.parent}/external/{n}" for n in "xy"]
            features |= {
                "data-file.external-paths": ",".join(places),
                "data-file.external-paths.strategy": self.random.choice(STRATEGIES),
                "data-file.external-paths.specific-fs": "file",
                "data-file.external-paths.weights": "1,3",
            }
        if self.random.random() < 0.3 and self.mode != "cross":
            features["file-index.bloom-filter.columns"] = "v"  # small ones stay in the manifests, others lie beside
            features["file-index.in-manifest-threshold"] = self.random.choice(["0 b", "1 kb"])
        if self.random.random() < 0.5 and self.mode != "postponed":
            features["deletion-vectors.enabled"] = "true"
        elif self.keys and self.mode != "cross":
            producers = ["none", "input", "lookup", "full-compaction"]
            features["changelog-producer"] = self.random.choice(producers[: 1 if self.mode == "postponed" else 4])
        return features

    def run(self) -> None:
        maker: Any = self.random.choice([our_engine, self.java])
        columns = {"k": "INT NOT NULL", "p": "STRING NOT NULL", "q": "INT NOT NULL", "v": "STRING"}
        self.log.append(f"create {self.mode} keys {self.keys} parts {self.parts} {self.options}")
        maker.create(self.path, columns, self.keys, self.parts, self.options)
        deeds = self._deeds()
        for _ in range(self.steps):
            self.random.choice(deeds)()
            self.between()

    def _deeds(self) -> list[Callable[[], None]]:
        if self.mode == "cross":
            return [self._we_write_across]
        if self.mode == "postponed":
            return [self._we_write, self._java_writes, self._move_postponed]
        deeds = [self._java_writes, self._java_overwrites, self._compact, self._we_write, self._we_overwrite]
        if not self.keys and "deletion-vectors.enabled" in self.options:
            deeds.append(self._delete)
        return deeds

    def rows(self) -> list[Row]:
        draw = self.random
        return [(draw.randrange(5), draw.choice(PARTS), draw.randrange(2), "x") for _ in range(draw.randint(1, 4))]

    def _we_write(self) -> None:
        self.log.append("we write")
        our_engine.write(self.path, [(self.rows(), None)])
        if self.keys and self.mode == "keyed":
            our_engine.compact(self.path, full=False)

    def _we_write_across(self) -> None:
        self.log.append("we write across partitions")
        our_dynamic.write_cross_partition(self.path, self.rows(), None)
        if self.random.random() < 0.3:
            our_engine.compact(self.path, full=True)

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
        if not self.java.files(self.path):
            return
        ours = bool(self.keys) and self.mode == "keyed" and self.random.random() < 0.5
        self.log.append("we compact" if ours else "Java compacts")
        side: Any = our_engine if ours else self.java
        side.compact(self.path, True)

    def _move_postponed(self) -> None:
        self.log.append("postponed rows move")
        if self.random.random() < 0.5:
            compact_postponed(open_table(self.path))
        elif our_engine.snapshot_ids(self.path):
            self.java.compact_postponed(self.path, 2)

    def _delete(self) -> None:
        files = self.java.files(self.path)
        if files:
            name, _, count = self.random.choice(files)
            self.log.append("Java deletes")
            self.java.delete_positions(self.path, {name: [self.random.randrange(count)]})


def draw_places(draw: random.Random) -> dict[str, str]:
    """Where index files and data files lie."""
    places = {"index-file-in-data-file-dir": draw.choice(["true", "false"])}
    if draw.random() < 0.2:
        places["data-file.path-directory"] = "data"
    return places
