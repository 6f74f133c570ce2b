"""CONTRIBUTING.md and docs/internals, with their pictures, name files, folders and definitions; they are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from doc_pages import DOCS, ROOT, page_name

PACKAGE = ROOT / "paimon_spark"
PAGES = [
    ROOT / "CONTRIBUTING.md",
    *sorted((DOCS / "internals").glob("*.md")),
    *sorted((DOCS / "internals").glob("*.svg")),
]
_FOLDERS = "|".join(sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name[0] != "_"))
_MODULES = "|".join(sorted(path.stem for path in PACKAGE.glob("[a-z]*.py")))
_PATH = re.compile(
    rf"(?<![\w./-])(?:(?:paimon_spark|tests|tools)/[\w/.]+|(?:{_FOLDERS})/[\w/]+(?:\.py)?|(?:{_MODULES}|pyspark_paimon)\.py)"
)
_PATH_AND_NAME = re.compile(r"`([\w/]+\.py)`\s+`(\w+)`")


def named_paths(text: str) -> list[str]:
    """The paths in the code of a page, and in the texts in fixed width of a picture."""
    texts = re.findall(r"`([^`\n]+)`", text) + re.findall(r'font-family="monospace"[^>]*>([^<]+)<', text)
    return [path.rstrip("/.") for text in texts for path in _PATH.findall(text)]


def found(path: str) -> Path | None:
    """A path from the root of the repository, in the package, or of a test without its ending."""
    places = (ROOT / path, PACKAGE / path, ROOT / "tests" / f"{path}.py")
    return next((place for place in places if place.exists()), None)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_paths_exist(page: Path) -> None:
    assert [path for path in named_paths(page.read_text()) if found(path) is None] == []


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_names_are_defined_there(page: Path) -> None:
    pairs = [(found(path), name) for path, name in _PATH_AND_NAME.findall(page.read_text())]
    assert [
        (str(path), name)
        for path, name in pairs
        if path is None or not re.search(rf"^(?:def|class) {name}\b", path.read_text(), re.MULTILINE)
    ] == []


def test_the_pages_name_many() -> None:
    pages = {page.name: page.read_text() for page in PAGES}
    assert {name for name in ("read.md", "write.md", "lsm-tree.md") if len(named_paths(pages[name])) < 20} == set()
    assert {name for name in ("read.svg", "write.svg") if len(named_paths(pages[name])) < 10} == set()
    assert sum(len(_PATH_AND_NAME.findall(text)) for text in pages.values()) >= 50


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("`store/read` and `store/nowhere.py`", ["store/read", "store/nowhere.py"]),
        ("`errors.py`; `merge/keys/`", ["errors.py", "merge/keys"]),
        ("`spark.read` `a/store/b` store/read", []),
        (
            '<text font-family="monospace" font-size="11">store/open.py, arrow/formats</text>',
            ["store/open.py", "arrow/formats"],
        ),
        ("`paimon_spark/store/open.py` `tests/spark`", ["paimon_spark/store/open.py", "tests/spark"]),
    ],
)
def test_what_a_path_is(text: str, paths: list[str]) -> None:
    assert named_paths(text) == paths


def test_a_path_that_is_not_there_is_noticed() -> None:
    assert found("store/nowhere.py") is None
    assert found("store/read") == PACKAGE / "store" / "read"
