"""Option names of Delta Lake, Apache Iceberg and Spark, each with the name to use here.

A foreign option is refused with an error that gives our name for it. It is never accepted as an alias, because the same
word means something else there: version 1 of Delta is its second commit, `timestampAsOf` is read in the zone of the
session, `replaceWhere` takes any condition. An alias would read or replace other rows than the user expects.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_CHANGES = (
    "'incremental-between' = '3,7' reads what the commits 4 to 7 did, and spark.readStream begins at a snapshot with "
    "'scan.snapshot-id'"
)
_CHANGES_OF_TIMES = (
    "'incremental-between-timestamp' reads what was committed between two times, and spark.readStream begins at a time "
    "with 'scan.timestamp'"
)
_CHANGE_ROWS = (
    "'incremental-between' = '3,7' reads what the commits 4 to 7 did, with 'row-kinds' = 'true' the deletes too; the "
    "old rows of updates need the changelog-producer lookup"
)
_MERGE_SCHEMA = (
    "in a write 'write.merge-schema' = 'true' adds the columns of the rows to the table; a read has the columns of the "
    "table, leave it out"
)
_OVERWRITE_SCHEMA = "'overwrite-schema' = 'true' lets an overwrite replace the columns of the table"
_NO_TEXT = (
    "this release stores no text with a commit: PaimonTable.forPath(spark, path).create_tag('<name>') gives the "
    "snapshot a name"
)
_NO_TRANSACTION = (
    "it is an option of df.write, as 'once.application' and 'once.version' are: with them a write that is repeated is "
    "done once; PaimonTable.append(df, once=(name, number)) does not even compute its rows again"
)
_SHUFFLE = "leave it out: PaimonTable.append brings the rows of a bucket together by itself"
_DYNAMIC = "'dynamic-partition-overwrite' = 'true' with mode('overwrite') replaces the partitions that have new rows"

_OVERWRITES = (
    "a stream leaves overwrites out, with a warning, and 'streaming-read-overwrite' = 'true' shows what they changed; "
    "'row-kinds' = 'true' shows deletions and updates, which a stream leaves out otherwise"
)

_EXPIRY = "'snapshot.time-retained' and 'snapshot.num-retained.min' say how long snapshots and their files stay"
_CHANGELOG = "'changelog-producer' = 'lookup' lets a table with a primary key keep what each commit changed"
_APPEND_ONLY = "no option of a table forbids DELETE and UPDATE; leave it out"
_VECTORS = "'deletion-vectors.enabled' = 'true' marks deleted rows instead of writing files again"
_NO_VERSION = "a Paimon table has no format version; leave it out"
_COMPRESSION = "'file.compression' is zstd, snappy, lz4, ..."
_COLUMNS_BY_ID = "columns of each table can be renamed and dropped; leave it out"
_TARGET_SIZE = "'target-file-size' = '128 mb' says when a new file begins"
_NOTHING = "it would do nothing here; leave it out, or name it 'user.{key}' if it is a property of your own"

_PARTITIONS = "'partition' names the partition columns of a new table, which knows them from then on"
_OPTIONS = {
    "Spark's own sources": {
        "partitionOverwriteMode": _DYNAMIC,
        "maxRecordsPerFile": "'target-file-row-num' says how many rows a file takes, 'target-file-size' how many bytes",
        "partitionBy": _PARTITIONS,
        "partition-by": _PARTITIONS,
        "partitionedBy": _PARTITIONS,
        "partitioned-by": _PARTITIONS,
        "bucketBy": "'bucket' and 'bucket-key' give a new table buckets",
        "sortBy": "'clustering.columns' = 'a,b' sorts the rows of each write",
    },
    "Delta Lake": {
        "delta.logRetentionDuration": _EXPIRY,
        "delta.deletedFileRetentionDuration": _EXPIRY,
        "delta.enableChangeDataFeed": _CHANGELOG,
        "enableChangeDataFeed": _CHANGELOG,
        "delta.appendOnly": _APPEND_ONLY,
        "appendOnly": _APPEND_ONLY,
        "delta.columnMapping.mode": _COLUMNS_BY_ID,
        "delta.enableRowTracking": "this release tracks no rows; leave it out",
        "delta.enableDeletionVectors": _VECTORS,
        "delta.targetFileSize": _TARGET_SIZE,
        "delta.autoOptimize.optimizeWrite": _SHUFFLE,
        "delta.minReaderVersion": _NO_VERSION,
        "delta.minWriterVersion": _NO_VERSION,
        "replaceWhere": "'overwrite-where' = \"dt = '2026-11-01'\" with mode('overwrite') replaces whole partitions",
        "replaceUsing": _DYNAMIC,
        "replaceOn": _DYNAMIC,
        "versionAsOf": "'scan.snapshot-id' reads a snapshot, of which the first has the id 1, 'scan.tag-name' a tag",
        "timestampAsOf": "'scan.timestamp' = '2026-11-01 12:00:00' reads the state at a time",
        "mergeSchema": _MERGE_SCHEMA,
        "overwriteSchema": _OVERWRITE_SCHEMA,
        "userMetadata": _NO_TEXT,
        "readChangeFeed": _CHANGE_ROWS,
        "readChangeData": _CHANGE_ROWS,
        "startingVersion": _CHANGES,
        "endingVersion": _CHANGES,
        "startingTimestamp": _CHANGES_OF_TIMES,
        "endingTimestamp": _CHANGES_OF_TIMES,
        "ignoreDeletes": _OVERWRITES,
        "ignoreChanges": _OVERWRITES,
        "skipChangeCommits": _OVERWRITES,
        "failOnDataLoss": (
            "'scan.on-expired' = 'restart' lets a stream begin again when the snapshots that it reads next have "
            "expired; without it that is an error"
        ),
        "txnAppId": _NO_TRANSACTION,
        "txnVersion": _NO_TRANSACTION,
        "optimizeWrite": _SHUFFLE,
    },
    "Apache Iceberg": {
        "history.expire.max-snapshot-age-ms": _EXPIRY,
        "history.expire.min-snapshots-to-keep": _EXPIRY,
        "format-version": _NO_VERSION,
        "write.target-file-size-bytes": _TARGET_SIZE,
        "write.distribution-mode": _SHUFFLE,
        "write.parquet.compression-codec": _COMPRESSION,
        "write.delete.mode": _VECTORS,
        "write.update.mode": _VECTORS,
        "write.merge.mode": _VECTORS,
        "snapshot-id": "'scan.snapshot-id' reads a snapshot",
        "as-of-timestamp": "'scan.timestamp-millis' reads the state at a time in epoch milliseconds",
        "tag": "'scan.tag-name' reads a tag",
        "start-snapshot-id": _CHANGES,
        "end-snapshot-id": _CHANGES,
        "start-timestamp": _CHANGES_OF_TIMES,
        "end-timestamp": _CHANGES_OF_TIMES,
        "stream-from-timestamp": "'scan.timestamp-millis' says from which time on a stream reads changes",
        "streaming-skip-overwrite-snapshots": _OVERWRITES,
        "streaming-skip-delete-snapshots": _OVERWRITES,
        "streaming-max-files-per-micro-batch": "'read.stream.maxFilesPerTrigger' is the same",
        "streaming-max-rows-per-micro-batch": "'read.stream.maxRowsPerTrigger' is the same",
        "overwrite-mode": _DYNAMIC,
        "merge-schema": _MERGE_SCHEMA,
        "write-format": "'file.format' is parquet, orc or avro",
        "write.format.default": "'file.format' is parquet, orc or avro",
        "compression-codec": _COMPRESSION,
        "compression-level": "'file.compression.zstd-level' is that of zstd",
        "target-file-size-bytes": _TARGET_SIZE,
        "split-size": "'source.split.target-size' is the size of a Spark partition when reading",
        "distribution-mode": _SHUFFLE,
        "fanout-enabled": _SHUFFLE,
    },
}

_NAMESPACES = {"delta.": "Delta Lake", "history.expire.": "Apache Iceberg"}

OPTION_ADVICE: Mapping[str, str] = MappingProxyType(
    {
        name.lower(): f"the option '{name}' is one of {system} and not known here: {advice}"
        for system, options in _OPTIONS.items()
        for name, advice in options.items()
    }
)
"""Option, in lower case -> a sentence that names what to use."""


def option_advice(key: str) -> str | None:
    """What to say to an option that another system has, or that begins as all of its options do; None: none has it.

    A table that stored such an option would look as if it were in force.
    """
    known = OPTION_ADVICE.get(key.lower())
    system = next((system for prefix, system in _NAMESPACES.items() if key.lower().startswith(prefix)), None)
    if known is not None or system is None:
        return known
    return f"the option '{key}' is one of {system} and not known here: {_NOTHING.format(key=key)}"


_FRAME = "a PaimonTable is no DataFrame: toDF() is one"
_WRITES = "append(df) adds or updates rows, overwrite(df) replaces them"
_COLUMNS_CHANGE = "update_schema() changes columns, in a with block"
_DETAIL = "detail() shows the name, the place and the options of the table"
_FRAME_METHODS = (
    "toPandas toArrow printSchema groupBy groupby join crossJoin head first take tail limit isEmpty dtypes describe "
    "cache persist orderBy sort distinct union unionByName withColumn agg rdd foreach sample selectExpr dataframe"
)
_TRAVEL = "toDF(options={'scan.snapshot-id': '3'}) reads a snapshot, or PaimonTable.forPath(spark, '<path>', options)"
_MORE_METHODS: Mapping[str, str] = MappingProxyType(
    {
        _FRAME: _FRAME_METHODS,
        _WRITES: "add write writeTo save saveAsTable insertInto insertAll",
        "toDF() is a DataFrame; as Arrow and pandas paimon_spark.open_table(path).scan() reads the table": (
            "to_arrow to_pandas to_polars to_duckdb to_batches"
        ),
        _COLUMNS_CHANGE: "updateSchema addColumns add_column add_columns addColumn rename_column drop_column alter",
        "merge(source, condition) says which rows match": "mergeInto merge_into",
        "delete(condition) deletes the rows for which a condition is true": "delete_where deleteWhere remove",
        "update(condition, {'<column>': '<SQL>'}) gives columns new values": "updateExpr update_expr updateAll",
        _DETAIL: "name tableName table_name path location properties",
        "createOrReplaceTempView('<name>')": "createTempView createOrReplaceGlobalTempView createGlobalTempView",
        "history() shows the snapshots": "snapshots version versions current_snapshot log",
        "stream() reads rows as they come": "readStream",
        "toDF(options={'incremental-between': '3,7'}) reads what the commits 4 to 7 did, stream() what comes": (
            "changes changelog readChangeFeed change_feed incremental table_changes"
        ),
        _TRAVEL: ("asOf as_of versionAsOf version_as_of timestampAsOf load_as_version"),
        "other systems read a Paimon table itself, so that it needs no manifest; leave it out": "generate",
        "set_options({...}) stores options in the table, unset_options(...) removes them": (
            "set_properties setProperties set_property set_option alter_options"
        ),
        "DROP TABLE in the sql of a catalog drops a table; truncate() removes its rows": "drop drop_table dropTable",
        "ALTER TABLE ... RENAME TO in the sql of a catalog gives a table another name": "rename rename_table",
        "leave it out: each call reads the latest snapshot": "refresh load reload",
        "optimize().compact() compacts the table": "executeCompaction rewrite_data_files",
    }
)
_NO_GENERATED = "a table has no generated columns; compute the values in the rows that append(df) writes"
_UPSERT = "append(df) updates the rows of a table with a primary key that have the same key, and adds the others"

METHOD_ADVICE: Mapping[str, str] = MappingProxyType(
    {
        **{name: advice for advice, names in _MORE_METHODS.items() for name in names.split()},
        "isDeltaTable": "PaimonTable.isPaimonTable(spark, '<path>')",
        "convertToDelta": "write the rows with PaimonTable.append",
        "createOrReplace": "createIfNotExists(spark) declares a table, and overwrite(df) replaces its rows",
        "replace": "overwrite(df) replaces all rows, overwrite(df, where=...) those of partitions",
        "replaceWhere": "overwrite(df, where=\"dt = '2026-11-01'\") replaces the rows of partitions",
        "upsert": _UPSERT,
        "insert": "append(df) adds rows",
        "read": "toDF(columns=..., where=...) reads the table",
        "scan": "toDF(columns=..., where=...) reads the table; as Arrow paimon_spark.open_table(path).scan() does",
        "vacuum": (
            "expire_snapshots() drops old snapshots with their files, which every commit does as well; "
            "remove_orphan_files() removes the files of jobs that crashed"
        ),
        "restoreToVersion": (
            "rollback(version) goes back and deletes what came later, rollback_to_as_latest(version) deletes nothing"
        ),
        "restoreToTimestamp": "rollback_to_timestamp(time) goes back and deletes what came later",
        "rollback_to": "rollback(version) goes back to a snapshot or tag and deletes what came later",
        "list_tags": "tags() shows the tags",
        "list_branches": "branches() shows the branches",
        "expire_snapshots(retain_last)": "retain_min=... is how many stay at least, retain_max=... at most",
        "rollback_to_snapshot": "rollback(snapshot=...) goes back and deletes what came later",
        "update(condition)": "update('true', {'<column>': '<SQL>'}) updates all rows",
        "addColumn(generatedAlwaysAs)": _NO_GENERATED,
        "addColumn(generatedByDefaultAs)": _NO_GENERATED,
        "toDF(version)": _TRAVEL,
        "toDF(timestamp)": "toDF(options={'scan.timestamp': '2026-11-01 12:00:00'}) reads the state at a time",
        "forPath(hadoopConf)": "forPath(spark, '<path>', options={'s3.endpoint': ...}) says how to reach the storage",
        "executeZOrderBy": "optimize().executeZOrderBy('<column>', '<column>') sorts the rows along a curve",
        "clone": "copy('<path>') copies the latest state, create_branch(name, tag=...) shares the files",
        "cloneAtVersion": "create_branch(name, snapshot=...) makes a branch of a snapshot",
        "cloneAtTimestamp": "create_branch(name, tag=...) makes a branch of a tag",
        "rewrite_manifests": "compact_manifest() merges the manifests",
        "zorder": "optimize().executeZOrderBy('<column>', '<column>') sorts the rows along a curve",
        "manifests": "system_table('manifests') shows the manifests",
        "options": "detail() shows the options of the table, system_table('options') one a row",
        "schema": "toDF().schema is Spark's schema, schemas() shows the schemas that the table has had",
        "columns": "toDF().columns names the columns",
        "alias": _FRAME,
        "df": _FRAME,
        "clusterBy": "optimize().executeOrderBy('<column>') sorts the rows; 'bucket-key' chooses buckets",
        "partitionBy": "partitionedBy('<column>') of PaimonTable.create(spark)",
        "explain": "toDF(where=...) is a DataFrame, and the explain of a catalog tells how a query reads its tables",
        "show": _FRAME,
        "count": _FRAME,
        "collect": _FRAME,
        "select": f"{_FRAME}; toDF(columns=...) reads less",
        "where": f"{_FRAME}; toDF(where=...) reads less",
        "filter": f"{_FRAME}; toDF(where=...) reads less",
        "upgradeTableProtocol": "a Paimon table has no protocol version; leave it out",
        "addFeatureSupport": "a Paimon table has no protocol version; leave it out",
    }
)
"""Method or attribute of a Delta table, an Iceberg table or a DataFrame -> what PaimonTable has in its place.

``call(name)`` is an argument of a call that there it has, or may leave out.
"""

_TABLE = "PaimonTable.forPath(spark, '<path>') is a table, PaimonTable.forName(spark, '<database>.<table>') one by name"
_OPENED = "open_table('<path>') reads a table without Spark, PaimonTable.forPath(spark, '<path>') is one for Spark"
_CATALOG = "catalog(spark, '<warehouse>') is a catalog for Spark, open_catalog('<warehouse>') one without"
_MODULE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        _TABLE: "DeltaTable IcebergTable Table forPath forName for_path for_name isDeltaTable",
        _OPENED: "load_table load read read_table scan StaticTable",
        _CATALOG: "Catalog SessionCatalog load_catalog CatalogFactory connect create_catalog",
        "PaimonTable.create(spark) makes a table, create_table('<path>', ...) one without Spark": "create",
        "open_table('<path>') has append, overwrite, update, delete, merge, ...": "write write_table write_deltalake",
        "a session needs no jar and no setting": "configure_spark_with_delta_pip",
    }
)
MODULE_ADVICE: Mapping[str, str] = MappingProxyType(
    {name: advice for advice, names in _MODULE_NAMES.items() for name in names.split()}
)
"""Name in a package of another system -> what paimon_spark has in its place."""

_ALL = "whenMatchedUpdateAll(), whenNotMatchedInsertAll(), ... say what is done to rows, and execute() does it"
_CLAUSE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        _ALL: "whenMatched whenNotMatched whenNotMatchedBySource when_matched when_not_matched "
        "update updateAll update_all insert insertAll insert_all delete using on",
        "execute() does the MERGE": "run merge commit start save",
        "whenMatchedUpdate(set={'<column>': '<SQL>'}) takes SQL and Columns": "whenMatchedUpdateExpr",
        "whenNotMatchedInsert(values={'<column>': '<SQL>'}) takes SQL and Columns": "whenNotMatchedInsertExpr",
    }
)
MERGE_ADVICE: Mapping[str, str] = MappingProxyType(
    {name: advice for advice, names in _CLAUSE_NAMES.items() for name in names.split()}
)
"""Method of a MERGE in another system -> what MergeBuilder has in its place."""

_ADDS = "append(rows) adds rows, or upserts them if the table has a primary key"
_READS_ONLY = "a scan is a read; rows are written to its table"
_SCAN = "scan(columns=..., where=...) is a read, with to_arrow(), to_pandas(), to_batches(), head(), count() and top()"
_COMPACTS = "compact() compacts the table"
_HISTORY = "history() shows the snapshots, the newest first"
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        _ADDS: "insert write add add_files new_batch_write_builder new_stream_write_builder",
        _SCAN: "to_arrow to_pandas to_polars to_duckdb to_batches to_pyarrow to_pyarrow_table to_pyarrow_dataset "
        "to_arrow_batch_reader toDF toPandas select filter where head limit count collect show read new_read_builder "
        "to_table",
        "scan().count() is the number of rows": "num_rows count_rows shape height",
        "scan().arrow_schema is the names and types of the columns in Arrow": "arrow_schema dtypes",
        "schema.names are the names of the columns": "columns column_names names",
        _HISTORY: "current_snapshot version snapshot_manager",
        _COMPACTS: "optimize",
        "rollback(version) goes back to a snapshot or tag and deletes what came later, rollback_to_as_latest(version) "
        "deletes nothing": "restore restore_to_version manage_snapshots rollback_to",
        "update_schema() changes columns, in a with block": "alter add_column add_columns drop_column rename_column",
        "drop_table of its catalog drops a table; truncate() removes its rows": "drop drop_table",
        "location is its directory": "table_uri uri path identifier",
        "schema tells its columns, keys and options": "metadata properties options detail describe",
        "each read and each write looks for the newest snapshot; open_table('<path>') has the newest columns": (
            "refresh reload update_incremental"
        ),
        "system_table('files').to_arrow() shows its files": "file_uris get_add_actions",
        "system_table('<name>') shows its metadata: files, manifests, partitions, snapshots, ...": "inspect",
        "expire_snapshots() drops old snapshots with their files": "vacuum cleanup_metadata",
        "its metadata need no checkpoint; leave it out": "create_checkpoint",
        "each call is a commit, and once=('<name>', number) makes it happen once": "transaction new_transaction",
        "with_options({...}) has further options": "copy",
    }
)
READER_ADVICE: Mapping[str, str] = MappingProxyType(
    {
        **{name: advice for advice, names in _NAMES.items() for name in names.split()},
        **{
            name: f"system_table('{name}').to_arrow() shows them"
            for name in ("files", "partitions", "tags", "branches", "manifests", "consumers", "buckets")
        },
        "load_as_version": "open_table('<path>', version=3) reads snapshot 3, version='<tag>' a tag",
    }
)
"""Method or attribute of another system's table, or of a DataFrame -> what a table of open_table has in its place."""

_CHOICE = "open_table('<path>').scan(columns=..., where=...) chooses columns and rows"
_ROWS = "to_arrow() is all rows, and to_arrow().to_pylist() each as a dict; to_batches() gives them piece by piece"
_FIRST = "head(20) is the first rows that are read, top('<column>', 20) those that come first in an order"
_SCAN_NAMES: Mapping[str, str] = MappingProxyType(
    {
        _CHOICE: "where select filter columns with_columns drop withColumn project with_filter with_projection",
        _ROWS: "collect fetchall execute read new_read rows to_list to_pylist to_dicts to_table toDF df iter",
        _FIRST: "show limit take first tail fetchone sort order_by orderBy sort_by sort_values",
        "arrow_schema is the names and types of the columns": (
            "schema dtypes printSchema print_schema describe column_names names"
        ),
        "to_polars_lazy() of a scan of the table itself is a LazyFrame, to_polars() a DataFrame": (
            "lazy scan_polars to_lazy to_polars_lazy"
        ),
        "to_dataset() of a scan of the table itself is a dataset of pyarrow": "to_pyarrow_dataset dataset to_dataset",
        'duckdb.sql("FROM scan") takes a scan as it is': "to_duckdb",
        "pyarrow.RecordBatchReader.from_stream(scan) takes a scan as it is": "to_arrow_batch_reader to_reader",
        "plan() finds the splits": "splits planFiles plan_files",
        "it is a read of rows already": "scan",
        "count() is the number of rows": "num_rows count_rows shape size height",
        "explain() of a scan of the table itself tells what a condition leaves": "explain",
        "to_pandas() is all rows, of which pandas makes groups": "groupBy group_by groupby agg join sum mean",
        "to_batches() gives the rows piece by piece": "to_record_batches iter_batches fetch_record_batch",
        _READS_ONLY: "write append save insert",
    }
)
SCAN_ADVICE: Mapping[str, str] = MappingProxyType(
    {name: advice for advice, names in _SCAN_NAMES.items() for name in names.split()}
)
"""Method or attribute of a DataFrame, or of another library's read -> what a scan has in its place."""

_ROWS_WHERE = "where=\"total > 10\", or where=col('total') > 10 with paimon_spark.col, chooses the rows"
_FILTERS = "filter filters row_filter predicate condition expr expression"
_STATE = "version=3 reads snapshot 3, version='<tag>' a tag, timestamp='2026-11-01 12:00:00+00:00' the state at a time"
_STATE_NAMES = "tag tag_name snapshot snapshot_id as_of at version_as_of timestamp_as_of snapshot_timestamp"
_COUNT = {"count=... is how many": "n limit num_rows"}
_CHOICE_NAMES = {_CHOICE: "columns where filter filters select limit"}
_WHICH_ROWS = 'condition="total > 10", or the first argument, says which rows'
_OF_TABLE = {"open_table('<path>', {...}) takes the options": "options"}
_ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "delete": {_WHICH_ROWS: "where filter predicate delete_filter"},
    "update": {
        _WHICH_ROWS: "where filter predicate",
        "set={'<column>': value} gives columns new values": "updates new_values values assignments",
    },
    "merge": {
        "condition='id, dt', or 'target.id = source.id', says which columns are equal": "on predicate join_cols keys",
        "alias='t' is the name of the table in expressions": "target_alias",
        "source=... are the rows": "rows data df table",
    },
    "upsert": {
        "on='id, dt' says by which columns rows are found": "keys join_cols upsert_keys columns condition",
        "rows=... are the rows": "data df table source",
    },
    "open_table": {
        **_CHOICE_NAMES,
        _STATE: _STATE_NAMES,
        "open_table('<path>$branch_<name>') opens a branch": "branch branch_name",
        "options={'s3.endpoint': ...} says how to reach the storage": "storage_options catalog_options properties",
        "location=... is the path of the table": "path table table_uri uri table_path",
    },
    "table": {
        _CHOICE.replace("open_table('<path>')", "table('<table>')"): "columns where filter filters select limit",
        _STATE: _STATE_NAMES,
        "table('<table>$branch_<name>') opens a branch": "branch branch_name",
    },
    "scan": {
        _ROWS_WHERE: _FILTERS,
        "columns='id, dt' chooses the columns": "select selected_fields projection fields",
        f"of a scan {_FIRST}": "limit n count order_by sort_by",
        f"open_table('<path>', ...) takes it: {_STATE}": f"version timestamp {_STATE_NAMES}",
        "with_options({...}).scan() reads with further options": "options",
        "batch.slice(0, 1000) of pyarrow is a part of a batch that to_batches() gives": "batch_size",
    },
    "system_table": {_ROWS_WHERE: _FILTERS},
    "compact": _OF_TABLE,
    "create_global_index": _OF_TABLE,
    "head": _COUNT,
    "top": {**_COUNT, "descending=True takes the greatest values first": "ascending reverse desc"},
    **dict.fromkeys(("to_arrow", "to_pandas", "count"), _CHOICE_NAMES),
    "to_batches": {
        **_CHOICE_NAMES,
        "batch.slice(0, 1000) of pyarrow is a part of a batch": "batch_size chunk_size max_chunksize",
    },
}
ARGUMENT_ADVICE: Mapping[str, str] = MappingProxyType(
    {
        f"{call}({name})": advice
        for call, arguments in _ARGUMENTS.items()
        for advice, names in arguments.items()
        for name in names.split()
    }
)
"""``call(name)``, an argument that another library has -> what is given to this call without Spark in its place."""

_NULLS = "is_null() and is_not_null() look for NULL"
_FUNCTIONS = "what needs a function is done in Arrow, after the read"
_COLUMN_NAMES: Mapping[str, str] = MappingProxyType(
    {
        _NULLS: "isNull isNotNull isnull notnull isna notna is_valid",
        "is_nan() looks for NaN": "isnan isNaN is_not_nan",
        "between(low, high) is from one to the other, with both": "is_between isBetween",
        "isin(1, 2) takes the values": "is_in isIn in_ any_of",
        "eq_null_safe(value) is <=>": "eqNullSafe eq_missing",
        "startswith('a'), endswith('a'), contains('a') and like('a%') look at texts": (
            "starts_with startsWith ends_with endsWith str rlike ilike match match_substring"
        ),
    }
)
COLUMN_ADVICE: Mapping[str, str] = MappingProxyType(
    {name: advice for advice, names in _COLUMN_NAMES.items() for name in names.split()}
)
"""Method of a column in Spark, Polars, pandas or Arrow -> what ``col(...)`` has in its place."""
ANY_COLUMN_ADVICE = f"{_NULLS}; isin(...), startswith('a'), ...; field('a') is a field of a ROW; {_FUNCTIONS}"
"""What is said of all other names."""

_WRITES = "catalog['<database>.<table>'] has append, overwrite, ..."
_OPENS = "table('<database>.<table>') is a table to read, and so is catalog['<database>.<table>']"
_STORE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "list_tables('<database>') names the tables of a database": "tables show_tables names",
        "list_databases() names the databases": "databases namespaces list_namespaces show_databases list_schemas",
        "list_views('<database>') names the views of a database": "views show_views",
        _OPENS: "get_table open_table open load read get scan",
        "list_tables('<database>') and list_databases() tell what is there": (
            "exists table_exists database_exists namespace_exists has_table"
        ),
        "create_database('<database>') creates a database": "create_namespace",
        "drop_database('<database>') drops a database": "drop_namespace",
        "paimon_spark.catalog(spark, ...).sql('...') runs a statement, as paimon-spark sql does; without Spark DuckDB "
        "has SQL for orders = catalog['<database>.<table>'].scan().to_dataset()": "sql query execute",
        "a name has its database: '<database>.<table>'": "use current_database set_current_database",
        _WRITES: "append write overwrite insert upsert delete update merge save write_table",
    }
)
STORE_CATALOG_ADVICE: Mapping[str, str] = MappingProxyType(
    {name: advice for advice, names in _STORE_NAMES.items() for name in names.split()}
    | {call: advice for call, advice in ARGUMENT_ADVICE.items() if call.startswith("table(")}
)
"""Method of the catalog of another library, or of Spark -> what a catalog of open_catalog has in its place."""

_TABLES = "tables('<database>') names the tables of a database"
_DATABASES = "databases() names the databases"
_CREATE_TABLE = "sql('CREATE TABLE ...') creates a table, and so does PaimonTable.create(spark)"
_OBJECT = "catalog['<database>.<table>'] is the table, and table('<database>.<table>') its rows"

_MORE_OF_CATALOG: Mapping[str, str] = MappingProxyType(
    {
        "catalog['<database>.<table>'] is the table, which has append, overwrite, delete, update, merge, ...": (
            "append write overwrite insert insertInto insert_into save saveAsTable writeTo write_table writeStream "
            "delete update merge upsert truncate history optimize compact vacuum tags snapshots forName forPath detail"
        ),
        "table('<database>.<table>') is the rows of a table, and sql('SELECT ...') those of a query": (
            "load read_table toDF df show collect to_pandas toPandas select"
        ),
        "stream('<database>.<table>') reads a table as a stream": "readStream",
        "rename_table('<database>.<table>', '<database>.<new>') gives a table another name": "rename",
        "databases() names the databases": "databaseExists database_exists getDatabase namespaces",
        "sql('SHOW CURRENT NAMESPACE') tells the current database": "current_database current_namespace",
        "sql('DESCRIBE TABLE ...') shows the columns": "listColumns list_columns columns describe schema",
        "sql('SHOW VIEWS') names the views": "views list_views listViews",
        "sql('CREATE VIEW ...') creates a view": "create_view createView",
        "sql('DROP VIEW ...') drops a view": "drop_view dropView",
        "sql('SHOW FUNCTIONS') names the functions": "functions listFunctions list_functions",
        "spark.catalog.dropTempView drops a temporary view": "dropTempView dropGlobalTempView",
        "spark.catalog.uncacheTable and clearCache do it": "uncacheTable clearCache",
        "sql('SHOW CATALOGS') names the catalogs": "listCatalogs list_catalogs catalogs",
        "name is the name of this catalog": "currentCatalog current_catalog",
        "USE CATALOG in sql chooses the catalog in which statements begin": "setCurrentCatalog set_current_catalog",
    }
)

CATALOG_ADVICE: Mapping[str, str] = MappingProxyType(
    {
        **{name: advice for advice, names in _MORE_OF_CATALOG.items() for name in names.split()},
        **dict.fromkeys(("listTables", "list_tables", "show_tables", "showTables"), _TABLES),
        **dict.fromkeys(("listDatabases", "list_databases", "list_namespaces", "listNamespaces"), _DATABASES),
        **dict.fromkeys(("tableExists", "table_exists"), "exists('<database>.<table>') tells whether a table is there"),
        **dict.fromkeys(("createTable", "create_table", "createExternalTable"), _CREATE_TABLE),
        **dict.fromkeys(("getTable", "get_table", "load_table", "loadTable"), _OBJECT),
        **dict.fromkeys(("dropTable", "purge_table"), "drop_table('<database>.<table>') drops a table"),
        **dict.fromkeys(("createDatabase", "create_namespace"), "create_database('<database>') creates a database"),
        **dict.fromkeys(("dropDatabase", "drop_namespace"), "drop_database('<database>') drops a database"),
        "renameTable": "rename_table('<database>.<table>', '<database>.<new>') gives a table another name",
        "setCurrentDatabase": "use('<database>') chooses the current database",
        "currentDatabase": "sql('SHOW CURRENT NAMESPACE') tells the current database",
        "read": "table('<database>.<table>') is the rows of a table, and sql('SELECT ...') those of a query",
        "query": "sql('SELECT ...') runs a query",
        "execute": "sql('...') runs a statement",
        "refreshTable": "leave it out: each statement reads the latest snapshot",
        "cacheTable": "table('<database>.<table>') is a DataFrame, which can be cached",
    }
)
"""Method of the catalog of Spark or Iceberg -> what SessionCatalog has in its place."""

_COPY = "CALL sys.copy(source_table => '{t}', target_table => 'db.new') copies its state, CREATE TABLE AS a query"
_BY_ROWS = "MERGE INTO {t} USING <table or query> ON <condition> WHEN MATCHED THEN"
_UPDATE_BY_ROWS = f"{_BY_ROWS} UPDATE SET <column> = <value> updates rows by those of another table"
_DELETE_BY_ROWS = f"{_BY_ROWS} DELETE deletes rows by those of another table; WHERE takes a sub-query, too"
_SORTED = "SET TBLPROPERTIES ('clustering.columns' = 'a,b') sorts the rows of each write"

STATEMENT_ADVICE: Mapping[tuple[str, ...], str] = MappingProxyType(
    {
        ("OPTIMIZE",): (
            "CALL sys.compact(table => '{t}') compacts, and sorts with order_strategy => 'zorder', order_by => 'a,b'"
        ),
        ("VACUUM",): (
            "CALL sys.expire_snapshots(table => '{t}') drops old snapshots with their files, as every commit does; "
            "CALL sys.remove_orphan_files(table => '{t}') removes the files of jobs that crashed"
        ),
        ("RESTORE",): (
            "CALL sys.rollback(table => '{t}', version => '{n}') goes back to a snapshot or a tag, CALL "
            "sys.rollback_to_timestamp(table => '{t}', timestamp => '2026-11-01 12:00:00') to a time; both delete what "
            "came later. CALL sys.rollback_to_as_latest(table => '{t}', version => '{n}') deletes nothing: it makes "
            "the old state the latest snapshot"
        ),
        ("UPDATE", "FROM"): _UPDATE_BY_ROWS,
        ("UPDATE", "JOIN"): _UPDATE_BY_ROWS,
        ("DELETE", "USING"): _DELETE_BY_ROWS,
        ("DELETE", "JOIN"): _DELETE_BY_ROWS,
        ("DESCRIBE", "HISTORY"): "SELECT * FROM {t$snapshots} shows the snapshots",
        ("DESCRIBE", "DETAIL"): "DESCRIBE EXTENDED {t} shows the table, SELECT * FROM {t$options} its options",
        ("CLONE",): _COPY,
        ("FSCK",): "CALL sys.remove_unexisting_files(table => '{t}') takes lost files out of the table",
        ("UNDROP",): "DROP TABLE deletes the files too, so that {t} does not come back; RENAME TO keeps a table",
        ("CONVERT",): "{t} stays a table of Paimon; CREATE TABLE ... USING <format> AS SELECT copies its rows",
        ("REORG",): "CALL sys.compact(table => '{t}', compact_strategy => 'full') rewrites the files",
        ("TABLE_CHANGES",): "SELECT * FROM paimon_incremental_query('{t}', 1, 3) reads what the commits 2 and 3 did",
        ("@",): "write {t} VERSION AS OF 1, or TIMESTAMP AS OF '2026-11-01 12:00:00'",
        ("BRANCH",): "CALL sys.create_branch(table => '{t}', branch => 'b1') makes a branch, sys.delete_branch ends it",
        ("PARTITION", "FIELD"): "a table is partitioned by columns, for good: create another table and INSERT the rows",
        ("CONSTRAINT",): (
            "a table has no constraints but NOT NULL and its primary key, which TBLPROPERTIES ('primary-key' = 'id') "
            "declares when it is created"
        ),
        ("WRITE", "ORDERED"): _SORTED,
        ("CLUSTER", "BY"): _SORTED,
    }
)
"""Words of a statement of Delta Lake or Iceberg, in capitals -> what is written here.

``{t}`` is the table, ``{t$snapshots}`` a system table of it, ``{n}`` a snapshot.
"""
