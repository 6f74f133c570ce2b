"""The pages of the documentation: their snippets, what these print, and their headings."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LANGUAGES = ("python", "sql", "bash")

_FENCE = re.compile(
    r"(?:^(?P<mark>[ ]*<!-- not run: (?P<reason>[^\n]*?) -->)\n)?"
    r"^(?P<indent>[ ]*)```(?P<language>\w+)[^\n]*\n(?P<code>.*?)^(?P=indent)```[ ]*$",
    re.MULTILINE | re.DOTALL,
)
_HEADING = re.compile(r"^(#{1,6}) +(.+?)(?: *\{[^}]*\})? *$", re.MULTILINE)


@dataclass(frozen=True)
class Snippet:
    """One block of code.

    Attributes:
        language: the word behind the fence.
        line: of the fence in the page, from 1.
        code: without the indentation of the block.
        expected: the text block that follows at once, which shows what the code prints; None: there is none.
        not_run: why no test runs it; None: one does.
    """

    language: str
    line: int
    code: str
    expected: str | None
    not_run: str | None


def pages() -> list[Path]:
    """README.md, every page of docs/, and the heads of the pages that tools/docs_pages.py writes."""
    return [ROOT / "README.md", *sorted([*DOCS.rglob("*.md"), *DOCS.rglob("_*.txt")])]


def page_name(page: Path) -> str:
    """The path from the root of the repository."""
    return page.relative_to(ROOT).as_posix()


def snippets(page: Path) -> list[Snippet]:
    """The Python, SQL and shell blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    fences = list(_FENCE.finditer(text))
    found = []
    for number, fence in enumerate(fences):
        if fence["language"] not in LANGUAGES:
            continue
        after = fences[number + 1] if number + 1 < len(fences) else None
        follows = after is not None and after["language"] == "text" and not text[fence.end() : after.start()].strip()
        found.append(
            Snippet(
                language=fence["language"],
                line=text.count("\n", 0, fence.start("indent")) + 1,
                code=textwrap.dedent(fence["code"]),
                expected=textwrap.dedent(after["code"]) if after is not None and follows else None,
                not_run=fence["reason"],
            )
        )
    return found


def without_code(text: str) -> str:
    """The text of a page without its blocks of code, line by line where it was."""
    return re.sub(r"^([ ]*)```.*?^\1```[ ]*$", lambda m: "\n" * m[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)


def headings(text: str) -> Iterator[str]:
    """The headings of a page."""
    for match in _HEADING.finditer(without_code(text)):
        yield match[2]
