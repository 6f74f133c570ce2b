"""The command ``sql``. Spark, and what only the shell needs, are imported when they are needed."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Final

import typer

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.factory import open_catalog
from paimon_spark.cli.arguments import RowsFormat, RowsOutput, current_zone_name, parse_pairs
from paimon_spark.cli.catalog_arguments import CatalogFile, catalog_options, read_argument_file
from paimon_spark.cli.commands.rows import Limit
from paimon_spark.errors import UnsupportedFeature, wrong_in_utf8
from paimon_spark.shell.results import Results
from paimon_spark.sql.text.script import ScriptStatement, split_script

if TYPE_CHECKING:
    from paimon_spark.spark.console.statement_thread import StatementThread

app: Final = typer.Typer()

Pairs = list[str] | None
Text = Annotated[
    str | None,
    typer.Argument(metavar="TEXT", show_default=False, help="Statements, with ; between them; else a shell starts."),
]
Warehouse = Annotated[
    str | None,
    typer.Option(
        "--warehouse", metavar="PATH", show_default=False, help="The directory of the databases, or --catalog tells it."
    ),
]
File = Annotated[
    Path | None, typer.Option("--file", "-f", metavar="FILE", help="Run the statements of this file.", dir_okay=False)
]
Database = Annotated[
    str | None,
    typer.Option("--database", "-d", metavar="NAME", help="The current database; else the default one of the catalog."),
]
Param = Annotated[
    Pairs,
    typer.Option(
        "--param",
        "-p",
        metavar="NAME=VALUE",
        show_default=False,
        help="A text for the parameter :NAME of the statements; may be given several times.",
    ),
]
CatalogOptions = Annotated[
    Pairs,
    typer.Option(
        "--option",
        "-o",
        metavar="KEY=VALUE",
        show_default=False,
        help="An option of the catalog, such as s3.endpoint=...; may be given several times.",
    ),
]
Name = Annotated[
    str, typer.Option("--name", metavar="NAME", help="The catalog's name: the first part of full names of tables.")
]
Master = Annotated[str, typer.Option("--master", metavar="URL", help="Where Spark runs, as spark-submit takes it.")]
Conf = Annotated[
    Pairs,
    typer.Option(
        "--conf",
        metavar="KEY=VALUE",
        show_default=False,
        help="A setting of Spark, such as spark.driver.memory=4g; may be given several times.",
    ),
]
Log = Annotated[
    Path | None,
    typer.Option("--log", metavar="FILE", dir_okay=False, help="Where Spark writes its log; else it is not kept."),
]


@app.command()
def sql(
    text: Text = None,
    warehouse: Warehouse = None,
    catalog_file: CatalogFile = None,
    file: File = None,
    database: Database = None,
    limit: Limit = None,
    output: RowsFormat = RowsOutput.TEXT,
    param: Param = None,
    option: CatalogOptions = None,
    name: Name = "paimon",
    master: Master = "local[*]",
    conf: Conf = None,
    log: Log = None,
) -> None:
    """Runs SQL on the tables of a warehouse, or is a shell for it; Spark runs on this machine.

    Statements come from the argument, from --file, or from stdin if that is no terminal. The first one that fails ends
    the run. A name without a database means a table of the current database. Rows are printed as by `read`, but Spark
    collects all that are to be printed in memory first.

    In the shell a statement ends with a semicolon, and Tab completes keywords and names. Ctrl-C stops a statement, and
    Ctrl-D ends the shell.
    """
    script = _script(text, file)
    statements = None if script is None else split_script(script)
    if statements is not None and not statements:
        raise typer.BadParameter("there is no statement", param_hint="'TEXT'" if file is None else "'--file'")
    args = parse_pairs(param, "--param", "NAME")
    catalog = open_catalog(catalog_options(warehouse, catalog_file, option), name)
    settings = parse_pairs(conf, "--conf")
    with _statement_thread(catalog, database, master, settings, log) as thread:
        results = Results(output, limit)
        if statements is not None:
            _run_script(thread, statements, results, args)
        else:
            _run_shell(thread, results, args)


def _script(text: str | None, file: Path | None) -> str | None:
    """The text of the statements; None: a shell is to be started."""
    if text is not None and file is not None:
        is_place = f"; the directory is --warehouse {text}" if os.path.isdir(text) else ""
        raise typer.BadParameter(
            f"'{text:.60}' is read as a statement, and --file has statements too: give one of them{is_place}",
            param_hint="'--file'",
        )
    if file is not None:
        return read_argument_file(file, "--file")
    if text is not None or sys.stdin.isatty():
        return text
    try:
        script = sys.stdin.read()
    except UnicodeDecodeError as error:
        script = error.object[error.start :].decode("ascii", "surrogateescape")
    if wrong := wrong_in_utf8(script):
        raise typer.BadParameter(f"stdin {wrong}; write it in UTF-8", param_hint="'TEXT'")
    return script


@contextmanager
def _statement_thread(
    catalog: Catalog, database: str | None, master: str, conf: dict[str, str], log: Path | None
) -> Iterator[StatementThread]:
    """A session that starts, and ends with the command. One that this process has already is used, and stays.

    Raises:
        UnsupportedFeature: PySpark is not installed.
    """
    if find_spec("pyspark") is None:
        raise UnsupportedFeature(
            "this command needs PySpark, which is not installed: run pip install pyspark; the others do without it"
        )
    from paimon_spark.spark.console.quiet_session import (
        SessionSettings,
        check_java,
        new_session_of_process,
        start_session,
    )
    from paimon_spark.spark.console.statement_thread import StatementThread

    settings = SessionSettings(master, conf, current_zone_name())
    existing = new_session_of_process(settings)
    if existing is not None:
        thread = StatementThread(lambda: existing, catalog, database)
        try:
            yield thread
        finally:
            thread.close(stop=False)
        return
    check_java()
    with _log_file(log) as written:
        thread = StatementThread(lambda: start_session(settings, written), catalog, database)
        try:
            yield thread
        finally:
            thread.close(stop=True)


def _log_file(path: Path | None) -> BinaryIO:
    return tempfile.TemporaryFile("w+b") if path is None else open(path, "w+b")


def _run_script(
    thread: StatementThread, statements: Sequence[ScriptStatement], results: Results, args: dict[str, str]
) -> None:
    from paimon_spark.shell.script import run_script

    run_script(thread, statements, results, args)


def _run_shell(thread: StatementThread, results: Results, args: dict[str, str]) -> None:
    from paimon_spark.shell.prompt import Shell

    Shell(thread, results, args).run()
