"""The shape of the code is a test: sizes, and where imports stand. The rooms are in tests/test_rooms.py."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.paths import ROOT

# One idea may take so many lines: cut in two by its length, both halves import most of the other's names, and neither
# is understood alone. A part that is nobody else's stays in the module that uses it.
MAX_MODULE_LINES = 600
MAX_FUNCTION_LINES = 70
SHIPPED = sorted([*(ROOT / "paimon_spark").rglob("*.py"), *ROOT.glob("pyspark_*.py")])
ALL_CODE = [*SHIPPED, *(p for d in ("tests", "benchmarks", "examples") for p in sorted((ROOT / d).rglob("*.py")))]
STORAGE_CLIENTS = ("obstore", "pyarrow.fs")
# Doors: modules that import within a function what only some of their callers need, so that a process of Spark, or a
# command of the program, does not wait for what it does not use. tests/test_cold_start.py says what each step imports.
DOORS = frozenset(
    f"paimon_spark/{name}.py"
    for name in (
        "arrow/conform",
        "arrow/kernels",
        "arrow/formats/data_file",
        "arrow/formats/parquet_file",
        "arrow/formats/parquet_writer",
        "arrow/predicates/expressions",
        "catalogs/drops",
        "catalogs/factory",
        "file_io/local",
        "file_io/locate",
        "file_io/object_store",
        "format/file_index/bloom",
        "format/file_index/bloom",
        "format/java/text",
        "merge/engines/choice",
        "procedures/call/bind",
        "procedures/local_engine",
        "shell/command",
        "spark/catalog/session_catalog",
        "spark/jobs/spark_engine",
        "spark/queries/session",
        "spark/source/readable",
        "spark/source/source",
        "spark/source/writer",
        "spark/spark_catalog/catalog_calls",
        "spark/spark_catalog/scan_builder",
        "spark/spark_catalog/statement_parser",
        "spark/spark_catalog/system_scan",
        "spark/spark_catalog/table_calls",
        "spark/spark_catalog/write_builder",
        "spark/table/table_appends",
        "spark/statements/calls",
        "spark/statements/run",
        "spark/stream_sink/writer",
        "spark/stream_source/stream_reader",
        "tables/open",
        "writes/commit_write",
        "writes/end_write",
        "writes/open_write",
        "store/compact/compaction",
        "store/compact/plan",
        "store/expire/snapshots",
        "store/iceberg/after",
        "store/metadata/snapshots",
        "store/metadata/table_options",
        "store/open",
        "store/pruning/index_filter",
        "store/read/split_reader",
        "store/scan/new_scan",
        "store/scan/searches",
        "store/scan/split_plan",
        "store/scan/table_scan",
        "store/system_tables/table",
        "store/upkeep/finish_write",
        "store/upkeep/maintenance",
        "store/write/data_writer",
        "store/write/file_layout",
        "store/write/placement",
        "store/write/table_write",
        "store/write/write_plan",
    )
)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@dataclass(frozen=True)
class Shape:
    """What the rules ask of a module. The trees of all modules would stay in memory for the rest of a run."""

    lines: int
    long_functions: list[str]
    late_imports: list[str]
    storage_clients: list[str]


@pytest.fixture(scope="module")
def shapes() -> dict[str, Shape]:
    """The shape of each module of the product, the tests, the benchmarks and the examples."""
    return {named(path): shape(path.read_text()) for path in ALL_CODE}


def shape(text: str) -> Shape:
    tree = ast.parse(text)
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return Shape(
        len(text.splitlines()),
        [f.name for f in functions if (f.end_lineno or f.lineno) - f.lineno >= MAX_FUNCTION_LINES],
        late_imports(tree),
        [name for _, name in imports(tree) if name.startswith(STORAGE_CLIENTS)],
    )


def imports(node: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """(statement, full name of each module it imports), at any depth."""
    for item in ast.walk(node):
        if isinstance(item, ast.Import):
            yield from ((item, alias.name) for alias in item.names)
        elif isinstance(item, ast.ImportFrom):
            yield item, item.module or ""
            yield from ((item, f"{item.module}.{alias.name}") for alias in item.names)


def test_modules_of_tests_have_names_of_their_own() -> None:
    """The folders of tests are no packages, but for support: of two modules with one name pytest can import one."""
    paths = (path for path in (ROOT / "tests").rglob("*.py") if "support" not in path.parts)
    names = Counter(path.name for path in paths if path.name != "conftest.py")
    assert [name for name, count in names.items() if count > 1] == []


def late_imports(module: ast.Module) -> list[str]:
    """What a module imports elsewhere than at its head. What only types need stands there too."""
    typing = [item for item in module.body if isinstance(item, ast.If) and ast.unparse(item.test) == "TYPE_CHECKING"]
    head = [*module.body, *(statement for block in typing for statement in block.body)]
    return [name for statement, name in imports(module) if statement not in head]


def test_modules_and_functions_stay_small(shapes: dict[str, Shape]) -> None:
    assert {name: found.lines for name, found in shapes.items() if found.lines > MAX_MODULE_LINES} == {}
    assert {name: found.long_functions for name, found in shapes.items() if found.long_functions} == {}


def test_imports_stand_at_the_head(shapes: dict[str, Shape]) -> None:
    """Only a door imports elsewhere, and what is called a door does."""
    assert {name for name in map(named, SHIPPED) if shapes[name].late_imports} == DOORS


def test_storage_clients_stay_behind_file_io(shapes: dict[str, Shape]) -> None:
    outside = (name for name in map(named, SHIPPED) if not name.startswith("paimon_spark/file_io/"))
    assert {name: found for name in outside if (found := shapes[name].storage_clients)} == {}
