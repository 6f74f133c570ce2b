"""Compaction right after a write: what is picked, what is only said, and that the write never fails for it."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO, When
from support.oracles.checker import check_table
from support.tables.compacted_tables import Interfering, append, levels, new_table, rows_of
from support.tables.golden_tables import GoldenTable

from paimon_spark.errors import RowsNotVisible
from paimon_spark.file_io import LocalFileIO
from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.compact.outcomes import CompactResult
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.compact_call import compact_on_call
from paimon_spark.store.upkeep.finish_write import compact_after_write
from paimon_spark.tables.open import open_table

VECTORS = {"deletion-vectors.enabled": "true"}
FIRST_ROW = {"merge-engine": "first-row"}
LOOKUP = {"changelog-producer": "lookup"}


def write(table: Table, number: int, runner: LocalRunner | None = None) -> CompactResult | None:
    """One commit of two rows with their compaction."""
    messages = append(table, [(1, number, "x"), (number + 10, number, "y")])
    return compact_after_write(table, messages, runner or LocalRunner(max_processes=1))


def test_a_compaction_of_no_partition_warns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = GoldenTable("java-2.1", "part_date_new").unpack(tmp_path)
    opened = open_table(str(table))
    key = opened.schema.partition_keys[0]
    compact_on_call(opened, LocalRunner(), where=f"{key} is not null")
    compact_on_call(opened, LocalRunner(), where=f"{key} is not null")
    assert "fits the condition" not in caplog.text, "what is compact already is no reason"
    compact_on_call(opened, LocalRunner(), where=f"{key} is null and {key} is not null")
    assert f"compacting {table}: no partition with files fits the condition" in caplog.text


def test_a_plain_table_waits_for_the_trigger(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    made = [write(table, number) for number in range(5)]
    assert [m is not None and len(m.snapshot_ids) for m in made] == [0, 0, 0, 0, 1]
    assert levels(table) == [5]
    assert rows_of(table) == [(1, 4, "x"), *((n + 10, n, "y") for n in range(5))]


@pytest.mark.parametrize("options", [VECTORS, FIRST_ROW, LOOKUP, {"force-lookup": "true"}], ids=str)
def test_tables_that_need_it_take_level_0_up_at_once(tmp_path: Path, options: Mapping[str, str]) -> None:
    table = new_table(tmp_path / "t", options)
    for number in range(3):
        made = write(table, number)
        assert made is not None
        assert len(made.snapshot_ids) == 1
        assert 0 not in levels(table)
        first = 0 if options == FIRST_ROW else number
        assert rows_of(table) == [(1, first, "x"), *((n + 10, n, "y") for n in range(number + 1))]
    check_table(table.location)


def test_full_compaction_after_every_commit(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"full-compaction.delta-commits": "3"})
    for number in range(3):
        write(table, number)
        assert levels(table) == [5], "of a batch write any number above 0 means every commit"


def test_only_buckets_that_were_written_to(tmp_path: Path) -> None:
    options = {"bucket": "2", "full-compaction.delta-commits": "1"}
    table = new_table(tmp_path / "t", options)
    append(table, [(k, 0, "x") for k in range(20)])
    messages = append(table, [(1, 1, "y")])
    made = compact_after_write(table, messages, LocalRunner())
    assert made is not None
    assert made.buckets == 1
    assert sorted(levels(table)) == [0, 5]


@pytest.mark.parametrize(
    ("options", "words", "level"),
    [
        (VECTORS, "write-only: 2 rows are committed .* not visible yet; PaimonTable.forPath.*optimize", "WARNING"),
        (FIRST_ROW, "2 rows .* not visible yet", "WARNING"),
        (LOOKUP, "2 rows .* changelog", "WARNING"),
        ({}, "2 rows wait in level 0", "INFO"),
    ],
    ids=["vectors", "first-row", "lookup", "plain"],
)
def test_write_only_says_what_waits(
    tmp_path: Path, options: Mapping[str, str], words: str, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    table = new_table(tmp_path / "t", options)
    with caplog.at_level(logging.INFO):
        assert write(table.with_options({"write-only": "true"}), 0) is None
    (record,) = caplog.records
    assert record.levelname == level
    assert re.search(words, record.getMessage())
    assert levels(table) == [0]


def test_write_only_says_nothing_of_append_tables(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = new_table(tmp_path / "t", {"bucket-key": "k", "write-only": "true"}, keys=())
    with caplog.at_level(logging.INFO):
        assert write(table, 0) is None
    assert caplog.records == []


def test_append_tables(tmp_path: Path) -> None:
    """In buckets their writers compact; without buckets nobody does but a job of its own."""
    table = new_table(tmp_path / "bucketed", {"bucket-key": "k", "compaction.min.file-num": "3"}, keys=())
    made = [write(table, number) for number in range(3)]
    assert [m is not None and m.files_before for m in made] == [0, 0, 3]
    assert len(levels(table)) == 1
    table = new_table(tmp_path / "plain", {"bucket": "-1", "compaction.min.file-num": "2"}, keys=())
    assert [write(table, number) for number in range(3)] == [None, None, None]
    assert len(levels(table)) == 3


def fail_to_compact(table: Table) -> CompactResult | None:
    messages = append(table, [(1, 7, "new")])
    store = FaultyFileIO(LocalFileIO(), 0, When.BEFORE, named="open_input", lasting=True)
    return compact_after_write(replace(table, file_io=store), messages, LocalRunner())


def test_a_compaction_that_fails_is_only_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = new_table(tmp_path / "t", {"num-sorted-run.compaction-trigger": "2"})
    append(table, [(1, 1, "old")])
    assert fail_to_compact(table) is None
    assert "the rows are committed" in caplog.text
    assert "optimize()" in caplog.text
    assert rows_of(table) == [(1, 7, "new")]
    check_table(table.location)


@pytest.mark.parametrize("options", [VECTORS, FIRST_ROW], ids=str)
def test_but_not_where_readers_would_miss_the_rows(tmp_path: Path, options: Mapping[str, str]) -> None:
    table = new_table(tmp_path / "t", options)
    append(table, [(5, 1, "old")])
    words = (
        r"1 rows are committed to .* readers do not see them yet.*Do not write them again: .*optimize.*injected fault"
    )
    with pytest.raises(RowsNotVisible, match=words):
        fail_to_compact(table)
    assert rows_of(table) == []
    compact_table(open_table(table.location), LocalRunner(), full=False)
    assert rows_of(table) == [(1, 7, "new"), (5, 1, "old")]
    check_table(table.location)


def test_a_rival_that_compacts_first_shows_the_rows_too(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", VECTORS)
    write(table, 0)
    runner = Interfering(after=[lambda: compact_table(table, LocalRunner(), full=False)])
    made = write(table, 1, runner)
    assert made is not None
    assert len(made.dropped) == 1
    assert rows_of(table) == [(1, 1, "x"), (10, 0, "y"), (11, 1, "y")]
    check_table(table.location)


def test_gentle_lookup_says_what_waits(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = new_table(tmp_path / "t", {**VECTORS, "lookup-compact": "gentle"})
    write(table, 0)
    assert "2 rows of" in caplog.text
    assert "not visible yet" in caplog.text
    assert levels(table) == [0]


def test_a_call_does_not_wait_as_writers_of_a_gentle_table_do(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {**VECTORS, "lookup-compact": "gentle"})
    write(table, 0)
    compact_on_call(table, LocalRunner(), full=False)
    assert 0 not in levels(table)


def test_nothing_written_nothing_compacted(tmp_path: Path) -> None:
    assert compact_after_write(new_table(tmp_path / "t"), [], LocalRunner()) is None
