"""Runs the snippets of a page, and compares what they print with what the page shows.

The blocks of a page run in their order, with one namespace and one directory. A path ``lake/...`` is below that
directory. In the text that a page shows, ``...`` stands for anything.
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

from doc_pages import Snippet, page_name, snippets
from pyspark.sql import SparkSession
from support.programs.command_line import command

_LAKE = re.compile(r"""(?<![\w/:.~-])lake(?=/)|(?<=["'])lake(?=["'])|(?<=--warehouse )lake\b""")
_CHECKER = doctest.OutputChecker()
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_page(page: Path, spark: SparkSession, folder: Path) -> None:
    """Runs all snippets of a page but those that it marks as not run."""
    names: dict[str, Any] = {"spark": spark}
    try:
        for snippet in snippets(page):
            if snippet.not_run is None:
                printed = run(snippet, names, folder, f"{page_name(page)}:{snippet.line}")
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
