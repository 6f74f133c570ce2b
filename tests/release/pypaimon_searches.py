"""Indexes for searches by pypaimon. It is run by a Python that has pypaimon, and imports nothing of ours.

    <python with pypaimon[vindex,full-text]> tests/release/pypaimon_searches.py make <an empty directory>
    <python with pypaimon[vindex,full-text]> tests/release/pypaimon_searches.py compare <a warehouse of search_peers.py>

``make`` writes what tests/golden/searches has: tables with an index of two files, and ten rows that it does not cover,
and what searches find in them. ``compare`` searches tables of ours, and prints what is found otherwise.
"""

from __future__ import annotations

import json
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pypaimon import CatalogFactory, Schema

EVOLVED = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
ROWS = pa.schema([("id", pa.int64()), ("e", pa.list_(pa.float32())), ("s", pa.string())])
SHARD = {"global-index.row-count-per-shard": "25"}
METRICS = {"ivf-flat": "l2", "ivf-pq": "cosine", "ivf-sq": "inner_product", "ivf-rq": "l2", "diskann": "cosine"}
NGRAMS = {"full-text.tokenizer": "ngram", "full-text.ngram.min-gram": "2", "full-text.ngram.max-gram": "3"}
TOKENIZERS = {"default": {}, "ngram": NGRAMS, "jieba": {"full-text.tokenizer": "jieba"}}
WORDS = ["lake", "house", "fish", "table", "format", "snow", "café", "北京", "湖", "manifest"]
VECTORS = ([0.5, 0.0, -1.0, 0.25], [1.0, 1.0, 1.0, 1.0])
QUERIES = (
    {"match": {"query": "lake fish"}},
    {"match": {"query": "北京"}},
    {"match_phrase": {"query": "lake house"}},
    {"match": {"query": "cafe format", "operator": "And"}},
)


def found(table: Any, result: Any) -> list[list[float]]:
    """The ids that a search finds, with their scores, the best first."""
    if result.results().is_empty():
        return []
    builder = table.new_read_builder().with_projection(["id", "_ROW_ID"])
    splits = builder.new_scan().with_global_index_result(result).plan().splits()
    score = result.score_getter()
    rows = ([row["id"], score(row["_ROW_ID"])] for row in builder.new_read().to_arrow(splits).to_pylist())
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def near(table: Any, kind: str, vector: list[float], mode: str) -> list[list[float]]:
    reading = table.copy({"vector-index.search-mode": mode})
    builder = reading.new_vector_search_builder().with_vector_column("e").with_query_vector(vector).with_limit(7)
    builder = builder.with_option("diskann.l_search" if kind == "diskann" else "ivf.nprobe", "1000")
    return found(reading, builder.execute_local())


def fitting(table: Any, query: dict[str, Any], mode: str) -> list[list[float]]:
    reading = table.copy({"full-text-index.search-mode": mode})
    builder = reading.new_full_text_search_builder().with_query("s", json.dumps(query)).with_limit(8)
    return found(reading, builder.execute_local())


def given_rows() -> list[dict[str, Any]]:
    random = np.random.default_rng(11)
    rows = []
    for i in range(60):
        vector = None if i % 9 == 4 else [float(x) for x in random.integers(-8, 9, 4) / 4]
        text = None if i % 8 == 5 else " ".join(WORDS[int(k)] for k in random.integers(0, len(WORDS), i % 6))
        rows.append({"id": i, "e": vector, "s": text})
    return rows


def append(table: Any, rows: list[dict[str, Any]]) -> None:
    builder = table.new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    write.write_arrow(pa.Table.from_pylist(rows, schema=ROWS))
    commit.commit(write.prepare_commit())
    write.close()
    commit.close()


def made(catalog: Any, name: str, options: dict[str, str], column: str, kind: str, more: dict[str, str]) -> Any:
    """A table of all rows, with an index of the first 50."""
    rows = given_rows()
    catalog.create_table(f"db.{name}", Schema.from_pyarrow_schema(ROWS, options={**EVOLVED, **options}), False)
    append(catalog.get_table(f"db.{name}"), rows[:30])
    append(catalog.get_table(f"db.{name}"), rows[30:50])
    files = catalog.get_table(f"db.{name}").create_global_index(column, index_type=kind, options={**SHARD, **more})
    assert files == 2
    append(catalog.get_table(f"db.{name}"), rows[50:])
    return catalog.get_table(f"db.{name}")


def make(folder: Path) -> None:
    catalog = CatalogFactory.create({"warehouse": str(folder)})
    catalog.create_database("db", True)
    writer = f"pypaimon {version('pypaimon')}, paimon-vindex {version('paimon-vindex')}"
    facts: dict[str, Any] = {"writer": writer, "rows": given_rows(), "vectors": {}, "texts": {}}
    modes = ("fast", "full")
    for kind, metric in METRICS.items():
        options = {f"{kind}.dimension": "4", f"{kind}.distance.metric": metric}
        parts = {"ivf-pq.pq.m": "2"} if kind == "ivf-pq" else {}
        table = made(catalog, kind.replace("-", "_"), options, "e", kind, {**options, **parts})
        searches = [{"vector": v, "mode": m, "found": near(table, kind, v, m)} for v in VECTORS for m in modes]
        facts["vectors"][kind] = {"metric": metric, "searches": searches}
    for name, options in TOKENIZERS.items():
        table = made(catalog, f"text_{name}", options, "s", "full-text", {})
        searches = [{"query": q, "mode": m, "found": fitting(table, q, m)} for q in QUERIES for m in modes]
        facts["texts"][name] = {"options": options, "searches": searches}
    (folder / "facts.json").write_text(json.dumps(facts, ensure_ascii=False), encoding="utf-8")
    with tarfile.open(folder / "tables.tar.gz", "w:gz") as archive:
        archive.add(folder / "db.db", arcname=".")


def compare(folder: Path) -> int:
    catalog, equal, other = CatalogFactory.create({"warehouse": str(folder)}), 0, 0
    for name, (kind, searches) in json.loads((folder / "ours.json").read_text(encoding="utf-8")).items():
        table = catalog.get_table(f"db.{name}")
        for search in searches:
            if "vector" in search:
                theirs = near(table, kind, search["vector"], search["mode"])
            else:
                theirs = fitting(table, search["query"], search["mode"])
            ours = search["found"]
            scores = zip((score for _, score in ours), (score for _, score in theirs), strict=False)
            if [i for i, _ in ours] == [i for i, _ in theirs] and all(abs(a - b) < 1e-4 for a, b in scores):
                equal += 1
                continue
            other += 1
            print(f"{name}, {search}: pypaimon finds {theirs}")
    print(f"pypaimon {version('pypaimon')}: {equal} searches find the same rows, {other} others")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(make(Path(sys.argv[2])) if sys.argv[1] == "make" else compare(Path(sys.argv[2])))
