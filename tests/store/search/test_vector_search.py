"""The rows whose vectors are nearest to one: equal to those of a naive model, on tables of every kind of vectors."""

from __future__ import annotations

import math
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import tries

from paimon_spark import create_table, open_table
from paimon_spark.errors import DataError, OptionError, PaimonError, UnsupportedFeature
from paimon_spark.store.open import ReadableTable

SCORE = "__paimon_search_score"
NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1.5])
VECTORS = st.lists(st.none() | st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=12)
TYPES = ("ARRAY<FLOAT>", "VECTOR<FLOAT, 3>", "ARRAY<DOUBLE>")


def vectors_table(path: Path, rows: list[Any], kind: str, **options: str) -> ReadableTable:
    """A table of some vectors, written by two commits."""
    table = create_table(str(path), {"id": "BIGINT", "e": kind}, options=options)
    half = len(rows) // 2
    for start, part in ((0, rows[:half]), (half, rows[half:])):
        given = [{"id": start + i, "e": None if e is None else list(e)} for i, e in enumerate(part)]
        table.append(pa.Table.from_pylist(given, table.scan().arrow_schema))
    found = open_table(str(path))
    assert isinstance(found, ReadableTable)
    return found


def distance(metric: str, one: Any, other: Any) -> float:
    """As the definition says, of exact numbers."""
    a, b = [Fraction(x) for x in one], [Fraction(x) for x in other]
    product = sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))
    if metric == "l2":
        return float(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))
    if metric == "inner_product":
        return float(-product)
    lengths = sum(x * x for x in a) * sum(y * y for y in b)
    return 1.0 if not lengths else 1.0 - float(product) / math.sqrt(lengths)


@given(
    vectors=VECTORS, wanted=st.tuples(NUMBERS, NUMBERS, NUMBERS), count=st.integers(1, 14), kind=st.sampled_from(TYPES),
    metric=st.sampled_from(["l2", "cosine", "inner_product"]), least=st.integers(0, 6),
)  # fmt: skip
@settings(max_examples=tries("PAIMON_VECTOR_SEARCHES", ci=25, long=2000), deadline=None)
def test_the_rows_are_the_nearest_ones(
    vectors: list[Any], wanted: Any, count: int, kind: str, metric: str, least: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = vectors_table(Path(folder) / "t", vectors, kind)
        found = table.scan(["id"], f"id >= {least}").vector_search("E", wanted, count, {"metric": metric})
    assert found.column_names == ["id", SCORE]
    by_id = {i: distance(metric, e, wanted) for i, e in enumerate(vectors) if e is not None and i >= least}
    mine = [by_id[i] for i in found["id"].to_pylist()]
    assert mine == pytest.approx(sorted(by_id.values())[:count], abs=1e-12), "the nearest, the nearest first"
    assert len(set(found["id"].to_pylist())) == len(mine)
    score = {"l2": lambda d: 1 / (1 + d), "cosine": lambda d: 1 - d, "inner_product": lambda d: -d}[metric]
    assert found[SCORE].to_pylist() == pytest.approx([score(d) for d in mine], rel=1e-6, abs=1e-6)


def test_merged_and_deleted_rows_are_searched_as_they_are(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("e", pa.list_(pa.float32(), 2))])
    table = create_table(str(tmp_path / "t"), schema, primary_keys="id", options={"bucket": "1"})
    table.append([{"id": i, "e": [i, 0]} for i in range(5)])
    table.append([{"id": 1, "e": [9, 9]}, {"id": 2, "e": None}])
    table.delete("id = 0")
    assert table.scan(["id"]).vector_search("e", [0, 0], 2)["id"].to_pylist() == [3, 4]


def test_more_rows_than_are_held(tmp_path: Path) -> None:
    table = create_table(str(tmp_path / "t"), pa.schema({"id": pa.int64(), "e": pa.list_(pa.float32(), 1)}))
    values = pa.array(range(200_000), pa.float32())
    table.append(pa.table({"id": range(200_000), "e": pa.FixedSizeListArray.from_arrays(values, 1)}))
    found = table.scan(["id"]).vector_search("e", [150_000.25], 70_001)["id"].to_pylist()
    assert found[:3] == [150_000, 150_001, 149_999]
    assert sorted(found) == list(range(115_000, 185_001))


def test_a_vector_without_distance_comes_last(tmp_path: Path) -> None:
    table = vectors_table(tmp_path / "t", [(math.nan, 0, 0), (5, 5, 5), (math.inf, 0, 0), (1, 1, 1)], TYPES[0])
    assert table.scan(["id"]).vector_search("e", [0, 0, 0], 9)["id"].to_pylist() == [3, 1, 2, 0]
    assert table.scan(["id"]).vector_search("e", [0, 0, 0], 2)["id"].to_pylist() == [3, 1]


@pytest.mark.parametrize(
    "options",
    [
        {"fields.e.distance.metric": "inner-product"},
        {"fields.e.distance.metric": "INNER_PRODUCT", "lumina.distance.metric": "l2"},
        {"lumina.distance.metric": "inner_product"},
        {"ivf-pq.distance.metric": "inner_product"},
    ],
)
def test_the_options_of_the_table_say_the_metric(tmp_path: Path, options: dict[str, str]) -> None:
    table = vectors_table(tmp_path / "t", [(1, 0, 0), (9, 0, 0)], TYPES[0], **options)
    scan = table.scan(["id"])
    assert scan.vector_search("e", [1, 0, 0], 1)["id"].to_pylist() == [1]
    assert scan.vector_search("e", [1, 0, 0], 1, {"metric": "l2"})["id"].to_pylist() == [0]


def test_the_options_of_the_read_say_the_metric(tmp_path: Path) -> None:
    vectors_table(tmp_path / "t", [(1, 0, 0), (9, 0, 0)], TYPES[0])
    read = open_table(str(tmp_path / "t"), {"fields.e.distance.metric": "inner_product"})
    assert isinstance(read, ReadableTable)
    assert read.scan(["id"]).vector_search("e", [1, 0, 0], 1)["id"].to_pylist() == [1]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("id", [1.0], 1), UnsupportedFeature, "the column 'id' is BIGINT, and vectors are ARRAY or VECTOR of FLOAT"),
        (("e", [1.0, 2.0], 1), DataError, "looked for has 2 numbers, and one of 'e' has 3"),
        (("e", [1, 2, 3], 0), OptionError, "0 rows are asked for; ask for 1 or more"),
        (("e", [1, 2, math.nan], 1), OptionError, "give finite numbers in a row"),
        (("e", [], 1), OptionError, "give finite numbers in a row"),
        (("e", "abc", 1), OptionError, "the vector is 'abc'; give numbers"),
        (("e", [1, 2, 3], 1, {"metric": "hamming"}), OptionError, "the metric 'hamming' is not known"),
        (("e", [1, 2, 3], 1, {"x": "y"}), OptionError, "'x' is no option of a search"),
        (("e", [1, 2, 3], 1, {"ivf-pq.metric": "hamming"}), OptionError, "the metric 'hamming' is not known"),
        (("e", [1, 2, 3], 1, {"metric": "l2", "fields.e.metric": "cosine"}), OptionError, "the metrics cosine and l2"),
        (("e", [1, 2, 3], 1, {"fields.f.metric": "l2"}), OptionError, "'fields.f.metric' is no option of a search"),
        (("e", [1, 2, 3], 1, {"my.refine_factor": "2"}), OptionError, "'my.refine_factor' is no option of a search"),
        (("f", [1, 2, 3], 1), OptionError, "no column 'f'"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    tmp_path: Path, arguments: Any, error: type[PaimonError], message: str
) -> None:
    table = vectors_table(tmp_path / "t", [(1, 2, 3)], TYPES[0])
    with pytest.raises(error, match=message):
        table.scan().vector_search(*arguments)


def test_lengths_of_vectors(tmp_path: Path) -> None:
    fixed = vectors_table(tmp_path / "f", [(1, 2, 3)], TYPES[1])
    with pytest.raises(OptionError, match="the vector has 2 numbers, and those of 'e' have 3"):
        fixed.scan().vector_search("e", [1, 2], 1)
    loose = vectors_table(tmp_path / "l", [(1, 2, 3), (1, 2), (1, None)], TYPES[0])
    assert loose.scan(["id"], "id = 0").vector_search("e", [1, 2, 3], 3)["id"].to_pylist() == [0]
    with pytest.raises(DataError, match="one of 'e' has 2"):
        loose.scan(where="id < 2").vector_search("e", [1, 2, 3], 3)
    with pytest.raises(DataError, match="has a NULL among its numbers"):
        loose.scan(where="id = 2").vector_search("e", [1, 2], 3)
