"""Maps whose entries lie in columns that several keys share (``map.storage-layout`` = ``shared-shredding``).

A data file holds such a map as a struct: for each value column the number of the key whose value it holds in this row
(-1: none), the value columns, and a map of the entries that have found no column. The metadata of the column name the
keys. Java: MapSharedShreddingUtils, MapSharedShreddingReadPlan, MapSharedShreddingRowConverter.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow import kernels as pc
from paimon_spark.arrow.conform import Conform, conform
from paimon_spark.arrow.raw_values import Int64s, from_numpy, placed, to_numpy, valid_mask
from paimon_spark.arrow.types import arrow_type
from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.json_text import load_json
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.limits import MAX_JSON_BYTES, MAX_JSON_VALUES

MAPPING, OVERFLOW = "__field_mapping", "__overflow"
_INT = DataType(Root.INT)
_KEY = DataType(Root.INT, nullable=False)
_LAYOUT, _PREFIX = "paimon.map.storage-layout", "paimon.map.shared-shredding."
_VERSION = "1"
_LZ4_HEADER = struct.Struct("<ii")  # sizes: compressed, original


@dataclass(frozen=True)
class SharedMap:
    """How the writer stores a map.

    Attributes:
        column: its name.
        most_columns: the value columns that a file may have.
        placement: ``plain``: entries fill the columns in their order; ``sequential``: in the order in which the file
            met their keys; ``lru``: a key stays in its column.
    """

    column: str
    most_columns: int = 256
    placement: str = "lru"


def _column(number: int) -> str:
    return f"__col_{number}"


# ------------------------------------------------------------------------------------------------------------- reading


def shared_map_conformer(source: pa.Field, target: pa.DataType, where: str) -> Conform | None:
    """A function that makes maps of the struct in a file; None if the file has the column as a map.

    Args:
        source: the column of the file, with its metadata.
        target: the type of the maps.
        where: the file, for errors.

    Raises:
        CorruptFile: the metadata do not tell the keys.
        UnsupportedFeature: they are of a version that this release does not know.
    """
    found = {key.decode(): value for key, value in (source.metadata or {}).items()}
    if found.get(_LAYOUT) != b"shared-shredding" or not pt.is_map(target):
        return None
    names = _key_names(found, f"reading column '{source.name}' of {where}").cast(target.key_type)
    return lambda array: _whole_maps(array, names, target, where)


def _key_names(metadata: Mapping[str, bytes], what: str) -> pa.StringArray:
    """The names of the keys by their numbers; null: no key has the number."""
    version = metadata.get(f"{_PREFIX}version", b"").decode()
    if version != _VERSION:
        raise UnsupportedFeature(
            f"{what}: its maps are stored in version {version!r} of the layout shared-shredding, and this release "
            f"knows version {_VERSION}; use a newer release"
        )
    try:
        codec = metadata.get(f"{_PREFIX}field-dict-compression", b"zstd").decode()
        size = int(metadata[f"{_PREFIX}field-dict-original-size"])
        data = metadata[f"{_PREFIX}field-dict"].decode().encode("latin-1")
        if not 0 <= size <= MAX_JSON_BYTES:
            raise ValueError(f"{size} bytes are announced, more than {MAX_JSON_BYTES}")
        numbers = load_json(_decompressed(data, codec, size))
        count = max(numbers.values(), default=-1) + 1
        if count > MAX_JSON_VALUES:
            raise ValueError(f"a key has the number {count - 1}")
        names: list[str | None] = [None] * count
        for name, number in numbers.items():
            names[number] = name
    except (
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        IndexError,
        OSError,
        struct.error,
        RecursionError,
    ) as error:
        raise CorruptFile(f"{what}: its metadata do not name the keys of its maps: {error!r:.200}") from None
    return pa.array(names, pa.string())


def _decompressed(data: bytes, codec: str, size: int) -> bytes:
    match codec:
        case "none":
            return data
        case "lz4":
            compressed, size = _LZ4_HEADER.unpack_from(data)
            body = data[_LZ4_HEADER.size : _LZ4_HEADER.size + compressed]
            return bytes(pa.Codec("lz4_raw").decompress(body, size))
    return bytes(pa.Codec(codec).decompress(data, size))


def _whole_maps(array: pa.StructArray, names: pa.Array, target: pa.DataType, where: str) -> pa.Array:
    """Maps, whose entries follow each other as the columns do, and after them those without a column."""
    rows, valid = len(array), valid_mask(array)
    count = sum(f.name.startswith("__col_") for f in array.type)
    mapping = array.field(MAPPING)
    sizes = to_numpy(pc.fill_null(pc.list_value_length(mapping), 0)) * valid
    if (sizes[valid] != count).any():
        raise CorruptFile(f"reading {where}: a map of {count} shared columns tells the keys of another number of them")
    mapped = mapping.filter(from_numpy(valid)) if not valid.all() else mapping
    ids = to_numpy(mapped.flatten()).astype(np.int64).reshape(-1, count)
    is_key = _are_keys(ids, names)
    row, column = np.nonzero(is_key)
    owners = np.flatnonzero(valid)[row]
    parts = [conform(array.field(_column(i)), target.item_type) for i in range(count)]
    overflow = array.field(OVERFLOW)
    more_owners, places = _entries(overflow, valid)
    more_ids = to_numpy(overflow.keys).astype(np.int64)[places]
    kept = _are_keys(more_ids, names)
    more_owners, places, more_ids = more_owners[kept], places[kept], more_ids[kept]
    parts.append(conform(overflow.items, target.item_type))
    all_owners = np.concatenate((owners, more_owners))
    order = np.argsort(all_owners, kind="stable")
    chosen = np.concatenate((column * rows + owners, count * rows + places))[order]
    numbers = np.concatenate((ids[is_key], more_ids))[order]
    offsets = np.zeros(rows + 1, np.int32)
    np.cumsum(np.bincount(all_owners, minlength=rows), out=offsets[1:])
    entries = pa.StructArray.from_arrays(
        [names.take(from_numpy(numbers)), pa.concat_arrays(parts).take(from_numpy(chosen))],
        fields=[target.key_field, target.item_field],
    )
    validity = array.is_valid().buffers()[1] if array.null_count else None
    return pa.Array.from_buffers(target, rows, [validity, pa.py_buffer(offsets)], -1, 0, [entries])


def _are_keys(ids: npt.NDArray[np.int64], names: pa.Array) -> npt.NDArray[np.bool_]:
    known = np.zeros(len(names) + 1, np.bool_)
    known[:-1] = valid_mask(names)
    found: npt.NDArray[np.bool_] = known[np.where((ids >= 0) & (ids < len(names)), ids, len(names))]
    return found


def _entries(maps: pa.MapArray, valid: npt.NDArray[np.bool_]) -> tuple[Int64s, Int64s]:
    """The row of each entry, and its place among the keys and items, of the maps in valid rows."""
    offsets = to_numpy(maps.offsets).astype(np.int64)
    sizes = np.diff(offsets) * (valid_mask(maps) & valid)
    owners = np.repeat(np.arange(len(maps), dtype=np.int64), sizes)
    first = np.cumsum(sizes) - sizes
    return owners, offsets[:-1][owners] + np.arange(len(owners)) - first[owners]


# ------------------------------------------------------------------------------------------------------------- writing


@dataclass
class SharedColumns:
    """One map column of one file that is being written.

    Attributes:
        rules: how it is stored.
        type: of its values.
        count: its value columns.
        numbers: of the keys, by name, in the order in which the file met them.
        columns_of: the columns that each key was in.
        overflowing: the keys that have been without a column.
        widest: the most entries of a row.
    """

    rules: SharedMap
    type: DataType
    count: int
    numbers: dict[str, int] = field(default_factory=dict)
    columns_of: dict[int, set[int]] = field(default_factory=dict)
    overflowing: set[int] = field(default_factory=set)
    widest: int = 0

    @classmethod
    def of(cls, rules: SharedMap, map_type: DataType, maps: Sequence[pa.MapArray]) -> SharedColumns:
        """maps: the first of the file; there are as many columns as the widest of them has entries, if that many may
        be."""
        widest = max((int(np.diff(to_numpy(some.offsets)).max(initial=0)) for some in maps), default=0)
        value = map_type.inner.with_nullable(True)  # a column has none in rows without its keys
        return cls(rules, value, min(max(widest, 1), rules.most_columns))

    @property
    def stored_type(self) -> DataType:
        """The type of the column in the file."""
        values = [DataField(i + 1, _column(i), self.type) for i in range(self.count)]
        mapping = DataField(0, MAPPING, DataType(Root.ARRAY, element=_INT))
        overflow = DataField(self.count + 1, OVERFLOW, DataType(Root.MAP, key=_KEY, element=self.type))
        return DataType(Root.ROW, fields=(mapping, *values, overflow))

    def stored(self, maps: pa.MapArray) -> pa.StructArray:
        """Maps as the file holds them."""
        rows, valid = len(maps), valid_mask(maps)
        owners, places = _entries(maps, valid)
        ids = self._numbered(maps.keys.take(from_numpy(places)))
        columns = self._columns(ids, owners, rows)
        has_column = columns >= 0
        mapping = np.full(rows * self.count, -1, np.int32)
        mapping[owners[has_column] * self.count + columns[has_column]] = ids[has_column]
        item_type = arrow_type(self.type)
        items = conform(maps.items, item_type)
        values = [self._values(items, i, columns, owners, places, rows) for i in range(self.count)]
        offsets = from_numpy(np.arange(rows + 1, dtype=np.int32) * np.int32(self.count))
        lists = pa.ListArray.from_arrays(offsets, from_numpy(mapping))
        rest = ~has_column
        overflow = _overflow(ids[rest], owners[rest], items.take(from_numpy(places[rest])), rows)
        self._note(ids, columns, owners)
        mask = None if valid.all() else from_numpy(~valid)
        names = [MAPPING, *map(_column, range(self.count)), OVERFLOW]
        return pa.StructArray.from_arrays([lists, *values, overflow], names=names, mask=mask)

    def metadata(self, compression: str) -> dict[str, str]:
        """What the column of the file tells of its keys."""
        names = json.dumps(dict(sorted(self.numbers.items())), ensure_ascii=False, separators=(",", ":")).encode()
        codec = compression if compression in ("none", "lz4") else "zstd"
        columns = {str(number): sorted(found) for number, found in sorted(self.columns_of.items())}
        return {
            _LAYOUT: "shared-shredding",
            f"{_PREFIX}version": _VERSION,
            f"{_PREFIX}field-dict-compression": codec,
            f"{_PREFIX}field-dict-original-size": str(len(names)),
            f"{_PREFIX}field-dict": _compressed(names, codec).decode("latin-1"),
            f"{_PREFIX}field-columns": json.dumps(columns, separators=(",", ":")),
            f"{_PREFIX}overflow-set": json.dumps(sorted(self.overflowing), separators=(",", ":")),
            f"{_PREFIX}num-columns": str(self.count),
            f"{_PREFIX}max-row-width": str(self.widest),
        }

    def _numbered(self, keys: pa.Array) -> Int64s:
        """The number of each key; new keys get the next ones."""
        found = keys.dictionary_encode()
        known = np.array([self._number(key) for key in found.dictionary.to_pylist()], np.int64)
        return known[to_numpy(found.indices)] if len(known) else np.empty(0, np.int64)

    def _number(self, key: str) -> int:
        return self.numbers.setdefault(key, len(self.numbers))

    def _columns(self, ids: Int64s, owners: Int64s, rows: int) -> Int64s:
        """The column of each entry; -1: none is free. No two entries of a row get the same."""
        if self.rules.placement == "lru":
            wanted = owners * self.count + ids % self.count
            slots = np.full(rows * self.count, -1, np.int64)
            few = len(self.numbers) <= 1 << 16
            newest_first = np.argsort(ids.astype(np.uint16) if few else ids, kind="stable")[::-1]
            slots[wanted[newest_first]] = newest_first  # of several keys the one that was met first stays
            return np.where(slots[wanted] == np.arange(len(ids)), ids % self.count, -1)
        counts = np.bincount(owners, minlength=rows)
        within = np.arange(len(ids)) - (np.cumsum(counts) - counts)[owners]
        if self.rules.placement == "sequential":
            columns = np.empty(len(ids), np.int64)
            columns[np.lexsort((ids, owners))] = within  # entries of a row are counted in the order of their keys
            within = columns
        return np.where(within < self.count, within, -1)

    def _values(
        self, items: pa.Array, column: int, columns: Int64s, owners: Int64s, places: Int64s, rows: int
    ) -> pa.Array:
        chosen = columns == column
        present = np.zeros(rows, np.bool_)
        present[owners[chosen]] = True
        return items.take(placed(places[chosen], present))

    def _note(self, ids: Int64s, columns: Int64s, owners: Int64s) -> None:
        has_column = columns >= 0
        pairs = np.unique(ids[has_column] * self.count + columns[has_column])
        for number, column in zip((pairs // self.count).tolist(), (pairs % self.count).tolist(), strict=True):
            self.columns_of.setdefault(number, set()).add(column)
        self.overflowing.update(np.unique(ids[~has_column]).tolist())
        self.widest = max(self.widest, int(np.bincount(owners).max(initial=0)))


def _overflow(ids: Int64s, owners: Int64s, items: pa.Array, rows: int) -> pa.MapArray:
    """The entries without a column; null in rows that have none."""
    counts = np.bincount(owners, minlength=rows)
    offsets = np.zeros(rows + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    target = pa.map_(pa.int32(), items.type)
    entries = pa.StructArray.from_arrays(
        [from_numpy(ids.astype(np.int32)), items], fields=[target.key_field, target.item_field]
    )
    validity = from_numpy(counts > 0).buffers()[1]
    return pa.Array.from_buffers(target, rows, [validity, pa.py_buffer(offsets)], -1, 0, [entries])


def _compressed(data: bytes, codec: str) -> bytes:
    match codec:
        case "none":
            return data
        case "lz4":
            body = pa.Codec("lz4_raw").compress(data, asbytes=True)
            return _LZ4_HEADER.pack(len(body), len(data)) + bytes(body)
    return bytes(pa.Codec(codec, compression_level=1).compress(data, asbytes=True))
