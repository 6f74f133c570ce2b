"""``merge_map`` (Java: FieldMergeMapAgg), where the last entry of a key stays, and ``merge_map_with_keytime``.

A retracted map removes its keys, whatever their values are. A null map does not count.

Of ``merge_map_with_keytime`` (Java: FieldMergeMapWithKeyTimeAgg) the map values are rows, and one of their fields is
the time, a text that is compared as Java compares strings; of equal times the first stays. A null row removes its key;
a row without a time is dropped. The first map of a key is kept unchanged, though: a null row or a missing time in it is
replaced by any row with a time.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_spark.format.types import STRINGS, DataType, Root
from paimon_spark.merge.aggregates.elements import Elements, elements_of, last_where_sorted
from paimon_spark.merge.aggregates.frame import AggregateSpec, FieldOptions, Fold, Specs, first_where
from paimon_spark.merge.aggregates.parts import fold_in_phases, fold_rest, has_value, only_seeds
from paimon_spark.merge.keys.key_words import Ints, order_fields, pack_fields
from paimon_spark.merge.keys.winners import Groups, Mask, pick_first

_LEAD_OF_E000 = 0xEE  # UTF-8 starts with this byte or a greater one from U+E000 on
_SWAP = np.arange(256, dtype=np.uint8)  # ... and UTF-16 puts U+E000..U+FFFF after all code points above them
_SWAP[0xEE], _SWAP[0xEF] = 0xFE, 0xFF


def merged_map(fold: Fold) -> pa.Array:
    """The map of each key."""
    return fold_rest(fold, only_seeds(fold), _merge)


def _merge(fold: Fold) -> pa.Array:
    entries = elements_of(fold)
    stays = np.zeros(len(entries.items), np.bool_)
    groups = entries.group(entries.columns())
    lasts = groups.order[np.append(groups.starts[1:], len(stays)) - 1] if len(stays) else groups.order
    stays[lasts] = True
    if entries.retracted is not None:
        stays &= ~entries.retracted
    return entries.collect(stays, has_value(fold))


def _objection(data_type: DataType, options: FieldOptions) -> str | None:
    return None if data_type.root is Root.MAP else "needs a MAP"


def latest_map(fold: Fold) -> pa.Array:
    """The map of each key."""
    return fold_rest(fold, only_seeds(fold), _merge_in_phases)


def java_string_order(texts: pa.Array) -> pa.Array:
    """Bytes in the order of Java's String.compareTo, that of UTF-16 code units."""
    _, offsets, data = texts.buffers()
    codes = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    if data is None or not (codes >= _LEAD_OF_E000).any():
        return texts.cast(pa.binary())
    buffers = [texts.buffers()[0], offsets, pa.py_buffer(_SWAP[codes])]
    return pa.Array.from_buffers(pa.binary(), len(texts), buffers, offset=texts.offset)


def _merge_in_phases(fold: Fold) -> pa.Array:
    """Merges late maps as first ones. This changes the result only where a time is missing."""
    cuts = np.zeros(fold.count, np.bool_)
    if fold.late is not None:
        entries = elements_of(fold)
        timeless = _times(entries).is_null().to_numpy(zero_copy_only=False)[entries.items]
        odd = np.zeros(fold.keys, np.bool_)
        odd[entries.keys[timeless]] = True
        cuts = fold.late & np.repeat(odd, fold.sizes)
    return fold_in_phases(fold, cuts, _merge_by_time)


def _merge_by_time(fold: Fold) -> pa.Array:
    entries = elements_of(fold)
    timed = _times(entries).is_valid().to_numpy(zero_copy_only=False)[entries.items]
    is_row = entries.valid(1)
    firsts = first_where(np.ones(fold.count, np.bool_) if fold.valid is None else fold.valid, fold.starts)
    initial = entries.values == firsts[entries.keys]
    stays = np.zeros(len(entries.items), np.bool_)
    if len(stays):
        removes = ~initial if is_row is None else ~initial & ~is_row
        groups = entries.group(entries.columns())
        counts = (timed | initial)[groups.order]
        if is_row is not None:
            counts &= np.arange(len(stays)) > last_where_sorted((removes & ~is_row)[groups.order], groups.starts)
        stays[_latest(entries, groups, counts, timed)] = True
    return entries.collect(stays, has_value(fold))


def _latest(entries: Elements, groups: Groups, counts: Mask, timed: Mask) -> np.ndarray:
    """Of the entries that count the first with the greatest time, one of each group that has any."""
    order = groups.order[counts]
    if not len(order):
        return order
    sizes = np.add.reduceat(counts, groups.starts, dtype=np.intp)
    sizes = sizes[sizes > 0]
    times: list[Ints] = order_fields(java_string_order(_times(entries)), entries.fold.column)
    fields: list[Ints] = [(~timed).view(np.uint8)]
    fields += [~np.where(timed, column[entries.items], 0).astype(column.dtype) for column in times]
    return pick_first(Groups(order, np.cumsum(sizes) - sizes), pack_fields(fields, len(timed)))


def _times(entries: Elements) -> pa.Array:
    """The time of every map value in the child array; null where the row is null too."""
    return entries.children[1].flatten()[_time_field(entries.fold.type, entries.fold.options)]


def _time_field(data_type: DataType, options: FieldOptions) -> int:
    names = [field.name for field in data_type.inner.fields]
    return len(names) - 1 if options.ts_field is None else names.index(options.ts_field)


def _timed_objection(data_type: DataType, options: FieldOptions) -> str | None:
    if data_type.root is not Root.MAP or data_type.inner.root is not Root.ROW:
        return "needs a MAP whose values are ROWs"
    fields = {field.name: field.type for field in data_type.inner.fields}
    if len(fields) < 2:
        return "needs ROWs of at least two fields, one of them the time"
    if options.ts_field is not None and options.ts_field not in fields:
        return f"has 'ts-field' = '{options.ts_field}', which is none of the fields {', '.join(fields)}"
    time = options.ts_field or list(fields)[-1]
    return None if fields[time].root in STRINGS else f"compares times as text, and the field '{time}' is none"


SPECS: Specs = {
    "merge_map": AggregateSpec(merged_map, _objection, retracts=True),
    "merge_map_with_keytime": AggregateSpec(latest_map, _timed_objection, takes_late=True),
}
