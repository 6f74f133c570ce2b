"""Structs whose fields are brought into the order of another type, by their names (Java: PaimonOutputResolver)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from paimon_spark.errors import DataError


@dataclass(frozen=True)
class Naming:
    """How names of columns and fields meet.

    Attributes:
        is_exact: whether letter case counts (`spark.sql.caseSensitive`).
        completes: whether fields that a value lacks are NULL; else they are an error.
    """

    is_exact: bool = False
    completes: bool = False

    def same(self, name: str) -> str:
        """What all spellings of a name have in common."""
        return name if self.is_exact else name.lower()

    def alike(self, name: str, names: Sequence[str]) -> list[str]:
        """Those of some names that a name means; exactly that one, if it is among them."""
        return [n for n in names if n == name] or [n for n in names if self.same(n) == self.same(name)]

    def fields(self, struct: st.StructType) -> Mapping[str, st.StructField]:
        """The fields by ``same``."""
        return {self.same(field.name): field for field in struct.fields}


@dataclass(frozen=True)
class Aligned:
    """A value in the order of another type.

    Attributes:
        value: the value.
        type: its type: the parts of its own in the order of the other.
    """

    value: Column
    type: st.DataType


def aligned(
    value: Column, have: st.DataType, want: st.DataType, what: str, naming: Naming, old: Column | None = None
) -> Aligned:
    """A value whose structs have their fields in the order of another type, by their names.

    Args:
        have: the type of the value.
        what: the column, for messages.
        old: a value of the other type, whose fields stay where the value lacks them, but in arrays and maps; None: they
            are NULL. Only where naming completes.

    Raises:
        DataError: a field is missing, or not in the other type.
    """
    return Aligned(_value(value, have, want, what, naming, old), _type(have, want, naming))


def has_fields(have: st.DataType, want: st.DataType, naming: Naming) -> bool:
    """True if a struct has all fields of another, at any depth of structs. What is no struct has none."""
    match have, want:
        case st.StructType(), st.StructType():
            known = naming.fields(have)
            pairs = [(known.get(naming.same(field.name)), field) for field in want.fields]
            return all(mine is not None and has_fields(mine.dataType, other.dataType, naming) for mine, other in pairs)
    return True


def have_same_fields(have: st.DataType, want: st.DataType, naming: Naming) -> bool:
    """True if the structs of two types have fields of the same names, in any order, at every depth."""
    match have, want:
        case st.StructType(), st.StructType():
            known, wanted = naming.fields(have), naming.fields(want)
            return (
                len(have) == len(known)
                and known.keys() == wanted.keys()
                and all(
                    have_same_fields(field.dataType, wanted[name].dataType, naming) for name, field in known.items()
                )
            )
        case st.ArrayType(), st.ArrayType():
            return have_same_fields(have.elementType, want.elementType, naming)
        case st.MapType(), st.MapType():
            keys = have_same_fields(have.keyType, want.keyType, naming)
            return keys and have_same_fields(have.valueType, want.valueType, naming)
    return True


def _value(
    value: Column, have: st.DataType, want: st.DataType, what: str, naming: Naming, old: Column | None
) -> Column:
    match have, want:
        case st.StructType(), st.StructType():
            made, is_there = sf.struct(*_parts(value, have, want, what, naming, old)), value.isNotNull()
            if old is not None and not has_fields(have, want, naming):
                is_there = is_there | old.isNotNull()  # of a NULL value its own fields are NULL, and the others stay
            return sf.when(is_there, made)
        case st.ArrayType(), st.ArrayType():
            return sf.transform(
                value, lambda item: _value(item, have.elementType, want.elementType, what, naming, None)
            )
        case st.MapType(), st.MapType():
            keys = sf.transform(
                sf.map_keys(value), lambda item: _value(item, have.keyType, want.keyType, what, naming, None)
            )
            items = sf.transform(
                sf.map_values(value), lambda item: _value(item, have.valueType, want.valueType, what, naming, None)
            )
            return sf.map_from_arrays(keys, items)
    return value


def _parts(
    value: Column, have: st.StructType, want: st.StructType, what: str, naming: Naming, old: Column | None
) -> list[Column]:
    known, wanted = naming.fields(have), naming.fields(want)
    fits = known.keys() <= wanted.keys() if naming.completes else known.keys() == wanted.keys()
    if not fits or len(known) != len(have.fields):
        raise DataError(
            f"{what} has the fields {', '.join(want.names)}, and the value {', '.join(have.names)}; give it the fields "
            "of the table"
        )
    parts = []
    for field in want.fields:
        source = known.get(naming.same(field.name))
        kept = None if old is None else old.getField(field.name)
        if source is None:
            part = sf.lit(None).cast(field.dataType) if kept is None else kept
        else:
            of_source = value.getField(source.name)
            part = _value(of_source, source.dataType, field.dataType, f"{what}.{field.name}", naming, kept)
        parts.append(part.alias(field.name))
    return parts


def _type(have: st.DataType, want: st.DataType, naming: Naming) -> st.DataType:
    match have, want:
        case st.StructType(), st.StructType():
            known = naming.fields(have)
            return st.StructType([_field(known.get(naming.same(f.name)), f, naming) for f in want.fields])
        case st.ArrayType(), st.ArrayType():
            return st.ArrayType(_type(have.elementType, want.elementType, naming), have.containsNull)
        case st.MapType(), st.MapType():
            return st.MapType(
                _type(have.keyType, want.keyType, naming),
                _type(have.valueType, want.valueType, naming),
                have.valueContainsNull,
            )
    return have


def _field(have: st.StructField | None, want: st.StructField, naming: Naming) -> st.StructField:
    if have is None:
        return st.StructField(want.name, want.dataType, nullable=True)
    return st.StructField(want.name, _type(have.dataType, want.dataType, naming), have.nullable)
