"""Runs one compaction task: merges files of a bucket into new ones (Java: MergeTreeCompactTask and its rewriters).

Rows are processed in batches; memory does not depend on the size of the bucket.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options.engines import ChangelogProducer, MergeEngine
from paimon_spark.format.options.option import MB
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.schema import LEVEL, TableSchema
from paimon_spark.format.types import Root
from paimon_spark.merge.compaction.merge import (
    CompactRules,
    Superseded,
    compact_merge,
    compact_rules,
    needs_values_above,
)
from paimon_spark.merge.compaction.steps import CompactStep
from paimon_spark.merge.engines.lookup import counts_levels, with_level
from paimon_spark.merge.keys.row_ids import is_blob_file
from paimon_spark.merge.keys.sections import Section, SortedRun, runs_by_age
from paimon_spark.merge.runs.sort_merge import merge_runs
from paimon_spark.store.compact.blobs import join_blobs
from paimon_spark.store.compact.bucket_rows import SYSTEM_FIELDS, BucketRows, Progress, UpperLevel, files_above
from paimon_spark.store.compact.clustered import compact_clustered
from paimon_spark.store.compact.columns import join_columns, leave_out_deleted
from paimon_spark.store.compact.output import CompactOutput
from paimon_spark.store.compact.task import AppendTask, ClusterTask, CompactTask, CompactTaskResult, MergeTask
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.file_rows import FileRequest
from paimon_spark.store.read.sorted_runs import RunSpill, SizedRun

BATCH_ROWS = 65536
_OPEN_BYTES = 256 * MB  # approximate bytes of the rows of all batches that a merge has open at once
LEAST_BATCH_ROWS = 1024
_GROWTH = 4  # bytes of a row in memory for each byte in a file, about


def run_task(
    table: Table, task: CompactTask, progress: Progress | None = None, rules: CompactRules | None = None
) -> CompactTaskResult:
    """Compacts what the task says; nothing is visible before somebody commits the result.

    Args:
        table: with the schema that the new files get.
        task: of one bucket.
        progress: gets how many rows have been read since its last call.
        rules: of the merge of a MergeTask; None: those of the table.

    Raises:
        CorruptFile: a file of the bucket is missing or damaged.
        DataError: rows that the merge engine cannot merge.
        UnsupportedFeature: the table cannot be written.

    After any error the files of the task have been deleted.
    """
    check_writable(table.schema, table.settings)
    if isinstance(task, AppendTask) and table.settings.data_evolution_enabled:
        if task.leaves_out_deleted:
            return leave_out_deleted(table, task, progress)
        joins_blobs = is_blob_file(task.files[0])
        return join_blobs(table, task, progress) if joins_blobs else join_columns(table, task, progress)
    with CompactOutput(table, task) as output, RunSpill() as spill:
        rows = BucketRows(table, task, progress)
        if isinstance(task, ClusterTask):
            return compact_clustered(table, task, rows, output)
        if isinstance(task, AppendTask):
            return _append(table, task, rows, output)
        # Full compactions only look at the highest level, and they write to it.
        rules = rules or compact_rules(table.schema, table.settings, task.output_level, task.drop_deletes)
        return _MergeRun(table.schema, task, rules, rows, output, spill).result()


def row_width(files: Sequence[DataFileMeta], columns: int) -> int:
    """About how many bytes of memory a row of the files takes.

    Args:
        files: data files.
        columns: how many columns of them are read, at least one.
    """
    rows = sum(file.row_count for file in files)
    return max(_GROWTH * sum(file.file_size for file in files) // max(rows, 1), 8 * columns)


def _append(table: Table, task: AppendTask, rows: BucketRows, output: CompactOutput) -> CompactTaskResult:
    """Writes the rows of the files one after the other (Java: BaseAppendFileStoreWrite.compactRewrite)."""
    request = FileRequest(table.schema.fields, tracking=table.schema.tracking_fields)
    for file in task.files:
        for batch in rows.read(file, request, BATCH_ROWS):
            output.write(batch)
    output.end_files()
    after, _ = output.wait()
    return CompactTaskResult(
        partition=task.partition,
        bucket=task.bucket,
        total_buckets=task.total_buckets,
        before=task.files,
        after=tuple(after),
        created=tuple(output.created),
        rows_read=rows.rows_read,
        rows_written=output.rows_written,
    )


class _MergeRun:
    """One run of a MergeTask."""

    def __init__(
        self,
        schema: TableSchema,
        task: MergeTask,
        rules: CompactRules,
        rows: BucketRows,
        output: CompactOutput,
        spill: RunSpill,
    ) -> None:
        self._schema = schema
        self._task = task
        self._rules = rules
        self._rows = rows
        self._output = output
        self._spill = spill
        self._request = FileRequest(schema.fields, SYSTEM_FIELDS)
        self._superseded: dict[int, list[npt.NDArray[np.int64]]] = {}

    def result(self) -> CompactTaskResult:
        task = self._task
        moved: list[DataFileMeta] = []
        for step in task.steps:
            if step.changelog:
                self._merge_with_changelog(step)
            elif step.rewrites:
                for section in step.sections:
                    for batch in self._merged(section):
                        self._output.write(batch)
            if not step.rewrites:
                moved.extend(file._replace(level=task.output_level) for file in step.files)
            self._output.end_files()
        written, changelog = self._output.wait()
        superseded = {
            task.above[number].file_name: np.concatenate(parts).astype("<i8").tobytes()
            for number, parts in self._superseded.items()
        }
        return CompactTaskResult(
            partition=task.partition,
            bucket=task.bucket,
            total_buckets=task.total_buckets,
            before=task.files,
            after=(*moved, *written),
            changelog=tuple(changelog),
            superseded=superseded,
            created=tuple(self._output.created),
            rows_read=self._rows.rows_read,
            rows_written=self._output.rows_written,
        )

    def _merged(self, section: Section) -> Iterator[pa.RecordBatch]:
        """The merged rows of a section, in key order."""
        by_age = runs_by_age(section, [field.type for field in self._schema.key_fields])
        files = [file for run in section for file in run.files]
        has_kind = any(file.delete_row_count != 0 for file in files)
        rules = self._rules
        spec = replace(rules.spec, has_sequence=by_age is None, has_kind=has_kind)
        looks_up = rules.looks_up and rules.engine.kind != MergeEngine.FIRST_ROW
        by_level = looks_up and counts_levels(section, spec, rules.engine.kind.keeps_whole_rows)
        engine = rules.merge if by_level else rules.engine.merge
        runs = self._runs(by_age or section, by_level)
        return merge_runs(runs, spec, rules.output, BATCH_ROWS, ordered=True, engine=engine)

    def _merge_with_changelog(self, step: CompactStep) -> None:
        """Runs a step that uses the rows above. If it does not rewrite, it only makes a changelog and vectors."""
        writes = step.rewrites or self._rules.producer.is_compaction
        for section in step.sections:
            above = self._above([file for run in section for file in run.files])
            if not writes and not above:
                continue  # there are no rows above to replace
            runs = self._runs(section, levels=True)
            for batch in compact_merge(runs, above, self._rules, BATCH_ROWS):
                if batch.rows is not None and step.rewrites:
                    self._output.write(batch.rows)
                if batch.changelog is not None:
                    self._output.write_changelog(batch.changelog)
                if batch.superseded is not None:
                    self._note(batch.superseded)

    def _note(self, superseded: Superseded) -> None:
        for number in np.unique(superseded.files).tolist():
            positions = superseded.positions[superseded.files == number]
            self._superseded.setdefault(number, []).append(positions)

    def _above(self, inputs: Sequence[DataFileMeta]) -> list[UpperLevel]:
        rules = self._rules
        if rules.producer == ChangelogProducer.FULL_COMPACTION:
            return []
        keys = self._schema.key_fields
        if needs_values_above(rules):
            request = replace(self._request, positions=rules.vectors)
        else:
            request = FileRequest(keys, positions=rules.vectors)
        expires = rules.engine.kind != MergeEngine.FIRST_ROW
        levels = files_above(self._task.above, inputs, keys)
        return [UpperLevel(self._rows, level, request, keys, BATCH_ROWS, expires) for level in levels]

    def _runs(self, section: Section, levels: bool) -> list[Iterator[pa.RecordBatch]]:
        """The rows of the runs, with their levels if wanted."""
        batch_rows = self._batch_rows(section)
        runs = [SizedRun(self._run(run, batch_rows, levels), sum(f.row_count for f in run.files)) for run in section]
        columns = (*self._rules.output, LEVEL) if levels else self._rules.output
        return self._spill.fewer(runs, self._schema.key_fields, columns, batch_rows)

    def _run(self, run: SortedRun, batch_rows: int, levels: bool) -> Iterator[pa.RecordBatch]:
        for file in run.files:
            for batch in self._rows.read(file, self._request, batch_rows):
                yield with_level(batch, file.level) if levels else batch

    def _batch_rows(self, section: Section) -> int:
        """The number of rows of each run in one batch: fewer for many runs or wide rows."""
        open_runs = min(len(section), self._spill.most_runs)
        width = row_width([file for run in section for file in run.files], len(self._rules.output))
        nested = (Root.ARRAY, Root.MAP, Root.MULTISET)
        joins = not self._rules.engine.kind.keeps_whole_rows
        if joins and any(field.type.root in nested for field in self._schema.fields):
            width *= 2  # merged rows may be longer: they collect lists and maps of a key
        return min(BATCH_ROWS, max(LEAST_BATCH_ROWS, _OPEN_BYTES // (width * open_runs)))
