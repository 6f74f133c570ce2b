"""What takes rows out of a table: partitions that are too old, files that storage has lost, or all of them."""

from __future__ import annotations

from typing import Final

import typer

from paimon_spark.cli.commands.removal import removes
from paimon_spark.cli.declared import Shown
from paimon_spark.cli.texts import count_text, list_text, size_text
from paimon_spark.procedures.partitions import ExpirePartitions
from paimon_spark.procedures.row_removal import PurgeFiles, RemoveUnexistingFiles
from paimon_spark.store.clean.lost_files import RemoveUnexistingFilesResult
from paimon_spark.store.clean.partition_expiry import ExpirePartitionsResult
from paimon_spark.store.clean.purge import PurgeFilesResult

app: Final = typer.Typer()
_LEFT = "what is committed is committed, all else is as it was"


@removes(app, "expire-partitions", ExpirePartitions, left=_LEFT, expiration_time=Shown("--older-than"))
def _partitions(result: ExpirePartitionsResult) -> str:
    """Takes partitions out of the table that are too old."""
    if not result.partitions:
        return ""
    files = f"{count_text(result.files, 'file')} of {count_text(result.rows, 'row')}, {size_text(result.bytes)}"
    return f"{count_text(len(result.partitions), 'partition')} of {files}; they stay on storage until snapshots expire"


@removes(app, "remove-lost-files", RemoveUnexistingFiles, left=_LEFT)
def _lost(result: RemoveUnexistingFilesResult) -> str:
    """Takes data files out of the table that storage does not have any more, so that the rest can be read."""
    if not result.paths:
        return ""
    rows = count_text(result.rows, "row")
    again = "; rows of the same keys that these had replaced or deleted are read again: write the newer ones once more"
    gone = f"{count_text(len(result.paths), 'lost file')} of {rows}, {size_text(result.bytes)}"
    return f"{gone}{again if result.older_rows_return else ''}"


@removes(
    app,
    "purge",
    PurgeFiles,
    "orphans_older_than",
    left="the table can be read; call it again to go all the way",
    on_branches=False,
)
def _purged(result: PurgeFilesResult) -> str:
    """Empties a table for good: rows, history, tags, branches and consumers go.

    Its schema and options stay, and it can be written on. There is no way back.
    """
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
