"""What a commit that failed leaves behind: files that no snapshot names, unless it was made after all."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from paimon_spark.store.commit_attempt import CommitRequest
from paimon_spark.store.commit_history import is_committed
from paimon_spark.store.table import Table

_log = logging.getLogger(__name__)


def discard_unused(table: Table, request: CommitRequest, since: int, paths: Iterable[str]) -> None:
    """Deletes the files of a commit that raised an error. When in doubt they stay: orphans harm nobody.

    Not to be called after CommitStateUnknown.

    Args:
        since: as for commit_request.
        paths: of files that only this commit knows of.
    """
    given = list(paths)
    try:
        if is_committed(table.snapshots, since, request.names):
            return
    except OSError as error:
        _log.warning("a failed commit to %s leaves %d files behind: %s", table.location, len(given), error)
        return
    discard(table, given)


def discard(table: Table, paths: Iterable[str]) -> None:
    """Deletes files that nobody knows of. One that cannot be deleted is logged."""
    for path in paths:
        try:
            table.file_io.delete(path)
        except OSError as error:
            _log.warning("left behind %s of a commit that failed: %s", path, error)
