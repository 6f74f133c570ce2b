"""The rooms of the product are as their charters say (tools/rooms.py), and small; the page of them is up to date."""

from __future__ import annotations

import ast
import functools
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest
from support.paths import ROOT

from paimon_spark.procedures.catalogue import DATABASE_PROCEDURES, PROCEDURES
from tools.rooms import (
    COMMON,
    ENTRIES,
    FENCES,
    PACKAGE,
    PAGE,
    PICTURE,
    Fence,
    above,
    charter,
    charters,
    markdown,
    may_import,
    page,
    picture,
    room_of,
    rooms,
)

MOST_MODULES = 21  # of one folder
LARGEST_SHARE = 0.10  # of the product's lines
LONGEST_CHAIN = 25  # imports from one module to the next
CHAIN_OF_SQL = 35  # of what runs SQL, which stands on a table object and everything that it can do
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef)
ROOMS_OF_SQL = (
    "spark.queries",
    "spark.copy",
    "spark.statements",
    "spark.catalog",
    "spark.console",
    "spark.spark_catalog",
    "shell",
)


@functools.cache
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(PACKAGE, exclude_type_checking_imports=True, cache_dir=None)


@functools.cache
def whole_graph() -> grimp.ImportGraph:
    """All imports: those that only types need and those of libraries too."""
    return grimp.build_graph(PACKAGE, include_external_packages=True, cache_dir=None)


@functools.cache
def modules() -> list[str]:
    return sorted(graph().modules - ENTRIES)


def modules_of(room: str) -> list[str]:
    return [module for module in modules() if room_of(module) == room]


def path_of(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@functools.cache
def syntax(module: str) -> ast.Module:
    return ast.parse(path_of(module).read_text())


def imported(module: str) -> set[str]:
    """What a module imports, but for the names that the package itself offers."""
    return set(whole_graph().find_modules_directly_imported_by(module)) - {PACKAGE}


# The charters


def test_every_module_is_in_a_room() -> None:
    """A package around rooms has no module of its own but its ``__init__``, and that has a docstring alone."""
    homeless = [module for module in modules() if room_of(module) is None]
    assert [module for module in homeless if len(syntax(module).body) != 1 or not path_of(module).parent.is_dir()] == []
    assert {module.removeprefix(f"{PACKAGE}.") for module in homeless} == charters().keys() - rooms().keys()


def test_every_charter_has_one_sentence_first() -> None:
    assert [name for name, read in charters().items() if not read.title.endswith(".")] == []


@pytest.mark.parametrize("room", rooms())
def test_a_room_imports_what_its_charter_allows(room: str) -> None:
    allowed = may_import(room) | {room}
    beyond = [
        f"{module} imports {name}"
        for module in modules_of(room)
        for name in imported(module)
        if name.startswith(PACKAGE) and room_of(name) not in allowed
    ]
    assert beyond == []


@pytest.mark.parametrize("room", rooms())
def test_a_charter_names_just_the_rooms_that_are_needed(room: str) -> None:
    needed = {room_of(name) for module in modules_of(room) for name in imported(module) if name.startswith(PACKAGE)}
    named = rooms()[room].imports or ()
    assert [name for name in named if name not in needed] == [], "named in the charter, and not imported"
    implied = [name for name in named for other in named if name in may_import(other)]
    assert implied == [], "named in the charter, and implied by another name"


def test_no_charter_repeats_a_fence_of_its_package() -> None:
    outer = {name: {word for read in above(name)[:-1] for word in read.without} for name in charters()}
    assert {name: found for name, read in charters().items() if (found := outer[name] & set(read.without))} == {}


@pytest.mark.parametrize(
    ("room", "fence"), sorted({(room, word) for room in rooms() for read in above(room) for word in read.without})
)
def test_fences(room: str, fence: str) -> None:
    if fence in rooms():
        assert [name for name in may_import(room) if is_in(name, (fence,))] == []
    else:
        assert fence in FENCES, "no word of FENCES, and no room"
        assert [found for module in modules_of(room) for found in crossings(module, FENCES[fence])] == []


def crossings(module: str, fence: Fence) -> Iterator[str]:
    yield from (f"{module} leads to {name}" for name in reached(module) if is_in(name, fence.modules))
    yield from (f"{module} imports {name}" for name in sorted(imported(module)) if is_in(name, fence.own))
    yield from (f"{module} uses {name}" for name in used(syntax(module)) if name in fence.uses)


@functools.cache
def reached(module: str) -> list[str]:
    return sorted(whole_graph().find_upstream_modules(module))


def is_in(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def used(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield f".{node.attr}"
        elif isinstance(node, ast.Name):
            yield node.id


def test_libraries_are_imported_where_the_charters_say() -> None:
    found: dict[str, set[str]] = {}
    for module in modules():
        for name in imported(module) - graph().modules:
            if name not in sys.stdlib_module_names and name not in COMMON:
                found.setdefault(name, set()).add(module)
    stated = {library for read in charters().values() for library in read.libraries}
    assert found.keys() == stated
    for library, importers in found.items():
        beyond = [module for module in importers if not is_home(module, library)]
        assert beyond == [], f"{library} has another home"


def is_home(module: str, library: str) -> bool:
    homes = [read for read in above(room_of(module) or "") if library in read.libraries]
    return any(not read.libraries[library] or module.rpartition(".")[2] in read.libraries[library] for read in homes)


@pytest.mark.parametrize("room", [name for name, read in charters().items() if read.libraries])
def test_a_charter_names_just_the_libraries_that_are_needed(room: str) -> None:
    below = [module for module in modules() if f"{module}.".startswith(f"{PACKAGE}.{room}.")]
    for library, places in charters()[room].libraries.items():
        importers = [module for module in below if library in imported(module)]
        assert importers, f"no module of {room} imports {library}"
        own = {module.rpartition(".")[2] for module in importers if room_of(module) == room}
        assert not places or own == set(places)


# Sentences of single charters


def test_the_names_in_charters_are_there() -> None:
    """``a`` and ``a.b`` are modules, names that a module defines, or libraries."""
    defined = {part for module in modules() for part in module.split(".")}
    defined |= {
        node.name for module in modules() for node in ast.walk(syntax(module)) if isinstance(node, _DEFINITIONS)
    }
    defined |= {library for read in charters().values() for library in read.libraries}
    named = {name for read in charters().values() for name in re.findall(r"``([A-Za-z_][\w.]*)``", read.text)}
    of_others = {"CALL", "DataSourceStreamReader", "df.write", "df.writeStream"}
    assert {name for name in named - of_others if name.rpartition(".")[2] not in defined} == set()


def test_schemas_are_published_by_alter_alone() -> None:
    stores = {f"{PACKAGE}.store.metadata.{name}" for name in ("alter", "publish", "schemas")}
    importers = [module for module in modules_of("store.evolution") if imported(module) & stores]
    assert importers == [f"{PACKAGE}.store.evolution.alter"]


def test_a_procedure_imports_no_other_one() -> None:
    declaring = {name for name in modules_of("procedures") if f"{PACKAGE}.procedures.procedure" in imported(name)}
    others = {f"{PACKAGE}.procedures.{name}" for name in ("catalogue", "local_engine", "table_procedures")}
    pairs = {(module, name) for module in declaring - others for name in imported(module) & declaring}
    assert pairs == {(f"{PACKAGE}.procedures.databases", f"{PACKAGE}.procedures.orphan_files")}
    declared = {procedure.__module__ for procedure in (*PROCEDURES.values(), *DATABASE_PROCEDURES.values())}
    assert declared == declaring - others


# The parts of a charter


@pytest.mark.parametrize(
    ("text", "imports", "without"),
    [
        ("A.\n\nMay import: ``a.b``, ``c``. No Spark, no ``d.e``.", ("a.b", "c"), ("Spark", "d.e")),
        ("A.\n\nMay import: ``a``.\nNo I/O. No secret is part of it, no key.", ("a",), ("I/O",)),
        ("A.\n\nNo clock.\nMay import: nothing.", (), ("clock",)),
        ("A. None.", None, ()),
    ],
)
def test_what_a_charter_says(text: str, imports: tuple[str, ...] | None, without: tuple[str, ...]) -> None:
    read = charter("x", text)
    assert (read.imports, read.without) == (imports, without)


def test_the_libraries_of_a_charter() -> None:
    read = charter("x", "A.\n\nLibraries: ``a``, ``b`` in ``c``, ``d``; ``e``.\nInvariant: f.")
    assert read.libraries == {"a": ("c", "d"), "b": ("c", "d"), "e": ()}


@pytest.mark.parametrize("text", ["May import: a.", "May import: ``a`` and what lies below.", "May import: ``a``, b."])
def test_a_list_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a list of names"):
        charter("x", text)


@pytest.mark.parametrize(
    ("source", "found"),
    [("import time", ["imports time"]), ("x.now()", ["uses .now"]), ("today()", []), ("y = x.now", ["uses .now"])],
)
def test_what_crosses_a_fence(source: str, found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of one module, with that source."""
    (tmp_path / "one_package").mkdir()
    (tmp_path / "one_package" / "__init__.py").write_text("")
    (tmp_path / "one_package" / "a.py").write_text(f"{source}\n")
    monkeypatch.syspath_prepend(tmp_path)
    built = grimp.build_graph("one_package", include_external_packages=True, cache_dir=None)
    monkeypatch.setattr(sys.modules[__name__], "whole_graph", lambda: built)
    monkeypatch.setattr(sys.modules[__name__], "reached", reached.__wrapped__)
    monkeypatch.setattr(sys.modules[__name__], "syntax", lambda _: ast.parse(source))
    assert list(crossings("one_package.a", FENCES["clock"])) == [f"one_package.a {what}" for what in found]


# The page


def test_the_page_and_the_picture_are_those_of_the_charters() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run ./dev docs"
    assert PICTURE.read_text(encoding="utf-8") == picture(), "run ./dev docs"


def test_a_docstring_as_markdown() -> None:
    text = "A ``b``\nc.\n\nD::\n\n    e -> f\n\nMay import: ``g``.\nInvariant: h."
    assert markdown(text) == ("A `b` c.\n\nD:\n\n```text\ne -> f\n```\n\n**May import:** `g`.\n\n**Invariant:** h.")


# Sizes


def test_every_module_can_be_imported() -> None:
    for module in modules():
        importlib.import_module(module)


@functools.cache
def lines_of_modules() -> dict[str, int]:
    return {module: len(path_of(module).read_text().splitlines()) for module in modules()}


@pytest.mark.parametrize("room", rooms())
def test_rooms_stay_small(room: str) -> None:
    lines = lines_of_modules()
    mine = [module for module in modules_of(room) if path_of(module).name != "__init__.py"]
    assert len(mine) <= MOST_MODULES
    assert sum(lines[module] for module in mine) <= LARGEST_SHARE * sum(lines.values())


def test_chains_of_imports_are_short() -> None:
    """Imports form no circle, so the longest chain is found by going down once."""
    below: dict[str, tuple[str, ...]] = {}

    def chain(module: str, path: tuple[str, ...] = ()) -> tuple[str, ...]:
        assert module not in path, f"a circle of imports: {' -> '.join((*path, module))}"
        if module not in below:
            names = graph().find_modules_directly_imported_by(module) - {PACKAGE}
            below[module] = max((chain(name, (*path, module)) for name in sorted(names)), key=len, default=())
        return (module, *below[module])

    runs_sql = {module for module in modules() if room_of(module) in ROOMS_OF_SQL}
    for chosen, bound in ((set(modules()) - runs_sql, LONGEST_CHAIN), (runs_sql, CHAIN_OF_SQL)):
        longest = max((chain(module) for module in sorted(chosen)), key=len)
        assert len(longest) - 1 < bound, " -> ".join(longest)


def test_a_reader_of_small_files_needs_little() -> None:
    """consumers.py reads and writes small JSON files: it must not pull in what reads or writes rows."""
    assert len(graph().find_upstream_modules(f"{PACKAGE}.store.history.consumers")) < 80
