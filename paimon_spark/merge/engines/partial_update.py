"""``merge-engine`` = ``partial-update``: later rows fill in and replace columns (Java: PartialUpdateMergeFunction)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from paimon_spark.errors import DataError
from paimon_spark.format.row_kind import DELETE, UPDATE_BEFORE
from paimon_spark.format.schema import SEQUENCE_NUMBER
from paimon_spark.merge.aggregates.registry import ColumnAggregate
from paimon_spark.merge.engines.folding import lasting_refusal
from paimon_spark.merge.engines.groups import Merged, SortedRows, lone_rows, merged_batch, small_windows, sort_rows
from paimon_spark.merge.engines.records import Records, grouped_records, plain_records
from paimon_spark.merge.engines.sequence_groups import SequenceGroup, Sequences
from paimon_spark.merge.keys.window import MergeSpec, Refusal, Window

_WAYS_OUT = (
    "'ignore-delete' = 'true' on the table to ignore such rows, 'partial-update.remove-record-on-delete' = 'true' to "
    "let -D delete the whole row, or sequence groups ('fields.<column>.sequence-group') to retract the columns of a "
    "group, with 'partial-update.remove-record-on-sequence-group' to delete the whole row then"
)


@dataclass(frozen=True)
class PartialUpdate:
    """The engine of one table.

    Attributes:
        values: the columns to merge: all except the primary key.
        required: the NOT NULL columns among them.
        groups: the sequence groups; a column is in at most one.
        functions: the functions of the columns in groups that have one.
        ignore_delete: rows of kind -U and -D are dropped.
        remove_on_delete: a row of kind -D deletes the record.
        remove_on_groups: a row of kind -D that is fresh for one of these groups deletes the record.
    """

    values: frozenset[str]
    required: frozenset[str] = frozenset()
    groups: tuple[SequenceGroup, ...] = ()
    functions: Mapping[str, ColumnAggregate] = field(default_factory=dict)
    ignore_delete: bool = False
    remove_on_delete: bool = False
    remove_on_groups: tuple[SequenceGroup, ...] = ()

    def __call__(
        self, window: Window, spec: MergeSpec, output: Sequence[str], ordered: bool
    ) -> Iterator[pa.RecordBatch]:
        """The merged rows of a window, in key order.

        Raises:
            DataError: a retraction, and no option defines how to treat it; a null in a NOT NULL column; a function
                cannot retract a value, or cannot fold the values.
        """
        alone = lone_rows(window, spec, output)
        if alone is not None:
            yield from alone
            return
        for part in small_windows(window):
            yield from self._merge(part, spec, output)

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """The rows that no merge takes: retractions that no option or a function does not allow."""
        if not self._takes_retractions:
            return (Refusal((UPDATE_BEFORE, DELETE), f"With merge-engine=partial-update, set {_WAYS_OUT}"),)
        if self.ignore_delete:
            return ()
        # A row of kind -D may delete the record before a function gets it.
        kinds = (UPDATE_BEFORE,) if self.remove_on_groups else (UPDATE_BEFORE, DELETE)
        found = []
        for name, function in self.functions.items():
            ways_out = f"'fields.{name}.ignore-retract' = 'true' to let this column ignore such rows"
            found.append(lasting_refusal(function, kinds, ways_out, self._group_of[name].sequence))
        return tuple(refusal for refusal in found if refusal is not None)

    @property
    def _takes_retractions(self) -> bool:
        return bool(self.ignore_delete or self.groups or self.remove_on_delete)

    def columns(self, output: Sequence[str]) -> tuple[str, ...]:
        """The columns that must be read only to merge the output: sequence columns."""
        groups = dict.fromkeys([*self.remove_on_groups, *(self._group_of[n] for n in output if n in self._group_of)])
        return tuple(dict.fromkeys(name for group in groups for name in group.sequence if name not in output))

    def left_alone(self, absent: Set[str]) -> frozenset[str]:
        """The columns among absent that a row does not change when it has null in all of absent.

        If a row has the sequence columns of a group, it replaces all columns of the group, with nulls too. If they are
        null, it replaces none. So columns of a group can be left out only together with its sequence columns.
        """
        return frozenset(name for name in absent & self.values if self._keeps(name, absent))

    def _keeps(self, name: str, absent: Set[str]) -> bool:
        group = self._group_of.get(name)
        if group is None:
            return True
        if name in group.sequence:
            return absent >= {*group.sequence, *group.members}
        function = self.functions.get(name)
        ignores_null = function is not None and not function.spec.null_counts
        return ignores_null or absent >= set(group.sequence)

    @cached_property
    def _group_of(self) -> dict[str, SequenceGroup]:
        """The group of each column that is in one, including sequence columns."""
        return {name: group for group in self.groups for name in (*group.members, *group.sequence)}

    def _merge(self, window: Window, spec: MergeSpec, output: Sequence[str]) -> Iterator[pa.RecordBatch]:
        rows = sort_rows(window, spec)
        sequences: dict[SequenceGroup, Sequences] = {}

        def sequences_of(group: SequenceGroup) -> Sequences:
            if group not in sequences:
                sequences[group] = Sequences(group, window.column)
            return sequences[group]

        records = self._records(rows, [sequences_of(group) for group in self.remove_on_groups])
        numbers = None
        if SEQUENCE_NUMBER in output:
            numbers = records.sequence_numbers(window.column(SEQUENCE_NUMBER).to_numpy())

        def value(name: str) -> pa.Array | None:
            if name not in self.values:
                return None
            column = window.column(name)
            group = self._group_of.get(name)
            if group is None:
                if name in self.required and not self.groups:
                    _check_not_null(name, column, records, rows)
                return records.overlay(column)
            function = self.functions.get(name)
            if name in group.sequence or function is None:
                return records.replace(column, sequences_of(group), name in group.sequence)
            return records.fold(column, sequences_of(group), function)

        merged = Merged(records.last_rows, rows.alone, records.kinds, numbers)
        yield from merged_batch(window, spec, output, merged, value)

    def _records(self, rows: SortedRows, removing: Sequence[Sequences]) -> Records:
        """The rows that count for the record of each key, the same for all columns."""
        if rows.merged_retractions is not None and not self._takes_retractions:
            count = int(np.count_nonzero(rows.merged_retractions))
            raise DataError(
                f"merging rows with merge-engine=partial-update: {count} rows of kind -U or -D meet other rows of "
                f"their key. Set {_WAYS_OUT}"
            )
        if self.groups:
            return grouped_records(rows, self.ignore_delete, removing)
        return plain_records(rows, self.ignore_delete, self.remove_on_delete)


def _check_not_null(name: str, column: pa.Array, records: Records, rows: SortedRows) -> None:
    """Raises DataError if a row that is merged with others holds a null in a NOT NULL column."""
    if not column.null_count:
        return
    nulls = column.is_null().to_numpy(zero_copy_only=False)[records.rows] & np.repeat(~rows.alone, records.sizes)
    if count := int(np.count_nonzero(nulls)):
        raise DataError(
            f"merging rows with merge-engine=partial-update: the NOT NULL column '{name}' is null in {count} rows; "
            "write it in every row, or make the column nullable"
        )
