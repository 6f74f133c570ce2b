"""Each row of the page that compares connectors names tests that are there."""

from __future__ import annotations

import re

from doc_pages import DOCS, ROOT


def test_each_row_of_the_comparison_names_its_tests() -> None:
    text = (DOCS / "compare" / "comparison.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if re.match(r"\| [^|-]", line)]
    assert len(rows) >= 30
    named = {row[0]: re.findall(r"`(tests/[\w/.]+)`", row[-1]) for row in rows}
    assert [row for row, tests in named.items() if not tests] == []
    assert [test for tests in named.values() for test in tests if not (ROOT / test).exists()] == []
