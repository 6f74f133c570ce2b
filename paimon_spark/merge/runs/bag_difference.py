"""The difference of two states of a table without keys: each row as often as it occurs more on one side.

The rows have no order, so they are divided into shares by a hash of their values, and each share is compared by itself:
memory holds one share of both states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.row_hash import hash_rows
from paimon_spark.format.row_kind import DELETE, INSERT
from paimon_spark.format.schema import VALUE_KIND
from paimon_spark.format.types import NESTED, DataField
from paimon_spark.merge.aggregates.equality import equality_columns, group_equal
from paimon_spark.merge.keys.winners import Mask

Rows: TypeAlias = Callable[[], Iterator[pa.RecordBatch]]
"""Reads the rows of a state, from the start each time."""


@dataclass(frozen=True)
class BagSpec:
    """The columns to compare, and the form of the result.

    Attributes:
        fields: all columns of the rows. Rows are equal if all columns are: NaN equals NaN, -0.0 does not equal 0.0.
        output: names of the columns of the result; with ``_VALUE_KIND`` among them, +I or -D.
        keeps_gone: whether the result has rows, as -D, that occur more often in the state before.
        shares: the number of parts to compare one after the other. All rows are read once for each.
    """

    fields: tuple[DataField, ...]
    output: tuple[str, ...]
    keeps_gone: bool
    shares: int = 1


def bag_difference(before: Rows, after: Rows, spec: BagSpec) -> Iterator[pa.RecordBatch]:
    """The rows that occur more often in the state after than before, and, if wanted, the opposite ones as deletes.

    Raises:
        UnsupportedFeature: a column of a type whose values cannot be compared.
    """
    for share in range(spec.shares):
        old, new = ([_share(batch, spec, share) for batch in rows()] for rows in (before, after))
        rows = pa.concat_batches([*old, *new]) if old or new else None
        if rows is None or not rows.num_rows:
            continue
        kept, gone = _unpaired(rows, spec, sum(batch.num_rows for batch in old))
        mask = kept | gone if spec.keeps_gone else kept
        if mask.any():
            yield _output(rows.filter(pa.array(mask)), gone[mask], spec)


def _share(batch: pa.RecordBatch, spec: BagSpec, share: int) -> pa.RecordBatch:
    """The rows of one share; the hash ignores nested columns."""
    flat = [field for field in spec.fields if field.type.root not in NESTED]
    if spec.shares == 1 or not flat:
        return batch.slice(0, batch.num_rows if share == 0 else 0)
    return batch.filter(pa.array(hash_rows(batch, flat) % spec.shares == share))


def _unpaired(rows: pa.RecordBatch, spec: BagSpec, old_count: int) -> tuple[Mask, Mask]:
    """Which rows of the state after, and which of the state before, have no equal row on the other side to pair with.

    Args:
        rows: the rows of the state before, then those of the state after.
        spec: the columns to compare.
        old_count: the number of rows of the state before.
    """
    columns = [column for f in spec.fields for column in equality_columns(rows.column(f.name), f.name)]
    groups = group_equal(columns, rows.num_rows)
    sizes = np.diff(groups.starts, append=rows.num_rows)
    is_old = groups.order < old_count  # equal rows keep their order: old ones first
    old_sizes = np.add.reduceat(is_old, groups.starts, dtype=np.intp)
    place = np.arange(rows.num_rows) - np.repeat(groups.starts, sizes)
    pairs = np.repeat(np.minimum(old_sizes, sizes - old_sizes), sizes)
    rank = np.where(is_old, place, place - np.repeat(old_sizes, sizes))
    kept, gone = np.zeros(rows.num_rows, np.bool_), np.zeros(rows.num_rows, np.bool_)
    kept[groups.order] = ~is_old & (rank >= pairs)
    gone[groups.order] = is_old & (rank >= pairs)
    return kept, gone


def _output(rows: pa.RecordBatch, gone: npt.NDArray[np.bool_], spec: BagSpec) -> pa.RecordBatch:
    if VALUE_KIND in spec.output:
        kinds = pa.array(np.where(gone, DELETE, INSERT).astype(np.int8))
        rows = rows.append_column(pa.field(VALUE_KIND, pa.int8(), nullable=False), kinds)
    return rows.select(list(spec.output))
