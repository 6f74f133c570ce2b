"""What a batch of a stream reads of the table: as much after 25 batches as after three."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from support.tables.stream_batches import rows_of, run_batch

from paimon_spark.file_io import LocalFileIO

WARM = 3  # batches


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a file of each kind was read by this process."""
    found: Counter[str] = Counter()
    read = LocalFileIO.read_bytes

    def counted(self: LocalFileIO, path: str) -> bytes:
        name = path.rpartition("/")[2]
        found["manifest-list" if name.startswith("manifest-list") else name.partition("-")[0]] += 1
        return read(self, path)

    monkeypatch.setattr(LocalFileIO, "read_bytes", counted)
    return found


@pytest.mark.parametrize("table", ["keyed", "partitioned"])
def test_no_manifest_is_read_that_a_batch_has_written(table: str, tmp_path: Path, reads: Counter[str]) -> None:
    seen = []
    for number in range(25):
        reads.clear()
        run_batch(tmp_path / "t", table, number, [(number, "a", 1)], **{"write-only": "true"})
        seen.append(dict(reads))
        for schema in (tmp_path / "t" / "schema").iterdir():
            os.utime(schema, (1e9, 1e9))  # an old file: one that is seconds old may be replaced under the same time
    assert not any({"manifest", "manifest-list"} & batch.keys() for batch in seen[WARM:]), "this process wrote them"
    assert max(batch.get("schema", 0) for batch in seen[WARM:]) <= 3, "two by the commit, which looks for its table"
    assert len({sum(batch.values()) for batch in seen[WARM:]}) == 1, "no batch reads more than another one"
    assert [row[0] for row in rows_of(tmp_path / "t")] == list(range(25))
