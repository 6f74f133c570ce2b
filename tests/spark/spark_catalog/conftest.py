"""A session of its own, in which the catalog ``lake`` is registered for each test anew, with a warehouse of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from support.oracles.checker import check_table
from support.registered_catalogs import forget_catalogs

import paimon_spark
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

Rows = list[tuple[object, ...]]


@dataclass(frozen=True)
class Lake:
    """A catalog of Spark, and the same as object of this package.

    Attributes:
        spark: the session; its current database is ``lake.d``.
        cat: of the same warehouse.
        path: of the warehouse.
    """

    spark: SparkSession
    cat: SessionCatalog
    path: Path

    def sql(self, text: str, **args: object) -> DataFrame:
        return self.spark.sql(text, args or None)

    def rows(self, query: str | DataFrame) -> Rows:
        """The rows of a query, sorted; NaN, which no tuple equals, as text."""
        frame = self.sql(query) if isinstance(query, str) else query
        return sorted((tuple(_plain(value) for value in row) for row in frame.collect()), key=repr)


def _plain(value: object) -> object:
    return "NaN" if value != value else value


@pytest.fixture(scope="module")
def known_session(spark: SparkSession) -> Iterator[SparkSession]:
    session = spark.newSession()
    session.conf.set("spark.paimon.read.local", "true")
    yield session
    forget_catalogs(session)


@pytest.fixture
def lake(known_session: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    path = tmp_path / "lake"
    forget_catalogs(known_session)
    paimon_spark.register_catalog(known_session, "lake", str(path))
    made = Lake(known_session, paimon_spark.catalog(known_session, str(path), "lake"), path)
    made.sql("CREATE NAMESPACE lake.d")
    made.sql("USE lake.d")
    yield made
    for table in path.glob("*.db/*/schema"):
        check_table(str(table.parent))
