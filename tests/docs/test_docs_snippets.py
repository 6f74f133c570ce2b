"""Every Python, SQL and shell snippet of README.md and docs/ runs, page by page, and prints what the page shows.

How they run is in doc_runs. Some pages run on Spark Connect too: one in each run, and all with PAIMON_LONG=1. A block
that needs something that a test does not have is marked in the page with a comment ``<!-- not run: why -->``, and
counted here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from doc_pages import DOCS, ROOT, Snippet, page_name, pages, snippets
from doc_runs import compare, run, run_line, run_page
from pyspark.sql import SparkSession
from support.long_runs import LONG, draws
from support.registered_catalogs import forget_catalogs

from paimon_spark.spark.adapters import open_catalogs

PAGES = [page for page in pages() if any(snippet.not_run is None for snippet in snippets(page))]
ON_CONNECT = [
    DOCS / f"guides/{name}.md"
    for name in ("blob", "change-rows", "global-indexes", "row-ids", "schema-evolution", "tables-of-files", "variant")
]
NOT_RUN = {
    "README.md": 2,
    "docs/contributing/release.md": 10,
    "docs/get-started/install.md": 2,
    "docs/guides/browser-page.md": 1,
    "docs/guides/catalogs.md": 1,
    "docs/guides/change-data-capture.md": 1,
    "docs/guides/cluster-and-storage.md": 11,
    "docs/guides/hive-catalog.md": 6,
    "docs/guides/iceberg-readers.md": 1,
    "docs/guides/tables-of-files.md": 3,
    "docs/guides/jdbc-catalog.md": 3,
    "docs/guides/notebooks.md": 2,
    "docs/guides/python-without-spark.md": 3,
    "docs/guides/read.md": 1,
    "docs/guides/rest-catalog.md": 5,
    "docs/internals/protocol.md": 1,
    "docs/reference/errors.md": 1,
}


@pytest.fixture
def spark_of_users(spark: SparkSession) -> Iterator[SparkSession]:
    """The session whose driver reads small tables and writes few rows itself, as where nobody says otherwise.

    It has none of the catalogs that other tests have opened.
    """
    open_catalogs._OPEN.pop(spark, None)
    for setting in ("read", "write"):
        spark.conf.set(f"spark.paimon.{setting}.local", "true")
    yield spark
    for setting in ("read", "write"):
        spark.conf.set(f"spark.paimon.{setting}.local", "false")
    forget_catalogs(spark)


@pytest.mark.spark
@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_page(page: Path, spark_of_users: SparkSession, tmp_path: Path) -> None:
    run_page(page, spark_of_users, tmp_path)


@pytest.mark.spark
def test_pages_on_connect(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    chosen = ON_CONNECT if LONG else [draws().choice(ON_CONNECT)]
    program = ROOT / "tests/support/programs/pages_on_connect.py"
    env = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYTHONPATH"))}
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tests/docs")))
    env.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1", PYTHONPATH=paths)
    command = [sys.executable, str(program), str(tmp_path), *map(str, chosen)]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-8000:]
    assert f"{len(chosen)} pages print what they show" in done.stdout


def test_what_is_not_run_is_listed() -> None:
    found = {page_name(page): sum(s.not_run is not None for s in snippets(page)) for page in pages()}
    assert {name: count for name, count in found.items() if count} == NOT_RUN


def test_a_page_that_uses_spark_makes_it() -> None:
    """A reader who copies one block after the other has no session but that of the page."""
    for page in pages():
        if page.is_relative_to(DOCS) and page.parent.name in ("guides", "get-started", "compare"):
            code = [snippet.code for snippet in snippets(page) if snippet.language == "python"]
            uses = next((n for n, text in enumerate(code) if re.search(r"(?<![\w.\"'])spark[.,)]", text)), None)
            made = any(re.search(r"\bspark = ", text) for text in code[: (uses or 0) + 1])
            assert uses is None or made, page_name(page)


def test_most_snippets_run() -> None:
    every = [snippet for page in pages() for snippet in snippets(page)]
    assert sum(snippet.not_run is None for snippet in every) >= 80
    assert sum(snippet.expected is not None for snippet in every) >= 50


def test_code_fits_the_column_of_a_page() -> None:
    """On a screen of 1280 pixels; ruff wraps Python (docs/ruff.toml), but no text within it."""
    shown = [
        page for page in pages() if page.is_relative_to(DOCS) and page.parent.name not in ("internals", "contributing")
    ]
    wide = [
        f"{page_name(page)}:{snippet.line}: {line}"
        for page in shown
        for snippet in snippets(page)
        for line in snippet.code.splitlines()
        if len(line) > 86
    ]
    assert wide == []


def test_a_wrong_output_is_noticed() -> None:
    snippet = Snippet("python", 1, "print(1)\nprint(2)", "1\n3\n", None)
    with pytest.raises(AssertionError, match=r"and prints\s+1\s+2"):
        compare(snippet, run(snippet, {}, ROOT, "here"), "here")


def test_a_failing_command_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no Paimon table"):
        run_line(f"paimon-spark info {tmp_path}/nothing", tmp_path)
