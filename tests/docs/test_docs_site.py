"""The site is built, without a warning, and works without a network; its generated pages say what the code says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from doc_pages import DOCS, ROOT

import paimon_spark
from paimon_spark import errors
from paimon_spark.cli.command_list import COMMANDS
from paimon_spark.format.options.catalogue import CATALOGUE, Status
from paimon_spark.format.options.table_settings import TABLE_OPTIONS
from paimon_spark.procedures.catalogue import PROCEDURES
from paimon_spark.procedures.procedure import arguments_of, sentence
from paimon_spark.store.system_tables.names import NAMES


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(
        build,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "NO_MKDOCS_2_WARNING": "1",
            "http_proxy": "http://127.0.0.1:9",
            "https_proxy": "http://127.0.0.1:9",
        },
    )
    assert done.returncode == 0, done.stderr
    return folder


class Loaded(HTMLParser):
    """What a browser loads by itself for a page: scripts, styles, pictures, fonts; and the text of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "img", "iframe"):
            self.addresses.append(given.get("src") or "")
        elif tag == "link" and (given.get("rel") or "") in ("stylesheet", "icon", "preload", "preconnect"):
            self.addresses.append(given.get("href") or "")

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def loaded(page: Path) -> Loaded:
    parser = Loaded()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


def text_of(page: Path) -> str:
    return "".join(loaded(page).words)


def test_no_page_loads_anything_from_the_net(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) >= 30
    found = {address for page in pages for address in loaded(page).addresses if address}
    assert [address for address in found if re.match(r"(https?:)?//", address)] == []
    styles = "".join(style.read_text(encoding="utf-8") for style in site.rglob("*.css"))
    assert re.findall(r"url\(['\"]?(https?://[^)]*)", styles) == []


def test_the_search_works_from_disk(site: Path) -> None:
    """A page that is opened from disk may not fetch JSON: the index must be a script too."""
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert "withdraw" in index
    assert (site / "assets" / "frame-worker.js").exists()
    links = re.findall(r'href="([^"#:]+)[#"]', (site / "index.html").read_text(encoding="utf-8"))
    assert len(links) >= 30
    assert [link for link in links if link.endswith("/")] == []  # which a browser would show as a directory


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("vacuum", "maintenance"),
        ("upsert", "write"),
        ("upsert", "change-rows"),
        ("upsert", "merge-engines"),
        ("optimize", "compaction"),
        ("optimize", "clustering"),
        ("z-order", "clustering"),
        ("time travel", "time-travel"),
        ("schema evolution", "schema-evolution"),
    ],
)
def test_the_search_finds_pages_by_words_of_other_systems(words: str, page: str) -> None:
    """A sentence has them, not a heading, a table or code alone."""
    text = (DOCS / "guides" / f"{page}.md").read_text(encoding="utf-8").lower()
    assert words in re.sub(r"(?ms)^ *```.*?^ *```$|^[#|][^\n]*$", "", text)


def test_every_option_is_on_its_page(site: Path) -> None:
    text = text_of(site / "reference" / "options.html")
    assert [key for key in CATALOGUE if key not in text] == []


def test_every_honoured_option_is_described() -> None:
    assert TABLE_OPTIONS.keys() == {key for key, entry in CATALOGUE.items() if entry.status is Status.HONOURED}
    assert [key for key, x in TABLE_OPTIONS.items() if not re.fullmatch(r"[^\n|]{10,}\.", x.meaning)] == []


def test_every_command_and_system_table_is_on_its_page(site: Path) -> None:
    commands, tables = text_of(site / "reference" / "cli.html"), text_of(site / "reference" / "system-tables.html")
    assert [name for name in COMMANDS if f"paimon-spark {name}" not in commands] == []
    assert [name for name in NAMES if f"${name}" not in tables] == []


def test_every_procedure_and_its_arguments_are_on_their_page(site: Path) -> None:
    text = " ".join(text_of(site / "reference" / "procedures.html").split())
    assert [name for name in PROCEDURES if f"CALL sys.{name}(" not in text] == []
    docs = [sentence(declared) for procedure in PROCEDURES.values() for declared in arguments_of(procedure).values()]
    assert [doc for doc in docs if doc.replace("`", "") not in text] == []


def test_methods_have_the_docstrings_of_their_declarations(site: Path) -> None:
    text = " ".join(text_of(site / "reference" / "python-api.html").split())
    methods = {name: procedure for name, procedure in PROCEDURES.items() if name != "compact"}
    docs = [declared.argument.doc for procedure in methods.values() for declared in arguments_of(procedure).values()]
    assert [doc for doc in docs if doc.replace("`", "") not in text] == []


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    text = (site / "reference" / "python-api.html").read_text(encoding="utf-8")
    names = set(paimon_spark.__all__) - {"__version__", "errors"}
    assert [name for name in names if f'id="paimon_spark.{name}"' not in text] == []
    methods = [name for name in dir(paimon_spark.PaimonTable) if not name.startswith("_")]
    assert len(methods) >= 45
    assert [name for name in methods if f'id="paimon_spark.PaimonTable.{name}"' not in text] == []


def test_each_page_tells_the_release(site: Path) -> None:
    assert f"paimon-spark {paimon_spark.__version__}" in text_of(site / "index.html")


def test_methods_stand_in_the_groups_of_their_docstring(site: Path) -> None:
    text = (site / "reference" / "python-api.html").read_text(encoding="utf-8")
    headings = re.findall(r'<h[45] id="([^"]+)"', text)
    read, write = headings.index("PaimonTable.read"), headings.index("PaimonTable.write")
    assert {"paimon_spark.PaimonTable.toDF", "paimon_spark.PaimonTable.count"} <= set(headings[read:write])
    assert "PaimonTable.others" not in headings  # the docstring names every method
    assert [heading for heading in headings if re.search(r"PaimonTable\._", heading)] == []


def test_the_search_leaves_out_the_inventory_of_the_official_system(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert "internals/protocol.html" in index
    assert "internals/features.html" not in index


def test_every_error_says_what_to_do() -> None:
    table = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    leaves = [
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.PaimonError) and value is not errors.PaimonError
    ]
    assert len(leaves) >= 20
    assert [name for name in leaves if not re.search(rf"^\|.*`{name}`.*\|", table, re.MULTILINE)] == []


def test_what_an_error_is_too() -> None:
    table = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    said = re.findall(r"^\| `(\w+)` \|.* It is an? (.*) too\. \|$", table, re.MULTILINE)
    assert len(said) >= 5
    builtin = {"TypeError": TypeError, "AttributeError": AttributeError, "MemoryError": MemoryError}
    for name, others in said:
        for other in re.findall(r"`(\w+)`", others):
            assert issubclass(getattr(errors, name), builtin.get(other) or getattr(errors, other)), (name, other)


def test_a_warning_fails_the_build(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("[nowhere](nowhere.md)\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: x\nplugins: []\n")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict"]  # --quiet would silence --strict
    assert subprocess.run(build, cwd=tmp_path, capture_output=True, check=False).returncode != 0
