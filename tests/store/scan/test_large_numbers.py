"""Numbers that fit in no machine word, or name no year of a calendar: a result or a PaimonError."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from support.programs.command_line import command
from support.tables.staging import put

from paimon_spark import col, expire_snapshots, open_table
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import OptionError, PredicateError, SnapshotNotFound, SqlError
from paimon_spark.sql.parse import parse
from paimon_spark.sql.text.names import Names


@pytest.fixture
def place(tmp_path: Path) -> str:
    create_table(str(tmp_path), new_schema(pa.schema([("id", pa.int64())]), (), (), {}))
    put(open_table(str(tmp_path)), [(1,)])
    return str(tmp_path)


def test_the_first_rows_of_fewer(place: str) -> None:
    assert open_table(place).scan().head(10**30).to_pylist() == [{"id": 1}]
    assert open_table(place).system_table("files").head(10**30).num_rows == 1


def test_a_time_before_the_first_year(place: str) -> None:
    with pytest.raises(SnapshotNotFound, match=f"as of -146136543-09-08 .*-{2**62}.: no snapshot is that old"):
        open_table(place, {"scan.timestamp-millis": str(-(2**62))})


@pytest.mark.parametrize("limit", [10**30, 2**63])
@pytest.mark.parametrize("output", ["text", "json", "csv"])
def test_more_rows_than_a_machine_counts(place: str, limit: int, output: str) -> None:
    for name in ("read", "files", "snapshots"):
        few, all_rows = (command(name, place, "--limit", str(n), "--output", output) for n in (limit, 0))
        assert (few.code, few.out, few.err) == (0, all_rows.out, "")


@pytest.mark.parametrize(
    "where", ["id = {}", "id = -{}", "id IN (1, {})", "id < {}.5", "id = cast(1 AS decimal({}, 0))"]
)
def test_a_condition_with_a_number_of_5000_digits(place: str, where: str) -> None:
    text = where.format("9" * 5000)
    with pytest.raises(PredicateError, match=r"digits: at most 38 can be compared|cannot cast to|stands where|not a"):
        open_table(place).scan(where=text)
    assert command("count", place, "--where", text).code == 2


def test_numbers_of_python_with_5000_digits(place: str) -> None:
    number = 10**5000
    for condition in (col("id") == number, col("id").isin(1, -number), col("id") < Decimal("1e999999")):
        with pytest.raises(PredicateError, match="digits: at most 38 can be compared"):
            open_table(place).scan(where=condition)
    assert open_table(place).scan(where=col("id") > Decimal("0e999999")).count() == 1
    words = "is a number of more than 1000 digits: expected a whole number"
    with pytest.raises(OptionError, match=f"'version' {words}"):
        open_table(place, version=number)
    with pytest.raises(OptionError, match=f"'retain_max' {words}"):
        expire_snapshots(open_table(place), retain_max=number)
    with pytest.raises(OptionError, match=r"has a value of the type int for the key 'scan.snapshot-id'"):
        open_table(place, {"scan.snapshot-id": number})  # type: ignore[dict-item]  # that is the matter
    with pytest.raises(OptionError, match="'columns' is a number of more than 1000 digits"):
        open_table(place).scan(columns=number)  # type: ignore[arg-type]  # that is the matter


def test_a_number_of_5000_digits_in_a_statement() -> None:
    with pytest.raises(SqlError, match=r"column 34: the number 99999999999999999999... has more than 1000 digits"):
        parse(f"CALL sys.rollback(snapshot_id => {'9' * 5000})", Names("paimon", "default"))
