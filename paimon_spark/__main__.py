"""The command line: ``python -m paimon_spark check PATH``.

Exit codes of check: 0 the table is good, 1 it has problems, 2 it could not be checked.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from paimon_spark.errors import PaimonError
from paimon_spark.store.checks.report import Progress as Told
from paimon_spark.store.checks.report import Report
from paimon_spark.store.checks.table import check

GOOD, PROBLEMS, NOT_CHECKED = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        arguments: those after the name of the program; None: of this process.

    Returns:
        The exit code.
    """
    given = _parser().parse_args(arguments)
    try:
        with _progress_bar() as told:
            report = check(
                given.path,
                dict(given.option),
                read_files=not given.metadata_only,
                latest_only=given.latest,
                progress=told,
            )
    except (PaimonError, OSError) as error:
        print(f"{given.path} could not be checked: {error}", file=sys.stderr)
        return NOT_CHECKED
    print(_json(report) if given.output == "json" else report)
    return GOOD if report.is_good else PROBLEMS


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m paimon_spark", description="Apache Paimon tables, without Spark")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser(
        "check",
        help="verify a table",
        description="Verifies that everything the metadata of a table say is true. Nothing is changed.",
        epilog="Exit codes: 0 the table is good, 1 it has problems, 2 it could not be checked.",
    )
    command.add_argument("path", help="the table directory, a local path or a URI; add $branch_<name> for a branch")
    command.add_argument(
        "--option",
        action="append",
        default=[],
        type=_option,
        metavar="KEY=VALUE",
        help="a storage option such as s3.endpoint=...; may be given several times",
    )
    command.add_argument("--output", choices=("text", "json"), default="text", help="how to tell the result")
    command.add_argument("--latest", action="store_true", help="look at the latest snapshot only")
    command.add_argument(
        "--metadata-only", action="store_true", help="open no data file: metadata, file sizes, deletion vectors"
    )
    return parser


def _option(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, found '{text}'")
    return key, value


@contextmanager
def _progress_bar() -> Iterator[Told | None]:
    """Shows how far the check is where a person looks at it: on a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        tasks = {what: bar.add_task(what, total=None) for what in ("snapshots", "files")}
        yield lambda what, done, total: bar.update(tasks[what], completed=done, total=total)


def _json(report: Report) -> str:
    told = {"good": report.is_good, "problem_count": report.problem_count, **asdict(report)}
    return json.dumps(told, indent=2, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
