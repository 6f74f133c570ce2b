"""A process that reads the tables as they were at old snapshots and tags, and compares."""

from __future__ import annotations

from random import Random

from paimon_spark.errors import MissingFile, SnapshotNotFound
from support.soak.expected import Expectations, Shown
from support.soak.place import Place
from support.soak.process import Process, message_of
from support.soak.tables import LEAST_SNAPSHOTS, Kind, written_tables
from support.soak.writer import shown_at


class Reader(Process):
    """Reads states, old and new, whole or in part."""

    def __init__(self, place: Place, name: str) -> None:
        super().__init__(place, name)
        self.expectations = Expectations(place)

    def step(self) -> None:
        random = self.random()
        kind = random.choice(written_tables(self.place))
        version, snapshot = self._state(kind, random)
        if snapshot is None:
            return
        owners = [random.randrange(self.place.owners)] if random.random() < 0.4 else None
        what = "a tag" if isinstance(version, str) else "a snapshot"
        step = self.journal.begin(kind.name, f"read of {what}")
        try:
            shown = shown_at(self.place, kind.name, version, None if owners is None else f"o = {owners[0]}")
        except (SnapshotNotFound, MissingFile) as error:
            if self._is_there(kind, version, snapshot):
                raise
            self.journal.nothing(step, message_of(error))
            return
        if isinstance(version, str) and not self._is_there(kind, version, snapshot):
            self.journal.nothing(step, "the tag is gone, or another one of its name")
            return
        self.expectations.compare(kind, Shown(snapshot, shown.columns, shown.rows), owners=owners)
        self.journal.done(step)

    def _state(self, kind: Kind, random: Random) -> tuple[int | str, int | None]:
        """A state to be read, and the snapshot that it is."""
        table = self.place.open(kind.name)
        tags = self._tags(kind)
        if tags and random.random() < 0.3:
            name = random.choice(sorted(tags))
            return name, tags[name]
        ids = table.system_table("snapshots", "snapshot_id").to_arrow()["snapshot_id"].to_pylist()
        if not ids:
            return 0, None
        chosen = int(ids[-1] if random.random() < 0.4 else random.choice(ids))
        return chosen, chosen

    def _tags(self, kind: Kind) -> dict[str, int]:
        found = self.place.open(kind.name).system_table("tags", ["tag_name", "snapshot_id"]).to_arrow().to_pylist()
        return {row["tag_name"]: int(row["snapshot_id"]) for row in found}

    def _is_there(self, kind: Kind, version: int | str, snapshot: int) -> bool:
        """True if a state is kept still, so that it must be readable."""
        if isinstance(version, str):
            return self._tags(kind).get(version) == snapshot
        ids = self.place.open(kind.name).system_table("snapshots", "snapshot_id").to_arrow()["snapshot_id"].to_pylist()
        return version in ids[-LEAST_SNAPSHOTS:]  # of older ones an expiry may have deleted a part
