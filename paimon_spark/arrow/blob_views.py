"""Columns of views of blobs (format.blob_file): which tables, columns and rows they name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.raw_values import to_numpy
from paimon_spark.errors import CorruptFile
from paimon_spark.format.blob_file import VIEW_IDS, VIEW_NAME, VIEW_START
from paimon_spark.format.names import is_name

Ints: TypeAlias = npt.NDArray[np.int64]
_IDS = np.dtype([("field", "<i4"), ("row", "<i8")])
_LENGTH = 4


@dataclass(frozen=True)
class Views:
    """What views name, each at the place of the value.

    Attributes:
        names: of tables, each once.
        table: the place of the table of each view among these.
        field_ids, row_ids: of the columns and the rows.
    """

    names: tuple[str, ...]
    table: Ints
    field_ids: Ints
    row_ids: Ints


def decode_views(values: pa.Array, where: str) -> Views:
    """What the views of a column name.

    Args:
        values: bytes, without NULL.
        where: what holds them, for messages.

    Raises:
        CorruptFile: a value is no view.
    """
    wrong = find_no_view(values)
    if wrong is not None:
        raise CorruptFile(
            f"reading {where}: a value of {len(wrong)} bytes is no view of a blob in another table, and columns of "
            "'blob-view-field' hold nothing else; another system has written it, or the file is damaged"
        )
    encoded = pc.binary_slice(values, VIEW_NAME, -VIEW_IDS).dictionary_encode()
    try:
        names = tuple(name.decode() for name in encoded.dictionary.to_pylist())
    except UnicodeDecodeError:
        raise CorruptFile(f"reading {where}: the name of a table in a view of a blob is not UTF-8") from None
    for name in names:
        database, _, table = name.partition(".")
        if not is_name(database) or not is_name(table):
            raise CorruptFile(
                f"reading {where}: a view of a blob names the table {name!r:.200}, and the name of a table is "
                "<database>.<table>, without slashes; the file is damaged, or made to reach other files"
            )
    ids = np.frombuffer(b"".join(pc.binary_slice(values, -VIEW_IDS, None).to_pylist()), _IDS)
    places = to_numpy(encoded.indices).astype(np.int64)
    return Views(names, places, ids["field"].astype(np.int64), ids["row"].astype(np.int64))


def find_no_view(values: pa.Array) -> bytes | None:
    """One of some values that is no view (Java: BlobViewStruct.deserialize); None: all are, or NULL."""
    return find_unframed(values, VIEW_START, VIEW_NAME + VIEW_IDS, 1)


def find_unframed(values: pa.Array, start: bytes, frame: int, shortest: int = 0) -> bytes | None:
    """One of some values that is no frame around a text; None: all are, or NULL.

    Args:
        values: bytes.
        start: what a frame begins with; then comes the length of the text.
        frame: the bytes of a value beside those of the text.
        shortest: the least bytes of a text.
    """
    found = values.drop_null()
    if not len(found):
        return None
    lengths = pc.binary_slice(found, len(start), len(start) + _LENGTH)
    whole = pc.and_(
        pc.equal(pc.binary_slice(found, 0, len(start)), pa.scalar(start, found.type)),
        pc.equal(pc.binary_length(lengths), _LENGTH),
    )
    known = found.filter(whole)
    texts = np.frombuffer(b"".join(lengths.filter(whole).to_pylist()), "<i4").astype(np.int64)
    fits = (to_numpy(pc.binary_length(known)) == texts + frame) & (texts >= shortest)
    wrong = found.filter(pc.invert(whole)) if len(known) < len(found) else known.filter(pa.array(~fits))
    return bytes(wrong[0].as_py()) if len(wrong) else None
