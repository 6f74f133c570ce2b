"""All keys that a state of a table holds, those too that readers do not see yet (Java: IndexBootstrap)."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from paimon_spark.arrow.predicates.predicate import TRUE
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.format.options.engines import MergeEngine
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataField
from paimon_spark.merge.engines.choice import deduplicate_engine
from paimon_spark.store.holds.expired import translate_missing_files
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.split_reader import SplitReader
from paimon_spark.store.read.splits import ReadUnit
from paimon_spark.store.scan.read_spec import ReadSpec
from paimon_spark.store.scan.split_plan import plan_state


def plan_keys(table: Table, snapshot: Snapshot) -> tuple[ReadUnit, ...]:
    """The splits that hold every row of a snapshot, whether or not a compaction has taken it up.

    Args:
        table: with a primary key; only its own branch is looked at.

    Raises:
        SnapshotNotFound: the snapshot expires concurrently.
        CorruptFile: metadata is missing or damaged.
    """
    with translate_missing_files(table, snapshot.id):
        return plan_state(table, ReadSpec((), TRUE, all_levels=True), snapshot).splits


def key_reader(table: Table, fields: Sequence[DataField]) -> SplitReader:
    """Reads chosen columns, which a merge keeps as they are, of the splits of plan_keys.

    No file is passed over, whatever the options say: the key of a lost file is not a new one, as the file may come
    back. A first-row table is merged as if its newest rows counted: the keys are the same.
    """
    first_row = table.settings.merge_engine == MergeEngine.FIRST_ROW
    return SplitReader(table, tuple(fields), TRUE, engine=deduplicate_engine() if first_row else None)


def key_columns(table: Table) -> tuple[DataField, ...]:
    """The columns of the primary key and of the partitions, in the order of the table."""
    names = {*table.schema.primary_keys, *table.schema.partition_keys}
    return tuple(field for field in table.schema.fields if field.name in names)


def with_all_columns(table: Table, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows with all columns of a table, each of which may hold NULL; those that they lack are NULL."""
    known, schema = set(rows.schema.names), arrow_schema(table.schema.fields)
    columns = [rows.column(f.name) if f.name in known else pa.nulls(rows.num_rows, f.type) for f in schema]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema([field.with_nullable(True) for field in schema]))
