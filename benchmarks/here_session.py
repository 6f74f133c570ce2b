"""One process of Python without Spark that writes and reads a table of numbers; prints a line of JSON for each step.

``python here_session.py ours|pypaimon|deltalake|lance DIRECTORY SCALE``. Only `ours` imports this package, so that a
Python of another environment can run the others. A step that the library cannot do is left out.
"""

from __future__ import annotations

import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa

KEYED, ADDED, UPSERTED, COMMITS = 5_000_000, 1_000_000, 10_000, 100


def rows(first: int, count: int, step: int = 1, mark: str = "first") -> pa.Table:
    """Rows with ascending keys, in batches of 100,000."""
    ids = np.arange(first, first + count * step, step, dtype=np.int64)
    random = np.random.default_rng(first)
    columns = {"id": ids, "a": random.random(count), "b": random.random(count), "c": random.integers(0, 1000, count)}
    return pa.table({**columns, "s": pa.array(np.char.add(mark, (ids % 1000).astype(str)))})


class Library(ABC):
    """A table with the key ``id`` in one library."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    @abstractmethod
    def create(self, name: str) -> None:
        """Makes an empty table, which is used from then on."""

    def create_uncompacted(self, name: str) -> None:
        """As create; its commits compact nothing. No other library than ours compacts after a commit."""
        self.create(name)

    @abstractmethod
    def append(self, given: pa.Table) -> None: ...

    @abstractmethod
    def upsert(self, given: pa.Table) -> None: ...

    @abstractmethod
    def point(self, key: int) -> int:
        """How many rows have the key."""

    @abstractmethod
    def read(self) -> int:
        """How many rows there are, all columns read."""


class Ours(Library):
    def create(self, name: str, options: Mapping[str, str] = MappingProxyType({})) -> None:
        from paimon_spark import create_table

        kinds = {"id": "BIGINT", "a": "DOUBLE", "b": "DOUBLE", "c": "BIGINT", "s": "STRING"}
        self.table = create_table(f"{self.folder}/{name}", kinds, "id", options={"bucket": "2", **options})

    def create_uncompacted(self, name: str) -> None:
        self.create(name, {"write-only": "true"})

    def append(self, given: pa.Table) -> None:
        self.table.append(given)

    upsert = append

    def point(self, key: int) -> int:
        from paimon_spark import col

        return self.table.scan(where=col("id") == key).to_arrow().num_rows

    def read(self) -> int:
        return self.table.scan().to_arrow().num_rows


class PyPaimon(Library):
    def create(self, name: str) -> None:
        from pypaimon import CatalogFactory, Schema

        catalog = CatalogFactory.create({"warehouse": self.folder})
        catalog.create_database("d", True)
        schema = Schema.from_pyarrow_schema(rows(0, 1).schema, primary_keys=["id"], options={"bucket": "2"})
        catalog.create_table(f"d.{name}", schema, False)
        self.table = catalog.get_table(f"d.{name}")

    def append(self, given: pa.Table) -> None:
        builder = self.table.new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(given)
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    upsert = append

    def point(self, key: int) -> int:
        builder = self.table.new_read_builder()
        builder = builder.with_filter(builder.new_predicate_builder().equal("id", key))
        return int(builder.new_read().to_arrow(builder.new_scan().plan().splits()).num_rows)

    def read(self) -> int:
        builder = self.table.new_read_builder()
        return int(builder.new_read().to_arrow(builder.new_scan().plan().splits()).num_rows)


class DeltaLake(Library):
    def create(self, name: str) -> None:
        from deltalake import DeltaTable

        self.place = f"{self.folder}/{name}"
        DeltaTable.create(self.place, rows(0, 1).schema)

    def append(self, given: pa.Table) -> None:
        from deltalake import write_deltalake

        write_deltalake(self.place, given, mode="append")

    def upsert(self, given: pa.Table) -> None:
        from deltalake import DeltaTable

        merge = DeltaTable(self.place).merge(given, "t.id = s.id", source_alias="s", target_alias="t")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def point(self, key: int) -> int:
        from deltalake import DeltaTable

        return int(DeltaTable(self.place).to_pyarrow_table(filters=[("id", "=", key)]).num_rows)

    def read(self) -> int:
        from deltalake import DeltaTable

        return int(DeltaTable(self.place).to_pyarrow_table().num_rows)


class Lance(Library):
    def create(self, name: str) -> None:
        import lance

        self.place = f"{self.folder}/{name}"
        lance.write_dataset(rows(0, 1).slice(0, 0), self.place)

    def append(self, given: pa.Table) -> None:
        import lance

        lance.write_dataset(given, self.place, mode="append")

    def upsert(self, given: pa.Table) -> None:
        import lance

        merge = lance.dataset(self.place).merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(given)

    def point(self, key: int) -> int:
        import lance

        return int(lance.dataset(self.place).to_table(filter=f"id = {key}").num_rows)

    def read(self) -> int:
        import lance

        return int(lance.dataset(self.place).to_table().num_rows)


LIBRARIES: dict[str, type[Library]] = {"ours": Ours, "pypaimon": PyPaimon, "deltalake": DeltaLake, "lance": Lance}


def steps(library: Library, scale: float) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is measured, each step once; the first of a kind pays for imports."""
    held, added, upserted = int(KEYED * scale), int(ADDED * scale), int(UPSERTED * scale)
    library.create("warm")
    library.append(rows(0, 10))
    library.upsert(rows(0, 10))
    library.read()
    library.create("added")
    given = rows(0, added)
    yield "append of 1 million rows", lambda: library.append(given)
    library.create("held")
    library.append(rows(0, held))
    changes = rows(1, upserted, max(1, held // upserted), "new")
    yield "upsert of 10,000 rows into 5 million", lambda: library.upsert(changes)
    yield "point read", lambda: library.point(held // 2)
    yield "full read", library.read
    library.create("small")
    ones = [rows(number, 1) for number in range(COMMITS)]
    yield "100 commits of one row", lambda: [library.append(one) for one in ones]
    library.create_uncompacted("uncompacted")
    yield "100 commits of one row without compaction", lambda: [library.append(one) for one in ones]


def main() -> None:
    kind, folder, scale = sys.argv[1], sys.argv[2], float(sys.argv[3])
    for what, step in steps(LIBRARIES[kind](folder), scale):
        began = time.perf_counter()
        step()
        print(json.dumps({"what": what, "seconds": time.perf_counter() - began}), flush=True)
    status = Path("/proc/self/status").read_text().splitlines() if Path("/proc/self/status").exists() else []
    peak = next((int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM")), 0)
    print(json.dumps({"peak": peak}))


if __name__ == "__main__":
    main()
