"""Repairs, purges and copies: Java does the same to another copy of the table, and reads what we leave."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import java_repair
import pytest
from genuine import Genuine, table_path
from readers import assert_same, java_read, said
from support.oracles.checker import check_table

from paimon_spark import open_table
from paimon_spark.errors import PaimonError
from paimon_spark.store.clean.lost_files import remove_unexisting_files, repair_earliest_snapshot
from paimon_spark.store.clean.purge import purge_files
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.history.consumers import reset_consumer
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.upkeep.copy_files import copy_table

pytestmark = pytest.mark.interop

KINDS = {
    "append": ((), {"bucket": "-1"}),
    "keyed": (("k", "p"), {"bucket": "2"}),
    "vectors": (("k", "p"), {"bucket": "2", "deletion-vectors.enabled": "true"}),
    "changelogs": (("k", "p"), {"bucket": "2", "changelog-producer": "lookup"}),
    "dynamic": (("k", "p"), {"bucket": "-1"}),
}


def written(java: Genuine, folder: Path, kind: str, writes: int = 3) -> str:
    """Two partitions, written several times by Java, compacted in between."""
    path = table_path(folder, "theirs")
    keys, options = KINDS[kind]
    columns = {"k": "INT NOT NULL", "p": "STRING NOT NULL", "v": "STRING"}
    java.create(path, columns, keys=keys, partitions=["p"], options={**options, "write-only": "true"})
    for number in range(writes):
        java.write(path, [(k, p, str(number)) for k in range(number, number + 4) for p in "ab"])
        if number == writes - 2:
            java.compact(path)
    if kind == "vectors":
        java.write(path, [(k, "a", "late") for k in range(2)], options={"write-only": "false"})
    return path


def twin(path: str) -> str:
    return shutil.copytree(path, path.replace("theirs", "ours"))


@pytest.mark.parametrize("kind", ["append", "keyed", "changelogs", "dynamic"])
def test_lost_files(java: Genuine, tmp_path: Path, kind: str) -> None:
    theirs = written(java, tmp_path, kind)
    live = [row["file_path"] for row in open_table(theirs).system_table("files", ["file_path"]).to_arrow().to_pylist()]
    for name in random.Random(kind).sample(sorted(Path(path).name for path in live), max(1, len(live) // 2)):
        next(Path(theirs).rglob(name)).unlink()
    ours = twin(theirs)
    lost = java.run(java_repair.remove_unexisting_files, theirs)
    done = remove_unexisting_files(open_table(ours), dry_run=False)
    assert [Path(path).name for path in done.paths] == [Path(path).name for path in lost]
    assert said(ours) == said(theirs)
    assert assert_same(ours, [java]) == java_read(java, theirs)


def beheaded(java: Genuine, folder: Path, left: str) -> str:
    """A table of the snapshots 1 to 7, of which these are left."""
    path = written(java, folder, "append", writes=6)
    for number in range(1, 8):
        if str(number) not in left:
            Path(path, "snapshot", f"snapshot-{number}").unlink()
    return path


@pytest.mark.parametrize(("left", "chosen"), [("567", 5), ("1567", 5), ("34567", 3), ("7", 7)])
def test_a_lost_beginning(java: Genuine, tmp_path: Path, left: str, chosen: int) -> None:
    theirs = beheaded(java, tmp_path, left)
    ours = twin(theirs)
    previous = java.run(java_repair.repair_earliest_snapshot, theirs, chosen)
    done = repair_earliest_snapshot(open_table(ours), chosen)
    assert (done.previous_earliest_snapshot_id, done.current_earliest_snapshot_id) == (previous, chosen)
    assert java.run(java_repair.earliest, ours) == java.run(java_repair.earliest, theirs) == chosen


@pytest.mark.parametrize(("left", "chosen"), [("1567", 1), ("1567", 6)])
def test_what_both_refuse_as_the_beginning(java: Genuine, tmp_path: Path, left: str, chosen: int) -> None:
    path = beheaded(java, tmp_path, left)
    with pytest.raises(RuntimeError, match=r"Snapshot \d does not"):
        java.run(java_repair.repair_earliest_snapshot, path, chosen)
    with pytest.raises(PaimonError):
        repair_earliest_snapshot(open_table(path), chosen)


@pytest.mark.parametrize("kind", KINDS)
def test_a_purge(java: Genuine, tmp_path: Path, kind: str) -> None:
    theirs = written(java, tmp_path, kind)
    table = open_table(theirs)
    create_tag(table, "t", 2)
    create_branch(table, "b", tag="t")
    reset_consumer(table, "c", 3)
    ours = twin(theirs)
    java.run(java_repair.purge_files, theirs)
    purge_files(open_table(ours))
    assert said(ours) == said(theirs)
    assert shape(ours) == shape(theirs)
    java.write(ours, [(1, "a", "again")])
    assert sum(assert_same(ours, [java]).values()) == (0 if kind == "vectors" else 1)
    check_table(ours)


def shape(path: str) -> dict[str, int]:
    """How many files are in each directory, but for hints, and index manifests: Java keeps one that names nothing."""
    found = (p.relative_to(path) for p in Path(path).rglob("*") if p.is_file() and p.name not in ("EARLIEST", "LATEST"))
    counts: dict[str, int] = {}
    for p in found:
        if not p.name.endswith(".crc") and not p.name.startswith("index-manifest"):
            counts[str(p.parent)] = counts.get(str(p.parent), 0) + 1
    return counts


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy(java: Genuine, tmp_path: Path, kind: str) -> None:
    theirs = written(java, tmp_path, kind)
    ours = table_path(tmp_path, "ours")
    copy_table(open_table(theirs), ours)
    assert assert_same(ours, [java]) == java_read(java, theirs)
    for path in (ours, theirs):
        java.write(path, [(k, "b", "later") for k in range(6)])
        java.compact(path)
    assert assert_same(ours, [java]) == java_read(java, theirs)
    check_table(ours)
