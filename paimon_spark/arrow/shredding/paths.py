"""Parts of VARIANT values by their paths: which columns of a shredded file have them, and what they are of a type.

A path is names of fields, and numbers of elements of arrays. Java: PaimonShreddingUtils.extractField. Spark:
VariantGet.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow import variant_values as vv
from paimon_spark.arrow.raw_values import Booleans, Int64s
from paimon_spark.arrow.types import METADATA, TYPED, VALUE
from paimon_spark.arrow.variant_values import Places, VariantValues
from paimon_spark.format.types import DataField

Path = tuple[str | int, ...]


def columns_of_paths(stored: pa.Field, paths: Sequence[tuple[str, ...]]) -> list[str] | None:
    """The columns of a file that have what is at some paths of a VARIANT column; None: the column is not shredded.

    An object lies in ``typed_value`` alone, if this is a struct, but for fields that have no column (Parquet:
    VariantShredding). So a path that has columns needs no ``value`` above them.

    Args:
        stored: the column as the file has it.
        paths: names of fields.
    """
    if not pt.is_struct(stored.type) or stored.type.get_field_index(TYPED) < 0:
        return None
    found = {f"{stored.name}.{METADATA}": None}
    for path in paths:
        found.update(dict.fromkeys(_columns_of(stored, path)))
    return list(found)


def _columns_of(stored: pa.Field, path: Sequence[str]) -> Iterator[str]:
    where, node = stored.name, stored.type
    for name in path:
        field = _field_of(node, name)
        if field is None:
            if node.get_field_index(VALUE) >= 0:
                yield f"{where}.{VALUE}"
            return
        where, node = f"{where}.{TYPED}.{name}", field.type
    for part in node:
        if part.name != METADATA:
            yield f"{where}.{part.name}"


def _field_of(node: pa.StructType, name: str) -> pa.Field | None:
    typed = node.field(TYPED).type if node.get_field_index(TYPED) >= 0 else None
    if typed is None or not pt.is_struct(typed) or typed.get_field_index(name) < 0:
        return None
    return typed.field(name)


def scalar_path(stored: pa.Field, path: Sequence[str]) -> tuple[str, ...] | None:
    """The names of the columns that lead to what a path has in ``value`` and ``typed_value``; None: no scalar has."""
    where, node = [stored.name], stored.type
    for name in path:
        field = _field_of(node, name) if pt.is_struct(node) else None
        if field is None:
            return None
        where, node = [*where, TYPED, name], field.type
    if not pt.is_struct(node) or min(node.get_field_index(VALUE), node.get_field_index(TYPED)) < 0:
        return None
    return None if pt.is_nested(node.field(TYPED).type) else tuple(where)


@dataclass(frozen=True)
class PathColumn:
    """A column of a read that is a part of the values of a VARIANT column.

    Attributes:
        field: its name and type; the id is that of no column.
        column: the name of the VARIANT column.
        path: where the part is.
        fails: a value that is not of the type is an error; False: it is NULL.
    """

    field: DataField
    column: str
    path: Path
    fails: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The names of fields that lead to the part, or to the array that it is in."""
        return tuple(itertools.takewhile(lambda step: isinstance(step, str), self.path))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Found:
    """What lies at a path in each row.

    Attributes:
        values: of the column.
        places: of the rows that have something there.
        present: which rows these are.
        kinds: what they have there.
    """

    values: VariantValues
    places: Places
    present: Booleans
    kinds: np.ndarray[tuple[int], np.dtype[np.uint8]]


def find(column: pa.StructArray, path: Path) -> Found:
    """What lies at a path in the values of a column of VARIANT.

    Raises:
        DataError: a value is damaged.
    """
    values = VariantValues(column)
    rows = np.flatnonzero(values.places.starts >= 0)
    places = values.places.at(rows)
    for step in path:
        chosen = values.kinds(places) == (vv.OBJECT if isinstance(step, str) else vv.ARRAY)
        rows, places = rows[chosen], places.at(chosen)
        children = values.children(places)
        some = _named(values, children, step) if isinstance(step, str) else _numbered(children, step)
        rows, places = rows[children.parents[some]], children.places.at(some)
    present = np.zeros(len(column), np.bool_)
    present[rows] = True
    return Found(values, places, present, values.kinds(places))


def _named(values: VariantValues, fields: vv.Children, name: str) -> Int64s:
    return np.flatnonzero(values.name_codes(fields) == values.names.code(name))


def _numbered(elements: vv.Children, number: int) -> Int64s:
    firsts = np.cumsum(elements.counts) - elements.counts
    return (firsts + number)[elements.counts > number]
