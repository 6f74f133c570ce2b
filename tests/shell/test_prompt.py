"""The shell, with keys from a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from pyspark.sql import SparkSession
from support.tables.compacted_tables import append, new_table

from paimon_spark.catalogs.factory import open_catalog
from paimon_spark.shell.prompt import Shell, file_history
from paimon_spark.shell.results import Results
from paimon_spark.spark.console.statement_thread import StatementThread

CTRL_C, CTRL_D, TAB = "\x03", "\x04", "\t"

NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True)
class Shown:
    """What a shell printed on stdout and stderr, and what its history has."""

    out: str
    err: str
    history: list[str]


Typed = Callable[..., Shown]


@pytest.fixture
def typed(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Typed]:
    """Types keys into a shell of a lake with the table orders, and returns what comes of it."""
    append(new_table(tmp_path / "lake" / "default.db" / "orders"), [(1, 10, "x"), (2, 20, "y")])
    new_table(tmp_path / "lake" / "shop.db" / "items")
    thread = StatementThread(spark.newSession, open_catalog(str(tmp_path / "lake")))

    def run(*keys: str, then: Mapping[str, str] = NOTHING) -> Shown:
        """then: keys by the text that is there when they are typed."""
        with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
            history = InMemoryHistory()
            shell = Shell(thread, Results(), {"wanted": "y"}, history)
            shell.session.default_buffer.on_text_changed += lambda buffer: keyboard.send_text(then.get(buffer.text, ""))
            keyboard.send_text("".join(keys))
            shell.run()
        found = capsys.readouterr()
        return Shown(found.out, found.err, history.get_strings())

    yield run
    thread.close(stop=False)


def test_statements_until_the_user_leaves(typed: Typed) -> None:
    shown = typed(
        "SELECT k, b\r FROM orders WHERE b = :wanted;\r",
        "SELECT * FROM nothere;\r",
        "SELECT 1 / 0;\r",
        "USE shop; SHOW TABLES;\r",
        "SELECT 'never run';",
        CTRL_C,
        "help\r",
        "history\r",
        "quit\r",
    )
    lines = [line.split() for line in shown.out.splitlines()]
    assert [lines[0], lines[2], lines[5]] == [["k", "b"], ["2", "y"], ["shop", "items", "false"]]
    assert "never run" not in shown.out
    assert shown.out.splitlines()[-3:] == ["SELECT 1 / 0;", "USE shop; SHOW TABLES;", "help"]
    assert "Ctrl-D    ends the shell" in shown.out
    told = shown.err.splitlines()
    assert told[1].startswith("there is no table default.nothere ")
    assert told[-1].startswith("[DIVIDE_BY_ZERO] ")


def test_completion_and_the_end(typed: Typed) -> None:
    """Tab completes the only name that fits."""
    shown = typed("SELECT count(*) AS n FROM ord", TAB, then={"SELECT count(*) AS n FROM orders": f";\r{CTRL_D}"})
    assert shown.out.split() == ["n", "─", "2"]
    assert shown.history == ["SELECT count(*) AS n FROM orders;"]


def test_the_history_is_in_a_file_of_the_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = file_history(tmp_path / "new" / "folder")
    kept.append_string("SELECT 1;")
    path = tmp_path / "new" / "folder" / "sql_history"
    assert path.stat().st_mode & 0o777 == 0o600
    again = file_history(path.parent)
    assert isinstance(again, FileHistory)
    assert list(again.load_history_strings()) == ["SELECT 1;"]
    assert capsys.readouterr().err == ""


def test_a_shell_without_a_place_for_its_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert isinstance(file_history(tmp_path / "file"), InMemoryHistory)
    assert capsys.readouterr().err.startswith("the history of this shell is not kept: ")
