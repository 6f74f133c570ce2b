"""Infers from VARIANT values which of their parts get columns of their own (Java: InferVariantShreddingSchema).

What is seen of values is merged, so that it does not matter in which order they come: integers and decimals become the
decimal that holds both, null goes with everything, and any other two types become VARIANT, which stays as it is. Dates,
times and bytes stay as they are too: the official system fails to write columns of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from math import ceil

import numpy as np
import pyarrow as pa

from paimon_spark.arrow import variant_values as vv
from paimon_spark.arrow.shredding.scalars import Scalars
from paimon_spark.arrow.variant_values import Places, VariantValues
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root
from paimon_spark.format.variant import name_order

VARIANT = DataType(Root.VARIANT)
_BIGINT = DataType(Root.BIGINT)
_MOST_FIELDS = 1000
_MOST_DIGITS, _LONG_DIGITS = 38, 18
_SIMPLE = {
    vv.BOOLEAN: DataType(Root.BOOLEAN),
    vv.TEXT: DataType(Root.VARCHAR, length=MAX_LENGTH),
    vv.DOUBLE: DataType(Root.DOUBLE),
    vv.FLOAT: DataType(Root.FLOAT),
}


@dataclass(frozen=True)
class InferenceRules:
    """The options of the inference.

    Attributes:
        most_columns: ``variant.shredding.maxSchemaWidth``.
        most_levels: ``variant.shredding.maxSchemaDepth``.
        least_share: ``variant.shredding.minFieldCardinalityRatio``.
        sample_rows: ``variant.shredding.maxInferBufferRow``.
        later_sample_rows, kept_share: of ``variant.shredding.adaptive.*``; 0 rows: each file is looked at for itself.
    """

    most_columns: int = 300
    most_levels: int = 50
    least_share: float = 0.1
    sample_rows: int = 4096
    later_sample_rows: int = 0
    kept_share: float = 0.05


@dataclass(frozen=True)
class Seen:
    """What is seen of some values.

    Attributes:
        type: None: only the null of JSON; a ROW or an ARRAY has its parts beside it.
        fields: of objects, by name, in the order of names: how often each is there, and what it has.
        element: what the elements of arrays have.
    """

    type: DataType | None = None
    fields: Mapping[str, tuple[float, Seen]] = field(default_factory=dict)
    element: Seen | None = None


@dataclass(frozen=True)
class ColumnSeen:
    """What is seen of a column; count: its values that are not NULL."""

    count: float = 0
    seen: Seen = field(default_factory=Seen)


_OTHER = Seen(VARIANT)


def look_at(column: pa.StructArray, most_levels: int) -> ColumnSeen:
    """What the values of a column have in common.

    Raises:
        DataError: a value is damaged.
    """
    values = VariantValues(column)
    places = values.places.at(values.places.starts >= 0)
    try:
        return ColumnSeen(len(places), _seen(values, places, most_levels))
    except IndexError:
        raise vv.malformed() from None


def _seen(values: VariantValues, places: Places, levels: int) -> Seen:
    kinds = values.kinds(places)
    found = set(np.unique(kinds).tolist()) - {vv.NULL}
    if not found:
        return Seen()
    if found <= {vv.INTEGER, vv.DECIMAL}:
        return Seen(_numbers(values, places, kinds))
    if len(found) > 1:
        return _OTHER
    (kind,) = found
    if kind in _SIMPLE:
        return Seen(_SIMPLE[kind])
    if kind not in (vv.OBJECT, vv.ARRAY) or levels <= 0:
        return _OTHER
    nested = values.children(places.at(kinds == kind))
    if kind == vv.OBJECT:
        return Seen(DataType(Root.ROW), _fields_seen(values, nested, levels - 1))
    has_value = np.zeros(len(nested.counts), np.bool_)
    has_value[nested.parents[values.kinds(nested.places) != vv.NULL]] = True
    element = _seen(values, nested.places, levels - 1) if has_value.all() else _OTHER
    return Seen(DataType(Root.ARRAY, element=VARIANT), element=element)


def _fields_seen(values: VariantValues, fields: vv.Children, levels: int) -> dict[str, tuple[float, Seen]]:
    codes = values.name_codes(fields)
    order = np.argsort(codes, kind="stable")
    present = np.unique(codes)
    bounds = np.append(np.searchsorted(codes[order], present), len(order))
    parts = {values.names.texts[code]: order[bounds[i] : bounds[i + 1]] for i, code in enumerate(present.tolist())}
    names = sorted(parts, key=name_order)[:_MOST_FIELDS]
    return {name: (float(len(parts[name])), _seen(values, fields.places.at(parts[name]), levels)) for name in names}


def _numbers(values: VariantValues, places: Places, kinds: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> DataType:
    scalars = Scalars(values, places, kinds)
    is_integer, numbers = scalars.whole_numbers()
    digits, scales = _stripped(scalars)
    some = numbers[is_integer]
    is_long = (some >= 10**_LONG_DIGITS) | (some <= -(10**_LONG_DIGITS))
    whole = [len(str(abs(int(n)))) for n in (some[~is_long].max(initial=0), some[~is_long].min(initial=0))]
    types = [DataType(Root.DECIMAL, precision=max(whole), scale=0)] if (~is_long).any() else []
    types += [_BIGINT] if is_long.any() else []
    types += [DataType(Root.DECIMAL, precision=d, scale=s) for d, s in {*zip(digits, scales, strict=True)}]
    return reduce(_joined, types)


def _stripped(scalars: Scalars) -> tuple[list[int], list[int]]:
    """The digits and the scales of decimals without the zeros at their ends."""
    digits, scales = [], []
    for number, scale in scalars.decimals():
        while scale and number % 10 == 0:
            number, scale = number // 10, scale - 1
        digits.append(max(len(str(abs(number))), scale))
        scales.append(scale)
    return digits, scales


def merged(one: Seen, other: Seen) -> Seen:
    """What is seen of the values of both."""
    if one.type is None or other.type is None:
        return one if other.type is None else other
    roots = {one.type.root, other.type.root}
    if roots == {Root.ROW}:
        names = sorted({*one.fields, *other.fields}, key=name_order)[:_MOST_FIELDS]
        nothing = (0.0, Seen())
        pairs = {name: (one.fields.get(name, nothing), other.fields.get(name, nothing)) for name in names}
        return Seen(one.type, {name: (a[0] + b[0], merged(a[1], b[1])) for name, (a, b) in pairs.items()})
    if roots == {Root.ARRAY}:
        return replace(one, element=merged(one.element or Seen(), other.element or Seen()))
    return Seen(_joined(one.type, other.type))


def _joined(one: DataType, other: DataType) -> DataType:
    """The scalar type that holds the values of both, or VARIANT."""
    roots = {one.root, other.root}
    if roots == {Root.DECIMAL, Root.BIGINT}:
        decimal = one if one.root is Root.DECIMAL else other
        if decimal.scale == 0 and (decimal.precision or 0) <= _LONG_DIGITS:
            return _BIGINT
        return _joined(decimal, DataType(Root.DECIMAL, precision=19, scale=0))
    if roots == {Root.DECIMAL}:
        scale = max(one.scale or 0, other.scale or 0)
        whole = max((t.precision or 0) - (t.scale or 0) for t in (one, other))
        return (
            DataType(Root.DECIMAL, precision=whole + scale, scale=scale) if whole + scale <= _MOST_DIGITS else VARIANT
        )
    return one if one == other else VARIANT


class Room:
    """How many more columns the shapes of a file may have."""

    def __init__(self, columns: int) -> None:
        self.left: int = columns

    def take(self) -> None:
        self.left -= 1


def shape_of(column: ColumnSeen, rules: InferenceRules, room: Room) -> DataType:
    """The shape in which the values of a column are stored."""
    return _shape(column.seen, ceil(column.count * rules.least_share), room)


def _shape(seen: Seen, least: int, room: Room) -> DataType:
    room.take()
    if room.left <= 0 or seen.type is None or seen.type.root is Root.VARIANT:
        return VARIANT
    if seen.type.root is Root.ROW:
        fields: list[DataField] = []
        for name, (count, part) in seen.fields.items():
            if count >= least and room.left > 0 and name:
                fields.append(DataField(len(fields), name, _shape(part, least, room)))
        return DataType(Root.ROW, fields=tuple(fields)) if fields else VARIANT
    if seen.type.root is Root.ARRAY:
        return DataType(Root.ARRAY, element=_shape(seen.element or Seen(), least, room))
    room.take()
    return _widened(seen.type)


def _widened(scalar: DataType) -> DataType:
    if scalar.root is not Root.DECIMAL:
        return scalar
    is_short = (scalar.precision or 0) <= _LONG_DIGITS
    if is_short and scalar.scale == 0:
        return _BIGINT
    return replace(scalar, precision=_LONG_DIGITS if is_short else _MOST_DIGITS)


def limited(column: ColumnSeen, count: int) -> ColumnSeen:
    """What is seen, as if it were of at most so many values."""
    if column.count <= count or not column.count:
        return column
    return ColumnSeen(count, _scaled(column.seen, count / column.count))


def _scaled(seen: Seen, factor: float) -> Seen:
    fields = {name: (count * factor, _scaled(part, factor)) for name, (count, part) in seen.fields.items()}
    return replace(seen, fields=fields, element=seen.element and _scaled(seen.element, factor))


def combined(before: ColumnSeen, now: ColumnSeen, count: int) -> ColumnSeen:
    """What is seen of earlier files and of this one, as if it were of at most so many values."""
    if not now.count:
        return before
    before = limited(before, count)
    return limited(ColumnSeen(before.count + now.count, merged(before.seen, now.seen)), count)


class AdaptiveShape:
    """The shape of a column, given what the file before had (Java: finalizeAdaptiveSchema)."""

    def __init__(self, rules: InferenceRules, room: Room, values: float) -> None:
        self._rules, self._room, self._values = rules, room, values

    def of(self, both: Seen, now: Seen, before: DataType | None) -> DataType:
        """The shape.

        Args:
            both: what is seen of earlier files and of this one.
            now: what is seen of this one.
            before: the shape that the file before had here; None: it had none.
        """
        self._room.take()
        if self._room.left <= 0:
            return VARIANT
        if now.type is not None and before is not None and not _agree(before, now.type):
            both, before = now, None
        if both.type is None or both.type.root is Root.VARIANT:
            if now.type is not None and now.type.root is not Root.VARIANT:
                both = now
            elif before is not None:
                both = _as_seen(before)
            else:
                return VARIANT
        if both.type is not None and both.type.root is Root.ROW:
            return self._row(both, now, before)
        if both.type is not None and both.type.root is Root.ARRAY:
            inner = before.inner if before is not None and before.root is Root.ARRAY else None
            return DataType(Root.ARRAY, element=self.of(both.element or Seen(), now.element or Seen(), inner))
        self._room.take()
        return _scalar(both.type, now.type, before)

    def _row(self, both: Seen, now: Seen, before: DataType | None) -> DataType:
        had = {f.name: f.type for f in before.fields} if before is not None else {}
        shares = {name: count / self._values if self._values else 0.0 for name, (count, _) in both.fields.items()}
        rules = self._rules
        names = [
            name for name in shares if name and shares[name] >= (rules.kept_share if name in had else rules.least_share)
        ]
        names.sort(key=lambda name: (-shares[name], name not in had, name_order(name)))
        chosen: dict[str, DataType] = {}
        for name in names:
            if self._room.left <= 0:
                break
            current = now.fields[name][1] if name in now.fields else Seen()
            chosen[name] = self.of(both.fields[name][1], current, had.get(name))
        ordered = sorted(chosen, key=name_order)
        fields = tuple(DataField(number, name, chosen[name]) for number, name in enumerate(ordered))
        return DataType(Root.ROW, fields=fields) if fields else VARIANT


def _as_seen(shape: DataType) -> Seen:
    """A shape as if it were seen; its fields are never there."""
    if shape.root is Root.ROW:
        return Seen(shape, {f.name: (0.0, _as_seen(f.type)) for f in shape.fields})
    return Seen(shape, element=_as_seen(shape.inner) if shape.root is Root.ARRAY else None)


def _agree(before: DataType, now: DataType) -> bool:
    nested = {Root.ROW, Root.ARRAY}
    if before.root in nested or now.root in nested:
        return before.root is now.root
    return _joined(before, now).root is not Root.VARIANT


def _scalar(both: DataType | None, now: DataType | None, before: DataType | None) -> DataType:
    if now is None:
        return before or _widened(both or VARIANT)
    if before is None:
        return _widened(now)
    joined = _joined(before, now)
    return _widened(now) if joined.root is Root.VARIANT else joined


def all_seen(columns: Iterable[ColumnSeen]) -> ColumnSeen:
    """What is seen of several parts of a column."""
    parts = list(columns)
    return ColumnSeen(sum(part.count for part in parts), reduce(merged, (part.seen for part in parts), Seen()))
