"""Typed options: bad texts are told in a sentence of ours, whatever the type of the option."""

from __future__ import annotations

import re

import pytest

from paimon_spark.errors import OptionError
from paimon_spark.format.options.option import Option
from paimon_spark.format.options.table_settings import TABLE_OPTIONS, TableSettings
from paimon_spark.format.options.upkeep_settings import PartitionSettings, RetentionSettings
from paimon_spark.format.options.write_settings import CompactionSettings, FileSettings

TAKES_ANY_TEXT = {
    "type", "branch", "fields.default-aggregate-function", "rowkind.field", "changelog-file.prefix",
    "changelog-file.format", "changelog-file.compression", "changelog-file.stats-mode", "file.format",
    "file.compression", "data-file.prefix", "data-file.external-paths", "data-file.path-directory",
    "data-file.external-paths.specific-fs", "global-index.external-path",
    "metadata.stats-mode", "partition.default-name", "partition.timestamp-formatter", "partition.timestamp-pattern",
    "partition.mark-done-action.http.url", "partition.mark-done-action.http.params", "manifest.compression",
    "commit.user-prefix", "record-level.time-field", "scan.tag-name", "scan.timestamp", "scan.version",
    "scan.fallback-branch", "scan.primary-branch", "scan.fallback-snapshot-branch", "scan.fallback-delta-branch",
    "incremental-between", "incremental-between-timestamp",
    "incremental-to-auto-tag", "consumer-id", "tag.batch.customized-name", "sink.watermark-time-zone",
    "sink.process-time-zone", "metastore.tag-to-partition", "path", "file-index.<type>.<column>.<x>",
    "fields.<column>.aggregate-function", "fields.<column>.list-agg-delimiter", "fields.<column>.ts-field",
    "fields.<column>.stats-mode", "vector.file.format", "metadata.iceberg.storage",
    "metadata.iceberg.manifest-compression", "metadata.iceberg.uri", "metadata.iceberg.hive-conf-dir",
    "metadata.iceberg.database", "metadata.iceberg.table",
}  # fmt: skip
LISTS = {
    "primary-key", "partition", "bucket-key", "upsert-key", "sequence.field",
    "partial-update.remove-record-on-sequence-group",
    "changelog-producer.row-deduplicate-ignore-fields", "partition.mark-done-action",
    "blob-descriptor-field", "blob-field", "blob-view-field", "clustering.columns", "file-index.<type>.columns",
    "fields.<column>.sequence-group", "chain-table.chain-partition-keys",
    "fields.<column>.nested-key",
    "fields.<column>.nested-sequence-field",
}  # fmt: skip


@pytest.mark.parametrize("option", [pytest.param(option, id=key) for key, option in TABLE_OPTIONS.items()])
def test_a_text_that_is_no_value_is_reported_with_what_is_expected(option: Option[object]) -> None:
    for text in ("abc!", "1_0", "٣", "-", ":1"):
        given = TableSettings({option.key: text})
        if option.key in TAKES_ANY_TEXT | LISTS:
            option.read(given)
            continue
        with pytest.raises(OptionError) as refused:
            option.read(given)
        begin = re.escape(f"option '{option.key}' has the value '{text}': expected ")
        assert re.fullmatch(rf"{begin}[a-z][\w ,.:-]+", str(refused.value)), str(refused.value)


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        (TableSettings.bucket, " -1 ", -1),
        (TableSettings.bucket, "+4", 4),
        (CompactionSettings.small_file_ratio, "7e-1", 0.7),
        (CompactionSettings.small_file_ratio, ".5", 0.5),
        (FileSettings.format_per_level, "0:avro, 3 : parquet", {0: "avro", 3: "parquet"}),
        (FileSettings.write_buffer_size, "2 MB", 2 * 2**20),
        (RetentionSettings.snapshot_time_retained, "3 h", 3 * 3_600_000),
        (TableSettings.write_only, "TRUE", True),
        (PartitionSettings.sink_strategy, "HASH", "hash"),
    ],
)
def test_texts_that_are_values(option: Option[object], text: str, value: object) -> None:
    assert option.read(TableSettings({option.key: text})) == value


@pytest.mark.parametrize(
    "option",
    [
        TableSettings.bucket,
        FileSettings.write_buffer_size,
        RetentionSettings.snapshot_time_retained,
        FileSettings.format_per_level,
    ],
)
def test_more_digits_than_python_reads(option: Option[object]) -> None:
    level = ":avro" if option is FileSettings.format_per_level else ""
    with pytest.raises(OptionError, match=r"expected (a|levels)"):
        option.read(TableSettings({option.key: "9" * 5000 + level}))
