"""Data types as text and JSON: every syntax of the format, and what is refused."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from support.draws.format_values import INT, STRING, data_types
from support.long_runs import examples

from paimon_spark.errors import SchemaError, UnsupportedFeature
from paimon_spark.format.type_text import format_type, parse_type, type_sql
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root

NESTED_ROW = {
    "type": "ROW NOT NULL",
    "fields": [
        {"id": 4, "name": "a b", "type": "INT NOT NULL", "description": "it's", "defaultValue": "7"},
        {"id": 5, "name": "m", "type": {"type": "MAP", "key": "STRING NOT NULL", "value": "DATE"}},
    ],
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INT", INT),
        ("  int  not   null ", DataType(Root.INT, False)),
        ("INTEGER NULL", INT),
        ("STRING", STRING),
        ("BYTES", DataType(Root.VARBINARY, length=MAX_LENGTH)),
        ("CHAR", DataType(Root.CHAR, length=1)),
        ("VARCHAR(2147483647)", STRING),
        ("VARBINARY( 10 )", DataType(Root.VARBINARY, length=10)),
        ("DECIMAL", DataType(Root.DECIMAL, precision=10, scale=0)),
        ("numeric(5)", DataType(Root.DECIMAL, precision=5, scale=0)),
        ("DEC(38,38)", DataType(Root.DECIMAL, precision=38, scale=38)),
        ("DOUBLE PRECISION", DataType(Root.DOUBLE)),
        ("TIME", DataType(Root.TIME, precision=0)),
        ("TIME(3) WITHOUT TIME ZONE", DataType(Root.TIME, precision=3)),
        ("TIMESTAMP", DataType(Root.TIMESTAMP, precision=6)),
        ("TIMESTAMP(9) WITHOUT TIME ZONE NOT NULL", DataType(Root.TIMESTAMP, False, precision=9)),
        ("TIMESTAMP(0) WITH LOCAL TIME ZONE", DataType(Root.TIMESTAMP_LTZ, precision=0)),
        ("TIMESTAMP_LTZ", DataType(Root.TIMESTAMP_LTZ, precision=6)),
        ("TIMESTAMP_LTZ(3)", DataType(Root.TIMESTAMP_LTZ, precision=3)),
        ("INT NOT NULL ARRAY NOT NULL", DataType(Root.ARRAY, False, element=DataType(Root.INT, False))),
        ("STRING MULTISET", DataType(Root.MULTISET, element=STRING)),
        ("VECTOR<FLOAT, 3>", DataType(Root.VECTOR, element=DataType(Root.FLOAT), length=3)),
        ("MAP<INT NOT NULL, STRING>", DataType(Root.MAP, key=DataType(Root.INT, False), element=STRING)),
        ("GEOMETRY", DataType(Root.GEOMETRY, parameters="OGC:CRS84")),
        ("GEOGRAPHY('EPSG 1', SPHERICAL)", DataType(Root.GEOGRAPHY, parameters="'EPSG 1', SPHERICAL")),
        ("VARIANT", DataType(Root.VARIANT)),
        ("BLOB NOT NULL", DataType(Root.BLOB, False)),
    ],
)
def test_texts_in_any_official_spelling(text: str, expected: DataType) -> None:
    assert parse_type(text) == expected


def test_rows_in_sql_text_number_their_fields() -> None:
    parsed = parse_type("ROW<`a``b` INT NOT NULL COMMENT 'it''s', c ROW<d BIGINT>>")
    inner = DataType(Root.ROW, fields=(DataField(2, "d", DataType(Root.BIGINT)),))
    fields = (DataField(0, "a`b", DataType(Root.INT, False), "it's"), DataField(1, "c", inner))
    assert parsed == DataType(Root.ROW, fields=fields)


@pytest.mark.parametrize(
    "value",
    [
        "INT",
        "VARCHAR(20) NOT NULL",
        "DECIMAL(38, 10)",
        "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL",
        "GEOGRAPHY(OGC:CRS84, SPHERICAL)",
        {"type": "ARRAY NOT NULL", "element": "STRING NOT NULL"},
        {"type": "MULTISET", "element": {"type": "ARRAY", "element": "BYTES"}},
        {"type": "VECTOR", "element": "FLOAT", "length": 3},
        NESTED_ROW,
    ],
)
def test_what_java_writes_is_written_back_alike(value: Any) -> None:
    assert format_type(parse_type(value)) == value


@given(data_types())
@settings(max_examples=examples(200))
def test_every_type_survives_json_and_sql(data_type: DataType) -> None:
    assert parse_type(json.loads(json.dumps(format_type(data_type)))) == data_type
    assert type_sql(parse_type(type_sql(data_type))) == type_sql(data_type)


@pytest.mark.parametrize(
    "value",
    [
        "", "   ", "INT INT", "INT NOT", "DECIMAL(39, 2)", "DECIMAL(5, 6)", "DECIMAL(0)", "CHAR(0)",
        "VARCHAR(2147483648)", "VARCHAR(-1)", "TIMESTAMP(10)", "TIME(1", "MAP<INT>", "ARRAY<INT", "VECTOR<FLOAT, 0>",
        "ROW<a>", "'INT'", "(",
        "CHAR(99999999999999999999)", "TIMESTAMP(6) WITH LOCAL ZONE", "INT, DROP", None, 7, [], {}, {"type": "ARRAY"},
        {"type": "MAP", "key": "INT"}, {"type": "ROW", "fields": {}}, {"type": "ROW", "fields": [{"name": "a"}]},
        {"type": "ROW", "fields": [{"id": "1", "name": "a", "type": "INT"}]},
        {"type": "ROW", "fields": [{"id": -1, "name": "a", "type": "INT"}]},
        {"type": "ARRAY NULLABLE", "element": "INT"}, {"type": "VECTOR", "element": "FLOAT", "length": True},
    ],
)  # fmt: skip
def test_malformed_types_are_refused(value: Any) -> None:
    with pytest.raises(SchemaError):
        parse_type(value)


@pytest.mark.parametrize("value", ["HYPERLOGLOG(3)", {"type": "UNION", "fields": []}])
def test_types_of_a_newer_release_are_refused_by_name(value: Any) -> None:
    with pytest.raises(UnsupportedFeature, match=r"HYPERLOGLOG|UNION"):
        parse_type(value)


@pytest.mark.parametrize(("text", "meant"), [("INTT", "INT"), ("varchr(3)", "VARCHAR"), ("TIMESTMP", "TIMESTAMP")])
def test_a_misspelt_type_names_the_one_that_is_meant(text: str, meant: str) -> None:
    with pytest.raises(UnsupportedFeature, match=f"did you mean {meant}\\?"):
        parse_type(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("int64", "BIGINT"), ("float64", "DOUBLE"), ("Int64", "BIGINT"), ("long", "BIGINT"), ("uint32", "BIGINT"),
        ("utf8", "STRING"), ("list<int64>", "ARRAY"), ("map<string, int64>", "BIGINT for INT64"),
        ("decimal128(10, 2)", "DECIMAL"), ("date32[day]", "DATE"), ("timestamp[us]", "TIMESTAMP"),
        ("timestamp[us, tz=UTC]", "TIMESTAMP_LTZ"), ("datetime64[ns, UTC]", "TIMESTAMP_LTZ"),
        ("datetime64[ns]", "TIMESTAMP"),
    ],
)  # fmt: skip
def test_a_name_of_arrow_or_numpy_is_answered_with_the_type_that_holds_its_values(text: str, meant: str) -> None:
    with pytest.raises(UnsupportedFeature, match=f"did you mean {re.escape(meant)}\\?"):
        parse_type(text)


def test_a_name_of_arrow_that_nothing_here_is_like_is_answered_with_no_other() -> None:
    for text in ("time64[us]", "fixed_size_binary[4]"):
        with pytest.raises(UnsupportedFeature, match=r"not known to this release of paimon_spark$"):
            parse_type(text)


def test_the_local_timestamp_of_spark_is_answered_with_that_of_paimon() -> None:
    with pytest.raises(UnsupportedFeature, match=r"'TIMESTAMP_NTZ\(3\)' is TIMESTAMP of Paimon, as in TIMESTAMP\(3\)"):
        parse_type("TIMESTAMP_NTZ(3)")


def test_types_too_deep_to_parse_are_refused() -> None:
    deep: Any = "INT"
    for _ in range(2000):
        deep = {"type": "ARRAY", "element": deep}
    for value in (deep, "ARRAY<" * 2000 + "INT" + ">" * 2000):
        with pytest.raises(SchemaError, match="deeper"):
            parse_type(value)
