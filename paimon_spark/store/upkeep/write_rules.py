"""What the compaction after a write may do, of which a stream says other things than a batch job; how a write ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paimon_spark.store.commit.table_commit import CommitResult
    from paimon_spark.store.compact.outcomes import CompactResult


@dataclass(frozen=True)
class CompactionRules:
    """What the compaction after one write does.

    Attributes:
        full: True: all files of every bucket become one run; False: the picks of a writer in the written buckets. None:
            as `full-compaction.delta-commits` says of a job that commits once.
        budget: about how many bytes it reads at most, though at least one bucket; None: no bound. A table whose rows
            are hidden before a compaction has none.
    """

    full: bool | None = None
    budget: int | None = None


AS_OPTIONS_SAY = CompactionRules()
"""The rules of a batch job."""


@dataclass(frozen=True)
class Committed:
    """How a write ended.

    Attributes:
        snapshot_id: its snapshot; None: it had nothing to commit, or nobody knows.
        result: of its commit; None: nothing was committed now.
        compaction: of the buckets it wrote to; None: the table is not compacted by its writers, or was before.
    """

    snapshot_id: int | None
    result: CommitResult | None = None
    compaction: CompactResult | None = None
