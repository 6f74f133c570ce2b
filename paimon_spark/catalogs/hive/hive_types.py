"""The types of Hive for the types of columns, both ways (Java: HiveTypeUtils)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root, holds

_CHAR_LENGTH, _VARCHAR_LENGTH = 255, 65535
"""The longest that Hive has."""
LOCAL_ZONED = "timestamp with local time zone"
_NAMES = {
    Root.BOOLEAN: "boolean",
    Root.TINYINT: "tinyint",
    Root.SMALLINT: "smallint",
    Root.INT: "int",
    Root.BIGINT: "bigint",
    Root.FLOAT: "float",
    Root.DOUBLE: "double",
    Root.BINARY: "binary",
    Root.VARBINARY: "binary",
    Root.BLOB: "binary",
    Root.DATE: "date",
    Root.TIME: "string",
    Root.TIMESTAMP: "timestamp",
}
_BACK = {
    "boolean": DataType(Root.BOOLEAN),
    "tinyint": DataType(Root.TINYINT),
    "smallint": DataType(Root.SMALLINT),
    "int": DataType(Root.INT),
    "integer": DataType(Root.INT),
    "bigint": DataType(Root.BIGINT),
    "float": DataType(Root.FLOAT),
    "double": DataType(Root.DOUBLE),
    "string": DataType(Root.VARCHAR, length=MAX_LENGTH),
    "binary": DataType(Root.VARBINARY, length=MAX_LENGTH),
    "date": DataType(Root.DATE),
    "timestamp": DataType(Root.TIMESTAMP, precision=6),
    LOCAL_ZONED: DataType(Root.TIMESTAMP_LTZ, precision=6),
}
_TOKEN = re.compile(r"\s*([<>(),:]|[^<>(),:]+)")


def hive_type(data_type: DataType, has_local_zoned: bool = False) -> str:
    """The text of Hive's type.

    Args:
        data_type: of a column.
        has_local_zoned: whether the metastore knows the type of instants (Hive 3); they are timestamps elsewhere.

    Raises:
        UnsupportedFeature: Hive has no such type, and Java refuses it too.
    """
    match data_type.root:
        case Root.DECIMAL:
            return f"decimal({data_type.precision},{data_type.scale})"
        case Root.CHAR if (data_type.length or 0) <= _CHAR_LENGTH:
            return f"char({data_type.length})"
        case Root.VARCHAR if (data_type.length or 0) <= _VARCHAR_LENGTH:
            return f"varchar({data_type.length})"
        case Root.CHAR | Root.VARCHAR:
            return "string"
        case Root.TIMESTAMP_LTZ:
            return LOCAL_ZONED if has_local_zoned else "timestamp"
        case Root.ARRAY | Root.VECTOR if data_type.element is not None:
            return f"array<{hive_type(data_type.element, has_local_zoned)}>"
        case Root.MULTISET if data_type.element is not None:
            return f"map<{hive_type(data_type.element, has_local_zoned)},int>"
        case Root.MAP if data_type.key is not None and data_type.element is not None:
            return f"map<{hive_type(data_type.key, has_local_zoned)},{hive_type(data_type.element, has_local_zoned)}>"
        case Root.ROW:
            inner = (f"{field.name}:{hive_type(field.type, has_local_zoned)}" for field in data_type.fields)
            return f"struct<{','.join(inner)}>"
        case Root.VARIANT:
            return "struct<value:binary,metadata:binary>"
    if data_type.root not in _NAMES:
        raise UnsupportedFeature(f"a column of the type {data_type.root} in a hive catalog: Hive has no such type")
    return _NAMES[data_type.root]


def has_local_zoned(data_type: DataType) -> bool:
    """True if a type is, or holds, instants."""
    return holds(data_type, lambda part: part.root == Root.TIMESTAMP_LTZ)


def paimon_type(text: str) -> DataType:
    """The type of a column of Hive. The fields of each struct are numbered from 0, as by Java.

    Args:
        text: as the metastore has it.

    Raises:
        UnsupportedFeature: there is none for it.
    """
    tokens = [token.strip() for token in _TOKEN.findall(text) if token.strip()]
    found = _Reader(text, tokens).whole()
    if found is None:
        raise _unknown(text)
    return found


def _unknown(text: str) -> UnsupportedFeature:
    return UnsupportedFeature(f"a column of Hive's type '{text}': there is no such type in Paimon")


class _Reader:
    """Recursive descent over the tokens of a type."""

    def __init__(self, text: str, tokens: list[str]) -> None:
        self._text, self._tokens = text, tokens[::-1]

    def whole(self) -> DataType | None:
        found = self._type()
        return None if self._tokens else found

    def _take(self, wanted: str | None = None) -> str:
        token = self._tokens.pop() if self._tokens else ""
        if not token or (wanted is not None and token != wanted):
            raise _unknown(self._text)
        return token

    def _type(self) -> DataType:
        name = self._take().lower()
        match name:
            case "array":
                self._take("<")
                element = self._type()
                self._take(">")
                return DataType(Root.ARRAY, element=element)
            case "map":
                self._take("<")
                key = self._type()
                self._take(",")
                element = self._type()
                self._take(">")
                return DataType(Root.MAP, key=key, element=element)
            case "struct":
                return DataType(Root.ROW, fields=tuple(self._fields()))
            case "decimal" | "char" | "varchar":
                return self._sized(name)
        if name not in _BACK:
            raise _unknown(self._text)
        return _BACK[name]

    def _fields(self) -> Iterator[DataField]:
        mark = self._take("<")
        for number in itertools.count():
            if mark == ">":
                return
            name = self._take()
            self._take(":")
            yield DataField(number, name, self._type())
            mark = self._take()
            if mark not in (",", ">"):
                raise _unknown(self._text)

    def _sized(self, name: str) -> DataType:
        numbers: list[int] = []
        if self._tokens and self._tokens[-1] == "(":
            mark = self._take()
            while mark != ")":
                number = self._take()
                if not number.isdecimal():
                    raise _unknown(self._text)
                numbers.append(int(number))
                mark = self._take()
        if name == "decimal":
            precision, scale = (numbers + [10, 0][len(numbers) :])[:2]
            return DataType(Root.DECIMAL, precision=precision, scale=scale)
        if len(numbers) != 1:
            raise _unknown(self._text)
        return DataType(Root.CHAR if name == "char" else Root.VARCHAR, length=numbers[0])
