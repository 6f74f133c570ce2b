"""A table with VECTOR columns that we and Java write in turn: as one with BLOB columns, but for these."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import our_engine
import pyarrow as pa
from blob_lives import EVOLVED, BlobLife

from paimon_spark import open_table
from paimon_spark.errors import UnsupportedFeature

_ELEMENTS = {"f": ("FLOAT", pa.float32(), 3), "d": ("DOUBLE", pa.float64(), 2), "i": ("INT", pa.int32(), 1)}
_REFUSED = re.compile("VECTOR column .* is left as it is|would read old values of ")
TYPES: dict[str, Any] = {
    "k": "INT",
    "v": "STRING",
    **{name: {"type": "VECTOR", "element": of, "length": length} for name, (of, _, length) in _ELEMENTS.items()},
}


@dataclass
class VectorLife(BlobLife):
    """One life. Vectors lie in files of their own, or beside the other columns."""

    def __post_init__(self) -> None:
        random = self.random
        self.columns, self.kept_by_bytes = [name for name in TYPES if name != "k"], ()
        self.deletes = random.random() < 0.6
        options = {**EVOLVED, "deletion-vectors.enabled": str(self.deletes).lower()}
        self.has_own_files = random.random() < 0.7
        if self.has_own_files:
            options |= {"vector.file.format": "parquet", "file.format": random.choice(["parquet", "orc", "avro"])}
            options["vector.target-file-size"] = random.choice(["40 b", "1 kb", "1 mb"])
        if random.random() < 0.3:
            options["target-file-row-num"] = "3"
        by_us, self.fixed = random.random() < 0.5, ("v",) if random.random() < 0.2 else ()
        if by_us:
            our_engine.create(self.path, TYPES, (), self.fixed, options)
        else:
            self.java.create(self.path, TYPES, partitions=self.fixed, options=options)
        self.log.append(f"created by {'us' if by_us else 'Java'} {self.fixed} {options}")

    def arrow(self, name: str) -> pa.DataType:
        if name in ("k", "v"):
            return pa.int32() if name == "k" else pa.string()
        _, element, length = _ELEMENTS.get(name, _ELEMENTS["f"])
        return pa.list_(pa.field("element", element, nullable=False), length)

    def drawn(self, name: str) -> Any:
        if name == "v":
            return self.random.choice(["x", "y"])
        of, _, length = _ELEMENTS.get(name, _ELEMENTS["f"])
        if self.random.random() < 0.2:
            return None
        numbers = [self.random.choice([0, 1, -1, 7, 2**20]) for _ in range(length)]
        return numbers if of == "INT" else [number / 4 for number in numbers]

    def updated(self) -> list[str]:
        """Often all vectors, as of files of their own some are refused."""
        drawn = super().updated()
        return sorted({*drawn, *self.columns} - {"v"}) if self.random.random() < 0.5 else drawn

    def update(self) -> None:
        """New values by us of any columns; what Java would not read is refused, and then the rows are as before.

        Java sorts files of vectors by schema, format and columns, and not by age: where two have values of one
        column, it may read the older ones, also of changes that it wrote itself.
        """
        try:
            super().update()
        except UnsupportedFeature as refused:
            if not self.has_own_files or not _REFUSED.search(str(refused)):
                raise
            self.log.append(f"refused: {refused}")

    def updated_by_java(self) -> list[str]:
        """Java refuses nothing: of vectors in files of their own all change at once, and none after an ALTER.

        They are in the order of the table: Java does not read files in two orders that its own compaction put together.
        """
        if not self.has_own_files:
            return self.updated()
        vectors = [] if self.has_altered else [name for name in self.columns if name != "v"]
        drawn = self.random.choice([each for each in (vectors, ["v"], [*vectors, "v"]) if each])
        return [name for name in self.columns if name in drawn]

    def leave_out_deleted(self) -> None:
        """Rows with vectors in files of their own get no new ids, here or in Java."""
        if not self.has_own_files:
            super().leave_out_deleted()

    def append(self) -> None:
        rows = self.new()
        self.log.append(f"we append {rows}")
        given = [{"k": key, **row} for key, row in rows.items()]
        schema = pa.schema({name: self.arrow(name) for name in given[0]})
        open_table(self.path).append(pa.Table.from_pylist(given, schema))
        self.rows |= rows

    def alter(self) -> None:
        """A VECTOR column that goes, or a new one."""
        self.has_altered = True
        self.read_from = len(our_engine.snapshot_ids(self.path))
        vectors = [name for name in self.columns if name != "v"]
        with open_table(self.path).update_schema() as change:
            if len(vectors) > 1 and self.random.random() < 0.5:
                gone = self.random.choice(vectors)
                self.log.append(f"we drop {gone}")
                change.drop_column(gone)
                self.columns.remove(gone)
                for row in self.rows.values():
                    del row[gone]
                return
            name = f"n{len(self.log)}"
            self.log.append(f"we add {name}")
            change.add_column(name, "VECTOR<FLOAT, 3>")
        self.columns.append(name)
        for row in self.rows.values():
            row[name] = None
