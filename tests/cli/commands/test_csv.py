"""``--output csv``: Python and Arrow read it, and an empty field is told apart from an empty text."""

from __future__ import annotations

import csv
import json
from datetime import date, datetime
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from support.programs.command_line import command
from support.tables.compacted_tables import append, new_table
from support.tables.golden_tables import GoldenTable

from paimon_spark import open_table
from paimon_spark.cli.commands.listings import SHOWN
from paimon_spark.cli.values import print_csv

ROWS = pa.table(
    {
        "i": pa.array([1, None, -(2**63)], pa.int64()),
        "b": pa.array([True, None, False]),
        "d": pa.array([Decimal("1.50"), None, Decimal("-0.01")], pa.decimal128(10, 2)),
        "f": pa.array([0.1, None, float("-inf")], pa.float32()),
        "s": pa.array(['a"b,\r\nc', "", None]),
        "day": pa.array([date(2026, 11, 1), None, date(1, 1, 1)]),
        "at": pa.array([datetime(2026, 11, 1, 12, 30), None, None], pa.timestamp("ms")),
        "raw": pa.array([b"\x00\xff", b"", None]),
        "list": pa.array([["x", None], [], None], pa.list_(pa.string())),
        "map": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int32())),
        "row": pa.array([{"a": 1, "b": "ü"}, None, None]),
    }
)
TEXT = """\
"i","b","d","f","s","day","at","raw","list","map","row"
1,true,1.50,0.1,"a""b,\r
c","2026-11-01","2026-11-01T12:30:00.000","AP8=","[""x"", null]","[[""k"", 1]]","{""a"": 1, ""b"": ""ü""}"
,,,,"",,,"","[]","[]",
-9223372036854775808,false,-0.01,-inf,,"0001-01-01",,,,,
"""


def printed(capsys: pytest.CaptureFixture[str], **more: Any) -> str:
    print_csv(ROWS.schema, ROWS.to_batches(max_chunksize=2), **more)
    return capsys.readouterr().out


def test_every_kind_of_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys) == TEXT


def test_readers_agree(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys)
    rows = list(csv.DictReader(StringIO(text, newline="")))
    assert [row["s"] for row in rows] == ['a"b,\r\nc', "", ""]
    assert json.loads(rows[0]["map"]) == [["k", 1]]
    options = arrow_csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""])
    parsed = arrow_csv.ParseOptions(newlines_in_values=True)
    read = arrow_csv.read_csv(pa.BufferReader(text.encode()), convert_options=options, parse_options=parsed)
    for name in ("i", "b", "s"):
        assert read.column(name).to_pylist() == ROWS.column(name).to_pylist()
    assert [None if v is None else str(v) for v in read.column("list").to_pylist()] == ['["x", null]', "[]", None]


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_a_limit(capsys: pytest.CaptureFixture[str], limit: int) -> None:
    rows = list(csv.reader(StringIO(printed(capsys, limit=limit), newline="")))
    assert len(rows) == 1 + min(limit, 3)


def test_read_prints_all_rows(tmp_path: Path) -> None:
    append(new_table(tmp_path / "t"), [(i, i, f"v{i}") for i in range(300)])
    rows = list(csv.reader(StringIO(command("read", tmp_path / "t", "--output", "csv").out)))
    assert rows[0] == ["k", "a", "b"]
    assert sorted(int(row[0]) for row in rows[1:]) == list(range(300))
    assert command("read", tmp_path / "t", "--where", "k < 0", "--output", "csv").out == '"k","a","b"\n'


@pytest.mark.parametrize("name", SHOWN)
def test_listings(tmp_path: Path, name: str) -> None:
    table = GoldenTable("java-2.1", "tags_branches").unpack(tmp_path)
    whole = open_table(str(table)).system_table(name).to_arrow()
    rows = list(csv.reader(StringIO(command(name, table, "--output", "csv").out)))
    assert rows[0] == whole.schema.names
    assert len(rows) == 1 + whole.num_rows
