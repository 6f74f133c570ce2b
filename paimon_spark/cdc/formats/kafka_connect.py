"""JSON texts of Kafka Connect with their schema: ``{"schema": ..., "payload": ...}``, or the payload alone.

The schema is longer than the payload and the same in each message. So the text of schemas that were seen is kept, and a
message that begins with one is read from its payload on.

The types that a Debezium message tells in its schema (Java: DebeziumSchemaUtils; Kafka Connect: Schema). Where Java
loses something, this keeps it: ``float64`` is DOUBLE (Java: FLOAT), bytes stay bytes (Java: text), and types that Java
takes for text or numbers (``Time``, ``NanoTimestamp``, Connect's own ``Date``, ``Time`` and ``Timestamp``) are the
types of time that they name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from paimon_spark.cdc.encodings import BYTES, TEXT, Columns, Encoding, Form
from paimon_spark.cdc.events import MalformedMessage, member, optional_member
from paimon_spark.cdc.json_values import parse_json, scan_value
from paimon_spark.format.types import DataType, Root

_BEGIN = '{"schema":'
_PAYLOAD = ',"payload":'
_MOST_SCHEMAS = 64
_DATE = Encoding(DataType(Root.DATE), Form.DAYS)
_NAMED = {
    "io.debezium.time.Date": _DATE,
    "io.debezium.time.Time": Encoding(DataType(Root.TIME, precision=3), Form.MILLIS),
    "io.debezium.time.MicroTime": Encoding(DataType(Root.TIME, precision=0), Form.MICROS),
    "io.debezium.time.NanoTime": Encoding(DataType(Root.TIME, precision=0), Form.NANOS),
    "io.debezium.time.Timestamp": Encoding(DataType(Root.TIMESTAMP, precision=3), Form.MILLIS),
    "io.debezium.time.MicroTimestamp": Encoding(DataType(Root.TIMESTAMP, precision=6), Form.MICROS),
    "io.debezium.time.NanoTimestamp": Encoding(DataType(Root.TIMESTAMP, precision=9), Form.NANOS),
    "io.debezium.time.ZonedTimestamp": Encoding(DataType(Root.TIMESTAMP, precision=6)),
    "org.apache.kafka.connect.data.Date": _DATE,
    "org.apache.kafka.connect.data.Time": Encoding(DataType(Root.TIME, precision=3), Form.MILLIS),
    "org.apache.kafka.connect.data.Timestamp": Encoding(DataType(Root.TIMESTAMP, precision=3), Form.MILLIS),
    "io.debezium.data.VariableScaleDecimal": Encoding(TEXT, Form.VARIABLE_DECIMAL),
    "io.debezium.data.geometry.Point": Encoding(TEXT, Form.GEOMETRY),
    "io.debezium.data.geometry.Geometry": Encoding(TEXT, Form.GEOMETRY),
    "io.debezium.data.geometry.Geography": Encoding(TEXT, Form.GEOMETRY),
}
_PLAIN = {
    "int8": Encoding(DataType(Root.TINYINT)),
    "int16": Encoding(DataType(Root.SMALLINT)),
    "int32": Encoding(DataType(Root.INT)),
    "int64": Encoding(DataType(Root.BIGINT)),
    "float": Encoding(DataType(Root.FLOAT)),
    "float32": Encoding(DataType(Root.FLOAT)),
    "double": Encoding(DataType(Root.DOUBLE)),
    "float64": Encoding(DataType(Root.DOUBLE)),
    "boolean": Encoding(DataType(Root.BOOLEAN)),
    "bytes": Encoding(BYTES, Form.BASE64),
    "string": Encoding(TEXT),
}
_NESTED = Encoding(TEXT)  # structs, arrays and maps: their JSON text, as in Java
_MOST_DIGITS = 38


class Envelopes:
    """Splits messages in their payload and what their schema says."""

    def __init__(self, describe: Callable[[Mapping[str, Any]], Columns | None]) -> None:
        self._describe = describe
        self._known: dict[str, Columns | None] = {}
        self._last = ""

    def open(self, text: str) -> tuple[Any, Columns | None]:
        """The payload, and the columns that the schema tells; None without a schema.

        Raises:
            MalformedMessage: it is not JSON, or its schema is none of Kafka Connect.
        """
        prefix = self._known_prefix(text)
        if prefix:
            try:
                payload, end = scan_value(text, len(prefix))
            except (ValueError, RecursionError):
                end = 0  # a blank before the payload, or no JSON: the whole text is read, or refused
            if end and text[end:].strip() == "}":
                return payload, self._known[prefix]
        value = parse_json(text)
        if not isinstance(value, dict) or "schema" not in value or "payload" not in value:
            return value, None
        schema = value["schema"]
        if schema is None:
            return value["payload"], None
        if not isinstance(schema, dict):
            raise MalformedMessage(f"'schema' is {schema!r:.80}, expected an object")
        columns = self._describe(schema)
        self._remember(text, columns)
        return value["payload"], columns

    def _known_prefix(self, text: str) -> str:
        if not text.startswith(_BEGIN):
            return ""
        if self._last and text.startswith(self._last):
            return self._last
        self._last = next((prefix for prefix in self._known if text.startswith(prefix)), "")
        return self._last

    def _remember(self, text: str, columns: Columns | None) -> None:
        """Keeps what stands before the payload, if it is written as Kafka Connect writes it."""
        if not text.startswith(_BEGIN + "{"):
            return
        _, end = scan_value(text, len(_BEGIN))
        if text.startswith(_PAYLOAD, end):
            if len(self._known) >= _MOST_SCHEMAS:
                self._known.clear()
            self._last = text[: end + len(_PAYLOAD)]
            self._known[self._last] = columns


def row_columns(schema: Mapping[str, Any]) -> Columns | None:
    """The columns of the rows in the schema of an envelope; None if it describes no rows.

    Raises:
        MalformedMessage: it is not a schema of Kafka Connect.
    """
    parts = {part.get("field"): part for part in _fields(schema)}
    rows = parts.get("after") or parts.get("before")
    return None if rows is None else struct_columns(rows)


def struct_columns(schema: Mapping[str, Any]) -> Columns:
    """The columns of a struct: of a row, or of a key.

    Raises:
        MalformedMessage: it is not a schema of Kafka Connect.
    """
    return Columns({member(field, "field", str): _encoding(field) for field in _fields(schema)})


def _fields(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    fields: list[dict[str, Any]] = member(schema, "fields", list, " in the schema")
    if not all(isinstance(field, dict) for field in fields):
        raise MalformedMessage("'fields' in the schema holds other values than objects")
    return fields


def _encoding(field: Mapping[str, Any]) -> Encoding:
    name = optional_member(field, "name", str)
    parameters = optional_member(field, "parameters", dict) or {}
    if name is not None:
        if name in _NAMED:
            return _NAMED[name]
        make = _PARAMETRIC.get(name)
        if make is not None:
            return make(parameters)
    return _PLAIN.get(member(field, "type", str, " of a column in the schema"), _NESTED)


def _decimal(parameters: Mapping[str, Any]) -> Encoding:
    """DECIMAL of the digits that Debezium adds to the scale; without them Java's DECIMAL(20, 0), or as text."""
    scale = _number(parameters, "scale", "a decimal")
    digits = parameters.get("connect.decimal.precision")
    if digits is None:
        data_type = DataType(Root.DECIMAL, precision=20, scale=0) if scale == 0 else TEXT
    else:
        precision = _number(parameters, "connect.decimal.precision", "a decimal")
        fits = precision <= _MOST_DIGITS and 0 <= scale <= precision
        data_type = DataType(Root.DECIMAL, precision=precision, scale=scale) if fits else TEXT
    return Encoding(data_type, Form.BASE64_DECIMAL, scale=scale)


def _bits(parameters: Mapping[str, Any]) -> Encoding:
    length = (_number(parameters, "length", "bits") + 7) // 8
    return Encoding(DataType(Root.BINARY, length=max(length, 1)), Form.BITS)


def _number(parameters: Mapping[str, Any], name: str, what: str) -> int:
    try:
        return int(parameters[name])
    except (KeyError, ValueError, TypeError):
        raise MalformedMessage(f"the schema of {what} has no number '{name}': {dict(parameters)!r:.80}") from None


_PARAMETRIC: dict[str, Callable[[Mapping[str, Any]], Encoding]] = {
    "org.apache.kafka.connect.data.Decimal": _decimal,
    "io.debezium.data.Bits": _bits,
}
