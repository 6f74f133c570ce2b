"""What must hold while no process works: every table is what the journals say, whole, and nothing is left over."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from paimon_spark import check
from paimon_spark.file_io import file_io_for
from support.soak.copier import Copier
from support.soak.expected import Different, Expectations, Shown
from support.soak.journal import JournalReader, open_steps
from support.soak.place import Place
from support.soak.tables import LEAST_SNAPSHOTS, NAMES, Kind, written_tables
from support.soak.totals import Kill
from support.soak.writer import shown_at

_SLACK = 3.0
"""Seconds after a kill within which a request that was on its way may still make a file."""
_OLD_STATES = 6
_ALWAYS = 2**62


class RestCheck:
    """Compares all tables with what is expected; no other process works meanwhile."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.orphans = 0

    def run(self, kills: Sequence[Kill]) -> None:
        """Looks at everything.

        Raises:
            Different: something is not as it must be.
        """
        expectations = Expectations(self.place)
        self._check_all_is_decided()
        for kind in written_tables(self.place):
            if kind.is_late:
                self.place.open(kind.name).compact(full=True)
            self._compare(kind, expectations)
            self._check(kind.name, kills)
            if kind.copied:
                self._compare_copy(kind, expectations)
                self._check(kind.copy, kills)

    def _check_all_is_decided(self) -> None:
        for owner in range(self.place.owners):
            steps = JournalReader(self.place.journal(f"writer{owner}")).read()
            left = [step for step in open_steps(steps) if step.mode]
            if left:
                raise Different(f"writer{owner} has not decided {left}")

    def _compare(self, kind: Kind, expectations: Expectations) -> None:
        table = self.place.open(kind.name)
        latest = table.snapshots.latest()
        if latest is None:
            expectations.compare(kind, Shown(None, range(len(NAMES)), []))
            return
        expectations.compare(kind, shown_at(self.place, kind.name, latest.id), exact=True)
        ids = self._whole(kind.name, table)
        for old in ids[:-1][:: max(1, len(ids) // _OLD_STATES)]:
            expectations.compare(kind, shown_at(self.place, kind.name, old))
        for row in table.system_table("tags", ["tag_name", "snapshot_id"]).to_arrow().to_pylist():
            shown = shown_at(self.place, kind.name, row["tag_name"])
            expectations.compare(kind, Shown(row["snapshot_id"], shown.columns, shown.rows))

    def _whole(self, name: str, table: Any) -> list[int]:
        """The snapshots without those that an expiry that was killed has begun to delete: their files may be gone.

        Raises:
            Different: one of those that no expiry takes is among these.
        """
        there, whole = table.snapshots.ids(), table.snapshots.whole_ids()
        if not {*there[-LEAST_SNAPSHOTS:]} <= {*whole}:
            raise Different(f"{name}: of the snapshots {there} only {whole} are whole")
        return list(whole)

    def _compare_copy(self, kind: Kind, expectations: Expectations) -> None:
        self.place.open(kind.name).compact(full=True)  # changes of a lookup come with compactions
        Copier(self.place, "copier").copy(kind.name, kind.copy)
        latest = self.place.open(kind.copy).snapshots.latest()
        rows = [] if latest is None else shown_at(self.place, kind.copy, latest.id).rows
        try:
            expectations.compare(kind, Shown(_ALWAYS, range(len(NAMES)), rows), exact=True)
        except Different as error:
            raise Different(f"{kind.copy}: {error}") from None

    def _check(self, table: str, kills: Sequence[Kill]) -> None:
        report: Any = check(self.place.location(table), dict(self.place.options))
        if not report.is_good:
            raise Different(f"check of {table}: {report}")
        past = datetime.now(UTC) - timedelta(milliseconds=1)  # the finest step that a removal knows
        found = self.place.open(table).remove_orphan_files(older_than=past, dry_run=True).paths
        self._check_orphans(table, found, kills)
        if found:
            self.place.open(table).remove_orphan_files(older_than=past, dry_run=False)
            self.orphans += len(found)

    def _check_orphans(self, table: str, paths: Sequence[str], kills: Iterable[Kill]) -> None:
        """Checks that each orphan was made by an operation that was cut off."""
        if not paths:
            return
        spans = self._cut_off(table, kills)
        file_io = file_io_for(self.place.location(table), dict(self.place.options))
        times: dict[str, float] = {}
        for folder in {path.rpartition("/")[0] for path in paths}:
            times |= {status.path: status.modified_millis / 1000 for status in file_io.list(folder)}
        strange = [p for p in paths if not any(low <= times.get(p, 0) <= high for low, high in spans)]
        if strange:
            named = [(path, times.get(path)) for path in strange[:10]]
            raise Different(
                f"{table}: {len(strange)} of {len(paths)} orphans are of no operation that was cut off: {named}"
            )

    def _cut_off(self, table: str, kills: Iterable[Kill]) -> list[tuple[float, float]]:
        """When operations on a table worked that leave files: they were killed, or nobody knows how they ended.

        Java leaves its manifests where it loses a race, and its data files where others have replaced what it compacts.
        """
        spans: list[tuple[float, float]] = []
        readers = {path.stem: JournalReader(path).read() for path in self.place.journal("x").parent.glob("*.jsonl")}
        for kill in kills:
            began = [step for step in readers.get(kill.process, []) if step.began <= kill.at][-1:]
            spans += [(int(step.began), kill.at + _SLACK) for step in began if step.table == table]
        for process, steps in readers.items():
            is_java = process == f"writer{self.place.java}"
            left = (s for s in steps if s.table == table and (is_java or "CommitStateUnknown" in s.why))
            spans += [(int(step.began), (step.ended or time.time()) + _SLACK) for step in left]
        return spans
