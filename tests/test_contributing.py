"""CONTRIBUTING.md names files and names in them; they are there."""

from __future__ import annotations

import re

import pytest
from support.paths import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
PATHS = sorted(set(re.findall(r"`((?:paimon_spark|tests|pyspark_paimon)[\w/.]*)`", TEXT)))
# A path, then the name of something defined there.
NAMES = sorted(set(re.findall(r"`(paimon_spark/[\w/]+\.py)`\s+`(\w+)`", TEXT)))


@pytest.mark.parametrize("path", PATHS)
def test_paths_exist(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(("path", "name"), NAMES)
def test_names_are_defined_there(path: str, name: str) -> None:
    assert re.search(rf"^(?:def|class) {name}\b", (ROOT / path).read_text(), re.MULTILINE)


def test_the_walk_is_checked() -> None:
    assert len(NAMES) >= 20
