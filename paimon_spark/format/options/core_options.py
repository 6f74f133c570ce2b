"""Typed table options (Java: CoreOptions, Options). Keys and defaults as in the official system.

``Options`` is a frozen view of a string map; ``options.value(BUCKET)`` parses the text of the option, or gives
its default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from paimon_spark.errors import OptionError
from paimon_spark.format.options.engines import ChangelogProducer, MergeEngine
from paimon_spark.format.options.value_texts import (
    parse_bool,
    parse_choice,
    parse_duration,
    parse_int,
    parse_int32,
    parse_level_map,
    parse_list,
    parse_member,
    parse_memory,
    parse_ratio,
    parse_text,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Option(Generic[T]):
    """One option: its key, default, parser and older names."""

    key: str
    default: T
    parse: Callable[[str], T]
    aliases: tuple[str, ...] = ()


class Options(Mapping[str, str]):
    """The options of a table, as text, with typed access. Immutable and hashable by content."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, key: str) -> str:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Options({self._values})"

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def text(self, option: Option[Any]) -> str | None:
        """The text set for the option under its key or an older name, else None."""
        for key in (option.key, *option.aliases):
            if key in self._values:
                return self._values[key]
        return None

    def is_set(self, option: Option[Any]) -> bool:
        return self.text(option) is not None

    def value(self, option: Option[T]) -> T:
        """The parsed value of the option, or its default.

        Raises:
            OptionError: the text does not parse; the message names the key, the text and what is expected.
        """
        text = self.text(option)
        if text is None:
            return option.default
        try:
            return option.parse(text)
        except ValueError as error:
            raise OptionError(f"option '{option.key}' has the value '{text}': {error}") from None

    def merged(self, other: Mapping[str, str]) -> Options:
        """These options with those of other on top."""
        return Options({**self._values, **other})


def _int(key: str, default: int, *aliases: str) -> Option[int]:
    return Option(key, default, parse_int32, aliases)


def _opt_int(key: str, *aliases: str) -> Option[int | None]:
    return Option(key, None, parse_int32, aliases)


def _opt_long(key: str, *aliases: str) -> Option[int | None]:
    return Option(key, None, parse_int, aliases)


def _bool(key: str, default: bool, *aliases: str) -> Option[bool]:
    return Option(key, default, parse_bool, aliases)


def _memory(key: str, default: int, *aliases: str) -> Option[int]:
    return Option(key, default, parse_memory, aliases)


def _opt_duration(key: str, *aliases: str) -> Option[int | None]:
    return Option(key, None, parse_duration, aliases)


def _ratio(key: str, default: float, *aliases: str) -> Option[float]:
    return Option(key, default, parse_ratio, aliases)


def _opt_memory(key: str, *aliases: str) -> Option[int | None]:
    return Option(key, None, parse_memory, aliases)


def _duration(key: str, default: int, *aliases: str) -> Option[int]:
    return Option(key, default, parse_duration, aliases)


def _opt_text(key: str, *aliases: str) -> Option[str | None]:
    return Option(key, None, parse_text, aliases)


def _list(key: str, *aliases: str) -> Option[tuple[str, ...]]:
    return Option(key, (), parse_list, aliases)


MB = 2**20

TYPE = Option("type", "table", parse_text)
PRIMARY_KEY = _list("primary-key")
PARTITION = _list("partition")
BRANCH = Option("branch", "main", parse_text)
BUCKET = _int("bucket", -1)
BUCKET_KEY = _list("bucket-key")
BUCKET_FUNCTION = Option("bucket-function.type", "default", parse_choice("default", "mod", "hive"))
MERGE_ENGINE = Option("merge-engine", MergeEngine.DEDUPLICATE, parse_member(MergeEngine))
IGNORE_DELETE = _bool(
    "ignore-delete",
    False,
    "first-row.ignore-delete",
    "deduplicate.ignore-delete",
    "partial-update.ignore-delete",
)
IGNORE_UPDATE_BEFORE = _bool("ignore-update-before", False)
SEQUENCE_FIELD = _list("sequence.field")
SEQUENCE_SORT_ORDER = Option("sequence.field.sort-order", "ascending", parse_choice("ascending", "descending"))
SEQUENCE_SNAPSHOT_ORDERING = _bool("sequence.snapshot-ordering", False)
AGGREGATION_REMOVE_RECORD_ON_DELETE = _bool("aggregation.remove-record-on-delete", False)
PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE = _bool("partial-update.remove-record-on-delete", False)
PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP = _list("partial-update.remove-record-on-sequence-group")
DEFAULT_AGGREGATE_FUNCTION = _opt_text("fields.default-aggregate-function")
DELETE_FORCE_PRODUCE_CHANGELOG = _bool("delete.force-produce-changelog", False)
ROWKIND_FIELD = _opt_text("rowkind.field")
CHANGELOG_PRODUCER = Option("changelog-producer", ChangelogProducer.NONE, parse_member(ChangelogProducer))
CHANGELOG_ROW_DEDUPLICATE = _bool("changelog-producer.row-deduplicate", False)
CHANGELOG_ROW_DEDUPLICATE_IGNORE_FIELDS = _list("changelog-producer.row-deduplicate-ignore-fields")
CHANGELOG_FILE_PREFIX = Option("changelog-file.prefix", "changelog-", parse_text)
CHANGELOG_FILE_FORMAT = _opt_text("changelog-file.format")
CHANGELOG_FILE_COMPRESSION = _opt_text("changelog-file.compression")
CHANGELOG_FILE_STATS_MODE = _opt_text("changelog-file.stats-mode")
FILE_FORMAT = Option("file.format", "parquet", lambda text: text.strip().lower())
FILE_FORMAT_PER_LEVEL: Option[dict[int, str]] = Option("file.format.per.level", {}, parse_level_map)
FILE_COMPRESSION = Option("file.compression", "zstd", lambda text: text.strip().lower())
FILE_COMPRESSION_PER_LEVEL: Option[dict[int, str]] = Option("file.compression.per.level", {}, parse_level_map)
FILE_COMPRESSION_ZSTD_LEVEL = _int("file.compression.zstd-level", 1)
ORC_TIMESTAMP_LTZ_LEGACY_TYPE = _bool("orc.timestamp-ltz.legacy.type", True)
FILE_SUFFIX_INCLUDE_COMPRESSION = _bool("file.suffix.include.compression", False)
FILE_BLOCK_SIZE = _opt_memory("file.block-size")
DATA_FILE_PREFIX = Option("data-file.prefix", "data-", parse_text)
DATA_FILE_THIN_MODE = _bool("data-file.thin-mode", False)
DATA_FILE_EXTERNAL_PATHS = _opt_text("data-file.external-paths")
DATA_FILE_PATH_DIRECTORY = _opt_text("data-file.path-directory")
INDEX_FILE_IN_DATA_FILE_DIR = _bool("index-file-in-data-file-dir", False)
TARGET_FILE_SIZE = _opt_memory("target-file-size")
TARGET_FILE_ROW_NUM = Option("target-file-row-num", 2**63 - 1, parse_int)
STATS_MODE = Option("metadata.stats-mode", "truncate(16)", lambda text: text.strip().lower())
STATS_MODE_PER_LEVEL: Option[dict[int, str]] = Option("metadata.stats-mode.per.level", {}, parse_level_map)
STATS_DENSE_STORE = _bool("metadata.stats-dense-store", True)
STATS_KEEP_FIRST_N_COLUMNS = _int("metadata.stats-keep-first-n-columns", -1)
PARTITION_DEFAULT_NAME = Option("partition.default-name", "__DEFAULT_PARTITION__", parse_text)
PARTITION_LEGACY_NAME = _bool("partition.legacy-name", True)
PARTITION_EXPIRATION_TIME = _opt_duration("partition.expiration-time")
METASTORE_PARTITIONED_TABLE = _bool("metastore.partitioned-table", False)
METASTORE_TAG_TO_PARTITION = _opt_text("metastore.tag-to-partition")
PARTITION_IDLE_TIME_TO_REPORT_STATISTIC = _duration("partition.idle-time-to-report-statistic", 0)
PARTITION_EXPIRATION_STRATEGY = Option(
    "partition.expiration-strategy", "values-time", parse_choice("values-time", "update-time")
)
PARTITION_EXPIRATION_CHECK_INTERVAL = _duration("partition.expiration-check-interval", 3_600_000)
PARTITION_EXPIRATION_MAX_NUM = _int("partition.expiration-max-num", 100)
PARTITION_EXPIRATION_BATCH_SIZE = _opt_int("partition.expiration-batch-size")
PARTITION_TIMESTAMP_FORMATTER: Option[str | None] = Option("partition.timestamp-formatter", None, str)
PARTITION_TIMESTAMP_PATTERN: Option[str | None] = Option("partition.timestamp-pattern", None, str)
PARTITION_TIMESTAMP_FORMAT_STRICT = _bool("partition.timestamp-format.strict", False)
END_INPUT_CHECK_PARTITION_EXPIRE = _bool("end-input.check-partition-expire", False)
PARTITION_END_INPUT_TO_DONE = _bool("partition.end-input-to-done", False)
PARTITION_SINK_STRATEGY = Option("partition.sink-strategy", "none", parse_choice("none", "hash"))
PARTITION_MARK_DONE_ACTION: Option[tuple[str, ...]] = Option(
    "partition.mark-done-action", ("success-file",), lambda text: parse_list(text.lower().replace("_", "-"))
)
PARTITION_MARK_DONE_ACTION_HTTP_URL = _opt_text("partition.mark-done-action.http.url")
PARTITION_MARK_DONE_ACTION_HTTP_PARAMS: Option[str | None] = Option("partition.mark-done-action.http.params", None, str)
COMPACTION_SKIP_EXPIRED_PARTITIONS = _bool("compaction.skip-expired-partitions", False)
MANIFEST_COMPRESSION = Option("manifest.compression", "zstd", lambda text: text.strip().lower())
MANIFEST_TARGET_FILE_SIZE = _memory("manifest.target-file-size", 8 * MB)
MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE = _memory("manifest.full-compaction-threshold-size", 16 * MB)
MANIFEST_MERGE_MIN_COUNT = _int("manifest.merge-min-count", 30)
SOURCE_SPLIT_TARGET_SIZE = _memory("source.split.target-size", 128 * MB)
SOURCE_SPLIT_OPEN_FILE_COST = _memory("source.split.open-file-cost", 4 * MB)
DELETION_VECTORS_ENABLED = _bool("deletion-vectors.enabled", False)
DELETION_VECTORS_MERGE_ON_READ = _bool("deletion-vectors.merge-on-read", False)
DELETION_VECTORS_BITMAP64 = _bool("deletion-vectors.bitmap64", False)
DELETION_VECTOR_INDEX_FILE_TARGET_SIZE = _memory("deletion-vector.index-file.target-size", 2 * MB)
FILE_INDEX_READ_ENABLED = _bool("file-index.read.enabled", True)
FILE_INDEX_IN_MANIFEST_THRESHOLD = _memory("file-index.in-manifest-threshold", 500)
DYNAMIC_PARTITION_OVERWRITE = _bool("dynamic-partition-overwrite", True)
COMMIT_MAX_RETRIES = _int("commit.max-retries", 10)
COMMIT_MIN_RETRY_WAIT = _duration("commit.min-retry-wait", 10)
COMMIT_MAX_RETRY_WAIT = _duration("commit.max-retry-wait", 10_000)
COMMIT_TIMEOUT: Option[int | None] = Option("commit.timeout", None, parse_duration)
COMMIT_USER_PREFIX = _opt_text("commit.user-prefix")
SNAPSHOT_IGNORE_EMPTY_COMMIT = _bool("snapshot.ignore-empty-commit", True)
WRITE_BUFFER_SIZE = _memory("write-buffer-size", 256 * MB)
NUM_SORTED_RUN_COMPACTION_TRIGGER = _int("num-sorted-run.compaction-trigger", 5)
NUM_SORTED_RUN_STOP_TRIGGER = _opt_int("num-sorted-run.stop-trigger")
NUM_LEVELS = _opt_int("num-levels")
CLUSTERING_COLUMNS = _list("clustering.columns", "sink.clustering.by-columns")
_ORDERS = parse_choice("auto", "order", "zorder", "hilbert")
CLUSTERING_STRATEGY = Option("clustering.strategy", "auto", _ORDERS, ("sink.clustering.strategy",))
CLUSTERING_INCREMENTAL = _bool("clustering.incremental", False)
_SORTS = parse_choice("global-sort", "local-sort")
CLUSTERING_INCREMENTAL_MODE = Option("clustering.incremental.mode", "global-sort", _SORTS)
CLUSTERING_INCREMENTAL_OPTIMIZE_WRITE = _bool("clustering.incremental.optimize-write", False)
CLUSTERING_HISTORY_PARTITION_LIMIT = _int("clustering.history-partition.limit", 5)
CLUSTERING_HISTORY_PARTITION_IDLE = _opt_duration("clustering.history-partition.idle-to-full-sort")
ZORDER_VAR_LENGTH_CONTRIBUTION = _int("zorder.var-length-contribution", 8)
COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT = _int("compaction.max-size-amplification-percent", 200)
COMPACTION_SIZE_RATIO = _int("compaction.size-ratio", 1)
COMPACTION_OFFPEAK_START_HOUR = _int("compaction.offpeak.start.hour", -1)
COMPACTION_OFFPEAK_END_HOUR = _int("compaction.offpeak.end.hour", -1)
COMPACTION_OFFPEAK_RATIO = _int("compaction.offpeak-ratio", 0)
COMPACTION_OPTIMIZATION_INTERVAL = _opt_duration("compaction.optimization-interval")
COMPACTION_TOTAL_SIZE_THRESHOLD = _opt_memory("compaction.total-size-threshold")
COMPACTION_INCREMENTAL_SIZE_THRESHOLD = _opt_memory("compaction.incremental-size-threshold")
COMPACTION_FORCE_UP_LEVEL_0 = _bool("compaction.force-up-level-0", False)
COMPACTION_FORCE_REWRITE_ALL_FILES = _bool("compaction.force-rewrite-all-files", False)
COMPACTION_MIN_FILE_NUM = _int("compaction.min.file-num", 5)
COMPACTION_DELETE_RATIO_THRESHOLD = _ratio("compaction.delete-ratio-threshold", 0.2)
COMPACTION_SMALL_FILE_RATIO = _ratio("compaction.small-file-ratio", 0.7)
FORCE_LOOKUP = _bool("force-lookup", False)
LOOKUP_COMPACT = Option("lookup-compact", "radical", parse_choice("radical", "gentle"))
LOOKUP_COMPACT_MAX_INTERVAL = _opt_int("lookup-compact.max-interval")
RECORD_LEVEL_EXPIRE_TIME = _opt_duration("record-level.expire-time")
RECORD_LEVEL_TIME_FIELD = _opt_text("record-level.time-field")
OVERWRITE_UPGRADE = _bool("overwrite-upgrade", True)
POSTPONE_BATCH_WRITE_FIXED_BUCKET = _bool("postpone.batch-write-fixed-bucket", True)
POSTPONE_MAX_PARALLELISM = _int("postpone.batch-write-fixed-bucket.max-parallelism", 2048)
POSTPONE_RESCALE_LOAD_FACTOR = _int("postpone.batch-write-fixed-bucket.rescale-load-factor", 32)
POSTPONE_DEFAULT_BUCKET_NUM = _opt_int("postpone.default-bucket-num")
POSTPONE_TARGET_ROW_NUM = _opt_long("postpone.target-row-num-per-bucket")
POSTPONE_TARGET_SIZE = _memory("postpone.target-size-per-bucket", 1024 * MB)
POSTPONE_MERGE_ON_READ = _bool("postpone.merge-on-read", False)
VISIBILITY_CALLBACK_ENABLED = _bool("visibility-callback.enabled", False)
VISIBILITY_CALLBACK_TIMEOUT = _duration("visibility-callback.timeout", 30 * 60_000)
VISIBILITY_CALLBACK_INTERVAL = _duration("visibility-callback.check-interval", 10_000)
SNAPSHOT_NUM_RETAINED_MIN = _int("snapshot.num-retained.min", 10)
SNAPSHOT_NUM_RETAINED_MAX = _int("snapshot.num-retained.max", 2**31 - 1)
SNAPSHOT_TIME_RETAINED = _duration("snapshot.time-retained", 3_600_000)
SNAPSHOT_EXPIRE_LIMIT = _int("snapshot.expire.limit", 50)
SNAPSHOT_EXPIRE_EXECUTION_MODE = Option("snapshot.expire.execution-mode", "sync", parse_choice("sync", "async"))
SNAPSHOT_CLEAN_EMPTY_DIRECTORIES = _bool(
    "snapshot.clean-empty-directories", False, "snapshot.expire.clean-empty-directories"
)
CHANGELOG_NUM_RETAINED_MIN = _opt_int("changelog.num-retained.min")
CHANGELOG_NUM_RETAINED_MAX = _opt_int("changelog.num-retained.max")
CHANGELOG_TIME_RETAINED = _opt_duration("changelog.time-retained")
CONSUMER_CHANGELOG_ONLY = _bool("consumer.changelog-only", False)
FILE_OPERATION_THREAD_NUM = _opt_int("file-operation.thread-num", "delete-file.thread-num")
WRITE_ONLY = _bool("write-only", False, "write.compaction-skip")
SCAN_MODE = Option(
    "scan.mode",
    "default",
    parse_choice("default", "latest-full", "full", "latest", "latest-delta", "compacted-full", "from-timestamp",
                 "from-creation-timestamp", "from-file-creation-time", "from-snapshot", "from-snapshot-full",
                 "incremental"),
    ("log.scan",),
)  # fmt: skip
SCAN_SNAPSHOT_ID = _opt_long("scan.snapshot-id")
SCAN_TAG_NAME = _opt_text("scan.tag-name")
SCAN_WATERMARK = _opt_long("scan.watermark")
SCAN_TIMESTAMP = _opt_text("scan.timestamp")
SCAN_TIMESTAMP_MILLIS = _opt_long("scan.timestamp-millis", "log.scan.timestamp-millis")
SCAN_VERSION = _opt_text("scan.version")
SCAN_FILE_CREATION_TIME_MILLIS = _opt_long("scan.file-creation-time-millis")
SCAN_CREATION_TIME_MILLIS = _opt_long("scan.creation-time-millis")
TABLE_READ_SEQUENCE_NUMBER_ENABLED = _bool("table-read.sequence-number.enabled", False)
SCAN_FALLBACK_BRANCH = Option("scan.fallback-branch", "", parse_text)
SCAN_PRIMARY_BRANCH = Option("scan.primary-branch", "", parse_text)
SCAN_BUCKET = _opt_int("scan.bucket")
SCAN_IGNORE_CORRUPT_FILES = _bool("scan.ignore-corrupt-files", False)
SCAN_IGNORE_LOST_FILES = _bool("scan.ignore-lost-files", False)
SCAN_PLAN_SORT_PARTITION = _bool("scan.plan-sort-partition", False)
SCAN_PLAN_AUTO_TAG_FOR_READ_TIME_RETAINED = _opt_duration("scan.plan-auto-tag-for-read.time-retained")
INCREMENTAL_BETWEEN = _opt_text("incremental-between")
INCREMENTAL_BETWEEN_TIMESTAMP = _opt_text("incremental-between-timestamp")
INCREMENTAL_TO_AUTO_TAG = _opt_text("incremental-to-auto-tag")
INCREMENTAL_BETWEEN_SCAN_MODE = Option(
    "incremental-between-scan-mode", "auto", parse_choice("auto", "delta", "changelog", "diff")
)
INCREMENTAL_BETWEEN_TAG_TO_SNAPSHOT = _bool("incremental-between-tag-to-snapshot", False)
TAG_CREATION_PERIOD = Option("tag.creation-period", "daily", parse_choice("daily", "hourly", "two-hours"))
TAG_CREATION_PERIOD_DURATION: Option[int | None] = Option("tag.creation-period-duration", None, parse_duration)
TAG_PERIOD_FORMATTER = Option(
    "tag.period-formatter", "with-dashes", parse_choice("with-dashes", "without-dashes", "without-dashes-and-spaces")
)
TAG_AUTOMATIC_CREATION = Option(
    "tag.automatic-creation", "none", parse_choice("none", "process-time", "watermark", "batch")
)
TAG_CREATION_DELAY = Option("tag.creation-delay", 0, parse_duration)
TAG_AUTOMATIC_COMPLETION = _bool("tag.automatic-completion", False)
TAG_NUM_RETAINED_MAX = _opt_int("tag.num-retained-max")
TAG_DEFAULT_TIME_RETAINED = _opt_duration("tag.default-time-retained")
TAG_TIME_EXPIRE_ENABLED = _bool("tag.time-expire-enabled", True)
TAG_CREATE_SUCCESS_FILE = _bool("tag.create-success-file", False)
TAG_BATCH_CUSTOMIZED_NAME = _opt_text("tag.batch.customized-name")
SINK_WATERMARK_TIME_ZONE = Option("sink.watermark-time-zone", "UTC", parse_text)
SINK_PROCESS_TIME_ZONE = _opt_text("sink.process-time-zone")
CONSUMER_EXPIRATION_TIME = _opt_duration("consumer.expiration-time")
CONSUMER_ID = Option("consumer-id", "", parse_text)
CONSUMER_MODE = Option("consumer.mode", "exactly-once", parse_choice("exactly-once", "at-least-once"))
CONSUMER_IGNORE_PROGRESS = _bool("consumer.ignore-progress", False)
CONTINUOUS_DISCOVERY_INTERVAL = _opt_duration("continuous.discovery-interval")
STREAMING_READ_SNAPSHOT_DELAY = _opt_duration("streaming.read.snapshot.delay")
STREAMING_READ_OVERWRITE = _bool("streaming-read-overwrite", False)
STREAMING_READ_APPEND_OVERWRITE = _bool("streaming-read-append-overwrite", False)
SCAN_BOUNDED_WATERMARK = _opt_long("scan.bounded.watermark")
STREAM_MAX_FILES = _opt_int("read.stream.maxFilesPerTrigger")
STREAM_MAX_ROWS = _opt_long("read.stream.maxRowsPerTrigger")
STREAM_MAX_BYTES = _opt_long("read.stream.maxBytesPerTrigger")
STREAM_MIN_ROWS = _opt_long("read.stream.minRowsPerTrigger")
STREAM_MAX_DELAY = _opt_long("read.stream.maxTriggerDelayMs")
FULL_COMPACTION_DELTA_COMMITS = _opt_int("full-compaction.delta-commits")
DYNAMIC_BUCKET_TARGET_ROW_NUM = Option("dynamic-bucket.target-row-num", 2_000_000, parse_int)
DYNAMIC_BUCKET_INITIAL_BUCKETS = _opt_int("dynamic-bucket.initial-buckets")
DYNAMIC_BUCKET_MAX_BUCKETS = _int("dynamic-bucket.max-buckets", -1)
DYNAMIC_BUCKET_ASSIGNER_PARALLELISM = _opt_int("dynamic-bucket.assigner-parallelism")

TYPED_OPTIONS: Mapping[str, Option[Any]] = {
    option.key: option for option in tuple(globals().values()) if isinstance(option, Option)
}
"""All options above, by key."""
