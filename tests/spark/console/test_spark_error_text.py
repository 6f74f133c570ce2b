"""Errors of Spark as one sentence, and a session that cannot start."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.tables.compacted_tables import append, new_table

from paimon_spark.errors import PaimonError, SqlError
from paimon_spark.spark.console.quiet_session import (
    SPARK_ERRORS,
    SessionSettings,
    check_java,
    in_our_words,
    start_session,
)


def told(work: Callable[[], object]) -> PaimonError:
    with pytest.raises(SPARK_ERRORS) as caught:
        work()
    return in_our_words(caught.value)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("SELECT x FROM range(1)", SqlError, "[UNRESOLVED_COLUMN.WITH_SUGGESTION] "),
        ("SELEC 1", SqlError, "[PARSE_SYNTAX_ERROR] Syntax error at or near 'SELEC'"),
        ("SELECT 1 / 0", PaimonError, "[DIVIDE_BY_ZERO] Division by zero."),
        ("SELECT raise_error('no luck: at all') FROM range(1)", PaimonError, "[USER_RAISED_EXCEPTION] no luck: at all"),
    ],
)
def test_errors_of_spark(spark: SparkSession, text: str, kind: type, words: str) -> None:
    error = told(lambda: spark.sql(text).toArrow())
    assert type(error) is kind
    assert str(error).startswith(words)
    assert [part for part in ("\n", "== SQL", "Traceback", "at org.", "+-", "JVM") if part in str(error)] == []


def test_an_error_of_ours_in_a_task(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    append(table, [(1, 1, "x")])
    append(table, [(1, 2, "y")])
    for file in (tmp_path / "t").rglob("data-*"):
        file.unlink()
    error = told(lambda: spark.read.format("paimon").load(str(tmp_path / "t")).toArrow())
    assert str(error).startswith("the file ") or "data-" in str(error)
    assert [part for part in ("\n", "Traceback", "paimon_spark.errors", "at org.") if part in str(error)] == []


def test_java_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    check_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PaimonError, match=r"^Spark needs Java 17 or newer: JAVA_HOME is .*, where there is no bin/"):
        check_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PaimonError, match=r"^Spark needs Java 17 or newer, and none was found"):
        check_java()


def test_java_that_does_not_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The last line that Java wrote tells why."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!{sys.executable}\nimport sys\nprint('Error: too old a Java', file=sys.stderr)\nsys.exit(1)\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with open(tmp_path / "log", "w+b") as log, pytest.raises(PaimonError, match="Spark does not start: Error: too old"):
        start_session(SessionSettings(), log)


def test_settings_of_the_user_come_first() -> None:
    settings = SessionSettings("spark://host:7077", {"spark.ui.enabled": "true"}, "+01:00").merged()
    assert settings["spark.ui.enabled"] == "true"
    assert settings["spark.master"] == "spark://host:7077"
    assert settings["spark.sql.session.timeZone"] == "+01:00"
    assert "spark.driver.host" not in settings
    assert SessionSettings().merged()["spark.driver.host"] == "127.0.0.1"
