"""Searches of tables whose indexes pypaimon made (2.0.0, with paimon-vindex 0.3.0): its rows and its scores.

release/pypaimon_searches.py made them. pypaimon reads what we make: release/search_peers.py.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from support.paths import GOLDEN

from paimon_spark import open_table
from paimon_spark.store.open import ReadableTable

pytest.importorskip("paimon_vindex")
pytest.importorskip("paimon_ftindex")

FACTS = json.loads((GOLDEN / "searches" / "pypaimon-2.0.0.json").read_text(encoding="utf-8"))
SCORE = "__paimon_search_score"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searches")
    with tarfile.open(GOLDEN / "searches" / "pypaimon-2.0.0.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def opened(path: Path, **options: str) -> ReadableTable:
    found = open_table(str(path), options)
    assert isinstance(found, ReadableTable)
    return found


def check_found(found: Any, expected: list[list[float]]) -> None:
    assert found["id"].to_pylist() == [row for row, _ in expected]
    assert found[SCORE].to_pylist() == pytest.approx([score for _, score in expected], abs=1e-4)


@pytest.mark.parametrize("kind", FACTS["vectors"])
def test_vectors(tables: Path, kind: str) -> None:
    path = tables / kind.replace("-", "_")
    wide = {"diskann.l_search": "1000"} if kind == "diskann" else {"ivf.nprobe": "1000"}
    for search in FACTS["vectors"][kind]["searches"]:
        scan = opened(path, **{"vector-index.search-mode": search["mode"]}).scan(["id"])
        check_found(scan.vector_search("e", search["vector"], 7, wide), search["found"])
        if search["mode"] == "full":
            scan = opened(path).scan(["id"])
            check_found(scan.vector_search("e", search["vector"], 7, wide), search["found"])


@pytest.mark.parametrize("tokenizer", FACTS["texts"])
def test_texts(tables: Path, tokenizer: str) -> None:
    path = tables / f"text_{tokenizer}"
    for search in FACTS["texts"][tokenizer]["searches"]:
        scan = opened(path, **{"full-text-index.search-mode": search["mode"]}).scan(["id"])
        check_found(scan.full_text_search("s", json.dumps(search["query"]), 8), search["found"])


def test_rows_that_came_later_are_indexed_alike(tables: Path, tmp_path: Path) -> None:
    """The index of pypaimon goes on with our files, and theirs stay."""
    path = tables / "ivf_flat"
    table = opened(path, **{"global-index.row-count-per-shard": "25"})
    assert table.create_global_index("e", "ivf-flat").rows == 10
    assert opened(path).create_global_index("e", "ivf-flat").files == 0
    search = FACTS["vectors"]["ivf-flat"]["searches"][1]
    scan = opened(path, **{"vector-index.search-mode": "fast"}).scan(["id"])
    check_found(scan.vector_search("e", search["vector"], 7, {"ivf.nprobe": "1000"}), search["found"])
    assert opened(path).drop_global_index("e", "ivf-flat").dropped_files == 3
