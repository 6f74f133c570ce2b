"""How much the compaction after a write may do; a stream says other things of it than a batch job."""

from __future__ import annotations

from dataclasses import dataclass


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
