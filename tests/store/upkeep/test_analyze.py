"""ANALYZE snapshots: the statistics file, who inherits it, and what is left of an analysis that fails."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.faults.faulty_store import FaultyFileIO, When
from support.oracles.checker import check_table
from support.tables.commit_states import latest, with_rivals
from support.tables.compacting import compact, make, rows_of, write
from support.tables.expiring import copied

from paimon_spark.errors import CommitStateUnknown, PaimonError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.paths import schema_path
from paimon_spark.format.schema import encode_schema
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.table_statistics import ColumnStatistics
from paimon_spark.format.types import DataField
from paimon_spark.store.clean.orphans import remove_orphans_before
from paimon_spark.store.clean.truncate import truncate_table
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import find_system_table
from paimon_spark.store.upkeep.analyze import AnalyzeResult, analyze
from paimon_spark.store.upkeep.manifest_compaction import compact_manifests
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.string())])
ROWS = [(1, "a"), (2, "b"), (3, "c")]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = make(tmp_path / "t", COLUMNS, ["k"], {})
    write(made, ROWS)
    return made


def known(snapshot: Snapshot, fields: Sequence[DataField]) -> tuple[int, Mapping[str, ColumnStatistics]]:
    """Says what is true of ROWS."""
    found = {"k": ColumnStatistics(0, 3, "1", "3", 0, 4, 4), "v": ColumnStatistics(1, 3, None, None, 0, 1, 1)}
    return 3, {field.name: found[field.name] for field in fields}


def analyzed(table: Table, columns: str | Sequence[str] | None = "all") -> AnalyzeResult:
    return analyze(open_table(table.location), columns, known)


def files(table: Table) -> dict[str, Any]:
    return {p.name: json.loads(p.read_text()) for p in Path(table.location, "statistics").glob("*")}


def test_the_file_and_the_snapshot(table: Table) -> None:
    done = analyzed(table)
    made, before = latest(table), table.snapshots.load(1)
    assert (done.snapshot_id, made.id, made.commit_kind, made.operation) == (2, 2, "ANALYZE", None)
    assert (made.delta_record_count, made.total_record_count, made.commit_identifier) == (0, 3, 2**63 - 1)
    size = sum(p.stat().st_size for p in Path(table.location).rglob("data-*"))
    column = {"distinctCount": 3, "nullCount": 0}
    assert files(table) == {
        made.statistics: {
            "snapshotId": 1,
            "schemaId": 0,
            "mergedRecordCount": 3,
            "mergedRecordSize": size,
            "colStats": {
                "k": {"colId": 0, **column, "min": "1", "max": "3", "avgLen": 4, "maxLen": 4},
                "v": {"colId": 1, **column, "avgLen": 1, "maxLen": 1},
            },
        }
    }
    assert (before.statistics, rows_of(table)) == (None, ROWS)
    check_table(table.location)


def test_the_result_says_how_long_it_took(table: Table) -> None:
    began = time.monotonic()
    done = analyze(table, "all", known)
    assert 0 <= done.millis <= (time.monotonic() - began) * 1000 + 1


def test_columns_by_name_or_none(table: Table) -> None:
    assert list(next(iter(analyzed(table, ["V"]).statistics.columns))) == ["v"]  # type: ignore[union-attr]  # it has rows
    analyzed(table, "K")
    analyzed(table, None)
    written = [files(table)[name]["colStats"].keys() for name in statistics_of(table) if name]
    assert [list(names) for names in written] == [["v"], ["k"], []]


def statistics_of(table: Table) -> list[str | None]:
    return [table.snapshots.load(number).statistics for number in table.snapshots.ids()]


def append(table: Table) -> None:
    write(table, [(9, "z")])


@pytest.mark.parametrize("commit", [append, compact, truncate_table, compact_manifests])
def test_later_snapshots_inherit_the_statistics(table: Table, commit: Callable[[Table], object]) -> None:
    append(table)
    analyzed(table)
    commit(open_table(table.location))
    _, _, third, *later = statistics_of(table)
    assert third is not None
    assert later
    assert set(later) == {third}


def test_another_schema_ends_them(table: Table) -> None:
    analyzed(table)
    schema = replace(table.schema, id=1, comment="new")
    table.file_io.write_bytes(schema_path(table.location, 1), encode_schema(schema))
    append(table)
    assert [name is None for name in statistics_of(table)] == [True, False, True]
    analyzed(table)
    append(table)
    assert [name is None for name in statistics_of(table)] == [True, False, True, False, False]


def test_a_commit_that_is_faster_stays(table: Table) -> None:
    done = analyze(with_rivals(table, lambda: append(table), lambda: append(table)), "all", known)
    assert (done.snapshot_id, latest(table).commit_kind) == (4, "ANALYZE")
    assert done.statistics is not None
    assert done.statistics.snapshot_id == 1
    assert len(rows_of(table)) == 4
    assert list(files(table)) == [latest(table).statistics]


def test_a_branch_has_statistics_of_its_own(table: Table) -> None:
    create_branch(table, "b", snapshot=1)
    other = open_table(table.location, {"branch": "b"})
    done = analyze(other, "all", known)
    assert (done.snapshot_id, statistics_of(table), len(files(table))) == (2, [None], 1)
    assert [row["snapshot_id"] for row in other.system_table("statistics").to_arrow().to_pylist()] == [1]
    append(table)
    expire_snapshots(table, retain_max=1, retain_min=1, older_than="2999-01-01 00:00:00")
    remove_orphans_before(table, 2**62, dry_run=False)
    assert len(files(table)) == 1
    check_table(table.location)


def test_statistics_go_with_the_last_that_needs_them(table: Table) -> None:
    analyzed(table)
    create_tag(table, "kept", 2)
    append(table)
    analyzed(table)
    first, last = (name for name in dict.fromkeys(statistics_of(table)) if name)
    expire_snapshots(table, retain_max=1, retain_min=1, older_than="2999-01-01 00:00:00")
    assert files(table).keys() == {first, last}
    table.file_io.delete(f"{table.location}/tag/tag-kept")
    append(table)
    assert expire_snapshots(table, retain_max=1, retain_min=1, older_than="2999-01-01 00:00:00").statistics_files == 0
    assert statistics_of(table) == [last]


@pytest.mark.parametrize("when", list(When))
def test_a_failure_leaves_the_old_statistics_and_no_file(table: Table, tmp_path: Path, when: When) -> None:
    for at in range(60):
        copy = copied(table, tmp_path / str(at))
        faulty = FaultyFileIO(LocalFileIO(), at=at, when=when)
        try:
            done = analyze(replace(copy, file_io=faulty), "all", known)
        except CommitStateUnknown:
            assert len(files(copy)) == 1
        except (OSError, PaimonError):
            assert list(files(copy)) == [name for name in statistics_of(copy) if name]
        else:
            assert latest(copy).id == done.snapshot_id == 2
            assert list(files(copy)) == [latest(copy).statistics]
        check_table(copy.location)
        if len(faulty.log) <= at:
            return
    raise AssertionError("the run has more operations than were tried")


def test_the_system_table_shows_statistics_of_columns(table: Table) -> None:
    analyzed(table)
    shown = find_system_table(f"{table.location}$statistics")
    assert shown is not None
    (row,) = shown.scan().to_arrow().to_pylist()
    assert (row["snapshot_id"], row["schema_id"], row["mergedRecordCount"]) == (1, 0, 3)
    assert json.loads(row["colstat"]).keys() == {"k", "v"}
