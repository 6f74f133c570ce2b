"""One write job, whichever road its rows take: opened on the driver (open_write), written in tasks (task_rows),
committed once (commit_write).

A job is frozen and picklable; its commit user is drawn when it is opened, so that a commit tried twice is made once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from paimon_spark.arrow.alignment import StoreRules
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.errors import AccessDenied, ResourcesExhausted, StorageError
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER
from paimon_spark.format.types import MAX_LENGTH, STRINGS, DataField, DataType, Root
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result
from paimon_spark.store.upkeep.write_rules import Committed
from paimon_spark.store.write.write_plan import WritePlan

if TYPE_CHECKING:
    from paimon_spark.store.commit.table_commit import Replaced
    from paimon_spark.store.compact.outcomes import CompactResult
    from paimon_spark.store.stream_sink.batch import Batch


@dataclass(frozen=True)
class Evolution:
    """The schema of a job's table is a new one, to be published with the rows.

    Attributes:
        before: the schema that the job found.
        empties: no row that is there has the new columns: they go first.
    """

    before: TableSchema
    empties: bool = False


class Texts(StrEnum):
    """What becomes of the texts of rows in columns of CHAR(n) and VARCHAR(n)."""

    PADDED = "padded"
    """Their lengths are checked, and those for CHAR are padded, as Spark stores them."""
    KEPT = "kept"
    """Their lengths are checked: rows of the table come back as they are stored, and new texts are padded."""
    FREE = "free"
    """They are stored as they are: the session takes CHAR and VARCHAR for STRING."""


@dataclass(frozen=True)
class WriteJob:
    """What the tasks and the commit need to know.

    Attributes:
        table: with the options of this write.
        commit_user: names the job in snapshots.
        plan: what was there when the user was drawn.
        overwrites: whether rows are replaced in the same snapshot.
        replaced: which, as for TableCommit.overwrite.
        row_kind_column: the column of the rows that holds their kind and is not stored.
        omissible: the columns of the table that the rows may lack.
        completes: fields of structs that the rows lack are NULL, and texts are cast to their columns.
        evolution: the schema of the table is not published yet; None: it is.
        batch: the name and number under which it happens once, its user is commit_user; None: it has none.
        watermark: of its snapshot, in epoch milliseconds; None: that of the one before.
        texts: what becomes of texts whose length the columns limit.
    """

    table: Table
    commit_user: str
    plan: WritePlan
    overwrites: bool = False
    replaced: Replaced = None
    row_kind_column: str | None = None
    omissible: frozenset[str] = frozenset()
    completes: bool = False
    evolution: Evolution | None = None
    batch: Batch | None = None
    watermark: int | None = None
    texts: Texts = Texts.PADDED

    def row_fields(self, fields: Sequence[DataField] | None = None) -> tuple[DataField, ...]:
        """Columns of the table with the types that rows are brought to.

        Args:
            fields: some of the columns; None: all.
        """
        chosen = self.table.schema.fields if fields is None else fields
        return texts_as_they_are(chosen) if self.texts is Texts.FREE else tuple(chosen)

    def store_rules(self, zone: TimeZone | None = None) -> StoreRules:
        """How values are brought to the types of row_fields.

        Args:
            zone: of the session; None: it is not known.
        """
        return StoreRules(zone, pads=self.texts is Texts.PADDED)

    @property
    def identifier(self) -> int:
        """The commit identifier."""
        return BATCH_COMMIT_IDENTIFIER if self.batch is None else self.batch.number


@dataclass(frozen=True, repr=False)
class WriteResult(Result):
    """What a write did.

    Attributes:
        rows: rows in the new files, deletions among them; equal keys of a task are one row.
        files: new data files.
        bytes: their size.
        millis: wall time, from the call to the commit.
        snapshot_id: the snapshot it made; None when there was nothing to commit.
        compaction: of the buckets it wrote to; None when the table is not compacted by its writers.
        repeated: True: the table had these rows already, by an earlier write of the same name and number; nothing was
            done.
    """

    rows: int
    files: int
    bytes: int
    millis: int
    snapshot_id: int | None
    compaction: CompactResult | None = None
    repeated: bool = False

    @staticmethod
    def of(done: Committed, began: float, repeated: bool) -> WriteResult:
        """What became of a write.

        Args:
            done: how it ended.
            began: when the call came, as ``time.monotonic`` tells it.
            repeated: whether it had happened before, under the same name and number.
        """
        millis, made = round((time.monotonic() - began) * 1000), done.result
        if made is None:
            return WriteResult(0, 0, 0, millis, done.snapshot_id, done.compaction, repeated)
        return WriteResult(made.rows, made.files, made.bytes, millis, made.snapshot_id, done.compaction, made.found)


def texts_as_they_are(fields: Sequence[DataField]) -> tuple[DataField, ...]:
    """Columns in which STRING stands for CHAR and VARCHAR at any depth, so that no text is padded or too long."""
    return tuple(replace(field, type=_unlimited(field.type)) for field in fields)


def _unlimited(data_type: DataType) -> DataType:
    if data_type.root in STRINGS:
        return DataType(Root.VARCHAR, data_type.nullable, length=MAX_LENGTH)
    return replace(
        data_type,
        element=None if data_type.element is None else _unlimited(data_type.element),
        key=None if data_type.key is None else _unlimited(data_type.key),
        fields=texts_as_they_are(data_type.fields),
    )


@contextmanager
def nothing_committed() -> Iterator[None]:
    """For the work of a job up to its commit, which fails for certain or with CommitStateUnknown."""
    try:
        yield
    except StorageError as error:
        if _NOT_COMMITTED in str(error):  # a part of the job, such as a task, has said it
            raise
        kind = AccessDenied if isinstance(error, AccessDenied) else StorageError
        named = kind(f"{error}. {_NOT_COMMITTED}: remove the cause and run the job again", of_store=error.of_store)
        named.errno = error.errno
        raise named from error
    except MemoryError as error:
        sentence = str(ResourcesExhausted.of("writing rows", error))
        end = "" if _NOT_COMMITTED in sentence else f". {_NOT_COMMITTED}"
        raise ResourcesExhausted(f"{sentence}{end}") from error


_NOT_COMMITTED = "Nothing was committed"
