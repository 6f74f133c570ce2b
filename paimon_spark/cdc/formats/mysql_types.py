"""The types of MySQL that a message of Canal tells, as encodings (Java: MySqlTypeUtils, CanalFieldParser)."""

from __future__ import annotations

import functools
import re
from enum import StrEnum

from paimon_spark.cdc.encodings import BYTES, TEXT, Encoding, Form
from paimon_spark.cdc.events import MalformedMessage
from paimon_spark.errors import OptionError
from paimon_spark.format.types import DataType, Root

_TYPE = re.compile(r"([A-Za-z ]+)(?:\((.*)\))?([A-Za-z ]*)", re.DOTALL)
_OPTION = re.compile(r"'((?:[^']|'')*)'")
_MOST_DIGITS = 38
_DEFAULT_DIGITS, _DEFAULT_SCALE = 38, 18  # of a decimal whose digits are not given (Java)
_FIXED = {
    "BOOLEAN": Root.BOOLEAN, "BOOL": Root.BOOLEAN,
    "TINYINT UNSIGNED": Root.SMALLINT, "SMALLINT": Root.SMALLINT,
    "SMALLINT UNSIGNED": Root.INT, "INT": Root.INT, "INTEGER": Root.INT, "MEDIUMINT": Root.INT, "YEAR": Root.INT,
    "INT UNSIGNED": Root.BIGINT, "INTEGER UNSIGNED": Root.BIGINT, "MEDIUMINT UNSIGNED": Root.BIGINT,
    "BIGINT": Root.BIGINT,
    "FLOAT": Root.FLOAT, "FLOAT UNSIGNED": Root.FLOAT,
    "REAL": Root.DOUBLE, "REAL UNSIGNED": Root.DOUBLE, "DOUBLE": Root.DOUBLE, "DOUBLE UNSIGNED": Root.DOUBLE,
    "DOUBLE PRECISION": Root.DOUBLE, "DOUBLE PRECISION UNSIGNED": Root.DOUBLE,
    "DATE": Root.DATE,
}  # fmt: skip
_DECIMALS = frozenset(f"{name}{sign}" for name in ("NUMERIC", "FIXED", "DECIMAL", "DEC") for sign in ("", " UNSIGNED"))
_TEXTS = frozenset({"TINYTEXT", "TEXT", "MEDIUMTEXT", "JSON"})
_BLOBS = frozenset({"TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB"})
_GEOMETRIES = frozenset(
    {"GEOMETRY", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON",
     "GEOMETRYCOLLECTION", "GEOMCOLLECTION"}
)  # fmt: skip
_JDBC_TIMESTAMP = 19  # the characters of a TIMESTAMP without a fraction, which some drivers tell as its length


class TypeMapping(StrEnum):
    """Choices of how types of MySQL become types of columns (Java: TypeMappingMode)."""

    TINYINT1_NOT_BOOL = "tinyint1-not-bool"
    TO_NULLABLE = "to-nullable"
    TO_STRING = "to-string"
    CHAR_TO_STRING = "char-to-string"
    LONGTEXT_TO_BYTES = "longtext-to-bytes"
    DECIMAL_NO_CHANGE = "decimal-no-change"
    BIGINT_UNSIGNED_TO_BIGINT = "bigint-unsigned-to-bigint"
    ALLOW_NON_STRING_TO_STRING = "allow-non-string-to-string"


def type_mappings(names: tuple[str, ...]) -> frozenset[TypeMapping]:
    """The choices of these names.

    Raises:
        OptionError: there is none of a name.
    """
    known = {mapping.value: mapping for mapping in TypeMapping}
    for name in names:
        if name.strip().lower() not in known:
            raise OptionError(f"there is no type mapping '{name}'; there are {', '.join(known)}")
    return frozenset(known[name.strip().lower()] for name in names)


@functools.lru_cache(maxsize=4096)
def mysql_encoding(text: str, mappings: frozenset[TypeMapping]) -> Encoding:
    """How values of a MySQL type such as ``decimal(10,2) unsigned`` are read.

    Raises:
        MalformedMessage: there is no such type.
    """
    match = _TYPE.fullmatch(text)
    if match is None:
        raise MalformedMessage(f"the MySQL type '{text:.80}' is not known")
    name = " ".join(f"{match[1]} {match[3]}".upper().replace("ZEROFILL", "").split())
    if name in ("ENUM", "SET"):
        options = tuple(option.replace("''", "'") for option in _OPTION.findall(match[2] or ""))
        listed = TEXT if name == "ENUM" or TypeMapping.TO_STRING in mappings else DataType(Root.ARRAY, element=TEXT)
        return Encoding(listed, Form(name.lower()), options=options)
    if name in _GEOMETRIES:
        return Encoding(TEXT, Form.MYSQL_GEOMETRY)
    form = Form.LATIN1 if name in _BLOBS or name in ("BINARY", "VARBINARY") else Form.PLAIN
    if TypeMapping.TO_STRING in mappings:
        return Encoding(TEXT, form)
    found = _data_type(name, _sizes(match[2], text), mappings)
    if found is None:
        raise MalformedMessage(f"the MySQL type '{text:.80}' is not known")
    return Encoding(found, form)


def _sizes(inside: str | None, text: str) -> tuple[int | None, int]:
    """The two numbers between the brackets of a type."""
    if inside is None:
        return None, 0
    length, _, scale = inside.partition(",")
    try:
        return int(length), int(scale or 0)
    except ValueError:
        raise MalformedMessage(f"the MySQL type '{text:.80}' is not known") from None


def _data_type(name: str, sizes: tuple[int | None, int], mappings: frozenset[TypeMapping]) -> DataType | None:
    length, scale = sizes
    if name == "BIT":
        return DataType(Root.BOOLEAN) if length in (None, 1) else DataType(Root.BINARY, length=((length or 1) + 7) // 8)
    if name == "TINYINT":
        is_boolean = length == 1 and TypeMapping.TINYINT1_NOT_BOOL not in mappings
        return DataType(Root.BOOLEAN if is_boolean else Root.TINYINT)
    if name in ("BIGINT UNSIGNED", "SERIAL"):
        narrow = TypeMapping.BIGINT_UNSIGNED_TO_BIGINT in mappings
        return DataType(Root.BIGINT) if narrow else DataType(Root.DECIMAL, precision=20, scale=0)
    if name in _FIXED:
        return DataType(_FIXED[name])
    if name in _DECIMALS:
        digits, places = (_DEFAULT_DIGITS, _DEFAULT_SCALE) if length is None else (length, scale)
        return DataType(Root.DECIMAL, precision=digits, scale=places) if digits <= _MOST_DIGITS else TEXT
    if name == "TIME":
        return DataType(Root.TIME, precision=0)
    if name in ("DATETIME", "TIMESTAMP"):
        return DataType(Root.TIMESTAMP, precision=_time_digits(length or 0))
    return _text_or_bytes(name, length, mappings)


def _time_digits(length: int) -> int:
    if length >= _JDBC_TIMESTAMP:
        length = max(length - _JDBC_TIMESTAMP - 1, 0)
    if length > 9:
        raise MalformedMessage(f"a DATETIME or TIMESTAMP of {length} digits is not known")
    return length


def _text_or_bytes(name: str, length: int | None, mappings: frozenset[TypeMapping]) -> DataType | None:
    if name in ("CHAR", "VARCHAR"):
        plain = not length or TypeMapping.CHAR_TO_STRING in mappings
        return TEXT if plain else DataType(Root.CHAR if name == "CHAR" else Root.VARCHAR, length=length)
    if name == "LONGTEXT":
        return BYTES if TypeMapping.LONGTEXT_TO_BYTES in mappings else TEXT
    if name in _TEXTS:
        return TEXT
    if name in ("BINARY", "VARBINARY"):
        return DataType(Root.VARBINARY, length=length) if length else BYTES
    return BYTES if name in _BLOBS else None
