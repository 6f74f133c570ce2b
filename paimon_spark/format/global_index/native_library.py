"""What searches by index files share: the libraries of the official system, loaded when needed, and their answers."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from pyroaring import BitMap64

from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.file_index.byte_reader import Bytes
from paimon_spark.format.global_index.numbers import Ints, damaged

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


def loaded_library(module: str, what: str, extra: str) -> Any:
    """A library.

    Args:
        module: its module.
        what: what needs it; the message begins with it.
        extra: of our package, that brings it.

    Raises:
        UnsupportedFeature: it is not installed, or cannot be loaded here.
    """
    package = module.replace("_", "-")
    try:
        return import_module(module)
    except ImportError:
        raise UnsupportedFeature(
            f"{what} needs the package {package}, which is not installed: run pip install 'paimon-spark[{extra}]'"
        ) from None
    except OSError as error:  # of its native code
        raise UnsupportedFeature(f"{what} needs the package {package}, which does not load here: {error}") from None


class NativeInput:
    """The bytes of an index file as the libraries ask for them. They turn every error of it into one of their own.

    Attributes:
        error: the first error, which the caller raises in place of theirs.
    """

    def __init__(self, data: Bytes) -> None:
        self._data = data
        self.error: Exception | None = None

    def pread(self, offset: int, size: int) -> bytes:
        """Some bytes; fewer where the file ends."""
        try:
            return self._data[offset : min(offset + size, len(self._data))] if offset < len(self._data) else b""
        except Exception as error:
            self.error = self.error or error
            raise

    def pread_many(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        """The bytes of ranges (offset, size)."""
        return [self.pread(offset, size) for offset, size in ranges]

    def raise_for(self, error: Exception, where: str) -> CorruptFile:
        """The error for a file that a library does not read.

        Raises:
            Exception: the storage failed.
        """
        if self.error is not None:
            raise self.error
        return damaged(where, str(error))


def filter_bytes(wanted: BitMap64 | None) -> bytes | None:
    """Some rows of a file as the libraries take them; None: all."""
    return None if wanted is None else bytes(wanted.serialize())


def best_first(ids: Ints, costs: Floats) -> tuple[Ints, Floats]:
    """Rows that a search has found, in the order of their costs and then of their ids.

    A row that is there several times, of one file or of two, is kept once, with its least cost.
    """
    order = np.lexsort((ids, costs))
    first = np.sort(np.unique(ids[order], return_index=True)[1])
    return ids[order][first], costs[order][first]
