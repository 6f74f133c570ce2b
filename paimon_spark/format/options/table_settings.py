"""The settings of a table: its options as text, and as typed values (features 3; Java: CoreOptions)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar, overload

from paimon_spark.format.options.engines import ChangelogProducer, MergeEngine
from paimon_spark.format.options.iceberg_settings import IcebergSettings
from paimon_spark.format.options.index_settings import GlobalIndexSettings
from paimon_spark.format.options.option import (
    COLUMN,
    Moment,
    Option,
    Refused,
    Settings,
    boolean,
    choice,
    duration,
    integer,
    long,
    text,
    verbatim,
    word,
    words,
)
from paimon_spark.format.options.read_settings import ScanSettings, StreamReadSettings
from paimon_spark.format.options.upkeep_settings import PartitionSettings, RetentionSettings, TagSettings
from paimon_spark.format.options.value_texts import parse_member
from paimon_spark.format.options.write_settings import (
    ClusteringSettings,
    CommitSettings,
    CompactionSettings,
    DynamicBucketSettings,
    FileSettings,
    PostponeSettings,
    VariantSettings,
)

G = TypeVar("G", bound=Settings)


# One option is one entry, and not a line for each argument.
# fmt: off
class ColumnSettings(Settings):
    """The options of one column, whose keys have its name: ``fields.<column>.<what>``."""

    def __init__(self, texts: Mapping[str, str], column: str) -> None:
        super().__init__(texts)
        self.__dict__["column"] = column

    column: str

    def key(self, option: Option[Any]) -> str:
        return option.key.replace(COLUMN, self.column)

    aggregate_function: Final = text("fields.<column>.aggregate-function", None, "The aggregate function of a column.")
    ignore_retract: Final = boolean("fields.<column>.ignore-retract", False, "Retractions leave the column as it is.")
    sequence_group: Final = words("fields.<column>.sequence-group",
        "The columns that this sequence column, or these, order: see [sequence "
        "groups](../guides/merge-engines.md#sequence-groups).")
    nested_key: Final = words("fields.<column>.nested-key",
        "The key columns within the rows of the array, for `nested_update` and `nested_partial_update`.")
    nested_key_null: Final = choice("fields.<column>.nested-key-null-strategy", ("merge", "ignore", "error"),
        "What becomes of nested rows with a null in their key: `merge`, `ignore` or `error`.")
    nested_sequence: Final = words("fields.<column>.nested-sequence-field",
        "The columns within nested rows that decide which is newer.")
    count_limit: Final = long("fields.<column>.count-limit", 2**31 - 1, "How many nested rows `nested_update` keeps.")
    distinct: Final = boolean("fields.<column>.distinct", False, "`collect` and `listagg` keep each value once.")
    delimiter: Final = verbatim("fields.<column>.list-agg-delimiter", ",",
        "What stands between the values of `listagg`.")
    ts_field: Final = verbatim("fields.<column>.ts-field", None,
        "The field that holds the time, for `merge_map_with_keytime`. The default is the last one.")
    map_layout: Final = choice("fields.<column>.map.storage-layout", ("default", "shared-shredding"),
        "How data files hold a MAP with STRING keys. `shared-shredding`: as columns that several keys share, for maps "
        "of many keys of which each row has few.")
    map_columns: Final = integer("fields.<column>.map.shared-shredding.max-columns", 256,
        "How many columns the keys of a map share at most; entries that find none are stored as a map.")
    map_placement: Final = choice("fields.<column>.map.shared-shredding.column-placement-policy",
        ("lru", "sequential", "plain"),
        "Which column an entry gets: `lru` (a key stays in its column), `sequential` (the next one, in the order in "
        "which the file met the keys), `plain` (the next one, in the order of the map).")
    stats_mode: Final = text("fields.<column>.stats-mode", "",
        "What manifests keep of the values of this column. It goes before `metadata.stats-mode`.")


class SchemaChangeSettings(Settings):
    """What changes of the schema, and of options that rows depend on, are allowed."""

    null_to_not_null_disabled: Final = boolean("alter-column-null-to-not-null.disabled", True,
        "`false` lets a column that may hold NULL be made NOT NULL.")
    explicit_casting_disabled: Final = boolean("disable-explicit-type-casting", False,
        "`true` refuses changes of a column's type that may lose information.")
    column_before_partition: Final = boolean("add-column-before-partition", False,
        "`true` puts new columns in front of the partition columns, not behind all.")
    vectors_modifiable: Final = boolean("deletion-vectors.modifiable", False,
        "`true` lets `deletion-vectors.enabled` change once the table has rows.")
    merge_schema: Final = boolean("write.merge-schema", False,
        "`true`, in the options of a write: columns that only the rows have are added to the table. See [schema "
        "evolution](../guides/schema-evolution.md).")
    type_widening: Final = boolean("write.merge-schema.type-widening", False,
        "With `write.merge-schema`: columns also take wider types of the rows.")
    explicit_cast: Final = boolean("write.merge-schema.explicit-cast", False,
        "With `type-widening`: also types that may lose information.")


class _Group(Generic[G]):
    """The attribute of the settings of a table that has those of one idea."""

    def __init__(self, settings: type[G]) -> None:
        self.settings = settings

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, table: None, owner: type) -> type[G]: ...
    @overload
    def __get__(self, table: Settings, owner: type) -> G: ...
    def __get__(self, table: Settings | None, owner: type) -> type[G] | G:
        if table is None:
            return self.settings
        group = table.__dict__[self.name] = self.settings(table.texts)
        return group


class TableSettings(Settings, Mapping[str, str]):
    """The options of a table with those of a call on top: a mapping of texts, hashable by content, and their values."""

    files: Final = _Group(FileSettings)
    variants: Final = _Group(VariantSettings)
    commits: Final = _Group(CommitSettings)
    compaction: Final = _Group(CompactionSettings)
    clustering: Final = _Group(ClusteringSettings)
    dynamic_buckets: Final = _Group(DynamicBucketSettings)
    postpone: Final = _Group(PostponeSettings)
    retention: Final = _Group(RetentionSettings)
    tags: Final = _Group(TagSettings)
    partitions: Final = _Group(PartitionSettings)
    scan: Final = _Group(ScanSettings)
    stream: Final = _Group(StreamReadSettings)
    changes: Final = _Group(SchemaChangeSettings)
    iceberg: Final = _Group(IcebergSettings)
    global_index: Final = _Group(GlobalIndexSettings)

    path: Final = text("path", None, "The directory of the table. `load(path)` and `save(path)` set it.")
    table_type: Final = word("type", "table",
        "The kind of table: `table`, `materialized-table`, which is a table with a query that it comes from, or "
        "`object-table`, whose rows are the files of its directory.",
        refuses=(Refused(Moment.READ, ("table", "materialized-table"), "tables of another kind"),))
    query_auth_enabled: Final = boolean("query-auth.enabled", False,
        "The server of a REST catalog decides which rows a user reads, and what stands in columns: see [filters and "
        "masks](../guides/rest-catalog.md#row-filters-and-column-masks). By its path such a table is not read.")
    primary_key: Final = words("primary-key",
        "The columns of the primary key, separated by commas. Give it when you create the table.")
    partition: Final = words("partition",
        "The partition columns, separated by commas. Give it when you create the table.")
    branch: Final = text("branch", "main", "The branch to read or write.")
    bucket: Final = integer("bucket", -1,
        "The number of buckets of a partition. -1 means dynamic buckets for a table with a primary key, and no "
        "buckets for a table without one. -2 postpones the choice (primary key only).")
    bucket_key: Final = words("bucket-key",
        "The columns whose hash chooses the bucket. The default is the primary key without the partition columns. A "
        "table without a primary key needs it when `bucket` is positive.")
    bucket_function: Final = choice("bucket-function.type", ("default", "mod", "hive"),
        "How the bucket is computed: `default` from the hash of the key bytes, `mod` from one INT or BIGINT column, "
        "`hive` as Hive does.")
    chain_table_enabled: Final = boolean("chain-table.enabled", False,
        "A partition that the table lacks is read from two branches: see [chain tables]"
        "(../guides/tags-and-branches.md#chain-tables).")
    chain_streaming_merge: Final = boolean("chain-table.streaming.merge-snapshot", False,
        "The state that a stream of a chain table begins with is merged: changes replace and delete rows of the newest "
        "whole partition.")
    chain_partition_keys: Final = words("chain-table.chain-partition-keys",
        "The last partition columns of a chain table, whose values order its partitions; the others make groups, each "
        "with a chain of its own. The default is all.")
    merge_engine: Final = Option("merge-engine", MergeEngine.DEDUPLICATE, parse_member(MergeEngine),
        "What becomes of rows with equal keys: see [merge engines](../guides/merge-engines.md).")
    ignore_delete: Final = boolean("ignore-delete", False,
        "Rows of the kinds -U and -D are dropped.",
        older=("first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"))
    ignore_update_before: Final = boolean("ignore-update-before", False, "Rows of the kind -U are dropped.")
    upsert_key: Final = words("upsert-key",
        "Columns of a table without a primary key, by which an append finds the rows that it replaces; NULL is a value "
        "as any other. See [upserts without a primary key](../guides/write.md#upserts-without-a-primary-key).")
    sequence_field: Final = words("sequence.field",
        "The columns that decide which of two rows with equal keys is newer, separated by commas.")
    sequence_sort_order: Final = choice("sequence.field.sort-order", ("ascending", "descending"),
        "`ascending`: the greater value of `sequence.field` is newer. `descending`: the smaller one.")
    sequence_snapshot_ordering: Final = boolean("sequence.snapshot-ordering", False,
        "The row of the later commit is newer, whatever the sequence numbers say. Needs a primary key, `write-only` = "
        "`true`, and no `sequence.field`.")
    aggregation_remove_record_on_delete: Final = boolean("aggregation.remove-record-on-delete", False,
        "With the engine `aggregation`, a row of the kind -D deletes the whole row.")
    partial_update_remove_record_on_delete: Final = boolean("partial-update.remove-record-on-delete", False,
        "With the engine `partial-update`, a row of the kind -D deletes the whole row.")
    partial_update_remove_record_on_sequence_group: Final = words("partial-update.remove-record-on-sequence-group",
        "With the engine `partial-update`, sequence columns whose -D deletes the whole row.")
    default_aggregate_function: Final = text("fields.default-aggregate-function", None,
        "The aggregate function of columns that have none of their own.")
    delete_force_produce_changelog: Final = boolean("delete.force-produce-changelog", False,
        "`true`: DELETE of whole partitions writes rows of the kind -D, for the changelog; else it is done by "
        "metadata.")
    rowkind_field: Final = text("rowkind.field", None,
        "The column that holds the row kind (`+I`, `-U`, `+U`, `-D`) of each written row. It is stored.")
    changelog_producer: Final = Option("changelog-producer", ChangelogProducer.NONE, parse_member(ChangelogProducer),
        "Who writes changelog files: `none`, the writer (`input`), or compactions (`lookup`, `full-compaction`).")
    changelog_row_deduplicate: Final = boolean("changelog-producer.row-deduplicate", False,
        "Changelogs of compactions leave out updates that change nothing.")
    changelog_row_deduplicate_ignore_fields: Final = words("changelog-producer.row-deduplicate-ignore-fields",
        "Columns that do not count for `changelog-producer.row-deduplicate`.")
    data_evolution_enabled: Final = boolean("data-evolution.enabled", False,
        "Columns of the same rows may lie in several files, which reads put together by row ids: an UPDATE or MERGE "
        "writes the columns that it assigns, and no others. Needs `row-tracking.enabled`.")
    data_evolution_rewrite_row_ids: Final = boolean("data-evolution.compaction.rewrite-row-ids", False,
        "Compactions of tables with data evolution and deletion vectors leave deleted rows out, and give those that "
        "stay new ids. Ids that somebody has kept mean no row then.")
    reassign_skipped_rows: Final = long("data-evolution.reassign.skip-contiguous-row-count", 1_000_000_000,
        "`reassign_row_id` leaves the ids of rows in a partition as they are where more rows than this have ids "
        "without a gap; 0: it leaves none.")
    blob_field: Final = words("blob-field",
        "BINARY columns, separated by commas, that CREATE TABLE makes BLOB columns: see [BLOB columns]"
        "(../guides/blob.md).")
    blob_descriptor_field: Final = words("blob-descriptor-field",
        "BLOB columns of which the files of the table have references to bytes elsewhere.",
        older=("blob.stored-descriptor-fields",))
    blob_view_field: Final = words("blob-view-field",
        "BLOB columns whose values are views: each names a row of another table of the catalog, which has the bytes. "
        "See [Views of other tables](../guides/blob.md#views-of-other-tables).")
    blob_view_resolve: Final = boolean("blob-view.resolve.enabled", True,
        "Reads follow the views of columns of `blob-view-field` to the bytes; `false` gives the views themselves, "
        "which other columns of `blob-view-field` take.")
    blob_as_descriptor: Final = boolean("blob-as-descriptor", False,
        "Reads give the values of BLOB columns as references: the address of a file, and the place of the bytes in it.")
    deletion_vectors_enabled: Final = boolean("deletion-vectors.enabled", False,
        "Compactions mark replaced rows in deletion vectors, so that reads need not merge.")
    deletion_vectors_merge_on_read: Final = boolean("deletion-vectors.merge-on-read", False,
        "Reads of a table with deletion vectors also show rows that are not compacted.")
    deletion_vectors_bitmap64: Final = boolean("deletion-vectors.bitmap64", False,
        "Deletion vectors of 64 bits, which releases since 1.2 read.")
    dynamic_partition_overwrite: Final = boolean("dynamic-partition-overwrite", True,
        "Where a table stores it: a `copy` into the table replaces only the partitions that it brings. For a write, "
        "see the options of this connector.")
    row_tracking: Final = boolean("row-tracking.enabled", False,
        "Each row has an id, `_ROW_ID`, which stays when the row is updated or its file is compacted, and the number "
        "of the snapshot that changed it last, `_SEQUENCE_NUMBER`. For tables without a primary key and without a "
        "number of buckets: see [row tracking](../guides/change-rows.md#row-tracking).")
    record_level_expire_time: Final = duration("record-level.expire-time", None,
        "Compactions drop rows that are older than this.")
    record_level_time_field: Final = text("record-level.time-field", None,
        "The column that holds the time of a row: INT in seconds, BIGINT in seconds or milliseconds, or a TIMESTAMP.")
    overwrite_upgrade: Final = boolean("overwrite-upgrade", True,
        "An overwrite of a table with a primary key puts its new files on the highest level, where they do not "
        "overlap.")
    write_only: Final = boolean("write-only", False,
        "Writers neither compact nor expire snapshots. A job of its own has to.", older=("write.compaction-skip",))

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        super().__init__(dict(texts or {}))

    def __getitem__(self, key: str) -> str:
        return self.texts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"TableSettings({self.texts})"

    def __hash__(self) -> int:
        return hash(frozenset(self.texts.items()))

    def __reduce__(self) -> tuple[type[TableSettings], tuple[Mapping[str, str]]]:
        return TableSettings, (self.texts,)

    def column(self, name: str) -> ColumnSettings:
        """The options of one column."""
        return ColumnSettings(self.texts, name)

    def merged(self, other: Mapping[str, str]) -> TableSettings:
        """These settings with the texts of other on top."""
        return TableSettings({**self.texts, **other})


def _declared() -> Iterator[Option[Any]]:
    yield from TableSettings.declared()
    for group in vars(TableSettings).values():
        if isinstance(group, _Group):
            yield from group.settings.declared()
    yield from ColumnSettings.declared()


TABLE_OPTIONS: Mapping[str, Option[Any]] = MappingProxyType({option.key: option for option in _declared()})
"""All options that this release honours, by key."""
