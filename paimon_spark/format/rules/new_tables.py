"""What a new table must fulfil, and the ids of its fields (features 3.24; Java: SchemaValidation, Schema, TableSchema).

A rule is a function that yields a message for each violation.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from paimon_spark.errors import OptionError, SchemaError
from paimon_spark.format.file_index.settings import check_indexes, index_settings
from paimon_spark.format.options import core_options as o
from paimon_spark.format.options.core_options import Option, Options
from paimon_spark.format.options.engines import ChangelogProducer, MergeEngine
from paimon_spark.format.options.value_texts import parse_bool, parse_int
from paimon_spark.format.schema import KEY_PREFIX, SEQUENCE_NUMBER, VALUE_KIND, TableSchema
from paimon_spark.format.type_text import format_field, parse_field, type_sql
from paimon_spark.format.types import NESTED, TIMESTAMPS, DataField, DataType, Root, all_fields

RESERVED_NAMES = frozenset({SEQUENCE_NUMBER, VALUE_KIND, "_LEVEL", "rowkind", "_ROW_ID"})
_NO_KEYS = NESTED | {Root.VARIANT, Root.BLOB, Root.GEOMETRY, Root.GEOGRAPHY}
_OTHER_FORMATS = ("csv", "json", "text", "row", "blob", "lance", "vortex", "mosaic")
CODECS = {
    "parquet": ("zstd", "none", "uncompressed", "snappy", "gzip", "lz4", "lz4_raw", "brotli", "lzo"),
    "orc": ("zstd", "none", "uncompressed", "snappy", "zlib", "gzip", "lz4", "lzo", "brotli"),
    "avro": ("zstd", "zstandard", "none", "null", "snappy", "deflate", "bzip2", "xz"),
}
"""File format -> compressions of its files, of this release and of the official system."""
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
    options = Options(schema.options)
    for option in o.TYPED_OPTIONS.values():
        options.value(option)
    for rule in _RULES:
        for problem in rule(schema, options):
            raise SchemaError(f"cannot {doing}: {problem}")


def _check_columns(schema: TableSchema, options: Options) -> Iterator[str]:
    if not schema.fields:
        yield "it has no columns"
    yield from (f"there are two columns '{name}'" for name in _repeated(schema.names))
    for name in schema.names:
        if name in RESERVED_NAMES or name.startswith(KEY_PREFIX):
            yield f"the column name '{name}' is reserved; rename the column"
    ids = [field.id for field in all_fields(schema.fields)]
    if len(set(ids)) != len(ids) or max(ids, default=-1) > schema.highest_field_id:
        yield f"the field ids {sorted(ids)} must be distinct and at most {schema.highest_field_id}"


def _check_types(schema: TableSchema, options: Options) -> Iterator[str]:
    """What the schema file says of a column must be readable again: lengths and precisions are in their ranges."""
    for field in schema.fields:
        try:
            parse_field(format_field(field))
        except SchemaError as error:
            yield f"the column '{field.name}': {error}"


def _check_keys(schema: TableSchema, options: Options) -> Iterator[str]:
    for what, keys in (("primary key", schema.primary_keys), ("partition", schema.partition_keys)):
        yield from (f"the {what} names the column '{name}' twice" for name in _repeated(keys))
        for name in keys:
            field = schema.by_name.get(name)
            if field is None:
                yield f"the {what} column '{name}' is not a column; the columns are {', '.join(schema.names)}"
            elif field.type.root in _NO_KEYS:
                yield f"the {what} column '{name}' has the type {type_sql(field.type)}, which cannot be a key"
    for option, keys in ((o.PRIMARY_KEY, schema.primary_keys), (o.PARTITION, schema.partition_keys)):
        if options.is_set(option):
            yield f"the keys {', '.join(keys) or 'none'} are given, and the option '{option.key}' too; give them once"
    if schema.primary_keys and not schema.trimmed_primary_keys:
        yield (
            f"the primary key ({', '.join(schema.primary_keys)}) consists of partition columns only: a partition would "
            "hold one row; add a column to the key"
        )
    for field in schema.fields:
        if field.name in schema.primary_keys and field.type.nullable:
            yield f"the primary key column '{field.name}' is nullable; make it NOT NULL"


def _check_buckets(schema: TableSchema, options: Options) -> Iterator[str]:
    bucket, keys = options.value(o.BUCKET), options.value(o.BUCKET_KEY)
    if bucket < 1 and bucket != -1 and not (bucket == -2 and schema.primary_keys):
        yield f"the option 'bucket' is {bucket}: it must be at least 1, or -1, or -2 for a table with a primary key"
    if bucket == -1 and options.is_set(o.BUCKET_KEY):
        yield "the option 'bucket-key' needs a number of buckets: set 'bucket', or remove 'bucket-key'"
    if bucket > 0 and not keys and not schema.primary_keys:
        yield "a table without a primary key and with a number of buckets needs the option 'bucket-key'"
    if options.get(o.BUCKET_KEY.key, "") != ",".join(keys):
        yield "the option 'bucket-key' must be column names with commas and without blanks between them"
    yield from (f"the option 'bucket-key' names '{name}' twice" for name in _repeated(keys))
    for name in keys:
        if name not in schema.by_name:
            yield f"the bucket key column '{name}' is not a column; the columns are {', '.join(schema.names)}"
        elif schema.by_name[name].type.root in _NO_KEYS:
            yield f"the bucket key column '{name}' has a type that cannot be hashed"
        elif name in schema.partition_keys:
            yield f"the bucket key column '{name}' is a partition column"
        elif schema.primary_keys and name not in schema.primary_keys:
            yield f"the bucket key column '{name}' is not in the primary key ({', '.join(schema.primary_keys)})"
    yield from _check_bucket_function(schema, options, keys or schema.trimmed_primary_keys)


def _check_bucket_function(schema: TableSchema, options: Options, keys: Sequence[str]) -> Iterator[str]:
    if options.value(o.BUCKET_FUNCTION) == "mod" and options.value(o.BUCKET) > 0:
        roots = [schema.by_name[name].type.root for name in keys if name in schema.by_name]
        if len(roots) != 1 or roots[0] not in (Root.INT, Root.BIGINT):
            yield "bucket-function.type=mod needs a bucket key of one INT or BIGINT column"


def _check_merge(schema: TableSchema, options: Options) -> Iterator[str]:
    engine, producer = options.value(o.MERGE_ENGINE), options.value(o.CHANGELOG_PRODUCER)
    if producer != ChangelogProducer.NONE and not schema.primary_keys:
        yield f"changelog-producer={producer} needs a primary key"
    if engine == MergeEngine.FIRST_ROW and producer not in (ChangelogProducer.NONE, ChangelogProducer.LOOKUP):
        yield f"merge-engine=first-row goes with changelog-producer none or lookup, not with {producer}"
    if options.value(o.DELETION_VECTORS_ENABLED):
        if producer == ChangelogProducer.FULL_COMPACTION:
            yield "deletion-vectors.enabled does not go with changelog-producer=full-compaction"
        if engine == MergeEngine.FIRST_ROW:
            yield "deletion-vectors.enabled does not go with merge-engine=first-row"
    if options.is_set(o.FULL_COMPACTION_DELTA_COMMITS):
        if producer == ChangelogProducer.LOOKUP:
            yield "the option 'full-compaction.delta-commits' does not go with changelog-producer=lookup"
        if not schema.primary_keys and options.value(o.BUCKET) == -1:
            yield "the option 'full-compaction.delta-commits' needs a primary key or a number of buckets"
    if _is_true(options, "streaming-read-overwrite") and (not schema.primary_keys or producer.is_compaction):
        yield "streaming-read-overwrite=true needs a primary key and a changelog-producer of none or input"


def _check_sequence(schema: TableSchema, options: Options) -> Iterator[str]:
    fields = options.value(o.SEQUENCE_FIELD)
    yield from (f"the option 'sequence.field' names '{name}' twice" for name in _repeated(fields))
    for name in fields:
        if name not in schema.by_name:
            yield f"the sequence field '{name}' is not a column; the columns are {', '.join(schema.names)}"
        if f"fields.{name}.aggregate-function" in options:
            yield f"the sequence field '{name}' must not have an aggregate function"
    if fields and options.value(o.MERGE_ENGINE) == MergeEngine.FIRST_ROW:
        yield "the option 'sequence.field' does not go with merge-engine=first-row"
    if fields and schema.primary_keys and not set(schema.partition_keys) <= set(schema.primary_keys):
        yield "the option 'sequence.field' needs a primary key that holds the partition columns"
    if options.value(o.SEQUENCE_SNAPSHOT_ORDERING):
        if not schema.primary_keys:
            yield "sequence.snapshot-ordering=true needs a primary key"
        if fields:
            yield "sequence.snapshot-ordering=true does not go with the option 'sequence.field'"
        if not options.value(o.WRITE_ONLY):
            yield (
                "sequence.snapshot-ordering=true needs write-only=true: rows are ordered by their snapshot, which no "
                "writer knows before the commit; compact the table by a call of its own"
            )
    row_kind = options.value(o.ROWKIND_FIELD)
    if row_kind is not None and row_kind not in schema.by_name:
        yield f"the row kind field '{row_kind}' is not a column; the columns are {', '.join(schema.names)}"


def _check_files(schema: TableSchema, options: Options) -> Iterator[str]:
    if options.value(o.TARGET_FILE_ROW_NUM) < 1:
        yield "the option 'target-file-row-num' must be at least 1"
    formats = {options.value(o.FILE_FORMAT), *(f.lower() for f in options.value(o.FILE_FORMAT_PER_LEVEL).values())}
    if "avro" in formats:
        for field in schema.fields:
            if _longest_timestamp(field.type) > 6:
                yield (
                    f"column '{field.name}' has the type {type_sql(field.type)}, and Avro files hold timestamps of a "
                    "precision up to 6; lower the precision, or use another file.format"
                )
    modes = [(o.STATS_MODE.key, options.value(o.STATS_MODE))]
    modes += [(o.STATS_MODE_PER_LEVEL.key, mode) for mode in options.value(o.STATS_MODE_PER_LEVEL).values()]
    modes += [(o.CHANGELOG_FILE_STATS_MODE.key, mode) for mode in (options.value(o.CHANGELOG_FILE_STATS_MODE),) if mode]
    modes += [(key, mode) for key, mode in options.items() if key.startswith("fields.") and key.endswith(".stats-mode")]
    for key, mode in modes:
        if not _STATS_MODE.fullmatch(mode.strip().lower()):
            yield f"the option '{key}' is '{mode}', expected none, counts, full or truncate(n)"


def _check_compressions(schema: TableSchema, options: Options) -> Iterator[str]:
    """A format or compression that no file can have would stop every write."""
    for (format_key, file_format), (codec_key, codec) in _written_files(schema, options):
        known = CODECS.get(file_format.lower())
        if known is None and file_format.lower() not in _OTHER_FORMATS:
            yield f"the option '{format_key}' is '{file_format}': expected one of {', '.join(CODECS)}"
        if known is not None and codec.lower() not in known:
            yield f"the option '{codec_key}' is '{codec}': expected one of {', '.join(known)} for {file_format} files"


def _written_files(schema: TableSchema, options: Options) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Format and compression of each kind of file that writers make, each with the key of its option."""
    yield ("manifest.format", "avro"), (o.MANIFEST_COMPRESSION.key, options.value(o.MANIFEST_COMPRESSION))
    formats, codecs = options.value(o.FILE_FORMAT_PER_LEVEL), options.value(o.FILE_COMPRESSION_PER_LEVEL)
    changelog_format, changelog_codec = (
        options.value(o.CHANGELOG_FILE_FORMAT),
        options.value(o.CHANGELOG_FILE_COMPRESSION),
    )
    for level in sorted({-1, 0, *formats, *codecs}) if schema.primary_keys else (0,):  # -1: levels that no option names
        file_format = (o.FILE_FORMAT.key, options.value(o.FILE_FORMAT))
        if level in formats:
            file_format = (o.FILE_FORMAT_PER_LEVEL.key, formats[level])
        codec = (o.FILE_COMPRESSION.key, options.value(o.FILE_COMPRESSION))
        if level in codecs:
            codec = (o.FILE_COMPRESSION_PER_LEVEL.key, codecs[level])
        yield file_format, codec
        if options.value(o.CHANGELOG_PRODUCER) != ChangelogProducer.NONE:
            yield (
                (o.CHANGELOG_FILE_FORMAT.key, changelog_format) if changelog_format else file_format,
                (o.CHANGELOG_FILE_COMPRESSION.key, changelog_codec) if changelog_codec else codec,
            )


def _check_bucket_numbers(schema: TableSchema, options: Options) -> Iterator[str]:
    """Numbers by which rows get their buckets, where the table uses them."""
    above_zero: tuple[Option[Any], ...] = ()
    if schema.primary_keys and options.value(o.BUCKET) == -1:
        above_zero = (o.DYNAMIC_BUCKET_TARGET_ROW_NUM, o.DYNAMIC_BUCKET_INITIAL_BUCKETS)
        if options.value(o.DYNAMIC_BUCKET_MAX_BUCKETS) < 1 and options.value(o.DYNAMIC_BUCKET_MAX_BUCKETS) != -1:
            yield "the option 'dynamic-bucket.max-buckets' must be at least 1, or -1 for no limit"
    elif options.value(o.BUCKET) == -2:
        above_zero = (
            o.POSTPONE_MAX_PARALLELISM, o.POSTPONE_RESCALE_LOAD_FACTOR, o.POSTPONE_DEFAULT_BUCKET_NUM,
            o.POSTPONE_TARGET_ROW_NUM, o.POSTPONE_TARGET_SIZE,
        )  # fmt: skip
    for option in above_zero:
        value = options.value(option)
        if value is not None and value < 1:
            yield f"the option '{option.key}' is {value}: it must be at least 1"


def _check_retention(schema: TableSchema, options: Options) -> Iterator[str]:
    for kind in ("snapshot", "changelog"):
        least = Option(f"{kind}.num-retained.min", 10, parse_int)
        most = Option(f"{kind}.num-retained.max", 2**31 - 1, parse_int)
        if options.value(least) < 1:
            yield f"the option '{least.key}' must be at least 1"
        if options.value(least) > options.value(most):
            yield f"the option '{least.key}' must not be larger than '{most.key}'"
    time_field = options.get("record-level.time-field")
    if "record-level.expire-time" in options and time_field is None:
        yield "the option 'record-level.expire-time' needs the option 'record-level.time-field'"
    if time_field is not None:
        field = schema.by_name.get(time_field)
        if field is None or field.type.root not in _EXPIRE_ROOTS:
            yield f"'record-level.time-field' = '{time_field}' must name a column of type INT, BIGINT or TIMESTAMP"


def _check_column_options(schema: TableSchema, options: Options) -> Iterator[str]:
    """Options of columns name columns: ``fields.<column>.*``, ``file-index.<type>.columns``."""
    for key in options:
        named: list[str] = []
        if key.startswith("fields.") and key != "fields.default-aggregate-function":
            named = key.split(".")[1].split(",")
        yield from (
            f"the option '{key}' names '{name}', which is not a column; the columns are {', '.join(schema.names)}"
            for name in named
            if name not in schema.by_name
        )
    for name in options.value(o.CLUSTERING_COLUMNS):
        if name not in schema.by_name and options.value(o.BUCKET) == -1 and not schema.primary_keys:
            yield f"'clustering.columns' names '{name}', which is no column; the columns are {', '.join(schema.names)}"
    if any(key.startswith("file-index.") for key in options):
        try:
            check_indexes(index_settings(options), schema.by_name)
        except OptionError as error:
            yield str(error)


def _check_modes(schema: TableSchema, options: Options) -> Iterator[str]:
    if _is_true(options, "row-tracking.enabled") and (schema.primary_keys or options.value(o.BUCKET) != -1):
        yield "row-tracking.enabled is for tables without a primary key and without a number of buckets"
    if _is_true(options, "data-evolution.enabled") and not _is_true(options, "row-tracking.enabled"):
        yield "data-evolution.enabled needs row-tracking.enabled"
    if _is_true(options, "clustering.incremental") and schema.primary_keys:
        yield "clustering.incremental is for tables without a primary key"
    elif _is_true(options, "clustering.incremental") and options.value(o.BUCKET) != -1:
        if options.get("bucket-append-ordered", "true").strip().lower() != "false":
            yield "clustering.incremental with buckets needs bucket-append-ordered = false"
        if options.value(o.DELETION_VECTORS_ENABLED):
            yield "clustering.incremental with buckets does not go with deletion vectors"
    if _is_true(options, "primary-key.nullable") and not schema.primary_keys:
        yield "primary-key.nullable needs a primary key"


_RULES: tuple[Callable[[TableSchema, Options], Iterator[str]], ...] = (
    _check_columns,
    _check_types,
    _check_keys,
    _check_buckets,
    _check_merge,
    _check_sequence,
    _check_files,
    _check_compressions,
    _check_bucket_numbers,
    _check_retention,
    _check_column_options,
    _check_modes,
)


def _repeated(names: Sequence[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})


def _is_true(options: Options, key: str) -> bool:
    return options.value(Option(key, False, parse_bool))


def _longest_timestamp(data_type: DataType) -> int:
    """The highest precision of the timestamps in the type, -1 without any."""
    own = data_type.precision or 0 if data_type.root in TIMESTAMPS else -1
    nested = (*(t for t in (data_type.key, data_type.element) if t), *(f.type for f in data_type.fields))
    return max([own, *map(_longest_timestamp, nested)])
