"""Columns that changed their type, read from old files as genuine Java reads them: every pair of plain types it allows.

A pair that one value makes Java fail on (text that is no number) is in the unit tests of casts instead.
"""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import our_engine
import pytest
from genuine import Genuine, table_path
from support.oracles.comparing import comparable, comparable_rows

from paimon_spark import open_table
from paimon_spark.format.type_text import parse_type

pytestmark = pytest.mark.interop

SECOND = 10**9
NUMBERS = [0, 1, -1, 127, -128, None]
FRACTIONS = [0.0, -0.0, 1.5, -1.5, 2.5, 0.1, 1e10, -3e9, 123456.789, float("nan"), float("inf"), float("-inf"), 1e300]
TIMES = [0, 1_700_000_000_123_000_000, -1_500_000_000, -86_400 * SECOND, 951_782_399_999_000_000, None]
POOLS: dict[str, list[Any]] = {
    "BOOLEAN": [True, False, None],
    "TINYINT": NUMBERS,
    "SMALLINT": [*NUMBERS, 32767, -32768, 200],
    "INT": [*NUMBERS, 2**31 - 1, -(2**31), 70_000],
    "BIGINT": [*NUMBERS, 2**63 - 1, -(2**63), 2**40 + 7, 16_777_217],
    "FLOAT": [*(v for v in FRACTIONS if v != 1e300), 3.4e38, 16_777_216.0],
    "DOUBLE": [*FRACTIONS, 1e-5, 1e7, 12345678.9, 5e-324, 1.7976931348623157e308],
    "DECIMAL(9, 2)": [
        Decimal("1234567.89"),
        Decimal("-0.01"),
        Decimal("0.00"),
        Decimal("-1.50"),
        Decimal("300.00"),
        None,
    ],
    "DECIMAL(38, 10)": [Decimal("1234567890123456789012345678.0123456789"), Decimal("-2.5000000000"), Decimal(0), None],
    "DATE": [0, -1, 19_700, -719_162, 2_932_896, None],
    "TIME(3)": [0, 1, 86_399_999, 45_296_789, None],
    "TIMESTAMP(0)": [t if t is None else t // SECOND * SECOND for t in TIMES],
    "TIMESTAMP(3)": TIMES,
    "TIMESTAMP(6)": [*TIMES, -1000, 1_123_456_000],
    "TIMESTAMP(9)": [*TIMES, -1, 1_123_456_789],
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": TIMES,
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": [*TIMES, -1000, 1_123_456_000],
    "BYTES": [b"", b"abc", b"a longer one", None],
    "BINARY(4)": [b"abcd", b"\x00ab\x00", None],
    "VARBINARY(6)": [b"", b"abcdef", None],
    "CHAR(3)": ["abc", "a  ", None],
    "VARCHAR(8)": ["", "abc", "é😀é😀é", "12345678", None],
    "STRING": ["", "text longer than all", "é", None],
}
NUMBER_TEXTS = ["7", "-12", "+3", "1.9", None]
FLOAT_TEXTS = ["1.5", "-2e3", "NaN", " 7 ", "0.1", None]
DECIMAL_TEXTS = ["1.005", "-2.5", "7", "1e3", None]
TIMESTAMP_TEXTS = ["2024-02-29 12:34:56.123456", "1969-12-31 23:59:59.999", "2024-02-29", None]
TEXTS = {  # what a text must look like for the target
    "BOOLEAN": ["true", "F", "yes", "0", None],
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), NUMBER_TEXTS),
    **dict.fromkeys(("FLOAT", "DOUBLE"), FLOAT_TEXTS),
    **dict.fromkeys(("DECIMAL(9, 2)", "DECIMAL(38, 10)"), DECIMAL_TEXTS),
    "DATE": ["2024-02-29", "1969-12-31", "0001-01-01", "2024-1-2", None],
    "TIME(3)": ["12:34:56.789", "00:00", "23:59:59", None],
    **{name: TIMESTAMP_TEXTS for name in POOLS if name.startswith("TIMESTAMP")},
}
DECIMAL_LIMITS = {"DECIMAL(9, 2)": 10**7, "DECIMAL(38, 10)": 10**28}


def values_for(source: str, target: str) -> list[Any]:
    """Values that Java can cast and the test's Java reader can take: it fails on the null of a too big decimal."""
    if source in ("STRING", "CHAR(3)", "VARCHAR(8)") and target in TEXTS:
        return TEXTS[target] if source == "STRING" else [None]
    if target in DECIMAL_LIMITS and not isinstance(POOLS[source][0], bool):
        numbers = [v for v in POOLS[source] if not isinstance(v, (int, float, Decimal)) or math.isfinite(v)]
        return [v for v in numbers if not isinstance(v, (int, float, Decimal)) or abs(v) < DECIMAL_LIMITS[target]]
    if target.startswith("TIMESTAMP") and source in ("DATE", "INT", "BIGINT"):
        return [0, -1, 19_700, None]  # Arrow has no other centuries in nanoseconds
    if target == "DATE" and source in (f"TIMESTAMP({p})" for p in (0, 3, 6, 9)):
        return [v for v in POOLS[source] if v is None or v >= 0]  # Java 2.0 rounds up before 1970, later releases down
    return POOLS[source]


def column(table: Any, name: str) -> Counter[Any]:
    return comparable(table.scan(columns=["id", name]).to_arrow())


@pytest.mark.parametrize("source", POOLS)
def test_every_target(source: str, java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    targets = {f"c{i}": target for i, target in enumerate(POOLS) if target != source}
    pools = {name: values_for(source, t) for name, t in targets.items()}
    our_engine.create(path, {"id": "INT", **dict.fromkeys(targets, source)})
    count = max(map(len, pools.values()))
    our_engine.write(path, [([(i, *(pool[i % len(pool)] for pool in pools.values())) for i in range(count)], None)])
    refused = []
    for name, target in targets.items():
        try:
            java.alter(path, ("updateColumnType", name, target))
        except RuntimeError:
            refused.append(name)
    compared, differences = 0, {}
    table = open_table(path)
    for name, target in targets.items():
        if name in refused:
            continue
        rows = [row for _, row in java.read(path, columns=["id", name])]
        theirs = comparable_rows(rows, [parse_type("INT"), parse_type(target)])
        ours = column(table, name)
        compared += 1
        if ours != theirs:
            differences[target] = (
                sorted((ours - theirs).elements(), key=str),
                sorted((theirs - ours).elements(), key=str),
            )
    assert differences == {}
    assert compared >= 3
