"""Files that are lost or damaged, and tags of reads: what genuine Java returns, refuses and leaves behind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import java_tags
import our_engine
import pytest
from genuine import NO_OPTIONS, Genuine, table_path
from readers import java_read

from paimon_spark import open_table
from paimon_spark.errors import CorruptFile

pytestmark = pytest.mark.interop

LOST = {"scan.ignore-lost-files": "true"}
CORRUPT = {"scan.ignore-corrupt-files": "true"}
BOTH = LOST | CORRUPT
FENCED = {"scan.plan-auto-tag-for-read.time-retained": "2 h"}


@pytest.fixture(params=["parquet", "orc", "avro"])
def path(request: pytest.FixtureRequest, java: Genuine, tmp_path: Path) -> str:
    """Three files of overlapping keys."""
    path = table_path(tmp_path)
    java.create(path, {"k": "INT NOT NULL", "v": "STRING"}, ["k"], [], {"bucket": "1", "file.format": request.param})
    for number in range(3):
        java.write(path, [(number, f"new {number}"), (number + 1, f"old {number}")], None, {"write-only": "true"})
    return path


def files(path: str) -> list[Path]:
    """The data files, oldest first."""
    splits = open_table(path).scan().plan().splits
    metas = sorted((f for split in splits for f in split.files), key=lambda f: f.min_sequence_number)
    return [next(Path(path).rglob(meta.file_name)) for meta in metas]


def check(java: Genuine, path: str, tolerant: Mapping[str, str], strict: Mapping[str, str]) -> None:
    """With the one options both read the same, with the others both refuse."""
    for options in (tolerant, BOTH):
        assert our_engine.read(path, options) == java_read(java, path, options)
    assert our_engine.read(path, tolerant)
    for options in (strict, NO_OPTIONS):
        with pytest.raises(CorruptFile):
            our_engine.read(path, options)
        with pytest.raises(RuntimeError, match="Java"):
            java.read(path, options=options)


@pytest.mark.parametrize("number", [0, 2])
def test_lost_files(number: int, java: Genuine, path: str) -> None:
    files(path)[number].unlink()
    check(java, path, LOST, CORRUPT)


def test_corrupt_files(java: Genuine, path: str) -> None:
    file = files(path)[1]
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 3])
    check(java, path, CORRUPT, LOST)


def test_tags_of_reads(java: Genuine, tmp_path: Path) -> None:
    """The tag of Java core stays until its time is up, as that of our tasks; one format, one life."""
    path = table_path(tmp_path)
    java.create(path, {"k": "INT NOT NULL"}, ["k"], [], {"bucket": "1"})
    java.write(path, [(1,)])
    java.read(path, options=FENCED)
    first = java.run(java_tags.tags, path)
    open_table(path, FENCED).scan().tasks()
    both = java.run(java_tags.tags, path)
    assert len(first) == 1
    assert len(both) == 2
    assert set(both.values()) == {(1, 7200)}
    assert all(re.fullmatch(r"batch-read-1-[0-9a-f]{8}", name) for name in both)
