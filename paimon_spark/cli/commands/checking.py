"""``check``: is the table whole?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from paimon_spark.cli.arguments import Branch, Output, OutputFormat, TableOptions, TablePath, parse_options
from paimon_spark.cli.messages import if_stopped
from paimon_spark.cli.progress import progress_bars
from paimon_spark.cli.tables import print_json
from paimon_spark.cli.texts import printable
from paimon_spark.store.checks.table import check as check_table

app = typer.Typer()
PROBLEMS = 1


@app.command()
def check(
    path: TablePath,
    latest: Annotated[bool, typer.Option("--latest", help="Look at the latest snapshot only.")] = False,
    metadata_only: Annotated[
        bool, typer.Option("--metadata-only", help="Open no data file: metadata, file sizes, deletion vectors.")
    ] = False,
    keys_only: Annotated[
        bool,
        typer.Option(
            "--keys-only",
            help="Read only the keys, partition and bucket columns of data files: faster, finds no damage in others.",
        ),
    ] = False,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Verifies that everything the metadata of a table say is true.

    Nothing is changed. Exit codes: 0 the table is good, 1 it has problems, 2 it could not be checked.
    """
    options = parse_options(option, branch)
    with if_stopped("the check says nothing of this table, and has changed nothing"), progress_bars() as bars:
        report = check_table(
            path, options, read_files=not metadata_only, keys_only=keys_only, latest_only=latest, progress=bars
        )
    if output is Output.JSON:
        print_json({"good": report.is_good, "problem_count": report.problem_count, **asdict(report)})
    else:
        print("\n".join(map(printable, str(report).split("\n"))))
    if not report.is_good:
        raise typer.Exit(PROBLEMS)
