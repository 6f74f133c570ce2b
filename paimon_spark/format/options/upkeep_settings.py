"""Options of upkeep: how long snapshots, tags and partitions live, and who hears of them (features 3.10, 3.11)."""

from __future__ import annotations

from typing import Final

from paimon_spark.format.options.option import (
    STORED,
    Moment,
    Option,
    Refused,
    Settings,
    boolean,
    choice,
    duration,
    integer,
    text,
    verbatim,
)
from paimon_spark.format.options.value_texts import parse_list


def _parse_actions(text: str) -> tuple[str, ...]:
    return parse_list(text.lower().replace("_", "-"))


# One option is one entry, and not a line for each argument.
# fmt: off
class RetentionSettings(Settings):
    """How long snapshots, changelogs and consumers are kept."""

    snapshot_num_retained_min: Final = integer("snapshot.num-retained.min", 10,
        "At least this many snapshots are kept, whatever their age.")
    snapshot_num_retained_max: Final = integer("snapshot.num-retained.max", 2**31 - 1,
        "At most this many snapshots are kept, whatever their age.")
    snapshot_time_retained: Final = duration("snapshot.time-retained", 3_600_000,
        "A snapshot is kept this long after a newer one replaced it.")
    snapshot_expire_limit: Final = integer("snapshot.expire.limit", 50,
        "How many snapshots one commit expires at most.")
    snapshot_expire_execution_mode: Final = choice("snapshot.expire.execution-mode", ("sync", "async"),
        "`sync`: a write expires snapshots before it returns. `async`: in a thread.")
    snapshot_clean_empty_directories: Final = boolean("snapshot.clean-empty-directories", False,
        "An expiry deletes directories that became empty.", older=("snapshot.expire.clean-empty-directories",))
    changelog_num_retained_min: Final = integer("changelog.num-retained.min", None,
        "At least this many changelogs are kept. The default is that of snapshots.")
    changelog_num_retained_max: Final = integer("changelog.num-retained.max", None,
        "At most this many changelogs are kept. The default is that of snapshots.")
    changelog_time_retained: Final = duration("changelog.time-retained", None,
        "A changelog is kept this long. The default is that of snapshots.")
    consumer_changelog_only: Final = boolean("consumer.changelog-only", False,
        "Consumers keep changelogs from expiry, and no snapshots.")
    consumer_expiration_time: Final = duration("consumer.expiration-time", None,
        "A consumer that was not used this long is deleted.")


class TagSettings(Settings):
    """Tags that are made by themselves, and how long tags live."""

    creation_period: Final = choice("tag.creation-period", ("daily", "hourly", "two-hours"),
        "How often automatic tags are made.")
    creation_period_duration: Final = duration("tag.creation-period-duration", None,
        "A period of any length, instead of `tag.creation-period`.")
    period_formatter: Final = choice("tag.period-formatter",
        ("with-dashes", "without-dashes", "without-dashes-and-spaces"),
        "How automatic tags are named, such as `2026-11-01` or `20261101`.")
    automatic_creation: Final = choice("tag.automatic-creation", ("none", "process-time", "watermark", "batch"),
        "When tags are made by themselves: `none`, `process-time` (by the clock), `watermark`, or `batch` (by each "
        "batch write).")
    creation_delay: Final = duration("tag.creation-delay", 0, "How long after the end of a period its tag is made.")
    automatic_completion: Final = boolean("tag.automatic-completion", False, "Tags of missed periods are made too.")
    num_retained_max: Final = integer("tag.num-retained-max", None, "How many automatic tags are kept.")
    default_time_retained: Final = duration("tag.default-time-retained", None,
        "How long a new tag lives, if the call does not say.")
    time_expire_enabled: Final = boolean("tag.time-expire-enabled", True, "Tags expire when their time is up.")
    create_success_file: Final = boolean("tag.create-success-file", False,
        "A file `tag-success-file/<tag>_SUCCESS` tells that a tag is complete.")
    batch_customized_name: Final = text("tag.batch.customized-name", None, "The name of the tag that `batch` makes.")
    watermark_time_zone: Final = text("sink.watermark-time-zone", "UTC", "The time zone in which watermarks name tags.")
    process_time_zone: Final = text("sink.process-time-zone", None,
        "The time zone in which the clock names tags. The default is that of the machine.")


class PartitionSettings(Settings):
    """Partitions: their directories, their age, and what is done when they are complete."""

    default_name: Final = text("partition.default-name", "__DEFAULT_PARTITION__",
        "The directory of a partition whose value is null or blank.")
    legacy_name: Final = boolean("partition.legacy-name", True,
        "Directories of partitions are named as old releases do, such as a DATE by its day number.")
    expiration_time: Final = duration("partition.expiration-time", None, "How long a partition lives.")
    in_metastore: Final = boolean("metastore.partitioned-table", False,
        "In a hive catalog, commits tell the metastore of partitions.",
        refuses=(Refused(Moment.CALL, ("false",), "telling a metastore of partitions", STORED),))
    tag_to_partition: Final = text("metastore.tag-to-partition", None,
        "In a hive catalog, the metastore has the tags of a table without partitions as partitions of this column.",
        refuses=(Refused(Moment.CALL, ("",), "telling a metastore of tags", STORED),))
    idle_time_to_report_statistic: Final = duration("partition.idle-time-to-report-statistic", 0,
        "In a hive catalog, a batch write tells the metastore how large its partitions are, if this is longer than 0.")
    expiration_strategy: Final = choice("partition.expiration-strategy", ("values-time", "update-time"),
        "What the age of a partition is: `values-time`, the time in its values, or `update-time`, the time of its "
        "last file.")
    expiration_check_interval: Final = duration("partition.expiration-check-interval", 3_600_000,
        "How often a process looks for old partitions.")
    expiration_max_num: Final = integer("partition.expiration-max-num", 100,
        "How many partitions expire at once at most.")
    expiration_batch_size: Final = integer("partition.expiration-batch-size", None,
        "How many partitions one commit drops.")
    timestamp_formatter: Final = verbatim("partition.timestamp-formatter", None,
        "How the values of a partition say a time, as a pattern of Java such as `yyyyMMdd`.")
    timestamp_pattern: Final = verbatim("partition.timestamp-pattern", None,
        "What is read as the time of a partition, such as `$dt $hour:00:00`. The default is the first partition "
        "column.")
    timestamp_format_strict: Final = boolean("partition.timestamp-format.strict", False,
        "A write of a partition whose values are no time is an error.")
    end_input_check_expire: Final = boolean("end-input.check-partition-expire", False,
        "A batch write looks for old partitions at its end.")
    end_input_to_done: Final = boolean("partition.end-input-to-done", False, "A batch write marks its partitions done.")
    sink_strategy: Final = choice("partition.sink-strategy", ("none", "hash"),
        "How the rows of a table without buckets are shuffled before a write of `PaimonTable`: `none`, or `hash` by "
        "the partition.")
    mark_done_action: Final = Option[tuple[str, ...]]("partition.mark-done-action", ("success-file",), _parse_actions,
        "How a partition is marked done: `success-file`, `http-report`, and by a metastore `done-partition` and "
        "`mark-event`.")
    mark_done_action_http_url: Final = text("partition.mark-done-action.http.url", None,
        "Where `http-report` sends its POST.")
    mark_done_action_http_params: Final = verbatim("partition.mark-done-action.http.params", None,
        "A text that the POST contains.")
