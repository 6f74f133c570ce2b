"""Java's catalog in files and ours change one warehouse in turns: both see the same, and err in the same cases.

``PAIMON_CATALOG_HISTORIES`` sets how many histories are tried (each by its number as seed).
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from genuine import Genuine
from java_catalog import add_rows, catalog_state, change_catalog
from readers import telling
from support.long_runs import tries
from support.oracles.catalog_model import CatalogModel, Change, apply, begin, draw_change, state_of

from paimon_spark import open_catalog
from paimon_spark.catalogs.identifier import Identifier

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_CATALOG_HISTORIES", ci=25, long=100)
STEPS = 25
DEFAULTS = ({}, {"file.format": "orc"}, {"file.format": "avro", "snapshot.num-retained.min": "2"})
JAVA_ERRORS = {
    "DatabaseAlreadyExists": "DatabaseAlreadyExistException",
    "DatabaseNotEmpty": "DatabaseNotEmptyException",
    "DatabaseNotFound": "DatabaseNotExistException",
    "TableAlreadyExists": "TableAlreadyExistException",
    "TableNotFound": "TableNotExistException",
}


def words(change: Change) -> dict[str, object]:
    return {
        "table": (change.table.database, change.table.table),
        "to": (change.to.database, change.to.table),
        "ignore": change.ignore,
        "cascade": change.cascade,
        "options": dict(change.options),
    }


def needs_a_missing_database(change: Change, model: CatalogModel) -> bool:
    """Java creates the database of a new name; here that is an error (docs/guides/catalogs.md)."""
    return change.kind == "rename_table" and change.to.database not in model.databases


@pytest.mark.parametrize("seed", range(COUNT))
def test_any_history(seed: int, java: Genuine, tmp_path: Path) -> None:
    draw = random.Random(seed)
    defaults = draw.choice(DEFAULTS)
    options = {
        "warehouse": str(tmp_path / "lake"),
        "case-sensitive": draw.choice(["true", "false"]),
        "cache-enabled": draw.choice(["true", "false"]),
        **{f"table-default.{key}": value for key, value in defaults.items()},
    }
    ours, model, log = open_catalog(options), CatalogModel(dict(defaults)), [str(options)]
    begin(ours)
    with telling(log):
        for _ in range(STEPS):
            change = draw_change(draw)
            if needs_a_missing_database(change, model):
                continue
            by_java = draw.random() < 0.5
            log.append(f"{'Java' if by_java else 'we'}: {change}")
            expected = model.apply(change)
            if by_java:
                error = java.run(change_catalog, options, change.kind, words(change))
                assert error == (expected and JAVA_ERRORS[expected.__name__])
            else:
                assert apply(ours, change) is expected
            assert ours.list_databases() == sorted(model.databases)
        assert state_of(ours) == model.databases
        assert java.run(catalog_state, options) == model.databases


def test_rows_survive_renames_of_both(java: Genuine, tmp_path: Path) -> None:
    options = {"warehouse": str(tmp_path / "lake")}
    ours = open_catalog(options)
    one, two, three = (Identifier("d", name) for name in ("one", "two", "three"))
    for change in (
        Change("create_database", one, one, False, False, ()),
        Change("create_table", one, one, False, False, ()),
    ):
        assert java.run(change_catalog, options, change.kind, words(change)) is None
    java.run(add_rows, options, "d", "one", 3)
    ours.rename_table(one, two)
    java.run(add_rows, options, "d", "two", 2)
    assert java.run(change_catalog, options, "rename_table", words(Change("", two, three, False, False, ()))) is None
    assert ours.load_table(three).scan().to_arrow().num_rows == 5


def test_java_sees_no_table_in_what_our_interrupted_drop_leaves(java: Genuine, tmp_path: Path) -> None:
    """Java lists every directory that directly holds a schema directory as a table."""
    options = {"warehouse": str(tmp_path / "lake")}
    ours = open_catalog(options)
    ours.create_database("d")
    apply(ours, Change("create_table", Identifier("d", "t"), Identifier("d", "t"), False, False, ()))
    (tmp_path / "lake" / "d.db" / ".dropped-1").mkdir()
    (tmp_path / "lake" / "d.db" / "t").rename(tmp_path / "lake" / "d.db" / ".dropped-1" / "t")
    assert java.run(catalog_state, options) == {"d": {}} == state_of(ours)
