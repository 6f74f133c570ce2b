"""What a message of a stranger can do: it is malformed and becomes a dead letter, and those beside it are decoded."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from support.change_messages.decoding import columns

from paimon_spark.arrow.text_casts import TEXT, parse_texts
from paimon_spark.cdc.batches.decoding import Decoding
from paimon_spark.cdc.batches.routing import route_batches
from paimon_spark.cdc.batches.rows import decode_batches
from paimon_spark.cdc.encoded_values import decimal_of, decoded_values
from paimon_spark.cdc.encodings import Encoding, Form
from paimon_spark.cdc.json_values import NumberText
from paimon_spark.errors import DataError
from paimon_spark.format.type_text import parse_type

FIELDS = columns(id="INT", name="STRING", amount="DECIMAL(10, 2)", at="TIMESTAMP(6)", day="DATE", raw="BYTES")


def debezium(image: str, table: str) -> str:
    return f'{{"before": null, "after": {image}, "op": "c", "source": {{"db": "shop", "table": {table}, "ts_ms": 1}}}}'


def canal(image: str, table: str) -> str:
    return f'{{"data": [{image}], "type": "INSERT", "database": "shop", "table": {table}, "ts": 1, "isDdl": false}}'


def maxwell(image: str, table: str) -> str:
    return f'{{"database": "shop", "table": {table}, "type": "insert", "ts": 1, "data": {image}}}'


def dms(image: str, table: str) -> str:
    told = '"timestamp": "2023-11-14T22:13:20.5Z", "record-type": "data", "operation": "insert", "schema-name": "shop"'
    return f'{{"data": {image}, "metadata": {{{told}, "table-name": {table}}}}}'


def ogg(image: str, table: str) -> str:
    name = json.dumps(f"shop.{json.loads(table)}")
    return f'{{"table": {name}, "op_type": "I", "op_ts": "2023-11-14 22:13:20.000000", "after": {image}}}'


FORMATS: dict[str, Callable[[str, str], str]] = {
    "debezium-json": debezium, "canal-json": canal, "maxwell-json": maxwell, "ogg-json": ogg, "aws-dms-json": dms,
}  # fmt: skip
GOOD = '{"id": 7, "name": "good"}'
IMAGES = {
    "nested 900 deep": '{"id": 1, "name": ' + "[" * 900 + "]" * 900 + "}",
    "objects nested 450 deep": '{"id": 1, "name": ' + '{"a":' * 450 + "1" + "}" * 450 + "}",
    "nested 100,000 deep": '{"id": 1, "name": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "a number of 5,000 digits": '{"id": 1, "name": ' + "9" * 5000 + "}",
    "a number beyond the column": '{"id": 99999999999999999999}',
    "a fraction of a billion digits": '{"id": 1, "amount": 1e999999999}',
    "a fraction of a billion places": '{"id": 1, "amount": 1e-999999999}',
    "an exponent for an integer": '{"id": 1e999999999}',
    "an unpaired surrogate": '{"id": 1, "name": "\\ud800"}',
    "a name with an unpaired surrogate": '{"id": 1, "\\ud800": 1}',
    "a time of the year 10**18": '{"id": 1, "at": 999999999999999999999}',
    "a day of the year 10**18": '{"id": 1, "day": 999999999999999999}',
    "bytes that are none": '{"id": 1, "raw": "%%%"}',
    "NaN": '{"id": NaN}',
    "an array": "[1]",
    "a text": '"x"',
}


def decoded(kind: str, *messages: str, fields: Any = FIELDS) -> list[dict[str, Any]]:
    decoding = Decoding(kind, fields=fields, dead_letters=True)
    batch = pa.RecordBatch.from_pylist([{"value": text.encode()} for text in messages])
    return [row for found in decode_batches([batch], decoding) for row in found.to_pylist()]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("what", IMAGES)
def test_a_message_stops_no_other(kind: str, what: str) -> None:
    make = FORMATS[kind]
    found = decoded(kind, make(IMAGES[what], '"t"'), make(GOOD, '"t"'))
    assert [row["name"] for row in found if row["_error"] is None][-1:] == ["good"]
    assert all(len(row["_error"]) < 1000 for row in found if row["_error"] is not None)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("what", IMAGES)
def test_a_message_stops_no_other_before_its_table_is_known(kind: str, what: str) -> None:
    make = FORMATS[kind]
    batch = pa.RecordBatch.from_pylist([{"value": make(image, '"t"').encode()} for image in (IMAGES[what], GOOD)])
    (found,) = route_batches([batch], Decoding(kind, dead_letters=True))
    assert found.to_pylist()[-1]["_table"] == "t"


@pytest.mark.parametrize("kind", FORMATS)
def test_of_keys_that_come_twice_the_last_one_counts(kind: str) -> None:
    """As for Java, and for the filters of a proxy that reads the same message as this package does."""
    (row,) = decoded(kind, FORMATS[kind]('{"id": 1, "id": 2, "name": "a"}', '"t"'))
    assert (row["id"], row["name"]) == (2, "a")


@pytest.mark.parametrize("value", [NumberText("1e999999999"), NumberText("1e-999999999"), 10**4299])
def test_a_few_bytes_make_no_number_of_a_billion_digits(value: Any) -> None:
    if isinstance(value, int):
        assert decimal_of(value, 0) == value
        return
    with pytest.raises(ValueError, match="more than 200000 digits"):
        decimal_of(value, 2)


@pytest.mark.parametrize("scale", [-999_999_999, 999_999_999, -300_000, 300_000])
def test_nor_does_a_scale(scale: int) -> None:
    with pytest.raises((ValueError, ArithmeticError)):
        decimal_of("AQ==", scale)


def test_digits_far_behind_the_point() -> None:
    """Arrow's own cast of such numbers reads memory that is not theirs."""
    target, encoding = parse_type("DECIMAL(10, 2)"), Encoding(parse_type("DECIMAL(10, 2)"), Form.VARIABLE_DECIMAL)
    for exponent in (39, 41, 60, 300, 100_000):
        array, source = decoded_values([NumberText(f"1e-{exponent}")], encoding, target)
        assert (str(source), array[0].as_py().strip("0.")) == (str(TEXT), "1")
        assert str(decoded("maxwell-json", maxwell(f'{{"amount": 1e-{exponent}}}', '"t"'))[0]["amount"]) == "0.00"


@pytest.mark.parametrize("text", ["1e1000000", "-1e999999999999999999999", "Infinity"])
def test_a_text_whose_exponent_is_beyond_all(text: str) -> None:
    """In a column that was of texts when its files were written."""
    with pytest.raises(DataError, match="is no DECIMAL"):
        parse_texts(pa.array([text]), TEXT, parse_type("DECIMAL(10, 2)"))
