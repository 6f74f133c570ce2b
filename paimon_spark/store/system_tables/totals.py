"""$partitions and $buckets: sums over manifest entries (Java: PartitionEntry, BucketEntry).

The largest value of the first partition column among the partitions that have files (Java: MaxPtFunction).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import FileKind
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataField
from paimon_spark.store.commit.partition_registration import is_marked_done
from paimon_spark.store.holds.expired import translate_missing_files
from paimon_spark.store.metadata.live_files import Indices, canonical_row
from paimon_spark.store.metadata.manifest_files import read_index_manifest
from paimon_spark.store.metadata.messages import DELETION_VECTORS
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.scan.new_scan import branches_read
from paimon_spark.store.system_tables.entries import (
    Entries,
    PartitionTexts,
    braced_texts,
    no_texts,
    partition_values,
    read_state,
)
from paimon_spark.store.system_tables.request import (
    NANOS_OF_MILLI,
    Columns,
    MetadataTable,
    Request,
    columns_of_rows,
    fields_of,
)

_NEVER = -(2**63)
Total: TypeAlias = tuple[int, int, int, int | None]
"""Rows, bytes, files, and when the last file was made: the writer's wall clock in millis."""
PARTITION_FIELDS = fields_of("""
    partition STRING
    record_count BIGINT NOT NULL
    file_size_in_bytes BIGINT NOT NULL
    file_count BIGINT NOT NULL
    last_update_time TIMESTAMP(3)
    created_at TIMESTAMP(3)
    created_by STRING
    updated_by STRING
    options STRING
    total_buckets INT NOT NULL
    done BOOLEAN NOT NULL
    deleted_record_count BIGINT
""")
BUCKET_FIELDS = fields_of("""
    partition STRING
    bucket INT NOT NULL
    record_count BIGINT NOT NULL
    file_size_in_bytes BIGINT NOT NULL
    file_count BIGINT NOT NULL
    last_update_time TIMESTAMP(3)
""")


def totals(entries: Entries, groups: Indices, count: int) -> list[Total]:
    """The sums over the chosen entries of each group. Of a file that was deleted again, only the time counts.

    Args:
        entries: the entries of a state.
        groups: the number of the group of each chosen entry.
        count: the number of groups.
    """
    columns, chosen = entries.columns, entries.chosen
    sign = np.where(columns.kind[chosen] == FileKind.DELETE, -1, 1)
    sums = []
    for values in (columns.row_count[chosen], columns.file_size[chosen], np.ones(len(chosen), np.int64)):
        total = np.zeros(count, np.int64)
        np.add.at(total, groups, values * sign)
        sums.append(total.tolist())
    made = columns.attribute("creation_time")
    last = np.full(count, _NEVER, np.int64)
    np.maximum.at(last, groups, np.where(made.valid[chosen], made.values[chosen], _NEVER))
    times = [None if millis == _NEVER else millis for millis in last.tolist()]
    return list(zip(*sums, times, strict=True))


@dataclass(frozen=True)
class PartitionTotal:
    """One partition: its text, its arity row, its sums, and the number of buckets that its last entry names."""

    text: str
    partition: bytes
    total: Total
    total_buckets: int


def partition_totals(request: Request, texts: PartitionTexts) -> list[PartitionTotal]:
    """The partitions that have files, in no order; texts formats them.

    Raises:
        CorruptFile: metadata is missing or damaged.
        SnapshotNotFound: the snapshot expires during the read.
    """
    entries = read_state(request, texts)
    return [] if entries is None else _totals_of(entries)


def _totals_of(entries: Entries) -> list[PartitionTotal]:
    codes, partitions = entries.partition_codes[entries.chosen], entries.columns.partitions
    buckets = np.zeros(len(partitions), np.int64)
    buckets[codes] = entries.columns.total_buckets[entries.chosen]
    shown = entries.partition_texts.to_pylist()
    found = zip(shown, partitions, totals(entries, codes, len(partitions)), buckets.tolist(), strict=True)
    return [PartitionTotal(*values) for values in found if values[2][2] > 0]


def _partitions(request: Request) -> Columns:
    """The partitions, each from the branch that its rows are read from."""
    rows: dict[bytes, tuple[Any, ...]] = {}
    for side in branches_read(request.table):
        rows = {**_rows_of(replace(request, table=side)), **rows}
    return columns_of_rows(PARTITION_FIELDS, sorted(rows.values(), key=lambda row: row[0].encode()))


def _rows_of(request: Request) -> dict[bytes, tuple[Any, ...]]:
    """The row of each partition by its values: several may have the same text, such as '' and ' '."""
    table = request.table
    default = table.settings.partitions.default_name

    def texts(partitions: Sequence[bytes], fields: Sequence[DataField]) -> pa.Array:
        values = [column.to_pylist() for column in partition_values(partitions, fields)]
        rows = zip(*values, strict=True) if values else ((),) * len(partitions)
        return pa.array([_spec_text(row, fields, default) for row in rows], pa.string())

    entries = read_state(request, texts)
    if entries is None:
        return {}
    deleted = _deleted_rows(table, entries.snapshot) if request.wants("deleted_record_count") else {}
    types = table.schema.partition_types
    rows: dict[bytes, tuple[Any, ...]] = {}
    for one in _totals_of(entries):
        count, size, files, time = one.total
        values = canonical_row(one.partition, types)
        gone = deleted.get(values, 0)
        done = request.wants("done") and is_marked_done(table, one.partition)
        shown = (count, size, files, _nanos(time), None, None, None, None, one.total_buckets, done, gone)
        rows[values] = (one.text, *shown)
    return rows


def _spec_text(values: Sequence[str | None], fields: Sequence[DataField], default: str) -> str:
    """``k=v/k2=v2``; null and blank texts show the default name, as their directory does."""
    shown = (default if value is None or not value.strip() else value for value in values)
    return "/".join(f"{field.name}={value}" for field, value in zip(fields, shown, strict=True))


def _deleted_rows(table: Table, snapshot: Snapshot) -> dict[bytes, int | None]:
    """For each partition, the number of rows that deletion vectors delete; None if a vector does not record it."""
    if not table.settings.deletion_vectors_enabled:
        return {}
    with translate_missing_files(table, snapshot.id):
        index = read_index_manifest(table.file_io, table.location, snapshot.index_manifest)
    types = table.schema.partition_types
    deleted: dict[bytes, int | None] = {}
    for entry in index:
        if entry.index_type == DELETION_VECTORS:
            partition = canonical_row(entry.partition, types)
            before = deleted.get(partition, 0)
            counts = [place.cardinality for place in entry.deletion_ranges or ()]
            unknown = before is None or None in counts
            deleted[partition] = None if unknown else (before or 0) + sum(count or 0 for count in counts)
    return deleted


def _buckets(request: Request) -> Columns:
    entries = read_state(request, braced_texts, postponed=True)
    if entries is None:
        return columns_of_rows(BUCKET_FIELDS, ())
    codes = entries.partition_codes[entries.chosen].tolist()
    buckets = entries.columns.bucket[entries.chosen].tolist()
    places = {place: number for number, place in enumerate(dict.fromkeys(zip(codes, buckets, strict=True)))}
    groups = np.fromiter(map(places.__getitem__, zip(codes, buckets, strict=True)), np.int64, len(codes))
    rows: list[tuple[Any, ...]] = []
    for (code, bucket), (count, size, files, time) in zip(places, totals(entries, groups, len(places)), strict=True):
        if files > 0:
            rows.append((entries.partition_texts[code].as_py(), bucket, count, size, files, _nanos(time)))
    return columns_of_rows(BUCKET_FIELDS, sorted(rows, key=lambda row: (row[0].encode(), row[1])))


def _nanos(millis: int | None) -> int | None:
    return None if millis is None else millis * NANOS_OF_MILLI


TABLES = {
    "partitions": MetadataTable(PARTITION_FIELDS, _partitions),
    "buckets": MetadataTable(BUCKET_FIELDS, _buckets),
}


def largest_partition_value(table: Table) -> Any:
    """The largest value, as the internal value of its column; None: no partition with a value has files.

    Texts are compared by their bytes in UTF-8, and NaN is larger than all other numbers, as in Java.

    Args:
        table: a table with partition columns.
    """
    types = table.schema.partition_types
    found = (decode_arity_row(total.partition, types)[0] for total in partition_totals(Request(table), no_texts))
    return max((value for value in found if value is not None), key=_order, default=None)


def _order(value: Any) -> Any:
    if isinstance(value, float):
        return math.isnan(value), value
    return value.encode() if isinstance(value, str) else value
