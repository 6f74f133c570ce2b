"""What each honoured option does, in one or two sentences (features 3)."""

from __future__ import annotations

from collections.abc import Mapping

DESCRIPTIONS: Mapping[str, str] = {
    "type": "The kind of table. This release takes only `table`.",
    "primary-key": "The columns of the primary key, separated by commas. Give it when you create the table.",
    "partition": "The partition columns, separated by commas. Give it when you create the table.",
    "path": "The directory of the table. `load(path)` and `save(path)` set it.",
    "branch": "The branch to read or write.",
    "rowkind.field": "The column that holds the row kind (`+I`, `-U`, `+U`, `-D`) of each written row. It is stored.",
    "alter-column-null-to-not-null.disabled": "`false` lets a column that may hold NULL be made NOT NULL.",
    "disable-explicit-type-casting": "`true` refuses changes of a column's type that may lose information.",
    "add-column-before-partition": "`true` puts new columns in front of the partition columns, not behind all.",
    "deletion-vectors.modifiable": "`true` lets `deletion-vectors.enabled` change once the table has rows.",
    "write.merge-schema": (
        "`true`, in the options of a write: columns that only the rows have are added to the table. See "
        "[schema evolution](../guides/schema-evolution.md)."
    ),
    "write.merge-schema.type-widening": "With `write.merge-schema`: columns also take wider types of the rows.",
    "write.merge-schema.explicit-cast": "With `type-widening`: also types that may lose information.",
    "bucket": (
        "The number of buckets of a partition. -1 means dynamic buckets for a table with a primary key, and no "
        "buckets for a table without one. -2 postpones the choice (primary key only)."
    ),
    "bucket-key": (
        "The columns whose hash chooses the bucket. The default is the primary key without the partition columns."
        " A table without a primary key needs it when `bucket` is positive."
    ),
    "bucket-function.type": (
        "How the bucket is computed: `default` from the hash of the key bytes, `mod` from one INT or BIGINT "
        "column, `hive` as Hive does."
    ),
    "data-file.prefix": "How the names of data files begin.",
    "data-file.path-directory": (
        "A directory below the table in which partitions and buckets lie. Metadata stay where they are."
    ),
    "data-file.external-paths": (
        "Roots outside the table in which data files lie, separated by commas. Such files are read, and deleted "
        "when they expire."
    ),
    "data-file.thin-mode": (
        "Data files of a table with a primary key leave out the `_KEY_` columns, which repeat the key."
    ),
    "index-file-in-data-file-dir": "Index files lie beside the data files of their bucket, not in `index/`.",
    "file.suffix.include.compression": "Names of data files contain the compression, such as `.zst.parquet`.",
    "file.format": "The format of data files: `parquet`, `orc` or `avro`.",
    "file.format.per.level": "Formats by level, such as `0:avro,5:orc`. Levels that are not named use `file.format`.",
    "file.compression": "The compression of data files.",
    "file.compression.per.level": (
        "Compressions by level, such as `0:lz4,5:zstd`. Levels that are not named use `file.compression`."
    ),
    "file.compression.zstd-level": "The level of zstd.",
    "file.block-size": "The size of a Parquet row group or an ORC stripe.",
    "changelog-file.prefix": "How the names of changelog files begin.",
    "changelog-file.format": "The format of changelog files. The default is `file.format`.",
    "changelog-file.compression": "The compression of changelog files. The default is `file.compression`.",
    "changelog-file.stats-mode": (
        "What manifests keep of the values of changelog files. The default is `metadata.stats-mode`."
    ),
    "target-file-size": (
        "The size at which a writer starts a new file. The default is 128 MB for a table with a primary key, and "
        "256 MB for one without."
    ),
    "target-file-row-num": "The number of rows at which a writer starts a new file. Compactions ignore it.",
    "file-operation.thread-num": "How many threads list and delete files.",
    "orc.timestamp-ltz.legacy.type": (
        "ORC files store TIMESTAMP WITH LOCAL TIME ZONE as old releases do, shifted by the time zone of the writer."
    ),
    "merge-engine": "What becomes of rows with equal keys: see [merge engines](../guides/merge-engines.md).",
    "ignore-delete": "Rows of the kinds -U and -D are dropped.",
    "ignore-update-before": "Rows of the kind -U are dropped.",
    "delete.force-produce-changelog": (
        "`true`: DELETE of whole partitions writes rows of the kind -D, for the changelog; else it is done by metadata."
    ),
    "sequence.field": "The columns that decide which of two rows with equal keys is newer, separated by commas.",
    "sequence.field.sort-order": (
        "`ascending`: the greater value of `sequence.field` is newer. `descending`: the smaller one."
    ),
    "sequence.snapshot-ordering": (
        "The row of the later commit is newer, whatever the sequence numbers say. Needs a primary key, `write-"
        "only` = `true`, and no `sequence.field`."
    ),
    "aggregation.remove-record-on-delete": "With the engine `aggregation`, a row of the kind -D deletes the whole row.",
    "partial-update.remove-record-on-delete": (
        "With the engine `partial-update`, a row of the kind -D deletes the whole row."
    ),
    "partial-update.remove-record-on-sequence-group": (
        "With the engine `partial-update`, sequence columns whose -D deletes the whole row."
    ),
    "fields.default-aggregate-function": "The aggregate function of columns that have none of their own.",
    "table-read.sequence-number.enabled": "`$audit_log` and `$binlog` show the column `_SEQUENCE_NUMBER`.",
    "overwrite-upgrade": (
        "An overwrite of a table with a primary key puts its new files on the highest level, where they do not overlap."
    ),
    "changelog-producer": (
        "Who writes changelog files: `none`, the writer (`input`), or compactions (`lookup`, `full-compaction`)."
    ),
    "changelog-producer.row-deduplicate": "Changelogs of compactions leave out updates that change nothing.",
    "changelog-producer.row-deduplicate-ignore-fields": (
        "Columns that do not count for `changelog-producer.row-deduplicate`."
    ),
    "force-lookup": "Compactions work as if a changelog by `lookup` were needed.",
    "lookup-compact": (
        "When files of level 0 are compacted, where readers need that: `radical` always, `gentle` by the usual "
        "rules and after `lookup-compact.max-interval`."
    ),
    "lookup-compact.max-interval": "With `gentle`, after how many checks a compaction is forced.",
    "full-compaction.delta-commits": (
        "With any number, every batch write compacts all files of the buckets it wrote to into one sorted run."
    ),
    "num-sorted-run.compaction-trigger": "How many sorted runs of a bucket start a compaction.",
    "num-sorted-run.stop-trigger": (
        "How many sorted runs of a bucket make a writer wait. The default is 3 more than `num-sorted-"
        "run.compaction-trigger`."
    ),
    "num-levels": "The number of levels. The default is 1 more than `num-sorted-run.compaction-trigger`.",
    "compaction.max-size-amplification-percent": (
        "Everything is compacted when all runs but the last are together larger than this percentage of the last one."
    ),
    "compaction.size-ratio": "How much larger, in percent, the next run may be to be compacted with the smaller ones.",
    "compaction.offpeak.start.hour": "The hour (0 to 23) at which off-peak time begins. -1: there is none.",
    "compaction.offpeak.end.hour": "The hour (0 to 23) before which off-peak time ends. -1: there is none.",
    "clustering.columns": (
        "The columns by which each write sorts the rows of a table without a primary key and buckets, and by which "
        "`clustering.incremental` does."
    ),
    "clustering.strategy": (
        "The order: `order`, `zorder` or `hilbert`. `auto`: by the number of columns: one is ordered, up to four make "
        "a z-order, more a Hilbert curve."
    ),
    "sink.clustering.by-columns": "An older name of `clustering.columns`.",
    "sink.clustering.strategy": "An older name of `clustering.strategy`.",
    "clustering.incremental": (
        "Compactions of a table without a primary key and buckets sort the files that were not sorted yet, or too few "
        "together; writes do not sort."
    ),
    "clustering.incremental.mode": (
        "`global-sort` sorts the rows of all chosen files together, `local-sort` those of some files at a time."
    ),
    "clustering.incremental.optimize-write": "With `clustering.incremental`, writes sort too.",
    "clustering.history-partition.idle-to-full-sort": (
        "A compaction of some partitions also sorts, as a whole, others that have not changed for so long."
    ),
    "clustering.history-partition.limit": "How many such partitions one compaction sorts.",
    "zorder.var-length-contribution": "How many bytes of a text or binary value count in a z-order.",
    "compaction.offpeak-ratio": "Is added to `compaction.size-ratio` in off-peak time.",
    "compaction.optimization-interval": "How often everything is compacted, so that `$ro` stays fresh.",
    "compaction.total-size-threshold": "A bucket smaller than this is compacted as a whole.",
    "compaction.incremental-size-threshold": (
        "Everything is compacted when the files above the highest level are larger than this."
    ),
    "compaction.force-up-level-0": "Every compaction takes all files of level 0.",
    "compaction.force-rewrite-all-files": "A full compaction also rewrites files that are compacted already.",
    "compaction.min.file-num": "How many small files of a table without a primary key start a compaction.",
    "compaction.delete-ratio-threshold": (
        "A file of a table without a primary key is rewritten when deletion vectors mark a greater part of its rows."
    ),
    "compaction.small-file-ratio": "A file is small when it is smaller than this part of `target-file-size`.",
    "compaction.skip-expired-partitions": (
        "Partitions that are older than `partition.expiration-time` are not compacted."
    ),
    "write-only": "Writers neither compact nor expire snapshots. A job of its own has to.",
    "visibility-callback.enabled": (
        "A write returns only when readers see its rows, where they need a compaction for that."
    ),
    "visibility-callback.timeout": "How long `visibility-callback.enabled` waits before it is an error.",
    "visibility-callback.check-interval": "How often `visibility-callback.enabled` checks.",
    "write-buffer-size": "The memory in which a writer task collects rows before it writes files.",
    "dynamic-bucket.target-row-num": "How many keys a dynamic bucket takes before a new one is opened.",
    "dynamic-bucket.initial-buckets": "How many dynamic buckets a partition begins with.",
    "dynamic-bucket.max-buckets": (
        "How many dynamic buckets a partition may have. -1: no limit. When all are full, keys go to existing ones."
    ),
    "dynamic-bucket.assigner-parallelism": "How many tasks assign dynamic buckets.",
    "postpone.batch-write-fixed-bucket": (
        "A batch write to a table with `bucket` = `-2` chooses the number of buckets of new partitions itself. "
        "`false`: rows wait until a compaction."
    ),
    "postpone.batch-write-fixed-bucket.max-parallelism": "The greatest number of buckets that such a write chooses.",
    "postpone.batch-write-fixed-bucket.rescale-load-factor": (
        "A partition gets more buckets when it needs more than this many times those it has."
    ),
    "postpone.default-bucket-num": "The number of buckets of new partitions, instead of an estimate.",
    "postpone.target-row-num-per-bucket": (
        "How many rows a bucket is to get. It goes before `postpone.target-size-per-bucket`."
    ),
    "postpone.target-size-per-bucket": "How many bytes a bucket is to get.",
    "postpone.merge-on-read": "Reads also show rows that wait to be compacted.",
    "deletion-vectors.enabled": "Compactions mark replaced rows in deletion vectors, so that reads need not merge.",
    "deletion-vector.index-file.target-size": "The size at which a new index file of deletion vectors begins.",
    "deletion-vectors.bitmap64": "Deletion vectors of 64 bits, which releases since 1.2 read.",
    "file-index.<type>.columns": (
        "The columns that get an index of this kind in every data file: `bloom-filter`, `bitmap`, `bsi` or "
        "`range-bitmap`. `m[key]` is the value of a key of a map."
    ),
    "file-index.<type>.<column>.<x>": (
        "An option of the index of a column: `items` and `fpp` of `bloom-filter`, `version` and `index-block-size` of "
        "`bitmap`, `chunk-size` of `range-bitmap`."
    ),
    "file-index.in-manifest-threshold": (
        "Indexes of a data file of at most this size are stored in its manifest, others in a file beside it."
    ),
    "file-index.read.enabled": "Reads leave out files and rows by the indexes of data files; false: they do without.",
    "deletion-vectors.merge-on-read": "Reads of a table with deletion vectors also show rows that are not compacted.",
    "manifest.compression": "The compression of manifests.",
    "manifest.target-file-size": "The size of a manifest.",
    "manifest.full-compaction-threshold-size": (
        "A commit merges all manifests when the small ones are together larger than this."
    ),
    "manifest.merge-min-count": "A commit merges small manifests when there are at least so many.",
    "metadata.stats-mode": (
        "What manifests keep of the values of data files: `none`, `counts`, `truncate(16)` or `full`."
    ),
    "metadata.stats-mode.per.level": "The same by level, such as `0:none,5:full`.",
    "metadata.stats-dense-store": "Manifests store statistics of only those columns that have some.",
    "metadata.stats-keep-first-n-columns": "Only the first columns get statistics. -1: all.",
    "commit.user-prefix": "How the names of commit users begin.",
    "commit.timeout": "How long a commit is tried again. The default is no limit.",
    "commit.max-retries": "How often a commit that loses a race is tried again.",
    "commit.min-retry-wait": "How long a commit waits at least before it is tried again.",
    "commit.max-retry-wait": "How long a commit waits at most before it is tried again.",
    "dynamic-partition-overwrite": (
        "Where a table stores it: a `copy` into the table replaces only the partitions that it brings. For a "
        "write, see the options of this connector."
    ),
    "snapshot.ignore-empty-commit": "A write without rows makes no snapshot.",
    "snapshot.num-retained.min": "At least this many snapshots are kept, whatever their age.",
    "snapshot.num-retained.max": "At most this many snapshots are kept, whatever their age.",
    "snapshot.time-retained": "A snapshot is kept this long after a newer one replaced it.",
    "snapshot.expire.execution-mode": "`sync`: a write expires snapshots before it returns. `async`: in a thread.",
    "snapshot.expire.limit": "How many snapshots one commit expires at most.",
    "snapshot.clean-empty-directories": "An expiry deletes directories that became empty.",
    "changelog.num-retained.min": "At least this many changelogs are kept. The default is that of snapshots.",
    "changelog.num-retained.max": "At most this many changelogs are kept. The default is that of snapshots.",
    "changelog.time-retained": "A changelog is kept this long. The default is that of snapshots.",
    "consumer.expiration-time": "A consumer that was not used this long is deleted.",
    "consumer.changelog-only": "Consumers keep changelogs from expiry, and no snapshots.",
    "tag.automatic-creation": (
        "When tags are made by themselves: `none`, `process-time` (by the clock), `watermark`, or `batch` (by "
        "each batch write)."
    ),
    "tag.creation-period": "How often automatic tags are made.",
    "tag.creation-period-duration": "A period of any length, instead of `tag.creation-period`.",
    "tag.creation-delay": "How long after the end of a period its tag is made.",
    "tag.period-formatter": "How automatic tags are named, such as `2026-11-01` or `20261101`.",
    "tag.automatic-completion": "Tags of missed periods are made too.",
    "tag.num-retained-max": "How many automatic tags are kept.",
    "tag.default-time-retained": "How long a new tag lives, if the call does not say.",
    "tag.time-expire-enabled": "Tags expire when their time is up.",
    "tag.create-success-file": "A file `tag-success-file/<tag>_SUCCESS` tells that a tag is complete.",
    "tag.batch.customized-name": "The name of the tag that `batch` makes.",
    "sink.watermark-time-zone": "The time zone in which watermarks name tags.",
    "sink.process-time-zone": "The time zone in which the clock names tags. The default is that of the machine.",
    "scan.plan-auto-tag-for-read.time-retained": "A read first makes a tag that keeps its snapshot this long.",
    "partition.default-name": "The directory of a partition whose value is null or blank.",
    "partition.legacy-name": (
        "Directories of partitions are named as old releases do, such as a DATE by its day number."
    ),
    "partition.expiration-time": "How long a partition lives.",
    "partition.expiration-strategy": (
        "What the age of a partition is: `values-time`, the time in its values, or `update-time`, the time of its"
        " last file."
    ),
    "partition.expiration-check-interval": "How often a process looks for old partitions.",
    "partition.expiration-max-num": "How many partitions expire at once at most.",
    "partition.expiration-batch-size": "How many partitions one commit drops.",
    "partition.timestamp-formatter": (
        "How the values of a partition say a time, as a pattern of Java such as `yyyyMMdd`."
    ),
    "partition.timestamp-pattern": (
        "What is read as the time of a partition, such as `$dt $hour:00:00`. The default is the first partition column."
    ),
    "partition.timestamp-format.strict": "A write of a partition whose values are no time is an error.",
    "end-input.check-partition-expire": "A batch write looks for old partitions at its end.",
    "partition.end-input-to-done": "A batch write marks its partitions done.",
    "partition.mark-done-action": (
        "How a partition is marked done: `success-file`, `http-report`, and by a metastore `done-partition` and "
        "`mark-event`."
    ),
    "metastore.partitioned-table": "In a hive catalog, commits tell the metastore of partitions.",
    "metastore.tag-to-partition": (
        "In a hive catalog, the metastore has the tags of a table without partitions as partitions of this column."
    ),
    "partition.idle-time-to-report-statistic": (
        "In a hive catalog, a batch write tells the metastore how large its partitions are, if this is longer than 0."
    ),
    "partition.mark-done-action.http.url": "Where `http-report` sends its POST.",
    "partition.mark-done-action.http.params": "A text that the POST contains.",
    "partition.sink-strategy": (
        "How the rows of a table without buckets are shuffled before a write of `PaimonTable`: `none`, or `hash` "
        "by the partition."
    ),
    "record-level.expire-time": "Compactions drop rows that are older than this.",
    "record-level.time-field": (
        "The column that holds the time of a row: INT in seconds, BIGINT in seconds or milliseconds, or a TIMESTAMP."
    ),
    "scan.mode": "Which state a read shows: see [time travel](../guides/time-travel.md).",
    "scan.snapshot-id": "The snapshot to read.",
    "scan.tag-name": "The tag to read.",
    "scan.watermark": "Reads the first snapshot with at least this watermark.",
    "scan.timestamp": "Reads the last snapshot that is not later than this local time.",
    "scan.timestamp-millis": "The same in epoch milliseconds.",
    "scan.creation-time-millis": "Reads the first snapshot that was committed since this time.",
    "scan.file-creation-time-millis": "Reads the latest snapshot, but only files made since this time.",
    "scan.version": "A tag, `watermark-<number>`, or a snapshot id.",
    "scan.bucket": "Reads one bucket.",
    "scan.bounded.watermark": "A stream reads no snapshot with a higher watermark, and waits.",
    "consumer-id": "A stream keeps the snapshots that it has not read, under this name, in `$consumers`.",
    "consumer.mode": "The position of a consumer is one that the stream has passed, with either value.",
    "consumer.ignore-progress": "A new stream begins where the scan options say, and not where its consumer stands.",
    "continuous.discovery-interval": "How often an idle stream looks for snapshots. Default: 1 s on object stores.",
    "streaming.read.snapshot.delay": "A stream does not read snapshots that are younger.",
    "streaming-read-overwrite": "A stream of a key table shows what an overwrite removes and adds.",
    "streaming-read-append-overwrite": "A stream of a table without keys shows the rows that an overwrite adds.",
    "read.stream.maxFilesPerTrigger": "At most so many files in a micro-batch; at least one unit is read.",
    "read.stream.maxRowsPerTrigger": "At most so many rows in a micro-batch; at least one unit is read.",
    "read.stream.maxBytesPerTrigger": "At most so many bytes of files in a micro-batch; at least one unit is read.",
    "read.stream.minRowsPerTrigger": "A micro-batch waits for so many rows, at most `read.stream.maxTriggerDelayMs`.",
    "read.stream.maxTriggerDelayMs": "How many milliseconds a micro-batch waits for `read.stream.minRowsPerTrigger`.",
    "scan.plan-sort-partition": "Reads partition after partition.",
    "scan.ignore-corrupt-files": "A read skips damaged data files, with a warning.",
    "scan.ignore-lost-files": "A read skips missing data files, with a warning.",
    "scan.fallback-branch": "A read takes partitions that the table lacks from this branch.",
    "scan.primary-branch": "A read takes partitions that this branch has from there.",
    "source.split.target-size": "The size of a Spark partition of a read.",
    "source.split.open-file-cost": "How many bytes a file counts at least when files are packed into Spark partitions.",
    "incremental-between": (
        "Reads the change between two snapshots or tags: see [read changes](../guides/read.md#read-changes)."
    ),
    "incremental-between-timestamp": "Reads the change between two times.",
    "incremental-between-scan-mode": "How the change is computed: `auto`, `delta`, `changelog` or `diff`.",
    "incremental-to-auto-tag": "Reads the change from the previous automatic tag to this one.",
    "incremental-between-tag-to-snapshot": (
        "`incremental-between` of two tags reads the commits between them, and does not compare the states."
    ),
    "fields.<column>.aggregate-function": "The aggregate function of a column.",
    "fields.<column>.ignore-retract": "Retractions leave the column as it is.",
    "fields.<column>.sequence-group": (
        "The columns that this sequence column, or these, order: see [sequence groups](../guides/merge-"
        "engines.md#sequence-groups)."
    ),
    "fields.<column>.nested-key": (
        "The key columns within the rows of the array, for `nested_update` and `nested_partial_update`."
    ),
    "fields.<column>.nested-key-null-strategy": (
        "What becomes of nested rows with a null in their key: `merge`, `ignore` or `error`."
    ),
    "fields.<column>.nested-sequence-field": "The columns within nested rows that decide which is newer.",
    "fields.<column>.count-limit": "How many nested rows `nested_update` keeps.",
    "fields.<column>.distinct": "`collect` and `listagg` keep each value once.",
    "fields.<column>.list-agg-delimiter": "What stands between the values of `listagg`.",
    "fields.<column>.ts-field": (
        "The field that holds the time, for `merge_map_with_keytime`. The default is the last one."
    ),
    "fields.<column>.stats-mode": (
        "What manifests keep of the values of this column. It goes before `metadata.stats-mode`."
    ),
}
