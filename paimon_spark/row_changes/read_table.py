"""The table whose rows change, at the snapshot that a statement reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from paimon_spark.arrow.predicates.predicate import TRUE, Predicate
from paimon_spark.errors import CommitConflict, UnsupportedFeature
from paimon_spark.format.bucket import Place
from paimon_spark.format.manifest import ManifestEntry
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataField
from paimon_spark.sql.queries.query import fold
from paimon_spark.store.commit.commit_user import CommitName
from paimon_spark.store.compact.task import AppendTask
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import Split
from paimon_spark.store.rows.live_files import LiveFile, append_tasks
from paimon_spark.store.scan.new_scan import own_scan
from paimon_spark.store.scan.other_branches import listed_partitions
from paimon_spark.store.scan.split_plan import skips_level_zero
from paimon_spark.store.stream_sink.batch import Batch
from paimon_spark.writes.write_job import Evolution

if TYPE_CHECKING:
    from paimon_spark.store.open import ReadableTable
    from paimon_spark.store.scan.chain_scan import ChainBranches

_TasksOf: TypeAlias = Callable[[Table, Snapshot, Mapping[str, LiveFile]], dict[str, AppendTask]]
_WORD = re.compile(r"\w+")
PREFIX = "_paimon_"
"""Names of columns that statements make for themselves begin with it."""


@dataclass(frozen=True)
class ReadTable:
    """The table of a statement, at the snapshot that it reads.

    Attributes:
        table: the table in its newest schema.
        snapshot: what is read; None: the table has no snapshot, and so no rows.
        batch: the name and number under which the statement is done once; None: it has none.
        name_commit: notes that a commit by metadata alone is made right now, and tells its name; None: it has none.
        evolution: the schema of the table is a new one, which is published with the rows; None: it is there.
        chain: of a chain table that is opened on neither of its branches, these; None: it is none.
    """

    table: ReadableTable
    snapshot: Snapshot | None
    batch: Batch | None = None
    name_commit: Callable[[], CommitName | None] = lambda: None
    evolution: Evolution | None = None
    chain: ChainBranches | None = None

    def check_own(self, predicate: Predicate) -> None:
        """Checks that all rows which may satisfy a predicate are those of the table itself.

        Rows of a chain table that are made of its branches cannot be changed in place. Java writes the changed ones to
        the table, whose partition then hides all others of the same values.

        Raises:
            UnsupportedFeature: some partitions of a chain table come from its branches.
        """
        if self.chain is None:
            return
        branches = (self.chain.whole, self.chain.table)
        shown = {row for one in branches for row in listed_partitions(one, one.snapshots.latest(), predicate)}
        others = sorted(shown - listed_partitions(self.table, self.snapshot, predicate))
        if others:
            raise UnsupportedFeature(
                f"changing rows of the chain table {self.table.location}: {describe_partition(self.table, others[0])} "
                f"{'and others are' if others[1:] else 'is'} made of the branches '{branches[0].branch}' and "
                f"'{branches[1].branch}', and a changed row in the table itself would hide the other rows there; "
                f"change the rows of a branch, with the option 'branch', or name partitions that the table has"
            )

    def splits(self, predicate: Predicate = TRUE) -> list[Split]:
        """The splits that hold all rows that may satisfy a predicate.

        Raises:
            CorruptFile: metadata is missing or damaged.
            UnsupportedFeature: postponed rows would have to be merged, or as of ``check_own``.
        """
        self.check_own(predicate)
        if self.snapshot is None:
            return []
        table = self.table.finding_all_rows
        units = own_scan(table, table.schema.fields, predicate).plan_at(self.snapshot).splits
        found = [unit for unit in units if isinstance(unit, Split)]
        if len(found) < len(units):
            raise UnsupportedFeature(
                f"changing rows of {self.table.location}: 'postpone.merge-on-read' merges rows that have no bucket "
                "yet; compact the table and leave the option out"
            )
        return found

    def tasks(self, files: Mapping[str, LiveFile], tasks_of: _TasksOf = append_tasks) -> dict[str, AppendTask]:
        """The tasks that rewrite files of an append table, by the names of the files.

        Args:
            files: in which rows change.
            tasks_of: append_tasks, or column_tasks for files with some of the columns.

        Raises:
            CommitConflict: a file is no longer live.
        """
        if not files or self.snapshot is None:
            return {}
        found = tasks_of(self.table, self.snapshot, files)
        missing = files.keys() - found.keys()
        if missing:
            raise CommitConflict(f"changing rows of {self.table.location}: {min(missing)} is no longer live")
        return found

    def check_all_read(self, live: Mapping[Place, Sequence[ManifestEntry]]) -> None:
        """Checks that no row which no reader sees yet would be removed with its file.

        Args:
            live: the live files of each bucket that a DELETE replaces.

        Raises:
            CommitConflict: such rows wait for a compaction.
        """
        if not skips_level_zero(self.table.settings):
            return
        waiting = sum(entry.file.level == 0 for entries in live.values() for entry in entries)
        if waiting:
            raise CommitConflict(
                f"DELETE of {self.table.location}: {waiting} files of its buckets wait on level 0 for a compaction, "
                "and their rows are not visible yet; compact the table, then run the statement again"
            )


def check_names(what: str, names: Iterable[str]) -> None:
    """Checks that no column has a name that a column of the job may have: rows would be found by the wrong values.

    Args:
        what: whose columns they are, for the message.

    Raises:
        UnsupportedFeature: a name begins with the prefix.
    """
    taken = [name for name in names if name.lower().startswith(PREFIX)]
    if taken:
        raise UnsupportedFeature(
            f"{what} has the column '{taken[0]}': names that begin with '{PREFIX}' are those of columns that DELETE, "
            "UPDATE and MERGE make for themselves; rename the column"
        )


def named_fields(fields: Sequence[DataField], expressions: Sequence[object]) -> list[DataField]:
    """The columns that expressions may name: those whose name is a word in one of them, or no word at all.

    Args:
        fields: the columns.
        expressions: SQL text; None: none. Anything else tells no words, so it may name all.
    """
    if any(not isinstance(item, str) for item in expressions if item is not None):
        return list(fields)
    words = {fold(word) for item in expressions if isinstance(item, str) for word in _WORD.findall(item)}
    return [f for f in fields if not _WORD.fullmatch(f.name) or fold(f.name) in words]
