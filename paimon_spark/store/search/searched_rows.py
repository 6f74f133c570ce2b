"""The rows of one state that a search may find, by their ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Predicate
from paimon_spark.format.global_index.blocks import row_numbers
from paimon_spark.format.global_index.numbers import Ints
from paimon_spark.format.manifest import IndexManifestEntry
from paimon_spark.format.schema import ROW_ID, TRACKING_FIELDS
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataField
from paimon_spark.limits import MAX_ROW_IDS
from paimon_spark.merge.keys.row_ids import column_files, end_id, first_id
from paimon_spark.store.metadata.manifest_files import read_global_indexes
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.pruning.by_row_id import with_rows
from paimon_spark.store.read.splits import ReadUnit, Split

_ROW_ID_FIELD = TRACKING_FIELDS[0]


@dataclass(frozen=True)
class SearchedRows:
    """The rows of a plan, of a table with data evolution.

    Attributes:
        table: the table, with the options of the read.
        predicate: the condition of the read.
        snapshot: the state that is read.
        splits: its splits.
        reader: makes what reads the batches of a split, of some columns.
    """

    table: Table
    predicate: Predicate
    snapshot: Snapshot
    splits: Sequence[ReadUnit]
    reader: Callable[[tuple[DataField, ...]], Callable[[ReadUnit], Iterator[pa.RecordBatch]]]

    @cached_property
    def indexes(self) -> list[IndexManifestEntry]:
        """The files of indexes of the whole table."""
        return read_global_indexes(self.table.file_io, self.table.location, self.snapshot.index_manifest)

    @cached_property
    def ids(self) -> BitMap64 | None:
        """The ids of the rows; None: they are too many for a set, or it is not known which they are.

        Where no row is deleted, and there is no condition, metadata tell them.
        """
        units = [unit for unit in self.splits if isinstance(unit, Split)]
        if len(units) < len(self.splits) or sum(unit.row_count for unit in units) > MAX_ROW_IDS:
            return None
        found = BitMap64()
        if isinstance(self.predicate, AlwaysTrue) and not any(unit.deletions for unit in units):
            for unit in units:
                for file in unit.raw_files:
                    found.add_range(first_id(file), end_id(file))
                for group in map(column_files, unit.sections):
                    found.add_range(group.first_row_id, group.first_row_id + group.row_count)
            return found
        read = self.reader((_ROW_ID_FIELD,))
        for unit in units:
            for batch in read(unit):
                found |= row_numbers(batch.column(ROW_ID).to_numpy())
        return found

    def batches(self, fields: tuple[DataField, ...], wanted: BitMap64 | None) -> Iterator[pa.RecordBatch]:
        """The rows with some ids.

        Args:
            fields: their columns; the ids of rows are behind them if they are not among them.
            wanted: among ``ids``; None: all.
        """
        read = self.reader(fields if _ROW_ID_FIELD in fields else (*fields, _ROW_ID_FIELD))
        if wanted is None or wanted == self.ids:
            for unit in self.splits:
                yield from read(unit)
            return
        if not wanted:
            return
        numbers = id_numbers(wanted)
        for unit in self.splits:
            assert isinstance(unit, Split), "ids has looked"
            part = with_rows(unit, wanted)
            for batch in () if part is None else read(part):
                ids = batch.column(ROW_ID).to_numpy()
                places = np.minimum(np.searchsorted(numbers, ids), len(numbers) - 1)
                mask = numbers[places] == ids
                yield batch if mask.all() else batch.filter(pa.array(mask))

    def in_order(self, fields: tuple[DataField, ...], ids: Ints) -> pa.Table:
        """The rows with some ids, in their order.

        Args:
            fields: their columns, and no others.
            ids: among ``ids``, each once; one at least.
        """
        rows = pa.Table.from_batches(list(self.batches(fields, row_numbers(ids))))
        there = rows.column(ROW_ID).to_numpy()
        by_id = np.argsort(there)
        names = [field.name for field in fields]
        return rows.select(names).take(pa.array(by_id[np.searchsorted(there, ids, sorter=by_id)]))


def id_numbers(ids: BitMap64) -> Ints:
    """The ids of a set, ascending."""
    return np.frombuffer(ids.to_array(), np.uint64).astype(np.int64)
