"""A table with a primary key and BLOB columns that we and Java write in turn."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import our_engine
from genuine import Genuine
from readers import assert_same
from support.oracles.checker import check_table

from paimon_spark import open_table
from paimon_spark.format.blob_file import BlobDescriptor
from paimon_spark.store.clean.orphans import remove_orphans_before
from paimon_spark.store.expire.snapshots import expire_snapshots

COLUMNS: dict[str, Any] = {
    "k": "INT NOT NULL", "v": "STRING", "b": "BLOB", "a": {"type": "ARRAY", "element": "BLOB"},
    "m": {"type": "MAP", "key": "INT NOT NULL", "value": "BLOB"},
}  # fmt: skip


def packs(path: str) -> set[str]:
    return {file.name for file in Path(path).rglob("*.managed.blob")}


def drawn(random: Random, key: int) -> tuple[Any, ...]:
    def blob() -> Any:
        return random.choice([None, b"", random.randbytes(random.randrange(90))])

    array = random.choice([None, tuple(blob() for _ in range(random.randrange(3)))])
    pairs = random.choice([None, tuple((n, blob()) for n in range(random.randrange(3)))])
    return key, random.choice(["x", None]), blob(), array, pairs


@dataclass
class KeyBlobLife:
    """One life.

    Attributes:
        rows: the row of each key.
        log: what was done.
    """

    random: Random
    path: str
    java: Genuine
    rows: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        random = self.random
        self.bucket = random.choice(["1", "2", "2", "-1", "-2"])
        options = {
            "bucket": self.bucket,
            "blob.target-file-size": random.choice(["60 b", "200 b", "1 mb"]),
            "file.format": random.choice(["parquet", "parquet", "orc", "avro"]),
            "data-file.thin-mode": random.choice(["true", "false"]),
            "deletion-vectors.enabled": random.choice(["true", "false"]) if self.bucket != "-2" else "false",
        }
        self.hides_new = options["deletion-vectors.enabled"] == "true"  # rows that are not compacted yet
        partitions = ("v",) if random.random() < 0.2 else ()
        self.keys = ("k", *partitions)
        columns = {**COLUMNS, "v": "STRING NOT NULL"} if partitions else COLUMNS
        by_us = random.random() < 0.5
        if by_us:
            our_engine.create(self.path, columns, self.keys, partitions, options)
        else:
            self.java.create(self.path, columns, list(self.keys), partitions, options)
        self.log.append(f"created by {'us' if by_us else 'Java'} {partitions} {options}")
        self.source = Path(self.path).parent / "source"
        self.source.write_bytes(bytes(range(256)) * 2)

    @property
    def by_java(self) -> bool:
        """Whether Java may write it: its writer of dynamic and postponed buckets is another than that of the tests."""
        return self.bucket in ("1", "2")

    def step(self) -> None:
        deeds = [self.we_write, self.we_write, self.we_delete, self.we_compact, self.we_update]
        deeds += [self.java_writes, self.java_writes, self.java_compacts] * self.by_java
        self.random.choice(deeds)()

    def check(self) -> None:
        if self.bucket == "-2":
            open_table(self.path).compact()
        found = {row[0]: row for row in map(as_tuple, open_table(self.path).scan().to_arrow().to_pylist())}
        assert found == self.rows
        assert_same(self.path, [self.java])
        check_table(self.path)

    def tidy(self) -> None:
        """No pack goes, whatever else does: no system knows which of them are still needed."""
        our_engine.compact(self.path, full=True)
        before, moment = packs(self.path), time.time_ns() // 1_000_000 + 1
        expire_snapshots(open_table(self.path), retain_max=1, retain_min=1, older_than=moment)
        removed = remove_orphans_before(open_table(self.path), 2**62, dry_run=False)
        assert not [path for path in removed.paths if "/bucket-" in path]
        lists = {file.name for file in Path(self.path).rglob("*.blobref")}
        files = {file.name for file in Path(self.path).rglob("bucket-*/data-*")} - packs(self.path) - lists
        assert lists == {f"{name}.blobref" for name in files}
        assert packs(self.path) == before
        self.check()

    # ----------------------------------------------------------------------------------------------------------- deeds

    def new(self) -> list[tuple[Any, ...]]:
        rows = [drawn(self.random, key) for key in self.random.sample(range(20), self.random.randint(1, 9))]
        return [(k, "x" if len(self.keys) > 1 else v, *rest) for k, v, *rest in rows]

    def how(self) -> dict[str, str]:
        return {"write-only": "false" if self.hides_new else self.random.choice(["true", "false"])}

    def we_write(self) -> None:
        """Some values name the bytes of a file; a key that comes twice has the last row."""
        rows = self.new()
        self.log.append(f"we write {rows}")
        given = [list(row) for row in rows]
        for number, row in enumerate(rows):
            if self.random.random() < 0.3:
                start, length = self.random.randrange(200), self.random.randrange(200)
                given[number][2] = BlobDescriptor(str(self.source), start, length).encode()
                rows[number] = (*row[:2], self.source.read_bytes()[start : start + length], *row[3:])
        twice = [(given[0][0], given[0][1], b"lost", None, None)] if self.random.random() < 0.5 else []
        options = self.how()
        our_engine.append(self.path, [*twice, *map(tuple, given)], None, options)
        self.rows |= {row[0]: row for row in rows}

    def we_delete(self) -> None:
        keys = [key for key in self.rows if self.random.random() < 0.4]
        self.log.append(f"we delete {keys}")
        if self.random.random() < 0.5:
            open_table(self.path).delete(f"k in ({', '.join(map(str, [*keys, -1]))})")
        elif keys:
            rows = [self.rows[key] for key in keys]
            our_engine.append(self.path, rows, [self.random.choice(["-D", "-U"]) for _ in keys], {})
        for key in keys:
            del self.rows[key]

    def we_update(self) -> None:
        if len(self.keys) > 1:
            return
        keys = [key for key in self.rows if self.random.random() < 0.5]
        self.log.append(f"we update {keys}")
        open_table(self.path).update(f"k in ({', '.join(map(str, [*keys, -1]))})", {"v": "'new'"})
        for key in keys:
            self.rows[key] = (key, "new", *self.rows[key][2:])

    def we_compact(self) -> None:
        self.log.append("we compact")
        our_engine.compact(self.path, full=self.random.random() < 0.5)

    def java_writes(self) -> None:
        rows = self.new()
        kinds = [self.random.choice(["+I", "+I", "+U", "-D"]) for _ in rows]
        self.log.append(f"Java writes {list(zip(rows, kinds, strict=True))}")
        self.java.write(self.path, rows, kinds, self.how())
        for row, kind in zip(rows, kinds, strict=True):
            self.rows.pop(row[0], None)
            if kind != "-D":
                self.rows[row[0]] = row

    def java_compacts(self) -> None:
        self.log.append("Java compacts")
        self.java.compact(self.path, full=self.random.random() < 0.5)


def as_tuple(row: dict[str, Any]) -> tuple[Any, ...]:
    made = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    return tuple(made[name] for name in COLUMNS)
