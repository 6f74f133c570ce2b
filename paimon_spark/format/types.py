"""Data types and fields of a table schema (format section 2; Java: DataType, DataField).

Internal values, used wherever one value of a column stands outside Arrow (partition rows, keys, statistics, predicate
literals): BOOLEAN bool; integers int; FLOAT, DOUBLE float; DECIMAL ``decimal.Decimal``; CHAR, VARCHAR str;
BINARY, VARBINARY bytes; DATE int days since 1970-01-01; TIME int milliseconds of the day; TIMESTAMP and
TIMESTAMP_LTZ int **nanoseconds** since the epoch (unbounded Python int; TIMESTAMP reads the local date-time as if UTC);
VARIANT (value bytes, metadata bytes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

MAX_LENGTH = 2**31 - 1


class Root(StrEnum):
    """The kind of a data type, by Paimon's own name."""

    BOOLEAN = "BOOLEAN"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DECIMAL = "DECIMAL"
    CHAR = "CHAR"
    VARCHAR = "VARCHAR"
    BINARY = "BINARY"
    VARBINARY = "VARBINARY"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_LTZ = "TIMESTAMP_LTZ"
    ARRAY = "ARRAY"
    MAP = "MAP"
    MULTISET = "MULTISET"
    ROW = "ROW"
    VECTOR = "VECTOR"
    VARIANT = "VARIANT"
    BLOB = "BLOB"
    GEOMETRY = "GEOMETRY"
    GEOGRAPHY = "GEOGRAPHY"


INTEGERS = frozenset({Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT})
FLOATS = frozenset({Root.FLOAT, Root.DOUBLE})
STRINGS = frozenset({Root.CHAR, Root.VARCHAR})
BINARIES = frozenset({Root.BINARY, Root.VARBINARY})
TIMESTAMPS = frozenset({Root.TIMESTAMP, Root.TIMESTAMP_LTZ})
NESTED = frozenset({Root.ARRAY, Root.MAP, Root.MULTISET, Root.ROW, Root.VECTOR})
UNORDERED = NESTED | {Root.VARIANT, Root.BLOB, Root.GEOMETRY, Root.GEOGRAPHY}
"""Types whose values have no order: no statistics, no casts, no keys of them."""


@dataclass(frozen=True, slots=True)
class DataType:
    """One type. The parameters that a root does not have are None (or empty).

    Attributes:
        length: of CHAR, VARCHAR, BINARY, VARBINARY and VECTOR.
        precision: of DECIMAL, TIME, TIMESTAMP and TIMESTAMP_LTZ.
        scale: of DECIMAL.
        element: of ARRAY, MULTISET and VECTOR; also the value type of MAP.
        key: of MAP.
        fields: of ROW.
        parameters: the text between the brackets of GEOMETRY and GEOGRAPHY.
        paths: of a VARIANT that is read in part: the names of the fields that lead to each part; None: it is whole.
    """

    root: Root
    nullable: bool = True
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    element: DataType | None = None
    key: DataType | None = None
    fields: tuple[DataField, ...] = ()
    parameters: str | None = None
    paths: tuple[tuple[str, ...], ...] | None = None

    def with_nullable(self, nullable: bool) -> DataType:
        return self if self.nullable == nullable else replace(self, nullable=nullable)

    @property
    def inner(self) -> DataType:
        """The element (ARRAY, MULTISET, VECTOR) or value (MAP) type."""
        if self.element is None:
            raise TypeError(f"{self.root} has no element type")
        return self.element

    @property
    def key_type(self) -> DataType:
        """The key type of a MAP."""
        if self.key is None:
            raise TypeError(f"{self.root} has no key type")
        return self.key


@dataclass(frozen=True, slots=True)
class DataField:
    """A column or a field of a ROW. default_value is the literal text as the user gave it."""

    id: int
    name: str
    type: DataType
    description: str | None = None
    default_value: str | None = None


def all_fields(fields: tuple[DataField, ...]) -> Iterator[DataField]:
    """The fields and all ROW fields nested in them, at any depth."""
    for field in fields:
        yield field
        yield from _nested_fields(field.type)


def _nested_fields(data_type: DataType) -> Iterator[DataField]:
    yield from all_fields(data_type.fields)
    for inner in (data_type.key, data_type.element):
        if inner is not None:
            yield from _nested_fields(inner)


def holds(data_type: DataType, test: Callable[[DataType], bool]) -> bool:
    """True if a test is true of a type, or of one that it holds at any depth."""
    parts = [data_type.element, data_type.key, *(field.type for field in data_type.fields)]
    return test(data_type) or any(holds(part, test) for part in parts if part is not None)


def has_char(data_type: DataType) -> bool:
    """True if a type is, or holds at any depth, CHAR."""
    return holds(data_type, lambda part: part.root is Root.CHAR)
