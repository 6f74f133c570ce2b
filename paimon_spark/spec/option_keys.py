"""Every table option the official system knows, by name (features 3; Java: CoreOptions and the connectors' options).

No meaning here: option_catalog says which of them this release heeds, ignores or refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# One block of keys for each group of the official documentation.
_GROUPS = {
    "Table identity, keys, partition declaration": """
        type primary-key primary-key.nullable partition path branch auto-create rowkind.field
        alter-column-null-to-not-null.disabled disable-explicit-type-casting add-column-before-partition
        query-auth.enabled
    """,
    "Bucketing and data layout": """
        bucket bucket-key bucket-function.type bucket-append-ordered data-file.prefix data-file.path-directory
        data-file.external-paths data-file.external-paths.strategy data-file.external-paths.specific-fs
        data-file.external-paths.weights data-file.thin-mode index-file-in-data-file-dir
        file.suffix.include.compression row-tracking.enabled row-tracking.partition-group-on-commit
    """,
    "File format, compression, reading/writing batches": """
        file.format file.format.per.level file.compression file.compression.per.level
        file.compression.zstd-level file.block-size changelog-file.prefix changelog-file.format
        changelog-file.compression changelog-file.stats-mode parquet.enable.dictionary read.batch-size
        write.batch-size write.batch-memory file-reader-async-threshold async-file-write target-file-size
        target-file-row-num file-operation.thread-num scan.manifest.parallelism
    """,
    "Merge engine, row kinds, sequence": """
        merge-engine ignore-delete ignore-update-before sequence.field sequence.field.sort-order
        sequence.snapshot-ordering write.sequence-number-init-mode aggregation.remove-record-on-delete
        partial-update.remove-record-on-delete partial-update.remove-record-on-sequence-group
        fields.default-aggregate-function sort-engine table-read.sequence-number.enabled
        key-value.sequence_number.enabled overwrite-upgrade
    """,
    "Changelog producer": """
        changelog-producer changelog-producer.row-deduplicate changelog-producer.row-deduplicate-ignore-fields
        delete.force-produce-changelog force-lookup lookup-wait lookup-compact lookup-compact.max-interval
        full-compaction.delta-commits
    """,
    "LSM / compaction (PK and append)": """
        num-sorted-run.compaction-trigger num-sorted-run.stop-trigger num-levels
        compaction.max-size-amplification-percent compaction.size-ratio compaction.offpeak.start.hour
        compaction.offpeak.end.hour compaction.offpeak-ratio compaction.optimization-interval
        compaction.total-size-threshold compaction.incremental-size-threshold compaction.force-up-level-0
        compaction.force-rewrite-all-files compaction.min.file-num compaction.file-num-limit
        compaction.delete-ratio-threshold compaction.small-file-ratio compaction.skip-expired-partitions
        commit.force-compact write-only visibility-callback.enabled visibility-callback.timeout
        visibility-callback.check-interval
    """,
    "Write buffer, spill, sort": """
        write-buffer-size write-buffer-spillable write-buffer-spill.max-disk-size write-buffer-for-append
        write-max-writers-to-spill local-sort.max-num-file-handles sort-spill-threshold sort-spill-buffer-size
        spill-compression spill-compression.zstd-level page-size cache-page-size local-merge-buffer-size
        local-kv-db.block-size
    """,
    "Dynamic bucket, cross-partition, postpone bucket": """
        dynamic-bucket.target-row-num dynamic-bucket.initial-buckets dynamic-bucket.max-buckets
        dynamic-bucket.assigner-parallelism cross-partition-upsert.index-ttl
        cross-partition-upsert.bootstrap-parallelism postpone.batch-write-fixed-bucket
        postpone.batch-write-fixed-bucket.max-parallelism postpone.batch-write-fixed-bucket.rescale-load-factor
        postpone.default-bucket-num postpone.target-row-num-per-bucket postpone.target-size-per-bucket
        postpone.merge-on-read
    """,
    "Lookup (changelog/DV/first-row) and local caches": """
        lookup.cache-file-retention lookup.cache-max-disk-size lookup.cache-max-memory-size
        lookup.cache-spill-compression lookup.cache.high-priority-pool-ratio lookup.cache.bloom.filter.enabled
        lookup.cache.bloom.filter.fpp lookup.hash-load-factor lookup.cache-rows
        lookup.continuous.discovery-interval lookup.blob-as-descriptor lookup.remote-file.enabled
        lookup.remote-file.level-threshold lookup.merge-buffer-size lookup.merge-records-threshold
    """,
    "Deletion vectors, file index, global index": """
        deletion-vectors.enabled deletion-vectors.modifiable deletion-vector.index-file.target-size
        deletion-vectors.bitmap64 deletion-vectors.merge-on-read file-index.in-manifest-threshold
        file-index.read.enabled global-index.enabled global-index.external-path
        global-index.column-update-action global-index.row-count-per-shard global-index.build.max-shard
        global-index.build.max-parallelism global-index.thread-num global-index.search-mode
        scalar-index.search-mode vector-index.search-mode full-text-index.search-mode pk-btree.index.columns
        pk-bitmap.index.columns pk-multivalue.index.columns pk-full-text.index.columns pk-vector.index.columns
        vector-search.distribute.enabled vector-search.lateral-join.batch-size
    """,
    "Manifest, statistics": """
        manifest.compression manifest.target-file-size manifest.full-compaction-threshold-size
        manifest.merge-min-count manifest.merge-optimize.enabled manifest.delete-file-drop-stats
        manifest-sort.enabled manifest-sort.partition-field manifest-sort.max-rewrite-size metadata.stats-mode
        metadata.stats-mode.per.level metadata.stats-dense-store metadata.stats-keep-first-n-columns
    """,
    "Commit": """
        commit.user-prefix commit.timeout commit.max-retries commit.min-retry-wait commit.max-retry-wait
        commit.force-create-snapshot commit.strict-mode.last-safe-snapshot commit.discard-duplicate-files
        commit.callbacks commit.callback.#.param snapshot.ignore-empty-commit dynamic-partition-overwrite
    """,
    "Snapshot, changelog, consumer retention": """
        snapshot.num-retained.min snapshot.num-retained.max snapshot.time-retained
        snapshot.expire.execution-mode snapshot.expire.limit snapshot.clean-empty-directories
        changelog.num-retained.min changelog.num-retained.max changelog.time-retained consumer-id
        consumer.expiration-time consumer.mode consumer.ignore-progress consumer.changelog-only
    """,
    "Tags": """
        tag.automatic-creation tag.creation-period tag.creation-period-duration tag.creation-delay
        tag.period-formatter tag.automatic-completion tag.num-retained-max tag.default-time-retained
        tag.time-expire-enabled tag.create-success-file tag.batch.customized-name tag.callbacks
        tag.callback.#.param metastore.tag-to-partition metastore.tag-to-partition.preview
        scan.plan-auto-tag-for-read.time-retained snapshot.watermark-idle-timeout sink.watermark-time-zone
        sink.process-time-zone
    """,
    "Partition maintenance": """
        partition.default-name partition.legacy-name partition.expiration-time partition.expiration-strategy
        partition.expiration-check-interval partition.expiration-max-num partition.expiration-batch-size
        partition.timestamp-formatter partition.timestamp-pattern partition.timestamp-format.strict
        end-input.check-partition-expire partition.end-input-to-done partition.mark-done-action
        partition.mark-done-action.custom.class partition.mark-done-action.http.url
        partition.mark-done-action.http.params partition.sink-strategy partition.idle-time-to-report-statistic
        metastore.partitioned-table record-level.expire-time record-level.time-field
    """,
    "Scan, time travel, incremental, streaming": """
        scan.mode scan.snapshot-id scan.tag-name scan.watermark scan.timestamp scan.timestamp-millis
        scan.creation-time-millis scan.file-creation-time-millis scan.version scan.bounded.watermark scan.bucket
        scan.max-splits-per-task scan.plan-sort-partition scan.ignore-corrupt-files scan.ignore-lost-files
        scan.fallback-branch scan.fallback-branch.read-fail-fast scan.primary-branch
        scan.fallback-snapshot-branch scan.fallback-delta-branch chain-table.enabled
        chain-table.chain-partition-keys chain-table.split.key-range-enabled
        chain-table.streaming.merge-snapshot source.split.target-size source.split.open-file-cost
        continuous.discovery-interval streaming.read.snapshot.delay streaming-read-overwrite
        streaming-read-append-overwrite incremental-between incremental-between-timestamp
        incremental-between-scan-mode incremental-to-auto-tag incremental-between-tag-to-snapshot
        stream-scan-mode batch-scan-mode
    """,
    "Clustering, sort compact": """
        clustering.columns clustering.strategy clustering.incremental clustering.incremental.mode
        clustering.incremental.optimize-write clustering.history-partition.limit
        clustering.history-partition.idle-to-full-sort pk-clustering-override sort-compaction.range-strategy
        sort-compaction.local-sample.magnification zorder.var-length-contribution
    """,
    "Data evolution, blob, vector, variant": """
        data-evolution.enabled data-evolution.merge-into.file-pruning data-evolution.merge-into.source-persist
        data-evolution.reassign.skip-contiguous-row-count data-evolution.row-id-conflict-rewrite.max-size
        data-evolution.row-sidecar.enabled data-evolution.row-sidecar.max-selected-rows
        data-evolution.row-sidecar.max-selection-ratio data-evolution.compaction.rewrite-row-ids blob-field
        blob-descriptor-field blob-view-field blob-view.resolve.enabled blob-as-descriptor
        blob-descriptor.source-table blob-write-null-on-missing-file blob-write-null-on-fetch-failure
        blob.target-file-size blob.split-by-file-size blob.copy-buffer-size blob-compaction.enabled vector-field
        vector.file.format vector.target-file-size variant.shreddingSchema variant.inferShreddingSchema
        variant.shredding.inferenceMode variant.shredding.maxSchemaWidth variant.shredding.maxSchemaDepth
        variant.shredding.minFieldCardinalityRatio variant.shredding.maxInferBufferRow
        variant.shredding.adaptive.maxInferBufferRow variant.shredding.adaptive.retentionRatio
    """,
    "Format table, materialized table": """
        format-table.implementation format-table.partition-path-only-value format-table.file.compression
        format-table.commit-hive-sync-url format-table.scan.list-parallelism materialized-table.definition-query
        materialized-table.interval-freshness materialized-table.interval-freshness.time-unit
        materialized-table.logical-refresh-mode materialized-table.refresh-mode
        materialized-table.refresh-status materialized-table.refresh-handler-description
        materialized-table.refresh-handler-bytes
    """,
    "Older names": """
        blob.stored-descriptor-fields changelog-producer.lookup-wait deduplicate.ignore-delete
        delete-file.thread-num first-row.ignore-delete log.scan log.scan.timestamp-millis orc.write.batch-size
        parquet.variant.shreddingSchema partial-update.ignore-delete sink.clustering.by-columns
        sink.clustering.strategy snapshot.expire.clean-empty-directories write.compaction-skip
    """,
    "Gone from the newest release": """
        log.changelog-mode log.consistency log.format log.ignore-delete log.key.format log.retention log.system
        log.system.auto-register log.system.partitions log.system.replication manifest.format
        scan.plan-parallelism
    """,
    "Options of the engines' connectors": """
        sink.parallelism scan.parallelism unaware-bucket.compaction.parallelism unaware-bucket.no-shuffle
        compaction.bucket-distribution-strategy scan.infer-parallelism scan.infer-parallelism.max
        changelog-producer.compaction-interval scan.watermark.emit.strategy scan.watermark.alignment.group
        scan.watermark.idle-timeout scan.watermark.alignment.max-drift scan.watermark.alignment.update-interval
        scan.split-enumerator.batch-size scan.max-snapshot.count scan.split-enumerator.mode
        sink.use-managed-memory-allocator scan.remove-normalize read.shuffle-bucket-with-partition
        sink.managed.writer-buffer-memory sink.cross-partition.managed-memory source.checkpoint-align.enabled
        source.checkpoint-align.timeout lookup.async lookup.bootstrap-parallelism lookup.async-thread-number
        lookup.cache scan.partitions lookup.dynamic-partition.refresh-interval lookup.refresh.async
        lookup.dynamic-partition.refresh.async lookup.refresh.async.pending-snapshot-count
        lookup.refresh.time-periods-blacklist lookup.refresh.full-load-threshold sink.savepoint.auto-tag
        sink.writer-cpu sink.writer-memory sink.committer-cpu sink.committer-memory
        sink.committer-operator-chaining partition.mark-done-action.mode partition.idle-time-to-done
        partition.time-interval partition.mark-done.recover-from-state sink.clustering.sort-in-cluster
        sink.clustering.sample-factor end-input.watermark precommit-compact changelog.precommit-compact
        changelog.precommit-compact.thread-num changelog.precommit-compact.buffer-size
        source.operator-uid.suffix sink.operator-uid.suffix scan.bounded scan.dedicated-split-generation
        commit.custom-listeners sink.coordinator-commit.enabled sink.writer-coordinator.enabled
        sink.key-only-deletes.enabled sink.writer-coordinator.cache-memory
        sink.writer-coordinator.cache-expire-after-access sink.writer-coordinator.cache-soft-values
        sink.writer-coordinator.page-size sink.writer-coordinator.prefetch-manifests
        filesystem.job-level-settings.enabled sink.writer-refresh-detectors requiredSparkConfsCheck.enabled
        legacy-timestamp-mapping.enabled vector-search.lateral-join.parallelism write.merge-schema
        write.merge-schema.type-widening write.merge-schema.explicit-cast write.use-v2-write
        write.hive-style-dynamic-partition.enabled write.data-evolution.update-conflict-retry.max-attempts
        write.data-evolution.update-conflict-retry.wait-ms read.stream.maxFilesPerTrigger
        read.stream.maxBytesPerTrigger read.stream.maxRowsPerTrigger read.stream.minRowsPerTrigger
        read.stream.maxTriggerDelayMs read.changelog read.allow.fullScan format-table.repair.collect-statistics
        format-table.statistics.parallelism source.split.target-size-with-column-pruning
    """,
}


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_KEYS = frozenset(key for group in _GROUPS.values() for key in _words(group))
_BY_LOWER = {key.lower(): key for key in _KEYS}

# Keys with a column in their middle: fields.<column>.<suffix>.
_FIELD_SUFFIXES = _words("""
    aggregate-function ignore-retract sequence-group nested-key nested-key-null-strategy nested-sequence-field
    count-limit distinct list-agg-delimiter ts-field stats-mode map.storage-layout map.shared-shredding.max-columns
    map.shared-shredding.column-placement-policy pk-vector.index.type pk-vector.distance.metric pk-vector.index.options
    pk-btree.index.options pk-bitmap.index.options pk-multivalue.index.options pk-full-text.index.options
""")
_FIELD_KEY = re.compile(rf"fields\.(.+)\.({'|'.join(map(re.escape, _FIELD_SUFFIXES))})", re.IGNORECASE)
_VECTOR_KEY = re.compile(r"field\.(.+)\.(vector-dim)", re.IGNORECASE)
_INDEX_KEY = re.compile(r"file-index\.([a-z-]+)\.(?:(.+)\.)?([a-z-]+)", re.IGNORECASE)
_CALLBACK_KEY = re.compile(r"(commit|tag)\.callback\..+\.param", re.IGNORECASE)
# Whatever follows is for a file format, an index or another system to understand.
_OPEN_FAMILIES = (
    "avro.", "parquet.", "orc.", "csv.", "json.", "text.", "metadata.iceberg.", "btree-index.", "bitmap-index.",
    "sorted-index.", "multivalue-index.", "full-text.",
)  # fmt: skip

# What cannot change once a table holds data.
IMMUTABLE_OPTIONS = frozenset(
    _words("""
    type primary-key primary-key.nullable partition rowkind.field bucket-key bucket-function.type
    data-file.path-directory index-file-in-data-file-dir row-tracking.enabled merge-engine sequence.snapshot-ordering
    aggregation.remove-record-on-delete partial-update.remove-record-on-delete
    partial-update.remove-record-on-sequence-group force-lookup dynamic-bucket.initial-buckets pk-clustering-override
    data-evolution.enabled blob-field blob-descriptor-field blob-view-field
    """)
)


def known_keys() -> frozenset[str]:
    """Every key without a variable part, and patterns such as ``fields.<column>.stats-mode`` for the others."""
    patterns = {f"fields.<column>.{suffix}" for suffix in _FIELD_SUFFIXES}
    return (
        _KEYS | patterns | {"field.<column>.vector-dim", "file-index.<type>.columns", "file-index.<type>.<column>.<x>"}
    )


def known_key(key: str, columns: Mapping[str, str] | None = None) -> str | None:
    """The key as it is written officially, None when no release known here has it.

    Args:
        key: in any letter case.
        columns: true column names by their lower-case form, for keys that hold a column.
    """
    lowered = key.lower()
    if lowered in _BY_LOWER:
        return _BY_LOWER[lowered]
    if match := _FIELD_KEY.fullmatch(key):
        return f"fields.{_true_columns(match[1], columns)}.{match[2].lower()}"
    if match := _VECTOR_KEY.fullmatch(key):
        return f"field.{_true_columns(match[1], columns)}.{match[2].lower()}"
    if match := _INDEX_KEY.fullmatch(key):
        column = f"{_true_columns(match[2], columns)}." if match[2] else ""
        return f"file-index.{match[1].lower()}.{column}{match[3].lower()}"
    if _CALLBACK_KEY.fullmatch(key) or lowered.startswith(_OPEN_FAMILIES):
        return key
    return None


def unknown_keys(keys: Iterable[str], families: Iterable[str]) -> list[str]:
    """The keys of these families (beginnings of keys) that no release known here has, in order."""
    beginnings = tuple(families)
    return sorted(key for key in keys if key.lower().startswith(beginnings) and known_key(key) is None)


def _true_columns(text: str, columns: Mapping[str, str] | None) -> str:
    return ",".join((columns or {}).get(name.strip().lower(), name) for name in text.split(","))
