"""Messages of Canal."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from support.change_messages.decoding import columns, decoded

from paimon_spark.cdc.formats.mysql_types import mysql_encoding, type_mappings
from paimon_spark.errors import DataError, OptionError
from paimon_spark.format.type_text import type_sql

FIELDS = columns(id="INT", name="STRING")
TYPES = {"id": "int", "name": "varchar(20)"}
FORMAT = "canal-json"


def message(kind: str, data: Any, old: Any = None, **more: Any) -> dict[str, Any]:
    told = {"data": data, "old": old, "type": kind, "isDdl": False, "database": "shop", "table": "orders", "es": 7}
    return {**told, "mysqlType": TYPES, "pkNames": ["id"], **more}


def test_each_operation_of_several_rows() -> None:
    one, two = {"id": "1", "name": "a"}, {"id": "2", "name": None}
    found = decoded(
        FORMAT,
        FIELDS,
        message("INSERT", [one, two]),
        message("UPDATE", [{"id": "1", "name": "b"}, {"id": "3", "name": None}], [{"name": "a"}, {"id": "2"}]),
        message("DELETE", [{"id": "1", "name": "b"}]),
        message("ROW", [one]),
    )
    assert found == [
        ("+I", 1, "a"), ("+I", 2, None), ("-U", 1, "a"), ("+U", 1, "b"), ("-D", 2, None), ("+I", 3, None),
        ("-D", 1, "b"), ("+I", 1, "a"),
    ]  # fmt: skip


def test_messages_that_change_no_row() -> None:
    ddl = message("ALTER", None, isDdl=True, sql="ALTER TABLE orders ADD x INT")
    query = message("QUERY", None, sql="UPDATE orders SET x = 1")
    assert decoded(FORMAT, FIELDS, ddl, query, None) == []
    truncate = message("TRUNCATE", None, isDdl=True, sql="TRUNCATE TABLE orders")
    with pytest.raises(DataError, match="changed by 'truncate'"):
        decoded(FORMAT, FIELDS, truncate)
    assert decoded(FORMAT, FIELDS, truncate, ignore=("truncate",)) == []


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (message("INSERT", None), "'data' is missing"),
        (message("INSERT", [5]), "a row is 5"),
        (message("UPDATE", [{"id": "1"}]), "'old' is missing where 'type' is 'UPDATE'"),
        (message("UPDATE", [{"id": "1"}], [{}, {}]), "'old' has 2 rows and 'data' 1"),
        (message("MERGE", [{"id": "1"}]), "'type' is 'MERGE'"),
        (message("INSERT", [{"id": "1"}], mysqlType={"id": "number(5)"}), "the MySQL type 'number(5)' is not known"),
        (message("INSERT", [{"id": "1"}], pkNames="id"), "'pkNames' is 'id'"),
        (message("INSERT", [{"id": "x"}]), "column 'id': 'x' is no INT"),
    ],
)
def test_malformed_messages_are_errors(value: Any, told: str) -> None:
    with pytest.raises(DataError) as error:
        decoded(FORMAT, FIELDS, value)
    assert told in str(error.value)


DIGITS = "1234567890123456789012345678901234567.12"
POINT = b"\x00\x00\x00\x00\x01\x01\x00\x00\x00" + b"\x00\x00\x00\x00\x00\x00\xf0?" * 2


@pytest.mark.parametrize(
    ("mysql", "text", "column", "value"),
    [
        ("bit(1)", "1", "BOOLEAN", True),
        ("tinyint(1)", "0", "BOOLEAN", False),
        ("tinyint(4) unsigned", "255", "SMALLINT", 255),
        ("int(10) unsigned zerofill", "4294967295", "BIGINT", 4294967295),
        ("bigint(20) unsigned", "18446744073709551615", "DECIMAL(20, 0)", Decimal(18446744073709551615)),
        ("float", "1.5", "FLOAT", 1.5),
        ("double", "1.000011", "DOUBLE", 1.000011),
        ("decimal(12,3)", "-12345.110", "DECIMAL(12, 3)", Decimal("-12345.110")),
        (
            "numeric(40,2)",
            "1234567890123456789012345678901234567.12",
            "STRING",
            "1234567890123456789012345678901234567.12",
        ),
        ("date", "2023-03-23", "DATE", date(2023, 3, 23)),
        ("time", "10:13:23", "TIME(0)", time(10, 13, 23)),
        ("datetime(6)", "2023-03-23 14:30:05.123456", "TIMESTAMP(6)", datetime(2023, 3, 23, 14, 30, 5, 123456)),
        ("timestamp", "2023-03-23 14:30:05", "TIMESTAMP(0)", datetime(2023, 3, 23, 14, 30, 5)),
        ("year", "2023", "INT", 2023),
        ("char(6)", "Paimon", "CHAR(6)", "Paimon"),
        ("longtext", "x" * 100, "STRING", "x" * 100),
        ("json", '{"a": "b"}', "STRING", '{"a": "b"}'),
        ("blob", "\u00ff\u0000a", "BYTES", b"\xff\x00a"),
        ("varbinary(3)", "abc", "VARBINARY(3)", b"abc"),
        ("enum('x','it''s','z')", "2", "STRING", "it's"),
        ("set('a','b','c')", "5", "ARRAY<STRING>", ["a", "c"]),
        ("point", POINT.decode("latin-1"), "STRING", '{"coordinates":[1,1],"type":"Point","srid":0}'),
    ],
)
def test_types_of_mysql(mysql: str, text: str, column: str, value: Any) -> None:
    encoding = mysql_encoding(mysql, frozenset())
    assert type_sql(encoding.type) == column
    row = message("INSERT", [{"c": text}, {"c": None}], mysqlType={"c": mysql}, pkNames=None)
    assert decoded(FORMAT, columns(c=column), row) == [("+I", value), ("+I", None)]


@pytest.mark.parametrize(
    ("mysql", "mapping", "column"),
    [
        ("tinyint(1)", "tinyint1-not-bool", "TINYINT"),
        ("decimal(5,2)", "to-string", "STRING"),
        ("set('a','b')", "to-string", "STRING"),
        ("varchar(5)", "char-to-string", "STRING"),
        ("longtext", "longtext-to-bytes", "BYTES"),
        ("bigint unsigned", "bigint-unsigned-to-bigint", "BIGINT"),
    ],
)
def test_choices_of_types(mysql: str, mapping: str, column: str) -> None:
    assert type_sql(mysql_encoding(mysql, type_mappings((mapping,))).type) == column


def test_unknown_choices_are_refused() -> None:
    with pytest.raises(OptionError, match="there is no type mapping 'x'; there are tinyint1-not-bool"):
        decoded(FORMAT, FIELDS, type_mapping=("x",))


def test_without_types_a_column_is_read_as_the_table_has_it() -> None:
    row = message("INSERT", [{"id": "1", "name": "a"}], mysqlType=None)
    assert decoded(FORMAT, FIELDS, row) == [("+I", 1, "a")]


def test_letter_case() -> None:
    row = message("INSERT", [{"ID": "1"}], mysqlType={"ID": "int"}, pkNames=["ID"])
    assert decoded(FORMAT, FIELDS, row, case_sensitive=False) == [("+I", 1, None)]
