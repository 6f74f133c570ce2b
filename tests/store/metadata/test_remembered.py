"""What is remembered of metadata files, how much, and what never is."""

from __future__ import annotations

import gc
import os
import random
import time
import tracemalloc
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.faults.counting_store import CountingStore
from support.tables.compacted_tables import append, new_table

from paimon_spark.errors import CorruptFile, MissingFile
from paimon_spark.file_io import LocalFileIO, Memory
from paimon_spark.file_io.memory import UNUSED_BLOCKS, UNUSED_SECONDS
from paimon_spark.format.manifest import EMPTY_ROW, EMPTY_STATS, DataFileMeta, FileKind, ManifestEntry
from paimon_spark.format.manifests.codec import encode_manifest
from paimon_spark.format.manifests.columns import ManifestColumns, decode_manifests
from paimon_spark.format.manifests.join import held_bytes
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.metadata.manifest_files import planned_manifest_columns, read_data_manifests, read_manifests
from paimon_spark.store.metadata.remembered import forget_all, remembered, remembered_nearby, remembering
from paimon_spark.store.metadata.schemas import SchemaStore
from paimon_spark.store.metadata.table import Table


def test_the_least_used_is_forgotten_first() -> None:
    memory = Memory(100)
    for name in "abc":
        memory.keep(name, name.upper(), 30)
    assert memory.find("a") == "A"
    memory.keep("d", "D", 30)
    assert [memory.find(name) for name in "abcd"] == ["A", None, "C", "D"]
    memory.keep("huge", "H", 51)
    assert (memory.find("huge"), memory.held) == (None, 90)


def test_what_no_batch_has_used_for_long_is_forgotten() -> None:
    """Long is both: many blocks, as of a busy stream, and much time, as of one that waits."""
    now = 0.0
    memory = Memory(clock=lambda: now)
    memory.keep("used", 1, 10)
    memory.keep("unused", 2, 10)
    for _ in range(UNUSED_BLOCKS):
        memory.begin_block()
    assert memory.held == 20, "there was little time between the blocks"
    now = UNUSED_SECONDS
    assert memory.find("used") == 1
    memory.begin_block()
    assert (memory.find("unused"), memory.held) == (None, 10)
    now = 10 * UNUSED_SECONDS
    memory.begin_block()
    assert memory.find("used") == 1, "a stream that waits finds what its last batch used"


def test_the_memory_of_small_manifests_is_counted(tmp_path: Path) -> None:
    """The arrays of a small manifest take less than the objects around them."""
    table = new_table(tmp_path / "t")
    for number in range(20):
        append(table, [(number, 1, "a")])
    snapshot = table.snapshots.latest()
    assert snapshot is not None
    metas = read_data_manifests(table.file_io, table.location, snapshot)
    tracemalloc.start()
    try:
        memory = Memory()
        with remembering(memory):
            read_manifests(table.file_io, table.location, metas)
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(metas) > 10
    assert memory.held > 0.7 * taken


def test_the_names_of_files_are_counted() -> None:
    """The names are made when a plan first asks for them, after the columns were counted."""
    files = [
        DataFileMeta(
            f"data-{uuid.UUID(int=number)}-0.parquet", 9, 9, EMPTY_ROW, EMPTY_ROW, EMPTY_STATS, EMPTY_STATS, 0, 0, 0, 0
        )
        for number in range(5000)
    ]
    data = encode_manifest([ManifestEntry(FileKind.ADD, EMPTY_ROW, 0, 1, file) for file in files])
    tracemalloc.start()
    try:
        columns = decode_manifests([("m", data)])
        assert len(columns.file_names) == len(files)
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.95 * taken < held_bytes(columns) < 1.2 * taken


def test_only_within_the_block() -> None:
    made: list[int] = []

    def read() -> tuple[int, int]:
        made.append(1)
        return 7, 1

    assert [remembered(LocalFileIO(), "x", read), remembered(LocalFileIO(), "x", read)] == [7, 7]
    with remembering(Memory()):
        assert [remembered(LocalFileIO(), "x", read), remembered(LocalFileIO(), "x", read)] == [7, 7]
    assert len(made) == 3


def test_a_damaged_manifest_is_not_remembered(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    append(table, [(1, 1, "a")])
    snapshot = table.snapshots.latest()
    assert snapshot is not None
    with remembering(Memory()):
        metas = read_data_manifests(table.file_io, table.location, snapshot)
        file = tmp_path / "t" / "manifest" / metas[0].file_name
        whole = file.read_bytes()
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(CorruptFile):
            read_manifests(table.file_io, table.location, metas)
        file.write_bytes(whole)
        found = read_manifests(table.file_io, table.location, metas)
        file.unlink()
        assert read_manifests(table.file_io, table.location, metas) == found


def test_a_schema_is_read_again_when_its_file_is_another_one(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"bucket": "1"})
    file = tmp_path / "t" / "schema" / "schema-0"
    text = file.read_text()

    def bucket(age: float) -> str:
        os.utime(file, (time.time() - age,) * 2)
        latest = SchemaStore(table.file_io, table.location).latest()
        assert latest is not None
        return latest.options["bucket"]

    with remembering(Memory()):
        assert bucket(60) == "1"
        file.write_text(text.replace('"bucket" : "1"', '"bucket" : "2"').replace('"bucket":"1"', '"bucket":"2"'))
        assert bucket(50) == "2", "of the same size, at another time"
        assert bucket(0) == "2"
        file.write_text(text)
        assert bucket(0) == "1", "a young file is not remembered, as its time may be that of one before it"


def test_snapshots_are_not_remembered(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    with remembering(Memory()):
        for number in range(2):
            append(table, [(number, number, "a")])
        before = table.snapshots.load(2)
        rollback(table, 1)
        append(table, [(5, 5, "a")])
        assert table.snapshots.load(2) != before


@pytest.fixture
def aged(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the clock so many seconds ahead: files are kept of which the last change is some seconds ago."""
    began = time.time_ns()
    return lambda seconds: monkeypatch.setattr(time, "time_ns", lambda: began + int(seconds * 1e9))


def test_plans_of_a_local_table_decode_its_manifests_once(tmp_path: Path, aged: Callable[[float], None]) -> None:
    table = new_table(tmp_path / "t")
    append(table, [(1, 1, "a")])
    snapshot = table.snapshots.latest()
    assert snapshot is not None
    metas = read_data_manifests(table.file_io, table.location, snapshot)

    def planned() -> ManifestColumns:
        return planned_manifest_columns(table.file_io, table.location, metas)

    assert planned() is not planned(), "its files are young, and may still be replaced by others of the same time"
    aged(60)
    found = planned()
    assert planned() is found
    forget_all()
    again = planned()
    assert again is not found
    assert again.entries(range(len(again))) == found.entries(range(len(found)))


def test_a_local_manifest_that_is_another_one_is_read_again(tmp_path: Path, aged: Callable[[float], None]) -> None:
    table = new_table(tmp_path / "t")
    append(table, [(1, 1, "a")])
    aged(60)
    assert table.scan().to_arrow().num_rows == 1
    file = next((tmp_path / "t" / "manifest").glob("manifest-[0-9a-f]*"))
    whole, times = file.read_bytes(), os.stat(file)
    file.write_bytes(whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:])
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    for seconds in (0, 120):
        aged(seconds)
        with pytest.raises(CorruptFile):
            table.scan().plan()
    file.write_bytes(whole)
    assert table.scan().to_arrow().num_rows == 1
    file.unlink()
    for seconds in (0, 180):
        aged(seconds)
        with pytest.raises(MissingFile):
            table.scan().plan()


def test_a_larger_table_than_the_memory_is_planned_without_it(tmp_path: Path, aged: Callable[[float], None]) -> None:
    aged(60)
    path = tmp_path / "f"
    path.write_bytes(b"x")
    made: list[int] = []

    def read() -> tuple[list[int], int]:
        made.append(len(made))
        return made, 2**40

    for _ in range(2):
        assert remembered_nearby(LocalFileIO(), [str(path)], "x", read) is made
    assert made == [0, 1]


def read_manifests_anew(table: Table, snapshot: Snapshot) -> list[ManifestEntry]:
    """The entries of a snapshot, as the files hold them."""
    with remembering(Memory()):
        metas = read_data_manifests(table.file_io, table.location, snapshot)
        return read_manifests(table.file_io, table.location, metas)


def test_what_is_joined_is_what_all_manifests_say(tmp_path: Path) -> None:
    """Each read goes on from the one before it; others read some of the manifests, in another order, between them."""
    table = new_table(tmp_path / "t", {"manifest.merge-min-count": "4"})
    chance = random.Random(5)
    with remembering(Memory()):
        for number in range(14):
            append(table, [(number, number, "a")])
            snapshot = table.snapshots.load(number + 1)
            metas = read_data_manifests(table.file_io, table.location, snapshot)
            some = chance.sample(metas, chance.randint(0, len(metas)))
            for chosen in (metas, some, metas, metas[:1]):
                with remembering(Memory()):
                    expected = read_manifests(table.file_io, table.location, chosen)
                assert read_manifests(table.file_io, table.location, chosen) == expected


def test_no_manifest_is_read_that_this_process_has_written(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    store = CountingStore(table.file_io)
    counted = replace(table, file_io=store)
    with remembering(Memory()):
        for number in range(6):
            append(counted, [(number, number, "a")])
            newest = table.snapshots.load(number + 1)
            known = read_manifests(store, table.location, read_data_manifests(store, table.location, newest))
            assert known == read_manifests_anew(table, newest)
    assert [path for path in store.opened if "/manifest/" in path] == []


def test_a_commit_reads_no_list_that_this_process_has_written(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    with remembering(Memory()):
        append(table, [(1, 1, "a")])
        store = CountingStore(table.file_io)
        append(replace(table, file_io=store), [(2, 2, "b")])
        lists = [path for path in store.opened if "manifest-list" in path]
        assert lists == []
        metas = read_data_manifests(table.file_io, table.location, table.snapshots.load(2))
    assert read_data_manifests(table.file_io, table.location, table.snapshots.load(2)) == metas
    assert len(metas) == 2
