"""Leaves out files, and rows of them, by indexes of the whole table, which know the ids of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from pyroaring import BitMap64

from paimon_spark.arrow.predicates.predicate import Predicate, columns_of, restrict
from paimon_spark.format.file_index.row_sets import RowSet, decode_rows, encode_rows, row_set
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import file_format_of
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import TIMESTAMPS, Root
from paimon_spark.merge.keys.row_ids import column_files, end_id, first_id
from paimon_spark.merge.keys.sections import Section
from paimon_spark.store.global_index.search import Span, find_rows
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.pruning.file_filter import IndexedParts, files_of
from paimon_spark.store.pruning.index_filter import MOST_ROWS_KEPT
from paimon_spark.store.read.splits import Split, selection_name

_SHIFTED_BY_ORC = TIMESTAMPS | {Root.DATE}  # what is read may be another value than the writer of the index read


def leave_out_by_row_ids(
    table: Table, snapshot: Snapshot, predicate: Predicate, buckets: Sequence[IndexedParts]
) -> list[IndexedParts]:
    """What the indexes of the whole table leave of each bucket.

    Args:
        table: a table with data evolution, with the options of the read.
        snapshot: the state that is read.
        predicate: over the columns of the table.
        buckets: what statistics and file indexes leave.

    Raises:
        MissingFile: an index file does not exist.
        CorruptFile: an index file, or the index manifest, is damaged.
    """
    if snapshot.index_manifest is None or not columns_of(predicate):
        return list(buckets)
    if any(file_format_of(file.file_name) == "orc" for bucket in buckets for file in files_of(bucket.parts)):
        plain = {field.name for field in table.schema.fields if field.type.root not in _SHIFTED_BY_ORC}
        predicate = restrict(predicate, plain)
    rows = find_rows(table, snapshot, predicate, list(_merged(_spans(buckets))))
    return list(buckets) if rows is None else [_left(bucket, rows) for bucket in buckets]


def with_rows(split: Split, row_ids: BitMap64) -> Split | None:
    """A split with row ids, of which the rows with some ids are wanted; others of the same files may be read.

    Returns:
        None: it has none of them.
    """
    left = _left(IndexedParts((split.raw_files, split.sections), dict(split.selections), 0), row_ids)
    files, sections = left.parts
    if not files and not sections:
        return None
    return replace(split, raw_files=tuple(files), sections=tuple(sections), selections=left.selections)


def _spans(buckets: Sequence[IndexedParts]) -> Iterator[Span]:
    for bucket in buckets:
        for file in bucket.parts[0]:
            yield first_id(file), end_id(file)
        for section in bucket.parts[1]:
            yield _span(section)


def _span(section: Section) -> Span:
    group = column_files(section)
    return group.first_row_id, group.first_row_id + group.row_count


def _merged(spans: Iterator[Span]) -> Iterator[Span]:
    """The same ids in as few spans as possible."""
    last: Span | None = None
    for span in sorted(spans):
        if last is not None and span[0] <= last[1]:
            last = last[0], max(last[1], span[1])
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last


def _left(bucket: IndexedParts, rows: BitMap64) -> IndexedParts:
    files, sections = list[DataFileMeta](), list[Section]()
    selections = dict(bucket.selections)
    for file in bucket.parts[0]:
        if _keeps(selections, file.file_name, (first_id(file), end_id(file)), rows):
            files.append(file)
    for section in bucket.parts[1]:
        if _keeps(selections, selection_name(section), _span(section), rows):
            sections.append(section)
    left = sum(1 for _ in files_of((files, sections)))
    skipped = sum(1 for _ in files_of(bucket.parts)) - left
    return replace(bucket, parts=(files, sections), selections=selections, skipped=bucket.skipped + skipped)


def _keeps(selections: dict[str, bytes], name: str, span: Span, rows: BitMap64) -> bool:
    """False if no row may be wanted; else selections gets the rows that may be, if they are few."""
    start, end = span
    count = rows.range_cardinality(start, end)
    known = selections.get(name)
    if not count:
        selections.pop(name, None)
        return False
    if known is None and (count > MOST_ROWS_KEPT or 2 * count >= end - start):
        return True
    before = rows.range_cardinality(0, start)
    found = np.frombuffer(rows[before : before + count].to_array(), np.uint64).astype(np.int64) - start
    chosen: RowSet = row_set(found)
    if known is not None:
        chosen &= row_set(decode_rows(known))
    if not chosen:
        selections.pop(name, None)
        return False
    selections[name] = encode_rows(chosen)
    return True
