"""Kill -9 at every change that rollbacks, branches and tags make: the table reads, and a second run completes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO, When, is_killed, kill
from support.long_runs import CI_SHARE, LONG
from support.oracles.checker import check_table
from support.tables.compacting import write
from support.tables.expiring import NO_OPTIONS, copied, live_on, new_table, rules, state, states, stored

from paimon_spark.errors import NameTaken, PaimonError, SnapshotNotFound
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.branches import branch_names, create_branch, delete_branch, rename_branch
from paimon_spark.store.history.fast_forward import fast_forward
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.rollback_as_latest import rollback_to_as_latest
from paimon_spark.store.history.tag_deletion import delete_tags
from paimon_spark.store.history.tags import create_tag, rename_tag, replace_tag
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table


def lived(path: Path, expires: bool) -> Table:
    """Snapshots 1 to 6, the 3 and the 5 compactions, or the last two of them; tags of 2 and 4; a branch from 2 on."""
    table = new_table(path)
    live_on(table, "wwcwcw")
    create_tag(table, "two", 2)
    create_tag(table, "four", 4)
    create_branch(table, "b", tag="two")
    for value in (103, 104):
        write(open_table(table.location, {"branch": "b"}), [(0, value), (1, value)])
    if expires:
        expire_snapshots_by(table, rules(2))
    return table


@dataclass(frozen=True)
class Deed:
    """What is done; expires: to a table whose old states only tags keep; again: errors by which a second run may say
    that nothing is left to do; random: whether names are drawn, so that files do not compare."""

    does: Callable[[Table], object]
    expires: bool = False
    again: tuple[type[PaimonError], ...] = ()
    random: bool = False


DEEDS = {
    "rollback": Deed(lambda t: rollback(t, 2)),
    "rollback to a tag": Deed(lambda t: rollback(t, tag="two"), expires=True),
    "rollback as latest": Deed(lambda t: rollback_to_as_latest(t, tag="two"), random=True),
    "fast forward": Deed(lambda t: fast_forward(t, "b")),
    "fast forward over expired": Deed(lambda t: fast_forward(t, "b"), expires=True),
    "rename branch": Deed(lambda t: rename_branch(t, "b", "c"), again=(SnapshotNotFound,)),
    "delete branch": Deed(lambda t: delete_branch(t, "b"), again=(SnapshotNotFound,)),
    "delete tag": Deed(lambda t: delete_tags(t, "two"), expires=True),
    "delete tags": Deed(lambda t: delete_tags(t, "two,four"), expires=True),
    "rename tag": Deed(lambda t: rename_tag(t, "two", "zwei"), again=(SnapshotNotFound,)),
    "replace tag": Deed(lambda t: replace_tag(t, "two", 6), random=True),
    "create tag": Deed(lambda t: create_tag(t, "six", 6), again=(NameTaken,), random=True),
}


def read_all(table: Table) -> None:
    """Every snapshot and tag of every branch that is listed reads."""
    assert state(table, {})[0][0] == 0
    states(table)
    for branch in branch_names(table.file_io, table.location):
        states(open_table(table.location, {"branch": branch}))


def visible(table: Table) -> dict[str, bytes]:
    """What is in all files but hints, and what is left of files that a crash cut off."""
    paths = [path for path in stored(table) if not os.path.basename(path).startswith((".", "EARLIEST", "LATEST"))]
    return {path: Path(table.location, path).read_bytes() for path in paths}


def points(log: list[str]) -> list[tuple[int, When]]:
    """Before each change, half-way where there is such a thing, and after the last: after one is before the next."""
    changes = [at for at, operation in enumerate(log) if operation.startswith("!")]
    halves = [at for at in changes if log[at] not in ("!delete", "!remove directory")]
    return [*((at, When.BEFORE) for at in changes), *((at, When.HALF) for at in halves), (changes[-1], When.AFTER)]


@pytest.mark.parametrize("name", DEEDS)
def test_killed_at_every_change(tmp_path: Path, name: str) -> None:
    deed = DEEDS[name]
    whole = lived(tmp_path / "whole", deed.expires)
    done = copied(whole, tmp_path / "done")
    log = FaultyFileIO(done.file_io)
    deed.does(replace(done, file_io=log))
    read_all(done)
    expected = visible(done)
    chosen = points(log.log)
    if not LONG:
        chosen = [*chosen[:-1:CI_SHARE], chosen[-1]]
    for at, when in chosen:
        table = copied(whole, tmp_path / f"{at}-{when}")
        dying = replace(table, file_io=FaultyFileIO(table.file_io, at, when, act=kill))
        assert is_killed(partial(deed.does, dying))
        read_all(table)
        with suppress(*deed.again):
            deed.does(table)
        if deed.random:
            read_all(table)
            assert state(table, NO_OPTIONS) == state(done, NO_OPTIONS)
        else:
            assert visible(table) == expected, f"{name}: {log.log[at]} #{at} {when}"
        check_table(table.location)
        shutil.rmtree(table.location)
    assert len(chosen) >= 2
