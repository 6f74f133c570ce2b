"""Reads splits: files that share no key directly, sections of several runs merged (Java: RawFileSplitRead, ...)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.predicates.evaluate import evaluate, filter_batch
from paimon_spark.arrow.predicates.predicate import TRUE, Predicate, columns_of, restrict
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options.option import MB
from paimon_spark.format.paths import POSTPONE_BUCKET
from paimon_spark.format.row_kind import DELETE, KIND_TEXTS, is_retract
from paimon_spark.format.rules.blobs import is_blob_column, referenced_blobs, resolved_views
from paimon_spark.format.schema import POSITION, ROW_KIND_FIELD, SEQUENCE_FIELD, TRACKING_FIELDS, VALUE_KIND
from paimon_spark.format.types import DataField
from paimon_spark.merge.engines.choice import TableEngine
from paimon_spark.merge.keys.row_ids import anchor_of, column_files
from paimon_spark.merge.keys.sections import Section
from paimon_spark.merge.keys.window import MergeSpec
from paimon_spark.merge.runs.difference import BagSpec, StateDifference, bag_difference
from paimon_spark.merge.runs.sort_merge import merge_runs
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.blob_references import FollowedViews, follow_views, with_bytes
from paimon_spark.store.read.column_merge import ColumnMerge
from paimon_spark.store.read.file_rows import FileRequest, StoredFile
from paimon_spark.store.read.key_merge import KIND_FIELD, KeyMerge
from paimon_spark.store.read.lenient_read import STRICT, Tolerance
from paimon_spark.store.read.row_places import check_views_known, named_metadata, stored_part, with_places
from paimon_spark.store.read.split_files import BATCH_ROWS, SplitFiles, selected_rows
from paimon_spark.store.read.splits import DiffSplit, PostponeSplit, ReadUnit, Split
from paimon_spark.store.storage.served import ViewLookup

if TYPE_CHECKING:
    from paimon_spark.arrow.shredding.paths import PathColumn

_SHARE_BYTES = 32 * MB  # of files of append tables that are compared at once
_LEAST_LEADING = 1024  # rows of a batch, where few rows of many are wanted


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
        parts: columns of the result and the predicate that are parts of VARIANT values.
        leading: of a split, so many rows are wanted that come first in the order of its key, and perhaps others; None:
            all rows. Not for tables without a key, nor with ``pk-clustering-override``.
        branches: as of SplitFiles.
        as_stored: BLOB columns whose values are references, or views, that stay what they are.
    """

    table: Table
    fields: tuple[DataField, ...]
    predicate: Predicate
    tolerance: Tolerance = STRICT
    engine: TableEngine | None = None
    leading: int | None = None
    parts: tuple[PathColumn, ...] = ()
    branches: Mapping[str, Table] = field(default_factory=dict)
    as_stored: frozenset[str] = frozenset()

    @cached_property
    def files(self) -> SplitFiles:
        """Reads single files of splits."""
        return SplitFiles(self.table, self.tolerance, self.branches)

    @cached_property
    def _merge(self) -> KeyMerge:
        return KeyMerge(
            self.files, self._read_fields, self.predicate, self.row_kinds, self._has_numbers, given=self.engine
        )

    @cached_property
    def columns(self) -> ColumnMerge:
        """Reads the sections of tables with data evolution."""
        predicate = stored_part(self.table, self.predicate)
        return ColumnMerge(self.files, self._read_fields, predicate, self._tracking)

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
        if self.parts and (not isinstance(split, Split) or split.bucket == POSTPONE_BUCKET):
            raise UnsupportedFeature(
                f"reading {self.parts[0].field.name} of {self.table.location}: parts of VARIANT values are read of "
                "states, not of rows that are compared or wait for a bucket; read the VARIANT as a whole"
            )
        if self.leading is not None and isinstance(split, Split) and split.bucket != POSTPONE_BUCKET:
            yield from self._first_rows(split, self.leading)
            return
        match split:
            case DiffSplit() if self._has_numbers:
                raise UnsupportedFeature(
                    f"reading what differs in two states of {self.table.location}: such rows have no sequence numbers; "
                    "set 'table-read.sequence-number.enabled' to false, or 'incremental-between-scan-mode' to delta"
                )
            case DiffSplit():
                batches = self._different(split, batch_rows)
            case PostponeSplit():
                batches = self._merge.with_postponed(split, batch_rows)
            case _:
                batches = self._state(split, batch_rows)
        lookup = self._lookup()
        for batch in batches:
            rows, views = self._fulfilling(batch, lookup)
            if rows.num_rows:
                yield from self._with_blobs(self._project(rows), views)

    def _lookup(self) -> ViewLookup | None:
        """What follows the views of one read; None: the read needs none.

        Raises:
            UnsupportedFeature: nobody told of the catalog when the table was opened.
        """
        if not self._viewed:
            return None
        check_views_known(self.table, self._viewed[0])
        return None if self.table.views is None else self.table.views.lookup()

    @cached_property
    def _kept(self) -> frozenset[str]:
        """The BLOB columns whose values stay what is stored."""
        return self.as_stored | (self.table.kept_references or frozenset())

    @cached_property
    def _viewed(self) -> tuple[str, ...]:
        """The columns of the result and the condition whose views the read follows."""
        views = resolved_views(self.table.schema, self.table.settings) - self._kept
        return tuple(field.name for field in self._read_fields if field.name in views)

    def _fulfilling(
        self, batch: pa.RecordBatch, lookup: ViewLookup | None
    ) -> tuple[pa.RecordBatch, FollowedViews | None]:
        """The rows that satisfy the condition, and what their views lead to, which is in the place of the views."""
        if lookup is None:
            return filter_batch(self.predicate, batch), None
        rows = filter_batch(stored_part(self.table, self.predicate), batch)
        views = follow_views(rows, self._viewed, lookup, self.table.location)
        if not columns_of(self.predicate).isdisjoint(self._viewed):
            views = views.chosen(evaluate(self.predicate, views.rows))
        return views.rows, views

    def _with_blobs(self, rows: pa.RecordBatch, views: FollowedViews | None) -> Iterator[pa.RecordBatch]:
        """The rows with the bytes of BLOB columns for which there are references."""
        table = self.table
        has_bytes = not table.settings.blob_as_descriptor
        references = referenced_blobs(table.schema, table.settings) | set(self._viewed) if has_bytes else frozenset()
        references -= self._kept
        columns = [f.name for f in self.fields if is_blob_column(f.type) and f.name in references]
        if not columns:
            yield rows
            return
        yield from with_bytes(rows, columns, table.file_io, table.location, table.kept_references is not None, views)

    def read_with_places(self, split: Split) -> Iterator[pa.RecordBatch]:
        """The rows of the files of a split that share no key, then the name of their file and their number in it.

        The rows of sections of keys, which lie in no single file, are not among them. The place of a row whose columns
        lie in several files is that under which deletion vectors have it. For errors see read.
        """
        lookup = self._lookup()
        prunes = stored_part(self.table, self.predicate)
        request = FileRequest(self._read_fields, prunes=prunes, probes=True, positions=True, tracking=self._tracking)
        names = [field.name for field in self.fields]
        for file in split.raw_files:
            for batch in self.files.rows(split, file, request, selected=selected_rows(split, file)):
                yield from self._with_place(self.placed(batch, split, file), names, file, lookup)
        for section in split.sections if self.table.settings.data_evolution_enabled else ():
            anchor = anchor_of(column_files(section))
            for batch in replace(self.columns, positions=True).section(split, section, BATCH_ROWS):
                yield from self._with_place(self.placed(batch, split), names, anchor, lookup)

    def _with_place(
        self, batch: pa.RecordBatch, names: Sequence[str], file: DataFileMeta, lookup: ViewLookup | None
    ) -> Iterator[pa.RecordBatch]:
        rows, views = self._fulfilling(batch, lookup)
        if rows.num_rows:
            place = [pa.repeat(pa.scalar(file.file_name), rows.num_rows), rows.column(POSITION)]
            columns = [*(rows.column(name) for name in names), *place]
            yield from self._with_blobs(pa.RecordBatch.from_arrays(columns, names=[*names, "file", "row"]), views)

    @cached_property
    def row_kinds(self) -> bool:
        """True if the result has the row kind of each row, and includes retractions."""
        return ROW_KIND_FIELD in self.fields

    @cached_property
    def _has_numbers(self) -> bool:
        """True if the result has the sequence number of each row."""
        return SEQUENCE_FIELD in self.fields

    def _state(self, split: Split, batch_rows: int) -> Iterator[pa.RecordBatch]:
        raw = (self._raw(split, file, batch_rows) for file in split.raw_files)
        merged = (self._merged_placed(split, section, batch_rows) for section in split.sections)
        return itertools.chain.from_iterable(itertools.chain(raw, merged))

    def _first_rows(self, split: Split, count: int) -> Iterator[pa.RecordBatch]:
        """The first rows by the key of each file that shares no key, and of each section: both are sorted by it."""
        batch_rows = min(max(count, _LEAST_LEADING), BATCH_ROWS)
        raw = (self._raw(split, file, batch_rows) for file in split.raw_files)
        merged = (self._merged_placed(split, section, batch_rows, ordered=True) for section in split.sections)
        for part in itertools.chain(raw, merged):
            wanted = count
            for batch in part:
                rows = filter_batch(self.predicate, batch)[:wanted]
                wanted -= rows.num_rows
                if rows.num_rows:
                    yield from self._with_blobs(self._project(rows), None)
                if not wanted:
                    break

    def _merged_placed(
        self, split: Split, section: Section, batch_rows: int, ordered: bool = False
    ) -> Iterator[pa.RecordBatch]:
        evolved = self.table.settings.data_evolution_enabled
        rows = (
            self.columns.section(split, section, batch_rows)
            if evolved
            else self._merge.section(split, section, batch_rows, ordered)
        )
        for batch in rows:
            yield self.placed(batch, split)

    def placed(self, rows: pa.RecordBatch, split: Split, file: DataFileMeta | None = None) -> pa.RecordBatch:
        """Rows with the metadata columns that the result or the condition needs; arguments as of ``with_places``."""
        if self._metadata:
            rows = with_places(rows, self._metadata, self.files.partition(split), split, file)
        if not self.parts:
            return rows
        from paimon_spark.arrow.shredding.parts import with_parts

        return with_parts(rows, self.parts)

    def _different(self, split: DiffSplit, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """The difference of two states; all columns are compared, whichever are wanted.

        A condition on values is applied to the result, because a row may satisfy it in one state only.
        """
        names = tuple(field.name for field in self._read_fields)
        output = (*names, VALUE_KIND) if self.row_kinds else names
        if not self.table.schema.primary_keys:
            stored, every = stored_part(self.table, self.predicate), frozenset(self.table.schema.names)
            whole = replace(self, fields=self.table.schema.fields, predicate=stored, as_stored=every)
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
        merged = (self._merge.section(split, section, batch_rows, ordered=True) for section in split.sections)
        return map(_without_retractions, itertools.chain.from_iterable(merged))

    @cached_property
    def _read_fields(self) -> tuple[DataField, ...]:
        """The wanted columns, then those that only the predicate needs."""
        made = (ROW_KIND_FIELD, SEQUENCE_FIELD, *self._metadata, *(part.field for part in self.parts))
        stored = tuple(field for field in self.fields if field not in made)
        names = {field.name for field in (*stored, *made)}
        more = tuple(self.table.schema.by_name[name] for name in sorted(columns_of(self.predicate) - names))
        whole = {field.name for field in (*stored, *more)}
        if not self.parts:
            return (*stored, *more)
        from paimon_spark.arrow.shredding.parts import read_in_part

        partly = {part.column: None for part in self.parts if part.column not in whole}
        return (*stored, *more, *(read_in_part(self.table.schema.by_name[name], self.parts) for name in partly))

    @cached_property
    def _metadata(self) -> tuple[DataField, ...]:
        """The metadata columns of the result, then those that only the predicate needs."""
        return named_metadata(self.table.schema, self.fields, self.predicate)

    @cached_property
    def _tracking(self) -> tuple[DataField, ...]:
        """Those of the metadata columns that belong to row tracking."""
        return tuple(field for field in self._metadata if field in TRACKING_FIELDS)

    def _raw(self, split: Split, file: DataFileMeta, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of a file that shares no key with others. Retractions are dropped: they have nothing to retract."""
        request = self._raw_request(file)
        has_kind = KIND_FIELD in request.system
        for batch in self.files.rows(split, file, request, batch_rows, selected_rows(split, file)):
            kept = _without_retractions(batch) if has_kind and not self.row_kinds else batch
            yield self.placed(kept, split, file)

    def _raw_request(self, file: DataFileMeta) -> FileRequest:
        has_kind = bool(self.table.schema.primary_keys) and (self.row_kinds or file.delete_row_count != 0)
        system = ((SEQUENCE_FIELD,) if self._has_numbers else ()) + ((KIND_FIELD,) if has_kind else ())
        stored = stored_part(self.table, self.predicate)
        positions = len(self._metadata) > len(self._tracking)
        of_parts = restrict(self.predicate, {part.field.name for part in self.parts}) if self.parts else TRUE
        return FileRequest(self._read_fields, system, stored, True, positions, self._tracking, self.parts, of_parts)

    def wanted_files(self, split: Split) -> Iterator[tuple[Callable[[], StoredFile], FileRequest]]:
        """Each file of a split, which is reported when it is asked for, and what a read asks of it."""
        wanted = [(file, self._raw_request(file)) for file in split.raw_files]
        for section in split.sections:
            if self.table.settings.data_evolution_enabled:
                wanted += self.columns.requests(section)
                continue
            request = self._merge.request(section)
            wanted += [(file, request) for run in section for file in run.files]
        for file, request in wanted:
            yield partial(self.files.stored, split, file, request, selected_rows(split, file)), request

    def _project(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.row_kinds:
            batch = batch.append_column(arrow_schema([ROW_KIND_FIELD]).field(0), _kind_texts(batch))
        if batch.num_columns != len(self.fields) or batch.schema.names != self.arrow_schema.names:
            batch = batch.select(self.arrow_schema.names)
        return batch if batch.schema.equals(self.arrow_schema) else batch.cast(self.arrow_schema)


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
