"""Where a stream stands, kept in the file of its consumer: read when a query begins, written as it goes on.

A query that is restarted goes on from the position in its checkpoint (``position``). The consumer says where a query
without a checkpoint begins, and which snapshots no expiry deletes. It is written before the first plan, which protects
a long first phase, and whenever Spark asks for what comes after a position: all before that position is in the sink
then. Java's source for Spark never writes it.
"""

from __future__ import annotations

import time

from paimon_spark.errors import OptionError
from paimon_spark.format.json_text import format_json
from paimon_spark.format.paths import consumer_path
from paimon_spark.store.holds.consumer_files import consumer_position
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.stream_source.position import Position

_KEPT_ALIVE = 4  # times within the time after which a consumer that does not move is deleted


def held_snapshot(table: Table, consumer: str) -> int | None:
    """The id of the snapshot that a consumer reads next; None if it has no file.

    Raises:
        CorruptFile: the file of the consumer is damaged.
    """
    return consumer_position(table.file_io, consumer_path(table.location, consumer, table.branch))


class ConsumerProgress:
    """Writes where a stream stands, if it has a consumer.

    Args:
        table: the table, opened on the branch of the consumer.
        consumer: its id; None: nothing is written.
    """

    def __init__(self, table: Table, consumer: str | None) -> None:
        if consumer is not None and "/" in consumer:
            raise OptionError(f"'{consumer}' is no id for a consumer: it must not have a '/'")
        self._file_io = table.file_io
        self._path = None if consumer is None else consumer_path(table.location, consumer, table.branch)
        life = table.settings.retention.consumer_expiration_time
        self._every = None if life is None else life / 1000 / _KEPT_ALIVE  # seconds
        self._written: int | None = None
        self._at = 0.0

    def begin(self, position: Position) -> None:
        """Holds the snapshots from the first position on.

        A consumer that stands before it stays: it may be that of the same query, which Spark asks for its first
        position once more when it runs its first batch again.
        """
        if self._path is None:
            return
        held = consumer_position(self._file_io, self._path)
        self._write(position.snapshot if held is None else min(held, position.snapshot))

    def passed(self, position: Position) -> None:
        """Holds the snapshots from a position on; those before it are in the sink."""
        if self._path is None:
            return
        due = self._every is not None and time.monotonic() - self._at >= self._every
        if position.snapshot != self._written or due:
            self._write(position.snapshot)

    def _write(self, snapshot_id: int) -> None:
        assert self._path is not None
        self._file_io.overwrite(self._path, format_json({"nextSnapshot": snapshot_id}).encode())
        self._written, self._at = snapshot_id, time.monotonic()
