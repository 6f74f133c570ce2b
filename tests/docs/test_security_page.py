"""Each statement of the page on security names test functions that are there."""

from __future__ import annotations

import re

import pytest
from doc_pages import DOCS
from test_comparison import functions, named

PAGE = (DOCS / "operations" / "security.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if re.match(r"\| [^|-]", line)]
STATEMENTS = [row for row in ROWS if not row[-1].startswith("shown by")]


def test_the_page_has_statements() -> None:
    assert len(STATEMENTS) >= 25


@pytest.mark.parametrize("row", STATEMENTS, ids=[row[0][:40] for row in STATEMENTS])
def test_a_statement_names_its_test_functions(row: list[str]) -> None:
    files = named(row)
    assert files, row[0]
    for file, tests in files.items():
        assert tests, file
        assert [test for test in tests if test not in functions(file)] == [], file


def test_what_stands_below_the_tables_names_tests_too() -> None:
    prose = " ".join(line for line in PAGE.splitlines() if not line.startswith("|"))
    texts = re.findall(r"`tests/\S+\.py`(?:,? +`test_\w+`)+", prose)
    assert len(texts) == prose.count("`tests/") > 0
    for text in texts:
        for file, tests in named([text]).items():
            assert [test for test in tests if test not in functions(file)] == [], file
