"""Expiry that breaks off, or meets another one, or a reader: nothing that is named goes, and the next one finishes."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults.faulty_store import FaultyFileIO, InjectedFault, fault_points, is_killed, kill
from support.long_runs import LONG, examples
from support.oracles.checker import check_table
from support.simulation.interleaved_store import InterleavedStore
from support.tables.expiring import branch, copied, live_on, new_table, rules, state, states, stored, tag

from paimon_spark.errors import PaimonError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.manifest import FileKind
from paimon_spark.store.compact.live_buckets import live_buckets
from paimon_spark.store.expire.changelogs import expire_changelogs_by
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.holds.retention import RetentionRules
from paimon_spark.store.metadata.manifest_files import read_manifest_list, read_manifests
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

KEPT = rules(2)
DECOUPLED = rules(2, changelogs=4)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Seven snapshots with changelogs and index files, a tag and a branch."""
    options = {"changelog-producer": "input", "snapshot.clean-empty-directories": "true"}
    table = new_table(tmp_path_factory.mktemp("lived") / "t", options)
    live_on(table, "wwcwcww")
    tag(table, "t", 2)
    branch(table, "b", 2)
    return table


def expire(table: Table, by: RetentionRules) -> None:
    expire_snapshots_by(table, by)
    if by.is_decoupled:
        expire_changelogs_by(table, by.changelogs)


def branch_rows(table: Table) -> Any:
    return state(open_table(table.location, {"branch": "b"}), {})


def verify(table: Table, before: dict[str, Any], by: RetentionRules, end: set[str], where: str) -> None:
    """What stays by the rules is whole; another expiry does what is left, and leaves what a quiet one leaves."""
    whole = {name: rows for name, rows in before.items() if name in ("snapshot 6", "snapshot 7", "tag t")}
    found = {name: state(table, options_of(name)) for name in whole}
    assert found == whole, where
    assert branch_rows(table) == whole["tag t"], where
    expire(table, by)
    assert without_hints(table) == end, where
    assert states(table) == whole, where
    check_table(table.location)


def without_hints(table: Table) -> set[str]:
    """Hints are hints, and a store that breaks off leaves `.tmp` files, which go with the orphans."""
    return {path for path in stored(table) if not path.endswith((".tmp", "/EARLIEST", "/LATEST"))}


def options_of(name: str) -> dict[str, str]:
    what, which = name.split(" ")
    return {"scan.snapshot-id": which} if what == "snapshot" else {"scan.tag-name": which}


@pytest.mark.parametrize("by", [KEPT, DECOUPLED], ids=["plain", "decoupled"])
@pytest.mark.parametrize("lasting", [False, True], ids=["one fault", "store goes away"])
def test_every_fault_point(lived: Table, tmp_path: Path, by: RetentionRules, lasting: bool) -> None:
    before, end, log = quiet_run(lived, tmp_path, by)
    for number, (at, when) in enumerate(fault_points(log, 31)):
        table = copied(lived, tmp_path / str(number))
        with contextlib.suppress(InjectedFault, PaimonError):
            expire(replace(table, file_io=FaultyFileIO(LocalFileIO(), at, when, lasting=lasting)), by)
        verify(table, before, by, end, f"{log[at]} #{at} {when}")


@pytest.mark.parametrize("by", [KEPT, DECOUPLED], ids=["plain", "decoupled"])
def test_killed_at_every_point(lived: Table, tmp_path: Path, by: RetentionRules) -> None:
    before, end, log = quiet_run(lived, tmp_path, by)
    for number, (at, when) in enumerate(fault_points(log, 31)):
        table = copied(lived, tmp_path / str(number))
        io = FaultyFileIO(LocalFileIO(), at, when, kill)
        assert is_killed(partial(expire, replace(table, file_io=io), by))
        verify(table, before, by, end, f"killed at {log[at]} #{at} {when}")


def quiet_run(lived: Table, tmp_path: Path, by: RetentionRules) -> tuple[dict[str, Any], set[str], list[str]]:
    """The states before, the files after, and the operations of an expiry that nothing disturbs."""
    table, io = copied(lived, tmp_path / "quiet"), FaultyFileIO(LocalFileIO())
    before = states(table)
    expire(replace(table, file_io=io), by)
    return before, without_hints(table), io.log


def test_an_error_while_reading_deletes_nothing(lived: Table, tmp_path: Path) -> None:
    io = FaultyFileIO(LocalFileIO())
    expire(replace(copied(lived, tmp_path / "quiet"), file_io=io), KEPT)
    first_delete = io.log.index("!delete")
    for at, name in enumerate(io.log[:first_delete]):
        if name.startswith("!") or (not LONG and at % 6):
            continue
        table = copied(lived, tmp_path / str(at))
        before = stored(table)
        try:
            expire(replace(table, file_io=FaultyFileIO(LocalFileIO(), at)), KEPT)
        except InjectedFault:
            assert stored(table) == before
        else:
            raise AssertionError(f"{name} #{at} failed and nobody said so")


@pytest.mark.parametrize("other", [rules(1), rules(4)], ids=["goes further", "keeps more"])
def test_two_at_once(lived: Table, tmp_path: Path, other: RetentionRules) -> None:
    """Another expiry runs whole before any operation of the first one."""
    for number in itertools.count(0, 1 if LONG else 25):
        table = copied(lived, tmp_path / str(number))
        before = states(table)
        io = InterleavedStore(LocalFileIO(), number, partial(expire_snapshots_by, table, other))
        expire(replace(table, file_io=io), KEPT)
        after = states(table)
        assert after == {name: before[name] for name in after}
        assert branch_rows(table) == before["tag t"]
        check_table(table.location)
        if io.count < number:
            return


# -------------------------------------------------------------------------------------------------- any life of a table


def named_data(table: Table) -> set[str]:
    """The data files that snapshots and tags name, told naively."""
    store, names = table.snapshots, set[str]()
    tags = [found.snapshot for found in store.tags().values()]
    for snapshot in (*(store.load(n) for n in store.ids()), *tags):
        names |= {file.file_name for bucket in live_buckets(table, snapshot) for file in bucket.files}
    for snapshot in (store.load(n) for n in store.ids()):
        if snapshot.changelog_manifest_list is not None:
            metas = read_manifest_list(table.file_io, table.location, snapshot.changelog_manifest_list)
            entries = read_manifests(table.file_io, table.location, metas)
            names |= {entry.file.file_name for entry in entries if entry.kind == FileKind.ADD}
    return names


STEPS = st.lists(
    st.one_of(
        st.sampled_from(["w", "w", "c"]),
        st.tuples(st.just("tag"), st.integers(0, 9)),
        st.tuples(st.just("expire"), st.integers(1, 4)),
    ),
    max_size=12,
)


@settings(max_examples=examples(100) if LONG else 8)
@given(steps=STEPS, producer=st.sampled_from(["none", "input"]), vectors=st.booleans())
def test_any_life(steps: list[Any], producer: str, vectors: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    """After any expiry all that stays reads as before, and no data file is left that nobody names."""
    options = {"changelog-producer": producer, "deletion-vectors.enabled": str(vectors).lower()}
    table = new_table(tmp_path_factory.mktemp("any") / "t", options)
    for step in steps:
        ids = table.snapshots.ids()
        if isinstance(step, str):
            live_on(table, step)
        elif step[0] == "tag" and ids:
            number = ids[step[1] % len(ids)]
            if table.snapshots.find_tag(f"t{number}") is None:
                tag(table, f"t{number}", number)
        elif step[0] == "expire":
            before = states(table)
            expire_snapshots_by(table, rules(step[1]))
            after = states(table)
            assert after == {name: before[name] for name in after}
            assert table.snapshots.ids() == ids[-step[1] :]
            found = {path.rpartition("/")[2] for path in stored(table) if path.startswith("bucket-")}
            assert found == named_data(table)
            if ids:
                check_table(table.location)
