"""Compactions that write changelogs or deletion vectors: changelogs lead from state to state, the rows are right."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from support.faults.faulty_store import FaultyFileIO, InjectedFault, When
from support.oracles.checker import check_table
from support.tables.compacting import KINDS, Row, compact, file_rows, make, rows_of, tasks_of, write

from paimon_spark.errors import CorruptFile
from paimon_spark.format.paths import data_file_path
from paimon_spark.store.compact.bucket import run_task
from paimon_spark.store.compact.bucket_rows import SYSTEM_FIELDS
from paimon_spark.store.compact.task import CompactTaskResult
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.table import Table

COLUMNS = pa.schema([pa.field("k", pa.int32(), False), ("a", pa.int32()), ("b", pa.string()), ("g", pa.int32())])
PARTIAL = {"merge-engine": "partial-update"}
GROUPS = {**PARTIAL, "fields.g.sequence-group": "a"}
SUMS = {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "max"}
ENGINES: dict[str, tuple[Mapping[str, str], str]] = {
    "deduplicate": ({}, "+I +U -U -D"),
    "ignored deletes": ({"ignore-delete": "true"}, "+I +U -U -D"),
    "sequence field": ({"sequence.field": "g"}, "+I +U"),
    "partial-update": (PARTIAL, "+I"),
    "removing": ({**PARTIAL, "partial-update.remove-record-on-delete": "true"}, "+I +U -D"),
    "groups": (GROUPS, "+I"),
    "sums": (SUMS, "+I"),
}
LOOKUP, FULL = {"changelog-producer": "lookup"}, {"changelog-producer": "full-compaction"}
VECTORS = {"deletion-vectors.enabled": "true"}
MODES: dict[str, Mapping[str, str]] = {
    "lookup": LOOKUP,
    "lookup avro above": {**LOOKUP, "file.format.per.level": "0:avro"},
    "full": FULL,
    "vectors": VECTORS,
    "vectors and lookup": {**VECTORS, **LOOKUP, "deletion-vectors.bitmap64": "true"},
}
SMALL = {"num-sorted-run.compaction-trigger": "3", "target-file-size": "1 kb"}


def random_rows(r: random.Random, count: int) -> list[Row]:
    return [
        (r.randrange(15), r.choice([None, *range(9)]), r.choice([None, "", "ba", "ba\0"]), r.choice([1, 2, 3]))
        for _ in range(count)
    ]


def bare(row: Row, kind: str) -> Row:
    """A delete without values: whether they stay in the record depends on when the delete itself is dropped."""
    return (row[0], None, None, None) if kind == "-D" else row


def changelog(table: Table, result: CompactTaskResult) -> list[tuple[str, Row]]:
    """What the changelog files of a result say, in their order."""
    found = []
    for file in result.changelog:
        assert file.file_name.startswith("changelog-")
        path = data_file_path(bucket_directory(table, result.partition, result.bucket), file)
        rows = file_rows(table, path, [*SYSTEM_FIELDS, *table.schema.fields])
        assert file.row_count == len(rows)
        assert file.delete_row_count == sum(row[1] in (1, 3) for row in rows)
        found += [(KINDS[row[1]], row[2:]) for row in rows]
    return found


def follow(state: dict[int, Row], changes: list[tuple[str, Row]]) -> None:
    """Applies a changelog to the rows by key; every change must fit what is there."""
    for kind, row in changes:
        key = row[0]
        if kind in ("-U", "-D"):
            assert state.pop(key) == row, f"{kind} {row} takes back what is not there"
        else:
            assert key not in state, f"{kind} {row} adds what is there"
            state[key] = row


CASES = [
    *(("deduplicate", mode) for mode in MODES),
    *(("groups", mode) for mode in ("lookup", "full", "vectors and lookup")),
    *((engine, "lookup") for engine in ("ignored deletes", "partial-update", "removing")),
    *((engine, "vectors and lookup") for engine in ("sequence field", "sums")),
    ("sums", "full"),
    ("sequence field", "vectors"),
]


@pytest.mark.parametrize(("engine", "mode"), CASES)
def test_changelogs_lead_from_one_state_to_the_next(engine: str, mode: str, tmp_path: Path) -> None:
    options, kinds = ENGINES[engine]
    table = make(tmp_path / "t", COLUMNS, ["k"], {**options, **MODES[mode], **SMALL})
    twin = make(tmp_path / "twin", COLUMNS, ["k"], {**options, "bucket": "1"})
    r = random.Random(f"{engine} {mode}")
    state: dict[int, Row] = {}
    for turn in range(4):
        for _ in range(r.randint(1, 2)):
            rows = random_rows(r, r.randint(1, 8))
            chosen = [r.choice(kinds.split()) for _ in rows]
            rows = [bare(row, kind) for row, kind in zip(rows, chosen, strict=True)]
            write(table, rows, chosen)
            write(twin, rows, chosen)
        is_full = "full" in mode or turn == 2
        for result in compact(table, is_full):
            follow(state, changelog(table, result))
        assert rows_of(table) == rows_of(twin)
        if "changelog-producer" in MODES[mode]:
            assert sorted(state.values(), key=repr) == rows_of(table)
    check_table(table.location)


def test_first_row_keeps_the_first_and_tells_of_new_keys(tmp_path: Path) -> None:
    options = {"merge-engine": "first-row", "changelog-producer": "lookup", **SMALL}
    table = make(tmp_path / "t", COLUMNS, ["k"], options)
    state: dict[int, Row] = {}
    model: dict[int, Row] = {}
    r = random.Random(5)
    for _ in range(4):
        rows = random_rows(r, r.randint(1, 8))
        write(table, rows)
        for row in rows:
            model.setdefault(row[0], row)
        for result in compact(table, full=False):
            follow(state, changelog(table, result))
        assert state == model
        assert rows_of(table) == sorted(model.values(), key=repr)
    check_table(table.location)


def test_whatever_fails_no_data_or_changelog_file_is_left_behind(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {**LOOKUP, **VECTORS, "sequence.field": "g"})
    write(table, [(k, 1, "a", 1) for k in range(9)])
    compact(table, full=False)
    write(table, [(k, 2, "b", 2) for k in range(3)])
    (task,) = tasks_of(table, full=False)
    before = sorted(tmp_path.rglob("*"))
    store = FaultyFileIO(table.file_io)
    result = run_task(replace(table, file_io=store), task)
    assert (len(result.after), len(result.changelog), len(result.superseded)) == (1, 1, 1)
    for path in result.created:
        os.remove(path)
    for at in range(len(store.log)):
        faulty = FaultyFileIO(table.file_io, at=at, when=When.HALF)
        with pytest.raises((InjectedFault, CorruptFile)):
            run_task(replace(table, file_io=faulty), task)
        assert sorted(tmp_path.rglob("*")) == before
