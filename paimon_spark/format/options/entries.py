"""The catalogue of table options: how this release treats each that the official system knows (features 3).

Sources: CoreOptions, SparkConnectorOptions and FlinkConnectorOptions of the releases 0.2 to 2.0.0 and after. Three
tables hold it, by key. An option is honoured (HONOURED); or rows and metadata are the same without it (NO_EFFECT),
with the reason; or some of its values are refused (REFUSALS), and the others are honoured or without effect. An option
that a caller gives with a read or a write is a request. It may be refused there although it is accepted where the table
only stores it.

In keys ``<column>`` stands for one column or several with commas, ``<type>`` and ``<x>`` for a word, ``#`` and
``<any>`` for anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Moment(StrEnum):
    """When an option is refused, in the words of messages. READ implies WRITE."""

    READ = "read"
    WRITE = "write to"
    CALL = "call"


@dataclass(frozen=True)
class Refusal:
    """A rule that refuses all values of an option but the accepted ones; the option may be absent.

    Attributes:
        key: of the option.
        moment: READ or WRITE: applies to stored options too; CALL: only to those given with a read or a write.
        accepted: values that ask for nothing, in any letter case; ("",): only an empty value.
        what: what is not supported; follows "this release does not support" in the message.
        advice: what the user can do instead.
    """

    key: str
    moment: Moment
    accepted: tuple[str, ...]
    what: str
    advice: str


class Status(StrEnum):
    """How this release treats an option."""

    HONOURED = "honoured"
    REFUSED = "refused"
    NO_EFFECT = "without effect"


@dataclass(frozen=True)
class NoEffect:
    """Options without effect on rows and metadata.

    Attributes:
        reason: why it makes no difference that this release does nothing with them.
        keys: the keys of the options, separated by blanks.
    """

    reason: str
    keys: str


HONOURED = """
    type primary-key partition path branch rowkind.field
    alter-column-null-to-not-null.disabled disable-explicit-type-casting add-column-before-partition
    deletion-vectors.modifiable
    write.merge-schema write.merge-schema.type-widening write.merge-schema.explicit-cast
    metastore.partitioned-table metastore.tag-to-partition partition.idle-time-to-report-statistic
    bucket bucket-key bucket-function.type data-file.prefix data-file.path-directory data-file.external-paths
    data-file.thin-mode index-file-in-data-file-dir file.suffix.include.compression
    file.format file.format.per.level file.compression file.compression.per.level file.compression.zstd-level
    file.block-size changelog-file.prefix changelog-file.format changelog-file.compression changelog-file.stats-mode
    target-file-size target-file-row-num file-operation.thread-num orc.timestamp-ltz.legacy.type
    merge-engine ignore-delete ignore-update-before delete.force-produce-changelog
    sequence.field sequence.field.sort-order
    sequence.snapshot-ordering aggregation.remove-record-on-delete partial-update.remove-record-on-delete
    partial-update.remove-record-on-sequence-group fields.default-aggregate-function
    table-read.sequence-number.enabled overwrite-upgrade
    changelog-producer changelog-producer.row-deduplicate changelog-producer.row-deduplicate-ignore-fields
    force-lookup lookup-compact lookup-compact.max-interval full-compaction.delta-commits
    num-sorted-run.compaction-trigger num-sorted-run.stop-trigger num-levels
    compaction.max-size-amplification-percent compaction.size-ratio compaction.offpeak.start.hour
    compaction.offpeak.end.hour compaction.offpeak-ratio compaction.optimization-interval
    compaction.total-size-threshold compaction.incremental-size-threshold compaction.force-up-level-0
    compaction.force-rewrite-all-files compaction.min.file-num compaction.delete-ratio-threshold
    compaction.small-file-ratio compaction.skip-expired-partitions zorder.var-length-contribution
    clustering.columns clustering.strategy sink.clustering.by-columns sink.clustering.strategy clustering.incremental
    clustering.incremental.mode clustering.incremental.optimize-write clustering.history-partition.limit
    clustering.history-partition.idle-to-full-sort
    write-only visibility-callback.enabled
    visibility-callback.timeout visibility-callback.check-interval write-buffer-size
    dynamic-bucket.target-row-num dynamic-bucket.initial-buckets dynamic-bucket.max-buckets
    dynamic-bucket.assigner-parallelism postpone.batch-write-fixed-bucket
    postpone.batch-write-fixed-bucket.max-parallelism postpone.batch-write-fixed-bucket.rescale-load-factor
    postpone.default-bucket-num postpone.target-row-num-per-bucket postpone.target-size-per-bucket
    postpone.merge-on-read
    deletion-vectors.enabled deletion-vector.index-file.target-size deletion-vectors.bitmap64
    deletion-vectors.merge-on-read file-index.read.enabled file-index.<type>.columns
    file-index.<type>.<column>.<x> file-index.in-manifest-threshold
    manifest.compression manifest.target-file-size manifest.full-compaction-threshold-size manifest.merge-min-count
    metadata.stats-mode metadata.stats-mode.per.level metadata.stats-dense-store
    metadata.stats-keep-first-n-columns
    commit.user-prefix commit.timeout commit.max-retries commit.min-retry-wait commit.max-retry-wait
    dynamic-partition-overwrite snapshot.ignore-empty-commit
    snapshot.num-retained.min snapshot.num-retained.max snapshot.time-retained snapshot.expire.execution-mode
    snapshot.expire.limit snapshot.clean-empty-directories changelog.num-retained.min changelog.num-retained.max
    changelog.time-retained consumer.expiration-time consumer.changelog-only
    tag.automatic-creation tag.creation-period tag.creation-period-duration tag.creation-delay tag.period-formatter
    tag.automatic-completion tag.num-retained-max tag.default-time-retained tag.time-expire-enabled
    tag.create-success-file tag.batch.customized-name sink.watermark-time-zone sink.process-time-zone
    scan.plan-auto-tag-for-read.time-retained
    partition.default-name partition.legacy-name partition.expiration-time partition.expiration-strategy
    partition.expiration-check-interval partition.expiration-max-num partition.expiration-batch-size
    partition.timestamp-formatter partition.timestamp-pattern partition.timestamp-format.strict
    end-input.check-partition-expire partition.end-input-to-done partition.mark-done-action
    partition.mark-done-action.http.url partition.mark-done-action.http.params partition.sink-strategy
    record-level.expire-time record-level.time-field
    scan.mode scan.snapshot-id scan.tag-name scan.watermark scan.timestamp scan.timestamp-millis
    scan.creation-time-millis scan.file-creation-time-millis scan.version scan.bucket scan.plan-sort-partition
    scan.ignore-corrupt-files scan.ignore-lost-files scan.fallback-branch scan.primary-branch
    scan.bounded.watermark consumer-id consumer.mode consumer.ignore-progress continuous.discovery-interval
    streaming.read.snapshot.delay streaming-read-overwrite streaming-read-append-overwrite
    read.stream.maxFilesPerTrigger read.stream.maxBytesPerTrigger read.stream.maxRowsPerTrigger
    read.stream.minRowsPerTrigger read.stream.maxTriggerDelayMs
    source.split.target-size source.split.open-file-cost incremental-between incremental-between-timestamp
    incremental-between-scan-mode incremental-to-auto-tag incremental-between-tag-to-snapshot
    fields.<column>.aggregate-function fields.<column>.ignore-retract fields.<column>.sequence-group
    fields.<column>.nested-key fields.<column>.nested-key-null-strategy fields.<column>.nested-sequence-field
    fields.<column>.count-limit fields.<column>.distinct fields.<column>.list-agg-delimiter fields.<column>.ts-field
    fields.<column>.stats-mode
"""

NO_EFFECT = (
    NoEffect(
        "buffers, spill files, threads and caches of the official writers and readers",
        """
        read.batch-size write.batch-size write.batch-memory file-reader-async-threshold async-file-write
        scan.manifest.parallelism sort-engine write-buffer-spillable write-buffer-spill.max-disk-size
        write-buffer-for-append write-max-writers-to-spill local-sort.max-num-file-handles sort-spill-threshold
        sort-spill-buffer-size spill-compression spill-compression.zstd-level page-size cache-page-size
        local-merge-buffer-size local-kv-db.block-size cross-partition-upsert.index-ttl
        cross-partition-upsert.bootstrap-parallelism lookup.cache-file-retention lookup.cache-max-disk-size
        lookup.cache-max-memory-size lookup.cache-spill-compression lookup.cache.high-priority-pool-ratio
        lookup.cache.bloom.filter.enabled lookup.cache.bloom.filter.fpp lookup.hash-load-factor
        lookup.remote-file.enabled lookup.remote-file.level-threshold lookup.merge-buffer-size
        lookup.merge-records-threshold lookup.local-file-type write-manifest-cache orc.write.batch-size
        source.split.target-size-with-column-pruning
        """,
    ),
    NoEffect(
        "which files there are and how they are laid out, with the same rows in them",
        """
        parquet.enable.dictionary bucket-append-ordered compaction.file-num-limit commit.force-compact lookup-wait
        changelog-producer.lookup-wait manifest.merge-optimize.enabled manifest.delete-file-drop-stats
        manifest-sort.enabled manifest-sort.partition-field manifest-sort.max-rewrite-size
        commit.discard-duplicate-files compaction.max.file-num compaction.early-max.file-num
        compaction.max-sorted-run-num
        """,
    ),
    NoEffect(
        "streams of other engines",
        """
        streaming-read-mode streaming-compact scan.max-splits-per-task snapshot.watermark-idle-timeout
        commit.force-create-snapshot changelog-producer.compaction-interval
        """,
    ),
    NoEffect(
        "lookup joins and searches, which this release has none of",
        """
        lookup.cache-rows lookup.continuous.discovery-interval lookup.blob-as-descriptor global-index.enabled
        global-index.external-path global-index.column-update-action global-index.row-count-per-shard
        global-index.build.max-shard global-index.build.max-parallelism global-index.thread-num
        global-index.search-mode scalar-index.search-mode vector-index.search-mode full-text-index.search-mode
        vector-search.distribute.enabled vector-search.lateral-join.batch-size vector-search.lateral-join.parallelism
        fields.<column>.pk-vector.index.type fields.<column>.pk-vector.distance.metric
        fields.<column>.pk-vector.index.options fields.<column>.pk-btree.index.options
        fields.<column>.pk-bitmap.index.options fields.<column>.pk-multivalue.index.options
        fields.<column>.pk-full-text.index.options
        """,
    ),
    NoEffect(
        "indexes that readers use where they are, and do without where they are not",
        """
        pk-btree.index.columns pk-bitmap.index.columns pk-multivalue.index.columns
        """,
    ),
    NoEffect(
        "the order of rows within files, which no reader relies on",
        """
        sort-compaction.range-strategy sort-compaction.local-sample.magnification
        sink.clustering.sort-in-cluster sink.clustering.sample-factor
        """,
    ),
    NoEffect(
        "updates of tables with data evolution, which this release refuses",
        """
        write.data-evolution.update-conflict-retry.max-attempts write.data-evolution.update-conflict-retry.wait-ms
        """,
    ),
    NoEffect(
        "catalogs and metastores, which the official system does not tell either when a table is written by its path",
        """
        auto-create metastore.tag-to-partition.preview materialized-table.definition-query
        materialized-table.interval-freshness materialized-table.interval-freshness.time-unit
        materialized-table.logical-refresh-mode materialized-table.refresh-mode materialized-table.refresh-status
        materialized-table.refresh-handler-description materialized-table.refresh-handler-bytes root-path
        object-location
        """,
    ),
    NoEffect(
        "parts of a feature that is refused by another option or by the type of a column",
        """
        data-file.external-paths.specific-fs data-file.external-paths.weights row-tracking.partition-group-on-commit
        commit.callback.#.param tag.callback.#.param partition.mark-done-action.custom.class
        scan.fallback-snapshot-branch scan.fallback-delta-branch chain-table.chain-partition-keys
        chain-table.split.key-range-enabled chain-table.streaming.merge-snapshot
        data-evolution.merge-into.file-pruning data-evolution.merge-into.source-persist
        data-evolution.reassign.skip-contiguous-row-count data-evolution.row-id-conflict-rewrite.max-size
        data-evolution.row-sidecar.enabled data-evolution.row-sidecar.max-selected-rows
        data-evolution.row-sidecar.max-selection-ratio data-evolution.compaction.rewrite-row-ids
        blob-view.resolve.enabled blob-as-descriptor blob-descriptor.source-table blob-write-null-on-missing-file
        blob-write-null-on-fetch-failure blob.target-file-size blob.split-by-file-size blob.copy-buffer-size
        blob-compaction.enabled blob-external-storage-path blob-external-storage-field vector.target-file-size
        field.<column>.vector-dim variant.shreddingSchema parquet.variant.shreddingSchema variant.inferShreddingSchema
        variant.shredding.inferenceMode variant.shredding.maxSchemaWidth variant.shredding.maxSchemaDepth
        variant.shredding.minFieldCardinalityRatio variant.shredding.maxInferBufferRow
        variant.shredding.adaptive.maxInferBufferRow variant.shredding.adaptive.retentionRatio
        fields.<column>.map.shared-shredding.max-columns
        fields.<column>.map.shared-shredding.column-placement-policy format-table.implementation
        format-table.partition-path-only-value format-table.file.compression format-table.commit-hive-sync-url
        format-table.scan.list-parallelism format-table.repair.collect-statistics
        format-table.statistics.parallelism
        """,
    ),
    NoEffect(
        "settings of Flink's and Spark's connectors for their own jobs",
        """
        sink.parallelism scan.parallelism unaware-bucket.compaction.parallelism unaware-bucket.no-shuffle
        compaction.bucket-distribution-strategy scan.infer-parallelism scan.infer-parallelism.max
        scan.watermark.emit.strategy scan.watermark.alignment.group scan.watermark.idle-timeout
        scan.watermark.alignment.max-drift scan.watermark.alignment.update-interval
        scan.split-enumerator.batch-size scan.max-snapshot.count scan.split-enumerator.mode
        sink.use-managed-memory-allocator scan.remove-normalize read.shuffle-bucket-with-partition
        sink.managed.writer-buffer-memory sink.cross-partition.managed-memory source.checkpoint-align.enabled
        source.checkpoint-align.timeout lookup.async lookup.bootstrap-parallelism lookup.async-thread-number
        lookup.cache scan.partitions lookup.dynamic-partition.refresh-interval lookup.refresh.async
        lookup.dynamic-partition.refresh.async lookup.refresh.async.pending-snapshot-count
        lookup.refresh.time-periods-blacklist lookup.refresh.full-load-threshold sink.savepoint.auto-tag
        sink.writer-cpu sink.writer-memory sink.committer-cpu sink.committer-memory
        sink.committer-operator-chaining partition.mark-done-action.mode partition.idle-time-to-done
        partition.time-interval partition.mark-done.recover-from-state end-input.watermark precommit-compact
        changelog.precommit-compact changelog.precommit-compact.thread-num changelog.precommit-compact.buffer-size
        source.operator-uid.suffix sink.operator-uid.suffix scan.bounded scan.dedicated-split-generation
        sink.coordinator-commit.enabled sink.writer-coordinator.enabled sink.key-only-deletes.enabled
        sink.writer-coordinator.cache-memory sink.writer-coordinator.cache-expire-after-access
        sink.writer-coordinator.cache-soft-values sink.writer-coordinator.page-size
        sink.writer-coordinator.prefetch-manifests filesystem.job-level-settings.enabled
        sink.writer-refresh-detectors requiredSparkConfsCheck.enabled legacy-timestamp-mapping.enabled
        write.use-v2-write write.hive-style-dynamic-partition.enabled read.changelog read.allow.fullScan
        log.scan.remove-normalize scan.push-down lookup.dynamic-partition
        streaming-read.shuffle-bucket-with-partition streaming-read-atomic compaction.manual-triggered
        compaction.partition-spec scan.plan-parallelism
        """,
    ),
    NoEffect(
        "options that the official system has given up, and passes over since",
        """
        log.changelog-mode log.consistency log.format log.ignore-delete log.key.format log.retention log.system
        log.system.auto-register log.system.partitions log.system.replication append-only.assert-disorder
        write-mode sequence.auto-padding fields.<column>.default-value record-level.time-field-type
        partition.mark-done-action.http.timeout
        """,
    ),
    NoEffect(
        "settings of file formats, indexes and Iceberg metadata, which are refused or change no row",
        """
        avro.<any> parquet.<any> orc.<any> csv.<any> json.<any> text.<any> metadata.iceberg.<any> btree-index.<any>
        bitmap-index.<any> sorted-index.<any> multivalue-index.<any> full-text.<any>
        """,
    ),
    NoEffect(
        "switches that change nothing: the official documentation names them, its code does not",
        "branch-merge.enabled",
    ),
    NoEffect(
        "a failed read of a branch is always an error here",
        "scan.fallback-branch.read-fail-fast",
    ),
)

DATA_FORMATS = ("parquet", "orc", "avro")

OFFICIAL = "use the official system for it"
_ONE_BRANCH = (
    f"{OFFICIAL}, or read one of its branches as it is, with the options 'branch' and 'chain-table.enabled' = 'false'"
)
_EMPTIED = "; or go without it, with the option '{key}' = '' in the call"
_SWITCHED_OFF = "; or go without it, with the option '{key}' = 'false' in the call"
_LEAVE_OUT = "leave it out of the call"
_STORED = f"{_LEAVE_OUT}; a table may have it, for writers that know it: PaimonTable.create(spark).property(...)"


def _refusals(moment: Moment, *rows: tuple[str, tuple[str, ...], str, str]) -> tuple[Refusal, ...]:
    return tuple(
        Refusal(key, moment, accepted, what, advice.replace("{key}", key)) for key, accepted, what, advice in rows
    )


READ_REFUSALS = _refusals(
    Moment.READ,
    ("type", ("table",), "tables of another kind", OFFICIAL),
    ("primary-key.nullable", ("false",), "nulls in primary keys", OFFICIAL),
    ("query-auth.enabled", ("false",), "row filters and column masks of a catalog", OFFICIAL),
    ("file.format", DATA_FORMATS, "data files of this format", OFFICIAL),
    ("changelog-file.format", DATA_FORMATS, "changelog files of this format", OFFICIAL),
    ("vector.file.format", (), "vector files", OFFICIAL),
    ("key-value.sequence_number.enabled", ("false",), "the sequence number as a column", OFFICIAL),
    ("data-evolution.enabled", ("false",), "data evolution", OFFICIAL),
    ("chain-table.enabled", ("false",), "chain tables", _ONE_BRANCH),
    ("batch-scan-mode", ("none",), "internal scan modes", OFFICIAL),
    ("stream-scan-mode", ("none",), "internal scan modes", OFFICIAL),
    ("blob-field", (), "BLOB columns", OFFICIAL),
    ("blob-descriptor-field", (), "BLOB columns", OFFICIAL),
    ("blob.stored-descriptor-fields", (), "BLOB columns", OFFICIAL),
    ("blob-view-field", (), "BLOB columns", OFFICIAL),
    ("vector-field", (), "VECTOR columns", OFFICIAL),
    ("fields.<column>.map.storage-layout", ("default",), "this layout of maps", OFFICIAL),
)

WRITE_REFUSALS = _refusals(
    Moment.WRITE,
    ("pk-clustering-override", ("false",), "writing files of a primary key in another order", OFFICIAL),
    ("row-tracking.enabled", ("false",), "row tracking", OFFICIAL),
    ("upsert-key", ("",), "upserts by a key that is no primary key: rows would be there twice", OFFICIAL + _EMPTIED),
    ("data-file.external-paths.strategy", ("none",), "data files in external paths", OFFICIAL),
    ("write.sequence-number-init-mode", ("scan",), "sequence numbers kept in snapshots", OFFICIAL),
    ("metadata.iceberg.storage", ("disabled",), "Iceberg metadata beside the table", OFFICIAL),
    ("metadata.iceberg-compatible", ("false",), "Iceberg metadata beside the table", OFFICIAL + _SWITCHED_OFF),
    ("commit.callbacks", ("",), "commit callbacks, which are Java classes", OFFICIAL + _EMPTIED),
    ("commit.custom-listeners", ("",), "commit listeners, which are Java classes", OFFICIAL + _EMPTIED),
    ("commit.strict-mode.last-safe-snapshot", (), "strict commits", OFFICIAL),
    ("tag.callbacks", ("",), "tag callbacks, which are Java classes", OFFICIAL + _EMPTIED),
    ("pk-full-text.index.columns", ("",), "full-text indexes: a search would miss the new rows", OFFICIAL + _EMPTIED),
    ("pk-vector.index.columns", ("",), "vector indexes", OFFICIAL + _EMPTIED),
    ("manifest.format", ("avro",), "manifests of another format than Avro", OFFICIAL),
)

CALL_REFUSALS = _refusals(
    Moment.CALL,
    ("read.changelog", ("false",), "it", "'row-kinds' = 'true' adds the column _row_kind"),
    ("read.allow.fullScan", ("true",), "refusing reads of all partitions", _LEAVE_OUT),
    ("legacy-timestamp-mapping.enabled", ("false",), "it", "cast the column in the query: ts::timestamp"),
    ("pk-btree.index.columns", ("",), "making indexes", _STORED),
    ("pk-bitmap.index.columns", ("",), "making indexes", _STORED),
    ("pk-multivalue.index.columns", ("",), "making indexes", _STORED),
    ("metastore.partitioned-table", ("false",), "telling a metastore of partitions", _STORED),
    ("metastore.tag-to-partition", ("",), "telling a metastore of tags", _STORED),
    ("metastore.tag-to-partition.preview", ("none",), "telling a metastore of tags", _STORED),
    ("fields.<column>.default-value", (), "this old form of default values, nor does the official system since 1.3",
     "give a column its default value in the schema"),
    ("sequence.auto-padding", ("",), "it, nor does the official system since 0.8", _LEAVE_OUT),
    ("write-mode", ("auto",), "it, nor does the official system since 0.6", _LEAVE_OUT),
    ("commit.force-create-snapshot", ("false",), "snapshots of writes that bring nothing", _LEAVE_OUT),
    ("commit.discard-duplicate-files", ("false",), "commits of files that are there already", _LEAVE_OUT),
    ("consumer-id", ("",), "consumers of reads that end", "give it to spark.readStream"),
    ("scan.bounded.watermark", (), "it in reads that end", "give it to spark.readStream"),
    ("scan.partitions", ("",), "it", "name the partitions in the option 'filter'"),
    ("scan.bounded", (), "streams", _LEAVE_OUT),
    ("end-input.watermark", (), "watermarks given to a write", _LEAVE_OUT),
    ("partition.idle-time-to-done", (), "streams", "'partition.end-input-to-done' = 'true' marks what a write wrote"),
)  # fmt: skip

REFUSALS = (*READ_REFUSALS, *WRITE_REFUSALS, *CALL_REFUSALS)


@dataclass(frozen=True)
class OptionEntry:
    """How this release treats one option.

    Attributes:
        key: the official spelling, with its placeholders.
        status: REFUSED if every value except those that ask for nothing is refused, stored or given.
        reason: why the option has no effect; None for any other status.
        refusals: the rules that refuse some or all of its values.
    """

    key: str
    status: Status
    reason: str | None
    refusals: tuple[Refusal, ...]


def _catalogue() -> dict[str, OptionEntry]:
    refusals: dict[str, tuple[Refusal, ...]] = {}
    for refusal in REFUSALS:
        refusals[refusal.key] = (*refusals.get(refusal.key, ()), refusal)
    entries = {key: OptionEntry(key, Status.REFUSED, None, rows) for key, rows in refusals.items()}
    for key in HONOURED.split():
        entries[key] = OptionEntry(key, Status.HONOURED, None, refusals.get(key, ()))
    for idle in NO_EFFECT:
        for key in idle.keys.split():
            entries[key] = OptionEntry(key, Status.NO_EFFECT, idle.reason, refusals.get(key, ()))
    return entries


CATALOGUE: Mapping[str, OptionEntry] = _catalogue()
"""All options, by key."""
