"""``compact`` and ``compact-manifest``."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from paimon_spark.cli.arguments import Branch, Output, OutputFormat, TableOptions, TablePath, open_with
from paimon_spark.cli.declared import Shown, takes
from paimon_spark.cli.messages import if_stopped
from paimon_spark.cli.progress import progress_bars, working
from paimon_spark.cli.tables import print_result
from paimon_spark.cli.texts import count_text, printable, size_text, span_text
from paimon_spark.procedures.local_engine import LocalEngine
from paimon_spark.procedures.rewrites import Compact, CompactManifest
from paimon_spark.store.compact.local_pool import MAX_PROCESSES, LocalRunner
from paimon_spark.store.compact.outcomes import CompactResult, Outcome
from paimon_spark.store.compact.task import CompactTask
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Progress
from paimon_spark.store.upkeep.manifest_compaction import CompactManifestResult

app: Final = typer.Typer()
_LEFT = (
    "snapshots that were committed stay, all else is as it was; files that were being written are deleted, what could "
    "not be is an orphan"
)


class _CountingRunner(LocalRunner):
    """Tells how many bytes of all tasks that it was given are done."""

    def __init__(self, processes: int, progress: Progress | None) -> None:
        super().__init__(processes, ended=self._count)
        self._progress = progress
        self._counting = threading.Lock()
        self._done = self._given = 0

    def run(self, table: Table, tasks: Sequence[CompactTask]) -> list[Outcome]:
        with self._counting:
            self._given += sum(task.weight for task in tasks)
        return super().run(table, tasks)

    def _count(self, task: CompactTask) -> None:
        with self._counting:
            self._done += task.weight
            if self._progress is not None:
                self._progress("files to compact", self._done, self._given)


@app.command()
@takes(
    Compact,
    where=Shown(metavar="SQL"),
    full=Shown("--full/--as-writers"),
    order_strategy=Shown(),
    order_by=Shown(metavar="COLUMN"),
)
def compact(
    path: TablePath,
    call: Compact,
    processes: Annotated[
        int, typer.Option("--processes", metavar="N", min=1, help="At most so many at once.")
    ] = MAX_PROCESSES,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Merges the files of buckets that have too many, with processes of this machine.

    Readers and writers go on concurrently. PaimonTable.optimize() does the same on a Spark cluster.
    """
    table = open_with(path, option, branch)
    with if_stopped(_LEFT), progress_bars() as bars:
        metrics = call.run(table, LocalEngine(_CountingRunner(processes, bars)))
    print_result(metrics, _words, output)


@app.command()
def compact_manifest(
    path: TablePath,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell how many manifests would be merged.")] = False,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Merges the manifests, in one snapshot."""
    with if_stopped("the manifests are as they were, or merged; nothing is in between"), working("merging manifests"):
        metrics = CompactManifest(dry_run).run(open_with(path, option, branch), LocalEngine())
    print_result(metrics, _manifest_words, output)


def _words(metrics: CompactResult) -> str:
    lines = []
    if metrics.postponed_files:
        waited = f"{count_text(metrics.postponed_files, 'file')} of {count_text(metrics.postponed_rows, 'row')}"
        lines.append(f"{waited} waited for a bucket and went into theirs")
    if metrics.buckets:
        lines.append(
            f"{count_text(metrics.buckets, 'bucket')}: {count_text(metrics.files_before, 'file')} of "
            f"{count_text(metrics.rows_before, 'row')}, {size_text(metrics.bytes_before)}, became "
            f"{metrics.files_after:,} of {count_text(metrics.rows_after, 'row')}, {size_text(metrics.bytes_after)}"
        )
    if metrics.snapshot_ids:
        one = "snapshot" if len(metrics.snapshot_ids) == 1 else "snapshots"
        ids = ", ".join(map(str, metrics.snapshot_ids))
        lines.append(f"committed as {one} {ids} after {span_text(metrics.millis)}")
    lines = lines or ["nothing to compact"]
    lines += [
        f"left out: {printable(bucket.partition)}, bucket {bucket.bucket}: {bucket.reason}"
        for bucket in metrics.dropped
    ]
    return "\n".join(lines)


def _manifest_words(metrics: CompactManifestResult) -> str:
    if metrics.snapshot_id is None:
        if not metrics.manifests_merged:
            return "nothing to merge"
        return f"{metrics.manifests_merged:,} of {count_text(metrics.manifests_before, 'manifest')} would be merged"
    return (
        f"{count_text(metrics.manifests_before, 'manifest')} became {metrics.manifests_after:,}, committed as snapshot "
        f"{metrics.snapshot_id} after {span_text(metrics.millis)}"
    )
