"""A query without Spark: it drives a stream in the order of calls of Spark's micro-batches, and may die in between.

Spark writes the end of a batch into its offset log before the batch runs, and the number of the batch into its commit
log after that. It does not record where the stream began.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from paimon_spark.store.metadata.table import Table
from paimon_spark.store.stream_source.position import Position, parse_position
from paimon_spark.store.stream_source.settings import split_stream_options
from paimon_spark.store.stream_source.stream import TableStream
from paimon_spark.store.stream_source.stream_read import StreamRead, stream_read
from paimon_spark.tables.open import open_table

FROM_FIRST = {"scan.mode": "from-snapshot", "scan.snapshot-id": "1"}
Rows = list[dict[str, Any]]


@dataclass
class Checkpoint:
    """What Spark keeps: the ends of batches as JSON, and how many batches have finished."""

    offsets: list[str] = field(default_factory=list)
    commits: int = 0


class Died(Exception):
    """The query was killed."""


class Query:
    """A run of a query from a checkpoint."""

    def __init__(
        self,
        table: Table,
        options: Mapping[str, str],
        checkpoint: Checkpoint,
        available_now: bool = False,
        **read: Any,
    ) -> None:
        self.checkpoint = checkpoint
        self.read: StreamRead = opened(table, options, **read)
        self.stream: TableStream = self.read.start()
        self._available_now = available_now
        if available_now:
            self.stream.stop_at_latest()

    def run(self, dies_after: int | None = None) -> Iterator[tuple[int, Rows]]:
        """The batches that there are, each with its number; one that had not finished comes again.

        Args:
            dies_after: the run dies after it has handed out so many batches, and before it records the last one.
        """
        log, handed = self.checkpoint, 0
        while True:
            if len(log.offsets) == log.commits and not self._plan():
                return
            number = log.commits
            yield number, self._rows(number)
            handed += 1
            if handed == dies_after:
                raise Died
            log.commits += 1

    def _plan(self) -> bool:
        log = self.checkpoint
        start = self.stream.first() if not log.offsets else self._end(-1)
        end = self.stream.next(_stored(start))
        if _stored(end) == _stored(start):
            return False
        if not log.offsets:
            assert self.stream.first().origin is not None  # Spark asks once more before it writes the end
        log.offsets.append(json.dumps(end.to_json()))
        return True

    def _end(self, number: int) -> Position:
        return parse_position(json.loads(self.checkpoint.offsets[number]))

    def _rows(self, number: int) -> Rows:
        start = self._end(number - 1) if number else self.stream.first()
        units = self.stream.units(_stored(start), self._end(number))
        tasks = self.read.tasks(units)
        assert sorted(map(id, units)) == sorted(id(unit) for task in tasks for unit in task)
        return [
            row for task in tasks for unit in task for batch in self.read.reader.read(unit) for row in batch.to_pylist()
        ]


def _stored(position: Position) -> Position:
    """The position as it comes back from the checkpoint."""
    return parse_position(json.loads(json.dumps(position.to_json())))


def opened(table: Table, options: Mapping[str, str], **read: Any) -> StreamRead:
    """A stream of a table as it is now."""
    stream, others = split_stream_options(options)
    branch = {} if table.branch == "main" else {"branch": table.branch}
    return stream_read(open_table(table.location, {**branch, **others}), stream, **read)


def drained(table: Table, options: Mapping[str, str], checkpoint: Checkpoint | None = None, **read: Any) -> list[Rows]:
    """The batches that there are, of one run that ends."""
    return [rows for _, rows in Query(table, options, checkpoint or Checkpoint(), available_now=True, **read).run()]


def applied(rows: Rows, state: dict[Any, Any], key: str = "k") -> dict[Any, Any]:
    """The state after changes in their order."""
    for row in rows:
        values = {name: value for name, value in row.items() if name != "_row_kind"}
        if row["_row_kind"] in ("+I", "+U"):
            state[row[key]] = values
        elif row["_row_kind"] == "-D":
            state.pop(row[key], None)
    return state
