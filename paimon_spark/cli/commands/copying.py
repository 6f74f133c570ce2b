"""``copy``: another table of the same rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import typer

from paimon_spark.cli.arguments import Branch, Output, OutputFormat, TableOptions, TablePath, open_with, parse_options
from paimon_spark.cli.declared import Shown, takes
from paimon_spark.cli.messages import if_stopped
from paimon_spark.cli.progress import working
from paimon_spark.cli.tables import print_result
from paimon_spark.cli.texts import count_text, size_text, span_text
from paimon_spark.procedures.local_engine import LocalEngine
from paimon_spark.procedures.rewrites import Copy
from paimon_spark.store.upkeep.copy_files import CopyResult

app: Final = typer.Typer()


@app.command()
@takes(Copy, target=Shown(metavar="TARGET"), where=Shown(metavar="SQL"))
def copy(
    path: TablePath,
    call: Copy,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Copies the latest state to another table, file by file; makes the table if it is not there.

    In a table that is there the partitions that have rows here are replaced, in one snapshot.
    """
    table = open_with(path, option, branch)
    with if_stopped("the target is as it was; a new one is absent, or empty"), working("copying"):
        metrics = replace(call, options=parse_options(option)).run(table, LocalEngine())
    print_result(metrics, _words, output)


def _words(metrics: CopyResult) -> str:
    made = "made" if metrics.created else "written to"
    files = f"{count_text(metrics.files, 'file')} of {count_text(metrics.rows, 'row')}, {size_text(metrics.bytes)}"
    if metrics.snapshot_id is None:
        return f"{metrics.location} {made}: nothing to copy"
    return (
        f"{metrics.location} {made}: {files}, of snapshot {metrics.source_snapshot_id}, committed as snapshot "
        f"{metrics.snapshot_id} after {span_text(metrics.millis)}"
    )
