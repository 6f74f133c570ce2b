"""Whether the latest snapshot is there to stay, before the next one is put on top of it; Java does not look.

A commit that a rollback or a fast-forward has overtaken is seen for a moment, until its committer takes it back
(``commit_base``), and all that others have put on top of it goes too, though they were told that it was done. So nobody
builds on a snapshot whose own base is not there. That of a committer who is through needs no look: LATEST names it.
"""

from __future__ import annotations

from paimon_spark.errors import MissingFile
from paimon_spark.spec.snapshot import Snapshot
from paimon_spark.store.commit_base import was_taken_away
from paimon_spark.store.snapshot_chain import builds_on
from paimon_spark.store.table import Table


def is_in_doubt(table: Table, latest: Snapshot) -> bool:
    """Whether a snapshot that LATEST does not name stands on one that was taken away, so that it may go too.

    Raises:
        CorruptFile, OSError: the metadata of it, or of the one before, cannot be read.
    """
    store = table.snapshots
    before = store.find(latest.id - 1)
    if before is None:
        return was_taken_away(store, latest.id - 1)
    try:
        return not builds_on(table, before, latest)
    except MissingFile:  # one of them goes just now: the next look tells
        return True
