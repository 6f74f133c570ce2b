"""One stream of a table, as an engine drives it: where it begins, how far it can go, and what is read on the way.

The engine keeps positions in its checkpoint and asks in this order, as Spark's micro-batches do::

    first = stream.first()                       # once, and again when the first batch is run again
    end = stream.next(first, limited=True)       # equal to its start: nothing to read
    units = stream.units(first, end)
    end = stream.next(end, ...)                  # all before its start has been written

Notices that the columns of a table change while a stream runs. A stream keeps the schema that it began with, as the
query behind it does. Columns that are added or renamed do not concern it. A column that it reads and that is dropped or
gets another type ends it: the next start reads the schema of then, and older files in it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from paimon_spark.arrow.predicates.predicate import Predicate, columns_of
from paimon_spark.errors import StreamPositionLost, TableChanged
from paimon_spark.format.options.read_settings import StreamReadSettings
from paimon_spark.format.schema import ROW_KIND_FIELD, SEQUENCE_FIELD
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataField
from paimon_spark.store.holds.expired import translate_missing_files
from paimon_spark.store.metadata.schemas import schema_of_file
from paimon_spark.store.metadata.snapshots import has_watermark
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.stream_source.consumer_progress import ConsumerProgress
from paimon_spark.store.stream_source.position import Position, identity
from paimon_spark.store.stream_source.settings import Limits, StreamSettings
from paimon_spark.store.stream_source.starts import start_position
from paimon_spark.store.stream_source.units import StreamUnit, UnitPlanner, fingerprint
from paimon_spark.store.stream_source.upcoming_snapshots import PositionExpired, UpcomingSnapshots

_log = logging.getLogger(__name__)
_CACHED_UNITS = 20_000
_CHECKED_EVERY = 10.0  # seconds between two looks at the snapshot before one that is not there yet
_LATE = 0.75  # of the time that snapshots are retained
_SOON = 1.0  # seconds; the default of continuous.discovery-interval on object stores
_Phase = tuple[int, bool]
_Planned = tuple[Snapshot, tuple[StreamUnit, ...]]


class TableStream:
    """A stream of a table. It lives as long as a run of the query, and remembers what it has planned.

    Args:
        table: without options that choose a snapshot.
        settings: what its options say.
        planner: plans the units of a snapshot.
        watch: compares the schemas of snapshots with that of the stream.
        clock: seconds of a clock that never goes back.
    """

    def __init__(
        self,
        table: Table,
        settings: StreamSettings,
        planner: UnitPlanner,
        watch: SchemaWatch,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._table, self._settings, self._planner, self._watch, self._clock = table, settings, planner, watch, clock
        self._upcoming = UpcomingSnapshots(table)
        self._progress = ConsumerProgress(table, settings.consumer)
        self._planned: dict[_Phase, _Planned] = {}
        self._cached = 0
        self._target: int | None = None
        self._empty_moves = max(table.settings.retention.snapshot_num_retained_min // 2, 1)
        self._waiting: tuple[Position, Position, int] | None = None  # (asked from, looked on from, empty ones between)
        self._missing: Position | None = None
        self._looked = self._checked = self._last_rows = float("-inf")
        every = settings.interval
        self._every = (_SOON if "://" in table.location else 0.0) if every is None else every / 1000
        self._warned = settings.consumer is not None

    def first(self) -> Position:
        """Where the stream begins; its consumer holds the snapshots from there on."""
        found = self._start()
        self._progress.begin(found)
        return found

    def _start(self, anew: bool = False) -> Position:
        other = self._planner.other_snapshot()  # before the snapshot of the table, which may have what follows it
        found = start_position(self._table, self._settings, self._upcoming, anew)
        if other is None:
            return found
        return replace(found, full=True).begun(other)  # without a snapshot yet, it begins with the state of the first

    def stop_at_latest(self) -> None:
        """Makes the latest snapshot of now the last one that is read."""
        self._target = self._upcoming.store.latest_id() or 0

    def read_on(self) -> None:
        """Lets the stream go on beyond that snapshot."""
        self._target = None

    def next(self, start: Position, limited: bool = True) -> Position:
        """How far the stream can go from a position; the same position if there is nothing to read.

        Args:
            start: all before it has been read and written.
            limited: whether the limits of the options hold.

        Raises:
            StreamPositionLost: what is read next has expired, or the table was rolled back.
            TableChanged: a column that is read was dropped, or has another type.
        """
        self._progress.passed(start)
        self._forget_before(start)
        try:
            return self._next(start, limited)
        except PositionExpired as error:
            if not self._settings.restarts:
                raise
            begun = self._start(anew=True)
            _log.warning("the stream begins again at snapshot %d: %s", begun.snapshot, error)
            return self._next(begun, limited)

    def newest(self) -> Position:
        """The position after all that is there, for engines that do not say where they stand."""
        latest = self._upcoming.store.latest()
        if latest is None:
            return Position(1)
        return Position(latest.id + 1, after=identity(latest))

    def reported(self) -> Position:
        """The position after all that is there, for people who watch a query; not one of its checkpoint."""
        if self._missing is not None and self._looked > float("-inf"):
            return Position(self._missing.snapshot)  # the last look has found no more
        return Position((self._upcoming.store.latest_id() or 0) + 1)

    def _next(self, start: Position, limited: bool) -> Position:
        admission = Admission(self._settings.limits if limited else None)
        at, last, skipped = start, start, 0
        if self._waiting is not None and self._waiting[0] == start:
            _, at, skipped = self._waiting
        while (planned := self._look(start, at)) is not None:
            snapshot, units = planned
            for index in range(at.index, len(units)):
                if not admission.admit(units[index]):
                    cut = replace(at, index=index, plan=fingerprint(units)) if index else replace(at, plan=None)
                    return self._taken(start, cut, admission, limited)
            empty = len(units) == at.index
            at = self._following(at, snapshot)
            skipped = skipped + 1 if empty else 0
            if not empty or skipped >= self._empty_moves:  # a position must not stay behind snapshots that expire
                last, skipped = at, 0
        self._waiting = (last, at, skipped) if last == start else None
        return self._taken(start, last, admission, limited)

    def _taken(self, start: Position, end: Position, admission: Admission, limited: bool) -> Position:
        """The end of a micro-batch, or its start while too few rows may wait for more."""
        now = self._clock()
        if limited and self._target is None and admission.waits((now - self._last_rows) * 1000):
            return start
        if admission.units:
            self._last_rows = now
        return end

    def _look(self, start: Position, at: Position) -> _Planned | None:
        """The snapshot at a position with its units; None if there is nothing to read yet."""
        if self._target is not None and at.snapshot > self._target:
            if at == start:
                self._upcoming.check_before(at)
                if at.snapshot > self._target + 1:
                    self._upcoming.check_missing(at)
            return None
        if self._rests(at):
            return None
        planned = self._planned.get(at.phase) if at.index else None
        snapshot = planned[0] if planned else self._upcoming.find(at)
        if snapshot is None:
            self._note_missing(at)
            return None
        self._looked = float("-inf")
        if at == start:
            self._upcoming.check_before(at)
            self._warn_if_late(snapshot)
        if not at.full and self._is_held_back(snapshot):
            return None
        return self._plan(at, snapshot)

    def _rests(self, at: Position) -> bool:
        """True if it is too soon to look again for a snapshot that was not there.

        Now and then the look is for the snapshot before it, which tells that the table was rolled back. A look is one
        request either way.
        """
        now = self._clock()
        if self._missing != at or now - self._looked < self._every:
            return self._missing == at
        if at.after is None or now - self._checked < _CHECKED_EVERY:
            return False
        self._checked = now
        if not self._upcoming.is_still_before(at):
            self._upcoming.check_before(at)
            self._upcoming.check_missing(at)
        return now - self._looked < _SOON  # the next look is soon enough

    def _note_missing(self, at: Position) -> None:
        """Remembers what is yet to come, after making sure that it is, and not gone."""
        if self._missing != at:
            self._upcoming.check_missing(at)
            self._checked = self._clock()
        self._missing, self._looked = at, self._clock()

    def _warn_if_late(self, snapshot: Snapshot) -> None:
        """Says once that a stream without a consumer is about to lose its place."""
        age = time.time() * 1000 - snapshot.time_millis
        if self._warned or age < self._table.settings.retention.snapshot_time_retained * _LATE:
            return
        least = self._table.settings.retention.snapshot_num_retained_min
        if (self._upcoming.store.latest_id() or 0) - snapshot.id < least:
            return
        self._warned = True
        _log.warning(
            "the stream reads snapshot %d of %s next, which expires soon; with '%s' snapshots wait for the stream",
            snapshot.id,
            self._table.location,
            StreamReadSettings.consumer_id.key,
        )

    def _is_held_back(self, snapshot: Snapshot) -> bool:
        bounded, delay = self._settings.bounded, self._settings.delay
        if bounded is not None and has_watermark(snapshot) and (snapshot.watermark or 0) > bounded:
            return True
        return delay > 0 and snapshot.time_millis > time.time() * 1000 - delay

    def units(self, start: Position, end: Position) -> list[StreamUnit]:
        """What is read from one position to another one, in order; the same whenever it is asked.

        Raises:
            StreamPositionLost: some of it has expired, is divided in another way than it was, or belongs to another
                table, which was made in the place of the one that the positions are of.
        """
        at = self._begin(start, end)
        if at.phase not in self._planned:  # a batch of an earlier run: nobody has compared its start in this one
            self._upcoming.check_before(at)
        found: list[StreamUnit] = []
        while at.place < end.place:
            planned = self._planned.get(at.phase)
            snapshot = planned[0] if planned else self._upcoming.find(at)
            if snapshot is None:
                self._upcoming.check_missing(at)
                raise StreamPositionLost(
                    f"the stream from {self._table.location} is to read snapshot {at.snapshot} again, which is not "
                    "there: the table was rolled back. Start it with a new checkpoint"
                )
            snapshot, units = self._plan(at, snapshot)
            if at.phase == end.phase:
                self._check_plan(end, units)
                return [*found, *units[at.index : end.index]]
            found += units[at.index :]
            at = self._following(at, snapshot)
        self._upcoming.check_after(at, end)
        return found

    def _begin(self, start: Position, end: Position) -> Position:
        """Where a batch begins. Spark does not record the first position of a stream, and asks for one when it runs its
        first batch again: the table may have gone on, and the end knows the old one. Another origin in the middle of
        a stream is one that began again."""
        if end.origin is None or start.origin == end.origin:
            return start
        return Position(end.origin.snapshot, full=end.origin.full, origin=end.origin)

    def _plan(self, at: Position, snapshot: Snapshot) -> _Planned:
        planned = self._planned.get(at.phase)
        if planned is None or planned[0] != snapshot:
            self._watch.check(snapshot)
            with translate_missing_files(self._table, snapshot.id):
                other = None if at.origin is None else at.origin.other
                planned = snapshot, self._planner.plan(snapshot, at.full, other)
            self._remember(at.phase, planned)
        self._check_plan(at, planned[1])
        return planned

    def _remember(self, phase: _Phase, planned: _Planned) -> None:
        """Keeps the plans of the last snapshots, because a plan is used twice for each micro-batch."""
        replaced = self._planned.pop(phase, None)
        self._cached += len(planned[1]) + 1 - (0 if replaced is None else len(replaced[1]) + 1)
        self._planned[phase] = planned
        while len(self._planned) > 1 and self._cached > _CACHED_UNITS:
            self._drop(next(iter(self._planned)))

    def _forget_before(self, start: Position) -> None:
        for phase in [phase for phase in self._planned if (phase[0], not phase[1]) < start.place[:2]]:
            self._drop(phase)

    def _drop(self, phase: _Phase) -> None:
        self._cached -= len(self._planned.pop(phase)[1]) + 1

    def _check_plan(self, at: Position, units: tuple[StreamUnit, ...]) -> None:
        if at.plan is not None and at.plan != fingerprint(units):
            raise StreamPositionLost(
                f"the stream from {self._table.location} stopped inside snapshot {at.snapshot}, at unit {at.index} of "
                f"the plan {at.plan}, and its files are divided into {fingerprint(units)} now. Give it the options and "
                "columns that it had, or start it with a new checkpoint"
            )

    @staticmethod
    def _following(at: Position, snapshot: Snapshot) -> Position:
        return Position(at.snapshot + 1, after=identity(snapshot), origin=at.origin)


_MANY = 2**63


class Admission:
    """Counts what a micro-batch takes. A unit is taken as a whole or not at all, and at least one is.

    Args:
        limits: what it takes at most; None: all that there is.
    """

    def __init__(self, limits: Limits | None) -> None:
        self._limits = limits or Limits()
        self.units = self._files = self.rows = self._bytes = 0

    def admit(self, unit: StreamUnit) -> bool:
        """True if the unit belongs to the micro-batch; it is counted then."""
        split, limits = unit.split, self._limits
        files, rows, size = self._files + split.file_count, self.rows + split.row_count, self._bytes + split.size
        fits = files <= (limits.files or _MANY) and rows <= (limits.rows or _MANY) and size <= (limits.bytes or _MANY)
        if self.units and not fits:
            return False
        self.units, self._files, self.rows, self._bytes = self.units + 1, files, rows, size
        return True

    def waits(self, millis_since_last: float) -> bool:
        """True if the rows are too few, and may wait for more.

        Args:
            millis_since_last: since the last micro-batch with rows.
        """
        least, delay = self._limits.least_rows, self._limits.delay
        return least is not None and delay is not None and self.rows < least and millis_since_last < delay


class SchemaWatch:
    """Compares the schema of each snapshot with that of the stream.

    Args:
        table: in the schema of the stream.
        fields: the columns that are read.
        predicate: over columns that are read too.
    """

    def __init__(self, table: Table, fields: Sequence[DataField], predicate: Predicate) -> None:
        self._table = table
        conditions = (table.schema.by_name[name] for name in columns_of(predicate) if name in table.schema.by_name)
        self._fields = [f for f in (*fields, *conditions) if f not in (ROW_KIND_FIELD, SEQUENCE_FIELD)]
        self._seen = table.schema.id

    def check(self, snapshot: Snapshot) -> None:
        """Checks that the stream can read rows of a snapshot; schemas that were checked are not read again.

        Raises:
            TableChanged: a column that is read was dropped, or has another type.
        """
        if snapshot.schema_id <= self._seen:
            return
        table = self._table
        try:
            now = schema_of_file(table.schema, table.schemas, snapshot.schema_id, self._fields)
        except TableChanged as error:
            raise TableChanged(
                f"the stream from {table.location} stops before snapshot {snapshot.id}, because a column that it reads "
                f"has changed. {error}. Restart the query, with other columns if one was dropped: its checkpoint stays "
                "valid, and nothing was lost or read twice"
            ) from None
        known = {field.id for field in table.schema.fields}
        added = [field.name for field in now.fields if field.id not in known]
        if added:
            _log.warning(
                "the stream from %s goes on without the columns %s, which schema %d has added; restart the query to "
                "read them",
                table.location,
                ", ".join(added),
                now.id,
            )
        self._seen = snapshot.schema_id
