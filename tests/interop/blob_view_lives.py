"""Tables with blobs, and tables with views of them, that we and Java write in turn.

The rows of a table are known by the ids that they have at a time, to which views lead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import our_engine
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from genuine import Genuine
from java_evolution import NEW_IDS, compact_columns
from java_views import read_views, write_views
from support.oracles.checker import check_table

from paimon_spark import BlobDescriptor, BlobView, open_catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import MissingRow

EVOLVED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}
SOURCES = ("d.a", "größe.b.c")
OF_VIEWS = {"d.v": SOURCES, "d.w": (*SOURCES, "d.v"), "d.x": (*SOURCES, "d.w")}
"""The tables with views, and where their views lead."""
FIELDS = {"b": 1, "c": 2}
LOST = object()
View = tuple[str, int, int]


@dataclass
class BlobViewLife:
    """One life.

    Attributes:
        rows: of each table, the values of each row by its key: bytes, views or None.
        ids: of each table, the key of each row by its id.
    """

    random: Random
    folder: Path
    java: Genuine
    log: list[str] = field(default_factory=list)
    made: int = 0

    def __post_init__(self) -> None:
        self.warehouse = str(self.folder / "lake")
        self.catalog = open_catalog(self.warehouse)
        for database in ("d", "größe"):
            self.catalog.create_database(database)
        for name in (*SOURCES, *OF_VIEWS):
            options = {**EVOLVED, "file.format": self.random.choice(["parquet", "parquet", "orc", "avro"])}
            options |= {"blob-descriptor-field": "c"} if name in SOURCES else {"blob-view-field": "b,c"}
            options |= {"target-file-row-num": "3"} if self.random.random() < 0.4 else {}
            self.catalog.new_table(name, {"k": "INT", "b": "BLOB", "c": "BLOB"}, options=options)
            self.log.append(f"created {name} {options}")
        self.rows: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in (*SOURCES, *OF_VIEWS)}
        self.ids: dict[str, dict[int, int]] = {name: {} for name in self.rows}
        self.file = self.folder / "file"
        self.file.write_bytes(bytes(range(256)) * 2)

    def path(self, name: str) -> str:
        database, _, table = name.partition(".")
        return f"{self.warehouse}/{database}.db/{table}"

    def step(self) -> None:
        """One deed, by one of the two."""
        deeds = [self.append_source, self.append_source, self.append_views, self.append_views, self.update_source]
        deeds += [self.update_views, self.delete, self.compact, self.new_ids, self.rename]
        self.random.choice(deeds)()

    def check(self) -> None:
        """Each table is read alike, or refused by both."""
        for name, rows in self.rows.items():
            expected = {key: {c: self.followed(value) for c, value in row.items()} for key, row in rows.items()}
            whole = {key: row for key, row in expected.items() if LOST not in row.values()}
            theirs = self.java.run(read_views, self.warehouse, name)
            if len(whole) < len(rows):
                assert isinstance(theirs, str), f"{name}: {theirs}"
                with pytest.raises(MissingRow):
                    self.read(name)
            elif isinstance(theirs, str):
                assert self.java_looks_too_far(name), f"{name}: {theirs}"
            else:
                assert {key: {"b": b, "c": c} for key, b, c in theirs} == expected
            keys = ", ".join(map(str, whole))
            if whole:
                assert self.read(name, f"k in ({keys})") == whole
                nulls = {key for key, row in whole.items() if row["b"] is None}
                assert self.read(name, f"k in ({keys}) and b is null").keys() == nulls
        name = self.random.choice(list(self.rows))
        check_table(self.path(name))

    def read(self, name: str, where: str | None = None) -> dict[int, dict[str, Any]]:
        found = self.catalog[name].scan(where=where).to_arrow().to_pylist()
        return {row.pop("k"): row for row in found}

    def followed(self, value: Any) -> Any:
        """The bytes to which a value of the model leads, None, or LOST."""
        if not isinstance(value, tuple):
            return value
        name, field_id, row_id = value
        key = self.ids.get(name, {}).get(row_id)
        if key is None or key not in self.rows[name]:
            return LOST
        return self.followed(self.rows[name][key]["b" if field_id == FIELDS["b"] else "c"])

    def java_looks_too_far(self, name: str) -> bool:
        """True if Java may follow views that nobody asks for: of each table all columns of all rows that views name."""
        wanted = [(name, set(self.rows[name]), {"b", "c"})]
        while wanted:
            of, keys, columns = wanted.pop()
            values = [self.rows[of][key][column] for key in keys for column in columns]
            if LOST in map(self.followed, values):
                return True
            views = [value for value in values if isinstance(value, tuple)]
            for source in {view[0] for view in views}:
                mine = [view for view in views if view[0] == source]
                rows = {self.ids[source][view[2]] for view in mine}
                wanted.append((source, rows, {"b" if view[1] == FIELDS["b"] else "c" for view in mine}))
        return False

    # ---------------------------------------------------------------------------------------------------------- values

    def numbered(self, name: str) -> None:
        """Learns the ids of the rows."""
        table = self.catalog[name]
        found = table.scan(["k", "_ROW_ID"], None).to_arrow().to_pylist() if table.snapshots.latest_id() else []
        self.ids[name] = {row["_ROW_ID"]: row["k"] for row in found}

    def view(self, name: str) -> View | None:
        source = self.random.choice(OF_VIEWS[name])
        known = list(self.ids[source]) or [0]
        if self.random.random() < 0.15:
            return None
        row_id = self.random.choice(known) if self.random.random() < 0.97 else 10**9
        return source, self.random.choice(list(FIELDS.values())), row_id

    def new_keys(self) -> range:
        first, self.made = self.made, self.made + self.random.randint(1, 6)
        return range(first, self.made)

    def bytes_of_file(self) -> tuple[bytes, int, int]:
        start, length = self.random.randrange(200), self.random.randrange(40)
        return self.file.read_bytes()[start : start + length], start, length

    # ----------------------------------------------------------------------------------------------------------- deeds

    def append_source(self) -> None:
        name, by_us = self.random.choice(SOURCES), self.random.random() < 0.5
        given = list[tuple[Any, ...]]()
        for key in self.new_keys():
            b = self.random.choice([None, b"", self.random.randbytes(self.random.randrange(50))])
            c, start, length = self.bytes_of_file()
            is_null = self.random.random() < 0.3
            self.rows[name][key] = {"b": b, "c": None if is_null else c}
            reference: Any = (str(self.file), start, length)
            if by_us:
                reference = BlobDescriptor(*reference).encode()
            given.append((key, b, None if is_null else reference))
        self.log.append(f"{'we' if by_us else 'Java'} append to {name}: {given}")
        if by_us:
            self.catalog[name].append(self.arrow(given))
        else:
            self.java.write(self.path(name), given)
        self.numbered(name)

    def append_views(self) -> None:
        name, by_us = self.random.choice(list(OF_VIEWS)), self.random.random() < 0.5
        given = [(key, self.view(name), self.view(name)) for key in self.new_keys()]
        self.log.append(f"{'we' if by_us else 'Java'} append to {name}: {given}")
        for key, b, c in given:
            self.rows[name][key] = {"b": b, "c": c}
        if by_us:
            encoded = [(key, *(None if v is None else BlobView(*v).encode() for v in views)) for key, *views in given]
            self.catalog[name].append(self.arrow(encoded))
        else:
            self.java.run(write_views, self.warehouse, name, given, list(FIELDS))
        self.numbered(name)

    def arrow(self, rows: list[tuple[Any, ...]]) -> pa.Table:
        schema = pa.schema({"k": pa.int32(), "b": pa.binary(), "c": pa.binary()})
        return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)

    def chosen(self, name: str) -> list[int]:
        return [key for key in self.rows[name] if self.random.random() < 0.3]

    def update_source(self) -> None:
        name = self.random.choice(SOURCES)
        keys, value = self.chosen(name), self.random.choice([None, self.random.randbytes(5)])
        self.log.append(f"we update b of {name} {keys}: {value!r}")
        if keys:
            constant = pc.scalar(pa.scalar(value, pa.binary()))
            self.catalog[name].update(f"k in ({', '.join(map(str, keys))})", {"b": constant})
        for key in keys:
            self.rows[name][key]["b"] = value

    def update_views(self) -> None:
        name = self.random.choice(list(OF_VIEWS))
        keys, view = self.chosen(name), self.view(name)
        self.log.append(f"we update c of {name} {keys}: {view}")
        if keys:
            constant = pc.scalar(pa.scalar(None if view is None else BlobView(*view).encode(), pa.binary()))
            self.catalog[name].update(f"k in ({', '.join(map(str, keys))})", {"c": constant})
        for key in keys:
            self.rows[name][key]["c"] = view

    def delete(self) -> None:
        name = self.random.choice(list(self.rows))
        keys = self.chosen(name)[:2]
        self.log.append(f"we delete from {name} {keys}")
        if keys:
            self.catalog[name].delete(f"k in ({', '.join(map(str, keys))})")
        for key in keys:
            del self.rows[name][key]

    def compact(self) -> None:
        name, by_us = self.random.choice(list(self.rows)), self.random.random() < 0.5
        self.log.append(f"{'we' if by_us else 'Java'} compact {name}")
        if not self.catalog[name].snapshots.latest_id():
            return
        if by_us:
            our_engine.compact(self.path(name), full=True)
        else:
            self.java.run(compact_columns, self.path(name))

    def new_ids(self) -> None:
        """Deleted rows are left out, and the others of their files get new ids."""
        name, by_us = self.random.choice(list(self.rows)), self.random.random() < 0.5
        self.log.append(f"{'we' if by_us else 'Java'} leave out deleted rows of {name}")
        if not self.catalog[name].snapshots.latest_id():
            return
        if by_us:
            self.catalog[name].materialize_deletion_vectors()
        else:
            self.java.run(compact_columns, self.path(name), False, NEW_IDS)
        self.numbered(name)

    def rename(self) -> None:
        """A table gets another name, and perhaps its own again: views name tables."""
        name = self.random.choice(SOURCES)
        away = Identifier("d", "away")
        self.log.append(f"{name} is away for a while")
        own = Identifier.parse(name)
        self.catalog.rename_table(own, away)
        ids, rows = self.ids.pop(name), self.rows.pop(name)
        try:
            self.check()
        finally:
            self.catalog.rename_table(away, own)
            self.ids[name], self.rows[name] = ids, rows
