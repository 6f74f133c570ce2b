"""The bytes that references to blobs lead to (Java: BlobRef, ReusingBlobRefStreamProvider)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.raw_values import to_numpy
from paimon_spark.errors import CorruptFile, DataError, MissingFile, UnsupportedFeature
from paimon_spark.file_io import FileIO
from paimon_spark.file_io.locate import is_relative, is_same_store, plain_location
from paimon_spark.format.blob_file import (
    REFERENCE_FRAME,
    REFERENCE_START,
    REFERENCE_URI,
    BlobDescriptor,
    decode_descriptor,
)
from paimon_spark.format.managed_blobs import Pack, pack_of

CHUNK = 1 << 20
"""Bytes that are held of a value that is copied."""
_OPEN_FILES = 64
_PLACE = REFERENCE_FRAME - REFERENCE_URI  # bytes behind the address
_LARGEST = 2**31 - 1
_READ_OTHERWISE = "read with 'blob-as-descriptor' = 'true', which gives the references"
_WRITE_OTHERWISE = "correct the rows"


class ReferencedFiles:
    """Files that references lead to. The last ones stay open until ``close``."""

    def __init__(self, file_io: FileIO, location: str, writes: bool = False) -> None:
        """Opens nothing yet.

        Args:
            file_io: the store of the table, of which alone bytes are read.
            location: of the table.
            writes: whether the bytes are for a write, for messages.
        """
        self._file_io = file_io
        self._writes = writes
        self._location = location
        self._doing = f"{'writing to' if writes else 'reading'} {location}"
        self._advice = _WRITE_OTHERWISE if writes else _READ_OTHERWISE
        self._open: dict[str, IO[bytes]] = {}

    def read(self, reference: BlobDescriptor) -> bytes:
        """All bytes of a value.

        Raises:
            CorruptFile: no value has such a place, or the file ends before its bytes do.
            MissingFile: the file does not exist.
            DataError: a write is given a relative path.
            UnsupportedFeature: it is in another store.
        """
        if reference.length > _LARGEST:
            raise self._no_place(reference)
        data = b"".join(self.chunks(reference, max(reference.length, CHUNK)))
        if len(data) > _LARGEST:
            raise self._no_place(reference)
        return data

    def chunks(self, reference: BlobDescriptor, size: int = CHUNK) -> Iterator[bytes]:
        """The bytes of a value in pieces of at most a size; for errors see read."""
        path = self._path(reference)
        left = reference.length
        try:
            source = self._source(path)
            source.seek(reference.offset)
            while left:
                data = source.read(size if left < 0 else min(size, left))
                if not data:
                    break
                if left > 0:
                    left -= len(data)
                yield bytes(data)
        except FileNotFoundError:
            raise MissingFile(
                f"{self._doing}: the blob file {path}, to which a row refers, does not exist; restore it, or "
                f"{self._advice}",
                path,
            ) from None
        if left > 0:
            raise CorruptFile(
                f"{self._doing}: the blob file {path} ends before byte {reference.offset + reference.length}, to "
                "which a row refers; it is damaged or not the file meant"
            )

    def close(self) -> None:
        """Closes the files."""
        for source in self._open.values():
            source.close()
        self._open.clear()

    def _path(self, reference: BlobDescriptor) -> str:
        if not is_same_store(reference.uri, self._location):
            raise UnsupportedFeature(
                f"{self._doing}: the blob at {reference.uri} is in another store than the table, from which this "
                f"release does not read; {self._advice}"
            )
        if self._writes and is_relative(reference.uri):
            raise DataError(
                f"{self._doing}: the path '{reference.uri}' of a blob is relative, and each task has a directory of "
                "its own; give the whole path"
            )
        if reference.offset < 0 or reference.length < -1:
            raise self._no_place(reference)
        return plain_location(reference.uri)

    def _no_place(self, reference: BlobDescriptor) -> CorruptFile:
        return CorruptFile(
            f"{self._doing}: a reference to {reference.uri} is to {reference.length} bytes from {reference.offset} on, "
            f"which no value has; {self._advice}"
        )

    def _source(self, path: str) -> IO[bytes]:
        source = self._open.pop(path, None)
        if source is None:
            while len(self._open) >= _OPEN_FILES:
                self._open.pop(next(iter(self._open))).close()
            source = self._file_io.open_input(path)
        self._open[path] = source  # at the end: it was used last
        return source


def packs_of(values: pa.Array, where: str) -> Iterator[Pack]:
    """The packs to which references lead, of a BLOB column or one of arrays or maps of BLOBs; some may come twice.

    Args:
        where: what holds the references, for messages.

    Raises:
        CorruptFile: a value is no reference.
    """
    if not pa.types.is_binary(values.type):
        *_, values = elements_of(values)
    values = values.drop_null()
    as_written = pc.equal(pc.binary_slice(values, 0, len(REFERENCE_START)), REFERENCE_START)
    plain = pc.binary_slice(values.filter(as_written), REFERENCE_URI, -_PLACE).unique().to_pylist()
    others = [decode_descriptor(value, where).uri for value in values.filter(pc.invert(as_written)).to_pylist()]
    for uri in (*(uri.decode("utf-8", "replace") for uri in plain), *others):
        pack = pack_of(uri)
        if pack is not None:
            yield pack


def elements_of(values: pa.Array) -> list[pa.Array]:
    """The elements of all arrays, or the keys and the values of all maps; not what lies under a NULL."""
    children = [values.keys, values.items] if pa.types.is_map(values.type) else [values.values]
    ends = to_numpy(values.offsets)
    children = [child.slice(ends[0], ends[-1] - ends[0]) for child in children]
    if not values.null_count:
        return children
    there = pa.array(np.repeat(to_numpy(values.is_valid()), np.diff(ends)))
    return [child.filter(there) for child in children]
