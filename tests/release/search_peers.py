"""Tables whose indexes for searches we have made, with and without deleted rows: pypaimon finds the same rows in them.

    python tests/release/search_peers.py <python with pypaimon[vindex,full-text]> [...]

Each named Python runs pypaimon_searches.py. With 2.0.0 (paimon-vindex 0.3.0) and 2.1.0 (0.5.0) all 88 searches were
equal.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from paimon_spark import create_table, open_table
from paimon_spark.store.open import ReadableTable

TESTS = Path(__file__).parents[1]
FACTS = json.loads((TESTS / "golden/searches/pypaimon-2.0.0.json").read_text(encoding="utf-8"))
EVOLVED = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
ROWS = pa.schema([("id", pa.int64()), ("e", pa.list_(pa.float32())), ("s", pa.string())])
SCORE = "__paimon_search_score"


def made(path: Path, options: dict[str, str], column: str, kind: str, deletes: bool) -> None:
    """A table of all rows, with an index of the first 50."""
    vectors = {"deletion-vectors.enabled": "true"} if deletes else {}
    create_table(str(path), ROWS, options={**EVOLVED, **vectors, **options})
    for part in (FACTS["rows"][:30], FACTS["rows"][30:50]):
        opened(path).append(part)
    more = {"ivf-pq.pq.m": "2"} if kind == "ivf-pq" else {}
    opened(path, {"global-index.row-count-per-shard": "25", **more}).create_global_index(column, kind)
    opened(path).append(FACTS["rows"][50:])
    if deletes:
        opened(path).delete("id in (3, 24, 27, 36, 55)")


def opened(path: Path, options: Any = ()) -> Any:
    found = open_table(str(path), dict(options))
    assert isinstance(found, ReadableTable)
    return found


def pairs(found: pa.Table) -> list[tuple[int, float]]:
    return list(zip(found["id"].to_pylist(), found[SCORE].to_pylist(), strict=True))


def write(folder: Path) -> None:
    ours = {}
    for deletes in (False, True):
        end = "_deleted" if deletes else ""
        for kind, facts in FACTS["vectors"].items():
            name = kind.replace("-", "_") + end
            path = folder / "db.db" / name
            options = {f"{kind}.distance.metric": facts["metric"], f"{kind}.dimension": "4"}
            made(path, options, "e", kind, deletes)
            wide = {"diskann.l_search" if kind == "diskann" else "ivf.nprobe": "1000"}
            searches = []
            for search in facts["searches"]:
                scan = opened(path, {"vector-index.search-mode": search["mode"]}).scan(["id"])
                searches.append({**search, "found": pairs(scan.vector_search("e", search["vector"], 7, wide))})
            ours[name] = (kind, searches)
        for tokenizer, facts in FACTS["texts"].items():
            name = f"text_{tokenizer}{end}"
            path = folder / "db.db" / name
            made(path, facts["options"], "s", "full-text", deletes)
            searches = []
            for search in facts["searches"]:
                scan = opened(path, {"full-text-index.search-mode": search["mode"]}).scan(["id"])
                searches.append({**search, "found": pairs(scan.full_text_search("s", json.dumps(search["query"]), 8))})
            ours[name] = ("full-text", searches)
    (folder / "ours.json").write_text(json.dumps(ours), encoding="utf-8")


def main(pythons: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "db.db").mkdir()
        write(Path(folder))
        program = [str(Path(__file__).with_name("pypaimon_searches.py")), "compare", folder]
        return max(subprocess.run([python, *program], check=False).returncode for python in pythons)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
