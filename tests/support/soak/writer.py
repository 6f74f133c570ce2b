"""A process that writes the rows of its share of the keys, and decides what the one before it left unknown."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from paimon_spark.errors import CommitStateUnknown, DataError, RowsNotVisible, SqlError
from support.soak.expected import Different, Expectations, Shown, candidates, cut
from support.soak.journal import Effect, Outcome, Row, Step, open_steps
from support.soak.place import Place
from support.soak.process import REFUSED, Process, message_of
from support.soak.statements import Call, draw, execute, fence, foretell
from support.soak.tables import KINDS, TEXT, Kind, tables_of

ONCE, READ, STREAM, FENCE = "once", "read", "stream", "fence"
"""How an unknown outcome is decided: by the same call, which happens once; by a read; by the position of a stream."""

_REFUSED: tuple[type[Exception], ...] = (*REFUSED, DataError, SqlError)


class Writer(Process):
    """Writes rows with the API of Python."""

    def __init__(self, place: Place, owner: int) -> None:
        super().__init__(place, f"writer{owner}")
        self.owner = owner
        self.tables = tables_of(place, owner)

    def step(self) -> None:
        random = self.random()
        kind = random.choice(self.tables)
        opened = self.place.open(kind.name)
        extras = [field.id for field in opened.schema.fields if field.id > TEXT] if kind.evolves else []
        state, number = self.state(kind), len(self.journal.steps) + 1
        call = draw(kind, self.owner, self.place.owners, number, state, extras, random)
        effect = foretell(kind, call, state)
        step = self.journal.begin(kind.name, call["statement"], self._mode(kind, call, random), call, effect)
        self.attempt(step, opened)
        if open_steps(self.journal.steps[-1:]):
            self.recover()

    def state(self, kind: Kind) -> dict[int, Row]:
        """The rows of this owner in a table, of which nothing is unknown now."""
        (state,) = candidates([step for step in self.journal.steps if step.table == kind.name], 2**62)
        return state

    def _mode(self, kind: Kind, call: Call, random: Random) -> str:
        modes = [ONCE, READ, *([STREAM] if call["statement"] == "upsert" else [])]
        if kind.is_late:
            modes.remove(READ)
        return random.choice(modes)

    def attempt(self, step: Step, opened: Any, decided: str = "") -> None:
        """Does what a step says, and writes down what became of it.

        Args:
            opened: the table.
            decided: what is noted where it had an unknown outcome before.
        """
        once = (f"w{self.owner}", step.number) if step.mode in (ONCE, FENCE) else None
        stream = (f"s{self.owner}", step.number) if step.mode == STREAM else None
        try:
            result = execute(opened, dict(step.call), once, stream)
        except RowsNotVisible:
            self.journal.done(step, by=self.latest(step.table), decided=decided)
        except CommitStateUnknown as error:
            self.journal.unknown(step, message_of(error))
        except _REFUSED as error:
            if isinstance(error, (DataError, SqlError)) and not self._has_other_columns(step.table, opened):
                raise
            if step.mode in (STREAM, FENCE):  # a stream goes on with the same batch
                self.journal.unknown(step, message_of(error))
            else:
                self.journal.nothing(step, message_of(error), decided)
        else:
            repeated = getattr(result, "repeated", False)
            self._check_was_made(step, result, repeated)
            found = "" if not decided else "it was done" if repeated else "it was not, and is done now"
            by = self.latest(step.table) if result.snapshot_id is None else None
            self.journal.done(step, result.snapshot_id, by, found)

    def _check_was_made(self, step: Step, result: Any, repeated: bool) -> None:
        """Checks that what has an effect made a snapshot.

        Raises:
            Different: it did not.
        """
        if step.effect.puts and result.snapshot_id is None and not repeated:
            raise Different(f"{step.table}: {step.kind} made no snapshot: {result}, {step}")

    def _has_other_columns(self, table: str, opened: Any) -> bool:
        return bool(self.place.open(table).schema.id != opened.schema.id)

    def latest(self, table: str) -> int | None:
        latest = self.place.open(table).snapshots.latest()
        return None if latest is None else int(latest.id)

    # --------------------------------------------------------------------------------------- what was left unknown

    def recover(self) -> None:
        """Decides what is open: it is repeated where it happens once, or a read decides behind a fence.

        Raises:
            Different: the rows are neither those before nor those after it.
        """
        unknown = open_steps(self.journal.steps)
        for step in unknown:
            if step.mode == READ:
                self._decide_by_read(step, [other for other in unknown if other.mode == FENCE])
            elif step.mode == STREAM:
                self._decide_by_position(step)
            elif step.mode == ONCE:
                self._repeat(step)

    def _repeat(self, step: Step) -> None:
        while open_steps([self._now(step)]):
            self.attempt(step, self.place.open(step.table), decided="repeated")

    def _decide_by_position(self, step: Step) -> None:
        """The stream knows how far it is; a batch that was cut off has to come again."""
        while open_steps([self._now(step)]):
            try:
                progress = self.place.open(step.table).stream_progress(f"s{self.owner}")
            except CommitStateUnknown:
                continue
            if progress.position == step.number:
                self.journal.done(step, by=self.latest(step.table), decided="it was done")
            elif progress.pending not in (None, step.number):
                raise Different(f"{step.table}: {step} is unknown, and the stream says {progress}")
            else:
                self.attempt(step, self.place.open(step.table), decided="repeated")

    def _decide_by_read(self, step: Step, fences: list[Step]) -> None:
        self.write_fence(step.table, fences)
        latest = self.latest(step.table)
        assert latest is not None, "a fence was written"
        shown = shown_at(self.place, step.table, latest, f"o = {self.owner}")
        found = shown.by_key(step.table)
        before = [other for other in self.journal.steps if other.table == step.table and other.number != step.number]
        for effect, is_done in ((step.effect, True), (Effect(), False)):
            states = candidates(_with_effect(before, step, effect), latest)
            if found not in [cut(state, shown.columns) for state in states]:
                continue
            if is_done:
                self.journal.done(step, by=latest, decided="it was done")
            else:
                self.journal.nothing(step, decided="it was not done")
            return
        Expectations(self.place).compare(KINDS[step.table], shown, owners=[self.owner])
        raise Different(f"{step.table}: {step} is neither done nor not done")

    def write_fence(self, table: str, fences: list[Step]) -> None:
        """Commits to the table, so that an earlier commit that has not come until then never comes."""
        begun = next((step for step in fences if step.table == table), None)
        if begun is None:
            call = fence(self.owner, self.place.owners, len(self.journal.steps) + 1)
            effect = foretell(KINDS[table], call, {})
            begun = self.journal.begin(table, "fence", FENCE, call, effect)
        self._repeat(begun)

    def _now(self, step: Step) -> Step:
        return self.journal.steps[step.number - 1]


def _with_effect(others: list[Step], step: Step, effect: Effect) -> list[Step]:
    """The steps as they would be if one of them were done with an effect."""
    made = replace(step, outcome=Outcome.DONE, snapshot=0, effect=effect)
    return sorted([*others, made], key=lambda other: other.number)


def shown_at(place: Place, table: str, version: int | str, where: str | None = None) -> Shown:
    """What a read of a snapshot or a tag shows.

    Raises:
        SnapshotNotFound: it has expired.
    """
    opened = place.open(table, version)
    ids = {field.name: field.id for field in opened.schema.fields}
    found = opened.scan(where=where).to_arrow().to_pylist()
    rows = [{ids[name]: value for name, value in row.items() if value is not None} for row in found]
    return Shown(version if isinstance(version, int) else None, [*ids.values()], rows)
