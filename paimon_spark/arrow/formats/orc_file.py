"""Reading ORC data files as streams of batches (format section 7.4).

Only bounds that are right for every writer are used. Floats (NaN), timestamps (zones, rounding to milliseconds), CHAR
(blank padding changes the order) and binary columns have none.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from decimal import Decimal, InvalidOperation
from functools import cached_property, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from paimon_spark.arrow.conform import Conform, conform, list_of, map_of, struct_of
from paimon_spark.arrow.formats.file_access import (
    RowGroup,
    RowRange,
    damaged,
    empty_batches,
    groups_with,
    positioned,
    reading,
    spans,
)
from paimon_spark.arrow.formats.orc_footer import OrcTail, read_tail
from paimon_spark.arrow.formats.orc_timestamps import StripeTimestamps, TimestampPlan, plan_timestamps
from paimon_spark.arrow.formats.patched_file import PatchedFile, ReadAhead, is_remote, native
from paimon_spark.arrow.formats.protobuf import Message, decode_message, maybe_bytes, maybe_number, zigzag
from paimon_spark.arrow.formats.shared_maps import shared_map_conformer
from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.types import DataField, DataType, Root


class OrcReader:
    """One ORC file (see ``file_access.FileReader``). legacy_ltz: how Java stored TIMESTAMP_LTZ (see orc_timestamps)."""

    def __init__(self, source: Any, where: str, legacy_ltz: bool = True) -> None:
        self._where = where
        self._legacy_ltz = legacy_ltz
        self._shared_maps: dict[tuple[str, pa.DataType], Conform | None] = {}
        with reading(where), damaged(where):
            self._source = native(source)
            self._tail = read_tail(self._source)
            self._names = tuple(self._tail.top_level)
            self._rows = sum(stripe.row_count for stripe in self._tail.stripes)

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def row_count(self) -> int:
        return self._rows

    @cached_property
    def row_groups(self) -> Sequence[RowGroup]:
        groups, first = [], 0
        for i, stripe in enumerate(self._tail.stripes):
            groups.append(RowGroup(first, stripe.row_count, partial(self._stats, i)))
            first += stripe.row_count
        return groups

    def read(
        self,
        columns: Sequence[DataField],
        batch_rows: int,
        row_groups: Sequence[int] | None = None,
        rows: Sequence[RowRange] | None = None,
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        groups = groups_with(self.row_groups, row_groups, rows)
        numbers = [self._tail.top_level[c.name] for c in columns if c.name in self._names]
        with reading(self._where), damaged(self._where):
            plan = plan_timestamps(self._source, self._tail, numbers, self._legacy_ltz)
        for span in [[group] for group in groups] if plan and plan.exact else spans(groups):
            expected = sum(self.row_groups[i].row_count for i in span)
            batches = self._batches(columns, batch_rows, span, plan)
            yield from positioned(batches, self.row_groups[span[0]].first_row, expected, self._where)

    def close(self) -> None:
        self._source.close()

    def _batches(
        self, columns: Sequence[DataField], batch_rows: int, stripes: Sequence[int], plan: TimestampPlan | None
    ) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(columns)
        present = [name for name in schema.names if name in self._names]
        if not present:
            yield from empty_batches(schema, sum(self.row_groups[i].row_count for i in stripes), batch_rows)
            return
        with reading(self._where), damaged(self._where):
            timestamps = StripeTimestamps(self._source, self._tail, stripes[0], plan) if plan else None
            batches = self._stream(present, batch_rows, stripes, plan.exact if plan else ())
        while True:
            with reading(self._where), damaged(self._where):
                batch = next(batches, None)
                if batch is None:
                    return
                batch.validate(full=True)  # ORC has no checksums: lengths and text may be anything
                arrays = [self._column(column, batch, timestamps) for column in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _stream(
        self, names: Sequence[str], batch_rows: int, stripes: Sequence[int], as_long: Collection[int]
    ) -> Iterator[pa.RecordBatch]:
        source, remote = self._source, is_remote(self._source)
        changed = as_long or len(stripes) < len(self._tail.stripes)
        patched: PatchedFile | None = None
        if changed or remote:
            end = self._tail.data_end if changed else source.size()
            tail = self._tail.changed(stripes, as_long) if changed else b""
            base = ReadAhead(source) if remote else source
            patched = PatchedFile(base, end, tail)
            source = pa.PythonFile(patched, mode="r")
        with nullcontext() if patched is None else patched.faults_of_source():
            yield from (
                ds.OrcFileFormat()
                .make_fragment(source)
                .to_batches(
                    columns=list(names),
                    batch_size=batch_rows,
                    use_threads=False,
                    batch_readahead=0,
                    fragment_readahead=0,
                )
            )

    def _column(self, column: DataField, batch: pa.RecordBatch, timestamps: StripeTimestamps | None) -> pa.Array:
        target = arrow_schema([column]).field(0).type
        index = batch.schema.get_field_index(column.name)
        if index < 0:
            return pa.nulls(batch.num_rows, target)
        array = batch.column(index)
        try:
            if (whole := self._shared_map(column.name, array.type, target)) is not None:
                if timestamps is not None:
                    raise UnsupportedFeature("its keys share columns, and timestamps in ORC are not read so")
                return _trimmed(whole(array), column.type)
            if timestamps is not None:
                array = timestamps.restore(array, self._tail.top_level[column.name], target)
            return _trimmed(conform(array, target), column.type)
        except (DataError, UnsupportedFeature) as error:
            raise type(error)(f"reading column '{column.name}' of data file {self._where}: {error}") from None

    def _shared_map(self, name: str, source: pa.DataType, target: pa.DataType) -> Conform | None:
        """What makes maps of a column whose keys share columns; None for any other. The keys are decoded once."""
        if (name, target) not in self._shared_maps:
            known = self._described.field(name).metadata if name in self._described.names else None
            field = pa.field(name, source, metadata=known)
            self._shared_maps[name, target] = shared_map_conformer(field, target, self._where)
        return self._shared_maps[name, target]

    @cached_property
    def _described(self) -> pa.Schema:
        """The schema with what the official writer tells of columns; without columns if it tells nothing."""
        found = self._tail.user_metadata("ARROW:schema")
        return pa.schema([]) if found is None else pa.ipc.read_schema(pa.py_buffer(base64.b64decode(found)))

    def _stats(self, stripe: int, column: str) -> ColumnStats | None:
        with damaged(self._where):
            return stripe_stats(self._tail, stripe, column)


def _trimmed(array: pa.Array, data_type: DataType) -> pa.Array:
    """CHAR values without the blanks ORC pads them with, at any depth."""
    if not _has_char(data_type):
        return array
    if data_type.root is Root.CHAR:
        return pc.utf8_rtrim(array, characters=" ")
    if data_type.root is Root.ROW:
        children = [_trimmed(array.field(i), field.type) for i, field in enumerate(data_type.fields)]
        return struct_of(array, children, list(array.type))
    if data_type.root is Root.ARRAY:
        return list_of(array, _trimmed(array.values, data_type.inner), array.type)
    key = data_type.inner if data_type.root is Root.MULTISET else data_type.key_type
    items = array.items if data_type.root is Root.MULTISET else _trimmed(array.items, data_type.inner)
    return map_of(array, _trimmed(array.keys, key), items, array.type)


def _has_char(data_type: DataType) -> bool:
    inner = [t for t in (data_type.key, data_type.element) if t is not None]
    return data_type.root is Root.CHAR or any(map(_has_char, (*inner, *(f.type for f in data_type.fields))))


_BYTE, _SHORT, _INT, _LONG, _STRING, _DECIMAL, _DATE, _VARCHAR = 1, 2, 3, 4, 7, 14, 15, 16
_VALUES = 1
_INT_STATISTICS, _STRING_STATISTICS, _DECIMAL_STATISTICS, _DATE_STATISTICS = 2, 4, 6, 7
_STATISTICS_OF = {
    _BYTE: _INT_STATISTICS,
    _SHORT: _INT_STATISTICS,
    _INT: _INT_STATISTICS,
    _LONG: _INT_STATISTICS,
    _DATE: _DATE_STATISTICS,
    _STRING: _STRING_STATISTICS,
    _VARCHAR: _STRING_STATISTICS,
    _DECIMAL: _DECIMAL_STATISTICS,
}


def stripe_stats(tail: OrcTail, stripe: int, column: str) -> ColumnStats | None:
    """The statistics of a top-level column in one stripe; None if the file has none."""
    number = tail.top_level.get(column)
    if number is None or stripe >= len(tail.stripe_statistics) or tail.types[number].children:
        return None
    columns = tail.stripe_statistics[stripe]
    if number >= len(columns):
        return None
    values = maybe_number(columns[number], _VALUES)
    nulls = None if values is None else tail.stripes[stripe].row_count - values
    bounds = maybe_bytes(columns[number], _STATISTICS_OF.get(tail.types[number].kind, -1))
    if bounds is None:
        return ColumnStats(None, None, nulls)
    message = decode_message(bounds)
    kind = _STATISTICS_OF[tail.types[number].kind]
    return ColumnStats(_bound(message, 1, kind), _bound(message, 2, kind), nulls)


def _bound(message: Message, field: int, kind: int) -> Any:
    if kind in (_INT_STATISTICS, _DATE_STATISTICS):
        count = maybe_number(message, field)
        return None if count is None else zigzag(count)
    raw = maybe_bytes(message, field)
    if raw is None:
        return None
    try:
        return raw.decode() if kind == _STRING_STATISTICS else Decimal(raw.decode())
    except (UnicodeDecodeError, InvalidOperation):
        return None
