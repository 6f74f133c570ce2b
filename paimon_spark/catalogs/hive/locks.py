"""The lock of a table in a metastore (features 9.2; Java: HiveCatalogLock).

The metastore itself forgets the lock of a job that has died, after its ``hive.txn.timeout``.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.identifier import Identifier, Missing
from paimon_spark.errors import CatalogUnavailable

_log = logging.getLogger(__name__)

_FIRST_SLEEP = 50  # milliseconds


@contextmanager
def table_lock(metastore: Metastore, identifier: Identifier) -> Iterator[None]:
    """Holds the lock of a table, if the settings say so.

    Raises:
        CatalogUnavailable: others hold it for longer than ``lock-acquire-timeout``, or the metastore does not answer.
    """
    if not metastore.settings.locked:
        yield
        return
    number = _acquire(metastore, identifier)
    try:
        yield
    finally:
        _release(metastore, identifier, number)


def _acquire(metastore: Metastore, identifier: Identifier) -> int:
    began, sleep = time.monotonic(), _FIRST_SLEEP
    number, is_ours = metastore.lock(identifier, metastore.user, socket.gethostname())
    try:
        while not is_ours:
            waited = round((time.monotonic() - began) * 1000)
            if waited >= metastore.settings.lock_timeout:
                raise CatalogUnavailable(
                    f"locking {identifier} in the hive catalog: others have held the lock for {waited // 1000} s "
                    "('lock-acquire-timeout'); run this again, or raise the time-out"
                )
            sleep = min(sleep * 2, metastore.settings.lock_sleep)
            time.sleep(sleep / 1000)
            is_ours = metastore.check_lock(number)
    except BaseException:
        _release(metastore, identifier, number)
        raise
    return number


def _release(metastore: Metastore, identifier: Identifier, number: int) -> None:
    """A lock that cannot be given back is forgotten by the metastore after a while."""
    try:
        metastore.unlock(number)
    except (CatalogUnavailable, Missing) as error:
        _log.warning("the lock %d of %s could not be given back: %s", number, identifier, error)
