"""Messages of Maxwell, Oracle GoldenGate and AWS DMS."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from support.change_messages.decoding import columns, decoded

from paimon_spark.errors import DataError, OptionError

FIELDS = columns(id="INT", name="STRING")
A, B = {"id": 1, "name": "a"}, {"id": 1, "name": "b"}
UPDATED = [("-U", 1, "a"), ("+U", 1, "b")]


def maxwell(kind: str, data: Any = None, **more: Any) -> dict[str, Any]:
    return {"database": "shop", "table": "orders", "type": kind, "ts": 1700000000, "data": data, **more}


def ogg(op: str, **more: Any) -> dict[str, Any]:
    return {"table": "SHOP.ORDERS", "op_type": op, "op_ts": "2023-11-14 22:13:20.000000", **more}


def dms(operation: str, data: Any = None, record: str = "data", **more: Any) -> dict[str, Any]:
    told = {"timestamp": "2023-11-14T22:13:20.5Z", "record-type": record, "operation": operation}
    return {"data": data, "metadata": {**told, "schema-name": "shop", "table-name": "orders"}, **more}


def test_operations_of_maxwell() -> None:
    found = decoded(
        "maxwell-json",
        FIELDS,
        maxwell("bootstrap-start"),
        maxwell("bootstrap-insert", A),
        maxwell("bootstrap-complete"),
        maxwell("insert", A),
        maxwell("update", B, old={"name": "a"}, primary_key_columns=["id"]),
        maxwell("update", {"id": 2, "name": "b"}, old={"id": 1}, primary_key_columns=["id"]),
        maxwell("delete", B),
        maxwell("table-alter", sql="ALTER TABLE orders ADD x INT"),
        maxwell("database-create", sql="CREATE DATABASE x"),
    )
    moved = [("-D", 1, "b"), ("+I", 2, "b")]
    assert found == [("+I", 1, "a"), ("+I", 1, "a"), *UPDATED, *moved, ("-D", 1, "b")]


def test_operations_of_goldengate() -> None:
    found = decoded(
        "ogg-json",
        FIELDS,
        ogg("I", after=A),
        ogg("U", before=A, after=B, primary_keys=["id"]),
        ogg("U", before={"id": 1, "name": "a"}, after={"id": 1}, primary_keys=["id"]),
        ogg("U", after=B, primary_keys=["id"]),
        ogg("D", before=B),
    )
    unchanged = [("-U", 1, "a"), ("+U", 1, "a")]
    assert found == [("+I", 1, "a"), *UPDATED, *unchanged, ("+U", 1, "b"), ("-D", 1, "b")]


def test_operations_of_dms() -> None:
    found = decoded(
        "aws-dms-json",
        FIELDS,
        dms("create-table", record="control"),
        dms("load", A),
        dms("insert", A),
        dms("update", {**B, "BI_name": "a"}),
        dms("update", B, **{"before-image": {"id": 1, "name": "a"}}),
        dms("delete", B),
        keys=("id",),
    )
    assert found == [("+I", 1, "a"), ("+I", 1, "a"), *UPDATED, *UPDATED, ("-D", 1, "b")]


def test_a_column_whose_name_begins_like_an_image_is_a_column() -> None:
    fields = columns(id="INT", BI_score="INT")
    assert decoded("aws-dms-json", fields, dms("insert", {"id": 1, "BI_score": 5})) == [("+I", 1, 5)]


@pytest.mark.parametrize(
    ("name", "value"),
    [("ogg-json", ogg("T")), ("aws-dms-json", dms("truncate-table", record="control"))],
)
def test_truncated_sources(name: str, value: Any) -> None:
    with pytest.raises(DataError, match="changed by 'truncate'"):
        decoded(name, FIELDS, value)
    assert decoded(name, FIELDS, value, ignore=("truncate",)) == []


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("maxwell-json", maxwell("upsert", A), "'type' is 'upsert'"),
        ("maxwell-json", maxwell("insert"), "'data' is missing"),
        ("maxwell-json", maxwell("update", A), "'old' is missing where 'type' is 'update'"),
        ("maxwell-json", {"data": A}, "'type' is missing"),
        ("maxwell-json", "nonsense", "not a JSON text"),
        ("ogg-json", ogg("X"), "'op_type' is 'X'"),
        ("ogg-json", ogg("I"), "'after' is missing"),
        ("ogg-json", ogg("D"), "'before' is missing"),
        ("ogg-json", ogg("I", after=A, op_ts="soon"), "'op_ts' is 'soon'"),
        ("aws-dms-json", dms("merge", A), "'operation' is 'merge'"),
        ("aws-dms-json", {"data": A}, "'metadata' is missing"),
        ("aws-dms-json", dms("insert"), "'data' is missing"),
        ("aws-dms-json", dms("insert", {"id": "x"}), "column 'id': 'x' is no INT"),
    ],
)
def test_malformed_messages_are_errors(name: str, value: Any, told: str) -> None:
    with pytest.raises(DataError) as error:
        decoded(name, FIELDS, value)
    assert told in str(error.value)


def test_columns_of_metadata() -> None:
    at = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    wanted = ("database_name", "table_name", "op_ts", "topic", "partition", "offset", "timestamp")
    where = ("shop.orders", 0, 0, datetime.fromtimestamp(1700000000, UTC))
    for name, value, database, table in (
        ("maxwell-json", maxwell("insert", A), "shop", "orders"),
        ("ogg-json", ogg("I", after=A), "SHOP", "ORDERS"),
    ):
        found = decoded(name, columns(id="INT"), value, metadata=wanted)
        assert found == [("+I", 1, database, table, at, *where)]
    load = decoded(
        "aws-dms-json", columns(id="INT"), dms("load", A), metadata=("op_ts", "schema_name"), metadata_prefix="_m"
    )
    assert load == [("+I", 1, datetime.fromtimestamp(0, UTC), "shop")]
    with pytest.raises(OptionError, match="there is no metadata column 'x'; there are database_name"):
        decoded("ogg-json", FIELDS, metadata=("x",))


def test_formats_are_known_by_name() -> None:
    with pytest.raises(OptionError, match="there is no format 'avro' of change messages; there are debezium-json"):
        decoded("avro", FIELDS, A)
