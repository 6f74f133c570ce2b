"""The same messages, decoded here and by Java's CDC jobs."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Context, Decimal
from typing import Any

import pytest
from genuine_jars import JavaUnavailable
from java_decoders import Decoded, JavaDecoders, java_decoders
from support.change_messages.batches import values_batch
from support.change_messages.decoding import columns, decode_rows
from support.change_messages.encoders import ENCODERS, ENVELOPE_SCHEMA, MYSQL_TYPES, dumps
from support.change_messages.histories import TYPES, Change, Row, draw_history
from support.long_runs import tries

from paimon_spark.arrow.types import to_internal
from paimon_spark.cdc.batches.decoding import OFFSET, ROW_KIND, Decoding
from paimon_spark.cdc.batches.inferred_columns import inferred_columns
from paimon_spark.cdc.batches.routing import COLUMNS, route_batches
from paimon_spark.format.type_text import type_sql

pytestmark = pytest.mark.interop

HISTORIES = tries("PAIMON_CDC_JAVA_HISTORIES", ci=4, long=300)
# Java takes an update for a delete and an insert.
JAVA_KINDS = {"+I": "+I", "-U": "-D", "+U": "+I", "-D": "-D"}
TELL_BYTES = ("debezium-with-schema", "canal")
FILLED: Row = {
    "id": 0, "name": "x", "amount": Decimal("1.500"), "huge": Decimal(2**70), "at": datetime(2020, 1, 2, 3, 4, 5, 6),
    "flag": True, "big": 7, "ratio": 0.25, "day": date(2020, 2, 29), "clock": time(9, 8, 7, 6000), "raw": b"abc",
}  # fmt: skip


@pytest.fixture(scope="module")
def decoders() -> Iterator[JavaDecoders]:
    try:
        with java_decoders() as served:
            yield served
    except JavaUnavailable as reason:
        pytest.skip(str(reason))


def readable(row: Row | None, with_bytes: bool) -> Row | None:
    """A row that Java keeps: it takes a null of JSON for the text "null", bytes for UTF-8, and no day before 1970."""
    if row is None:
        return None
    filled = {name: FILLED[name] if value is None else value for name, value in row.items()}
    filled["day"] = max(filled["day"], date(1970, 1, 1))
    filled["raw"] = filled["raw"].hex()[:6].encode()
    return filled if with_bytes else {name: value for name, value in filled.items() if name != "raw"}


def messages_of(written: str, seed: int) -> list[str]:
    draws = random.Random(seed)
    told = written in TELL_BYTES
    changes = [Change(readable(c.before, told), readable(c.after, told)) for c in draw_history(draws)]
    values = [value for _, value in ENCODERS[written][1](changes, draws) if value is not None]
    return [numeric(value) for value in values] if written == "debezium-with-schema" else values


def numeric(text: str) -> str:
    """Decimals as numbers, the only form that Java reads (`decimal.format` = numeric)."""
    message = json.loads(text, parse_float=Decimal)
    payload = message.get("payload", message)
    for image in (payload.get("before"), payload.get("after")):
        for name, scale in (("amount", 3), ("huge", 0)):
            if image is not None and isinstance(image[name], str):
                unscaled = int.from_bytes(base64.b64decode(image[name]), "big", signed=True)
                image[name] = Decimal(unscaled).scaleb(-scale, Context(prec=60))
    return dumps(message)


def fails_in_java(message: str) -> bool:
    """Updates of Debezium without the row before them; two equal rows in a message of Canal."""
    value = json.loads(message)
    value = value.get("payload", value)
    data = list(map(str, value["data"])) if isinstance(value.get("data"), list) else []
    return len(set(data)) < len(data) or (value.get("op") == "u" and value["before"] is None)


def here(format_name: str, types: dict[str, str], messages: list[str]) -> list[list[Decoded]]:
    """The rows of each message, as Java names their kinds and as its values are."""
    fields = columns(**types)
    table = decode_rows([values_batch(*messages)], Decoding(format_name, fields))
    found: list[list[Decoded]] = [[] for _ in messages]
    values = [[to_internal(item) for item in table.column(field.name)] for field in fields]
    for number, (kind, offset) in enumerate(zip(table[ROW_KIND].to_pylist(), table[OFFSET].to_pylist(), strict=True)):
        found[offset].append((JAVA_KINDS[kind], tuple(column[number] for column in values)))
    return found


@pytest.mark.parametrize("written", ENCODERS)
def test_histories(decoders: JavaDecoders, written: str) -> None:
    """All that Java knows."""
    format_name = ENCODERS[written][0]
    types = {n: t for n, t in TYPES.items() if n != "raw" or written in TELL_BYTES}
    compared = 0
    for seed in range(HISTORIES):
        messages = messages_of(written, seed)
        mine = here(format_name, types, messages)
        theirs = decoders.decode(format_name, types, messages)
        for message, rows, java in zip(messages, mine, theirs, strict=True):
            if rows and (java is not None or not fails_in_java(message)) and '"before-image"' not in message:
                assert rows == java, (seed, message)
                compared += len(rows)
    assert compared > 10 * HISTORIES


def test_types_that_canal_tells(decoders: JavaDecoders) -> None:
    types = {
        **MYSQL_TYPES, "a": "bit(1)", "b": "bit(12)", "c": "tinyint(4) unsigned", "d": "smallint(5) unsigned zerofill",
        "e": "mediumint(8)", "f": "int(10) unsigned", "g": "bigint(20) unsigned", "h": "float", "i": "real",
        "j": "decimal", "k": "numeric(40,3)", "l": "char(6)", "m": "longtext", "n": "blob", "o": "json", "p": "year",
        "q": "timestamp", "r": "datetime(3)", "s": "enum('a','b')", "t": "set('a','b')", "u": "geometry",
        "v": "binary(3)", "w": "double precision unsigned", "x": "boolean", "y": "time",
    }  # fmt: skip
    row = dict.fromkeys(types)
    message = {"data": [row], "type": "INSERT", "mysqlType": types, "pkNames": ["id"], "database": "d", "table": "t"}
    assert told_here("canal-json", message) == decoders.types("canal-json", dumps(message))


def test_types_that_debezium_tells(decoders: JavaDecoders) -> None:
    """Only types of time that Java takes for numbers differ, and FLOAT for float64."""
    message = json.loads(messages_of("debezium-with-schema", 5)[0])
    message["schema"] = ENVELOPE_SCHEMA
    mine, theirs = told_here("debezium-json", message), decoders.types("debezium-json", dumps(message))
    assert {n: (mine[n], theirs[n]) for n in mine if mine[n] != theirs[n]} == {"clock": ("TIME(3)", "INT")}


def told_here(format_name: str, message: dict[str, Any]) -> dict[str, str]:
    (routed,) = route_batches([values_batch(message)], Decoding(format_name))
    return {name: type_sql(told) for name, told in inferred_columns(routed.column(COLUMNS)[0].as_py()).items() if told}


def test_the_place_that_messages_tell(decoders: JavaDecoders) -> None:
    for written, (format_name, _) in ENCODERS.items():
        message = messages_of(written, 3)[0]
        (routed,) = route_batches([values_batch(message)], Decoding(format_name))
        row = routed.to_pylist()[0]
        database, table, keys = decoders.place(format_name, message)
        assert (row["_database"], row["_table"]) == (database, table)
        assert not keys or tuple(row["_keys"]) == keys
