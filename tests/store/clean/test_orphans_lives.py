"""Orphan files of tables that have lived in any way: just those that nothing names, told by reading every file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import LONG, examples
from support.oracles.orphaned import age, all_states, orphans_by_hand, put
from support.tables.compacting import make
from support.tables.expiring import COLUMNS, branch, live_on, rules
from support.tables.staging import put as commit

from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.expire.changelogs import expire_changelogs_by
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.branches import delete_branch
from paimon_spark.store.history.fast_forward import fast_forward
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tag_deletion import delete_tags
from paimon_spark.store.history.tags import create_tag, replace_tag
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

PLACES = ["bucket-0", "bucket-7", "manifest", "index", "statistics", "snapshot", "changelog", "p=1/bucket-0"]

STEP = st.one_of(
    st.sampled_from(["w", "w", "w", "c", "tag", "tag", "branch", "write to branch", "fast-forward", "delete branch"]),
    st.tuples(st.sampled_from(["untag", "forget tag", "retag", "roll back", "forget snapshots"]), st.integers(0, 9)),
    st.tuples(st.sampled_from(["expire", "expire with changelogs"]), st.integers(1, 3)),
    st.tuples(st.just("stray file"), st.sampled_from(PLACES)),
)


def live(table: Table, step: Any) -> None:
    what, number = step if isinstance(step, tuple) else (step, 0)
    ids, tags = table.snapshots.ids(), table.snapshots.tag_names()
    if what in ("w", "c"):
        live_on(table, what)
    elif what == "stray file":
        put(Path(table.location, number, f"stray-{len(list(Path(table.location).rglob('*')))}"))
    elif what == "tag" and ids:
        name = f"t{ids[-1]}"
        if name not in tags:
            create_tag(table, name)
    elif tags and what in ("untag", "forget tag", "retag"):
        change_tag(table, what, tags[number % len(tags)])
    elif ids and what in ("roll back", "forget snapshots"):
        if what == "roll back":
            rollback(table, snapshot=ids[number % len(ids)])
        for gone in ids[: number % len(ids)] if what == "forget snapshots" else ():
            Path(table.location, "snapshot", f"snapshot-{gone}").unlink()
    elif ids and what.startswith("expire"):
        by = rules(number, changelogs=number + 2 if "changelogs" in what else None)
        expire_snapshots_by(table, by)
        if by.is_decoupled:
            expire_changelogs_by(table, by.changelogs)
    elif ids:
        live_on_branch(table, what, ids[-1])


def change_tag(table: Table, what: str, name: str) -> None:
    if what == "untag":
        delete_tags(table, name)
    elif what == "forget tag":
        Path(table.location, "tag", f"tag-{name}").unlink()
    elif table.snapshots.ids():
        replace_tag(table, name)


def live_on_branch(table: Table, what: str, latest: int) -> None:
    is_there = Path(table.location, "branch", "branch-b").exists()
    if what == "branch" and not is_there:
        branch(table, "b", latest)
    elif what == "write to branch" and is_there:
        commit(open_table(table.location, {"branch": "b"}), [(7, latest)])
    elif what == "fast-forward" and is_there:
        fast_forward(table, "b")
    elif what == "delete branch" and is_there:
        delete_branch(table, "b")


@settings(max_examples=examples(400) if LONG else 25)
@given(steps=st.lists(STEP, max_size=14), producer=st.sampled_from(["none", "input"]), vectors=st.booleans())
def test_any_life(steps: list[Any], producer: str, vectors: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    options = {"changelog-producer": producer, "deletion-vectors.enabled": str(vectors).lower()}
    table = make(tmp_path_factory.mktemp("any") / "t", COLUMNS, ["k"], options)
    for step in steps:
        live(table, step)
    age(table.location)
    before, expected = all_states(table), orphans_by_hand(table)
    done = remove_orphan_files(table, dry_run=False)
    assert {os.path.relpath(path, table.location) for path in done.paths} == expected
    assert orphans_by_hand(table) == set()
    assert all_states(table) == before
