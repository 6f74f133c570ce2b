"""Runs statements one after the other, up to the first that fails."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import typer

from paimon_spark.cli.messages import STOPPED, say
from paimon_spark.cli.progress import working
from paimon_spark.errors import PaimonError
from paimon_spark.shell.results import Results
from paimon_spark.spark.console.statement_thread import StatementThread, Stopped
from paimon_spark.sql.text.script import ScriptStatement


def run_script(
    thread: StatementThread, statements: Sequence[ScriptStatement], results: Results, args: Mapping[str, str]
) -> None:
    """Runs the statements and prints what they return.

    Args:
        args: texts for the parameters ``:name``.

    Raises:
        PaimonError: a statement failed; the message tells which, if there are several. Those before it are done.
        typer.Exit: Ctrl-C was pressed.
    """
    for number, statement in enumerate(statements, 1):
        place = f"statement {number} of {len(statements)} (line {statement.line})"
        try:
            run_one(thread, statement, results, args)
        except PaimonError as error:
            if len(statements) == 1:
                raise
            raise PaimonError(f"{place}: {error}") from error
        except Stopped as stopped:
            say(f"{place}: {stop_text(stopped)}")
            raise typer.Exit(STOPPED) from None


def run_one(thread: StatementThread, statement: ScriptStatement, results: Results, args: Mapping[str, str]) -> None:
    """Runs one statement and prints what it returns.

    Raises:
        PaimonError: it failed.
        Stopped: Ctrl-C was pressed.
    """
    started = time.monotonic()
    with working("starting Spark" if thread.is_starting else "running"):
        rows = thread.run(statement.text, args, results.wanted)
    results.show(rows, round((time.monotonic() - started) * 1000), statement.vertical)


def stop_text(stopped: Stopped) -> str:
    """What is left of a statement that Ctrl-C stopped."""
    if stopped.is_done:
        return "it was done before it could be stopped"
    error = stopped.error
    if isinstance(error, PaimonError) and type(error) is not PaimonError:  # not what Spark says of cancelled jobs
        return f"stopped: {error}"
    return "stopped before its end"
