"""The page in a real browser: what a user sees of each view."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium: apt-get install chromium")


def page(address: str, where: str, profile: Path) -> str:
    """The elements of the page, as they are when all that it asked for is drawn."""
    done = subprocess.run(
        [
            str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader",
            f"--user-data-dir={profile}", "--virtual-time-budget=30000", "--dump-dom", f"{address}#{where}",
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert 'aria-busy="false"' in done.stdout, done.stdout[-2000:]
    assert "<img" not in done.stdout, "the name of a partition is text, never markup"
    return done.stdout


def words(elements: str) -> str:
    """The text of elements, without that of the list of tables at the side."""
    main = elements.partition("<main")[2]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", main)).split())


def test_the_list_of_tables(address: str, tmp_path: Path) -> None:
    text = words(page(address, "", tmp_path))
    assert "4 tables" in text
    assert "shop.orders deduplicate by id, day 17 3 6" in text
    assert "shop.clicks append 1 1 1" in text
    assert re.search(r"shop\.nothing append 1 *(shop|$)", text)


def test_the_overview(address: str, tmp_path: Path) -> None:
    elements = page(address, "shop.orders/overview", tmp_path)
    text = words(elements)
    assert "17 rows in files, before they are merged" in text
    assert "5 sorted runs or more" in text
    assert "tag first" in text
    assert "level 0" in text
    assert elements.count('class="main-svg"') >= 2, "two charts"


def test_files_partitions_and_compaction(address: str, tmp_path: Path) -> None:
    assert "bytes of a file" in words(page(address, "shop.orders/files", tmp_path))
    assert "3 partitions: areas are bytes" in words(page(address, "shop.orders/partitions", tmp_path))
    text = words(page(address, "shop.orders/compaction", tmp_path))
    assert "As a writer would compact" in text
    assert "A full compaction" in text
    assert "There is nothing to compact." in words(page(address, "shop.clicks/compaction", tmp_path))


def test_more_files_than_are_drawn_one_by_one(address: str, tmp_path: Path) -> None:
    elements = page(address, "shop.many/files", tmp_path)
    text = words(elements)
    assert "5,001 files" in text
    assert "Files without a time are left out: 1." in text
    assert elements.count('class="main-svg"') >= 1
    rows = [sum(n % 7 for n in range(level, 5001, 2)) for level in (0, 1)]
    assert re.search(rf"level files bytes rows 0 2,501 2.4 MiB {rows[0]:,} 1 2,500 2.4 MiB {rows[1]:,}$", text), text


def test_the_rows_that_differ(address: str, tmp_path: Path) -> None:
    text = words(page(address, "shop.orders/changes/first/5", tmp_path))
    assert "7 rows differ." in text
    assert f"changed {2**60 + 1} a note 1 note 4" in text
    assert "neither a tag of the table" in words(page(address, "shop.orders/changes/no/5", tmp_path))


def test_an_error_is_shown(address: str, tmp_path: Path) -> None:
    assert "shop.db/other" in words(page(address, "shop.other/overview", tmp_path))
    assert "4 tables" in words(page(address, "%E0%A4%A", tmp_path)), "no address of this page"
    assert "17 rows in files" in words(page(address, "shop.orders/toString", tmp_path)), "no name of a view"
