"""One batch as its writer names it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from paimon_spark.errors import OptionError
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.write_rules import AS_OPTIONS_SAY, CompactionRules

_MOST_NAME_BYTES = 200
"""A file name may have 255 on most systems; the file of a note is written under a longer name first."""


POSITION = "paimon-spark.stream-position"
"""The property of a snapshot that names the position behind its rows."""


class UnknownBatch(StrEnum):
    """What becomes of a batch of which nobody can tell whether it is in the table."""

    FAIL = "fail"
    SKIP = "skip"
    WRITE = "write"


@dataclass(frozen=True)
class Batch:
    """A batch of a stream, or a version of another application; picklable.

    Attributes:
        user: the commit user, the same in all tries and in all batches of the writer.
        number: of the batch; the commit identifier.
        operation: APPEND, OVERWRITE, DELETE, UPDATE or MERGE.
        rows: how many rows it has; None: not counted.
        cut_millis: when Spark cut it, as the checkpoint says, in epoch milliseconds; None: not known.
        unknown: what to do when nobody can tell whether it is in the table.
        skips_older: whether a number below that of the last batch is skipped; else it is an error.
        named: whether the application chose its name and numbers itself (``once=``); else Spark did.
        start, position: where the source of the rows stands before the batch and behind it, as texts of JSON; None: the
            table does not keep them.
    """

    user: str
    number: int
    operation: str = "APPEND"
    rows: int | None = None
    cut_millis: int | None = None
    unknown: UnknownBatch = UnknownBatch.FAIL
    skips_older: bool = False
    named: bool = False
    start: str | None = None
    position: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.number < BATCH_COMMIT_IDENTIFIER:
            raise OptionError(f"{self.number} is no number of a batch or version: it must be 0 or greater, in 63 bits")
        size = len(self.user.encode())
        if size > _MOST_NAME_BYTES:
            raise OptionError(
                f"the name {self.user!r:.80} of a stream or application has {size} bytes; it may have "
                f"{_MOST_NAME_BYTES}, because a file beside the table is named after it"
            )

    @property
    def properties(self) -> dict[str, str] | None:
        """What its snapshot tells of it: two batches of one number are not taken for each other."""
        return None if self.position is None else {POSITION: self.position}

    def words(self, table: Table) -> str:
        """For messages."""
        kind = "version {} of the application {}" if self.named else "batch {} of the stream {}"
        return f"{kind.format(self.number, self.user)} into {table.location}"


def stream_user(table: Table, name: str) -> str:
    """The commit user of a stream or application: its name, with the prefix in the options of the table."""
    prefix = table.settings.commits.user_prefix
    return f"{prefix}_spark-{name}" if prefix else f"spark-{name}"


def batch_rules(table: Table, batch: Batch, budget: int | None = None) -> CompactionRules:
    """With `full-compaction.delta-commits` = n a full compaction follows each n-th batch of a stream, as in Java.

    Writes that an application names itself are batch jobs: each is.

    Args:
        budget: how many bytes a compaction may read that is not full; None: no bound.
    """
    if batch.named:
        return AS_OPTIONS_SAY
    every = table.settings.compaction.full_delta_commits or 0
    return CompactionRules(full=every > 0 and (batch.number + 1) % every == 0, budget=budget)
