"""What the rows of a table must be at a snapshot, by the journals of those who write it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from support.soak.journal import JournalReader, Outcome, Row, Step
from support.soak.place import Place
from support.soak.tables import KEY, OWNER, Kind

State = Mapping[int, Row]
_MOST_CANDIDATES = 64


class Different(AssertionError):
    """A table, or what a process met, is not what it must be; the text is all that whoever looks into it needs."""


@dataclass(frozen=True)
class Shown:
    """What a read has found.

    Attributes:
        snapshot: that was read; None: there was none.
        columns: the ids of the columns that it had.
        rows: in the order in which they were read.
    """

    snapshot: int | None
    columns: Collection[int]
    rows: Sequence[Row]

    def by_key(self, table: str) -> dict[int, Row]:
        """The rows by their keys.

        Raises:
            Different: a key is there twice.
        """
        found = {row[KEY]: row for row in self.rows}
        if len(found) != len(self.rows):
            twice = [key for key, times in Counter(row[KEY] for row in self.rows).items() if times > 1]
            raise Different(f"{table} at snapshot {self.snapshot}: {len(twice)} keys are there twice: {twice[:50]}")
        return found


def is_seen(step: Step, above: int, snapshot: int) -> bool | None:
    """True if a snapshot shows what an operation did, False if it does not; None: it may or may not.

    Args:
        above: the snapshot of this one is later than that.
    """
    if step.outcome == Outcome.NOTHING:
        return False
    if step.outcome == Outcome.DONE and step.snapshot is not None:
        return step.snapshot <= snapshot
    if step.outcome == Outcome.DONE and step.by is not None and step.by <= snapshot:
        return True
    return False if above >= snapshot else None


def _seen_by(step: Step) -> int:
    """A snapshot that was there when the next operation began. What was decided later may have been seen later."""
    return step.snapshot or (0 if step.decided else step.by or 0)


def candidates(steps: Iterable[Step], snapshot: int | None) -> list[dict[int, Row]]:
    """The states that the rows of an owner may have in a table at a snapshot.

    An owner begins when what it did before has ended. So a snapshot that lacks what was done lacks all that is later.

    Args:
        steps: those of the owner in this table, in their order.
    """
    reached: list[dict[int, Row]] = [{}]
    left_off: list[dict[int, Row]] = []
    above = 0
    for step in steps:
        seen = False if snapshot is None else is_seen(step, above, snapshot)
        above = max(above, _seen_by(step))
        if step.outcome == Outcome.DONE and not seen:
            left_off += [dict(state) for state in reached if state not in left_off]
            if seen is False:
                reached = []
                break
        if seen and step.outcome == Outcome.DONE:
            left_off = []
        if not step.effect or seen is False:
            continue
        if step.outcome == Outcome.DONE:
            for state in reached:
                step.effect.change(state)
        else:
            after = [step.effect.on(state) for state in reached]
            reached += [state for state in after if state not in reached]
        assert len(reached) + len(left_off) <= _MOST_CANDIDATES, f"{len(reached)} states may be there after {step}"
    return [*reached, *(state for state in left_off if state not in reached)]


def values_so_far(steps: Iterable[Step], snapshot: int | None) -> dict[int, list[Row | None]]:
    """All rows that each key of an owner may have had up to a snapshot, None: no row; of tables that show rows late."""
    found: dict[int, list[Row | None]] = {}
    above = 0
    for step in steps:
        seen = False if snapshot is None else is_seen(step, above, snapshot)
        above = max(above, _seen_by(step))
        if seen is False:
            continue
        for key in (*step.effect.puts, *step.effect.gone):
            found.setdefault(key, [None]).append(step.effect.puts.get(key))
    return found


def cut(state: State, columns: Collection[int]) -> dict[int, Row]:
    """The rows as a read of some columns shows them."""
    return {key: _cut_row(row, columns) for key, row in state.items()}


def without_nulls(row: Mapping[int, Any]) -> Row:
    return {name: value for name, value in row.items() if value is not None}


class Expectations:
    """The journals of all who write rows."""

    def __init__(self, place: Place) -> None:
        self._readers = [JournalReader(place.journal(f"writer{owner}")) for owner in range(place.owners)]

    def steps(self, owner: int, table: str) -> list[Step]:
        """What an owner has done to a table so far."""
        return [step for step in self._readers[owner].read() if step.table == table]

    def compare(self, kind: Kind, shown: Shown, exact: bool = False, owners: Collection[int] | None = None) -> None:
        """Compares what a read has found, which ended before this call, with what is expected.

        Args:
            exact: the table shows all of its rows, though its kind may show them late.
            owners: whose rows were read; None: all.

        Raises:
            Different: it is not so.
        """
        of_owner: dict[int, dict[int, Row]] = {}
        for row in shown.by_key(kind.name).values():
            of_owner.setdefault(row.get(OWNER, -1), {})[row[KEY]] = row
        strange = {owner: [*rows][:9] for owner, rows in of_owner.items() if not 0 <= owner < len(self._readers)}
        if strange:
            raise Different(f"{kind.name} at snapshot {shown.snapshot}: rows that nobody wrote, by owner: {strange}")
        for owner in range(len(self._readers)) if owners is None else owners:
            wrong = self._wrong(kind, owner, of_owner.get(owner, {}), shown, exact or not kind.is_late)
            if wrong:
                raise Different(f"{kind.name} at snapshot {shown.snapshot}, rows of writer{owner}: {wrong}")

    def _wrong(self, kind: Kind, owner: int, found: State, shown: Shown, exact: bool) -> str:
        steps = self.steps(owner, kind.name)
        if exact:
            states = [cut(state, shown.columns) for state in candidates(steps, shown.snapshot)]
            if found in states:
                return ""
            nearest = min(states, key=lambda state: len(_differences(found, state)))
            return _message(found, {key: nearest.get(key) for key in _differences(found, nearest)}, len(states))
        allowed = values_so_far(steps, shown.snapshot)
        late: dict[int, Any] = {}
        for key in {*found, *allowed}:
            rows = [None if row is None else _cut_row(row, shown.columns) for row in allowed.get(key, [None])]
            if found.get(key) not in rows:
                late[key] = rows
        return _message(found, late, 1) if late else ""


def _cut_row(row: Row, columns: Collection[int]) -> Row:
    return {name: value for name, value in row.items() if name in columns and value is not None}


def _differences(found: State, expected: State) -> list[int]:
    return sorted(key for key in {*found, *expected} if found.get(key) != expected.get(key))


def _message(found: State, expected: Mapping[int, Any], states: int) -> str:
    keys = sorted(expected)
    first = {key: {"read": found.get(key), "expected": expected[key]} for key in keys[:10]}
    others = f", the nearest of {states} states that may be" if states > 1 else ""
    return f"{len(keys)} keys differ{others}: {keys[:50]}; {first}"
