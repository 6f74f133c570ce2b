"""Our writers of dynamic buckets without Spark: what the roads do, in one process."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from genuine import KINDS
from java_dynamic import Row
from support.oracles.comparing import arrow_batch

from paimon_spark import open_table
from paimon_spark.arrow.row_hash import hash_rows
from paimon_spark.store.buckets.hash_index_files import read_hash_files, read_hashes
from paimon_spark.store.commit.table_commit import CommitResult, TableCommit
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import Split
from paimon_spark.store.scan.stored_keys import key_reader, plan_keys
from paimon_spark.store.write.cross_partition import NEW, CrossPartitionAssigner, KeyRows
from paimon_spark.store.write.hash_assigner import HashAssigner, key_numbers, plan_channels
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import WritePlan, plan_write


def write_dynamic(
    path: str,
    tasks: Sequence[tuple[Sequence[Row], Sequence[str] | None]],
    told: bool,
    overwrite: Mapping[str, str] | None = None,
) -> CommitResult | None:
    """One commit. told: as on the road with shuffles, where one task has all rows."""
    table, user = open_table(path), str(uuid.uuid4())
    plan, messages = plan_write(table, overwrite is not None), []
    for number, (rows, kinds) in enumerate(tasks):
        writer, batch = TableWrite(table, user, number, plan), arrow_batch(rows, table.schema.fields)
        writer.write(batch, codes(kinds), exact_buckets(table, plan, batch) if told else None)
        messages += writer.finish()
    commit = TableCommit(table, user, plan.since)
    if overwrite is None:
        return commit.append(messages)
    return commit.overwrite(messages, overwrite or "dynamic")


def exact_buckets(table: Table, plan: WritePlan, batch: pa.RecordBatch) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """The buckets that the assigners of a job give to rows."""
    channels, numbers = plan_channels(table, 5), key_numbers(table, batch)
    order = np.argsort(numbers, kind="stable")
    partitions = batch.take(pa.array(order))
    buckets = np.empty(batch.num_rows, np.int32)
    buckets[order] = HashAssigner(table, plan.dynamic, channels).assign(numbers[order], partitions)
    return buckets


def write_cross_partition(
    path: str, rows: Sequence[Row], kinds: Sequence[str] | None, shares: int = 2
) -> CommitResult | None:
    """One commit of a job with so many assigners."""
    table, user = open_table(path), str(uuid.uuid4())
    plan = plan_write(table)
    batch = arrow_batch(rows, table.schema.fields)
    parts = [_parts(table, batch, codes(kinds), NEW, np.arange(len(rows)))]
    parts += _keys(table)
    all_rows = pa.concat_batches([part.rows for part in parts])
    kinds_of, buckets, places = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("kinds", "buckets", "places")
    )
    key = tuple(table.schema.by_name[name] for name in table.schema.primary_keys)
    share_of = hash_rows(all_rows, key) % shares
    writer = TableWrite(table, user, 0, plan)
    for share in range(shares):
        chosen = np.flatnonzero(share_of == share)
        given = KeyRows(all_rows.take(pa.array(chosen)), kinds_of[chosen], buckets[chosen], places[chosen])
        found = CrossPartitionAssigner(table, plan.dynamic, share, shares).assign(given)
        order = pa.array(np.argsort(found.places, kind="stable"))
        fitting = pa.RecordBatch.from_arrays(found.rows.take(order).columns, schema=batch.schema)
        if fitting.num_rows:
            writer.write(fitting, found.kinds[order], found.buckets[order])
    return TableCommit(table, user, plan.since).append(writer.finish())


def _keys(table: Table) -> list[KeyRows]:
    """The keys that the table has, where they are."""
    snapshot, found = table.snapshots.latest(), list[KeyRows]()
    if snapshot is None:
        return found
    reader = key_reader(table, table.schema.fields)
    for split in plan_keys(table, snapshot):
        assert isinstance(split, Split)
        for batch in reader.read(split):
            found.append(_parts(table, batch, None, split.bucket, np.full(batch.num_rows, -1)))
    return found


def _parts(
    table: Table,
    batch: pa.RecordBatch,
    kinds: np.ndarray[tuple[int], np.dtype[np.int8]] | None,
    bucket: int,
    places: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> KeyRows:
    nullable = pa.schema([field.with_nullable(True) for field in batch.schema])
    rows = pa.RecordBatch.from_arrays(batch.columns, schema=nullable)
    none = np.zeros(batch.num_rows, np.int8)
    return KeyRows(rows, none if kinds is None else kinds, np.full(batch.num_rows, bucket, np.int32), places)


def codes(kinds: Sequence[str] | None) -> np.ndarray[tuple[int], np.dtype[np.int8]] | None:
    return None if kinds is None else np.array([KINDS.index(kind) for kind in kinds], np.int8)


def index_of(path: str) -> dict[tuple[bytes, int], int]:
    """(partition, hash) -> bucket; a hash in two buckets of a partition is an error."""
    table = open_table(path)
    latest, found = table.snapshots.latest(), dict[tuple[bytes, int], int]()
    for buckets in read_hash_files(table, latest and latest.index_manifest).values():
        for entry in buckets.values():
            for value in read_hashes(table, entry).tolist():
                place = entry.partition, value
                assert place not in found, f"{place} is in the buckets {found[place]} and {entry.bucket}"
                found[place] = entry.bucket
    return found
