"""Where the database of a catalog is: the URIs of Java's drivers and the URLs of SQLAlchemy."""

from __future__ import annotations

import os
import sqlite3
import ssl
from contextlib import closing
from pathlib import Path

import pytest

from paimon_spark import open_catalog
from paimon_spark.catalogs.jdbc.addresses import address_of
from paimon_spark.errors import CatalogUnavailable, OptionError, UnsupportedFeature

USER = {"user": "me", "password": "hush-hush"}


@pytest.mark.parametrize(
    ("uri", "url"),
    [
        ("jdbc:postgresql://db.example:5433/lake", "postgresql+pg8000://db.example:5433/lake"),
        ("jdbc:postgresql://db.example/lake", "postgresql+pg8000://db.example/lake"),
        ("jdbc:postgresql://[::1]:5432/lake", "postgresql+pg8000://[::1]:5432/lake"),
        ("jdbc:postgresql:lake", "postgresql+pg8000://localhost/lake"),
        ("jdbc:mysql://host:3306/lake?useUnicode=true&characterEncoding=utf8", "mysql+pymysql://host:3306/lake"),
        ("jdbc:mariadb://host/lake", "mysql+pymysql://host/lake"),
        ("jdbc:sqlite:/tmp/c.db", "sqlite+pysqlite:////tmp/c.db"),
        ("jdbc:sqlite:file:/tmp/c.db", "sqlite+pysqlite:////tmp/c.db"),
        ("jdbc:sqlite:c.db", f"sqlite+pysqlite:///{os.getcwd()}/c.db"),
        ("sqlite:////tmp/c.db", "sqlite+pysqlite:////tmp/c.db"),
        ("postgresql://host/lake", "postgresql+pg8000://host/lake"),
        ("postgresql+psycopg://host/lake?sslmode=require", "postgresql+psycopg://host/lake?sslmode=require"),
        ("mysql+pymysql://host/lake?charset=utf8mb4", "mysql+pymysql://host/lake?charset=utf8mb4"),
    ],
)
def test_uris(uri: str, url: str) -> None:
    assert address_of(uri, {}).url.render_as_string(hide_password=False) == url


@pytest.mark.parametrize(
    ("uri", "given"),
    [
        ("jdbc:postgresql://host/lake", USER),
        ("jdbc:postgresql://host/lake?user=me&password=hush-hush", {}),
        ("jdbc:mysql://host/lake", USER),
        ("postgresql://me:hush-hush@host/lake", {}),
        ("postgresql://host/lake", USER),
    ],
)
def test_user_and_password(uri: str, given: dict[str, str]) -> None:
    address = address_of(uri, given)
    assert (address.url.username, address.url.password) == ("me", "hush-hush")
    assert "hush-hush" not in f"{address!r} {address} {address.shown}"
    assert address.shown.endswith("database 'lake' at host")


@pytest.mark.parametrize(
    ("uri", "given", "error", "words"),
    [
        ("jdbc:oracle:thin:@host", {}, UnsupportedFeature, "of the kind 'oracle'"),
        ("nonsense", {}, OptionError, "no URI of one database"),
        ("jdbc:postgresql://a:1,b:2/lake", {}, OptionError, "no URI of one database"),
        ("jdbc:postgresql://me:hush-hush@host/lake", {}, OptionError, "no URI of one database"),
        ("jdbc:sqlite::memory:", {}, OptionError, "in memory"),
        ("jdbc:sqlite:file:c?mode=memory&cache=shared", {}, OptionError, "in memory"),
        ("sqlite://", {}, OptionError, "in memory"),
        (
            "jdbc:postgresql://host/lake",
            {"hush": "hush-hush"},
            OptionError,
            r"jdbc\.hush' .* known for postgresql",
        ),
        ("jdbc:postgresql://host/lake", {"connectTimeout": "hush-hush"}, OptionError, "has a value that"),
        ("jdbc:postgresql://host/lake", {"ssl": "1"}, OptionError, "flags are true or false"),
        ("jdbc:mysql://host/lake", {"useSSL": "on"}, OptionError, "flags are true or false"),
        (
            "jdbc:mysql://host/lake",
            {"sslMode": "REQUIRED", "hush": ""},
            OptionError,
            r"jdbc\.hush' .* known for mysql",
        ),
        ("postgresql+psycopg://host/lake", {"sslmode": "hush-hush"}, OptionError, r"jdbc\.sslmode .* of a Java driver"),
    ],
)
def test_what_is_refused(uri: str, given: dict[str, str], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as raised:
        address_of(uri, given)
    assert "hush-hush" not in str(raised.value)


def test_properties_of_the_drivers_of_java() -> None:
    given = {"connectTimeout": "5", "socketTimeout": "7", "ApplicationName": "a", "currentSchema": "s", "ssl": "true"}
    made = dict(address_of("jdbc:postgresql://h/d", given).arguments)
    context = made.pop("ssl_context")
    assert made == {"timeout": 7, "application_name": "a", "startup_params": {"search_path": "s"}}
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
    made = dict(address_of("jdbc:mysql://h/d?connectTimeout=1500&useSSL=true", {"socketTimeout": "7000"}).arguments)
    assert made.pop("ssl").verify_mode == ssl.CERT_NONE, "as Java's REQUIRED"
    assert made == {"connect_timeout": 2, "read_timeout": 7, "write_timeout": 7}
    assert dict(address_of("jdbc:sqlite:/c.db", {"busy_timeout": "500"}).arguments) == {"timeout": 0.5}


def test_a_sqlite_file_that_another_job_has_locked(tmp_path: Path) -> None:
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/c.db", "warehouse": f"{tmp_path}/w"}
    open_catalog(options).create_database("a")
    with closing(sqlite3.connect(tmp_path / "c.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(CatalogUnavailable, match="another job has locked the file; run this again"):
            open_catalog({**options, "jdbc.busy_timeout": "10"}).create_database("b")
