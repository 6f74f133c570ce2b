"""What the code cites of the notes on the format, on features and on performance is a section of docs/internals."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from doc_pages import DOCS, ROOT, headings

from paimon_spark.format.binary_row import encode_row
from paimon_spark.format.type_text import parse_type

_CITATION = re.compile(
    r"\b(format|features|performance)(?:\s+notes)?,?(?:\s+sections?)?\s+(\d+(?:\.\d+)*[a-z]?)\b", re.IGNORECASE
)
_RULE = re.compile(r"\b([CEHTRF]\d{1,2})\b")


def sections(page: str) -> set[str]:
    """The numbers at the beginning of the headings of a page of docs/internals."""
    text = (DOCS / "internals" / f"{page}.md").read_text(encoding="utf-8")
    return {match[1] for heading in headings(text) if (match := re.match(r"(\d+(?:\.\d+)*[a-z]?)\b", heading))}


SECTIONS = {page: sections(page) for page in ("format", "features", "performance")}


def citations(text: str) -> Iterator[tuple[str, str]]:
    """(page, section) of each citation; line breaks and the marks of comments may stand within."""
    for match in _CITATION.finditer(re.sub(r"\n\s*#?\s*", " ", text)):
        yield match[1].lower(), match[2]


def test_the_code_cites_sections_that_are_there() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), *citation)
        for path in sorted((ROOT / "paimon_spark").rglob("*.py"))
        for citation in citations(path.read_text(encoding="utf-8"))
    }
    assert len(found) >= 90
    assert [(path, page, number) for path, page, number in sorted(found) if number not in SECTIONS[page]] == []


def test_the_pages_cite_sections_that_are_there() -> None:
    for path in sorted(DOCS.rglob("*.md")):
        missing = [
            (page, number)
            for page, number in citations(path.read_text(encoding="utf-8"))
            if number not in SECTIONS[page]
        ]
        assert missing == [], path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(format section 5.3; Java: X)", [("format", "5.3")]),
        ("by the format (format\n    section 3.2)", [("format", "3.2")]),
        ("performance notes, 3a", [("performance", "3a")]),
        ("features 3.23 and Format section 1", [("features", "3.23"), ("format", "1")]),
        ("format of 4 bytes", []),
    ],
)
def test_what_a_citation_is(text: str, found: list[tuple[str, str]]) -> None:
    assert list(citations(text)) == found


def test_the_code_cites_invariants_that_are_there() -> None:
    rules = set(re.findall(r"\{#([cehtrf]\d+)\}", (DOCS / "internals" / "protocol.md").read_text(encoding="utf-8")))
    cited = {
        (path.relative_to(ROOT).as_posix(), rule)
        for path in sorted((ROOT / "paimon_spark").rglob("*.py"))
        for line in re.findall(r"\bprotocol ([CEHTRF]\d.*)", path.read_text(encoding="utf-8"))
        for rule in _RULE.findall(line)
    }
    assert len(cited) >= 25
    assert [(path, rule) for path, rule in sorted(cited) if rule.lower() not in rules] == []


def test_the_tests_that_show_an_invariant_are_there() -> None:
    """protocol.md names tests as ``test_x.py::test_y``, wherever below tests/ the file is."""
    text = (DOCS / "internals" / "protocol.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+\.py)::(\w+)`", text))
    assert len(named) >= 60
    files = {path.name: path for path in (ROOT / "tests").rglob("test_*.py")}
    missing = [
        (name, function)
        for name, function in sorted(named)
        if name not in files or not re.search(rf"^def {function}\(", files[name].read_text(), re.MULTILINE)
    ]
    assert missing == []


def test_the_invariants_that_the_code_and_the_pages_cite_are_there() -> None:
    stated = set(re.findall(r"^\*\*([A-Z]\d+)\.\*\*", (DOCS / "internals" / "protocol.md").read_text(), re.MULTILINE))
    texts = [*(ROOT / "paimon_spark").rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *DOCS.rglob("*.md")]
    cited = {number for path in texts for number in re.findall(r"\bprotocol ([A-Z]\d+)\b", path.read_text())}
    assert cited
    assert cited <= stated


def test_every_invariant_is_stated_once() -> None:
    text = (DOCS / "internals" / "protocol.md").read_text(encoding="utf-8")
    stated = re.findall(r"^\*\*([A-Z]\d+)\.\*\*", text, re.MULTILINE)
    assert len(stated) >= 25
    assert len(stated) == len(set(stated))
    assert set(_RULE.findall(text)) <= set(stated)


def test_the_drawn_row_is_what_is_encoded() -> None:
    """The first drawing of format section 5.1."""
    types = [parse_type(text) for text in ("INT", "STRING", "STRING")]
    row = encode_row((7, "ab", "2026-11-01"), types)
    assert row.hex(" ", 8) == (
        "0000000000000000 0700000000000000 6162000000000082 0a00000020000000 323032362d31312d 3031000000000000"
    )
