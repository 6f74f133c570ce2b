"""Which queries of TPC-H and TPC-DS ``./dev bench`` calls different, and which it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

PLAIN = {"a": ["one"], "b": ["one"], "c": ["fails: no"], "d": ["one", "two"], "e": ["one", "one"]}
OURS = {"a": ["one"], "b": ["two"], "c": ["one"], "d": ["two"], "e": ["one", "two"]}


def test_queries_that_differ_are_told_and_those_that_plain_parquet_does_not_decide_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    from suites import different

    def digests(ours: dict[str, list[str]]) -> dict[str, dict[str, set[str]]]:
        return {query: {"parquet": set(PLAIN[query]), "ours": set(ours[query])} for query in PLAIN}

    found, note = different(digests(OURS))
    assert found == {"b", "e"}
    assert note.split("; ") == [
        "qb by ours: other rows",
        "qc left out, over Parquet: fails: no",
        "qd left out, over Parquet: one or two",
        "qe by ours: other rows",
    ]
    found, note = different(digests(OURS | {"b": ["fails: at once"], "e": ["one"]}))
    assert (found, note.split("; ")[0]) == ({"b"}, "qb by ours: fails: at once")
