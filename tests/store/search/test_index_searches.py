"""Searches for vectors by indexes: the rows of a look at each, where the index is asked for all that it has."""

from __future__ import annotations

import math
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import examples
from support.oracles.checker import check_table
from support.tables.column_changes import EVOLVED, VECTORS

from paimon_spark import check, create_table, open_table
from paimon_spark.errors import CorruptFile, DataError, MissingFile, OptionError, UnsupportedFeature
from paimon_spark.format.manifest import FileKind, IndexManifestEntry
from paimon_spark.store.checks.global_index_files import check_search_file
from paimon_spark.store.checks.report import Findings, Rule
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.manifest_files import read_global_indexes
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.open import ReadableTable

pytest.importorskip("paimon_vindex")

SCORE = "__paimon_search_score"
KINDS = ("ivf-flat", "ivf-pq", "ivf-sq", "ivf-rq", "diskann")
EXACT = {"global-index.enabled": "false"}
ALL = {"ivf.nprobe": "100000"}
NINES = pc.scalar(pa.scalar([9.0, 9.0], pa.list_(pa.float32())))
SCHEMA = pa.schema({"id": pa.int64(), "e": pa.list_(pa.float32()), "w": pa.int64()})


def table_at(path: Path, kind: pa.DataType | None = None, **options: str) -> ReadableTable:
    schema = SCHEMA if kind is None else SCHEMA.set(1, pa.field("e", kind))
    create_table(str(path), schema, options={**EVOLVED, **VECTORS, **options})
    return opened(path)


def opened(path: Path | str, **options: str) -> ReadableTable:
    found = open_table(str(path), options)
    assert isinstance(found, ReadableTable)
    return found


def rows(start: int, vectors: Any) -> list[dict[str, Any]]:
    return [
        {"id": start + i, "e": None if e is None else [float(x) for x in e], "w": (start + i) % 5}
        for i, e in enumerate(vectors)
    ]


def gaussian(seed: int, count: int, length: int = 6) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, length)).astype(np.float32)


def found(path: Path, vector: Any, count: int, options: Any = (), where: str | None = None, **of: str) -> Any:
    scan = opened(path, **of).scan(["id"], where)
    return scan.vector_search("e", vector, count, dict(options)).to_pydict()


@settings(max_examples=examples(120), deadline=None)
@given(st.integers(0, 2**32))
def test_an_index_that_is_asked_for_all_finds_the_nearest_rows(seed: int) -> None:
    """Random tables: some rows are in no index, deleted, changed, without a vector, or in another partition."""
    random = Random(seed)
    metric = random.choice(["l2", "cosine", "inner_product"])
    kind = random.choice(["ivf-flat", "ivf-flat", "ivf-sq", "ivf-pq", "ivf-rq"])
    refine = {} if kind == "ivf-flat" else {"ivf.refine_factor": "100"}
    with tempfile.TemporaryDirectory() as directory:
        path, count = Path(directory, "t"), 0
        table_at(path, random.choice([None, pa.list_(pa.float32(), 3)]))
        for _ in range(random.randint(1, 4)):
            vectors = [a_vector(random) for _ in range(random.randint(1, 40))]
            opened(path).append(rows(count, vectors))
            count += len(vectors)
            if random.random() < 0.7:
                shard = {"global-index.row-count-per-shard": str(random.choice([7, 20, 1000]))}
                opened(path, **{f"{kind}.distance.metric": metric}, **shard).create_global_index("e", kind)
            if random.random() < 0.4:
                opened(path).delete(f"id in ({random.randrange(count)}, {random.randrange(count)})")
            if random.random() < 0.3:
                opened(path).update("w = 2", {"w": 3})
            if random.random() < 0.2:
                opened(path).compact()
        for _ in range(6):
            vector, most = a_vector(random, always=True), random.choice([1, 3, 10, 500])
            where = random.choice([None, None, "w = 1", "id > 10 and w < 3", "id < 0"])
            ours = found(path, vector, most, {**ALL, **refine, "metric": metric}, where)
            exact = found(path, vector, most, {"metric": metric}, where, **EXACT)
            assert ours[SCORE] == pytest.approx(exact[SCORE], rel=1e-4, abs=1e-4)
            every = found(path, vector, 500, {"metric": metric}, where, **EXACT)
            scores = dict(zip(every["id"], every[SCORE], strict=True))
            assert [scores[row] for row in ours["id"]] == pytest.approx(exact[SCORE], rel=1e-4, abs=1e-4)
        check_table(str(path))


def a_vector(random: Random, always: bool = False) -> list[float] | None:
    if not always and random.random() < 0.15:
        return None
    return [random.choice([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 0.125]) for _ in range(3)]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_finds_about_the_nearest_rows(tmp_path: Path, kind: str) -> None:
    path, vectors = tmp_path / "t", gaussian(1, 600)
    table_at(path).append(rows(0, vectors))
    made = opened(path, **{f"{kind}.distance.metric": "l2"}).create_global_index("e", kind)
    assert (made.files, made.rows) == (1, 600)
    wide = {"diskann.l_search": "600"} if kind == "diskann" else ALL
    hits = 0
    for row in range(0, 600, 60):
        nearest = np.argsort(((vectors - vectors[row]) ** 2).sum(1))[:10]
        hits += len(set(nearest.tolist()) & set(found(path, vectors[row], 10, wide)["id"]))
        assert found(path, vectors[row], 1)["id"] == [row]
    assert hits >= (50 if kind == "ivf-pq" else 95), "of 100"
    assert len(found(path, vectors[0], 500)["id"]) == 500, "no less than there are, however little is looked at"


def test_the_index_says_by_which_metric(tmp_path: Path) -> None:
    """It goes before the table; a call that says another one compares the vectors themselves."""
    path = tmp_path / "t"
    table_at(path, **{"fields.e.distance.metric": "l2"}).append(rows(0, [(1, 0), (9, 0), (1, 1)]))
    opened(path, **{"fields.e.distance.metric": "inner_product"}).create_global_index("e", "ivf-flat")
    assert found(path, [1, 0], 1)["id"] == [1]
    assert found(path, [1, 0], 1, **EXACT)["id"] == [1]
    assert found(path, [1, 0], 1, {"metric": "l2"})["id"] == [0]
    assert found(path, [1, 0], 2, {"metric": "cosine"}, **{"vector-index.search-mode": "fast"})["id"] == [0, 1]


def test_new_files_have_the_metric_of_those_there(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table_at(path).append(rows(0, [(1, 0)]))
    opened(path, **{"ivf-flat.distance.metric": "l2"}).create_global_index("e", "ivf-flat")
    opened(path).append(rows(1, [(2, 0)]))
    with pytest.raises(OptionError, match="by the metric l2, and the new ones would be by inner_product; give the opt"):
        opened(path).create_global_index("e", "ivf-flat")
    with pytest.raises(UnsupportedFeature, match="ivf-flat is over the column, and the official system searches no"):
        opened(path).create_global_index("e", "ivf-pq")
    assert opened(path, **{"ivf-flat.distance.metric": "L2"}).create_global_index("e", "ivf-flat").rows == 1


def test_rows_that_no_index_covers(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table_at(path).append(rows(0, [(5, 5), (6, 6), None]))
    opened(path, **{"fields.e.metric": "l2"}).create_global_index("e", "ivf-flat")
    opened(path).append(rows(3, [(0, 0), None]))
    for mode, expected in (("full", [3, 0, 1]), ("detail", [3, 0, 1]), ("fast", [0, 1])):
        assert found(path, [0, 0], 9, **{"vector-index.search-mode": mode})["id"] == expected
        assert found(path, [0, 0], 9, **{"global-index.search-mode": mode})["id"] == expected
    assert found(path, [0, 0], 9)["id"] == [3, 0, 1]


def test_a_search_is_of_the_state_that_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table_at(path).append(rows(0, [(1, 1), (2, 2), (3, 3)]))
    opened(path, **{"fields.e.metric": "l2"}).create_global_index("e", "ivf-flat")
    opened(path).create_tag("before")
    opened(path).delete("id = 0")
    opened(path).append(rows(3, [(0, 0)]))
    assert found(path, [0, 0], 2)["id"] == [3, 1]
    assert found(path, [0, 0], 2, **{"scan.tag-name": "before"})["id"] == [0, 1]
    assert found(path, [0, 0], 2, {"metric": "l2"}, **{"scan.snapshot-id": "1"})["id"] == [0, 1]
    assert opened(path).drop_global_index("e", "ivf-flat").dropped_files == 1
    assert found(path, [0, 0], 2, **{"scan.tag-name": "before"})["id"] == [0, 1]


def test_old_values_are_not_found(tmp_path: Path) -> None:
    """Java: global-index.column-update-action. An index that was left as it was is not used."""
    path = tmp_path / "t"
    table_at(path).append(rows(0, [(1, 1), (2, 2)]))
    opened(path, **{"fields.e.metric": "l2"}).create_global_index("e", "ivf-flat")
    with pytest.raises(UnsupportedFeature, match="an index of the whole table, ivf-flat, is over the column 'e'"):
        opened(path).update("id = 0", {"e": NINES})
    opened(path, **{"global-index.column-update-action": "IGNORE"}).update("id = 0", {"e": NINES})
    ignoring = {"global-index.column-update-action": "IGNORE"}
    assert found(path, [1, 1], 2, {"metric": "l2"}, **ignoring)["id"] == [1, 0]
    assert found(path, [1, 1], 2, **ignoring)["id"] == [1, 0], "the metric is that of the index nevertheless"


def test_vectors_that_an_index_cannot_have(tmp_path: Path) -> None:
    cases: list[tuple[Any, str]] = [
        ([[1.0, math.nan]], "a number that is not finite"),
        ([[1.0, math.inf]], "a number that is not finite"),
        ([[1.0, None]], "a NULL among its numbers"),
        ([[1.0], [1.0, 2.0]], "vectors have 1 and 2 numbers, and all must have as many"),
        ([[]], "vectors have 0 numbers"),
    ]
    for number, (vectors, said) in enumerate(cases):
        path = tmp_path / str(number)
        table_at(path).append([{"id": i, "e": e, "w": 0} for i, e in enumerate(vectors)])
        with pytest.raises(DataError, match=said):
            opened(path).create_global_index("e", "ivf-flat")
        assert not list(path.glob("index/vector*"))
    path = tmp_path / "none"
    table_at(path).append(rows(0, [None, None]))
    assert opened(path).create_global_index("e", "ivf-flat").files == 0, "Java: no file without a vector"


def test_zero_vectors_and_equal_ones(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table_at(path).append(rows(0, [(0, 0), (1, 0), (0, 2), (1, 0)]))
    opened(path, **{"fields.e.metric": "cosine"}).create_global_index("e", "ivf-flat")
    assert found(path, [1, 0], 9) == {"id": [1, 3, 0, 2], SCORE: [1.0, 1.0, 0.0, 0.0]}
    assert found(path, [0, 0], 2)[SCORE] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ivf-flat.distance.metric": "hamming"}, "the metric 'hamming' is not known"),
        ({"ivf-flat.nlists": "3"}, "'ivf-flat.nlists' is no option; behind 'ivf-flat.' stands one of"),
        ({"ivf-flat.nlist": "+999999999"}, "'nlist' is 999999999, and a file is over 100000 rows at most"),
        ({"ivf-flat.nlist": "x"}, "option 'nlist' must be a positive integer"),
        ({"ivf-flat.train.sample-ratio": "2"}, "'train.sample-ratio' is '2'; give a number above 0 and up to 1"),
        ({"global-index.row-count-per-shard": "0"}, "is 0; give a number of rows"),
    ],
)
def test_options_of_an_index_that_are_refused(tmp_path: Path, options: dict[str, str], message: str) -> None:
    table_at(tmp_path / "t").append(rows(0, [(1, 2)]))
    with pytest.raises(OptionError, match=message):
        opened(tmp_path / "t", **options).create_global_index("e", "ivf-flat")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ivf.nprobe": "0"}, "'ivf.nprobe' is '0'; give a whole number of 1 or more"),
        ({"ivf.nprobe": "1", "diskann.l_search": "1"}, "'ivf.nprobe' and 'diskann.l_search' are given; give one"),
        ({"diskann.l_search": "5"}, "'diskann.l_search' = '5' is for indexes of another type"),
        ({"ivf.refine_factor": "-1"}, "'ivf.refine_factor' is '-1'; give a whole number"),
        ({"nprobe": "5"}, "'nprobe' is no option of a search"),
    ],
)
def test_options_of_a_search_that_are_refused(tmp_path: Path, options: dict[str, str], message: str) -> None:
    table_at(tmp_path / "t").append(rows(0, [(1, 2)]))
    opened(tmp_path / "t").create_global_index("e", "ivf-flat")
    with pytest.raises(OptionError, match=message):
        found(tmp_path / "t", [1, 2], 1, options)


def test_a_length_that_the_index_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table_at(path).append(rows(0, [(1, 2)]))
    with pytest.raises(DataError, match="the vectors have 2 numbers, and an option says 3"):
        opened(path, **{"ivf-flat.dimension": "3"}).create_global_index("e", "ivf-flat")
    opened(path).create_global_index("e", "ivf-flat")
    with pytest.raises(OptionError, match="the vector that is looked for has 3 numbers, and those of the index have 2"):
        found(path, [1, 2, 3], 1)


def test_no_width_loses_rows(tmp_path: Path) -> None:
    """Where the part of a file that is looked at has too few of the rows that are searched, all of it is."""
    path = tmp_path / "t"
    table_at(path, **{"ivf-flat.nlist": "20"}).append(rows(0, gaussian(3, 300)))
    opened(path, **{"ivf-flat.distance.metric": "l2"}).create_global_index("e", "ivf-flat")
    narrow = {"ivf.nprobe": "1"}
    assert len(found(path, [0] * 6, 250, narrow)["id"]) == 250
    assert set(found(path, [0] * 6, 9, narrow, "id in (1, 20, 300, 40, 50)")["id"]) == {1, 20, 40, 50}
    assert len(found(path, [0] * 6, 5, narrow)["id"]) == 5


@pytest.mark.parametrize("metric", ["l2", "cosine", "inner_product"])
def test_vectors_whose_lengths_float_does_not_hold(tmp_path: Path, metric: str) -> None:
    """The library, which counts in FLOAT, ends with an error for one, or takes it for a zero vector."""
    path, own = tmp_path / "t", {"ivf-flat.distance.metric": metric}
    table_at(path).append(rows(0, [(1, 0), (0, 1), (-1, 0), (1, 1)]))
    opened(path, **own).create_global_index("e", "ivf-flat")
    for vector in ([3e38, -3e38], [1e30, 1e30], [1e-25, 2e-25], [1e-60, 2e-60], [1e18, 0], [0, 0]):
        exact = found(path, vector, 9, {"metric": metric}, **EXACT)
        assert found(path, vector, 9)[SCORE] == pytest.approx(exact[SCORE])
    for number, bad in enumerate(([3e38, 3e38], [1e-25, 0.0])):
        other = tmp_path / str(number)
        table_at(other).append(rows(0, [bad, (1, 1)]))
        if number == 0 or metric == "cosine":
            with pytest.raises(DataError, match="so long or so short that FLOAT does not hold the square of its leng"):
                opened(other, **own).create_global_index("e", "ivf-flat")
        else:
            assert opened(other, **own).create_global_index("e", "ivf-flat").rows == 2


def test_a_search_of_scores_alone(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table_at(path).append(rows(0, [(1, 0), (3, 0), (2, 0)]))
    opened(path, **{"fields.e.metric": "l2"}).create_global_index("e", "ivf-flat")
    for options in ({}, EXACT):
        shown = opened(path, **options).scan([]).vector_search("e", [1, 0], 2, {"metric": "l2"})
        assert shown.to_pydict() == {SCORE: [1.0, 0.5]}


def test_options_of_the_column_go_before_those_of_the_type(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table_at(path, **{"ivf-flat.distance.metric": "cosine", "fields.e.distance.metric": "l2"}).append(rows(0, [(1, 2)]))
    opened(path).create_global_index("e", "ivf-flat")
    assert found(path, [1, 2], 1)[SCORE] == [1.0]
    assert found(path, [2, 4], 1)[SCORE] == pytest.approx([1 / 6])


def test_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t"
    table_at(path).append(rows(0, [(1, 0), (3, 0)]))
    opened(path, **{"fields.e.metric": "l2"}).create_global_index("e", "ivf-flat")
    monkeypatch.setitem(sys.modules, "paimon_vindex", None)
    with pytest.raises(UnsupportedFeature, match=r"needs the package paimon-vindex, .* pip install 'paimon-spark\[vec"):
        found(path, [1, 0], 1)
    with pytest.raises(UnsupportedFeature, match=r"run pip install 'paimon-spark\[vector\]'"):
        opened(path).create_global_index("e", "ivf-flat")
    assert found(path, [1, 0], 1, {"metric": "l2"})["id"] == [0], "the vectors of all rows are compared"
    assert opened(path).drop_global_index("e", "ivf-flat").dropped_files == 1
    assert found(path, [1, 0], 1)["id"] == [0]


def test_a_lost_and_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table_at(path).append(rows(0, [(1, 0), (3, 0)]))
    opened(path).create_global_index("e", "ivf-flat")
    (file,) = path.glob("index/vector-ivf-flat-global-index-*.index")
    data = file.read_bytes()
    file.write_bytes(data[:40])
    with pytest.raises(CorruptFile, match=r"cannot read the index file .* drop the index and create it again"):
        found(path, [1, 0], 1)
    assert found(path, [1, 0], 1, {"metric": "l2"}, **EXACT)["id"] == [0]
    with pytest.raises(CorruptFile, match="and with the option metric of the search, one of l2, cosine"):
        found(path, [1, 0], 1, **EXACT)
    file.unlink()
    with pytest.raises(MissingFile, match=r"it does not exist.*and with the option metric of the search"):
        found(path, [1, 0], 1)


def test_partitions_are_searched_alone(tmp_path: Path) -> None:
    path = tmp_path / "t"
    schema = pa.schema({"id": pa.int64(), "e": pa.list_(pa.float32()), "p": pa.string()})
    create_table(str(path), schema, partition_keys="p", options=EVOLVED)
    opened(path).append([{"id": i, "e": [i, 0], "p": "ab"[i % 2]} for i in range(20)])
    made = opened(path, **{"fields.e.metric": "l2"}).create_global_index("e", "ivf-flat", partitions="p=a")
    assert made.rows == 10
    assert found(path, [0, 0], 3)["id"] == [0, 1, 2]
    assert found(path, [0, 0], 3, where="p = 'b'")["id"] == [1, 3, 5]
    assert found(path, [0, 0], 3, where="p = 'a'")["id"] == [0, 2, 4]
    assert found(path, [0, 0], 9, **{"vector-index.search-mode": "fast"})["id"] == list(range(0, 18, 2))
    check_table(str(path))


def test_an_index_of_a_second_branch_says_by_which_metric(tmp_path: Path) -> None:
    """It is not used: the vectors are compared themselves, by the metric of the call."""
    path = tmp_path / "t"
    schema = pa.schema({"id": pa.int64(), "e": pa.list_(pa.float32()), "p": pa.string()})
    create_table(str(path), schema, partition_keys="p", options=EVOLVED)
    opened(path).append([{"id": 0, "e": [1, 0], "p": "a"}])
    opened(path).create_branch("b")
    opened(path, branch="b").append([{"id": 1, "e": [9, 0], "p": "b"}])
    opened(path, branch="b").create_global_index("e", "ivf-flat")
    both = {"scan.fallback-branch": "b"}
    with pytest.raises(UnsupportedFeature, match="ivf-flat is over 'e', and it alone tells by which metric"):
        found(path, [1, 0], 2, **both)
    assert found(path, [1, 0], 2, {"metric": "inner_product"}, **both)["id"] == [1, 0]


def test_check_opens_the_files(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table_at(path).append(rows(0, gaussian(1, 50)))
    opened(path).create_global_index("e", "ivf-flat")
    opened(path).append(rows(50, gaussian(2, 60)))
    opened(path).create_global_index("e", "ivf-flat")
    assert check(str(path)).is_good
    small, large = sorted(path.glob("index/*"), key=lambda file: file.stat().st_size)
    data = bytearray(large.read_bytes())
    data[:8] = b"12345678"
    large.write_bytes(data)
    assert [problem.rule for problem in check(str(path)).problems] == [Rule.GLOBAL_INDEX]
    (entry,) = (entry for entry in read_entries(path) if entry.file_name == small.name)
    findings = Findings()
    check_search_file(opened(path), "1", str(small), replace(entry, row_count=49), findings)
    assert [problem.found for problem in findings.problems()[0]] == ["it has 50 vectors, and 49 rows"]


def read_entries(path: Path) -> list[IndexManifestEntry]:
    table = opened(path)
    latest = table.snapshots.latest()
    assert latest is not None
    return read_global_indexes(table.file_io, table.location, latest.index_manifest)


def test_files_of_several_metrics_and_ranges_that_cannot_be(tmp_path: Path) -> None:
    """As other writers may leave them: a file is asked by its own metric, and a range may be as wide as numbers go."""
    path = tmp_path / "t"
    table_at(path).append(rows(0, [(1, 0), (9, 0)]))
    shards = {"global-index.row-count-per-shard": "1"}
    opened(path, **shards, **{"fields.e.metric": "l2"}).create_global_index("e", "ivf-flat")
    by_length = read_entries(path)
    opened(path).drop_global_index("e", "ivf-flat")
    opened(path, **shards, **{"fields.e.metric": "cosine"}).create_global_index("e", "ivf-flat")
    by_angle = read_entries(path)
    exchange(path, by_angle[1:], by_length[1:])
    with pytest.raises(UnsupportedFeature, match="were made by the metrics cosine and l2; give the option metric"):
        found(path, [1, 0], 2)
    for metric, expected in (("l2", [1.0, 1 / 65]), ("cosine", [1.0, 1.0]), ("inner_product", [9.0, 1.0])):
        assert found(path, [1, 0], 2, {"metric": metric})[SCORE] == pytest.approx(expected)
    meta = by_angle[0].global_index
    assert meta is not None
    for start, end, message in ((0, 2**62, None), (-5, 0, "is over the row ids -5 to 0"), (3, 1, "row ids 3 to 1")):
        changed = replace(by_angle[0], global_index=replace(meta, row_range_start=start, row_range_end=end))
        exchange(path, read_entries(path), [changed])
        if message is None:
            assert found(path, [1, 0], 2)["id"] == [0], "no other row is in the file that says that it is over all"
        else:
            with pytest.raises(CorruptFile, match=message):
                found(path, [1, 0], 2)


def exchange(path: Path, gone: list[IndexManifestEntry], new: list[IndexManifestEntry]) -> None:
    for entries in (tuple(replace(entry, kind=FileKind.DELETE) for entry in gone), tuple(new)):
        message = CommitMessage(new[0].partition, 0, -1, index_entries=entries)
        TableCommit(opened(path), new_user(opened(path))).append([message])
