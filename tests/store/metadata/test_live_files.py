"""Entries folded as columns give what folding them one by one gives."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import EMPTY_ROW, EMPTY_STATS, DataFileMeta, FileKind, ManifestEntry
from paimon_spark.format.manifests.codec import encode_manifest
from paimon_spark.format.manifests.columns import ManifestColumns, decode_manifests
from paimon_spark.format.types import DataType, Root
from paimon_spark.store.metadata.live_files import canonical_partitions, canonical_row, fold, group_by_bucket

DECIMAL = DataType(Root.DECIMAL, precision=25, scale=2)
# A null of a wide decimal in the two forms that writers give it (format section 5.1).
PLAIN_NULL = (1).to_bytes(4, "big") + bytes([0, 1]) + bytes(14)
RESERVED_NULL = encode_arity_row((None,), (DECIMAL,))
PARTITIONS = [PLAIN_NULL, RESERVED_NULL, encode_arity_row((Decimal("1.50"),), (DECIMAL,))]

FILE = DataFileMeta("f", 1, 1, EMPTY_ROW, EMPTY_ROW, EMPTY_STATS, EMPTY_STATS, 0, 0, 0, 0)


def entry(
    kind: int, partition: bytes, bucket: int, name: str, level: int, elsewhere: str | None = None, **more: Any
) -> ManifestEntry:
    if elsewhere is not None:
        more["external_path"] = f"{elsewhere}/bucket-{bucket}/{name}"
    return ManifestEntry(kind, partition, bucket, 4, FILE._replace(file_name=name, level=level, **more))


entries = st.lists(
    st.builds(
        entry,
        st.sampled_from([0, 0, 1]),
        st.sampled_from(PARTITIONS),
        st.integers(0, 1),
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from([0, 5]),
        extra_files=st.sampled_from([(), ("a.index",)]),
        elsewhere=st.sampled_from([None, "file:/x"]),
    ),
    max_size=25,
)


def valid(history: list[ManifestEntry]) -> list[ManifestEntry]:
    """The history less what no writer does: adding what is there, deleting what is not."""
    alive: set[Any] = set()
    kept = []
    for one in history:
        identity = (canonical_row(one.partition, (DECIMAL,)), *one.identity[1:])
        if (one.kind == FileKind.ADD) == (identity in alive):
            continue
        alive ^= {identity}
        kept.append(one)
    return kept


def columns_of(history: list[ManifestEntry], cut: int) -> ManifestColumns:
    parts = [history[:cut], history[cut:]]
    return decode_manifests([(str(i), encode_manifest(part)) for i, part in enumerate(parts)])


def live(columns: ManifestColumns) -> list[ManifestEntry]:
    codes = canonical_partitions(columns, (DECIMAL,))[columns.partition_code]
    return columns.entries(fold(columns, codes, np.arange(len(columns))))


@given(history=entries, cut=st.integers(0, 25))
def test_fold(history: list[ManifestEntry], cut: int) -> None:
    history = valid(history)
    expected: dict[Any, ManifestEntry] = {}
    for one in history:
        identity = (canonical_row(one.partition, (DECIMAL,)), *one.identity[1:])
        if one.kind == FileKind.ADD:
            expected[identity] = one
        else:
            del expected[identity]
    found = live(columns_of(history, cut))
    assert sorted(map(repr, found)) == sorted(map(repr, expected.values()))
    last_added = {repr(one): i for i, one in enumerate(history)}  # the same file may come, go and come back
    positions = [last_added[repr(one)] for one in found]
    assert positions == sorted(positions)


def test_an_upgraded_file_lives_on_at_its_new_level() -> None:
    history = [
        entry(0, PLAIN_NULL, 0, "a", 0),
        entry(1, PLAIN_NULL, 0, "a", 0),
        entry(0, PLAIN_NULL, 0, "a", 5),
    ]
    assert live(columns_of(history, 1)) == history[2:]
    assert live(columns_of([history[0], history[2], history[1]], 1)) == history[2:]


def test_a_delete_with_other_bytes_of_the_same_partition() -> None:
    assert live(columns_of([entry(0, PLAIN_NULL, 0, "a", 0), entry(1, RESERVED_NULL, 0, "a", 0)], 1)) == []


def test_a_file_replaced_by_itself_with_an_index() -> None:
    old, new = entry(0, PLAIN_NULL, 0, "a", 0), entry(0, PLAIN_NULL, 0, "a", 0, extra_files=("a.index",))
    assert live(columns_of([old, old._replace(kind=1), new], 1)) == [new]
    assert live(columns_of([old, new, old._replace(kind=1)], 1)) == [new]


def test_a_deletion_of_a_file_added_elsewhere_is_no_file() -> None:
    assert live(columns_of([entry(1, PLAIN_NULL, 0, "a", 0)], 0)) == []


def test_no_entries() -> None:
    columns = decode_manifests([])
    assert len(columns) == 0
    assert live(columns) == []
    assert group_by_bucket(columns, np.empty(0, np.int64), np.empty(0, np.int64)) == []


@given(history=entries)
def test_groups(history: list[ManifestEntry]) -> None:
    columns = columns_of(history, 0)
    codes = canonical_partitions(columns, (DECIMAL,))[columns.partition_code]
    groups = group_by_bucket(columns, codes, np.arange(len(columns)))
    assert sorted(i for group in groups for i in group.tolist()) == list(range(len(history)))
    places = [{(int(codes[i]), history[i].bucket) for i in group.tolist()} for group in groups]
    assert all(len(each) == 1 for each in places)
    assert len(set.union(*places, set())) == len(groups)
    assert all(group.tolist() == sorted(group.tolist()) for group in groups)
