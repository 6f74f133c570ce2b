"""Cleans up after a failed commit: deletes its files, unless its snapshot may exist.

Invariants: protocol C7 and C8.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from paimon_spark.errors import CommitStateUnknown, PaimonError
from paimon_spark.store.commit.attempt import CommitRequest
from paimon_spark.store.commit.history import is_committed
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.discard import discard

_log = logging.getLogger(__name__)


@contextmanager
def discarding_if_failed(
    table: Table, request: CommitRequest[Any], since: int, created: Callable[[], Iterable[str]]
) -> Iterator[None]:
    """Deletes the files of the commit in the block if it certainly failed; the error is raised again.

    After CommitStateUnknown they are kept, because the snapshot may exist.

    Args:
        table: the table.
        request: the commit.
        since: the latest snapshot id when the commit user was drawn: only later snapshots can be this commit.
        created: returns the paths of the files of this commit; called after the failure.
    """
    try:
        yield
    except CommitStateUnknown:
        raise
    except (PaimonError, OSError):
        if not _may_be_committed(table, request, since):
            discard(table.file_io, created())
        raise


def _may_be_committed(table: Table, request: CommitRequest[Any], since: int) -> bool:
    """When in doubt the files stay: orphans harm nobody."""
    try:
        return is_committed(table.snapshots, since, request.names)
    except (PaimonError, OSError) as error:
        _log.warning("a failed commit to %s leaves its files behind: %s", table.location, error)
        return True
