"""The lock of a table: a row in the database (features 9.3; Java: JdbcCatalogLock, JdbcDistributedLockDialect).

A row that is older than it says it lives is that of a job that has died: whoever wants the lock removes it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager

import sqlalchemy as sa

from paimon_spark.catalogs.jdbc.database import Database, RowTaken
from paimon_spark.catalogs.jdbc.settings import JdbcSettings
from paimon_spark.catalogs.jdbc.sql_schema import LOCKS
from paimon_spark.errors import CatalogUnavailable, OptionError

_log = logging.getLogger(__name__)

_FIRST_SLEEP = 50  # milliseconds
_EXPIRED = {
    "sqlite": "strftime('%s', 'now') - strftime('%s', acquired_at) > expire_time_seconds",
    "postgresql": "EXTRACT(EPOCH FROM AGE(NOW(), acquired_at)) > expire_time_seconds",
    "mysql": "TIMESTAMPDIFF(SECOND, acquired_at, NOW()) > expire_time_seconds",
}
"""By the kind of database. Java's, so that both sides agree which lock has expired."""


@contextmanager
def table_lock(database: Database, settings: JdbcSettings, name: str, ours: Sequence[str] = ()) -> Iterator[None]:
    """Holds the lock of a table.

    Args:
        database: with the table of locks.
        settings: how long to wait, and how long others honour the lock of a job that dies.
        name: ``<database>.<table>``.
        ours: the names whose locks the caller holds. Two tables may have one lock: `a`.`b.c` and `a.b`.`c`, or names
            that the database takes for equal, as MySQL does those of another letter case.

    Raises:
        CatalogUnavailable: others hold it for longer than ``lock-acquire-timeout``, or the database does not answer.
        OptionError: the name is longer than the column of the locks.
    """
    lock_id = f"{settings.key}.{name}"
    if len(lock_id) > settings.lock_key_length:
        raise OptionError(
            f"locking {name}: the key of its lock has {len(lock_id)} characters, and the table of locks takes "
            f"{settings.lock_key_length}; choose shorter names, or a table of locks made with a larger "
            "'lock-key-max-length'"
        )
    if not _acquire(database, settings, lock_id, {f"{settings.key}.{one}" for one in ours}):
        yield
        return
    began = time.monotonic()
    try:
        yield
    finally:
        # A lock that lived longer than it said may be that of another job by now.
        if time.monotonic() - began < _lives(settings):
            _release(database, lock_id)


def _acquire(database: Database, settings: JdbcSettings, lock_id: str, ours: Set[str]) -> bool:
    """Waits for the lock. False: the caller holds it already, under one of the ids in `ours`."""
    began, sleep = time.monotonic(), _FIRST_SLEEP
    same = sa.select(LOCKS.c.lock_id).where(LOCKS.c.lock_id == lock_id)
    while not _try_once(database, settings, lock_id):
        if ours and not ours.isdisjoint(database.read(lambda c: list(c.scalars(same)))):
            return False
        waited = round((time.monotonic() - began) * 1000)
        if waited > settings.lock_timeout:
            raise CatalogUnavailable(
                f"locking {lock_id.removeprefix(f'{settings.key}.')} in the jdbc catalog: others have held the lock "
                f"for {waited // 1000} s ('lock-acquire-timeout'); run this again, or raise the time-out"
            )
        sleep = min(sleep * 2, settings.lock_sleep)
        time.sleep(sleep / 1000)
    return True


def _try_once(database: Database, settings: JdbcSettings, lock_id: str) -> bool:
    is_ours = LOCKS.c.lock_id == lock_id
    database.change(lambda c: c.execute(sa.delete(LOCKS).where(sa.text(_EXPIRED[database.kind]), is_ours)))
    row = {"lock_id": lock_id, "expire_time_seconds": _lives(settings)}
    try:
        database.change(lambda c: c.execute(sa.insert(LOCKS).values(row)))
    except RowTaken:
        return False
    return True


def _lives(settings: JdbcSettings) -> int:
    """How long others honour the lock, seconds. Not 0, as in Java: it would be nobody's at once, and never released."""
    return max(1, settings.lock_timeout // 1000)


def _release(database: Database, lock_id: str) -> None:
    """What the lock guarded is done. A failure is logged only: the lock expires."""
    try:
        database.change(lambda c: c.execute(sa.delete(LOCKS).where(LOCKS.c.lock_id == lock_id)))
    except CatalogUnavailable as error:
        _log.warning("the lock %s could not be released, so others wait until it expires: %s", lock_id, error)
