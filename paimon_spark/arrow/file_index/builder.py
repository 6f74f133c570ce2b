"""Makes the file index of a data file from its rows (Java: DataFileIndexWriter)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.file_index.column_keys import ColumnKeys, bit_values, fits_long, map_values
from paimon_spark.arrow.raw_values import valid_mask
from paimon_spark.format.file_index.bitmap_writer import write_bitmap
from paimon_spark.format.file_index.bloom import BloomBuilder, Hashes, hash_numbers
from paimon_spark.format.file_index.bsi import write_bsi
from paimon_spark.format.file_index.container import encode_container
from paimon_spark.format.file_index.keys import KeyForm
from paimon_spark.format.file_index.kinds import BITMAP, BLOOM_FILTER, BSI
from paimon_spark.format.file_index.range_bitmap import write_range_bitmap
from paimon_spark.format.file_index.settings import IndexSetting, is_bytes
from paimon_spark.format.file_index.text_hash import LONG, hash_texts
from paimon_spark.format.types import DataField, DataType


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
