"""A store that fails, or a process that ends, in any step: a table is whole or gone, and a second call finishes."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from support.faults.faulty_store import FaultyFileIO, InjectedFault, When
from support.tables.catalog_tables import with_store

from paimon_spark import open_catalog
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import new_schema
from paimon_spark.catalogs.file_catalog import FileCatalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import (
    DatabaseAlreadyExists,
    DatabaseNotFound,
    SchemaError,
    StorageError,
    TableAlreadyExists,
    TableNotFound,
)
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.write.table_write import TableWrite

A, B = Identifier("d", "a"), Identifier("d", "b")
SCHEMA = new_schema(pa.schema([("id", pa.int64())]))
Work = Callable[[FileCatalog], object]


def prepared(warehouse: str) -> FileCatalog:
    """A warehouse with a table `a` of three rows and an empty database `e`."""
    catalog = open_catalog(warehouse)
    assert isinstance(catalog, FileCatalog)
    for name in ("d", "e"):
        catalog.create_database(name)
    catalog.create_table(A, SCHEMA)
    table = catalog.load_table(A)
    task = TableWrite(table, "writer")
    task.write(pa.RecordBatch.from_pydict({"id": [1, 2, 3]}, schema=arrow_schema(table.schema.fields)))
    TableCommit(table, "writer").append(task.finish())
    return catalog


def faulty(catalog: FileCatalog, **how: Any) -> FileCatalog:
    return with_store(catalog, FaultyFileIO(catalog.names.file_io, lasting=True, **how))


def log_of(catalog: FileCatalog, work: Work) -> list[str]:
    watched = faulty(catalog)
    work(watched)
    return watched.names.file_io.log


def all_points(log: list[str]) -> list[tuple[int, When]]:
    """As fault_points, but without leaving any out: the operations are few."""
    return [(n, when) for n, name in enumerate(log) for when in (When if name.startswith("!") else [When.BEFORE])]


def rows(catalog: FileCatalog, identifier: Identifier) -> int | None:
    """How many rows the table has; None: there is no table."""
    if catalog.find_table(identifier) is None:
        return None
    return catalog.load_table(identifier).scan().to_arrow().num_rows


def warehouses(tmp_path: Path, kind: str) -> Callable[[], str]:
    return lambda: f"{tmp_path}/{uuid4().hex}" if kind == "disk" else f"memory://{uuid4().hex}/lake"


def break_in_each_step(make: Callable[[], str], work: Work, check: Callable[[FileCatalog], None]) -> None:
    for at, when in all_points(log_of(prepared(make()), work)):
        catalog = prepared(make())
        with pytest.raises(OSError, match="injected fault"):
            work(faulty(catalog, at=at, when=when))
        check(catalog)


@pytest.mark.parametrize("kind", ["disk", "object store"])
def test_drop_table(tmp_path: Path, kind: str) -> None:
    outcomes = set()

    def check(catalog: FileCatalog) -> None:
        left = rows(catalog, A)
        outcomes.add(left)
        assert left in (3, None)
        assert catalog.list_tables("d") == (["a"] if left else [])
        if left is None:
            finish_creation(catalog)
            assert rows(catalog, A) == 0
        catalog.drop_table(A, ignore_if_not_exists=True)
        assert catalog.list_tables("d") == []
        catalog.create_table(A, SCHEMA)
        assert rows(catalog, A) == 0
        catalog.drop_database("d", cascade=True)
        assert catalog.list_databases() == ["e"]

    break_in_each_step(warehouses(tmp_path, kind), lambda catalog: catalog.drop_table(A), check)
    assert outcomes == {3, None}


def finish_creation(catalog: FileCatalog) -> None:
    """Creates the table; if the drop must be finished first, the error says so."""
    try:
        catalog.create_table(A, SCHEMA)
    except SchemaError as error:
        if "drop it once more" not in str(error):
            raise
        catalog.drop_table(A)
        catalog.create_table(A, SCHEMA)


@pytest.mark.parametrize("kind", ["disk", "object store"])
def test_what_an_interrupted_drop_has_left_goes_with_the_next(tmp_path: Path, kind: str) -> None:
    catalog = prepared(warehouses(tmp_path, kind)())
    work: Work = lambda broken: broken.drop_table(A)  # noqa: E731
    at = log_of(prepared(warehouses(tmp_path, kind)()), work).index("!delete directory")
    with pytest.raises(OSError, match="injected fault"):
        work(faulty(catalog, at=at, when=When.HALF))
    assert catalog.list_tables("d") == []
    if kind == "disk":
        (trash,) = Path(f"{catalog.warehouse}/d.db").glob(".dropped-*")
        catalog.create_table(B, SCHEMA)
        catalog.drop_table(B)
        assert trash.exists(), "the other drop may still be at work"
        os.utime(trash, (0, 0))
        catalog.create_table(B, SCHEMA)
        catalog.drop_table(B)
    else:
        catalog.drop_table(A)
    kept = [status.name for status in catalog.names.file_io.list(f"{catalog.warehouse}/d.db")]
    assert kept in ([], [".paimon-directory"])


@pytest.mark.parametrize("kind", ["disk", "object store"])
def test_create_table(tmp_path: Path, kind: str) -> None:
    def check(catalog: FileCatalog) -> None:
        assert rows(catalog, B) in (0, None)
        try:
            catalog.create_table(B, SCHEMA)
        except TableAlreadyExists:
            assert rows(catalog, B) == 0
        catalog.drop_table(B)
        catalog.drop_table(A)
        catalog.drop_database("d")
        assert catalog.list_databases() == ["e"]

    make = warehouses(tmp_path, kind)
    for at, when in all_points(log_of(prepared(make()), lambda catalog: catalog.create_table(B, SCHEMA))):
        catalog = prepared(make())
        with suppress(InjectedFault, StorageError):  # if only the answer is lost, the file tells that it was created
            faulty(catalog, at=at, when=when).create_table(B, SCHEMA)
        check(catalog)


def test_rename_table(tmp_path: Path) -> None:
    places = set()

    def check(catalog: FileCatalog) -> None:
        found = (rows(catalog, A), rows(catalog, B))
        places.add(found)
        assert found in ((3, None), (None, 3))
        try:
            catalog.rename_table(A, B)
        except TableNotFound:
            assert found == (None, 3)
        assert (rows(catalog, A), rows(catalog, B)) == (None, 3)

    break_in_each_step(warehouses(tmp_path, "disk"), lambda catalog: catalog.rename_table(A, B), check)
    assert len(places) == 2


@pytest.mark.parametrize("kind", ["disk", "object store"])
def test_databases(tmp_path: Path, kind: str) -> None:
    def created(catalog: FileCatalog) -> None:
        is_there = "new" in catalog.list_databases()
        try:
            catalog.create_database("new")
        except DatabaseAlreadyExists:
            assert is_there
        assert catalog.list_databases() == ["d", "e", "new"]

    def dropped(catalog: FileCatalog) -> None:
        is_there = "e" in catalog.list_databases()
        try:
            catalog.drop_database("e")
        except DatabaseNotFound:
            assert not is_there
        assert catalog.list_databases() == ["d"]
        assert rows(catalog, A) == 3

    def cascaded(catalog: FileCatalog) -> None:
        assert rows(catalog, A) in (3, None)
        catalog.drop_database("d", ignore_if_not_exists=True, cascade=True)
        assert catalog.list_databases() == ["e"]
        catalog.create_database("d")
        assert catalog.list_tables("d") == []

    make = warehouses(tmp_path, kind)
    break_in_each_step(make, lambda catalog: catalog.create_database("new"), created)
    break_in_each_step(make, lambda catalog: catalog.drop_database("e"), dropped)
    break_in_each_step(make, lambda catalog: catalog.drop_database("d", cascade=True), cascaded)
