"""How the data files of a table look: columns, format, size, statistics (format sections 6 and 7.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_spark.arrow.column_stats import ColumnStats
from paimon_spark.arrow.file_access import WriteSettings
from paimon_spark.arrow.statistics import StatsMode, file_stats, stats_modes
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.spec import options as o
from paimon_spark.spec.manifest import EMPTY_STATS, SimpleStats
from paimon_spark.spec.options import MB, Options
from paimon_spark.spec.schema import (
    KEY_FIELD_ID_START,
    KEY_PREFIX,
    SEQUENCE_NUMBER,
    SEQUENCE_NUMBER_ID,
    VALUE_KIND,
    VALUE_KIND_ID,
    TableSchema,
)
from paimon_spark.spec.types import DataField, DataType, Root

_SYSTEM_FIELDS = (
    DataField(SEQUENCE_NUMBER_ID, SEQUENCE_NUMBER, DataType(Root.BIGINT, nullable=False)),
    DataField(VALUE_KIND_ID, VALUE_KIND, DataType(Root.TINYINT, nullable=False)),
)
TARGET_WITH_KEY = 128 * MB
TARGET_WITHOUT_KEY = 256 * MB


@dataclass(frozen=True)
class FileLayout:
    """Build with ``file_layout``.

    Attributes:
        schema_id: of the table schema that the files follow; values: its columns.
        keys: the trimmed primary key, NOT NULL, in its order; empty for append tables.
        key_names: the names of these columns in the files.
        file_fields: all columns of the files; arrow is their schema.
        thin: whether keys are not stored a second time as _KEY_ columns.
        file_format, settings: see open_writer.
        prefix, suffix: of file names; suffix is a compression, or None.
        target_bytes, target_rows: a file is closed when it has as many.
        stats_modes: of every column of the files; dense_stats: whether columns without statistics are left out.
    """

    schema_id: int
    values: tuple[DataField, ...]
    keys: tuple[DataField, ...]
    key_names: tuple[str, ...]
    file_fields: tuple[DataField, ...]
    arrow: pa.Schema
    thin: bool
    file_format: str
    settings: WriteSettings
    prefix: str
    suffix: str | None
    target_bytes: int
    target_rows: int
    stats_modes: tuple[StatsMode, ...]
    dense_stats: bool

    def key_stats(self, found: Mapping[str, ColumnStats]) -> SimpleStats:
        """``_KEY_STATS`` of a file: of all key columns.

        Args:
            found: what is known of the columns of the file, by their names there.
        """
        if not self.keys:
            return EMPTY_STATS
        modes = dict(zip((f.name for f in self.file_fields), self.stats_modes, strict=True))
        stored = [replace(f, name=name) for f, name in zip(self.keys, self.key_names, strict=True)]
        return file_stats(stored, [modes[name] for name in self.key_names], found, dense=False)[0]

    def value_stats(self, found: Mapping[str, ColumnStats]) -> tuple[SimpleStats, tuple[str, ...] | None]:
        """``_VALUE_STATS`` and ``_VALUE_STATS_COLS`` of a file; found as above."""
        return file_stats(self.values, self.stats_modes[-len(self.values) :], found, self.dense_stats)


def file_layout(schema: TableSchema, options: Options, level: int = 0) -> FileLayout:
    """The layout of files that are written now.

    Args:
        schema: of the table.
        options: of the table and the write.
        level: of the files; formats and compressions can be set per level.
    """
    fields = schema.fields
    keys: tuple[DataField, ...] = ()
    thin = options.value(o.DATA_FILE_THIN_MODE)
    if schema.primary_keys:
        keys = tuple(DataField(f.id, f.name, f.type.with_nullable(False)) for f in schema.key_fields)
        stored = [DataField(KEY_FIELD_ID_START + f.id, KEY_PREFIX + f.name, f.type) for f in keys]
        fields = (*([] if thin else stored), *_SYSTEM_FIELDS, *fields)
    compression = options.value(o.FILE_COMPRESSION_PER_LEVEL).get(level, options.value(o.FILE_COMPRESSION))
    key_names = tuple(f.name if thin else KEY_PREFIX + f.name for f in keys)
    target = options.value(o.TARGET_FILE_SIZE) or (TARGET_WITH_KEY if keys else TARGET_WITHOUT_KEY)
    return FileLayout(
        schema_id=schema.id,
        values=schema.fields,
        keys=keys,
        key_names=key_names,
        file_fields=tuple(fields),
        arrow=arrow_schema(fields),
        thin=thin,
        file_format=options.value(o.FILE_FORMAT_PER_LEVEL).get(level, options.value(o.FILE_FORMAT)),
        settings=WriteSettings(
            compression=compression,
            zstd_level=options.value(o.FILE_COMPRESSION_ZSTD_LEVEL),
            block_size=options.value(o.FILE_BLOCK_SIZE),
        ),
        prefix=options.value(o.DATA_FILE_PREFIX),
        suffix=compression if options.value(o.FILE_SUFFIX_INCLUDE_COMPRESSION) else None,
        target_bytes=target,
        target_rows=options.value(o.TARGET_FILE_ROW_NUM),
        stats_modes=stats_modes([f.name for f in fields], options, level, key_names),
        dense_stats=options.value(o.STATS_DENSE_STORE),
    )
