"""The files of a table for the system tables: manifest entries as columns, partitions as texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.raw_values import from_numpy, text_array
from paimon_spark.arrow.row_columns import row_bytes, row_field
from paimon_spark.arrow.text_casts import cast_texts, listed
from paimon_spark.format.manifests.columns import ManifestColumns
from paimon_spark.format.paths import POSTPONE_BUCKET
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.live_files import Indices, canonical_partitions, fold
from paimon_spark.store.metadata.manifest_files import planned_manifest_columns, read_data_manifests
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.system_tables.request import Request, shown_state

Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]
PartitionTexts: TypeAlias = Callable[[Sequence[bytes], Sequence[DataField]], pa.Array]


@dataclass(frozen=True)
class Entries:
    """Manifest entries of a state whose partition, bucket and level may satisfy the predicate.

    Attributes:
        snapshot: the state.
        columns: all entries, base before delta.
        partition_codes: the code of each entry's partition, see canonical_partitions.
        partition_texts: the text of each distinct partition, in the order of columns.partitions.
        chosen: ascending numbers of entries.
    """

    snapshot: Snapshot
    columns: ManifestColumns
    partition_codes: Indices
    partition_texts: pa.Array
    chosen: Indices

    def live(self) -> Indices:
        """The numbers of the entries of live files."""
        return fold(self.columns, self.partition_codes, self.chosen)

    def partitions_of(self, entries: Indices) -> pa.Array:
        """The text of the partition of each of these entries."""
        return self.partition_texts.take(from_numpy(self.partition_codes[entries]))


def braced_texts(partitions: Sequence[bytes], fields: Sequence[DataField]) -> pa.Array:
    """``{v1, v2}``: the partition cast to a string (Java: RowToStringCastRule)."""
    return listed(partition_values(partitions, fields), len(partitions), "{}")


def no_texts(partitions: Sequence[bytes], fields: Sequence[DataField]) -> pa.Array:
    """For those who need none."""
    return text_array([""] * len(partitions))


def partition_values(partitions: Sequence[bytes], fields: Sequence[DataField]) -> list[pa.Array]:
    """The text of each partition column of arity rows."""
    rows, types = row_bytes(partitions), [field.type for field in fields]
    return [cast_texts(row_field(rows, types, i), t) for i, t in enumerate(types)]


def read_state(request: Request, texts: PartitionTexts = braced_texts, postponed: bool = False) -> Entries | None:
    """The entries of the state that the scan options choose; None before the first commit.

    Args:
        request: the wanted rows and columns.
        texts: formats partitions for the column `partition`.
        postponed: whether postponed files are included.

    Raises:
        CorruptFile: metadata is missing or damaged.
        SnapshotNotFound: the snapshot expires during the read.
    """
    table = request.table
    fields = table.schema.partition_fields
    with shown_state(table) as snapshot:
        if snapshot is None:
            return None
        metas = read_data_manifests(table.file_io, table.location, snapshot)
        columns = planned_manifest_columns(table.file_io, table.location, metas)
    canonical = canonical_partitions(columns, [field.type for field in fields])
    codes = canonical[columns.partition_code]
    shown = texts(columns.partitions, fields)
    mask: Mask = np.ones(len(columns), np.bool_)
    if request.judges("partition"):
        wanted = np.array([request.may_hold(partition=text) for text in shown.to_pylist()], np.bool_)
        mask &= wanted[codes]
    for name, numbers in (("bucket", columns.bucket), ("level", columns.level)):
        if request.judges(name):
            mask &= np.isin(numbers, [i for i in np.unique(numbers).tolist() if request.may_hold(**{name: i})])
    if waits(table) and not postponed:
        mask &= columns.bucket >= 0
    return Entries(snapshot, columns, codes, shown, np.flatnonzero(mask))


def waits(table: Table) -> bool:
    """True if the table has postponed files."""
    return table.settings.bucket == POSTPONE_BUCKET
