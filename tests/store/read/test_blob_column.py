"""The values of BLOB columns, from files written by hand: which file has the value of a row, and what is read."""

from __future__ import annotations

import struct
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pytest
from support.oracles.blob_bytes import blob_file
from support.oracles.checker import check_table
from support.tables.golden_tables import GoldenTable

from paimon_spark import open_table
from paimon_spark.errors import CorruptFile, DataError, MissingFile, UnsupportedFeature
from paimon_spark.file_io.local import LocalFileIO
from paimon_spark.format.blob_file import BlobDescriptor, decode_descriptor
from paimon_spark.store.read import blob_column, blob_references
from paimon_spark.store.read.blob_column import BlobColumn, BlobFile
from paimon_spark.store.storage import referenced

STAYS = "placeholder"


def written(path: Path, values: list[bytes | str | None]) -> int:
    """Writes a file of values; gives its size."""
    data = blob_file([None if value == STAYS else value for value in values], [value == STAYS for value in values])
    path.write_bytes(data)
    return len(data)


def column(
    tmp_path: Path, closing: ExitStack, *parts: tuple[int, list[bytes | str | None]], as_descriptors: bool = False
) -> BlobColumn:
    """A column of files, the oldest first: the row that each begins with, and its values."""
    files = []
    for number, (first, values) in enumerate(parts):
        path = tmp_path / f"data-{number}.blob"
        files.append(BlobFile(str(path), written(path, values), first, len(values)))
    rows = max((file.first + file.row_count for file in files), default=0)
    return BlobColumn(LocalFileIO(), files, rows, as_descriptors, closing)


def test_the_newest_value_counts_and_placeholders_stay(tmp_path: Path) -> None:
    with ExitStack() as closing:
        made = column(
            tmp_path, closing, (0, [b"a", b"b", None, b"d", b""]), (5, [b"f", STAYS]), (1, [b"B", b"C", STAYS, None])
        )
        assert made.values(np.arange(7)).to_pylist() == [b"a", b"B", b"C", b"d", None, b"f", None]
        assert made.values(np.array([1, 3, 4, 5])).to_pylist() == [b"B", b"d", None, b"f"]
        assert made.values(np.array([4, 6])).to_pylist() == [None, None]
        assert made.values(np.array([], np.int64)).to_pylist() == []


def test_references_name_the_bytes(tmp_path: Path) -> None:
    with ExitStack() as closing:
        made = column(tmp_path, closing, (0, [b"one", None, b"three"]), as_descriptors=True)
        found = made.values(np.arange(3)).to_pylist()
    path = tmp_path / "data-0.blob"
    for value, reference in ((b"one", found[0]), (b"three", found[2])):
        place = decode_descriptor(reference, "x")
        assert place.uri == str(path)
        assert path.read_bytes()[place.offset : place.offset + place.length] == value
    assert found[1] is None


def test_large_values_come_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blob_column, "_AT_ONCE", 100)
    with ExitStack() as closing:
        made = column(tmp_path, closing, (0, [b"x" * 30, b"y" * 30, None, b"z" * 500, b"w", None]))
        rows = np.arange(6)
        assert [some.tolist() for some in made.cut(rows)] == [[0, 1, 2], [3], [4, 5]]
        found = [value for some in made.cut(rows) for value in made.values(some).to_pylist()]
        assert [len(value or b"") for value in found] == [30, 30, 0, 500, 1, 0]


def test_damage_is_named(tmp_path: Path) -> None:
    with ExitStack() as closing:
        made = column(tmp_path, closing, (0, [b"abc", b"def"]))
        path = tmp_path / "data-0.blob"
        data = bytearray(path.read_bytes())
        data[5] ^= 1
        path.write_bytes(data)
        assert made.values(np.array([1])).to_pylist() == [b"def"]
        with pytest.raises(CorruptFile, match="checksum"):
            made.values(np.array([0]))
    with ExitStack() as closing:
        made = column(tmp_path, closing, (0, [b"abc"]))
        path.unlink()
        with pytest.raises(MissingFile, match="does not exist"):
            made.values(np.array([0]))
        path.write_bytes(b"abc")
        with pytest.raises(CorruptFile, match="ends within"):
            made.values(np.array([0]))


def test_the_golden_table_by_columns_conditions_and_references(tmp_path: Path) -> None:
    path = str(GoldenTable("java-2.1", "blob").unpack(tmp_path))
    table = open_table(path)
    assert table.scan(where="id > 1 and b is not null").to_arrow().column("id").to_pylist() == [3, 4]
    assert table.scan(["b"], "id = 1").to_arrow().to_pylist() == [{"b": b"hello blob"}]
    assert table.scan(columns=[]).metadata_aggregates().rows == 4
    (blobs,) = Path(path).glob("bucket-0/*.blob")
    references = open_table(path, {"blob-as-descriptor": "true"}).scan(["b"]).to_arrow().column("b").to_pylist()
    place = decode_descriptor(references[0], "x")
    assert blobs.read_bytes()[place.offset : place.offset + place.length] == b"hello blob"
    check_table(path)
    data = bytearray(blobs.read_bytes())
    data[6] ^= 1
    blobs.write_bytes(data)
    with pytest.raises(CorruptFile, match="checksum"):
        table.scan().to_arrow()
    assert table.scan(["id"]).count() == 4
    with pytest.raises(AssertionError, match="checksum"):
        check_table(path)
    blobs.unlink()
    assert sorted(table.scan(["id"]).to_arrow().column("id").to_pylist()) == [1, 2, 3, 4]
    with pytest.raises(MissingFile, match=r"\.blob"):
        table.scan(["b"]).to_arrow()


def test_bytes_that_references_lead_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blob_references, "_AT_ONCE", 4)
    monkeypatch.setattr(referenced, "_OPEN_FILES", 1)
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"0123456789")
    other.write_bytes(b"abc")

    def read(*references: BlobDescriptor | bytes | None) -> list[bytes | None]:
        values = [r.encode() if isinstance(r, BlobDescriptor) else r for r in references]
        batch = pa.record_batch([pa.array(range(len(values))), pa.array(values, pa.binary())], ["k", "b"])
        pieces = list(blob_references.with_bytes(batch, ["b"], LocalFileIO(), str(tmp_path / "t")))
        assert [k for piece in pieces for k in piece.column("k").to_pylist()] == list(range(len(values)))
        return [value for piece in pieces for value in piece.column("b").to_pylist()]

    whole = BlobDescriptor(f"file:{other}", 0, -1)
    assert read(BlobDescriptor(str(one), 2, 5), None, whole, BlobDescriptor(str(one), 9, 1)) == [
        b"23456", None, b"abc", b"9",
    ]  # fmt: skip
    assert read() == []
    for wrong, error, message in (
        (BlobDescriptor(str(one), 8, 5), CorruptFile, "ends before byte 13"),
        (BlobDescriptor(str(one), -1, 5), CorruptFile, "which no value has"),
        (BlobDescriptor(str(one), 0, 2**40), CorruptFile, "which no value has"),
        (BlobDescriptor(str(tmp_path / "none"), 0, 5), MissingFile, "does not exist"),
        (BlobDescriptor("https://example.org/a", 0, 5), UnsupportedFeature, "in another store"),
        (b"plain bytes", CorruptFile, "no reference to a blob"),
    ):
        with pytest.raises(error, match=message):
            read(wrong)


def test_pieces_of_references_are_held_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece ends as soon as it has so many bytes; few files stay open."""
    monkeypatch.setattr(blob_references, "_AT_ONCE", 4)
    monkeypatch.setattr(referenced, "_OPEN_FILES", 2)
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        path.write_bytes(b"0123456789")
    opened: list[IO[bytes]] = []

    class Counting(LocalFileIO):
        def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
            assert sum(not file.closed for file in opened) < 2
            opened.append(super().open_input(path, size))
            return opened[-1]

    lengths = [3, 1, 3, 0, 4, 1]
    places = [BlobDescriptor(str(paths[n % 3]), 0, length).encode() for n, length in enumerate(lengths)]
    batch = pa.record_batch([pa.array(lengths), pa.array([*places], pa.binary())], ["k", "b"])
    pieces = list(blob_references.with_bytes(batch, ["b"], Counting(), str(tmp_path / "t")))
    assert [piece.column("k").to_pylist() for piece in pieces] == [[3, 1], [3, 0, 4], [1]]
    assert [len(value) for piece in pieces for value in piece.column("b").to_pylist()] == lengths
    assert all(file.closed for file in opened)


def test_what_is_no_blob_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data-0.blob"
    for data, message in ((b"1234", "it has 4 bytes"), (struct.pack("<ib", 100, 1), "its index is longer")):
        path.write_bytes(data)
        with ExitStack() as closing, pytest.raises(CorruptFile, match=message):
            BlobColumn(LocalFileIO(), [BlobFile(str(path), len(data), 0, 1)], 1, False, closing).values(np.array([0]))
    monkeypatch.setattr(blob_column, "_LARGEST", 20)
    with ExitStack() as closing:
        made = column(tmp_path, closing, (0, [b"1234", b"12345"]))
        assert made.values(np.array([0])).to_pylist() == [b"1234"]
        with pytest.raises(DataError, match="a value has 5 bytes, too many"):
            made.values(np.array([0, 1]))
