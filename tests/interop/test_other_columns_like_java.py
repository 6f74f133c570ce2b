"""Tables of Java with a column that we cannot read: the others are merged and read."""

from __future__ import annotations

from pathlib import Path

import java_variants
import pytest
from genuine import Genuine, table_path

from paimon_spark import check, open_table

pytestmark = pytest.mark.interop


@pytest.mark.parametrize(
    "options", [{}, {"deletion-vectors.enabled": "true"}, {"merge-engine": "partial-update", "write-only": "true"}]
)
def test_a_key_table_with_a_variant(java: Genuine, tmp_path: Path, options: dict[str, str]) -> None:
    path = table_path(tmp_path)
    columns = {"k": "INT NOT NULL", "v": "VARIANT", "s": "STRING"}
    java.create(path, columns, keys=["k"], options={"bucket": "1", **options})
    for number in range(4):
        rows = [(k, f'{{"n": {number}, "k": [{k}, null]}}', f"{k}-{number}") for k in range(number, 6)]
        java.run(java_variants.write, path, rows)
    expected = sorted((row["k"], row["s"]) for row in _java_rows(java, path))
    assert len(expected) == 6
    found = open_table(path).scan(["k", "s"]).to_arrow().to_pylist()
    assert sorted((row["k"], row["s"]) for row in found) == expected
    some = open_table(path).scan(["s"], where="k >= 3 and s <> '4-3'").to_arrow().to_pylist()
    assert sorted(row["s"] for row in some) == ["3-3", "5-3"]
    assert check(path).is_good


def _java_rows(java: Genuine, path: str) -> list[dict[str, object]]:
    return [dict(zip(("k", "s"), row, strict=True)) for _, row in java.read(path, columns=["k", "s"])]
