"""One random history of a table with Iceberg metadata, and what readers of Iceberg must find after each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import our_engine
import pyarrow as pa
from iceberg_readers import Reader, assert_equal, known_snapshots, newest, ours, pyiceberg_rows
from pyiceberg.table import StaticTable
from random_tables import KEY_TYPES, NESTED, VALUES, WIDER, Column, Shape
from support.oracles.comparing import arrow_batch

from paimon_spark import open_table
from paimon_spark.format.options.iceberg_settings import HADOOP_CATALOG, TABLE_LOCATION
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.rollback_as_latest import rollback_to_as_latest
from paimon_spark.store.history.tag_deletion import delete_tags
from paimon_spark.store.history.tags import create_tag
from paimon_spark.tables.open import WritableTable

COMMITS = 20
ROWS = 30
TYPES = [name for name in VALUES if name not in ("TIMESTAMP(9)", "TIME(3)")]  # pyiceberg refuses files with TIME(3)
PARTITION_TYPES = ["INT", "STRING", "DATE", "BOOLEAN", "BIGINT", "TIMESTAMP(6)", "SMALLINT"]
PROMOTED = {
    "TINYINT": {"SMALLINT", "INT", "BIGINT"},
    "SMALLINT": {"INT", "BIGINT"},
    "INT": {"BIGINT"},
    "FLOAT": {"DOUBLE"},
    "VARCHAR(20)": {"STRING"},
    "CHAR(3)": {"STRING", "VARCHAR(20)"},
    "TIMESTAMP(3)": {"TIMESTAMP(6)"},
}
"""What a column may become that readers of Iceberg follow."""


def random_shape(random: Random, options: dict[str, str]) -> Shape:
    shape = Shape([], [], [], {"file.format": "parquet", **options})
    for _ in range(random.choice([0, 0, 1, 2])):
        column = shape.new_column(random, PARTITION_TYPES, "p")
        column.values = random.sample(column.values, min(2, len(column.values)))
        shape.columns.append(column)
        shape.partitions.append(column.name)
    if random.random() < 0.5:
        shape.columns.append(shape.new_column(random, KEY_TYPES, "k"))
        shape.keys = [shape.columns[-1].name, *shape.partitions]
        for column in shape.columns:
            column.nullable = False
        shape.options |= {"bucket": str(random.randint(1, 2))}
        if random.random() < 0.7:
            shape.options["write-only"] = "true"
    for _ in range(random.randint(1, 5)):
        shape.columns.append(new_column(shape, random))
    random.shuffle(shape.columns)
    return shape


def new_column(shape: Shape, random: Random) -> Column:
    if random.random() < 0.2:
        shape.made += 1
        data_type, values = random.choice(NESTED)
        return Column(f"v{shape.made}", data_type, values)
    return shape.new_column(random, TYPES)


class IcebergHistory:
    """The state of one history. log tells what was done, to be shown when the readers differ."""

    def __init__(self, seed: int, warehouse: str, readers: Sequence[Reader]) -> None:
        self.random = random = Random(seed)
        self.path = f"{warehouse}/d.db/t"
        options = {"metadata.iceberg.storage": random.choice([TABLE_LOCATION, HADOOP_CATALOG])}
        options["snapshot.num-retained.max"] = random.choice(["10", "12", "100"])
        options["metadata.iceberg.previous-versions-max"] = random.choice(["0", "3"])
        options["metadata.iceberg.compaction.min.file-num"] = "3"
        options["metadata.iceberg.compaction.max.file-num"] = random.choice(["4", "50"])
        if random.random() < 0.3:
            options["metadata.iceberg.manifest-legacy-version"] = "true"
        vectors = [reader for reader in readers if reader.reads_vectors]
        self.has_vectors = bool(vectors) and random.random() < 0.4
        self.readers = vectors if self.has_vectors else readers
        if self.has_vectors:
            options |= {"metadata.iceberg.format-version": "3", "deletion-vectors.enabled": "true"}
            options["deletion-vectors.bitmap64"] = "true"
        self.shape = self._random_shape(options)
        self.has_keys = bool(self.shape.keys)
        self.log = [f"{seed}: {self.shape}"]
        self.shown: pa.Table | None = None
        self.tags = 0
        our_engine.create(self.path, self.shape.types, self.shape.keys, self.shape.partitions, self.shape.options)

    def _random_shape(self, options: dict[str, str]) -> Shape:
        return random_shape(self.random, options)

    @property
    def table(self) -> WritableTable:
        opened = open_table(self.path)
        assert isinstance(opened, WritableTable)
        return opened

    def run(self) -> None:
        self._append()
        while len(self.log) <= COMMITS:
            step = self.random.choice(self._steps())
            self.log.append(step.__name__)
            step()
            self._check()

    def _steps(self) -> list[Callable[[], None]]:
        steps = [self._append] * 6 + [self._compact] * 3 + [self._overwrite, self._delete, self._update, self._expire]
        return [*steps, self._tag, self._untag, self._roll_back, self._back_as_latest, self._alter, self._alter]

    # --------------------------------------------------------------------------------------------------------- steps

    def _batch(self) -> pa.RecordBatch:
        rows = self.shape.rows(self.random, self.random.randint(1, ROWS))
        return arrow_batch(rows, self.table.schema.fields)

    def _append(self) -> None:
        self.table.append(self._batch())

    def _compact(self) -> None:
        our_engine.compact(self.path, full=True)

    def _overwrite(self) -> None:
        if self.shape.partitions and self.random.random() < 0.5:
            self.table.dynamic_partition_overwrite(self._batch())
        else:
            self.table.overwrite(self._batch())

    def _condition(self) -> str:
        plain = [c for c in self.shape.columns if c.type in ("INT", "BIGINT", "SMALLINT", "TINYINT")]
        if not plain:
            return "true" if self.random.random() < 0.2 else "false"
        column = self.random.choice(plain)
        return f"{column.name} > {self.random.choice([0, -2])}"

    def _delete(self) -> None:
        self._compact_for_vectors()
        self.table.delete(self._condition())

    def _compact_for_vectors(self) -> None:
        """Rows of level 0 are not visible there, and a change of rows wants to see all."""
        if self.has_keys and self.has_vectors:
            self._compact()

    def _update(self) -> None:
        self._compact_for_vectors()
        free = [c for c in self.shape.columns if c.name not in self.shape.fixed and c.type == "STRING"]
        if free:
            self.table.update(self._condition(), {self.random.choice(free).name: "'new'"})

    def _expire(self) -> None:
        expire_snapshots(self.table, retain_max=self.random.randint(1, 5), retain_min=1)

    def _tag(self) -> None:
        self.tags += 1
        create_tag(self.table, f"tag{self.tags}", self.random.choice(our_engine.snapshot_ids(self.path)))

    def _untag(self) -> None:
        for name in self.table.snapshots.tag_names()[:1]:
            delete_tags(self.table, name)

    def _roll_back(self) -> None:
        ids = our_engine.snapshot_ids(self.path)
        rollback(self.table, snapshot=self.random.choice(ids[-3:]))
        self.shown = None

    def _back_as_latest(self) -> None:
        for name in self.table.snapshots.tag_names():
            delete_tags(self.table, name)
        rollback_to_as_latest(self.table, snapshot=self.random.choice(our_engine.snapshot_ids(self.path)))
        for name in self.table.snapshots.tag_names():  # it has made one
            delete_tags(self.table, name)
        self.shown = None

    def _alter(self) -> None:
        free = [c for c in self.shape.columns if c.name not in self.shape.fixed]
        column = self.random.choice(free) if free else None
        kind = self.random.choice(["add", "drop", "rename", "type"])
        with self.table.update_schema() as update:
            if column is None or kind == "add":
                added = new_column(self.shape, self.random)
                self.shape.columns.append(added)
                update.add_column(added.name, added.type)
            elif kind == "drop" and len(free) > 1:
                self.shape.columns.remove(column)
                update.drop_column(column.name)
            elif kind == "type" and PROMOTED.get(str(column.type)):
                wider = self.random.choice([t for t in WIDER[column.type] if t in PROMOTED[column.type]])
                update.update_type(column.name, wider)
                column.type = wider
            else:
                self.shape.made += 1
                update.rename_column(column.name, f"v{self.shape.made}")
                column.name = f"v{self.shape.made}"
        self._append()
        if self.has_keys:
            self._compact()

    # -------------------------------------------------------------------------------------------------------- checks

    def _check(self) -> None:
        table = self.table
        if not self.has_keys or self.has_vectors:  # our reads of tables with keys and vectors leave out level 0, too
            self._compare(None, ours(table, {}))
            ids = known_snapshots(table)
            assert ids[-1] == our_engine.snapshot_ids(self.path)[-1]
            number = self.random.choice(ids)
            self._compare(number, ours(table, {"scan.snapshot-id": str(number)}))
        elif self.log[-1] in ("_compact", "_alter"):
            self._compare(None, ours(table, {}))
        elif self.log[-1] == "_append" and self.shape.options.get("write-only") and self.shown is not None:
            assert_equal(pyiceberg_rows(table), self.shown)
        self._check_tags()
        self.shown = None if self.has_vectors else pyiceberg_rows(table)

    def _compare(self, snapshot: int | None, expected: pa.Table) -> None:
        for reader in self.readers:
            reader.assert_reads(self.table, snapshot, expected)

    def _check_tags(self) -> None:
        refs = StaticTable.from_metadata(newest(self.table)).metadata.refs
        known = set(known_snapshots(self.table))
        tags = {name: tag.snapshot.id for name, tag in self.table.snapshots.tags().items() if tag.snapshot.id in known}
        assert {name: ref.snapshot_id for name, ref in refs.items() if name != "main"} == tags
