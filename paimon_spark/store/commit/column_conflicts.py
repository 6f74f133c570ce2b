"""Detects commits that have changed the same columns of rows as a change that has not seen them (data evolution).

Java: ConflictDetection.checkForRowIdFromSnapshot, RowIdColumnConflictChecker (release 2.0).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from paimon_spark.errors import CommitConflict
from paimon_spark.format.manifest import ManifestEntry
from paimon_spark.merge.keys.row_ids import end_id, first_id
from paimon_spark.store.commit.attempt import TableState
from paimon_spark.store.commit.row_conflicts import AGAIN, ReadState, changes_of, snapshots_since
from paimon_spark.store.metadata.schemas import columns_written
from paimon_spark.store.metadata.table import Table


@dataclass(frozen=True)
class Columns:
    """Columns of some rows, whose ids are from first to before end. columns: ids of columns, None: all."""

    first: int
    end: int
    columns: frozenset[int] | None

    def meets(self, other: Columns) -> bool:
        """True if both have a column of the same row."""
        if self.first >= other.end or other.first >= self.end:
            return False
        return self.columns is None or other.columns is None or not self.columns.isdisjoint(other.columns)


def check_columns_unchanged(state: TableState, read: ReadState, changed: Sequence[ManifestEntry]) -> None:
    """Checks that no other job has changed the columns of rows that this change gives new values, since it read them.

    Changes of other columns of the same rows go together. Compactions change no row, and are passed over.

    Args:
        state: the state that the commit builds on.
        read: the state that the rows were read in.
        changed: the files that the commit adds.

    Raises:
        CommitConflict: another job has changed them, a rollback has removed the snapshot that was read, or snapshots
            that are needed for the check have expired.
        CorruptFile: a manifest is missing or damaged.
    """
    own = list(_columns_of(state.table, changed))
    check_unchanged(state, read, own, f"this change of rows of {state.table.location}")


def check_unchanged(state: TableState, read: ReadState, own: Sequence[Columns], what: str) -> None:
    """Checks that no other job has changed some columns of some rows since they were read.

    Args:
        state: the state that the commit builds on.
        read: the state that the rows were read in.
        own: the columns and rows.
        what: needs them unchanged, for errors.

    Raises:
        CommitConflict, CorruptFile: as of check_columns_unchanged.
    """
    for snapshot in snapshots_since(state, read) if own else ():
        entries = list(changes_of(state.table, snapshot))
        for other in _columns_of(state.table, entries):
            if any(columns.meets(other) for columns in own):
                raise CommitConflict(
                    f"{what} read snapshot {read.snapshot_id}, and the job of "
                    f"user {snapshot.commit_user} has since changed or removed the same columns of rows with ids from "
                    f"{other.first} to {other.end - 1} (snapshot {snapshot.id}). {AGAIN}"
                )


def _columns_of(table: Table, entries: Iterable[ManifestEntry]) -> Iterator[Columns]:
    for file in (entry.file for entry in entries):
        if file.first_row_id is not None:
            yield Columns(first_id(file), end_id(file), columns_written(table.schema, table.schemas, file))
