"""Positions of a stream, and their form in the checkpoint of a query.

A position names what is read next. So two positions are equal if and only if there is nothing between them, and the
snapshot of a position is what a consumer of the table must hold. The names are those of Java's source offset
(PaimonSourceOffset); the number of a unit means another thing there, the last split that was read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from paimon_spark.errors import OptionError
from paimon_spark.format.snapshot import Snapshot

VERSION = 1
_HASH_DIGITS = 12


@dataclass(frozen=True)
class Origin:
    """Where a stream began: a snapshot, and whether its whole state was read or only what it changed.

    Attributes:
        other: of a chain table, the snapshot of the branch of whole partitions, 0 if it had none; None otherwise.
    """

    snapshot: int
    full: bool
    other: int | None = None


@dataclass(frozen=True)
class Position:
    """What a stream reads next.

    Attributes:
        snapshot: the id of the snapshot, which may not exist yet.
        index: the number of the next unit of that snapshot.
        full: whether the units are those of the whole state of the snapshot, or of what it changed.
        plan: inside a snapshot: how many units there are and which, because a number means nothing without them.
        after: the identity of the snapshot before, which tells a table that was rolled back or made anew.
        origin: where the stream began. Spark does not record that, and asks again when it runs its first batch again.
    """

    snapshot: int
    index: int = 0
    full: bool = False
    plan: str | None = None
    after: str | None = None
    origin: Origin | None = None

    @property
    def place(self) -> tuple[int, bool, int]:
        """Grows as a stream goes on."""
        return self.snapshot, not self.full, self.index

    @property
    def phase(self) -> tuple[int, bool]:
        """What the units of a position are units of."""
        return self.snapshot, self.full

    def begun(self, other: int | None = None) -> Position:
        """This position as the first one of a stream; other is that of Origin."""
        return replace(self, origin=Origin(self.snapshot, self.full, other))

    def to_json(self) -> dict[str, Any]:
        """The values that ``parse_position`` reads; flat or one level deep, of numbers, words and truth values."""
        made: dict[str, Any] = {
            "v": VERSION,
            "snapshotId": self.snapshot,
            "index": self.index,
            "scanSnapshot": self.full,
        }
        if self.plan is not None:
            made["plan"] = self.plan
        if self.after is not None:
            made["after"] = self.after
        if self.origin is not None:
            made["origin"] = {"snapshotId": self.origin.snapshot, "scanSnapshot": self.origin.full}
            if self.origin.other is not None:
                made["origin"]["otherSnapshotId"] = self.origin.other
        return made


def parse_position(values: Mapping[str, Any]) -> Position:
    """The position of a checkpoint.

    Raises:
        OptionError: the checkpoint is of the official connector, of a newer release, or of another source.
    """
    if "v" not in values and {"snapshotId", "index", "scanSnapshot"} <= values.keys():
        raise OptionError(
            "the checkpoint was written by the official connector, which numbers splits where this one numbers what is "
            f"read next: start with a new checkpoint and 'scan.mode' = 'from-snapshot', 'scan.snapshot-id' = "
            f"'{values['snapshotId'] + 1}', if the old query had finished snapshot {values['snapshotId']}"
        )
    if values.get("v") != VERSION:
        raise OptionError(
            f"the checkpoint holds the offset {dict(values)}, which this release cannot read: use the release that "
            "wrote it, or start with a new checkpoint"
        )
    origin = values.get("origin")
    return Position(
        int(values["snapshotId"]),
        int(values["index"]),
        bool(values["scanSnapshot"]),
        values.get("plan"),
        values.get("after"),
        None if origin is None else _parse_origin(origin),
    )


def _parse_origin(values: Mapping[str, Any]) -> Origin:
    other = values.get("otherSnapshotId")
    return Origin(int(values["snapshotId"]), bool(values["scanSnapshot"]), None if other is None else int(other))


def identity(snapshot: Snapshot) -> str:
    """What tells a snapshot from another one that got its number after a rollback: the name of its base is unique."""
    return hashlib.sha1(snapshot.base_manifest_list.encode(), usedforsecurity=False).hexdigest()[:_HASH_DIGITS]
