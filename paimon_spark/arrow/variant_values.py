"""All VARIANT values of a column at once: where they lie in one buffer, and what their bytes say (``format.variant``).

A value is a place in the buffer. The fields of all objects, and the elements of all arrays, are found together, so
that a column costs some calls of NumPy for each level of nesting, however many rows it has. Places are checked
against the bounds of the value that they are in: damaged bytes are an error, and never those of another row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.raw_values import Booleans, Int64s, placed, to_numpy
from paimon_spark.errors import DataError

NULL, BOOLEAN, INTEGER, DOUBLE, DECIMAL, DATE, INSTANT, LOCAL_TIME, FLOAT, BINARY, TEXT, OBJECT, ARRAY, OTHER = range(
    14
)
"""What a value is; OTHER: a time, a count of nanoseconds, or a UUID."""
Bytes: TypeAlias = npt.NDArray[np.uint8]
_PADDING = 16
_NONE = 255
_PRIMITIVES = (
    (NULL, 0), (BOOLEAN, 0), (BOOLEAN, 0), (INTEGER, 1), (INTEGER, 2), (INTEGER, 4), (INTEGER, 8), (DOUBLE, 8),
    (DECIMAL, 5), (DECIMAL, 9), (DECIMAL, 17), (DATE, 4), (INSTANT, 8), (LOCAL_TIME, 8), (FLOAT, 4), (BINARY, -1),
    (TEXT, -1), (OTHER, 8), (OTHER, 8), (OTHER, 8), (OTHER, 16),
)  # fmt: skip
"""By the number of a primitive type: what it is, and the bytes behind the header; -1: a length says so."""


def _tables() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """By the header: what the value is, and its size; 0: its bytes say so."""
    kinds, sizes = np.full(256, _NONE, np.uint8), np.zeros(256, np.int64)
    for number, (kind, width) in enumerate(_PRIMITIVES):
        kinds[number << 2], sizes[number << 2] = kind, width + 1
    kinds[1::4], sizes[1::4] = TEXT, np.arange(64) + 1
    kinds[2::4], kinds[3::4] = OBJECT, ARRAY
    return kinds, sizes


_KIND_OF, _SIZE_OF = _tables()
_MASKS = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF], np.int64)


def malformed() -> DataError:
    return DataError("a value of VARIANT is damaged: its bytes are not those of version 1 of the encoding")


class Buffer:
    """Bytes in which numbers lie at any place, little-endian."""

    def __init__(self, data: Bytes) -> None:
        self.bytes: Bytes = np.concatenate((data, np.zeros(_PADDING, np.uint8)))
        self.size: int = len(data)

    def numbers(self, places: Int64s, dtype: str) -> npt.NDArray[Any]:
        """The number of a type at each place."""
        size = np.dtype(dtype).itemsize
        everywhere = np.ndarray((len(self.bytes) - size + 1,), dtype, self.bytes, strides=(1,))
        found: npt.NDArray[Any] = everywhere[places]
        return found

    def unsigned(self, places: Int64s, widths: Int64s) -> Int64s:
        """The number of 1 to 4 bytes at each place."""
        return self.numbers(places, "<u4").astype(np.int64) & _MASKS[widths]


@dataclass(frozen=True)
class Dictionary:
    """The names of fields that the different metadata of a column have.

    Attributes:
        first: by the metadata, the place of its first name among all.
        counts: how many names each has.
        codes: of every name, its code: equal names have one.
        texts: the names by their code.
    """

    first: Int64s
    counts: Int64s
    codes: Int64s
    texts: tuple[str, ...]

    def code(self, name: str) -> int:
        """The code of a name, or -1."""
        return self.texts.index(name) if name in self.texts else -1

    def ids_of(self, code: int) -> Int64s:
        """By the metadata, the number that a name has in it, or -1."""
        found = np.full(len(self.first), -1, np.int64)
        places = np.flatnonzero(self.codes == code)
        owners = np.repeat(np.arange(len(self.first)), self.counts)[places]
        found[owners] = places - self.first[owners]
        return found


@dataclass(frozen=True)
class Places:
    """Values in the buffer of a column.

    Attributes:
        starts: of each; -1: there is none.
        ends: the place that its bytes must not reach beyond.
        owners: which of the metadata each has.
    """

    starts: Int64s
    ends: Int64s
    owners: Int64s

    def __len__(self) -> int:
        return len(self.starts)

    def at(self, which: npt.NDArray[Any]) -> Places:
        return Places(self.starts[which], self.ends[which], self.owners[which])


@dataclass(frozen=True)
class Children:
    """The fields of objects, or the elements of arrays.

    Attributes:
        parents: which object or array each is in, in ascending order.
        places: where they lie.
        ids: the numbers of the names of fields; empty for elements.
        counts: how many each object or array has.
    """

    parents: Int64s
    places: Places
    ids: Int64s
    counts: Int64s


class VariantValues:
    """The values of a column of VARIANT, which may be NULL."""

    def __init__(self, column: pa.StructArray) -> None:
        """Finds the values.

        Args:
            column: of the type VARIANT.

        Raises:
            DataError: metadata are damaged, or a value that is not NULL has none.
        """
        values, metadata = column.field("value"), column.field("metadata")
        if column.null_count:  # under a null lies anything
            metadata = dict(zip((field.name for field in column.type), column.flatten(), strict=True))["metadata"]
        present = to_numpy(column.is_valid())
        if not _has_all(values, present) or not _has_all(metadata, present):
            raise DataError("a value of VARIANT has no bytes, or no metadata: give it both")
        encoded = metadata.dictionary_encode()
        owners = to_numpy(encoded.indices.fill_null(-1)).astype(np.int64)
        self._put(values, present, np.where(present, owners, -1), _dictionary(encoded.dictionary))

    @classmethod
    def with_names(cls, values: pa.Array, present: Booleans, owners: Int64s, names: Dictionary) -> VariantValues:
        """The values of a column whose metadata are known.

        Args:
            values: their bytes.
            present: which of them are there.
            owners: which of the metadata each has.
            names: those of the metadata.
        """
        made = cls.__new__(cls)
        made._put(values, present, owners, names)
        return made

    def _put(self, values: pa.Array, present: Booleans, owners: Int64s, names: Dictionary) -> None:
        data, bounds = _binary(values)
        self.buffer: Buffer = Buffer(data)
        self.places: Places = Places(np.where(present, bounds[:-1], -1), bounds[1:], owners)
        self.names = names

    def kinds(self, places: Places) -> npt.NDArray[np.uint8]:
        """What the values are, of which all are there."""
        kinds = _KIND_OF[self.buffer.bytes[places.starts]]
        if (places.starts >= places.ends).any() or (kinds == _NONE).any():
            raise malformed()
        return kinds

    def sizes(self, places: Places) -> Int64s:
        """The bytes of each value, of which all are there."""
        headers = self.buffer.bytes[places.starts]
        sizes = _SIZE_OF[headers]
        with_length = (headers == 15 << 2) | (headers == 16 << 2)
        if with_length.any():
            sizes[with_length] = self.buffer.numbers(places.starts[with_length] + 1, "<u4").astype(np.int64) + 5
        nested = headers & 2 == 2
        if nested.any():
            sizes[nested] = self._heads(places.at(nested)).sizes
        if (places.starts + sizes > places.ends).any():
            raise malformed()
        return sizes

    def children(self, places: Places) -> Children:
        """The fields of values that are all objects, or the elements of values that are all arrays."""
        heads = self._heads(places)
        parents = np.repeat(np.arange(len(places)), heads.counts)
        number = np.arange(len(parents)) - np.repeat(np.cumsum(heads.counts) - heads.counts, heads.counts)
        widths = heads.widths[parents]
        offsets = self.buffer.unsigned(heads.offsets_at[parents] + number * widths, widths)
        ends = (places.starts + heads.sizes)[parents]
        starts = heads.data_at[parents] + offsets
        if (starts >= ends).any():
            raise malformed()
        owners = places.owners[parents]
        id_widths = heads.id_widths[parents]
        ids = self.buffer.unsigned(heads.ids_at[parents] + number * id_widths, id_widths)
        return Children(parents, Places(starts, ends, owners), ids, heads.counts)

    def name_codes(self, fields: Children) -> Int64s:
        """The codes of the names of fields."""
        owners = fields.places.owners
        if (fields.ids >= self.names.counts[owners]).any():
            raise malformed()
        codes: Int64s = self.names.codes[self.names.first[owners] + fields.ids]
        return codes

    def _heads(self, places: Places) -> _Heads:
        headers = self.buffer.bytes[places.starts].astype(np.int64)
        is_object, info = headers & 3 == 2, headers >> 2
        count_widths = np.where(info >> np.where(is_object, 4, 2) & 1, 4, 1)
        id_widths = np.where(is_object, (info >> 2 & 3) + 1, 0)
        widths = (info & 3) + 1
        counts = self.buffer.unsigned(np.minimum(places.starts + 1, self.buffer.size), count_widths)
        ids_at = places.starts + 1 + count_widths
        offsets_at = ids_at + id_widths * counts
        data_at = offsets_at + widths * (counts + 1)
        if (data_at > places.ends).any():
            raise malformed()
        sizes = data_at - places.starts + self.buffer.unsigned(data_at - widths, widths)
        if (places.starts + sizes > places.ends).any():
            raise malformed()
        found = (counts, id_widths, widths, ids_at, offsets_at, data_at, sizes)
        return _Heads(*(part.astype(np.int64, copy=False) for part in found))


@dataclass(frozen=True)
class _Heads:
    """What the first bytes of objects and arrays say."""

    counts: Int64s
    id_widths: Int64s
    widths: Int64s
    ids_at: Int64s
    offsets_at: Int64s
    data_at: Int64s
    sizes: Int64s


def _has_all(array: pa.Array, present: Booleans) -> bool:
    return not array.null_count or bool((to_numpy(array.is_valid()) | ~present).all())


def _binary(array: pa.Array) -> tuple[Bytes, Int64s]:
    """The bytes of all values, and the offsets of each in them."""
    if not len(array):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    plain = array.cast(pa.large_binary())
    offsets = np.frombuffer(plain.buffers()[1], np.int64, len(plain) + 1, plain.offset * 8)
    data = np.frombuffer(plain.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    return data, offsets - offsets[0]


def _dictionary(metadata: pa.Array) -> Dictionary:
    """The names in metadata, of which none is null."""
    data, bounds = _binary(metadata)
    buffer, starts, ends = Buffer(data), bounds[:-1], bounds[1:]
    headers = buffer.bytes[starts].astype(np.int64)
    widths = (headers >> 6) + 1
    if (ends - starts < 1 + widths).any() or (headers & 0x0F != 1).any():
        raise malformed()
    counts = buffer.unsigned(starts + 1, widths)
    data_at = starts + 1 + widths * (counts + 2)
    if (data_at > ends).any():
        raise malformed()
    owners = np.repeat(np.arange(len(starts)), counts)
    first = np.cumsum(counts) - counts
    number = np.arange(len(owners)) - first[owners]
    places = (starts + 1 + widths)[owners] + number * widths[owners]
    begins = buffer.unsigned(places, widths[owners])
    stops = buffer.unsigned(places + widths[owners], widths[owners])
    if (begins > stops).any() or (data_at[owners] + stops > ends[owners]).any():
        raise malformed()
    names = slices(buffer.bytes, data_at[owners] + begins, data_at[owners] + stops)
    try:
        encoded = names.cast(pa.large_string()).dictionary_encode()
    except pa.ArrowInvalid:
        raise malformed() from None
    codes = to_numpy(encoded.indices).astype(np.int64)
    return Dictionary(first, counts, codes, tuple(encoded.dictionary.to_pylist()))


def slices(data: Bytes, starts: Int64s, ends: Int64s, present: Booleans | None = None) -> pa.Array:
    """Parts of a buffer as large binaries.

    Args:
        data: the bytes.
        starts, ends: of the parts; ends are not before starts.
        present: which of the results are not null (there are as many of them as parts); None: each part is a result.
    """
    order = None
    if len(starts) > 1 and (starts[1:] < ends[:-1]).any():  # others are not in the order in which they were written
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
        if (starts[1:] < ends[:-1]).any():
            raise malformed()
    offsets = np.empty(2 * len(starts) + 1, np.int64)
    offsets[:-1:2], offsets[1::2], offsets[-1] = starts, ends, len(data)
    parts = pa.Array.from_buffers(pa.large_binary(), 2 * len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    chosen = 2 * np.arange(len(starts))
    if order is not None:
        chosen[order] = chosen.copy()
    return parts.take(placed(chosen, present))
