"""Searches for texts: the rows of a naive look at their words, with indexes over some of the rows, or none."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import examples
from support.oracles.checker import check_table
from support.tables.column_changes import EVOLVED, VECTORS

from paimon_spark import create_table, open_table
from paimon_spark.errors import CorruptFile, OptionError, PaimonError, UnsupportedFeature
from paimon_spark.store.open import ReadableTable

pytest.importorskip("paimon_ftindex")

SCORE = "__paimon_search_score"
SCHEMA = pa.schema({"id": pa.int64(), "s": pa.string(), "w": pa.int64()})
WORDS = ("lake", "house", "fish", "café", "北京", "湖", "ЁЖ", "a", "naïve", "x" * 30)
PLAIN = ("ascii-folding", "stem", "remove-stop-words")
BY_WORD = {"full-text.tokenizer": "whitespace", **{f"full-text.{key}": "false" for key in PLAIN}}


def table_at(path: Path, **options: str) -> ReadableTable:
    create_table(str(path), SCHEMA, options={**EVOLVED, **VECTORS, **options})
    return opened(path)


def opened(path: Path | str, **options: str) -> ReadableTable:
    found = open_table(str(path), options)
    assert isinstance(found, ReadableTable)
    return found


def rows(start: int, texts: list[str | None]) -> list[dict[str, Any]]:
    return [{"id": start + i, "s": text, "w": (start + i) % 5} for i, text in enumerate(texts)]


def match(words: str, **more: str) -> str:
    return json.dumps({"match": {"query": words, **more}})


def found(path: Path, query: str, count: int = 1000, where: str | None = None, **options: str) -> list[int]:
    result = opened(path, **options).scan(["id"], where).full_text_search("S", query, count)
    assert result.column_names == ["id", SCORE]
    scores = result[SCORE].to_pylist()
    assert scores == sorted(scores, reverse=True)
    ids: list[int] = result["id"].to_pylist()
    return ids


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32))
def test_all_rows_with_the_words_are_found(seed: int) -> None:
    random = Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        path, texts = Path(directory, "t"), dict[int, str | None]()
        table_at(path, **BY_WORD)
        for _ in range(random.randint(1, 3)):
            new = [a_text(random) for _ in range(random.randint(1, 25))]
            opened(path).append(rows(len(texts), new))
            texts |= dict(enumerate(new, len(texts)))
            if random.random() < 0.6:
                shard = {"global-index.row-count-per-shard": str(random.choice([7, 20, 1000]))}
                opened(path, **shard).create_global_index("s", "full-text")
            if random.random() < 0.4:
                gone = random.randrange(len(texts))
                opened(path).delete(f"id = {gone}")
                texts[gone] = None
            if random.random() < 0.3:
                opened(path).update("w = 2", {"w": 3})
        for _ in range(3):
            words = random.sample(WORDS, random.randint(1, 3))
            must = random.random() < 0.5
            least = random.choice([None, 5])
            holds = all if must else any
            expected = {
                row
                for row, text in texts.items()
                if text is not None
                and row >= (least or 0)
                and holds(word.lower() in text.lower().split() for word in words)
            }
            query = match(" ".join(words), operator="And" if must else "Or")
            where = None if least is None else f"id >= {least}"
            assert set(found(path, query, where=where)) == expected
            few = found(path, query, 3, where=where)
            assert len(few) == min(3, len(expected))
            assert set(few) <= expected
        check_table(str(path))


def a_text(random: Random) -> str | None:
    if random.random() < 0.15:
        return None
    return " ".join(random.choice(WORDS) for _ in range(random.randint(0, 5)))


def test_texts_of_all_sorts(tmp_path: Path) -> None:
    path = tmp_path / "t"
    texts = [
        "",
        " ",
        None,
        "lake\0fish",
        "🐟 fish",
        "日本語の湖",
        "Ünïcode café",
        "x" * 100_000 + " lake",
        "Fishing",
    ]
    table_at(path).append(rows(0, texts))
    for _ in range(2):
        assert sorted(found(path, match("fish"))) == [3, 4, 8], "words behind a NUL too; stemmed"
        assert set(found(path, match("lake"))) == {3, 7}
        assert found(path, match("cafe")) == [6], "without accents"
        assert found(path, match("")) == []
        assert found(path, match("日本語の湖")) == [5], "the tokenizer that is the default takes it for one word"
        opened(path).create_global_index("s", "full-text")
    opened(path).drop_global_index("s", "full-text")
    opened(path, **{"full-text.tokenizer": "ngram", "full-text.ngram.min-gram": "1"}).create_global_index(
        "s", "full-text"
    )
    assert found(path, match("湖")) == [5]
    opened(path).append(rows(len(texts), ["大湖"]))
    assert set(found(path, match("湖"))) == {5, 9}, "rows that came later are cut into words as the index is"


def test_rows_that_no_index_covers(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table_at(path).append(rows(0, ["lake", "fish"]))
    opened(path).create_global_index("s", "full-text")
    opened(path).append(rows(2, ["lake"]))
    assert set(found(path, match("lake"))) == {0, 2}
    for mode, expected in (("full", {0, 2}), ("detail", {0, 2}), ("fast", {0})):
        assert set(found(path, match("lake"), **{"full-text-index.search-mode": mode})) == expected
        assert set(found(path, match("lake"), **{"global-index.search-mode": mode})) == expected
    opened(path).create_tag("before")
    opened(path).delete("id = 0")
    assert found(path, match("lake")) == [2]
    assert set(found(path, match("lake"), **{"scan.tag-name": "before"})) == {0, 2}


def test_a_search_of_scores_alone(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table_at(path).append(rows(0, ["lake", "fish"]))
    for _ in range(2):
        shown = opened(path).scan([]).full_text_search("s", match("lake"), 9)
        assert (shown.column_names, len(shown)) == ([SCORE], 1)
        opened(path).create_global_index("s", "full-text")


def test_phrases_and_their_parts(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table_at(path).append(rows(0, ["the lake house", "the house at the lake", "house"]))
    opened(path).create_global_index("s", "full-text")
    assert found(path, json.dumps({"match_phrase": {"query": "lake house"}})) == [0]
    parts = {"must": [{"match": {"query": "house"}}], "must_not": [{"match": {"query": "lake"}}]}
    assert found(path, json.dumps({"boolean": parts})) == [2]
    assert found(path, json.dumps({"match": {"query": "hosue", "fuzziness": 2}})) != []
    opened(path).drop_global_index("s", "full-text")
    opened(path, **{"full-text.with-position": "false"}).create_global_index("s", "full-text")
    with pytest.raises(PaimonError):
        found(path, json.dumps({"match_phrase": {"query": "lake house"}}))


def test_tables_that_have_no_index(tmp_path: Path) -> None:
    """Rows of a key are merged before; the index in memory is over as many rows as a file would be."""
    path = tmp_path / "t"
    create_table(
        str(path), SCHEMA.set(0, pa.field("id", pa.int64(), nullable=False)), primary_keys="id", options={"bucket": "1"}
    )
    opened(path).append(rows(0, ["lake", "fish", "lake", None]))
    opened(path).append(rows(0, ["fish"]))
    for shard in ("1", "2", "3", "100"):
        options = {"global-index.row-count-per-shard": shard}
        assert found(path, match("lake"), **options) == [2]
        assert set(found(path, match("fish"), **options)) == {0, 1}
        assert len(found(path, match("fish"), 1, **options)) == 1


@pytest.mark.parametrize(
    ("column", "query", "count", "error", "message"),
    [
        ("s", "lake", 1, OptionError, "'lake' is not understood: json error.*; a query is JSON, such as"),
        ("s", '{"matches": {}}', 1, OptionError, "unknown variant `matches`, expected one of `match`"),
        ("s", '{"match":{"query":"a","column":"t"}}', 1, OptionError, "column 't' is not configured"),
        ("s", match("a"), 0, OptionError, "0 rows are asked for; ask for 1 or more"),
        ("w", match("a"), 1, UnsupportedFeature, "the column 'w' is BIGINT, and texts are STRING"),
        ("t", match("a"), 1, OptionError, "no column 't'"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    tmp_path: Path, column: str, query: str, count: int, error: type[PaimonError], message: str
) -> None:
    table = table_at(tmp_path / "t")
    with pytest.raises(error, match=message):
        table.scan().full_text_search(column, query, count)


def test_options_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table_at(path).append(rows(0, ["lake"]))
    for key, value, message in (
        (
            "full-text.tokenizers",
            "x",
            "'full-text.tokenizers' is no option; behind 'full-text.' stands one of tokenizer",
        ),
        ("full-text.tokenizer", "x", "unsupported tokenizer 'x'"),
        ("full-text.language", "klingon", "unsupported tokenizer language"),
    ):
        with pytest.raises(OptionError, match=message):
            opened(path, **{key: value}).create_global_index("s", "full-text")


def test_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t"
    table_at(path).append(rows(0, ["lake"]))
    monkeypatch.setitem(sys.modules, "paimon_ftindex", None)
    for call in (lambda: found(path, match("a")), lambda: opened(path).create_global_index("s", "full-text")):
        with pytest.raises(
            UnsupportedFeature, match=r"needs the package paimon-ftindex, .* 'paimon-spark\[fulltext\]'"
        ):
            call()


def test_a_lost_and_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table_at(path).append(rows(0, ["lake"]))
    opened(path).create_global_index("s", "full-text")
    (file,) = path.glob("index/full-text-global-index-*.index")
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(CorruptFile, match="drop the index and create it again"):
        found(path, match("lake"))
    assert found(path, match("lake"), **{"global-index.enabled": "false"}) == [0]
    file.unlink()
    with pytest.raises(PaimonError, match="it does not exist"):
        found(path, match("lake"))
