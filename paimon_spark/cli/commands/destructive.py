"""What takes rows out of a table: partitions that are too old, files that storage has lost, or all of them."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from paimon_spark.cli.arguments import (
    Branch,
    DryRun,
    Output,
    OutputFormat,
    TableOptions,
    TablePath,
    Yes,
    open_with,
    parse_older_than,
)
from paimon_spark.cli.commands.removal import remove
from paimon_spark.cli.texts import count_text, list_text, size_text
from paimon_spark.store.clean.lost_files import UnexistingFiles, remove_unexisting_files
from paimon_spark.store.clean.partition_expiry import PartitionsExpired, expire_partitions
from paimon_spark.store.clean.purge import Purged, purge_files

app = typer.Typer()
_LEFT = "what is committed is committed, all else is as it was"


@app.command("expire-partitions")
def leave_partitions(
    path: TablePath,
    expiration_time: Annotated[
        str | None,
        typer.Option("--older-than", metavar="SPAN", show_default=False, help="Such as '90 d'; else by the options."),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Takes partitions out of the table that are too old."""
    table = open_with(path, option, branch)
    remove(lambda dry: expire_partitions(table, expiration_time, dry_run=dry), _partitions, dry_run, yes, output, _LEFT)


@app.command("remove-lost-files")
def forget_files(
    path: TablePath,
    dry_run: DryRun = False,
    yes: Yes = False,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Takes data files out of the table that storage does not have any more, so that the rest can be read."""
    run = partial(remove_unexisting_files, open_with(path, option, branch))
    remove(run, _lost, dry_run, yes, output, _LEFT)


@app.command()
def purge(
    path: TablePath,
    orphans_older_than: Annotated[
        str | None,
        typer.Option(metavar="TIME", show_default=False, help="Orphans go too that are older; else than a day."),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Empties a table for good: rows, history, tags, branches and consumers go.

    Its schema and options stay, and it can be written on. There is no way back.
    """
    run = partial(
        purge_files, open_with(path, option, None), parse_older_than(orphans_older_than, "orphans_older_than")
    )
    remove(run, _purged, dry_run, yes, output, "the table can be read; call it again to go all the way")


def _partitions(result: PartitionsExpired) -> str:
    if not result.partitions:
        return ""
    files = f"{count_text(result.files, 'file')} of {count_text(result.rows, 'row')}, {size_text(result.bytes)}"
    return f"{count_text(len(result.partitions), 'partition')} of {files}; they stay on storage until snapshots expire"


def _lost(result: UnexistingFiles) -> str:
    if not result.paths:
        return ""
    rows = count_text(result.rows, "row")
    return f"{count_text(len(result.paths), 'lost file')} of {rows}, {size_text(result.bytes)}"


def _purged(result: Purged) -> str:
    if not result.paths:
        return ""
    counts = [
        count_text(len(result.snapshots), "snapshot"),
        count_text(len(result.changelogs), "changelog"),
        count_text(len(result.tags), "tag"),
        count_text(len(result.branches), "branch", "branches"),
        count_text(len(result.consumers), "consumer"),
        count_text(len(result.paths), "file"),
    ]
    return list_text(counts)
