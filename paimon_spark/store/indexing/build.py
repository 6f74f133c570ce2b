"""The files of an index over a column: which rows go in which file, and what makes one file.

Java sorts the rows of each partition by the column, and cuts them into files by key. Here a file is over some
neighbouring rows, which one task reads and sorts: each has a range of row ids of its own, and any task can make it. The
files of indexes for searches are so in Java too.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.file_index.table_keys import coded_column
from paimon_spark.arrow.predicates.predicate import TRUE, Predicate
from paimon_spark.arrow.types import arrow_type
from paimon_spark.errors import CorruptFile, DataError, OptionError
from paimon_spark.format.file_index.keys import CodedKeys
from paimon_spark.format.global_index.bitmap import BITMAP, write_bitmap
from paimon_spark.format.global_index.btree import BTREE, write_btree
from paimon_spark.format.global_index.file_meta import KeyBounds
from paimon_spark.format.global_index.keys import GlobalKeyForm, global_key_form
from paimon_spark.format.global_index.numbers import Ints
from paimon_spark.format.global_index.vectors import VECTOR_KINDS
from paimon_spark.format.manifest import FileKind, GlobalIndexMeta, IndexManifestEntry
from paimon_spark.format.options.index_settings import GlobalIndexSettings
from paimon_spark.format.paths import index_path, index_root
from paimon_spark.format.schema import ROW_ID, TRACKING_FIELDS
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.merge.keys.row_ids import column_files, end_id, first_id
from paimon_spark.store.global_index.search_files import SEARCH_KINDS
from paimon_spark.store.indexing.search_index import search_index_file
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.split_reader import SplitReader
from paimon_spark.store.read.splits import Split
from paimon_spark.store.scan.new_scan import own_scan
from paimon_spark.store.storage.files import discard
from paimon_spark.store.storage.parallel import map_parallel

Span: TypeAlias = tuple[int, int]
"""The first of some row ids, and the one after the last."""
_THREADS = 2  # each holds the column of a file
_Writer: TypeAlias = Callable[[CodedKeys, Ints, GlobalKeyForm, int, str], tuple[bytes, KeyBounds]]
_WRITERS: Mapping[str, _Writer] = MappingProxyType({BTREE: write_btree, BITMAP: write_bitmap})


@dataclass(frozen=True)
class BuildTask:
    """The rows of one index file.

    Attributes:
        partition: of the rows, arity-prefixed.
        start, end: their ids, from start to before end.
        splits: hold them, in the order of ids, and perhaps others.
        kind: btree, bitmap, or one of SEARCH_KINDS.
        column: the name of the column.
    """

    partition: bytes
    start: int
    end: int
    splits: tuple[Split, ...]
    kind: str
    column: str


@dataclass(frozen=True)
class BuildOutcome:
    """The result of a task, or the error that ended it. entry: None: it has no row."""

    entry: IndexManifestEntry | None
    path: str | None
    error: OSError | CorruptFile | DataError | None = None


BuildTableIndex: TypeAlias = Callable[[Table, Sequence[BuildTask]], Sequence[BuildOutcome]]
"""Runs tasks, all or nothing: here or on a cluster. After an error the files that were made are deleted."""


def build_here(table: Table, tasks: Sequence[BuildTask]) -> Sequence[BuildOutcome]:
    """Runs the tasks in threads of this process; see BuildTableIndex."""
    return settled(table, map_parallel(partial(attempt_file, table), tasks, _THREADS))


def attempt_file(table: Table, task: BuildTask) -> BuildOutcome:
    """Makes the file of a task."""
    try:
        return _made_file(table, task)
    except (OSError, CorruptFile, DataError) as error:
        return BuildOutcome(None, None, error)


def settled(table: Table, outcomes: Sequence[BuildOutcome]) -> Sequence[BuildOutcome]:
    """The outcomes, if none is an error. Raises the first error, and then deletes what the other tasks have made."""
    for outcome in outcomes:
        if outcome.error is not None:
            discard(table.file_io, [each.path for each in outcomes if each.path is not None])
            raise outcome.error
    return outcomes


def plan_build(
    table: Table, snapshot: Snapshot, kind: str, column: str, condition: Predicate, covered: Sequence[Span]
) -> list[BuildTask]:
    """The tasks that make an index of all rows that have none.

    Args:
        table: the table, with the options of the call.
        snapshot: the state whose rows are read.
        kind: btree, bitmap, or one of SEARCH_KINDS.
        column: the name of the column.
        condition: on partition columns.
        covered: the ids of rows that are in the index.

    Raises:
        CorruptFile: metadata is missing or damaged.
        OptionError: the option that says how many rows a file has is no number of rows.
    """
    is_for_search = kind in SEARCH_KINDS
    option = GlobalIndexSettings.rows_per_shard if is_for_search else GlobalIndexSettings.records_per_range
    most = option.read(table.settings.global_index)
    if most < 1:
        raise OptionError(f"'{option.key}' is {most}; give a number of rows")
    plan = own_scan(table, (table.schema.by_name[column],), condition).plan_at(snapshot)
    by_partition: dict[bytes, list[tuple[Span, Split]]] = {}
    for unit in plan.splits:
        if isinstance(unit, Split):
            by_partition.setdefault(unit.partition, []).extend(_parts(unit))
    return [
        BuildTask(partition, span[0], span[1], splits, kind, column)
        for partition, parts in sorted(by_partition.items())
        for span, splits in _packed(_uncovered(parts, covered), most, is_for_search)
    ]


def _parts(split: Split) -> Iterator[tuple[Span, Split]]:
    """Each file and section of a split as a split of all its rows, with their ids."""
    for file in split.raw_files:
        yield (first_id(file), end_id(file)), replace(split, raw_files=(file,), sections=(), selections={})
    for section in split.sections:
        group = column_files(section)
        span = group.first_row_id, group.first_row_id + group.row_count
        yield span, replace(split, raw_files=(), sections=(section,), selections={})


def _uncovered(parts: Sequence[tuple[Span, Split]], covered: Sequence[Span]) -> Iterator[tuple[Span, Split]]:
    """The ids that are not covered, ascending."""
    ends = sorted(covered)
    for (start, end), split in sorted(parts, key=lambda part: part[0]):
        for first, after in ends:
            if after <= start or first >= end:
                continue
            if first > start:
                yield (start, first), split
            start = max(start, after)
        if start < end:
            yield (start, end), split


def _cut(parts: Iterator[tuple[Span, Split]], most: int) -> Iterator[tuple[Span, Split]]:
    """The same ids, cut at multiples of a number of rows, where Java begins a new file of an index for searches."""
    for (start, end), split in parts:
        for first in range(start - start % most, end, most):
            yield (max(start, first), min(end, first + most)), split


def _packed(parts: Iterator[tuple[Span, Split]], most: int, is_cut: bool) -> Iterator[tuple[Span, tuple[Split, ...]]]:
    """Neighbouring ids together, but no more than some at once; is_cut: not even if one file has more."""
    span: Span | None = None
    splits: list[Split] = []
    for (start, end), split in _cut(parts, most) if is_cut else parts:
        is_full = span is not None and (end - span[0] > most or (is_cut and start % most == 0))
        if span is not None and (start != span[1] or is_full):
            yield span, tuple(splits)
            span, splits = None, []
        span = (start if span is None else span[0]), end
        splits.append(split)
    if span is not None:
        yield span, tuple(splits)


def _made_file(table: Table, task: BuildTask) -> BuildOutcome:
    field = table.schema.by_name[task.column]
    reader = SplitReader(table, (field, TRACKING_FIELDS[0]), TRUE)
    values, ids = list[pa.Array](), list[Ints]()
    for split in task.splits:
        for batch in reader.read(split):
            numbers = batch.column(ROW_ID).to_numpy()
            inside = (numbers >= task.start) & (numbers < task.end)
            values.append(batch.column(task.column).filter(pa.array(inside)))
            ids.append(numbers[inside] - task.start)
    numbers = np.concatenate(ids) if ids else np.empty(0, np.int64)
    if not len(numbers):
        return BuildOutcome(None, None)
    column = pa.chunked_array(values, arrow_type(field.type))
    if task.kind in SEARCH_KINDS:
        made = search_index_file(table, field, task.kind, column, numbers)
    else:
        made = _key_bytes(table, task, column, numbers)
    if made is None:
        return BuildOutcome(None, None)
    data, about = made
    name = f"{'vector-' if task.kind in VECTOR_KINDS else ''}{task.kind}-global-index-{uuid.uuid4()}.index"
    root = index_root(table.settings)
    external = None if root is None else f"{root}/{name}"
    path = index_path(table.location, name) if external is None else external
    table.file_io.write_bytes(path, data)
    meta = GlobalIndexMeta(task.start, task.end - 1, field.id, None, about)
    entry = IndexManifestEntry(
        FileKind.ADD, task.partition, 0, task.kind, name, len(data), len(numbers), None, external, meta
    )
    return BuildOutcome(entry, path)


def _key_bytes(table: Table, task: BuildTask, column: pa.ChunkedArray, numbers: Ints) -> tuple[bytes, bytes]:
    """The bytes of a file that is sorted by keys, and those of `_INDEX_META`."""
    form = global_key_form(table.schema.by_name[task.column].type)
    coded = coded_column(column, form)
    settings = table.settings.global_index
    is_tree = task.kind == BTREE
    block, codec = (
        (settings.btree_block_size, settings.btree_compression)
        if is_tree
        else (settings.bitmap_block_size, settings.bitmap_compression)
    )
    data, bounds = _WRITERS[task.kind](coded, numbers, form, block, codec)
    return data, bounds.to_bytes()
