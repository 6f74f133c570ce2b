"""What commands that delete share: what would go is shown first, then the user is asked."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import TypeVar

import typer

from paimon_spark.cli.arguments import Branch, DryRun, Output, OutputFormat, TableOptions, TablePath, Yes, open_with
from paimon_spark.cli.declared import Shown, takes
from paimon_spark.cli.messages import if_stopped, output_of_done_work, say
from paimon_spark.cli.progress import working
from paimon_spark.cli.tables import print_json
from paimon_spark.cli.texts import printable
from paimon_spark.procedures.local_engine import dry_or_real
from paimon_spark.procedures.procedure import Procedure
from paimon_spark.store.reporting.result import Result

NOT_WANTED = 1
_SHOWN = 5
R = TypeVar("R", bound=Result)


def remove(
    run: Callable[[bool], R],
    words: Callable[[R], str],
    dry_run: bool,
    yes: bool,
    output: Output,
    left: str,
    shows: Callable[[str], AbstractContextManager[None]] = working,
    stays: Callable[[R], str] | None = None,
    reason: str = "",
) -> None:
    """Shows what would go, asks, and lets it go.

    Args:
        run: does it; called with whether it is a dry run.
        words: what went, in words; empty: nothing.
        dry_run: whether only to show.
        yes: whether not to ask.
        output: JSON has what was done, or would be with dry_run, and never asks.
        left: what state Ctrl-C leaves.
        shows: tells the user that the work goes on.
        stays: what is left alone that the user may have expected to go, in words; empty: nothing.
        reason: why there may be nothing to do, in words.
    """
    nothing = f"nothing to do: {reason}" if reason else "nothing to do"
    if output is Output.JSON and not (dry_run or yes):
        raise typer.BadParameter("JSON output does not ask: give --dry-run, or --yes", param_hint="'--output'")
    if dry_run or not yes:
        with if_stopped("nothing was changed"), shows("looking for what would go"):
            planned = run(True)
        text = printable(words(planned))
        if output is Output.JSON:
            print_json(asdict(planned))
            return
        lines = [f"would go: {text}" if text else nothing, *_some(planned), *_kept(stays, planned)]
        print("\n".join(lines), flush=True)
        if dry_run or not text:
            return
        with if_stopped("nothing was changed"):
            agreed = _agreed()
        if not agreed:
            say("nothing was changed")
            raise typer.Exit(NOT_WANTED)
    with if_stopped(left), shows("deleting"):
        done = run(False)
    with output_of_done_work():
        if output is Output.JSON:
            print_json(asdict(done))
            return
        text = printable(words(done))
        print("\n".join([f"gone: {text}" if text else nothing, *_kept(stays, done)]))


def removes(
    app: typer.Typer,
    name: str,
    procedure: type[Procedure[R]],
    *names: str,
    left: str,
    on_branches: bool = True,
    **shown: Shown,
) -> Callable[[Callable[[R], str]], Callable[[R], str]]:
    """Makes a command of a procedure that has a dry run; see remove.

    It decorates the function that says what went in words, whose docstring is the help of the command.

    Args:
        name: of the command.
        names, shown: as for takes.
        left: as for remove.
        on_branches: whether the command has --branch.
    """

    def declare(words: Callable[[R], str]) -> Callable[[R], str]:
        def run(
            path: TablePath,
            call: Procedure[R],
            dry_run: DryRun = False,
            yes: Yes = False,
            branch: Branch = None,
            option: TableOptions = None,
            output: OutputFormat = Output.TEXT,
        ) -> None:
            remove(dry_or_real(call, open_with(path, option, branch)), words, dry_run, yes, output, left)

        run.__doc__, run.__annotations__["call"] = words.__doc__, procedure
        app.command(name)(takes(procedure, *names, without=() if on_branches else ("branch",), **shown)(run))
        return words

    return declare


def _agreed() -> bool:
    """What the user answers; no if nobody is there."""
    try:
        return typer.confirm("Go on?", err=True)
    except typer.Abort as error:  # which is Ctrl-C too
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        return False


def _kept(stays: Callable[[R], str] | None, result: R) -> list[str]:
    kept = "" if stays is None else printable(stays(result))
    return [f"left alone: {kept}"] if kept else []


def _some(planned: Result) -> list[str]:
    """The first paths, or partitions where no file goes yet."""
    fields = asdict(planned)
    names = fields.get("paths", fields.get("partitions", ()))
    shown = [f"  {printable(name)}" for name in names[:_SHOWN]]
    more = len(names) - len(shown)
    return [*shown, f"  and {more:,} more, which --output json names"] if more else shown
