"""What takes rows out of a table: partitions that are too old, files that storage has lost, or all of them."""

from __future__ import annotations

import typer

from paimon_spark.cli.arguments import Branch, DryRun, Output, OutputFormat, TableOptions, TablePath, Yes, open_with
from paimon_spark.cli.commands.removal import remove
from paimon_spark.cli.declared import Shown, takes
from paimon_spark.cli.texts import count_text, list_text, size_text
from paimon_spark.procedures.local_engine import dry_or_real
from paimon_spark.procedures.partitions import ExpirePartitions
from paimon_spark.procedures.row_removal import PurgeFiles, RemoveUnexistingFiles
from paimon_spark.store.clean.lost_files import RemoveUnexistingFilesResult
from paimon_spark.store.clean.partition_expiry import ExpirePartitionsResult
from paimon_spark.store.clean.purge import PurgeFilesResult

app = typer.Typer()
_LEFT = "what is committed is committed, all else is as it was"


@app.command("expire-partitions")
@takes(ExpirePartitions, expiration_time=Shown("--older-than"))
def leave_partitions(
    path: TablePath,
    call: ExpirePartitions,
    dry_run: DryRun = False,
    yes: Yes = False,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Takes partitions out of the table that are too old."""
    table = open_with(path, option, branch)
    remove(dry_or_real(call, table), _partitions, dry_run, yes, output, _LEFT)


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
    table = open_with(path, option, branch)
    remove(dry_or_real(RemoveUnexistingFiles(), table), _lost, dry_run, yes, output, _LEFT)


@app.command()
@takes(PurgeFiles, "orphans_older_than")
def purge(
    path: TablePath,
    call: PurgeFiles,
    dry_run: DryRun = False,
    yes: Yes = False,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Empties a table for good: rows, history, tags, branches and consumers go.

    Its schema and options stay, and it can be written on. There is no way back.
    """
    table = open_with(path, option, None)
    remove(
        dry_or_real(call, table),
        _purged,
        dry_run,
        yes,
        output,
        "the table can be read; call it again to go all the way",
    )


def _partitions(result: ExpirePartitionsResult) -> str:
    if not result.partitions:
        return ""
    files = f"{count_text(result.files, 'file')} of {count_text(result.rows, 'row')}, {size_text(result.bytes)}"
    return f"{count_text(len(result.partitions), 'partition')} of {files}; they stay on storage until snapshots expire"


def _lost(result: RemoveUnexistingFilesResult) -> str:
    if not result.paths:
        return ""
    rows = count_text(result.rows, "row")
    return f"{count_text(len(result.paths), 'lost file')} of {rows}, {size_text(result.bytes)}"


def _purged(result: PurgeFilesResult) -> str:
    if not result.paths:
        return ""
    counts = [
        count_text(len(result.snapshots), "snapshot"),
        count_text(len(result.changelogs), "changelog"),
        count_text(len(result.tags), "tag"),
        count_text(len(result.branches), "branch", "branches"),
        count_text(len(result.consumers), "consumer"),
        f"{'at most ' if result.dry_run else ''}{count_text(len(result.paths), 'file')}",
    ]
    return list_text(counts)
