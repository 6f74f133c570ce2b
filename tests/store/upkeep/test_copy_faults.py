"""Copies that fail, copies among others who write, and copies of tables after any life."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults.faulty_store import FaultyFileIO, InjectedFault, When
from support.long_runs import LONG, examples
from support.oracles.checker import check_table
from support.tables.compacting import compact, make, rows_of, write
from support.tables.expiring import copied
from support.tables.three_files import COLUMNS, ROWS, copied_beside, three_files

from paimon_spark import open_table
from paimon_spark.errors import CommitStateUnknown, PaimonError, TableAlreadyExists
from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.format.paths import schema_path
from paimon_spark.format.schema import encode_schema
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.copy_files import FileCopy, copy_here, copy_table


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return three_files(tmp_path / "t")


class BothWays:
    """A copy through one faulty store that both tables are in."""

    def __init__(self, store: FileIO) -> None:
        self.store = store

    def __call__(self, source: FileIO, target: FileIO, files: Sequence[FileCopy]) -> None:
        copy_here(self.store, self.store, files)


def everything(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and ".tmp" not in path.name}


@pytest.mark.parametrize("when", list(When))
def test_a_copy_that_fails_leaves_nothing(tmp_path: Path, when: When) -> None:
    table = three_files(tmp_path / "t")
    for at in range(20):
        target = tmp_path / f"copy{at}"
        faulty = FaultyFileIO(LocalFileIO(), at=at, when=when)
        try:
            copy_table(table, str(target), copy_all=BothWays(faulty))
        except InjectedFault:
            assert everything(target) == set()
        else:
            assert rows_of(open_table(str(target))) == ROWS
        copy_table(table, str(target))
        assert rows_of(open_table(str(target))) == ROWS
        check_table(str(target))
        if len(faulty.log) <= at:
            return
    raise AssertionError("the run has more operations than were tried")


@pytest.mark.parametrize("when", list(When))
def test_a_commit_that_fails_leaves_the_target_as_it_was(
    tmp_path: Path, when: When, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = three_files(tmp_path / "t")
    whole = three_files(tmp_path / "whole")
    write(table, [(4, "b", 4)])
    write(whole, [(9, "c", 9)])
    before, old, new = everything(Path(whole.location)), [*ROWS, (9, "c", 9)], [*ROWS, (4, "b", 4), (9, "c", 9)]
    for at in range(0, 90, 1 if LONG else 8):
        target = copied(whole, tmp_path / f"copy{at}")
        faulty = FaultyFileIO(LocalFileIO(), at=at, when=when)
        with monkeypatch.context() as patch:
            patch.setattr("paimon_spark.store.open.file_io_for", lambda root, options, io=faulty: io)
            patch.setattr("paimon_spark.store.upkeep.copy_target.file_io_for", lambda root, options, io=faulty: io)
            try:
                copy_table(table, target.location)
                expected = [new]
            except CommitStateUnknown:
                expected = [old, new]
            except (OSError, PaimonError):
                expected = [old]
        assert rows_of(target) in expected
        if expected == [old]:
            assert everything(Path(target.location)) == before
        check_table(target.location)
        if len(faulty.log) <= at:
            return
    raise AssertionError("the run has more operations than were tried")


def test_others_write_to_the_target_concurrently(table: Table) -> None:
    """What they put into a replaced partition goes, what they put elsewhere stays."""
    made = copied_beside(table)

    def rival(source: FileIO, target: FileIO, files: Sequence[FileCopy]) -> None:
        copy_here(source, target, files)
        write(made, [(7, "a", 7), (8, "c", 8)])

    done = copy_table(table, made.location, copy_all=rival)
    assert done.snapshot_id == 3
    assert rows_of(made) == [*ROWS, (8, "c", 8)]


def test_another_table_is_made_at_the_target_concurrently(table: Table, tmp_path: Path) -> None:
    def rival(source: FileIO, target: FileIO, files: Sequence[FileCopy]) -> None:
        copy_here(source, target, files)
        make(tmp_path / "rival", COLUMNS, (), {"bucket": "-1", "file.format": "orc"}, ["p"])
        Path(tmp_path, "rival", "schema").rename(Path(tmp_path, "copy", "schema"))

    with pytest.raises(TableAlreadyExists, match="another job has made a table there meanwhile; nothing was copied"):
        copied_beside(table, copy_all=rival)
    assert everything(tmp_path / "copy") == {"schema/schema-0"}


def test_a_copy_that_broke_off_while_it_made_the_table_is_finished(table: Table, tmp_path: Path) -> None:
    schema = replace(table.schema, id=1, comment="second")
    table.file_io.write_bytes(schema_path(table.location, 1), encode_schema(schema))
    first = table.file_io.read_bytes(schema_path(table.location, 0))
    LocalFileIO().write_bytes(schema_path(f"{tmp_path}/copy", 0), first)
    made = copied_beside(table)
    assert (made.schemas.ids(), rows_of(made)) == ([0, 1], ROWS)


STEPS = st.lists(
    st.one_of(
        st.lists(st.tuples(st.integers(0, 6), st.sampled_from("ab"), st.integers(0, 9)), min_size=1, max_size=4),
        st.just("compact"),
    ),
    max_size=6,
)
KINDS: dict[str, tuple[Sequence[str], dict[str, str]]] = {
    "append": ((), {"bucket": "-1"}),
    "bucketed": ((), {"bucket": "2", "bucket-key": "k"}),
    "keyed": (("k", "p"), {"bucket": "2"}),
    "vectors": (("k", "p"), {"bucket": "1", "deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"}),
    "sums": (("k", "p"), {"bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}),
    "changes": (("k", "p"), {"bucket": "1", "changelog-producer": "lookup"}),
}


@settings(max_examples=examples(40) if LONG else 5)
@given(steps=STEPS, where=st.sampled_from([None, "p = 'a'", "p > 'a'"]))
@pytest.mark.parametrize("kind", KINDS)
def test_any_life(tmp_path_factory: pytest.TempPathFactory, kind: str, steps: list[Any], where: str | None) -> None:
    """The copy has the rows of the source, now and after the same rows have come to both."""
    keys, options = KINDS[kind]
    path = tmp_path_factory.mktemp("life")
    table = make(path / "t", COLUMNS, keys, options, ["p"])
    for step in steps:
        if step == "compact":
            compact(table)
        else:
            write(table, list({row[:2]: row for row in step}.values()) if keys else step)
    made = copied_beside(table, where=where)
    chosen = {None: "ab", "p = 'a'": "a", "p > 'a'": "b"}[where]
    assert rows_of(made) == [row for row in rows_of(table) if row[1] in chosen]
    later = [(k, p, 5) for k in range(4) for p in chosen]
    for one in (table, made):
        write(one, later)
        compact(one)
    assert rows_of(made) == [row for row in rows_of(table) if row[1] in chosen]
    check_table(made.location)
