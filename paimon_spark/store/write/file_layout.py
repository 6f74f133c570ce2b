"""The layout of data files: columns, format, size, statistics (format sections 6 and 7.1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import pyarrow as pa

from paimon_spark.arrow.formats.file_access import WriteSettings
from paimon_spark.arrow.formats.shared_maps import SharedMap
from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.arrow.statistics.manifest_stats import (
    StatsMode,
    changelog_stats_mode,
    data_stats_mode,
    file_stats,
    stats_modes,
)
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import OptionError, SchemaError, UnsupportedFeature
from paimon_spark.format.blob_file import BLOB
from paimon_spark.format.file_index.settings import IndexSetting, check_indexes, index_settings
from paimon_spark.format.managed_blobs import PACK
from paimon_spark.format.manifest import EMPTY_STATS, FileSource, SimpleStats
from paimon_spark.format.options.option import COLUMN, MB
from paimon_spark.format.options.table_settings import ColumnSettings, TableSettings
from paimon_spark.format.options.write_settings import VariantSettings
from paimon_spark.format.paths import VECTOR_MARK
from paimon_spark.format.rules.blobs import blob_file_columns, own_file_columns, vector_file_columns
from paimon_spark.format.rules.key_clustering import clustering_fields, orders_otherwise
from paimon_spark.format.schema import KEY_FIELD_ID_START, KEY_PREFIX, KEYED_FIELDS, ROW_ID, TableSchema
from paimon_spark.format.type_text import parse_type, type_sql
from paimon_spark.format.types import DataField, DataType, Root

if TYPE_CHECKING:
    from paimon_spark.arrow.shredding.plans import Shredding

TARGET_WITH_KEY = 128 * MB
TARGET_WITHOUT_KEY = 256 * MB
_UNLIMITED = 2**63 - 1


class Numbering(StrEnum):
    """Where the sequence numbers in the metadata of a file come from."""

    IN_FILE = "in file"
    """The file holds the number of each row. Tables with keys."""
    COUNTED = "counted"
    """The writer counts the rows. Append tables."""
    BY_COMMIT = "by commit"
    """The commit numbers all rows of the file. New rows of tables with row tracking."""
    KEPT = "kept"
    """The file holds the ids and numbers of rows that are written again; the commit numbers those without one. Tables
    with row tracking."""


@dataclass(frozen=True)
class BlobLayout:
    """The files of one BLOB column.

    Attributes:
        column: its name.
        data_type: its type: BLOB, or an array or map of them.
        schema_id: of the table schema that the files follow.
        target_bytes: a file is closed when its entries have as many.
    """

    column: str
    data_type: DataType
    schema_id: int
    target_bytes: int


@dataclass(frozen=True)
class FileLayout:
    """The layout of data files; made by ``file_layout``.

    Attributes:
        schema_id: the id of the table schema that the files follow.
        values: the columns of that schema, without BLOB columns with files of their own.
        keys: the trimmed primary key, NOT NULL, in its order; empty for append tables.
        sorted_by: the columns that the rows of the files are sorted by, where it is not the key
            (`pk-clustering-override`); (): they are sorted by the key.
        key_names: the names of these columns in the files.
        file_fields: all columns of the files.
        arrow: the Arrow schema of file_fields.
        thin: True if keys are not stored a second time as _KEY_ columns.
        file_format, settings: see open_writer.
        prefix, suffix: parts of the file names; suffix is a compression, or None.
        target_bytes, target_rows: a file is closed when it reaches one of them.
        level: the level of the files in the LSM tree.
        source: what writes the files.
        indexes: the indexes that every file gets.
        most_embedded: bytes of indexes that are stored in the manifest; more are stored in a file of their own.
        numbering: who numbers the rows.
        write_cols: ``_WRITE_COLS`` of a file: its columns, where they are not those of its schema; None: they are.
        stats_modes: the stats mode of every column of the files.
        dense_stats: True if columns without statistics are left out.
        blobs: the files of BLOB columns beside these files.
        packs: the BLOB columns of which the files have references to bytes in packs; each file has a list of these.
        fills_packs: True if the values that come are not in packs yet; False: they are the references.
        vectors: the files of VECTOR columns beside these files; None: there are none.
        mark: what the names of the files have behind their number, to tell them from others.
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
    level: int = 0
    source: FileSource = FileSource.APPEND
    indexes: tuple[IndexSetting, ...] = ()
    most_embedded: int = 0
    numbering: Numbering = Numbering.COUNTED
    write_cols: tuple[str, ...] | None = None
    blobs: tuple[BlobLayout, ...] = ()
    packs: tuple[BlobLayout, ...] = ()
    fills_packs: bool = False
    vectors: FileLayout | None = None
    mark: str = ""
    sorted_by: tuple[DataField, ...] = ()

    def suffix_of(self, file_format: str) -> str | None:
        """The part of the names of files of a format that tells their compression; those of BLOB columns have none."""
        return None if file_format in (BLOB, PACK) else self.suffix

    def key_stats(self, found: Mapping[str, ColumnStats]) -> SimpleStats:
        """``_KEY_STATS`` of a file: of all key columns.

        Args:
            found: the statistics of the file writer, by the names of the columns in the file.
        """
        if not self.keys:
            return EMPTY_STATS
        modes = dict(zip((f.name for f in self.file_fields), self.stats_modes, strict=True))
        stored = [replace(f, name=name) for f, name in zip(self.keys, self.key_names, strict=True)]
        return file_stats(stored, [modes[name] for name in self.key_names], found, dense=False)[0]

    def value_stats(self, found: Mapping[str, ColumnStats]) -> tuple[SimpleStats, tuple[str, ...] | None]:
        """``_VALUE_STATS`` and ``_VALUE_STATS_COLS`` of a file.

        Args:
            found: the statistics of the file writer, by the names of the columns in the file.
        """
        return file_stats(self.values, self.stats_modes[-len(self.values) :], found, self.dense_stats)


@dataclass(frozen=True)
class FileRules:
    """Wherein the kinds of files of one table differ.

    Attributes:
        level, source, prefix: as of FileLayout.
        file_format, compression: as the options name them.
        stats_mode: of the columns that have none of their own.
        target_rows: a file is closed when it has as many.
    """

    level: int
    source: FileSource
    prefix: str
    file_format: str
    compression: str
    stats_mode: StatsMode
    target_rows: int


def file_layout(
    schema: TableSchema, settings: TableSettings, level: int = 0, source: FileSource = FileSource.APPEND
) -> FileLayout:
    """The layout of data files that are written now; arguments and errors as of data_rules and index_settings."""
    layout = with_packs(layout_by(schema, settings, data_rules(settings, level, source)), schema, settings)
    if schema.primary_keys and level > 0 and orders_otherwise(settings):
        layout = replace(layout, sorted_by=clustering_fields(schema, settings))
    indexes = index_settings(settings)
    if not indexes:
        return layout
    check_indexes(indexes, schema.by_name)
    return replace(layout, indexes=indexes, most_embedded=settings.files.index_in_manifest_threshold)


def column_layout(schema: TableSchema, settings: TableSettings, names: Collection[str]) -> FileLayout:
    """The layout of one file that holds some columns of all rows of another one (data evolution).

    The file never ends before its last row, and has the indexes of its columns.

    Args:
        schema, settings: of the table.
        names: the columns, none with files of its own.

    Raises:
        OptionError: an option cannot be read.
    """
    fields = tuple(field for field in schema.fields if field.name in names)
    whole = file_layout(schema, settings)
    layout = layout_by(replace(schema, fields=fields), settings, data_rules(settings))
    return replace(
        layout,
        target_bytes=_UNLIMITED,
        target_rows=_UNLIMITED,
        indexes=tuple(setting for setting in whole.indexes if setting.column in names),
        most_embedded=whole.most_embedded,
        write_cols=None if len(fields) == len(schema.fields) else tuple(field.name for field in fields),
    )


def data_rules(
    settings: TableSettings,
    level: int = 0,
    source: FileSource = FileSource.APPEND,
    stats_mode: StatsMode | None = None,
) -> FileRules:
    """The rules of data files.

    Args:
        settings: of the table and the write.
        level: of the files; formats, compressions and statistics can be set per level.
        source: what writes them; ``target-file-row-num`` is not for compactions (Java: KeyValueFileWriterFactory).
        stats_mode: as ``otherwise`` of data_stats_mode.

    Raises:
        OptionError: an option cannot be read.
    """
    return FileRules(
        level=level,
        source=source,
        prefix=settings.files.prefix,
        file_format=settings.files.format_per_level.get(level, settings.files.format),
        compression=settings.files.compression_per_level.get(level, settings.files.compression),
        stats_mode=data_stats_mode(settings, level, stats_mode),
        target_rows=_UNLIMITED if source == FileSource.COMPACT else settings.files.target_row_num,
    )


def changelog_layout(schema: TableSchema, settings: TableSettings, level: int = 0) -> FileLayout:
    """The layout of new changelog files, which have the columns of data files (features section 6).

    Args:
        schema: the schema of the table.
        settings: the options of the table and the write.
        level: 0 for ``changelog-producer`` = ``input``, else the output level of the compaction; settings without a
            ``changelog-file.*`` option are those of data files of that level.
    """
    data = data_rules(settings, level)
    rules = replace(
        data,
        prefix=settings.files.changelog_prefix,
        file_format=settings.files.changelog_format or data.file_format,
        compression=settings.files.changelog_compression or data.compression,
        stats_mode=changelog_stats_mode(settings) or data.stats_mode,
        target_rows=_UNLIMITED,
    )
    return layout_by(schema, settings, rules)


def layout_by(schema: TableSchema, settings: TableSettings, rules: FileRules) -> FileLayout:
    """The layout of one kind of files.

    Args:
        schema: of the table, ``with_tracking`` for rows that are written again.
        settings: of the table and the write.
        rules: of the kind.

    Raises:
        OptionError: an option cannot be read.
    """
    apart = () if schema.primary_keys else own_file_columns(schema.fields, settings)
    if not apart:
        return _layout_of(schema, settings, rules)
    plain = tuple(field for field in schema.fields if field not in apart)
    return replace(
        _layout_of(replace(schema, fields=plain), settings, rules),
        write_cols=tuple(field.name for field in plain),
        blobs=blob_layouts(schema, settings, schema.names),
        vectors=vector_layout(schema, settings, schema.names),
    )


def vector_layout(schema: TableSchema, settings: TableSettings, names: Collection[str]) -> FileLayout | None:
    """The layout of the files of VECTOR columns, of those with files of their own among some columns; None: there are
    none.

    Raises:
        OptionError: an option cannot be read.
    """
    fields = vector_file_columns((field for field in schema.fields if field.name in names), settings)
    if not fields or schema.primary_keys or settings.files.vector_format is None:
        return None
    rules = replace(data_rules(settings), file_format=settings.files.vector_format.lower(), target_rows=_UNLIMITED)
    target = settings.files.vector_target_size or settings.files.target_size or TARGET_WITHOUT_KEY
    return replace(
        _layout_of(replace(schema, fields=fields), settings, rules),
        target_bytes=target,
        write_cols=tuple(field.name for field in fields),
        mark=VECTOR_MARK,
    )


def _layout_of(schema: TableSchema, settings: TableSettings, rules: FileRules) -> FileLayout:
    """The layout of files that have all columns of a schema."""
    fields = schema.fields
    keys: tuple[DataField, ...] = ()
    thin = settings.files.thin_mode
    if schema.primary_keys:
        keys = tuple(DataField(f.id, f.name, f.type.with_nullable(False)) for f in schema.key_fields)
        stored = [DataField(KEY_FIELD_ID_START + f.id, KEY_PREFIX + f.name, f.type) for f in keys]
        fields = (*([] if thin else stored), *KEYED_FIELDS, *fields)
    key_names = tuple(f.name if thin else KEY_PREFIX + f.name for f in keys)
    return FileLayout(
        schema_id=schema.id,
        values=schema.fields,
        keys=keys,
        key_names=key_names,
        file_fields=tuple(fields),
        arrow=arrow_schema(fields),
        thin=thin,
        file_format=rules.file_format,
        settings=WriteSettings(
            compression=rules.compression,
            zstd_level=settings.files.compression_zstd_level,
            block_size=settings.files.block_size,
            shredding=_shredding(settings) if rules.file_format == "parquet" else None,
            shared_maps=_shared_maps(schema, settings, rules.file_format),
        ),
        prefix=rules.prefix,
        suffix=rules.compression if settings.files.suffix_include_compression else None,
        target_bytes=settings.files.target_size or (TARGET_WITH_KEY if keys else TARGET_WITHOUT_KEY),
        target_rows=rules.target_rows,
        stats_modes=stats_modes([f.name for f in fields], settings, rules.stats_mode, key_names),
        dense_stats=settings.files.stats_dense_store,
        level=rules.level,
        source=rules.source,
        numbering=(numbering := _numbering(schema)),
        write_cols=tuple(field.name for field in schema.fields) if numbering is Numbering.KEPT else None,
    )


def _shredding(settings: TableSettings) -> Shredding | None:
    """Which parts of VARIANT values get columns of their own, in files that have such values.

    Raises:
        OptionError: ``variant.shreddingSchema`` is no type, or has one that is not shredded.
    """
    variants, where = settings.variants, f"the option '{VariantSettings.schema.key}'"
    if variants.schema is None and not variants.infers:
        return None
    from paimon_spark.arrow.shredding.inference import InferenceRules
    from paimon_spark.arrow.shredding.plans import Shredding
    from paimon_spark.arrow.shredding.shredder import check_shape

    if variants.schema is None:
        rules = InferenceRules(variants.most_columns, variants.most_levels, variants.least_share, variants.sample_rows)
        if variants.mode == "adaptive":
            rules = replace(rules, later_sample_rows=variants.later_sample_rows, kept_share=variants.kept_share)
        return Shredding(rules=rules)
    try:
        given = parse_type(variants.schema)
    except SchemaError as error:
        raise OptionError(f"{where} is no type: {error}") from None
    if given.root is not Root.ROW:
        raise OptionError(f"{where} is {type_sql(given)}: it must be a ROW with a field for each VARIANT column")
    for field in given.fields:
        check_shape(field.type, f"{where} for the column '{field.name}'")
    return Shredding(given=tuple((field.name, field.type) for field in given.fields))


def blob_layouts(schema: TableSchema, settings: TableSettings, names: Collection[str]) -> tuple[BlobLayout, ...]:
    """The layouts of the files of BLOB columns, of those with files of their own among some columns.

    Raises:
        OptionError: an option cannot be read.
    """
    found = () if schema.primary_keys else blob_file_columns(schema.fields, settings)
    return _blob_layouts(schema, settings, [field for field in found if field.name in names])


def with_packs(layout: FileLayout, schema: TableSchema, settings: TableSettings) -> FileLayout:
    """A layout of data files with the BLOB columns of a table with a primary key whose bytes are in packs.

    Raises:
        OptionError: an option cannot be read.
    """
    found = blob_file_columns(schema.fields, settings) if schema.primary_keys else ()
    return replace(layout, packs=_blob_layouts(schema, settings, found)) if found else layout


def _blob_layouts(schema: TableSchema, settings: TableSettings, fields: Iterable[DataField]) -> tuple[BlobLayout, ...]:
    target = settings.files.blob_target_size or settings.files.target_size or TARGET_WITHOUT_KEY
    return tuple(BlobLayout(field.name, field.type, schema.id, target) for field in fields)


def _shared_maps(schema: TableSchema, settings: TableSettings, file_format: str) -> tuple[SharedMap, ...]:
    """The maps whose keys share columns.

    Raises:
        UnsupportedFeature: files of this format get none here.
    """
    columns = {field.name: settings.column(field.name) for field in schema.fields if field.type.root is Root.MAP}
    shared = {name: column for name, column in columns.items() if column.map_layout == "shared-shredding"}
    if shared and file_format != "parquet":
        key, name = ColumnSettings.map_layout.key, next(iter(shared))
        raise UnsupportedFeature(
            f"cannot write to the table: its option '{key.replace(COLUMN, name)}' is 'shared-shredding', and this "
            f"release stores maps so in parquet files only, not in {file_format}; set 'file.format' = 'parquet'"
        )
    return tuple(SharedMap(name, column.map_columns, column.map_placement) for name, column in shared.items())


def _numbering(schema: TableSchema) -> Numbering:
    if schema.primary_keys:
        return Numbering.IN_FILE
    if not schema.tracking_fields:
        return Numbering.COUNTED
    return Numbering.KEPT if ROW_ID in schema.by_name else Numbering.BY_COMMIT
