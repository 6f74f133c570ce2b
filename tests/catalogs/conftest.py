"""Empty warehouses, on a disk, in memory and in S3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from support.programs.s3_server import s3_server

from paimon_spark import open_catalog
from paimon_spark.catalogs.catalog import Catalog


@pytest.fixture(scope="module")
def s3_options() -> Iterator[dict[str, str]]:
    with s3_server("lake") as options:
        yield options


@pytest.fixture(params=["local", "memory", "s3", "jdbc"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    """An empty warehouse."""
    match request.param:
        case "local":
            return open_catalog(f"{tmp_path}/lake/")
        case "memory":
            return open_catalog(f"memory://{uuid4().hex}/lake")
        case "jdbc":
            return open_catalog(jdbc_options(tmp_path))
    return open_catalog({"warehouse": f"s3://lake/{uuid4().hex}", **request.getfixturevalue("s3_options")})


def jdbc_options(place: Path) -> dict[str, str]:
    """A catalog in a SQLite file, with tables in a directory."""
    return {
        "metastore": "jdbc",
        "uri": f"jdbc:sqlite:{place}/catalog.db",
        "warehouse": f"{place}/lake",
        "lock.enabled": "true",
        "lock-check-max-sleep": "60 ms",
        "lock-acquire-timeout": "20 s",
    }


@pytest.fixture
def jdbc(tmp_path: Path) -> Catalog:
    """A JDBC catalog with the empty database `shop`."""
    made = open_catalog(jdbc_options(tmp_path))
    made.create_database("shop")
    return made


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def local(lake: Path) -> Catalog:
    """A warehouse on disk with the empty database `shop`."""
    made = open_catalog(str(lake))
    made.create_database("shop")
    return made
