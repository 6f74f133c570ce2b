"""Files of indexes over texts, by the library paimon-ftindex of the official system (Java: paimon-full-text, 2.0).

A file has the words of the texts of one range of row ids. Its entry in the index manifest has the options that it was
made with.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from functools import cache
from types import TracebackType
from typing import Any, Self

import numpy as np
from pyroaring import BitMap64

from paimon_spark.errors import DataError, OptionError
from paimon_spark.format.file_index.byte_reader import Bytes
from paimon_spark.format.global_index.native_library import (
    Floats,
    NativeInput,
    best_first,
    filter_bytes,
    loaded_library,
)
from paimon_spark.format.global_index.numbers import Ints
from paimon_spark.format.json_text import load_json
from paimon_spark.format.options.index_settings import TEXT_OPTIONS

FULL_TEXT = "full-text"
_PREFIX = "full-text."
_OF_POOL = "searcher-pool.max-size"  # of Java, for reads
_QUERY = '{"match": {"query": "words"}}'
_OF_QUERY = ("json error", "invalid query")  # how errors of the library begin that the query is to blame for


def text_options(texts: Mapping[str, str]) -> dict[str, str]:
    """The options of the library that a table, or a call, has.

    Raises:
        OptionError: one is not known: the library would pass over it.
    """
    found = {key.removeprefix(_PREFIX): value for key, value in texts.items() if key.startswith(_PREFIX)}
    unknown = [key for key in found if key not in (*TEXT_OPTIONS, _OF_POOL)]
    if unknown:
        known = ", ".join(TEXT_OPTIONS)
        raise OptionError(f"'{_PREFIX}{unknown[0]}' is no option; behind '{_PREFIX}' stands one of {known}")
    return found


def meta_bytes(options: Mapping[str, str]) -> bytes:
    """The bytes of `_INDEX_META`."""
    return json.dumps(dict(options), separators=(",", ":")).encode()


def read_meta(data: bytes | None) -> dict[str, str] | None:
    """The options that a file was made with; None: they are not known."""
    try:
        found = load_json(data or b"{}")
    except (ValueError, RecursionError):
        return None
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else None


def text_library(what: str) -> Any:
    """The library.

    Args:
        what: what needs it; the message begins with it.

    Raises:
        UnsupportedFeature: it is not installed.
    """
    return loaded_library("paimon_ftindex", what, "fulltext")


@cache
def _classes(library: Any) -> tuple[Any, Any]:
    """The reader and the writer. Those of the library print an error when one that did not open is forgotten."""
    parts = {"_ptr": None, "_closed": True}
    reader, writer = library.FullTextIndexReader, library.FullTextIndexWriter
    return type("Reader", (reader,), parts), type("Writer", (writer,), parts)


def write_texts(texts: Sequence[str | None], numbers: Ints, options: Mapping[str, str], what: str) -> bytes:
    """The bytes of a file; texts that are None are not in it.

    Args:
        texts, numbers: of rows.
        options: of the library.
        what: the index, for messages.

    Raises:
        OptionError: the library does not take an option.
        DataError: it does not take a text.
        UnsupportedFeature: it is not installed.
    """
    make = _classes(text_library(what))[1]
    try:
        writer = make(options)
    except RuntimeError as error:
        raise OptionError(f"{what}: {error}") from None
    made = io.BytesIO()
    with writer:
        try:
            for number, text in zip(numbers.tolist(), texts, strict=True):
                if text is not None:  # a text ends at a NUL there, and its other words would be lost
                    writer.add_document(number, text.replace("\0", " "))
            writer.write(made)
        except RuntimeError as error:
            raise DataError(f"{what}: {error}") from None
    return made.getvalue()


class TextFile:
    """A file, open for searches."""

    def __init__(self, data: Bytes, where: str) -> None:
        """Reads the head.

        Args:
            data: the file, which may be read from several threads.
            where: its path.

        Raises:
            CorruptFile: it is damaged.
            UnsupportedFeature: the library is not installed.
        """
        make = _classes(text_library(f"reading the index file {where}"))[0]
        self._input, self._where = NativeInput(data), where
        try:
            self._reader = make(self._input)
        except (RuntimeError, ValueError) as error:
            raise self._input.raise_for(error, where) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reader.close()

    def best(self, query: str, count: int, wanted: BitMap64 | None) -> tuple[Ints, Floats]:
        """The numbers of the rows whose texts fit a query best, and their scores, the best first.

        Args:
            query: JSON, as the library has it.
            count: how many at most, at least 1.
            wanted: the numbers of rows that are searched; None: all.

        Raises:
            OptionError: the library does not understand the query.
            CorruptFile: the file is damaged.
        """
        try:
            numbers, scores = self._reader.search(query.replace("\0", " "), count, filter_bytes(wanted))
        except RuntimeError as error:
            if self._input.error is None and str(error).startswith(_OF_QUERY):
                raise OptionError(
                    f"the query {query!r:.200} is not understood: {error}; a query is JSON, such as {_QUERY}",
                    arguments=("query",),
                ) from None
            raise self._input.raise_for(error, self._where) from None
        ids, values = np.array(numbers, np.int64), np.array(scores, np.float64)
        ids, costs = best_first(ids, -values)
        return ids, -costs
