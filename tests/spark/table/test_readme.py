"""The examples of README.md run as they stand, in their order: Python first, then the command line."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.paths import ROOT
from support.programs.command_line import command

pytestmark = pytest.mark.spark

README = (ROOT / "README.md").read_text()
ELSEWHERE = ("sc://", "http://")  # a server of somebody's own
VIEWS = re.findall(r"TEMPORARY VIEW (\w+)", README)


def test_examples(spark: SparkSession, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    examples = [block for block in blocks if not any(word in block for word in ELSEWHERE)]
    assert len(examples) >= 8
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example.replace("/lake/", f"{tmp_path}/"), "README.md", "exec"), names)
    for view in VIEWS:
        spark.catalog.dropTempView(view)
    rows = spark.read.format("paimon").load(f"{tmp_path}/shop.db/orders").orderBy("id").collect()
    assert [tuple(row) for row in rows] == [(8, "2026-11-01", 3.5), (11, "2026-11-02", 7.0), (12, "2026-11-03", 8.0)]
    for line in re.findall(r"^paimon-spark .*", README, re.MULTILINE):
        _, *arguments = shlex.split(line.replace("/lake/", f"{tmp_path}/"), comments=True)
        printed = command(*arguments)
        assert printed.code == 0, f"{line}: {printed.err}"
        assert printed.out


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists()


def test_the_contents_name_every_section() -> None:
    named = re.findall(r"\]\(#([\w-]+)\)", README)
    sections = re.findall(r"^## (.+)$", README, re.MULTILINE)
    assert named == [re.sub(r"[^\w -]", "", section).lower().replace(" ", "-") for section in sections]
