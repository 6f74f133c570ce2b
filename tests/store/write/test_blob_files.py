"""Files of BLOB columns: their bytes, where one ends, references that are copied, and storage that fails."""

from __future__ import annotations

import tracemalloc
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults.faulty_store import FaultyFileIO, InjectedFault, fault_points, is_killed, kill
from support.long_runs import LONG
from support.oracles.blob_bytes import blob_file
from support.oracles.checker import check_table
from support.oracles.orphaned import age
from support.tables.column_changes import changed
from support.tables.compacting import live_files

from paimon_spark import BlobDescriptor, create_table
from paimon_spark.errors import CommitStateUnknown, CorruptFile, DataError, MissingFile, PaimonError, UnsupportedFeature
from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.format.blob_file import NULL, PLACEHOLDER, encode_index
from paimon_spark.format.types import DataType, Root
from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.commit.row_conflicts import ReadState
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.compaction import compact_table, run_here
from paimon_spark.store.compact.outcomes import Outcome
from paimon_spark.store.compact.task import CompactTask
from paimon_spark.store.metadata.file_paths import FilePlace
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.parallel import Background
from paimon_spark.store.write.blob_writer import BlobWriter
from paimon_spark.store.write.file_layout import BlobLayout
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import WritableTable, open_table

EVOLVED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
SCHEMA = pa.schema([("id", pa.int32()), ("b", pa.binary())])
KEPT = "kept"
Value = bytes | None | str


def written(path: Path, values: Sequence[Value], target: int = 2**40, at_once: int = 100) -> list[bytes]:
    """The files that a writer makes of values, of which some are kept."""
    made: list[Path] = []

    def create() -> tuple[str, FilePlace]:
        made.append(path / f"{uuid.uuid4()}.blob")
        return made[-1].name, FilePlace(str(made[-1]), None)

    closing = Background(limit=8)
    writer = BlobWriter(LocalFileIO(), str(path), BlobLayout("b", DataType(Root.BLOB), 3, target), create, closing)
    for start in range(0, len(values), at_once):
        part = values[start : start + at_once]
        array = pa.array([b"before", *(None if value == KEPT else value for value in part)], pa.binary())
        writer.write(array.slice(1), np.array([value == KEPT for value in part]))
    writer.end_file()
    closing.wait()
    closing.stop()
    assert [file.file_name for file in writer.files] == [file.name for file in made]
    assert [file.file_size for file in writer.files] == [file.stat().st_size for file in made]
    assert {(file.schema_id, file.write_cols, file.value_stats_cols) for file in writer.files} <= {(3, ("b",), ())}
    assert sum(file.row_count for file in writer.files) == len(values)
    return [file.read_bytes() for file in made]


VALUES = st.lists(st.none() | st.just(KEPT) | st.binary(max_size=40), max_size=30)


@given(VALUES, st.integers(1, 7), st.sampled_from([1, 50, 2**40]))
def test_the_bytes_are_those_of_the_format(
    tmp_path_factory: pytest.TempPathFactory, values: list[Value], at_once: int, target: int
) -> None:
    """A file ends behind the entry with which its entries have the target size."""
    expected: list[list[Value]] = [[]]
    size = 0
    for value in values:
        expected[-1].append(value)
        size += len(value) + 16 if isinstance(value, bytes) else 0
        if size >= target:
            expected.append([])
            size = 0
    found = written(tmp_path_factory.mktemp("files"), values, target, at_once)
    assert found == [
        blob_file([None if v == KEPT else v for v in part], [v == KEPT for v in part]) for part in expected if part
    ]


@given(st.lists(st.just(NULL) | st.just(PLACEHOLDER) | st.integers(16, 2**62), max_size=30))
def test_an_index_of_any_lengths(lengths: list[int]) -> None:
    deltas = [length - before for length, before in zip(lengths, [0, *lengths], strict=False)]
    expected = bytearray()
    for delta in deltas:
        number = delta * 2 if delta >= 0 else -delta * 2 - 1
        while number > 0x7F:
            expected.append(number & 0x7F | 0x80)
            number >>= 7
        expected.append(number)
    index = encode_index(np.array(lengths, np.int64))
    assert index == bytes(expected) + len(expected).to_bytes(4, "little") + b"\x01"


def test_references_are_written_as_the_bytes_that_they_lead_to(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"0123456789")

    def reference(offset: int, length: int, uri: str = str(tmp_path / "other")) -> bytes:
        return BlobDescriptor(uri, offset, length).encode()

    values = [b"a", reference(2, 3), None, reference(7, -1), reference(0, 0), reference(4, 1, f"file:{tmp_path}/other")]
    assert written(tmp_path, values) == [blob_file([b"a", b"234", None, b"789", b"", b"4"])]
    wrong = (
        (reference(5, 9), CorruptFile, "ends before byte 14"),
        (reference(-1, 2), CorruptFile, "which no value has"),
        (reference(0, -5), CorruptFile, "which no value has"),
        (reference(0, 1, str(tmp_path / "gone")), MissingFile, "gone, to which a row refers, does not exist"),
        (reference(0, 1, "s3://bucket/x"), UnsupportedFeature, "in another store than the table"),
        (reference(0, 1, "https://example.org/x"), UnsupportedFeature, "in another store than the table"),
        (reference(2, 3)[:20], DataError, "begins as a reference to a blob does, and is none"),
        (b"\x01" + reference(2, 3)[1:], DataError, "begins as a reference to a blob does, and is none"),
        (b"\x01" + (0x424C4F4256494557).to_bytes(8, "little") + b"rest", DataError, "names a row of another table"),
    )
    for value, error, message in wrong:
        with pytest.raises(error, match=message):
            written(tmp_path, [b"a", value])


def test_what_is_copied_is_not_held(tmp_path: Path) -> None:
    size = 64 << 20
    with open(tmp_path / "large", "wb") as file:
        file.truncate(size)
    values = [BlobDescriptor(str(tmp_path / "large")).encode(), BlobDescriptor(str(tmp_path / "large"), 9).encode()]
    table = new_table(tmp_path / "t")
    table.append(pa.table({"id": [0], "b": [b""]}))  # imports are not counted
    tracemalloc.start()
    try:
        table.append(pa.table({"id": [1, 2], "b": values}))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20
    assert max(file.file_size for file in live_files(table)) > 2 * size - 9


def new_table(path: Path, **options: str) -> WritableTable:
    create_table(str(path), {"id": "INT", "b": "BLOB"}, options={**EVOLVED, **options})
    return open_table(str(path))


def values_of(path: Path | str) -> dict[int, bytes | None]:
    found = open_table(str(path)).scan().to_arrow().to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: row["b"] for row in found}


def test_rows_of_any_number_and_size(tmp_path: Path) -> None:
    """No row, one row, a value of 5 MB, values of one write in several batches and files."""
    table = new_table(tmp_path / "t", **{"target-file-row-num": "4", "blob.target-file-size": "1 kb"})
    assert table.append(pa.table({"id": [], "b": []}, SCHEMA)).rows == 0
    expected: dict[int, bytes | None] = {}
    for values in ([b"x"], [bytes(5 << 20)], [None] * 3, [b"", None, b"y" * 600] * 7):
        rows = {len(expected) + n: value for n, value in enumerate(values)}
        batches = [pa.record_batch([[key], [value]], schema=SCHEMA) for key, value in rows.items()]
        result = table.append(iter(batches))
        assert result.rows == len(rows)
        expected |= rows
    assert values_of(table.location) == expected
    files = live_files(table)
    assert max(file.row_count for file in files) <= 4
    assert sum(file.row_count for file in files if file.file_name.endswith(".blob")) == len(expected)
    check_table(table.location)
    for wide in (f for f in files if not f.file_name.endswith(".blob")):  # blobs begin and end with the other columns
        ends = {f.first_row_id for f in files} | {(f.first_row_id or 0) + f.row_count for f in files}
        assert {wide.first_row_id, (wide.first_row_id or 0) + wide.row_count} <= ends


def test_columns_of_references(tmp_path: Path) -> None:
    """They are stored as they are, in the files of the other columns; what is no reference is refused."""
    (tmp_path / "other").write_bytes(b"0123456789")
    table = new_table(tmp_path / "t", **{"blob-descriptor-field": "b"})
    reference = BlobDescriptor(str(tmp_path / "other"), 2, 3).encode()
    table.append(pa.table({"id": [1, 2, 3], "b": [reference, None, reference]}))
    assert [file.write_cols for file in live_files(table)] == [None]
    assert values_of(table.location) == {1: b"234", 2: None, 3: b"234"}
    as_stored = open_table(table.location, {"blob-as-descriptor": "true"}).scan(["b"]).to_arrow()
    assert as_stored.column("b").to_pylist() == [reference, None, reference]
    for wrong in (b"bytes", b"", reference[:-1], reference + b"x", b"\x01" + reference[1:]):
        with pytest.raises(DataError, match=f"a value of {len(wrong)} bytes is none"):
            table.append(pa.table({"id": [4, 5], "b": [reference, wrong]}))
        with pytest.raises(DataError, match="is none"):
            table.update("id = 1", {"b": wrong})
    table.update("id = 1", {"b": BlobDescriptor(str(tmp_path / "other"), 0, 1).encode()})
    assert values_of(table.location) == {1: b"0", 2: None, 3: b"234"}
    check_table(table.location)


@pytest.mark.parametrize("uri", ["p", "a b/c", "ä/p", "", "a b:/c"])
def test_a_reference_to_a_relative_path_is_refused(uri: str, tmp_path: Path) -> None:
    """A reader in another directory would get the bytes of another file."""
    options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "blob-descriptor-field": "b"}
    table = create_table(tmp_path / "t", {"id": "INT", "b": "BYTES"}, options=options)
    for whole in ("/a", "s3://b/c", "hdfs:/d", None):
        table.append({"id": [1], "b": [whole and BlobDescriptor(whole).encode()]})
    with pytest.raises(DataError, match="which each reader would look for in a directory of its own; give the whole"):
        table.append({"id": [2, 3], "b": [BlobDescriptor("/a").encode(), BlobDescriptor(uri).encode()]})
    assert table.scan("id").count() == 4


def test_the_size_of_splits(tmp_path: Path) -> None:
    """Files of blobs count, but where a read gives references, or an option says so."""
    table = new_table(tmp_path / "t")
    for key in range(4):
        table.append(pa.table({"id": [key], "b": [bytes(60_000)]}, SCHEMA))
    sizes = {"source.split.target-size": "100 kb", "source.split.open-file-cost": "1 kb"}

    def splits(**options: str) -> int:
        return len(open_table(table.location, {**sizes, **options}).scan().plan().splits)

    by_size = "blob.split-by-file-size"
    assert (splits(), splits(**{by_size: "false"})) == (4, 1)
    as_references = {"blob-as-descriptor": "true"}
    assert (splits(**as_references), splits(**as_references, **{by_size: "true"})) == (1, 4)


# -------------------------------------------------------------------------------------------------------------- faults

OLD = {1: b"one", 2: None, 3: b"", 4: b"four" * 20}
NEW = {5: b"five", 6: None}
UPDATED = {1: b"changed", 4: None}


class Here:
    """Runs the tasks in this process."""

    def run(self, table: Table, tasks: Sequence[CompactTask]) -> list[Outcome]:
        return [run_here(table, task) for task in tasks]

    def stop(self) -> None:
        """Nothing runs beside the caller."""


def append(table: Table) -> None:
    writer = TableWrite(table, "tested")
    try:
        writer.write(pa.record_batch([pa.array(list(NEW), pa.int32()), pa.array(list(NEW.values()))], ["id", "b"]))
        messages = writer.finish()
    except OSError:
        writer.abort()
        raise
    committed(table, messages, None)


def update(table: Table) -> None:
    read = ReadState.of(table.snapshots.latest())
    committed(table, changed(table, "b", UPDATED, key="id"), read)


def compact(table: Table) -> None:
    compact_table(table, Here(), full=True)


def committed(table: Table, messages: list[CommitMessage], read: ReadState | None) -> None:
    commit = TableCommit(table, "tested")
    try:
        commit.append(messages, read=read)
    except CommitStateUnknown:
        raise
    except (OSError, PaimonError):
        commit.abort(messages)
        raise


JOBS = {"append": (append, {**OLD, **NEW}), "update": (update, {**OLD, **UPDATED}), "compact": (compact, OLD)}
OPTIONS = {"blob.target-file-size": "20 b", "blob-compaction.enabled": "true"}


def prepared(path: Path) -> str:
    table = new_table(path / "t", **OPTIONS)
    for keys in ([1, 2], [3, 4]):
        table.append(
            pa.table({"id": keys, "b": [OLD[key] for key in keys]}, pa.schema({"id": pa.int32(), "b": pa.binary()}))
        )
    return table.location


def with_io(location: str, io: FileIO) -> Table:
    return replace(open_table(location), file_io=io)


@pytest.mark.parametrize("name", JOBS)
def test_every_fault_point(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table is as before or after, and another try, and a search for orphans, leave what it should have."""
    job, expected = JOBS[name]
    io = FaultyFileIO(LocalFileIO())
    job(with_io(prepared(tmp_path / "first"), io))
    points = fault_points(io.log, 3)
    for number, (at, when) in enumerate(points):
        location = prepared(tmp_path / str(number))
        where = f"{io.log[at]} #{at} {when}"
        faulty = FaultyFileIO(LocalFileIO(), at, when, lasting=number % 2 == 1)
        try:
            job(with_io(location, faulty))
        except (InjectedFault, PaimonError):
            assert values_of(location) in (OLD, expected), where
        else:
            assert values_of(location) == expected, where
        check_table(location)
        if values_of(location) != expected or name == "compact":
            job(open_table(location))
        age(Path(location), 2)
        remove_orphan_files(open_table(location))
        assert values_of(location) == expected, where
        check_table(location)
        named = {file.file_name for file in live_files(open_table(location))}
        assert {path.name for path in Path(location).rglob("*.blob")} >= {n for n in named if n.endswith(".blob")}
    with capsys.disabled():
        print(f"\n  {name} with blobs: {len(points)} fault points", end="")


@pytest.mark.parametrize("name", JOBS if LONG else ["append"])
def test_killed_at_every_point(name: str, tmp_path: Path) -> None:
    job, expected = JOBS[name]
    io = FaultyFileIO(LocalFileIO())
    job(with_io(prepared(tmp_path / "first"), io))
    for number, (at, when) in enumerate(fault_points(io.log, 5)):
        location = prepared(tmp_path / str(number))
        killing = FaultyFileIO(LocalFileIO(), at, when, act=kill)
        assert is_killed(lambda io=killing, path=location: job(with_io(path, io)))
        assert values_of(location) in (OLD, expected)
        check_table(location)
