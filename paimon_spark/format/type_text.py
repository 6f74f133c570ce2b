"""Data types as schema files spell them, both ways (format section 2; Java: DataTypeJsonParser)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from paimon_spark.errors import SchemaError, UnsupportedFeature, similar_names
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root

_TOKEN = re.compile(
    r"\s*(?:(?P<quoted>'(?:[^']|'')*'|`(?:[^`]|``)*`)|(?P<number>\d+)|(?P<mark>[<>(),])|(?P<word>[^\s<>(),.'`]+))"
)
_SIMPLE = {
    "BOOLEAN": Root.BOOLEAN, "TINYINT": Root.TINYINT, "SMALLINT": Root.SMALLINT, "INT": Root.INT, "INTEGER": Root.INT,
    "BIGINT": Root.BIGINT, "FLOAT": Root.FLOAT, "DOUBLE": Root.DOUBLE, "DATE": Root.DATE, "VARIANT": Root.VARIANT,
    "BLOB": Root.BLOB,
}  # fmt: skip
_SIZED = {"CHAR": Root.CHAR, "VARCHAR": Root.VARCHAR, "BINARY": Root.BINARY, "VARBINARY": Root.VARBINARY}
_UNBOUNDED = {"STRING": Root.VARCHAR, "BYTES": Root.VARBINARY}
_OTHER_NAMES = {
    "INT8": "TINYINT", "INT16": "SMALLINT", "INT32": "INT", "INT64": "BIGINT", "UINT8": "SMALLINT", "UINT16": "INT",
    "UINT32": "BIGINT", "UINT64": "DECIMAL(20)", "BYTE": "TINYINT", "SHORT": "SMALLINT", "LONG": "BIGINT",
    "FLOAT16": "FLOAT", "FLOAT32": "FLOAT", "REAL": "FLOAT", "FLOAT64": "DOUBLE", "BOOL": "BOOLEAN", "STR": "STRING",
    "TEXT": "STRING", "UTF8": "STRING", "LARGE_UTF8": "STRING", "LARGE_STRING": "STRING", "UUID": "STRING",
    "LARGE_BINARY": "BYTES", "DATE32": "DATE", "DATETIME": "TIMESTAMP", "DATETIME64": "TIMESTAMP",
    "TIMESTAMPTZ": "TIMESTAMP_LTZ", "DECIMAL128": "DECIMAL", "LIST": "ARRAY", "LARGE_LIST": "ARRAY",
}  # fmt: skip
"""Names in Arrow, NumPy, Iceberg, Python and databases. The name here that is most like one may be a narrower type."""
_MAX_DEPTH = 64
_GEO_DEFAULTS = {Root.GEOMETRY: "OGC:CRS84", Root.GEOGRAPHY: "OGC:CRS84, SPHERICAL"}


def parse_type(json_value: Any) -> DataType:
    """The type behind the JSON value of a schema file: a text, or an object for a nested type.

    Texts may also nest the way ``type_sql`` prints it: ``ARRAY<INT>``, ``MAP<STRING, INT>``, ``ROW<a INT NOT NULL>``.
    Fields of a ROW without an id are numbered from 0, in order.

    Raises:
        SchemaError: the value is malformed, or a length, precision or scale is out of range.
        UnsupportedFeature: the name of the type is not known to this release.
    """
    return _parse_json(json_value, itertools.count(), 0)


def parse_field(json_value: Any) -> DataField:
    """The field in one entry of "fields", in a schema file or in a ROW.

    Raises:
        SchemaError: the entry is malformed, or a length, precision or scale is out of range.
        UnsupportedFeature: the name of a type is not known to this release.
    """
    return _parse_json_field(json_value, itertools.count(), 0)


def _parse_json_field(value: Any, ids: Iterator[int], depth: int) -> DataField:
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str) or "type" not in value:
        raise SchemaError(f"a field must be an object with a name and a type, found {value!r:.200}")
    name = value["name"]
    field_id = value["id"] if "id" in value else next(ids)
    if not isinstance(field_id, int) or isinstance(field_id, bool) or not 0 <= field_id <= MAX_LENGTH:
        raise SchemaError(f"the id of field '{name}' must be an integer of 31 bits, found {field_id!r:.200}")
    for key in ("description", "defaultValue"):
        if not isinstance(value.get(key), str | None):
            raise SchemaError(f"the {key} of field '{name}' must be a text, found {value[key]!r:.200}")
    data_type = _parse_json(value["type"], ids, depth)
    return DataField(field_id, name, data_type, value.get("description"), value.get("defaultValue"))


def _parse_json(value: Any, ids: Iterator[int], depth: int) -> DataType:
    if depth > _MAX_DEPTH:
        raise SchemaError(f"a type is nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, str):
        return _Parser(value, ids).whole()
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
        raise SchemaError(f"a type must be a text, or an object with a 'type', found {value!r:.200}")
    name, *rest = value["type"].upper().split()
    nullable = rest != ["NOT", "NULL"]
    if rest and nullable and rest != ["NULL"]:
        raise SchemaError(f"cannot read the type '{value['type']}'")

    def child(key: str) -> DataType:
        if key not in value:
            raise SchemaError(f"a type {name} has no '{key}': {value!r:.200}")
        return _parse_json(value[key], ids, depth + 1)

    match name:
        case "ARRAY" | "MULTISET":
            return DataType(Root(name), nullable, element=child("element"))
        case "VECTOR":
            length = _checked(value.get("length"), 1, MAX_LENGTH, "length", value["type"])
            return DataType(Root.VECTOR, nullable, element=child("element"), length=length)
        case "MAP":
            return DataType(Root.MAP, nullable, key=child("key"), element=child("value"))
        case "ROW":
            entries = value.get("fields")
            if not isinstance(entries, list):
                raise SchemaError(f"a type ROW has no list of 'fields': {value!r:.200}")
            fields = tuple(_parse_json_field(entry, ids, depth + 1) for entry in entries)
            return DataType(Root.ROW, nullable, fields=fields)
    raise UnsupportedFeature(f"the nested type '{value['type']}' is not known to this release of paimon_spark")


def _checked(value: Any, low: int, high: int, what: str, text: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise SchemaError(f"the {what} in type '{text}' must be an integer from {low} to {high}, found {value!r:.60}")
    return value


class _Parser:
    """Recursive descent over the tokens of one type text."""

    def __init__(self, text: str, ids: Iterator[int]) -> None:
        self.text = text
        self.ids = ids
        self.tokens: list[str] = []
        self.at = 0
        self.depth = 0
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                raise self.error()
            self.tokens.append(match[0].strip())
            position = match.end()

    def error(self) -> SchemaError:
        found = f", unexpected '{self.tokens[self.at]}'" if self.at < len(self.tokens) else ""
        return SchemaError(f"cannot read the type '{self.text}'{found}")

    def accept(self, *words: str) -> bool:
        """Skip the words when they come next."""
        if [token.upper() for token in self.tokens[self.at : self.at + len(words)]] != list(words):
            return False
        self.at += len(words)
        return True

    def expect(self, *words: str) -> None:
        if not self.accept(*words):
            raise self.error()

    def take(self) -> str:
        if self.at >= len(self.tokens):
            raise self.error()
        self.at += 1
        return self.tokens[self.at - 1]

    def whole(self) -> DataType:
        data_type = self.data_type()
        if self.at < len(self.tokens):
            raise self.error()
        return data_type

    def data_type(self) -> DataType:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise SchemaError(f"a type is nested deeper than {_MAX_DEPTH} levels")
        data_type = self.base_type().with_nullable(self.nullability())
        levels = self.depth
        while self.at < len(self.tokens) and self.tokens[self.at].upper() in ("ARRAY", "MULTISET"):
            levels += 1
            if levels > _MAX_DEPTH:
                raise SchemaError(f"a type is nested deeper than {_MAX_DEPTH} levels")
            root = Root(self.take().upper())
            data_type = DataType(root, self.nullability(), element=data_type)
        self.depth -= 1
        return data_type

    def nullability(self) -> bool:
        if self.accept("NOT", "NULL"):
            return False
        self.accept("NULL")
        return True

    def number(self, what: str, low: int, high: int) -> int:
        token = self.take()
        if not token.isascii() or not token.isdigit() or len(token) > 10:
            self.at -= 1
            raise self.error()
        return _checked(int(token), low, high, what, self.text)

    def optional_number(self, what: str, default: int, low: int, high: int) -> int:
        if not self.accept("("):
            return default
        value = self.number(what, low, high)
        self.expect(")")
        return value

    def base_type(self) -> DataType:
        name = self.take().upper()
        if name in _SIMPLE:
            if name == "DOUBLE":
                self.accept("PRECISION")
            return DataType(_SIMPLE[name])
        if name in _UNBOUNDED:
            return DataType(_UNBOUNDED[name], length=MAX_LENGTH)
        if name in _SIZED:
            return DataType(_SIZED[name], length=self.optional_number("length", 1, 1, MAX_LENGTH))
        if name in _PARAMETRISED:
            return _PARAMETRISED[name](self)
        if not name[0].isalpha():
            self.at -= 1
            raise self.error()
        if name == "TIMESTAMP_NTZ":  # of Spark, which has it with 6 digits alone
            raise UnsupportedFeature(
                f"the type '{self.text}' is TIMESTAMP of Paimon, as in TIMESTAMP(3): it has no zone"
            )
        meant = self.meant(name)
        raise UnsupportedFeature(
            f"the type '{self.text}' is not known to this release of paimon_spark"
            f"{f'; did you mean {meant}?' if meant else ''}"
        )

    def meant(self, name: str) -> str | None:
        """The name of the type that an unknown name means; None: nothing is like it."""
        known = [*_SIMPLE, *_UNBOUNDED, *_SIZED, *_PARAMETRISED]
        plain, _, unit = name.partition("[")  # timestamp[us, tz=UTC] and datetime64[ns, UTC] of Arrow and pandas
        found = _OTHER_NAMES.get(plain, plain if unit and plain in known else None)
        if found is None:
            found = next(iter(similar_names(name, known)), None)
        elif found == "TIMESTAMP" and unit and "," in self.text:
            found = "TIMESTAMP_LTZ"
        return found if found is None or self.text.upper().startswith(name) else f"{found} for {name}"

    def decimal(self) -> DataType:
        precision, scale = 10, 0
        if self.accept("("):
            precision = self.number("precision", 1, 38)
            if self.accept(","):
                scale = self.number("scale", 0, precision)
            self.expect(")")
        return DataType(Root.DECIMAL, precision=precision, scale=scale)

    def time(self) -> DataType:
        precision = self.optional_number("precision", 0, 0, 9)
        if self.accept("WITHOUT"):
            self.expect("TIME", "ZONE")
        return DataType(Root.TIME, precision=precision)

    def timestamp(self) -> DataType:
        precision = self.optional_number("precision", 6, 0, 9)
        if self.accept("WITH", "LOCAL", "TIME", "ZONE"):
            return DataType(Root.TIMESTAMP_LTZ, precision=precision)
        if self.accept("WITHOUT"):
            self.expect("TIME", "ZONE")
        return DataType(Root.TIMESTAMP, precision=precision)

    def timestamp_ltz(self) -> DataType:
        return DataType(Root.TIMESTAMP_LTZ, precision=self.optional_number("precision", 6, 0, 9))

    def collection(self) -> DataType:
        root = Root(self.tokens[self.at - 1].upper())
        self.expect("<")
        element = self.data_type()
        self.expect(">")
        return DataType(root, element=element)

    def vector(self) -> DataType:
        self.expect("<")
        element = self.data_type()
        self.expect(",")
        length = self.number("length", 1, MAX_LENGTH)
        self.expect(">")
        return DataType(Root.VECTOR, element=element, length=length)

    def map(self) -> DataType:
        self.expect("<")
        key = self.data_type()
        self.expect(",")
        value = self.data_type()
        self.expect(">")
        return DataType(Root.MAP, key=key, element=value)

    def row(self) -> DataType:
        self.expect("<")
        fields: list[DataField] = []
        while not self.accept(">"):
            if fields:
                self.expect(",")
            field_id, name = next(self.ids), _unquote(self.take())
            data_type = self.data_type()
            self.accept("COMMENT")
            quoted = self.at < len(self.tokens) and self.tokens[self.at].startswith("'")
            fields.append(DataField(field_id, name, data_type, _unquote(self.take()) if quoted else None))
        return DataType(Root.ROW, fields=tuple(fields))

    def geo(self) -> DataType:
        root = Root(self.tokens[self.at - 1].upper())
        parameters: list[str] = []
        if self.accept("("):
            while not self.accept(")"):
                if parameters:
                    self.expect(",")
                parameters.append(self.take())
        return DataType(root, parameters=", ".join(parameters) or _GEO_DEFAULTS[root])


_PARAMETRISED: dict[str, Callable[[_Parser], DataType]] = {
    "DECIMAL": _Parser.decimal, "NUMERIC": _Parser.decimal, "DEC": _Parser.decimal, "TIME": _Parser.time,
    "TIMESTAMP": _Parser.timestamp, "TIMESTAMP_LTZ": _Parser.timestamp_ltz, "ARRAY": _Parser.collection,
    "MULTISET": _Parser.collection, "MAP": _Parser.map, "VECTOR": _Parser.vector, "ROW": _Parser.row,
    "GEOMETRY": _Parser.geo, "GEOGRAPHY": _Parser.geo,
}  # fmt: skip


def _unquote(token: str) -> str:
    mark = token[0]
    return token[1:-1].replace(mark * 2, mark) if mark in "'`" else token


def format_type(data_type: DataType) -> Any:
    """The JSON value of the type in a schema file, as Java writes it: a text, or a dict for a nested type."""
    name = data_type.root.value + ("" if data_type.nullable else " NOT NULL")
    match data_type.root:
        case Root.ARRAY | Root.MULTISET:
            return {"type": name, "element": format_type(data_type.inner)}
        case Root.VECTOR:
            return {"type": name, "element": format_type(data_type.inner), "length": data_type.length}
        case Root.MAP:
            return {"type": name, "key": format_type(data_type.key_type), "value": format_type(data_type.inner)}
        case Root.ROW:
            return {"type": name, "fields": [format_field(f) for f in data_type.fields]}
    return type_sql(data_type)


def format_field(field: DataField) -> dict[str, Any]:
    """The entry of the field under "fields" in a schema file."""
    value: dict[str, Any] = {"id": field.id, "name": field.name, "type": format_type(field.type)}
    if field.description is not None:
        value["description"] = field.description
    if field.default_value is not None:
        value["defaultValue"] = field.default_value
    return value


def type_sql(data_type: DataType) -> str:
    """The type as one line of SQL, for messages; ``parse_type`` reads it back (ids of ROW fields apart)."""
    return _sql_body(data_type) + ("" if data_type.nullable else " NOT NULL")


def _sql_body(t: DataType) -> str:
    match t.root:
        case Root.VARCHAR if t.length == MAX_LENGTH:
            return "STRING"
        case Root.VARBINARY if t.length == MAX_LENGTH:
            return "BYTES"
        case Root.CHAR | Root.VARCHAR | Root.BINARY | Root.VARBINARY:
            return f"{t.root}({_known(t, t.length)})"
        case Root.DECIMAL:
            return f"DECIMAL({_known(t, t.precision)}, {_known(t, t.scale)})"
        case Root.TIME | Root.TIMESTAMP:
            return f"{t.root}({_known(t, t.precision)})"
        case Root.TIMESTAMP_LTZ:
            return f"TIMESTAMP({_known(t, t.precision)}) WITH LOCAL TIME ZONE"
        case Root.ARRAY | Root.MULTISET:
            return f"{t.root}<{type_sql(t.inner)}>"
        case Root.VECTOR:
            return f"VECTOR<{type_sql(t.inner)}, {_known(t, t.length)}>"
        case Root.MAP:
            return f"MAP<{type_sql(t.key_type)}, {type_sql(t.inner)}>"
        case Root.ROW:
            return f"ROW<{', '.join(_field_sql(f) for f in t.fields)}>"
        case Root.GEOMETRY | Root.GEOGRAPHY:
            return f"{t.root}({t.parameters})"
    return t.root.value


def _known(data_type: DataType, parameter: int | None) -> int:
    if parameter is None:
        raise ValueError(f"a {data_type.root} type was made without its length, precision or scale")
    return parameter


def _field_sql(f: DataField) -> str:
    comment = "" if not f.description else " COMMENT '{}'".format(f.description.replace("'", "''"))
    return f"{quoted(f.name)} {type_sql(f.type)}{comment}"
