"""``paimon-spark sql`` with statements: what it prints, where it ends, and what it says then."""

from __future__ import annotations

import csv
import os
import signal
import threading
from io import StringIO
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.programs.command_line import command, program
from support.tables.compacted_tables import append, new_table


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A warehouse with one table in its default database, and one in another."""
    append(new_table(tmp_path / "lake" / "default.db" / "orders"), [(1, 10, "x;y"), (2, None, None), (3, 30, "")])
    append(new_table(tmp_path / "lake" / "shop.db" / "items"), [(7, 70, "item")])
    return tmp_path / "lake"


def test_rows_are_printed_as_read_prints_them(spark: SparkSession, lake: Path) -> None:
    orders = lake / "default.db" / "orders"
    for output in ("text", "json", "csv"):
        found = command("sql", "SELECT * FROM orders ORDER BY k", "--warehouse", lake, "--output", output)
        assert (found.code, found.err) == (0, "")
        assert found.out == command("read", orders, "--output", output).out


def test_several_statements_and_databases(spark: SparkSession, lake: Path, tmp_path: Path) -> None:
    script = tmp_path / "x.sql"
    script.write_text(
        "-- two tables; one new\n"
        "CREATE TABLE new (id INT, dt STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1');\n"
        "INSERT INTO new SELECT k, b FROM orders WHERE b = :wanted;\n"
        "SELECT n.id, n.dt, i.b FROM new n, shop.items i;\n"
        "USE shop;\n"
        "SHOW TABLES"
    )
    found = command("sql", "--file", script, "--warehouse", lake, "--param", "wanted=x;y", "--output", "json")
    assert found.documents == [
        {"id": 1, "dt": "x;y", "b": "item"},
        {"namespace": "shop", "tableName": "items", "isTemporary": False},
    ]
    assert (found.code, found.err) == (0, "")


def test_long_texts_and_rows_one_after_the_other(spark: SparkSession, lake: Path) -> None:
    created = command("sql", "SHOW CREATE TABLE orders", "--warehouse", lake).out
    assert created.startswith("CREATE TABLE paimon.default.orders (\n  ")
    assert created.count("\n") == created.strip().count("\n") + 1
    assert "== Physical Plan ==\n" in command("sql", "EXPLAIN SELECT k FROM orders", "--warehouse", lake).out
    assert command("sql", f"SELECT '{'x' * 500}' AS a, 1 AS b", "--warehouse", lake, columns=None).cells == [
        ["x" * 500, "1"]
    ]
    rows = command("sql", "SELECT k, b FROM orders WHERE k = 1\\G SELECT 2 AS c;", "--warehouse", lake).out
    assert [line.split() for line in rows.splitlines()[:4]] == [["row", "1"], ["k", "1"], ["b", "x;y"], ["c"]]


def test_the_first_error_ends_the_run(spark: SparkSession, lake: Path) -> None:
    text = "SELECT 1 AS one;\n\nSELECT * FROM nothere;\nDROP TABLE orders"
    found = command("sql", "--warehouse", lake, "--output", "csv", answer=text)
    assert (found.code, found.out) == (2, '"one"\n1\n')
    assert found.err.startswith("paimon-spark sql: statement 2 of 3 (line 3): there is no table default.nothere ")
    assert found.err.count("\n") == 1
    assert (lake / "default.db" / "orders").exists()


def test_nothing_runs_of_a_text_that_does_not_end(spark: SparkSession, lake: Path) -> None:
    found = command("sql", "DROP TABLE orders; SELECT 'a", "--warehouse", lake)
    assert (found.code, found.out) == (2, "")
    assert found.err == "paimon-spark sql: SQL, line 1, column 27: the string 'a has no end; close it with '\n"
    assert (lake / "default.db" / "orders").exists()


def test_a_query_makes_no_database(spark: SparkSession, tmp_path: Path) -> None:
    found = command("sql", "SHOW TABLES", "--warehouse", tmp_path / "lake")
    assert found.code == 2
    assert "default" in found.err
    assert not (tmp_path / "lake").exists()


def test_a_missing_database(spark: SparkSession, lake: Path) -> None:
    found = command("sql", "SELECT 1", "--warehouse", lake, "--database", "shpo")
    assert (found.code, found.out) == (2, "")
    assert "did you mean 'shop'" in found.err


def test_limits(spark: SparkSession, lake: Path) -> None:
    text = "SELECT id FROM range(300) ORDER BY id"
    shown = command("sql", text, "--warehouse", lake)
    assert (len(shown.cells), shown.err) == (100, "the first 100 rows; --limit 0 shows all\n")
    assert len(command("sql", text, "--warehouse", lake, "--limit", "0").cells) == 300
    rows = list(csv.reader(StringIO(command("sql", text, "--warehouse", lake, "--output", "csv").out)))
    assert len(rows) == 301
    assert len(command("sql", text, "--warehouse", lake, "--output", "json", "--limit", "2").documents) == 2


def test_the_zone_of_a_call(spark: SparkSession, lake: Path) -> None:
    text = "SELECT timestamp '2026-11-01 12:00:00' AS t, current_timezone() AS z"
    for zone, told in (("Europe/Berlin", "Europe/Berlin"), ("+01:00", "+01:00"), ("UTC", "UTC")):
        [row] = command(
            "sql", text, "--warehouse", lake, "--output", "json", "--time-zone", zone, "--limit", "1"
        ).documents
        offset = "+00:00" if zone == "UTC" else "+01:00"
        assert row == {"t": f"2026-11-01T12:00:00.000000{offset}", "z": told}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["SELECT 1"], "'--warehouse': name the directory of the databases"),
        (["SELECT 1", "--file", "x.sql", "--warehouse", "w"], "give one of them"),
        (["--file", "nothere.sql", "--warehouse", "w"], "nothere.sql cannot be read"),
        (["SELECT 1", "--warehouse", "w", "--param", "x"], "expected NAME=VALUE"),
        (["", "--warehouse", "w"], "'TEXT': there is no statement"),
        ([" ;; -- nothing", "--warehouse", "w"], "'TEXT': there is no statement"),
        (["SELECT 1", "--warehouse", "w", "--conf", "x"], "expected KEY=VALUE"),
    ],
)
def test_wrong_arguments_of_sql(arguments: list[str], told: str) -> None:
    printed = command("sql", *arguments)
    assert (printed.code, printed.out) == (2, "")
    assert told in " ".join(printed.err.split())


def test_the_program_itself(lake: Path) -> None:
    """A Spark of its own, of which nobody sees anything; the error is one of a task, which has the longest text."""
    text = "SELECT k, b FROM orders WHERE k < 3 ORDER BY k; SELECT k FROM orders WHERE raise_error(b) IS NULL"
    child = program("sql", text, "--warehouse", lake, "--output", "json", "--conf", "spark.driver.memory=1g")
    out, err = child.communicate(timeout=1800)
    assert out == '{"k": 1, "b": "x;y"}\n{"k": 2, "b": null}\n'
    assert child.returncode == 2
    assert err.startswith("paimon-spark sql: statement 2 of 2 (line 1): [USER_RAISED_EXCEPTION] ")
    assert err.count("\n") == 1


def test_ctrl_c_stops_a_statement(spark: SparkSession, lake: Path) -> None:
    """The signal comes when a job runs; the session does more statements afterwards."""
    before = signal.getsignal(signal.SIGINT)
    interrupter = threading.Thread(target=interrupt_a_job, args=(spark,))
    interrupter.start()
    try:
        found = command("sql", "SELECT 1; SELECT count(*) FROM range(1000000000000)", "--warehouse", lake)
    finally:
        interrupter.join(60)
        signal.signal(signal.SIGINT, before)
    assert found.code == 130
    assert found.err == "statement 2 of 2 (line 1): stopped before its end\n"
    assert spark.range(3).count() == 3


def interrupt_a_job(spark: SparkSession) -> None:
    """Presses Ctrl-C as soon as Spark has a job that runs for a while: one that is there twice."""
    tracker = spark.sparkContext.statusTracker()
    seen: set[int] = set()
    pause = threading.Event()
    for _ in range(600):
        running = set(tracker.getActiveJobsIds())
        if running & seen:
            os.kill(os.getpid(), signal.SIGINT)
            return
        seen = running
        pause.wait(0.1)
