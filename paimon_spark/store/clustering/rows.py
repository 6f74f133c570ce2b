"""What the tasks of a sort do: sample keys, read rows into ranges, sort ranges and write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.raw_values import from_numpy
from paimon_spark.format.options.option import MB
from paimon_spark.merge.clustering.sort_keys import keys_in, ranges_of, sort_keys, sorted_rows, with_keys
from paimon_spark.merge.keys.rows import COPY_BYTES, Gather, one_batch, take
from paimon_spark.merge.keys.winners import Rows
from paimon_spark.store.clustering.work import Bounds, ClusterWork, GroupResult
from paimon_spark.store.compact.bucket import BATCH_ROWS, LEAST_BATCH_ROWS, row_width
from paimon_spark.store.compact.bucket_rows import BucketRows
from paimon_spark.store.compact.output import CompactOutput
from paimon_spark.store.read.file_rows import FileRequest

LEAST_CHUNK, MOST_CHUNK = 4 * MB, 64 * MB  # rows that are divided by range at once; few use the same memory again
MOST_ROWS_READ = 2 * BATCH_ROWS  # that are read at once; what is read as one batch need not be copied into one
PIECE_BYTES = MB // 4  # of the rows of a chunk in one range


def sampled_keys(work: ClusterWork, number: int) -> Iterator[pa.RecordBatch]:
    """The keys of some rows of a source, drawn at random; of some files only, and only the columns of the order.

    Args:
        work: the sort.
        number: of the source.

    Raises:
        CorruptFile: a file is missing or damaged.
    """
    source, clustering = work.sources[number], work.clustering
    rows = BucketRows(work.table, work.task_of(source.unit, source.files))
    draw, share = np.random.default_rng(number), work.share(source.unit)
    for file in source.files[:: work.stride(source.unit)]:
        for batch in rows.read(file, FileRequest(clustering.fields), BATCH_ROWS):
            chosen = np.flatnonzero(draw.random(batch.num_rows) < share)
            yield sort_keys(batch.take(from_numpy(chosen)), clustering)


def ranged_rows(work: ClusterWork, number: int, bounds: Bounds) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a source, with their keys, each batch with the number of its range.

    Args:
        work: the sort.
        number: of the source.
        bounds: of all units that have several ranges.

    Raises:
        CorruptFile: a file is missing or damaged.
    """
    source, clustering = work.sources[number], work.clustering
    cuts = bounds.of_unit.get(source.unit)
    for chunk in _chunks(work, number):
        rows = with_keys(chunk, clustering)
        if cuts is None:
            yield source.range, rows
            continue
        ranges = ranges_of(keys_in(rows, clustering), cuts).astype(np.uint16)  # few bits are sorted faster
        order = np.argsort(ranges, kind="stable")
        ordered, taken = ranges[order], take(rows, order)
        edges = [0, *(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1).tolist(), len(ordered)]
        for start, end in pairwise(edges):
            if end > start:
                yield source.range + int(ordered[start]), taken.slice(start, end - start)


def write_group(work: ClusterWork, group: int, parts: Iterable[tuple[int, pa.RecordBatch]]) -> GroupResult:
    """Sorts the ranges of a group, one after the other, and writes them; on any error its files are deleted.

    Args:
        work: the sort.
        group: its number.
        parts: all rows of the group with the numbers of their ranges, which ascend.

    Raises:
        StorageError: a file could not be written.
    """
    unit = work.unit_of(group)
    level = work.units[unit].level
    with CompactOutput(work.table, work.task_of(unit, work.units[unit].files[:1])) as output:
        for _, pieces in groupby(parts, key=lambda part: part[0]):
            for batch in _sorted(work, [rows for _, rows in pieces]):
                output.write(batch)
        output.end_files()
        files, _ = output.wait()
        files = [file._replace(level=level) for file in files]
        return GroupResult(unit, group, tuple(files), tuple(output.created), output.rows_written)


def _chunks(work: ClusterWork, number: int) -> Iterator[pa.RecordBatch]:
    source = work.sources[number]
    reader = BucketRows(work.table, work.task_of(source.unit, source.files))
    request = FileRequest(work.table.schema.fields, tracking=work.table.schema.tracking_fields)
    waiting: list[pa.RecordBatch] = []
    size, most = 0, min(max(PIECE_BYTES * work.range_count(source.unit), LEAST_CHUNK), MOST_CHUNK)
    width = row_width(source.files, len(request.fields))
    rows = min(MOST_ROWS_READ, max(LEAST_BATCH_ROWS, MOST_CHUNK // width))
    for file in source.files:
        for batch in reader.read(file, request, rows):
            waiting.append(batch)
            size += batch.nbytes
            if size >= most:
                yield one_batch(waiting)
                waiting, size = [], 0
    if waiting:
        yield one_batch(waiting)


def _sorted(work: ClusterWork, pieces: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of one range in order, in the columns that are written."""
    keys = pa.concat_batches([keys_in(piece, work.clustering) for piece in pieces])
    names = work.table.schema.with_tracking.names
    yield from take_in_order([piece.select(names) for piece in pieces], sorted_rows(keys))


def take_in_order(
    pieces: Sequence[pa.RecordBatch], rows: Rows, copy_bytes: int = COPY_BYTES
) -> Iterator[pa.RecordBatch]:
    """The rows of these numbers, which count through all pieces, in this order; copied in parts if they are large.

    Batches have at most BATCH_ROWS rows: a whole range would be as large as its pieces once more, in new memory.
    """
    if len(rows) <= 1 or sum(piece.nbytes for piece in pieces) <= copy_bytes:
        gather = Gather(one_batch(pieces))
        yield from (gather.take(rows[start : start + BATCH_ROWS]) for start in range(0, len(rows), BATCH_ROWS))
        return
    ends = np.cumsum([piece.num_rows for piece in pieces])
    for part in np.array_split(rows, 2):
        used = np.sort(part)
        edges = np.searchsorted(used, [0, *ends.tolist()])
        kept = [
            take(piece, used[low:high] - (end - piece.num_rows))
            for piece, end, low, high in zip(pieces, ends.tolist(), edges, edges[1:], strict=False)
            if high > low
        ]
        yield from take_in_order(kept, np.searchsorted(used, part), copy_bytes)
