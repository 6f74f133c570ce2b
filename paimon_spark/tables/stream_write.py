"""A stream into a table without Spark: each batch is committed once, with the position of its source.

The note of the stream beside the table keeps where its source stood before the last batch and behind it. A batch that
was cut off is in the table or not: then it has to come again with the same rows, because another process may still
commit it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from paimon_spark.arrow.zones import TimeZone
from paimon_spark.errors import OptionError, StaleBatch
from paimon_spark.format.schema import ROW_KIND
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import open_data_table
from paimon_spark.store.reporting.result import Result
from paimon_spark.store.stream_notes.notes import StreamNote, find_note
from paimon_spark.store.stream_sink.batch import Batch, stream_user
from paimon_spark.tables.stream import ChangeStream, StreamBatch
from paimon_spark.writes.end_write import find_committed, one_process
from paimon_spark.writes.named_write import batch_of
from paimon_spark.writes.options import Once, WriteOptions, write_options_of
from paimon_spark.writes.write_here import write_here
from paimon_spark.writes.write_job import WriteResult


@dataclass(frozen=True)
class StreamTarget:
    """Where a stream goes.

    Attributes:
        location: of the table.
        options: of the write, the table and the storage.
        name: of the stream.
    """

    location: str
    options: Mapping[str, str] = field(repr=False)
    time_zone: TimeZone | None
    name: str

    def write_options(self) -> WriteOptions:
        return write_options_of(self.location, self.options)

    def once(self, number: int, start: str | None, position: str | None) -> Once:
        return Once(self.name, number, start=start, position=position)


@dataclass(frozen=True)
class StreamProgress:
    """How far a stream into a table has come.

    Attributes:
        batches: how many batches are in the table; it is the number of the next one.
        position: of the source, behind what is in the table; None: nothing is.
        pending: the end of a batch that was cut off and is not in the table. It has to come first, whole, with the rows
            from ``position`` to there. None: there is none.
    """

    batches: int
    position: Any = None
    pending: Any = None


@dataclass(frozen=True)
class StreamWriteResult(Result):
    """What a call of write_stream did.

    Attributes:
        batches, rows: that it has written.
        snapshot_id: the last snapshot that it made; None: none.
        position: of the source, behind all that is in the table; None: nothing is.
    """

    batches: int = 0
    rows: int = 0
    snapshot_id: int | None = None
    position: Any = None

    def and_then(self, written: WriteResult, position: Any) -> StreamWriteResult:
        snapshot = self.snapshot_id if written.snapshot_id is None else written.snapshot_id
        return StreamWriteResult(self.batches + 1, self.rows + written.rows, snapshot, position)


@dataclass(frozen=True)
class _Given:
    """A batch as somebody gives it; start is None where it does not say where it begins."""

    start: Any
    position: Any
    rows: Any


def stream_progress(target: StreamTarget) -> StreamProgress:
    """How far the stream has come. What follows the commit of its last batch is done now, if it was cut off.

    Raises:
        OptionError: the name is one of writes with ``once``.
        CommitStateUnknown: nobody can tell whether the last batch is in the table.
    """
    options = target.write_options()
    table = open_data_table(target.location, options.table, time_zone=target.time_zone)
    note = find_note(table, stream_user(table, target.name))
    if note is None:
        return StreamProgress(0)
    if note.position is None:
        raise OptionError(
            f"the stream {target.name!r} into {target.location}: writes with once=({target.name!r}, ...) have this "
            "name, and they keep no positions; give the stream another name",
            arguments=("name",),
        )
    if note.is_done or _is_found(table, target, note, options):
        return StreamProgress(note.batch + 1, _read(note.position))
    return StreamProgress(note.batch, _read(note.start), _read(note.position))


def _is_found(table: Table, target: StreamTarget, note: StreamNote, options: WriteOptions) -> bool:
    batch: Batch = batch_of(table, target.once(note.batch, note.start, note.position), note.operation, options.unknown)
    return find_committed(table, batch, one_process()) is not None


def write_stream(target: StreamTarget, batches: Any, follow: bool, interval: float) -> StreamWriteResult:
    """Writes the batches that are not in the table; arguments and errors as of WritableTable.write_stream."""
    progress = stream_progress(target)
    done = StreamWriteResult(position=progress.position)
    if not isinstance(batches, ChangeStream) and follow:
        raise OptionError(
            "write_stream(follow=True) needs a stream of open_table(path).stream(); the end of another iterable is "
            "where it says so",
            arguments=("follow",),
        )
    if not isinstance(batches, Iterable):
        raise OptionError(
            f"write_stream: the batches are {type(batches).__name__}: expected open_table(path).stream(), its batches, "
            "or pairs of a position and rows",
            arguments=("batches",),
        )
    given = (
        _continued(batches, progress, follow, interval) if isinstance(batches, ChangeStream) else map(_given, batches)
    )
    for batch in given:
        _check_follows(target, progress, batch)
        done = done.and_then(_write(target, progress, batch), batch.position)
        progress = StreamProgress(progress.batches + 1, batch.position)
    return done


def _continued(stream: ChangeStream, progress: StreamProgress, follow: bool, interval: float) -> Iterator[_Given]:
    """The batches of a stream of a table, from where the target stands."""
    if progress.pending is not None:
        yield _given(stream.between(progress.position, progress.pending))
    if progress.batches or progress.pending is not None:
        stream.position = progress.position if progress.pending is None else progress.pending
    yield from map(_given, stream.follow(interval) if follow else stream)


def _given(batch: Any) -> _Given:
    if isinstance(batch, StreamBatch):
        rows = pa.RecordBatchReader.from_batches(batch.arrow_schema, batch.to_batches())
        return _Given(batch.start, batch.position, rows)
    if isinstance(batch, tuple) and len(batch) == 2 and batch[0] is not None:
        return _Given(None, *batch)
    raise OptionError(
        f"write_stream: a batch is {batch!r:.100}; give batches of open_table(path).stream(), or pairs of a position, "
        "which is a value of JSON, and rows"
    )


def _check_follows(target: StreamTarget, progress: StreamProgress, batch: _Given) -> None:
    """Checks that a batch begins where the table stands, as far as the batch says where it begins.

    Raises:
        StaleBatch: it does not.
    """
    stands = progress.position
    begins = stands if batch.start is None or stands is None else batch.start
    ends = batch.position if progress.pending is None else progress.pending
    if begins != stands or ends != batch.position or batch.position == stands:
        until = (
            "" if progress.pending is None else f", and the batch up to {progress.pending} was cut off and comes first"
        )
        raise StaleBatch(
            f"batch {progress.batches} of the stream {target.name!r} into {target.location} is from {begins} to "
            f"{batch.position}, but the table stands at {stands}{until}. Nothing was written of it; give the batches "
            "that follow: stream_progress(name) tells where"
        )


def _write(target: StreamTarget, progress: StreamProgress, batch: _Given) -> WriteResult:
    start = progress.position if batch.start is None else batch.start
    once = target.once(progress.batches, _text(start), _text(batch.position))
    given = target.options
    if ROW_KIND in getattr(getattr(batch.rows, "schema", None), "names", ()):
        given = {"row-kind-column": ROW_KIND, **given}
    return write_here(target.location, batch.rows, given, False, once, target.time_zone)


def _text(position: Any) -> str | None:
    if position is None:
        return None
    try:
        text = json.dumps(position, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise OptionError(f"write_stream: the position {position!r:.100} is no value of JSON: {error}") from None
    return text


def _read(text: str | None) -> Any:
    return None if text is None else json.loads(text)
