"""Writes to tables whose primary key does not contain the partition columns (features 5.2; Java: GlobalIndexAssigner).

A key is in one partition at a time. The merge engine determines how a row whose key is in another partition is written:

- deduplicate: the key is deleted from its partition, unless the row before takes it back there, and the row is written
  to its own partition;
- partial-update, aggregation: the row is written to the partition of the key; its partition columns are overwritten;
- first-row: the row is dropped.

Several rows of one key in one job are processed in order; each sees the effect of the one before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.row_buckets import Buckets, group_rows, row_codes
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.options.engines import MergeEngine
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.row_kind import DELETE, UPDATE_BEFORE, Kinds
from paimon_spark.store.buckets.bucket_assigner import BucketFilling, bucket_rules
from paimon_spark.store.metadata.partition_stats import same_partition
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.write_plan import DynamicPlan

Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NEW = -1  # the bucket of a new row


@dataclass(frozen=True)
class KeyRows:
    """Existing keys of the table and new rows; for each key all of them or none.

    Attributes:
        rows: all columns of the table; of existing keys only key and partition columns are used.
        kinds: the kind of each row.
        buckets: the buckets of existing keys; NEW for new rows.
        places: the order of the new rows; existing keys have lower places.
    """

    rows: pa.RecordBatch
    kinds: Kinds
    buckets: Buckets
    places: Indices


@dataclass(frozen=True)
class _Segments:
    """The rows ordered by key, then place.

    Attributes:
        order: positions in KeyRows.
        first: for each row of the order, the position where the rows of its key begin.
        parts: the partition number of each row.
        buckets: the bucket of each row, NEW for new rows.
        partitions: the partition row of each number.
    """

    order: Indices
    first: Indices
    parts: Indices
    buckets: Buckets
    partitions: list[bytes]

    @property
    def is_first(self) -> Mask:
        firsts: Mask = self.first == np.arange(len(self.first))
        return firsts


class CrossPartitionAssigner:
    """Assigns partitions and buckets in one task of a write, which has all rows and existing keys of its share."""

    def __init__(self, table: Table, plan: DynamicPlan, assigner: int, assigners: int) -> None:
        """The assigner of one share of the keys.

        Args:
            table: the table.
            plan: its rows estimate the fill of buckets: rows in files, several of which may have the same key.
            assigner: the number of this task's share.
            assigners: the number of shares; each opens and fills its own buckets.

        Raises:
            OptionError: an option of dynamic buckets has an invalid value.
        """
        self._table = table
        self._engine = table.settings.merge_engine
        self._rules = bucket_rules(table.settings, partitioned=False)
        self._canonical = same_partition(table.schema.partition_types)
        self._rows: Mapping[bytes, Mapping[int, int]] = plan.rows
        self._share = assigner, assigners
        self._fillings: dict[bytes, BucketFilling] = {}

    def assign(self, given: KeyRows) -> KeyRows:
        """The rows to write, ordered by key and place; a deletion precedes the row that moves its key.

        Raises:
            DataError: the table holds a key twice, or there are too many buckets.
        """
        segments = self._segments(given)
        match self._engine:
            case MergeEngine.DEDUPLICATE:
                return self._moved(given, segments)
            case MergeEngine.FIRST_ROW:
                return self._redirected(given, segments, only_same=True)
            case _:
                return self._redirected(given, segments, only_same=False)

    def _segments(self, given: KeyRows) -> _Segments:
        schema = self._table.schema
        codes = row_codes(given.rows, tuple(schema.by_name[name] for name in schema.primary_keys))
        order = np.lexsort((given.places, codes))
        ordered = codes[order]
        starts = np.concatenate([np.ones(len(ordered), np.bool_)[:1], ordered[1:] != ordered[:-1]])
        first = np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))
        parts = np.empty(len(order), np.int64)
        partitions: list[bytes] = []
        for partition, _, positions in group_rows(given.rows, schema.partition_fields, None):
            parts[positions] = len(partitions)
            partitions.append(partition)
        segments = _Segments(order, first, parts[order], given.buckets[order], partitions)
        twice = np.flatnonzero((segments.buckets != NEW) & ~segments.is_first)
        if len(twice):
            key = given.rows.select(schema.primary_keys).slice(int(order[twice[0]]), 1).to_pylist()[0]
            raise DataError(
                f"the table {self._table.location} holds the key {key} in two places; several jobs have written to it "
                "at once. Delete the key from one of them before you write it again"
            )
        return segments

    def _opened(self, segments: _Segments, wanted: Mask) -> Buckets:
        """The buckets of the segments' rows, with new buckets for rows whose key is new in a partition."""
        buckets = segments.buckets.copy()
        for part in np.unique(segments.parts[wanted]).tolist():
            chosen = np.flatnonzero(wanted & (segments.parts == part))
            buckets[chosen] = self._filling(segments.partitions[part]).take(len(chosen))
        return buckets

    def _filling(self, partition: bytes) -> BucketFilling:
        row = self._canonical(partition)
        if row not in self._fillings:
            self._fillings[row] = BucketFilling(self._rows.get(row, {}), self._rules, *self._share)
        return self._fillings[row]

    def _moved(self, given: KeyRows, segments: _Segments) -> KeyRows:
        """The rows in their own partitions, with deletions of keys that moved (Java: DeleteExistingProcessor)."""
        comes, first = segments.buckets == NEW, segments.is_first
        moves = np.concatenate([np.zeros(len(comes), np.bool_)[:1], segments.parts[1:] != segments.parts[:-1]]) & ~first
        settles = comes & (first | moves)
        buckets = self._opened(segments, settles)
        # A row that stays in the partition of the row before it is in that row's bucket.
        lives = np.maximum.accumulate(np.where(settles | ~comes, np.arange(len(comes)), 0))
        buckets = buckets[lives]
        left, kept = np.flatnonzero(moves & ~_taken_back(given, segments)), np.flatnonzero(comes)
        values, origins = np.concatenate([left, kept]), np.concatenate([left - 1, kept])
        kinds = np.concatenate([np.full(len(left), DELETE, np.int8), given.kinds[segments.order[kept]]])
        return self._written(given, segments, values, origins, buckets[origins], kinds)

    def _redirected(self, given: KeyRows, segments: _Segments, only_same: bool) -> KeyRows:
        """The rows in the partitions of their keys; with only_same, rows of other partitions are dropped.

        Java: UseOldExistingProcessor, SkipNewExistingProcessor.
        """
        comes = segments.buckets == NEW
        buckets = self._opened(segments, comes & segments.is_first)[segments.first]
        if only_same:
            comes &= segments.parts == segments.parts[segments.first]
        kept = np.flatnonzero(comes)
        return self._written(
            given, segments, kept, segments.first[kept], buckets[kept], given.kinds[segments.order[kept]]
        )

    def _written(
        self,
        given: KeyRows,
        segments: _Segments,
        values: Indices,
        origins: Indices,
        buckets: Buckets,
        kinds: Kinds,
    ) -> KeyRows:
        """Rows with the partition columns of other rows."""
        order = np.argsort(values, kind="stable")  # a deletion precedes the row that causes it
        values, origins = segments.order[values[order]], segments.order[origins[order]]
        kinds, buckets = kinds[order], buckets[order]
        rows, elsewhere = given.rows.take(pa.array(values)), given.rows.select(self._table.schema.partition_keys)
        elsewhere = elsewhere.take(pa.array(origins))
        for name in self._table.schema.partition_keys:
            position = rows.schema.get_field_index(name)
            rows = rows.set_column(position, rows.schema.field(position), elsewhere.column(name))
        return KeyRows(self._with_kinds(rows, kinds, values, given), kinds, buckets, given.places[values])

    def _with_kinds(self, rows: pa.RecordBatch, kinds: Kinds, values: Indices, given: KeyRows) -> pa.RecordBatch:
        """The rows with deletions marked in the row kind column (rowkind.field), if the table has one."""
        name = self._table.settings.rowkind_field
        changed = kinds != given.kinds[values]
        if name is None or not changed.any():
            return rows
        position = rows.schema.get_field_index(name)
        column = rows.column(position)
        texts = pa.compute.if_else(pa.array(changed), pa.scalar("-D", column.type), column)
        return rows.set_column(position, rows.schema.field(position), texts)


def _taken_back(given: KeyRows, segments: _Segments) -> Mask:
    """The rows behind a new row that takes the same key back, as the old row of an update does.

    A deletion too would be in the changelog as a second one. No row is late: such tables have no sequence field.
    """
    takes = np.isin(given.kinds[segments.order], (UPDATE_BEFORE, DELETE)) & (segments.buckets == NEW)
    behind: Mask = np.concatenate([np.zeros(len(takes), np.bool_)[:1], takes[:-1]]) & ~segments.is_first
    return behind


def check_cross_partition_job(table: Table, overwrites: bool, whole: bool) -> None:
    """Refuses jobs that could leave a key in two partitions.

    Args:
        table: the table.
        overwrites: whether the job replaces rows.
        whole: whether it replaces all rows.

    Raises:
        UnsupportedFeature: the message says why.
    """
    what = f"writing to {table.location}: its primary key does not hold all partition columns"
    if overwrites and not whole:
        raise UnsupportedFeature(
            f"{what}, so keys of the new rows may live in partitions that this overwrite keeps; overwrite the whole "
            "table, or append the rows"
        )
    if table.settings.ignore_delete and table.settings.merge_engine == MergeEngine.DEDUPLICATE:
        raise UnsupportedFeature(
            f"{what}, and with '{TableSettings.ignore_delete.key}' = 'true' a key that moves to another partition "
            "could not be deleted from its old one; set the option to 'false'"
        )
