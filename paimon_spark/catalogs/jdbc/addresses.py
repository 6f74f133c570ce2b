"""Where the database of a catalog is: ``jdbc:`` URIs of Java and URLs of SQLAlchemy."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any
from urllib.parse import parse_qsl, unquote

import sqlalchemy as sa

from paimon_spark.catalogs.jdbc.driver_options import connect_arguments
from paimon_spark.errors import OptionError, UnsupportedFeature

_JDBC = "jdbc:"
_DRIVERS = {
    "sqlite": (("sqlite3", "pysqlite"),),
    "postgresql": (("pg8000", "pg8000"), ("psycopg", "psycopg"), ("psycopg2", "psycopg2")),
    "mysql": (("pymysql", "pymysql"), ("MySQLdb", "mysqldb")),
}
"""By the kind of database: the packages that can reach it, and what SQLAlchemy calls them; the first found is taken."""
_OTHER_NAMES = {"postgres": "postgresql", "mariadb": "mysql"}
_SERVER = re.compile(r"//(?P<host>\[[^\]]*\]|[^/:?,@]*)(?::(?P<port>\d+))?(?:/(?P<database>[^?]*))?")


@dataclass(frozen=True)
class Address:
    """A database to connect to.

    Attributes:
        kind: sqlite, postgresql or mysql, which MariaDB is too.
        url: for SQLAlchemy, with the password; its repr has none.
        arguments: further ones of the driver.
        shown: for messages, without user and password.
    """

    kind: str
    url: sa.URL
    shown: str
    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False)


def address_of(uri: str, properties: Mapping[str, str]) -> Address:
    """The database of a URI.

    Args:
        uri: the option ``uri`` of a catalog, such as ``jdbc:postgresql://host:5432/db``, ``jdbc:sqlite:/file`` or
            ``postgresql+psycopg://host/db``.
        properties: the options ``jdbc.*`` without the prefix: ``user``, ``password``, and others of Java's drivers.

    Raises:
        OptionError: it is no such URI, or a property is not known; no message holds a value.
        UnsupportedFeature: a kind of database that Java's catalog does not have either, or no package reaches it.
    """
    if uri[: len(_JDBC)].lower() == _JDBC:
        return _of_java(uri[len(_JDBC) :], properties)
    try:
        url = sa.make_url(uri)
    except (sa.exc.ArgumentError, ValueError):
        raise _no_uri() from None
    kind = _kind(url.get_backend_name())
    given = dict(properties)
    url = url.set(username=given.pop("user", url.username), password=given.pop("password", url.password))
    if kind == "sqlite":
        url = url.set(database=_sqlite_file(url.database or ""))
    if "+" in url.drivername and given:
        raise OptionError(
            f"the options {', '.join(f'jdbc.{key}' for key in sorted(given))} of the catalog are properties of a Java "
            f"driver; with the URL of a driver of Python, write what that driver takes into the query of the URL"
        )
    if "+" not in url.drivername:
        url = url.set(drivername=_driver(kind))
    return Address(kind, url, _shown(kind, url), connect_arguments(kind, given))


def _of_java(rest: str, properties: Mapping[str, str]) -> Address:
    name, _, place = rest.partition(":")
    kind = _kind(name.lower())
    place, _, query = place.partition("?")
    given = {**dict(parse_qsl(query, keep_blank_values=True)), **properties}
    user, password = given.pop("user", None), given.pop("password", None)
    driver = _driver(kind)
    if kind == "sqlite":
        if "mode" in given or "cache" in given:
            raise OptionError("the option 'uri' of the catalog asks for a database in memory: give the path of a file")
        url = sa.URL.create(driver, database=_sqlite_file(place))
        return Address(kind, url, _shown(kind, url), connect_arguments(kind, given))
    if not place.startswith("//"):  # jdbc:postgresql:database
        place = f"//localhost/{place.lstrip('/')}"
    found = _SERVER.fullmatch(place)
    if found is None:
        raise _no_uri()
    url = sa.URL.create(
        driver,
        user,
        password,
        (found["host"] or "localhost").strip("[]"),
        int(found["port"]) if found["port"] else None,
        unquote(found["database"] or "") or None,
    )
    return Address(kind, url, _shown(kind, url), connect_arguments(kind, given))


def _kind(name: str) -> str:
    kind = _OTHER_NAMES.get(name, name)
    if kind not in _DRIVERS:
        raise UnsupportedFeature(
            f"opening the jdbc catalog: its 'uri' names a database of the kind '{name}'; there are sqlite, postgresql "
            "and mysql (MariaDB too)"
        )
    return kind


def _driver(kind: str) -> str:
    for package, name in _DRIVERS[kind]:
        if find_spec(package) is not None:
            return f"{kind}+{name}"
    packages = " or ".join(package for package, _ in _DRIVERS[kind])
    raise UnsupportedFeature(
        f"opening the jdbc catalog: no package of Python for {kind} is installed ({packages}); run pip install "
        "'paimon-spark[jdbc]'"
    )


def _sqlite_file(place: str) -> str:
    """A path; relative ones are those of the working directory, as in Java."""
    path = re.sub(r"^file:(//)?(?=/|[^/])", "", place)
    if path in ("", ":memory:"):
        raise OptionError(
            "the option 'uri' of the catalog asks for a database in memory, which other processes would not see: give "
            "the path of a file"
        )
    return os.path.abspath(path)


def _shown(kind: str, url: sa.URL) -> str:
    if kind == "sqlite":
        return f"the SQLite database {url.database}"
    name = "the PostgreSQL database" if kind == "postgresql" else "the MySQL database"
    port = f":{url.port}" if url.port else ""
    return f"{name} '{url.database or ''}' at {url.host}{port}"


def _no_uri() -> OptionError:
    return OptionError(
        "the option 'uri' of the jdbc catalog is no URI of one database: write jdbc:postgresql://host:port/database, "
        "jdbc:mysql://host:port/database or jdbc:sqlite:/path, and user and password as 'jdbc.user' and 'jdbc.password'"
    )
