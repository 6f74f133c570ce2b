"""The merge of a compaction that knows the rows above its output level (Java: ChangelogMergeTreeRewriter).

It makes the rows of the new files, the changelog of what changed, and the positions of rows that deletion vectors have
to delete because newer rows take their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.merge.engines.choice import TableEngine
from paimon_spark.merge.window import MergeSpec


@dataclass(frozen=True)
class CompactRules:
    """What a compaction makes of the rows of a key.

    Attributes:
        spec: how rows are ordered; without ``keep_deletes`` no row that retracts comes out. Sequence numbers and kinds
            must be there.
        engine: the merge engine of the table.
        output: columns of rows and changelog: those of the table, then ``_SEQUENCE_NUMBER`` and ``_VALUE_KIND``.
        producer: ``changelog-producer``; only lookup and full-compaction make a changelog here.
        vectors: whether rows above are deleted by deletion vectors.
        max_level: the level of the rows that a full compaction compares with.
        row_deduplicate: no changelog for a key whose values stay the same.
        ignored: columns that are not looked at to tell that.
    """

    spec: MergeSpec
    engine: TableEngine
    output: tuple[str, ...]
    producer: str
    vectors: bool
    max_level: int
    row_deduplicate: bool = False
    ignored: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Superseded:
    """Rows above whose place newer rows take: numbers of their files (int32) and their positions there (int64)."""

    files: npt.NDArray[np.int32]
    positions: npt.NDArray[np.int64]


@dataclass(frozen=True)
class CompactBatch:
    """A part of the result; what is None has no rows in this part.

    Attributes:
        rows: for the new files, sorted by key.
        changelog: sorted by key; of one key -U is before +U.
        superseded: for the deletion vectors.
    """

    rows: pa.RecordBatch | None = None
    changelog: pa.RecordBatch | None = None
    superseded: Superseded | None = None


class UpperRun(Protocol):
    """The rows of one level above the output, sorted by key, no key twice."""

    def next_from(self, key: pa.RecordBatch) -> pa.RecordBatch | None:
        """The next batch in key order, or None at the end.

        Args:
            key: one row with the key columns. Nothing before it is needed any more: batches, row groups or files whose
                last key is less may be left out. It never decreases.

        Returns:
            The key columns, ``_LEVEL``; with vectors ``_FILE`` and ``_POSITION``; with ``needs_values_above`` the
            output columns. Empty batches are fine.
        """
        ...


def needs_values_above(rules: CompactRules) -> bool:
    """Whether the merge reads more of the rows above than their keys and places."""
    raise NotImplementedError


def compact_merge(
    runs: Sequence[Iterator[pa.RecordBatch]],
    above: Sequence[UpperRun],
    rules: CompactRules,
    batch_rows: int = 65536,
) -> Iterator[CompactBatch]:
    """Merge sorted runs for a new file and its changelog.

    Args:
        runs: as for ``merge_runs``; their batches hold the output columns and ``_LEVEL``.
        above: the levels greater than the output level; none for ``full-compaction``. Rows of keys that runs do not
            have are left out.
        rules: what to make.
        batch_rows: about how many rows a batch of rows has.
    """
    raise NotImplementedError
