"""Options of what a write makes: files and commits, and buckets with their compaction (features 3.2 to 3.9)."""

from __future__ import annotations

from typing import Final

from paimon_spark.format.options.option import (
    DATA_FORMATS,
    MB,
    VECTOR_FORMATS,
    Moment,
    Option,
    Refused,
    Settings,
    boolean,
    choice,
    duration,
    integer,
    level_map,
    long,
    memory,
    ratio,
    text,
    weights,
    word,
    words,
)
from paimon_spark.format.options.value_texts import parse_json_object


# One option is one entry, and not a line for each argument.
# fmt: off
class FileSettings(Settings):
    """Data files, changelog files and index files: how they are named, encoded, cut and described."""

    changelog_prefix: Final = text("changelog-file.prefix", "changelog-", "How the names of changelog files begin.")
    changelog_format: Final = text("changelog-file.format", None,
        "The format of changelog files. The default is `file.format`.",
        refuses=(Refused(Moment.READ, DATA_FORMATS, "changelog files other than parquet, orc, avro and row"),))
    changelog_compression: Final = text("changelog-file.compression", None,
        "The compression of changelog files. The default is `file.compression`.")
    changelog_stats_mode: Final = text("changelog-file.stats-mode", None,
        "What manifests keep of the values of changelog files. The default is `metadata.stats-mode`.")
    format: Final = word("file.format", "parquet",
        "The format of data files: `parquet`, `orc`, `avro` or `row`, which reads few rows of large files fast.",
        refuses=(Refused(Moment.READ, DATA_FORMATS, "data files other than parquet, orc, avro and row"),))
    format_per_level: Final = level_map("file.format.per.level",
        "Formats by level, such as `0:avro,5:orc`. Levels that are not named use `file.format`.")
    compression: Final = word("file.compression", "zstd", "The compression of data files.")
    compression_per_level: Final = level_map("file.compression.per.level",
        "Compressions by level, such as `0:lz4,5:zstd`. Levels that are not named use `file.compression`.")
    compression_zstd_level: Final = integer("file.compression.zstd-level", 1, "The level of zstd.")
    orc_legacy_ltz: Final = boolean("orc.timestamp-ltz.legacy.type", True,
        "ORC files store TIMESTAMP WITH LOCAL TIME ZONE as old releases do, shifted by the time zone of the writer.")
    suffix_include_compression: Final = boolean("file.suffix.include.compression", False,
        "Names of data files contain the compression, such as `.zst.parquet`.")
    block_size: Final = memory("file.block-size", None, "The size of a Parquet row group or an ORC stripe.")
    prefix: Final = text("data-file.prefix", "data-", "How the names of data files begin.")
    thin_mode: Final = boolean("data-file.thin-mode", False,
        "Data files of a table with a primary key leave out the `_KEY_` columns, which repeat the key.")
    external_paths: Final = text("data-file.external-paths", None,
        "Roots outside the table in which data files lie, separated by commas, each with its scheme. Such files are "
        "read, and deleted when they expire. New ones go there by `data-file.external-paths.strategy`.")
    external_strategy: Final = choice("data-file.external-paths.strategy",
        ("none", "specific-fs", "round-robin", "entropy-inject", "weight-robin"),
        "Which external path gets a new data file: `none` (files stay in the table), `round-robin` (one after the "
        "other), `weight-robin` (by weights), `specific-fs` (those of one scheme), `entropy-inject` (one after the "
        "other, in directories named by a hash, which object stores serve in parallel).")
    external_scheme: Final = text("data-file.external-paths.specific-fs", None,
        "The scheme of the external paths that get new data files with the strategy `specific-fs`, such as `s3`.")
    external_weights: Final = weights("data-file.external-paths.weights",
        "How often each external path gets a new data file with the strategy `weight-robin`, such as `10,5,15`.")
    path_directory: Final = text("data-file.path-directory", None,
        "A directory below the table in which partitions and buckets lie. Metadata stay where they are.")
    global_index_path: Final = text("global-index.external-path", None,
        "A directory outside the table for new index files.")
    index_in_data_dir: Final = boolean("index-file-in-data-file-dir", False,
        "Index files lie beside the data files of their bucket, not in `index/`.")
    target_size: Final = memory("target-file-size", None,
        "The size at which a writer starts a new file. The default is 128 MB for a table with a primary key, and 256 "
        "MB for one without.")
    vector_format: Final = text("vector.file.format", None,
        "The format of files that hold the VECTOR columns of a table with data evolution, apart from the others: "
        "`parquet` or `avro`. Without it they are in the files of the other columns.",
        refuses=(Refused(Moment.READ, VECTOR_FORMATS, "vector files other than parquet, orc and avro"),))
    vector_target_size: Final = memory("vector.target-file-size", None,
        "The size at which a writer starts a new file of VECTOR columns, where they have files of their own. The "
        "default is that of `target-file-size`.")
    blob_target_size: Final = memory("blob.target-file-size", None,
        "The size at which a writer starts a new file of a BLOB column. The default is that of `target-file-size`.")
    target_row_num: Final = long("target-file-row-num", 2**63 - 1,
        "The number of rows at which a writer starts a new file. Compactions ignore it.")
    sequence_init: Final = choice("write.sequence-number-init-mode", ("scan", "snapshot"),
        "Where writers of a table with a primary key find the greatest sequence number: in the metadata of its files, "
        "or in a property of the latest snapshot. Writers here look at the files, and write the property.")
    stats_mode: Final = word("metadata.stats-mode", "truncate(16)",
        "What manifests keep of the values of data files: `none`, `counts`, `truncate(16)` or `full`.")
    stats_mode_per_level: Final = level_map("metadata.stats-mode.per.level",
        "The same by level, such as `0:none,5:full`.")
    stats_dense_store: Final = boolean("metadata.stats-dense-store", True,
        "Manifests store statistics of only those columns that have some.")
    stats_keep_first_n_columns: Final = integer("metadata.stats-keep-first-n-columns", -1,
        "Only the first columns get statistics. -1: all.")
    vector_index_target_size: Final = memory("deletion-vector.index-file.target-size", 2 * MB,
        "The size at which a new index file of deletion vectors begins.")
    index_read_enabled: Final = boolean("file-index.read.enabled", True,
        "Reads leave out files and rows by the indexes of data files; false: they do without.")
    index_in_manifest_threshold: Final = memory("file-index.in-manifest-threshold", 500,
        "Indexes of a data file of at most this size are stored in its manifest, others in a file beside it.")
    write_buffer_size: Final = memory("write-buffer-size", 256 * MB,
        "The memory in which a writer task collects rows before it writes files.")
    operation_thread_num: Final = integer("file-operation.thread-num", None,
        "How many threads list and delete files.", older=("delete-file.thread-num",))
    index_columns: Final = words("file-index.<type>.columns",
        "The columns that get an index of this kind in every data file: `bloom-filter`, `bitmap`, `bsi` or "
        "`range-bitmap`. `m[key]` is the value of a key of a map.")
    index_option: Final = text("file-index.<type>.<column>.<x>", None,
        "An option of the index of a column: `items` and `fpp` of `bloom-filter`, `version` and `index-block-size` of "
        "`bitmap`, `chunk-size` of `range-bitmap`.")


class VariantSettings(Settings):
    """Which parts of VARIANT values get columns of their own in Parquet files."""

    schema: Final = Option("variant.shreddingSchema", None, parse_json_object,
        "The parts of VARIANT columns that get columns of their own, as a type in JSON: a ROW with a field for each "
        "column, whose type says which parts. All other values and parts stay in the column.",
        older=("parquet.variant.shreddingSchema",))
    infers: Final = boolean("variant.inferShreddingSchema", False,
        "Each file gets columns for the parts of VARIANT values that its first rows have in common. "
        "`variant.shreddingSchema` goes before it.")
    mode: Final = choice("variant.shredding.inferenceMode", ("per-file", "adaptive"),
        "`per-file`: each file is looked at for itself. `adaptive`: the later files of a writer also go by those "
        "before, and fewer of their rows are looked at.")
    most_columns: Final = integer("variant.shredding.maxSchemaWidth", 300,
        "At most so many columns are made of the VARIANT values of a file.")
    most_levels: Final = integer("variant.shredding.maxSchemaDepth", 50,
        "How deep objects and arrays are looked into.")
    least_share: Final = ratio("variant.shredding.minFieldCardinalityRatio", 0.1,
        "A field gets a column if at least this part of the values has it.")
    sample_rows: Final = integer("variant.shredding.maxInferBufferRow", 4096,
        "So many rows of a file are looked at, and at most those of its first row group.")
    later_sample_rows: Final = integer("variant.shredding.adaptive.maxInferBufferRow", 256,
        "The same for the later files of a writer, with the mode `adaptive`.")
    kept_share: Final = ratio("variant.shredding.adaptive.retentionRatio", 0.05,
        "With the mode `adaptive`, a field keeps its column if at least this part of the values has it.")


class CommitSettings(Settings):
    """Commits and the manifests that they write."""

    manifest_compression: Final = word("manifest.compression", "zstd", "The compression of manifests.")
    manifest_target_file_size: Final = memory("manifest.target-file-size", 8 * MB, "The size of a manifest.")
    manifest_full_compaction_threshold_size: Final = memory("manifest.full-compaction-threshold-size", 16 * MB,
        "A commit merges all manifests when the small ones are together larger than this.")
    manifest_merge_min_count: Final = integer("manifest.merge-min-count", 30,
        "A commit merges small manifests when there are at least so many.")
    max_retries: Final = integer("commit.max-retries", 10, "How often a commit that loses a race is tried again.")
    min_retry_wait: Final = duration("commit.min-retry-wait", 10,
        "How long a commit waits at least before it is tried again.")
    max_retry_wait: Final = duration("commit.max-retry-wait", 10_000,
        "How long a commit waits at most before it is tried again.")
    timeout: Final = duration("commit.timeout", None, "How long a commit is tried again. The default is no limit.")
    user_prefix: Final = text("commit.user-prefix", None, "How the names of commit users begin.")
    groups_partitions: Final = boolean("row-tracking.partition-group-on-commit", True,
        "With `row-tracking.enabled`, the new rows of a partition get consecutive ids in a commit.")
    strict_since: Final = long("commit.strict-mode.last-safe-snapshot", None,
        "A commit is refused if another user has compacted or overwritten one of its partitions after this snapshot, "
        "or has added rows to one that it overwrites. -1: the first commit of a user is not checked.")
    ignore_empty: Final = boolean("snapshot.ignore-empty-commit", True, "A write without rows makes no snapshot.")


class CompactionSettings(Settings):
    """Which files of a bucket are compacted, and when."""

    skip_expired_partitions: Final = boolean("compaction.skip-expired-partitions", False,
        "Partitions that are older than `partition.expiration-time` are not compacted.")
    blobs: Final = boolean("blob-compaction.enabled", False,
        "Compactions of tables with data evolution also join files of BLOB columns.")
    trigger: Final = integer("num-sorted-run.compaction-trigger", 5,
        "How many sorted runs of a bucket start a compaction.")
    num_levels: Final = integer("num-levels", None,
        "The number of levels. The default is 1 more than `num-sorted-run.compaction-trigger`.")
    max_size_amplification_percent: Final = integer("compaction.max-size-amplification-percent", 200,
        "Everything is compacted when all runs but the last are together larger than this percentage of the last one.")
    size_ratio: Final = integer("compaction.size-ratio", 1,
        "How much larger, in percent, the next run may be to be compacted with the smaller ones.")
    offpeak_start_hour: Final = integer("compaction.offpeak.start.hour", -1,
        "The hour (0 to 23) at which off-peak time begins. -1: there is none.")
    offpeak_end_hour: Final = integer("compaction.offpeak.end.hour", -1,
        "The hour (0 to 23) before which off-peak time ends. -1: there is none.")
    offpeak_ratio: Final = integer("compaction.offpeak-ratio", 0,
        "Is added to `compaction.size-ratio` in off-peak time.")
    optimization_interval: Final = duration("compaction.optimization-interval", None,
        "How often everything is compacted, so that `$ro` stays fresh.")
    total_size_threshold: Final = memory("compaction.total-size-threshold", None,
        "A bucket smaller than this is compacted as a whole.")
    incremental_size_threshold: Final = memory("compaction.incremental-size-threshold", None,
        "Everything is compacted when the files above the highest level are larger than this.")
    force_up_level_0: Final = boolean("compaction.force-up-level-0", False,
        "Every compaction takes all files of level 0.")
    force_rewrite_all_files: Final = boolean("compaction.force-rewrite-all-files", False,
        "A full compaction also rewrites files that are compacted already.")
    min_file_num: Final = integer("compaction.min.file-num", 5,
        "How many small files of a table without a primary key start a compaction.")
    delete_ratio_threshold: Final = ratio("compaction.delete-ratio-threshold", 0.2,
        "A file of a table without a primary key is rewritten when deletion vectors mark a greater part of its rows.")
    small_file_ratio: Final = ratio("compaction.small-file-ratio", 0.7,
        "A file is small when it is smaller than this part of `target-file-size`.")
    force_lookup: Final = boolean("force-lookup", False, "Compactions work as if a changelog by `lookup` were needed.")
    lookup_compact: Final = choice("lookup-compact", ("radical", "gentle"),
        "When files of level 0 are compacted, where readers need that: `radical` always, `gentle` by the usual rules "
        "and after `lookup-compact.max-interval`.")
    lookup_max_interval: Final = integer("lookup-compact.max-interval", None,
        "With `gentle`, after how many checks a compaction is forced.")
    visibility_enabled: Final = boolean("visibility-callback.enabled", False,
        "A write returns only when readers see its rows, where they need a compaction for that.")
    visibility_timeout: Final = duration("visibility-callback.timeout", 30 * 60_000,
        "How long `visibility-callback.enabled` waits before it is an error.")
    visibility_interval: Final = duration("visibility-callback.check-interval", 10_000,
        "How often `visibility-callback.enabled` checks.")
    full_delta_commits: Final = integer("full-compaction.delta-commits", None,
        "With any number, every batch write compacts all files of the buckets it wrote to into one sorted run.")


class ClusteringSettings(Settings):
    """The order of rows of a table without a primary key, and of the compacted rows of one with a key."""

    columns: Final = words("clustering.columns",
        "The columns by which each write sorts the rows of a table without a primary key and buckets, and by which "
        "`clustering.incremental` and `pk-clustering-override` do.", older=("sink.clustering.by-columns",))
    override: Final = boolean("pk-clustering-override", False,
        "Compactions of a table with a primary key sort rows by `clustering.columns` instead of the key, and deletion "
        "vectors (or `merge-engine` = `first-row`) keep one row of each key.")
    strategy: Final = choice("clustering.strategy", ("auto", "order", "zorder", "hilbert"),
        "The order: `order`, `zorder` or `hilbert`. `auto`: by the number of columns: one is ordered, up to four make "
        "a z-order, more a Hilbert curve.", older=("sink.clustering.strategy",))
    incremental: Final = boolean("clustering.incremental", False,
        "Compactions of a table without a primary key and buckets sort the files that were not sorted yet, or too few "
        "together; writes do not sort.")
    incremental_mode: Final = choice("clustering.incremental.mode", ("global-sort", "local-sort"),
        "`global-sort` sorts the rows of all chosen files together, `local-sort` those of some files at a time.")
    incremental_optimize_write: Final = boolean("clustering.incremental.optimize-write", False,
        "With `clustering.incremental`, writes sort too.")
    history_partition_limit: Final = integer("clustering.history-partition.limit", 5,
        "How many such partitions one compaction sorts.")
    history_partition_idle: Final = duration("clustering.history-partition.idle-to-full-sort", None,
        "A compaction of some partitions also sorts, as a whole, others that have not changed for so long.")
    zorder_var_length: Final = integer("zorder.var-length-contribution", 8,
        "How many bytes of a text or binary value count in a z-order.")


class DynamicBucketSettings(Settings):
    """Buckets that are opened as keys arrive (`bucket` = `-1`)."""

    target_row_num: Final = long("dynamic-bucket.target-row-num", 2_000_000,
        "How many keys a dynamic bucket takes before a new one is opened.")
    initial_buckets: Final = integer("dynamic-bucket.initial-buckets", None,
        "How many dynamic buckets a partition begins with.")
    max_buckets: Final = integer("dynamic-bucket.max-buckets", -1,
        "How many dynamic buckets a partition may have. -1: no limit. When all are full, keys go to existing ones.")
    assigner_parallelism: Final = integer("dynamic-bucket.assigner-parallelism", None,
        "How many tasks assign dynamic buckets.")


class PostponeSettings(Settings):
    """Buckets whose number is chosen when the rows are known (`bucket` = `-2`)."""

    batch_write_fixed_bucket: Final = boolean("postpone.batch-write-fixed-bucket", True,
        "A batch write to a table with `bucket` = `-2` chooses the number of buckets of new partitions itself. "
        "`false`: rows wait until a compaction.")
    max_parallelism: Final = integer("postpone.batch-write-fixed-bucket.max-parallelism", 2048,
        "The greatest number of buckets that such a write chooses.")
    rescale_load_factor: Final = integer("postpone.batch-write-fixed-bucket.rescale-load-factor", 32,
        "A partition gets more buckets when it needs more than this many times those it has.")
    default_bucket_num: Final = integer("postpone.default-bucket-num", None,
        "The number of buckets of new partitions, instead of an estimate.")
    target_row_num: Final = long("postpone.target-row-num-per-bucket", None,
        "How many rows a bucket is to get. It goes before `postpone.target-size-per-bucket`.")
    target_size: Final = memory("postpone.target-size-per-bucket", 1024 * MB, "How many bytes a bucket is to get.")
    merge_on_read: Final = boolean("postpone.merge-on-read", False, "Reads also show rows that wait to be compacted.")
