"""At which level the files of an overwrite come in (Java: FileStoreCommitImpl.tryUpgrade)."""

from __future__ import annotations

import pytest
from support.tables.files_by_hand import BIGINT, entry, file, partition

from paimon_spark.format.manifest import FileKind, ManifestEntry
from paimon_spark.store.commit.table_commit import upgraded


def new(name: str, low: int, high: int, **place: object) -> ManifestEntry:
    return entry(FileKind.ADD, file(name, keys=(low, high)), **place)


def levels(files: list[ManifestEntry], key_types: tuple[object, ...] = (BIGINT,)) -> dict[str, int]:
    return {e.file.file_name: e.file.level for e in upgraded(files, key_types, 5)}


def test_one_sorted_run_goes_to_the_top() -> None:
    assert levels([new("b", 6, 9), new("a", 1, 5)]) == {"a": 5, "b": 5}


@pytest.mark.parametrize("other", [(5, 9), (0, 1), (2, 3), (0, 9)])
def test_overlapping_files_stay(other: tuple[int, int]) -> None:
    assert levels([new("a", 1, 5), new("b", *other)]) == {"a": 0, "b": 0}


def test_every_bucket_for_itself() -> None:
    part = partition("x")
    files = [new("a", 1, 5), new("b", 1, 5, bucket=1), new("c", 1, 5, bucket=1), new("d", 1, 5, part=part)]
    assert levels(files) == {"a": 5, "b": 0, "c": 0, "d": 5}


def test_what_is_never_upgraded() -> None:
    compacted = entry(FileKind.ADD, file("c", level=3, keys=(10, 11)))
    assert levels([new("a", 1, 5), compacted]) == {"a": 0, "c": 3}
    assert levels([new("a", 1, 5, bucket=-2)]) == {"a": 0}
    assert levels([new("a", 1, 5)], key_types=()) == {"a": 0}
    assert levels([]) == {}
