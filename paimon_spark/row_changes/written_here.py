"""Changes of rows, written by this process as they are found, without Spark.

Rows are read split by split, and so are their changes: what is held at a time are the changes of one split, the places
of rows that deletion vectors hide, and the write buffer.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.predicates.predicate import TRUE, Predicate
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import DataError
from paimon_spark.format.rules.blobs import inline_blobs
from paimon_spark.format.schema import ROW_ID, SEQUENCE_NUMBER
from paimon_spark.format.types import DataField
from paimon_spark.row_changes.arrow_values import Condition, Value, may_look_at
from paimon_spark.row_changes.read_table import PREFIX, ReadTable
from paimon_spark.row_changes.result import Outcome
from paimon_spark.row_changes.update_rules import BEFORE, DELETE, INSERT, UPDATE, RowRule, wrong_rows
from paimon_spark.store.commit.vector_files import find_vector_files
from paimon_spark.store.compact.task import AppendTask
from paimon_spark.store.holds.expired import translate_missing_files
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.row_places import check_places
from paimon_spark.store.read.split_reader import SplitReader
from paimon_spark.store.read.splits import Split
from paimon_spark.store.rows.change_strategies import ChangeStrategy, keeps_old_rows
from paimon_spark.store.rows.column_files import write_columns
from paimon_spark.store.rows.live_files import LiveFile, bucket_places, column_tasks, delete_rows, files_by_name
from paimon_spark.store.rows.rewrite_file import RowChanges, rewrite_file
from paimon_spark.store.rows.vector_columns import check_vector_columns
from paimon_spark.writes.commit_write import abort_job, place_job
from paimon_spark.writes.open_write import job_for
from paimon_spark.writes.options import WriteOptions
from paimon_spark.writes.row_columns import ArrowColumns
from paimon_spark.writes.write_here import write_batches
from paimon_spark.writes.write_job import Texts, WriteJob, nothing_committed

_KIND = f"{PREFIX}kind"
_FILE, _ROW = f"{PREFIX}file", f"{PREFIX}row"
"""The columns of the place of a row."""


@dataclass(frozen=True)
class Changed:
    """Rows that change in one way.

    Attributes:
        kind: INSERT, UPDATE or DELETE.
        old: the rows as the table has them, in append tables with their places; None: they are inserted.
        new: the rows as they become, one for each of old; None: they are deleted.
    """

    kind: str
    old: pa.RecordBatch | None
    new: pa.RecordBatch | None

    @property
    def count(self) -> int:
        """How many rows."""
        rows = self.new if self.old is None else self.old
        return 0 if rows is None else int(rows.num_rows)

    @property
    def places(self) -> tuple[pa.Array, npt.NDArray[np.int64]]:
        """The files of the old rows, and their numbers in them."""
        assert self.old is not None, "new rows lie in no file"
        return self.old.column(_FILE), self.old.column(_ROW).to_numpy()


_NOWHERE = np.empty(0, np.int64)
_Part: TypeAlias = tuple[Changed, npt.NDArray[np.int64]]
"""Some of the rows of a change, by their numbers in it."""
Changes: TypeAlias = Iterable[Sequence[Changed]]
"""The changes of one split after the other, then of new rows."""


@dataclass(frozen=True)
class Found:
    """The rows of a table that a statement looks at.

    Attributes:
        read: the table and the snapshot.
        splits: those that may hold the rows.
        fields: the columns that are read.
        predicate: rows for which it is not true are left out.
        as_stored: BLOB columns whose values are references, or views, that stay what they are.
    """

    read: ReadTable
    splits: Sequence[Split]
    fields: Sequence[DataField]
    predicate: Predicate
    as_stored: frozenset[str] = frozenset()

    @staticmethod
    def of(
        read: ReadTable,
        fields: Sequence[DataField],
        predicate: Predicate = TRUE,
        values: Iterable[Value] | None = None,
        conditions: Iterable[Condition] = (),
    ) -> Found:
        """The rows that satisfy a predicate.

        Args:
            values, conditions: of the statement, whose rows that stay are not written anew; None: bytes are needed of
                all BLOB columns.

        Raises:
            CorruptFile, UnsupportedFeature: as of ReadTable.splits, and check_places.
        """
        splits = read.splits(predicate)
        check_places(read.table, fields, predicate, splits)
        if values is None:
            return Found(read, splits, fields, predicate)
        values, conditions = tuple(values), (Condition(predicate), *conditions)
        kept = (name for name in inline_blobs(read.table.settings) if not may_look_at(name, values, conditions))
        return Found(read, splits, fields, predicate, frozenset(kept))

    @property
    def file_count(self) -> int:
        """How many data files hold the rows."""
        return sum(split.file_count for split in self.splits)

    def batches(self, placed: bool) -> Iterator[Iterator[pa.RecordBatch]]:
        """The rows of each split.

        Args:
            placed: whether their places follow the columns; for append tables.
        """
        reader = SplitReader(self.read.table, tuple(self.fields), self.predicate, as_stored=self.as_stored)
        for split in self.splits:
            rows = map(_renamed, reader.read_with_places(split)) if placed else reader.read(split)
            yield self._while_not_expired(rows)

    def _while_not_expired(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        assert self.read.snapshot is not None, "rows of a table without a snapshot"
        with translate_missing_files(self.read.table, self.read.snapshot.id):
            yield from rows


def _renamed(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows with places, whose names no column of the table has."""
    return pa.RecordBatch.from_arrays(rows.columns, names=[*rows.schema.names[:-2], _FILE, _ROW])


def _outcome(job: WriteJob, messages: Iterable[CommitMessage], counts: Counter[str], found: Found) -> Outcome:
    """What was written. counts: how many rows change, by kind."""
    updated, deleted, inserted = (counts[kind] for kind in (UPDATE, DELETE, INSERT))
    return Outcome(job, tuple(messages), updated, deleted, inserted, found.file_count)


# -------------------------------------------------------------------------------------------------- tables with keys


def write_keyed(found: Found, changes: Changes, rules: Mapping[str, Sequence[RowRule]]) -> Outcome:
    """Writes changes of a table with keys as rows with kinds, which the merge engine applies.

    Args:
        rules: what must not be true of rows, by kind.

    Raises:
        DataError: a row does not fit the table, or the merge engine would not apply its change.
        StorageError: a file could not be written. After any error what was written is deleted.
    """
    table, counts = found.read.table, Counter[str]()
    keeps_old = keeps_old_rows(table)

    def batches() -> Iterator[pa.RecordBatch]:
        for item in (item for items in changes for item in items if item.count):
            for rule in rules.get(item.kind, ()):
                if wrong_rows(rule, item.old, item.new).any():
                    raise DataError(rule.text)
            counts[item.kind] += item.count
            if item.old is not None and (item.new is None or keeps_old):
                yield _with_kind(item.old.select(table.schema.names), DELETE if item.new is None else BEFORE)
            if item.new is not None:
                yield _with_kind(item.new, item.kind)

    columns = ArrowColumns(_with_kind(_no_rows(table), INSERT).schema)
    options = WriteOptions(table.location, row_kind_column=_KIND)
    job = job_for(table, options, columns, overwrite=False)
    job = replace(job, evolution=found.read.evolution, texts=Texts.KEPT)
    messages = place_job(job, write_batches(job, batches()))
    return _outcome(job, messages, counts, found)


def _with_kind(rows: pa.RecordBatch, kind: str) -> pa.RecordBatch:
    return rows.append_column(_KIND, pa.repeat(pa.scalar(kind), rows.num_rows))


def _no_rows(table: Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=arrow_schema(table.schema.fields))


# ------------------------------------------------------------------------------------------------------ append tables


def write_appended(
    found: Found, changes: Changes, strategy: ChangeStrategy, moves: bool = False, assigned: Collection[str] = ()
) -> Outcome:
    """Writes changes of an append table: files are copied without the old rows, or deletion vectors hide these, or
    files of some columns get their new values.

    Args:
        changes: with places.
        strategy: one of those for append tables.
        moves: whether updated rows may belong to another partition or bucket than before.
        assigned: the columns that get new values.

    Raises:
        DataError: a row does not fit the table.
        CorruptFile: a file or a deletion vector is damaged.
        StorageError: a file could not be written. After any error what was written is deleted.
    """
    table = found.read.table
    job = job_for(table, WriteOptions(table.location), ArrowColumns(_no_rows(table).schema), overwrite=False)
    job = replace(job, evolution=found.read.evolution, texts=Texts.KEPT)
    writing = _AppendWrite(found, job, moves, [field for field in table.schema.fields if field.name in assigned])
    try:
        with nothing_committed():
            writing.write(changes, strategy)
    except BaseException:
        abort_job(writing.job, writing.messages)
        raise
    return _outcome(writing.job, writing.messages, writing.counts, found)


class _AppendWrite:
    """The files of one statement on an append table."""

    def __init__(self, found: Found, job: WriteJob, moves: bool, assigned: Sequence[DataField]) -> None:
        self.job = job
        self.messages: list[CommitMessage] = []
        self.counts = Counter[str]()
        self._found = found
        self._table = found.read.table
        self._moves = moves
        self._assigned = assigned
        self._live = files_by_name(found.read.table, found.splits)
        self._hidden: dict[str, list[npt.NDArray[np.int64]]] = defaultdict(list)
        self._inserted: list[pa.RecordBatch] = []

    def write(self, changes: Changes, strategy: ChangeStrategy) -> None:
        """Writes all changes; ``messages`` has what was written, also when it fails."""
        match strategy:
            case ChangeStrategy.DELETION_VECTORS:
                apart = self._updated_apart(changes)
            case ChangeStrategy.COLUMN_FILES:
                apart = self._with_columns_written(changes, self._found.read.tasks(self._live, column_tasks))
            case _:
                apart = self._rewritten(changes, self._found.read.tasks(self._live))
        job = self.job
        if self._table.schema.tracking_fields:  # rows with their ids, which get new numbers
            job = replace(job, table=self._table.with_tracking, omissible=job.omissible | {SEQUENCE_NUMBER})
        self._write_new(apart, job)
        self._write_new(iter(self._inserted), self.job)
        if self._hidden:
            self._hide(self._found.read.tasks({name: self._live[name] for name in self._hidden}))

    def _write_new(self, rows: Iterator[pa.RecordBatch], job: WriteJob) -> None:
        """Writes rows that go to new files; the iterator is read to its end, and without a row nothing is written."""
        first = next(rows, None)
        if first is not None:
            self.messages += write_batches(job, itertools.chain([first], rows))

    def _counted(self, changes: Changes) -> Iterator[list[Changed]]:
        """The changes of old rows, of one split after the other; new rows are put aside, to be written last."""
        for items in changes:
            old = []
            for item in (item for item in items if item.count):
                self.counts[item.kind] += item.count
                if item.old is None:
                    self._inserted += [] if item.new is None else [item.new]
                else:
                    old.append(item)
            if old:
                yield old

    def _updated_apart(self, changes: Changes) -> Iterator[pa.RecordBatch]:
        """The new values of updated rows; the places of all old ones are noted."""
        for items in self._counted(changes):
            for item in items:
                self._note_hidden(item)
                yield from self._moved(item)

    def _note_hidden(self, item: Changed) -> None:
        files, rows = item.places
        for name, mine in _by_file(files):
            self._hidden[name].append(rows[mine])

    def _with_columns_written(self, changes: Changes, tasks: Mapping[str, AppendTask]) -> Iterator[pa.RecordBatch]:
        """Writes the assigned columns of all rows of each file that has an updated one; no row goes elsewhere."""
        names = [field.name for field in self._assigned]
        for items in self._counted(changes):
            for item in (item for item in items if item.new is None):
                self._note_hidden(item)
            for name, parts in _parts_by_file([item for item in items if item.new is not None]).items():
                check_vector_columns(self._table, {name: tasks[name]}, names)
                positions, rows = _new_values(parts, names)
                change = RowChanges(positions, np.ones(len(positions), np.bool_), rows)
                self.messages.append(write_columns(self._table, tasks[name], self._assigned, iter([change])))
        yield from ()

    def _moved(self, item: Changed) -> Iterator[pa.RecordBatch]:
        """The new values of rows that go to new files, with their ids if the table tracks its rows."""
        if item.new is None or item.old is None:
            return
        new = item.new
        if ROW_ID in item.old.schema.names:
            new = new.append_column(item.old.schema.field(ROW_ID), item.old.column(ROW_ID))
        yield new

    def _rewritten(self, changes: Changes, tasks: Mapping[str, AppendTask]) -> Iterator[pa.RecordBatch]:
        """Writes the files of each split again, and yields the rows that go elsewhere."""
        for items in self._counted(changes):
            for name, parts in _parts_by_file(items).items():
                self.messages.append(self._rewrite(tasks[name], self._live[name], parts))
            if self._moves:
                for item in items:
                    yield from self._moved(item)

    def _rewrite(self, task: AppendTask, file: LiveFile, parts: Sequence[_Part]) -> CommitMessage:
        """Writes a file again without rows that go; one of which no row is left is removed without being read."""
        new = [] if self._moves else [part for part in parts if part[0].new is not None]
        replaced, rows = _new_values(new, self._table.schema.names) if new else (_NOWHERE, _no_rows(self._table))
        positions = np.sort(np.concatenate([item.places[1][mine] for item, mine in parts]))
        if len(positions) == file.live_rows and not new:
            return CommitMessage(task.partition, task.bucket, task.total_buckets, deleted_files=task.files)
        stays = np.isin(positions, replaced)
        return rewrite_file(self._table, task, iter([RowChanges(positions, stays, rows)]))

    def _hide(self, tasks: Mapping[str, AppendTask]) -> None:
        """Writes the deletion vectors, one bucket after the other."""
        places = bucket_places(tasks)
        vectors = find_vector_files(self._table, self._found.read.snapshot)
        rows: dict[tuple[bytes, int], dict[str, npt.NDArray[np.int64]]] = defaultdict(dict)
        for name, task in tasks.items():
            rows[task.partition, task.bucket][name] = np.concatenate(self._hidden[name])
        self.messages += [delete_rows(self._table, vectors, place, rows[key]) for key, place in places.items()]


def _parts_by_file(items: Iterable[Changed]) -> dict[str, list[_Part]]:
    """The rows of each file."""
    found: dict[str, list[_Part]] = defaultdict(list)
    for item in items:
        for name, mine in _by_file(item.places[0]):
            found[name].append((item, mine))
    return found


def _new_values(parts: Sequence[_Part], names: Sequence[str]) -> tuple[npt.NDArray[np.int64], pa.RecordBatch]:
    """The numbers of updated rows of one file, ascending, and the new values of some columns."""
    positions = np.concatenate([item.places[1][mine] for item, mine in parts])
    new = [item.new.select(names).take(pa.array(mine)) for item, mine in parts if item.new is not None]
    order = np.argsort(positions)
    return positions[order], pa.concat_batches(new).take(pa.array(order))


def _by_file(files: pa.Array) -> Iterator[tuple[str, npt.NDArray[np.int64]]]:
    """The rows of each file, by their numbers in the array."""
    encoded = files.dictionary_encode()
    codes = encoded.indices.to_numpy()
    for code, name in enumerate(encoded.dictionary.to_pylist()):
        yield name, np.flatnonzero(codes == code)
