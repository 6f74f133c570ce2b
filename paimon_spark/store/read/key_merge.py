"""Merges the rows of equal keys: of runs that share keys, and of postponed rows (Java: MergeFileSplitRead)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from paimon_spark.arrow.predicates.evaluate import filter_batch
from paimon_spark.arrow.predicates.predicate import Predicate, restrict
from paimon_spark.arrow.row_buckets import assign_buckets
from paimon_spark.format.bucket import bucket_fields
from paimon_spark.format.options.engines import MergeEngine
from paimon_spark.format.paths import POSTPONE_BUCKET
from paimon_spark.format.row_kind import Kinds
from paimon_spark.format.schema import SEQUENCE_FIELD, SEQUENCE_NUMBER, VALUE_KIND, VALUE_KIND_ID
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.merge.compaction.rules import needs_lookup
from paimon_spark.merge.engines.choice import TableEngine, engine_for
from paimon_spark.merge.engines.lookup import counts_levels, lowest_level, with_level
from paimon_spark.merge.keys.sections import Section, SortedRun, runs_by_age
from paimon_spark.merge.keys.window import MergeSpec, merge_spec
from paimon_spark.merge.runs.sort_merge import merge_runs
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.file_rows import FileRequest
from paimon_spark.store.read.sorted_runs import sorted_runs
from paimon_spark.store.read.split_files import SplitFiles
from paimon_spark.store.read.splits import PostponeSplit, Split

KIND_FIELD = DataField(VALUE_KIND_ID, VALUE_KIND, DataType(Root.TINYINT, False))
_NESTED = (Root.ARRAY, Root.MAP, Root.MULTISET)


@dataclass(frozen=True)
class KeyMerge:
    """Merges rows of a table with a primary key; picklable.

    A condition on values is not applied here: applied before the merge, it would bring old rows back.

    Attributes:
        files: reads the files.
        fields: the columns that are wanted of merged rows, in order.
        predicate: its part on the key leaves out row groups and rows before the merge.
        row_kinds: whether merged rows that retract are kept, and each row has its kind as VALUE_KIND.
        numbers: whether each row has its sequence number as SEQUENCE_NUMBER.
        given: merges the rows of a key; None: the engine of the table.
    """

    files: SplitFiles
    fields: tuple[DataField, ...]
    predicate: Predicate
    row_kinds: bool
    numbers: bool
    given: TableEngine | None = None

    def section(
        self, split: Split, section: Section, batch_rows: int, ordered: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """The merged row of each key of a section.

        Sequence numbers are not read if the age of the files determines which row is newer, and row kinds are not read
        if no file holds a retraction (performance notes, 3a).

        Args:
            split: has the section.
            section: the runs.
            batch_rows: about how many rows a batch has at most.
            ordered: whether the rows come in the order of the key.
        """
        by_age = self._runs_by_age(section)
        request = self._request(section, by_age is None)
        spec = self._spec(by_age is None, KIND_FIELD in request.system)
        at_once = batch_rows // 2 if self._grows else batch_rows
        by_level = self._looks_up and counts_levels(section, spec, self._engine.kind.keeps_whole_rows)
        runs = [self._run(split, run, request, at_once, by_level) for run in by_age or section]
        engine = lowest_level(self._engine.merge) if by_level else self._engine.merge
        return merge_runs(runs, spec, self._output(spec), batch_rows, ordered, engine)

    def request(self, section: Section) -> FileRequest:
        """What the merge of a section asks of each of its files."""
        return self._request(section, self._runs_by_age(section) is None)

    def _request(self, section: Section, has_sequence: bool) -> FileRequest:
        has_kind = self.row_kinds or any(file.delete_row_count != 0 for run in section for file in run.files)
        system = ((SEQUENCE_FIELD,) if has_sequence else ()) + ((KIND_FIELD,) if has_kind else ())
        return FileRequest(self._columns, system, self._on_key, probes=True)

    def with_postponed(self, split: PostponeSplit, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """The merged row of each key of some buckets and of the postponed rows that belong to them."""
        request = FileRequest(self._columns, (SEQUENCE_FIELD, KIND_FIELD), self._on_key, probes=True)
        spec = self._spec(has_sequence=True, has_kind=True)
        by_level = self._looks_up and not self._engine.kind.keeps_whole_rows
        engine = lowest_level(self._engine.merge) if by_level else self._engine.merge
        runs = [
            self._run(bucket, run, request, batch_rows, by_level)
            for bucket in split.real
            for run in _whole_runs(bucket)
        ]
        rows = self._postponed(split, batch_rows)
        with sorted_runs(rows, spec, split.first_sequence, self._engine.merge) as waiting:
            runs += ((with_level(rows, 0) for rows in run) for run in waiting) if by_level else waiting
            yield from merge_runs(runs, spec, self._output(spec), batch_rows, engine=engine)

    def _postponed(self, split: PostponeSplit, batch_rows: int) -> Iterator[tuple[pa.RecordBatch, Kinds]]:
        """The postponed rows of the buckets of the split, in the columns of the merge, and their kinds."""
        fields, function = bucket_fields(self._table.schema, self._table.settings), self._table.settings.bucket_function
        request = FileRequest(self._columns, (KIND_FIELD,), self._on_key)
        bucket_path, files = split.postponed_path, split.postponed
        where = Split(split.partition, POSTPONE_BUCKET, bucket_path, files, snapshot_id=split.snapshot_id)
        for file in split.postponed:
            for batch in self.files.rows(where, file, request, batch_rows):
                rows = filter_batch(self._on_key, batch)
                if split.every > 1:
                    buckets = assign_buckets(rows, fields, split.total_buckets, function)
                    rows = rows.filter(pa.array(buckets % split.every == split.first))
                if rows.num_rows:
                    kinds: Kinds = rows.column(VALUE_KIND).to_numpy()
                    yield rows.drop_columns([VALUE_KIND]), kinds

    def _run(
        self, split: Split, run: SortedRun, request: FileRequest, batch_rows: int, by_level: bool
    ) -> Iterator[pa.RecordBatch]:
        for file in run.files:
            for batch in self.files.rows(split, file, request, batch_rows):
                rows = filter_batch(request.prunes, batch)
                yield with_level(rows, file.level) if by_level else rows

    def _runs_by_age(self, section: Section) -> Sequence[SortedRun] | None:
        return None if self.numbers else runs_by_age(section, [field.type for field in self._table.schema.key_fields])

    def _spec(self, has_sequence: bool, has_kind: bool) -> MergeSpec:
        return replace(
            merge_spec(self._table.schema, self._table.settings),
            value_names=tuple(field.name for field in self.fields),
            keep_deletes=self.row_kinds,
            has_sequence=has_sequence,
            has_kind=has_kind,
        )

    def _output(self, spec: MergeSpec) -> tuple[str, ...]:
        system = ((SEQUENCE_NUMBER,) if self.numbers else ()) + ((VALUE_KIND,) if self.row_kinds else ())
        return (*spec.value_names, *system) or spec.key_names[:1]

    @property
    def _table(self) -> Table:
        return self.files.table

    @cached_property
    def _on_key(self) -> Predicate:
        """The part of the condition on the key."""
        return restrict(self.predicate, set(self._table.schema.trimmed_primary_keys))

    @cached_property
    def _columns(self) -> tuple[DataField, ...]:
        """The wanted columns, then the further key columns, sequence fields and others that the merge needs.

        Keys are read as value columns: `_KEY_k` holds the same values, and thin files have no other.
        """
        names, schema = [field.name for field in self.fields], self._table.schema
        merged = (schema.by_name[name] for name in self._engine.columns(names))
        ordered = (schema.by_name[name] for name in self._table.settings.sequence_field)
        more = {field.name: field for field in (*schema.key_fields, *ordered, *merged) if field.name not in names}
        return (*self.fields, *more.values())

    @cached_property
    def _engine(self) -> TableEngine:
        return self.given or engine_for(self._table.schema, self._table.settings)

    @cached_property
    def _looks_up(self) -> bool:
        """True if a compaction of the table merges rows that leave level 0 with the rows above (see engines.lookup)."""
        return self._engine.kind != MergeEngine.FIRST_ROW and needs_lookup(self._table.settings)

    @cached_property
    def _grows(self) -> bool:
        """True if merged rows may be longer than those in files: they collect lists and maps of all rows of a key."""
        return not self._engine.kind.keeps_whole_rows and any(field.type.root in _NESTED for field in self.fields)


def _whole_runs(split: Split) -> Iterator[SortedRun]:
    """Runs over all sections of a bucket, which are in key order."""
    for runs in itertools.zip_longest(*split.sections, fillvalue=SortedRun(())):
        yield SortedRun(tuple(file for run in runs for file in run.files))
