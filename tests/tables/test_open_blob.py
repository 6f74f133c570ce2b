"""The bytes of a reference as a file: any part of them can be read, and nothing beside them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark import BlobDescriptor, create_table, open_blob, open_table
from paimon_spark.errors import CorruptFile, DataError, PredicateError

WHOLE = bytes(range(256)) * 2
WAYS = (io.SEEK_SET, io.SEEK_CUR, io.SEEK_END)
OPTIONS = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "blob-field": "b"}


@given(
    st.integers(0, 600),
    st.integers(-1, 600),
    st.lists(
        st.tuples(
            st.sampled_from([io.SEEK_SET, io.SEEK_CUR, io.SEEK_END]), st.integers(-600, 600), st.integers(-1, 600)
        )
    ),
)
def test_it_reads_as_a_file_of_these_bytes(
    tmp_path_factory: pytest.TempPathFactory, offset: int, length: int, reads: list[tuple[int, int, int]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "whole"
    path.write_bytes(WHOLE)
    model = io.BytesIO(WHOLE[offset:] if length < 0 else WHOLE[offset : offset + length])
    size = len(model.getvalue())
    with open_blob(BlobDescriptor(str(path), offset, min(length, size)).encode()) as file:
        for whence, step, count in reads:
            if {io.SEEK_SET: 0, io.SEEK_CUR: model.tell(), io.SEEK_END: size}[whence] + step < 0:
                continue
            assert file.seek(step, whence) == model.seek(step, whence)
            assert file.read(count) == model.read(count)
            assert file.tell() == model.tell()
    assert file.closed


def test_values_of_a_table_are_opened(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    create_table(path, {"id": "INT", "b": "BYTES"}, options=OPTIONS)
    open_table(path).append(pa.table({"id": [1, 2, 3], "b": [b"abcdef", None, b""]}))
    found = open_table(path, {"blob-as-descriptor": "true"}).scan(["b"]).to_arrow().column("b").to_pylist()
    with open_blob(found[0]) as file:
        assert file.seek(2) == 2
        assert (file.read(3), file.read(), file.read()) == (b"cde", b"f", b"")
        with pytest.raises(ValueError, match="before the first byte"):
            file.seek(-1)
    with open_blob(found[2]) as file:
        assert file.read() == b""
    assert found[1] is None
    with pytest.raises(DataError, match="a value of 6 bytes is no reference; read the table with 'blob-as-descriptor'"):
        open_blob(b"abcdef")
    for literal in ("X'61'", "'a'"):
        with pytest.raises(PredicateError, match="values of this type are not compared here; IS NULL and"):
            open_table(path).scan(["id"], f"b = {literal}")
    with pytest.raises(DataError, match=r"; give BlobDescriptor\(str\(path\)\).encode\(\) of the path"):
        open_table(path).append({"id": [4], "b": [tmp_path]})
    with pytest.raises(FileNotFoundError):
        open_blob(BlobDescriptor(str(tmp_path / "gone")))


def test_a_reference_beyond_the_end_of_a_file_is_no_shorter_value(tmp_path: Path) -> None:
    path = tmp_path / "whole"
    path.write_bytes(b"abcdef")
    with open_blob(BlobDescriptor(str(path), 2, 10)) as file:
        assert file.read(4) == b"cdef"
        with pytest.raises(CorruptFile, match="ends before byte 12, to which the reference leads"):
            file.read()


def test_what_is_no_place_in_a_file_is_no_reference() -> None:
    for offset, length in ((-1, 2), (0, -2)):
        with pytest.raises(DataError, match=rf"the offset {offset} and the length {length}, which no value has"):
            open_blob(BlobDescriptor("/a", offset, length).encode())
    wrong: list[tuple[Any, str]] = [(("/a", 1.5), "its offset is 1.5"), ((Path("/a"),), "give the address as a text")]
    for place, words in wrong:
        with pytest.raises(DataError, match=words):
            BlobDescriptor(*place).encode()
