"""The input of a merge: its rules, and the rows of all runs in one range of keys.

An engine is a function from a window to rows (``Engine``). The window has all rows of each of its keys. Engines use
``winners`` with ``Window.words`` (which rows have the same key) and ``row_order`` (their order within a key).
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.raw_values import to_numpy
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.row_kind import Kinds, is_retract
from paimon_spark.format.schema import VALUE_KIND, TableSchema
from paimon_spark.format.types import DataField
from paimon_spark.merge.keys.key_words import KeyColumn, Words, concat_columns, key_words
from paimon_spark.merge.keys.winners import Groups, group_rows


@dataclass(frozen=True)
class MergeSpec:
    """How rows of equal keys become one row (format section 7.2; features section 3.4).

    Attributes:
        key_fields: the key columns in key order, by their names in the batches.
        value_names: the value columns; engines that merge column by column need them.
        sequence_fields, sequence_descending: ``sequence.field`` and its sort order.
        ignore_delete: rows of kind -U and -D are dropped before the merge.
        ignore_update_before: rows of kind -U are dropped before the merge.
        keep_deletes: keys whose merged row is a retraction are kept; a compaction into any but the last level needs
            them.
        has_sequence: batches hold ``_SEQUENCE_NUMBER``; if not, a later run is newer.
        has_kind: batches hold ``_VALUE_KIND``; if not, every row is an insert.
    """

    key_fields: tuple[DataField, ...]
    value_names: tuple[str, ...] = ()
    sequence_fields: tuple[DataField, ...] = ()
    sequence_descending: bool = False
    ignore_delete: bool = False
    ignore_update_before: bool = False
    keep_deletes: bool = False
    has_sequence: bool = True
    has_kind: bool = True

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.key_fields)


@dataclass(frozen=True)
class Refusal:
    """Rows that the engine of a table can never merge with other rows of their key, whatever these are.

    Attributes:
        kinds: theirs.
        reason: why, and what to set; full sentences.
        columns: only rows with a value in one of these are meant; (): all.
    """

    kinds: tuple[int, ...]
    reason: str
    columns: tuple[str, ...] = ()

    def rows(self, batch: pa.RecordBatch, kinds: Kinds) -> npt.NDArray[np.bool_]:
        """True for the rows of a batch that are meant."""
        meant = np.isin(kinds, self.kinds)
        if self.columns and meant.any():
            meant &= np.logical_or.reduce([to_numpy(batch.column(name).is_valid()) for name in self.columns])
        return meant


def merge_spec(schema: TableSchema, settings: TableSettings) -> MergeSpec:
    """The rules by which whole rows of a table with a primary key merge, as its options say.

    Args:
        schema: the columns and keys of the table.
        settings: the options of the table, with those of the call on top.
    """
    return MergeSpec(
        key_fields=schema.key_fields,
        value_names=schema.names,
        sequence_fields=tuple(schema.by_name[name] for name in settings.sequence_field),
        sequence_descending=settings.sequence_sort_order == "descending",
        ignore_delete=settings.ignore_delete,
        ignore_update_before=settings.ignore_update_before,
    )


@dataclass(frozen=True, slots=True)
class Piece:
    """Neighbouring rows of one run.

    Attributes:
        keys: the key columns of the rows.
        merged: True for rows that are merged even if they are the only row of their key, which is otherwise kept
            unchanged. None: for no row.
    """

    rows: pa.RecordBatch
    keys: tuple[KeyColumn, ...]
    merged: npt.NDArray[np.bool_] | None = None

    def part(self, start: int, end: int) -> Piece:
        """The rows from start to before end."""
        merged = None if self.merged is None else self.merged[start:end]
        return Piece(self.rows.slice(start, end - start), tuple([keys[start:end] for keys in self.keys]), merged)


@dataclass(frozen=True)
class Window:
    """All rows of all runs whose keys lie in one range.

    Attributes:
        pieces: not empty, sorted by key, older runs first.
        grouped: ``groups``, if they are already known.
    """

    pieces: tuple[Piece, ...]
    grouped: Groups | None = None

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The number of the first row of every piece, rows counted through all pieces."""
        ends = np.cumsum([piece.rows.num_rows for piece in self.pieces]).tolist()
        return (0, *ends[:-1])

    @cached_property
    def row_count(self) -> int:
        return sum(piece.rows.num_rows for piece in self.pieces)

    @cached_property
    def merged(self) -> npt.NDArray[np.bool_] | None:
        """``Piece.merged`` of all rows."""
        if all(piece.merged is None for piece in self.pieces):
            return None
        masks = (np.zeros(p.rows.num_rows, np.bool_) if p.merged is None else p.merged for p in self.pieces)
        return np.concatenate([*masks])

    @cached_property
    def keys(self) -> tuple[KeyColumn, ...]:
        """The key columns of all rows."""
        return tuple(concat_columns([piece.keys for piece in self.pieces]))

    def words(self) -> list[Words]:
        """The keys of all rows (see key_words)."""
        return key_words(self.keys, self.starts)

    @cached_property
    def groups(self) -> Groups:
        """The rows by key."""
        return self.grouped or group_rows(self.words())

    def row(self, number: int) -> pa.RecordBatch:
        """One row, with all columns of its piece."""
        place = bisect.bisect_right(self.starts, number) - 1
        return self.pieces[place].rows.slice(number - self.starts[place], 1)

    def column(self, name: str) -> pa.Array:
        """One column of all rows."""
        arrays = [piece.rows.column(name) for piece in self.pieces]
        return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)

    def kinds(self, spec: MergeSpec) -> Kinds | None:
        """The row kinds, or None where no row retracts."""
        if not spec.has_kind:
            return None
        kinds: Kinds = to_numpy(self.column(VALUE_KIND))
        return kinds if is_retract(kinds).any() else None


Engine: TypeAlias = Callable[[Window, MergeSpec, Sequence[str], bool], Iterable[pa.RecordBatch]]
"""(window, spec, output columns, ordered) -> the merged rows of the window, in key order where ordered is set."""
