"""What a process keeps of objects: only what never changes, and only for who reaches them by the same settings."""

from __future__ import annotations

import os
from uuid import uuid4

import obstore
import pytest

from paimon_spark.file_io import forget_objects
from paimon_spark.file_io.memory import Memory, kept_object
from paimon_spark.file_io.object_store import TAIL_BYTES, WHOLE_BYTES, ObstoreFileIO

UUID = "1490dc1a-50de-4f7a-95de-862ded349120"
FILES = ("bucket-0/data-{}-0.parquet", "bucket-postpone/data-u-{}-s-1.avro", "manifest/manifest-{}-0", "index/index-{}")
OTHERS = (
    *("snapshot/snapshot-1", "snapshot/LATEST", "schema/schema-0", "tag/tag-{}", "consumer/consumer-{}"),
    *("stream-sink/{}", "manifest/manifest-1", "x/data-{}-0.parquet", "{}/snapshot/LATEST", "bucket-0/{}/part.csv"),
)
STORE = ObstoreFileIO()


def behind(path: str, data: bytes) -> None:
    """Another process writes: what this one keeps knows nothing of it."""
    obstore.put(*STORE._locate(path), data)


def at(name: str) -> str:
    return f"memory://{uuid4()}/{name.format(UUID)}"


def part(store: ObstoreFileIO, path: str, size: int, start: int, count: int) -> bytes:
    with store.open_input(path, size) as source:
        source.seek(start)
        return source.read(count)


@pytest.mark.parametrize("name", FILES)
def test_what_never_changes_is_read_once(name: str) -> None:
    path = at(name)
    behind(path, b"old")
    assert STORE.read_bytes(path) == b"old"
    behind(path, b"new")
    assert (STORE.read_bytes(path), part(STORE, path, 3, 1, 2)) == (b"old", b"ld")
    assert kept_object(path, (("key", "another"),)) is None, "who has other credentials asks the store"
    forget_objects()
    assert STORE.read_bytes(path) == b"new"


@pytest.mark.parametrize("name", OTHERS)
def test_what_may_change_is_read_each_time(name: str) -> None:
    path = at(name)
    STORE.write_bytes(path, b"old")
    assert (STORE.read_bytes(path), part(STORE, path, 3, 0, 3)) == (b"old", b"old")
    behind(path, b"new")
    assert (STORE.read_bytes(path), part(STORE, path, 3, 0, 3)) == (b"new", b"new")


def test_what_this_process_writes_and_deletes() -> None:
    path, moved = at(FILES[0]), at(FILES[0])
    STORE.write_bytes(path, b"old")
    behind(path, b"new")
    assert STORE.read_bytes(path) == b"old", "it is kept as it was written"
    STORE.overwrite(path, b"mine")
    behind(path, b"more")
    assert STORE.read_bytes(path) == b"more", "an overwrite may lose a race"
    STORE.delete(path)
    with pytest.raises(FileNotFoundError):
        STORE.read_bytes(path)
    STORE.write_bytes(path, b"old")
    STORE.delete_many([path])
    with pytest.raises(FileNotFoundError):
        STORE.read_bytes(path)
    STORE.write_bytes(path, b"old")
    STORE.move_file(path, path.replace("-0.parquet", "-1.parquet"))
    with pytest.raises(FileNotFoundError):
        STORE.read_bytes(path)
    with pytest.raises(FileNotFoundError):
        STORE.read_bytes(moved)


SIZES = (1, TAIL_BYTES, WHOLE_BYTES - 1, WHOLE_BYTES, WHOLE_BYTES + 1, WHOLE_BYTES + TAIL_BYTES)


@pytest.mark.parametrize("size", SIZES)
def test_every_part_of_a_file_is_what_it_holds(size: int) -> None:
    path, data = at(FILES[0]), bytes(number * 7 % 251 for number in range(size))
    behind(path, data)
    borders = {0, size, size // 2, *(max(0, size - TAIL_BYTES + step) for step in (-1, 0, 1))}
    for _ in range(2):
        for start in sorted(borders):
            for end in (start, min(size, start + 1), min(size, start + TAIL_BYTES), size):
                assert part(STORE, path, size, start, end - start) == data[start:end]
        assert STORE.read_bytes(path) == data


def test_what_is_forgotten_makes_room() -> None:
    memory = Memory(100)
    memory.keep("a", "A", 40)
    memory.keep("b", "B", 40)
    memory.forget("a")
    memory.forget("never kept")
    assert (memory.find("a"), memory.find("b"), memory.held) == (None, "B", 40)
    memory.clear()
    assert (memory.find("b"), memory.held) == (None, 0)


def test_a_process_that_is_forked_while_another_thread_uses_a_memory() -> None:
    memory = Memory(100)
    memory.keep("a", "A", 40)
    with memory._lock:  # as another thread holds it at that moment
        child = os.fork()
        if child == 0:
            os._exit(0 if memory.find("a") is None and memory.held == 0 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert memory.find("a") == "A"
