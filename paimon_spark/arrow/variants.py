"""Columns of VARIANT: as JSON texts, and whole where parts of them are in columns of their own.

A shredded value (Parquet: VariantShredding) is a struct of ``value``, bytes as in ``format.variant``, and
``typed_value``, a column of a type: a value of this type is in the latter, any other in the former. A typed value may
be a struct of shredded fields, beside which ``value`` is an object of the other fields, or a list of shredded
elements. Java: ShreddingUtils.rebuild.

Objects and arrays are put together row by row: each has lengths and offsets of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.types import VARIANT, is_variant
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format import variant
from paimon_spark.format.variant import Names

VALUE, TYPED, METADATA = "value", "typed_value", "metadata"
Parts: TypeAlias = list[bytes | None]
"""For each row the bytes of a value; None: it has none, which is another thing than the null of JSON."""
_DAMAGED = "a shredded value of VARIANT is damaged"


def json_texts(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The JSON text of each value of a VARIANT column of Arrow, as scans return it; null where it is NULL.

    Texts have no blanks. Decimals keep their digits; NaN and infinities, dates, times and bytes (base64) are texts.
    ``paimon_spark.json_texts(table.scan().to_arrow()["v"])`` is the column v. Each value is read for itself.

    Args:
        column: of the type VARIANT; one within other values is a child of their array.

    Raises:
        DataError: it is no VARIANT column, or a value is damaged.
    """
    if not is_variant(column.type):
        raise DataError(f"this column is {column.type} of Arrow, not the VARIANT of a scan: take such a column")
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([json_texts(chunk) for chunk in column.chunks], pa.string())
    parts = (column.field(name).to_pylist() for name in (VALUE, METADATA))
    rows = zip(column.is_valid().to_pylist(), *parts, strict=True)
    texts = [variant.json_text(value, names) if is_there else None for is_there, value, names in rows]
    return pa.array(texts, pa.string())


def whole_variants(array: pa.StructArray) -> pa.Array:
    """The values, of which ``metadata`` is a field too, as VARIANT; nulls stay null.

    Raises:
        DataError: a value is damaged.
        UnsupportedFeature: a typed value has a type that the rules of shredding do not have.
    """
    present = array.is_valid().to_pylist()
    fields = _fields(array)
    metadata = fields[METADATA].dictionary_encode()
    names = [Names(data) for data in metadata.dictionary.to_pylist()]
    codes = metadata.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    rows = _Rows(names, codes)
    values = _whole(fields, rows)
    whole: list[dict[str, bytes] | None] = []
    for is_there, value, code in zip(present, values, codes.tolist(), strict=True):
        if is_there and (value is None or code < 0):
            raise DataError(f"{_DAMAGED}: it has no bytes, or no metadata")
        whole.append({VALUE: value, METADATA: names[code].metadata()} if is_there and value is not None else None)
    return pa.array(whole, VARIANT)


class _Rows:
    """The names that each row has in its metadata."""

    def __init__(self, names: Sequence[Names], codes: npt.NDArray[Any]) -> None:
        self._names = names
        self.codes = codes

    def __getitem__(self, row: int) -> Names:
        return self._names[int(self.codes[row])]

    def repeated(self, counts: npt.NDArray[Any]) -> _Rows:
        """Those of the elements of lists."""
        return _Rows(self._names, np.repeat(self.codes, counts))


def _fields(array: pa.StructArray) -> dict[str, pa.Array]:
    """The columns of structs, null where the struct is."""
    return dict(zip((field.name for field in array.type), array.flatten(), strict=True))


def _whole(fields: dict[str, pa.Array], rows: _Rows) -> Parts:
    plain: Parts = fields[VALUE].to_pylist() if VALUE in fields else [None] * len(rows.codes)
    typed = fields.get(TYPED)
    if typed is None:
        return plain
    if pt.is_struct(typed.type):
        return _objects(typed, plain, rows)
    made = _arrays(typed, rows) if pt.is_list(typed.type) else _scalars(typed)
    return [value if whole is None else whole for whole, value in zip(made, plain, strict=True)]


def _objects(typed: pa.StructArray, plain: Parts, rows: _Rows) -> Parts:
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


def _arrays(typed: pa.ListArray, rows: _Rows) -> Parts:
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
