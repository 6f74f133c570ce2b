"""Opens the files of indexes of a whole table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import IO, Protocol

from pyroaring import BitMap64

from paimon_spark.errors import MissingFile
from paimon_spark.file_io import FileIO
from paimon_spark.format.file_index.byte_reader import Bytes
from paimon_spark.format.global_index.bitmap import BITMAP, BitmapFile
from paimon_spark.format.global_index.btree import BTREE, BTreeFile
from paimon_spark.format.global_index.keys import GlobalKeyForm, Interval
from paimon_spark.format.manifest import IndexManifestEntry
from paimon_spark.store.read.file_index_files import FileBytes


class SortedRows(Protocol):
    """The rows of an index file, by their numbers in the range of the file."""

    def nulls(self) -> BitMap64:
        """Those that are NULL."""
        ...

    def present(self) -> BitMap64:
        """Those that are not."""
        ...

    def rows(self, wanted: Interval) -> BitMap64:
        """Those whose keys lie between two bounds."""
        ...

    def share(self, wanted: Interval) -> float:
        """Which part of the file, about, has them; 0: it is small, or read as fast anyway."""
        ...


_KINDS: Mapping[str, Callable[[Bytes, GlobalKeyForm, str], SortedRows]] = MappingProxyType(
    {BTREE: BTreeFile, BITMAP: BitmapFile}
)
INDEX_KINDS = tuple(_KINDS)
"""The kinds of indexes that this release makes and reads."""


def can_open(entry: IndexManifestEntry) -> bool:
    """True if this release reads such an index file: one of a whole table, over one column."""
    meta = entry.global_index
    return (
        entry.index_type in _KINDS
        and meta is not None
        and meta.source_meta is None
        and not (meta.extra_field_ids or ())
    )


@contextmanager
def opened_global_index(
    file_io: FileIO, path: str, entry: IndexManifestEntry, form: GlobalKeyForm
) -> Iterator[SortedRows]:
    """Gives an index file to a ``with`` block, which reads what it needs.

    Args:
        file_io: the store of the table.
        path: of the file.
        entry: of a file that can_open.
        form: of its keys.

    Raises:
        MissingFile: it does not exist.
        CorruptFile: it is damaged.
        UnsupportedFeature: it is compressed by a codec that this release does not have.
    """
    with opened_bytes(file_io, path) as source:
        yield _KINDS[entry.index_type](FileBytes(source, path), form, path)


@contextmanager
def opened_bytes(file_io: FileIO, path: str) -> Iterator[IO[bytes]]:
    """Gives an index file to a ``with`` block.

    Raises:
        MissingFile: it does not exist.
    """
    try:
        with file_io.open_input(path) as source:
            yield source
    except FileNotFoundError:
        raise MissingFile(
            f"reading the index file {path}: it does not exist. If the snapshot that names it has just expired, read a "
            "newer one; else the table is damaged: drop the index and create it again, or read with "
            "'global-index.enabled' = 'false'",
            path,
        ) from None
