"""How the JSON value of a column is to be read, where the message or its format says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from paimon_spark.format.types import MAX_LENGTH, DataType, Root

TEXT = DataType(Root.VARCHAR, length=MAX_LENGTH)
BYTES = DataType(Root.VARBINARY, length=MAX_LENGTH)


class Form(StrEnum):
    """What a JSON value is written as."""

    PLAIN = "plain"
    """As the type of its column suggests: texts, numbers, booleans; whole numbers of time count Java's units."""
    BASE64_DECIMAL = "base64-decimal"
    """The unscaled value, big-endian in base64, of a scale that the encoding knows; a number counts as itself."""
    VARIABLE_DECIMAL = "variable-decimal"
    """An object of a scale and such a value (io.debezium.data.VariableScaleDecimal)."""
    BASE64 = "base64"
    """Bytes in base64."""
    BITS = "bits"
    """Bytes in base64, the lowest first (io.debezium.data.Bits)."""
    LATIN1 = "latin1"
    """Bytes, each as the character of its number (Canal)."""
    HEX = "hex"
    """Bytes in hexadecimal digits."""
    DAYS = "days"
    """Days since 1970-01-01."""
    MILLIS = "millis"
    """Milliseconds since 1970-01-01, or of the day."""
    MICROS = "micros"
    NANOS = "nanos"
    ENUM = "enum"
    """The number of an option, from 1; a text counts as itself (Canal)."""
    SET = "set"
    """A bit for each option (Canal)."""
    GEOMETRY = "geometry"
    """An object with the member ``wkb`` in base64 (io.debezium.data.geometry)."""
    MYSQL_GEOMETRY = "mysql-geometry"
    """MySQL's inner form, each byte as the character of its number (Canal)."""


@dataclass(frozen=True)
class Encoding:
    """How the values of one column are written.

    Attributes:
        type: the type that holds all values of the column.
        form: what a JSON value is written as.
        scale: of BASE64_DECIMAL.
        options: of ENUM and SET.
        exact: False: the message tells no type, and `type` is a text that holds any value.
    """

    type: DataType
    form: Form = Form.PLAIN
    scale: int = 0
    options: tuple[str, ...] = ()
    exact: bool = True


UNTYPED = Encoding(TEXT, exact=False)


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns that messages tell. Messages of one schema share one object.

    Attributes:
        by_name: the encoding of each column, in their order.
    """

    by_name: Mapping[str, Encoding]
