"""Reads splits: files that share no key directly, sections of several runs merged (Java: MergeFileSplitRead, ...)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.bucketing import assign_buckets
from paimon_spark.arrow.predicates.evaluate import filter_batch
from paimon_spark.arrow.predicates.predicate import Predicate, columns_of, restrict
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.file_index.row_sets import decode_rows
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options.engines import MergeEngine
from paimon_spark.format.options.option import MB
from paimon_spark.format.paths import POSTPONE_BUCKET, data_file_path
from paimon_spark.format.row_kind import DELETE, KIND_TEXTS, Kinds
from paimon_spark.format.schema import (
    POSITION,
    ROW_KIND_FIELD,
    SEQUENCE_FIELD,
    SEQUENCE_NUMBER,
    VALUE_KIND,
    VALUE_KIND_ID,
)
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.merge.compaction.rules import needs_lookup
from paimon_spark.merge.engines.choice import TableEngine, engine_for
from paimon_spark.merge.engines.lookup import counts_levels, lowest_level, with_level
from paimon_spark.merge.keys.sections import Section, SortedRun, runs_by_age
from paimon_spark.merge.keys.window import MergeSpec, is_retract, merge_spec
from paimon_spark.merge.runs.difference import BagSpec, StateDifference, bag_difference
from paimon_spark.merge.runs.sort_merge import merge_runs
from paimon_spark.store.holds.expired import translate_missing_files
from paimon_spark.store.metadata.newer_schemas import schema_of_file
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.bucket_filter import bucket_fields
from paimon_spark.store.read.deletion_files import read_deleted_positions
from paimon_spark.store.read.file_rows import FileRequest, Positions, StoredFile, read_file, snapshot_sequence
from paimon_spark.store.read.lenient_read import STRICT, Tolerance, tolerate
from paimon_spark.store.read.row_places import named_metadata, stored_part, with_places
from paimon_spark.store.read.sorted_runs import sorted_runs
from paimon_spark.store.read.splits import DiffSplit, PostponeSplit, ReadUnit, Split

BATCH_ROWS = 65536
_KIND_FIELD = DataField(VALUE_KIND_ID, VALUE_KIND, DataType(Root.TINYINT, False))
_SHARE_BYTES = 32 * MB  # of files of append tables that are compared at once


@dataclass(frozen=True)
class SplitReader:
    """Reads splits into batches of the wanted columns; picklable, holds no open file between calls.

    Attributes:
        table: the table, with the options of the read.
        fields: the columns of the result, in order; metadata columns may be among them. With ROW_KIND_FIELD rows that
            retract are kept; SEQUENCE_FIELD is the sequence number of each row, of tables with primary keys.
        predicate: rows for which it is not true are left out.
        tolerance: which bad files are passed over; none by default, whatever the options of the table say.
        engine: merges the rows of a key; None: that of the table.
    """

    table: Table
    fields: tuple[DataField, ...]
    predicate: Predicate
    tolerance: Tolerance = STRICT
    engine: TableEngine | None = None

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The exact schema of every batch."""
        return arrow_schema(self.fields)

    def read(self, split: ReadUnit, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The rows of a split; batches have at least one row and about batch_rows at most.

        Raises:
            CorruptFile: a data file or deletion vector is missing or damaged.
            SnapshotNotFound: a file is missing because the snapshot has expired since it was planned.
            TableChanged: a file has a newer schema, in which a wanted column was dropped or changed its type.
            UnsupportedFeature: sequence numbers are wanted for the difference of two states.
        """
        match split:
            case DiffSplit() if self._numbers:
                raise UnsupportedFeature(
                    f"reading what differs in two states of {self.table.location}: such rows have no sequence numbers; "
                    "set 'table-read.sequence-number.enabled' to false, or 'incremental-between-scan-mode' to delta"
                )
            case DiffSplit():
                batches = self._different(split, batch_rows)
            case PostponeSplit():
                batches = self._with_postponed(split, batch_rows)
            case _:
                batches = self._state(split, batch_rows)
        for batch in batches:
            rows = filter_batch(self.predicate, batch)
            if rows.num_rows:
                yield self._project(rows)

    def read_with_places(self, split: Split) -> Iterator[pa.RecordBatch]:
        """The rows of the files of a split that share no key, then the name of their file and their number in it.

        The rows of sections, which lie in no single file, are not among them. For errors see read.
        """
        request = FileRequest(
            self._read_fields, prunes=stored_part(self.table.schema, self.predicate), probes=True, positions=True
        )
        names = [field.name for field in self.fields]
        for file in split.raw_files:
            for batch in self.rows_of_file(split, file, request, selected=_selected_rows(split, file)):
                rows = filter_batch(self.predicate, self.placed(batch, split, file))
                if rows.num_rows:
                    place = [pa.repeat(pa.scalar(file.file_name), rows.num_rows), rows.column(POSITION)]
                    columns = [*(rows.column(name) for name in names), *place]
                    yield pa.RecordBatch.from_arrays(columns, names=[*names, "file", "row"])

    @cached_property
    def row_kinds(self) -> bool:
        """True if the result has the row kind of each row, and includes retractions."""
        return ROW_KIND_FIELD in self.fields

    @cached_property
    def _numbers(self) -> bool:
        """True if the result has the sequence number of each row."""
        return SEQUENCE_FIELD in self.fields

    def _state(self, split: Split, batch_rows: int) -> Iterator[pa.RecordBatch]:
        raw = (self._raw(split, file, batch_rows) for file in split.raw_files)
        merged = (self._merged_placed(split, section, batch_rows) for section in split.sections)
        return itertools.chain.from_iterable(itertools.chain(raw, merged))

    def _merged_placed(self, split: Split, section: Section, batch_rows: int) -> Iterator[pa.RecordBatch]:
        for batch in self._merged(split, section, batch_rows):
            yield self.placed(batch, split)

    def placed(self, rows: pa.RecordBatch, split: Split, file: DataFileMeta | None = None) -> pa.RecordBatch:
        """Rows with the metadata columns that the result or the condition needs; arguments as of ``with_places``."""
        if not self._metadata:
            return rows
        return with_places(rows, self._metadata, self._partition(split), split, file)

    def _different(self, split: DiffSplit, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """The difference of two states; all columns are compared, whichever are wanted.

        A condition on values is applied to the result, because a row may satisfy it in one state only.
        """
        names = tuple(field.name for field in self._read_fields)
        output = (*names, VALUE_KIND) if self.row_kinds else names
        if not self.table.schema.primary_keys:
            whole = replace(self, fields=self.table.schema.fields)
            old, new = (partial(whole._rows_of, side, batch_rows) for side in (split.before, split.after))
            shares = -(-sum(file.file_size for file in split.files) // _SHARE_BYTES)
            return bag_difference(old, new, BagSpec(self.table.schema.fields, output, self.row_kinds, max(shares, 1)))
        by_key = restrict(self.predicate, set(self.table.schema.trimmed_primary_keys))
        whole = replace(self, fields=(*self.table.schema.fields, ROW_KIND_FIELD), predicate=by_key)
        before = [map(_as_deletes, whole._sorted_state(s, batch_rows)) for s in split.before]
        after = [whole._sorted_state(s, batch_rows) for s in split.after]
        compared = tuple(name for name in self.table.schema.names if name not in self.table.schema.primary_keys)
        spec = MergeSpec(self.table.schema.key_fields, has_sequence=False)
        engine = StateDifference(compared, self.row_kinds)
        return merge_runs([*before, *after], spec, output or spec.key_names[:1], batch_rows, engine=engine)

    def _rows_of(self, splits: Sequence[Split], batch_rows: int) -> Iterator[pa.RecordBatch]:
        return itertools.chain.from_iterable(self.read(split, batch_rows) for split in splits)

    def _sorted_state(self, split: Split, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of a state with their kinds, sorted by key, without retractions; the split has sections only."""
        merged = (self._merged(split, section, batch_rows, ordered=True) for section in split.sections)
        return map(_without_retractions, itertools.chain.from_iterable(merged))

    @cached_property
    def _read_fields(self) -> tuple[DataField, ...]:
        """The wanted columns, then those that only the predicate needs."""
        made = (ROW_KIND_FIELD, SEQUENCE_FIELD, *self._metadata)
        stored = tuple(field for field in self.fields if field not in made)
        names = {field.name for field in (*stored, *self._metadata)}
        more = (self.table.schema.by_name[name] for name in sorted(columns_of(self.predicate) - names))
        return (*stored, *more)

    @cached_property
    def _metadata(self) -> tuple[DataField, ...]:
        """The metadata columns of the result, then those that only the predicate needs."""
        return named_metadata(self.table.schema, self.fields, self.predicate)

    @cached_property
    def _merge_fields(self) -> tuple[DataField, ...]:
        """The columns of _read_fields, then the further key columns, sequence fields and others that the merge needs.

        Keys are read as value columns: `_KEY_k` holds the same values, and thin files have no other.
        """
        names = {field.name for field in self._read_fields}
        columns = self._engine.columns([field.name for field in self._read_fields])
        merge_only = (self.table.schema.by_name[name] for name in columns)
        needed = (*self.table.schema.key_fields, *self._sequence_fields, *merge_only)
        more = {field.name: field for field in needed if field.name not in names}
        return (*self._read_fields, *more.values())

    @cached_property
    def _engine(self) -> TableEngine:
        return self.engine or engine_for(self.table.schema, self.table.settings)

    @cached_property
    def _looks_up(self) -> bool:
        """True if a compaction of the table merges rows that leave level 0 with the rows above (see engines.lookup)."""
        return self._engine.kind != MergeEngine.FIRST_ROW and needs_lookup(self.table.settings)

    @cached_property
    def _grows(self) -> bool:
        """True if merged rows may be longer than those in files: they collect lists and maps of all rows of a key."""
        nested = (Root.ARRAY, Root.MAP, Root.MULTISET)
        return not self._engine.kind.keeps_whole_rows and any(field.type.root in nested for field in self._read_fields)

    @cached_property
    def _sequence_fields(self) -> tuple[DataField, ...]:
        return tuple(self.table.schema.by_name[name] for name in self.table.settings.sequence_field)

    def _raw(self, split: Split, file: DataFileMeta, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of a file that shares no key with others. Retractions are dropped: they have nothing to retract."""
        request = self._raw_request(file)
        has_kind = _KIND_FIELD in request.system
        for batch in self.rows_of_file(split, file, request, batch_rows, _selected_rows(split, file)):
            kept = _without_retractions(batch) if has_kind and not self.row_kinds else batch
            yield self.placed(kept, split, file)

    def _raw_request(self, file: DataFileMeta) -> FileRequest:
        has_kind = bool(self.table.schema.primary_keys) and (self.row_kinds or file.delete_row_count != 0)
        system = ((SEQUENCE_FIELD,) if self._numbers else ()) + ((_KIND_FIELD,) if has_kind else ())
        stored = stored_part(self.table.schema, self.predicate)
        return FileRequest(self._read_fields, system, stored, probes=True, positions=bool(self._metadata))

    def _merged(
        self, split: Split, section: Section, batch_rows: int, ordered: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """The merged row of each key. Only a condition on keys may skip row groups before the merge.

        Sequence numbers are not read if the age of the files determines which row is newer, and row kinds are not read
        if no file holds a retraction (performance notes, 3a).
        """
        by_age = self._runs_by_age(section)
        request = self._merge_request(section, by_age is None)
        spec = self._merge_spec(by_age is None, _KIND_FIELD in request.system)
        at_once = batch_rows // 2 if self._grows else batch_rows
        by_level = self._looks_up and counts_levels(section, spec, self._engine.kind.keeps_whole_rows)
        runs = [self._run(split, run, request, at_once, by_level) for run in by_age or section]
        engine = lowest_level(self._engine.merge) if by_level else self._engine.merge
        return merge_runs(runs, spec, self._output(spec), batch_rows, ordered, engine)

    def _runs_by_age(self, section: Section) -> Sequence[SortedRun] | None:
        return None if self._numbers else runs_by_age(section, [field.type for field in self.table.schema.key_fields])

    def _merge_request(self, section: Section, has_sequence: bool) -> FileRequest:
        has_kind = self.row_kinds or any(file.delete_row_count != 0 for run in section for file in run.files)
        system = ((SEQUENCE_FIELD,) if has_sequence else ()) + ((_KIND_FIELD,) if has_kind else ())
        by_key = restrict(self.predicate, set(self.table.schema.trimmed_primary_keys))
        return FileRequest(self._merge_fields, system, by_key, probes=True)

    def wanted_files(self, split: Split) -> Iterator[tuple[Callable[[], StoredFile], FileRequest]]:
        """Each file of a split, which is reported when it is asked for, and what a read asks of it."""
        wanted = [(file, self._raw_request(file)) for file in split.raw_files]
        for section in split.sections:
            request = self._merge_request(section, self._runs_by_age(section) is None)
            wanted += [(file, request) for run in section for file in run.files]
        for file, request in wanted:
            yield partial(self._stored_file, split, file, request, _selected_rows(split, file)), request

    def _with_postponed(self, split: PostponeSplit, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """The merged row of each key of some buckets and of the postponed rows that belong to them."""
        by_key = restrict(self.predicate, set(self.table.schema.trimmed_primary_keys))
        request = FileRequest(self._merge_fields, (SEQUENCE_FIELD, _KIND_FIELD), by_key, probes=True)
        spec = self._merge_spec(has_sequence=True, has_kind=True)
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
        fields, function = (
            bucket_fields(self.table.schema, self.table.settings),
            self.table.settings.bucket_function,
        )
        by_key = restrict(self.predicate, set(self.table.schema.trimmed_primary_keys))
        request = FileRequest(self._merge_fields, (_KIND_FIELD,), by_key)
        bucket_path, files = split.postponed_path, split.postponed
        where = Split(split.partition, POSTPONE_BUCKET, bucket_path, files, snapshot_id=split.snapshot_id)
        for file in split.postponed:
            for batch in self.rows_of_file(where, file, request, batch_rows):
                rows = filter_batch(by_key, batch)
                if split.every > 1:
                    buckets = assign_buckets(rows, fields, split.total_buckets, function)
                    rows = rows.filter(pa.array(buckets % split.every == split.first))
                if rows.num_rows:
                    kinds: Kinds = rows.column(VALUE_KIND).to_numpy()
                    yield rows.drop_columns([VALUE_KIND]), kinds

    def _merge_spec(self, has_sequence: bool, has_kind: bool) -> MergeSpec:
        return replace(
            merge_spec(self.table.schema, self.table.settings),
            value_names=tuple(field.name for field in self._read_fields),
            keep_deletes=self.row_kinds,
            has_sequence=has_sequence,
            has_kind=has_kind,
        )

    def _output(self, spec: MergeSpec) -> tuple[str, ...]:
        system = ((SEQUENCE_NUMBER,) if self._numbers else ()) + ((VALUE_KIND,) if self.row_kinds else ())
        return (*spec.value_names, *system) or spec.key_names[:1]

    def _run(
        self, split: Split, run: SortedRun, request: FileRequest, batch_rows: int, by_level: bool
    ) -> Iterator[pa.RecordBatch]:
        for file in run.files:
            for batch in self.rows_of_file(split, file, request, batch_rows):
                rows = filter_batch(request.prunes, batch)
                yield with_level(rows, file.level) if by_level else rows

    def rows_of_file(
        self,
        split: Split,
        file: DataFileMeta,
        request: FileRequest,
        batch_rows: int = BATCH_ROWS,
        selected: Positions | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of one file of a split that no deletion vector deletes, in the columns of the request.

        Args:
            split: has the file.
            file: the file.
            request: the columns and filters.
            batch_rows: the most rows of a batch.
            selected: ascending row numbers; other rows are left out. None: all rows are read.

        Raises:
            CorruptFile: the file or its deletion vector is missing or damaged.
            SnapshotNotFound: a file is missing because the snapshot has expired since it was planned.
            TableChanged: the file has a newer schema, in which a wanted column was dropped or changed its type.
        """
        with translate_missing_files(self.table, split.snapshot_id):
            stored = self._stored_file(split, file, request, selected)
            yield from tolerate(read_file(self.table.file_io, stored, request, batch_rows), stored.path, self.tolerance)

    def _stored_file(
        self, split: Split, file: DataFileMeta, request: FileRequest, selected: Positions | None = None
    ) -> StoredFile:
        """A file of a split with its deleted rows. For arguments and errors see rows_of_file."""
        schema = schema_of_file(self.table.schema, self.table.schemas, file.schema_id, request.fields)
        deletion = split.deletions.get(file.file_name)
        deleted = None if deletion is None else read_deleted_positions(self.table.file_io, deletion)
        path = data_file_path(split.bucket_path, file)
        legacy_ltz = self.table.settings.files.orc_legacy_ltz
        number = snapshot_sequence(self.table.settings, path, file)
        return StoredFile(path, file, schema, self._partition(split), deleted, legacy_ltz, number, selected)

    def _partition(self, split: Split) -> dict[str, Any]:
        types = self.table.schema.partition_types
        return dict(zip(self.table.schema.partition_keys, decode_arity_row(split.partition, types), strict=True))

    def _project(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.row_kinds:
            batch = batch.append_column(arrow_schema([ROW_KIND_FIELD]).field(0), _kind_texts(batch))
        if batch.num_columns != len(self.fields) or batch.schema.names != self.arrow_schema.names:
            batch = batch.select(self.arrow_schema.names)
        return batch if batch.schema.equals(self.arrow_schema) else batch.cast(self.arrow_schema)


def _selected_rows(split: Split, file: DataFileMeta) -> Positions | None:
    """The rows of a file that its index leaves; None: all."""
    selection = split.selections.get(file.file_name)
    return None if selection is None else decode_rows(selection)


def _whole_runs(split: Split) -> Iterator[SortedRun]:
    """Runs over all sections of a bucket, which are in key order."""
    for runs in itertools.zip_longest(*split.sections, fillvalue=SortedRun(())):
        yield SortedRun(tuple(file for run in runs for file in run.files))


def _without_retractions(batch: pa.RecordBatch) -> pa.RecordBatch:
    retracts = is_retract(batch.column(VALUE_KIND).to_numpy())
    return batch.filter(pa.array(~retracts)) if retracts.any() else batch


def _as_deletes(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with the kind -D."""
    place = batch.schema.get_field_index(VALUE_KIND)
    kinds = pa.array(np.full(batch.num_rows, DELETE, np.int8))
    return batch.set_column(place, batch.schema.field(place), kinds)


def _kind_texts(batch: pa.RecordBatch) -> pa.Array:
    """The kind of each row as text. Rows without a kind are inserts, as all rows of append tables are."""
    place = batch.schema.get_field_index(VALUE_KIND)
    texts = pa.array(KIND_TEXTS)
    return pa.repeat(texts[0], batch.num_rows) if place < 0 else texts.take(batch.column(place))
