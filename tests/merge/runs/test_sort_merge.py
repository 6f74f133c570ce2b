"""The merge of sorted runs against the naive model, and its adversarial cases."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import examples
from support.oracles.merge_model import KEY_VALUES, Case, Row, Rules, draw_case, merge_naively, text_of

from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.merge.keys.window import MergeSpec
from paimon_spark.merge.runs.sort_merge import merge_runs

BIGINT = DataType(Root.BIGINT, nullable=False)
OUTPUT = ["text", "payload"]
PLAIN = MergeSpec((DataField(0, "k", BIGINT),), has_sequence=False, has_kind=False)


def spec_of(case: Case) -> MergeSpec:
    rules = case.rules
    return MergeSpec(
        key_fields=case.key_fields,
        sequence_fields=case.user_fields if rules.by_user else (),
        sequence_descending=rules.descending,
        ignore_delete=rules.ignore_delete,
        ignore_update_before=rules.ignore_update_before,
        keep_deletes=rules.keep_deletes,
        has_sequence=rules.by_sequence,
        has_kind=True,
    )


def check(case: Case, ordered: bool, batch_rows: int = 65536) -> None:
    expected = merge_naively(case.runs, case.rules)
    runs = [case.batches(run) for run in case.runs]
    merged = list(merge_runs(runs, spec_of(case), OUTPUT, batch_rows, ordered))
    payloads = [value for batch in merged for value in batch.column("payload").to_pylist()]
    texts = [value for batch in merged for value in batch.column("text").to_pylist()]
    if not ordered:
        assert sorted(payloads) == sorted(row.payload for row in expected)
    else:
        assert payloads == [row.payload for row in expected]
    assert texts == [text_of(payload) for payload in payloads]
    assert all(batch.schema.names == OUTPUT and batch.num_rows for batch in merged)


@settings(max_examples=examples(1500))
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([1, 8, 65536]))
def test_any_runs_under_any_rules(seed: int, ordered: bool, batch_rows: int) -> None:
    check(draw_case(seed), ordered, batch_rows)


def garbled(values: list[int], valid: list[bool]) -> pa.Array:
    """int64 with arbitrary bits where a value is null, as a decoder may leave them."""
    bits = np.packbits(valid, bitorder="little").tobytes()
    return pa.Array.from_buffers(
        pa.int64(), len(values), [pa.py_buffer(bits), pa.py_buffer(np.array(values, np.int64).tobytes())]
    )


@pytest.mark.parametrize("descending", [False, True])
def test_null_sequences_are_equal_whatever_lies_under_them(descending: bool) -> None:
    spec = MergeSpec(
        (DataField(0, "k", BIGINT),),
        sequence_fields=(DataField(1, "u", BIGINT),),
        sequence_descending=descending,
        has_kind=False,
    )
    runs = [
        pa.record_batch({"k": [1], "u": garbled([values], [False]), "_SEQUENCE_NUMBER": [sequence]})
        for values, sequence in ((5, 3), (-(2**63), 9), (2**63 - 1, 4))
    ]
    merged = list(merge_runs([iter([run]) for run in runs], spec, ["_SEQUENCE_NUMBER"]))
    assert [batch.to_pydict() for batch in merged] == [{"_SEQUENCE_NUMBER": [9]}]


@pytest.mark.parametrize("data_type", list(KEY_VALUES), ids=str)
def test_each_key_type_merges_all_its_values(data_type: DataType) -> None:
    values = KEY_VALUES[data_type]
    order = {id(v): i for i, v in enumerate(values)}
    drawn = draw_case(0)
    everything = [Row((v,), order[id(v)] + 1) for v in values]
    case = Case((data_type,), (), [], Rules(by_sequence=False), drawn.random)
    ordered = merge_naively([everything], case.rules)
    newer = [Row(row.key, row.payload + 100) for row in ordered]
    case.runs = [ordered, newer, newer[::2]]
    check(case, ordered=True)
    check(case, ordered=False)


# Windows of many rows, so that every kernel is met.


def number_batches(keys: np.ndarray[Any, Any], first: int, size: int) -> Iterator[pa.RecordBatch]:
    payload = np.arange(first, first + len(keys))
    batch = pa.record_batch({"k": pa.array(keys), "payload": payload})
    for start in range(0, len(keys), size):
        yield batch.slice(start, size)


@pytest.mark.parametrize("spread", [1, 7, 1000, 2**40], ids=lambda spread: f"spread {spread}")
@pytest.mark.parametrize("ordered", [False, True])
def test_many_rows_of_dense_and_sparse_keys(spread: int, ordered: bool) -> None:
    source = np.random.default_rng(spread)
    expected: dict[int, int] = {}
    runs = []
    first = 0
    for size in (6000, 700, 3000, 1):
        keys = (np.sort(source.choice(8000, size, replace=False)) - 4000) * spread
        runs.append(number_batches(keys, first, 999))
        expected.update(zip(keys.tolist(), range(first, first + size), strict=True))
        first += size
    merged = pa.Table.from_batches(merge_runs(runs, PLAIN, ["k", "payload"], 2048, ordered))
    keys = merged["k"].to_pylist()
    if ordered:
        assert keys == sorted(keys)
    assert len(keys) == len(set(keys))
    assert dict(zip(keys, merged["payload"].to_pylist(), strict=True)) == expected


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("shape", ["prefix", "uuid", "varied", "long", "pair"])
def test_many_rows_of_text_keys(shape: str, ordered: bool) -> None:
    source = random.Random(shape)
    make = {
        "prefix": lambda i: f"customer-{i:08d}",
        "uuid": lambda i: f"{random.Random(i).getrandbits(128):032x}",
        "varied": lambda i: ("a" * (i % 40)) + chr(i % 3) + "z" * (i % 5),
        "long": lambda i: "p" * 300 * (i % 2) + str(i),
        "pair": lambda i: str(i // 7),
    }[shape]
    fields = (DataField(0, "a", DataType(Root.SMALLINT)), DataField(1, "b", DataType(Root.VARCHAR)))
    expected: dict[tuple[int, bytes], int] = {}
    runs = []
    for number in range(4):
        keys = {(i % 7 if shape == "pair" else 0, make(i)) for i in source.sample(range(3000), 1200)}
        rows = sorted((a, b.encode()) for a, b in keys)
        payload = range(number * 10000, number * 10000 + len(rows))
        expected.update(zip(rows, payload, strict=True))
        columns = {"a": pa.array([a for a, _ in rows], pa.int16()), "b": pa.array([b.decode() for _, b in rows])}
        batch = pa.record_batch({**columns, "payload": pa.array(payload, pa.int64())})
        runs.append(iter([batch.slice(0, 500), batch.slice(500, 0), batch.slice(500, 33), batch.slice(533)]))
    names = ["b"] if shape != "pair" else ["a", "b"]
    spec = MergeSpec(tuple(f for f in fields if f.name in names), has_sequence=False, has_kind=False)
    merged = pa.Table.from_batches(merge_runs(runs, spec, ["a", "b", "payload"], 1000, ordered)).to_pylist()
    found = {(row["a"], row["b"].encode()): row["payload"] for row in merged}
    assert len(found) == len(merged)
    assert found == expected
    if ordered:
        assert list(found) == sorted(found)


@pytest.mark.parametrize("ordered", [False, True])
def test_many_rows_distinguished_by_sequence_number(ordered: bool) -> None:
    source = np.random.default_rng(3)
    spec = MergeSpec((DataField(0, "k", BIGINT),))
    best: dict[int, tuple[int, bool, int]] = {}
    runs = []
    for number in range(6):
        keys = np.sort(source.choice(5000, 2500, replace=False))
        sequences, kinds = source.integers(0, 50, 2500), source.integers(0, 4, 2500).astype(np.int8)
        for key, sequence, kind in zip(keys.tolist(), sequences.tolist(), kinds.tolist(), strict=True):
            best[key] = max(best.get(key, (-1, False, 0)), (sequence, kind in (0, 2), number))
        columns = {"k": keys, "_SEQUENCE_NUMBER": sequences, "_VALUE_KIND": kinds, "run": np.full(2500, number)}
        batch = pa.record_batch(columns)
        runs.append(iter([batch.slice(start, 700) for start in range(0, 2500, 700)]))
    merged = pa.Table.from_batches(merge_runs(runs, spec, ["k", "run"], 1000, ordered))
    found = dict(zip(merged["k"].to_pylist(), merged["run"].to_pylist(), strict=True))
    assert len(found) == merged.num_rows
    assert found == {key: number for key, (_, adds, number) in best.items() if adds}


def test_more_runs_than_a_byte_can_number() -> None:
    runs = [number_batches(np.arange(i % 3, 40, 2), 1000 * i, 7) for i in range(300)]
    merged = pa.Table.from_batches(merge_runs(runs, PLAIN, ["k", "payload"])).to_pylist()
    newest = {k: max(i for i in range(300) if k >= i % 3 and (k - i % 3) % 2 == 0) for k in range(40)}
    assert {row["k"]: row["payload"] // 1000 for row in merged} == newest


def test_one_key_in_thousands_of_rows_and_batches() -> None:
    spec = MergeSpec((DataField(0, "k", BIGINT),), has_kind=False)
    source = random.Random(5)
    sequences = source.sample(range(10**9), 3000)
    best = sequences.index(max(sequences))

    def rows(numbers: range) -> Iterator[pa.RecordBatch]:
        for i in numbers:
            yield pa.record_batch({"k": [7], "_SEQUENCE_NUMBER": [sequences[i]], "payload": [i]})

    merged = list(merge_runs([rows(range(0, 1500)), rows(range(1500, 3000))], spec, ["payload"]))
    assert [batch.to_pylist() for batch in merged] == [[{"payload": best}]]


def test_rows_of_a_lone_run_pass_without_a_copy() -> None:
    batch = pa.record_batch({"k": np.arange(70000), "payload": np.arange(70000)})
    (merged,) = merge_runs([iter([batch])], PLAIN, ["payload"])
    assert merged.column("payload").buffers()[1].address == batch.column("payload").buffers()[1].address


def test_a_window_never_holds_more_than_the_open_batches() -> None:
    opened = []

    def batches(run: int) -> Iterator[pa.RecordBatch]:
        for i in range(50):
            opened.append((run, i))
            yield pa.record_batch({"k": np.arange(i * 100, i * 100 + 100), "payload": np.arange(100)})

    merged = merge_runs([batches(0), batches(1), batches(2)], PLAIN, ["k"], 100)
    for done, _ in enumerate(merged):
        assert max(i for _, i in opened) <= done + 2


def test_small_pieces_come_out_together() -> None:
    runs = [number_batches(np.arange(i, 20000, 2), 0, 50) for i in (0, 1)]
    sizes = [batch.num_rows for batch in merge_runs(runs, PLAIN, ["k"], 4096, ordered=True)]
    assert sum(sizes) == 20000
    assert all(4096 <= size < 4096 + 100 for size in sizes[:-1])


@settings(max_examples=examples(100))
@given(st.integers(0, 2**32), st.booleans())
def test_without_output_columns_the_rows_are_counted(seed: int, ordered: bool) -> None:
    case = draw_case(seed)
    merged = merge_runs([case.batches(run) for run in case.runs], spec_of(case), [], 8, ordered)
    assert sum(batch.num_rows for batch in merged) == len(merge_naively(case.runs, case.rules))


def test_nothing_in_nothing_out() -> None:
    assert list(merge_runs([], PLAIN, ["k"])) == []
    assert list(merge_runs([iter([]), number_batches(np.arange(0), 0, 1)], PLAIN, ["k"])) == []


def test_a_null_key_is_refused_by_name() -> None:
    batch = pa.record_batch({"k": pa.array([1, None], pa.int64())})
    with pytest.raises(CorruptFile, match="'k' holds 1 nulls"):
        list(merge_runs([iter([batch])], PLAIN, ["k"]))


def test_a_key_without_an_order_is_refused_by_name() -> None:
    batch = pa.record_batch({"k": pa.array([[1]], pa.list_(pa.int64()))})
    with pytest.raises(UnsupportedFeature, match=r"column 'k'.*list"):
        list(merge_runs([iter([batch])], PLAIN, ["k"]))
