"""Makes the file index of a data file from its rows (Java: DataFileIndexWriter)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.raw_values import Booleans, to_numpy, valid_mask
from paimon_spark.arrow.row_hash import decimal_halves, float_bits
from paimon_spark.format.file_index.bitmap import write_bitmap
from paimon_spark.format.file_index.bloom import LONG, BloomBuilder, Hashes, hash_numbers, hash_texts
from paimon_spark.format.file_index.bsi import write_bsi
from paimon_spark.format.file_index.container import encode_container
from paimon_spark.format.file_index.keys import CodedKeys, KeyForm, code_keys
from paimon_spark.format.file_index.range_bitmap import write_range_bitmap
from paimon_spark.format.file_index.row_sets import Ints
from paimon_spark.format.file_index.settings import BITMAP, BLOOM_FILTER, BSI, IndexSetting, is_bytes
from paimon_spark.format.spans import expand
from paimon_spark.format.types import FLOATS, STRINGS, TIMESTAMPS, DataField, DataType, Root


class FileIndexBuilder:
    """The indexes of one data file, whose rows come in batches."""

    def __init__(self, settings: Sequence[IndexSetting], fields: Mapping[str, DataField]) -> None:
        """Indexes of no rows yet.

        Args:
            settings: which indexes to make.
            fields: the columns by name.
        """
        by_name: dict[str, list[IndexSetting]] = {}
        for setting in settings:
            by_name.setdefault(setting.name, []).append(setting)
        self._columns = [_ColumnBuilder(each, each[0].data_type(fields[each[0].column])) for each in by_name.values()]

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds rows; the batch has the columns by their names."""
        for column in self._columns:
            column.add(batch)

    def to_bytes(self) -> bytes:
        """The container of the indexes."""
        return encode_container({column.name: column.indexes() for column in self._columns})


class _ColumnBuilder:
    """The indexes of one column, or of one key of a map."""

    def __init__(self, settings: Sequence[IndexSetting], data_type: DataType) -> None:
        self.name = settings[0].name
        self._settings = settings
        self._type = data_type
        blooms = [s for s in settings if s.kind == BLOOM_FILTER]
        self._bloom = BloomBuilder(blooms[0].value("items"), blooms[0].value("fpp")) if blooms else None
        self._keys = ColumnKeys(KeyForm(data_type)) if len(blooms) < len(settings) else None
        self._has_bsi = any(s.kind == BSI for s in settings)

    def add(self, batch: pa.RecordBatch) -> None:
        array = batch.column(self._settings[0].column)
        map_key = self._settings[0].map_key
        if map_key is not None:
            array = map_values(array, map_key)
        if self._has_bsi and not fits_long(array, self._type)[valid_mask(array)].all():
            self._has_bsi = False  # a value needs more bits than the index has: the file does without
        if self._keys is not None:
            self._keys.add(array)
        if self._bloom is None:
            return
        if is_bytes(self._type):
            self._bloom.add(_text_hashes(array.cast(pa.binary())))
        else:
            self._bloom.add(hash_numbers(bit_values(array, self._type)[valid_mask(array)]))

    def indexes(self) -> dict[str, bytes]:
        """The indexes by kind."""
        found: dict[str, bytes] = {}
        coded = None
        for setting in self._settings:
            if setting.kind == BLOOM_FILTER and self._bloom is not None:
                found[setting.kind] = self._bloom.to_bytes()
            elif self._keys is not None and setting.kind == BSI:
                if self._has_bsi:
                    found[setting.kind] = write_bsi(*self._keys.raw)
            elif self._keys is not None:
                coded = coded or self._keys.coded()
                if setting.kind == BITMAP:
                    found[BITMAP] = write_bitmap(coded, setting.value("version"), setting.value("index-block-size"))
                else:
                    found[setting.kind] = write_range_bitmap(coded, setting.value("chunk-size"))
        return found


def _text_hashes(texts: pa.Array) -> Hashes:
    """The hashes of texts. Long ones are hashed one by one, so of equal ones only one is."""
    if texts.null_count:
        texts = texts.drop_null()
    if texts.nbytes >= LONG * max(len(texts), 1):
        texts = texts.unique()
    if not len(texts):
        return np.empty(0, np.uint64)
    offsets = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, 4 * texts.offset)
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    return hash_texts(data, offsets[:-1], np.diff(offsets))


def map_values(maps: pa.Array, key: str) -> pa.Array:
    """The value of one key in each map; null where a map lacks it. Of a key that occurs twice the last counts."""
    offsets = maps.offsets.to_numpy()
    lengths = np.diff(offsets)
    lengths[~valid_mask(maps)] = 0
    row_of_entry = np.repeat(np.arange(len(maps)), lengths)
    places = expand(offsets[:-1].astype(np.int64), lengths)
    matches = to_numpy(pc.fill_null(pc.equal(maps.keys.take(pa.array(places)), key), False))
    found = np.full(len(maps), -1, np.int64)
    found[row_of_entry[matches]] = places[matches]
    return maps.items.take(pa.array(found, mask=found < 0))


def bit_values(array: pa.Array, data_type: DataType) -> Ints:
    """The values of a column of fixed width as integers, floats by their bits; those under nulls are arbitrary."""
    root = data_type.root
    if root is Root.BOOLEAN:
        return to_numpy(array).astype(np.int64)
    if root in FLOATS:
        bits = float_bits(array)
        return bits.view(np.int32 if bits.itemsize == 4 else np.int64).astype(np.int64)
    if root is Root.DECIMAL:
        return decimal_halves(array)[0].view(np.int64).copy()
    if root in TIMESTAMPS:
        units = to_numpy(array.view(pa.int64()))
        return units // 1000 if array.type.unit == "ns" else units
    return to_numpy(array.view(pa.int32()) if root in (Root.DATE, Root.TIME) else array).astype(np.int64)


def fits_long(array: pa.Array, data_type: DataType) -> Booleans:
    """Where a value has at most 63 bits, and is not the least number of 64 bits."""
    if data_type.root is Root.DECIMAL:
        low, high = decimal_halves(array)
        narrow = (low.view(np.int64) >> 63) == high.view(np.int64)
    else:
        low, narrow = bit_values(array, data_type).view(np.uint64), np.ones(len(array), np.bool_)
    return np.asarray(narrow & (low.view(np.int64) != -(2**63)), np.bool_)


def key_values(array: pa.Array, data_type: DataType) -> Ints:
    """The keys of a column of fixed width; those under nulls are arbitrary."""
    bits = bit_values(array, data_type)
    if data_type.root not in FLOATS:
        return bits
    magnitude = np.int64(2**31 - 1 if data_type.root is Root.FLOAT else 2**63 - 1)
    return np.where(bits >= 0, bits, -(bits & magnitude) - 1)


@dataclass
class ColumnKeys:
    """The keys of the rows of a column, which come in parts. Of texts only the distinct ones of each part are kept."""

    form: KeyForm
    _parts: list[tuple[Ints, Booleans]] = field(default_factory=list)
    _texts: list[pa.DictionaryArray] = field(default_factory=list)

    def add(self, array: pa.Array) -> None:
        """Adds rows."""
        if self.form.data_type.root in STRINGS:
            self._texts.append(array.cast(pa.binary()).dictionary_encode())
        else:
            self._parts.append((key_values(array, self.form.data_type), valid_mask(array)))

    @property
    def raw(self) -> tuple[Ints, Booleans]:
        """The keys of all rows, of a fixed width, and which of them are not null."""
        if not self._parts:
            return np.empty(0, np.int64), np.empty(0, np.bool_)
        keys, valid = zip(*self._parts, strict=True)
        return np.concatenate(keys), np.concatenate(valid)

    def coded(self) -> CodedKeys:
        """The keys of all rows."""
        return self._coded_texts() if self._texts else code_keys(self.form, *self.raw)

    def _coded_texts(self) -> CodedKeys:
        joined = pa.chunked_array(self._texts).unify_dictionaries()
        texts = joined.chunk(0).dictionary
        order = pc.sort_indices(texts).to_numpy()
        ranks = np.empty(len(order) + 1, np.int64)
        ranks[order] = np.arange(len(order))
        ranks[-1] = -1  # of nulls
        codes = [ranks[chunk.indices.fill_null(len(order)).to_numpy()] for chunk in joined.chunks]
        return CodedKeys(self.form, texts.take(pa.array(order)).to_pylist(), np.concatenate(codes))
