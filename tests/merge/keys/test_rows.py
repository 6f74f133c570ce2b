"""Rows that are taken are those that pyarrow takes, whatever the lengths of texts are and wherever an array begins."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from paimon_spark.merge.keys.rows import combine_rows, one_batch, take

COUNT = 3000
COLUMNS = {
    "texts of one length": pa.array([f"{number:07}" for number in range(COUNT)]),
    "bytes of one length": pa.array([b"%04d" % number for number in range(COUNT)]),
    "texts of many lengths": pa.array([str(number) for number in range(COUNT)]),
    "lengths that differ in the second half": pa.array(["a" if n < 2 * COUNT // 3 else "" for n in range(COUNT)]),
    "texts of many lengths, as long as if they had one": pa.array(["ab", "a", "abc"] * (COUNT // 3)),
    "empty texts": pa.array([""] * COUNT),
    "nulls": pa.array([None if number % 3 else "xy" for number in range(COUNT)]),
    "large": pa.array([f"{number:05}" for number in range(COUNT)], pa.large_string()),
    "numbers": pa.array(range(COUNT)),
    "lists": pa.array([[number] for number in range(COUNT)]),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize(("start", "rows"), [(0, COUNT), (1, 1000), (7, 100)])
def test_rows_are_those_of_pyarrow(name: str, start: int, rows: int) -> None:
    batch = pa.record_batch({"a": COLUMNS[name], "b": COLUMNS["numbers"]}).slice(start, rows)
    for numbers in (np.random.default_rng(1).permutation(rows), np.arange(0, rows, 2), np.repeat(np.arange(rows), 2)):
        taken = take(batch, numbers)
        taken.validate(full=True)
        assert taken.equals(batch.take(pa.array(numbers)))
        assert taken.schema == batch.schema


def test_no_rows_and_no_columns() -> None:
    batch = pa.record_batch({"a": COLUMNS["texts of one length"]})
    assert take(batch, np.empty(0, np.int64)).num_rows == 0
    assert take(batch.slice(0, 0), np.empty(0, np.int64)).num_rows == 0
    assert take(batch.select([]), np.arange(1000)).num_columns == 0


def test_one_batch_alone_is_not_copied() -> None:
    batch = pa.record_batch({"a": COLUMNS["numbers"]})
    assert one_batch([batch]) is batch
    (combined,) = combine_rows([batch], 10**6, ordered=True)
    assert combined is batch
    assert one_batch([batch, batch.slice(5, 2)]).column("a").to_pylist() == [*range(COUNT), 5, 6]
