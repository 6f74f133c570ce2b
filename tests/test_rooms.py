"""The rooms of the product: each folder is a room, imports run down from floor to floor, and no room grows too big.

The packages of ``store`` and ``merge`` are held by import-linter too (pyproject.toml); this test also sees rooms within
packages, and counts.
"""

from __future__ import annotations

import functools
import importlib
from pathlib import Path

import grimp
import pytest
from support.paths import ROOT

FLOORS = (
    ("errors",),
    ("limits",),
    ("arguments",),
    ("format.options", "format.java"),
    ("format",),
    ("format.avro", "format.file_index"),
    ("format.manifests", "format.rules"),
    ("arrow",),
    ("arrow.statistics",),
    ("arrow.parquet",),
    ("arrow.formats", "arrow.predicates"),
    ("arrow.file_index",),
    ("sql.text",),
    ("sql.queries",),
    ("sql",),
    ("merge.keys",),
    ("merge.clustering",),
    ("merge.aggregates",),
    ("merge.engines",),
    ("merge.runs",),
    ("merge.compaction", "file_io"),
    ("store.storage", "store.reporting"),
    ("store.metadata",),
    ("store.holds", "store.buckets", "store.evolution", "store.stream_notes"),
    ("store.read", "store.commit"),
    ("store.pruning",),
    ("store.scan", "store.write", "store.expire"),
    ("store.compact", "store.history", "store.system_tables"),
    ("store.rescale", "store.clean", "store.rows", "store.clustering", "store.open", "store.stream_source"),
    ("store.upkeep", "store.checks"),
    ("store.stream_sink",),
    ("catalogs", "procedures"),
    ("catalogs.hive", "catalogs.jdbc", "catalogs.rest"),
    ("catalogs.factory",),
    ("procedures.call",),
    ("cdc",),
    ("cdc.formats",),
    ("cdc.batches",),
    ("spark.adapters",),
    ("spark.write", "spark.stream_source"),
    ("spark.stream_sink",),
    ("spark.source", "spark.jobs"),
    ("spark.native",),
    ("spark.rows",),
    ("spark.merge_into",),
    ("spark.cdc",),
    ("spark.table",),
    ("spark.queries",),
    ("spark.copy",),
    ("spark.statements",),
    ("spark.catalog",),
    ("cli",),
    ("cli.picture",),
    ("cli.commands",),
    ("spark.console",),
    ("shell",),
)
"""From the ground up. A room may import rooms of lower floors only."""
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
MOST_MODULES = 21  # of one folder
LARGEST_SHARE = 0.10  # of the product's lines
LONGEST_CHAIN = 25  # imports from one module to the next
CHAIN_OF_SQL = 35  # of what runs SQL, which stands on a table object and everything that it can do
ROOMS_OF_SQL = ("spark.queries", "spark.copy", "spark.statements", "spark.catalog", "spark.console", "shell")
PACKAGE = "paimon_spark"


@functools.cache
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(PACKAGE, exclude_type_checking_imports=True, cache_dir=None)


def modules() -> list[str]:
    """All but packages, which hold a docstring only, and the entry points of the product."""
    entries = {PACKAGE, f"{PACKAGE}.__main__"}
    return sorted(name for name in graph().modules - entries if path_of(name).name != "__init__.py")


def path_of(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def room_of(module: str) -> str:
    """The folder of a module; a module that is a floor of its own is its own room."""
    name = module.removeprefix(f"{PACKAGE}.")
    return name if name in FLOOR_OF else name.rpartition(".")[0]


def test_every_module_is_in_a_room() -> None:
    assert [module for module in modules() if room_of(module) not in FLOOR_OF] == []


def test_every_module_can_be_imported() -> None:
    for module in modules():
        importlib.import_module(module)


def test_imports_run_down() -> None:
    """All imports count, those that only types need too."""
    whole = grimp.build_graph(PACKAGE, cache_dir=None)
    upwards = [
        f"{importer} imports {imported}"
        for importer in modules()
        for imported in whole.find_modules_directly_imported_by(importer)
        if imported != PACKAGE
        and room_of(importer) != room_of(imported)
        and FLOOR_OF[room_of(importer)] <= FLOOR_OF[room_of(imported)]
    ]
    assert upwards == []


@pytest.mark.parametrize("room", FLOOR_OF)
def test_rooms_stay_small(room: str) -> None:
    lines = {module: len(path_of(module).read_text().splitlines()) for module in modules()}
    mine = [module for module in lines if room_of(module) == room]
    assert len(mine) <= MOST_MODULES
    assert sum(lines[module] for module in mine) <= LARGEST_SHARE * sum(lines.values())


def test_every_room_says_what_lives_there() -> None:
    folders = {path.parent for path in (ROOT / PACKAGE).rglob("*.py")} - {ROOT / PACKAGE}
    without = [str(f.relative_to(ROOT)) for f in folders if not (f / "__init__.py").read_text().startswith('"""')]
    assert sorted(without) == []


def test_chains_of_imports_are_short() -> None:
    """Imports form no circle, so the longest chain is found by going down once."""
    below: dict[str, tuple[str, ...]] = {}

    def chain(module: str, above: tuple[str, ...] = ()) -> tuple[str, ...]:
        assert module not in above, f"a circle of imports: {' -> '.join((*above, module))}"
        if module not in below:
            imported = graph().find_modules_directly_imported_by(module) - {PACKAGE}
            below[module] = max((chain(name, (*above, module)) for name in sorted(imported)), key=len, default=())
        return (module, *below[module])

    runs_sql = {module for module in modules() if room_of(module) in ROOMS_OF_SQL}
    for chosen, bound in ((set(modules()) - runs_sql, LONGEST_CHAIN), (runs_sql, CHAIN_OF_SQL)):
        longest = max((chain(module) for module in sorted(chosen)), key=len)
        assert len(longest) - 1 < bound, " -> ".join(longest)


def test_a_reader_of_small_files_needs_little() -> None:
    """consumers.py reads and writes small JSON files: it must not pull in what reads or writes rows."""
    assert len(graph().find_upstream_modules(f"{PACKAGE}.store.history.consumers")) < 80
