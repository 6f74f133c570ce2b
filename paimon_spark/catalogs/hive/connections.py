"""The connections to a metastore: a few in each process, kept open, and replaced when they were dropped."""

from __future__ import annotations

import grp
import logging
import os
import threading
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from pymetastore.hive_metastore import ThriftHiveMetastore
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TTransport import TTransportException

from paimon_spark.catalogs.hive.security import KERBEROS, TLS
from paimon_spark.catalogs.hive.settings import HiveSettings
from paimon_spark.catalogs.hive.transports import open_transport, protocol_of, user_of
from paimon_spark.errors import CatalogUnavailable

logging.getLogger("thrift").addHandler(logging.NullHandler())  # Python would print what our errors tell too
R = TypeVar("R")

_BROKEN = (TTransportException, TProtocolException, OSError)
_ADVICE = (
    "see that it runs and can be reached, that 'uri' has the port of the Thrift service, and that the options say what "
    f"it asks for ('{KERBEROS}' = 'true' for Kerberos, '{TLS}' = 'true' for TLS), then run this again"
)


class _Connection:
    """One open connection. client: the calls, as Hive's Thrift definition has them."""

    def __init__(self, host: str, port: int, settings: HiveSettings) -> None:
        security = settings.security
        self._transport = open_transport(host, port, settings.timeout, security)
        self.client = ThriftHiveMetastore.Client(protocol_of(self._transport, security))
        if security.server is not None:
            return  # the server knows the user
        try:
            # as Java's client: a metastore may act on storage as this user
            self.client.set_ugi(user_of(security), _groups())
        except BaseException:
            self._transport.close()
            raise

    def is_alive(self) -> bool:
        """Asks the server for something small."""
        try:
            self.client.get_config_value("hive.metastore.uris", "")
        except _BROKEN:
            return False
        return True

    def close(self) -> None:
        self._transport.close()


class Connections:
    """The connections of this process to the metastores of some settings; at most ``pool_size`` are in use."""

    def __init__(self, settings: HiveSettings) -> None:
        self._settings = settings
        self._free: list[_Connection] = []
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(settings.pool_size)
        self._last = 0  # the place in the uris of the metastore that has answered

    def read(self, doing: str, call: Callable[[Any], R]) -> R:
        """Does a call that changes nothing; once more on another connection if this one was dropped.

        Args:
            doing: for messages: "reading the table shop.orders".
            call: gets the client.

        Raises:
            CatalogUnavailable: no metastore answers, or it does not know the call.
            TException: what the metastore refuses, as Hive's Thrift definition has it.
        """
        with self._places:
            try:
                return self._once(doing, self._take(doing), call)
            except _BROKEN:
                self._close_all()
            try:
                return self._once(doing, self._take(doing), call)
            except _BROKEN as error:
                raise self._failed(doing, error) from None

    def change(self, doing: str, call: Callable[[Any], R]) -> R:
        """Does a call that changes something, once.

        Raises:
            CatalogUnavailable: no metastore answers, or it does not know the call; whether a change is done that was
                sent is unknown.
            TException: what the metastore refuses, as Hive's Thrift definition has it.
        """
        with self._places:
            connection = self._take(doing)
            if not connection.is_alive():  # it was dropped while nobody used it
                connection.close()
                self._close_all()
                connection = self._take(doing)
            try:
                return self._once(doing, connection, call)
            except _BROKEN as error:
                raise CatalogUnavailable(
                    f"{self._failed(doing, error)}. Whether the metastore has done it is not known"
                ) from None

    def _once(self, doing: str, connection: _Connection, call: Callable[[Any], R]) -> R:
        is_usable = False
        try:
            found = call(connection.client)
            is_usable = True
        except TApplicationException as error:
            is_usable = True
            if error.type == TApplicationException.UNKNOWN_METHOD:
                raise CatalogUnavailable(
                    f"{doing}: the metastore at {self._settings.shown} does not know this call ({error.message}); this "
                    "release needs Hive 2.3 or newer"
                ) from None
            raise CatalogUnavailable(
                f"{doing}: the metastore at {self._settings.shown} has failed: {error.message}"
            ) from None
        except _BROKEN:
            raise
        except TException:  # the metastore has answered
            is_usable = True
            raise
        finally:
            if is_usable:
                with self._lock:
                    self._free.append(connection)
            else:
                connection.close()
        return found

    def _take(self, doing: str) -> _Connection:
        with self._lock:
            if self._free:
                return self._free.pop()
        failure: Exception | None = None
        uris = self._settings.uris
        for place in range(self._last, self._last + len(uris)):
            try:
                made = _Connection(*uris[place % len(uris)], self._settings)
            except (*_BROKEN, TApplicationException) as error:
                failure = error
            else:
                self._last = place % len(uris)
                return made
        raise self._failed(doing, failure) from None

    def _close_all(self) -> None:
        with self._lock:
            dropped, self._free = self._free, []
        for connection in dropped:
            connection.close()

    def _failed(self, doing: str, error: Exception | None) -> CatalogUnavailable:
        error = getattr(error, "inner", None) or error
        words = " ".join(str(getattr(error, "message", None) or error).split()) or type(error).__name__
        return CatalogUnavailable(
            f"{doing}: the Hive metastore at {self._settings.shown} gives no answer ({words}); {_ADVICE}"
        )


def connections_of(settings: HiveSettings) -> Connections:
    """The connections for these settings, one pool in a process."""
    return _pooled(os.getpid(), settings)


@cache
def _pooled(process: int, settings: HiveSettings) -> Connections:
    """A fork does not use the connections of its parent, and does not close them either."""
    return Connections(settings)


def _groups() -> list[str]:
    """The groups of the user of this process."""
    names = []
    for number in os.getgroups():
        try:
            names.append(grp.getgrgid(number).gr_name)
        except KeyError:
            continue
    return names
