"""Typed options: bad texts are told in a sentence of ours, whatever the type of the option."""

from __future__ import annotations

import re

import pytest

from paimon_spark.errors import OptionError
from paimon_spark.format.options import core_options as o
from paimon_spark.format.options.core_options import Option, Options

TAKES_ANY_TEXT = {
    "type", "branch", "fields.default-aggregate-function", "rowkind.field", "changelog-file.prefix",
    "changelog-file.format", "changelog-file.compression", "changelog-file.stats-mode", "file.format",
    "file.compression", "data-file.prefix", "data-file.external-paths", "data-file.path-directory",
    "metadata.stats-mode", "partition.default-name", "partition.timestamp-formatter", "partition.timestamp-pattern",
    "partition.mark-done-action.http.url", "partition.mark-done-action.http.params", "manifest.compression",
    "commit.user-prefix", "record-level.time-field", "scan.tag-name", "scan.timestamp", "scan.version",
    "scan.fallback-branch", "scan.primary-branch", "incremental-between", "incremental-between-timestamp",
    "incremental-to-auto-tag", "consumer-id", "tag.batch.customized-name", "sink.watermark-time-zone",
    "sink.process-time-zone", "metastore.tag-to-partition",
}  # fmt: skip
LISTS = {
    "primary-key", "partition", "bucket-key", "sequence.field", "partial-update.remove-record-on-sequence-group",
    "changelog-producer.row-deduplicate-ignore-fields", "partition.mark-done-action",
    "clustering.columns",
}  # fmt: skip


@pytest.mark.parametrize("option", [pytest.param(option, id=key) for key, option in o.TYPED_OPTIONS.items()])
def test_a_text_that_is_no_value_is_reported_with_what_is_expected(option: Option[object]) -> None:
    for text in ("abc!", "1_0", "٣", "-", ":1"):
        given = Options({option.key: text})
        if option.key in TAKES_ANY_TEXT | LISTS:
            given.value(option)
            continue
        with pytest.raises(OptionError) as refused:
            given.value(option)
        begin = re.escape(f"option '{option.key}' has the value '{text}': expected ")
        assert re.fullmatch(rf"{begin}[a-z][\w ,.:-]+", str(refused.value)), str(refused.value)


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        (o.BUCKET, " -1 ", -1),
        (o.BUCKET, "+4", 4),
        (o.COMPACTION_SMALL_FILE_RATIO, "7e-1", 0.7),
        (o.COMPACTION_SMALL_FILE_RATIO, ".5", 0.5),
        (o.FILE_FORMAT_PER_LEVEL, "0:avro, 3 : parquet", {0: "avro", 3: "parquet"}),
        (o.WRITE_BUFFER_SIZE, "2 MB", 2 * 2**20),
        (o.SNAPSHOT_TIME_RETAINED, "3 h", 3 * 3_600_000),
        (o.WRITE_ONLY, "TRUE", True),
        (o.PARTITION_SINK_STRATEGY, "HASH", "hash"),
    ],
)
def test_texts_that_are_values(option: Option[object], text: str, value: object) -> None:
    assert Options({option.key: text}).value(option) == value


@pytest.mark.parametrize("option", [o.BUCKET, o.WRITE_BUFFER_SIZE, o.SNAPSHOT_TIME_RETAINED, o.FILE_FORMAT_PER_LEVEL])
def test_more_digits_than_python_reads(option: Option[object]) -> None:
    level = ":avro" if option is o.FILE_FORMAT_PER_LEVEL else ""
    with pytest.raises(OptionError, match=r"expected (a|levels)"):
        Options({option.key: "9" * 5000 + level}).value(option)
