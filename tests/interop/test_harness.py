"""The genuine reader on genuine tables: what the interop tests compare with is itself compared with the golden rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from genuine import Genuine
from support.oracles.comparing import comparable_rows
from support.tables.golden_tables import GoldenTable, expected_rows

from paimon_spark.format.type_text import parse_type

pytestmark = pytest.mark.interop

TABLES = [
    GoldenTable("java-2.1", "types_parquet"),
    GoldenTable("java-2.1", "pktypes_avro"),
    GoldenTable("java-2.1", "schema_evo"),
    GoldenTable("java-2.1", "pk_dv32"),
    GoldenTable("java-0.9", "types_orc"),
    GoldenTable("java-0.9", "pk_dedup"),
]


@pytest.mark.parametrize("table", TABLES, ids=str)
@pytest.mark.parametrize("release", ["java", "older_java"])
def test_java_reads_golden_tables(
    table: GoldenTable, release: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    java: Genuine = request.getfixturevalue(release)
    expectation = table.expectation()
    types = [parse_type(t) for t in expectation["types"]]
    rows = [row for _, row in java.read(str(table.unpack(tmp_path)))]
    assert comparable_rows(rows, types) == expected_rows(expectation["rows"], types)
