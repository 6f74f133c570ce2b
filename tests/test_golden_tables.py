"""Every genuine table of tests/golden reads as its own writer reads it, or is refused by the name of a feature."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.variant_utils import VariantUtils
from support.oracles.comparing import Row, comparable
from support.tables.golden_tables import (
    REFUSED,
    GoldenTable,
    expected_rows,
    golden_tables,
    parse_nanos,
    readable_tables,
    unpack_with_geometry,
)

from paimon_spark import open_table
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.types import DataType
from paimon_spark.store.write.table_write import TableWrite

TABLES = golden_tables()

ALLOWED = {"row"}

# Java 0.7 joins texts with commas whatever the table says: the option came later, and readers since then follow it.
READ_AS_THE_WRITER = {"java-0.7/pk_aggregation": {"fields.la.list-agg-delimiter": ","}}

# What an expectation file asks for beside the latest rows -> the options that ask us for it.
TIME_TRAVEL = {"rows_tag_t1": {"scan.tag-name": "t1"}, "rows_branch_br1": {"branch": "br1"}}
# The rows with the columns of row tracking, which a read has to name.
WITH_TRACKING = "rows_with_row_id"


def read(path: Path, options: dict[str, str] | None = None) -> Counter[Row]:
    return comparable(open_table(str(path), options).scan().to_arrow())


def expected(table: GoldenTable, path: Path, key: str, options: dict[str, str] | None = None) -> Counter[Row]:
    types = [field.type for field in open_table(str(path), options).schema.fields]
    return expected_rows(table.expectation()[key], types)


def read_kinds(path: Path, options: dict[str, str]) -> Counter[Row]:
    """The rows of a change, their kind before their values."""
    table = open_table(str(path), options)
    return comparable(table.scan(["_row_kind", *table.schema.names]).to_arrow())


def expected_kinds(rows: Sequence[Any], types: Sequence[DataType]) -> Counter[Row]:
    made: Counter[Row] = Counter()
    for kind in {kind for kind, _ in rows}:
        for row, count in expected_rows([row for row in rows if row[0] == kind], types).items():
            made[(kind, *row)] = count
    return made


def test_all_tables_are_there() -> None:
    assert len(TABLES) == 136
    assert sum("changelog" in t.expectation() for t in TABLES) == 20


@pytest.mark.parametrize("table", [t for t in readable_tables() if t.name != "variant"], ids=str)
def test_reads_as_its_writer(table: GoldenTable, tmp_path: Path) -> None:
    path = table.unpack(tmp_path)
    assert read(path, READ_AS_THE_WRITER.get(str(table))) == expected(table, path, "rows")


def test_variants_read_as_their_writer(tmp_path: Path) -> None:
    """Of their values the expectation file has the JSON text."""
    table = next(t for t in TABLES if t.name == "variant")
    rows = open_table(str(table.unpack(tmp_path))).scan().to_arrow().to_pylist()
    found = {row["id"]: row["v"] and VariantUtils.to_json(row["v"]["value"], row["v"]["metadata"]) for row in rows}
    assert found == dict(values for _, values in table.expectation()["rows"])


@pytest.mark.parametrize(
    ("table", "key"),
    [(t, k) for t in TABLES for k in t.expectation() if k.startswith("rows_") and k != WITH_TRACKING],
    ids=str,
)
def test_reads_tags_and_branches_as_its_writer(table: GoldenTable, key: str, tmp_path: Path) -> None:
    path = table.unpack(tmp_path)
    assert read(path, TIME_TRAVEL[key]) == expected(table, path, key, TIME_TRAVEL[key])


@pytest.mark.parametrize("table", [t for t in readable_tables() if WITH_TRACKING in t.expectation()], ids=str)
def test_reads_row_ids_as_its_writer(table: GoldenTable, tmp_path: Path) -> None:
    opened = open_table(str(table.unpack(tmp_path)))
    fields = (*opened.schema.fields, *opened.schema.tracking_fields)
    rows = opened.scan([field.name for field in fields]).to_arrow()
    assert comparable(rows) == expected_rows(table.expectation()[WITH_TRACKING], [field.type for field in fields])


@pytest.mark.parametrize("table", [t for t in TABLES if "changelog" in t.expectation()], ids=str)
def test_changes_read_as_its_writer_streams_them(table: GoldenTable, tmp_path: Path) -> None:
    """`changelog` lists the rows of every snapshot as a streaming reader of the writer got them, kinds included."""
    path, start = table.unpack(tmp_path), 0
    types = [field.type for field in open_table(str(path)).schema.fields]
    for plan in table.expectation()["changelog"]:
        options = {"incremental-between": f"{start},{plan['next'] - 1}"}
        assert read_kinds(path, options) == expected_kinds(plan["rows"], types)
        start = plan["next"] - 1


def test_refuses_by_name_only_what_is_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(REFUSED.values()) <= ALLOWED
    lines = []
    for table in (t for t in TABLES if t.name in REFUSED):
        path = table.unpack(tmp_path / table.writer / table.name)
        with pytest.raises(UnsupportedFeature) as refusal:
            open_table(str(path)).scan().to_arrow()
        assert REFUSED[table.name] in str(refusal.value)
        lines.append(f"  {table}: {refusal.value}")
    with capsys.disabled():
        print(f"\nrefused golden tables ({len(lines)} of {len(TABLES)}):", *lines, sep="\n")


def test_other_columns_are_read_as_their_writer_reads_them(tmp_path: Path) -> None:
    """The column that cannot be read is refused by name, with the list of the others to paste."""
    table, column = next(t for t in TABLES if t.name == "vector"), "e"
    path = str(unpack_with_geometry(tmp_path))
    opened, whole = open_table(path), table.expectation()
    readable = [n for n in whole["columns"] if n != column]
    kept = [i for i, n in enumerate(whole["columns"]) if n != column]
    rows = [[kind, [values[i] for i in kept]] for kind, values in whole["rows"]]
    expected = expected_rows(rows, [opened.schema.fields[i].type for i in kept])
    assert comparable(opened.scan(readable).to_arrow()) == expected
    assert opened.scan(columns=[]).count() == len(rows)
    some = opened.scan(readable, where="id > 1").to_arrow()
    assert 0 < some.num_rows < len(rows)
    advice = re.escape(f'read the other columns, with .option("columns", "{", ".join(readable)}") in Spark')
    for columns, where in ((None, None), ([column], None), (readable, f"{column} is null")):
        with pytest.raises(UnsupportedFeature, match=f"column '{column}' has the type .*{advice}"):
            opened.scan(columns, where)
    with pytest.raises(UnsupportedFeature, match=f"cannot write to the table: column '{column}'"):
        TableWrite(opened, "me")
    changed = {"incremental-between": "0,1"}
    assert comparable(open_table(path, changed).scan(readable).to_arrow()) == expected
    changed["incremental-between-scan-mode"] = "diff"
    with pytest.raises(UnsupportedFeature, match=f"all columns: column '{column}'.*= 'delta'"):
        open_table(path, changed).scan(readable).to_arrow()


def test_nanoseconds_of_dates_far_away() -> None:
    assert parse_nanos("1970-01-01T00:00") == 0
    assert parse_nanos("1969-12-31T23:59:59.999999999") == -1
    assert parse_nanos("0001-01-01T00:00:00.5") == -62135596800 * 10**9 + 500_000_000
