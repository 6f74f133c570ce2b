"""Every Python, SQL and shell snippet of README.md and docs/ runs, page by page, and prints what the page shows.

The blocks of a page run in their order, with one namespace and one directory. A path ``lake/...`` is below that
directory. In the text that a page shows, ``...`` stands for anything. A block that needs something that a test does not
have is marked in the page with a comment ``<!-- not run: why -->``, and counted here.
"""

from __future__ import annotations

import doctest
import io
import re
import shlex
import subprocess
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from doc_pages import ROOT, Snippet, page_name, pages, snippets
from pyspark.sql import SparkSession
from support.programs.command_line import command

PAGES = [page for page in pages() if any(snippet.not_run is None for snippet in snippets(page))]
NOT_RUN = {
    "README.md": 2,
    "docs/contributing/release.md": 7,
    "docs/get-started/install.md": 2,
    "docs/guides/change-data-capture.md": 1,
    "docs/guides/cluster-and-storage.md": 8,
    "docs/guides/jdbc-catalog.md": 3,
    "docs/guides/notebooks.md": 2,
    "docs/guides/rest-catalog.md": 2,
    "docs/reference/errors.md": 1,
}
_LAKE = re.compile(r"""(?<![\w/:.~-])lake(?=/)|(?<=["'])lake(?=["'])|(?<=--warehouse )lake\b""")
_CHECKER = doctest.OutputChecker()
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.spark
@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_page(page: Path, spark: SparkSession, tmp_path: Path) -> None:
    names: dict[str, Any] = {"spark": spark}
    try:
        for snippet in snippets(page):
            if snippet.not_run is None:
                printed = run(snippet, names, tmp_path, f"{page_name(page)}:{snippet.line}")
                compare(snippet, printed, f"{page_name(page)}:{snippet.line}")
    finally:
        for table in spark.catalog.listTables():
            if table.isTemporary:
                spark.catalog.dropTempView(table.name)


def run(snippet: Snippet, names: dict[str, Any], folder: Path, where: str) -> str:
    """What a snippet prints."""
    code = _LAKE.sub(f"{folder}/lake", snippet.code)
    printed = io.StringIO()
    with redirect_stdout(printed):
        if snippet.language == "python":
            exec(compile(code, where, "exec"), names)
        elif snippet.language == "sql":
            run_sql(code, names["spark"])
        else:
            for line in code.replace("\\\n", " ").splitlines():
                if line.strip() and not line.startswith("#"):
                    print(run_line(line, folder), end="")
    return printed.getvalue()


def run_sql(code: str, spark: SparkSession) -> None:
    for statement in code.split(";"):
        if statement.strip():
            result = spark.sql(statement)
            if result.columns:
                result.show()


def run_line(line: str, folder: Path) -> str:
    program, *arguments = shlex.split(line, comments=True)
    if program != "paimon-spark":
        return subprocess.run(["bash", "-c", line], cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
    printed = command(*arguments)
    assert printed.code == 0, f"{line}: {printed.err}"
    assert printed.out
    return printed.out


def compare(snippet: Snippet, printed: str, where: str) -> None:
    if snippet.expected is None:
        return
    expected = "\n".join(line.rstrip() for line in snippet.expected.strip().splitlines()) + "\n"
    found = printed.strip() + "\n"
    assert _CHECKER.check_output(expected, found, _FLAGS), f"{where} shows\n{expected}\nand prints\n{found}"


def test_what_is_not_run_is_listed() -> None:
    found = {page_name(page): sum(s.not_run is not None for s in snippets(page)) for page in pages()}
    assert {name: count for name, count in found.items() if count} == NOT_RUN


def test_most_snippets_run() -> None:
    every = [snippet for page in pages() for snippet in snippets(page)]
    assert sum(snippet.not_run is None for snippet in every) >= 80
    assert sum(snippet.expected is not None for snippet in every) >= 50


def test_a_wrong_output_is_noticed() -> None:
    snippet = Snippet("python", 1, "print(1)\nprint(2)", "1\n3\n", None)
    with pytest.raises(AssertionError, match=r"and prints\s+1\s+2"):
        compare(snippet, run(snippet, {}, ROOT, "here"), "here")


def test_a_failing_command_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no Paimon table"):
        run_line(f"paimon-spark info {tmp_path}/nothing", tmp_path)
