"""Each statement of SQL of features 8.1 and 8.3 on each of the four catalogs: done, or refused by name.

A run of the whole suite tries one of the four, each run another. The calls are in tests/catalogs/test_four_catalogs.py.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.programs.four_catalogs import KINDS, catalog_options
from support.shares import some_of
from support.tables.catalog_script import SCRIPTS, Step

import paimon_spark
from paimon_spark.errors import PaimonError, UnsupportedFeature
from paimon_spark.spark.catalog.session_catalog import SessionCatalog
from paimon_spark.sql import listings
from paimon_spark.sql import statements as s
from paimon_spark.sql.parse import parse
from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.text.names import Names

pytestmark = pytest.mark.spark

OTHER_CHAPTERS = (
    s.Untouched, Query, s.Explain, s.Call, s.Insert, s.InsertSeveral, s.CopyInto, s.Delete,
    s.Update, s.Merge, s.ShowProcedures, s.DescribeProcedure, listings.DropFunction,
    listings.ShowFunctions,
)  # fmt: skip
"""Statements of features 2 and 7."""


def check(cat: SessionCatalog, kind: str, step: Step) -> None:
    """Runs a statement."""
    if kind in step.refused:
        with pytest.raises(PaimonError, match=step.refused[kind]):
            cat.sql(step.text)
        return
    found = [tuple(row) for row in cat.sql(step.text).collect()]
    assert step.rows in (None, tuple(found)), step.text
    assert step.among is None or step.among in found, step.text


@pytest.fixture(scope="module", params=some_of(KINDS, 1))
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture(scope="module")
def cat(
    kind: str, spark: SparkSession, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SessionCatalog]:
    """One catalog of the kind for all tests."""
    with catalog_options(kind, tmp_path_factory.mktemp(kind), request) as options:
        made = paimon_spark.catalog(spark, options)
        made.sql("CREATE DATABASE paimon.base")
        made.sql("CREATE TABLE paimon.base.t (id INT, v STRING)")
        made.sql("INSERT INTO paimon.base.t VALUES (1, 'one'), (2, 'two')")
        made.sql("CREATE TABLE paimon.base.p (id INT, dt STRING) PARTITIONED BY (dt)")
        made.sql("INSERT INTO paimon.base.p VALUES (1, 'a'), (2, 'b')")
        yield made
        made.use(None)


class TestStatements:
    """Each test has a database of its own."""

    @pytest.mark.parametrize("part", SCRIPTS)
    def test_each_statement(
        self, cat: SessionCatalog, kind: str, quick_spark: SparkSession, part: str, tmp_path: Path
    ) -> None:
        cat.create_database(f"of_{part}")
        cat.use(f"of_{part}")
        for step in SCRIPTS[part]:
            check(cat, kind, step.of(f"of_{part}", str(tmp_path)))


def test_every_kind_of_statement_is_tried() -> None:
    names = Names("paimon", "d")
    texts = [step.of("d", "/p").text for steps in SCRIPTS.values() for step in steps]
    tried = set()
    for text in texts:
        with suppress(UnsupportedFeature):  # what no catalog does is refused when it is read
            tried.add(type(parse(text, names)))
    assert set(typing.get_args(s.Statement)) - set(OTHER_CHAPTERS) <= tried
