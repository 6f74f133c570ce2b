"""The files of entries as a sequence: equal to the tuple of the files that are made at once."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.draws.manifest_values import names

from paimon_spark.format.avro.lanes import Ints
from paimon_spark.format.manifest import EMPTY_ROW, EMPTY_STATS, DataFileMeta, ManifestEntry, SimpleStats
from paimon_spark.format.manifests.columns import ManifestColumns, columns_of_entries
from paimon_spark.format.manifests.entry_files import LEAST_FILES, EntryFiles, find_entry_files
from paimon_spark.format.names import is_name

COUNT = 9000  # two blocks and a part of a third


def meta(number: int) -> DataFileMeta:
    stats = SimpleStats(b"least", b"most", (0, None))
    return DataFileMeta(
        f"data-{number:05d}.parquet", 10 + number % 7, number % 5, EMPTY_ROW, EMPTY_ROW, EMPTY_STATS, stats, number,
        number, 0, 0, creation_time=number or None, first_row_id=number if number % 2 else None,
        value_stats_cols=("a", "b"),
    )  # fmt: skip


def columns_of(files: list[DataFileMeta]) -> ManifestColumns:
    return columns_of_entries("the-manifest", [ManifestEntry(0, b"p", 0, 1, file) for file in files])


def found(columns: ManifestColumns, chosen: Ints | None = None) -> EntryFiles | None:
    return find_entry_files(columns, np.arange(len(columns)) if chosen is None else chosen)


MADE = [meta(number) for number in range(COUNT)]
BARE = [file._replace(value_stats=EMPTY_STATS, value_stats_cols=()) for file in MADE]
MANY = columns_of(MADE)
ORDER = np.random.default_rng(1).permutation(COUNT)
MIXED, EXPECTED = found(MANY, ORDER), tuple(BARE[number] for number in ORDER.tolist())
places = st.integers(-COUNT - 3, COUNT + 3)


@given(st.tuples(places, places), st.tuples(places | st.none(), places | st.none(), st.sampled_from([None, 1, 3, -1])))
def test_it_is_the_tuple_of_the_files(outer: tuple[int, int], inner: tuple[Any, Any, Any]) -> None:
    assert MIXED is not None
    some, those = MIXED[slice(*outer)], EXPECTED[slice(*outer)]
    assert len(some) == len(those)
    assert some[slice(*inner)] == those[slice(*inner)]
    assert some == those
    assert those == some
    assert isinstance(some, EntryFiles)
    assert some.sizes == [file.file_size for file in those]
    assert some.row_counts == [file.row_count for file in those]
    for at in {inner[0], inner[1]} - {None}:
        if -len(those) <= at < len(those):
            assert some[at] == those[at]
        else:
            with pytest.raises(IndexError):
                some[at]


def test_what_else_a_tuple_does() -> None:
    files = found(MANY)
    assert files is not None
    few = files[4094:4099]
    assert few != tuple(BARE[4094:4098])
    assert few != tuple(BARE[4095:4100])
    assert few != BARE[4094:4099]
    assert (hash(few), repr(few)) == (hash(tuple(BARE[4094:4099])), repr(tuple(BARE[4094:4099])))
    assert BARE[4096] in few
    assert BARE[0] not in few
    sent = pickle.loads(pickle.dumps(few))
    assert type(sent) is tuple
    assert sent == few


def test_slices_share_the_objects() -> None:
    files = found(MANY)
    assert files is not None
    assert files[:10][9] is files[9:][0]


def test_few_files_and_few_of_many_are_made_at_once() -> None:
    few = columns_of(MADE[: LEAST_FILES - 1])
    assert found(few) is None
    assert found(columns_of(MADE[:LEAST_FILES])) is not None
    assert found(MANY, np.arange(COUNT // 2)) is not None
    assert found(MANY, np.arange(COUNT // 2 - 1)) is None


@pytest.mark.parametrize(
    "odd",
    [
        {"external_path": "s3://x/bucket-0/data-00007.parquet"},
        {"extra_files": ("data-00007.index",)},
        {"embedded_index": b"index"},
        {"write_cols": ("a",)},
        {"write_cols_sequences": (1,)},
        {"file_name": "../data-00007.parquet"},
        {"file_name": "däta-00007.parquet"},
        {"file_name": ".."},
        {"file_name": "a" * 600},
    ],
)
def test_a_file_that_has_to_be_looked_at_is_made_at_once(odd: dict[str, Any]) -> None:
    files = [*MADE[:7], MADE[7]._replace(**odd), *MADE[8:LEAST_FILES]]
    assert found(columns_of(files)) is None


@given(st.lists(names | st.text(max_size=20), max_size=5), st.integers(0, 30), st.characters(max_codepoint=300))
def test_plain_names_are_names(drawn: list[str], place: int, mark: str) -> None:
    marked = f"data-0b5d3c1e-1f2a-4b6c-8d7e-{place:08d}.parquet"
    texts = [*drawn, marked[:place] + mark + marked[place + 1 :], marked]
    columns = columns_of([MADE[0]._replace(file_name=text) for text in texts])
    if columns.has_plain_names:
        assert all(text.isascii() and is_name(text) for text in texts)
    else:
        assert any(not is_name(text) or not text.isascii() or not 8 <= len(text) <= 512 for text in texts)


@given(st.binary(min_size=8, max_size=40))
def test_plain_names_are_texts(raw: bytes) -> None:
    whole = columns_of(MADE[:3])
    changed = replace(whole, buffer=whole.buffer.replace(b"data-00001.parquet", raw.ljust(18, b"x")[:18]))
    assert whole.has_plain_names
    name = raw.ljust(18, b"x")[:18]
    assert changed.has_plain_names == (name.isascii() and not set(name) & set(b"/\\\0"))
