"""Rows that are too old: by their column, and files by their statistics."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables.pick_cases import a_file

from paimon_spark.arrow.types import arrow_type
from paimon_spark.errors import OptionError
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import DataFileMeta, SimpleStats
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField
from paimon_spark.merge.compaction.record_expiry import RecordExpiry, expired_files, record_expiry, unexpired

NOW = 1_700_000_000


def field_of(type_text: str, field_id: int = 1) -> DataField:
    return DataField(field_id, "t", parse_type(type_text))


def expiry_of(type_text: str, lifetime: int = 10) -> RecordExpiry:
    return RecordExpiry(field_of(type_text), lifetime)


def stays(type_text: str, values: list[int | None], now: int = NOW, lifetime: int = 10) -> list[bool]:
    """values: numbers, for timestamps in their Arrow unit."""
    arrow = arrow_type(parse_type(type_text))
    numbers = pa.array(values, pa.int32() if arrow == pa.int32() else pa.int64())
    result = unexpired(numbers.cast(arrow), expiry_of(type_text, lifetime), now)
    assert result.type == pa.bool_()
    assert result.null_count == 0
    return list(result.to_pylist())


@pytest.mark.parametrize(
    ("type_text", "unit"),
    [("INT", 1), ("BIGINT", 1), ("BIGINT", 10**3), ("TIMESTAMP(0)", 10**3), ("TIMESTAMP(3)", 10**3),
     ("TIMESTAMP(6)", 10**6), ("TIMESTAMP(9)", 10**9), ("TIMESTAMP_LTZ(6)", 10**6)],
)  # fmt: skip
def test_a_row_stays_for_its_lifetime(type_text: str, unit: int) -> None:
    """RecordLevelExpireTest.test and its neighbours."""
    times = [NOW + 3600, NOW, NOW - 10, NOW - 11]
    assert stays(type_text, [t * unit for t in times] + [None]) == [True, True, True, False, True]


def test_parts_of_a_second_do_not_count() -> None:
    """RecordLevelExpireTest.testConvertFieldToSecond."""
    assert stays("TIMESTAMP(6)", [(NOW - 10) * 10**6 - 1, (NOW - 10) * 10**6]) == [False, True]
    assert stays("TIMESTAMP(9)", [(NOW - 10) * 10**9 - 1, (NOW - 10) * 10**9]) == [False, True]
    assert stays("BIGINT", [(NOW - 10) * 1000 - 1, (NOW - 10) * 1000]) == [False, True]


def test_bigint_turns_into_milliseconds_at_ten_to_the_twelfth() -> None:
    last_seconds = 10**12 - 1
    assert stays("BIGINT", [last_seconds, 10**12], now=10**9 + 11) == [True, False]
    assert stays("BIGINT", [10**12, 10**12 + 999, -1, 0], now=10**9 + 10) == [True, True, False, False]
    assert stays("BIGINT", [2**63 - 1, -(2**63)]) == [True, False]


def test_times_before_1970_round_towards_it() -> None:
    """Java divides milliseconds towards zero: -1999 ms are second -1."""
    assert stays("TIMESTAMP(3)", [-999, -1000, -1999, -2000], now=9) == [True, True, True, False]
    assert stays("TIMESTAMP(3)", [-999, -1000], now=10) == [True, False]
    assert stays("TIMESTAMP(6)", [-1_999_000, -1_999_001], now=9) == [True, False]
    assert stays("TIMESTAMP(3)", [999, 1000], now=11) == [False, True]


def test_extremes() -> None:
    assert stays("INT", [2**31 - 1, -(2**31)], now=2**31 + 8) == [True, False]
    assert stays("TIMESTAMP(9)", [2**63 - 1, None], now=2**62) == [False, True]
    assert stays("INT", [-(2**31)], lifetime=2**62) == [True]
    assert stays("TIMESTAMP(9)", [-(2**63)], lifetime=2**62) == [True]
    assert stays("INT", []) == []
    assert stays("INT", [None]) == [True]


def to_seconds(value: int, type_text: str) -> int:
    """As the official system says it, number by number."""
    if type_text.startswith("TIMESTAMP"):
        per_milli = {"3": 1, "6": 10**3, "9": 10**6}[type_text[-2]]
        return int((value // per_milli) / 1000)
    return value // 1000 if type_text == "BIGINT" and value >= 10**12 else value


@given(
    st.sampled_from(["INT", "BIGINT", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(9)"]),
    st.lists(st.one_of(st.none(), st.integers(-5000, 5000), st.integers(-(2**31), 2**31 - 1)), max_size=8),
    st.integers(-5000, 5000),
    st.integers(0, 20),
)
def test_against_the_definition(type_text: str, values: list[int | None], now: int, lifetime: int) -> None:
    expected = [value is None or now <= to_seconds(value, type_text) + lifetime for value in values]
    assert stays(type_text, values, now, lifetime) == expected


# --------------------------------------------------------------------------------------------------------------- files

COLUMNS = (DataField(0, "k", parse_type("INT NOT NULL")), field_of("INT"), DataField(2, "v", parse_type("STRING")))


def stats_of(fields: tuple[DataField, ...], low: list[object]) -> SimpleStats:
    row = encode_arity_row(low, [field.type for field in fields])
    return SimpleStats(row, row, tuple(0 for _ in fields))


def file_of(
    minimum: object, fields: tuple[DataField, ...] = COLUMNS, schema_id: int = 0, cols: tuple[str, ...] | None = None
) -> DataFileMeta:
    stored = fields if cols is None else tuple(f for f in fields if f.name in cols)
    low = [minimum if f.id == 1 else ("" if f.name == "v" else 0) for f in stored]
    return a_file("f")._replace(schema_id=schema_id, value_stats=stats_of(stored, low), value_stats_cols=cols)


def is_expired(
    file: DataFileMeta, type_text: str = "INT", schemas: dict[int, tuple[DataField, ...]] | None = None
) -> bool:
    fields = schemas or {0: COLUMNS}
    return expired_files(expiry_of(type_text), NOW, lambda schema_id: fields[schema_id])(file)


def test_the_minimum_tells() -> None:
    """RecordLevelExpireTest.testIsExpireFile."""
    assert is_expired(file_of(NOW - 11))
    assert not is_expired(file_of(NOW - 10))
    assert not is_expired(file_of(None))


def test_statistics_of_some_columns() -> None:
    assert is_expired(file_of(NOW - 11, cols=("k", "t")))
    assert is_expired(file_of(NOW - 11, cols=("t",)))
    assert not is_expired(file_of(NOW - 11, cols=("k", "v")))
    assert not is_expired(file_of(NOW - 11, cols=()))
    assert is_expired(file_of(NOW - 11, cols=("t",))._replace(value_stats_cols=None, write_cols=("t",)))


def test_no_statistics_at_all() -> None:
    assert not is_expired(a_file("f"))


def test_columns_that_came_and_went() -> None:
    today = (COLUMNS[0], DataField(3, "new", parse_type("INT")), replace(COLUMNS[1], name="renamed"), COLUMNS[2])
    schemas = {0: COLUMNS, 1: today, 2: (COLUMNS[0], DataField(9, "t", parse_type("INT")))}
    assert is_expired(file_of(NOW - 11), schemas=schemas)
    assert is_expired(file_of(NOW - 11, today, 1)._replace(value_stats_cols=None), schemas=schemas)
    assert not is_expired(file_of(0, schemas[2], 2)._replace(value_stats_cols=None), schemas=schemas)
    assert not is_expired(file_of(NOW - 11, cols=("t", "k")), schemas={0: today})


@pytest.mark.parametrize(
    ("then", "now", "minimum", "expected"),
    [
        ("INT", "BIGINT", NOW - 11, True),
        ("SMALLINT", "INT", 7, True),
        ("BIGINT", "BIGINT", (NOW - 10) * 1000 - 1, True),
        ("BIGINT", "BIGINT", (NOW - 10) * 1000, False),
        ("BIGINT", "BIGINT", NOW - 10, False),
        ("BIGINT", "BIGINT", 10**12, True),
        ("BIGINT", "BIGINT", 10**12 - 1, False),
        ("TIMESTAMP(3)", "TIMESTAMP(6)", (NOW - 10) * 10**9 - 10**6, True),
        ("TIMESTAMP(3)", "TIMESTAMP(6)", (NOW - 10) * 10**9, False),
        ("STRING", "INT", "1", False),
        ("TIMESTAMP(6)", "BIGINT", 0, False),
        ("TIMESTAMP(6)", "TIMESTAMP_LTZ(6)", 0, False),
    ],
)
def test_types_that_changed(then: str, now: str, minimum: object, expected: bool) -> None:
    fields = (COLUMNS[0], field_of(then), COLUMNS[2])
    assert is_expired(file_of(minimum, fields), now, {0: fields}) is expected


@pytest.mark.parametrize(
    ("millis", "now", "expected"),
    [(-1999, 9, False), (-2000, 9, True), (-1, 10, False), (-999, 10, False), (-1000, 10, True), (0, 10, False)],
)
def test_minima_before_1970_round_towards_it(millis: int, now: int, expected: bool) -> None:
    fields = (COLUMNS[0], field_of("TIMESTAMP(3)"), COLUMNS[2])
    expires = expired_files(expiry_of("TIMESTAMP(3)"), now, lambda _: fields)
    assert expires(file_of(millis * 10**6, fields)) is expected


# ------------------------------------------------------------------------------------------------------------- options


def expiry_with(**options: str) -> RecordExpiry | None:
    schema = TableSchema(0, (*COLUMNS, DataField(3, "at", parse_type("TIMESTAMP(3)"))), 3)
    return record_expiry(schema, TableSettings({f"record-level.{k.replace('_', '-')}": v for k, v in options.items()}))


def test_options() -> None:
    assert expiry_with() is None
    assert expiry_with(time_field="t") is None
    assert expiry_with(time_field="t", expire_time="1500 ms") == RecordExpiry(COLUMNS[1], 1)
    assert expiry_with(time_field="at", expire_time="1 d") == RecordExpiry(
        DataField(3, "at", parse_type("TIMESTAMP(3)")), 86_400
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"expire_time": "1 d"}, "no column tells the time"),
        ({"expire_time": "1 d", "time_field": "gone"}, "'gone', but the columns are k, t, v, at"),
        ({"expire_time": "1 d", "time_field": "v"}, "of the type STRING; name an INT"),
        ({"expire_time": "soon", "time_field": "t"}, "a duration such as"),
    ],
)
def test_bad_options(options: dict[str, str], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        expiry_with(**options)
