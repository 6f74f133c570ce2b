"""The first look at integer statistics agrees with the full one, on well-formed and on odd statistics."""

from __future__ import annotations

import operator
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.arrow.predicates.predicate import And, Compare, In, Op, Or, Predicate
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import EMPTY_ROW, EMPTY_STATS, DataFileMeta, ManifestEntry, SimpleStats
from paimon_spark.format.manifests.codec import encode_manifest
from paimon_spark.format.manifests.columns import columns_of_entries, decode_manifests
from paimon_spark.format.schema import TableSchema, encode_schema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.metadata.schemas import SchemaStore
from paimon_spark.store.pruning.file_filter import FileFilter
from paimon_spark.store.pruning.integer_stats import leave_out_by_integers

INT, BIGINT, TINY = DataType(Root.INT), DataType(Root.BIGINT), DataType(Root.TINYINT)
TEXT = DataType(Root.VARCHAR, length=50)
OLD = TableSchema(0, (DataField(0, "k", INT), DataField(1, "b", BIGINT), DataField(2, "t", TINY)), 2, (), ("k",))
# b was renamed, t became INT, n is new.
NEW = TableSchema(
    1,
    (DataField(3, "n", INT), DataField(1, "big", BIGINT), DataField(0, "k", INT), DataField(2, "t", INT),
     DataField(4, "s", TEXT)),
    4, (), ("k",),
)  # fmt: skip
TYPES = {0: (INT, BIGINT, TINY), 1: (INT, BIGINT, INT, INT, TEXT)}
SCHEMAS = {0: OLD, 1: NEW}
EDGES = {INT: 2**31 - 1, BIGINT: 2**63 - 1, TINY: 127}


@pytest.fixture(scope="module")
def schemas() -> SchemaStore:
    root = Path(tempfile.mkdtemp())
    (root / "schema").mkdir()
    for schema in SCHEMAS.values():
        (root / "schema" / f"schema-{schema.id}").write_bytes(encode_schema(schema))
    return SchemaStore(LocalFileIO(), str(root))


def values(data_type: DataType) -> st.SearchStrategy[Any]:
    if data_type == TEXT:
        return st.sampled_from([None, "a", "a long text of the variable part"])
    edge = EDGES[data_type]
    return st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([edge, -edge - 1]))


@st.composite
def stats_of(draw: st.DrawFn, types: tuple[DataType, ...]) -> SimpleStats:
    if draw(st.integers(0, 9)) == 0:
        return EMPTY_STATS
    low, high = [], []
    for data_type in types:
        pair = [draw(values(data_type)), draw(values(data_type))]
        pair = sorted(pair) if None not in pair else pair
        low.append(pair[0])
        high.append(pair[1])
    return SimpleStats(encode_arity_row(low, types), encode_arity_row(high, types), (None,) * len(types))


@st.composite
def files(draw: st.DrawFn) -> DataFileMeta:
    schema_id = draw(st.sampled_from([0, 1]))
    schema = SCHEMAS[schema_id]
    kept = draw(st.one_of(st.none(), st.lists(st.sampled_from(schema.names), unique=True).map(tuple)))
    types = TYPES[schema_id] if kept is None else tuple(schema.by_name[name].type for name in kept)
    key = encode_arity_row((0,), (INT,))
    return DataFileMeta(
        "f.parquet", 1, 5, key, key, draw(stats_of((INT,))), draw(stats_of(types)), 0, 0, schema_id, 0,
        value_stats_cols=kept,
    )  # fmt: skip


literals = st.one_of(st.integers(-4, 4), st.sampled_from([2**31 - 1, -(2**31), 2**63 - 2, 1 - 2**63, 2**63, -(2**70)]))
leaves = st.sampled_from(["k", "big", "t", "n"]).flatmap(
    lambda name: st.one_of(
        st.builds(Compare, st.just((name,)), st.sampled_from(list(Op)), literals),
        st.builds(lambda found: In((name,), tuple(found)), st.lists(literals, max_size=4)),
    )
)


@given(
    found=st.lists(files(), min_size=1, max_size=8),
    parts=st.lists(st.one_of(leaves, st.builds(lambda *p: Or(p), leaves, leaves)), min_size=1, max_size=3),
    only_keys=st.booleans(),
)
def test_agrees_with_the_full_filter(
    found: list[DataFileMeta], parts: list[Predicate], only_keys: bool, schemas: SchemaStore
) -> None:
    where = And(tuple(parts)) if len(parts) > 1 else parts[0]
    named = [file._replace(file_name=f"{i}.parquet") for i, file in enumerate(found)]
    entries = [ManifestEntry(0, EMPTY_ROW, 0, 1, file) for file in named]
    columns = decode_manifests([("m", encode_manifest(entries))])
    live = np.arange(len(entries))
    left = {int(i) for i in leave_out_by_integers(columns, live, where, NEW, schemas, only_keys)}
    full = FileFilter(where, NEW, schemas)
    kept = {named.index(file) for file in (full.matching_keys(named) if only_keys else full.matching_values(named))}
    assert kept <= left
    plain = [part for part in parts if isinstance(part, Compare)]
    if len(plain) == len(parts) == 1 and plain[0].column == ("k",) and plain[0].op is Op.EQ and only_keys:
        assert kept == left  # what it covers it leaves out for good


@pytest.mark.parametrize("only_keys", [False, True])
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Compare(("k",), Op.EQ, 7), [2]),
        (In(("k",), (0, 8)), [0, 2]),
        (And((Compare(("k",), Op.LT, 5), Compare(("k",), Op.GT, 2))), [0]),
        (Or((Compare(("k",), Op.EQ, 7), Compare(("k",), Op.EQ, 7))), [0, 2, 3]),
        (Compare(("s",), Op.EQ, "a"), [0, 2, 3]),
    ],
    ids=str,
)
def test_which_files_are_left_out(where: Predicate, expected: list[int], only_keys: bool, schemas: SchemaStore) -> None:
    """Files of k from 0 to 4, 5 to 9, 5 to 9 and from 10 to 14; the second is not live."""
    entries = []
    for number, low in enumerate((0, 5, 5, 10)):
        pair = [encode_arity_row((end,), (INT,)) for end in (low, low + 4)]
        stats = SimpleStats(pair[0], pair[1], (0,))
        file = DataFileMeta(f"{number}", 1, 5, *pair, stats, stats, 0, 0, 1, 0, value_stats_cols=("k",))
        entries.append(ManifestEntry(0, EMPTY_ROW, 0, 1, file))
    columns = decode_manifests([("m", encode_manifest(entries))])
    live = np.array([0, 2, 3])
    assert leave_out_by_integers(columns, live, where, NEW, schemas, only_keys).tolist() == expected
    assert leave_out_by_integers(columns, live[:0], where, NEW, schemas, only_keys).tolist() == []


def test_a_file_without_room_for_the_row_it_claims(schemas: SchemaStore) -> None:
    """A damaged row is not read beyond its end; the full filter names the file."""
    short = SimpleStats(encode_arity_row((1, 2, 3), TYPES[0])[:20], encode_arity_row((1, 2, 3), TYPES[0]), None)
    file = DataFileMeta("f", 1, 5, EMPTY_ROW, EMPTY_ROW, EMPTY_STATS, short, 0, 0, 0, 0)
    columns = decode_manifests([("m", encode_manifest([ManifestEntry(0, EMPTY_ROW, 0, 1, file)]))])
    where = Compare(("big",), Op.EQ, 1)
    assert leave_out_by_integers(columns, np.arange(1), where, NEW, schemas, False).tolist() == [0]


def test_a_file_without_statistics_in_a_table_of_many_columns(schemas: SchemaStore) -> None:
    """Where the mark of a null value of the last column would stand, the manifest may have ended."""
    wide = TableSchema(0, tuple(DataField(i, f"c{i}", INT) for i in range(20_000)), 19_999)
    file = DataFileMeta("f", 1, 5, EMPTY_ROW, EMPTY_ROW, EMPTY_STATS, EMPTY_STATS, 0, 0, 0, 0)
    entries = [ManifestEntry(0, EMPTY_ROW, 0, 1, file)]
    where = Compare(("c19999",), Op.EQ, 1)
    for columns in (decode_manifests([("m", encode_manifest(entries))]), columns_of_entries("m", entries)):
        assert leave_out_by_integers(columns, np.arange(1), where, wide, schemas, False).tolist() == [0]


COMPARE = {
    Op.EQ: operator.eq,
    Op.NULL_SAFE_EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}


@pytest.mark.parametrize("only_keys", [False, True])
def test_a_file_stays_just_if_one_of_its_values_may_match(only_keys: bool, schemas: SchemaStore) -> None:
    """Every comparison with every value around files of 0 to 4, of 7 alone, and of 9 to 12."""
    spans = ((0, 4), (7, 7), (9, 12))
    entries = []
    for number, span in enumerate(spans):
        low, high = (encode_arity_row((end,), (INT,)) for end in span)
        stats = SimpleStats(low, high, (0,))
        file = DataFileMeta(f"{number}", 1, 5, low, high, stats, stats, 0, 0, 1, 0, value_stats_cols=("k",))
        entries.append(ManifestEntry(0, EMPTY_ROW, 0, 1, file))
    columns = decode_manifests([("m", encode_manifest(entries))])

    def left(where: Predicate) -> list[int]:
        return leave_out_by_integers(columns, np.arange(3), where, NEW, schemas, only_keys).tolist()

    for value in range(-1, 14):
        for op, compare in COMPARE.items():
            expected = [i for i, (a, b) in enumerate(spans) if any(compare(k, value) for k in range(a, b + 1))]
            assert left(Compare(("k",), op, value)) == expected, (op, value)
        both = (value, value + 3)
        expected = [i for i, (a, b) in enumerate(spans) if any(a <= k <= b for k in both)]
        assert left(In(("k",), both)) == expected, both
