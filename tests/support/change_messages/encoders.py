"""Histories as messages: texts of keys and values, by the public specification of each format."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Context, Decimal
from typing import Any

from support.change_messages.histories import Change, Row, millis_of_day

Message = tuple[str | None, str | None]
"""The key and the value."""
Writers = Mapping[str, Callable[[Any], Any]]
"""How the values of columns are written, by their names; the others as they are."""
SOURCE = {
    "version": "2.7.0",
    "connector": "mysql",
    "name": "shop",
    "db": "shop",
    "table": "orders",
    "ts_ms": 1700000000000,
}
_EPOCH = datetime(1970, 1, 1)


def dumps(value: Any, **more: Any) -> str:
    """JSON in which Decimals are numbers, digit for digit."""
    marks: list[str] = []

    def marked(item: Any) -> Any:
        if isinstance(item, Decimal):
            marks.append(format(item, "f"))
            return f"\ue000{len(marks) - 1}\ue001"
        if isinstance(item, dict):
            return {key: marked(inner) for key, inner in item.items()}
        return [marked(inner) for inner in item] if isinstance(item, list) else item

    text = json.dumps(marked(value), ensure_ascii=False, **more)
    for number, mark in enumerate(marks):
        text = text.replace(f'"\ue000{number}\ue001"', mark)
    return text


def micros(at: datetime) -> int:
    delta = at - _EPOCH
    return (delta.days * 86400 + delta.seconds) * 10**6 + delta.microseconds


def days(day: date) -> int:
    return (day - date(1970, 1, 1)).days


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def unscaled(value: Decimal, scale: int) -> str:
    number = int(value.scaleb(scale, Context(prec=60)))
    return base64_of(number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True))


def _mapped(row: Row | None, writers: Writers) -> dict[str, Any] | None:
    if row is None:
        return None
    return {n: v if v is None or n not in writers else writers[n](v) for n, v in row.items()}


# ------------------------------------------------------------------------------------------------------------ debezium
_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_CONNECT = [
    {"type": "int32", "optional": False, "field": "id"},
    {"type": "string", "optional": True, "field": "name"},
    {
        "type": "bytes",
        "name": _DECIMAL,
        "parameters": {"scale": "3", "connect.decimal.precision": "12"},
        "field": "amount",
    },
    {
        "type": "bytes",
        "name": _DECIMAL,
        "parameters": {"scale": "0", "connect.decimal.precision": "38"},
        "field": "huge",
    },
    {"type": "int64", "name": "io.debezium.time.MicroTimestamp", "version": 1, "field": "at"},
    {"type": "boolean", "optional": True, "field": "flag"},
    {"type": "int64", "optional": True, "field": "big"},
    {"type": "double", "optional": True, "field": "ratio"},
    {"type": "int32", "name": "io.debezium.time.Date", "version": 1, "field": "day"},
    {"type": "int32", "name": "io.debezium.time.Time", "version": 1, "field": "clock"},
    {"type": "bytes", "optional": True, "field": "raw"},
]
ENVELOPE_SCHEMA = {
    "type": "struct",
    "name": "shop.orders.Envelope",
    "fields": [
        {"type": "struct", "fields": _CONNECT, "optional": True, "name": "shop.orders.Value", "field": "before"},
        {"type": "struct", "fields": _CONNECT, "optional": True, "name": "shop.orders.Value", "field": "after"},
        {"type": "string", "optional": False, "field": "op"},
    ],
}
_KEY_SCHEMA = {
    "type": "struct",
    "fields": [{"type": "int32", "optional": False, "field": "id"}],
    "name": "shop.orders.Key",
}
_WITH_SCHEMA: Writers = {
    "amount": lambda value: unscaled(value, 3),
    "huge": lambda value: unscaled(value, 0),
    "at": micros,
    "day": days,
    "clock": millis_of_day,
    "raw": base64_of,
}
_WITHOUT_SCHEMA: Writers = {
    "amount": str,
    "huge": lambda value: value,
    "at": lambda value: value.isoformat(" "),
    "day": days,
    "clock": lambda value: value.isoformat(),
    "raw": base64_of,
}


def debezium(changes: list[Change], draws: random.Random, with_schema: bool) -> Iterator[Message]:
    """A change of a key is a delete, a tombstone and an insert, as Debezium writes it."""
    writers = _WITH_SCHEMA if with_schema else _WITHOUT_SCHEMA

    def value(op: str, before: Row | None, after: Row | None) -> str:
        payload = {"before": _mapped(before, writers), "after": _mapped(after, writers), "source": SOURCE, "op": op,
                   "ts_ms": 1700000000001, "transaction": None}  # fmt: skip
        if not with_schema:
            return dumps(payload)
        compact = {"separators": (",", ":")} if draws.random() < 0.8 else {}
        return dumps({"schema": ENVELOPE_SCHEMA, "payload": payload}, **compact)

    def key(row: Row) -> str:
        payload = {"id": row["id"]}
        return dumps({"schema": _KEY_SCHEMA, "payload": payload}) if with_schema else dumps(payload)

    for change in changes:
        before, after = change.before, change.after
        if before is None:
            assert after is not None
            yield key(after), value("r" if change.snapshot else "c", None, after)
        elif after is not None and before["id"] == after["id"]:
            yield key(after), value("u", None if draws.random() < 0.2 else before, after)
        else:
            yield key(before), value("d", before, None)
            yield key(before), None
            if after is not None:
                yield key(after), value("c", None, after)
        if draws.random() < 0.1:
            yield draws.choice(DEBEZIUM_OTHERS)


DEBEZIUM_OTHERS: tuple[Message, ...] = (
    (None, None),
    ("{}", dumps({"ts_ms": 1700000000000})),
    (None, dumps({"status": "BEGIN", "id": "tx1", "event_count": None, "data_collections": None, "ts_ms": 1})),
    (None, dumps({"status": "END", "id": "tx1", "event_count": 2, "data_collections": [], "ts_ms": 1})),
    (
        None,
        dumps({"source": SOURCE, "databaseName": "shop", "ddl": "ALTER TABLE orders", "tableChanges": []}),
    ),
    (None, dumps({"op": "m", "source": SOURCE, "message": {"prefix": "p", "content": "aGk="}})),
)


# --------------------------------------------------------------------------------------------------------------- canal
MYSQL_TYPES = {
    "id": "int(11)", "name": "text", "amount": "decimal(12,3)", "huge": "decimal(38,0)", "at": "datetime(6)",
    "flag": "tinyint(1)", "big": "bigint(20)", "ratio": "double", "day": "date", "clock": "time(3)",
    "raw": "varbinary(16)",
}  # fmt: skip
_CANAL: Writers = {
    "id": str,
    "amount": str,
    "huge": str,
    "at": lambda value: value.isoformat(" "),
    "flag": lambda value: "1" if value else "0",
    "big": str,
    "ratio": repr,
    "day": str,
    "clock": lambda value: value.isoformat(),
    "raw": lambda value: value.decode("latin-1"),
}


def canal(changes: list[Change], draws: random.Random) -> Iterator[Message]:
    """Several inserts, updates or deletes in a row may come as one message."""
    rest = list(changes)
    while rest:
        kind = _canal_kind(rest[0])
        count = 1
        while count < len(rest) and count < 4 and _canal_kind(rest[count]) == kind and draws.random() < 0.4:
            count += 1
        taken, rest = rest[:count], rest[count:]
        data = [_mapped(change.after or change.before, _CANAL) for change in taken]
        old = None
        if kind == "UPDATE":
            old = [
                {n: v for n, v in (_mapped(c.before, _CANAL) or {}).items() if v != (_mapped(c.after, _CANAL) or {})[n]}
                for c in taken
            ]
        yield None, dumps(
            {"data": data, "database": "shop", "es": 1700000000000, "id": 1, "isDdl": False, "mysqlType": MYSQL_TYPES,
             "old": old, "pkNames": ["id"], "sql": "", "sqlType": {}, "table": "orders", "ts": 1, "type": kind}
        )  # fmt: skip
        if draws.random() < 0.1:
            yield (
                None,
                dumps(
                    {
                        "data": None,
                        "database": "shop",
                        "isDdl": True,
                        "sql": "CREATE INDEX i ON orders (name)",
                        "type": "CINDEX",
                    }
                ),
            )


def _canal_kind(change: Change) -> str:
    if change.before is None:
        return "INSERT"
    return "DELETE" if change.after is None else "UPDATE"


# ------------------------------------------------------------------------------------------------- maxwell, ogg and dms
_PLAIN: Writers = {
    "at": lambda value: value.isoformat(" "),
    "day": str,
    "clock": lambda value: value.isoformat(),
    "raw": base64_of,
}


def maxwell(changes: list[Change], draws: random.Random) -> Iterator[Message]:
    for change in changes:
        after, before = _mapped(change.after, _PLAIN), _mapped(change.before, _PLAIN)
        message: dict[str, Any] = {"database": "shop", "table": "orders", "ts": 1700000000, "xid": 5, "commit": True}
        if before is None:
            message |= {"type": "bootstrap-insert" if change.snapshot else "insert", "data": after}
        elif after is None:
            message |= {"type": "delete", "data": before}
        else:
            message |= {"type": "update", "data": after, "old": {n: v for n, v in before.items() if v != after[n]}}
        if draws.random() < 0.5:
            message["primary_key_columns"] = ["id"]
        yield None, dumps(message)
        if draws.random() < 0.1:
            yield (
                None,
                dumps(
                    draws.choice(
                        (
                            {"type": "bootstrap-start", "database": "shop", "table": "orders", "ts": 1, "data": {}},
                            {
                                "type": "table-alter",
                                "database": "shop",
                                "table": "orders",
                                "ts": 1,
                                "sql": "ALTER TABLE x",
                            },
                        )
                    )
                ),
            )


def ogg(changes: list[Change], draws: random.Random) -> Iterator[Message]:
    for change in changes:
        after, before = _mapped(change.after, _PLAIN), _mapped(change.before, _PLAIN)
        op = "I" if before is None else "D" if after is None else "U"
        message: dict[str, Any] = {"table": "SHOP.ORDERS", "op_type": op, "op_ts": "2023-11-14 22:13:20.000000",
                                "current_ts": "2023-11-14T22:13:21.000000", "pos": "00000000020030006122"}  # fmt: skip
        message |= {} if before is None else {"before": before}
        message |= {} if after is None else {"after": after}
        if draws.random() < 0.5:
            message["primary_keys"] = ["id"]
        yield None, dumps(message)


def dms(changes: list[Change], draws: random.Random) -> Iterator[Message]:
    for change in changes:
        after, before = _mapped(change.after, _PLAIN), _mapped(change.before, _PLAIN)
        message: dict[str, Any] = {}
        if before is None:
            operation, data = ("load" if change.snapshot else "insert"), after
        elif after is None:
            operation, data = "delete", before
        elif draws.random() < 0.5:
            operation, data = "update", {**after, **{f"BI_{n}": v for n, v in before.items()}}
        else:
            operation, data = "update", after
            message["before-image"] = {n: v for n, v in before.items() if v != after[n] or n == "id"}
        metadata = {"timestamp": "2023-11-14T22:13:20.123456Z", "record-type": "data", "operation": operation,
                    "partition-key-type": "schema-table", "schema-name": "shop", "table-name": "orders"}  # fmt: skip
        yield None, dumps({"data": data, "metadata": metadata, **message})
        if draws.random() < 0.1:
            control = {**metadata, "record-type": "control", "operation": "create-table"}
            yield None, dumps({"metadata": control})


Encoder = Callable[[list[Change], random.Random], Iterator[Message]]
ENCODERS: dict[str, tuple[str, Encoder]] = {
    "debezium": ("debezium-json", lambda changes, draws: debezium(changes, draws, with_schema=False)),
    "debezium-with-schema": ("debezium-json", lambda changes, draws: debezium(changes, draws, with_schema=True)),
    "canal": ("canal-json", canal),
    "maxwell": ("maxwell-json", maxwell),
    "ogg": ("ogg-json", ogg),
    "dms": ("aws-dms-json", dms),
}
"""The name of the format behind each way to write a history."""
