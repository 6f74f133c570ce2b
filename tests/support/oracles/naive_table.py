"""A table as a list of rows: what writes of each merge engine, and changes of rows, make of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Values = dict[str, Any]
Condition = Callable[[Values], Any]


class Role(StrEnum):
    """What the merge engine does with a column."""

    KEY = "key"
    PLAIN = "plain"
    """The last value; of engines that fold rows, the last that is not NULL."""
    SUM = "sum"
    MAX = "max"
    ORDER = "order"
    """The sequence field: a row with a smaller value is older."""
    GROUP = "group"
    """Orders the members of a sequence group."""
    MEMBER = "member"


class Lost(Exception):
    """The merge engine would not apply an update as it is meant."""


@dataclass(frozen=True)
class Change:
    """A row that a statement changes; before is None: a new row; after is None: a deleted one."""

    before: Values | None
    after: Values | None


@dataclass
class NaiveTable:
    """Rows.

    Attributes:
        keys: the primary key, (): none.
        engine: the merge engine; append: none.
        roles: of all columns.
    """

    keys: tuple[str, ...]
    engine: str
    roles: dict[str, Role]
    rows: list[Values] = field(default_factory=list)

    def counted(self, names: Sequence[str]) -> Counter[tuple[Any, ...]]:
        """The rows as tuples of these columns."""
        return Counter(tuple(row[name] for name in names) for row in self.rows)

    def put(self, row: Values, kind: str = "+I") -> None:
        """Writes a row of a kind, as every write does."""
        at = self._find(row)
        if kind in ("-D", "-U"):
            without_order = any(role is Role.GROUP and row[name] is None for name, role in self.roles.items())
            if at is not None and not without_order:
                del self.rows[at]
        elif at is None:
            self.rows.append(dict(row))
        else:
            self.rows[at] = self._merged(self.rows[at], row)

    def change(self, changes: Sequence[Change]) -> None:
        """Applies the changes of a statement."""
        for change in changes:
            if change.before is not None:
                self.rows.remove(change.before)
        self.rows += [dict(change.after) for change in changes if change.before is not None and change.after]
        for change in changes:
            if change.before is None and change.after is not None:
                self.put(change.after)

    def deleted(self, condition: Condition) -> list[Change]:
        """What a DELETE changes; Raises: Lost."""
        return [self.deleted_row(row) for row in self.rows if condition(row)]

    def deleted_row(self, row: Values) -> Change:
        """The change of a row that goes; Raises: Lost."""
        if any(role is Role.GROUP and row[name] is None for name, role in self.roles.items()):
            raise Lost("no order")
        return Change(row, None)

    def updated(self, condition: Condition, values: Mapping[str, Condition]) -> list[Change]:
        """What an UPDATE changes.

        Raises:
            Lost: the merge engine would not do it.
        """
        found = [self.updated_row(row, values) for row in self.rows if condition(row)]
        return [Change(before, after) for before, after in found]

    def updated_row(self, row: Values, values: Mapping[str, Condition]) -> tuple[Values, Values]:
        """A row and what an UPDATE makes of it; Raises: Lost."""
        after = {**row, **{name: value(row) for name, value in values.items()}}
        for name in values:
            role = self.roles[name]
            if role in (Role.ORDER, Role.GROUP) and _rank(after[name]) < _rank(row[name]):
                raise Lost(f"{name} falls")
            if self.engine == "partial-update" and role is Role.PLAIN and after[name] is None is not row[name]:
                raise Lost(f"{name} becomes NULL")
            if role is Role.MEMBER and after[self._of(Role.GROUP)] is None and after[name] != row[name]:
                raise Lost(f"{name} changes without its order")
        return row, after

    def rename(self, old: str, new: str) -> None:
        self.roles = {new if name == old else name: role for name, role in self.roles.items()}
        self.rows = [{new if name == old else name: v for name, v in row.items()} for row in self.rows]

    def add(self, name: str) -> None:
        self.roles[name] = Role.PLAIN
        self.rows = [{**row, name: None} for row in self.rows]

    def drop(self, name: str) -> None:
        del self.roles[name]
        self.rows = [{other: v for other, v in row.items() if other != name} for row in self.rows]

    def _find(self, row: Values) -> int | None:
        if not self.keys:
            return None
        same = (n for n, other in enumerate(self.rows) if all(other[key] == row[key] for key in self.keys))
        return next(same, None)

    def _merged(self, old: Values, new: Values) -> Values:
        match self.engine:
            case "first-row":
                return old
            case "deduplicate":
                orders = [name for name, role in self.roles.items() if role is Role.ORDER]
                return old if any(_rank(new[name]) < _rank(old[name]) for name in orders) else dict(new)
        return {name: self._cell(name, old, new) for name in old}

    def _cell(self, name: str, old: Values, new: Values) -> Any:
        role, before, after = self.roles[name], old[name], new[name]
        if role in (Role.GROUP, Role.MEMBER):
            order = self._of(Role.GROUP)
            applies = new[order] is not None and _rank(new[order]) >= _rank(old[order])
            return after if applies else before
        if before is None or after is None:
            return before if after is None else after
        return before + after if role is Role.SUM else max(before, after) if role is Role.MAX else after

    def _of(self, role: Role) -> str:
        return next(name for name, other in self.roles.items() if other is role)


def _rank(value: Any) -> tuple[bool, Any]:
    return (value is not None, value or 0)
