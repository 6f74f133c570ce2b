"""Random manifest entries, manifest lists and index manifests for the tests of their codecs."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import (
    DataFileMeta,
    DeletionRange,
    GlobalIndexMeta,
    IndexManifestEntry,
    ManifestEntry,
    ManifestFileMeta,
    SimpleStats,
)
from paimon_spark.format.types import MAX_LENGTH, DataType, Root

_STRING = DataType(Root.VARCHAR, length=MAX_LENGTH)
_LONG = DataType(Root.BIGINT)

texts = st.text(st.characters(codec="utf-8"), max_size=80)
names = st.text(st.characters(codec="utf-8", exclude_characters="/\\\0"), min_size=1, max_size=60).filter(
    lambda name: name not in (".", "..")
)
roots = st.sampled_from(["/else/where", "file:/else", "file:///else", "s3://bucket", "hdfs://host:8020/a/k=v"])
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.one_of(st.integers(0, 100), st.integers(-(2**63), 2**63 - 1))
count64 = st.one_of(st.integers(0, 100), st.integers(0, 2**63 - 1))
rows = st.one_of(
    st.binary(max_size=30),
    st.builds(lambda text, n: encode_arity_row([text, n], [_STRING, _LONG]), texts, int64),
)
text_tuples = st.lists(texts, max_size=4).map(tuple)
counts = st.lists(st.none() | int64, max_size=40).map(tuple)
stats = st.builds(SimpleStats, rows, rows, st.none() | counts)

_files_of_tables = st.builds(
    DataFileMeta,
    file_name=names,
    file_size=count64,
    row_count=count64,
    min_key=rows,
    max_key=rows,
    key_stats=stats,
    value_stats=stats,
    min_sequence_number=int64,
    max_sequence_number=int64,
    schema_id=int64,
    level=int32,
    extra_files=st.lists(names, max_size=4).map(tuple),
    creation_time=st.none() | int64,
    delete_row_count=st.none() | int64,
    embedded_index=st.none() | st.binary(max_size=600),
    file_source=st.none() | st.integers(0, 1),
    value_stats_cols=st.none() | text_tuples,
    external_path=st.none(),
    first_row_id=st.none() | int64,
    write_cols=st.none() | text_tuples,
    write_cols_sequences=st.none() | st.lists(int64, max_size=3).map(tuple),
)
_external_files = st.builds(
    lambda file, root, bucket: file._replace(external_path=f"{root}/bucket-{bucket}/{file.file_name}"),
    _files_of_tables,
    roots,
    int32 | st.just("postpone"),
)
data_files = _files_of_tables | _external_files
entries = st.builds(ManifestEntry, st.integers(0, 1), rows, int32, int32, data_files)
manifest_metas = st.builds(
    ManifestFileMeta,
    file_name=names,
    file_size=count64,
    num_added_files=count64,
    num_deleted_files=count64,
    partition_stats=stats,
    schema_id=int64,
    min_bucket=st.none() | int32,
    max_bucket=st.none() | int32,
    min_level=st.none() | int32,
    max_level=st.none() | int32,
    min_row_id=st.none() | int64,
    max_row_id=st.none() | int64,
)
deletion_ranges = st.builds(DeletionRange, names, int32, int32, st.none() | int64)
global_indexes = st.builds(
    GlobalIndexMeta,
    int64,
    int64,
    int32,
    st.none() | st.lists(int32, max_size=3).map(tuple),
    st.none() | st.binary(max_size=10),
    st.none() | st.binary(max_size=10),
)
_index_files = st.builds(
    IndexManifestEntry,
    kind=st.integers(0, 1),
    partition=rows,
    bucket=int32,
    index_type=texts,
    file_name=names,
    file_size=count64,
    row_count=count64,
    deletion_ranges=st.none() | st.lists(deletion_ranges, max_size=3).map(tuple),
    external_path=st.none(),
    global_index=st.none() | global_indexes,
)
index_entries = _index_files | st.builds(
    lambda entry, root: replace(entry, external_path=f"{root}/{entry.file_name}"), _index_files, roots
)
