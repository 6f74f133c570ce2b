"""The connections to the database of a catalog, and what its errors mean."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeVar

import sqlalchemy as sa

from paimon_spark.catalogs.identifier import Taken
from paimon_spark.catalogs.jdbc.addresses import Address, address_of
from paimon_spark.catalogs.jdbc.settings import JdbcSettings
from paimon_spark.catalogs.jdbc.sql_schema import META, lock_table
from paimon_spark.errors import CatalogUnavailable, OptionError, UnsupportedFeature

R = TypeVar("R")

_TRIES = 10
_POOL_SECONDS = 60
_DEADLOCKS = frozenset({"40P01", "40001", "1213", "1205"})
"""Codes of errors with which a server has undone a transaction because of another one."""
_WRONG_USER = frozenset({"28P01", "28000", "1045", "1698", "1044"})
_NO_DATABASE = frozenset({"3D000", "1049"})
_KEY_TOO_LONG = "1071"


class RowTaken(Taken):
    """A row with this key is there already; nothing was changed."""


class Database:
    """A pool of connections. One of them that was dropped is replaced when it is taken from the pool."""

    def __init__(self, address: Address, settings: JdbcSettings) -> None:
        self._address = address
        self._settings = settings
        try:
            address.url.get_dialect().import_dbapi()
        except (ModuleNotFoundError, sa.exc.NoSuchModuleError) as error:
            raise UnsupportedFeature(
                f"opening the jdbc catalog: the driver {address.url.drivername} of its 'uri' is not installed ({error})"
            ) from None
        if address.url.get_driver_name() == "pg8000" and not address.url.username:
            raise OptionError(
                f"opening the catalog in {address.shown}: the option 'jdbc.user' is missing, and the driver pg8000 "
                "knows no default; give it, and 'jdbc.password' where the server asks for one"
            )
        # A file costs nothing to open, and another one may have its name by then.
        pool: dict[str, Any] = {"poolclass": sa.NullPool}
        if address.kind != "sqlite":
            pool = {"pool_size": settings.pool_size, "max_overflow": 0, "pool_timeout": _POOL_SECONDS}
            pool |= {"pool_pre_ping": True, "isolation_level": "READ COMMITTED"}
        self._engine = sa.create_engine(
            address.url,
            hide_parameters=True,
            connect_args=dict(address.arguments),
            **pool,
        )
        if address.kind == "postgresql":
            sa.event.listen(self._engine, "connect", _set_local_zone)
        self._ready: object = None

    @property
    def kind(self) -> str:
        """sqlite, postgresql or mysql."""
        return self._address.kind

    def read(self, work: Callable[[sa.Connection], R]) -> R:
        """Does reading work; once more if the connection was dropped concurrently.

        Raises:
            CatalogUnavailable: the database refuses or does not answer, or there is no such file.
        """
        self._check_file()
        self.make_ready()
        try:
            return self._once(work)
        except sa.exc.DBAPIError as error:
            if not error.connection_invalidated:
                raise self._failed("reading", error) from None
        except sa.exc.SQLAlchemyError as error:
            raise self._failed("reading", error) from None
        try:
            return self._once(work)
        except sa.exc.SQLAlchemyError as error:
            raise self._failed("reading", error) from None

    def change(self, work: Callable[[sa.Connection], R]) -> R:
        """Does work in one transaction: all of it or nothing.

        Args:
            work: begins with a statement that writes; it may be called again if the database has undone it.

        Raises:
            RowTaken: a key is there already.
            CatalogUnavailable: the database refuses or does not answer, or there is no such file; whether the work is
                done may be unknown.
        """
        self._check_file()
        self.make_ready()
        for left in range(_TRIES, 0, -1):
            try:
                return self._once(work)
            except sa.exc.IntegrityError:
                raise RowTaken from None
            except sa.exc.SQLAlchemyError as error:
                if left == 1 or _code(error) not in _DEADLOCKS:
                    raise self._failed("changing", error) from None
        raise AssertionError("the last try raises")

    def _once(self, work: Callable[[sa.Connection], R]) -> R:
        with self._connected() as connection:
            try:
                with connection.begin():
                    return work(connection)
            except OSError as error:  # pg8000 raises what the socket does
                connection.invalidate()
                raise sa.exc.DBAPIError(None, None, error, connection_invalidated=True) from None

    def _connected(self) -> sa.Connection:
        """A connection. One that was dropped while it was in the pool is found here, before any work."""
        try:
            return self._engine.connect()
        except OSError:
            self._engine.dispose()
        try:
            return self._engine.connect()
        except OSError as error:
            raise sa.exc.DBAPIError(None, None, error) from None

    def _check_file(self) -> None:
        """SQLite would make a file that is not there: one whose name has a typing error would seem an empty catalog."""
        if self._identity() is None:
            raise CatalogUnavailable(
                f"opening the catalog in {self._address.shown}: there is no such file; check the path in 'uri', or "
                "create a database in the catalog, which makes the file"
            )

    def make_ready(self) -> None:
        """Makes the tables that are missing (Java: JdbcCatalog.initializeCatalogTablesIfNeed), and a SQLite file.

        Raises:
            CatalogUnavailable: the database refuses or does not answer.
        """
        if self._ready is not None and self._ready == self._identity():
            return
        tables = [*META.sorted_tables]
        if self._settings.locked:
            tables.append(lock_table(self._settings.lock_key_length))
        try:
            self._make_tables(tables)
        except sa.exc.SQLAlchemyError as error:
            raise self._failed("opening", error) from None
        self._ready = self._identity()

    def _identity(self) -> object:
        """What changes when a file is replaced by another one of its name; None: there is no such file."""
        path = self._address.url.database if self.kind == "sqlite" else None
        if path is None:
            return True
        try:
            return os.stat(path).st_ino
        except OSError:
            return None

    def _make_tables(self, tables: list[sa.Table]) -> None:
        for table in tables:
            with self._connected() as connection:
                if sa.inspect(connection).has_table(table.name):
                    continue
            try:
                self._once(partial(_create, table))
            except sa.exc.DBAPIError:
                with self._connected() as connection:
                    if not sa.inspect(connection).has_table(table.name):
                        raise  # else another process has made it

    def _failed(self, doing: str, error: sa.exc.SQLAlchemyError) -> CatalogUnavailable:
        code, shown = _code(error), self._address.shown
        if isinstance(error, sa.exc.TimeoutError):
            why = (
                f"all {self._settings.pool_size} connections are in use for {_POOL_SECONDS} s; raise 'client-pool-size'"
            )
        elif code in _WRONG_USER:
            why = "it refuses the user or the password; see to 'jdbc.user' and 'jdbc.password'"
        elif code in _NO_DATABASE:
            why = "the server has no database of that name; create it, or see to 'uri'"
        elif code == _KEY_TOO_LONG:
            why = (
                "its character set makes the keys of the tables of Java's catalog too long; create the database with "
                "CHARACTER SET utf8mb3"
            )
        elif self.kind == "sqlite" and "is not a database" in self._words_of(error):
            why = "the file there is no database of SQLite; give another path as 'uri', or move that file away"
        elif self.kind == "sqlite" and "locked" in self._words_of(error):
            why = "another job has locked the file; run this again, or wait longer with 'jdbc.busy_timeout' = '60000'"
        elif self.kind == "sqlite":
            why = f"{self._words_of(error)}; see that its directory exists, and that you may write there"
        else:
            why = f"{self._words_of(error)}; see that it runs and can be reached, then run this again"
        return CatalogUnavailable(f"{doing} the catalog in {shown}: {why}")

    def _words_of(self, error: sa.exc.SQLAlchemyError) -> str:
        """What the driver says, without the password."""
        inner = getattr(error, "orig", None) or error
        first = inner.args[0] if inner.args else ""
        text = first.get("M", "") if isinstance(first, dict) else " ".join(str(arg) for arg in inner.args)
        words = " ".join(str(text).split()).rstrip(".") or type(inner).__name__
        for secret in (self._address.url.password, *self._settings.properties.values()):
            if secret and len(str(secret)) > 3:
                words = words.replace(str(secret), "***")
        return words


def _create(table: sa.Table, connection: sa.Connection) -> None:
    connection.execute(sa.schema.CreateTable(table))


def database_of(settings: JdbcSettings) -> Database:
    """The database of a catalog, with one pool in a process for the same settings.

    Raises:
        OptionError, UnsupportedFeature: the URI or a property of the connection cannot be used.
    """
    return _pooled(os.getpid(), settings.uri, tuple(sorted(settings.properties.items())), _Hidden(settings))


class _Hidden:
    """Settings that are part of a key only by what matters for a pool."""

    def __init__(self, settings: JdbcSettings) -> None:
        self.settings = settings
        self._key = (settings.pool_size, settings.locked, settings.lock_key_length)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hidden) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@cache
def _pooled(process: int, uri: str, properties: tuple[tuple[str, str], ...], hidden: _Hidden) -> Database:
    """A fork does not use the connections of its parent, and does not close them either."""
    return Database(address_of(uri, dict(properties)), hidden.settings)


def _set_local_zone(connection: Any, _: Any) -> None:
    """Java's driver works in the zone of its machine, in which the times of locks are stored without a zone."""
    minutes = (time.localtime().tm_gmtoff or 0) // 60
    sign, (hours, rest) = "-" if minutes < 0 else "+", divmod(abs(minutes), 60)
    cursor = connection.cursor()
    cursor.execute(f"SET TIME ZONE INTERVAL '{sign}{hours:02}:{rest:02}' HOUR TO MINUTE")
    cursor.close()
    connection.commit()


def _code(error: sa.exc.SQLAlchemyError) -> str | None:
    """The code of the database: SQLSTATE of PostgreSQL, the number of MySQL."""
    inner = getattr(error, "orig", None)
    first = inner.args[0] if inner is not None and inner.args else None
    if isinstance(first, dict):  # pg8000
        return str(first.get("C"))
    if isinstance(first, int):  # PyMySQL
        return str(first)
    state = getattr(inner, "sqlstate", None) or getattr(inner, "pgcode", None)
    return None if state is None else str(state)
