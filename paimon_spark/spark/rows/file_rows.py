"""The changed rows of data files, brought to the tasks that write the files.

A row goes with one number, which tells its file and its place there: Spark moves and sorts it much faster than the name
of the file, which is longer than most rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from paimon_spark.arrow.alignment import StoreRules, align_rows
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.tasks import by_number, with_plain_names
from paimon_spark.spark.native.parquet_scan import ROW_FILE, ROW_NUMBER

MAX_TASKS = 1000  # of one rewrite: many small files share a task
_OWNER, _NUMBER, _PLACE = "_paimon_owner", "_paimon_number", "_paimon_place"
_ROW_BITS = 40  # of a place; those above are of the number of the file
Owners: TypeAlias = Mapping[str, int]
"""The names of files, in a fixed order, with the numbers of those who get their rows: from 0 without a gap."""
FileRows: TypeAlias = tuple[npt.NDArray[np.int64], pa.RecordBatch]
"""Row numbers in a file, ascending, and the columns of these rows."""


def numbered(names: Iterable[str]) -> Owners:
    """An owner for each file."""
    return {name: number for number, name in enumerate(names)}


def brought_to_owners(rows: DataFrame, owners: Owners, columns: Sequence[str]) -> DataFrame:
    """The rows of some files for mapInArrow: those of an owner in one task, sorted by place.

    Args:
        rows: with ROW_FILE and ROW_NUMBER.
        columns: which follow the place.
    """
    known_files = [(name, number, owner) for number, (name, owner) in enumerate(owners.items())]
    known = rows.sparkSession.createDataFrame(known_files, f"{ROW_FILE} string, {_NUMBER} bigint, {_OWNER} int")
    place = sf.shiftleft(_NUMBER, _ROW_BITS).bitwiseOR(sf.col(ROW_NUMBER)).alias(_PLACE)
    owned = rows.join(sf.broadcast(known), ROW_FILE).select(_OWNER, place, *map(quoted, columns))
    count = min(len(set(owners.values())), MAX_TASKS)
    brought = by_number(owned, _OWNER, count).drop(_OWNER)
    return with_plain_names(brought.sortWithinPartitions(_PLACE))


def placed_here(rows: pa.Table, owners: Owners, columns: Sequence[str]) -> pa.Table:
    """As ``brought_to_owners``, in this process: the rows of all owners."""
    numbers = pc.index_in(rows.column(ROW_FILE), pa.array(owners, pa.string()))
    known = rows.filter(numbers.is_valid())
    number = numbers.drop_null().cast(pa.int64())
    place = pc.bit_wise_or(pc.shift_left(number, _ROW_BITS), known.column(ROW_NUMBER))
    return known.select(columns).add_column(0, _PLACE, place).take(pc.sort_indices(place))


def by_file(batches: Iterator[pa.RecordBatch], owners: Owners) -> Iterator[tuple[str, Iterator[FileRows]]]:
    """The rows of each file; those of a file are to be taken before the next.

    Args:
        batches: of what brought_to_owners made.
    """
    names = list(owners)
    found = (piece for batch in batches for piece in _pieces(batch))
    for number, group in itertools.groupby(found, key=lambda piece: piece[0]):
        yield names[number], ((positions, rows) for _, positions, rows in group)


def _pieces(batch: pa.RecordBatch) -> Iterator[tuple[int, npt.NDArray[np.int64], pa.RecordBatch]]:
    """A batch cut where the file changes: the number of the file, and its rows."""
    places = batch.column(0).to_numpy()
    numbers, positions = places >> _ROW_BITS, places & ((1 << _ROW_BITS) - 1)
    cuts = (np.flatnonzero(np.diff(numbers)) + 1).tolist()
    for start, end in itertools.pairwise([0, *cuts, len(places)] if len(places) else []):
        rows = batch.slice(start, end - start)
        yield int(numbers[start]), positions[start:end], rows.select(range(1, batch.num_columns))  # without the place


def new_values(rows: pa.RecordBatch, fields: Sequence[DataField]) -> pa.RecordBatch:
    """The values of rows as they are stored; these have the columns of the fields, in their order."""
    named = pa.RecordBatch.from_arrays(rows.columns, names=[field.name for field in fields])
    return align_rows(named, fields, rules=StoreRules(pads=False))
