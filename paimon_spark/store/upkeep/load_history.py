"""Remembers which files COPY INTO has loaded into a table, also when a load is interrupted.

Java writes the records after the commit. If it stops in between, the next COPY INTO loads the files once more. Here a
pending load is written before the commit; the next COPY INTO that finds it looks for its commit, and writes the records
that are missing.

Loads that run at the same time do not see each other, as in Java: both may load one file.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from paimon_spark.errors import DataError
from paimon_spark.format.load_history import (
    PENDING_PREFIX,
    LoadRecord,
    PendingLoad,
    SourceFile,
    decode_pending,
    decode_record,
    encode_pending,
    encode_record,
    history_directory,
    record_name,
    record_prefix,
)
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.files import find_bytes, list_named
from paimon_spark.store.storage.local_time import now_millis
from paimon_spark.store.storage.parallel import map_parallel

_log = logging.getLogger(__name__)
_DAY_MILLIS = 24 * 3_600_000


class LoadHistory:
    """The load history of one table."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._directory = history_directory(table.location)

    def loaded(self, files: Sequence[SourceFile]) -> frozenset[SourceFile]:
        """Those of the files that have been loaded. The records of interrupted loads are written first.

        Raises:
            CorruptFile: a record of one of the files is damaged, so it is not known.
            DataError: a load of one of the files was interrupted, and it is not known whether its rows are in the
                table.
        """
        self._settle_interrupted(files)
        names = list_named(self._table.file_io, self._directory, "")
        wanted = {record_prefix(file.path): file for file in files}
        mine = [name for name in names if f"{name.rpartition('-')[0]}-" in wanted]
        records = map_parallel(self._record, mine)
        found = {_identity(record.file) for record in records if record is not None}
        return frozenset(file for file in files if _identity(file) in found)

    def begin(self, rows: Mapping[SourceFile, int]) -> PendingLoad:
        """Says that files are about to be loaded; to be called before the commit.

        Args:
            rows: for each file the number of its rows that will be in the table.

        Returns:
            The pending load, whose user_prefix must be the table option `commit.user-prefix` of the write.
        """
        own = self._table.settings.commits.user_prefix
        name = str(uuid.uuid4())
        pending = PendingLoad(
            f"{PENDING_PREFIX}{name}",
            f"{own}-copy-{name}" if own else f"copy-{name}",
            self._table.branch,
            self._table.snapshots.latest_id() or 0,
            now_millis(),
            rows,
        )
        self._table.file_io.write_bytes(self._path(pending.name), encode_pending(pending))
        return pending

    def finish(self, pending: PendingLoad, snapshot_id: int | None) -> None:
        """Records the files of a load as loaded.

        Args:
            snapshot_id: of its commit; None: there was nothing to commit.
        """
        now, latest = now_millis(), snapshot_id or self._table.snapshots.latest_id() or 0
        records = [LoadRecord(file, now, latest, rows) for file, rows in pending.rows.items()]
        map_parallel(self._write, records)
        self._table.file_io.delete(self._path(pending.name))

    def settle(self, pending: PendingLoad) -> None:
        """After a failed write: records its files if the commit has happened all the same, and else forgets the load.

        The outcome of the commit must be known.
        """
        found = self._commit_of(pending)
        if found is None:
            self._table.file_io.delete(self._path(pending.name))
        else:
            self.finish(pending, found)

    # ------------------------------------------------------------------------------------------------ interrupted loads

    def _settle_interrupted(self, files: Iterable[SourceFile]) -> None:
        for pending in self._all_pending():
            found = self._commit_of(pending)
            if found is not None:
                _log.warning("a COPY INTO %s was interrupted after its commit; its records are written", self._where)
                self.finish(pending, found)
            elif not self._has_all_snapshots_since(pending):
                self._refuse_unknown(pending, set(files))
            elif now_millis() - pending.started_millis > _DAY_MILLIS:  # a younger one may still commit
                self._table.file_io.delete(self._path(pending.name))

    def _all_pending(self) -> list[PendingLoad]:
        names = list_named(self._table.file_io, self._directory, PENDING_PREFIX)
        paths = {f"{PENDING_PREFIX}{name}": status.path for name, status in names.items()}
        found = []
        for name, path in paths.items():
            data = find_bytes(self._table.file_io, path)
            if data is not None:  # else its load has finished since the listing
                found.append(decode_pending(data, name, path))
        return found

    def _commit_of(self, pending: PendingLoad) -> int | None:
        """The id of a snapshot that a load has committed; None: none of those that are there."""
        snapshots = self._snapshots(pending)
        ids = [number for number in snapshots.ids() if number > pending.latest_snapshot]
        return next((s.id for s in snapshots.walk(ids) if s.commit_user.startswith(pending.user_prefix)), None)

    def _has_all_snapshots_since(self, pending: PendingLoad) -> bool:
        """True if no snapshot has expired that may have been the commit of a load."""
        earliest = self._snapshots(pending).earliest_id()
        return earliest is None or earliest <= pending.latest_snapshot + 1

    def _snapshots(self, pending: PendingLoad) -> SnapshotStore:
        return SnapshotStore(self._table.file_io, self._table.location, pending.branch)

    def _refuse_unknown(self, pending: PendingLoad, files: set[SourceFile]) -> None:
        both = sorted(file.name for file in files & set(pending.rows))
        if both:
            raise DataError(
                f"loading into {self._where}: an earlier COPY INTO of {', '.join(both[:5])} was interrupted, and the "
                "snapshots that tell whether its rows were committed have expired; look whether the rows are in the "
                f"table, then delete {self._path(pending.name)} and load the files with FORCE = TRUE if they are not"
            )

    # ----------------------------------------------------------------------------------------------------------- files

    @property
    def _where(self) -> str:
        return f"the table at {self._table.location}"

    def _path(self, name: str) -> str:
        return f"{self._directory}/{name}"

    def _record(self, name: str) -> LoadRecord | None:
        data = find_bytes(self._table.file_io, self._path(name))
        return None if data is None else decode_record(data, self._path(name))

    def _write(self, record: LoadRecord) -> None:
        self._table.file_io.overwrite(self._path(record_name(record)), encode_record(record))


def _identity(file: SourceFile) -> SourceFile:
    """What two files must have alike to be the same. Of an empty one, nothing is lost whenever it was modified."""
    return file if file.size else replace(file, modified_millis=0)
