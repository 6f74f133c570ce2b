"""Messages of Debezium."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from support.change_messages.batches import message_batch
from support.change_messages.decoding import columns, decode_rows, decoded
from support.change_messages.encoders import dumps, unscaled

from paimon_spark.cdc.batches.decoding import Decoding
from paimon_spark.errors import DataError

FIELDS = columns(id="INT", name="STRING")
SOURCE = {"db": "shop", "table": "orders", "ts_ms": 5, "snapshot": "false"}
FORMAT = "debezium-json"


def event(op: str, before: Any = None, after: Any = None, **more: Any) -> dict[str, Any]:
    return {"op": op, "before": before, "after": after, "source": SOURCE, "ts_ms": 6, **more}


def with_schema(after: dict[str, Any], *fields: dict[str, Any]) -> str:
    row = {"type": "struct", "field": "after", "fields": list(fields)}
    return dumps({"schema": {"type": "struct", "fields": [row]}, "payload": event("c", None, after)})


def connect(field: str, type_: str, name: str | None = None, **parameters: str) -> dict[str, Any]:
    return {"field": field, "type": type_, "optional": True, "name": name, "parameters": parameters}


def test_each_operation() -> None:
    one, two = {"id": 1, "name": "a"}, {"id": 1, "name": "b"}
    found = decoded(
        FORMAT,
        FIELDS,
        event("r", None, one),
        event("c", None, two),
        event("u", one, two),
        event("d", two),
        keys=("id",),
    )
    assert found == [("+I", 1, "a"), ("+I", 1, "b"), ("-U", 1, "a"), ("+U", 1, "b"), ("-D", 1, "b")]


def test_an_update_of_an_unknown_key_is_a_delete_and_an_insert() -> None:
    """So does Java always: the key of the row may be another one afterwards."""
    update = event("u", {"id": 1, "name": "a"}, {"id": 2, "name": "a"})
    assert decoded(FORMAT, FIELDS, update) == [("-D", 1, "a"), ("+I", 2, "a")]
    assert decoded(FORMAT, FIELDS, update, keys=("id",)) == [("-D", 1, "a"), ("+I", 2, "a")]


def test_an_image_before_an_update_may_be_partial_or_missing() -> None:
    after = {"id": 1, "name": "b"}
    assert decoded(FORMAT, FIELDS, event("u", {"id": 1}, after), keys=("id",)) == [("-U", 1, "b"), ("+U", 1, "b")]
    assert decoded(FORMAT, FIELDS, event("u", None, after)) == [("+U", 1, "b")]


def test_keys_come_from_the_key_of_the_message() -> None:
    update = dumps(event("u", {"id": 1, "name": "a"}, {"id": 1, "name": "b"}))
    key = dumps({"schema": {"type": "struct", "fields": [connect("id", "int32")]}, "payload": {"id": 1}})
    for text in ('{"id":1}', key, key):
        rows = decode_rows([message_batch([(text, update)])], Decoding(FORMAT, FIELDS)).to_pylist()
        assert [row["_row_kind"] for row in rows] == ["-U", "+U"]


def test_a_delete_without_a_row_is_of_the_key() -> None:
    """Postgres sends no row where the table has REPLICA IDENTITY NOTHING."""
    rows = decode_rows([message_batch([('{"id":7}', dumps(event("d")))])], Decoding(FORMAT, FIELDS)).to_pylist()
    assert [(row["_row_kind"], row["id"], row["name"]) for row in rows] == [("-D", 7, None)]
    with pytest.raises(DataError, match="nothing says what 'd' deletes"):
        decoded(FORMAT, FIELDS, event("d"))


def test_messages_that_change_no_row_are_ignored_by_their_kind() -> None:
    others = (
        None,
        {"ts_ms": 1},
        {"status": "BEGIN", "id": "1:2", "event_count": None, "data_collections": None, "ts_ms": 1},
        {"status": "END", "id": "1:2", "event_count": 3, "data_collections": [], "ts_ms": 1},
        {"source": SOURCE, "ddl": "ALTER TABLE x ADD y INT", "tableChanges": [], "ts_ms": 1},
        event("m", message={"prefix": "x", "content": "aGk="}),
        {"schema": None, "payload": None},
    )
    assert decoded(FORMAT, FIELDS, *others) == []


def test_a_truncated_source_is_an_error_unless_it_is_let_pass() -> None:
    with pytest.raises(DataError, match=r"changed by 'truncate' \(table shop.orders\)"):
        decoded(FORMAT, FIELDS, event("t"))
    assert decoded(FORMAT, FIELDS, event("t"), ignore=("truncate",)) == []


@pytest.mark.parametrize(
    "value",
    [
        "__debezium_unavailable_value",
        "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==",  # of BYTES
        ["__debezium_unavailable_value"],  # of an array
    ],
)
def test_a_large_value_that_was_not_logged_is_not_stored_as_its_placeholder(value: Any) -> None:
    before, after = {"id": 1, "name": value}, {"id": 1, "name": value}
    with pytest.raises(DataError, match=r"column 'name' has the placeholder.*REPLICA IDENTITY FULL"):
        decoded(FORMAT, FIELDS, event("u", None, after))
    assert decoded(FORMAT, FIELDS, event("d", before), keys=("id",))[0][:2] == ("-D", 1), "a delete needs the key alone"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ('{"op":', "not a JSON text"),
        ("[1]", "expected an object"),
        ("NaN", "NaN is not JSON"),
        (event("x", None, {"id": 1}), "'op' is 'x'"),
        (event("c"), "'after' is missing"),
        ({"before": None}, "'op' is missing"),
        ({"op": "c", "after": [1]}, "'after' is"),
        (event("c", None, {"id": "one"}), "column 'id': 'one' is no INT"),
        (event("c", None, {"id": 2**31}), "column 'id'"),
        (event("c", None, {"id": 1.5}), "column 'id'"),
        (event("c", None, {"id": True}), "column 'id'"),
        ("[" * 100_000, "not a JSON text"),
        ('{"schema":{"type":"struct","fields":1},"payload":{}}', "'fields' is 1 in the schema"),
        ('{"schema":5,"payload":{}}', "'schema' is 5"),
    ],
)
def test_malformed_messages_are_errors(value: Any, told: str) -> None:
    with pytest.raises(DataError) as error:
        decoded(FORMAT, FIELDS, event("c", None, {"id": 1}), value)
    assert str(error.value).startswith("the message of topic shop.orders, partition 0, offset 1 cannot be decoded: ")
    assert told in str(error.value)


def test_types_of_the_schema() -> None:
    schema = (
        connect("money", "bytes", "org.apache.kafka.connect.data.Decimal", scale="2"),
        connect("any", "struct", "io.debezium.data.VariableScaleDecimal"),
        connect("day", "int32", "io.debezium.time.Date"),
        connect("day2", "int32", "org.apache.kafka.connect.data.Date"),
        connect("milli", "int64", "io.debezium.time.Timestamp"),
        connect("micro", "int64", "io.debezium.time.MicroTimestamp"),
        connect("nano", "int64", "io.debezium.time.NanoTimestamp"),
        connect("kafka", "int64", "org.apache.kafka.connect.data.Timestamp"),
        connect("zoned", "string", "io.debezium.time.ZonedTimestamp"),
        connect("t3", "int32", "io.debezium.time.Time"),
        connect("t6", "int64", "io.debezium.time.MicroTime"),
        connect("t9", "int64", "io.debezium.time.NanoTime"),
        connect("bits", "bytes", "io.debezium.data.Bits", length="12"),
        connect("blob", "bytes"),
        connect("list", "array"),
    )
    after = {
        "money": unscaled(Decimal("-1234567.89"), 2),
        "any": {"scale": 3, "value": unscaled(Decimal("0.125"), 3)},
        "day": -1,
        "day2": 19000,
        "milli": -1,
        "micro": 1_700_000_000_123_456,
        "nano": 1_700_000_000_123_456_789,
        "kafka": 1_700_000_000_123,
        "zoned": "2018-06-20T13:37:03.5+02:00",
        "t3": 86_399_999,
        "t6": 3_600_000_001,
        "t9": 1_000_000_000,
        "bits": "AQg=",
        "blob": "AP8=",
        "list": [1, None, "x"],
    }
    fields = columns(
        money="DECIMAL(20, 2)", any="DECIMAL(10, 3)", day="DATE", day2="DATE", milli="TIMESTAMP(3)",
        micro="TIMESTAMP(6)", nano="TIMESTAMP(9)", kafka="TIMESTAMP_LTZ(3)", zoned="TIMESTAMP(6)", t3="TIME(3)",
        t6="TIME", t9="TIME", bits="BINARY(2)", blob="BYTES", list="ARRAY<STRING>",
    )  # fmt: skip
    ((kind, *row),) = decoded(FORMAT, fields, with_schema(after, *schema))
    assert kind == "+I"
    values = dict(zip(after, row, strict=True))
    assert values["money"] == Decimal("-1234567.89")
    assert values["any"] == Decimal("0.125")
    assert (values["day"], values["day2"]) == (date(1969, 12, 31), date(2022, 1, 8))
    assert values["milli"] == datetime(1969, 12, 31, 23, 59, 59, 999000)
    assert values["micro"] == datetime(2023, 11, 14, 22, 13, 20, 123456)
    assert values["nano"].value == 1_700_000_000_123_456_789
    assert values["kafka"].replace(tzinfo=None) == datetime(2023, 11, 14, 22, 13, 20, 123000)
    assert values["zoned"] == datetime(2018, 6, 20, 11, 37, 3, 500000)
    assert (values["t3"], values["t6"], values["t9"]) == (time(23, 59, 59, 999000), time(1), time(0, 0, 1))
    assert (values["bits"], values["blob"], values["list"]) == (b"\x08\x01", b"\x00\xff", ["1", None, "x"])


@pytest.mark.parametrize("value", [Decimal("12.34"), "12.34", unscaled(Decimal("12.34"), 2)])
def test_decimals_in_every_way_that_connect_writes_them(value: Any) -> None:
    """`decimal.format`: BASE64 and NUMERIC; `decimal.handling.mode`: precise and string."""
    schema = connect("d", "bytes", "org.apache.kafka.connect.data.Decimal", scale="2")
    assert decoded(FORMAT, columns(d="DECIMAL(10, 2)"), with_schema({"d": value}, schema)) == [("+I", Decimal("12.34"))]


def test_a_decimal_of_many_digits_is_exact() -> None:
    value = Decimal("-" + "9" * 35 + ".999")
    schema = connect("d", "bytes", "org.apache.kafka.connect.data.Decimal", scale="3")
    message = with_schema({"d": unscaled(value, 3)}, schema)
    assert decoded(FORMAT, columns(d="DECIMAL(38, 3)"), message) == [("+I", value)]
    assert decoded(FORMAT, columns(d="STRING"), message) == [("+I", str(value))]
    assert decoded(FORMAT, columns(d="DECIMAL(38, 3)"), event("c", None, {"d": value})) == [("+I", value)]
    with pytest.raises(DataError, match="more digits than the column"):
        decoded(FORMAT, columns(d="DECIMAL(10, 3)"), message)


def test_schemas_may_change_within_a_batch() -> None:
    narrow, wide = connect("a", "int32"), connect("a", "int64")
    micros = connect("at", "int64", "io.debezium.time.MicroTimestamp")
    millis = connect("at", "int64", "io.debezium.time.Timestamp")
    found = decoded(
        FORMAT,
        columns(a="BIGINT", at="TIMESTAMP(6)"),
        with_schema({"a": 1, "at": 1_000_001}, narrow, micros),
        with_schema({"a": 2**40, "at": 1001}, wide, millis),
        event("c", None, {"a": 3, "at": "1970-01-01 00:00:03"}),
        with_schema({"a": 4, "at": 4_000_000}, narrow, micros),
    )
    assert found == [
        ("+I", 1, datetime(1970, 1, 1, 0, 0, 1, 1)),
        ("+I", 2**40, datetime(1970, 1, 1, 0, 0, 1, 1000)),
        ("+I", 3, datetime(1970, 1, 1, 0, 0, 3)),
        ("+I", 4, datetime(1970, 1, 1, 0, 0, 4)),
    ]


def test_nested_values_as_text_and_as_columns() -> None:
    after = {"id": 1, "name": {"a": [1, {"b": None}], "c": Decimal("1.50"), "d": True}}
    assert decoded(FORMAT, FIELDS, event("c", None, after)) == [("+I", 1, '{"a":[1,{"b":null}],"c":1.50,"d":true}')]
    fields = columns(id="INT", name="ROW<c DECIMAL(4, 2), d BOOLEAN, e MAP<STRING, INT>>")
    value = {"c": Decimal("1.50"), "d": True, "e": {"x": 1, "y": None}}
    nested = {"c": Decimal("1.50"), "d": True, "e": [("x", 1), ("y", None)]}
    for written in (value, dumps(value)):
        assert decoded(FORMAT, fields, event("c", None, {"id": 1, "name": written})) == [("+I", 1, nested)]


def test_dead_letters_keep_what_is_malformed() -> None:
    values = [(None, dumps(event("c", None, {"id": 1, "name": "a"}))), ('{"id":2}', "{"), (None, dumps(event("t")))]
    rows = decode_rows([message_batch(values)], Decoding(FORMAT, FIELDS, dead_letters=True)).to_pylist()
    assert [(row["_row_kind"], row["id"], row["_offset"]) for row in rows] == [
        ("+I", 1, 0),
        (None, None, 1),
        (None, None, 2),
    ]
    assert rows[1]["_error"].startswith("it is not a JSON text")
    assert (rows[1]["_key"], rows[1]["_value"], rows[1]["_topic"]) == ('{"id":2}', "{", "shop.orders")
    assert "truncate" in rows[2]["_error"]


def test_no_row_of_a_malformed_message_comes() -> None:
    """The row after the update has a value that does not fit: the one before it does not come either."""
    update = event("u", {"id": 1, "name": "a"}, {"id": "?", "name": "b"})
    rows = decode_rows(
        [message_batch([(None, dumps(update))])], Decoding(FORMAT, FIELDS, dead_letters=True, keys=("id",))
    ).to_pylist()
    assert [row["_row_kind"] for row in rows] == [None]


def test_names_of_columns_in_any_letter_case() -> None:
    message = with_schema({"ID": 1, "Name": "a"}, connect("ID", "int32"), connect("Name", "string"))
    assert decoded(FORMAT, FIELDS, message) == [("+I", None, None)]
    assert decoded(FORMAT, FIELDS, message, case_sensitive=False) == [("+I", 1, "a")]
    with pytest.raises(DataError, match="differ in letter case only"):
        decoded(FORMAT, FIELDS, event("c", None, {"id": 1, "ID": 2}), case_sensitive=False)


def test_columns_that_no_field_takes() -> None:
    message = event("c", None, {"id": 1, "other": 2})
    assert decoded(FORMAT, FIELDS, message) == [("+I", 1, None)]
    with pytest.raises(DataError, match="the table has no column 'other'"):
        decoded(FORMAT, FIELDS, message, whole=True)
