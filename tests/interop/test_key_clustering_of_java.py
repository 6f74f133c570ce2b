"""Tables whose compacted files are sorted by other columns than the key (pk-clustering-override), by Java and by us.

PAIMON_KEY_CLUSTERING_HISTORIES says how many random tables of Java are read,
PAIMON_KEY_CLUSTERING_TURNS how many random tables are written and compacted by both in turn.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import our_engine
import pytest
from genuine import Genuine, table_path
from java_streams import java_stream
from random_tables import pool
from readers import assert_same, telling
from support.long_runs import run_seed, tries
from support.oracles.checker import check_table
from support.oracles.comparing import comparable_rows
from support.tables.micro_batches import FROM_FIRST, opened

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.store.checks.table import check
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.interop

COLUMNS = {"k": "INT NOT NULL", "city": "STRING", "v": "BIGINT"}
OPTIONS = {
    "bucket": "2", "pk-clustering-override": "true", "clustering.columns": "city,v", "deletion-vectors.enabled": "true",
    "target-file-size": "4 kb",
}  # fmt: skip


def test_what_java_wrote_is_read(java: Genuine, tmp_path: Path) -> None:
    """Upserts and deletes; conditions on keys and values; each snapshot."""
    for number in range(tries("PAIMON_KEY_CLUSTERING_HISTORIES", 1, 20)):
        draw = random.Random(f"{run_seed()}-{number}")
        path = table_path(tmp_path, f"t{number}")
        java.create(path, COLUMNS, ["k"], options=OPTIONS)
        expected: dict[int, tuple[int, str, int]] = {}
        for _ in range(6):
            rows = [(k, f"city {draw.randrange(9)}", draw.randrange(1000)) for k in draw.sample(range(300), 60)]
            kinds = [draw.choice(["+I", "+I", "-D"]) for _ in rows]
            java.write(path, rows, kinds)
            for row, kind in zip(rows, kinds, strict=True):
                expected.pop(row[0], None)
                if kind == "+I":
                    expected[row[0]] = row
            assert_same(path, [java])
            found = open_table(path).scan().to_arrow()
            assert sorted(tuple(row.values()) for row in found.to_pylist()) == sorted(expected.values())
        for where, keeps in (
            ("k = 7 or k between 100 and 150", lambda row: row[0] == 7 or 100 <= row[0] <= 150),
            ("city = 'city 3'", lambda row: row[1] == "city 3"),
            ("v < 100", lambda row: row[2] < 100),
        ):
            found = open_table(path).scan(where=where).to_arrow()
            assert sorted(tuple(row.values()) for row in found.to_pylist()) == sorted(filter(keeps, expected.values()))
        for snapshot in open_table(path).snapshots.ids():
            assert_same(path, [java], {"scan.snapshot-id": str(snapshot)})
        check_table(path)


def test_what_needs_the_order_of_keys_is_refused(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    java.create(path, COLUMNS, ["k"], options=OPTIONS)
    for number in range(2):
        java.write(path, [(k, f"city {k % 3}", number) for k in range(9)])
    merges = {"deletion-vectors.merge-on-read": "true"}
    assert open_table(path, merges).scan().to_arrow().num_rows == 9
    java.write(path, [(1, "city 1", 9)], options={"write-only": "true"})
    for options, what in (
        (merges, "files that are not compacted"),
        ({"incremental-between": "1,3", "incremental-between-scan-mode": "diff"}, "the difference of two states"),
    ):
        with pytest.raises(UnsupportedFeature, match=what):
            open_table(path, options).scan().to_arrow()


@pytest.mark.parametrize("producer", ["none", "input"])
@pytest.mark.parametrize("seed", range(tries("PAIMON_KEY_CLUSTERING_HISTORIES", 1, 20)))
def test_changes_and_streams_are_those_of_java(producer: str, seed: int, java: Genuine, tmp_path: Path) -> None:
    path, draw = table_path(tmp_path), random.Random(f"{run_seed()}-{producer}-{seed}")
    java.create(path, COLUMNS, ["k"], options={**OPTIONS, "changelog-producer": producer})
    for _ in range(6):
        rows = [(k, f"city {draw.randrange(9)}", draw.randrange(1000)) for k in draw.sample(range(50), 20)]
        kinds = [draw.choice(["+I", "+U", "-D"]) for _ in rows]
        java.write(path, rows, kinds, {"write-only": draw.choice(["true", "false"])})
    ids = [0, *open_table(path).snapshots.ids()]
    for mode in ("auto", "delta", "changelog"):
        start, end = sorted(draw.sample(ids, 2))
        options = {"incremental-between": f"{start},{end}", "incremental-between-scan-mode": mode}
        javas = Counter((kind, *row) for kind, row in java.audit_log(path, options))
        names = ["_row_kind", *COLUMNS]
        ours = Counter(tuple(r.values()) for r in open_table(path, options).scan(names).to_arrow().to_pylist())
        assert ours == javas, options
        some = Counter(tuple(r.values()) for r in open_table(path, options).scan(names, "k < 9").to_arrow().to_pylist())
        assert some == Counter({row: count for row, count in javas.items() if row[1] < 9}), options
    told, _ = java.run(java_stream, path, FROM_FIRST)
    stream = opened(open_table(path), FROM_FIRST, row_kinds=True)
    run = stream.start()
    found: Counter[tuple[object, ...]] = Counter()
    for unit in run.units(run.first(), replace(run.first(), snapshot=ids[-1] + 1, full=False, after=None)):
        for batch in stream.reader.read(unit):
            found.update(tuple(row.values()) for row in batch.select(names).to_pylist())
    assert found == Counter((kind, *values) for plan in told for kind, values in plan)


@dataclass
class Turns:
    """A table that we and Java write and compact in turn, and the rows that it must have."""

    seed: int
    path: str
    java: Genuine
    log: list[str] = field(default_factory=list)
    rows: dict[tuple[object, ...], tuple[object, ...]] = field(default_factory=dict)
    waiting: list[tuple[tuple[object, ...], str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.draw = random.Random(f"{run_seed()}-turns-{self.seed}")
        draw = self.draw
        self.is_first_row = draw.random() < 0.3
        self.columns: dict[str, object] = {"k": draw.choice(["INT NOT NULL", "STRING NOT NULL"])}
        self.columns |= {"p": "INT NOT NULL", "city": "STRING", "v": "BIGINT"}
        self.columns["w"] = draw.choice(
            ["DOUBLE", "FLOAT", "DECIMAL(38, 10)", "TIMESTAMP(6)", "DATE", "BYTES", "CHAR(3)"]
        )
        self.keys = draw.choice([["k"], ["k", "p"], ["p", "k"]])
        self.partitions = ["p"] if "p" in self.keys and draw.random() < 0.3 else []
        by = [name for name in ("city", "v", "w", "k", "p") if draw.random() < 0.4] or ["city"]
        draw.shuffle(by)
        self.options = {
            "bucket": draw.choice(["1", "2"]), "pk-clustering-override": "true", "clustering.columns": ",".join(by),
            "target-file-size": draw.choice(["2 kb", "1 mb"]), "file.format": draw.choice(["parquet", "orc", "avro"]),
            "data-file.thin-mode": draw.choice(["true", "false"]),
        }  # fmt: skip
        if self.is_first_row:
            self.options["merge-engine"] = "first-row"
        else:
            self.options["changelog-producer"] = draw.choice(["none", "input"])
        if not self.is_first_row or draw.random() < 0.3:
            self.options["deletion-vectors.enabled"] = "true"
            self.options["deletion-vectors.bitmap64"] = draw.choice(["true", "false"])

    def run(self) -> None:
        create = self.draw.choice([our_engine.create, self.java.create])
        self._note(f"{create} {self.columns} {self.keys} {self.partitions} {self.options}")
        create(self.path, self.columns, self.keys, self.partitions, self.options)
        for _ in range(self.draw.randint(4, 9)):
            self.draw.choice([self._write, self._write, self._write, self._compact, self._replace])()
            self.check()

    def check(self) -> None:
        """Both read what was compacted."""
        found = assert_same(self.path, [self.java])
        types = our_engine.types(self.path)
        assert found == comparable_rows(list(self.rows.values()), types), "\n".join(self.log)

    def _note(self, text: str) -> None:
        self.log.append(text)

    def _values(self, count: int) -> list[tuple[object, ...]]:
        draw, kind = self.draw, str(self.columns["w"])
        made: dict[tuple[object, ...], tuple[object, ...]] = {}
        for _ in range(count):
            number = draw.randrange(30)
            key: object = number if str(self.columns["k"]).startswith("INT") else f"key {number}"
            city = draw.choice([None, "", "a", "b", f"city {draw.randrange(5)}"])
            row = (
                key,
                draw.randrange(3),
                city,
                draw.choice([None, draw.randrange(-5, 5)]),
                draw.choice(pool(kind, self.options["file.format"])),
            )
            made[self._key(row)] = row  # a writer may get a key once only, so that no order of kinds matters
        return list(made.values())

    def _key(self, row: tuple[object, ...]) -> tuple[object, ...]:
        return tuple(row[list(self.columns).index(name)] for name in self.keys)

    def _write(self) -> None:
        rows = self._values(self.draw.randint(1, 25))
        kinds = [self.draw.choice(["+I", "+I", "+U"] + ([] if self.is_first_row else ["-D"])) for _ in rows]
        kinds = ["+I"] * len(rows) if self.is_first_row else kinds
        waits = self.draw.random() < 0.4
        options = {"write-only": "true"} if waits else {}
        ours = self.draw.random() < 0.5
        self._note(f"{'we' if ours else 'Java'} write {list(zip(rows, kinds, strict=True))} {options}")
        if ours:
            our_engine.write(self.path, [(rows, kinds)], options)
            if not waits:
                our_engine.compact(self.path, full=False)
        else:
            self.java.write(self.path, rows, kinds, options)
        self.waiting += zip(rows, kinds, strict=True)
        if not waits:
            self._taken_up(None if ours else {self._bucket(row) for row in rows})

    def _bucket(self, row: tuple[object, ...]) -> object:
        """A writer of Java compacts the buckets that it writes to; which they are only `bucket` = 1 tells."""
        return row[1] if self.partitions else ()

    def _taken_up(self, places: set[object] | None) -> None:
        """What waits in these partitions counts; of tables with more buckets a compaction takes up what is left."""
        if places is not None and self.options["bucket"] != "1":
            self.java.compact(self.path, full=False)
            places = None
        left = []
        for row, kind in self.waiting:
            if places is not None and self._bucket(row) not in places:
                left.append((row, kind))
            elif kind == "-D":
                self.rows.pop(self._key(row), None)
            elif not (self.is_first_row and self._key(row) in self.rows):
                self.rows[self._key(row)] = row
        self.waiting = left

    def _compact(self) -> None:
        full, ours = self.draw.random() < 0.5, self.draw.random() < 0.5
        self._note(f"{'we' if ours else 'Java'} compact, full {full}")
        if ours:
            our_engine.compact(self.path, full)
        else:
            self.java.compact(self.path, full)
        self._taken_up(None)

    def _replace(self) -> None:
        """The whole table."""
        if self.draw.random() < 0.6:
            return
        rows, ours = self._values(12), self.draw.random() < 0.5
        self._note(f"{'we' if ours else 'Java'} overwrite {rows}")
        if ours:
            our_engine.overwrite(self.path, rows, None)
            our_engine.compact(self.path, full=False)
        else:
            self.java.write(self.path, rows, overwrite={}, options={"dynamic-partition-overwrite": "false"})
        self.rows, self.waiting = {}, [(row, "+I") for row in rows]
        self._taken_up(None)


@pytest.mark.parametrize("seed", range(tries("PAIMON_KEY_CLUSTERING_TURNS", 3, 40)))
def test_we_and_java_write_and_compact_in_turn(seed: int, java: Genuine, tmp_path: Path) -> None:
    """Whoever writes, overwrites or compacts: both read the rows of a simple model after each step."""
    turns = Turns(seed, table_path(tmp_path), java)
    with telling(turns.log):
        turns.run()
        check_table(turns.path)
        assert not any("sorted" in note for note in check(turns.path).notes)
