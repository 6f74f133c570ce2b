"""Makes shredded values of VARIANT whole.

A shredded value (Parquet: VariantShredding) is a struct of ``value``, bytes as in ``format.variant``, and
``typed_value``, a column of a type: a value of this type is in the latter, any other in the former. A typed value may
be a struct of shredded fields, beside which ``value`` is an object of the other fields, or a list of shredded
elements. Java: ShreddingUtils.rebuild.

All rows are made at once if the metadata of each have the names of its shredded fields, where writers of shredded files
leave them. Else values are put together row by row: each row gets metadata of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow import variant_values as vv
from paimon_spark.arrow.raw_values import Booleans, Int64s, from_numpy, placed, valid_mask
from paimon_spark.arrow.types import METADATA, TYPED, VALUE, VARIANT
from paimon_spark.arrow.variant_building import arrays, either, objects, scalars
from paimon_spark.arrow.variant_values import VariantValues, slices
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format import variant
from paimon_spark.format.variant import Names, name_order

_DAMAGED = "a shredded value of VARIANT is damaged"
Parts: TypeAlias = list[bytes | None]
"""For each row the bytes of a value; None: it has none, which is another thing than the null of JSON."""
_JSON_NULL = b"\x00"
_NOTHING = ": it has no bytes, or no metadata"


def whole_variants(column: pa.StructArray, is_part: bool = False) -> pa.Array:
    """The values, of which ``metadata`` is a field too, as VARIANT; nulls stay null.

    Args:
        column: as it lies in a file.
        is_part: some columns of it are not read: a value that has nothing in the others is the null of JSON.

    Raises:
        DataError: a value is damaged.
        UnsupportedFeature: a typed value has a type that the rules of shredding do not have.
    """
    made = _rebuilt(column, is_part)
    return _row_by_row(column, is_part) if made is None else made


def _rebuilt(column: pa.StructArray, is_part: bool) -> pa.Array | None:
    """The values; None: the metadata of a row lack a name."""
    fields = _fields(column)
    present = valid_mask(column)
    values = VariantValues(_as_variant(column, fields[METADATA]))
    rebuilder = _Rebuilder(values.names)
    try:
        whole = rebuilder.parts(fields, values.places.owners)
    except IndexError:
        raise vv.malformed() from None
    if rebuilder.lacks_names:
        return None
    if whole.null_count and not is_part and not (valid_mask(whole) | ~present).all():
        raise DataError(_DAMAGED + _NOTHING)
    mask = column.is_null() if column.null_count else None
    metadata = fields[METADATA].cast(pa.binary()).fill_null(b"")
    value = whole.cast(pa.binary()).fill_null(_JSON_NULL)
    return pa.StructArray.from_arrays([value, metadata], fields=list(VARIANT), mask=mask)


def _as_variant(column: pa.StructArray, metadata: pa.Array) -> pa.StructArray:
    """A column of VARIANT with these metadata, whose values are not looked at."""
    nothing = pa.Array.from_buffers(
        pa.binary(), len(column), [None, pa.py_buffer(bytes(4 * len(column) + 4)), pa.py_buffer(b"")]
    )
    mask = column.is_null() if column.null_count else None
    if metadata.null_count and not (valid_mask(metadata) | ~valid_mask(column)).all():
        raise DataError(_DAMAGED + _NOTHING)
    arrays = [nothing, metadata.cast(pa.binary()).fill_null(b"")]
    return pa.StructArray.from_arrays(arrays, fields=list(VARIANT), mask=mask)


def _fields(array: pa.StructArray) -> dict[str, pa.Array]:
    """The columns of structs, null where the struct is."""
    return dict(zip((field.name for field in array.type), array.flatten(), strict=True))


class _Rebuilder:
    """Makes values of one column.

    Attributes:
        lacks_names: whether a row has a field whose name its metadata lack.
    """

    def __init__(self, names: vv.Dictionary) -> None:
        self._names = names
        self.lacks_names = False
        self._ids: dict[str, Int64s] = {}
        ranked = sorted(range(len(names.texts)), key=lambda code: name_order(names.texts[code]))
        self._ranks = np.zeros(len(names.texts), np.int64)
        self._ranks[ranked] = np.arange(len(ranked))

    def parts(self, fields: dict[str, pa.Array], owners: Int64s) -> pa.Array:
        """The bytes of each value as large binaries; null where there is none.

        Args:
            fields: ``value``, ``typed_value`` or both.
            owners: which metadata each row has.
        """
        plain = fields[VALUE].cast(pa.large_binary()) if VALUE in fields else pa.nulls(len(owners), pa.large_binary())
        typed = fields.get(TYPED)
        if typed is None:
            return plain
        if pt.is_struct(typed.type):
            return self._objects(typed, plain, owners)
        made = self._arrays(typed, owners) if pt.is_list(typed.type) else scalars(typed)
        return either(made, plain)

    def _objects(self, typed: pa.StructArray, plain: pa.Array, owners: Int64s) -> pa.Array:
        is_object = valid_mask(typed)
        columns = {name: self.parts(_fields(array), owners) for name, array in _fields(typed).items()}
        entries = _Entries(len(owners))
        for name, column in columns.items():
            rows = np.flatnonzero(valid_mask(column) & is_object)
            if len(rows):
                ids = self._ids_of(name)[owners[rows]]
                if (ids < 0).any():
                    self.lacks_names = True
                    return pa.nulls(len(owners), pa.large_binary())
                entries.add(rows, ids, self._ranks[self._names.code(name)], column, rows)
        self._add_rest(entries, plain, is_object, owners, set(columns))
        rows, ids, order = entries.sorted()
        counts = np.bincount(rows, minlength=len(owners))[is_object]
        made = objects(counts, ids, entries.parts(), order)
        found = made.take(placed(np.arange(len(made)), is_object))
        if is_object.all():
            return found
        return either(found, plain)

    def _ids_of(self, name: str) -> Int64s:
        if name not in self._ids:
            self._ids[name] = self._names.ids_of(self._names.code(name))
        return self._ids[name]

    def _add_rest(
        self, entries: _Entries, plain: pa.Array, is_object: Booleans, owners: Int64s, shredded: set[str]
    ) -> None:
        """The fields of objects that are in ``value``."""
        has_rest = valid_mask(plain) & is_object
        if not has_rest.any():
            return
        rest = VariantValues.with_names(plain, has_rest, owners, self._names)
        places = rest.places.at(has_rest)
        if (rest.kinds(places) != vv.OBJECT).any():
            raise vv.malformed()
        fields = rest.children(places)
        codes = rest.name_codes(fields)
        doubled = [code for code, name in enumerate(self._names.texts) if name in shredded]
        if np.isin(codes, doubled).any():
            raise DataError(f"{_DAMAGED}: a field is there twice")
        own = fields.places
        parts = slices(rest.buffer.bytes, own.starts, own.starts + rest.sizes(own))
        rows = np.flatnonzero(has_rest)[fields.parents]
        entries.add(rows, fields.ids, self._ranks[codes], parts, np.arange(len(parts)))

    def _arrays(self, typed: pa.ListArray, owners: Int64s) -> pa.Array:
        is_array = valid_mask(typed)
        offsets = np.frombuffer(typed.buffers()[1], np.int32, len(typed) + 1, typed.offset * 4).astype(np.int64)
        sizes = np.diff(offsets)
        counts = np.where(is_array, sizes, 0)
        elements = typed.values
        if not is_array.all() and (sizes[~is_array] > 0).any():  # of a null nothing is looked at
            kept = np.repeat(is_array, sizes)
            elements = elements.slice(offsets[0], offsets[-1] - offsets[0]).filter(from_numpy(kept))
        else:
            elements = elements.slice(offsets[0], offsets[-1] - offsets[0])
        parts = self.parts(_fields(elements), np.repeat(owners, counts))
        if parts.null_count and not self.lacks_names:
            raise DataError(f"{_DAMAGED}: an element of an array has no bytes")
        made = arrays(counts[is_array], parts, np.arange(len(parts)))
        return made.take(placed(np.arange(len(made)), is_array))


class _Entries:
    """The fields of objects, gathered from columns."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._rows: list[Int64s] = []
        self._ids: list[Int64s] = []
        self._ranks: list[Int64s] = []
        self._parts: list[pa.Array] = []
        self._places: list[Int64s] = []
        self._total = 0

    def add(self, rows: Int64s, ids: Int64s, ranks: Int64s | np.int64, parts: pa.Array, places: Int64s) -> None:
        """Fields of rows; places: where their values are among the parts."""
        self._rows.append(rows)
        self._ids.append(ids)
        self._ranks.append(np.broadcast_to(ranks, rows.shape))
        self._parts.append(parts)
        self._places.append(places + self._total)
        self._total += len(parts)

    def parts(self) -> pa.Array:
        return pa.concat_arrays(self._parts) if self._parts else pa.array([], pa.large_binary())

    def sorted(self) -> tuple[Int64s, Int64s, Int64s]:
        """The row, the id and the place of each, row by row and in the order of the names."""
        if not self._rows:
            nothing = np.empty(0, np.int64)
            return nothing, nothing, nothing
        rows, ids, ranks, places = map(_joined, (self._rows, self._ids, self._ranks, self._places))
        order = np.lexsort((ranks, rows))
        return rows[order], ids[order], places[order]


def _joined(parts: Sequence[Int64s]) -> Int64s:
    return np.concatenate(parts)


def _row_by_row(array: pa.StructArray, is_part: bool) -> pa.Array:
    """The values, each with metadata of its own, to which the names of its shredded fields are added."""
    present = array.is_valid().to_pylist()
    fields = _fields(array)
    metadata = fields[METADATA].dictionary_encode()
    names = [Names(data) for data in metadata.dictionary.to_pylist()]
    codes = metadata.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    rows = _NamesOfRows(names, codes)
    values = _whole(fields, rows)
    whole: list[dict[str, bytes] | None] = []
    for is_there, found, code in zip(present, values, codes.tolist(), strict=True):
        value = _JSON_NULL if found is None and is_part else found
        if is_there and (value is None or code < 0):
            raise DataError(f"{_DAMAGED}{_NOTHING}")
        whole.append({VALUE: value, METADATA: names[code].metadata()} if is_there and value is not None else None)
    return pa.array(whole, VARIANT)


class _NamesOfRows:
    """The names that each row has in its metadata."""

    def __init__(self, names: Sequence[Names], codes: npt.NDArray[Any]) -> None:
        self._names = names
        self.codes = codes

    def __getitem__(self, row: int) -> Names:
        return self._names[int(self.codes[row])]

    def repeated(self, counts: npt.NDArray[Any]) -> _NamesOfRows:
        """Those of the elements of lists."""
        return _NamesOfRows(self._names, np.repeat(self.codes, counts))


def _whole(fields: dict[str, pa.Array], rows: _NamesOfRows) -> Parts:
    plain: Parts = fields[VALUE].to_pylist() if VALUE in fields else [None] * len(rows.codes)
    typed = fields.get(TYPED)
    if typed is None:
        return plain
    if pt.is_struct(typed.type):
        return _objects(typed, plain, rows)
    made = _arrays(typed, rows) if pt.is_list(typed.type) else _scalars(typed)
    return [value if whole is None else whole for whole, value in zip(made, plain, strict=True)]


def _objects(typed: pa.StructArray, plain: Parts, rows: _NamesOfRows) -> Parts:
    """Objects of the shredded fields and of those in ``value``; what is no object is in ``value`` alone."""
    shredded = {name: _whole(_fields(column), rows) for name, column in _fields(typed).items()}
    columns = sorted(shredded.items(), key=lambda item: variant.name_order(item[0]))
    found: Parts = []
    for row, is_object in enumerate(typed.is_valid().to_pylist()):
        rest = plain[row]
        if not is_object:
            found.append(rest)
            continue
        names = rows[row]
        fields = [(names.id_of(name), part) for name, column in columns if (part := column[row]) is not None]
        if rest is not None:
            others = variant.object_fields(rest)
            if any(names.names[number] in shredded for number, _ in others):
                raise DataError(f"{_DAMAGED}: a field is there twice")
            fields = sorted((*fields, *others), key=lambda field: variant.name_order(names.names[field[0]]))
        found.append(variant.object_of(fields))
    return found


def _arrays(typed: pa.ListArray, rows: _NamesOfRows) -> Parts:
    offsets = typed.offsets.to_numpy()
    elements = typed.values.slice(offsets[0], offsets[-1] - offsets[0])
    parts = _whole(_fields(elements), rows.repeated(np.diff(offsets)))
    if None in parts:
        raise DataError(f"{_DAMAGED}: an element of an array has no bytes")
    bounds = pairwise((offsets - offsets[0]).tolist())
    return [
        variant.array_of(parts[start:end]) if is_array else None  # type: ignore[arg-type]  # none is None
        for is_array, (start, end) in zip(typed.is_valid().to_pylist(), bounds, strict=True)
    ]


def _scalars(typed: pa.Array) -> Parts:
    encode, values = _encoder(typed)
    return [None if value is None else encode(value) for value in values]


_PLAIN: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], bytes]], ...] = (
    (pt.is_integer, variant.integer),
    (pt.is_boolean, variant.boolean),
    (pt.is_float64, variant.double),
    (pt.is_float32, variant.single),
    (pt.is_decimal, variant.decimal),
    (pt.is_string, variant.text),
    (pt.is_binary, variant.binary),
)


def _encoder(typed: pa.Array) -> tuple[Callable[[Any], bytes], list[Any]]:
    """The encoding of a type, and the values as it takes them."""
    arrow = typed.type
    for test, encode in _PLAIN:
        if test(arrow):
            return encode, typed.to_pylist()
    if pt.is_date32(arrow):
        return variant.date, typed.view(pa.int32()).to_pylist()
    if pt.is_timestamp(arrow) and arrow.unit in ("us", "ns"):
        has_zone = arrow.tz is not None
        return lambda count: variant.timestamp(count, arrow.unit, has_zone), typed.view(pa.int64()).to_pylist()
    if pt.is_time64(arrow) and arrow.unit == "us":
        return variant.time, typed.view(pa.int64()).to_pylist()
    if pt.is_fixed_size_binary(arrow) and arrow.byte_width == 16:
        return variant.uuid, typed.to_pylist()
    raise UnsupportedFeature(f"shredded values of VARIANT have the type {arrow}, which this release does not know")
