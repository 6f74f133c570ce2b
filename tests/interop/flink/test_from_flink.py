"""The page on Flink: each of its statements is run by a real Flink in one warehouse, and what stands beside it by us in
another. After each line both warehouses hold the same rows, to us and to Flink, and queries have the same result."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from flink_session import FlinkSession, flink_session
from genuine_jars import JavaUnavailable
from support.oracles.checker import check_table

from paimon_spark import open_catalog

pytestmark = pytest.mark.interop

PAGE = Path(__file__).parents[3] / "docs" / "compare" / "from-flink.md"
ROW = re.compile(r"^\| (`{1,2})(.+?)\1 \| `(.+)` \|$")


def lines() -> list[tuple[str, str]]:
    """Flink's statements, and what stands beside them."""
    section = PAGE.read_text().split("## What to write instead")[1].split("\nStreams:")[0]
    found = [ROW.match(line) for line in section.splitlines()]
    return [(match[2], match[3]) for match in found if match]


def test_statements_of_the_page(tmp_path: Path) -> None:
    assert len(lines()) > 25
    try:
        with flink_session(str(tmp_path / "theirs"), tmp_path / "flink.log") as flink:
            _run(flink, tmp_path)
    except JavaUnavailable as reason:
        pytest.skip(str(reason))


def _run(flink: FlinkSession, folder: Path) -> None:
    ours, theirs = (open_catalog(str(folder / name)) for name in ("ours", "theirs"))
    flink.sql("CREATE DATABASE shop")
    flink.define(
        f"CREATE CATALOG ours WITH ('type' = 'paimon', 'warehouse' = '{folder / 'ours'}', 'cache-enabled' = 'false')"
    )
    ours.create_database("shop")
    for statement, call in lines():
        quoted = re.sub(r"shop\.(orders\$\w+)", r"shop.`\1`", statement)
        told = flink.sql(quoted)
        names: dict[str, Any] = {"catalog": ours}
        if ours.list_tables("shop"):
            names["orders"] = ours["shop.orders"]
        names["result"] = None
        exec(call if call.startswith("with ") else f"result = {call}", names)  # of our own page
        result = names["result"]
        if statement.startswith("SELECT"):
            assert isinstance(result, pa.Table)
            assert _texts(result) == sorted([_plain(row) for _, row in told]), statement
            continue
        rows = _rows(ours)
        assert _rows(theirs) == rows, statement
        assert _read_by(flink, "paimon") == _read_by(flink, "ours") == rows, statement
    for name in ("ours", "theirs"):
        check_table(str(folder / name / "shop.db" / "orders"))


def _rows(catalog: Any) -> list[str]:
    return _texts(catalog["shop.orders"].scan().to_arrow())


def _read_by(flink: FlinkSession, catalog: str) -> list[str]:
    return sorted(_plain(row) for _, row in flink.sql(f"SELECT * FROM {catalog}.shop.orders"))


def _texts(rows: pa.Table) -> list[str]:
    return sorted(_plain(row.values()) for row in rows.to_pylist())


def _plain(values: Any) -> str:
    return ", ".join("NULL" if value is None else str(value) for value in values)
