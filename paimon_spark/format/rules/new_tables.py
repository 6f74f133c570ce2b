"""What a new table must fulfil, and the ids of its fields (features 3.24; Java: SchemaValidation, Schema, TableSchema).

A rule is a function that yields a message for each violation.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from paimon_spark.errors import OptionError, SchemaError, UnsupportedFeature
from paimon_spark.format.file_index.settings import check_indexes, index_settings
from paimon_spark.format.options.engines import ChangelogProducer, MergeEngine
from paimon_spark.format.options.option import COLUMN, OFFICIAL, Option
from paimon_spark.format.options.table_settings import TABLE_OPTIONS, ColumnSettings, TableSettings
from paimon_spark.format.options.upkeep_settings import RetentionSettings
from paimon_spark.format.options.value_texts import parse_list
from paimon_spark.format.options.write_settings import (
    CommitSettings,
    CompactionSettings,
    DynamicBucketSettings,
    FileSettings,
    PostponeSettings,
    VariantSettings,
)
from paimon_spark.format.rules.blobs import check_blobs, check_vector_files, vector_file_columns
from paimon_spark.format.rules.chain_tables import check_chain
from paimon_spark.format.rules.key_clustering import key_clustering_faults
from paimon_spark.format.schema import KEY_PREFIX, SEQUENCE_NUMBER, VALUE_KIND, TableSchema
from paimon_spark.format.type_text import format_field, parse_field, type_sql
from paimon_spark.format.types import (
    FLOATS,
    INTEGERS,
    TIMESTAMPS,
    UNORDERED,
    DataField,
    DataType,
    Root,
    all_fields,
    holds,
)

RESERVED_NAMES = frozenset({SEQUENCE_NUMBER, VALUE_KIND, "_LEVEL", "rowkind", "_ROW_ID"})
_ELEMENTS = INTEGERS | FLOATS | {Root.BOOLEAN}
_OTHER_FORMATS = ("csv", "json", "text", "row", "blob", "lance", "vortex", "mosaic")
CODECS = {
    "parquet": ("zstd", "none", "uncompressed", "snappy", "gzip", "lz4", "lz4_raw", "brotli", "lzo"),
    "orc": ("zstd", "none", "uncompressed", "snappy", "zlib", "gzip", "lz4", "lzo", "brotli"),
    "avro": ("zstd", "zstandard", "none", "null", "snappy", "deflate", "bzip2", "xz"),
}
"""File format -> compressions of its files, of this release and of the official system."""
NOT_WRITTEN = {"parquet": ("lzo",), "orc": ("lzo", "brotli")}
"""File format -> those of CODECS that this release does not write."""
_STATS_MODE = re.compile(r"none|counts|full|truncate\([1-9]\d*\)")
_EXPIRE_ROOTS = frozenset({Root.INT, Root.BIGINT}) | TIMESTAMPS


def assign_field_ids(fields: Sequence[DataField], first: int = 0) -> tuple[tuple[DataField, ...], int]:
    """The fields numbered as the official system numbers those of a new table, and the highest id used.

    A column takes its id before the fields nested in it; inside a ROW, a field takes its id after those nested in it.

    Args:
        fields: without ids.
        first: the first id.
    """
    ids = itertools.count(first)
    numbered = []
    for field in fields:
        field_id = next(ids)
        numbered.append(replace(field, id=field_id, type=_number_nested(field.type, ids)))
    return tuple(numbered), next(ids) - 1


def _number_nested(data_type: DataType, ids: Iterator[int]) -> DataType:
    key = None if data_type.key is None else _number_nested(data_type.key, ids)
    element = None if data_type.element is None else _number_nested(data_type.element, ids)
    fields = []
    for field in data_type.fields:
        nested = _number_nested(field.type, ids)
        fields.append(replace(field, id=next(ids), type=nested))
    return replace(data_type, key=key, element=element, fields=tuple(fields))


def validate_table(schema: TableSchema, doing: str = "create the table") -> None:
    """Checks that the official system would accept a table of this schema.

    Args:
        schema: of a new table, or the changed one of a table.
        doing: what is tried, for messages.

    Raises:
        SchemaError: a rule is broken; the message says which.
        OptionError: an option has a bad value.
    """
    settings = TableSettings(schema.options)
    for option in TABLE_OPTIONS.values():
        option.read(settings)
    for rule in _RULES:
        for problem in rule(schema, settings):
            raise SchemaError(f"cannot {doing}: {problem}")


def _check_columns(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    if not schema.fields:
        yield "it has no columns"
    yield from (f"there are two columns '{name}'" for name in _repeated(schema.names))
    if not all(schema.names):
        yield "a column has no name"
    for name in schema.names:
        if name in RESERVED_NAMES or name.startswith(KEY_PREFIX):
            yield f"the column name '{name}' is reserved; rename the column"
    ids = [field.id for field in all_fields(schema.fields)]
    if len(set(ids)) != len(ids) or max(ids, default=-1) > schema.highest_field_id:
        yield f"the field ids {sorted(ids)} must be distinct and at most {schema.highest_field_id}"


def _check_types(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    """What the schema file says of a column must be readable again: lengths and precisions are in their ranges."""
    for field in schema.fields:
        try:
            parse_field(format_field(field))
        except SchemaError as error:
            yield f"the column '{field.name}': {error}"
        if holds(field.type, lambda part: part.root is Root.VECTOR and part.inner.root not in _ELEMENTS):
            yield (
                f"the column '{field.name}' has the type {type_sql(field.type)}, and the elements of a VECTOR are "
                "booleans, integers or floats"
            )
    for name in parse_list(settings.get("vector-field", "")):
        if name not in schema.by_name or schema.by_name[name].type.root is not Root.VECTOR:
            yield f"the option 'vector-field' names '{name}', which is no VECTOR column; give it the type VECTOR"


def _check_keys(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    for what, keys in (("primary key", schema.primary_keys), ("partition", schema.partition_keys)):
        yield from (f"the {what} names the column '{name}' twice" for name in _repeated(keys))
        for name in keys:
            field = schema.by_name.get(name)
            if field is None:
                yield f"the {what} column '{name}' is not a column; the columns are {', '.join(schema.names)}"
            elif field.type.root in UNORDERED:
                yield f"the {what} column '{name}' has the type {type_sql(field.type)}, which cannot be a key"
    for option, keys in (
        (TableSettings.primary_key, schema.primary_keys),
        (TableSettings.partition, schema.partition_keys),
    ):
        if settings.is_set(option):
            yield f"the keys {', '.join(keys) or 'none'} are given, and the option '{option.key}' too; give them once"
    if schema.primary_keys and not schema.trimmed_primary_keys:
        yield (
            f"the primary key ({', '.join(schema.primary_keys)}) consists of partition columns only: a partition would "
            "hold one row; add a column to the key"
        )
    for field in schema.fields:
        if field.name in schema.primary_keys and field.type.nullable:
            yield f"the primary key column '{field.name}' is nullable; make it NOT NULL"


def _check_buckets(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    bucket, keys = settings.bucket, settings.bucket_key
    if bucket < 1 and bucket != -1 and not (bucket == -2 and schema.primary_keys):
        yield f"the option 'bucket' is {bucket}: it must be at least 1, or -1, or -2 for a table with a primary key"
    if bucket == -1 and settings.is_set(TableSettings.bucket_key):
        yield "the option 'bucket-key' needs a number of buckets: set 'bucket', or remove 'bucket-key'"
    if bucket > 0 and not keys and not schema.primary_keys:
        yield "a table without a primary key and with a number of buckets needs the option 'bucket-key'"
    if settings.get(TableSettings.bucket_key.key, "") != ",".join(keys):
        yield "the option 'bucket-key' must be column names with commas and without blanks between them"
    yield from (f"the option 'bucket-key' names '{name}' twice" for name in _repeated(keys))
    for name in keys:
        if name not in schema.by_name:
            yield f"the bucket key column '{name}' is not a column; the columns are {', '.join(schema.names)}"
        elif schema.by_name[name].type.root in UNORDERED:
            yield f"the bucket key column '{name}' has a type that cannot be hashed"
        elif name in schema.partition_keys:
            yield f"the bucket key column '{name}' is a partition column"
        elif schema.primary_keys and name not in schema.primary_keys:
            yield f"the bucket key column '{name}' is not in the primary key ({', '.join(schema.primary_keys)})"
    yield from _check_bucket_function(schema, settings, keys or schema.trimmed_primary_keys)


def _check_bucket_function(schema: TableSchema, settings: TableSettings, keys: Sequence[str]) -> Iterator[str]:
    if settings.bucket_function == "mod" and settings.bucket > 0:
        roots = [schema.by_name[name].type.root for name in keys if name in schema.by_name]
        if len(roots) != 1 or roots[0] not in (Root.INT, Root.BIGINT):
            yield "bucket-function.type=mod needs a bucket key of one INT or BIGINT column"


def _check_merge(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    engine, producer = settings.merge_engine, settings.changelog_producer
    if producer != ChangelogProducer.NONE and not schema.primary_keys:
        yield f"changelog-producer={producer} needs a primary key"
    if engine == MergeEngine.FIRST_ROW and producer not in (ChangelogProducer.NONE, ChangelogProducer.LOOKUP):
        yield f"merge-engine=first-row goes with changelog-producer none or lookup, not with {producer}"
    if settings.deletion_vectors_enabled:
        if producer == ChangelogProducer.FULL_COMPACTION:
            yield "deletion-vectors.enabled does not go with changelog-producer=full-compaction"
        if engine == MergeEngine.FIRST_ROW and not settings.clustering.override:
            yield "deletion-vectors.enabled does not go with merge-engine=first-row"
    if settings.is_set(CompactionSettings.full_delta_commits):
        if producer == ChangelogProducer.LOOKUP:
            yield "the option 'full-compaction.delta-commits' does not go with changelog-producer=lookup"
        if not schema.primary_keys and settings.bucket == -1:
            yield "the option 'full-compaction.delta-commits' needs a primary key or a number of buckets"
    if settings.flag("streaming-read-overwrite") and (not schema.primary_keys or producer.is_compaction):
        yield "streaming-read-overwrite=true needs a primary key and a changelog-producer of none or input"


def _check_upsert_key(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    """Java: SchemaValidation."""
    key, names = TableSettings.upsert_key.key, settings.upsert_key
    yield from (f"the option '{key}' names '{name}' twice" for name in _repeated(names))
    if names and schema.primary_keys:
        yield f"the option '{key}' is for tables without a primary key"
    for name in names:
        if name not in schema.by_name:
            yield f"the option '{key}' names '{name}', which is not a column; the columns are {', '.join(schema.names)}"
        elif schema.by_name[name].type.root in UNORDERED:
            kind = type_sql(schema.by_name[name].type)
            yield f"the option '{key}' names '{name}', which is {kind}: take columns of plain values"


def _check_sequence(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    fields = settings.sequence_field
    yield from (f"the option 'sequence.field' names '{name}' twice" for name in _repeated(fields))
    for name in fields:
        if name not in schema.by_name:
            yield f"the sequence field '{name}' is not a column; the columns are {', '.join(schema.names)}"
        if f"fields.{name}.aggregate-function" in settings:
            yield f"the sequence field '{name}' must not have an aggregate function"
    if fields and settings.merge_engine == MergeEngine.FIRST_ROW:
        yield "the option 'sequence.field' does not go with merge-engine=first-row"
    if fields and schema.primary_keys and not set(schema.partition_keys) <= set(schema.primary_keys):
        yield "the option 'sequence.field' needs a primary key that holds the partition columns"
    if settings.sequence_snapshot_ordering:
        if not schema.primary_keys:
            yield "sequence.snapshot-ordering=true needs a primary key"
        if fields:
            yield "sequence.snapshot-ordering=true does not go with the option 'sequence.field'"
        if not settings.write_only:
            yield (
                "sequence.snapshot-ordering=true needs write-only=true: rows are ordered by their snapshot, which no "
                "writer knows before the commit; compact the table by a call of its own"
            )
    row_kind = settings.rowkind_field
    if row_kind is not None and row_kind not in schema.by_name:
        yield f"the row kind field '{row_kind}' is not a column; the columns are {', '.join(schema.names)}"


def _check_files(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    if settings.files.target_row_num < 1:
        yield "the option 'target-file-row-num' must be at least 1"
    formats = {settings.files.format, *(f.lower() for f in settings.files.format_per_level.values())}
    for field in schema.fields if formats & {"orc", "avro"} else ():
        if holds(field.type, lambda part: part.root is Root.VARIANT):
            yield (
                f"column '{field.name}' has the type {type_sql(field.type)}, and orc and avro files hold no "
                "VARIANT; use the file.format parquet"
            )
    apart = vector_file_columns(schema.fields, settings)
    for field in schema.fields if "orc" in formats else ():
        if field not in apart and holds(field.type, lambda part: part.root is Root.VECTOR):
            yield (
                f"column '{field.name}' has the type {type_sql(field.type)}, and orc files hold no VECTOR; use the "
                "file.format parquet or avro"
            )
    if "avro" in formats:
        for field in schema.fields:
            if _longest_timestamp(field.type) > 6:
                yield (
                    f"column '{field.name}' has the type {type_sql(field.type)}, and Avro files hold timestamps of a "
                    "precision up to 6; lower the precision, or use another file.format"
                )
    modes = [(FileSettings.stats_mode.key, settings.files.stats_mode)]
    modes += [(FileSettings.stats_mode_per_level.key, mode) for mode in settings.files.stats_mode_per_level.values()]
    modes += [(FileSettings.changelog_stats_mode.key, mode) for mode in (settings.files.changelog_stats_mode,) if mode]
    modes += [
        (key, mode) for key, mode in settings.items() if key.startswith("fields.") and key.endswith(".stats-mode")
    ]
    for key, mode in modes:
        if not _STATS_MODE.fullmatch(mode.strip().lower()):
            yield f"the option '{key}' is '{mode}', expected none, counts, full or truncate(n)"


def _check_shredding(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    """Java: SchemaValidation.validateVariantShreddingInferenceOptions."""
    variants, adaptive = settings.variants, settings.variants.mode == "adaptive"
    rows = {VariantSettings.sample_rows.key: variants.sample_rows}
    if adaptive:
        rows[VariantSettings.later_sample_rows.key] = variants.later_sample_rows
    yield from (f"the option '{key}' is {count}, it must be above 0" for key, count in rows.items() if count < 1)
    least, kept = VariantSettings.least_share.key, VariantSettings.kept_share.key
    if not 0 <= variants.least_share <= 1:
        yield f"the option '{least}' is {variants.least_share}, it must be between 0 and 1"
    elif adaptive and not 0 <= variants.kept_share <= variants.least_share:
        yield f"the option '{kept}' is {variants.kept_share}, it must be between 0 and '{least}'"


def _check_shared_maps(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    """Java: SchemaValidation.validateMapStorageLayout."""
    shared = []
    for field in schema.fields:
        if not settings.column(field.name).is_set(ColumnSettings.map_layout):
            continue
        begin = f"the option '{ColumnSettings.map_layout.key.replace(COLUMN, field.name)}'"
        if field.type.root is not Root.MAP:
            yield f"{begin} is for MAP columns, and '{field.name}' is {type_sql(field.type)}"
        elif settings.column(field.name).map_layout == "shared-shredding":
            shared.append(field.name)
            if field.type.key_type.root is not Root.VARCHAR:
                yield f"{begin} is 'shared-shredding', which is for MAP columns with STRING keys"
            if _roots_in(field.type) & {Root.BLOB, Root.VECTOR}:
                yield f"{begin} is 'shared-shredding', which is not for maps of BLOB or VECTOR"
            if settings.column(field.name).map_columns < 1:
                yield f"the option '{ColumnSettings.map_columns.key.replace(COLUMN, field.name)}' must be above 0"
    if not shared:
        return
    what = f"the map '{shared[0]}' is stored as 'shared-shredding', which does not go with"
    if any(_roots_in(field.type) & {Root.VARIANT, Root.MULTISET} for field in schema.fields):
        yield f"{what} columns of VARIANT or MULTISET"
    if settings.bucket == -2:
        yield f"{what} postponed buckets ('bucket' = '-2')"
    _, *data_files = _written_files(schema, settings)  # the first are manifests
    for (format_key, file_format), (codec_key, codec) in data_files:
        if file_format.lower() not in ("parquet", "orc"):
            yield f"{what} '{format_key}' = '{file_format}'"
        if codec.lower() not in ("none", "lz4", "zstd"):
            yield f"{what} '{codec_key}' = '{codec}': take none, lz4 or zstd"


def _roots_in(data_type: DataType) -> set[Root]:
    parts = (*(t for t in (data_type.key, data_type.element) if t), *(f.type for f in data_type.fields))
    return {data_type.root}.union(*map(_roots_in, parts))


def _check_compressions(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    """A format or compression that no file can have would stop every write."""
    for (format_key, file_format), (codec_key, codec) in _written_files(schema, settings):
        known = CODECS.get(file_format.lower())
        if known is None and file_format.lower() not in _OTHER_FORMATS:
            yield f"the option '{format_key}' is '{file_format}': expected one of {', '.join(CODECS)}"
        if known is not None and codec.lower() not in known:
            yield f"the option '{codec_key}' is '{codec}': expected one of {', '.join(known)} for {file_format} files"


def check_written_compressions(schema: TableSchema, settings: TableSettings) -> None:
    """Checks that this release writes files with the compressions that the options name.

    Raises:
        UnsupportedFeature: it does not; the message names the option and those that it writes.
    """
    for (_, file_format), (key, codec) in _written_files(schema, settings):
        refused = NOT_WRITTEN.get(file_format.lower(), ())
        if codec.lower() in refused:
            written = [known for known in CODECS[file_format.lower()] if known not in refused]
            raise UnsupportedFeature(
                f"the option '{key}' is '{codec}', and this release does not write {file_format} files so: choose one "
                f"of {', '.join(written)}, or {OFFICIAL}"
            )


def _written_files(schema: TableSchema, settings: TableSettings) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Format and compression of each kind of file that writers make, each with the key of its option."""
    vector_format = settings.files.vector_format
    if vector_format is not None:
        yield (
            (FileSettings.vector_format.key, vector_format),
            (FileSettings.compression.key, settings.files.compression),
        )
    yield ("manifest.format", "avro"), (CommitSettings.manifest_compression.key, settings.commits.manifest_compression)
    formats, codecs = settings.files.format_per_level, settings.files.compression_per_level
    changelog_format, changelog_codec = (
        settings.files.changelog_format,
        settings.files.changelog_compression,
    )
    for level in sorted({-1, 0, *formats, *codecs}) if schema.primary_keys else (0,):  # -1: levels that no option names
        file_format = (FileSettings.format.key, settings.files.format)
        if level in formats:
            file_format = (FileSettings.format_per_level.key, formats[level])
        codec = (FileSettings.compression.key, settings.files.compression)
        if level in codecs:
            codec = (FileSettings.compression_per_level.key, codecs[level])
        yield file_format, codec
        if settings.changelog_producer != ChangelogProducer.NONE:
            yield (
                (FileSettings.changelog_format.key, changelog_format) if changelog_format else file_format,
                (FileSettings.changelog_compression.key, changelog_codec) if changelog_codec else codec,
            )


def _check_bucket_numbers(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    """Numbers by which rows get their buckets, where the table uses them."""
    above_zero: tuple[Option[Any], ...] = ()
    if schema.primary_keys and settings.bucket == -1:
        above_zero = (DynamicBucketSettings.target_row_num, DynamicBucketSettings.initial_buckets)
        if settings.dynamic_buckets.max_buckets < 1 and settings.dynamic_buckets.max_buckets != -1:
            yield "the option 'dynamic-bucket.max-buckets' must be at least 1, or -1 for no limit"
    elif settings.bucket == -2:
        above_zero = (
            PostponeSettings.max_parallelism, PostponeSettings.rescale_load_factor, PostponeSettings.default_bucket_num,
            PostponeSettings.target_row_num, PostponeSettings.target_size,
        )  # fmt: skip
    for option in above_zero:
        value = option.read(settings)
        if value is not None and value < 1:
            yield f"the option '{option.key}' is {value}: it must be at least 1"


def _check_retention(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    for least, most in (
        (RetentionSettings.snapshot_num_retained_min, RetentionSettings.snapshot_num_retained_max),
        (RetentionSettings.changelog_num_retained_min, RetentionSettings.changelog_num_retained_max),
    ):
        low, high = least.read(settings), most.read(settings)
        low, high = 10 if low is None else low, 2**31 - 1 if high is None else high  # those of snapshots
        if low < 1:
            yield f"the option '{least.key}' must be at least 1"
        if low > high:
            yield f"the option '{least.key}' must not be larger than '{most.key}'"
    time_field = settings.get("record-level.time-field")
    if "record-level.expire-time" in settings and time_field is None:
        yield "the option 'record-level.expire-time' needs the option 'record-level.time-field'"
    if time_field is not None:
        field = schema.by_name.get(time_field)
        if field is None or field.type.root not in _EXPIRE_ROOTS:
            yield f"'record-level.time-field' = '{time_field}' must name a column of type INT, BIGINT or TIMESTAMP"


def _check_column_options(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    """Options of columns name columns: ``fields.<column>.*``, ``file-index.<type>.columns``."""
    for key in settings:
        named: list[str] = []
        if key.startswith("fields.") and key != "fields.default-aggregate-function":
            named = key.split(".")[1].split(",")
        yield from (
            f"the option '{key}' names '{name}', which is not a column; the columns are {', '.join(schema.names)}"
            for name in named
            if name not in schema.by_name
        )
    for name in settings.clustering.columns:
        if name not in schema.by_name and settings.bucket == -1 and not schema.primary_keys:
            yield f"'clustering.columns' names '{name}', which is no column; the columns are {', '.join(schema.names)}"
    if any(key.startswith("file-index.") for key in settings):
        try:
            check_indexes(index_settings(settings), schema.by_name)
        except OptionError as error:
            yield str(error)


def _check_modes(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    if settings.row_tracking and (schema.primary_keys or settings.bucket != -1):
        yield "row-tracking.enabled is for tables without a primary key and without a number of buckets"
    if settings.data_evolution_enabled and not settings.row_tracking:
        yield "data-evolution.enabled needs row-tracking.enabled"
    if settings.data_evolution_enabled and settings.clustering.incremental:
        yield "clustering.incremental does not go with data-evolution.enabled"
    if settings.clustering.incremental and schema.primary_keys:
        yield "clustering.incremental is for tables without a primary key"
    elif settings.clustering.incremental and settings.bucket != -1:
        if settings.get("bucket-append-ordered", "true").strip().lower() != "false":
            yield "clustering.incremental with buckets needs bucket-append-ordered = false"
        if settings.deletion_vectors_enabled:
            yield "clustering.incremental with buckets does not go with deletion vectors"
    if settings.flag("primary-key.nullable") and not schema.primary_keys:
        yield "primary-key.nullable needs a primary key"


_RULES: tuple[Callable[[TableSchema, TableSettings], Iterator[str]], ...] = (
    _check_columns,
    _check_types,
    check_blobs,
    check_vector_files,
    _check_keys,
    _check_buckets,
    _check_merge,
    _check_upsert_key,
    _check_sequence,
    _check_files,
    _check_shredding,
    _check_shared_maps,
    _check_compressions,
    _check_bucket_numbers,
    _check_retention,
    _check_column_options,
    _check_modes,
    check_chain,
    key_clustering_faults,
)


def _repeated(names: Sequence[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})


def _longest_timestamp(data_type: DataType) -> int:
    """The highest precision of the timestamps in the type, -1 without any."""
    own = data_type.precision or 0 if data_type.root in TIMESTAMPS else -1
    nested = (*(t for t in (data_type.key, data_type.element) if t), *(f.type for f in data_type.fields))
    return max([own, *map(_longest_timestamp, nested)])
