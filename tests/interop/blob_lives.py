"""A table with BLOB columns that we and Java write in turn: rows, new values, compactions, columns that come and go.

A row is known by its key. Values are changed by the ids of rows, which stay as long as a row lives.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import our_engine
import pyarrow as pa
import pyarrow.compute as pc
from genuine import Genuine
from genuine_values import PLACEHOLDER
from java_evolution import NEW_IDS, compact_columns, live_groups, write_columns
from readers import assert_same
from support.oracles.checker import check_table
from support.tables.compacting import live_files

from paimon_spark import open_table
from paimon_spark.format.blob_file import BlobDescriptor
from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.expire.snapshots import expire_snapshots

EVOLVED = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
ONE_FILE = {"target-file-row-num": str(2**63 - 1), "target-file-size": "99999 g"}  # as Java's own job changes columns
TYPES: dict[str, Any] = {
    "k": "INT", "b": "BLOB", "v": "STRING", "c": "BLOB", "a": {"type": "ARRAY", "element": "BLOB"},
    "m": {"type": "MAP", "key": "INT NOT NULL", "value": "BLOB"},
}  # fmt: skip


def as_java(value: Any) -> Any:
    return tuple(map(as_java, value)) if isinstance(value, list) else value


@dataclass
class BlobLife:
    """One life.

    Attributes:
        rows: the values of each row by its key.
        columns: the columns now, without the key.
        log: what was done.
    """

    random: Random
    path: str
    java: Genuine
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    columns: list[str] = field(default_factory=lambda: ["b", "v", "c", "a", "m"])
    log: list[str] = field(default_factory=list)
    made: int = 0
    has_altered: bool = False
    read_from: int = 0
    kept_by_bytes: tuple[str, ...] = ("b", "c", "a", "m")
    """The columns whose files may say that a row keeps its value."""

    def __post_init__(self) -> None:
        self.deletes = self.random.random() < 0.6
        options = {
            **EVOLVED,
            "blob.target-file-size": self.random.choice(["40 b", "1 kb", "1 mb"]),
            "file.format": self.random.choice(["parquet", "parquet", "orc", "avro"]),
            "deletion-vectors.enabled": str(self.deletes).lower(),
            "blob-compaction.enabled": self.random.choice(["true", "false"]),
        }
        if self.random.random() < 0.3:
            options["target-file-row-num"] = "3"
        by_us = self.random.random() < 0.5
        partitions = ("v",) if self.random.random() < 0.2 else ()
        self.fixed = partitions
        if by_us:
            our_engine.create(self.path, TYPES, (), partitions, options)
        else:
            self.java.create(self.path, TYPES, partitions=partitions, options=options)
        self.log.append(f"created by {'us' if by_us else 'Java'} {partitions} {options}")
        self.source = Path(self.path).parent / "source"
        self.source.write_bytes(bytes(range(256)) * 4)

    def arrow(self, name: str) -> pa.DataType:
        made = {"k": pa.int32(), "v": pa.string(), "a": pa.list_(pa.binary()), "m": pa.map_(pa.int32(), pa.binary())}
        return made.get(name, pa.binary())

    def step(self) -> None:
        """One deed, by one of the two."""
        deeds = [self.append, self.update, self.update, self.java_writes, self.compact, self.alter]
        deeds += [self.java_updates] * (not self.fixed)
        deeds += [self.delete, self.java_deletes, self.leave_out_deleted] * self.deletes
        self.random.choice(deeds if self.rows else [self.append, self.java_writes])()

    def check(self) -> None:
        """The rows are those of the model, for us and for Java."""
        assert_same(self.path, [self.java])
        found = open_table(self.path).scan().to_arrow().to_pylist()
        assert len(found) == len(self.rows)
        assert {row.pop("k"): row for row in found} == self.rows
        check_table(self.path)

    def check_history(self) -> None:
        """Every snapshot is read alike, but for those of older columns, which Java does not read: an option now names
        a column that they lack."""
        for number in our_engine.snapshot_ids(self.path)[self.read_from :]:
            assert_same(self.path, [self.java], {"scan.snapshot-id": str(number)})

    def tidy(self) -> None:
        """An expiry deletes the files that only older snapshots have, and a search for orphans finds none."""
        moment = time.time_ns() // 1_000_000 + 1
        expire_snapshots(open_table(self.path), retain_max=1, retain_min=1, older_than=moment)
        found = {path.name for path in Path(self.path).rglob("data-*")}
        assert found == {file.file_name for file in live_files(open_table(self.path))}
        assert remove_orphan_files(open_table(self.path), moment).paths == ()
        self.check()

    # ---------------------------------------------------------------------------------------------------------- values

    def drawn(self, name: str) -> Any:
        random = self.random
        if name == "v":
            return random.choice(["x", "y"])
        if name == "a":
            return random.choice([None, [self.drawn("b") for _ in range(random.randrange(4))]])
        if name == "m":
            return random.choice([None, [(key, self.drawn("b")) for key in range(random.randrange(4))]])
        length = random.choice([0, 1, 30, random.randrange(200)])
        return random.choice([None, b"", random.randbytes(length), random.randbytes(length)])

    def new(self) -> dict[int, dict[str, Any]]:
        first, self.made = self.made, self.made + self.random.randint(1, 8)
        return {key: {name: self.drawn(name) for name in self.columns} for key in range(first, self.made)}

    def chosen(self) -> tuple[str, list[int]]:
        keys = [key for key in range(self.made) if self.random.random() < 0.4] or [0]
        return f"k in ({', '.join(map(str, keys))})", [key for key in keys if key in self.rows]

    def updated(self) -> list[str]:
        free = [name for name in self.columns if name not in self.fixed]
        return sorted(self.random.sample(free, self.random.randint(1, len(free))))

    def updated_by_java(self) -> list[str]:
        return self.updated()

    # ----------------------------------------------------------------------------------------------------------- deeds

    def append(self) -> None:
        """New rows by us; some of them name the bytes of another file instead of holding them."""
        rows = self.new()
        self.log.append(f"we append {rows}")
        given = [{"k": key, **row} for key, row in rows.items()]
        for row, kept in zip(given, rows.values(), strict=True):
            for name in self.columns:
                if name not in ("v", "a", "m") and self.random.random() < 0.15:
                    start, length = self.random.randrange(300), self.random.randrange(300)
                    row[name] = BlobDescriptor(str(self.source), start, length).encode()
                    kept[name] = self.source.read_bytes()[start : start + length]
        schema = pa.schema({name: self.arrow(name) for name in given[0]})
        open_table(self.path).append(pa.Table.from_pylist(given, schema))
        self.rows |= rows

    def java_writes(self) -> None:
        rows = self.new()
        self.log.append(f"Java writes {rows}")
        names = open_table(self.path).schema.names
        self.java.write(self.path, [tuple(as_java({"k": key, **row}[n]) for n in names) for key, row in rows.items()])
        self.rows |= rows

    def update(self) -> None:
        """New values by us, in an UPDATE or a MERGE."""
        names = self.updated()
        if self.random.random() < 0.5:
            condition, keys = self.chosen()
            values = {name: self.drawn(name) for name in names}
            self.log.append(f"we update {condition} {values}")
            constants = {name: pc.scalar(pa.scalar(value, self.arrow(name))) for name, value in values.items()}
            found = open_table(self.path).update(condition, constants)
            assert found.rows_updated == len(keys)
            for key in keys:
                self.rows[key] |= values
            return
        keys = [key for key in self.rows if self.random.random() < 0.5] or [next(iter(self.rows))]
        drawn = [{"k": key, **{name: self.drawn(name) for name in names}} for key in keys]
        self.log.append(f"we merge {drawn}")
        schema = pa.schema({name: self.arrow(name) for name in drawn[0]})
        merge = open_table(self.path).merge(pa.Table.from_pylist(drawn, schema), "source.k = target.k")
        merge.when_matched_update({name: f"source.{name}" for name in names}).execute()
        for row in drawn:
            self.rows[row.pop("k")] |= row

    def java_updates(self) -> None:
        """New values by Java of some columns, of all rows of some files; some rows of a BLOB keep theirs.

        The helper writes columns of tables without partitions only.
        """
        names = self.updated_by_java()
        groups = self.java.run(live_groups, self.path)
        keys = {row["_ROW_ID"]: row["k"] for row in open_table(self.path).scan(["k", "_ROW_ID"]).to_arrow().to_pylist()}
        parts: list[tuple[int, Sequence[tuple[Any, ...]]]] = []
        for first, count, _ in self.random.sample(groups, self.random.randint(1, len(groups))):
            values = []
            for row_id in range(first, first + count):
                drawn = {n: self.drawn(n) for n in names}
                # where no file has a value, Java does not read that it is kept
                drawn |= {n: PLACEHOLDER for n in names if n in self.kept_by_bytes and self.random.random() < 0.4}
                values.append(tuple(map(as_java, drawn.values())))
                if row_id in keys:
                    self.rows[keys[row_id]] |= {n: v for n, v in drawn.items() if v != PLACEHOLDER}
            parts.append((first, values))
        self.log.append(f"Java changes {names} {parts}")
        self.java.run(write_columns, self.path, names, parts, ONE_FILE)

    def delete(self) -> None:
        condition, keys = self.chosen()
        self.log.append(f"we delete {condition}")
        assert open_table(self.path).delete(condition).rows_deleted == len(keys)
        for key in keys:
            del self.rows[key]

    def java_deletes(self) -> None:
        groups = self.java.run(live_groups, self.path)
        first, count, name = self.random.choice(groups)
        gone = sorted(self.random.sample(range(count), self.random.randint(1, count)))
        keys = {row["_ROW_ID"]: row["k"] for row in open_table(self.path).scan(["k", "_ROW_ID"]).to_arrow().to_pylist()}
        self.log.append(f"Java deletes {gone} of {name}")
        self.java.delete_positions(self.path, {name: gone})
        for row_id in gone:
            self.rows.pop(keys.get(first + row_id, -1), None)

    def leave_out_deleted(self) -> None:
        """The rows of files with deleted ones get new ids."""
        match self.random.randrange(2 if self.has_altered else 3):  # as of compact
            case 0:
                done: Any = open_table(self.path).materialize_deletion_vectors()
            case 1:
                done = open_table(self.path, {**NEW_IDS, "compaction.min.file-num": "2"}).compact()
            case _:
                done = self.java.run(compact_columns, self.path, self.random.random() < 0.5, NEW_IDS)
        self.log.append(f"left out deleted rows: {done}")

    def compact(self) -> None:
        if self.random.random() < 0.5 and not self.has_altered:  # Java could not read what it makes of other rows
            blobs = self.random.random() < 0.5
            self.log.append(f"Java compacts, blobs {blobs}")
            self.java.run(compact_columns, self.path, blobs)
            return
        self.log.append("we compact")
        our_engine.compact(self.path, full=True)

    def alter(self) -> None:
        """A BLOB column that goes, or a new one."""
        self.has_altered = True
        self.read_from = len(our_engine.snapshot_ids(self.path))
        blobs = [name for name in self.columns if name != "v"]
        if len(blobs) > 1 and self.random.random() < 0.5:
            name = self.random.choice(blobs)
            self.log.append(f"we drop {name}")
            with open_table(self.path).update_schema() as change:
                change.drop_column(name)
            self.columns.remove(name)
            for row in self.rows.values():
                del row[name]
            return
        name = f"n{len(self.log)}"
        self.log.append(f"we add {name}")
        with open_table(self.path).update_schema() as change:
            change.add_column(name, "BYTES", comment="__BLOB_FIELD; new")
        self.columns.append(name)
        for row in self.rows.values():
            row[name] = None
