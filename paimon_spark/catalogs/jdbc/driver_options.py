"""Properties of Java's drivers, in the words of the drivers of Python (pgjdbc, MySQL Connector/J, sqlite-jdbc)."""

from __future__ import annotations

import math
import ssl
from collections.abc import Mapping
from typing import Any

from paimon_spark.errors import OptionError

_SECONDS = 60
"""How long an answer of a server may take. Java's drivers wait for ever without a limit."""
_BUSY_SECONDS = 30
"""How long a statement waits for the lock of a SQLite file."""
_WITHOUT_MEANING = frozenset(
    {
        *("driver", "tcpKeepAlive", "defaultRowFetchSize", "prepareThreshold", "reWriteBatchedInserts"),
        *("useUnicode", "characterEncoding", "connectionCollation", "serverTimezone", "connectionTimeZone"),
        *("allowPublicKeyRetrieval", "autoReconnect", "zeroDateTimeBehavior", "rewriteBatchedStatements"),
        *("useServerPrepStmts", "cachePrepStmts", "tinyInt1isBit", "nullCatalogMeansCurrent"),
    }
)
"""Properties that make no difference to what a catalog stores or to how safe the connection is."""


def connect_arguments(kind: str, properties: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of the driver of Python.

    Args:
        kind: sqlite, postgresql or mysql.
        properties: of Java's driver, without user and password.

    Raises:
        OptionError: a property is not known, or its value cannot be read. The message has no value: it may be a secret.
    """
    left = {key: value for key, value in properties.items() if key not in _WITHOUT_MEANING}
    try:
        made = {"sqlite": _sqlite, "postgresql": _postgresql, "mysql": _mysql}[kind](left)
    except ValueError:
        raise OptionError(
            f"an option among {', '.join(f'jdbc.{key}' for key in sorted(properties))} of the catalog has a value that "
            "is not understood: flags are true or false, times whole numbers, and modes those of Java's driver"
        ) from None
    if left:
        raise OptionError(
            f"the option 'jdbc.{min(left)}' of the catalog is not known for {kind}; give the catalog the URL of a "
            "driver of Python, such as postgresql+psycopg://..., with what that driver takes in its query"
        )
    return made


def _sqlite(left: dict[str, str]) -> dict[str, Any]:
    busy = left.pop("busy_timeout", None)
    return {"timeout": _BUSY_SECONDS if busy is None else int(busy) / 1000}


def _postgresql(left: dict[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {"timeout": _longest(left, 1, "connectTimeout", "loginTimeout", "socketTimeout")}
    wanted, root = _flag(left.pop("ssl", "false") or "true"), left.pop("sslrootcert", None)  # "ssl=" is on in Java
    mode = left.pop("sslmode", "verify-full" if wanted else "prefer").lower()
    if mode not in ("disable", "allow", "prefer"):
        made["ssl_context"] = _context(mode, root)
    if "ApplicationName" in left:
        made["application_name"] = left.pop("ApplicationName")
    if "currentSchema" in left:
        made["startup_params"] = {"search_path": left.pop("currentSchema")}
    return made


def _mysql(left: dict[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {"connect_timeout": _longest(left, 1000, "connectTimeout")}
    made["read_timeout"] = made["write_timeout"] = _longest(left, 1000, "socketTimeout")
    wanted = [_flag(left.pop(key)) for key in ("useSSL", "requireSSL") if key in left]
    mode = left.pop("sslMode", "required" if any(wanted) else "preferred").lower().replace("_", "-")
    if mode in ("required", "verify-ca", "verify-identity"):
        made["ssl"] = _context({"required": "require", "verify-identity": "verify-full"}.get(mode, mode), None)
    return made


def _flag(text: str) -> bool:
    """A value that is no flag must not leave the connection without encryption.

    Raises:
        ValueError: it is none.
    """
    found = {"true": True, "yes": True, "false": False, "no": False}.get(text.strip().lower())
    if found is None:
        raise ValueError
    return found


def _longest(left: dict[str, str], unit: int, *keys: str) -> int:
    """Seconds; 0 means for ever in Java, which is the default here."""
    given = [int(left.pop(key)) for key in keys if key in left]
    return math.ceil(max(given) / unit) if given and max(given) > 0 else _SECONDS


def _context(mode: str, root: str | None) -> ssl.SSLContext:
    if mode not in ("require", "verify-ca", "verify-full"):
        raise ValueError
    context = ssl.create_default_context(cafile=root)
    context.check_hostname = mode == "verify-full"
    if mode == "require":
        context.verify_mode = ssl.CERT_NONE
    return context
