"""Each row of the page that compares connectors names test functions that are there and may show what it says."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest
from doc_pages import DOCS, ROOT

PAGE = (DOCS / "compare" / "comparison.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if re.match(r"\| [^|-]", line)]
BY_NAME = {row[0]: row for row in ROWS}


def named(row: list[str]) -> dict[str, list[str]]:
    """The test files of the last column, each with the functions that are named behind it."""
    found: dict[str, list[str]] = {}
    for span in re.findall(r"`([^`]+)`", row[-1]):
        if span.startswith("tests/"):
            found[span] = []
        else:
            found[next(reversed(found))].append(span)
    return found


@cache
def functions(file: str) -> dict[str, str]:
    """The test functions of a file, also those of its classes, and the code of each."""
    text = (ROOT / file).read_text(encoding="utf-8")
    tests = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    return {test.name: ast.unparse(test) for test in tests if test.name.startswith("test_")}


def test_the_page_has_rows() -> None:
    assert len(BY_NAME) == len(ROWS) >= 30


@pytest.mark.parametrize("name", BY_NAME)
def test_a_row_names_its_test_functions(name: str) -> None:
    files = named(BY_NAME[name])
    assert files
    for file, tests in files.items():
        assert tests, file
        assert [test for test in tests if test not in functions(file)] == [], file


@pytest.mark.parametrize("name", [name for name, row in BY_NAME.items() if re.search(r"\brefused\b|^no\b", row[1])])
def test_what_is_not_there_is_refused_in_a_test(name: str) -> None:
    files = named(BY_NAME[name])
    assert [test for file, tests in files.items() for test in tests if ".raises(" in functions(file)[test]]


@pytest.mark.parametrize("name", [name for name, row in BY_NAME.items() if "`cat.sql`" in row[1]])
def test_a_row_on_sql_names_both_ways(name: str) -> None:
    """The genuine statements run by `cat.sql` and by `spark.sql` of a session with `register_catalog`."""
    assert "`register_catalog`" in BY_NAME[name][1]
