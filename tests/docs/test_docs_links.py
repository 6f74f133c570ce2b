"""Relative links of README.md, CHANGELOG.md, CONTRIBUTING.md and docs/ lead to files, their anchors to headings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from doc_pages import DOCS, ROOT, headings, page_name, pages, without_code

_LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
_BUILT = {
    "reference/options.md",
    "reference/cli.md",
    "reference/procedures.md",
    "reference/system-tables.md",
    "changelog.md",
}  # tools/docs_pages.py
CHECKED = [*pages(), ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]


@pytest.mark.parametrize("page", CHECKED, ids=page_name)
def test_links(page: Path) -> None:
    broken = [link for link in links(page.read_text(encoding="utf-8")) if not leads_somewhere(page, link)]
    assert broken == []


def links(text: str) -> list[str]:
    return _LINK.findall(re.sub(r"`[^`\n]*`", "", without_code(text)))


def leads_somewhere(page: Path, link: str) -> bool:
    if re.match(r"[a-z]+:", link):
        return True
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return target.is_relative_to(DOCS) and target.relative_to(DOCS).as_posix() in _BUILT
    if page.is_relative_to(DOCS) and not target.is_relative_to(DOCS):
        return False  # the site has only what is in docs/
    return not anchor or anchor in anchors(target.read_text(encoding="utf-8"))


def anchors(text: str) -> set[str]:
    """The headings of a page, the anchors that it names, and the names of the code that mkdocstrings puts there."""
    named = re.findall(r"\{#([\w-]+)\}", text) + re.findall(r"^::: (\S+)$", text, re.MULTILINE)
    return {slug(heading) for heading in headings(text)} | set(named)


def slug(heading: str) -> str:
    """The anchor that mkdocs gives a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


@pytest.mark.parametrize("page", [page for page in pages() if page.is_relative_to(DOCS)], ids=page_name)
def test_no_text_is_lost_as_html(page: Path) -> None:
    """A type such as ARRAY<STRING> outside of code would be an unknown tag, which a browser does not show."""
    text = re.sub(r"`[^`\n]*`|<!--.*?-->", "", without_code(page.read_text(encoding="utf-8")))
    assert re.findall(r".{0,30}<[A-Za-z/].{0,30}", text) == []


def test_a_broken_link_is_noticed() -> None:
    page = DOCS / "index.md"
    assert links("[a](b.md#c) `[no](link)`\n```\n[no](link)\n```") == ["b.md#c"]
    assert not leads_somewhere(page, "nowhere.md")
    assert not leads_somewhere(page, "glossary.md#nothing-here")
    assert not leads_somewhere(page, "../README.md")
    assert leads_somewhere(page, "glossary.md")


def test_every_page_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"(\S+\.md)\s*$", menu, re.MULTILINE))
    there = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert named == there | _BUILT
