"""Names and docstrings use the words of the field (docs/glossary.md), not a dialect of the project."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*(ROOT / "paimon_spark").rglob("*.py"), *(ROOT / "tests/support").rglob("*.py")])
DENIED = {
    "told": "message, text, reported, explanation",
    "doomed": "deletion, to_delete",
    "united": "merged, union",
    "meanwhile": "concurrently",
}
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def denied_names(source: str) -> Iterator[str]:
    """The identifiers with a word of DENIED, each with its line and what to say instead."""
    if not any(word in source.lower() for word in DENIED):
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            for word in {part.lower() for part in _PARTS.findall(token.string)} & DENIED.keys():
                yield f"line {token.start[0]}: {token.string}; say for example {DENIED[word]}"


def denied_docstrings(source: str) -> Iterator[str]:
    """The docstrings that begin with Whether; one of a function says what is true, or who does what."""
    if '"""Whether' not in source:
        return
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            text = statement.value.value if isinstance(value := getattr(statement, "value", None), ast.Constant) else ""
            if isinstance(statement, ast.Expr) and isinstance(text, str) and text.startswith("Whether"):
                yield f"line {value.lineno}: {text.splitlines()[0]!r}; say for example 'True if ...'"


def test_names_have_no_word_of_the_dialect() -> None:
    found = {str(path.relative_to(ROOT)): names for path in SOURCES if (names := list(denied_names(path.read_text())))}
    assert not found, found


def test_docstrings_do_not_begin_with_whether() -> None:
    found = {
        str(path.relative_to(ROOT)): texts for path in SOURCES if (texts := list(denied_docstrings(path.read_text())))
    }
    assert not found, found


def test_modules_have_no_word_of_the_dialect() -> None:
    assert not [path for path in SOURCES if set(_PARTS.findall(path.stem)) & DENIED.keys()]


@pytest.mark.parametrize(
    "name", ["told", "_told", "is_told", "TOLD", "DoomedFile", "delete_doomed", "united_2", "Meanwhile"]
)
def test_names_that_are_denied(name: str) -> None:
    assert list(denied_names(f"{name} = 1\n"))


@pytest.mark.parametrize("line", ["untold = 1", "'told'", "x = 1  # told", "reunited = 2"])
def test_names_that_are_not_denied(line: str) -> None:
    assert not list(denied_names(f"{line}\n"))


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('"""Whether a."""\n', 1),
        ('def f():\n    """Whether a."""\n', 1),
        ('class C:\n    a = 1\n    """Whether a."""\n', 1),
        ('def f():\n    """True if a. Whether b."""\n', 0),
        ('x = """Whether a."""\n', 0),
    ],
)
def test_docstrings_that_are_denied(source: str, count: int) -> None:
    assert len(list(denied_docstrings(source))) == count
