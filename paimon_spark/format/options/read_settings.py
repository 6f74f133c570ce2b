"""Options of reads: the state or change that is read, and streams (features 3.12)."""

from __future__ import annotations

from typing import Any, Final

from paimon_spark.format.options.option import (
    MB,
    Moment,
    Option,
    Refused,
    Settings,
    boolean,
    choice,
    duration,
    integer,
    long,
    memory,
    text,
)
from paimon_spark.format.options.value_texts import parse_bool


# One option is one entry, and not a line for each argument.
# fmt: off
class ScanSettings(Settings):
    """Which state or change a read shows, and how it is cut into splits."""

    split_target_size: Final = memory("source.split.target-size", 128 * MB, "The size of a Spark partition of a read.")
    open_file_cost: Final = memory("source.split.open-file-cost", 4 * MB,
        "How many bytes a file counts at least when files are packed into Spark partitions.")
    blob_split_by_file_size: Option[bool | None] = Option("blob.split-by-file-size", None, parse_bool,
        "Whether files of BLOB columns count with their size when files are packed into Spark partitions, or as small "
        "ones. The default is `true`, and `false` where `blob-as-descriptor` is `true`.")
    mode: Final = choice("scan.mode", ("default", "latest-full", "full", "latest", "latest-delta", "compacted-full",
        "from-timestamp", "from-creation-timestamp", "from-file-creation-time", "from-snapshot", "from-snapshot-full",
        "incremental"),
        "Which state a read shows: see [time travel](../guides/time-travel.md).", older=("log.scan",))
    snapshot_id: Final = long("scan.snapshot-id", None, "The snapshot to read.")
    tag_name: Final = text("scan.tag-name", None, "The tag to read.")
    watermark: Final = long("scan.watermark", None, "Reads the first snapshot with at least this watermark.")
    timestamp: Final = text("scan.timestamp", None, "Reads the last snapshot that is not later than this local time.")
    timestamp_millis: Final = long("scan.timestamp-millis", None,
        "The same in epoch milliseconds.", older=("log.scan.timestamp-millis",))
    version: Final = text("scan.version", None, "A tag, `watermark-<number>`, or a snapshot id.")
    file_creation_time_millis: Final = long("scan.file-creation-time-millis", None,
        "Reads the latest snapshot, but only files made since this time.")
    creation_time_millis: Final = long("scan.creation-time-millis", None,
        "Reads the first snapshot that was committed since this time.")
    sequence_number_enabled: Final = boolean("table-read.sequence-number.enabled", False,
        "`$audit_log` and `$binlog` show the column `_SEQUENCE_NUMBER`.")
    fallback_branch: Final = text("scan.fallback-branch", "",
        "A read takes partitions that the table lacks from this branch.")
    primary_branch: Final = text("scan.primary-branch", "", "A read takes partitions that this branch has from there.")
    fallback_snapshot_branch: Final = text("scan.fallback-snapshot-branch", "",
        "The branch with whole partitions of a [chain table](../guides/tags-and-branches.md#chain-tables).")
    fallback_delta_branch: Final = text("scan.fallback-delta-branch", "",
        "The branch with the changes of each partition of a chain table.")
    bucket: Final = integer("scan.bucket", None, "Reads one bucket.")
    ignore_corrupt_files: Final = boolean("scan.ignore-corrupt-files", False,
        "A read skips damaged data files, with a warning.")
    ignore_lost_files: Final = boolean("scan.ignore-lost-files", False,
        "A read skips missing data files, with a warning.")
    plan_sort_partition: Final = boolean("scan.plan-sort-partition", False, "Reads partition after partition.")
    read_tag_time_retained: Final = duration("scan.plan-auto-tag-for-read.time-retained", None,
        "A read first makes a tag that keeps its snapshot this long.")
    incremental_between: Final = text("incremental-between", None,
        "Reads the change between two snapshots or tags: see [read changes](../guides/read.md#read-changes).")
    incremental_between_timestamp: Final = text("incremental-between-timestamp", None,
        "Reads the change between two times.")
    incremental_to_auto_tag: Final = text("incremental-to-auto-tag", None,
        "Reads the change from the previous automatic tag to this one.")
    incremental_between_scan_mode: Final = choice("incremental-between-scan-mode",
        ("auto", "delta", "changelog", "diff"),
        "How the change is computed: `auto`, `delta`, `changelog` or `diff`.")
    incremental_between_tag_to_snapshot: Final = boolean("incremental-between-tag-to-snapshot", False,
        "`incremental-between` of two tags reads the commits between them, and does not compare the states.")


class StreamReadSettings(Settings):
    """What a stream of a table takes, and where it stands."""

    consumer_id: Final = text("consumer-id", "",
        "A stream keeps the snapshots that it has not read, under this name, in `$consumers`.",
        refuses=(Refused(Moment.CALL, ("",), "consumers of reads that end", "give it to spark.readStream"),))
    consumer_mode: Final = choice("consumer.mode", ("exactly-once", "at-least-once"),
        "The position of a consumer is one that the stream has passed, with either value.")
    consumer_ignore_progress: Final = boolean("consumer.ignore-progress", False,
        "A new stream begins where the scan options say, and not where its consumer stands.")
    discovery_interval: Final = duration("continuous.discovery-interval", None,
        "How often an idle stream looks for snapshots. Default: 1 s on object stores.")
    snapshot_delay: Final = duration("streaming.read.snapshot.delay", None,
        "A stream does not read snapshots that are younger.")
    overwrite: Final = boolean("streaming-read-overwrite", False,
        "A stream of a key table shows what an overwrite removes and adds.")
    append_overwrite: Final = boolean("streaming-read-append-overwrite", False,
        "A stream of a table without keys shows the rows that an overwrite adds.")
    bounded_watermark: Final = long("scan.bounded.watermark", None,
        "A stream reads no snapshot with a higher watermark, and waits.",
        refuses=(Refused(Moment.CALL, (), "it in reads that end", "give it to spark.readStream"),))
    max_files: Final = integer("read.stream.maxFilesPerTrigger", None,
        "At most so many files in a micro-batch; at least one unit is read.")
    max_rows: Final = long("read.stream.maxRowsPerTrigger", None,
        "At most so many rows in a micro-batch; at least one unit is read.")
    max_bytes: Final = long("read.stream.maxBytesPerTrigger", None,
        "At most so many bytes of files in a micro-batch; at least one unit is read.")
    min_rows: Final = long("read.stream.minRowsPerTrigger", None,
        "A micro-batch waits for so many rows, at most `read.stream.maxTriggerDelayMs`.")
    max_delay: Final = long("read.stream.maxTriggerDelayMs", None,
        "How many milliseconds a micro-batch waits for `read.stream.minRowsPerTrigger`.")


STATE_OPTIONS = (
    ScanSettings.version,
    ScanSettings.snapshot_id,
    ScanSettings.tag_name,
    ScanSettings.watermark,
    ScanSettings.timestamp,
    ScanSettings.timestamp_millis,
)
INCREMENTAL_OPTIONS = (
    ScanSettings.incremental_between,
    ScanSettings.incremental_between_timestamp,
    ScanSettings.incremental_to_auto_tag,
)
CREATION_OPTIONS = (ScanSettings.file_creation_time_millis, ScanSettings.creation_time_millis)
TIME_TRAVEL_OPTIONS: tuple[Option[Any], ...] = (
    ScanSettings.mode,
    *STATE_OPTIONS,
    *INCREMENTAL_OPTIONS,
    *CREATION_OPTIONS,
)
