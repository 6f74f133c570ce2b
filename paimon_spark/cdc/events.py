"""What one message says: the changes of rows of one table, something that changes no row, or nothing readable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from paimon_spark.cdc.encodings import Columns
from paimon_spark.errors import DataError
from paimon_spark.format.row_kind import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE

Image = dict[str, Any]
"""A row before or after a change: JSON values by the name of their column."""


class Event(NamedTuple):
    """The changes of rows in one message.

    Attributes:
        database: of the source; None if the message does not say.
        table: of the source; None if the message does not say.
        rows: the kind of each change and the row, in order.
        columns: the types that the message tells; None if it tells none.
        keys: the columns of the primary key that the message tells.
        op_millis: when the source made the change, in milliseconds since the epoch; 0: it is of a first load.
        schema: of the source, where it has schemas inside databases.
    """

    database: str | None
    table: str | None
    rows: tuple[tuple[int, Image], ...]
    columns: Columns | None = None
    keys: tuple[str, ...] = ()
    op_millis: int | None = None
    schema: str | None = None


class Ignored(NamedTuple):
    """A message that changes no row.

    Attributes:
        kind: what it is: ``tombstone``, ``heartbeat``, ``transaction``, ``schema-change``, ``bootstrap``, ``message``,
            ``control`` or ``truncate``.
        detail: what the message says of it.
    """

    kind: str
    detail: str = ""


@dataclass(frozen=True)
class Reading:
    """How the messages of a stream are read.

    Attributes:
        keys: the columns of the primary key, if they are known; else those that a message tells count.
        case_sensitive: False: names of columns are taken in lower case.
    """

    keys: tuple[str, ...] = ()
    case_sensitive: bool = True


class Reader(Protocol):
    """Reads the messages of one format."""

    def read(self, text: str, key: str | None) -> Event | Ignored:
        """What a message says.

        Args:
            text: the value of the message.
            key: the key of the message.

        Raises:
            MalformedMessage: the message is not what the format says.
        """


def folded(image: Image, reading: Reading) -> Image:
    """The row with the names of its columns as the reading takes them.

    Raises:
        MalformedMessage: two columns have one name then.
    """
    if reading.case_sensitive:
        return image
    lower = {name.lower(): value for name, value in image.items()}
    if len(lower) != len(image):
        raise MalformedMessage(f"names of columns differ in letter case only: {', '.join(image)}")
    return lower


def folded_names(names: tuple[str, ...], reading: Reading) -> tuple[str, ...]:
    return names if reading.case_sensitive else tuple(name.lower() for name in names)


def update_rows(before: Image | None, after: Image, keys: tuple[str, ...]) -> tuple[tuple[int, Image], ...]:
    """The changes that an update is: -U and +U; where the key changes or is not known, -D and +I (Java: always).

    Args:
        before: the row before the update; None: the message has none, and the update is +U alone.
    """
    if before is None:
        return ((UPDATE_AFTER, after),)
    if keys and all(before.get(name) == after.get(name) for name in keys):
        return ((UPDATE_BEFORE, before), (UPDATE_AFTER, after))
    return ((DELETE, before), (INSERT, after))


def member(values: Mapping[str, Any], name: str, kind: type, where: str = "") -> Any:
    """A member of a JSON object that must be there and of a kind.

    Raises:
        MalformedMessage: it is not.
    """
    value = values.get(name)
    if not isinstance(value, kind):
        found = "is missing" if value is None else f"is {value!r:.80}"
        raise MalformedMessage(f"'{name}' {found}{where}, expected {_KINDS[kind]}")
    return value


def optional_member(values: Mapping[str, Any], name: str, kind: type) -> Any:
    """A member of a JSON object that may be missing or null, and else is of a kind.

    Raises:
        MalformedMessage: it is of another kind.
    """
    return None if values.get(name) is None else member(values, name, kind)


def names_of(value: Any, member_name: str) -> tuple[str, ...]:
    """A list of names of columns; None and an empty list are ().

    Raises:
        MalformedMessage: it is something else.
    """
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise MalformedMessage(f"'{member_name}' is {value!r:.80}, expected a list of names of columns")
    return tuple(value)


_KINDS = {dict: "an object", list: "a list", str: "a text", int: "a whole number"}


class MalformedMessage(DataError):
    """A message is not what its format says: mend its producer, or give the option that keeps such messages apart."""
