"""Views and functions on a REST server; the genuine Java client reads them in tests/interop."""

from __future__ import annotations

import pytest
from support.rest_server import Fault, RestServer, When

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.functions import Function
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.views import (
    AddDialect,
    DropDialect,
    RemoveViewOption,
    SetViewOption,
    UpdateDialect,
    UpdateViewComment,
    View,
)
from paimon_spark.errors import (
    DatabaseNotFound,
    FunctionAlreadyExists,
    FunctionNotFound,
    NameTaken,
    OptionError,
    ViewAlreadyExists,
    ViewNotFound,
)
from paimon_spark.format.types import DataField, DataType, Root

FIELDS = (DataField(0, "id", DataType(Root.BIGINT, False)),)
VIEW = View(FIELDS, "SELECT 1", {"spark": "SELECT 2"}, "told", {"a": "b"})
FUNCTION = Function(FIELDS, None, True, {"spark": {"type": "sql", "definition": "1"}}, "told", {"a": "b"})


@pytest.fixture
def view(catalog: Catalog, name: Identifier) -> Identifier:
    there = Identifier(name.database, "v ä")
    catalog.create_view(there, VIEW)
    return there


@pytest.fixture
def function(catalog: Catalog, name: Identifier) -> Identifier:
    there = Identifier(name.database, "f.1")
    catalog.create_function(there, FUNCTION)
    return there


def test_a_view(catalog: Catalog, name: Identifier, view: Identifier) -> None:
    assert (catalog.list_views(view.database), catalog.load_view(view)) == ([view.table], VIEW)
    assert catalog.find_view(name) is None
    for taken in (view, name):
        with pytest.raises(ViewAlreadyExists):
            catalog.create_view(taken, VIEW)
    catalog.create_view(view, VIEW, ignore_if_exists=True)
    other = Identifier(view.database, "w")
    catalog.rename_view(view, other)
    with pytest.raises(ViewNotFound, match=r"did you mean|it has w"):
        catalog.load_view(view)
    with pytest.raises(ViewAlreadyExists):
        catalog.rename_view(other, name)
    with pytest.raises(DatabaseNotFound):
        catalog.rename_view(other, Identifier("nowhere", "w"))
    catalog.drop_view(other)
    for missing in (lambda: catalog.drop_view(other), lambda: catalog.rename_view(other, view)):
        with pytest.raises(ViewNotFound):
            missing()
    catalog.drop_view(other, ignore_if_not_exists=True)
    with pytest.raises(DatabaseNotFound):
        catalog.list_views("nowhere")
    with pytest.raises(DatabaseNotFound):
        catalog.create_view(Identifier("nowhere", "v"), VIEW)


def test_changes_of_a_view(catalog: Catalog, view: Identifier) -> None:
    catalog.alter_view(view, [SetViewOption("c", "d"), RemoveViewOption("a"), UpdateViewComment(None)])
    catalog.alter_view(view, [AddDialect("flink", "SELECT 3"), UpdateDialect("spark", "SELECT 4")])
    assert catalog.load_view(view) == View(
        FIELDS, "SELECT 1", {"spark": "SELECT 4", "flink": "SELECT 3"}, None, {"c": "d"}
    )
    with pytest.raises(NameTaken):
        catalog.alter_view(view, [AddDialect("flink", "SELECT 5")])
    catalog.alter_view(view, [DropDialect("flink")])
    with pytest.raises(OptionError):
        catalog.alter_view(view, [UpdateDialect("flink", "SELECT 5")])
    with pytest.raises(ViewNotFound):
        catalog.alter_view(Identifier(view.database, "no"), [UpdateViewComment("x")])
    catalog.alter_view(Identifier(view.database, "no"), [UpdateViewComment("x")], ignore_if_not_exists=True)


def test_a_server_without_views_has_tables(server: RestServer, catalog: Catalog, name: Identifier) -> None:
    server.faults.append(Fault("/views/", When.BEFORE, 501))
    assert catalog.find_view(name) is None


def test_a_function(catalog: Catalog, function: Identifier) -> None:
    assert catalog.list_functions(function.database) == [function.table]
    assert catalog.load_function(function) == FUNCTION
    with pytest.raises(FunctionAlreadyExists):
        catalog.create_function(function, FUNCTION)
    catalog.create_function(function, FUNCTION, ignore_if_exists=True)
    more = {"action": "addDefinition", "name": "flink", "definition": {"type": "sql", "definition": "2"}}
    catalog.alter_function(function, [more, {"action": "updateComment", "comment": None}])
    changed = catalog.load_function(function)
    assert (sorted(changed.definitions), changed.comment) == (["flink", "spark"], None)
    with pytest.raises(NameTaken):
        catalog.alter_function(function, [more])
    with pytest.raises(OptionError):
        catalog.alter_function(function, [{"action": "dropDefinition", "name": "none"}])
    catalog.drop_function(function)
    for missing in (
        lambda: catalog.load_function(function),
        lambda: catalog.drop_function(function),
        lambda: catalog.alter_function(function, [more]),
    ):
        with pytest.raises(FunctionNotFound):
            missing()
    catalog.drop_function(function, ignore_if_not_exists=True)
    with pytest.raises(OptionError, match="cannot be the name of a function"):
        catalog.load_function(Identifier(function.database, "1"))
