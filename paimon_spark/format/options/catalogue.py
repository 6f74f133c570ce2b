"""The table options that the official system knows: their keys, and how this release treats each (features 3).

Sources: CoreOptions, SparkConnectorOptions and FlinkConnectorOptions of the releases 0.2 to 2.0.0 and after. An option
is honoured: it is declared in the settings of a table. Or rows and metadata are the same without it (NO_EFFECT), with
the reason. Or it is refused (_REFUSED). Of options of the first two kinds some values may be refused too. An option
that a caller gives with a read or a write is a request: it may be refused there although it is accepted where the
table only stores it.

Keys are looked up in any letter case, with the columns in them, and separated from labels of the user.

In keys ``<column>`` stands for one column or several with commas, ``<type>`` and ``<x>`` for a word, ``#`` and
``<any>`` for anything.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from paimon_spark.format.options.index_settings import REFINE_KEYS, VECTOR_OPTIONS
from paimon_spark.format.options.option import LEAVE_OUT, OFFICIAL, STORED, Moment, Refused
from paimon_spark.format.options.table_settings import TABLE_OPTIONS


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
        asked: further ones, of which values are refused in a call.
    """

    reason: str
    keys: str
    asked: Mapping[str, Refused] = field(default_factory=dict)


def _asked(accepted: tuple[str, ...], what: str, advice: str) -> Refused:
    return Refused(Moment.CALL, accepted, what, advice)


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
        manifest-sort.enabled manifest-sort.partition-field manifest-sort.max-rewrite-size compaction.max.file-num
        compaction.early-max.file-num compaction.max-sorted-run-num num-sorted-run.stop-trigger
        """,
        {
            "commit.discard-duplicate-files": _asked(("false",), "commits of files that are there already", LEAVE_OUT),
        },
    ),
    NoEffect(
        "streams of other engines",
        """
        streaming-read-mode streaming-compact scan.max-splits-per-task snapshot.watermark-idle-timeout
        changelog-producer.compaction-interval
        """,
        {
            "commit.force-create-snapshot": _asked(("false",), "snapshots of writes that bring nothing", LEAVE_OUT),
        },
    ),
    NoEffect(
        "lookup joins, and how other engines spread the work on indexes",
        """
        lookup.cache-rows lookup.continuous.discovery-interval lookup.blob-as-descriptor
        global-index.build.max-shard global-index.build.max-parallelism
        global-index.thread-num
        vector-search.distribute.enabled vector-search.lateral-join.batch-size vector-search.lateral-join.parallelism
        fields.<column>.pk-vector.index.type fields.<column>.pk-vector.distance.metric
        fields.<column>.pk-vector.index.options fields.<column>.pk-btree.index.options
        fields.<column>.pk-bitmap.index.options fields.<column>.pk-multivalue.index.options
        fields.<column>.pk-full-text.index.options
        """,
    ),
    NoEffect(
        "indexes that readers use where they are, and do without where they are not",
        "",
        {
            "pk-btree.index.columns": _asked(("",), "making indexes", STORED),
            "pk-bitmap.index.columns": _asked(("",), "making indexes", STORED),
            "pk-multivalue.index.columns": _asked(("",), "making indexes", STORED),
        },
    ),
    NoEffect(
        "the order of rows within files, which no reader relies on",
        """
        sort-compaction.range-strategy sort-compaction.local-sample.magnification sink.clustering.sort-in-cluster
        sink.clustering.sample-factor
        """,
    ),
    NoEffect(
        "how changes of rows of tables with data evolution find their files, keep their source and are tried again "
        "(`commit.max-retries` says how often), and files beside them that speed up reads of few rows",
        """
        write.data-evolution.update-conflict-retry.max-attempts write.data-evolution.update-conflict-retry.wait-ms
        data-evolution.merge-into.file-pruning data-evolution.merge-into.source-persist
        data-evolution.row-id-conflict-rewrite.max-size
        data-evolution.row-sidecar.enabled data-evolution.row-sidecar.max-selected-rows
        data-evolution.row-sidecar.max-selection-ratio
        """,
    ),
    NoEffect(
        "how bytes are copied to which references of BLOB columns lead; those to other stores, or HTTP, are refused",
        """
        blob-descriptor.source-table blob-write-null-on-missing-file blob-write-null-on-fetch-failure
        blob.copy-buffer-size
        """,
    ),
    NoEffect(
        "catalogs and metastores, which the official system does not tell either when a table is written by its path",
        """
        auto-create materialized-table.definition-query materialized-table.interval-freshness
        materialized-table.interval-freshness.time-unit materialized-table.logical-refresh-mode
        materialized-table.refresh-mode materialized-table.refresh-status
        materialized-table.refresh-handler-description materialized-table.refresh-handler-bytes root-path
        object-location
        """,
        {
            "metastore.tag-to-partition.preview": _asked(("none",), "telling a metastore of tags", STORED),
        },
    ),
    NoEffect(
        "parts of a feature that is refused by another option or by the type of a column",
        """
        commit.callback.#.param tag.callback.#.param partition.mark-done-action.custom.class
        format-table.implementation format-table.partition-path-only-value format-table.file.compression
        format-table.commit-hive-sync-url format-table.scan.list-parallelism format-table.repair.collect-statistics
        format-table.statistics.parallelism
        """,
    ),
    NoEffect(
        "how the buckets of a chain table are cut into tasks: here always by ranges of keys",
        "chain-table.split.key-range-enabled",
    ),
    NoEffect(
        "VECTOR columns by their names: the schema has their types",
        "vector-field field.<column>.vector-dim",
    ),
    NoEffect(
        "settings of Flink's and Spark's connectors for their own jobs",
        """
        sink.parallelism scan.parallelism unaware-bucket.compaction.parallelism unaware-bucket.no-shuffle
        compaction.bucket-distribution-strategy scan.infer-parallelism scan.infer-parallelism.max
        scan.watermark.emit.strategy scan.watermark.alignment.group scan.watermark.idle-timeout
        scan.watermark.alignment.max-drift scan.watermark.alignment.update-interval scan.split-enumerator.batch-size
        scan.max-snapshot.count scan.split-enumerator.mode sink.use-managed-memory-allocator scan.remove-normalize
        read.shuffle-bucket-with-partition sink.managed.writer-buffer-memory sink.cross-partition.managed-memory
        source.checkpoint-align.enabled source.checkpoint-align.timeout lookup.async lookup.bootstrap-parallelism
        lookup.async-thread-number lookup.cache lookup.dynamic-partition.refresh-interval lookup.refresh.async
        lookup.dynamic-partition.refresh.async lookup.refresh.async.pending-snapshot-count
        lookup.refresh.time-periods-blacklist lookup.refresh.full-load-threshold sink.savepoint.auto-tag
        sink.writer-cpu sink.writer-memory sink.committer-cpu sink.committer-memory sink.committer-operator-chaining
        partition.mark-done-action.mode partition.time-interval partition.mark-done.recover-from-state
        precommit-compact changelog.precommit-compact changelog.precommit-compact.thread-num
        changelog.precommit-compact.buffer-size source.operator-uid.suffix sink.operator-uid.suffix
        scan.dedicated-split-generation sink.coordinator-commit.enabled sink.writer-coordinator.enabled
        sink.key-only-deletes.enabled sink.writer-coordinator.cache-memory
        sink.writer-coordinator.cache-expire-after-access sink.writer-coordinator.cache-soft-values
        sink.writer-coordinator.page-size sink.writer-coordinator.prefetch-manifests
        filesystem.job-level-settings.enabled sink.writer-refresh-detectors requiredSparkConfsCheck.enabled
        write.use-v2-write write.hive-style-dynamic-partition.enabled log.scan.remove-normalize scan.push-down
        lookup.dynamic-partition streaming-read.shuffle-bucket-with-partition streaming-read-atomic
        compaction.manual-triggered compaction.partition-spec scan.plan-parallelism
        """,
        {
            "read.changelog": _asked(("false",), "it", "'row-kinds' = 'true' adds the column _row_kind"),
            "read.allow.fullScan": _asked(("true",), "refusing reads of all partitions", LEAVE_OUT),
            "legacy-timestamp-mapping.enabled": _asked(("false",), "it", "cast the column in the query: ts::timestamp"),
            "scan.partitions": _asked(("",), "it", "name the partitions in the option 'filter'"),
            "scan.bounded": _asked((), "streams", LEAVE_OUT),
            "end-input.watermark": _asked((), "watermarks given to a write", LEAVE_OUT),
            "partition.idle-time-to-done": _asked(
                (), "streams", "'partition.end-input-to-done' = 'true' marks what a write wrote"
            ),
        },
    ),
    NoEffect(
        "options that the official system has given up, and passes over since",
        """
        log.changelog-mode log.consistency log.format log.ignore-delete log.key.format log.retention log.system
        log.system.auto-register log.system.partitions log.system.replication append-only.assert-disorder
        record-level.time-field-type partition.mark-done-action.http.timeout
        """,
        {
            "fields.<column>.default-value": _asked(
                (),
                "this old form of default values, nor does the official system since 1.3",
                "give a column its default value in the schema",
            ),
            "sequence.auto-padding": _asked(("",), "it, nor does the official system since 0.8", LEAVE_OUT),
            "write-mode": _asked(("auto",), "it, nor does the official system since 0.6", LEAVE_OUT),
        },
    ),
    NoEffect(
        "settings of file formats, indexes and Iceberg metadata, which are refused or change no row",
        """
        avro.<any> parquet.<any> orc.<any> metadata.iceberg.hadoop-conf-dir metadata.iceberg.glue.skip-archive
        metadata.iceberg.rest.<any> btree-index.<any> bitmap-index.<any> sorted-index.<any> multivalue-index.<any>
        """,
    ),
    NoEffect(
        "settings of [indexes over vectors and texts](../guides/global-indexes.md#indexes-over-vectors), which their "
        "makers and searches look at",
        """
        full-text.<any> ivf-flat.<any> ivf-pq.<any> ivf-sq.<any> ivf-rq.<any> diskann.<any> ivf.<any>
        """
        + " ".join(f"fields.<column>.{key}" for key in (*VECTOR_OPTIONS, *REFINE_KEYS)),
    ),
    NoEffect(
        "files of lines, which only [format tables](../guides/tables-of-files.md#format-tables) have",
        "csv.<any> json.<any> text.<any>",
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

_EMPTIED = "; or go without it, with the option '{}' = '' in the call"
_SWITCHED_OFF = "; or go without it, with the option '{}' = 'false' in the call"

_REFUSED: Mapping[str, Refused] = {
    "primary-key.nullable": Refused(Moment.READ, ("false",), "nulls in primary keys"),
    "key-value.sequence_number.enabled": Refused(Moment.READ, ("false",), "the sequence number as a column"),
    "batch-scan-mode": Refused(Moment.READ, ("none",), "internal scan modes"),
    "stream-scan-mode": Refused(Moment.READ, ("none",), "internal scan modes"),
    "blob-external-storage-field": Refused(
        Moment.WRITE, ("",), "bytes of BLOB columns outside of the table, as release 1.4 wrote them"
    ),
    "blob-external-storage-path": Refused(
        Moment.WRITE, ("",), "bytes of BLOB columns outside of the table, as release 1.4 wrote them"
    ),
    "commit.callbacks": Refused(
        Moment.WRITE, ("",), "commit callbacks, which are Java classes", OFFICIAL + _EMPTIED.format("commit.callbacks")
    ),
    "commit.custom-listeners": Refused(
        Moment.WRITE,
        ("",),
        "commit listeners, which are Java classes",
        OFFICIAL + _EMPTIED.format("commit.custom-listeners"),
    ),
    "tag.callbacks": Refused(
        Moment.WRITE, ("",), "tag callbacks, which are Java classes", OFFICIAL + _EMPTIED.format("tag.callbacks")
    ),
    "pk-full-text.index.columns": Refused(
        Moment.WRITE,
        ("",),
        "full-text indexes: a search would miss the new rows",
        OFFICIAL + _EMPTIED.format("pk-full-text.index.columns"),
    ),
    "pk-vector.index.columns": Refused(
        Moment.WRITE, ("",), "vector indexes", OFFICIAL + _EMPTIED.format("pk-vector.index.columns")
    ),
    "manifest.format": Refused(Moment.WRITE, ("avro",), "manifests of another format than Avro"),
    "metadata.iceberg.hive-client-class": Refused(
        Moment.WRITE,
        ("org.apache.hadoop.hive.metastore.hivemetastoreclient",),
        "other clients of a Hive metastore than Hive's own, such as that of AWS Glue",
        f"{OFFICIAL}, or set 'metadata.iceberg.storage' to 'hadoop-catalog'",
    ),
}


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
    refusals: tuple[Refused, ...]


def _catalogue() -> dict[str, OptionEntry]:
    entries = [OptionEntry(key, Status.REFUSED, None, (refused,)) for key, refused in _REFUSED.items()]
    entries += [OptionEntry(key, Status.HONOURED, None, option.refuses) for key, option in TABLE_OPTIONS.items()]
    for idle in NO_EFFECT:
        entries += [OptionEntry(key, Status.NO_EFFECT, idle.reason, ()) for key in idle.keys.split()]
        entries += [OptionEntry(key, Status.NO_EFFECT, idle.reason, (asked,)) for key, asked in idle.asked.items()]
    return {entry.key: entry for entry in entries}


CATALOGUE: Mapping[str, OptionEntry] = _catalogue()
"""All options, by key."""

_OLDER_NAMES = {alias: option.key for option in TABLE_OPTIONS.values() for alias in option.older}
_EXACT = frozenset(key for key in CATALOGUE if "<" not in key and "#" not in key) | _OLDER_NAMES.keys()
_BY_LOWER = {key.lower(): key for key in _EXACT}

_FIELDS, _ANY = "fields.<column>.", "<any>"
_FIELD_SUFFIXES = tuple(key.removeprefix(_FIELDS) for key in CATALOGUE if key.startswith(_FIELDS))
_FIELD_KEY = re.compile(rf"fields\.(.+?)\.({'|'.join(map(re.escape, _FIELD_SUFFIXES))})", re.IGNORECASE)
_VECTOR_KEY = re.compile(r"field\.(.+)\.(vector-dim)", re.IGNORECASE)
_INDEX_KEY = re.compile(r"file-index\.([a-z-]+)\.(?:(.+)\.)?([a-z-]+)", re.IGNORECASE)
_CALLBACK_KEY = re.compile(r"(commit|tag)\.callback\..+\.param", re.IGNORECASE)
_OPEN_FAMILIES = tuple(key.removesuffix(_ANY) for key in CATALOGUE if key.endswith(_ANY))
_OF_COLUMNS = re.compile(r"fields?\.(.+)\.[^.]+", re.IGNORECASE)

# What cannot change once a table holds data.
IMMUTABLE_OPTIONS = frozenset({
    "type", "primary-key", "primary-key.nullable", "partition", "rowkind.field", "bucket-key", "bucket-function.type",
    "data-file.path-directory", "index-file-in-data-file-dir", "row-tracking.enabled", "merge-engine",
    "sequence.snapshot-ordering", "aggregation.remove-record-on-delete", "partial-update.remove-record-on-delete",
    "partial-update.remove-record-on-sequence-group", "force-lookup", "dynamic-bucket.initial-buckets",
    "pk-clustering-override", "data-evolution.enabled", "blob-field", "blob-descriptor-field", "blob-view-field",
    "blob-external-storage-field", "blob-external-storage-path",
})  # fmt: skip


def known_keys() -> frozenset[str]:
    """Every key without a variable part, older names too, and patterns such as ``fields.<column>.stats-mode``."""
    return _EXACT | CATALOGUE.keys()


def known_key(key: str, columns: Mapping[str, str] | None = None) -> str | None:
    """The official spelling of a key; None if no known release has it.

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


def catalogued(key: str) -> OptionEntry | None:
    """The catalogue entry of the option of this key; None if no known release has it.

    Args:
        key: the official spelling, or an older name.
    """
    key = _OLDER_NAMES.get(key, key)
    if key in CATALOGUE:
        return CATALOGUE[key]
    if match := _FIELD_KEY.fullmatch(key):
        return CATALOGUE[f"{_FIELDS}{match[2].lower()}"]
    if _VECTOR_KEY.fullmatch(key):
        return CATALOGUE["field.<column>.vector-dim"]
    if match := _INDEX_KEY.fullmatch(key):
        is_list = match[2] is None and match[3].lower() == "columns"
        return CATALOGUE["file-index.<type>.columns" if is_list else "file-index.<type>.<column>.<x>"]
    if match := _CALLBACK_KEY.fullmatch(key):
        return CATALOGUE[f"{match[1].lower()}.callback.#.param"]
    family = next((family for family in _OPEN_FAMILIES if key.lower().startswith(family)), None)
    return None if family is None else CATALOGUE[family + _ANY]


def unknown_keys(keys: Iterable[str], columns: Collection[str], namespaces: Iterable[str]) -> list[str]:
    """The keys that no known release has but that look like options of a newer one, in order.

    These are keys of existing columns (``fields.<column>.<word>``), and keys that begin with a namespace and a dot or a
    dash after it. Any other, such as ``row-owner`` or ``partition.contact``, is a label of the user.

    Args:
        keys: the option keys of a table.
        columns: the column names of the table.
        namespaces: prefixes of keys that end with a whole word.
    """
    strange = [key for key in keys if known_key(key) is None]
    beginnings = tuple(begin + mark for begin in namespaces for mark in ".-") if strange else ()
    return sorted(key for key in strange if key.lower().startswith(beginnings) or _is_of_columns(key, columns))


def _is_of_columns(key: str, columns: Collection[str]) -> bool:
    match = _OF_COLUMNS.fullmatch(key)
    return match is not None and all(name.strip() in columns for name in match[1].split(","))


def _true_columns(text: str, columns: Mapping[str, str] | None) -> str:
    return ",".join((columns or {}).get(name.strip().lower(), name) for name in text.split(","))
