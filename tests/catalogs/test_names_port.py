"""The page on new catalogs lists all that their port has."""

from __future__ import annotations

import re

from support.paths import ROOT

from paimon_spark.catalogs.names import Names, ViewNames

PAGE = ROOT / "docs/internals/add-a-catalog.md"


def members(port: type) -> set[str]:
    return {name for name in (*dir(port), *port.__annotations__) if not name.startswith("_")}


def test_the_page_lists_the_port() -> None:
    section = PAGE.read_text().partition("## What a port must do")[2].partition("\n## ")[0]
    assert members(Names) | members(ViewNames) <= set(re.findall(r"`(\w+)`", section))
