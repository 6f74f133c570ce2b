"""How a client proves to a metastore who it is, and what protects the connection (Java: SecurityConfiguration,
Hive's HiveMetaStoreClient).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.options.value_texts import parse_bool

KERBEROS, SERVER = "hive.metastore.sasl.enabled", "hive.metastore.kerberos.principal"
TLS = "hive.metastore.use.SSL"
TRUSTSTORE, TRUSTSTORE_PASSWORD = "hive.metastore.truststore.path", "hive.metastore.truststore.password"
LOGIN, KEYTAB = "security.kerberos.login.principal", "security.kerberos.login.keytab"
_TICKETS = "security.kerberos.login.use-ticket-cache"
_OLDER = {LOGIN: "security.principal", KEYTAB: "security.keytab"}
_FRAMED, _COMPACT = "hive.metastore.thrift.framed.transport.enabled", "hive.metastore.thrift.compact.protocol.enabled"

OF_CONNECTION = (KERBEROS, SERVER, TLS, TRUSTSTORE, TRUSTSTORE_PASSWORD, _FRAMED, _COMPACT)
"""Properties that ``hive-site.xml`` may give in place of options."""

_OTHER_PROTOCOLS = {
    "hive.metastore.use.http.transport": ("false",),
    "metastore.client.thrift.transport.mode": ("binary",),
    "hive.metastore.client.thrift.transport.mode": ("binary",),
    "metastore.client.auth.mode": ("nosasl",),
    "hive.metastore.client.auth.mode": ("nosasl",),
}
"""Properties that ask for what this client does not speak, with the values that do not."""

OPTIONS: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys((SERVER, TRUSTSTORE, TRUSTSTORE_PASSWORD, LOGIN, KEYTAB, *_OLDER.values(), *_OTHER_PROTOCOLS), str),
    **dict.fromkeys((KERBEROS, TLS, _TICKETS, _FRAMED, _COMPACT), parse_bool),
}
"""Of a catalog, with what reads their values."""


@dataclass(frozen=True)
class HiveSecurity:
    """What the options say.

    Attributes:
        server: the Kerberos principal of the metastore, such as ``hive/_HOST@EXAMPLE.COM``; None: without Kerberos.
        login: the Kerberos principal of the user; None: that of the ticket that ``kinit`` has got.
        keytab: the path of the file with the keys of ``login``; None where that is None.
        is_encrypted: whether the connection is TLS.
        truststore: the path of a file with the certificates to trust, PEM or PKCS 12; None: those of the system.
        password: of that file; None: it has none.
        is_framed: whether messages have their length before them; with Kerberos they always have.
        is_compact: whether messages are in Thrift's compact protocol.
    """

    server: str | None = None
    login: str | None = None
    keytab: str | None = None
    is_encrypted: bool = False
    truststore: str | None = None
    password: str | None = field(default=None, repr=False)
    is_framed: bool = False
    is_compact: bool = False


def read_security(options: Mapping[str, str], site: Mapping[str, str]) -> HiveSecurity:
    """Checks what the options and ``hive-site.xml`` say of the connection.

    Args:
        options: of the catalog.
        site: the properties of OF_CONNECTION, and others, that the file has.

    Raises:
        OptionError: an option is missing, or of no use without another one.
        UnsupportedFeature: they ask for another protocol.
    """
    found = {**site, **options}
    _check_protocol(found)
    login, keytab = (options.get(key, options.get(_OLDER[key], "")).strip() or None for key in (LOGIN, KEYTAB))
    server = (found.get(SERVER, "").strip() or None) if _is_true(found, KERBEROS) else None
    if server is None and _is_true(found, KERBEROS):
        raise OptionError(
            f"the option '{SERVER}' of the hive catalog is missing, and '{KERBEROS}' is true: give the principal of "
            "the metastore, such as hive/_HOST@EXAMPLE.COM"
        )
    if server is not None and (len(server.split("/")) != 2 or "@" not in server.split("/")[1]):
        raise OptionError(
            f"the option '{SERVER}' of the hive catalog is '{server}': expected <service>/<host>@<REALM>, where the "
            "host _HOST stands for that in 'uri'"
        )
    _check_login(login, keytab, server, _is_true({_TICKETS: "true", **options}, _TICKETS))
    encrypted = _is_true(found, TLS)
    return HiveSecurity(
        server,
        login,
        keytab,
        encrypted,
        (found.get(TRUSTSTORE, "").strip() or None) if encrypted else None,
        (found.get(TRUSTSTORE_PASSWORD) or None) if encrypted else None,
        _is_true(found, _FRAMED),
        _is_true(found, _COMPACT),
    )


def _is_true(properties: Mapping[str, str], key: str) -> bool:
    return properties.get(key, "").strip().lower() == "true"


def _check_protocol(properties: Mapping[str, str]) -> None:
    for key, allowed in _OTHER_PROTOCOLS.items():
        text = properties.get(key, "").strip()
        if text and text.lower() not in allowed:
            raise UnsupportedFeature(
                f"opening the catalog: '{key}' = '{text}' asks for a protocol that this release does not speak with a "
                "Hive metastore; use one that takes Thrift over TCP, with or without Kerberos and TLS"
            )


def _check_login(login: str | None, keytab: str | None, server: str | None, uses_tickets: bool) -> None:
    if (login is None) != (keytab is None):
        given, missing = (LOGIN, KEYTAB) if keytab is None else (KEYTAB, LOGIN)
        raise OptionError(f"the option '{given}' of the hive catalog needs '{missing}': give both or neither")
    if login is not None and server is None:
        raise OptionError(
            f"the option '{LOGIN}' of the hive catalog is of no use, as '{KERBEROS}' is not true: set that, or leave "
            "the login out"
        )
    if keytab is not None and not os.access(keytab, os.R_OK):
        raise OptionError(
            f"the option '{KEYTAB}' of the hive catalog names {keytab}, which this process cannot read: see that the "
            "file is on this machine, and whose it is"
        )
    if login is None and server is not None and not uses_tickets:
        raise OptionError(
            f"the option '{_TICKETS}' of the hive catalog is false, and there is no '{LOGIN}': give one with its "
            f"'{KEYTAB}', or allow tickets"
        )
