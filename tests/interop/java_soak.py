"""The genuine Java as a process of a soak (``tests/support/soak``): ``java_soak.py NAME FOLDER``.

It writes the rows of its share of the keys, compacts, and reads old states. ``java_soak.py check FOLDER`` reads all
tables instead and compares them with what is expected, while no other process works.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

from genuine import Genuine
from genuine_jars import java_jar
from java_table import S3_JAR
from support.soak.expected import Expectations, Shown
from support.soak.journal import Step
from support.soak.place import Place
from support.soak.process import Process, message_of, run_process
from support.soak.statements import Call
from support.soak.tables import LEAST_SNAPSHOTS, NAMES, OWNER, Kind, written_tables
from support.soak.writer import READ, Writer

RELEASE = "2.0.0"
_ALWAYS = 2**62
_KEEPS = {"snapshot.num-retained.min": "1000000"}
"""Java expires nothing: it does not know our holds, so that a tag of ours could lose files (protocol, "The files")."""
_STYLE = {"s3.path.style.access": "true", "s3.endpoint.region": "us-east-1"}


def genuine(place: Place) -> Genuine:
    """Java in this process."""
    return Genuine(RELEASE, [str(java_jar(S3_JAR))] if place.options else [])


def java_options(place: Place) -> dict[str, str]:
    """The options of the storage, as Java takes them."""
    return {**place.options, **_STYLE} if place.options else {}


def shown_to_java(place: Place, java: Genuine, table: str, snapshot: int) -> Shown:
    """What Java reads at a snapshot."""
    ids = [field.id for field in place.open(table, snapshot).schema.fields]
    read = java.read(place.location(table), options={**java_options(place), "scan.snapshot-id": str(snapshot)})
    rows = [{i: value for i, value in zip(ids, row, strict=True) if value is not None} for _, row in read]
    return Shown(snapshot, ids, rows)


class JavaWriter(Writer):
    """Writes rows with Java; what it has not heard of is decided by a read behind a fence."""

    def __init__(self, place: Place, owner: int) -> None:
        super().__init__(place, owner)
        self.java = genuine(place)
        self.expectations = Expectations(place)

    def step(self) -> None:
        chance = self.random().random()
        if chance < 0.15:
            self._compact(self.random())
        elif chance < 0.35:
            self._read(self.random())
        else:
            super().step()

    def _mode(self, kind: Kind, call: Call, random: Random) -> str:
        return READ

    def attempt(self, step: Step, opened: Any, decided: str = "") -> None:
        call = dict(step.call)
        ids = [field.id for field in opened.schema.fields]
        if call["statement"] == "upsert":
            rows = [dict(pairs) for pairs in call["rows"]]
        else:
            rows = [{0: key, OWNER: call["owner"]} for key in call["keys"]]
        kinds = ["+I" if call["statement"] == "upsert" else "-D"] * len(rows)
        values = [tuple(row.get(i) for i in ids) for row in rows]
        options = {**java_options(self.place), **_KEEPS, "write-only": "true"}
        try:
            self.java.write(self.place.location(step.table), values, kinds, options)
        except (RuntimeError, ValueError) as error:  # another number of columns is one of values
            self.journal.unknown(step, message_of(error))
        else:
            self.journal.done(step, by=self.latest(step.table), decided=decided and "it is done")

    def _compact(self, random: Random) -> None:
        kind = random.choice(self.tables)
        step = self.journal.begin(kind.name, "compaction")
        try:
            options = {**java_options(self.place), **_KEEPS}
            self.java.compact(self.place.location(kind.name), random.random() < 0.5, options)
        except RuntimeError as error:
            self.journal.nothing(step, message_of(error))
        else:
            self.journal.done(step)

    def _read(self, random: Random) -> None:
        """Reads a snapshot of any table, and compares."""
        kind = random.choice(written_tables(self.place))
        ids = snapshots(self.place, kind.name)
        if not ids:
            return
        chosen = ids[-1] if random.random() < 0.5 else random.choice(ids)
        step = self.journal.begin(kind.name, "read of a snapshot")
        try:
            shown = shown_to_java(self.place, self.java, kind.name, chosen)
        except Exception as error:
            if chosen in snapshots(self.place, kind.name)[-LEAST_SNAPSHOTS:]:
                raise
            self.journal.nothing(step, message_of(error))
            return
        self.expectations.compare(kind, shown)
        self.journal.done(step)


class JavaCheck(Process):
    """Reads the newest state of all tables."""

    def run(self) -> None:
        java, expectations = genuine(self.place), Expectations(self.place)
        for kind in written_tables(self.place):
            for name in (kind.name, *([kind.copy] if kind.copied else [])):
                ids = snapshots(self.place, name)
                if not ids:
                    continue
                shown = shown_to_java(self.place, java, name, ids[-1])
                if name == kind.copy:
                    shown = Shown(_ALWAYS, range(len(NAMES)), shown.rows)
                expectations.compare(kind, shown, exact=True)


def snapshots(place: Place, table: str) -> list[int]:
    """The ids of the snapshots that there are."""
    found: list[int] = place.open(table).system_table("snapshots", "snapshot_id").to_arrow()["snapshot_id"].to_pylist()
    return found


def main(name: str, folder: str) -> int:
    place = Place.load(Path(folder))
    process = JavaCheck(place, "java-check") if name == "check" else JavaWriter(place, place.java or 0)
    return run_process(process)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
